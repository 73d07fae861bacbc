//! The search as a state machine.
//!
//! ```text
//! Curve     quick probes with 1, 2, 4 … connections, until one fails and the rate no longer rises
//!   │
//! Narrow    quick probes between a number that passed and one that failed
//!   │
//! Climb     holds upward by steps while they pass: the last is the answer
//!   │
//!  Top      holds upward until one fails: the number shown not to meet the objectives
//!   │
//! Recheck   the answer once more; if it fails, the search goes back to Climb, lower
//!   │
//!  Done
//! ```
//!
//! `budget` has what fits into the time that is left.

use serde::{Deserialize, Serialize};

use super::document::{ClosedAnswer, conclude};
use crate::find::answer::Ending;
use crate::find::figures::Figures;
use crate::find::judge::{Judgement, Outcome, Subject, judge};
use crate::find::probe::Report;
use crate::find::settings::{Settings, SettingsError};
use crate::find::turn::{ClosedTurn, Why};
use crate::find::usl::LEAST_POINTS;
use crate::gate::Objective;

/// The ratio of two numbers at which quick probes have nothing more to say.
const NARROW_ENOUGH: f64 = 1.15;

/// A rate that is less than this multiple of the one with half the connections no longer rises.
const RISE: f64 = 1.05;

/// How often in a row it must not rise before the curve ends: the law is fitted past the peak.
const FLAT: usize = 2;

/// Steps between the first number of a climb that is not shown and the next first number.
const STEPS_DOWN: i32 = 2;

/// Steps of the climb to the top.
const TOP_STEPS: u32 = 8;

/// Quick probes between two numbers are measured this many times as long as those of the curve.
const NARROW_TIMES: u64 = 2;

/// The most probes of a search: a bound on what a server can make it do.
const PROBES_MAX: usize = 200;

/// The parameters of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosedSettings {
    /// The search does not go above this number of connections.
    pub max_connections: u32,
    /// The ratio of neighbouring numbers of the climb, above 1. They differ by one at least.
    pub step: f64,
    /// How long the load of a probe lasts before it is measured.
    #[serde(rename = "settle_s", with = "crate::serde_units::from_ns")]
    pub settle_ns: u64,
    /// How long a quick probe of the curve is measured.
    #[serde(rename = "quick_s", with = "crate::serde_units::from_ns")]
    pub quick_ns: u64,
    /// How long a probe that decides is measured.
    #[serde(rename = "hold_s", with = "crate::serde_units::from_ns")]
    pub hold_ns: u64,
    /// From 0 to 1: one less this is α, the chance of a wrong answer.
    pub confidence: f64,
    /// How long the search may take.
    #[serde(rename = "budget_s", with = "crate::serde_units::optional_from_ns")]
    pub budget_ns: Option<u64>,
    /// Whether quick probes alone decide, without a promise.
    pub is_quick_only: bool,
}

impl ClosedSettings {
    /// The settings of a search for a rate, as far as they apply, up to this number of connections.
    #[must_use]
    pub fn of(settings: &Settings, max_connections: u32) -> Self {
        Self {
            max_connections: max_connections.max(1),
            step: settings.step,
            settle_ns: settings.settle_ns,
            quick_ns: settings.quick_ns,
            hold_ns: settings.hold_ns,
            confidence: settings.confidence,
            budget_ns: settings.budget_ns,
            is_quick_only: settings.is_quick_only,
        }
    }

    /// The chance of a wrong answer.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        1.0 - self.confidence
    }

    fn check(&self, objectives: &[Objective]) -> Result<(), SettingsError> {
        // No rate is known before, so that nothing can be said of the number of requests.
        let as_open = Settings {
            step: self.step,
            quick_ns: self.quick_ns,
            hold_ns: self.hold_ns,
            confidence: self.confidence,
            is_quick_only: true,
            ..Settings::default()
        };
        as_open.check(objectives)
    }
}

/// What a probe is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosedPurpose {
    /// A quick look at the rate with a number of connections.
    Curve,
    /// A quick look between two numbers.
    Narrow,
    /// A long one, to show that the objectives are met.
    Climb,
    /// A long one, to show that they are not met.
    Top,
    /// The answer once more.
    Recheck,
}

impl ClosedPurpose {
    /// Whether its judgement is a statement at the level α. The others only guide the search.
    #[must_use]
    pub fn decides(self) -> bool {
        !matches!(self, Self::Curve | Self::Narrow)
    }
}

