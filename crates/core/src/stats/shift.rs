//! By how much one set of values lies beyond another: the Hodges–Lehmann estimate, which is the
//! median of all differences between a value of the one and a value of the other, and the interval
//! that belongs to the Mann–Whitney test (Hollander, Wolfe and Chicken, "Nonparametric Statistical
//! Methods", 3rd edition, sections 4.2 and 4.3).
//!
//! The interval needs no assumption but that the noise of both sets is alike, and it holds its
//! confidence at any number of values. On logarithms a shift is a ratio.

use super::rank_sum::{EXACT_UP_TO, Ways};
use super::sample::{quantile, sorted};
use super::{Interval, normal};

/// What sums of rounded shares may be off by.
const ROUNDING: f64 = 1e-12;

/// How far `second` lies beyond `first`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The median of all differences.
    pub estimate: f64,
    /// Where the true shift lies; none where there are too few values for the confidence.
    pub interval: Option<Interval>,
}

/// Estimates the shift from `first` to `second` with an interval of at least this confidence, from
/// 0 to 1. None where a set is empty.
#[must_use]
pub fn shift(first: &[f64], second: &[f64], confidence: f64) -> Option<Shift> {
    let differences: Vec<f64> = second
        .iter()
        .flat_map(|new| first.iter().map(move |base| difference(*new, *base)))
        .collect();
    let differences = sorted(&differences);
    let estimate = quantile(&differences, 0.5)?;
    let interval = outside(first.len(), second.len(), confidence).map(|(cut, confidence)| {
        let last = differences.len() - 1;
        Interval { low: differences[cut], high: differences[last - cut], confidence }
    });
    Some(Shift { estimate, interval })
}

/// Two infinities of one sign do not differ.
fn difference(new: f64, base: f64) -> f64 {
    if new == base { 0.0 } else { new - base }
}

/// How many of the smallest differences, and as many of the largest, lie outside an interval of
/// this confidence, and the confidence it then has. None where all of them would not do.
fn outside(n: usize, m: usize, confidence: f64) -> Option<(usize, f64)> {
    let tail = (1.0 - confidence) / 2.0;
    if n + m > EXACT_UP_TO {
        return outside_by_normal(n as f64, m as f64, tail);
    }
    let doubled: Vec<usize> = (1..=n + m).map(|rank| 2 * rank).collect();
    let ways = Ways::count(&doubled, n);
    // The chance that at most so many differences have the wrong sign: that U is at most it.
    let chance = |wrong: usize| ways.up_to(n * (n + 1) + 2 * wrong);
    let refused = (0..n * m).take_while(|wrong| chance(*wrong) <= tail + ROUNDING).count();
    let wrong = refused.checked_sub(1)?;
    Some((wrong, 1.0 - 2.0 * chance(wrong)))
}

fn outside_by_normal(n: f64, m: f64, tail: f64) -> Option<(usize, f64)> {
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    // With the half that the test takes off for continuity.
    let wrong = (n * m / 2.0 - 0.5 + normal::quantile(tail) * deviation).floor();
    (wrong >= 0.0).then_some((wrong as usize, 1.0 - 2.0 * tail))
}
