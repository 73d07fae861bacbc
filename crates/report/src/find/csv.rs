//! The probes of a search as CSV: a row for each, times in seconds, shares from 0 to 1.

use std::io::{self, Write};

use plimsoll_core::find::Document;

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
        let seconds = |ns: u64| number(Some(ns as f64 / 1e9));
        let figures = probe.report.figures.as_ref();
        let time = |ns: Option<u64>| number(ns.map(|ns| ns as f64 / 1e9));
        let start = [
            at.to_string(),
            text(words::purpose(probe.plan.purpose)),
            number(Some(probe.plan.rate_rps)),
            seconds(probe.plan.settle_ns),
            seconds(probe.plan.measure_ns),
            number(probe.achieved_rps()),
            time(figures.and_then(|it| it.p50_ns)),
            time(figures.and_then(|it| it.p99_ns)),
            words::outcome(probe.judgement.outcome).to_lowercase(),
        ];
        let end = [number(probe.report.server_cpus), seconds(probe.report.elapsed_ns)];
        let (start, end) = (start.join(","), end.join(","));
        if probe.judgement.findings.is_empty() {
            writeln!(out, "{start},,,,,,,{end}")?;
        }
        for finding in &probe.judgement.findings {
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
    }
    Ok(())
}

fn number(value: Option<f64>) -> String {
    // Nine digits after the point are more than any figure has.
    value.map_or_else(String::new, |value| ((value * 1e9).round() / 1e9).to_string())
}
