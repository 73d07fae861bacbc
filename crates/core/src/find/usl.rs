//! The Universal Scalability Law (Gunther, "Guerrilla Capacity Planning", 2007): the rate of a
//! closed loop with N connections is λN / (1 + σ(N − 1) + κN(N − 1)). σ is contention for what can
//! be used by one at a time, κ is the cost of keeping all in agreement. With κ > 0 the rate has a
//! peak, at N* = √((1 − σ)/κ).
//!
//! N/X is linear in 1, N − 1 and N(N − 1), so the fit is linear least squares. Weights of (X/N)²
//! make all relative errors count alike. Both coefficients are costs and not negative: if the best
//! fit has one below 0, the law is fitted without it.

use serde::{Deserialize, Serialize};

/// The fewest numbers of connections that a fit needs.
pub const LEAST_POINTS: usize = 6;

/// Below this share of the variance explained, the law does not describe the server, unless it is
/// close to each rate.
const LEAST_R2: f64 = 0.95;

/// A law that is off by no more than this at every point describes the server, whatever the share:
/// the rates of a server that is busy with one connection do not vary.
const CLOSE: f64 = 0.05;

/// A server by the law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Usl {
    /// The rate of a single connection, requests per second.
    pub lambda_rps: f64,
    /// Contention, from 0.
    pub sigma: f64,
    /// The cost of agreement, from 0.
    pub kappa: f64,
    /// The number of connections with the highest rate; null where the rate only ever rises.
    pub peak_connections: Option<f64>,
    /// The rate there.
    pub peak_rps: Option<f64>,
    /// The share of the variance of the rates that the law explains.
    pub r2: f64,
    /// For each point: the measured rate less that of the law, as a share of the latter.
    pub residuals: Vec<f64>,
}

/// Why there is no fit: one line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UslError {
    /// Too few numbers of connections.
    #[error("{0} numbers of connections are too few for a fit: measure {LEAST_POINTS} or more")]
    Few(usize),
    /// A number that is not above 0.
    #[error("{connections} connections with {rate_rps}/s: both must be above 0 to be fitted")]
    Value {
        /// How many connections.
        connections: f64,
        /// Their rate.
        rate_rps: f64,
    },
    /// The points determine no curve.
    #[error("the points determine no curve: measure numbers of connections farther apart")]
    Degenerate,
    /// The law does not describe the points.
    #[error("the law explains {:.0} % of the variance, less than 95 %: it does not describe this \
             server", (100.0 * .0).max(0.0))]
    Unlike(f64),
}

impl Usl {
    /// The rate with this number of connections.
    #[must_use]
    pub fn rate_rps(&self, connections: f64) -> f64 {
        let n = connections;
        self.lambda_rps * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }
}

/// Fits the law to numbers of connections and their rates in requests per second.
///
/// # Errors
/// Fewer than six numbers of connections, values not above 0, and points that the law does not
/// describe.
pub fn fit_usl(points: &[(f64, f64)]) -> Result<Usl, UslError> {
    let mut numbers: Vec<f64> = points.iter().map(|it| it.0).collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.dedup();
    let is_positive = |value: f64| value > 0.0 && value.is_finite();
    if let Some(bad) = points.iter().find(|it| !is_positive(it.0) || !is_positive(it.1)) {
        return Err(UslError::Value { connections: bad.0, rate_rps: bad.1 });
    }
    if numbers.len() < LEAST_POINTS {
        return Err(UslError::Few(numbers.len()));
    }
    // All four choices of which coefficients are kept; the best of those that are costs.
    let fits = [[true, true], [true, false], [false, true], [false, false]];
    let fits = fits.into_iter().filter_map(|kept| with(points, kept));
    let error = |usl: &Usl| usl.residuals.iter().map(|it| it * it).sum::<f64>();
    let best = fits.min_by(|a, b| error(a).total_cmp(&error(b))).ok_or(UslError::Degenerate)?;
    let is_close = best.residuals.iter().all(|it| it.abs() <= CLOSE);
    if best.r2 >= LEAST_R2 || is_close { Ok(best) } else { Err(UslError::Unlike(best.r2)) }
}

/// The fit with some of σ and κ; `None` where a coefficient comes out negative.
fn with(points: &[(f64, f64)], kept: [bool; 2]) -> Option<Usl> {
    let mut matrix = [[0.0; 4]; 3];
    for (n, rate) in points {
        let row = [1.0, (n - 1.0) * f64::from(kept[0]), n * (n - 1.0) * f64::from(kept[1])];
        let weight = (rate / n).powi(2);
        for (i, equation) in matrix.iter_mut().enumerate() {
            for (value, other) in equation.iter_mut().zip(row) {
                *value += weight * row[i] * other;
            }
            equation[3] += weight * row[i] * n / rate;
        }
    }
    for (i, is_kept) in kept.into_iter().enumerate() {
        if !is_kept {
            matrix[i + 1][i + 1] = 1.0;
        }
    }
    let [inverse, sigma, kappa] = solve(matrix)?;
    if inverse <= 0.0 || sigma < 0.0 || kappa < 0.0 {
        return None;
    }
    let (sigma, kappa) = (sigma / inverse, kappa / inverse);
    let mut usl = Usl {
        lambda_rps: 1.0 / inverse,
        sigma,
        kappa,
        peak_connections: (kappa > 0.0 && sigma < 1.0).then(|| ((1.0 - sigma) / kappa).sqrt()),
        peak_rps: None,
        r2: 0.0,
        residuals: Vec::new(),
    };
    usl.peak_rps = usl.peak_connections.map(|n| usl.rate_rps(n));
    let mean = points.iter().map(|it| it.1).sum::<f64>() / points.len() as f64;
    let spread: f64 = points.iter().map(|it| (it.1 - mean).powi(2)).sum();
    let left: f64 = points.iter().map(|it| (it.1 - usl.rate_rps(it.0)).powi(2)).sum();
    usl.r2 = if spread > 0.0 { 1.0 - left / spread } else { 1.0 };
    usl.residuals = points.iter().map(|it| it.1 / usl.rate_rps(it.0) - 1.0).collect();
    Some(usl)
}

