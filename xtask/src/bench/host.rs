//! Settings and readings of the operating system: affinity, limits, /proc.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Lets children open as many files as the system lets us.
pub(super) fn raise_file_limit() -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        .context("cannot raise the limit of open files")
}

/// Does something with this thread on one CPU, so that a process started there begins on it (and
/// all of its threads stay on it), then lets the thread roam again.
pub(super) fn pinned<T>(cpu: usize, start: impl FnOnce() -> T) -> Result<T> {
    let before = sched_getaffinity(None)?;
    let mut set = CpuSet::new();
    if cpu < CpuSet::MAX_CPU {
        set.set(cpu);
    }
    sched_setaffinity(None, &set).with_context(|| format!("CPU {cpu} is not ours to use"))?;
    let started = start();
    sched_setaffinity(None, &before)?;
    Ok(started)
}

/// CPU time of a process and all its descendants so far. Its resolution is the system's tick,
/// 10 ms.
pub(super) fn cpu_time(pid: u32) -> Duration {
    let ticks_per_s = rustix::param::clock_ticks_per_second();
    Duration::from_secs_f64(tree_ticks(pid) as f64 / ticks_per_s as f64)
}

fn tree_ticks(pid: u32) -> u64 {
    let own = fs::read_to_string(format!("/proc/{pid}/stat"));
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    own.ok().and_then(|stat| stat_ticks(&stat)).unwrap_or_default()
        + children
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .map(tree_ticks)
            .sum::<u64>()
}

/// User and system ticks in a line of /proc/PID/stat: fields 14 and 15, counted behind the name,
/// which may hold spaces and parentheses.
fn stat_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Resident memory of a process, in bytes.
pub(super) fn resident_bytes(pid: u32) -> Option<u64> {
    resident_in(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn resident_in(status: &str) -> Option<u64> {
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// What all CPUs together have done since the system started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cpus {
    all: Duration,
    busy: Duration,
    stolen: Duration,
}

impl Cpus {
    /// Until now.
    pub(super) fn now() -> Self {
        let ticks_per_s = rustix::param::clock_ticks_per_second();
        cpus_in(&fs::read_to_string("/proc/stat").unwrap_or_default(), ticks_per_s)
    }

    /// The shares of their time since `before` that went to other virtual machines, and to
    /// processes other than ours, which had `own`.
    pub(super) fn lost_since(self, before: Self, own: Duration) -> (f64, f64) {
        let all = (self.all - before.all).as_secs_f64().max(1e-3);
        let others = (self.busy - before.busy).saturating_sub(own);
        ((self.stolen - before.stolen).as_secs_f64() / all, others.as_secs_f64() / all)
    }
}

fn cpus_in(stat: &str, ticks_per_s: u64) -> Cpus {
    let line = stat.lines().next().unwrap_or_default();
    // user nice system idle iowait irq softirq steal; guest time is within user time.
    let mut ticks = [0_u64; 8];
    for (tick, word) in ticks.iter_mut().zip(line.split_whitespace().skip(1)) {
        *tick = word.parse().unwrap_or(0);
    }
    let time = |ticks: u64| Duration::from_secs_f64(ticks as f64 / ticks_per_s as f64);
    let all: u64 = ticks.iter().sum();
    let [_, _, _, idle, iowait, _, _, stolen] = ticks;
    Cpus { all: time(all), busy: time(all - idle - iowait - stolen), stolen: time(stolen) }
}

/// The load average of the last minute.
pub(super) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}

/// Kernel, CPU and how many of them, in a phrase.
pub(super) fn describe() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.unwrap_or_default().trim_start_matches([' ', '\t', ':']);
    format!("Linux {}, {count} x {model}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files() {
        let stat = "42 (a) b) S 1 2 3 4 5 6 7 8 9 10 250 30 0 0 20 0";
        assert_eq!(stat_ticks(stat), Some(280));
        assert_eq!(stat_ticks("42 (cut"), None);
        assert_eq!(resident_in("VmHWM:\t  900 kB\nVmRSS:\t  800 kB\n"), Some(800 * 1024));
        assert_eq!(resident_in("Name: gone\n"), None);
        let before = cpus_in("cpu  10 0 10 70 0 0 0 10 0 0\ncpu0 1\n", 100);
        let after = cpus_in("cpu  60 0 20 80 0 0 0 40 5 0\n", 100);
        let (stolen, others) = after.lost_since(before, Duration::from_millis(200));
        assert!((stolen - 0.3).abs() < 1e-9 && (others - 0.4).abs() < 1e-9);
    }
}
