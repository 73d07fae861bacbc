//! `plimsoll explain`: what a cause of the verdict, a kind of error or a gate's metric means.
//!
//! The text is that of the documentation: the program holds the pages and prints a section of them.
//! So there is one text to keep right, and a code without a section fails a test.

mod page;
mod plain;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use plimsoll_core::errors::ERROR_KINDS;
use plimsoll_core::gate::{metric_name, metric_names};
use plimsoll_core::nearest::nearest;
use plimsoll_core::verdict::CODES;
use plimsoll_report::text::wrap;

use crate::args::ExplainFlags;
use crate::exit::{self, Exit};
use crate::terminal;
use page::Page;

/// Lines are no longer than this, however wide the terminal is.
const COLUMNS_MAX: usize = 80;

/// How many codes are suggested for one that nobody knows.
const SUGGESTIONS_MAX: usize = 3;

/// Codes of one sort.
struct Group {
    /// Words that ask for the list of them.
    names: &'static [&'static str],
    /// What one of them is.
    what: &'static str,
    /// What all of them are.
    heading: &'static str,
    codes: Vec<String>,
    pages: Vec<Page>,
}

impl Group {
    /// What is to be said of a code.
    fn section(&self, code: &str) -> Option<&'static str> {
        self.pages.iter().find_map(|page| page.section(code))
    }
}

/// Everything that can be explained.
fn groups() -> [Group; 3] {
    let owned = |codes: &[&str]| codes.iter().map(|code| (*code).to_owned()).collect();
    [
        Group {
            names: &["causes", "cause"],
            what: "a cause of the verdict",
            heading: "Causes of the verdict",
            codes: owned(&CODES),
            pages: vec![Page(include_str!("../../../../docs/verdict.md"))],
        },
        Group {
            names: &["kinds", "kind"],
            what: "a kind of error",
            heading: "Kinds of errors",
            codes: owned(&ERROR_KINDS),
            pages: vec![
                Page(include_str!("../../../../docs/errors.md")),
                Page(include_str!("../../../../docs/errors-http2.md")),
                Page(include_str!("../../../../docs/errors-grpc.md")),
                Page(include_str!("../../../../docs/errors-websocket.md")),
            ],
        },
        Group {
            names: &["gates", "gate", "metrics", "metric"],
            what: "a metric for gates",
            heading: "Metrics for gates",
            codes: metric_names().collect(),
            pages: vec![Page(include_str!("../../../../docs/gate-metrics.md"))],
        },
    ]
}

/// Explains the codes, or lists all of them when there are none.
///
/// # Errors
/// Usage, for a code that nobody knows.
pub(crate) fn explain(flags: &ExplainFlags) -> Result<ExitCode, Exit> {
    let columns = terminal::columns(true).min(COLUMNS_MAX);
    let groups = groups();
    if flags.codes.is_empty() {
        return Ok(exit::print(&list_of_all(&groups, columns)));
    }
    let texts = flags.codes.iter().map(|code| explained(&groups, code, columns));
    let texts = texts.collect::<Result<Vec<_>, _>>().map_err(Exit::Usage)?;
    Ok(exit::print(&texts.join("\n")))
}

/// All there is to say of a code. A word such as `outage` is a cause and a metric: both are told.
/// The name of a group lists its codes.
fn explained(groups: &[Group], code: &str, columns: usize) -> Result<String, String> {
    let code = &*code.to_ascii_lowercase();
    if let Some(group) = groups.iter().find(|group| group.names.contains(&code)) {
        return Ok(list(group, columns) + "\n");
    }
    let found = sections(groups, code);
    // A time by its name alone, as reports have it: a gate would name a figure of it.
    let metric = || metric_name(code).or_else(|| metric_name(&format!("{code}.p99")));
    let found = match found.is_empty().then(metric).flatten() {
        Some(metric) => sections(groups, &metric),
        None => found,
    };
    if found.is_empty() {
        return Err(unknown(groups, code));
    }
    let texts = found.iter().map(|(group, section)| {
        let text = plain::text(section, columns);
        format!("{code}: {}\n\n{text}", group.what)
    });
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

fn sections<'a>(groups: &'a [Group], code: &str) -> Vec<(&'a Group, &'static str)> {
    let of = |group: &'a Group| Some((group, group.section(code)?));
    groups.iter().filter_map(of).collect()
}

/// The codes of a group, with the first sentence of their section.
fn list(group: &Group, columns: usize) -> String {
    let width = group.codes.iter().map(String::len).max().unwrap_or(0) + 4;
    let mut lines = vec![group.heading.to_owned()];
    for code in &group.codes {
        let first = format!("{:width$}", format!("  {code}"));
        let summary = group.section(code).map(plain::first_sentence).unwrap_or_default();
        lines.extend(wrap(&first, &" ".repeat(width), &summary, columns));
    }
    lines.join("\n")
}

fn list_of_all(groups: &[Group], columns: usize) -> String {
    let mut blocks: Vec<String> = groups.iter().map(|group| list(group, columns)).collect();
    blocks.push("`plimsoll explain late_tail` says more about that code".to_owned());
    blocks.join("\n\n") + "\n"
}

fn unknown(groups: &[Group], code: &str) -> String {
    let all = || groups.iter().flat_map(|group| &group.codes).map(String::as_str);
    let close = nearest(code, all());
    let holds_it = all().filter(|known| code.len() > 2 && known.contains(code));
    let mut meant: Vec<&str> = Vec::new();
    for known in close.into_iter().chain(holds_it) {
        if !meant.contains(&known) {
            meant.push(known);
        }
    }
    meant.truncate(SUGGESTIONS_MAX);
    let all_of_them = "`plimsoll explain` lists all codes";
    match meant.join("', '") {
        meant if meant.is_empty() => format!("no code '{code}': {all_of_them}"),
        meant => format!("no code '{code}': did you mean '{meant}'? {all_of_them}"),
    }
}