/// Solves three equations, each with its right side last, by elimination with pivots. The columns
/// are scaled to 1 on the diagonal first: N² and 1 are far apart.
fn solve(mut matrix: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    let scale: [f64; 3] = std::array::from_fn(|i| matrix[i][i].sqrt());
    if scale.iter().any(|it| *it <= 0.0) {
        return None;
    }
    for i in 0..3 {
        for j in 0..3 {
            matrix[i][j] /= scale[i] * scale[j];
        }
        matrix[i][3] /= scale[i];
    }
    for i in 0..3 {
        let pivot = (i..3).max_by(|a, b| matrix[*a][i].abs().total_cmp(&matrix[*b][i].abs()))?;
        matrix.swap(i, pivot);
        if matrix[i][i].abs() < 1e-12 {
            return None;
        }
        let equation = matrix[i];
        for (row, other) in matrix.iter_mut().enumerate() {
            if row != i {
                let factor = other[i] / equation[i];
                other.iter_mut().zip(equation).for_each(|(value, it)| *value -= factor * it);
            }
        }
    }
    Some(std::array::from_fn(|i| matrix[i][3] / matrix[i][i] / scale[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(lambda: f64, sigma: f64, kappa: f64, numbers: &[u32]) -> Vec<(f64, f64)> {
        let rate = |n: f64| lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
        numbers.iter().map(|n| (f64::from(*n), rate(f64::from(*n)))).collect()
    }

    const NUMBERS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

    #[test]
    fn coefficients_of_exact_points_come_back() {
        for (lambda, sigma, kappa) in [
            (1000.0, 0.02, 0.0001),
            (1000.0, 0.02, 0.0),
            (1000.0, 0.0, 0.0005),
            (1000.0, 0.0, 0.0),
            (0.3, 0.3, 0.01),
        ] {
            let usl = fit_usl(&points(lambda, sigma, kappa, &NUMBERS)).unwrap();
            assert!((usl.lambda_rps / lambda - 1.0).abs() < 1e-9, "{usl:?}");
            assert!((usl.sigma - sigma).abs() < 1e-9 && (usl.kappa - kappa).abs() < 1e-9);
            assert!(usl.r2 > 0.999_999 && usl.residuals.iter().all(|it| it.abs() < 1e-9));
            let peak = (kappa > 1e-12).then(|| ((1.0 - sigma) / kappa).sqrt());
            let off = usl.peak_connections.zip(peak).map_or(0.0, |(a, b)| a / b - 1.0);
            assert!(off.abs() < 1e-6, "{usl:?}");
        }
    }

    #[test]
    fn rates_that_do_not_vary_have_a_fit() {
        let rates = [1000.0, 1004.0, 998.0, 1001.0, 997.0, 1002.0, 1000.0, 999.0];
        let points: Vec<_> = NUMBERS.iter().map(|n| f64::from(*n)).zip(rates).collect();
        let usl = fit_usl(&points).unwrap();
        assert!((usl.sigma - 1.0).abs() < 0.01 && usl.kappa < 1e-4, "{usl:?}");
    }

    #[test]
    fn residuals_say_where_the_law_is_off() {
        let mut points = points(1000.0, 0.02, 0.0001, &NUMBERS);
        points[4].1 *= 0.95;
        let usl = fit_usl(&points).unwrap();
        let worst = usl.residuals.iter().copied().min_by(f64::total_cmp).unwrap();
        assert!(usl.residuals[4] == worst && worst < -0.03, "{usl:?}");
        assert!((usl.sigma - 0.02).abs() < 0.01, "{usl:?}");
    }

    #[test]
    fn points_without_a_fit_are_refused() {
        let few = points(1.0, 0.1, 0.0, &[1, 2, 4, 8, 16, 16, 16]);
        let unlike: Vec<(f64, f64)> =
            NUMBERS.iter().map(|n| (f64::from(*n), f64::from(n % 7 + 1))).collect();
        let zero = [points(1.0, 0.1, 0.0, &NUMBERS), vec![(9.0, 0.0)]].concat();
        for (points, problem) in [
            (few, "5 numbers of connections are too few"),
            (unlike, "of the variance"),
            (zero, "must be above 0"),
            (vec![], "0 numbers"),
        ] {
            let error = fit_usl(&points).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains('\n'), "{error}");
        }
    }
}
