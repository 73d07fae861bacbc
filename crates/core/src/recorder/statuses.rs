//! Responses by status, dense, so that a worker counts and subtracts without a search or an
//! allocation. Maps of the statuses that came are made from it where nobody waits.

use std::collections::BTreeMap;

/// Statuses from 0, which stands for none, to 999, the highest with three digits.
const STATUSES: usize = 1000;

/// How many responses had each status.
#[derive(Debug, Clone)]
pub(super) struct Statuses(Vec<u64>);

impl Default for Statuses {
    fn default() -> Self {
        Self(vec![0; STATUSES])
    }
}

impl Statuses {
    /// Takes what was counted beyond `before`, which becomes the same as `now`.
    pub(super) fn take_since(&mut self, before: &mut Self, now: &[u64]) {
        for ((new, before), now) in self.0.iter_mut().zip(&mut before.0).zip(now) {
            *new = now - *before;
            *before = *now;
        }
    }

    /// The statuses that came. Leaves nothing.
    pub(super) fn take(&mut self) -> BTreeMap<u16, u64> {
        let counted = (0..).zip(&mut self.0).filter(|(_, count)| **count > 0);
        counted.map(|(status, count)| (status, std::mem::take(count))).collect()
    }
}
