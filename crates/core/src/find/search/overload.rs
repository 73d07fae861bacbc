//! The answer once more, last of all: directly after overload, and when that fails after the server
//! has cooled down. A server that stays slow after overload has two load lines: one from below, and
//! a lower one to which the load must drop before it recovers.

use super::{Search, State, Then};
use crate::find::answer::{AfterOverload, Ending};
use crate::find::bound::blocks;
use crate::find::judge::Outcome;
use crate::find::probe::{Probe, Purpose};
use crate::find::turn::Why;
use crate::stats::rank_sum;

/// The chance of calling a server changed that did not change. Far below α, since neighbouring
/// blocks are not independent.
const CHANGE_ALPHA: f64 = 0.001;

/// How many rates are tried at which the server may have recovered.
const RECOVERED_MAX: usize = 3;

impl Search {
    /// The climb is over; the last probe was that of the rate which ended it.
    pub(super) fn after_the_climb(&self) -> State {
        let is_overload = |probe: &Probe| probe.judgement.outcome == Outcome::Fail;
        match (self.settings.is_checked_after_overload, self.top_rps()) {
            (true, Some(_)) if self.probes.last().is_some_and(is_overload) => State::After,
            (true, Some(_)) => State::Overload { then: Then::After },
            _ => State::Recheck,
        }
    }

    pub(super) fn after_overload(&mut self, then: Then) -> State {
        match then {
            Then::After => State::After,
            Then::Descend => {
                let last = self.probes.iter().rev().find(|it| it.plan.purpose == Purpose::Descend);
                let from_rps = last.map(|it| it.plan.rate_rps).or_else(|| self.best_rps());
                self.descend(from_rps.unwrap_or(self.settings.from_rps))
            }
        }
    }

    pub(super) fn after_after(&mut self, outcome: Outcome) -> State {
        if outcome == Outcome::Fail {
            let rate_rps = self.best_rps().unwrap_or(self.settings.from_rps);
            self.turn(Why::FailedAfterOverload, rate_rps);
            return State::Recheck;
        }
        self.rechecked()
    }

    /// Whether the server has changed, or only does not recover from overload.
    pub(super) fn after_recheck(&mut self, outcome: Outcome) -> State {
        let is_after_overload = self.probes.iter().rev().nth(1).is_some_and(|probe| {
            probe.plan.purpose == Purpose::AfterOverload && probe.judgement.outcome == Outcome::Fail
        });
        // A rate that fails when it is measured again is not shown.
        if outcome == Outcome::Fail {
            return self.failed_again();
        }
        if is_after_overload {
            self.after_overload = Some(AfterOverload { rate_rps: None });
            let rate_rps = self.best_rps().unwrap_or(self.settings.from_rps);
            self.turn(Why::Recovering, rate_rps);
            return State::Overload { then: Then::Descend };
        }
        self.rechecked()
    }

    /// The answer failed when it was measured again. A lower rate that passed before is measured
    /// again too; without one, the climb begins lower.
    fn failed_again(&mut self) -> State {
        let rate_rps = self.best_rps().unwrap_or(self.settings.from_rps);
        self.has_changed = true;
        self.turn(Why::FailedAgain, rate_rps);
        if let Some(shown) = self.shown().filter(|it| !it.is_doubted) {
            self.fall_back(shown.probe);
            return State::Recheck;
        }
        self.is_rechecked = true;
        self.climb_from_below(rate_rps)
    }

    fn rechecked(&mut self) -> State {
        self.is_rechecked = true;
        self.has_changed |= self.differs();
        match self.best().is_none_or(|best| self.holds_again(best)) {
            true => self.done(Ending::Found),
            false => self.not_shown_again(),
        }
    }

    /// With what the second hold showed, the answer is not shown.
    fn not_shown_again(&mut self) -> State {
        let rate_rps = self.best_rps().unwrap_or(self.settings.from_rps);
        self.turn(Why::NotShownAgain, rate_rps);
        self.is_rechecked = false;
        match self.shown().filter(|it| !it.is_doubted) {
            Some(shown) => {
                self.fall_back(shown.probe);
                State::Recheck
            }
            None => self.climb_from_below(rate_rps),
        }
    }

    /// Whether the last probe differs from the one that showed the answer, at the same rate.
    fn differs(&self) -> bool {
        let shares = |probe: &Probe, count: usize| -> Vec<Vec<f64>> {
            let Some(figures) = &probe.report.figures else { return Vec::new() };
            let figures = figures.first(count);
            let floats = |column: &[u64]| column.iter().map(|it| *it as f64).collect::<Vec<f64>>();
            let of = |sums: &crate::find::figures::Sums| {
                let (among, against) =
                    (blocks(&floats(&sums.among)), blocks(&floats(&sums.against)));
                among.iter().zip(against).map(|(among, it)| it / among.max(1.0)).collect()
            };
            figures.objectives.iter().map(of).collect()
        };
        let (Some(first), Some(last)) = (self.best(), self.probes.last()) else { return false };
        let least = |a: &Probe, b: &Probe| {
            let long = |it: &Probe| it.report.figures.as_ref().map_or(0, |it| it.due.len());
            long(a).min(long(b))
        };
        // Blocks of different lengths vary differently.
        let count = least(first, last);
        let (first, last) = (shares(first, count), shares(last, count));
        let pairs = first.iter().zip(&last);
        let alpha = CHANGE_ALPHA / self.objectives.len() as f64;
        pairs.into_iter().any(|(first, last)| rank_sum(first, last).p < alpha)
    }

    /// The next lower rate at which the server may recover.
    fn descend(&mut self, from_rps: f64) -> State {
        let rate_rps = from_rps / self.settings.step;
        match rate_rps < self.settings.min_rps {
            true => self.unrecovered(),
            false => State::Descend { rate_rps },
        }
    }

    pub(super) fn after_descend(&mut self, rate_rps: f64, outcome: Outcome) -> State {
        match outcome {
            Outcome::Pass => State::Recovered { rate_rps },
            _ => self.descend(rate_rps),
        }
    }

    pub(super) fn after_recovered(&mut self, rate_rps: f64, outcome: Outcome) -> State {
        match outcome {
            Outcome::Pass => {
                self.after_overload = Some(AfterOverload { rate_rps: Some(rate_rps) });
                self.is_rechecked = true;
                self.done(Ending::Found)
            }
            // It had recovered from the load before, but does not keep to the objectives.
            _ if self.times(Purpose::Recovered) < RECOVERED_MAX => {
                State::Overload { then: Then::Descend }
            }
            _ => self.unrecovered(),
        }
    }

    fn times(&self, purpose: Purpose) -> usize {
        self.probes.iter().filter(|it| it.plan.purpose == purpose).count()
    }

    /// No rate was found at which the server meets the objectives after overload.
    fn unrecovered(&mut self) -> State {
        self.is_rechecked = true;
        self.done(Ending::Found)
    }
}
