//! The search: a state machine that says which probe comes next, and is told what it measured.
//!
//! ```text
//!  Up ⇄ Down      quick probes ×2 until one fails; if the first fails, downward until one passes
//!   │    └ Above ─ Order    nothing passes below: does a higher rate pass? then it is not monotone
//! Narrow          quick probes between a rate that passed and one that failed
//!   │
//! Climb           holds upward by steps while they pass: the last is the answer
//!   │
//!  Top            holds upward until one fails: the rate shown not to meet the objectives
//!   │
//! After ─ Recheck ─ Overload ⇄ Descend ⇄ Recovered    the answer after overload, and where the
//!   │                                                 server recovers if it no longer holds
//!  Done           once the stalls of all probes are added up; if the answer does not hold with
//!                 them, the search goes back to Climb, lower
//! ```
//!
//! `bracket`, `climb` and `overload` have the transitions, `budget` what fits into the time that is
//! left, and `looks` when a probe has shown enough. The state follows from the settings and what
//! the probes measured alone, so a search that was interrupted is resumed by telling a new one the
//! same.

mod bracket;
mod budget;
mod climb;
mod looks;
mod overload;

use super::answer::{AfterOverload, Answer, Doubt, Ending, conclude};
use super::figures::Figures;
use super::judge::{Judgement, Outcome, judge};
use super::probe::{Probe, ProbePlan, Purpose, Report};
use super::settings::{Settings, SettingsError};
use super::stalls::{NEAR, Pool};
use super::turn::{Turn, Why};
use crate::gate::Objective;

/// Quick probes between two rates are measured this many times as long as those of the bracket.
const NARROW_TIMES: u64 = 2;

/// The answer is measured again for half a hold, but for this long if a hold is.
const AGAIN_NS_LEAST: u64 = 30_000_000_000;

/// Quick probes of the bracket settle for no longer than this.
const BRACKET_SETTLE_NS: u64 = 1_000_000_000;

/// The most probes of a search: a bound on what a server can make it do.
pub(super) const PROBES_MAX: usize = 200;

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Carry out this probe, then call [`Search::told`].
    Probe(ProbePlan),
    /// The search is over.
    Answer(Box<Answer>),
}

/// Why a search cannot be resumed from its probes: one line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ResumeError {
    /// The settings make no search.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The figures of a probe are not whole.
    #[error("probe {0}: its columns are missing, too long, or not equally long")]
    Figures(usize),
    /// The search asks for another probe there.
    #[error("probe {0} is not the one that this search asks for: the settings differ")]
    Plan(usize),
}

/// Where the search stands.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Up { rate_rps: f64 },
    Down { rate_rps: f64, left: u32 },
    Above { rate_rps: f64, left: u32 },
    OrderLow { high_rps: f64 },
    OrderHigh { high_rps: f64 },
    Narrow { low_rps: f64, high_rps: f64 },
    Climb { rate_rps: f64 },
    Top { rate_rps: f64, steps: u32 },
    After,
    Recheck,
    Overload { then: Then },
    Descend { rate_rps: f64 },
    Recovered { rate_rps: f64 },
    Done(Ending),
}

/// What comes after the server was brought into overload again.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    After,
    Descend,
}

/// A search for the load line.
#[derive(Debug, Clone)]
pub struct Search {
    settings: Settings,
    objectives: Vec<Objective>,
    probes: Vec<Probe>,
    elapsed_ns: u64,
    state: State,
    /// The highest rate at which a quick probe passed.
    passed_rps: Option<f64>,
    /// The lowest rate at which a quick probe failed since then.
    failed_rps: Option<f64>,
    /// The level of the next hold of the climb.
    alpha: f64,
    /// How often the climb had to begin lower.
    restarts: u32,
    /// The probe that shows the answer.
    best: Option<usize>,
    /// The lowest rate of the climb that was not shown to meet the objectives.
    ceiling_rps: Option<f64>,
    /// The lowest rate that the tester could not offer or measure.
    tester_limit_rps: Option<f64>,
    /// Whether the answer was measured again already.
    is_rechecked: bool,
    after_overload: Option<AfterOverload>,
    has_changed: bool,
    turns: Vec<Turn>,
}

