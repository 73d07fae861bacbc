//! Findings made readable: text, Markdown, JSON.

use std::io::{self, Write};

use crate::experiments::Experiment;
use crate::judge::Outcome;
use crate::suite::{Cell, Findings};

/// Columns of the text table that an outcome may take.
const WIDTH: usize = 100;

/// How a view is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// For a terminal.
    Text,
    /// A table for a document.
    Markdown,
    /// All of it, for programs.
    Json,
}

/// Writes the findings.
///
/// # Errors
/// Those of `out`.
pub fn write(findings: &Findings, view: View, out: &mut dyn Write) -> io::Result<()> {
    match view {
        View::Text => text(findings, out),
        View::Markdown => markdown(findings, out),
        View::Json => {
            serde_json::to_writer_pretty(&mut *out, findings)?;
            writeln!(out)
        }
    }
}

/// The word for an outcome.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Pass { .. } => "pass",
        Outcome::Fail { .. } => "FAIL",
        Outcome::CannotExpress { .. } => "can't express",
        Outcome::Skipped { .. } => "skipped",
        Outcome::Unmeasured { .. } => "unmeasured",
        Outcome::Broken { .. } => "BROKEN",
    }
}

/// What stands behind the word.
fn details(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Pass { figure } => figure.clone(),
        Outcome::Fail { figure, expected } => format!("{figure}; expected {expected}"),
        Outcome::CannotExpress { why }
        | Outcome::Skipped { why }
        | Outcome::Unmeasured { why }
        | Outcome::Broken { why } => why.clone(),
    }
}

/// What came of a cell in words, and how sure that is.
fn cell(cell: &Cell) -> (String, String) {
    let Some(outcome) = cell.outcome() else { return ("not run".to_owned(), String::new()) };
    let mut head = word(outcome).to_owned();
    if cell.repeats.len() > 1 {
        head += &format!(" {}/{}", cell.agreeing(), cell.repeats.len());
    }
    let mut rest = details(outcome);
    if let Some(share) = cell.others_share {
        rest += &format!(" (others used {:.0} % of the machine)", share * 100.0);
    }
    (head, rest)
}

fn text(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for tool in &findings.tools {
        writeln!(out, "{:<12} {}", tool.name, tool.version)?;
    }
    for row in &findings.experiments {
        writeln!(out, "\n{} (mistake {}): {}", row.name, row.mistake, row.title)?;
        for one in &row.cells {
            let (head, rest) = cell(one);
            let mut lines = wrap(&rest, WIDTH - 30).into_iter();
            let first = lines.next().unwrap_or_default();
            writeln!(out, "{}", format!("  {:<12} {head:<14} {first}", one.tool).trim_end())?;
            for line in lines {
                writeln!(out, "{:29} {line}", "")?;
            }
        }
    }
    writeln!(out, "\n{}", summary(findings))?;
    for left in &findings.left_out {
        writeln!(out, "left out: mistake {}, {}: {}", left.mistake, left.title, left.why)?;
    }
    Ok(())
}

/// How many of each kind, for each tester.
fn summary(findings: &Findings) -> String {
    let lines = findings.tools.iter().enumerate().map(|(index, tool)| {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        let cells = findings.experiments.iter().filter_map(|row| row.cells.get(index));
        for outcome in cells.filter_map(Cell::outcome) {
            match counts.iter_mut().find(|(known, _)| *known == word(outcome)) {
                Some((_, count)) => *count += 1,
                None => counts.push((word(outcome), 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let counts: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
        format!("{:<12} {}", tool.name, counts.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Words in lines of at most so many characters.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn markdown(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<&str> = findings.tools.iter().map(|tool| tool.name.as_str()).collect();
    writeln!(out, "| | experiment | {} |", names.join(" | "))?;
    writeln!(out, "|---|---|{}", "---|".repeat(names.len()))?;
    for row in &findings.experiments {
        let cells: Vec<String> = row.cells.iter().map(markdown_cell).collect();
        writeln!(out, "| {} | `{}` | {} |", row.mistake, row.name, cells.join(" | "))?;
    }
    writeln!(out)?;
    for tool in &findings.tools {
        writeln!(out, "- {}: {}", tool.name, escaped(&tool.version))?;
    }
    for left in &findings.left_out {
        writeln!(out, "- left out: {}, {}: {}", left.mistake, left.title, left.why)?;
    }
    Ok(())
}

fn markdown_cell(one: &Cell) -> String {
    let (head, rest) = cell(one);
    let head = match one.outcome() {
        Some(Outcome::Fail { .. } | Outcome::Broken { .. }) => format!("**{head}**"),
        _ => head,
    };
    escaped(&format!("{head}: {rest}"))
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// Writes what experiments there are.
///
/// # Errors
/// Those of `out`.
pub fn list(experiments: &[Experiment], out: &mut dyn Write) -> io::Result<()> {
    for experiment in experiments {
        writeln!(out, "{:<20} {:>2}  {}", experiment.name, experiment.row, experiment.title)?;
    }
    Ok(())
}
