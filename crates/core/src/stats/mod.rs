//! Statistics of a few repeats: where they lie, how far they spread, and whether two sets of them
//! differ by more than chance makes them.
//!
//! Everything is a pure function of slices; what is random takes its generator as an argument.
//! Values are finite numbers: callers leave out what could not be measured. What is absent on
//! purpose: tests that assume a shape of the noise. Between runs it has heavy tails (a neighbour on
//! the machine, a slow start), so the tests here use ranks, which hold their level whatever it is.

mod bootstrap;
mod detectable;
mod normal;
mod rank_sum;
mod sample;
mod shift;

pub use bootstrap::{Method, bootstrap};
pub use detectable::detectable_shift;
pub use rank_sum::{RankSum, least_p, rank_sum, rank_sum_by_normal};
pub use sample::{Summary, mad, mean, median, median_interval, quantile};
pub use shift::{Shift, shift};

use serde::{Deserialize, Serialize};

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How often, at least, such an interval holds the true value: 0.95 is 19 times of 20.
    pub confidence: f64,
}

#[cfg(test)]
mod tests;