/// The probe that shows the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shown {
    pub(super) probe: usize,
    /// Whether it is not shown with the stalls that all probes have seen.
    pub(super) is_doubted: bool,
}

impl Search {
    /// A search by these settings.
    ///
    /// # Errors
    /// A setting out of range, and objectives that no probe can show.
    pub fn new(settings: Settings, objectives: Vec<Objective>) -> Result<Self, SettingsError> {
        settings.check(&objectives)?;
        let rate_rps = rounded(settings.from_rps);
        let alpha = settings.alpha();
        Ok(Self {
            settings,
            objectives,
            probes: Vec::new(),
            elapsed_ns: 0,
            state: State::Up { rate_rps },
            passed_rps: None,
            failed_rps: None,
            alpha,
            restarts: 0,
            best: None,
            ceiling_rps: None,
            tester_limit_rps: None,
            is_rechecked: false,
            after_overload: None,
            has_changed: false,
            turns: Vec::new(),
        })
    }

    /// A search that goes on where one with the same settings stopped, from its probes.
    ///
    /// # Errors
    /// Settings out of range, and probes that this search would not have asked for.
    pub fn resume(
        settings: Settings,
        objectives: Vec<Objective>,
        probes: &[Probe],
    ) -> Result<Self, ResumeError> {
        let mut search = Self::new(Settings { budget_ns: None, ..settings }, objectives)?;
        for (i, probe) in probes.iter().enumerate() {
            let figures = probe.report.figures.as_ref();
            if figures.is_some_and(|it| !it.are_whole(search.objectives.len())) {
                return Err(ResumeError::Figures(i + 1));
            }
            // Another budget is the usual reason to go on. It shortens probes, begins holds sooner
            // and lower, and changes nothing else.
            search.begin_holds_as(&probe.plan);
            match search.planned() {
                Some(plan) if is_part_of(&probe.plan, &plan) => {
                    search.told_of(probe.plan, probe.report.clone());
                }
                _ => return Err(ResumeError::Plan(i + 1)),
            }
        }
        search.settings.budget_ns = settings.budget_ns;
        search.hurry_if_late();
        Ok(search)
    }

    /// The probes that were carried out.
    #[must_use]
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// How it searches.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What it searches for.
    #[must_use]
    pub fn objectives(&self) -> &[Objective] {
        &self.objectives
    }

    /// The probe that comes next, or the answer.
    #[must_use]
    pub fn next(&self) -> Next {
        match (self.planned(), self.state) {
            (Some(plan), _) => match self.fitted(plan) {
                Some(plan) => Next::Probe(plan),
                None => Next::Answer(Box::new(self.answer(Ending::OutOfBudget))),
            },
            (None, State::Done(ending)) => Next::Answer(Box::new(self.answer(ending))),
            (None, _) => Next::Answer(Box::new(self.so_far())),
        }
    }

    /// What is known when the search is stopped here.
    #[must_use]
    pub fn so_far(&self) -> Answer {
        match self.state {
            State::Done(ending) => self.answer(ending),
            _ => self.answer(Ending::Stopped),
        }
    }

    /// Takes what the probe that [`Search::next`] asked for has measured. Figures whose columns do
    /// not fit together count as not measured.
    pub fn told(&mut self, report: Report) {
        let Some(plan) = self.planned() else { return };
        self.told_of(self.fitted(plan).unwrap_or(plan), report);
        self.hurry_if_late();
    }

