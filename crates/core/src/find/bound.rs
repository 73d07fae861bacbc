//! How far the average over requests may be from the truth, from its sums over intervals.
//!
//! What speaks against an objective comes in clumps: a busy period, a stall. Its sum is near a
//! compound Poisson sum, and for those Fay and Feuer ("Confidence intervals for directly
//! standardized rates", Statistics in Medicine 16, 1997) take quantiles of gamma distributions with
//! the mean and variance of the sum; for the upper end they add the largest clump, which might
//! have come once more. Where nothing spoke against it this is the rule of three, and with many
//! small clumps it becomes the normal interval.
//!
//! The variance is that between intervals, or that between blocks of intervals where it is larger:
//! neighbours depend on each other. A probe that has few clumps over the limit, or none, does not
//! show how large they are. So their size is at least a part of that of the clumps of requests over
//! half the limit, of which there are many more.

use statrs::distribution::{ContinuousCDF as _, Gamma};

use crate::stats::{normal_quantile, t_quantile};

/// Blocks that a probe is cut into.
pub(super) const BLOCKS: usize = 15;

/// Correlations of neighbouring blocks above this are not estimable from so few, and a probe that
/// has them is too short anyway.
const CORRELATION_MAX: f64 = 0.6;

/// The part of the size of clumps near the limit that clumps over it have at least. Those near it
/// contain the way up to it. The value is calibrated: a hold half a percent above the load line of
/// the queues in `tests::coverage` passes in about 10 % of cases at most, and in up to 20 %
/// without.
const NEAR_SIZE: f64 = 0.4;

/// A mean and its one-sided bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) value: f64,
    /// The true mean is less with a chance of at most α; infinite where nothing is known.
    pub(super) low: f64,
    /// The true mean is more with a chance of at most α.
    pub(super) high: f64,
}

/// A sum of independent clumps: its value, the variance of that, and its largest clump.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Clumps {
    pub(super) sum: f64,
    pub(super) variance: f64,
    pub(super) largest: f64,
}

impl Clumps {
    /// The clumps of sums over intervals: what each of `among` requests has against it, `unit` at
    /// least where anything. `near` counts requests that came near to it.
    pub(super) fn of(among: &[f64], against: &[f64], near: &[f64], unit: f64, alpha: f64) -> Self {
        let apart = excess(among, against);
        let sum: f64 = against.iter().sum();
        let size = NEAR_SIZE * clump_size(among, near);
        let variance = clumped_variance(&apart).max(sum * size);
        // The variance is itself estimated from a few blocks.
        let freedom = (blocks(&apart).len().max(2) - 1) as f64;
        let student = t_quantile(1.0 - alpha, freedom) / normal_quantile(1.0 - alpha);
        let largest = largest_run(&apart).max(unit).max(size);
        Self { sum, variance: variance * student * student, largest }
    }

    /// The sum of two independent ones.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            variance: self.variance + other.variance,
            largest: self.largest.max(other.largest),
        }
    }

    /// The same with each clump multiplied.
    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            sum: self.sum * factor,
            variance: self.variance * factor * factor,
            largest: self.largest * factor,
        }
    }

    /// The sum below which it would be no less likely than α to see this one, or less.
    pub(super) fn high(self, alpha: f64) -> f64 {
        let largest = self.largest;
        gamma_quantile(1.0 - alpha, self.sum + largest, self.variance + largest * largest)
    }

    /// The sum above which it would be no less likely than α to see this one, or more.
    pub(super) fn low(self, alpha: f64) -> f64 {
        gamma_quantile(alpha, self.sum, self.variance)
    }
}

/// The quantile of a gamma distribution with this mean and variance.
fn gamma_quantile(p: f64, mean: f64, variance: f64) -> f64 {
    if mean <= 0.0 || variance <= 0.0 {
        return mean.max(0.0);
    }
    let shape = mean * mean / variance;
    // Wilson and Hilferty's cube root of 1931, which is exact to four digits at such shapes.
    if shape > 1e3 {
        let ninth = 1.0 / (9.0 * shape);
        return mean * (1.0 - ninth + normal_quantile(p) * ninth.sqrt()).max(0.0).powi(3);
    }
    Gamma::new(shape, mean / variance).map_or(mean, |gamma| gamma.inverse_cdf(p))
}

/// Sums over blocks of neighbours: [`BLOCKS`] of them, or fewer where that leaves less than two
/// intervals to a block.
pub(super) fn blocks(values: &[f64]) -> Vec<f64> {
    let count = BLOCKS.min(values.len() / 2).max(1);
    let end = |block: usize| block * values.len() / count;
    (0..count).map(|block| values[end(block)..end(block + 1)].iter().sum()).collect()
}

/// By how much each interval is above its share of the average.
fn excess(among: &[f64], against: &[f64]) -> Vec<f64> {
    let (requests, sum): (f64, f64) = (among.iter().sum(), against.iter().sum());
    let average = if requests > 0.0 { sum / requests } else { 0.0 };
    among.iter().zip(against).map(|(among, against)| against - average * among).collect()
}

/// How many requests a clump has, by how much more their number varies than that of independent
/// ones: the variance over the mean. Weighted by size, as a request sees its clump.
fn clump_size(among: &[f64], values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    if sum > 0.0 { clumped_variance(&excess(among, values)) / sum } else { 0.0 }
}

