//! How far a quantile may lie above the value that a histogram gives, because the times of
//! incomplete requests are lower bounds.
//!
//! The quantile of lower bounds is one itself. The most that it may be follows if incomplete
//! requests never get a response: then they rank above all others.

use crate::histogram::Histogram;

/// A value is called a lower bound if the most that it may be is over this many times as much.
const SEEN_FROM: f64 = 1.01;

/// The times of some requests by a clock.
#[derive(Debug)]
pub struct Bounds<'a> {
    /// All that were timed. A time of an incomplete request is what it had waited.
    all: &'a Histogram,
    /// How many of these are incomplete.
    incomplete: u64,
    /// Incomplete requests that were not timed.
    untimed: u64,
    /// Times of the others that are no shorter than those among all, where they are kept apart.
    complete: Option<Histogram>,
}

impl<'a> Bounds<'a> {
    /// Of times among which those of incomplete requests are not told apart. `untimed` is how many
    /// incomplete requests are missing among them.
    #[must_use]
    pub fn new(all: &'a Histogram, incomplete: u64, untimed: u64) -> Self {
        Self { all, incomplete, untimed, complete: None }
    }

    /// The same, with the times of complete requests kept apart, or longer times of these.
    #[must_use]
    pub fn with_complete(self, complete: Option<Histogram>) -> Self {
        Self { complete, ..self }
    }

    /// All that were timed.
    #[must_use]
    pub fn all(&self) -> &'a Histogram {
        self.all
    }

    /// Incomplete requests.
    #[must_use]
    pub fn incomplete(&self) -> u64 {
        self.incomplete + self.untimed
    }

    /// Whether the quantile `q` (0 to 1) is called a lower bound: the most that it may be is over
    /// 1 % higher.
    #[must_use]
    pub fn is_lower_bound(&self, q: f64) -> bool {
        let Some(value_ns) = self.all.quantile_ns(q).filter(|_| self.incomplete() > 0) else {
            return false;
        };
        let is_more = |most_ns: u64| most_ns as f64 > value_ns as f64 * SEEN_FROM;
        self.most_ns(q).is_none_or(is_more)
    }

    /// The most that the quantile `q` (0 to 1) may be, ns; `None` without a limit.
    ///
    /// Where the times of complete requests are not kept apart, incomplete ones may have the lowest
    /// ranks: then the quantile is that of a rank which lies behind theirs.
    #[must_use]
    pub fn most_ns(&self, q: f64) -> Option<u64> {
        if self.incomplete() == 0 {
            return self.all.quantile_ns(q);
        }
        let rank = ((self.all.count() + self.untimed) as f64 * q).ceil().max(1.0) as u64;
        let behind_all = at_rank(self.all, rank.saturating_add(self.incomplete));
        let of_complete = self.complete.as_ref().and_then(|complete| at_rank(complete, rank));
        match (behind_all, of_complete) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

/// The value of a rank, from 1; `None` beyond the last.
fn at_rank(histogram: &Histogram, rank: u64) -> Option<u64> {
    let count = histogram.count();
    // Half a rank less, so that rounding cannot make it the next one.
    (rank <= count).then(|| histogram.quantile_ns((rank as f64 - 0.5) / count as f64)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn of(values_ms: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        values_ms.iter().for_each(|(ms, count)| histogram.record_n(ms * MS, *count));
        histogram
    }

    /// 90 fast requests and 6 slow ones; 4 have no response.
    #[test]
    fn incomplete_requests_rank_above_all_others() {
        let whole_ms = |most_ns: Option<u64>| most_ns.map(|ns| (ns as f64 / 1e6).round() as u64);
        for incomplete_ms in [1, 500, 2000] {
            let complete = of(&[(10, 90), (1000, 6)]);
            let mut all = complete.clone();
            all.record_n(incomplete_ms * MS, 4);
            let exact = Bounds { complete: Some(complete), ..Bounds::new(&all, 4, 0) };
            let rough = Bounds::new(&all, 4, 0);
            for (q, most_ms) in [(0.5, 10), (0.9, 10), (0.91, 1000), (0.96, 1000)] {
                assert_eq!(whole_ms(exact.most_ns(q)), Some(most_ms), "{q}");
                // They may stand before the four ranks that lead up to it.
                let (known, most) = (exact.most_ns(q), rough.most_ns(q));
                assert!(most >= known && most == all.quantile_ns(q + 0.04), "{q}: {most:?}");
            }
            for q in [0.97, 0.99] {
                assert_eq!((exact.most_ns(q), rough.most_ns(q)), (None, None), "{q}");
            }
        }
    }

    #[test]
    fn requests_that_were_not_timed_rank_last() {
        let all = of(&[(10, 98)]);
        let most = |untimed, q| Bounds::new(&all, 0, untimed).most_ns(q).map(|ns| ns / MS);
        assert_eq!(most(0, 0.99), Some(10));
        assert_eq!((most(1, 0.98), most(2, 0.98)), (Some(10), Some(10)));
        assert_eq!((most(1, 0.99), most(2, 0.99)), (None, None));
    }
}
