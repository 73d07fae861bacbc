//! Holds: the climb to the answer, and the rate above it that is shown not to meet the objectives.

use super::{Search, State};
use crate::find::answer::Ending;
use crate::find::judge::{Finding, Outcome, Subject};
use crate::find::probe::Probe;
use crate::find::settings::Settings;
use crate::find::turn::Why;

/// How often α is halved when the climb has to begin lower. Rates that far above the line pass with
/// a chance far below α, so that later starts add next to nothing to the chance of a wrong answer.
const HALVINGS: u32 = 1;

/// Steps between the first rate of a climb that is not shown and the next first rate.
const STEPS_DOWN: i32 = 2;

/// How often the climb begins lower if a rate is known that passed a hold of its own, and without
/// one if the server has stalls. Each hold adds time in which they are seen.
const RESTARTS: (u32, u32) = (3, 5);

/// An upper bound that is this part of its limit is close: the climb ends there.
const CLOSE: f64 = 0.75;

/// Upper bounds up to this part of their limits are far from them: the climb takes two steps.
const FAR: f64 = 0.5;

/// A quick probe with this many times the limit fails in a hold of its rate too.
const PLAIN_TOP: f64 = 2.0;

/// Steps of the climb to the top; they grow, because few rates above the line remain unclear.
const TOP_STEPS: u32 = 8;

impl Search {
    /// The climb at this rate, if a hold there has enough requests.
    pub(super) fn climb(&self, rate_rps: f64) -> State {
        match self.settings.too_few(&self.objectives, rate_rps) {
            // A rate that passed its own hold remains, whatever its doubts.
            Some(_) if self.best.is_none() && self.shown().is_some() => State::Done(self.ending()),
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
            (_, None) if self.passes_without_stalls() => self.stalled(rate_rps),
            (_, None) => {
                self.turn(Why::NotShown, rate_rps);
                self.lower_or_end(rate_rps)
            }
        }
    }

    fn climbed(&mut self, rate_rps: f64) -> State {
        self.best = Some(self.probes.len() - 1);
        let Settings { step, max_rps, .. } = self.settings;
        if rate_rps >= max_rps {
            return self.recheck(Ending::AtLeast);
        }
        let part = self.part_of_limit();
        // One step up would not be shown, or only after a whole hold.
        if part >= CLOSE && self.ceiling_rps.is_none() {
            self.ceiling_rps = Some(rate_rps * step);
            return self.top_or_after(rate_rps, 0);
        }
        let step = if part <= FAR { step * step } else { step };
        let next_rps = (rate_rps * step).min(max_rps);
        // The rate below the one that was not shown is the last that can be.
        if let Some(ceiling_rps) = self.ceiling_rps.filter(|it| next_rps > it * 0.999) {
            return self.top_or_after(ceiling_rps, 0);
        }
        // The quick probe that failed did so by chance: look further up before climbing on.
        let failed_rps = self.failed_rps.filter(|_| self.ceiling_rps.is_none());
        if failed_rps.is_some_and(|failed_rps| rate_rps > failed_rps * step) {
            self.passed_rps = Some(rate_rps);
            self.turn(Why::QuickWasWrong, rate_rps);
            return State::Up { rate_rps: (rate_rps * 2.0).min(max_rps) };
        }
        State::Climb { rate_rps: next_rps }
    }

    /// How close to its limit the last hold's upper bounds are: the closest, 1 at the limit.
    fn part_of_limit(&self) -> f64 {
        let findings = self.probes.last().map(|it| &it.judgement.findings[..]).unwrap_or_default();
        let of = |it: &Finding| match it.subject {
            Subject::Objective(_) => it.high_with_stalls.or(it.high).unwrap_or(it.value) / it.limit,
            Subject::Unanswered | Subject::Backlog => 0.0,
        };
        findings.iter().map(of).fold(0.0, f64::max)
    }

    /// The first rate of the climb to the top: where a hold is likely to fail soon, by the quick
    /// probes that failed.
    fn top_start(&self, above_rps: f64) -> f64 {
        let step = self.settings.step;
        let is_guide =
            |it: &&Probe| it.plan.purpose.guides() && it.judgement.outcome == Outcome::Fail;
        let failed = self.probes.iter().filter(is_guide);
        let lowest = failed.min_by(|a, b| a.plan.rate_rps.total_cmp(&b.plan.rate_rps));
        let guess_rps = lowest.map_or(0.0, |it| {
            let over = it.judgement.findings.iter().map(|it| it.value / it.limit);
            let is_plain = over.fold(0.0, f64::max) >= PLAIN_TOP;
            it.plan.rate_rps * if is_plain { 1.0 } else { step * step }
        });
        guess_rps.max(above_rps * step)
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
        let rate_rps = match steps {
            0 => self.top_start(rate_rps),
            _ => rate_rps * self.settings.step.powi(1 + steps as i32),
        };
        let rate_rps = rate_rps.min(self.settings.max_rps);
        State::Top { rate_rps, steps: steps + 1 }
    }

    pub(super) fn after_top(&mut self, rate_rps: f64, steps: u32, _: Outcome) -> State {
        self.top_or_after(rate_rps, steps)
    }

    /// The answer is measured last, or the search ends where it was.
    fn recheck(&mut self, ending: Ending) -> State {
        if self.is_rechecked { self.done(ending) } else { self.after_the_climb() }
    }

    /// The end, if the answer holds with the stalls that all probes have shown. If it does not, the
    /// answer is a lower rate: one that has passed already, or one that is looked for.
    pub(super) fn done(&mut self, ending: Ending) -> State {
        let Some(best) = self.best() else { return State::Done(ending) };
        if self.holds(best) {
            return State::Done(self.ending());
        }
        self.stalled(best.plan.rate_rps)
    }

    /// The last hold passed, but not with the stalls of all probes.
    fn passes_without_stalls(&self) -> bool {
        let last = self.probes.last();
        last.is_some_and(|it| it.judgement.outcome != Outcome::Pass && self.holds_with(it, &[]))
    }

    /// A rate passed its hold, but not with the stalls of all probes.
    fn stalled(&mut self, rate_rps: f64) -> State {
        self.turn(Why::Stalls, rate_rps);
        if let Some(shown) = self.shown().filter(|it| !it.is_doubted) {
            self.fall_back(shown.probe);
            return State::Done(self.ending());
        }
        self.lower_or_end(rate_rps)
    }

    /// The climb begins lower, unless it has done so often enough: if a rate passed a hold of its
    /// own, or if the server has stalls. With too few of these, no lower rate is shown in holds as
    /// long; it takes longer holds.
    fn lower_or_end(&mut self, rate_rps: f64) -> State {
        let has_stalls = || self.pools(rate_rps).iter().any(|pool| pool.seen() > 0);
        match self.shown().is_some() {
            true if self.restarts >= RESTARTS.0 => State::Done(self.ending()),
            false if self.restarts >= RESTARTS.1 && has_stalls() => State::Done(Ending::NotShown),
            _ => self.climb_from_below(rate_rps),
        }
    }

    /// A lower rate that passed before is the answer now.
    pub(super) fn fall_back(&mut self, probe: usize) {
        self.best = Some(probe);
        let rate_rps = self.best_rps();
        rate_rps.into_iter().for_each(|rate_rps| self.turn(Why::FellBack, rate_rps));
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
