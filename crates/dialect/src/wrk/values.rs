//! Counted whole numbers, and wrk's arithmetic on them: microseconds or requests per second.

use plimsoll_core::Histogram;

/// Values and how often each was seen, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Values {
    pairs: Vec<(u64, u64)>,
    /// How many more there are that count and have no value.
    blank: u64,
}

impl Values {
    /// Of a histogram, in units of `scale`, rounded. The extremes are exact, the rest stand in the
    /// middle of their bucket.
    pub(super) fn of(histogram: &Histogram, scale: u64) -> Self {
        let mut values = Self::default();
        let (Some(min), Some(max)) = (histogram.min_ns(), histogram.max_ns()) else {
            return values;
        };
        let buckets: Vec<(u64, u64)> = histogram.buckets().collect();
        let has_max = histogram.count() > 1;
        let scaled = |value: u64| (value + scale / 2) / scale;
        values.push(scaled(min), 1);
        for (i, &(highest, count)) in buckets.iter().enumerate() {
            let is_last = i + 1 == buckets.len() && has_max;
            let middle = (highest - bucket_width(highest) / 2).clamp(min, max);
            values.push(scaled(middle), count - u64::from(i == 0) - u64::from(is_last));
        }
        values.push(scaled(max), u64::from(has_max));
        values
    }

    /// Adds a value not below those there are.
    fn push(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        match self.pairs.last_mut() {
            Some((last, known)) if *last == value => *known += count,
            _ => self.pairs.push((value, count)),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.pairs.iter().copied()
    }

    pub(super) fn count(&self) -> u64 {
        self.blank + self.pairs.iter().map(|(_, count)| count).sum::<u64>()
    }

    /// With `blank` more that count and have no value.
    pub(super) fn with_blank(self, blank: u64) -> Self {
        Self { blank: self.blank + blank, ..self }
    }

    /// The largest; 0 without any.
    pub(super) fn max(&self) -> u64 {
        self.pairs.last().map_or(0, |(value, _)| *value)
    }

    /// Those from `first` to `last`.
    pub(super) fn between(&self, first: u64, last: u64) -> Self {
        let is_in = |(value, _): &(u64, u64)| (first..=last).contains(value);
        Self { pairs: self.pairs.iter().copied().filter(is_in).collect(), blank: self.blank }
    }

    /// 0 without any.
    pub(super) fn mean(&self) -> f64 {
        let sum: u128 = self.iter().map(|(value, n)| u128::from(value) * u128::from(n)).sum();
        if self.pairs.is_empty() { 0.0 } else { sum as f64 / self.count() as f64 }
    }

    /// Of a sample: divided by one less than there are. 0 of fewer than two.
    pub(super) fn stdev(&self) -> f64 {
        let (count, mean) = (self.count(), self.mean());
        if count < 2 {
            return 0.0;
        }
        let squares: f64 =
            self.iter().map(|(value, n)| (value as f64 - mean).powi(2) * n as f64).sum();
        (squares / (count - 1) as f64).sqrt()
    }

    /// Per cent of the values within one standard deviation of the mean; NaN without any.
    pub(super) fn within_stdev(&self) -> f64 {
        let (mean, stdev) = (self.mean(), self.stdev());
        let range = mean - stdev..=mean + stdev;
        let within: u64 =
            self.iter().filter(|(value, _)| range.contains(&(*value as f64))).map(|(_, n)| n).sum();
        within as f64 / self.count() as f64 * 100.0
    }

    /// The value that wrk calls the `percent`th percentile: that of rank
    /// `round(percent / 100 * count + 0.5)`. 0 without any.
    pub(super) fn percentile(&self, percent: u64) -> u64 {
        let rank = self.count() * percent / 100 + 1;
        let mut total = 0;
        let found = self.iter().find(|(_, count)| {
            total += count;
            total >= rank
        });
        found.map_or(0, |(value, _)| value)
    }
}

impl FromIterator<(u64, u64)> for Values {
    /// From values in ascending order.
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(pairs: I) -> Self {
        let mut values = Self::default();
        for (value, count) in pairs {
            values.push(value, count);
        }
        values
    }
}

/// How many values share a bucket of our histograms (three digits: 2048 below the first doubling).
pub(super) fn bucket_width(value: u64) -> u64 {
    1 << ((value | 2047).ilog2() - 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_and_extremes_exact() {
        let mut histogram = Histogram::new();
        for (value_ns, count) in [(1_499, 1), (1_500, 2), (10_000_300, 3), (77_777_777, 1)] {
            histogram.record_n(value_ns, count);
        }
        let values = Values::of(&histogram, 1000);
        let exact: Vec<_> = values.iter().collect();
        assert_eq!(exact[..2], [(1, 1), (2, 2)]);
        // A bucket of 8192 ns.
        assert!(exact[2].0.abs_diff(10_000) <= 5 && exact[2].1 == 3, "{exact:?}");
        assert_eq!(exact[3], (77_778, 1));
        assert_eq!((values.count(), values.max()), (7, 77_778));
        assert_eq!(Values::of(&Histogram::new(), 1000), Values::default());
    }

    #[test]
    fn one_value_is_not_split() {
        for count in [1, 2, 9] {
            let mut histogram = Histogram::new();
            histogram.record_n(5_000_000, count);
            assert_eq!(Values::of(&histogram, 1000).iter().collect::<Vec<_>>(), [(5000, count)]);
        }
    }

    #[test]
    fn wrk_arithmetic() {
        let values: Values = [(1, 1), (2, 1), (3, 1), (10, 1)].into_iter().collect();
        assert_eq!(values.mean(), 4.0);
        // (9 + 4 + 1 + 36) / 3 = 50 / 3
        assert!((values.stdev() - (50.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(values.within_stdev(), 75.0);
        // Ranks 3, 4, 4 and 4.
        assert_eq!([50, 75, 90, 99].map(|p| values.percentile(p)), [3, 10, 10, 10]);
        assert_eq!(values.between(2, 9).iter().collect::<Vec<_>>(), [(2, 1), (3, 1)]);
        let none = Values::default();
        assert_eq!((none.mean(), none.stdev(), none.percentile(50)), (0.0, 0.0, 0));
        assert!(none.within_stdev().is_nan());
        let one: Values = [(7, 1)].into_iter().collect();
        assert_eq!((one.mean(), one.stdev(), one.within_stdev()), (7.0, 0.0, 100.0));
        assert_eq!(one.percentile(99), 7);
    }
}
