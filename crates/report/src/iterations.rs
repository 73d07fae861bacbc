//! What became of iterations, where they are counted apart from requests, and of what scripts did
//! beside requests, in words that every view shows.

use plimsoll_core::beside::{Beside, Websockets};
use plimsoll_core::units::{format_count, format_ns};
use plimsoll_core::{Histogram, RunResult};

/// What a row is about, and what it says; none where iterations are not counted.
pub(crate) fn rows(result: &RunResult) -> Vec<(&'static str, String)> {
    let Some(iterations) = result.iterations.as_ref() else { return Vec::new() };
    let counts = [
        (iterations.completed.saturating_sub(iterations.failed), "completed"),
        (iterations.failed, "failed"),
        (iterations.unfinished, "unfinished"),
        (iterations.unsent, "unsent"),
        (iterations.shed, "shed"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> =
        counts.map(|(count, word)| format!("{} {word}", format_count(*count))).collect();
    let scheduled = format_count(iterations.scheduled);
    let mut rows = vec![(
        "Iterations",
        if words.is_empty() { scheduled } else { format!("{scheduled}: {}", words.join(", ")) },
    )];
    // Requests tell of these where they are due themselves.
    if !iterations.lateness.is_empty() {
        rows.push(("took", times(&iterations.duration)));
        rows.push(("started late by", times(&iterations.lateness)));
    }
    rows.extend(beside(result));
    rows
}

/// WebSockets and calls of gRPC.
fn beside(result: &RunResult) -> Vec<(&'static str, String)> {
    let Some(Beside { websockets, calls }) = result.beside else { return Vec::new() };
    let messages = |sent, received| {
        format!("{} sent, {} received", format_count(sent), format_count(received))
    };
    let mut rows = Vec::new();
    if websockets != Websockets::default() {
        let failed = match websockets.failed {
            0 => String::new(),
            failed => format!(", {} could not be opened", format_count(failed)),
        };
        rows.push(("WebSockets", format!("{} opened{failed}", format_count(websockets.opened))));
        rows.push(("their messages", messages(websockets.sent, websockets.received)));
    }
    if calls.ok + calls.failed > 0 {
        let words = format!("{} ok, {} failed", format_count(calls.ok), format_count(calls.failed));
        rows.push(("gRPC calls", words));
    }
    if calls.sent + calls.received > 0 {
        rows.push(("in streams", messages(calls.sent, calls.received)));
    }
    rows
}

fn times(histogram: &Histogram) -> String {
    let at = |q| histogram.quantile_ns(q).map_or_else(|| "-".to_owned(), format_ns);
    format!("p50 {}, p99 {}", at(0.5), at(0.99))
}
