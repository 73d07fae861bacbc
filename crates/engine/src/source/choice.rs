//! Which target a request takes.

use plimsoll_core::Plan;
use plimsoll_core::plan::{Order, Target};
use plimsoll_core::random::{Stream, TARGETS, below};

use super::SourceError;

/// How targets are taken, by the request's number.
#[derive(Debug)]
pub(super) enum Choice {
    /// In turn; the number of targets.
    Sequential(u32),
    /// At random, all with the same chance; the number of targets.
    Random(Stream, u32),
    /// At random, each with its own chance.
    Weighted(Stream, Aliases),
}

impl Choice {
    /// As the plan, which has targets, says.
    pub(super) fn new(plan: &Plan) -> Result<Self, SourceError> {
        let count = plan.targets.len();
        let targets = u32::try_from(count).map_err(|_| SourceError::TooMany(count))?;
        let stream = Stream::new(plan.seed, TARGETS);
        Ok(match plan.order {
            Order::Sequential => Self::Sequential(targets),
            Order::Random => Self::Random(stream, targets),
            Order::Weighted => {
                let aliases = Aliases::new(&plan.targets).ok_or(SourceError::Weights)?;
                Self::Weighted(stream, aliases)
            }
        })
    }

    #[inline]
    pub(super) fn choose(&self, number: u64) -> u32 {
        match self {
            Self::Sequential(1) => 0,
            Self::Sequential(targets) => (number % u64::from(*targets)) as u32,
            Self::Random(stream, targets) => {
                below(stream.word(number), u128::from(*targets)) as u32
            }
            Self::Weighted(stream, aliases) => aliases.choose(stream.word(number)),
        }
    }
}

/// A table to draw from a discrete distribution in constant time: the alias method (Walker, 1977),
/// built as Vose does (1991), in whole numbers so that no weight is rounded.
#[derive(Debug)]
pub(super) struct Aliases {
    /// The sum of the weights.
    total: u64,
    columns: Vec<Column>,
}

/// Each target's column holds `total` units: its own up to the limit, the alias's beyond.
#[derive(Debug, Clone, Copy)]
struct Column {
    limit: u64,
    alias: u32,
}

impl Aliases {
    /// `None` when every weight is 0.
    fn new(targets: &[Target]) -> Option<Self> {
        let total: u64 = targets.iter().map(|target| u64::from(target.weight)).sum();
        if total == 0 {
            return None;
        }
        let mut units: Vec<u128> = targets
            .iter()
            .map(|target| u128::from(target.weight) * targets.len() as u128)
            .collect();
        let full = u128::from(total);
        let mut columns: Vec<Column> =
            (0..targets.len()).map(|own| Column { limit: total, alias: own as u32 }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..targets.len()).partition(|&own| units[own] < full);
        // Units and columns have the same sum, so a column with room has one that fills it.
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            columns[poor] = Column { limit: units[poor] as u64, alias: rich as u32 };
            units[rich] -= full - units[poor];
            if units[rich] < full {
                large.pop();
                small.push(rich);
            }
        }
        Some(Self { total, columns })
    }

    #[inline]
    fn choose(&self, word: u64) -> u32 {
        // The whole part of word times columns / 2^64 is the column, the fraction the place in it.
        let scaled = u128::from(word) * self.columns.len() as u128;
        let (own, fraction) = ((scaled >> 64) as usize, scaled as u64);
        let Column { limit, alias } = self.columns[own];
        if below(fraction, u128::from(self.total)) < limit { own as u32 } else { alias }
    }
}
