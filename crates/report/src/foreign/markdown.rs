//! As Markdown, also for the summary of a step.

use std::io::{self, Write};

use plimsoll_core::foreign::ForeignResult;

use super::{load, moments, notes, outcomes, quantiles, sentence};
use crate::markdown::escape::{code, prose};
use crate::markdown::{table_of, write_blocks};

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &ForeignResult, out: &mut dyn Write) -> io::Result<()> {
    let head = format!("**{}** · {}", prose(&result.tester), prose(&sentence(result)));
    let mut notes: Vec<String> = notes(result);
    notes.extend(result.labels.iter().map(|labels| format!("labels: {labels}")));
    let notes: Vec<String> = notes.iter().map(|note| format!("- {}", prose(note))).collect();
    let load = load(result);
    let load = if load.is_empty() { load } else { code(&load) };
    let counts = outcomes(result).into_iter();
    let counts: Vec<Vec<String>> =
        counts.map(|[what, count, share]| vec![code(&what), count, share]).collect();
    let moments: Vec<Vec<String>> = moments(result).iter().map(|row| row.to_vec()).collect();
    let quantiles: Vec<Vec<String>> = quantiles(result).iter().map(|row| row.to_vec()).collect();
    let blocks = [
        head,
        notes.join("\n"),
        load,
        table_of(&["Calls", "count", "share"], 1, &counts),
        table_of(&["Service time", ""], 1, &moments),
        table_of(&["Quantile", "time", "in a bucket from", "samples beyond"], 1, &quantiles),
    ];
    write_blocks(&blocks, out)
}
