//! The report on one screen: as wide as the terminal, at most 100 columns, and about 30 lines for a
//! run without surprises.
//!
//! The answer comes first (see `answer`), then one line of how sure it is. What makes it unsure is
//! behind the numbers. Each quantile is shown with the number of samples that are slower. A
//! quantile with fewer than ten is marked; one with none is left out, because it would repeat the
//! maximum. If the load changed during the run, each stage comes before the figures of the whole,
//! which no single load had.

mod metrics;
mod rest;
mod scenarios;
pub(crate) mod table;
mod times;

use std::io::{self, Write};

use plimsoll_core::RunResult;
use plimsoll_core::doubt::Figure;
use plimsoll_core::units::{format_count, format_ns, format_rate};
use plimsoll_core::verdict::Cause;

use crate::advice::advice;
use crate::answer::{Answer, color_of, without_rate};
use crate::doubts::Reasons;
use crate::facts::{self, load_words, printable};
use crate::parts::CHANGES_SHOWN;
use crate::tail;
pub use table::wrap;
use table::{LABEL, WIDTH, beside, labelled, wrap_within};

/// Narrower than this no table of times is.
const WIDTH_MIN: usize = 60;

/// How to write a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether verdict and errors are coloured with terminal escapes; nothing else differs.
    pub color: bool,
    /// The columns there are. A line takes 100 at most, and 60 where there are fewer.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Self { color: false, width: WIDTH }
    }
}

impl Style {
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn columns(self) -> usize {
        self.width.clamp(WIDTH_MIN, WIDTH)
    }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let width = style.columns();
    let blocks = [
        answer(result, style),
        plan(result, width),
        rest::gates(result, style),
        scenarios::scenarios(result, style),
        times::stages(result, style),
        beside(&requests(result, style), &rates(result), width),
        times::times(result, style),
        metrics::metrics(result, style),
        rest::rest(result, style),
        doubts(&result.loader.causes, style),
    ];
    write_blocks(&blocks, out)
}

/// Writes blocks with a line between them, but those with nothing in them.
pub(crate) fn write_blocks(blocks: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    let blocks: Vec<String> =
        blocks.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    writeln!(out, "{}", blocks.join("\n\n"))
}

/// Writes the answer alone, and what makes it unsure.
///
/// # Errors
/// Those of `out`.
pub fn write_answer(result: &RunResult, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let mut lines = answer(result, style);
    lines.extend(doubts(&result.loader.causes, style));
    writeln!(out, "{}", lines.join("\n"))
}

/// What a reader sees first.
fn answer(result: &RunResult, style: Style) -> Vec<String> {
    let answer = Answer::of(result);
    let mut lines = headline(&answer, style);
    for text in facts::caveats(result) {
        lines.extend(wrap("- ", "  ", &printable(&text), style.columns()));
    }
    lines
}

/// The answer, the figures behind it and how sure they are, each with a colour of its own.
pub(crate) fn headline(answer: &Answer, style: Style) -> Vec<String> {
    let wrapped = |text: &str| wrap("", "  ", &printable(text), style.columns());
    let lead = wrapped(&answer.lead);
    let mut lines: Vec<String> =
        lead.iter().map(|line| style.paint(answer.look.color(), line)).collect();
    lines.extend(answer.behind.iter().flat_map(|text| wrapped(text)));
    let sure = wrapped(&format!("confidence: {}", answer.sureness()));
    let color = color_of(answer.confidence.verdict);
    lines.extend(sure.iter().map(|line| style.paint(color, line)));
    lines
}

/// Each cause of doubt and each note once, and the command that says more.
pub(crate) fn doubts<'c>(
    causes: impl IntoIterator<Item = &'c Cause> + Clone,
    style: Style,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (label, texts) in Reasons::of(causes.clone()).groups() {
        lines.extend(reasons(label, &texts, style));
    }
    if let Some(command) = facts::explain_command(causes) {
        let line = printable(&format!("what this means: {command}"));
        let room = " ".repeat(LABEL);
        lines.extend(wrap(&room, &room, &line, style.columns()));
    }
    lines
}

