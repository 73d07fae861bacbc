//! How repeats vary, for tests: shapes of noise between runs, and a machine that drifts.

use std::f64::consts::TAU;

use rand_core::Rng;

/// What the noise between runs looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Normal,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// Lognormal: most runs alike, some much slower.
    Skewed,
    /// Normal, and one run in seven loses up to fifteen times the deviation.
    Outliers,
    /// Normal, in steps of half the deviation.
    Tied,
    /// Normal, and the machine drifts: a random walk with half the deviation a step.
    Drift,
}

/// Noise around zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    shape: Shape,
    deviation: f64,
}

impl Noise {
    pub(crate) fn new(shape: Shape, deviation: f64) -> Self {
        Self { shape, deviation }
    }

    /// The noise of a number of runs, one after another.
    pub(crate) fn values(self, n: usize, random: &mut impl Rng) -> Vec<f64> {
        let mut drifted = 0.0;
        (0..n)
            .map(|_| {
                let z = normal(random);
                let value = match self.shape {
                    Shape::Normal => z,
                    Shape::HeavyTails => {
                        let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
                        // The variance of t with three degrees of freedom is 3.
                        z / (squares / 3.0).sqrt() / 3f64.sqrt()
                    }
                    Shape::Skewed => z.exp() / 2.16,
                    Shape::Outliers if uniform(random) < 1.0 / 7.0 => z - 15.0 * uniform(random),
                    Shape::Outliers => z,
                    Shape::Tied => (2.0 * z).round() / 2.0,
                    Shape::Drift => {
                        drifted += 0.5 * normal(random);
                        z + drifted
                    }
                };
                value * self.deviation
            })
            .collect()
    }

    /// The noise of two sides that took turns, with the order in each pair drawn by lot.
    pub(crate) fn interleaved(self, n: usize, random: &mut impl Rng) -> (Vec<f64>, Vec<f64>) {
        let all = self.values(2 * n, random);
        all.chunks(2)
            .map(|pair| if uniform(random) < 0.5 { (pair[0], pair[1]) } else { (pair[1], pair[0]) })
            .unzip()
    }
}

/// Above 0, below 1.
fn uniform(random: &mut impl Rng) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
}

/// Box and Muller, "A note on the generation of random normal deviates", 1958.
fn normal(random: &mut impl Rng) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (TAU * uniform(random)).cos()
}
