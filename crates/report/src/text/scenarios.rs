//! The scenarios of a run on a terminal.

use plimsoll_core::RunResult;

use super::Style;
use super::table::table;
use super::times::footnote;
use crate::facts::printable;
use crate::scenarios::{HEAD, rows};

/// The table; nothing in a plain run.
pub(super) fn scenarios(result: &RunResult, style: Style) -> Vec<String> {
    let rows = rows(result);
    if rows.is_empty() {
        return Vec::new();
    }
    let head = std::iter::once("Scenario").chain(HEAD).map(str::to_owned).collect();
    let printable = |row: Vec<String>| row.iter().map(|cell| printable(cell)).collect();
    let cells: Vec<Vec<String>> =
        std::iter::once(head).chain(rows.into_iter().map(printable)).collect();
    let mut lines = table(&cells, 1, style.columns());
    lines.extend(footnote(lines.iter().map(String::as_str), style.columns()));
    lines
}
