//! The bootstrap: how much a statistic would vary if other values of the same kind had been
//! measured, estimated by drawing from those that were (Efron and Tibshirani, "An Introduction to
//! the Bootstrap", 1993, sections 13.3 and 14.3).
//!
//! It serves statistics that have no interval of their own. With few values its intervals are too
//! short: for the mean of 5 values, an interval meant to hold the truth in 95 of 100 cases holds it
//! in about 83, and the bias-corrected kind does no better. Whether two sets differ is therefore
//! decided by [`super::rank_sum`] and [`super::shift`], not here.

use rand_core::Rng;

use super::sample::{quantile, sorted};
use super::{ConfidenceInterval, normal};
use crate::random::below;

/// How ends are taken from the statistics of the drawn sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootstrapMethod {
    /// Their quantiles.
    Percentile,
    /// Their quantiles, corrected for bias and for a spread that changes with the value (BCa).
    Bca,
}

/// The interval of a statistic of several sets of values, each drawn from on its own. None where a
/// set is empty, or where the statistic of a drawn set is not a number.
#[must_use]
pub fn bootstrap(
    sets: &[&[f64]],
    statistic: impl Fn(&[Vec<f64>]) -> f64,
    (method, confidence, resamples): (BootstrapMethod, f64, usize),
    random: &mut impl Rng,
) -> Option<ConfidenceInterval> {
    if sets.is_empty() || sets.iter().any(|set| set.is_empty()) {
        return None;
    }
    let mut drawn: Vec<Vec<f64>> = sets.iter().map(|set| set.to_vec()).collect();
    let seen = statistic(&drawn);
    let mut values = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        for (drawn, set) in drawn.iter_mut().zip(sets) {
            let draw = || set[below(random.next_u64(), set.len() as u128) as usize];
            drawn.fill_with(draw);
        }
        values.push(statistic(&drawn));
    }
    if seen.is_nan() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let values = sorted(&values);
    let tail = (1.0 - confidence) / 2.0;
    let shares = match method {
        BootstrapMethod::Percentile => [tail, 1.0 - tail],
        BootstrapMethod::Bca => {
            let correction = Correction::of(sets, &values, seen, &statistic);
            [correction.share(tail), correction.share(1.0 - tail)]
        }
    };
    let [low, high] = shares.map(|share| quantile(&values, share));
    Some(ConfidenceInterval { low: low?, high: high?, confidence })
}

struct Correction {
    bias: f64,
    acceleration: f64,
}

impl Correction {
    fn of(
        sets: &[&[f64]],
        values: &[f64],
        seen: f64,
        statistic: &impl Fn(&[Vec<f64>]) -> f64,
    ) -> Self {
        let lower = values.partition_point(|value| *value < seen);
        let up_to = values.partition_point(|value| *value <= seen);
        let share = (lower + up_to) as f64 / (2 * values.len()) as f64;
        Self { bias: normal::quantile(share), acceleration: acceleration(sets, statistic) }
    }

    fn share(&self, share: f64) -> f64 {
        let z = self.bias + normal::quantile(share);
        let corrected = normal::below(self.bias + z / (1.0 - self.acceleration * z));
        // All drawn sets on one side of what was seen: their end is the best there is.
        if corrected.is_nan() { share } else { corrected }
    }
}

/// From what the statistic is with each value left out in turn.
fn acceleration(sets: &[&[f64]], statistic: &impl Fn(&[Vec<f64>]) -> f64) -> f64 {
    let (mut cubes, mut squares) = (0.0, 0.0);
    for (i, set) in sets.iter().enumerate() {
        if set.len() < 2 {
            continue;
        }
        let n = set.len() as f64;
        let without = |left_out: usize| {
            let mut sets: Vec<Vec<f64>> = sets.iter().map(|set| set.to_vec()).collect();
            sets[i].remove(left_out);
            statistic(&sets)
        };
        let left: Vec<f64> = (0..set.len()).map(without).collect();
        let centre = left.iter().sum::<f64>() / n;
        let influence = |value: &f64| (n - 1.0) * (centre - value);
        cubes += left.iter().map(|value| influence(value).powi(3)).sum::<f64>() / n.powi(3);
        squares += left.iter().map(|value| influence(value).powi(2)).sum::<f64>() / n.powi(2);
    }
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}
