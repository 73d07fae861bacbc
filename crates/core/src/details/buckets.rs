//! Values counted exactly in buckets that the plan gives, for reports whose buckets are another
//! tester's: no value counts on the wrong side of an edge, and sums are those of the values.

/// Values in buckets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Buckets {
    /// The greatest value of each bucket but the last, which has no end; ascending.
    ends: Vec<i64>,
    counts: Vec<u64>,
    count: u64,
    min: i64,
    max: i64,
    sum: i128,
    sum_of_squares: f64,
}

impl Buckets {
    /// Empty ones. A value belongs to the first bucket whose end it does not exceed, or else to the
    /// one behind the last end.
    #[must_use]
    pub fn new(ends: &[i64]) -> Self {
        debug_assert!(ends.is_sorted(), "ends ascend");
        Self { ends: ends.to_vec(), counts: vec![0; ends.len() + 1], ..Self::default() }
    }

    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: i64) {
        self.record_n(value, 1);
    }

    /// Counts a value a number of times.
    #[inline]
    pub fn record_n(&mut self, value: i64, times: u64) {
        if times == 0 {
            return;
        }
        let bucket = self.ends.partition_point(|end| *end < value);
        // The default has no buckets.
        let Some(count) = self.counts.get_mut(bucket) else { return };
        *count += times;
        let is_first = self.count == 0;
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = if is_first { value } else { self.max.max(value) };
        self.count += times;
        self.sum += i128::from(value) * i128::from(times);
        self.sum_of_squares += value as f64 * value as f64 * times as f64;
    }

    /// Adds those of `other`, whose buckets are the same; those without buckets take its own.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        debug_assert_eq!(self.ends, other.ends, "the buckets of one run are the same");
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
    }

    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The least and the greatest value; `None` without any.
    #[must_use]
    pub fn range(&self) -> Option<(i64, i64)> {
        (self.count > 0).then_some((self.min, self.max))
    }

    /// All values added up.
    #[must_use]
    pub fn sum(&self) -> i128 {
        self.sum
    }

    /// The standard deviation of the population; 0 without values.
    #[must_use]
    pub fn stdev(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = self.count as f64;
        let mean = self.sum as f64 / count;
        (self.sum_of_squares / count - mean * mean).max(0.0).sqrt()
    }

    /// The buckets that hold values, in order: their numbers and their counts.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_an_end_belongs_to_the_bucket_that_ends_there() {
        let mut buckets = Buckets::new(&[0, 10, 20]);
        for value in [-5, 0, 1, 10, 11, 20, 21, i64::MAX / 4] {
            buckets.record(value);
        }
        assert_eq!(buckets.counts().collect::<Vec<_>>(), [(0, 2), (1, 2), (2, 2), (3, 2)]);
        assert_eq!(buckets.range(), Some((-5, i64::MAX / 4)));
        assert_eq!(buckets.sum(), i128::from(i64::MAX / 4) + 58);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let values = [3, 7, 7, 12, 40, 0];
        let mut whole = Buckets::new(&[5, 10]);
        values.iter().for_each(|value| whole.record(*value));
        for at in 0..=values.len() {
            let (mut first, mut second) = (Buckets::new(&[5, 10]), Buckets::new(&[5, 10]));
            values[..at].iter().for_each(|value| first.record(*value));
            values[at..].iter().for_each(|value| second.record(*value));
            first.merge(&second);
            assert_eq!(first, whole, "{at}");
        }
        // 0, 3, 7, 7, 12 and 40: mean 11.5, squares 1851.
        assert!((whole.stdev() - (1851.0_f64 / 6.0 - 132.25).sqrt()).abs() < 1e-12);
        let mut none = Buckets::default();
        none.record(1);
        assert_eq!((none.range(), none.count()), (None, 0));
        none.merge(&whole);
        assert_eq!(none, whole);
    }
}
