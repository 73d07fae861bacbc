//! Times of what most runs have none of.
//!
//! A histogram has all of its memory from the start, so that recording allocates nothing. There is
//! one for each worker and interval, which adds up. This one gets its memory when the first time
//! comes, and keeps it.

use crate::histogram::{Histogram, Packed};

/// Times, which take no memory before the first one.
#[derive(Debug, Clone, Default)]
pub struct Times(Option<Box<Histogram>>);

impl Times {
    /// With its memory, so that recording allocates nothing.
    #[must_use]
    pub fn ready() -> Self {
        Self(Some(Box::default()))
    }

    /// Counts a time, ns.
    #[inline]
    pub fn record(&mut self, time_ns: u64) {
        self.record_n(time_ns, 1);
    }

    /// Counts the same time, ns, `n` times.
    #[inline]
    pub fn record_n(&mut self, time_ns: u64, n: u64) {
        if n > 0 {
            self.0.get_or_insert_default().record_n(time_ns, n);
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (_, None) => {}
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (none, theirs) => none.clone_from(theirs),
        }
    }

    /// The smallest time that at least the share `q` (0 to 1) of them does not exceed, ns; `None`
    /// without times. See [`Histogram::quantile_ns`].
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        self.0.as_ref()?.quantile_ns(q)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |times| times.count())
    }

    /// Their small form. Forgets them, and keeps the memory.
    pub fn take(&mut self) -> Packed {
        let Some(times) = self.0.as_mut().filter(|times| !times.is_empty()) else {
            return Packed::default();
        };
        let packed = times.pack();
        times.clear();
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_no_memory_before_the_first_and_keep_it_after() {
        let mut times = Times::default();
        times.record_n(5, 0);
        assert!(times.0.is_none() && times.take() == Packed::default());
        times.record(5);
        times.record_n(7, 2);
        let mut sum = Times::default();
        sum.merge(&times);
        sum.merge(&times);
        assert_eq!(
            (sum.count(), sum.quantile_ns(0.2), sum.quantile_ns(1.0)),
            (6, Some(5), Some(7))
        );
        let packed = times.take().unpack();
        assert_eq!((packed.count(), packed.min_ns(), packed.max_ns()), (3, Some(5), Some(7)));
        assert_eq!((times.count(), times.0.is_some(), times.quantile_ns(0.5)), (0, true, None));
    }
}
