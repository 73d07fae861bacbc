//! A search as a page: one file that needs nothing else, offline, on screen and on paper.
//!
//! Latency against rate comes first, with the line, the rate shown not to meet the objectives, the
//! most responses and the knee. Then each objective has its figure against the rate, with the
//! bounds that decide. The table has every probe.

use std::io::{self, Write};

use plimsoll_core::find::{Document, Finding, Outcome, Probe, Subject};
use plimsoll_core::units::{counted, format_ns, format_rate};

use super::words::{self, HEAD};
use crate::page::chart::{Chart, Line, Look, Mark, curve};
use crate::page::scale::{Axis, percent_name, rate_name};
use crate::page::table::{Column, Figure, Table, Text, clipped, pairs};

/// Objectives that have a chart.
const CHARTS_MAX: usize = 4;

/// How far above its limit a share is drawn: what lies higher stands at the edge.
const LIMITS_SHOWN: f64 = 3.0;

const LATENCY_HOW: &str = "A point is a probe: its rate, and the response times that it measured. \
    Probes directly after an overload are left out. The knee is where the curve bends, within the \
    rates that were measured: it is shown and decides nothing. Latency is logarithmic.";

const SHARE_HOW: &str = "A bar reaches from the lower to the upper bound of a probe. A probe \
    passes when its whole bar is below the limit, and fails when it is above. A point without a bar \
    is of a quick probe, which decides nothing. What lies beyond the axis stands at its end.";

const CIRCLE: &str = "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0";
const SQUARE: &str = "M-4 -4H4V4H-4Z";
const CROSS: &str = "M-5 -3L-3 -5L0 -2L3 -5L5 -3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z";
const DIAMOND: &str = "M0 -6L5 0L0 6L-5 0Z";

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn write(found: &Document, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page(found).as_bytes())
}

fn page(found: &Document) -> String {
    super::cover(found).page(|page| {
        latency(found, page);
        objectives(found, page);
        probes(found, page);
        settings(found, page);
    })
}

/// The probes that say how the server usually is, by rate.
fn usual(found: &Document) -> Vec<&Probe> {
    let is_usual =
        |probe: &&Probe| !probe.plan.purpose.follows_overload() && probe.report.figures.is_some();
    let mut usual: Vec<&Probe> = found.probes.iter().filter(is_usual).collect();
    usual.sort_by(|a, b| a.plan.rate_rps.total_cmp(&b.plan.rate_rps));
    usual
}

/// An axis of the rates of all probes.
fn rates(found: &Document) -> Axis {
    let rates = found.probes.iter().map(|probe| probe.plan.rate_rps);
    Axis::from_zero(rates.fold(0.0, f64::max), rate_name)
}

fn latency(found: &Document, page: &mut String) {
    let usual = usual(found);
    let times = |of: fn(&Probe) -> Option<u64>| -> Vec<(&Probe, u64)> {
        usual.iter().filter_map(|probe| Some((*probe, of(probe)?))).collect()
    };
    let p50 = times(|probe| probe.report.figures.as_ref()?.p50_ns);
    let p99 = times(|probe| probe.report.figures.as_ref()?.p99_ns);
    let all = || p50.iter().chain(&p99).map(|(_, ns)| *ns);
    let (Some(lowest_ns), Some(highest_ns)) = (all().min(), all().max()) else { return };
    let limits_ns = || found.objectives.iter().filter_map(|text| limit_ns(text));
    let (x, y) = (
        rates(found),
        Axis::durations(
            limits_ns().fold(lowest_ns, u64::min),
            limits_ns().fold(highest_ns, u64::max),
        ),
    );
    let path = |points: &[(&Probe, u64)]| {
        let at = |(probe, ns): &(&Probe, u64)| (x.at(probe.plan.rate_rps), y.at(*ns as f64));
        curve(&points.iter().map(at).collect::<Vec<_>>())
    };
    let limit = |ns: u64| curve(&[(0.0, y.at(ns as f64)), (1.0, y.at(ns as f64))]);
    let mut lines: Vec<Line<'_>> = (found.objectives.iter())
        .filter_map(|text| {
            Some(Line { class: "f-limit", name: text, path: limit(limit_ns(text)?) })
        })
        .collect();
    lines.push(Line { class: "f-p50", name: "p50", path: path(&p50) });
    lines.push(Line { class: "f-p99", name: "p99", path: path(&p99) });
    lines.extend(uprights(found, &x));
    let mark = |(probe, ns): &(&Probe, u64)| Mark {
        at: (x.at(probe.plan.rate_rps), y.at(*ns as f64)),
        look: look(probe.judgement.outcome),
        title: title(probe, &format!("p99 {}", format_ns(*ns))),
    };
    let chart = Chart {
        id: "latency",
        group: None,
        title: "Latency against rate",
        description: format!(
            "Median and 99th percentile of the response time in logarithmic scale against the \
             rate, {}. The values are in the table of probes.",
            counted(usual.len() as u64, "probe")
        ),
        how: LATENCY_HOW,
        x: &x,
        y: &y,
        lines,
        marks: p99.iter().map(mark).collect(),
        band_name: "",
        bands: Vec::new(),
        low: false,
    };
    page.push_str("<section>\n");
    chart.write(page);
    page.push_str("</section>\n");
}

/// The limit on single times of an objective, ns.
fn limit_ns(objective: &str) -> Option<u64> {
    plimsoll_core::find::Objective::parse(objective).ok()?.time_limit_ns()
}

