//! The distribution of U, the statistic of the Mann–Whitney test, under the null hypothesis that
//! chance dealt the values to the two sets.
//!
//! It is counted exactly where that is affordable. Without ties: by the recurrence of Mann and
//! Whitney ("On a test of whether one of two random variables is stochastically larger than the
//! other", 1947), in the form of a quotient of polynomials. With ties: over every way to deal the
//! observed ranks, so that ties need no correction. Beyond that: the normal approximation with
//! corrections for ties and continuity (Hollander, Wolfe and Chicken, "Nonparametric Statistical
//! Methods", 3rd edition, section 4.1).

use super::normal;

/// Sets of more values than this together are judged by the normal approximation.
const EXACT_UP_TO: usize = 60;

/// What sums of rounded shares may be off by.
const ROUNDING: f64 = 1e-12;

/// The chances of U.
#[derive(Debug)]
pub(super) enum Null {
    /// The chance that U is at most each value, `steps` of them for a pair.
    Counted { up_to: Vec<f64>, steps: usize },
    /// About normal.
    Normal { middle: f64, deviation: f64 },
}

impl Null {
    /// Of sets of `n` and `m` values, no two of them the same.
    pub(super) fn untied(n: usize, m: usize) -> Self {
        if n + m > EXACT_UP_TO {
            return Self::normal(n, m, 0.0);
        }
        let (few, many) = (n.min(m), n.max(m));
        let pairs = n * m;
        // The Gaussian binomial coefficient: the product of (1 - q^(many + i)) / (1 - q^i).
        let mut ways = vec![0.0; pairs + 1];
        ways[0] = 1.0;
        for i in 1..=few {
            for u in (many + i..=pairs).rev() {
                ways[u] -= ways[u - many - i];
            }
            for u in i..=pairs {
                ways[u] += ways[u - i];
            }
        }
        // The upper half is the lower one mirrored, and its small counts come of large ones.
        for u in pairs / 2 + 1..=pairs {
            ways[u] = ways[pairs - u];
        }
        Self::counted(&ways, 1)
    }

    /// Of two sets whose ranks, doubled and in rising order, are these; the first has `n` of them.
    /// `tied_cubes` is the sum of t³ − t over groups of t tied values.
    pub(super) fn of_ranks(doubled: &[usize], n: usize, tied_cubes: f64) -> Self {
        let m = doubled.len() - n;
        if tied_cubes == 0.0 {
            return Self::untied(n, m);
        }
        if n + m > EXACT_UP_TO {
            return Self::normal(n, m, tied_cubes);
        }
        let sums = doubled.iter().sum::<usize>() + 1;
        // ways[k][s]: of choosing k of the ranks looked at so far so that they add up to s.
        let mut ways = vec![vec![0.0; sums]; n + 1];
        ways[0][0] = 1.0;
        let mut reached = 0;
        for (seen, rank) in doubled.iter().enumerate() {
            reached += rank;
            for k in (1..=n.min(seen + 1)).rev() {
                for sum in (*rank..=reached).rev() {
                    ways[k][sum] += ways[k - 1][sum - rank];
                }
            }
        }
        let least = n * (n + 1);
        Self::counted(&ways[n][least..=least + 2 * n * m], 2)
    }

    /// The normal approximation, whatever the number of values.
    pub(super) fn normal(n: usize, m: usize, tied_cubes: f64) -> Self {
        let (n, m) = (n as f64, m as f64);
        let all = n + m;
        let tied = tied_cubes / (all * (all - 1.0));
        let deviation = (n * m / 12.0 * (all + 1.0 - tied)).sqrt();
        Self::Normal { middle: n * m / 2.0, deviation }
    }

    fn counted(ways: &[f64], steps: usize) -> Self {
        let all: f64 = ways.iter().sum();
        let mut sum = 0.0;
        let up_to = ways.iter().map(|count| {
            sum += count / all;
            sum
        });
        Self::Counted { up_to: up_to.collect(), steps }
    }

    /// The chance that U is at most `u`; between two values that it can have, in proportion.
    pub(super) fn up_to(&self, u: f64) -> f64 {
        match self {
            Self::Counted { up_to, steps } => {
                let place = (u * *steps as f64).clamp(0.0, (up_to.len() - 1) as f64);
                let (low, high) = (up_to[place.floor() as usize], up_to[place.ceil() as usize]);
                low + (high - low) * (place - place.floor())
            }
            Self::Normal { middle, deviation } => chance_below(u + 0.5 - middle, *deviation),
        }
    }

    /// The chance that U is at least `u`, a value that it can have.
    pub(super) fn from(&self, u: f64) -> f64 {
        match self {
            Self::Counted { up_to, steps } => {
                let place = (u * *steps as f64) as usize;
                1.0 - place.checked_sub(1).map_or(0.0, |before| up_to[before])
            }
            Self::Normal { middle, deviation } => chance_below(middle - u + 0.5, *deviation),
        }
    }

    /// The largest `u` whose [`Null::up_to`] is no more than `tail`; none where that of 0 is more.
    pub(super) fn quantile(&self, tail: f64) -> Option<f64> {
        match self {
            Self::Counted { up_to, steps } => {
                let kept = up_to.iter().take_while(|chance| **chance <= tail + ROUNDING).count();
                let low = kept.checked_sub(1)?;
                let step = up_to.get(kept).map_or(f64::INFINITY, |next| next - up_to[low]);
                let part = ((tail - up_to[low]) / step).clamp(0.0, 1.0);
                Some((low as f64 + part) / *steps as f64)
            }
            Self::Normal { middle, deviation } => {
                let u = middle - 0.5 + normal::quantile(tail) * deviation;
                (u >= 0.0).then_some(u)
            }
        }
    }
}

fn chance_below(distance: f64, deviation: f64) -> f64 {
    if deviation > 0.0 { normal::below(distance / deviation) } else { 1.0 }
}
