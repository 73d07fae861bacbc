//! Whether CPU time of ended processes is lost, which makes the sum worthless.
//!
//! The kernel adds a child's CPU time to its parent's counter when the parent waits for it. A
//! parent that ignores SIGCHLD never waits, and a parent that is not watched takes the time out of
//! sight. When such a child ends, whatever it used since it was last seen is lost. And a parent
//! that ignores SIGCHLD may have had thousands of children that were never seen at all.

use std::fs;

/// Processes and threads that a machine starts for other reasons in a short run: testers, shells.
const STARTS_MAX: u64 = 100;

/// What was seen of processes whose time nobody is credited with.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Why, once something was seen to be.
    reason: Option<String>,
    /// A process that ignores SIGCHLD.
    ignoring: Option<u32>,
    /// Processes and threads that this machine had started when it began.
    started_before: Option<u64>,
}

impl Lost {
    /// Starts over.
    pub(super) fn begin(&mut self, started: Option<u64>) {
        *self = Self { started_before: started, ..Self::default() };
    }

    /// A process of those watched ignores SIGCHLD.
    pub(super) fn ignores(&mut self, pid: u32) {
        self.ignoring.get_or_insert(pid);
    }

    /// A process ended whose parent ignores SIGCHLD.
    pub(super) fn unasked(&mut self, parent: u32) {
        self.reason.get_or_insert_with(|| {
            format!(
                "process {parent} ignores SIGCHLD, so what its children used is nowhere once they \
                 have ended"
            )
        });
    }

    /// A process ended whose parent is not watched.
    pub(super) fn orphaned(&mut self, pid: u32) {
        self.reason.get_or_insert_with(|| {
            format!(
                "process {pid} had left the server's tree, so what it used at its end is nowhere"
            )
        });
    }

    /// Why the sum cannot be trusted; `None` if it can.
    pub(super) fn reason(self, started: Option<u64>) -> Option<String> {
        let started = started.zip(self.started_before).map(|(now, then)| now.saturating_sub(then));
        let many = started.filter(|count| *count > STARTS_MAX).zip(self.ignoring);
        let unseen = many.map(|(count, pid)| {
            format!(
                "process {pid} ignores SIGCHLD, so what children used that ended unseen is \
                 nowhere, and {count} processes and threads were started on this machine"
            )
        });
        self.reason.or(unseen)
    }
}

/// Processes and threads that this machine has started.
pub(super) fn started() -> Option<u64> {
    parse(&fs::read_to_string("/proc/stat").ok()?)
}

fn parse(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("processes "))?.trim().parse().ok()
}

/// SIGCHLD in the masks of `/proc/PID/status`, whose lowest bit is signal 1.
const CHILD_BIT: u64 = 1 << (17 - 1);

/// Whether a process ignores SIGCHLD, by its status.
pub(super) fn ignores_children(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & CHILD_BIT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_makes_the_sum_no_figure() {
        for (name, ignores, unasked, orphaned, started, word) in [
            ("nothing", false, false, false, 10_000, None),
            ("few were started", true, false, false, 100, None),
            ("many were started unseen", true, false, false, 101, Some("101 processes")),
            ("one was seen to end", true, true, false, 1, Some("ignores SIGCHLD")),
            ("one that had left", false, false, true, 1, Some("had left")),
        ] {
            let mut lost = Lost::default();
            lost.orphaned(1);
            lost.begin(Some(1000));
            if ignores {
                lost.ignores(7);
            }
            if unasked {
                lost.unasked(7);
            }
            if orphaned {
                lost.orphaned(8);
            }
            let reason = lost.reason(Some(1000 + started));
            assert_eq!(reason.is_some(), word.is_some(), "{name}: {reason:?}");
            let reason = reason.unwrap_or_default();
            assert!(reason.contains(word.unwrap_or("")), "{name}: {reason}");
        }
    }

    #[test]
    fn files_of_the_kernel() {
        assert_eq!(parse("cpu 1 2\nprocesses 4711\nprocs_running 2\n"), Some(4711));
        assert_eq!(parse("cpu 1 2\n"), None);
        for (status, want) in [
            ("SigBlk:\t0000000000000000\nSigIgn:\t0000000000010000\n", true),
            ("SigIgn:\t0000000000011006\n", true),
            ("SigIgn:\t0000000000001000\nSigCgt:\t0000000000010000\n", false),
            ("SigIgn:\tx\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_children(status), want, "{status:?}");
        }
    }
}