/// A closed loop that the search asks for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClosedPlan {
    /// What for.
    pub purpose: ClosedPurpose,
    /// How many connections.
    pub connections: u32,
    /// How long the load lasts before it is measured.
    #[serde(rename = "settle_s", with = "crate::serde_units::from_ns")]
    pub settle_ns: u64,
    /// How long it is measured.
    #[serde(rename = "measure_s", with = "crate::serde_units::from_ns")]
    pub measure_ns: u64,
}

/// A probe that was carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosedProbe {
    /// What the search asked for.
    pub plan: ClosedPlan,
    /// What the driver reported. What is due in a closed loop is what ended.
    pub report: Report,
    /// What it showed when it was judged.
    pub judgement: Judgement,
}

impl ClosedProbe {
    /// Responses per second; `None` where it was not measured.
    #[must_use]
    pub fn achieved_rps(&self) -> Option<f64> {
        let is_measured = self.judgement.outcome != Outcome::NotMeasured;
        self.report.figures.as_ref().filter(|_| is_measured).map(|it| it.achieved_rps())
    }
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum ClosedNext {
    /// Carry out this probe, then call [`ClosedSearch::told`].
    Probe(ClosedPlan),
    /// The search is over.
    Answer(Box<ClosedAnswer>),
}

/// Where the search stands. All numbers are of connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    Curve { count: u32 },
    Narrow { low: u32, high: u32 },
    Climb { count: u32 },
    Top { count: u32, steps: u32 },
    Recheck,
    Done(Ending),
}

/// A search for the load line in connections.
#[derive(Debug, Clone)]
pub struct ClosedSearch {
    settings: ClosedSettings,
    objectives: Vec<Objective>,
    probes: Vec<ClosedProbe>,
    elapsed_ns: u64,
    state: State,
    /// The level of the next hold of the climb.
    alpha: f64,
    /// The probe that shows the answer.
    best: Option<usize>,
    /// The lowest number of the climb that was not shown to meet the objectives.
    ceiling: Option<u32>,
    has_changed: bool,
    is_rechecked: bool,
    turns: Vec<ClosedTurn>,
}

impl ClosedSearch {
    /// A search by these settings.
    ///
    /// # Errors
    /// A setting out of range.
    pub fn new(
        settings: ClosedSettings,
        objectives: Vec<Objective>,
    ) -> Result<Self, SettingsError> {
        settings.check(&objectives)?;
        Ok(Self {
            alpha: settings.alpha(),
            settings,
            objectives,
            probes: Vec::new(),
            elapsed_ns: 0,
            state: State::Curve { count: 1 },
            best: None,
            ceiling: None,
            has_changed: false,
            is_rechecked: false,
            turns: Vec::new(),
        })
    }

    /// The probes that were carried out.
    #[must_use]
    pub fn probes(&self) -> &[ClosedProbe] {
        &self.probes
    }

    /// How it searches.
    #[must_use]
    pub fn settings(&self) -> &ClosedSettings {
        &self.settings
    }

    /// What it searches for.
    #[must_use]
    pub fn objectives(&self) -> &[Objective] {
        &self.objectives
    }

    /// The probe that comes next, or the answer.
    #[must_use]
    pub fn next(&self) -> ClosedNext {
        let answer = |ending| ClosedNext::Answer(Box::new(conclude(self, ending)));
        match (self.planned(), self.state) {
            (Some(plan), _) => match self.fitted(plan) {
                Some(plan) => ClosedNext::Probe(plan),
                None => answer(Ending::OutOfBudget),
            },
            (None, State::Done(ending)) => answer(ending),
            (None, _) => answer(Ending::Stopped),
        }
    }

    /// What is known when the search is stopped here.
    #[must_use]
    pub fn so_far(&self) -> ClosedAnswer {
        match self.state {
            State::Done(ending) => conclude(self, ending),
            _ => conclude(self, Ending::Stopped),
        }
    }

