//! A case on both sides: which measures are decided together, and what they come to.
//!
//! Success comes first: if one side fails more often, that decides. Otherwise a family of measures
//! does, each with a decision of its own: the rate of good answers, four percentiles of latency and
//! the server's CPU time per request. The family is declared here, before any figure is looked at.
//! All of it shares the allowed chance of error ([`compare_family`]), so that of twenty cases
//! without a difference one at most has any measure called. Measures outside of the family are
//! decided each by itself, and views say so.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::decide::{Comparison, Decision, Reason, Scale};
use super::document::Settings;
use super::success::{Failures, compare_cases, compare_family};
use crate::study::{Case, CaseRun, Column, Measure, MessageTime};
use crate::verdict::Verdict;

/// The measures that are decided together, where testers on both sides report them.
const FAMILY: [Measure; 6] = [
    Measure::Rate,
    Measure::Latency(0.5),
    Measure::Latency(0.9),
    Measure::Latency(0.99),
    Measure::Latency(0.999),
    Measure::CpuPerRequest,
];

/// What else a case is looked at for, where it was measured: each by itself.
const BESIDE: [Measure; 6] = [
    Measure::Service(0.99),
    Measure::Message(MessageTime::First, 0.99),
    Measure::Message(MessageTime::Gap, 0.99),
    Measure::Message(MessageTime::RoundTrip, 0.99),
    Measure::Errors,
    Measure::Rss,
];

/// What was decided of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseDecision {
    /// What differs is better on the new side.
    Better,
    /// What differs is worse.
    Worse,
    /// Some of it is better, some worse.
    Mixed,
    /// Every measure is as good as the same on both sides.
    Alike,
    /// Nothing was found to differ, and the noise may hide a difference.
    CannotTell,
}

/// A case on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseContrast {
    /// The server's name; empty where both sides are result documents.
    pub server: String,
    /// The load's name; empty where both sides are result documents.
    pub load: String,
    /// What failures or the measures of the family come to.
    pub decision: CaseDecision,
    /// Failures where they decide; otherwise the measure of the family that belongs to the load,
    /// whichever of them differ. The rest is in [`CaseContrast::others`].
    pub headline: MeasureContrast,
    /// The other measures that a side has.
    pub others: Vec<MeasureContrast>,
    /// What readers have to know about it.
    pub notes: Vec<String>,
}

