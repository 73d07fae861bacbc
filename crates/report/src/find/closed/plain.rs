//! A closed search as text, Markdown and CSV.

use std::io::{self, Write};

use plimsoll_core::find::{ClosedDocument, Outcome};

use super::words::{HEAD, purpose, row, with_residuals};
use crate::csv::text;
use crate::find::csv::{number, seconds, write_probe};
use crate::markdown::escape::prose;
use crate::text::table::table;
use crate::text::{Style, write_blocks};

/// Writes the report for a screen.
///
/// # Errors
/// Those of `out`.
pub fn write_text(found: &ClosedDocument, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let cover = super::cover(found);
    write_blocks(&[cover.answer(style), cover.load(style), probes(found, style)], out)
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
    super::cover(found).write_markdown(out)?;
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
        let plan = &probe.plan;
        let start = [
            at.to_string(),
            text(purpose(plan.purpose)),
            plan.connections.to_string(),
            seconds(plan.settle_ns),
            seconds(plan.measure_ns),
            number(probe.achieved_rps()),
            number(residual),
        ];
        write_probe(&start, &probe.report, &probe.judgement, out)?;
    }
    Ok(())
}
