//! Context switches of a process: the kernel counts them for each thread, and forgets those of a
//! thread that ends. The last count of an ended thread is kept here.

use std::collections::BTreeMap;

/// Voluntary and involuntary switches.
pub(super) type Count = (u64, u64);

/// Those of one process.
#[derive(Debug, Default)]
pub(super) struct Switches {
    threads: BTreeMap<u32, Count>,
    /// Of threads that have ended.
    ended: Count,
    before: Count,
}

impl Switches {
    /// Starts over: those until now are before the measured part.
    pub(super) fn begin(&mut self) {
        self.before = self.total();
    }

    /// Takes what all threads have now.
    pub(super) fn put(&mut self, threads: BTreeMap<u32, Count>) {
        for (thread, last) in std::mem::replace(&mut self.threads, threads) {
            // A count that went back is another thread of the same number.
            let goes_on = self.threads.get(&thread).is_some_and(|now| *now >= last);
            if !goes_on {
                self.ended = sum(self.ended, last);
            }
        }
    }

    /// Those of the measured part.
    pub(super) fn counted(&self) -> Count {
        let (total, before) = (self.total(), self.before);
        (total.0.saturating_sub(before.0), total.1.saturating_sub(before.1))
    }

    fn total(&self) -> Count {
        self.threads.values().fold(self.ended, |total, count| sum(total, *count))
    }
}

/// Both added.
pub(super) fn sum(a: Count, b: Count) -> Count {
    (a.0 + b.0, a.1 + b.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_keep_what_they_had() {
        let mut switches = Switches::default();
        switches.put(BTreeMap::from([(1, (10, 1)), (2, (20, 2))]));
        switches.begin();
        assert_eq!(switches.counted(), (0, 0));
        switches.put(BTreeMap::from([(1, (15, 1)), (3, (4, 4))]));
        assert_eq!(switches.counted(), (9, 4));
        // Thread 3 ended, and another got its number.
        switches.put(BTreeMap::from([(1, (15, 3)), (3, (1, 0))]));
        assert_eq!(switches.counted(), (10, 6));
        switches.put(BTreeMap::new());
        assert_eq!(switches.counted(), (10, 6));
    }
}
