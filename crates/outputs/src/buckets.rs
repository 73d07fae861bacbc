//! Durations in the buckets that receivers know: with bounds that are written, or exponential.
//!
//! A histogram of ours tells apart what differs by 0.1 %, more than any of these. What lies in a
//! bucket of ours counts in that of its middle.

use std::collections::BTreeMap;

use plimsoll_core::Histogram;

/// Upper bounds of classic buckets, ns. Beyond the last there is one without.
pub(crate) const BOUNDS_NS: [u64; 14] = [
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// The finest resolution: neighbours differ by 2^(1/32), 2.2 %.
const SCHEMA_MAX: i32 = 5;

/// With more buckets than this, neighbours are joined.
const BUCKETS_MAX: usize = 160;

/// What is no longer than this counts as 0, s.
pub(crate) const ZERO_THRESHOLD: f64 = 1e-9;

/// How many durations are in each classic bucket and all before it; the last entry counts all.
pub(crate) fn cumulative(times: &Histogram) -> Vec<u64> {
    let counts = BOUNDS_NS.iter().map(|bound_ns| times.count_at_most(*bound_ns));
    counts.chain([times.count()]).collect()
}

/// Durations in buckets that grow exponentially: those of Prometheus' native histograms and of
/// OTLP. Bucket `i` holds what is above `base^(i-1)` s and at most `base^i` s, with
/// `base = 2^(2^-schema)`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exponential {
    pub schema: i32,
    pub zero_count: u64,
    /// How many durations each holds; those without any are left out.
    pub buckets: BTreeMap<i32, u64>,
}

impl Exponential {
    pub(crate) fn of(times: &Histogram) -> Self {
        let mut own = Self { schema: SCHEMA_MAX, zero_count: 0, buckets: BTreeMap::new() };
        for (end_ns, count) in times.buckets() {
            let middle_ns = (times.bucket_start_ns(end_ns) as f64 + end_ns as f64) / 2.0;
            let seconds = middle_ns / 1e9;
            if seconds <= ZERO_THRESHOLD {
                own.zero_count += count;
            } else {
                let index = (seconds.log2() * f64::from(1 << SCHEMA_MAX)).ceil();
                *own.buckets.entry(index as i32).or_default() += count;
            }
        }
        while own.buckets.len() > BUCKETS_MAX {
            own.join();
        }
        own
    }

    /// Joins each two neighbours.
    fn join(&mut self) {
        self.schema -= 1;
        let mut joined = BTreeMap::new();
        for (index, count) in std::mem::take(&mut self.buckets) {
            // The upper bound of both stays one.
            *joined.entry((index + 1).div_euclid(2)).or_default() += count;
        }
        self.buckets = joined;
    }

    /// Stretches of neighbours as Prometheus has them: how far each begins after the end of the
    /// one before (the first: after 0) and how many it has.
    pub(crate) fn spans(&self) -> Vec<(i32, u32)> {
        let mut spans: Vec<(i32, u32)> = Vec::new();
        let mut next = 0;
        for &index in self.buckets.keys() {
            match spans.last_mut() {
                Some((_, length)) if index == next => *length += 1,
                _ => spans.push((index - next, 1)),
            }
            next = index + 1;
        }
        spans
    }

    /// By how much each bucket's count differs from that of the one before.
    pub(crate) fn deltas(&self) -> Vec<i64> {
        let mut before = 0;
        let counts = self.buckets.values();
        counts
            .map(|count| (*count as i64) - std::mem::replace(&mut before, *count as i64))
            .collect()
    }

    /// The first bucket and the counts from it on without a gap.
    pub(crate) fn dense(&self) -> Option<(i32, Vec<u64>)> {
        let first = *self.buckets.keys().next()?;
        let last = *self.buckets.keys().next_back()?;
        let count = |index| self.buckets.get(&index).copied().unwrap_or(0);
        Some((first, (first..=last).map(count).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values_ns: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values_ns.iter().for_each(|value_ns| histogram.record(*value_ns));
        histogram
    }

    #[test]
    fn classic_buckets_are_cumulative_and_end_with_all() {
        let counts = cumulative(&times(&[400_000, 600_000, 20_000_000_000]));
        assert_eq!(counts.len(), BOUNDS_NS.len() + 1);
        assert_eq!((counts[0], counts[1], counts[13], counts[14]), (1, 2, 2, 3));
    }

    #[test]
    fn every_duration_lies_between_the_bounds_of_its_bucket() {
        for value_ns in [2, 999, 1_000_000, 1_000_000_000, 3_000_000_000, 3_599_000_000_000] {
            let own = Exponential::of(&times(&[value_ns]));
            let (&index, &count) = own.buckets.iter().next().unwrap();
            let base = 2f64.powf(2f64.powi(-own.schema));
            let (low, high) = (base.powi(index - 1), base.powi(index));
            let seconds = value_ns as f64 / 1e9;
            assert_eq!((own.zero_count, own.buckets.len(), count), (0, 1, 1));
            // A bucket of ours may lie across a bound.
            assert!(seconds > low * 0.999 && seconds <= high * 1.001, "{seconds} {low} {high}");
        }
        assert_eq!(Exponential::of(&times(&[0, 1])).zero_count, 2);
    }

    #[test]
    fn many_buckets_are_joined_and_lose_nothing() {
        let values_ns: Vec<u64> = (0..3000).map(|step| 1.01f64.powi(step) as u64 + 2).collect();
        let values_ns: Vec<u64> = values_ns.into_iter().filter(|it| *it < 1 << 41).collect();
        let own = Exponential::of(&times(&values_ns));
        assert!(own.buckets.len() <= BUCKETS_MAX && own.schema < SCHEMA_MAX, "{}", own.schema);
        assert_eq!(own.buckets.values().sum::<u64>(), values_ns.len() as u64);
    }

    #[test]
    fn spans_and_deltas_say_the_same_as_the_buckets() {
        let buckets = BTreeMap::from([(-3, 5), (-2, 2), (4, 9)]);
        let own = Exponential { schema: 5, zero_count: 0, buckets };
        assert_eq!(own.spans(), [(-3, 2), (5, 1)]);
        assert_eq!(own.deltas(), [5, -3, 7]);
        assert_eq!(own.dense(), Some((-3, vec![5, 2, 0, 0, 0, 0, 0, 9])));
        let empty = Exponential { buckets: BTreeMap::new(), ..own };
        assert_eq!((empty.spans(), empty.deltas(), empty.dense()), (vec![], vec![], None));
    }
}
