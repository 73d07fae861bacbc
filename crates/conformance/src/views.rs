//! Findings made readable: text, Markdown, JSON.

use std::io::{self, Write};

use plimsoll_report::text::wrap;

use crate::experiments::Experiment;
use crate::findings::{Cell, Findings};
use crate::judge::Judgement;

/// Columns of the text, however wide the terminal is, and however narrow.
const WIDTH_MAX: usize = 100;
const WIDTH_MIN: usize = 60;

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

/// Writes the findings, as text in lines of `width` columns.
///
/// # Errors
/// Those of `out`.
pub fn write(findings: &Findings, view: View, width: usize, out: &mut dyn Write) -> io::Result<()> {
    match view {
        View::Text => text(findings, width.clamp(WIDTH_MIN, WIDTH_MAX), out),
        View::Markdown => markdown(findings, out),
        View::Json => {
            serde_json::to_writer_pretty(&mut *out, findings)?;
            writeln!(out)
        }
    }
}

/// What came of a cell in words, and how sure that is.
fn cell(cell: &Cell) -> (String, String) {
    let Some(outcome) = cell.outcome() else { return ("not run".to_owned(), String::new()) };
    let mut head = outcome.word().to_owned();
    if cell.repeats.len() > 1 {
        head += &format!(" {}/{}", cell.agreeing(), cell.repeats.len());
    }
    let mut rest = outcome.details();
    if let Some(share) = cell.others_share {
        rest += &format!(" (others used {:.0} % of the machine)", share * 100.0);
    }
    (head, rest)
}

fn text(findings: &Findings, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Vec::new();
    for tool in &findings.tools {
        let first = format!("{:<12} ", tool.name);
        lines.extend(wrap(&first, &" ".repeat(13), &tool.version, width));
    }
    for row in &findings.experiments {
        let title = format!("{} (mistake {}): {}", row.name, row.mistake, row.title);
        lines.push(String::new());
        lines.extend(wrap("", "  ", &title, width));
        for one in &row.cells {
            let (head, rest) = cell(one);
            let first = format!("  {:<12} {head:<14} ", one.tool);
            lines.extend(wrap(&first, &" ".repeat(30), &rest, width));
        }
    }
    lines.extend([String::new(), summary(findings)]);
    for left in &findings.left_out {
        let text = format!("left out: mistake {}, {}: {}", left.mistake, left.title, left.why);
        lines.extend(wrap("", "  ", &text, width));
    }
    writeln!(out, "{}", lines.join("\n"))
}

/// How many of each kind, for each tester.
fn summary(findings: &Findings) -> String {
    let lines = findings.tools.iter().enumerate().map(|(index, tool)| {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        let cells = findings.experiments.iter().filter_map(|row| row.cells.get(index));
        for outcome in cells.filter_map(Cell::outcome) {
            match counts.iter_mut().find(|(known, _)| *known == outcome.word()) {
                Some((_, count)) => *count += 1,
                None => counts.push((outcome.word(), 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let counts: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
        format!("{:<12} {}", tool.name, counts.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Columns of a document's text.
const DOCUMENT_WIDTH: usize = 100;

/// A table of the words, the versions, then what is behind those that are not a pass. What cannot
/// be expressed is a dash: it is no failure and needs no words.
fn markdown(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<&str> = findings.tools.iter().map(|tool| tool.name.as_str()).collect();
    writeln!(out, "| mistake | experiment | {} |", names.join(" | "))?;
    writeln!(out, "|---|---|{}", "---|".repeat(names.len()))?;
    for row in &findings.experiments {
        let cells: Vec<String> = row.cells.iter().map(markdown_cell).collect();
        writeln!(out, "| {} | `{}` | {} |", row.mistake, row.name, cells.join(" | "))?;
    }
    let versions = findings.tools.iter().map(|tool| format!("{}: {}", tool.name, tool.version));
    let versions = format!("Versions: {}.", versions.collect::<Vec<_>>().join(", "));
    writeln!(out, "\n{}\n", wrap("", "", &versions, DOCUMENT_WIDTH).join("\n"))?;
    for row in &findings.experiments {
        let told: Vec<&Cell> = row.cells.iter().filter(|one| needs_words(one)).collect();
        if !told.is_empty() {
            writeln!(out, "- `{}`", row.name)?;
        }
        for one in told {
            let (head, rest) = cell(one);
            let text = format!("{}: {head}: {rest}", one.tool);
            for line in wrap("  - ", "    ", &text, DOCUMENT_WIDTH) {
                writeln!(out, "{line}")?;
            }
        }
    }
    Ok(())
}

fn needs_words(one: &Cell) -> bool {
    !matches!(one.outcome(), None | Some(Judgement::Pass { .. } | Judgement::CannotExpress { .. }))
}

fn markdown_cell(one: &Cell) -> String {
    let (head, _) = cell(one);
    match one.outcome() {
        Some(Judgement::Fail { .. } | Judgement::Broken { .. }) => format!("**{head}**"),
        Some(Judgement::CannotExpress { .. }) => "–".to_owned(),
        _ => head,
    }
}

/// Columns of the list of experiments.
const LISTED_WIDTH: usize = 80;

/// Writes the experiments, a line each, and the names of the testers.
///
/// # Errors
/// Those of `out`.
pub fn list(experiments: &[Experiment], testers: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Vec::new();
    for Experiment { name, row, title, .. } in experiments {
        let first = format!("{name:<20} {row:>2}  ");
        lines.extend(wrap(&first, &" ".repeat(first.len()), title, LISTED_WIDTH));
    }
    lines.push(String::new());
    lines.extend(wrap("testers: ", "  ", &testers.join(", "), LISTED_WIDTH));
    writeln!(out, "{}", lines.join("\n"))
}

/// Writes all that is known of the experiments, as Markdown.
///
/// # Errors
/// Those of `out`.
pub fn describe(experiments: &[Experiment], out: &mut dyn Write) -> io::Result<()> {
    for experiment in experiments {
        let Experiment { name, row, title, .. } = experiment;
        writeln!(out, "### `{name}` (mistake {row})\n\n{title}.\n")?;
        for (label, text) in [
            ("Load", experiment.method),
            ("Truth", experiment.truth),
            ("Tolerance", experiment.tolerance),
        ] {
            for line in wrap("- ", "  ", &format!("**{label}**: {text}."), DOCUMENT_WIDTH) {
                writeln!(out, "{line}")?;
            }
        }
        if experiment.needs_quiet {
            writeln!(out, "- **Machine**: needs a quiet one.")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
