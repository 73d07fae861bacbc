//! The comparison document, `plimsoll/comparison/1`, and how it is made from two sides.
//!
//! Success comes first: if one side fails more often, that decides. Otherwise one measure decides a
//! case. The load determines which, before any figure is looked at: the rate of good answers in a
//! closed loop, the 99th percentile at a rate. Success and that measure share the allowed chance of
//! error, so at most one case in twenty is called by chance. The other measures have their own
//! intervals and decisions. With nine of them, one will differ by chance now and then, and views
//! say so.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::decide::{Comparison, Decision, DecisionOptions, Reason, Scale};
use super::limit::{Judged, Limit};
use super::side::{Side, SideCase, key};
use super::success::{Failures, compare_cases};
use crate::result::Tool;
use crate::study::{Column, Measure, MessageTime};
use crate::units::{counted, format_count};
use crate::verdict::Verdict;

/// The schema's name and version.
pub const SCHEMA: &str = "plimsoll/comparison/1";

/// What every case is looked at for, in this order, where it was measured.
const MEASURES: [Measure; 13] = [
    Measure::LoadLine,
    Measure::Rate,
    Measure::Latency(0.5),
    Measure::Latency(0.9),
    Measure::Latency(0.99),
    Measure::Latency(0.999),
    Measure::Service(0.99),
    Measure::Message(MessageTime::First, 0.99),
    Measure::Message(MessageTime::Gap, 0.99),
    Measure::Message(MessageTime::RoundTrip, 0.99),
    Measure::Errors,
    Measure::CpuPerRequest,
    Measure::Rss,
];

/// How to decide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// From 0 to 1: one less this is how often a case may be called where nothing differs.
    pub confidence: f64,
    /// Ratios closer to 1 than this are never called.
    pub least_change: f64,
    /// The chance with which a difference called detectable is found.
    pub power: f64,
}

impl Default for Settings {
    fn default() -> Self {
        let DecisionOptions { confidence, least_change, power, .. } =
            DecisionOptions::of(Measure::Rate);
        Self { confidence, least_change, power }
    }
}

impl Settings {
    /// The options that suit a measure.
    #[must_use]
    pub fn options(&self, measure: Measure) -> DecisionOptions {
        let usual = DecisionOptions::of(measure);
        let least_change =
            if usual.scale == Scale::Ratio { self.least_change } else { usual.least_change };
        DecisionOptions { confidence: self.confidence, power: self.power, least_change, ..usual }
    }
}

/// Two sides, compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// [`SCHEMA`].
    pub schema: String,
    /// Which program wrote it.
    pub tool: Tool,
    /// How it was decided.
    pub settings: Settings,
    /// What the new side is compared with.
    pub base: SideFacts,
    /// The new side.
    pub new: SideFacts,
    /// In what they differ though they should not.
    pub differences: Vec<String>,
    /// What readers have to know about the whole.
    pub notes: Vec<String>,
    /// One for each case that both sides have, in the order of the base.
    pub cases: Vec<CaseContrast>,
    /// What limits on the change make of the cases.
    pub limits: Vec<Judged>,
}

/// What a side is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideFacts {
    /// As people call it.
    pub name: String,
    /// Whether it is a study; if not, result documents.
    pub is_study: bool,
    /// When its first run began, RFC 3339, UTC; empty where nobody said.
    pub first_started_at: String,
    /// When its last run began.
    pub last_started_at: String,
    /// Runs that count.
    pub runs: usize,
}

/// A case on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseContrast {
    /// The server's name; empty where both sides are result documents.
    pub server: String,
    /// The load's name; empty where both sides are result documents.
    pub load: String,
    /// What was decided: the decision on the headline.
    pub decision: Decision,
    /// The measure it rests on; the others are in [`CaseContrast::others`].
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
    /// How it differs.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Contrast {
    /// Compares two sides.
    #[must_use]
    pub fn of(base: &Side, new: &Side, settings: Settings, limits: &[Limit], tool: Tool) -> Self {
        let mut contrast = Self {
            schema: SCHEMA.to_owned(),
            tool,
            settings,
            base: facts(base),
            new: facts(new),
            differences: base.differences(new),
            notes: notes(base, new),
            cases: Vec::new(),
            limits: Vec::new(),
        };
        let others = by_name(new);
        for one in &base.cases {
            let is_left_out = |it: &SideCase| it.case.skipped.is_some() && it.case.runs.is_empty();
            let Some(other) = others.get(&name(one)).copied() else {
                let judged = limits.iter().map(|limit| limit.judge_missing(one));
                contrast.limits.extend(judged.filter(|_| !is_left_out(one)));
                continue;
            };
            if is_left_out(one) && is_left_out(other) {
                continue;
            }
            contrast.cases.push(case(one, other, &settings));
            contrast.limits.extend(limits.iter().map(|limit| limit.judge(one, other, &settings)));
        }
        contrast
    }

    /// Whether every limit is kept.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.limits.iter().all(|judged| judged.pass)
    }
}

