//! `plimsoll explain`: what a verdict and each of its causes, a kind of error, a gate's metric, an
//! exit code, a piece of advice or the head of a column means.
//!
//! The text is that of the documentation: the program holds the pages and prints a section of them.
//! So there is one text to keep right, and a code without a section fails a test.

mod page;
mod plain;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::process::ExitCode;

use plimsoll_core::errors::ERROR_KINDS;
use plimsoll_core::gate::{metric_name, metric_names};
use plimsoll_core::nearest::nearest;
use plimsoll_core::verdict::{CODES, Verdict};
use plimsoll_report::text::wrap;
use plimsoll_report::{advice, columns};

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
    /// A code as it is compared with those of the headings, however it is written.
    normal: fn(&str) -> String,
    /// Whether the list of all codes has those of this group.
    is_listed: bool,
}

impl Group {
    /// What is to be said of a code.
    fn section(&self, code: &str) -> Option<&'static str> {
        let code = (self.normal)(code);
        self.pages.iter().find_map(|page| page.section(|known| (self.normal)(known) == code))
    }
}

/// Everything that can be explained.
fn groups() -> [Group; 7] {
    let owned = |codes: &[&str]| codes.iter().map(|code| (*code).to_owned()).collect();
    let heads = Page(columns::PAGE);
    [
        Group {
            names: &["verdicts"],
            what: "a verdict",
            heading: "Verdicts",
            codes: owned(&VERDICTS.map(Verdict::name)),
            pages: vec![Page(include_str!("../../../../docs/verdicts.md"))],
            normal: str::to_lowercase,
            is_listed: true,
        },
        Group {
            names: &["causes", "cause"],
            what: "a cause of the verdict",
            heading: "Causes of the verdict",
            codes: owned(&CODES),
            pages: vec![Page(include_str!("../../../../docs/verdict.md"))],
            normal: str::to_lowercase,
            is_listed: true,
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
            normal: str::to_lowercase,
            is_listed: true,
        },
        Group {
            names: &["gates", "gate", "metrics", "metric"],
            what: "a metric for gates",
            heading: "Metrics for gates",
            codes: metric_names().collect(),
            pages: vec![Page(include_str!("../../../../docs/gate-metrics.md"))],
            normal: |code| metric_name(code).unwrap_or_else(|| code.to_lowercase()),
            is_listed: true,
        },
        Group {
            names: &["exit-codes", "exit"],
            what: "an exit code",
            heading: "Exit codes",
            codes: exit::CODES.iter().map(|code| exit_code(&code.to_string())).collect(),
            pages: vec![Page(include_str!("../../../../docs/exit-codes.md"))],
            normal: exit_code,
            is_listed: true,
        },
        Group {
            names: &["advice"],
            what: "advice of a report",
            heading: "Advice",
            codes: owned(&advice::CODES),
            pages: vec![Page(include_str!("../../../../docs/advice.md"))],
            normal: str::to_lowercase,
            is_listed: true,
        },
        Group {
            names: &["columns", "column"],
            what: "a column of reports",
            heading: "Columns of reports",
            codes: heads
                .headings()
                .filter_map(|codes| Some((*codes.first()?).to_owned()))
                .collect(),
            pages: vec![heads],
            normal: columns::normal,
            is_listed: false,
        },
    ]
}

const VERDICTS: [Verdict; 3] = [Verdict::Valid, Verdict::Suspect, Verdict::Invalid];

/// An exit code as the headings have it: `4` and `exit 4` as `exit-4`.
fn exit_code(code: &str) -> String {
    let number = code.trim().trim_start_matches("exit").trim_start_matches(['-', ' ']);
    match number.parse::<u8>() {
        Ok(number) => format!("exit-{number}"),
        Err(_) => code.to_lowercase(),
    }
}

/// What shells complete: the codes, and the names of their groups. Heads of columns with spaces are
/// left out, because a shell would have to quote them.
pub(crate) fn completions() -> BTreeSet<&'static str> {
    let groups = groups();
    let codes = groups.iter().flat_map(|group| {
        let shown = if group.is_listed { usize::MAX } else { 1 };
        let headings = group.pages.iter().flat_map(|page| page.headings());
        headings.flat_map(move |codes| codes.into_iter().take(shown)).collect::<Vec<_>>()
    });
    let names = groups.iter().filter_map(|group| group.names.first().copied());
    let is_word = |code: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        code.bytes().all(is_plain)
    };
    names.chain(codes).filter(is_word).collect()
}

/// Explains the codes, or lists all of them when there are none.
///
/// # Errors
/// Usage, for a code that nobody knows.
pub(crate) fn explain(codes: &[String]) -> Result<ExitCode, Exit> {
    let columns = terminal::columns(true).min(COLUMNS_MAX);
    let groups = groups();
    if codes.is_empty() {
        return Ok(exit::print(&list_of_all(&groups, columns)));
    }
    // `explain samples beyond` and `explain exit 4`: the words of a head or a code.
    let joined = codes.join(" ");
    let codes = match sections(&groups, &joined).is_empty() {
        true => codes,
        false => &[joined],
    };
    let texts = codes.iter().map(|code| explained(&groups, code, columns));
    let texts = texts.collect::<Result<Vec<_>, _>>().map_err(Exit::Usage)?;
    Ok(exit::print(&texts.join("\n")))
}

/// All there is to say of a code. A word such as `outage` is a cause and a metric: both are told.
/// The name of a group lists its codes.
fn explained(groups: &[Group], code: &str, columns: usize) -> Result<String, String> {
    let mut found = sections(groups, code);
    // A time by its name alone, as reports have it: a gate would name a figure of it.
    if found.iter().all(|(group, _)| !group.is_listed) {
        found.splice(0..0, sections(groups, &format!("{code}.p99")));
    }
    let named = groups.iter().find(|group| group.names.contains(&&*code.to_lowercase()));
    if found.is_empty() && named.is_none() {
        return Err(unknown(groups, code));
    }
    let list = named.map(|group| list(group, columns) + "\n");
    let texts = found.iter().map(|(group, section)| {
        let text = plain::text(section, columns);
        format!("{}: {}\n\n{text}", code.to_lowercase(), group.what)
    });
    Ok(list.into_iter().chain(texts).collect::<Vec<_>>().join("\n"))
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
    let listed = groups.iter().filter(|group| group.is_listed);
    let mut blocks: Vec<String> = listed.map(|group| list(group, columns)).collect();
    let others = groups.iter().filter(|group| !group.is_listed);
    blocks.extend(others.map(|group| {
        format!("{}\n  `plimsoll explain {}` lists them", group.heading, group.names[0])
    }));
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