/// The variance of the sum of values whose neighbours may be alike.
fn clumped_variance(values: &[f64]) -> f64 {
    let blocks = blocks(values);
    variance(values).max(variance(&blocks) * stretch(&blocks))
}

/// The largest sum of neighbours above 0: a clump that spans intervals.
fn largest_run(values: &[f64]) -> f64 {
    let runs = values.chunk_by(|a, b| (*a > 0.0) == (*b > 0.0));
    runs.map(|run| run.iter().sum()).fold(0.0, f64::max)
}

/// The variance of the sum of independent values.
fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() * n / (n - 1.0)
}

/// By what factor neighbours that are alike raise the variance of the sum of values, as in an
/// autoregressive process of the first order; at least 1.
fn stretch(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let apart: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let all: f64 = apart.iter().map(|it| it * it).sum();
    if all <= 0.0 {
        return 1.0;
    }
    let alike: f64 = apart.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation = (alike / all).clamp(0.0, CORRELATION_MAX);
    (1.0 + correlation) / (1.0 - correlation)
}

/// The mean of values over time and its one-sided bounds, by batch means with Student's t. For sums
/// that have no clumps, such as the growth of a backlog.
pub(super) fn mean_bounds(values: &[f64], alpha: f64) -> Bounds {
    let blocks = blocks(values);
    let n = values.len().max(1) as f64;
    let value = blocks.iter().sum::<f64>() / n;
    if blocks.len() < 2 {
        return Bounds { value, low: f64::NEG_INFINITY, high: f64::INFINITY };
    }
    let error = variance(&blocks).sqrt() / n;
    let reach = t_quantile(1.0 - alpha, (blocks.len() - 1) as f64) * error;
    Bounds { value, low: value - reach, high: value + reach }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_gamma_are_those_of_the_tables() {
        // Roots of the regularized incomplete gamma function, to 30 digits by mpmath.
        for (p, mean, variance, want) in [
            (0.95, 1.0, 1.0, 2.995_732_3),
            (0.05, 1.0, 1.0, 0.051_293_3),
            (0.95, 2.0, 2.0, 4.743_864_5),
            (0.95, 10.0, 20.0, 18.307_038),
            (0.95, 2000.0, 2000.0, 2_074.124_2),
        ] {
            let found = gamma_quantile(p, mean, variance);
            assert!((found / want - 1.0).abs() < 1e-4, "{p} {mean} {variance}: {found}");
        }
        assert_eq!(gamma_quantile(0.95, 0.0, 1.0), 0.0);
        assert_eq!(gamma_quantile(0.95, 7.0, 0.0), 7.0);
    }

    #[test]
    fn nothing_against_is_the_rule_of_three() {
        let clumps = Clumps::of(&[100.0; 60], &[0.0; 60], &[0.0; 60], 1.0, 0.05);
        assert!((clumps.high(0.05) - 2.9957).abs() < 1e-3, "{clumps:?}");
        assert_eq!(clumps.low(0.05), 0.0);
    }

    #[test]
    fn a_single_clump_shows_little_and_many_small_ones_much() {
        let mut one = [0.0; 60];
        one[30] = 60.0;
        let all = [100.0; 60];
        let one = Clumps::of(&all, &one, &[0.0; 60], 1.0, 0.05);
        // Each second has one or none, and so as many in sum.
        let many: Vec<f64> = (0..60).map(|i| f64::from(i % 3)).collect();
        let many = Clumps::of(&all, &many, &[0.0; 60], 1.0, 0.05);
        assert_eq!((one.sum, many.sum), (60.0, 60.0));
        assert!(one.high(0.05) > 240.0 && one.low(0.05) < 6.0, "{one:?}");
        assert!(many.high(0.05) < 80.0 && many.low(0.05) > 45.0, "{many:?}");
    }

    #[test]
    fn neighbours_that_are_alike_widen_the_bounds() {
        let all = [100.0; 60];
        let (mut mixed, mut apart) = ([0.0; 60], [0.0; 60]);
        for i in 0..60 {
            mixed[i] = f64::from(u8::from(i % 2 == 0)) * 4.0;
            apart[i] = f64::from(u8::from(i >= 30)) * 4.0;
        }
        let [mixed, apart] = [mixed, apart].map(|it| Clumps::of(&all, &it, &[0.0; 60], 1.0, 0.05));
        assert_eq!(mixed.sum, apart.sum);
        assert!(apart.high(0.05) > 1.3 * mixed.high(0.05), "{mixed:?} {apart:?}");
    }

    #[test]
    fn blocks_hold_every_value_once() {
        for n in [1, 2, 3, 5, 29, 30, 31, 44, 60, 300] {
            let blocks = blocks(&vec![1.0; n]);
            assert_eq!(blocks.iter().sum::<f64>(), n as f64, "{n}");
            assert_eq!(blocks.len(), (n / 2).clamp(1, BLOCKS), "{n}");
        }
        let steady = mean_bounds(&[5.0; 60], 0.01);
        assert_eq!((steady.value, steady.low, steady.high), (5.0, 5.0, 5.0));
        let one = mean_bounds(&[5.0], 0.01);
        assert_eq!((one.value, one.low), (5.0, f64::NEG_INFINITY));
    }
}