    /// Takes in what the probe measured that [`next`](Self::next) asked for. Figures that do not
    /// fit together count as not measured.
    pub fn told(&mut self, report: Report) {
        let Some(whole) = self.planned() else { return };
        let plan = self.fitted(whole).unwrap_or(whole);
        self.elapsed_ns = self.elapsed_ns.saturating_add(report.elapsed_ns);
        let judgement = self.judgement(&plan, &report);
        let outcome = judgement.outcome;
        let turned = self.turns.len();
        if plan.purpose.decides() && plan.measure_ns < whole.measure_ns {
            self.turn(Why::Shortened, plan.connections);
        }
        if plan.purpose.decides() && outcome == Outcome::NotMeasured {
            self.turn(Why::Spoilt, plan.connections);
        }
        self.probes.push(ClosedProbe { plan, report, judgement });
        self.state = match self.state {
            State::Curve { count } => self.after_curve(count, outcome),
            State::Narrow { low, high } => self.after_narrow(low, high, outcome),
            State::Climb { count } => self.after_climb(count, outcome),
            State::Top { count, steps } => self.top_or_recheck(count, steps),
            State::Recheck => self.after_recheck(outcome),
            State::Done(ending) => State::Done(ending),
        };
        if self.probes.len() >= PROBES_MAX {
            self.state = State::Done(Ending::OutOfBudget);
        }
        self.hurry_if_late();
        let (after, next) = (self.probes.len(), self.planned().map(|plan| plan.connections));
        for turn in &mut self.turns[turned..] {
            (turn.after, turn.next_connections) = (after, next);
        }
    }

    pub(super) fn go_to(&mut self, state: State) {
        self.state = state;
    }

    /// Notes a turn after the probe that is taken in.
    pub(super) fn turn(&mut self, why: Why, connections: u32) {
        self.turns.push(ClosedTurn { after: 0, why, connections, next_connections: None });
    }

    /// The turns so far.
    #[must_use]
    pub fn turns(&self) -> Vec<ClosedTurn> {
        let mut turns = self.turns.clone();
        let unfitted = self.planned().filter(|plan| self.fitted(*plan).is_none());
        turns.extend(unfitted.map(|plan| ClosedTurn {
            after: self.probes.len(),
            why: Why::OutOfBudget,
            connections: plan.connections,
            next_connections: None,
        }));
        turns
    }

    /// What the next probe shows if this is what it measured; `None` once the search is over.
    #[must_use]
    pub fn preview(&self, report: &Report) -> Option<Judgement> {
        let plan = self.planned()?;
        Some(self.judgement(&self.fitted(plan).unwrap_or(plan), report))
    }

    fn judgement(&self, plan: &ClosedPlan, report: &Report) -> Judgement {
        let whole = report.figures.as_ref().filter(|it| it.are_whole(self.objectives.len()));
        let Some(figures) = whole else { return Judgement::not_measured() };
        let alpha = plan.purpose.decides().then_some(match plan.purpose {
            ClosedPurpose::Climb => self.alpha,
            _ => self.settings.alpha(),
        });
        let judged = |figures: &Figures| {
            let rate_rps = figures.achieved_rps();
            let mut judgement = judge(figures, &self.objectives, rate_rps, alpha, &[], 0);
            judgement.findings.retain(|it| it.subject != Subject::Backlog);
            judgement
        };
        let judgement = judged(figures);
        // What the tester delays looks slower, so the server meets the objectives all the more.
        if report.tester.is_none() || judgement.outcome == Outcome::Pass {
            return judgement;
        }
        let Some(late) = &report.late else { return Judgement::not_measured() };
        let judgement = judged(&late.least(figures, &self.objectives));
        // A quick probe only guides, so what is most likely will do.
        match judgement.outcome == Outcome::Fail || alpha.is_none() {
            true => judgement,
            false => Judgement::not_measured(),
        }
    }

    /// The plan of the next probe, whatever the budget.
    pub(super) fn planned(&self) -> Option<ClosedPlan> {
        let ClosedSettings { settle_ns, quick_ns, hold_ns, .. } = self.settings;
        let narrow_ns = quick_ns.saturating_mul(NARROW_TIMES);
        let (purpose, connections, measure_ns) = match self.state {
            State::Curve { count } => (ClosedPurpose::Curve, count, quick_ns),
            State::Narrow { low, high } => (ClosedPurpose::Narrow, middle(low, high), narrow_ns),
            State::Climb { count } => (ClosedPurpose::Climb, count, hold_ns),
            State::Top { count, .. } => (ClosedPurpose::Top, count, hold_ns),
            State::Recheck => (ClosedPurpose::Recheck, self.best_count().unwrap_or(1), hold_ns),
            State::Done(_) => return None,
        };
        Some(ClosedPlan { purpose, connections, settle_ns, measure_ns })
    }

