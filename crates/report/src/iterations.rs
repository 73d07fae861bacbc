//! What became of iterations, where they are counted apart from requests, in words that every view
//! shows.

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
    rows
}

fn times(histogram: &Histogram) -> String {
    let at = |q| histogram.quantile_ns(q).map_or_else(|| "-".to_owned(), format_ns);
    format!("p50 {}, p99 {}", at(0.5), at(0.99))
}
