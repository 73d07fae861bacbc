//! The report on one screen: as wide as the terminal, at most 100 columns, and about 30 lines for a
//! run without surprises.
//!
//! The verdict comes first, because it tells how to read the rest. Beside it is whether the gates
//! were met: the verdict is about the measurement, the gates about the server. Each quantile is
//! shown with the number of samples beyond it. A quantile with fewer than ten is marked; one with
//! none is left out, because it would repeat the maximum. If the load changed during the run, each
//! stage comes before the figures of the whole, which no single load had.

mod metrics;
mod rest;
mod scenarios;
pub(crate) mod table;
mod times;

use std::io::{self, Write};

use plimsoll_core::RunResult;
use plimsoll_core::units::{format_count, format_ns, format_rate};
use plimsoll_core::verdict::{Cause, Verdict};

use crate::advice::advice;
use crate::facts::{self, load_words, printable};
use crate::parts::CHANGES_SHOWN;
pub use table::wrap;
use table::{WIDTH, beside, labelled, wrap_within};

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
        verdict(result, style),
        plan(result, width),
        rest::gates(result, style),
        scenarios::scenarios(result, style),
        times::stages(result, style),
        beside(&requests(result, style), &rates(result), width),
        times::times(result, style),
        metrics::metrics(result, style),
        rest::rest(result, style),
    ];
    write_blocks(&blocks, out)
}

/// Writes blocks with a line between them, but those with nothing in them.
pub(crate) fn write_blocks(blocks: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    let blocks: Vec<String> =
        blocks.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    writeln!(out, "{}", blocks.join("\n\n"))
}

/// Writes what comes first alone: the verdict and its causes.
///
/// # Errors
/// Those of `out`.
pub fn write_verdict(result: &RunResult, out: &mut dyn Write, style: Style) -> io::Result<()> {
    writeln!(out, "{}", verdict(result, style).join("\n"))
}

fn verdict(result: &RunResult, style: Style) -> Vec<String> {
    let standing = facts::standing(result);
    let first = (result.loader.verdict, standing.as_ref());
    let mut lines = headline(first, &facts::sentence(result), style);
    let causes = result.loader.causes.iter().map(|cause| cause.text.clone());
    for text in causes.chain(facts::caveats(result)) {
        lines.extend(wrap("- ", "  ", &printable(&text), style.columns()));
    }
    lines.extend(explains(&result.loader.causes, style));
    lines
}

/// The command that says more about the causes, if there are any.
pub(crate) fn explains<'a>(
    causes: impl IntoIterator<Item = &'a Cause>,
    style: Style,
) -> Vec<String> {
    let Some(command) = facts::explain_command(causes) else { return Vec::new() };
    let line = printable(&format!("what this means: {command}"));
    wrap("  ", "  ", &line, style.columns())
}

/// The verdict with what came of the conditions, what it means, and the rate. No word is green if a
/// condition was not met.
pub(crate) fn headline(
    (verdict, standing): (Verdict, Option<&facts::Standing>),
    sentence: &str,
    style: Style,
) -> Vec<String> {
    let is_met = standing.is_none_or(|standing| standing.is_met);
    let color = match verdict {
        Verdict::Valid if is_met => "1;32",
        Verdict::Valid => "1",
        Verdict::Suspect => "1;33",
        Verdict::Invalid => "1;31",
    };
    let name = verdict.name().to_uppercase();
    let words = standing.map(|standing| standing.words.to_uppercase());
    let plain = words.iter().fold(name.clone(), |plain, words| format!("{plain}, {words}"));
    let mut lines = wrap(&format!("{plain} · "), "  ", sentence, style.columns());
    let mut painted = style.paint(color, &name);
    if let Some(words) = &words {
        painted += &format!(", {}", style.paint(if is_met { "1;32" } else { "1;31" }, words));
    }
    if let Some(first) = lines.first_mut() {
        let rest = first.strip_prefix(&plain).unwrap_or_default().to_owned();
        *first = painted + &rest;
    }
    lines
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
    let mut row = |name: &str, rps| {
        let label = if lines.is_empty() { "Rate" } else { "" };
        lines.push(format!("{label:<6}{name:<8} {:>11}/s", format_rate(rps)));
    };
    if let Some(target_rps) = rate.target_rps {
        row("target", target_rps);
    }
    for change in rate.changes.iter().take(CHANGES_SHOWN) {
        row(&format!("@{}", format_ns(change.at_ns)), change.rps);
    }
    row("offered", rate.offered_rps);
    row("achieved", rate.achieved_rps);
    if let Some(to_last_rps) = facts::rate_to_last(result) {
        row("to last", to_last_rps);
    }
    lines.push(format!("{:<6}{:<8} {:>11}", "", "in", format_ns(result.elapsed_ns)));
    lines.extend(facts::averaged(result).map(|over| format!("{:<6}averaged {over}", "")));
    lines
}

#[cfg(test)]
mod tests;
