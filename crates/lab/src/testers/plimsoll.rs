//! Reads Plimsoll's own document of a run or a search, which it writes beside the text report.

use std::fs;

use plimsoll_core::find::{Document, SCHEMA};
use plimsoll_core::result::RunResult;
use plimsoll_core::study::Figures;
use plimsoll_core::verdict::Verdict;
use serde::Deserialize;

use super::{Finished, Reading};

/// The file of the document.
pub(crate) const RESULT: &str = "result.json";

pub(super) const ADDED: &[&str] =
    &["--no-progress", "--no-color", "--json", "{scratch}/result.json"];

/// The exit codes of runs that have a document: done, a gate failed, below the verdict required.
const WITH_DOCUMENT: [i32; 3] = [0, 3, 4];

/// That of a run without one response, and of one that could not be carried out. It may have a
/// document.
const NOTHING: i32 = 1;

pub(super) fn read(run: &Finished) -> Result<Reading, String> {
    let path = run.scratch.join(RESULT);
    let has_document = |code| WITH_DOCUMENT.contains(&code) || (code == NOTHING && path.exists());
    if !run.code.is_some_and(has_document) {
        super::text::ended_well(run)?;
    }
    let document = fs::read_to_string(path).map_err(|error| format!("{RESULT}: {error}"))?;
    if of_search(&document) {
        return read_search(run, &document);
    }
    let result: RunResult = serde_json::from_str(&document)
        .map_err(|error| format!("{RESULT} is not a result: {error}"))?;
    if !result.was_carried_out() {
        // It has no figures, and stderr says why.
        super::text::ended_well(run)?;
    }
    let figures = Figures::of(&result);
    let rows = |quantiles: &[plimsoll_core::study::Quantile]| {
        quantiles.iter().map(|quantile| (quantile.q, quantile.s)).collect()
    };
    Ok(Reading {
        completed: figures.completed,
        ok: Some(result.ledger.ok),
        failed: figures.failed,
        errors: figures.errors,
        rate_rps: figures.rate_rps,
        duration_s: figures.duration_s,
        mean_s: figures.mean_s,
        max_s: figures.max_s,
        quantiles: rows(&figures.latency),
        service_quantiles: rows(&figures.service),
        verdict: Some(result.loader.verdict.name().to_owned()),
        causes: result.loader.causes.iter().map(|cause| cause.text.clone()).collect(),
        text: format!("{}{}", run.stdout, run.stderr),
        result: Some(Box::new(result)),
        ..Reading::default()
    })
}

/// What every document of ours begins with.
#[derive(Deserialize)]
struct Begins {
    schema: String,
}

fn of_search(document: &str) -> bool {
    serde_json::from_str::<Begins>(document).is_ok_and(|it| it.schema == SCHEMA)
}

fn read_search(run: &Finished, document: &str) -> Result<Reading, String> {
    if run.code == Some(NOTHING) {
        // It ended before it was over, and stderr says why.
        super::text::ended_well(run)?;
    }
    let search: Document = serde_json::from_str(document)
        .map_err(|error| format!("{RESULT} is not a search: {error}"))?;
    let causes = search.line_causes();
    let verdict = causes.iter().map(|cause| cause.verdict).max().unwrap_or(Verdict::Valid);
    Ok(Reading {
        verdict: Some(verdict.name().to_owned()),
        causes: causes.into_iter().map(|cause| cause.text).collect(),
        text: format!("{}{}", run.stdout, run.stderr),
        search: Some(Box::new(search)),
        ..Reading::default()
    })
}
