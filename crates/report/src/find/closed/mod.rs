//! Views of a closed search: text, Markdown, CSV, a page, and the document itself.

mod html;
mod plain;
#[cfg(test)]
mod tests;
mod words;

use plimsoll_core::find::{ClosedDocument, ClosedPlan, ClosedProbe, ClosedSearch, ClosedTurn};
use plimsoll_core::units::counted;

use super::cover::Cover;

pub use crate::json::write as write_json;
pub use html::write as write_html;
pub use plain::{write_csv, write_markdown, write_text};
pub use words::answer_words;

/// What stands before the live line of a probe: which it is, and between which numbers the answer
/// lies as far as is known.
#[must_use]
pub fn live_title(search: &ClosedSearch, plan: &ClosedPlan, spoilt: u32) -> String {
    let number = search.probes().len() + 1;
    let again = if spoilt > 0 { ", again" } else { "" };
    let known = search.so_far();
    let bounds = match (known.connections, known.fails_connections) {
        (Some(low), Some(high)) => format!(" [{low} … {high}]"),
        (Some(low), None) => format!(" [{low} …]"),
        _ => String::new(),
    };
    let connections = counted(plan.connections.into(), "connection");
    format!("{number} {} {connections}{again}{bounds}", words::purpose(plan.purpose))
}

/// A probe that has been judged, in a line.
#[must_use]
pub fn probe_line(number: usize, probe: &ClosedProbe) -> String {
    let row = words::row(number, probe, None);
    let [number, purpose, connections, rate, _, _, p50, p99, decides, outcome] = row;
    let note = probe.report.tester.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    format!(
        "{number} {purpose} {connections}: {outcome}, {rate}/s, p50 {p50}, p99 {p99}, \
         {decides}{note}"
    )
}

/// A turn that the search took, in a line.
#[must_use]
pub fn turn_line(turn: &ClosedTurn) -> String {
    words::turn_words(turn)
}

/// What its reports begin with.
fn cover(found: &ClosedDocument) -> Cover<'_> {
    let (look, word, sentence) = words::headline(found);
    Cover {
        look,
        word,
        sentence,
        remarks: words::remarks(found),
        plan: &found.plan,
        search: words::search_words(found),
        started_at: &found.started_at,
        tool: &found.tool,
        schema: &found.schema,
    }
}
