//! Statistics of a few repeats: where they lie, how far they spread, and whether two sets differ by
//! more than chance.
//!
//! Everything is a pure function of slices; random methods take their generator as an argument.
//! Values are finite numbers: callers leave out what could not be measured. Noise between runs has
//! heavy tails (a neighbour on the machine, a slow start), and one set may have more of it than the
//! other. One test alone is therefore never enough: `shift` says which two have to agree.

mod bootstrap;
mod detectable;
mod holm;
mod normal;
mod null;
mod pairs;
mod rank_sum;
mod sample;
mod shift;
mod unlike;

pub use bootstrap::{BootstrapMethod, bootstrap};
pub use detectable::detectable_shift;
pub use holm::holm;
pub(crate) use normal::{quantile as normal_quantile, t_quantile};
pub use rank_sum::{RankSum, least_p, rank_sum, rank_sum_by_normal};
pub use sample::{SampleSummary, mad, mean, median, median_interval, quantile};
pub use shift::{CHANCE_ROUNDING, LEAST_VALUES, Shift, shift, shift_among};

use serde::{Deserialize, Serialize};

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How often, at least, such an interval holds the true value: 0.95 is 19 times of 20.
    pub confidence: f64,
}

#[cfg(test)]
mod tests;
