//! One side of a comparison: the repeats of one load as result documents, or a study.
//!
//! Both become cases of a study, so that there is one way to take figures from them. The facts that
//! must match on both sides are kept beside the cases.

use std::collections::{BTreeMap, BTreeSet};

use super::likeness;
use crate::foreign::ForeignResult;
use crate::protocol::allowed_range;
use crate::result::RunResult;
use crate::study::{Case, CaseRun, Measure, Study};
use crate::units::{counted, format_ns};

/// What is compared with what.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// The file or directory it was read from.
    pub name: String,
    /// What people call it, if they said.
    pub label: Option<String>,
    /// Whether it is a study.
    pub is_study: bool,
    /// What both sides have to have in common, in words.
    pub facts: BTreeMap<String, String>,
    /// What was measured.
    pub cases: Vec<SideCase>,
    /// What readers have to know about it.
    pub notes: Vec<String>,
    /// Streams that each connection had at the worst: what was asked for, or the server allowed.
    /// `None` where its protocol has none.
    pub streams: Option<u32>,
}

/// A server under a load on one side.
#[derive(Debug, Clone, PartialEq)]
pub struct SideCase {
    /// Whether the load comes at a rate, so that times and not the rate are what differs.
    pub is_paced: bool,
    /// Its runs. Those of result documents have no names of server and load.
    pub case: Case,
}

/// A result document as a repeat of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    /// As people call it: its file.
    pub name: String,
    /// What it must have in common with other repeats and with the other side.
    facts: BTreeMap<String, String>,
    is_paced: bool,
    /// What it was read as, if it is another tester's, and what that means for the comparison.
    foreign: Option<(String, Vec<String>)>,
    /// How many streams each connection had at the worst, over HTTP/2.
    streams: Option<u32>,
    run: CaseRun,
}

impl Repeat {
    /// A result of Plimsoll's own.
    #[must_use]
    pub fn of_result(name: &str, result: &RunResult) -> Self {
        Self {
            name: name.to_owned(),
            facts: likeness::of_result(result),
            is_paced: result.plan.is_open_loop(),
            foreign: None,
            streams: streams(result),
            run: CaseRun::of(result, 1),
        }
    }

    /// A result of another tester.
    #[must_use]
    pub fn of_foreign(name: &str, result: &ForeignResult) -> Self {
        let notes = buckets(name, result).into_iter().chain(result.notes.clone()).collect();
        Self {
            name: name.to_owned(),
            facts: likeness::of_foreign(result),
            is_paced: result.is_paced == Some(true),
            foreign: Some((result.read_as.clone(), notes)),
            streams: None,
            run: CaseRun {
                repeat: 1,
                started_at: result.started_at.clone().unwrap_or_default(),
                failure: result.failure.clone(),
                figures: result.figures.clone(),
                ..CaseRun::default()
            },
        }
    }
}

/// Where the quantiles that comparisons look at may lie.
fn buckets(name: &str, result: &ForeignResult) -> Option<String> {
    let span = |q: f64| {
        let (from_s, to_s) = result.times.quantile(q)?.bucket_s?;
        let [from, to] = [from_s, to_s].map(|s| format_ns((s * 1e9) as u64));
        Some(format!("p{} within {from} to {to}", q * 100.0))
    };
    let spans: Vec<String> = [0.5, 0.99].into_iter().filter_map(span).collect();
    (!spans.is_empty()).then(|| {
        let spans = spans.join(", ");
        format!("'{name}' has quantiles interpolated in the buckets of a histogram: {spans}")
    })
}

/// Why documents make no side: one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
    /// It holds no result.
    #[error("'{0}' holds no result: give result documents, as --json writes them, or a study")]
    Empty(String),
    /// They are not repeats of one load.
    #[error("'{first}' and '{other}' are not repeats of one load: {differences}")]
    Unlike {
        /// The file that came first.
        first: String,
        /// The one that differs.
        other: String,
        /// In what.
        differences: String,
    },
}

