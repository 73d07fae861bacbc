//! Custom metrics on a run's page.

use plimsoll_core::RunResult;

use super::tables::ROWS_SHOWN;
use crate::custom::{self, OTHERS_HEAD, Row, TRENDS_HEAD};
use crate::page::table::{Column, Figure, INDENT, Table, Text, clipped};

/// The metrics in a section of their own; nothing where there are none.
pub(super) fn metrics(result: &RunResult, page: &mut String) {
    if result.metrics.is_empty() {
        return;
    }
    let notes = custom::notes(result).join("; ");
    page.push_str("<section>\n<h2>Custom metrics</h2>\n<div class=\"tables\">\n");
    let others = custom::others(result);
    // The notes are about all metrics, so they stand once, below the last table.
    let note = if others.is_empty() { notes.as_str() } else { "" };
    table(
        "Trends",
        TRENDS_HEAD.map(|name| (name, Figure)).as_slice(),
        &custom::trends(result),
        note,
        page,
    );
    let head = [(OTHERS_HEAD[0], Text), (OTHERS_HEAD[1], Figure), (OTHERS_HEAD[2], Figure)];
    table("Counters, gauges and rates", &head, &others, &notes, page);
    page.push_str("</div>\n</section>\n");
}

fn table(caption: &str, head: &[(&str, Column)], rows: &[Row], note: &str, page: &mut String) {
    if rows.is_empty() {
        return;
    }
    let row = |row: &Row| {
        let name = clipped(&row.name);
        let name = if row.is_tagged { format!("{INDENT}{name}") } else { name };
        [vec![name], row.cells.clone()].concat()
    };
    let shown = rows.iter().take(ROWS_SHOWN).map(row).collect();
    let head = [&[("", Text)], head].concat();
    let more = rows.len().saturating_sub(ROWS_SHOWN);
    let more = if more > 0 { format!("And {more} more rows. ") } else { String::new() };
    Table { caption, head: &head, rows: shown, note: &format!("{more}{note}") }.write(page);
}
