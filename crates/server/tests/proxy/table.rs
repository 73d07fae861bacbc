//! The results of a suite: an error for ours when one is not as it must be, and Markdown on
//! request.
//!
//! `PLIMSOLL_PROXY_TABLE` names a directory to write the tables to.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::subject::Kind;

/// A case that was examined.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) topic: &'static str,
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    /// What must hold.
    pub(crate) want: String,
    /// Whether it does, and why not.
    pub(crate) result: Result<(), String>,
}

/// Fails when a proxy is held to its promises and breaks one; lists all it breaks.
pub(crate) fn hold(kind: &Kind, suite: &str, rows: &[Row]) {
    if let Ok(directory) = env::var("PLIMSOLL_PROXY_TABLE") {
        let name = format!("{suite}-{kind:?}.tsv").replace(['(', ')', '"', '/'], "_");
        fs::write(Path::new(&directory).join(name), text(rows)).expect("a directory to write to");
    }
    let mut broken = String::new();
    for row in rows {
        if let Err(why) = &row.result {
            let _ = writeln!(broken, "{}: want {}; {why}", row.name, row.want);
        }
    }
    let count = broken.lines().count();
    let held = rows.len() - count;
    assert!(!kind.is_ours() || count == 0, "{kind:?}: {held} hold, {count} do not:\n{broken}");
}

/// Whether a case is to be examined: `PLIMSOLL_PROXY_CASE` is a part of the names of those.
pub(crate) fn is_wanted(name: &str) -> bool {
    env::var("PLIMSOLL_PROXY_CASE").map_or(true, |part| name.contains(&part))
}

/// Every case stands in the document, under its name and source.
pub(crate) fn hold_documented<'a>(cases: impl Iterator<Item = (&'a str, &'a str)>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proxy-safety.md");
    let text = fs::read_to_string(path).expect("the document");
    for (name, source) in cases {
        let row = format!("| {name} | {source} |");
        assert!(text.contains(&row), "docs/proxy-safety.md has no {row}");
    }
}

/// One line for each case: topic, name, source, what must hold, and what came of it.
fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    for Row { topic, name, source, want, result } in rows {
        let result = result.as_ref().err().map_or("holds", |why| why);
        let _ = writeln!(text, "{topic}\t{name}\t{source}\t{want}\t{result}");
    }
    text
}
