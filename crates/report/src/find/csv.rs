//! The probes of a search as CSV: a row for each, times in seconds, shares from 0 to 1.

use std::io::{self, Write};

use plimsoll_core::find::{Document, Judgement, Report};

use super::words;
use crate::csv::text;

const HEAD: &str = "probe,purpose,rate_rps,settle_s,measure_s,achieved_rps,p50_s,p99_s,outcome,\
                    objective,objective_outcome,value,low,high,limit,server_cpus,elapsed_s";

/// Writes a row for each probe and objective; of a probe that was not measured, one.
///
/// # Errors
/// Those of `out`.
pub fn write(found: &Document, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEAD}")?;
    for (at, probe) in (1..).zip(&found.probes) {
        let plan = &probe.plan;
        let start = [
            at.to_string(),
            text(words::purpose(plan.purpose)),
            number(Some(plan.rate_rps)),
            seconds(plan.settle_ns),
            seconds(plan.measure_ns),
            number(probe.achieved_rps()),
        ];
        write_probe(&start, &probe.report, &probe.judgement, out)?;
    }
    Ok(())
}

/// Writes the rows of a probe whose first cells are given.
pub(super) fn write_probe(
    start: &[String],
    report: &Report,
    judgement: &Judgement,
    out: &mut dyn Write,
) -> io::Result<()> {
    let figures = report.figures.as_ref();
    let time = |ns: Option<u64>| ns.map(seconds).unwrap_or_default();
    let start = [
        start.join(","),
        time(figures.and_then(|it| it.p50_ns)),
        time(figures.and_then(|it| it.p99_ns)),
        words::outcome(judgement.outcome).to_lowercase(),
    ]
    .join(",");
    let end = [number(report.server_cpus), seconds(report.elapsed_ns)].join(",");
    if judgement.findings.is_empty() {
        writeln!(out, "{start},,,,,,,{end}")?;
    }
    for finding in &judgement.findings {
        let about = [
            text(&words::subject(&finding.subject)),
            words::outcome(finding.outcome).to_lowercase(),
            number(Some(finding.value)),
            number(finding.low),
            number(finding.high_with_stalls.or(finding.high)),
            number(Some(finding.limit)),
        ];
        writeln!(out, "{start},{},{end}", about.join(","))?;
    }
    Ok(())
}

pub(super) fn seconds(ns: u64) -> String {
    number(Some(ns as f64 / 1e9))
}

pub(super) fn number(value: Option<f64>) -> String {
    // Nine digits after the point are more than any figure has.
    value.map_or_else(String::new, |value| ((value * 1e9).round() / 1e9).to_string())
}
