//! What fits into the time that a closed search has left, by the rules of searches for a rate
//! (`room`). A closed loop leaves no backlog, so there is no cool-down.

use super::search::{ClosedPlan, ClosedProbe, ClosedPurpose, ClosedSearch, State};
use crate::find::judge::Outcome;
use crate::find::probe::needs_ns;
use crate::find::room::{FURTHER_BELOW, HOLD_NS_LEAST, QUICK_NS_LEAST, Room, is_short};
use crate::find::turn::Why;
use crate::gate::Objective;

/// How far below the highest number that passed a quick probe the climb begins.
const CLIMB_BELOW: f64 = 1.08;

/// How long the last responses are waited for at least. Probes are planned with that much.
const DRAIN_NS_LEAST: u64 = 1_000_000_000;

/// How long they are waited for without a limit on times.
const DRAIN_NS_UNKNOWN: u64 = 5_000_000_000;

/// How long they are waited for at most.
const DRAIN_NS_MOST: u64 = 10_000_000_000;

impl ClosedPlan {
    /// What it takes.
    #[must_use]
    pub fn needs_ns(&self) -> u64 {
        needs_ns(self.settle_ns, self.measure_ns)
    }
}

impl ClosedSearch {
    /// The time that is left of the budget.
    #[must_use]
    pub fn left_ns(&self) -> Option<u64> {
        self.settings().budget_ns.map(|budget_ns| budget_ns.saturating_sub(self.elapsed_ns()))
    }

    /// A plan with as much time as is left for it; `None` if that is too little.
    pub(super) fn fitted(&self, plan: ClosedPlan) -> Option<ClosedPlan> {
        let Some(left_ns) = self.left_ns() else { return Some(plan) };
        let is_first = plan.purpose == ClosedPurpose::Climb && self.best_count().is_none();
        let kept_ns = if is_first { self.hold_ns_least() } else { 0 };
        let beside_ns = plan.needs_ns().saturating_sub(plan.measure_ns);
        let beside_ns = beside_ns.saturating_add(self.drain_ns() - DRAIN_NS_LEAST);
        let least_ns = if plan.purpose.decides() { HOLD_NS_LEAST } else { QUICK_NS_LEAST };
        let room = Room { left_ns, beside_ns, kept_ns };
        let measure_ns = room.measure_ns(least_ns.min(plan.measure_ns), plan.measure_ns)?;
        Some(ClosedPlan { measure_ns, ..plan })
    }

    /// How long a search with a budget waits for the last responses. A closed loop has as many
    /// requests open as connections, and those without a response count as failures: one that would
    /// meet the objectives must have the time to come.
    #[must_use]
    pub fn drain_ns(&self) -> u64 {
        let limits_ns = self.objectives().iter().filter_map(Objective::time_limit_ns);
        limits_ns.max().map_or(DRAIN_NS_UNKNOWN, |limit_ns| {
            limit_ns.saturating_mul(2).clamp(DRAIN_NS_LEAST, DRAIN_NS_MOST)
        })
    }

    /// Leaves out further quick probes if they would take the time of the first hold.
    pub(super) fn hurry_if_late(&mut self) {
        let quick = self.planned().filter(|plan| !plan.purpose.decides());
        let (Some(left_ns), Some(plan)) = (self.left_ns(), quick) else { return };
        let hold_ns = self.hold_ns_least();
        let is_late = plan.needs_ns().saturating_add(hold_ns) > left_ns && hold_ns <= left_ns;
        if is_late && !self.settings().is_quick_only {
            self.turn(Why::Hurried, plan.connections);
            let count = self.first_hold(self.quick_passed().unwrap_or(1));
            self.go_to(State::Climb { count });
        }
    }

    /// The number of the first hold if quick probes passed up to this one: lower where there is
    /// time for few.
    pub(super) fn first_hold(&self, passed: u32) -> u32 {
        let is_short = is_short(self.left_ns(), self.hold_ns_least());
        let below = if is_short { CLIMB_BELOW * FURTHER_BELOW } else { CLIMB_BELOW };
        ((f64::from(passed) / below) as u32).max(1)
    }

    /// The most connections that passed a quick probe below all that did not.
    pub(super) fn quick_passed(&self) -> Option<u32> {
        let not_passed = self.quick(|outcome| outcome != Outcome::Pass);
        let above = not_passed.min().unwrap_or(u32::MAX);
        self.quick(|outcome| outcome == Outcome::Pass).filter(|count| *count < above).max()
    }

    /// The fewest connections that failed a quick probe.
    pub(super) fn quick_failed(&self) -> Option<u32> {
        self.quick(|outcome| outcome == Outcome::Fail).min()
    }

    /// The numbers of the quick probes with such outcomes.
    fn quick(&self, is_wanted: fn(Outcome) -> bool) -> impl Iterator<Item = u32> {
        let is_it =
            move |it: &&ClosedProbe| !it.plan.purpose.decides() && is_wanted(it.judgement.outcome);
        self.probes().iter().filter(is_it).map(|it| it.plan.connections)
    }

    /// What the shortest hold takes.
    fn hold_ns_least(&self) -> u64 {
        needs_ns(self.settings().settle_ns, HOLD_NS_LEAST)
    }
}