    fn told_of(&mut self, plan: ProbePlan, report: Report) {
        let full_ns = self.planned().map_or(0, |plan| plan.measure_ns);
        self.elapsed_ns = self.elapsed_ns.saturating_add(report.elapsed_ns);
        let judgement = self.judgement(&plan, &report);
        let outcome = judgement.outcome;
        let turned = self.turns.len();
        if plan.measure_ns < full_ns && plan.purpose.decides() {
            self.turn(Why::Shortened, plan.rate_rps);
        }
        if outcome == Outcome::NotMeasured {
            let limit_rps = self.tester_limit_rps.unwrap_or(f64::MAX).min(plan.rate_rps);
            self.tester_limit_rps = Some(limit_rps);
            if plan.purpose.decides() {
                self.turn(Why::Spoilt, plan.rate_rps);
            }
        }
        self.probes.push(Probe { plan, report, judgement });
        self.turns[turned..].iter_mut().for_each(|turn| turn.after += 1);
        self.state = self.after(outcome);
        if self.probes.len() >= PROBES_MAX {
            self.state = State::Done(Ending::OutOfBudget);
        }
        let next_rps = self.planned().map(|plan| plan.rate_rps);
        self.turns[turned..].iter_mut().for_each(|turn| turn.next_rps = next_rps);
    }

    /// Notes a turn after the last probe.
    fn turn(&mut self, why: Why, rate_rps: f64) {
        let rate_rps = rounded(rate_rps);
        self.turns.push(Turn { after: self.probes.len(), why, rate_rps, next_rps: None });
    }

    /// The turns so far.
    #[must_use]
    pub fn turns(&self) -> Vec<Turn> {
        let mut turns = self.turns.clone();
        let unfitted = self.planned().filter(|plan| self.fitted(*plan).is_none());
        turns.extend(unfitted.map(|plan| Turn {
            after: self.probes.len(),
            why: Why::OutOfBudget,
            rate_rps: plan.rate_rps,
            next_rps: None,
        }));
        turns
    }

    /// What the next probe shows if this is what it measured; `None` once the search is over. A
    /// driver may measure a probe again before it tells.
    #[must_use]
    pub fn preview(&self, report: &Report) -> Option<Judgement> {
        let plan = self.planned()?;
        Some(self.judgement(&self.fitted(plan).unwrap_or(plan), report))
    }

    fn judgement(&self, plan: &ProbePlan, report: &Report) -> Judgement {
        let Some(figures) =
            report.figures.as_ref().filter(|it| it.are_whole(self.objectives.len()))
        else {
            return Judgement::not_measured();
        };
        let alpha = self.level(plan, figures);
        let judgement = self.judged(plan, figures, alpha);
        // What the tester delays looks slower, so the server meets the objectives all the more.
        if report.tester.is_none() || judgement.outcome == Outcome::Pass {
            return judgement;
        }
        let Some(late) = &report.late else { return Judgement::not_measured() };
        let least = late.least(figures, &self.objectives);
        let judgement = self.judged(plan, &least, alpha);
        // A quick probe only guides, so what is most likely will do.
        match judgement.outcome == Outcome::Fail || alpha.is_none() {
            true => judgement,
            false => Judgement::not_measured(),
        }
    }

    fn judged(&self, plan: &ProbePlan, figures: &Figures, alpha: Option<f64>) -> Judgement {
        let pools = match plan.purpose.follows_overload() {
            true => Vec::new(),
            false => {
                let last = (plan.rate_rps, figures);
                self.pools_of(self.undisturbed(plan.rate_rps).chain([last]))
            }
        };
        let sustain_ns = self.settings.sustain_ns;
        judge(figures, &self.objectives, plan.rate_rps, alpha, &pools, sustain_ns)
    }

    /// The stalls of each objective that count at a rate, of all probes but those that followed an
    /// overload. Those that failed well above that rate are left out too: the load was too high
    /// there, and quick probes are too short to tell a stall from that.
    pub(super) fn pools(&self, rate_rps: f64) -> Vec<Pool> {
        self.pools_of(self.undisturbed(rate_rps))
    }

