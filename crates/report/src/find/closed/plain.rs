//! A closed search as text, Markdown and CSV.

use std::io::{self, Write};

use plimsoll_core::find::{ClosedDocument, Outcome};
use plimsoll_core::verdict::Verdict;

use super::words::{HEAD, headline, purpose, remarks, row, search_words, with_residuals};
use crate::csv::text;
use crate::facts::{printable, request_words};
use crate::find::words::{outcome, subject};
use crate::markdown::escape::{code, prose};
use crate::text::table::{table, wrap};
use crate::text::{Style, write_blocks};

/// Writes the report for a screen.
///
/// # Errors
/// Those of `out`.
pub fn write_text(found: &ClosedDocument, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let mut load = wrap("", "  ", &printable(&request_words(&found.plan)), style.columns());
    load.extend(wrap("", "", &search_words(found).join(" · "), style.columns()));
    write_blocks(&[head(found, style), load, probes(found, style)], out)
}

fn head(found: &ClosedDocument, style: Style) -> Vec<String> {
    let (look, word, sentence) = headline(found);
    let color = match look {
        Verdict::Valid => "1;32",
        Verdict::Suspect => "1;33",
        Verdict::Invalid => "1;31",
    };
    let word = word.to_uppercase();
    let mut lines = wrap(&format!("{word} · "), "  ", &printable(&sentence), style.columns());
    if let Some(first) = lines.first_mut() {
        let rest = first.strip_prefix(&word).unwrap_or_default().to_owned();
        *first = style.paint(color, &word) + &rest;
    }
    for text in remarks(found) {
        lines.extend(wrap("- ", "  ", &printable(&text), style.columns()));
    }
    lines
}

fn probes(found: &ClosedDocument, style: Style) -> Vec<String> {
    if found.probes.is_empty() {
        return Vec::new();
    }
    // What decides is words, and of any length: the page and Markdown have it.
    let short = |row: [String; 10]| {
        let [number, probe, connections, rate, residual, _, p50, p99, _, outcome] = row;
        vec![format!("{number:>2} {probe}"), connections, rate, residual, p50, p99, outcome]
    };
    let [_, probe, connections, rate, residual, _, p50, p99, _, outcome] = HEAD.map(str::to_owned);
    let mut rows =
        vec![vec![format!("   {probe}"), connections, rate, residual, p50, p99, outcome]];
    let with = with_residuals(found);
    rows.extend((1..).zip(&with).map(|(i, (probe, residual))| short(row(i, probe, *residual))));
    let paint = |(i, line): (usize, String)| {
        let probe = i.checked_sub(1).and_then(|i| found.probes.get(i));
        match probe.is_some_and(|it| it.judgement.outcome == Outcome::Fail) {
            true => style.bad(&line),
            false => line,
        }
    };
    table(&rows, 1, style.columns()).into_iter().enumerate().map(paint).collect()
}

/// Writes the report in Markdown.
///
/// # Errors
/// Those of `out`.
pub fn write_markdown(found: &ClosedDocument, out: &mut dyn Write) -> io::Result<()> {
    let (_, word, sentence) = headline(found);
    writeln!(out, "## {}: {}\n", prose(&word.to_uppercase()), prose(&sentence))?;
    for text in remarks(found) {
        writeln!(out, "- {}", prose(&text))?;
    }
    let words = search_words(found).join(" · ");
    writeln!(out, "\n{} · {}\n", code(&request_words(&found.plan)), prose(&words))?;
    writeln!(out, "| {} |", HEAD.join(" | "))?;
    writeln!(out, "|{}", " --- |".repeat(HEAD.len()))?;
    for (number, (probe, residual)) in (1..).zip(with_residuals(found)) {
        let cells = row(number, probe, residual).map(|cell| prose(&cell));
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

const CSV_HEAD: &str = "probe,purpose,connections,settle_s,measure_s,achieved_rps,off_the_law,\
                        p50_s,p99_s,outcome,objective,objective_outcome,value,low,high,limit,\
                        server_cpus,elapsed_s";

/// Writes the probes as CSV: a row for each probe and objective; of a probe that was not measured,
/// one.
///
/// # Errors
/// Those of `out`.
pub fn write_csv(found: &ClosedDocument, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{CSV_HEAD}")?;
    for (at, (probe, residual)) in (1..).zip(with_residuals(found)) {
        let seconds = |ns: u64| number(Some(ns as f64 / 1e9));
        let figures = probe.report.figures.as_ref();
        let time = |ns: Option<u64>| number(ns.map(|ns| ns as f64 / 1e9));
        let start = [
            at.to_string(),
            text(purpose(probe.plan.purpose)),
            probe.plan.connections.to_string(),
            seconds(probe.plan.settle_ns),
            seconds(probe.plan.measure_ns),
            number(probe.achieved_rps()),
            number(residual),
            time(figures.and_then(|it| it.p50_ns)),
            time(figures.and_then(|it| it.p99_ns)),
            outcome(probe.judgement.outcome).to_lowercase(),
        ];
        let end = [number(probe.report.server_cpus), seconds(probe.report.elapsed_ns)];
        let (start, end) = (start.join(","), end.join(","));
        if probe.judgement.findings.is_empty() {
            writeln!(out, "{start},,,,,,,{end}")?;
        }
        for finding in &probe.judgement.findings {
            let about = [
                text(&subject(&finding.subject)),
                outcome(finding.outcome).to_lowercase(),
                number(Some(finding.value)),
                number(finding.low),
                number(finding.high),
                number(Some(finding.limit)),
            ];
            writeln!(out, "{start},{},{end}", about.join(","))?;
        }
    }
    Ok(())
}

fn number(value: Option<f64>) -> String {
    // Nine digits after the point are more than any figure has.
    value.map_or_else(String::new, |value| ((value * 1e9).round() / 1e9).to_string())
}
