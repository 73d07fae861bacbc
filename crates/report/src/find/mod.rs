//! Views of a search for the load line: text, Markdown, CSV, a page, and the document itself.
//!
//! They share the wording: the answer in a sentence, what readers have to know beside it, and a row
//! for each probe.

pub mod closed;
pub mod contrast;
mod cover;
mod csv;
mod html;
mod markdown;
#[cfg(test)]
mod tests;
mod text;
mod words;

use plimsoll_core::find::{Document, Probe, ProbePlan, Search, Turn};
use plimsoll_core::units::{counted, format_rate};

use cover::Cover;

pub use crate::json::write as write_json;
pub use csv::write as write_csv;
pub use html::write as write_html;
pub use markdown::write as write_markdown;
pub use text::write as write_text;
pub use words::answer_words;

/// What stands before the live line of a probe: which it is, and between which rates the answer
/// lies as far as is known.
#[must_use]
pub fn live_title(search: &Search, plan: &ProbePlan, spoilt: u32) -> String {
    let number = search.probes().len() + 1;
    let (purpose, rate) = (words::purpose(plan.purpose), format_rate(plan.rate_rps));
    let again = if spoilt > 0 { ", again" } else { "" };
    let known = search.so_far();
    let bounds = match (known.rate_rps, known.fails_rps) {
        (Some(low), Some(high)) => format!(" [{} … {}]", format_rate(low), format_rate(high)),
        (Some(low), None) => format!(" [{} …]", format_rate(low)),
        _ => String::new(),
    };
    format!("{number} {purpose} {rate}/s{again}{bounds}")
}

/// A probe that has been judged, in a line.
#[must_use]
pub fn probe_line(number: usize, probe: &Probe) -> String {
    let row = words::row(number, probe);
    let note = words::notes(probe).into_iter().next();
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    let [number, purpose, rate, _, p50, p99, decides, outcome] = row;
    format!("{number} {purpose} {rate}/s: {outcome}, p50 {p50}, p99 {p99}, {decides}{note}")
}

/// A turn that the search took, in a line.
#[must_use]
pub fn turn_line(turn: &Turn) -> String {
    words::turn_words(turn)
}

/// What its reports begin with.
fn cover(found: &Document) -> Cover<'_> {
    let (look, word, sentence) = words::headline(found);
    Cover {
        look,
        word,
        sentence,
        remarks: words::remarks(found),
        plan: &found.plan,
        search: search_words(found),
        started_at: &found.started_at,
        tool: &found.tool,
        schema: &found.schema,
    }
}

/// How the search went about it, in a few words each.
fn search_words(found: &Document) -> Vec<String> {
    let settings = &found.settings;
    let duration = plimsoll_core::units::format_duration;
    let mut words = vec![
        counted(found.probes.len() as u64, "probe"),
        format!("{:.0} s", found.answer.elapsed_ns as f64 / 1e9),
    ];
    if !settings.is_quick_only {
        words.push(format!("holds of up to {}", duration(settings.hold_ns)));
        words.push(format!("steps of {}", words::plain_percent(settings.step - 1.0)));
    }
    if let Some(rate) = &found.plan.rate {
        words.push(match rate.arrival {
            plimsoll_core::schedule::Arrival::Poisson => "Poisson arrivals".to_owned(),
            plimsoll_core::schedule::Arrival::Uniform => "even arrivals".to_owned(),
        });
    }
    let connections = found.plan.connections;
    words.push(match found.plan.connections_max {
        Some(max) => format!("{connections}..{}", counted(max.into(), "connection")),
        None => counted(connections.into(), "connection"),
    });
    words
}
