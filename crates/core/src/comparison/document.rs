//! The comparison document, `plimsoll/comparison/1`, and how it is made from two sides.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::case::CaseContrast;
use super::decide::{DecisionOptions, Scale};
use super::limit::{Judged, Limit, Outcome};
use super::side::{Side, SideCase, key};
use crate::result::Tool;
use crate::study::Measure;
use crate::units::{counted, format_count};

/// The schema's name and version.
pub const SCHEMA: &str = "plimsoll/comparison/1";

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
    /// The file or directory that it was read from.
    pub name: String,
    /// What people call it, if they said: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether it is a study; if not, result documents.
    pub is_study: bool,
    /// When its first run began, RFC 3339, UTC; empty where nobody said.
    pub first_started_at: String,
    /// When its last run began.
    pub last_started_at: String,
    /// Runs that count.
    pub runs: usize,
}

impl SideFacts {
    /// What it is called.
    #[must_use]
    pub fn called(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }
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
            let cases = [&one.case, &other.case];
            contrast.cases.push(CaseContrast::of(cases, one.is_paced || other.is_paced, &settings));
            contrast.limits.extend(limits.iter().map(|limit| limit.judge(one, other, &settings)));
        }
        contrast
    }

    /// What the limits come to: the worst of them, a broken one before one that cannot be decided.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.limits.iter().map(|judged| judged.outcome).max().unwrap_or(Outcome::Passed)
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

fn facts(side: &Side) -> SideFacts {
    let mut started: Vec<&str> = side.runs().map(|run| run.started_at.as_str()).collect();
    started.sort_unstable();
    let at = |place: Option<&&str>| place.map(|text| (*text).to_owned()).unwrap_or_default();
    SideFacts {
        name: side.name.clone(),
        label: side.label.clone(),
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
