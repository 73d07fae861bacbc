//! Custom metrics in Markdown.

use plimsoll_core::RunResult;

use super::escape::{code, prose};
use super::{table, table_of};
use crate::custom::{self, OTHERS_HEAD, Row, TRENDS_HEAD};

/// The metrics and what readers have to know about them; empty where there are none.
pub(super) fn metrics(result: &RunResult) -> String {
    let notes = custom::notes(result);
    let notes: String = notes.iter().map(|note| format!("- {}\n", prose(note))).collect();
    let trends = table(&[&["Metric"], &TRENDS_HEAD[..]].concat(), &rows(&custom::trends(result)));
    let others = rows(&custom::others(result));
    let others = table_of(&[&["Metric"], &OTHERS_HEAD[..]].concat(), 2, &others);
    let blocks = [trends, others, notes].into_iter().filter(|block| !block.is_empty());
    blocks.collect::<Vec<String>>().join("\n")
}

fn rows(rows: &[Row]) -> Vec<Vec<String>> {
    let row = |row: &Row| {
        let name = code(&row.name);
        let name = if row.is_tagged { format!("… {name}") } else { name };
        [vec![name], row.cells.clone()].concat()
    };
    rows.iter().map(row).collect()
}
