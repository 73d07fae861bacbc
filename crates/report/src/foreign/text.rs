//! On a screen: who measured and the figures that matter most, then what was loaded, what readers
//! have to know, counts, and times.

use std::io::{self, Write};

use plimsoll_core::foreign::ForeignResult;

use super::{load, moments, notes, outcomes, quantiles, sentence};
use crate::facts::printable;
use crate::text::table::{labelled, table, wrap};
use crate::text::{Style, write_blocks};

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &ForeignResult, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let width = style.columns();
    write_blocks(&[head(result, style), counts(result, width), times(result, width)], out)
}

fn head(result: &ForeignResult, style: Style) -> Vec<String> {
    let width = style.columns();
    let who = printable(&result.tester);
    let mut lines = wrap(&format!("{who} · "), "  ", &printable(&sentence(result)), width);
    if let Some(first) = lines.first_mut() {
        let rest = first.strip_prefix(&who).unwrap_or_default().to_owned();
        *first = format!("{}{rest}", style.paint("1", &who));
    }
    for note in notes(result) {
        lines.extend(wrap("- ", "  ", &printable(&note), width));
    }
    let load = printable(&load(result));
    if !load.is_empty() {
        lines.extend(wrap("", "  ", &load, width));
    }
    if let Some(labels) = &result.labels {
        lines.extend(wrap("Labels    ", "          ", &printable(labels), width));
    }
    lines
}

fn counts(result: &ForeignResult, width: usize) -> Vec<String> {
    let head = ["Calls", "count", "share"].map(str::to_owned);
    let rows = outcomes(result);
    if rows.is_empty() {
        return Vec::new();
    }
    let cells = |row: [String; 3]| row.map(|cell| printable(&cell)).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).map(cells).collect();
    table(&rows, 1, width)
}

fn times(result: &ForeignResult, width: usize) -> Vec<String> {
    let moments: Vec<String> = moments(result).iter().map(|row| row.join(" ")).collect();
    let mut lines = Vec::new();
    if !moments.is_empty() {
        lines = labelled("Service", &wrap("", "", &moments.join(" · "), width - 10));
    }
    let rows = quantiles(result);
    if !rows.is_empty() {
        let head = ["Quantile", "time", "in a bucket from", "samples beyond"].map(str::to_owned);
        let rows: Vec<Vec<String>> =
            std::iter::once(head).chain(rows).map(|row| row.to_vec()).collect();
        lines.extend(table(&rows, 1, width));
    }
    lines
}
