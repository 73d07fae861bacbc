//! A closed search as a page: the rate against the connections with the law, latency against the
//! connections, and every probe.

use std::io::{self, Write};

use plimsoll_core::find::{ClosedDocument, ClosedProbe, Objective};
use plimsoll_core::units::{counted, format_duration, format_ns, format_rate, format_whole};

use super::words::{HEAD, row, with_residuals};
use crate::find::html::look;
use crate::find::words::{outcome, plain_percent};
use crate::page::chart::{Chart, Line, Mark, curve};
use crate::page::scale::{Axis, rate_name};
use crate::page::table::{Column, Figure, Table, Text, clipped, pairs};

/// Points of the curve of the law.
const LAW_POINTS: u32 = 100;

const RATE_HOW: &str = "A point is a probe: its connections, and the responses per second. The \
    curve is the Universal Scalability Law fitted to all of them: it describes the server and \
    decides nothing.";

const LATENCY_HOW: &str = "A point is a probe: its connections, and the response times that it \
    measured. A closed loop waits for the server, so these times contain no queue in front of it. \
    Latency is logarithmic.";

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn write(found: &ClosedDocument, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page(found).as_bytes())
}

fn page(found: &ClosedDocument) -> String {
    super::cover(found).page(|page| {
        rate(found, page);
        latency(found, page);
        probes(found, page);
        settings(found, page);
    })
}

/// The probes that were measured, by connections.
fn measured(found: &ClosedDocument) -> Vec<(&ClosedProbe, f64)> {
    let with_rate = |probe: &'_ ClosedProbe| probe.achieved_rps();
    let mut measured: Vec<(&ClosedProbe, f64)> =
        found.probes.iter().filter_map(|probe| Some((probe, with_rate(probe)?))).collect();
    measured.sort_by_key(|(probe, _)| probe.plan.connections);
    measured
}

/// An axis of the connections of all probes.
fn connections(found: &ClosedDocument) -> Axis {
    let most = found.probes.iter().map(|probe| probe.plan.connections).max().unwrap_or(1);
    Axis::from_zero(f64::from(most), format_whole)
}

/// The numbers that the answer is about.
fn uprights<'a>(found: &ClosedDocument, x: &Axis) -> Vec<Line<'a>> {
    let answer = &found.answer;
    let upright = |(count, class, name): (Option<u32>, &'static str, &'a str)| {
        let at = x.at(f64::from(count?));
        Some(Line { class, name, path: curve(&[(at, 0.0), (at, 1.0)]) })
    };
    let both = [
        (answer.connections, "f-line", "meet the objectives"),
        (answer.fails_connections, "f-fails", "do not"),
    ];
    both.into_iter().filter_map(upright).collect()
}

fn rate(found: &ClosedDocument, page: &mut String) {
    let measured = measured(found);
    if measured.is_empty() {
        return;
    }
    let x = connections(found);
    let highest = measured.iter().map(|(_, rps)| *rps).fold(0.0, f64::max);
    let y = Axis::from_zero(highest, rate_name);
    let most = measured.last().map_or(1, |(probe, _)| probe.plan.connections);
    let law = found.answer.usl.as_ref().map(|usl| {
        let at = |i: u32| {
            let count = 1.0 + f64::from(most - 1) * f64::from(i) / f64::from(LAW_POINTS);
            (x.at(count), y.at(usl.rate_rps(count)))
        };
        let path = curve(&(0..=LAW_POINTS).map(at).collect::<Vec<_>>());
        Line { class: "f-p50", name: "by the law", path }
    });
    let mark = |(probe, rps): &(&ClosedProbe, f64)| Mark {
        at: (x.at(f64::from(probe.plan.connections)), y.at(*rps)),
        look: look(probe.judgement.outcome),
        title: title(probe, &format!("{}/s", format_rate(*rps))),
    };
    let chart = Chart {
        id: "rate",
        group: None,
        title: "Rate against connections",
        description: format!(
            "Responses per second against the number of connections, {}. The values are in the \
             table of probes.",
            counted(measured.len() as u64, "probe")
        ),
        how: RATE_HOW,
        x: &x,
        y: &y,
        lines: law.into_iter().chain(uprights(found, &x)).collect(),
        marks: measured.iter().map(mark).collect(),
        band_name: "",
        bands: Vec::new(),
        low: false,
    };
    page.push_str("<section>\n");
    chart.write(page);
    page.push_str("</section>\n");
}

