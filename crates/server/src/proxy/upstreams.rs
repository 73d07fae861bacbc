//! Which upstream a request goes to, the connections to it, and its health.
//!
//! ```text
//!            failures in a row, or a failed check            aside_ns later: one request
//!   Well ───────────────────────────────────────▶ Aside ──────────────────────────────▶ Trial
//!    ▲                                              ▲                                     │
//!    │                                              └─────────────── it failed ───────────┤
//!    └──────────── a check succeeded, or ───────────────────────── it did not ────────────┘
//! ```
//!
//! A trial without an outcome after the same time again is given up, so that a client that is slow
//! or stops half way keeps no upstream aside.
//!
//! When all are aside, all are used: an upstream that fails is better than none.
//!
//! Pure: it has no driver and no clock.

use std::collections::VecDeque;

use super::options::{Balance, Health};

/// An upstream's connections and health.
#[derive(Debug)]
pub(super) struct Pool {
    /// Open connections without a request, the one used last at the end.
    pub(super) idle: Vec<u32>,
    /// Slots without a connection.
    pub(super) free: Vec<u32>,
    /// Requests under way, including those for which a connection is being opened.
    pub(super) busy: u32,
    /// Requests that wait: client and ticket. A request that left has another ticket.
    pub(super) queue: VecDeque<(u32, u32)>,
    /// Mixed into hashes, so that each upstream ranks clients in its own order.
    seed: u64,
    failures: u32,
    standing: Standing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Well,
    /// Not before this time; `u64::MAX` for when a check succeeds.
    Aside(u64),
    /// A request is the trial; another one may be from this time on.
    Trial(u64),
}

impl Pool {
    fn has_room(&self) -> bool {
        !(self.idle.is_empty() && self.free.is_empty())
    }

    fn is_usable(&self, now_ns: u64) -> bool {
        match self.standing {
            Standing::Well => true,
            Standing::Aside(until_ns) | Standing::Trial(until_ns) => until_ns <= now_ns,
        }
    }
}

/// All upstreams of a worker.
#[derive(Debug)]
pub(super) struct Pools {
    pub(super) pools: Vec<Pool>,
    balance: Balance,
    health: Health,
    next: usize,
}

/// The outcome of a request for an upstream's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Success,
    Failure,
    /// Nothing was learned.
    Neither,
}

impl Pools {
    /// Makes them with `slots` connections each, numbered from `first_slot` on.
    pub(super) fn new(
        count: usize,
        slots: u32,
        first_slot: u32,
        balance: Balance,
        health: Health,
    ) -> Self {
        let pool = |index: u32| {
            let start = first_slot + index * slots;
            Pool {
                idle: Vec::with_capacity(slots as usize),
                free: (start..start + slots).rev().collect(),
                busy: 0,
                queue: VecDeque::new(),
                seed: mix(u64::from(index) + 1),
                failures: 0,
                standing: Standing::Well,
            }
        };
        Self { pools: (0..count as u32).map(pool).collect(), balance, health, next: 0 }
    }

    /// The field whose value is hashed, if any.
    pub(super) fn hashed_field(&self) -> Option<&str> {
        match &self.balance {
            Balance::HashField(name) => Some(name),
            _ => None,
        }
    }

    fn is_hashed(&self) -> bool {
        matches!(self.balance, Balance::HashAddress | Balance::HashField(_))
    }

    /// Picks an upstream that is not in `tried`, a set of bits.
    #[inline]
    pub(super) fn choose(&mut self, now_ns: u64, hash: u64, tried: u64) -> Option<usize> {
        if self.pools.len() == 1 {
            return (tried & 1 == 0).then_some(0);
        }
        let chosen = self
            .pick(hash, |index, pool| tried & 1 << index == 0 && pool.is_usable(now_ns))
            .or_else(|| self.pick(hash, |index, _| tried & 1 << index == 0))?;
        self.next = if chosen + 1 == self.pools.len() { 0 } else { chosen + 1 };
        let pool = &mut self.pools[chosen];
        if pool.standing != Standing::Well && pool.is_usable(now_ns) {
            pool.standing = Standing::Trial(now_ns.saturating_add(self.health.aside_ns));
        }
        Some(chosen)
    }