impl Side {
    /// A side of result documents. Those that stand there twice count once.
    ///
    /// # Errors
    /// No document, or some that differ in load or environment, unless those are allowed to.
    pub fn of_repeats(
        name: &str,
        repeats: &[Repeat],
        allow_different: bool,
    ) -> Result<Self, SideError> {
        let Some((model, others)) = repeats.split_first() else {
            return Err(SideError::Empty(name.to_owned()));
        };
        let mut notes = foreign_notes(repeats);
        let mut runs = vec![model.run.clone()];
        let mut known: BTreeSet<Key> = runs.iter().filter_map(key).collect();
        for other in others {
            let differences = likeness::differences(&model.facts, &other.facts);
            if !differences.is_empty() && !allow_different {
                let (first, other) = (model.name.clone(), other.name.clone());
                let differences = differences.join("; ");
                return Err(SideError::Unlike { first, other, differences });
            }
            let run = CaseRun { repeat: runs.len() as u32 + 1, ..other.run.clone() };
            match key(&run).is_none_or(|key| known.insert(key)) {
                true => runs.push(run),
                false => {
                    notes
                        .push(format!("'{}' holds a run that was there: counted once", other.name));
                }
            }
        }
        let case = Case { runs, ..Case::default() };
        let cases = vec![SideCase { is_paced: model.is_paced, case }];
        let facts = model.facts.clone();
        let streams = repeats.iter().filter_map(|repeat| repeat.streams).min();
        let name = name.to_owned();
        Ok(Self { name, label: None, is_study: false, facts, cases, notes, streams })
    }

    /// A side that is a study.
    #[must_use]
    pub fn of_study(name: &str, study: &Study) -> Self {
        let case = |case: &Case| SideCase { is_paced: is_paced(study, case), case: case.clone() };
        Self {
            name: name.to_owned(),
            label: None,
            is_study: true,
            facts: likeness::of_study(study),
            cases: study.cases.iter().map(case).collect(),
            notes: Vec::new(),
            streams: None,
        }
    }

    /// In what the sides differ though they should not, in words.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        if self.is_study != other.is_study {
            let kind = |side: &Self| if side.is_study { "a study" } else { "of results" };
            let (mine, theirs) = (kind(self), kind(other));
            return vec![format!("'{}' is {mine}, '{}' {theirs}", self.name, other.name)];
        }
        likeness::differences(&self.facts, &other.facts)
    }

    /// All runs that count for a measure.
    pub(super) fn runs(&self) -> impl Iterator<Item = &CaseRun> {
        self.cases.iter().flat_map(SideCase::runs)
    }
}

/// Whether the load of a case of a study comes at a rate.
pub(super) fn is_paced(study: &Study, case: &Case) -> bool {
    let load = study.loads.iter().find(|load| load.name == case.load);
    let has_both_clocks = case.runs.iter().any(|run| !run.figures.service.is_empty());
    has_both_clocks || load.is_some_and(likeness::is_paced)
}

/// How many streams each connection of a run had at the worst.
fn streams(result: &RunResult) -> Option<u32> {
    let least = allowed_range(&result.protocols)?.least.streams;
    Some(result.plan.http2.streams.min(least.unwrap_or(u32::MAX)))
}

impl SideCase {
    /// The runs that count for a measure.
    pub fn runs(&self) -> impl Iterator<Item = &CaseRun> {
        self.case.runs.iter().filter(|run| run.counts())
    }

    /// What a measure was in each of them.
    #[must_use]
    pub fn values(&self, measure: Measure) -> Vec<f64> {
        self.case.values(measure)
    }
}

/// What the files of other testers were read as, and what readers have to know of the first of
/// each kind.
fn foreign_notes(repeats: &[Repeat]) -> Vec<String> {
    let mut kinds: Vec<(&str, u64, &Repeat, &[String])> = Vec::new();
    for repeat in repeats {
        let Some((read_as, notes)) = &repeat.foreign else { continue };
        match kinds.iter_mut().find(|(known, ..)| known == read_as) {
            Some((_, count, ..)) => *count += 1,
            None => kinds.push((read_as, 1, repeat, notes)),
        }
    }
    let words = |(read_as, count, first, notes): (&str, u64, &Repeat, &[String])| {
        let more = match count - 1 {
            0 => String::new(),
            more => format!(" and {}", counted(more, "other file")),
        };
        let first = format!("'{}'{more}: read as {read_as}", first.name);
        std::iter::once(first).chain(notes.iter().cloned()).collect::<Vec<_>>()
    };
    kinds.into_iter().flat_map(words).collect()
}

/// What no two runs have in common: when it began, and its figures.
pub(super) type Key = (String, String);

/// What a run is known by; none where nobody said when it began.
pub(super) fn key(run: &CaseRun) -> Option<Key> {
    // Figures are plain data: they cannot fail to serialize.
    let figures = || serde_json::to_string(&run.figures).unwrap_or_default();
    (!run.started_at.is_empty()).then(|| (run.started_at.clone(), figures()))
}
