//! Quick probes: a rate that passes and one that fails, close to each other. They only say where
//! the climb begins.

use super::{NARROW_TIMES, Search, State};
use crate::find::answer::Ending;
use crate::find::judge::Outcome;
use crate::find::probe::Probe;
use crate::find::turn::Why;

/// The ratio of neighbouring rates of the bracket.
const FACTOR: f64 = 2.0;

/// How often the rate is lowered when the first fails.
const DOWN: u32 = 3;

/// How often it is raised in search of a rate that passes above one that fails.
const ABOVE: u32 = 6;

/// The ratio of the two rates at which quick probes have nothing more to say.
const NARROW_ENOUGH: f64 = 1.25;

/// How far below the highest rate that passed a quick probe the climb begins.
const CLIMB_BELOW: f64 = 1.1;

/// How much further below it begins if a quick probe has fewer requests than a hold needs at least.
const FEW_BELOW: f64 = 1.05;

impl Search {
    pub(super) fn after_up(&mut self, rate_rps: f64, outcome: Outcome) -> State {
        if outcome == Outcome::Pass {
            self.passed_rps = Some(rate_rps);
            self.failed_rps = None;
            return match rate_rps >= self.settings.max_rps {
                true => self.narrowed(rate_rps),
                false => State::Up { rate_rps: (rate_rps * FACTOR).min(self.settings.max_rps) },
            };
        }
        self.failed_rps = Some(rate_rps);
        match self.passed_rps {
            Some(passed_rps) => self.narrow(passed_rps, rate_rps),
            None => {
                self.turn(Why::FirstFailed, rate_rps);
                self.down(rate_rps, DOWN)
            }
        }
    }

    fn down(&mut self, from_rps: f64, left: u32) -> State {
        let is_last = left == 0 || from_rps <= self.settings.min_rps;
        if !is_last {
            let rate_rps = (from_rps / FACTOR).max(self.settings.min_rps);
            return State::Down { rate_rps, left: left - 1 };
        }
        let first = self.probes.first();
        let is_overload = first.is_none_or(|probe| probe.judgement.is_overload());
        let is_measured = first.is_some_and(Probe::is_measured);
        // A server that does not keep up at this rate does not at a higher one.
        match (is_measured, is_overload) {
            (false, _) => State::Done(Ending::TesterLimited),
            (true, true) => State::Done(Ending::NotMet),
            (true, false) => {
                self.turn(Why::NothingBelow, from_rps);
                self.above(self.settings.from_rps, ABOVE)
            }
        }
    }

    /// A slow start is the likely reason of a first probe that failed, so after a pass the bracket
    /// goes up again from there, past the rate that failed.
    pub(super) fn after_down(&mut self, rate_rps: f64, left: u32, outcome: Outcome) -> State {
        match outcome {
            Outcome::Pass => self.after_up(rate_rps, outcome),
            _ => self.down(rate_rps, left),
        }
    }

    fn above(&self, from_rps: f64, left: u32) -> State {
        match left == 0 || from_rps >= self.settings.max_rps {
            true => State::Done(Ending::NotMet),
            false => {
                let rate_rps = (from_rps * FACTOR).min(self.settings.max_rps);
                State::Above { rate_rps, left: left - 1 }
            }
        }
    }

    pub(super) fn after_above(&mut self, rate_rps: f64, left: u32, outcome: Outcome) -> State {
        let is_overload = self.probes.last().is_none_or(|it| it.judgement.is_overload());
        match outcome {
            Outcome::Pass => State::OrderLow { high_rps: rate_rps },
            Outcome::NotMeasured => State::Done(Ending::NotMet),
            _ if is_overload => State::Done(Ending::NotMet),
            _ => self.above(rate_rps, left),
        }
    }

    pub(super) fn after_order_low(&mut self, high_rps: f64, outcome: Outcome) -> State {
        match outcome {
            Outcome::Pass => self.after_up(self.settings.from_rps, outcome),
            _ => State::OrderHigh { high_rps },
        }
    }

    pub(super) fn after_order_high(&mut self, high_rps: f64, outcome: Outcome) -> State {
        let low = self.probes.iter().rev().nth(1).map(|probe| probe.judgement.outcome);
        match (low, outcome) {
            (Some(Outcome::Fail), Outcome::Pass) => State::Done(Ending::NotMonotone),
            (_, Outcome::Pass) => self.after_up(high_rps, outcome),
            _ => State::Done(Ending::NotMet),
        }
    }

    pub(super) fn after_narrow(&mut self, low_rps: f64, high_rps: f64, outcome: Outcome) -> State {
        let middle_rps = (low_rps * high_rps).sqrt();
        match outcome {
            Outcome::Pass => self.narrow(middle_rps, high_rps),
            _ => self.narrow(low_rps, middle_rps),
        }
    }

    fn narrow(&mut self, low_rps: f64, high_rps: f64) -> State {
        self.passed_rps = Some(low_rps);
        self.failed_rps = Some(high_rps);
        match high_rps / low_rps > NARROW_ENOUGH {
            true => State::Narrow { low_rps, high_rps },
            false => self.narrowed(self.first_hold_rps(low_rps)),
        }
    }

    /// Quick probes have nothing more to say: the climb begins at this rate, or above what it has
    /// shown already.
    fn narrowed(&mut self, rate_rps: f64) -> State {
        if self.settings.is_quick_only {
            return State::Done(Ending::Guessed);
        }
        let shown_rps = self.best_rps().map_or(0.0, |best_rps| best_rps * self.settings.step);
        let rate_rps = rate_rps.max(shown_rps).max(self.settings.min_rps);
        self.climb(rate_rps.min(self.settings.max_rps))
    }

    /// Where the climb begins if quick probes passed up to this rate and not much above.
    pub(super) fn climb_rps(&self, passed_rps: f64) -> f64 {
        let quick_s = (self.settings.quick_ns.saturating_mul(NARROW_TIMES)) as f64 / 1e9;
        let least = self.objectives.iter().map(|it| it.requests_least()).max().unwrap_or(0);
        let has_few = passed_rps * quick_s < least as f64;
        let below = if has_few { CLIMB_BELOW * FEW_BELOW } else { CLIMB_BELOW };
        (passed_rps / below).max(self.settings.min_rps)
    }
}