/// A case's server and load.
fn name(case: &SideCase) -> (&str, &str) {
    (&case.case.server, &case.case.load)
}

fn by_name(side: &Side) -> BTreeMap<(&str, &str), &SideCase> {
    // Of several cases of one name the first stands.
    side.cases.iter().rev().map(|case| (name(case), case)).collect()
}

fn case(base: &SideCase, new: &SideCase, settings: &Settings) -> CaseContrast {
    let failures = Failures::of(&base.case, &new.case, settings);
    let of = |measure| {
        let cases = [&base.case, &new.case];
        let comparison = compare_cases(measure, cases, failures.as_ref(), settings);
        MeasureContrast { measure: Column { measure, over: None }, comparison }
    };
    let by_failures = failures.as_ref().filter(|it| it.decision() != Decision::CannotTell);
    let headline = match by_failures.and_then(|it| it.compared.clone()) {
        Some(comparison) => {
            let measure = Column { measure: Measure::Errors, over: None };
            MeasureContrast { measure, comparison }
        }
        None => of(headline(base, new)),
    };
    let is_measured = |measure: &Measure| {
        *measure != headline.measure.measure
            && !(base.values(*measure).is_empty() && new.values(*measure).is_empty())
    };
    let others: Vec<MeasureContrast> =
        measures(base, new).into_iter().filter(is_measured).map(of).collect();
    let mut notes: Vec<String> =
        [("base", base), ("new", new)].into_iter().flat_map(doubts).collect();
    notes.extend(clocks(base, new).map(str::to_owned));
    notes.extend(failures.as_ref().and_then(|it| caveat(it, &headline, &others)));
    notes.extend(crossed(&headline, &others));
    CaseContrast {
        server: base.case.server.clone(),
        load: base.case.load.clone(),
        decision: headline.comparison.decision,
        headline,
        others,
        notes,
    }
}

/// Whether a side has service times alone, as testers of another make do.
fn has_service_alone(side: &SideCase) -> bool {
    let mut figures = side.runs().map(|run| &run.figures);
    figures.any(|figures| figures.latency.is_empty() && !figures.service.is_empty())
}

/// What a case is looked at for: times by a clock that both sides have.
fn measures(base: &SideCase, new: &SideCase) -> Vec<Measure> {
    if !has_service_alone(base) && !has_service_alone(new) {
        return MEASURES.to_vec();
    }
    let mut measures = Vec::new();
    for measure in MEASURES {
        let measure = match measure {
            Measure::Latency(q) => Measure::Service(q),
            other => other,
        };
        if !measures.contains(&measure) {
            measures.push(measure);
        }
    }
    measures
}

/// Which times are compared, where a side does not have both clocks.
fn clocks(base: &SideCase, new: &SideCase) -> Option<&'static str> {
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
fn caveat(
    failures: &Failures,
    headline: &MeasureContrast,
    others: &[MeasureContrast],
) -> Option<String> {
    let is_withheld = |it: &MeasureContrast| it.comparison.reason == Some(Reason::UnlikeFailures);
    if !failures.are_unlike() && !others.iter().chain([headline]).any(is_withheld) {
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
fn crossed(headline: &MeasureContrast, others: &[MeasureContrast]) -> Option<String> {
    let goes_the_other_way = |it: &&MeasureContrast| {
        let found = &it.comparison;
        let (Some(base), Some(new)) = (found.base.median, found.new.median) else { return false };
        let (none, of_medians) = match found.scale {
            Scale::Ratio => (1.0, new / base),
            Scale::Difference => (0.0, new - base),
        };
        let by = |change: f64| ((change - none) * 1000.0).round();
        found.change.is_some_and(|change| by(change) * by(of_medians) < 0.0)
    };
    let crossed = [headline].into_iter().chain(others).filter(goes_the_other_way);
    let names: Vec<String> = crossed.map(|it| it.measure.to_string()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: the medians of the two sides differ the one way, most pairs of runs the other; \
             the change is the median over all pairs (Hodges-Lehmann)",
            names.join(", ")
        )
    })
}

