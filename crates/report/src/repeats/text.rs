//! Repeats on a screen: the answer of the whole, the spread, a row for each
//! repeat.

use std::io::{self, Write};

use plimsoll_core::repeats::Repeats;
use plimsoll_core::result::Outcome;

use super::{
    GateRow, ROW_HEAD, answer, causes, gates, missing, order, remarks, row, spread_head, spread_row,
};
use crate::facts::printable;
use crate::text::table::{LABEL, labelled, table, wrap, wrap_within};
use crate::text::{Style, doubts, headline, plan, write_blocks};

/// Lines that a gate may take.
const GATE_LINES: usize = 4;

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(repeats: &Repeats, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let blocks = [
        head(repeats, style),
        load(repeats, style),
        gate_rows(repeats, style),
        spread(repeats, style),
        rows(repeats, style),
        doubts(&causes(repeats), style),
    ];
    write_blocks(&blocks, out)
}

fn head(repeats: &Repeats, style: Style) -> Vec<String> {
    let mut lines = headline(&answer(repeats), style);
    for text in remarks(repeats) {
        lines.extend(wrap("- ", "  ", &printable(&text), style.columns()));
    }
    lines
}

fn load(repeats: &Repeats, style: Style) -> Vec<String> {
    let Some(first) = repeats.runs.first() else { return Vec::new() };
    let mut lines = plan(first, style.columns());
    lines.extend(wrap("", "", &printable(&order(repeats)), style.columns()));
    lines
}

fn gate_rows(repeats: &Repeats, style: Style) -> Vec<String> {
    let line = |gate: GateRow<'_>| {
        let outcome = gate.outcome;
        let text = format!("{:<4}  {:<18} {}", outcome.word(), printable(gate.expr), gate.measured);
        let lines = wrap_within(("", "      "), &text, style.columns() - LABEL, GATE_LINES);
        let paint = |line: String| match outcome {
            Outcome::Pass => line,
            Outcome::Fail => style.bad(&line),
            Outcome::Undecided => style.paint("33", &line),
        };
        lines.into_iter().map(paint).collect::<Vec<String>>()
    };
    let rows: Vec<String> = gates(repeats).into_iter().flat_map(line).collect();
    labelled("Gates", &rows)
}

fn spread(repeats: &Repeats, style: Style) -> Vec<String> {
    if repeats.spread.is_empty() {
        return Vec::new();
    }
    let rows = std::iter::once(spread_head(repeats));
    let rows: Vec<Vec<String>> = rows.chain(repeats.spread.iter().map(spread_row)).collect();
    let mut lines = table(&rows, 1, style.columns());
    lines.extend(missing(repeats).iter().flat_map(|text| wrap("", "", text, style.columns())));
    lines
}

fn rows(repeats: &Repeats, style: Style) -> Vec<String> {
    if repeats.runs.is_empty() {
        return Vec::new();
    }
    let head = ROW_HEAD.map(str::to_owned).to_vec();
    let runs = (1..).zip(&repeats.runs).map(|(repeat, run)| row(repeat, run).to_vec());
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(runs).collect();
    table(&rows, 1, style.columns())
}