    fn after_curve(&mut self, count: u32, outcome: Outcome) -> State {
        let is_over = count >= self.settings.max_connections
            || outcome == Outcome::NotMeasured
            || (self.is_flat() && self.probes.len() >= LEAST_POINTS && !self.all_pass());
        if !is_over {
            let count = count.saturating_mul(2).min(self.settings.max_connections);
            return State::Curve { count };
        }
        let passed = self.probes.iter().take_while(|it| it.judgement.outcome == Outcome::Pass);
        let low = passed.last().map(|it| it.plan.connections);
        let failed = self.probes.iter().find(|it| it.judgement.outcome != Outcome::Pass);
        match (low, failed.map(|it| it.plan.connections)) {
            (Some(low), Some(high)) => self.narrow(low, high),
            (Some(low), None) => self.narrowed(low),
            (None, _) => self.narrowed(1),
        }
    }

    fn all_pass(&self) -> bool {
        self.probes.iter().all(|probe| probe.judgement.outcome == Outcome::Pass)
    }

    /// Whether the last rates of the curve no longer rise.
    fn is_flat(&self) -> bool {
        let rates: Vec<f64> = self.probes.iter().filter_map(ClosedProbe::achieved_rps).collect();
        let flat = rates.windows(2).rev().take_while(|pair| pair[1] < RISE * pair[0]).count();
        flat >= FLAT
    }

    fn narrow(&mut self, low: u32, high: u32) -> State {
        let is_wide = f64::from(high) > NARROW_ENOUGH * f64::from(low) && high - low > 1;
        if is_wide { State::Narrow { low, high } } else { self.narrowed(low) }
    }

    fn after_narrow(&mut self, low: u32, high: u32, outcome: Outcome) -> State {
        let middle = middle(low, high);
        match outcome {
            Outcome::Pass => self.narrow(middle, high),
            _ => self.narrow(low, middle),
        }
    }

    /// Quick probes have nothing more to say after `low`, the highest number that passed them.
    fn narrowed(&mut self, low: u32) -> State {
        match self.settings.is_quick_only {
            true => State::Done(Ending::Guessed),
            false => State::Climb { count: self.first_hold(low) },
        }
    }

    fn after_climb(&mut self, count: u32, outcome: Outcome) -> State {
        match (outcome, self.best) {
            (Outcome::Pass, _) => {
                self.best = Some(self.probes.len() - 1);
                let next = self.above(count, 1);
                match self.ceiling.filter(|ceiling| next >= *ceiling) {
                    _ if count >= self.settings.max_connections => self.recheck(),
                    Some(ceiling) => self.top_or_recheck(ceiling, 0),
                    None => State::Climb { count: next },
                }
            }
            (_, Some(_)) => {
                self.ceiling = Some(count);
                self.top_or_recheck(count, 0)
            }
            (_, None) => {
                self.turn(Why::NotShown, count);
                self.climb_from_below(count)
            }
        }
    }

    /// The first hold of the climb did not pass, or the answer did not hold: begin lower.
    fn climb_from_below(&mut self, count: u32) -> State {
        self.best = None;
        // Numbers that far above the line pass with a chance far below α, so that later starts add
        // next to nothing to the chance of a wrong answer.
        if self.ceiling.is_none() {
            self.alpha /= 2.0;
        }
        self.ceiling = Some(count);
        if count == 1 {
            return State::Done(match self.probes.last().map(|probe| probe.judgement.outcome) {
                Some(Outcome::NotMeasured) => Ending::TesterLimited,
                Some(Outcome::Fail) => Ending::NotMet,
                _ => Ending::NotShown,
            });
        }
        let lower = (f64::from(count) / self.settings.step.powi(STEPS_DOWN)).round() as u32;
        State::Climb { count: lower.min(count - 1).max(1) }
    }

    /// The next number of the climb to the top after `steps` of them, unless the top is known.
    fn top_or_recheck(&mut self, count: u32, steps: u32) -> State {
        let is_limited =
            self.probes.last().is_some_and(|it| it.judgement.outcome == Outcome::NotMeasured);
        let is_known = self.top().is_some() || self.is_rechecked;
        if is_known || is_limited || steps == TOP_STEPS || count >= self.settings.max_connections {
            return self.recheck();
        }
        State::Top { count: self.above(count, 1 + steps as i32 / 3), steps: steps + 1 }
    }