    /// The best of those that fit. By hash, it is the one that ranks the client highest. Otherwise
    /// it is one with room, each in turn, or the one with the fewest requests if the balance asks
    /// for it.
    fn pick(&self, hash: u64, fits: impl Fn(usize, &Pool) -> bool) -> Option<usize> {
        let count = self.pools.len();
        let in_turn = (self.next..count).chain(0..self.next);
        let fitting = in_turn.filter(|&index| fits(index, &self.pools[index]));
        if self.is_hashed() {
            return fitting.max_by_key(|&index| mix(hash ^ self.pools[index].seed));
        }
        let load = |pool: &Pool| match self.balance {
            Balance::LeastLoaded => u64::from(pool.busy) + pool.queue.len() as u64,
            _ => 0,
        };
        fitting.min_by_key(|&index| {
            let pool = &self.pools[index];
            (!pool.has_room(), load(pool))
        })
    }

    /// A place became free at an upstream. Returns the upstream whose queue it serves: requests
    /// that are not tied to an upstream may leave another's queue for a healthy one.
    pub(super) fn queue_to_serve(&self, freed: usize) -> Option<usize> {
        let waits = |index: &usize| !self.pools[*index].queue.is_empty();
        if waits(&freed) {
            return Some(freed);
        }
        let is_well = self.pools[freed].standing == Standing::Well;
        if self.pools.len() == 1 || self.is_hashed() || !is_well {
            return None;
        }
        (0..self.pools.len()).find(waits)
    }

    /// Learns from a request. Returns whether this puts the upstream aside.
    #[inline]
    pub(super) fn learn(&mut self, index: usize, now_ns: u64, outcome: Outcome) -> bool {
        let pool = &mut self.pools[index];
        if outcome == Outcome::Success && pool.standing == Standing::Well {
            pool.failures = 0;
            return false;
        }
        self.learn_news(index, now_ns, outcome)
    }

    fn learn_news(&mut self, index: usize, now_ns: u64, outcome: Outcome) -> bool {
        let Health { failures, aside_ns, .. } = self.health;
        let pool = &mut self.pools[index];
        match (outcome, pool.standing) {
            // It was used because all were aside; a check decides.
            (Outcome::Success, Standing::Aside(u64::MAX)) => false,
            (Outcome::Success, _) => {
                pool.failures = 0;
                pool.standing = Standing::Well;
                false
            }
            (Outcome::Neither, Standing::Trial(_)) => {
                pool.standing = Standing::Aside(now_ns);
                false
            }
            (Outcome::Neither, _) => false,
            (Outcome::Failure, standing) => {
                pool.failures = pool.failures.saturating_add(1);
                let is_enough = failures > 0 && pool.failures >= failures;
                if standing == Standing::Well && !is_enough {
                    return false;
                }
                if standing != Standing::Aside(u64::MAX) {
                    pool.standing = Standing::Aside(now_ns.saturating_add(aside_ns));
                }
                standing == Standing::Well
            }
        }
    }

    /// Learns from a check. Returns whether this puts the upstream aside.
    pub(super) fn learn_checked(&mut self, index: usize, is_well: bool) -> bool {
        let pool = &mut self.pools[index];
        let was_well = pool.standing == Standing::Well;
        if is_well {
            pool.failures = 0;
            pool.standing = Standing::Well;
            return false;
        }
        pool.standing = Standing::Aside(u64::MAX);
        was_well
    }
}

