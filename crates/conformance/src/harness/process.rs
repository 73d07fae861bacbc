//! Processes that an experiment starts: bound to a CPU, watched, signalled, and never left behind.
//!
//! All are killed by their own id when what holds them goes away, on every path.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::oracle::clock_ns;

/// A child that does not outlive this value.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The exit, once waited for.
    status: Option<ExitStatus>,
}

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

impl Process {
    /// Starts it, bound to these CPUs where there are any.
    ///
    /// # Errors
    /// Those of starting a process.
    pub fn start(mut command: Command, cpu: Option<usize>) -> io::Result<Self> {
        // A child takes over the CPUs of the thread that starts it.
        let child = std::thread::spawn(move || {
            if let Some(cpu) = cpu {
                plimsoll_io::clock::pin_to_cpu(cpu)?;
            }
            command.spawn()
        })
        .join()
        .map_err(|_| io::Error::other("the thread that starts processes panicked"))??;
        Ok(Self { child, status: None })
    }

    /// The child, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends a signal; one to a process that has ended is lost.
    pub fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            // Gone already is no error: it is not waited for yet, so the id is still its own.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }

    /// What it has used so far; `None` once it is gone.
    #[must_use]
    pub fn sample(&self) -> Option<Sample> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let mut sample = sample(&stat)?;
        sample.at_ns = clock_ns();
        Some(sample)
    }

    /// Whether it has ended. Its usage can still be read until it is waited for.
    ///
    /// # Errors
    /// Those of `waitid`.
    pub fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = Pid::from_child(&self.child);
        Ok(self.status.is_some() || waitid(WaitId::Pid(pid), options)?.is_some())
    }

    /// Waits for its end, at most so long; then kills it. `None`: it had to be killed.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn finish(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let until_ns = clock_ns() + limit.as_nanos() as u64;
        while !self.has_ended()? {
            if clock_ns() >= until_ns {
                self.kill()?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(Some(status))
    }

    /// Kills it and waits for it.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn kill(&mut self) -> io::Result<()> {
        if self.status.is_none() {
            self.child.kill()?;
            self.status = Some(self.child.wait()?);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ended by itself, or it is beyond reach.
        let _ = self.kill();
    }
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
        // Interrupts are left out: those of a loopback belong to whoever sends on it.
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

    fn sh(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start(command, None).unwrap()
    }

    #[test]
    fn an_end_is_waited_for_and_a_hang_is_not() {
        let mut ends = sh("exit 3");
        assert_eq!(ends.finish(Duration::from_secs(60)).unwrap().unwrap().code(), Some(3));
        assert!(ends.has_ended().unwrap());
        let mut hangs = sh("while :; do sleep 1; done");
        assert!(hangs.finish(Duration::from_millis(20)).unwrap().is_none());
    }

    #[test]
    fn a_process_can_be_stopped_and_is_killed_all_the_same() {
        let process = sh("while :; do sleep 1; done");
        let pid = Pid::from_child(&process.child);
        process.signal(Signal::STOP);
        drop(process);
        assert!(kill_process(pid, Signal::CONT).is_err(), "it is gone and waited for");
    }

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