/// The measure that a case is decided by. Testers of another make do not all say the same, so it
/// is the first that both sides have; which those are does not depend on how they differ.
fn headline(base: &SideCase, new: &SideCase) -> Measure {
    let tails = [0.99, 0.95, 0.9];
    let latency = tails.map(Measure::Latency);
    let candidates: Vec<Measure> = match base.is_paced || new.is_paced {
        true => {
            latency.into_iter().chain(tails.map(Measure::Service)).chain([Measure::Rate]).collect()
        }
        false => vec![Measure::Rate, Measure::Latency(0.5), Measure::Mean, latency[0]],
    };
    let on_both =
        |measure: &Measure| [base, new].iter().all(|side| !side.values(*measure).is_empty());
    let usual = candidates[0];
    // Searches have no other figure that is theirs.
    std::iter::once(Measure::LoadLine).chain(candidates).find(on_both).unwrap_or(usual)
}

fn facts(side: &Side) -> SideFacts {
    let mut started: Vec<&str> = side.runs().map(|run| run.started_at.as_str()).collect();
    started.sort_unstable();
    let at = |place: Option<&&str>| place.map(|text| (*text).to_owned()).unwrap_or_default();
    SideFacts {
        name: side.name.clone(),
        is_study: side.is_study,
        first_started_at: at(started.first()),
        last_started_at: at(started.last()),
        runs: started.len(),
    }
}

fn notes(base: &Side, new: &Side) -> Vec<String> {
    let mut notes: Vec<String> = base.notes.iter().chain(&new.notes).cloned().collect();
    let shared = shared(base.runs().filter_map(key), new.runs().filter_map(key));
    if shared > 0 && shared == new.runs().count() && shared == base.runs().count() {
        notes.push("both sides are the same runs: there is nothing to compare".to_owned());
    } else if shared > 0 {
        notes.push(format!("{shared} of the runs stand on both sides: leave them out of one"));
    } else if took_no_turns(&facts(base), &facts(new)) {
        notes.push(
            "the sides were measured one after the other: what else changed on the machine in \
             between looks like a difference, and repeats cannot tell it apart"
                .to_owned(),
        );
    }
    if let (Some(mine), Some(theirs)) = (base.streams, new.streams)
        && mine != theirs
    {
        notes.push(format!(
            "the servers allow different numbers of streams, so the loads differ: {} on each \
             connection in '{}', {} in '{}'",
            counted(mine.into(), "stream"),
            base.name,
            format_count(theirs.into()),
            new.name
        ));
    }
    for (one, other) in [(base, new), (new, base)] {
        let known = by_name(other);
        let lonely = one.cases.iter().filter(|case| !known.contains_key(&name(case)));
        let names: Vec<String> =
            lonely.map(|case| format!("{} under {}", case.case.server, case.case.load)).collect();
        if !names.is_empty() {
            notes.push(format!("in '{}' alone: {}", one.name, names.join(", ")));
        }
    }
    notes
}

/// How many of the new side's keys the base has too.
pub(super) fn shared<K: Ord>(base: impl Iterator<Item = K>, new: impl Iterator<Item = K>) -> usize {
    let known: BTreeSet<K> = base.collect();
    new.filter(|key| known.contains(key)).count()
}

/// Whether all runs of one side began before any of the other.
fn took_no_turns(base: &SideFacts, new: &SideFacts) -> bool {
    let is_known = !base.first_started_at.is_empty() && !new.first_started_at.is_empty();
    let are_repeats = base.runs > 1 && new.runs > 1;
    is_known
        && are_repeats
        && (base.last_started_at < new.first_started_at
            || new.last_started_at < base.first_started_at)
}

/// Which runs of a side do not count, and why those that do are not to be believed as they stand.
fn doubts((word, side): (&str, &SideCase)) -> Vec<String> {
    let all = side.case.runs.len();
    let mut doubts: Vec<String> = side
        .case
        .left_out()
        .into_iter()
        .map(|(why, count)| format!("{word}: {count} of {all} runs do not count: {why}"))
        .collect();
    let suspect: Vec<_> = side.runs().filter(|run| run.verdict == Some(Verdict::Suspect)).collect();
    if !suspect.is_empty() {
        let causes = suspect.iter().flat_map(|run| &run.causes);
        let codes: BTreeSet<&str> = causes
            .filter(|cause| cause.verdict == Verdict::Suspect)
            .map(|cause| cause.code.as_str())
            .collect();
        let codes: Vec<&str> = codes.into_iter().collect();
        let (some, codes) = (suspect.len(), codes.join(", "));
        doubts
            .push(format!("{word}: {some} of {all} runs suspect by the tester's verdict: {codes}"));
    }
    if let Some(skipped) = &side.case.skipped {
        doubts.push(format!("{word}: not measured: {skipped}"));
    }
    doubts
}
