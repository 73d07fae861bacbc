//! What the processes of an experiment and the whole machine use.

use std::fs::File;
use std::io;
use std::path::Path;

pub use plimsoll_lab::process::Process;

use crate::oracle::clock_ns;

/// What a process had used at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// CPU time so far, ns.
    pub cpu_ns: u64,
    /// Resident memory.
    pub rss_bytes: u64,
}

/// What a process has used so far; `None` once it is gone.
#[must_use]
pub(super) fn usage(process: &Process) -> Option<Sample> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).ok()?;
    let mut sample = sample(&stat)?;
    sample.at_ns = clock_ns();
    Some(sample)
}

/// CPU time and memory of `/proc/PID/stat` (proc(5)): fields 14, 15 and 24, counted from behind the
/// name, which may hold anything.
fn sample(stat: &str) -> Option<Sample> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let number = |field: usize| fields.get(field - 3)?.trim().parse::<u64>().ok();
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    Some(Sample {
        at_ns: 0,
        cpu_ns: (number(14)? + number(15)?) * tick_ns,
        rss_bytes: number(24)? * rustix::param::page_size() as u64,
    })
}

/// CPU time of all CPUs since the machine started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Machine {
    busy_ns: u64,
    stolen_ns: u64,
    total_ns: u64,
}

impl Machine {
    /// Reads it. `None` where `/proc/stat` does not tell.
    #[must_use]
    pub fn read() -> Option<Self> {
        machine(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The share of the CPUs' time since `earlier` that was stolen, and the share that processes
    /// used which had not `ours_ns` of it.
    #[must_use]
    pub fn shares_since(&self, earlier: &Self, ours_ns: u64) -> (f64, f64) {
        let total_ns = self.total_ns.saturating_sub(earlier.total_ns).max(1) as f64;
        let stolen_ns = self.stolen_ns.saturating_sub(earlier.stolen_ns);
        let others_ns = self.busy_ns.saturating_sub(earlier.busy_ns).saturating_sub(ours_ns);
        (stolen_ns as f64 / total_ns, others_ns as f64 / total_ns)
    }
}

/// The `cpu` line: user, nice, system, idle, iowait, irq, softirq, steal.
fn machine(stat: &str) -> Option<Machine> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    let ns: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map(|ticks| ticks.parse::<u64>().map(|ticks| ticks * tick_ns))
        .collect::<Result<_, _>>()
        .ok()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ns[..].try_into().ok()?;
    Some(Machine {
        // Interrupts are left out: those of a loopback belong to the process that sends on it.
        busy_ns: user + nice + system,
        stolen_ns: steal,
        total_ns: user + nice + system + idle + iowait + irq + softirq + steal,
    })
}

/// A file to write a stream of a child into, and later read it from.
///
/// # Errors
/// Those of creating it.
pub(super) fn stream_file(scratch: &Path, name: &str) -> io::Result<File> {
    File::create(scratch.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read() {
        let stat =
            "12 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 99 1000 7 18446744073 1";
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let page = rustix::param::page_size() as u64;
        let want = Sample { at_ns: 0, cpu_ns: 200 * tick_ns, rss_bytes: 7 * page };
        assert_eq!(sample(stat), Some(want));
        assert_eq!(sample("12 (a) S 1"), None);
    }

    #[test]
    fn shares_of_the_machine() {
        let earlier = machine("cpu  100 0 100 700 100 0 0 0 0 0\n").unwrap();
        let later = machine("cpu  155 0 125 750 150 0 0 20 0 0\n").unwrap();
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let (stolen, others) = later.shares_since(&earlier, 30 * tick_ns);
        assert_eq!((stolen, others), (0.1, 0.25));
        assert_eq!(machine("cpu  1 2 3"), None);
    }
}
