//! The scenarios of a run on its page.

use plimsoll_core::RunResult;

use crate::page::table::{Figure, Table, Text};
use crate::scenarios::{HEAD, rows};

/// The table in a section of its own; nothing in a plain run.
pub(super) fn scenarios(result: &RunResult, page: &mut String) {
    let rows = rows(result);
    if rows.is_empty() {
        return;
    }
    let head: Vec<_> = std::iter::once(("", Text)).chain(HEAD.map(|name| (name, Figure))).collect();
    page.push_str("<section>\n<h2>Scenarios</h2>\n<div class=\"tables\">\n");
    let note = "Times are response times. The result document has the whole result of each.";
    Table { caption: "Each by itself", head: &head, rows, note }.write(page);
    page.push_str("</div>\n</section>\n");
}
