//! Holds: the climb to the answer, and the rate above it that is shown not to meet the objectives.

use super::{Search, State};
use crate::find::answer::Ending;
use crate::find::judge::{Outcome, judge};

/// How often α is halved when the climb has to begin lower. Rates that far above the line pass with
/// a chance far below α, so that later starts add next to nothing to the chance of a wrong answer.
const HALVINGS: u32 = 1;

/// Steps between the first rate of a climb that is not shown and the next first rate.
const STEPS_DOWN: i32 = 2;

/// Steps of the climb to the top; they grow, because few rates above the line remain unclear.
const TOP_STEPS: u32 = 8;

impl Search {
    /// The climb at this rate, if a hold there has enough requests.
    pub(super) fn climb(&self, rate_rps: f64) -> State {
        match self.settings.too_few(&self.objectives, rate_rps) {
            Some(_) if self.best.is_none() => State::Done(Ending::TooFewRequests),
            _ => State::Climb { rate_rps },
        }
    }

    pub(super) fn after_climb(&mut self, rate_rps: f64, outcome: Outcome) -> State {
        match (outcome, self.best) {
            (Outcome::Pass, _) => self.climbed(rate_rps),
            (_, Some(_)) => {
                self.ceiling_rps = Some(rate_rps);
                self.top_or_after(rate_rps, 0)
            }
            (_, None) => self.climb_from_below(rate_rps),
        }
    }

    fn climbed(&mut self, rate_rps: f64) -> State {
        self.best = Some(self.probes.len() - 1);
        let settings = &self.settings;
        if rate_rps >= settings.max_rps {
            return self.recheck(Ending::AtLeast);
        }
        let next_rps = (rate_rps * settings.step).min(settings.max_rps);
        // The rate below the one that was not shown is the last that can be.
        if let Some(ceiling_rps) = self.ceiling_rps.filter(|it| next_rps > it * 0.999) {
            return self.top_or_after(ceiling_rps, 0);
        }
        // The quick probe that failed did so by chance: look further up before climbing on.
        let failed_rps = self.failed_rps.filter(|_| self.ceiling_rps.is_none());
        if failed_rps.is_some_and(|failed_rps| rate_rps > failed_rps * settings.step) {
            self.passed_rps = Some(rate_rps);
            return State::Up { rate_rps: (rate_rps * 2.0).min(settings.max_rps) };
        }
        State::Climb { rate_rps: next_rps }
    }

    /// The first hold of the climb did not pass, or the answer did not hold: begin lower.
    pub(super) fn climb_from_below(&mut self, rate_rps: f64) -> State {
        self.best = None;
        self.ceiling_rps = Some(rate_rps);
        self.restarts += 1;
        if self.restarts <= HALVINGS {
            self.alpha /= 2.0;
        }
        // A guess that is far too high is left in growing steps.
        let steps = STEPS_DOWN * (self.restarts as i32 + 1) / 2;
        let next_rps = rate_rps / self.settings.step.powi(steps);
        let min_rps = self.settings.min_rps;
        match rate_rps <= min_rps * 1.001 {
            true => State::Done(self.not_met()),
            false => self.climb(next_rps.max(min_rps)),
        }
    }

    fn not_met(&self) -> Ending {
        match self.probes.last().map(|probe| probe.judgement.outcome) {
            Some(Outcome::NotMeasured) => Ending::TesterLimited,
            Some(Outcome::Fail) => Ending::NotMet,
            _ => Ending::NotShown,
        }
    }

    /// The next rate of the climb to the top after `steps` of them, unless the top is known.
    fn top_or_after(&mut self, rate_rps: f64, steps: u32) -> State {
        let is_limited = self.probes.last().is_some_and(|probe| !probe.is_measured());
        let is_known = self.top().is_some() || self.is_rechecked;
        if is_known || is_limited || steps == TOP_STEPS || rate_rps >= self.settings.max_rps {
            return self.recheck(Ending::Found);
        }
        let step = self.settings.step.powi(1 + steps as i32 / 3);
        let rate_rps = (rate_rps * step).min(self.settings.max_rps);
        State::Top { rate_rps, steps: steps + 1 }
    }

    pub(super) fn after_top(&mut self, rate_rps: f64, steps: u32, _: Outcome) -> State {
        self.top_or_after(rate_rps, steps)
    }

    /// The answer is measured last, or the search ends where it was.
    fn recheck(&mut self, ending: Ending) -> State {
        if self.is_rechecked { self.done(ending) } else { self.after_the_climb() }
    }

    /// The end, if the answer holds with the stalls that all probes have shown.
    pub(super) fn done(&mut self, ending: Ending) -> State {
        let Some(best) = self.best() else { return State::Done(ending) };
        let (rate_rps, alpha) = (best.plan.rate_rps, best.judgement.alpha);
        let Some(figures) = &best.report.figures else { return State::Done(ending) };
        let sustain_ns = self.settings.sustain_ns;
        let pools = self.pools();
        let again = judge(figures, &self.objectives, rate_rps, alpha, &pools, sustain_ns);
        match again.outcome {
            Outcome::Pass => State::Done(self.ending()),
            _ => self.climb_from_below(rate_rps),
        }
    }

    /// How a search with an answer ends.
    fn ending(&self) -> Ending {
        let best_rps = self.best_rps().unwrap_or(0.0);
        let is_limit = |limit_rps: &f64| self.top_rps().is_none_or(|top_rps| *limit_rps <= top_rps);
        if best_rps >= self.settings.max_rps {
            Ending::AtLeast
        } else if self.tester_limit_rps.filter(is_limit).is_some() {
            Ending::TesterLimited
        } else {
            Ending::Found
        }
    }
}