/// A measure on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureContrast {
    /// The measure: a column that is divided by nothing.
    pub measure: Column,
    /// Whether it is one of those that are decided together; otherwise by itself.
    #[serde(default)]
    pub in_family: bool,
    /// How it differs.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl CaseContrast {
    /// Compares a case; `is_paced` if its load comes at a rate.
    #[must_use]
    pub(super) fn of(cases: [&Case; 2], is_paced: bool, settings: &Settings) -> Self {
        let [base, new] = cases;
        let failures = Failures::of(base, new, settings);
        let family = family(cases);
        let compared = compare_family(&family, cases, failures.as_ref(), settings);
        let alone = |measure| compare_cases(measure, cases, failures.as_ref(), settings);
        let mut all: Vec<MeasureContrast> = family
            .iter()
            .zip(compared)
            .map(|(measure, comparison)| MeasureContrast::new(*measure, true, comparison))
            .collect();
        let by_failures = failures.as_ref().filter(|it| it.decision() != Decision::CannotTell);
        let decision = match by_failures {
            Some(failures) => CaseDecision::of([failures.decision()].into_iter()),
            None if !all.is_empty() && all.iter().all(|it| it.comparison.is_alike) => {
                CaseDecision::Alike
            }
            None => CaseDecision::of(all.iter().map(|it| it.comparison.decision)),
        };
        let headline = match by_failures.and_then(|it| it.compared.clone()) {
            Some(comparison) => MeasureContrast::new(Measure::Errors, false, comparison),
            None => {
                let measure = headline(is_paced, &family);
                match all.iter().position(|it| it.measure.measure == measure) {
                    Some(at) => all.remove(at),
                    None => MeasureContrast::new(measure, false, alone(measure)),
                }
            }
        };
        let is_beside = |measure: &Measure| {
            *measure != headline.measure.measure
                && !family.contains(measure)
                && (base.says(*measure) || new.says(*measure))
        };
        let beside = BESIDE.into_iter().filter(is_beside);
        all.extend(beside.map(|measure| MeasureContrast::new(measure, false, alone(measure))));
        let mut contrast = Self {
            server: base.server.clone(),
            load: base.load.clone(),
            decision,
            headline,
            others: all,
            notes: Vec::new(),
        };
        contrast.notes = contrast.notes_on(cases, failures.as_ref());
        contrast
    }

    /// The measures that are decided together, in the order in which they were declared.
    #[must_use]
    pub fn family(&self) -> Vec<&MeasureContrast> {
        let mut family: Vec<&MeasureContrast> =
            [&self.headline].into_iter().chain(&self.others).filter(|it| it.in_family).collect();
        family.sort_by_key(|it| place(it.measure.measure));
        family
    }

    /// All measures: those of the family first, then failures, then the rest.
    #[must_use]
    pub fn measures(&self) -> Vec<&MeasureContrast> {
        let all = [&self.headline].into_iter().chain(&self.others);
        let mut beside: Vec<&MeasureContrast> = all.filter(|it| !it.in_family).collect();
        beside.sort_by_key(|it| it.measure.measure != Measure::Errors);
        let mut measures = self.family();
        measures.extend(beside);
        measures
    }

    /// The failures, if they decide the case.
    #[must_use]
    pub fn failures(&self) -> Option<&MeasureContrast> {
        let is_decided = self.headline.comparison.decision != Decision::CannotTell;
        Some(&self.headline).filter(|it| it.measure.measure == Measure::Errors && is_decided)
    }

    /// How a measure differs, if the case was looked at for it.
    #[must_use]
    pub fn of_measure(&self, measure: Measure) -> Option<&MeasureContrast> {
        [&self.headline].into_iter().chain(&self.others).find(|it| it.measure.measure == measure)
    }

    fn notes_on(&self, cases: [&Case; 2], failures: Option<&Failures>) -> Vec<String> {
        let measures: Vec<Measure> =
            self.measures().into_iter().map(|it| it.measure.measure).collect();
        let mut notes: Vec<String> =
            ["base", "new"].into_iter().zip(cases).flat_map(|it| doubts(it, &measures)).collect();
        notes.extend(clocks(cases).map(str::to_owned));
        notes.extend(failures.and_then(|it| caveat(it, &self.measures())));
        notes.extend(crossed(&self.measures()));
        notes
    }
}

impl CaseDecision {
    /// What decisions on measures come to.
    fn of(decisions: impl Iterator<Item = Decision>) -> Self {
        decisions.fold(Self::CannotTell, |known, decision| match (known, decision) {
            (_, Decision::CannotTell) => known,
            (Self::CannotTell | Self::Better, Decision::Better) => Self::Better,
            (Self::CannotTell | Self::Worse, Decision::Worse) => Self::Worse,
            _ => Self::Mixed,
        })
    }
}

impl MeasureContrast {
    fn new(measure: Measure, in_family: bool, comparison: Comparison) -> Self {
        Self { measure: Column { measure, over: None }, in_family, comparison }
    }
}

/// The measures to decide a case by: those that testers on both sides report, whether their runs
/// count or not, with times by a clock that both sides have.
fn family(cases: [&Case; 2]) -> Vec<Measure> {
    let on_both = |measure: &Measure| cases.iter().all(|case| case.says(*measure));
    // Searches have no other figure that is theirs.
    if on_both(&Measure::LoadLine) {
        return vec![Measure::LoadLine];
    }
    let has_service_alone = cases.iter().any(|case| has_service_alone(case));
    let by_clock = |measure| match measure {
        Measure::Latency(q) if has_service_alone => Measure::Service(q),
        other => other,
    };
    let mut family: Vec<Measure> = FAMILY.into_iter().map(by_clock).filter(on_both).collect();
    let has_times = family.iter().any(|it| matches!(it, Measure::Latency(_) | Measure::Service(_)));
    if !has_times && on_both(&Measure::Mean) {
        family.push(Measure::Mean);
        family.sort_by_key(|measure| place(*measure));
    }
    family
}

/// Where a measure stands among those of a family.
fn place(measure: Measure) -> usize {
    let declared = match measure {
        Measure::Service(q) => Measure::Latency(q),
        Measure::Mean => Measure::Latency(0.5),
        other => other,
    };
    FAMILY.iter().position(|it| *it == declared).unwrap_or(FAMILY.len())
}

