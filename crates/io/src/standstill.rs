//! Stretches in which a thread did not run though it could have.
//!
//! Between two looks the clock moves by the CPU time that the thread used, by the time it meant to
//! sleep, and by the time it stood still. A look takes one system call, and there is at most one
//! every 2 ms, so requests cost nothing.
//!
//! A thread that is stopped in its sleep wakes late, and nothing tells how much of the sleep came
//! before the stop. So sleeps are cut into slices of 2 ms, and half of a slice that ended late
//! counts as sleep: the error is at most a millisecond. Only the arithmetic is here.

use std::collections::VecDeque;

use crate::driver::Standstill;

/// How long one slice of a sleep is, and the least between two looks, ns.
pub(crate) const SLICE_NS: u64 = 2_000_000;
/// Shorter stretches are normal for a scheduler, ns. It is a little below 10 ms, and every stretch
/// of 10 ms is seen.
const LEAST_NS: u64 = 9_000_000;
/// Stretches kept until they are taken. The worker that watches takes them in each turn.
const KEPT: usize = 64;

/// Watches one thread.
#[derive(Debug)]
pub(crate) struct Watch {
    looked_ns: u64,
    /// CPU time of the thread at that look.
    ran_ns: u64,
    /// Slept on purpose since.
    slept_ns: u64,
    seen: VecDeque<Standstill>,
}

impl Watch {
    /// Begins at `now_ns`, when the thread has used so much CPU time.
    pub(crate) fn new(now_ns: u64, ran_ns: u64) -> Self {
        Self { looked_ns: now_ns, ran_ns, slept_ns: 0, seen: VecDeque::with_capacity(KEPT) }
    }

    /// A sleep of a slice at most, which was to end at `until_ns`, ended at `now_ns`.
    #[inline]
    pub(crate) fn slept(&mut self, from_ns: u64, until_ns: u64, now_ns: u64) {
        let meant_ns = until_ns.saturating_sub(from_ns);
        let is_late = now_ns >= until_ns.saturating_add(SLICE_NS);
        self.slept_ns += if is_late { meant_ns / 2 } else { now_ns - from_ns };
    }

    /// Whether it is time for a look.
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.looked_ns + SLICE_NS
    }

    /// Looks how far the clock has moved, and why.
    pub(crate) fn look(&mut self, now_ns: u64, ran_ns: u64) {
        let moved_ns = now_ns - self.looked_ns;
        let known_ns = self.slept_ns + (ran_ns - self.ran_ns);
        let for_ns = moved_ns.saturating_sub(known_ns);
        if for_ns >= LEAST_NS && self.seen.len() < KEPT {
            self.seen.push_back(Standstill { at_ns: now_ns - for_ns, for_ns });
        }
        (self.looked_ns, self.ran_ns, self.slept_ns) = (now_ns, ran_ns, 0);
    }

    pub(crate) fn take(&mut self) -> Option<Standstill> {
        self.seen.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_was_neither_run_nor_slept_was_stood_still() {
        // Moved, of that run; the sleep that was meant and the one that came of it: stood still.
        for (moved, ran, meant, slept, want) in [
            (2, 2, 0, 0, None),
            (100, 100, 0, 0, None),
            (100, 15, 0, 0, Some(85)),
            (3, 1, 2, 2, None),
            (3, 0, 2, 1, None),
            (9, 1, 2, 3, None),
            (11, 1, 2, 10, Some(9)),
            (87, 1, 2, 86, Some(85)),
            (40, 1, 2, 2, Some(37)),
        ] {
            let (moved_ns, meant_ns, slept_ns) = (moved * MS, meant * MS, slept * MS);
            let mut watch = Watch::new(50 * MS, 7 * MS);
            assert!(!watch.is_due(50 * MS + SLICE_NS - 1));
            if slept > 0 {
                watch.slept(51 * MS, 51 * MS + meant_ns, 51 * MS + slept_ns);
            }
            assert!(watch.is_due(50 * MS + moved_ns));
            watch.look(50 * MS + moved_ns, 7 * MS + ran * MS);
            let seen = watch.take();
            assert_eq!(seen.map(|seen| seen.for_ns), want.map(|want| want * MS), "{moved} {ran}");
            if let Some(Standstill { at_ns, for_ns }) = seen {
                assert_eq!(at_ns + for_ns, 50 * MS + moved_ns, "it lasted until the look");
            }
            assert_eq!(watch.take(), None);
        }
    }
}