    fn recheck(&self) -> State {
        if self.is_rechecked { State::Done(self.ending()) } else { State::Recheck }
    }

    /// A number that fails when it is measured again is not shown. One below it that passed before
    /// is measured again too; without one, the climb begins lower.
    fn after_recheck(&mut self, outcome: Outcome) -> State {
        if outcome != Outcome::Fail {
            self.is_rechecked = true;
            return State::Done(self.ending());
        }
        self.has_changed = true;
        let count = self.best_count().unwrap_or(1);
        self.turn(Why::FailedAgain, count);
        self.best = self.shown();
        match self.best_count() {
            Some(lower) => {
                self.turn(Why::FellBack, lower);
                State::Recheck
            }
            None => {
                self.is_rechecked = true;
                self.climb_from_below(count)
            }
        }
    }

    /// Whether the answer was measured again, and that hold did not show it.
    pub(super) fn is_unconfirmed(&self) -> bool {
        let again = self.probes.iter().rfind(|it| {
            it.plan.purpose == ClosedPurpose::Recheck
                && Some(it.plan.connections) == self.best_count()
        });
        again.is_some_and(|it| it.judgement.outcome != Outcome::Pass)
    }

    /// How a search with an answer ends.
    fn ending(&self) -> Ending {
        let best = self.best_count().unwrap_or(0);
        let top = self.top().map_or(u32::MAX, |top| top.plan.connections);
        if best >= self.settings.max_connections {
            Ending::AtLeast
        } else if self.tester_limit().is_some_and(|limit| limit <= top) {
            Ending::TesterLimited
        } else {
            Ending::Found
        }
    }

    /// The number of the climb after this many steps up, one more at least.
    fn above(&self, count: u32, steps: i32) -> u32 {
        let next = (f64::from(count) * self.settings.step.powi(steps)).round() as u32;
        next.max(count.saturating_add(1)).min(self.settings.max_connections)
    }

    pub(super) fn best_count(&self) -> Option<u32> {
        self.best().map(|probe| probe.plan.connections)
    }

    fn best(&self) -> Option<&ClosedProbe> {
        self.best.and_then(|best| self.probes.get(best))
    }

    /// The probe that shows the answer, whatever ended the search: the most connections that passed
    /// a hold of the climb, below all that failed one.
    pub(super) fn shown(&self) -> Option<usize> {
        let failed = self.top_above(0).map_or(u32::MAX, |probe| probe.plan.connections);
        let passed = self.probes.iter().enumerate().filter(|(_, probe)| {
            probe.plan.purpose == ClosedPurpose::Climb
                && probe.judgement.outcome == Outcome::Pass
                && probe.plan.connections < failed
        });
        passed.max_by_key(|(_, probe)| probe.plan.connections).map(|(at, _)| at)
    }

    fn top(&self) -> Option<&ClosedProbe> {
        self.top_above(self.best_count().unwrap_or(0))
    }

    /// The lowest number above one that a hold has shown not to meet the objectives.
    pub(super) fn top_above(&self, count: u32) -> Option<&ClosedProbe> {
        let is_shown = |probe: &&ClosedProbe| {
            probe.plan.purpose.decides()
                && probe.judgement.outcome == Outcome::Fail
                && probe.plan.connections > count
        };
        self.probes.iter().filter(is_shown).min_by_key(|probe| probe.plan.connections)
    }

    /// The lowest number with which the tester was the limit.
    pub(super) fn tester_limit(&self) -> Option<u32> {
        let is_limited = |it: &&ClosedProbe| it.judgement.outcome == Outcome::NotMeasured;
        self.probes.iter().filter(is_limited).map(|it| it.plan.connections).min()
    }

    pub(super) fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    pub(super) fn has_changed(&self) -> bool {
        self.has_changed
    }

    pub(super) fn is_rechecked(&self) -> bool {
        self.is_rechecked
    }
}

fn middle(low: u32, high: u32) -> u32 {
    let middle = (f64::from(low) * f64::from(high)).sqrt().round() as u32;
    middle.clamp(low + 1, (high - 1).max(low + 1))
}
