//! Findings as text and as JSON.

use std::fmt::Write as _;

use plimsoll_report::text::wrap;
use serde_json::{Value, json};

use super::finding::{Finding, Level};

/// The shape of the JSON.
const SCHEMA: &str = "plimsoll/doctor/1";

fn count(findings: &[Finding], level: Level) -> usize {
    findings.iter().filter(|finding| finding.level == level).count()
}

/// For people, in lines as long as the terminal's.
pub(crate) fn text(findings: &[Finding], color: bool, columns: usize) -> String {
    let widest = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut group = "";
    for finding in findings {
        if finding.group != group {
            group = finding.group;
            let gap = if text.is_empty() { "" } else { "\n" };
            push(&mut text, format_args!("{gap}{group}\n"));
        }
        let name = finding.name.replace('_', " ");
        // A level has four letters, which escapes must not lengthen.
        let (first, next) = (format!("{name:widest$}  "), format!("        {:widest$}  ", ""));
        let value = wrap(&format!("        {first}"), &next, &printable(&finding.value), columns);
        for (at, line) in value.iter().enumerate() {
            match at {
                0 => {
                    let level = paint(finding.level, color);
                    push(&mut text, format_args!("  {level}  {}\n", &line[8..]));
                }
                _ => push(&mut text, format_args!("{line}\n")),
            }
        }
        if let Some(advice) = &finding.advice {
            let (first, next) = (format!("{next}-> "), format!("{next}   "));
            for line in wrap(&first, &next, &printable(advice), columns) {
                push(&mut text, format_args!("{line}\n"));
            }
        }
    }
    let (bad, warn) = (count(findings, Level::Bad), count(findings, Level::Warn));
    push(&mut text, format_args!("\n{bad} bad, {warn} to look at, of {}\n", findings.len()));
    text
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string cannot fail");
}

fn paint(level: Level, color: bool) -> String {
    let padded = format!("{:4}", level.name());
    let code = match level {
        Level::Good => "32",
        Level::Warn => "33",
        Level::Bad => "31",
    };
    if color { format!("\x1b[{code}m{padded}\x1b[0m") } else { padded }
}

/// Without what a terminal would obey: names come from files and the network.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// For programs: `schema`, `tool`, `worst`, and `checks`, each with `group`, `name`, `level`,
/// `value` and `advice` (null without advice).
pub(crate) fn json(findings: &[Finding]) -> String {
    let checks: Vec<Value> = findings
        .iter()
        .map(|finding| {
            json!({
                "group": finding.group,
                "name": finding.name,
                "level": finding.level.name(),
                "value": finding.value,
                "advice": finding.advice,
            })
        })
        .collect();
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Good);
    let document = json!({
        "schema": SCHEMA,
        "tool": { "name": "plimsoll", "version": env!("CARGO_PKG_VERSION") },
        "worst": worst.name(),
        "checks": checks,
    });
    format!("{document:#}\n")
}
