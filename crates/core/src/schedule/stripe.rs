//! Whole numbers dealt to parts of a run in proportion to their shares: iterations, users.
//!
//! Numbers are dealt in rounds. In each round a part has as many numbers as its share says, spread
//! evenly, and every number has exactly one owner. So what the parts do together is what one
//! process would do alone.

use std::sync::Arc;

/// The most work that dealing a round may be: its length times the number of parts.
const WORK_MAX: u64 = 100_000_000;

/// The numbers of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripe {
    /// How many numbers a round has.
    round: u64,
    /// Which of a round are the part's, ascending.
    members: Arc<[u64]>,
}

impl Default for Stripe {
    /// All numbers.
    fn default() -> Self {
        Self { round: 1, members: Arc::new([0]) }
    }
}

impl Stripe {
    /// The numbers of each part. A part has the share `shares[part]` of their sum; with a share of
    /// 0 it has no numbers. `None` when a round would be too long, or there are no shares.
    ///
    /// A number goes to the part with the largest share among those that have fewer numbers than
    /// their share of what was dealt, the first one of equals.
    #[must_use]
    pub fn deal(shares: &[u64]) -> Option<Vec<Self>> {
        let common = shares.iter().fold(0, |common, share| gcd(common, *share));
        if common == 0 {
            return None;
        }
        let sum: u128 = shares.iter().map(|share| u128::from(share / common)).sum();
        let round = u64::try_from(sum).ok()?;
        let parts = u64::try_from(shares.len()).ok()?;
        if round.checked_mul(parts).is_none_or(|work| work > WORK_MAX) {
            return None;
        }
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by_key(|part| std::cmp::Reverse(shares[*part]));
        let mut members: Vec<Vec<u64>> = vec![Vec::new(); shares.len()];
        for number in 0..round {
            let is_due = |part: &&usize| {
                let (share, dealt) = (shares[**part] / common, members[**part].len() as u64);
                share > 0 && dealt * round <= number * share
            };
            // Shares of what was dealt add up to it, so not all parts can be ahead of theirs.
            let part = order.iter().find(is_due).copied()?;
            members[part].push(number);
        }
        Some(members.into_iter().map(|own| Self { round, members: own.into() }).collect())
    }

    /// The part's number that `count` of its numbers are below; `None` without any, or beyond
    /// `u64`.
    #[inline]
    #[must_use]
    pub fn nth(&self, count: u64) -> Option<u64> {
        let in_round = self.members.len() as u64;
        let rounds = count.checked_div(in_round)?;
        let member = self.members.get(usize::try_from(count % in_round).ok()?)?;
        rounds.checked_mul(self.round)?.checked_add(*member)
    }

    /// How many of the part's numbers are below `total`.
    #[inline]
    #[must_use]
    pub fn count_below(&self, total: u64) -> u64 {
        let rest = total % self.round;
        let of_rest = self.members.partition_point(|member| *member < rest) as u64;
        total / self.round * self.members.len() as u64 + of_rest
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