    fn undisturbed(&self, rate_rps: f64) -> impl Iterator<Item = (f64, &Figures)> + Clone {
        let is_overload = move |it: &Probe| {
            it.judgement.outcome == Outcome::Fail && it.plan.rate_rps > rate_rps * NEAR
        };
        // One that did well directly after overload had recovered.
        let is_disturbed = |it: &Probe| {
            let has_recovered = it.plan.purpose == Purpose::AfterOverload
                && matches!(it.judgement.outcome, Outcome::Pass | Outcome::Unclear);
            it.plan.purpose.follows_overload() && !has_recovered
        };
        let is_usual = move |it: &&Probe| !is_disturbed(it) && !is_overload(it);
        let usual = self.probes.iter().filter(is_usual);
        usual.filter_map(|it| Some((it.plan.rate_rps, it.report.figures.as_ref()?)))
    }

    fn pools_of<'a>(&self, probes: impl Iterator<Item = (f64, &'a Figures)> + Clone) -> Vec<Pool> {
        let of = |(i, objective): (usize, &Objective)| {
            let mut pool = Pool::default();
            for (rate_rps, figures) in probes.clone() {
                if let Some(sums) = figures.objectives.get(i) {
                    pool.add(figures, sums, objective.limit(), rate_rps);
                }
            }
            pool
        };
        self.objectives.iter().enumerate().map(of).collect()
    }

    /// The plan of the next probe, whatever the budget.
    fn planned(&self) -> Option<ProbePlan> {
        let quick_ns = self.settings.quick_ns;
        let narrow_ns = quick_ns.saturating_mul(NARROW_TIMES);
        let hold_ns = self.settings.hold_ns;
        let again_ns = (hold_ns / 2).max(AGAIN_NS_LEAST.min(hold_ns));
        let best_rps = self.best_rps().unwrap_or(self.settings.from_rps);
        let (purpose, rate_rps, measure_ns) = match self.state {
            State::Up { rate_rps }
            | State::Down { rate_rps, .. }
            | State::Above { rate_rps, .. } => (Purpose::Bracket, rate_rps, quick_ns),
            State::OrderLow { .. } => (Purpose::Order, self.settings.from_rps, hold_ns),
            State::OrderHigh { high_rps } => (Purpose::Order, high_rps, hold_ns),
            State::Narrow { low_rps, high_rps } => {
                (Purpose::Narrow, (low_rps * high_rps).sqrt(), narrow_ns)
            }
            State::Climb { rate_rps } => (Purpose::Climb, rate_rps, hold_ns),
            State::Top { rate_rps, .. } => (Purpose::Top, rate_rps, hold_ns),
            State::After => (Purpose::AfterOverload, best_rps, again_ns),
            State::Recheck => (Purpose::Recheck, best_rps, again_ns),
            State::Overload { .. } => {
                (Purpose::Overload, self.top_rps().unwrap_or(best_rps), narrow_ns)
            }
            State::Descend { rate_rps } => (Purpose::Descend, rate_rps, narrow_ns),
            State::Recovered { rate_rps } => (Purpose::Recovered, rate_rps, hold_ns),
            State::Done(_) => return None,
        };
        // A server that has just passed has nothing to cool down from.
        let has_passed = self.probes.last().is_none_or(|it| it.judgement.outcome == Outcome::Pass);
        let is_direct = has_passed || purpose.follows_overload();
        let cool_down_rps = (!is_direct).then(|| self.lowest_passed_rps().min(rate_rps));
        // Where quick probes pass, the server has nothing to settle from either.
        let settle_ns = match purpose {
            Purpose::Bracket => self.settings.settle_ns.min(BRACKET_SETTLE_NS),
            _ => self.settings.settle_ns,
        };
        let rate_rps = rounded(rate_rps);
        Some(ProbePlan { purpose, rate_rps, cool_down_rps, settle_ns, measure_ns })
    }

    /// The state after a probe with this outcome, which is the last of the list.
    fn after(&mut self, outcome: Outcome) -> State {
        match self.state {
            State::Up { rate_rps } => self.after_up(rate_rps, outcome),
            State::Down { rate_rps, left } => self.after_down(rate_rps, left, outcome),
            State::Above { rate_rps, left } => self.after_above(rate_rps, left, outcome),
            State::OrderLow { high_rps } => self.after_order_low(high_rps, outcome),
            State::OrderHigh { high_rps } => self.after_order_high(high_rps, outcome),
            State::Narrow { low_rps, high_rps } => self.after_narrow(low_rps, high_rps, outcome),
            State::Climb { rate_rps } => self.after_climb(rate_rps, outcome),
            State::Top { rate_rps, steps } => self.after_top(rate_rps, steps, outcome),
            State::After => self.after_after(outcome),
            State::Recheck => self.after_recheck(outcome),
            State::Overload { then } => self.after_overload(then),
            State::Descend { rate_rps } => self.after_descend(rate_rps, outcome),
            State::Recovered { rate_rps } => self.after_recovered(rate_rps, outcome),
            State::Done(ending) => State::Done(ending),
        }
    }

    fn answer(&self, ending: Ending) -> Answer {
        conclude(self, ending)
    }

    /// The rate shown to meet the objectives so far.
    pub(super) fn best_rps(&self) -> Option<f64> {
        self.best().map(|probe| probe.plan.rate_rps)
    }

    pub(super) fn best(&self) -> Option<&Probe> {
        self.best.and_then(|best| self.probes.get(best))
    }

    /// The probe that shows the answer, whatever ended the search: the highest rate of a climb that
    /// passed its hold, below all rates that a hold has shown not to meet the objectives. Rates
    /// that pass with the stalls of all probes come first.
    pub(super) fn shown(&self) -> Option<Shown> {
        let failed_rps = self.top_above(0.0).map_or(f64::INFINITY, |probe| probe.plan.rate_rps);
        let passed = self.probes.iter().enumerate().filter(|(_, probe)| {
            probe.plan.purpose == Purpose::Climb
                && probe.plan.rate_rps < failed_rps
                && self.holds_with(probe, &[])
                && self.holds_again(probe)
        });
        let mut passed: Vec<(usize, &Probe)> = passed.collect();
        passed.sort_by(|a, b| b.1.plan.rate_rps.total_cmp(&a.1.plan.rate_rps));
        let firm = passed.iter().find(|(_, probe)| self.holds(probe));
        let first = firm.or_else(|| passed.first())?;
        Some(Shown { probe: first.0, is_doubted: firm.is_none() })
    }

    /// Whether a probe passes with the stalls of all probes.
    pub(super) fn holds(&self, probe: &Probe) -> bool {
        probe.judgement.outcome == Outcome::Pass
            && self.holds_with(probe, &self.pools(probe.plan.rate_rps))
    }

    /// Whether a probe passes together with those that measured its rate again. Two holds show more
    /// than one, and a rate that was met by luck seldom is twice.
    pub(super) fn holds_again(&self, probe: &Probe) -> bool {
        let is_again = |it: &&Probe| {
            matches!(it.plan.purpose, Purpose::Recheck | Purpose::AfterOverload)
                && it.plan.rate_rps == probe.plan.rate_rps
                && matches!(it.judgement.outcome, Outcome::Pass | Outcome::Unclear)
        };
        let again: Vec<&Figures> = self
            .probes
            .iter()
            .filter(is_again)
            .filter_map(|it| it.report.figures.as_ref())
            .collect();
        let Some(first) = probe.report.figures.as_ref().filter(|_| !again.is_empty()) else {
            return true;
        };
        let all = again.into_iter().fold(first.clone(), |all, again| all.followed_by(again));
        let (rate_rps, alpha) = (probe.plan.rate_rps, Some(self.settings.alpha()));
        let sustain_ns = self.settings.sustain_ns;
        judge(&all, &self.objectives, rate_rps, alpha, &[], sustain_ns).outcome == Outcome::Pass
    }

    /// Whether a probe passes with these stalls.
    fn holds_with(&self, probe: &Probe, pools: &[Pool]) -> bool {
        let Some(figures) = &probe.report.figures else { return false };
        if probe.judgement.outcome == Outcome::NotMeasured {
            return false;
        }
        let (rate_rps, alpha) = (probe.plan.rate_rps, probe.judgement.alpha);
        let sustain_ns = self.settings.sustain_ns;
        let judged = judge(figures, &self.objectives, rate_rps, alpha, pools, sustain_ns);
        judged.outcome == Outcome::Pass
    }

    /// The lowest rate above the answer so far that a hold has shown not to meet the objectives.
    pub(super) fn top(&self) -> Option<&Probe> {
        self.top_above(self.best_rps().unwrap_or(0.0))
    }

    fn top_rps(&self) -> Option<f64> {
        self.top().map(|probe| probe.plan.rate_rps)
    }

    /// The lowest rate above one that a hold has shown not to meet the objectives, and that probe.
    /// Holds after overload say nothing about the server as it usually is.
    pub(super) fn top_above(&self, rate_rps: f64) -> Option<&Probe> {
        let is_shown = |probe: &&Probe| {
            probe.plan.purpose.decides()
                && !probe.plan.purpose.follows_overload()
                && probe.judgement.outcome == Outcome::Fail
                && probe.plan.rate_rps > rate_rps
        };
        let shown = self.probes.iter().filter(is_shown);
        shown.min_by(|a, b| a.plan.rate_rps.total_cmp(&b.plan.rate_rps))
    }

    /// The lowest rate that passed any probe; that of the first probe where none did.
    #[must_use]
    pub fn lowest_passed_rps(&self) -> f64 {
        let passed = self.probes.iter().filter(|it| it.judgement.outcome == Outcome::Pass);
        let rates = passed.map(|probe| probe.plan.rate_rps);
        rates.min_by(f64::total_cmp).unwrap_or(self.settings.from_rps)
    }

    pub(super) fn tester_limit_rps(&self) -> Option<f64> {
        self.tester_limit_rps
    }

    pub(super) fn after_overload_found(&self) -> Option<AfterOverload> {
        self.after_overload
    }

    pub(super) fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// Whether the answer was measured again and nothing came of it. A hold that leaves it open is
    /// judged together with the first one ([`Self::holds_again`]).
    fn is_unconfirmed(&self) -> bool {
        let again = self.probes.iter().rfind(|it| {
            matches!(it.plan.purpose, Purpose::Recheck | Purpose::AfterOverload)
                && Some(it.plan.rate_rps) == self.best_rps()
        });
        again.is_some_and(|it| it.judgement.outcome == Outcome::NotMeasured)
    }

    /// What readers have to know before they believe the answer.
    pub(super) fn doubts(&self, shown: Option<Shown>) -> Vec<Doubt> {
        let is_answer = shown.is_some();
        let is_unrecovered = self.probes.iter().any(|probe| !probe.report.recovered);
        let is_quick = self.settings.is_quick_only;
        [
            (self.has_changed, Doubt::ChangedWhileMeasured),
            (is_unrecovered, Doubt::DoesNotRecover),
            (is_quick, Doubt::QuickProbesOnly),
            (is_answer && !self.is_rechecked, Doubt::NotMeasuredAgain),
            (is_answer && self.is_unconfirmed(), Doubt::NotConfirmed),
            (shown.is_some_and(|it| it.is_doubted), Doubt::StallsUndecided),
        ]
        .into_iter()
        .filter_map(|(is_so, doubt)| is_so.then_some(doubt))
        .collect()
    }
}

/// Whether a probe was carried out as planned, or for less time.
fn is_part_of(probe: &ProbePlan, plan: &ProbePlan) -> bool {
    let measure_ns = plan.measure_ns.min(probe.measure_ns);
    *probe == ProbePlan { measure_ns, ..*plan }
}

/// A rate to four digits: the search's resolution is coarser, and people read it.
fn rounded(rate_rps: f64) -> f64 {
    let digits = 3 - rate_rps.log10().floor() as i32;
    let scale = 10f64.powi(digits.abs());
    match digits >= 0 {
        true => (rate_rps * scale).round() / scale,
        false => (rate_rps / scale).round() * scale,
    }
}
