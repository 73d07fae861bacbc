//! One side of a comparison: the repeats of one load as result documents, or a study.
//!
//! Both become cases of a study, so that there is one way to take figures from them. The facts that
//! must match on both sides are kept beside the cases.

use std::collections::{BTreeMap, BTreeSet};

use super::likeness;
use crate::protocol::allowed_range;
use crate::result::RunResult;
use crate::study::{Case, CaseRun, Measure, Study};

/// What is compared with what.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// As people call it: the file or directory it was read from.
    pub name: String,
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
    /// A side of result documents, each with the name of its file. Those that stand there twice
    /// count once.
    ///
    /// # Errors
    /// No document, or some that differ in load or environment, unless those are allowed to.
    pub fn of_results(
        name: &str,
        results: &[(String, RunResult)],
        allow_different: bool,
    ) -> Result<Self, SideError> {
        let Some(((first, model), others)) = results.split_first() else {
            return Err(SideError::Empty(name.to_owned()));
        };
        let facts = likeness::of_result(model);
        let mut notes = Vec::new();
        let mut runs = vec![CaseRun::of(model, 1)];
        let mut known: BTreeSet<Key> = runs.iter().filter_map(key).collect();
        for (other, result) in others {
            let differences = likeness::differences(&facts, &likeness::of_result(result));
            if !differences.is_empty() && !allow_different {
                let (first, other) = (first.clone(), other.clone());
                let differences = differences.join("; ");
                return Err(SideError::Unlike { first, other, differences });
            }
            let run = CaseRun::of(result, runs.len() as u32 + 1);
            match key(&run).is_none_or(|key| known.insert(key)) {
                true => runs.push(run),
                false => notes.push(format!("'{other}' holds a run that was there: counted once")),
            }
        }
        let case = Case { runs, ..Case::default() };
        let cases = vec![SideCase { is_paced: model.plan.is_open_loop(), case }];
        let streams = results.iter().filter_map(|(_, result)| streams(result)).min();
        Ok(Self { name: name.to_owned(), is_study: false, facts, cases, notes, streams })
    }

    /// A side that is a study.
    #[must_use]
    pub fn of_study(name: &str, study: &Study) -> Self {
        let is_paced = |case: &Case| {
            let load = study.loads.iter().find(|load| load.name == case.load);
            let has_both_clocks = case.runs.iter().any(|run| !run.figures.service.is_empty());
            has_both_clocks || load.is_some_and(likeness::is_paced)
        };
        let case = |case: &Case| SideCase { is_paced: is_paced(case), case: case.clone() };
        Self {
            name: name.to_owned(),
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

    /// All runs that count.
    pub(super) fn runs(&self) -> impl Iterator<Item = &CaseRun> {
        self.cases.iter().flat_map(SideCase::runs)
    }
}

/// How many streams each connection of a run had at the worst.
fn streams(result: &RunResult) -> Option<u32> {
    let least = allowed_range(&result.protocols)?.least.streams;
    Some(result.plan.http2.streams.min(least.unwrap_or(u32::MAX)))
}

impl SideCase {
    /// The runs that count.
    pub fn runs(&self) -> impl Iterator<Item = &CaseRun> {
        self.case.runs.iter().filter(|run| run.is_whole())
    }

    /// What a measure was in each of them.
    #[must_use]
    pub fn values(&self, measure: Measure) -> Vec<f64> {
        self.case.values(measure)
    }
}

/// What no two runs have in common: when it began, and its figures.
pub(super) type Key = (String, String);

/// What a run is known by; none where nobody said when it began.
pub(super) fn key(run: &CaseRun) -> Option<Key> {
    // Figures are plain data: they cannot fail to serialize.
    let figures = || serde_json::to_string(&run.figures).unwrap_or_default();
    (!run.started_at.is_empty()).then(|| (run.started_at.clone(), figures()))
}
