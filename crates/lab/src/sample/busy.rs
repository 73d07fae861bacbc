//! How busy the threads of a process were, because a program can be at its limit with one thread
//! while CPUs are idle.
//!
//! Plain arithmetic on readings. The kernel gives the CPU time of another process's thread in ticks
//! of 10 ms.

use std::collections::BTreeMap;

/// A thread from when it was first seen to when it was seen last.
#[derive(Debug, Clone, Copy)]
struct Spell {
    start_ticks: u64,
    first_ns: u64,
    first_cpu_ns: u64,
    last_ns: u64,
    last_cpu_ns: u64,
}

/// What was read of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thread {
    pub number: u32,
    /// With the number it tells this thread from any other.
    pub start_ticks: u64,
    pub cpu_ns: u64,
}

/// The threads of one process that were seen.
#[derive(Debug, Default)]
pub(super) struct Busy {
    threads: BTreeMap<u32, Spell>,
    /// The share of a core of threads that are gone, and how long they were seen.
    gone: Vec<(f64, u64)>,
}

/// Of threads that are gone those are kept that were there longest.
const GONE_MAX: usize = 64;

impl Busy {
    /// Takes what all threads have used at a moment.
    pub(super) fn put(&mut self, now_ns: u64, threads: &[Thread]) {
        let before = std::mem::take(&mut self.threads);
        for thread in threads {
            let known = before.get(&thread.number);
            let first = known.filter(|spell| spell.start_ticks == thread.start_ticks);
            self.threads.insert(
                thread.number,
                Spell {
                    start_ticks: thread.start_ticks,
                    first_ns: first.map_or(now_ns, |spell| spell.first_ns),
                    first_cpu_ns: first.map_or(thread.cpu_ns, |spell| spell.first_cpu_ns),
                    last_ns: now_ns,
                    last_cpu_ns: thread.cpu_ns,
                },
            );
        }
        let goes_on = |number: &u32, spell: &Spell| {
            self.threads.get(number).is_some_and(|now| now.start_ticks == spell.start_ticks)
        };
        let ended = before.iter().filter(|(number, spell)| !goes_on(number, spell));
        self.gone.extend(ended.map(|(_, spell)| spell.busy()));
        self.gone.sort_by_key(|(_, seen_ns)| std::cmp::Reverse(*seen_ns));
        self.gone.truncate(GONE_MAX);
    }

    /// The share of a core that the busiest thread used, of those that were seen for that long.
    pub(super) fn busiest(&self, seen_ns_min: u64) -> Option<f64> {
        let all = self.threads.values().map(Spell::busy).chain(self.gone.iter().copied());
        let long = all.filter(|(_, seen_ns)| *seen_ns >= seen_ns_min.max(1));
        long.map(|(share, _)| share).max_by(f64::total_cmp)
    }
}

impl Spell {
    fn busy(&self) -> (f64, u64) {
        let seen_ns = self.last_ns - self.first_ns;
        let used_ns = self.last_cpu_ns.saturating_sub(self.first_cpu_ns);
        (used_ns as f64 / seen_ns.max(1) as f64, seen_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn thread(number: u32, start_ticks: u64, cpu_ms: u64) -> Thread {
        Thread { number, start_ticks, cpu_ns: cpu_ms * MS }
    }

    #[test]
    fn the_busiest_is_of_those_seen_long_enough() {
        let mut busy = Busy::default();
        assert_eq!(busy.busiest(0), None);
        // What thread 1 used before it was seen is not of this time.
        busy.put(1000 * MS, &[thread(1, 1, 700), thread(2, 1, 0)]);
        busy.put(1500 * MS, &[thread(1, 1, 800), thread(2, 1, 490), thread(3, 150, 0)]);
        busy.put(2000 * MS, &[thread(1, 1, 900), thread(2, 1, 980), thread(3, 150, 500)]);
        assert_eq!(busy.busiest(1000 * MS), Some(0.98));
        assert_eq!(busy.busiest(500 * MS), Some(1.0), "thread 3 was there for half of the time");
        assert_eq!(busy.busiest(1001 * MS), None);
        // All of them end, and another thread gets the number of one.
        busy.put(2010 * MS, &[thread(2, 201, 10)]);
        busy.put(3010 * MS, &[thread(2, 201, 20)]);
        assert_eq!(busy.busiest(1000 * MS), Some(0.98));
    }
}