/// The measure that belongs to a load: how long at a rate, how much without one.
fn headline(is_paced: bool, family: &[Measure]) -> Measure {
    let of_times = |q: f64| [Measure::Latency(q), Measure::Service(q)];
    let candidates: Vec<Measure> = match is_paced {
        true => [0.99, 0.9, 0.5].into_iter().flat_map(of_times).collect(),
        false => vec![Measure::Rate],
    };
    let in_family = |measure: &Measure| family.contains(measure);
    let first = || family.first().copied();
    candidates.iter().copied().find(in_family).or_else(first).unwrap_or(candidates[0])
}

/// Whether a side has service times alone, as testers of another make do.
fn has_service_alone(case: &Case) -> bool {
    let mut figures = case.runs.iter().map(|run| &run.figures);
    figures.any(|figures| figures.latency.is_empty() && !figures.service.is_empty())
}

/// Which times are compared, where a side does not have both clocks.
fn clocks([base, new]: [&Case; 2]) -> Option<&'static str> {
    match (has_service_alone(base), has_service_alone(new)) {
        (false, false) => None,
        (true, true) => Some(
            "times are service times: they start when a request is sent, so that the wait of \
             requests that were due earlier is in neither side's",
        ),
        _ => Some(
            "one side has service times alone, from sending, so that those are compared; the \
             response times of the other side, with the wait before sending, have no counterpart",
        ),
    }
}

/// What failures take from the other figures.
fn caveat(failures: &Failures, measures: &[&MeasureContrast]) -> Option<String> {
    let is_withheld = |it: &&MeasureContrast| it.comparison.reason == Some(Reason::UnlikeFailures);
    if !failures.are_unlike() && !measures.iter().any(is_withheld) {
        return None;
    }
    let [base, new] = failures.shares.map(|share| share * 100.0);
    Some(format!(
        "of the base's requests {base:.2} % failed, of the new side's {new:.2} %: times are of \
         good and failed answers alike, so that nothing is called faster or slower for them; the rate is \
         of good ones"
    ))
}

/// Measures whose change goes the other way than their medians do.
fn crossed(measures: &[&MeasureContrast]) -> Option<String> {
    let goes_the_other_way = |it: &&&MeasureContrast| {
        let found = &it.comparison;
        let (Some(base), Some(new)) = (found.base.median, found.new.median) else { return false };
        let (none, of_medians) = match found.scale {
            Scale::Ratio => (1.0, new / base),
            Scale::Difference => (0.0, new - base),
        };
        let by = |change: f64| ((change - none) * 1000.0).round();
        found.change.is_some_and(|change| by(change) * by(of_medians) < 0.0)
    };
    let crossed = measures.iter().filter(goes_the_other_way);
    let names: Vec<String> = crossed.map(|it| it.measure.to_string()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: the medians of the two sides differ the one way, most pairs of runs the other; \
             the change is the median over all pairs (Hodges-Lehmann)",
            names.join(", ")
        )
    })
}

/// Which runs of a side do not count, and why those that do are not to be believed as they stand.
fn doubts((word, case): (&str, &Case), measures: &[Measure]) -> Vec<String> {
    let all = case.runs.len();
    let left_out = case.not_counted(measures).into_iter().map(|((why, of), count)| {
        let of = if of.is_empty() { of } else { format!(" for {of}") };
        format!("{word}: {count} of {all} runs do not count{of}: {why}")
    });
    let mut doubts: Vec<String> = left_out.collect();
    let is_suspect =
        |run: &&CaseRun| run.failure.is_none() && run.verdict == Some(Verdict::Suspect);
    let suspect: Vec<_> = case.runs.iter().filter(is_suspect).collect();
    if !suspect.is_empty() {
        let causes = suspect.iter().flat_map(|run| &run.causes);
        let codes: BTreeSet<&str> = causes
            .filter(|cause| cause.verdict == Verdict::Suspect)
            .map(|cause| cause.code.as_str())
            .collect();
        let codes: Vec<&str> = codes.into_iter().collect();
        let (some, codes) = (suspect.len(), codes.join(", "));
        doubts.push(format!(
            "{word}: {some} of {all} runs are suspect ({codes}); they count for what is not in \
             doubt"
        ));
    }
    if let Some(skipped) = &case.skipped {
        doubts.push(format!("{word}: not measured: {skipped}"));
    }
    doubts
}