/// Spreads a number over all bits (the finalizer of SplitMix64).
pub(super) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// A hash of bytes (FNV-1a), to be mixed.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(count: usize, balance: Balance) -> Pools {
        let health = Health { failures: 2, aside_ns: 100, ..Health::default() };
        Pools::new(count, 2, 10, balance, health)
    }

    fn choices(pools: &mut Pools, now_ns: u64, count: usize) -> Vec<Option<usize>> {
        (0..count).map(|_| pools.choose(now_ns, 0, 0)).collect()
    }

    #[test]
    fn each_in_turn_but_the_tried_and_the_full() {
        let mut all = pools(3, Balance::RoundRobin);
        assert_eq!(choices(&mut all, 0, 4), [Some(0), Some(1), Some(2), Some(0)]);
        assert_eq!(all.choose(0, 0, 0b010), Some(2));
        assert_eq!(all.choose(0, 0, 0b111), None);
        all.pools[0].free.clear();
        assert_eq!(choices(&mut all, 0, 3), [Some(1), Some(2), Some(1)]);
    }

    #[test]
    fn the_least_loaded_and_of_equals_each_in_turn() {
        let mut all = pools(3, Balance::LeastLoaded);
        all.pools[1].busy = 1;
        assert_eq!(choices(&mut all, 0, 3), [Some(0), Some(2), Some(0)]);
        (all.pools[0].busy, all.pools[2].busy) = (2, 2);
        assert_eq!(choices(&mut all, 0, 2), [Some(1), Some(1)]);
    }

    #[test]
    fn by_hash_only_the_clients_of_a_lost_upstream_move() {
        let mut all = pools(4, Balance::HashAddress);
        let before: Vec<_> = (0..1000).map(|client| all.choose(0, mix(client), 0)).collect();
        for index in 0..4 {
            let share = before.iter().filter(|&&chosen| chosen == Some(index)).count();
            assert!((150..350).contains(&share), "{index}: {share}");
        }
        assert!(all.learn_checked(2, false));
        for (client, &chosen) in before.iter().enumerate() {
            let now = all.choose(0, mix(client as u64), 0);
            assert!(now != Some(2) && (now == chosen || chosen == Some(2)), "{client}");
        }
    }

    #[test]
    fn failures_in_a_row_put_aside_and_one_trial_decides() {
        let mut all = pools(2, Balance::RoundRobin);
        assert!(!all.learn(0, 0, Outcome::Failure));
        assert!(!all.learn(0, 0, Outcome::Success));
        assert!(!all.learn(0, 0, Outcome::Failure));
        assert!(all.learn(0, 0, Outcome::Failure), "two in a row");
        assert_eq!(choices(&mut all, 99, 3), [Some(1); 3]);
        assert_eq!(choices(&mut all, 100, 3), [Some(0), Some(1), Some(1)], "one trial");
        assert!(!all.learn(0, 100, Outcome::Failure), "it was aside already");
        assert_eq!(choices(&mut all, 199, 2), [Some(1); 2]);
        assert_eq!(choices(&mut all, 200, 2), [Some(0), Some(1)]);
        all.learn(0, 200, Outcome::Neither);
        assert_eq!(choices(&mut all, 200, 2), [Some(0), Some(1)], "the trial is open again");
        all.learn(0, 200, Outcome::Success);
        assert_eq!(choices(&mut all, 200, 3), [Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn all_aside_is_as_none() {
        let mut all = pools(2, Balance::RoundRobin);
        (0..2).for_each(|index| assert!(all.learn_checked(index, false)));
        assert_eq!(choices(&mut all, 0, 4), [Some(0), Some(1), Some(0), Some(1)]);
    }

    #[test]
    fn a_check_outweighs_requests() {
        let mut all = pools(2, Balance::RoundRobin);
        all.learn_checked(0, false);
        (0..3).for_each(|_| _ = all.learn(0, 0, Outcome::Failure));
        assert_eq!(choices(&mut all, u64::MAX - 1, 2), [Some(1); 2]);
        all.learn_checked(0, true);
        assert_eq!(choices(&mut all, 0, 2), [Some(0), Some(1)]);
    }

    #[test]
    fn a_free_place_serves_its_own_queue_first() {
        let mut all = pools(3, Balance::RoundRobin);
        assert_eq!(all.queue_to_serve(0), None);
        all.pools[2].queue.push_back((1, 1));
        assert_eq!(all.queue_to_serve(0), Some(2));
        all.pools[0].queue.push_back((1, 1));
        assert_eq!(all.queue_to_serve(0), Some(0));
        all.learn_checked(0, false);
        assert_eq!(all.queue_to_serve(0), Some(0), "its own, even when it is ill");
        all.pools[0].queue.clear();
        assert_eq!(all.queue_to_serve(0), None, "nobody else's");
        let mut hashed = pools(3, Balance::HashAddress);
        hashed.pools[2].queue.push_back((1, 1));
        assert_eq!(hashed.queue_to_serve(0), None);
    }
}
