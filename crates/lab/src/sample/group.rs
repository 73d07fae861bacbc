//! The counters of a process's control group, if it is not the tester's group: a container's or a
//! service's. The group may hold more than the watched processes, and the kernel may have counted
//! long before, so figures are differences, or sizes at one moment.

use plimsoll_core::usage::CgroupUsage;
use plimsoll_io::host::Cgroup;

use super::readings::read;

/// A group that is followed.
#[derive(Debug)]
pub(super) struct Group {
    cgroup: Cgroup,
    before: Counts,
    now: Counts,
    memory_seen_max_bytes: Option<u64>,
}

/// What it says at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    cpu_ns: Option<u64>,
    throttled_periods: Option<u64>,
    throttled_ns: Option<u64>,
    memory_bytes: Option<u64>,
    /// The kernel's own record, since the group was made.
    memory_peak_bytes: Option<u64>,
}

impl Group {
    /// The group of a process; `None` where it is the tester's own, or none is shown.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let cgroup = Cgroup::of(pid)?;
        let before = Counts::read(&cgroup);
        let seen = before.memory_bytes;
        Some(Self { cgroup, before, now: before, memory_seen_max_bytes: seen })
    }

    /// Its path.
    pub(super) fn path(&self) -> &str {
        &self.cgroup.path
    }

    /// Starts over.
    pub(super) fn begin(&mut self) {
        self.before = Counts::read(&self.cgroup);
        self.now = self.before;
        self.memory_seen_max_bytes = self.before.memory_bytes;
    }

    /// Reads it again. A group that is gone keeps what it said last.
    pub(super) fn update(&mut self) {
        let now = Counts::read(&self.cgroup);
        if now != Counts::default() {
            self.now = now;
            self.memory_seen_max_bytes = self.memory_seen_max_bytes.max(now.memory_bytes);
        }
    }

    /// What it counted since the beginning.
    pub(super) fn usage(&self) -> CgroupUsage {
        let since = |of: fn(&Counts) -> Option<u64>| {
            of(&self.now).zip(of(&self.before)).map(|(now, before)| now.saturating_sub(before))
        };
        let rose = self.now.memory_peak_bytes > self.before.memory_peak_bytes;
        let exact = self.now.memory_peak_bytes.filter(|_| rose);
        CgroupUsage {
            path: self.cgroup.path.clone(),
            cpu_ns: since(|counts| counts.cpu_ns),
            memory_peak_bytes: exact.max(self.memory_seen_max_bytes),
            throttled_periods: since(|counts| counts.throttled_periods),
            throttled_ns: since(|counts| counts.throttled_ns),
        }
    }
}

impl Counts {
    fn read(cgroup: &Cgroup) -> Self {
        Self::from(cgroup, read)
    }

    /// Both versions by their files' names; those of the other version are not there.
    fn from(cgroup: &Cgroup, read: impl Fn(&str) -> Option<String>) -> Self {
        let file = |directory: &Option<String>, name: &str| {
            directory.as_ref().and_then(|directory| read(&format!("{directory}/{name}")))
        };
        let number = |directory, name| file(directory, name)?.trim().parse::<u64>().ok();
        let stat = file(&cgroup.cpu, "cpu.stat").unwrap_or_default();
        let line = |name: &str| {
            let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(key, _)| *key == name)?.1.trim().parse::<u64>().ok()
        };
        let us = |name| line(name)?.checked_mul(1000);
        let memory = |second, first| {
            number(&cgroup.memory, second).or_else(|| number(&cgroup.memory, first))
        };
        Self {
            cpu_ns: us("usage_usec").or_else(|| number(&cgroup.cpu, "cpuacct.usage")),
            throttled_periods: line("nr_throttled"),
            throttled_ns: us("throttled_usec").or_else(|| line("throttled_time")),
            memory_bytes: memory("memory.current", "memory.usage_in_bytes"),
            memory_peak_bytes: memory("memory.peak", "memory.max_usage_in_bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cgroup() -> Cgroup {
        let directory = |name: &str| Some(format!("/sys/fs/cgroup/{name}"));
        Cgroup { path: "/a".to_owned(), cpu: directory("cpu"), memory: directory("memory") }
    }

    fn counts(files: &[(&str, &str)]) -> Counts {
        Counts::from(&cgroup(), |path| {
            let name = path.strip_prefix("/sys/fs/cgroup/")?;
            files.iter().find(|file| file.0 == name).map(|file| file.1.to_owned())
        })
    }

    #[test]
    fn both_versions_say_the_same() {
        let second = counts(&[
            ("cpu/cpu.stat", "usage_usec 5000\nuser_usec 9\nnr_throttled 3\nthrottled_usec 41\n"),
            ("memory/memory.current", "700\n"),
            ("memory/memory.peak", "900\n"),
        ]);
        let first = counts(&[
            ("cpu/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 41000\n"),
            ("cpu/cpuacct.usage", "5000000\n"),
            ("memory/memory.usage_in_bytes", "700\n"),
            ("memory/memory.max_usage_in_bytes", "900\n"),
        ]);
        let want = Counts {
            cpu_ns: Some(5_000_000),
            throttled_periods: Some(3),
            throttled_ns: Some(41_000),
            memory_bytes: Some(700),
            memory_peak_bytes: Some(900),
        };
        assert_eq!((second, first), (want, want));
        assert_eq!(counts(&[("cpu/cpu.stat", "nr_throttled x")]), Counts::default());
    }

    #[test]
    fn a_peak_of_before_is_not_this_runs() {
        let at = |current: u64, peak: u64| Counts {
            memory_bytes: Some(current),
            memory_peak_bytes: Some(peak),
            ..Counts::default()
        };
        for (before, now, seen, want) in [
            (at(5, 90), at(7, 90), 8, 8),
            (at(5, 90), at(7, 95), 8, 95),
            (at(5, 90), at(4, 90), 5, 5),
        ] {
            let group = Group { cgroup: cgroup(), before, now, memory_seen_max_bytes: Some(seen) };
            assert_eq!(group.usage().memory_peak_bytes, Some(want), "{before:?} {now:?}");
        }
    }
}
