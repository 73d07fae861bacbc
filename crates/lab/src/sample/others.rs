//! Which processes of this machine use its CPUs, so that `doctor` can name what is in the way.
//!
//! A process that ends between two readings is not seen, nor is one of another container.

use std::collections::BTreeMap;

use plimsoll_io::host::process_cpu_ns;

use super::process::ns;
use super::readings::{Stat, numbers_in};

/// The CPU time of every process that can be seen, at one moment.
#[derive(Debug, Clone, Default)]
pub struct Processes {
    by_pid: BTreeMap<u32, Used>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Used {
    name: String,
    /// With the number it tells this process from any other.
    start_ticks: u64,
    cpu_ns: u64,
}

/// A process and how much it used between two readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel has it.
    pub name: String,
    /// CPU time, ns.
    pub cpu_ns: u64,
}

impl Processes {
    /// Reads them all.
    #[must_use]
    pub fn read() -> Self {
        let pids = numbers_in("/proc").unwrap_or_default();
        let used = |pid: u32| {
            let stat = Stat::read(pid)?;
            let ticks = stat.user_ticks + stat.system_ticks;
            let cpu_ns = process_cpu_ns(pid).unwrap_or_else(|| ns(ticks));
            Some((pid, Used { name: stat.name, start_ticks: stat.start_ticks, cpu_ns }))
        };
        Self { by_pid: pids.into_iter().filter_map(used).collect() }
    }

    /// What each process but this program has used since an earlier reading, the busiest first.
    #[must_use]
    pub fn busy_since(&self, before: &Self) -> Vec<Busy> {
        let ours = std::process::id();
        let others = self.by_pid.iter().filter(|(pid, _)| **pid != ours);
        let used = others.map(|(pid, now)| {
            let known = before.by_pid.get(pid).filter(|it| it.start_ticks == now.start_ticks);
            let cpu_ns = now.cpu_ns.saturating_sub(known.map_or(0, |it| it.cpu_ns));
            Busy { pid: *pid, name: now.name.clone(), cpu_ns }
        });
        let mut busy: Vec<Busy> = used.filter(|it| it.cpu_ns > 0).collect();
        busy.sort_by_key(|it| std::cmp::Reverse(it.cpu_ns));
        busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(of: &[(u32, &str, u64, u64)]) -> Processes {
        let used = |&(pid, name, start_ticks, cpu_ns): &(u32, &str, u64, u64)| {
            (pid, Used { name: name.to_owned(), start_ticks, cpu_ns })
        };
        Processes { by_pid: of.iter().map(used).collect() }
    }

    #[test]
    fn what_was_used_meanwhile_counts_and_the_busiest_is_first() {
        let before = processes(&[(1, "init", 0, 500), (2, "idle", 5, 7), (3, "gone", 6, 9)]);
        let ours = std::process::id();
        let after = processes(&[
            (1, "init", 0, 510),
            (2, "idle", 5, 7),
            // Another process with the number of one that ended, and one that began meanwhile.
            (3, "cc1", 900, 4000),
            (4, "make", 901, 20),
            (ours, "plimsoll", 902, 9000),
        ]);
        let found = after.busy_since(&before);
        let found: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.pid, it.cpu_ns)).collect();
        assert_eq!(found, [("cc1", 3, 4000), ("make", 4, 20), ("init", 1, 10)]);
    }

    #[test]
    fn this_machine_has_processes() {
        let read = Processes::read();
        let own = read.by_pid.get(&std::process::id());
        assert!(own.is_some_and(|own| !own.name.is_empty() && own.cpu_ns > 0), "{own:?}");
    }
}
