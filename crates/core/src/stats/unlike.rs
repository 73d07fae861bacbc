//! Tests for two sets whose noise differs.
//!
//! The Mann–Whitney test assumes that both sets have the same noise. When the smaller set is the
//! noisier one, it calls differences that don't exist: with 4 values against 20 that have a fifth
//! of the noise, in one case of seven. Two ways to see it, for sets of different sizes: Welch's t
//! test where ranks are too few to show it, and the placements of Brunner and Munzel where there
//! are more.

use super::sample::{mean, variance};
use super::{ConfidenceInterval, normal};

/// What Welch's test says ("The generalization of Student's problem when several different
/// population variances are involved", 1947).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Welch {
    /// The chance of such means, to either side, where there is no difference.
    pub(super) p: f64,
    /// Where the true difference lies.
    pub(super) interval: ConfidenceInterval,
}

/// Tests two sets; none where one has fewer than two values or an infinite one.
pub(super) fn welch(first: &[f64], second: &[f64], confidence: f64) -> Option<Welch> {
    let by = mean(second)? - mean(first)?;
    let shares = [share(first)?, share(second)?];
    if !by.is_finite() {
        return None;
    }
    let error = (shares[0].of_variance + shares[1].of_variance).sqrt();
    let freedom = freedom(shares);
    let p = match (error > 0.0, by == 0.0) {
        (true, _) => 2.0 * normal::t_above(by.abs() / error, freedom),
        (false, true) => 1.0,
        (false, false) => 0.0,
    };
    let room = normal::t_quantile((1.0 + confidence) / 2.0, freedom) * error;
    Some(Welch { p, interval: ConfidenceInterval { low: by - room, high: by + room, confidence } })
}

/// How many times as far as under noise that is alike the U of two sets in rising order is spread,
/// 1 or more, the second set's lying `by` beyond the first's.
///
/// It is the error of the share of pairs in one order, as Brunner and Munzel estimate it ("The
/// nonparametric Behrens-Fisher problem", 2000), over what it is under noise that is alike. Where
/// that error hangs on the fewer of the values, Student's t takes more room, and so does this.
pub(super) fn stretch(first: &[f64], second: &[f64], by: f64, confidence: f64) -> f64 {
    let (n, m) = (first.len(), second.len());
    let moved: Vec<f64> = second.iter().map(|value| value - by).collect();
    let shares = [share(&placements(first, &moved)), share(&placements(&moved, first))];
    let [Some(first), Some(second)] = shares else { return 1.0 };
    let seen = first.of_variance + second.of_variance;
    let alike = (n + m + 1) as f64 / (12 * n * m) as f64;
    let room = |freedom: f64| normal::t_quantile((1.0 + confidence) / 2.0, freedom);
    let wider = room(freedom([first, second])) / room((n + m - 2) as f64);
    ((seen / alike).sqrt() * wider).max(1.0)
}

/// For each value the share of the others below it, a tie being half below. Both in rising order.
fn placements(values: &[f64], others: &[f64]) -> Vec<f64> {
    let place = |value: &f64| {
        let below = others.partition_point(|other| other < value);
        let up_to = others.partition_point(|other| other <= value);
        (below + up_to) as f64 / (2 * others.len()) as f64
    };
    values.iter().map(place).collect()
}

/// What a set adds to the variance of a difference of means.
#[derive(Debug, Clone, Copy)]
struct Share {
    of_variance: f64,
    freedom: f64,
}

fn share(values: &[f64]) -> Option<Share> {
    let of_variance = variance(values)? / values.len() as f64;
    Some(Share { of_variance, freedom: (values.len() - 1) as f64 })
}

/// The degrees of freedom of Welch and Satterthwaite.
fn freedom(shares: [Share; 2]) -> f64 {
    let all: f64 = shares.iter().map(|share| share.of_variance).sum();
    let each = shares.iter().map(|share| share.of_variance.powi(2) / share.freedom);
    let freedom = all.powi(2) / each.sum::<f64>();
    // Without any noise there is nothing to weigh.
    if freedom.is_finite() { freedom } else { shares[0].freedom + shares[1].freedom }
}
