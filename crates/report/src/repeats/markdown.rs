//! Repeats as Markdown: the answer first, the spread, a row for each repeat.

use std::io::{self, Write};

use plimsoll_core::repeats::Repeats;
use plimsoll_core::result::Outcome;

use super::{
    GateRow, ROW_HEAD, answer, causes, gates, missing, order, remarks, row, spread_head, spread_row,
};
use crate::facts::{load_words, subject};
use crate::markdown::escape::{code, prose};
use crate::markdown::{doubts, headline, table_of, write_blocks};

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
    let blocks = [
        head(repeats),
        load(repeats),
        gate_rows(repeats),
        spread(repeats),
        rows(repeats),
        doubts(&causes(repeats)),
    ];
    write_blocks(&blocks, out)
}

fn head(repeats: &Repeats) -> String {
    let mut text = headline(&answer(repeats));
    text.extend(remarks(repeats).iter().map(|it| format!("- {}\n", prose(it))));
    text
}

fn load(repeats: &Repeats) -> String {
    let Some(first) = repeats.runs.first() else { return String::new() };
    let words = load_words(first).join(" · ");
    format!("{} · {} · {}", code(&subject(first)), prose(&words), prose(&order(repeats)))
}

fn gate_rows(repeats: &Repeats) -> String {
    let row = |gate: &GateRow<'_>| {
        let word = match gate.outcome {
            Outcome::Pass => "pass",
            Outcome::Fail => "**FAIL**",
            Outcome::Undecided => "**UNDECIDED**",
        };
        vec![code(gate.expr), word.to_owned(), prose(&gate.measured)]
    };
    let rows: Vec<Vec<String>> = gates(repeats).iter().map(row).collect();
    table_of(&["Gate", "", "measured in each repeat"], 3, &rows)
}

fn spread(repeats: &Repeats) -> String {
    let head = spread_head(repeats);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let rows: Vec<Vec<String>> = repeats.spread.iter().map(spread_row).collect();
    let missing = missing(repeats).map(|text| format!("\n{}\n", prose(&text)));
    table_of(&head, 1, &rows) + &missing.unwrap_or_default()
}

fn rows(repeats: &Repeats) -> String {
    let rows = (1..).zip(&repeats.runs).map(|(repeat, run)| row(repeat, run).to_vec());
    table_of(&ROW_HEAD, 1, &rows.collect::<Vec<_>>())
}