fn latency(found: &ClosedDocument, page: &mut String) {
    let measured = measured(found);
    let p99 = |probe: &ClosedProbe| probe.report.figures.as_ref()?.p99_ns;
    let points: Vec<(&ClosedProbe, u64)> =
        measured.iter().filter_map(|(probe, _)| Some((*probe, p99(probe)?))).collect();
    let limits: Vec<(&str, u64)> = found
        .objectives
        .iter()
        .filter_map(|text| Some((text.as_str(), Objective::parse(text).ok()?.time_limit_ns()?)))
        .collect();
    let all = || points.iter().map(|(_, ns)| *ns).chain(limits.iter().map(|(_, ns)| *ns));
    if points.is_empty() {
        return;
    }
    let x = connections(found);
    let y = Axis::durations(all().min().unwrap_or(1), all().max().unwrap_or(1));
    let limit = |ns: u64| curve(&[(0.0, y.at(ns as f64)), (1.0, y.at(ns as f64))]);
    let mut lines: Vec<Line<'_>> =
        limits.iter().map(|(name, ns)| Line { class: "f-limit", name, path: limit(*ns) }).collect();
    let at = |(probe, ns): &(&ClosedProbe, u64)| {
        (x.at(f64::from(probe.plan.connections)), y.at(*ns as f64))
    };
    let path = curve(&points.iter().map(at).collect::<Vec<_>>());
    lines.push(Line { class: "f-p99", name: "p99", path });
    lines.extend(uprights(found, &x));
    let mark = |point: &(&ClosedProbe, u64)| Mark {
        at: at(point),
        look: look(point.0.judgement.outcome),
        title: title(point.0, &format!("p99 {}", format_ns(point.1))),
    };
    let chart = Chart {
        id: "latency",
        group: None,
        title: "Latency against connections",
        description: format!(
            "99th percentile of the response time in logarithmic scale against the number of \
             connections, {}.",
            counted(points.len() as u64, "probe")
        ),
        how: LATENCY_HOW,
        x: &x,
        y: &y,
        lines,
        marks: points.iter().map(mark).collect(),
        band_name: "",
        bands: Vec::new(),
        low: false,
    };
    page.push_str("<section>\n");
    chart.write(page);
    page.push_str("</section>\n");
}

fn title(probe: &ClosedProbe, what: &str) -> String {
    let connections = counted(probe.plan.connections.into(), "connection");
    format!("{connections}: {what}, {}", outcome(probe.judgement.outcome))
}

fn probes(found: &ClosedDocument, page: &mut String) {
    let columns: [Column; 10] =
        [Text, Text, Figure, Figure, Figure, Figure, Figure, Figure, Text, Text];
    let mut head: Vec<(&str, Column)> = HEAD.into_iter().zip(columns).collect();
    head.push(("notes", Text));
    let rows = (1..).zip(with_residuals(found)).map(|(number, (probe, residual))| {
        let mut row = row(number, probe, residual).to_vec();
        row.push(clipped(probe.report.tester.as_deref().unwrap_or_default()));
        row
    });
    let rows = rows.collect();
    page.push_str("<section>\n");
    Table { caption: "Probes", head: &head, rows, note: "" }.write(page);
    page.push_str("</section>\n");
}

fn settings(found: &ClosedDocument, page: &mut String) {
    let settings = &found.settings;
    let rows = vec![
        ("objectives", found.objectives.join(", ")),
        ("connections", format!("1 to {}", settings.max_connections)),
        ("step", plain_percent(settings.step - 1.0)),
        ("confidence", plain_percent(settings.confidence)),
        ("settle", format_duration(settings.settle_ns)),
        ("quick probes", format_duration(settings.quick_ns)),
        ("holds", format_duration(settings.hold_ns)),
        ("budget", settings.budget_ns.map_or_else(|| "none".to_owned(), format_duration)),
    ];
    page.push_str("<section>\n<h2>How it was measured</h2>\n<div class=\"tables\">\n");
    pairs("The search", rows, page);
    page.push_str("</div>\n");
    crate::page::host(&found.environment, page);
    page.push_str("</section>\n");
}
