//! The scenarios of a run in Markdown.

use plimsoll_core::RunResult;

use super::escape::code;
use super::table_of;
use crate::scenarios::{HEAD, rows};

/// The table; empty in a plain run.
pub(super) fn scenarios(result: &RunResult) -> String {
    let mut rows = rows(result);
    for row in &mut rows {
        row[0] = code(&row[0]);
    }
    table_of(&[&["Scenario"], &HEAD[..]].concat(), 1, &rows)
}
