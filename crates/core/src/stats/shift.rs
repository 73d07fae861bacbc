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
    /// The same by Welch's test alone, which few values do not keep from being small: many tests
    /// at once are judged by it. [`Shift::p`] where there is no such test.
    pub p_of_means: f64,
    /// Where the true shift lies; none where there are too few values for the confidence. It leaves
    /// out no shift, or touches it, exactly where `p` is at most one less the confidence.
    pub interval: Option<ConfidenceInterval>,
}

/// Estimates the shift from `first` to `second` with an interval of at least this confidence, from
/// 0 to 1. None where a set is empty.
#[must_use]
pub fn shift(first: &[f64], second: &[f64], confidence: f64) -> Option<Shift> {
    let (first, second) = (&sorted(first)[..], &sorted(second)[..]);
    let pairs = Pairs { first, second };
    let estimate = pairs.median()?;
    let (few, many) = (first.len().min(second.len()), first.len().max(second.len()));
    let by_means = welch(first, second, confidence);
    let by_ranks = rank_sum(first, second).p;
    let p_of_means = by_means.map_or(by_ranks, |welch| welch.p);
    let null = Null::untied(first.len(), second.len());
    let cut = null.quantile((1.0 - confidence) / 2.0).filter(|_| few >= LEAST_VALUES);
    let Some(cut) = cut else {
        return Some(Shift { estimate, p: by_ranks, p_of_means, interval: None });
    };
    let sees_spread = estimate.is_finite() && (few > FEW_VALUES || many > 2 * few);
    let stretch = if sees_spread { stretch(first, second, estimate, confidence) } else { 1.0 };
    let welch = by_means.filter(|_| few <= FEW_VALUES);
    let p = rank_sum_stretched(first, second, stretch).p.max(by_ranks);
    let p = welch.map_or(p, |welch| welch.p.max(p));
    let ranks = around(pairs, cut, stretch, confidence);
    let interval = agreeing(united(ranks, welch), p <= 1.0 - confidence + CHANCE_ROUNDING);
    Some(Shift { estimate, p, p_of_means, interval: Some(interval) })
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
