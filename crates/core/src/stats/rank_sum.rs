//! The Mann–Whitney U test (the Wilcoxon rank-sum test): could the values of two sets have been
//! dealt to them by chance?
//!
//! Exact where that is affordable: the chance is counted over every way to deal the ranks that were
//! seen, shared ranks of ties among them, so ties need no correction. Beyond it the normal
//! approximation with corrections for ties and continuity (Hollander, Wolfe and Chicken,
//! "Nonparametric Statistical Methods", 3rd edition, section 4.1). SciPy's `mannwhitneyu` agrees:
//! `exact` without ties, `PermutationMethod` with them, `asymptotic` for the approximation.

use super::normal;

/// Sets of more values than this together are judged by the normal approximation.
pub(super) const EXACT_UP_TO: usize = 60;

/// What the test says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankSum {
    /// Pairs in which the first set's value is the larger; a tie is half a pair.
    pub u: f64,
    /// The chance of a difference as large, to either side, where there is none.
    pub p: f64,
}

/// Tests two sets of values; `p` is 1 where one of them is empty.
#[must_use]
pub fn rank_sum(first: &[f64], second: &[f64]) -> RankSum {
    if first.len() + second.len() > EXACT_UP_TO {
        return rank_sum_by_normal(first, second);
    }
    let ranks = Ranks::of(first, second);
    let ways = Ways::count(&ranks.doubled, first.len());
    let tail = ways.up_to(ranks.doubled_first).min(ways.from(ranks.doubled_first));
    RankSum { u: ranks.u(first.len()), p: (2.0 * tail).min(1.0) }
}

/// The same by the normal approximation, whatever the number of values.
#[must_use]
pub fn rank_sum_by_normal(first: &[f64], second: &[f64]) -> RankSum {
    let ranks = Ranks::of(first, second);
    let u = ranks.u(first.len());
    let (n, m) = (first.len() as f64, second.len() as f64);
    let all = n + m;
    if n == 0.0 || m == 0.0 {
        return RankSum { u, p: 1.0 };
    }
    let tied = ranks.tied_cubes / (all * (all - 1.0));
    let deviation = (n * m / 12.0 * (all + 1.0 - tied)).sqrt();
    let distance = (u - n * m / 2.0).abs() - 0.5;
    let p = if deviation > 0.0 { 2.0 * normal::above(distance / deviation) } else { 1.0 };
    RankSum { u, p: p.min(1.0) }
}

/// The smallest `p` that sets of these sizes can have: all values of one beyond all of the other.
#[must_use]
pub fn least_p(n: usize, m: usize) -> f64 {
    let few = n.min(m);
    let ways: f64 = (1..=few).map(|i| (n + m - few + i) as f64 / i as f64).product();
    (2.0 / ways).min(1.0)
}

/// The ranks of two sets taken together. Doubled, so that the shared rank of a tie is whole.
struct Ranks {
    /// Every rank, twice, in rising order.
    doubled: Vec<usize>,
    /// The sum of the first set's.
    doubled_first: usize,
    /// The sum of t³ − t over groups of t tied values.
    tied_cubes: f64,
}

impl Ranks {
    fn of(first: &[f64], second: &[f64]) -> Self {
        let of_first = first.iter().map(|value| (*value, true));
        let mut all: Vec<(f64, bool)> =
            of_first.chain(second.iter().map(|value| (*value, false))).collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut ranks = Self { doubled: Vec::new(), doubled_first: 0, tied_cubes: 0.0 };
        for tie in all.chunk_by(|a, b| a.0 == b.0) {
            let before = ranks.doubled.len();
            // Ranks count from 1: those of the tie are before + 1 to before + len.
            let doubled = 2 * before + tie.len() + 1;
            ranks.doubled.extend(std::iter::repeat_n(doubled, tie.len()));
            ranks.doubled_first += doubled * tie.iter().filter(|(_, is_first)| *is_first).count();
            let t = tie.len() as f64;
            ranks.tied_cubes += t.powi(3) - t;
        }
        ranks
    }

    fn u(&self, n: usize) -> f64 {
        self.doubled_first as f64 / 2.0 - (n * (n + 1)) as f64 / 2.0
    }
}

/// In how many ways the ranks of one set can add up to each sum, as shares of all ways.
pub(super) struct Ways(Vec<f64>);

impl Ways {
    /// Of choosing `n` of the ranks.
    pub(super) fn count(ranks: &[usize], n: usize) -> Self {
        let sums = ranks.iter().sum::<usize>() + 1;
        // ways[k][s]: of choosing k of the ranks looked at so far so that they add up to s.
        let mut ways = vec![vec![0.0; sums]; n + 1];
        ways[0][0] = 1.0;
        let mut reached = 0;
        for (seen, rank) in ranks.iter().enumerate() {
            reached += rank;
            for k in (1..=n.min(seen + 1)).rev() {
                for sum in (*rank..=reached).rev() {
                    ways[k][sum] += ways[k - 1][sum - rank];
                }
            }
        }
        let chosen = ways.pop().unwrap_or_default();
        let all: f64 = chosen.iter().sum();
        Self(chosen.into_iter().map(|count| count / all).collect())
    }

    /// The share of ways with at most this sum.
    pub(super) fn up_to(&self, sum: usize) -> f64 {
        self.0.iter().take(sum + 1).sum()
    }

    fn from(&self, sum: usize) -> f64 {
        self.0.iter().skip(sum).sum()
    }
}
