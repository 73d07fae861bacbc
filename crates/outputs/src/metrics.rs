//! The metrics that receivers of counters, gauges and histograms get: names, types, words and
//! labels. Prometheus' formats and OTLP are written from this.
//!
//! Base units, and no label with a URL: a label has few values, or one for each run.

use std::borrow::Cow;

use plimsoll_core::Histogram;
use plimsoll_core::live::RunPart;

use crate::figures::{Figures, outcomes};

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Counter,
    Gauge,
    Histogram,
    /// 1, with what is known in its labels.
    Info,
}

/// A metric with its samples.
#[derive(Debug)]
pub(crate) struct Family<'a> {
    /// Without what a format adds for its type, such as `_total`.
    pub name: &'static str,
    pub help: &'static str,
    pub unit: Option<&'static str>,
    pub kind: Type,
    pub samples: Vec<Sample<'a>>,
}

/// One value and what tells it from others of its family.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    pub labels: Vec<(&'static str, Cow<'a, str>)>,
    pub value: Value<'a>,
}

/// A number, or durations in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Number(f64),
    Times(&'a Histogram),
}

/// All parts of a run.
const PARTS: [RunPart; 4] =
    [RunPart::Opening, RunPart::WarmUp, RunPart::Measuring, RunPart::Draining];

/// All verdicts.
const VERDICTS: [&str; 3] = ["valid", "suspect", "invalid"];

/// The samples of a metric with one value.
pub(crate) fn plain(value: f64) -> Vec<Sample<'static>> {
    vec![Sample { labels: Vec::new(), value: Value::Number(value) }]
}

fn labelled<'a>(name: &'static str, text: impl Into<Cow<'a, str>>, value: f64) -> Sample<'a> {
    Sample { labels: vec![(name, text.into())], value: Value::Number(value) }
}

/// A metric without a unit.
fn family<'a>(
    kind: Type,
    name: &'static str,
    help: &'static str,
    samples: Vec<Sample<'a>>,
) -> Family<'a> {
    Family { name, help, unit: None, kind, samples }
}

fn times<'a>(name: &'static str, help: &'static str, times: &'a Histogram) -> Family<'a> {
    let samples = vec![Sample { labels: Vec::new(), value: Value::Times(times) }];
    Family { name, help, unit: Some("seconds"), kind: Type::Histogram, samples }
}

/// Everything that is known, under our own names, in the order in which it is written.
pub(crate) fn families(figures: &Figures) -> Vec<Family<'_>> {
    let mut families = counters(figures);
    families.extend(gauges(figures));
    families.extend(endings(figures));
    families
}

fn counters(figures: &Figures) -> Vec<Family<'_>> {
    let totals = &figures.totals;
    let ledger = &totals.ledger;
    let ended = outcomes(ledger).map(|(name, count)| labelled("outcome", name, count as f64));
    let mut families = vec![
        family(
            Type::Counter,
            "plimsoll_scheduled",
            "Requests that came due.",
            plain(ledger.scheduled as f64),
        ),
        family(
            Type::Counter,
            "plimsoll_sent",
            "Requests started on a connection.",
            plain(ledger.sent as f64),
        ),
        family(
            Type::Counter,
            "plimsoll_requests",
            "Requests by what became of them.",
            ended.into(),
        ),
        family(
            Type::Counter,
            "plimsoll_errors",
            "Requests that failed: all but those that were ok, as gates count errors.",
            plain(totals.errors as f64),
        ),
        Family {
            name: "plimsoll_received_bytes",
            help: "Bytes received on all connections.",
            unit: Some("bytes"),
            kind: Type::Counter,
            samples: plain(totals.received_bytes as f64),
        },
        times(
            "plimsoll_response_seconds",
            "From the intended time of a request to its end; what a user saw.",
            &totals.response,
        ),
        times(
            "plimsoll_service_seconds",
            "From the start of sending a request to its end; what the server took.",
            &totals.service,
        ),
    ];
    let codes = totals.status.iter();
    let codes: Vec<Sample<'_>> =
        codes.map(|(code, count)| labelled("code", code.to_string(), *count as f64)).collect();
    if !codes.is_empty() {
        let help = "Whole responses by status.";
        families.push(family(Type::Counter, "plimsoll_responses", help, codes));
    }
    families
}

fn gauges(figures: &Figures) -> Vec<Family<'_>> {
    let gauges = &figures.gauges;
    let is_over = figures.ending.is_some();
    let is_now = |part: RunPart| f64::from(u8::from(!is_over && gauges.part == part));
    let parts = PARTS.map(|part| labelled("phase", part.name(), is_now(part)));
    let target = gauges.target_rps.map(|rps| {
        let help = "Requests per second that are aimed at.";
        family(Type::Gauge, "plimsoll_target_rate", help, plain(rps))
    });
    let mut families: Vec<Family<'_>> = target.into_iter().collect();
    families.extend([
        family(
            Type::Gauge,
            "plimsoll_connections",
            "Connections asked for.",
            plain(gauges.connections.into()),
        ),
        family(
            Type::Gauge,
            "plimsoll_tester_cpu_cores",
            "CPUs that the tester used in the last interval, without spinning.",
            plain(gauges.cpu_cores),
        ),
        Family {
            name: "plimsoll_lateness_max_seconds",
            help: "The worst lateness of the tester itself in the last interval.",
            unit: Some("seconds"),
            kind: Type::Gauge,
            samples: plain(gauges.lateness_max_ns as f64 / 1e9),
        },
        family(
            Type::Gauge,
            "plimsoll_run_phase",
            "1 for the part of the run that goes on.",
            parts.into(),
        ),
        Family {
            name: "plimsoll_run_start_timestamp_seconds",
            help: "When the first measured part of the feed began, since 1970.",
            unit: Some("seconds"),
            kind: Type::Gauge,
            samples: plain(figures.began_ns as f64 / 1e9),
        },
        Family {
            name: "plimsoll_stage_start_timestamp_seconds",
            help: "When the stage that goes on began, or the run without stages, since 1970.",
            unit: Some("seconds"),
            kind: Type::Gauge,
            samples: plain(figures.agenda.stage_began_ns() as f64 / 1e9),
        },
        family(
            Type::Info,
            "plimsoll_run",
            "The tester.",
            vec![labelled("version", env!("CARGO_PKG_VERSION"), 1.0)],
        ),
    ]);
    families
}

/// What is known at the end of a run.
fn endings(figures: &Figures) -> Vec<Family<'_>> {
    let Some(ending) = &figures.ending else { return Vec::new() };
    let number = |holds: bool| f64::from(u8::from(holds));
    let verdicts = VERDICTS.map(|name| labelled("verdict", name, number(ending.verdict == name)));
    let gates = ending.gates.iter();
    let gates: Vec<Sample<'_>> =
        gates.map(|(expr, pass)| labelled("gate", expr.as_str(), number(*pass))).collect();
    let mut families = vec![
        family(
            Type::Gauge,
            "plimsoll_verdict",
            "1 for the verdict on the last run: whether its figures can be believed.",
            verdicts.into(),
        ),
        Family {
            name: "plimsoll_run_end_timestamp_seconds",
            help: "When the last run ended, since 1970.",
            unit: Some("seconds"),
            kind: Type::Gauge,
            samples: plain(figures.time_ns as f64 / 1e9),
        },
    ];
    if !gates.is_empty() {
        let help = "Whether each gate of the last run was met.";
        families.push(family(Type::Gauge, "plimsoll_gate_ok", help, gates));
    }
    families
}
