//! By how much one set of values exceeds another, and whether that is more than noise.
//!
//! The estimate is that of Hodges and Lehmann: the median of all differences between a value of one
//! set and a value of the other. Two tests have to reject equality: the exact Mann–Whitney test
//! (Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd edition, sections 4.1 to
//! 4.3), and one that lets the noise of the sets differ (`unlike`). The interval holds every shift
//! that at least one of them does not reject, so tests and interval agree. On logarithms a shift is
//! a ratio.

use super::null::Null;
use super::pairs::Pairs;
use super::rank_sum::rank_sum_stretched;
use super::sample::sorted;
use super::unlike::{Welch, stretch, welch};
use super::{ConfidenceInterval, rank_sum};

/// With fewer values in a set nothing is told: neither test holds what it promises then.
pub const LEAST_VALUES: usize = 4;

/// Up to this many values in the smaller set noise is seen by Welch's test.
const FEW_VALUES: usize = 5;

/// What chances may be off by for having been summed and subtracted.
pub const CHANCE_ROUNDING: f64 = 1e-12;

/// How far `second` lies beyond `first`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The median of all differences.
    pub estimate: f64,
    /// The chance of a difference this large, in either direction, between equal sets: the largest
    /// of the tests' p-values.
    pub p: f64,
    /// The same by the one test that can tell many tests at once apart, for Holm's method: that of
    /// ranks where there are values enough for it, Welch's where there are not. [`Shift::p`] where
    /// there is no such test.
    pub p_of_many: f64,
    /// Where the true shift lies; none where there are too few values for the confidence. It leaves
    /// out no shift, or touches it, exactly where the tests refuse it at the level of one of the
    /// tests.
    pub interval: Option<ConfidenceInterval>,
}

impl Shift {
    /// The same where no shift was refused by a method that is stricter with some tests than with
    /// others, as Holm's is: the interval of a test that was the more lenient ends at no shift.
    pub(crate) fn refused(self) -> Self {
        Self { interval: self.interval.map(|interval| agreeing(interval, true)), ..self }
    }
}

/// Estimates the shift from `first` to `second` with an interval of at least this confidence, from
/// 0 to 1. None where a set is empty.
#[must_use]
pub fn shift(first: &[f64], second: &[f64], confidence: f64) -> Option<Shift> {
    shift_among(first, second, confidence, 1)
}

/// The same for one of `tests` tests that share the chance of error: all of their intervals
/// together hold the true shifts with this confidence (Bonferroni).
///
/// Four or five values on each side are too few for ranks to be as strict as that. There the ranks
/// keep the confidence of a single test, and Welch's test is the strict one.
#[must_use]
pub fn shift_among(first: &[f64], second: &[f64], confidence: f64, tests: usize) -> Option<Shift> {
    let (first, second) = (&sorted(first)[..], &sorted(second)[..]);
    let pairs = Pairs { first, second };
    let estimate = pairs.median()?;
    let (few, many) = (first.len().min(second.len()), first.len().max(second.len()));
    let shared = 1.0 - (1.0 - confidence) / tests.max(1) as f64;
    let null = Null::untied(first.len(), second.len());
    let cut = |confidence: f64| null.quantile((1.0 - confidence) / 2.0);
    let has_ranks = few > FEW_VALUES && cut(shared).is_some();
    let of_ranks = if has_ranks { shared } else { confidence };
    let by_means = welch(first, second, shared).filter(|_| !has_ranks);
    let by_ranks = rank_sum(first, second).p;
    let Some(cut) = cut(of_ranks).filter(|_| few >= LEAST_VALUES) else {
        let p_of_many = by_means.map_or(by_ranks, |welch| welch.p);
        return Some(Shift { estimate, p: by_ranks, p_of_many, interval: None });
    };
    let sees_spread = estimate.is_finite() && (few > FEW_VALUES || many > 2 * few);
    let stretch = if sees_spread { stretch(first, second, estimate, of_ranks) } else { 1.0 };
    let p_of_ranks = rank_sum_stretched(first, second, stretch).p.max(by_ranks);
    let p_of_many = by_means.map_or(p_of_ranks, |welch| welch.p);
    let is_refused = p_of_ranks <= 1.0 - of_ranks + CHANCE_ROUNDING
        && by_means.is_none_or(|welch| welch.p <= 1.0 - shared + CHANCE_ROUNDING);
    let ranks = around(pairs, cut, stretch, of_ranks);
    let interval = agreeing(united(ranks, by_means), is_refused);
    let interval = Some(ConfidenceInterval { confidence: shared, ..interval });
    Some(Shift { estimate, p: p_of_ranks.max(p_of_many), p_of_many, interval })
}

/// The shifts that the ranks do not refuse. `cut` is how many pairs may be out of order where the
/// noise is alike.
fn around(pairs: Pairs<'_>, cut: f64, stretch: f64, confidence: f64) -> ConfidenceInterval {
    let middle = pairs.count() as f64 / 2.0;
    // The product is not exact, and a whole number of pairs has to stay one.
    let cut = (middle - stretch * (middle - cut) + 1e-9).floor().max(0.0) as usize;
    ConfidenceInterval { low: pairs.nth(cut), high: pairs.nth(pairs.count() - 1 - cut), confidence }
}

fn united(ranks: ConfidenceInterval, welch: Option<Welch>) -> ConfidenceInterval {
    let Some(Welch { interval, .. }) = welch else { return ranks };
    ConfidenceInterval {
        low: ranks.low.min(interval.low),
        high: ranks.high.max(interval.high),
        ..ranks
    }
}

/// Values that are tied make the tests and the interval part by a hair: of shifts next to none the
/// ties are gone, and with them what the tests knew. The tests decide.
fn agreeing(interval: ConfidenceInterval, is_refused: bool) -> ConfidenceInterval {
    let ConfidenceInterval { low, high, .. } = interval;
    if !is_refused {
        return ConfidenceInterval { low: low.min(0.0), high: high.max(0.0), ..interval };
    }
    match low + high > 0.0 {
        true => ConfidenceInterval { low: low.max(0.0), ..interval },
        false => ConfidenceInterval { high: high.min(0.0), ..interval },
    }
}