/// The rates that the answer is about.
fn uprights<'a>(found: &Document, x: &Axis) -> Vec<Line<'a>> {
    let answer = &found.answer;
    let upright = |(rps, class, name): (Option<f64>, &'static str, &'a str)| {
        let at = x.at(rps?);
        Some(Line { class, name, path: curve(&[(at, 0.0), (at, 1.0)]) })
    };
    [
        (answer.rate_rps, "f-line", "meets the objectives"),
        (answer.fails_rps, "f-fails", "does not"),
        (answer.knee_rps, "f-knee", "knee, about"),
        (answer.saturation_rps, "f-most", "most responses"),
    ]
    .into_iter()
    .filter_map(upright)
    .collect()
}

/// Each objective against the rate.
fn objectives(found: &Document, page: &mut String) {
    let usual = usual(found);
    let x = rates(found);
    page.push_str("<section>\n<h2>What decides</h2>\n");
    for (number, objective) in found.objectives.iter().take(CHARTS_MAX).enumerate() {
        let about = |probe: &&Probe| {
            let is_it = |it: &&Finding| it.subject == Subject::Objective(objective.clone());
            probe.judgement.findings.iter().find(is_it).cloned()
        };
        let findings: Vec<(&Probe, Finding)> =
            usual.iter().filter_map(|probe| Some((*probe, about(probe)?))).collect();
        let Some(limit) = findings.first().map(|(_, finding)| finding.limit) else { continue };
        let is_mean =
            plimsoll_core::find::Objective::parse(objective).is_ok_and(|it| !it.is_share());
        let name = if is_mean { |s: f64| format_ns((s * 1e9) as u64) } else { percent_name };
        let y = Axis::from_zero(LIMITS_SHOWN * limit, name);
        let mut lines = Vec::new();
        for (probe, finding) in &findings {
            let (Some(low), Some(high)) = (finding.low, finding.high) else { continue };
            let high = finding.high_with_stalls.unwrap_or(high);
            let (at, class) = (x.at(probe.plan.rate_rps), look(finding.outcome).class);
            lines.push(Line { class, name: "", path: curve(&[(at, y.at(low)), (at, y.at(high))]) });
        }
        let across = curve(&[(0.0, y.at(limit)), (1.0, y.at(limit))]);
        lines.push(Line { class: "f-limit", name: "limit", path: across });
        let ends = uprights(found, &x).into_iter();
        lines.extend(ends.filter(|line| ["f-line", "f-fails"].contains(&line.class)));
        let mark = |(probe, finding): &(&Probe, Finding)| Mark {
            at: (x.at(probe.plan.rate_rps), y.at(finding.value)),
            look: look(finding.outcome),
            title: title(probe, &words::finding(finding)),
        };
        let chart = Chart {
            id: &format!("objective-{number}"),
            group: None,
            title: objective,
            description: format!(
                "What speaks against {objective}, with its bounds, against the rate, {}.",
                counted(findings.len() as u64, "probe")
            ),
            how: if number == 0 { SHARE_HOW } else { "" },
            x: &x,
            y: &y,
            lines,
            marks: findings.iter().map(mark).collect(),
            band_name: "",
            bands: Vec::new(),
            low: false,
        };
        chart.write(page);
    }
    page.push_str("</section>\n");
}

fn title(probe: &Probe, what: &str) -> String {
    let outcome = words::outcome(probe.judgement.outcome);
    format!("{}/s: {what}, {outcome}", format_rate(probe.plan.rate_rps))
}

/// Colour and shape by outcome, so that readers need not rely on one of the two.
pub(super) fn look(outcome: Outcome) -> Look {
    let (class, shape) = match outcome {
        Outcome::Pass => ("f-pass", CIRCLE),
        Outcome::Unclear => ("f-unclear", SQUARE),
        Outcome::Fail => ("f-fail", CROSS),
        Outcome::NotMeasured => ("f-none", DIAMOND),
    };
    Look { class, shape }
}

fn probes(found: &Document, page: &mut String) {
    let columns: [Column; 8] = [Text, Text, Figure, Figure, Figure, Figure, Text, Text];
    let mut head: Vec<(&str, Column)> = HEAD.into_iter().zip(columns).collect();
    head.push(("notes", Text));
    let rows = (1..).zip(&found.probes).map(|(number, probe)| {
        let mut row = words::row(number, probe).to_vec();
        row.push(clipped(&words::notes(probe).join("; ")));
        row
    });
    let rows = rows.collect();
    page.push_str("<section>\n");
    Table { caption: "Probes", head: &head, rows, note: "" }.write(page);
    page.push_str("</section>\n");
}

fn settings(found: &Document, page: &mut String) {
    let settings = &found.settings;
    let seconds = plimsoll_core::units::format_duration;
    let per_second = |rps: f64| format!("{}/s", format_rate(rps));
    let rows = vec![
        ("objectives", found.objectives.join(", ")),
        ("from", per_second(settings.from_rps)),
        (
            "between",
            format!("{} and {}", per_second(settings.min_rps), per_second(settings.max_rps)),
        ),
        ("step", words::plain_percent(settings.step - 1.0)),
        ("confidence", words::plain_percent(settings.confidence)),
        ("settle", seconds(settings.settle_ns)),
        ("quick probes", seconds(settings.quick_ns)),
        ("holds", seconds(settings.hold_ns)),
        ("sustained for", seconds(settings.sustain_ns)),
        ("budget", settings.budget_ns.map_or_else(|| "none".to_owned(), seconds)),
    ];
    page.push_str("<section>\n<h2>How it was measured</h2>\n<div class=\"tables\">\n");
    pairs("The search", rows, page);
    page.push_str("</div>\n");
    crate::page::host(&found.environment, page);
    page.push_str("</section>\n");
}
