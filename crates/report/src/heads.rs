//! Every head of a column that a view prints has a section in `docs/columns.md`, which is what
//! `plimsoll explain HEAD` shows. The heads come from finished reports, not from the code that
//! writes them: a view that names a column in some other way is found too.

use std::collections::BTreeSet;

use crate::text::{self, Style};
use crate::{columns, csv, html, markdown, samples};

/// Cells that stand in the heads of tables of text. A row of such a table has at most its first
/// cell among them.
const ANCHORS: [&str; 9] =
    ["p50", "p99", "max", "slower", "median", "meets", "value", "ratio", "shows from"];

/// The report, after a look at whether the page explains every head of its columns.
pub(crate) fn checked(report: String) -> String {
    let known: BTreeSet<String> = columns::PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .flat_map(|heading| heading.split('`').skip(1).step_by(2))
        .map(columns::normal)
        .collect();
    let heads = heads(&report);
    let unknown =
        heads.iter().filter(|head| !head.is_empty() && !known.contains(&columns::normal(head)));
    let unknown: Vec<&String> = unknown.collect();
    assert!(unknown.is_empty(), "docs/columns.md does not explain {unknown:?} of\n{report}");
    report
}

fn heads(report: &str) -> Vec<String> {
    let first = report.lines().next().unwrap_or_default();
    if first.eq_ignore_ascii_case("<!doctype html>") {
        of_html(report)
    } else if report.lines().any(is_rule) {
        of_markdown(report)
    } else if first.contains(',') && !first.contains(' ') {
        first.split(',').map(str::to_owned).collect()
    } else {
        of_text(report)
    }
}

fn of_html(page: &str) -> Vec<String> {
    let heads = page.split("<th scope=\"col\"").skip(1).map(|rest| {
        let head = rest.split_once('>').and_then(|(_, text)| text.split_once("</th>"));
        head.expect("a head has an end").0.replace("&gt;", ">")
    });
    heads.collect()
}

/// The line below the head of a table of Markdown.
fn is_rule(line: &str) -> bool {
    line.starts_with("| --") || line.starts_with("|--") || line.starts_with("| :--")
}

fn of_markdown(report: &str) -> Vec<String> {
    let lines: Vec<&str> = report.lines().collect();
    let tables = lines.windows(2).filter(|pair| is_rule(pair[1]));
    tables.flat_map(|pair| pair[0].split('|').map(|cell| cell.trim().to_owned())).collect()
}

fn of_text(report: &str) -> Vec<String> {
    let mut heads = Vec::new();
    for line in report.lines() {
        let line = colourless(line);
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        let cells: Vec<String> = cells.map(str::to_owned).collect();
        let is_figure = |cell: &String| {
            cell.starts_with(|first: char| first.is_numeric() || "~≥–-".contains(first))
        };
        let is_head = cells.iter().skip(1).any(|cell| ANCHORS.contains(&cell.as_str()));
        let has_figures = cells.iter().any(|cell| is_figure(cell) && !cell.ends_with("interval"));
        if is_head && !has_figures {
            heads.extend(cells);
        }
    }
    heads
}

fn colourless(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn every_column_of_a_run_is_explained() {
    for result in [
        samples::steady(),
        samples::stall(),
        samples::ramp(),
        samples::nothing(),
        samples::cut_short(),
        samples::parts(),
        samples::bare(),
        samples::watched(),
        samples::recorded(),
        samples::hour(),
    ] {
        let written = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
            let mut bytes = Vec::new();
            write(&mut bytes).expect("memory takes what is written");
            String::from_utf8(bytes).expect("views write text")
        };
        checked(written(&|out| text::write(&result, out, Style::default())));
        checked(written(&|out| markdown::write(&result, out)));
        checked(written(&|out| markdown::write_summary(&result, out)));
        checked(written(&|out| html::write(&result, out)));
        let rows = checked(written(&|out| csv::write(&result, out)));
        assert!(heads(&rows).len() > 50, "the heads of CSV are found: {rows}");
    }
}
