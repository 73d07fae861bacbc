//! What fits into the time that a search has left. Each probe is planned with all that belongs to
//! it: a cool-down, the opening of connections, and the last responses. A hold is made shorter
//! rather than left out, and quick probes make room for it: they show nothing.

use super::{Search, State};
use crate::find::judge::Outcome;
use crate::find::probe::{ProbePlan, Purpose};
use crate::find::room::{
    BESIDE_NS, COOL_DOWN_NS, FURTHER_BELOW, HOLD_NS_LEAST, QUICK_NS_LEAST, Room, is_short,
};
use crate::find::turn::Why;

impl Search {
    /// The time that is left of the budget.
    #[must_use]
    pub fn left_ns(&self) -> Option<u64> {
        self.settings.budget_ns.map(|budget_ns| budget_ns.saturating_sub(self.elapsed_ns))
    }

    /// A plan with as much time as is left for it; `None` if that is too little.
    pub(super) fn fitted(&self, plan: ProbePlan) -> Option<ProbePlan> {
        let Some(left_ns) = self.left_ns() else { return Some(plan) };
        let is_first = plan.purpose == Purpose::Climb && self.best_rps().is_none();
        let kept_ns = if is_first { self.hold_ns_least() } else { 0 };
        let room = Room { left_ns, beside_ns: beside_ns(&plan), kept_ns };
        let measure_ns = room.measure_ns(self.least_ns(&plan), plan.measure_ns)?;
        Some(ProbePlan { measure_ns, ..plan })
    }

    /// How long a probe is measured at least.
    fn least_ns(&self, plan: &ProbePlan) -> u64 {
        if !plan.purpose.decides() {
            return QUICK_NS_LEAST.min(plan.measure_ns);
        }
        // Fewer requests cannot show the objectives met.
        let requests = self.objectives.iter().map(|it| it.requests_least()).max().unwrap_or(0);
        let needed_ns = (requests as f64 / plan.rate_rps * 1e9).ceil() as u64;
        HOLD_NS_LEAST.max(needed_ns).min(plan.measure_ns)
    }

    /// Leaves out further quick probes if they would take the time of the first hold.
    pub(super) fn hurry_if_late(&mut self) {
        let Some(left_ns) = self.left_ns() else { return };
        let Some(plan) = self.planned().filter(|plan| plan.purpose.guides()) else { return };
        if self.settings.is_quick_only {
            return;
        }
        let hold_ns = self.hold_ns_least();
        let needed_ns = beside_ns(&plan) + plan.measure_ns + hold_ns;
        let last = self.probes.last().map(|it| it.judgement.outcome);
        if needed_ns > left_ns && hold_ns <= left_ns && last.is_some() {
            let from_rps = self.planned().map_or(0.0, |plan| plan.rate_rps);
            if self.hurry() {
                self.turn(Why::Hurried, from_rps);
                let next_rps = self.planned().map(|plan| plan.rate_rps);
                self.turns.iter_mut().rev().take(1).for_each(|it| it.next_rps = next_rps);
            }
        }
    }

    /// Begins the holds where another search of the same settings began them under its budget, if
    /// this hold is that and is lower than the one that comes next.
    pub(super) fn begin_holds_as(&mut self, hold: &ProbePlan) {
        let Some(plan) = self.planned() else { return };
        let is_first = hold.purpose == Purpose::Climb && self.best_rps().is_none();
        let is_sooner = plan.purpose.guides() && self.hurried_rps().is_some();
        let is_lower = plan.purpose == Purpose::Climb && hold.rate_rps < plan.rate_rps;
        if is_first && (is_sooner || is_lower) {
            self.state = State::Climb { rate_rps: hold.rate_rps };
        }
    }

    /// Goes on to the holds with what quick probes have shown until now. Whether that is enough.
    fn hurry(&mut self) -> bool {
        let is_guided = matches!(self.state, State::Up { .. } | State::Narrow { .. });
        let Some(rate_rps) = self.hurried_rps().filter(|_| is_guided) else { return false };
        self.state = self.climb(rate_rps);
        true
    }

    /// What the shortest hold takes.
    fn hold_ns_least(&self) -> u64 {
        HOLD_NS_LEAST + self.settings.settle_ns + BESIDE_NS + COOL_DOWN_NS
    }

    /// The rate of the first hold if quick probes passed up to this rate: lower where there is time
    /// for few.
    pub(super) fn first_hold_rps(&self, passed_rps: f64) -> f64 {
        let is_short = is_short(self.left_ns(), self.hold_ns_least());
        self.climb_rps(if is_short { passed_rps / FURTHER_BELOW } else { passed_rps })
    }

    /// Where the climb begins without further quick probes.
    fn hurried_rps(&self) -> Option<f64> {
        let passed = self.probes.iter().filter(|it| it.judgement.outcome == Outcome::Pass);
        let highest_rps = passed.map(|it| it.plan.rate_rps).max_by(f64::total_cmp)?;
        match self.state {
            State::Narrow { low_rps, .. } => Some(self.first_hold_rps(low_rps)),
            _ => Some(self.climb_rps(highest_rps / FURTHER_BELOW)),
        }
    }
}

/// What a plan takes beside the measuring.
fn beside_ns(plan: &ProbePlan) -> u64 {
    let cool_down_ns = plan.cool_down_rps.map_or(0, |_| COOL_DOWN_NS);
    plan.needs_ns().saturating_sub(plan.measure_ns) + cool_down_ns
}