/// Texts behind a label, a point each.
fn reasons(label: &str, texts: &[String], style: Style) -> Vec<String> {
    let width = style.columns() - LABEL;
    let points = texts.iter().flat_map(|text| wrap("- ", "  ", &printable(text), width));
    labelled(label, &points.collect::<Vec<String>>())
}

/// Lines that a request may take, whose URL may be of any length.
const REQUEST_LINES: usize = 3;

/// One line where it fits, else the request and the load on their own.
pub(crate) fn plan(result: &RunResult, width: usize) -> Vec<String> {
    let request = printable(&facts::subject(result));
    let load = printable(&load_words(result).join(" · "));
    if request.chars().count() + 3 + load.chars().count() <= width {
        return vec![format!("{request} · {load}")];
    }
    let mut lines = wrap_within(("", "  "), &request, width, REQUEST_LINES);
    lines.extend(wrap("", "", &load, width));
    lines
}

fn requests(result: &RunResult, style: Style) -> Vec<String> {
    let ledger = &result.ledger;
    let row = |name: &str, count: u64, others: &[(u64, &str)]| {
        let others: Vec<String> = others
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{} {word}", format_count(*count)))
            .collect();
        let line = format!("{name:<9} {:>11}", format_count(count));
        match others.join(", ") {
            others if others.is_empty() => line,
            others => format!("{line}   {}", style.bad(&others)),
        }
    };
    let mut lines = [
        row("scheduled", ledger.scheduled, &[]),
        row("sent", ledger.sent, &[(ledger.unsent, "unsent"), (ledger.shed, "shed")]),
        row(
            "completed",
            ledger.completed,
            &[
                (ledger.refused, "refused"),
                (ledger.timed_out, "timed out"),
                (ledger.broken, "broken"),
                (ledger.unfinished, "unfinished"),
            ],
        ),
        row("ok", ledger.ok, &[(ledger.failed, "failed")]),
    ];
    if ledger.redirects > 0 {
        lines[0] += &format!("   {} after redirects", format_count(ledger.redirects));
    }
    if ledger.resent > 0 {
        lines[1] += &format!("   {} sent again", format_count(ledger.resent));
    }
    let mut block = labelled("Requests", &lines);
    block.extend(iterations(result));
    block
}

/// What became of the iterations, where they are counted.
fn iterations(result: &RunResult) -> Vec<String> {
    let rows = crate::iterations::rows(result).into_iter();
    rows.enumerate()
        .map(|(at, (name, words))| match at {
            0 => format!("{name} {words}"),
            _ => format!("  {name} {words}"),
        })
        .collect()
}

fn rates(result: &RunResult) -> Vec<String> {
    let rate = &result.rate;
    let mut lines = Vec::new();
    let mut row = |name: &str, rate: String| {
        let label = if lines.is_empty() { "Rate" } else { "" };
        lines.push(format!("{label:<6}{name:<8} {rate:>11}/s"));
    };
    if let Some(target_rps) = rate.target_rps {
        row("target", format_rate(target_rps));
    }
    for change in rate.changes.iter().take(CHANGES_SHOWN) {
        row(&format!("@{}", format_ns(change.at_ns)), format_rate(change.rps));
    }
    if without_rate(result).is_none() {
        row("offered", tail::rate(Figure::Offered, result, rate.offered_rps));
        row("achieved", tail::rate(Figure::Achieved, result, rate.achieved_rps));
        if let Some(to_last_rps) = facts::rate_to_last(result) {
            row("to last", tail::rate(Figure::Achieved, result, to_last_rps));
        }
    }
    let label = if lines.is_empty() { "Rate" } else { "" };
    let none = without_rate(result).map(|_| "   no rate: too short or too few").unwrap_or_default();
    let elapsed = format_ns(result.elapsed_ns);
    lines.push(format!("{label:<6}{:<8} {elapsed:>11}{none}", "in"));
    lines.extend(facts::averaged(result).map(|over| format!("{:<6}averaged {over}", "")));
    lines
}

#[cfg(test)]
mod tests;
