//! Where a set of values lies and how far it spreads.

use serde::{Deserialize, Serialize};

use super::ConfidenceInterval;

/// Makes a MAD of normally distributed values estimate their standard deviation.
const MAD_TO_STDEV: f64 = 1.482_602_218_505_602;

/// What a set of values is like.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SampleSummary {
    /// How many values.
    pub n: usize,
    /// The median; null without values.
    pub median: Option<f64>,
    /// The smallest value.
    pub min: Option<f64>,
    /// The largest value.
    pub max: Option<f64>,
    /// The median absolute deviation from the median, as a standard deviation: times 1.4826.
    pub mad: Option<f64>,
}

impl SampleSummary {
    /// Summarizes values in any order.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        Self {
            n: values.len(),
            median: median(values),
            min: values.iter().copied().min_by(f64::total_cmp),
            max: values.iter().copied().max_by(f64::total_cmp),
            mad: mad(values).map(|mad| mad * MAD_TO_STDEV),
        }
    }
}

/// The values in rising order.
pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The middle value, or the mean of the two in the middle.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted(values), 0.5)
}

/// A quantile of values in rising order, `q` from 0 to 1, linear between neighbours (type 7 of
/// Hyndman and Fan, "Sample quantiles in statistical packages", 1996; NumPy's default).
#[must_use]
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    let between = low + (high - low) * (place - place.floor());
    // There is nothing between an infinity and its neighbour.
    Some(if between.is_finite() { between } else { low })
}

/// The median absolute deviation from the median, unscaled.
#[must_use]
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&deviations)
}

/// The arithmetic mean.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The variance, as an estimate from a sample: over one less than there are values.
pub(super) fn variance(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    let mean = mean(values)?;
    Some(values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom)
}

/// Where the true median lies: from one of the smallest values to one of the largest, whatever the
/// shape of the noise (Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd
/// edition, section 3.6). Where the values are too few for the confidence, from the smallest to the
/// largest, with the confidence that has: 0.9375 for 5 values. None of fewer than two.
#[must_use]
pub fn median_interval(values: &[f64], confidence: f64) -> Option<ConfidenceInterval> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    // The chance that at most `k` of n values lie below the median.
    let mut chances = Vec::new();
    let mut chance = 0.5f64.powf(n as f64);
    let mut sum = 0.0;
    for k in 0..n / 2 {
        sum += chance;
        chances.push(sum);
        chance *= (n - k) as f64 / (k + 1) as f64;
    }
    let tail = (1.0 - confidence) / 2.0;
    let cut = chances.iter().filter(|chance| **chance <= tail).count().saturating_sub(1);
    let sorted = sorted(values);
    let confidence = 1.0 - 2.0 * chances[cut];
    Some(ConfidenceInterval { low: sorted[cut], high: sorted[n - 1 - cut], confidence })
}
