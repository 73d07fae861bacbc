//! Custom metrics on a terminal.

use plimsoll_core::RunResult;

use super::Style;
use super::table::{shorten_apart, table, wrap};
use super::times::footnote;
use crate::custom::{self, OTHERS_HEAD, Row, TRENDS_HEAD};
use crate::facts::printable;

/// Rows of a table; of more, only their number is shown.
const ROWS_SHOWN: usize = 20;

/// The most characters of a name.
const NAME_ROOM: usize = 40;

/// The metrics and what readers have to know about them; nothing where there are none.
pub(super) fn metrics(result: &RunResult, style: Style) -> Vec<String> {
    let width = style.columns();
    let trends = lines(&TRENDS_HEAD, 1, &custom::trends(result), width);
    let others = lines(&OTHERS_HEAD, 2, &custom::others(result), width);
    let are_both = !trends.is_empty() && !others.is_empty();
    let between = are_both.then(String::new);
    let mut lines: Vec<String> = trends.into_iter().chain(between).chain(others).collect();
    for note in custom::notes(result) {
        lines.extend(wrap("", "  ", &printable(&note), width));
    }
    let marks = footnote(lines.iter().map(String::as_str), width);
    lines.extend(marks);
    lines
}

fn lines(head: &[&str], words: usize, rows: &[Row], width: usize) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let head = [&["Metric"], head].concat().into_iter().map(str::to_owned).collect();
    let names: Vec<String> = rows.iter().take(ROWS_SHOWN).map(|row| printable(&row.name)).collect();
    let row = |(row, name): (&Row, String)| {
        let indent = if row.is_tagged { "  " } else { "" };
        [vec![format!("{indent}{name}")], row.cells.clone()].concat()
    };
    let shown = rows.iter().zip(shorten_apart(&names, NAME_ROOM)).map(row);
    let cells: Vec<Vec<String>> = std::iter::once(head).chain(shown).collect();
    let mut lines = table(&cells, words, width);
    let more = rows.len().saturating_sub(ROWS_SHOWN);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}
