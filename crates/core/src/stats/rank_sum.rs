//! The Mann–Whitney U test (the Wilcoxon rank-sum test): could the values of two sets have been
//! dealt to them by chance?
//!
//! [`Null`] has the chances, exact ones up to 60 values. SciPy's `mannwhitneyu` agrees: `exact`
//! without ties, `PermutationMethod` with them, `asymptotic` for the approximation.

use super::null::Null;

/// What the test says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankSum {
    /// Pairs in which the first set's value is the larger; a tie is half a pair.
    pub u: f64,
    /// The chance of a difference this large, in either direction, between equal sets.
    pub p: f64,
}

/// Tests two sets of values; `p` is 1 where one of them is empty.
#[must_use]
pub fn rank_sum(first: &[f64], second: &[f64]) -> RankSum {
    rank_sum_stretched(first, second, 1.0)
}

/// The same where U is spread `stretch` times as far as chance alone would: 1 or more. Sets that do
/// not overlap lie apart however far it is spread.
pub(super) fn rank_sum_stretched(first: &[f64], second: &[f64], stretch: f64) -> RankSum {
    let ranks = Ranks::of(first, second);
    let u = ranks.u(first.len());
    if first.is_empty() || second.is_empty() {
        return RankSum { u, p: 1.0 };
    }
    let null = Null::of_ranks(&ranks.doubled, first.len(), ranks.tied_cubes);
    let pairs = (first.len() * second.len()) as f64;
    let is_apart = u == 0.0 || u == pairs;
    let tail = if stretch <= 1.0 || is_apart {
        null.up_to(u).min(null.from(u))
    } else {
        let drawn_in = |u: f64| pairs / 2.0 + (u - pairs / 2.0) / stretch;
        match u < pairs / 2.0 {
            true => null.up_to(drawn_in(u)),
            // From above it is the other set's U from below.
            false => {
                let null = Null::of_ranks(&ranks.doubled, second.len(), ranks.tied_cubes);
                null.up_to(drawn_in(pairs - u))
            }
        }
    };
    RankSum { u, p: (2.0 * tail).min(1.0) }
}

/// The same by the normal approximation, whatever the number of values.
#[must_use]
pub fn rank_sum_by_normal(first: &[f64], second: &[f64]) -> RankSum {
    let ranks = Ranks::of(first, second);
    let u = ranks.u(first.len());
    if first.is_empty() || second.is_empty() {
        return RankSum { u, p: 1.0 };
    }
    let null = Null::normal(first.len(), second.len(), ranks.tied_cubes);
    RankSum { u, p: (2.0 * null.up_to(u).min(null.from(u))).min(1.0) }
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
