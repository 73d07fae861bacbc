//! The results of a suite, `plimsoll/study/1`: servers under the same loads, several times each.
//!
//! The lab writes the document and views show it. A figure that a tester does not report is `None`,
//! never a guess. Absent: the whole result of a run, which has a file of its own, named by
//! [`CaseRun::result`].

mod column;
mod counted;
mod delay;
mod load_line;
mod mark;
mod summary;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::confidence::doubts;
use crate::doubt::{Bounds, Doubts, Figure, Interval};
use crate::result::{Environment, Gate, RunResult, Tool};
use crate::streams::Streams;
use crate::units::format_ns;
use crate::usage::Usage;
use crate::verdict::{Cause, Verdict};

pub use column::{Better, Column, Measure, MessageTime};
pub use delay::OwnDelay;
pub use load_line::{LineOutcome, LoadLine};
use mark::time_mark;

pub use mark::Mark;
pub use summary::{Middle, Shown};

/// The schema's name and version.
pub const SCHEMA: &str = "plimsoll/study/1";

/// A suite that was carried out, or part of one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// [`SCHEMA`].
    pub schema: String,
    /// Which program wrote it.
    pub tool: Option<Tool>,
    /// The suite's name, in file names too.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What is measured and why, for people.
    pub description: String,
    /// Where it was measured.
    pub environment: Environment,
    /// When the first case began, RFC 3339, UTC.
    pub started_at: String,
    /// How often each case is carried out.
    pub repeats: u32,
    /// What the order of the cases was drawn from.
    pub seed: u64,
    /// The server that the others are compared with.
    pub baseline: Option<String>,
    /// What the tables show, in this order.
    pub columns: Vec<Column>,
    /// The servers, in the suite's order.
    pub servers: Vec<ServerFacts>,
    /// The loads, in the suite's order.
    pub loads: Vec<LoadFacts>,
    /// One for each server and load that are not excluded, by server, then by load.
    pub cases: Vec<Case>,
}

/// A server of a suite.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Its name.
    pub name: String,
    /// What it says its version is: one line.
    pub version: Option<String>,
    /// How it was started, as it stands in the suite.
    pub command: String,
    /// The CPUs it was tied to, as `0-3,8`.
    pub cpus: Option<String>,
    /// Why it was not measured, where it was not.
    pub skipped: Option<String>,
}

/// A load of a suite.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadFacts {
    /// Its name.
    pub name: String,
    /// Which tester makes it.
    pub tester: String,
    /// What that says its version is: one line.
    pub version: Option<String>,
    /// How the tester was called, with `{url}` in the place of the address.
    pub command: String,
    /// The CPUs it was tied to.
    pub cpus: Option<String>,
    /// Why it was not used, where it was not.
    pub skipped: Option<String>,
}

/// A server under a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The server's name.
    pub server: String,
    /// The load's name.
    pub load: String,
    /// Why the case has no runs, if it has none.
    pub skipped: Option<String>,
    /// The runs that have ended, by repeat.
    pub runs: Vec<CaseRun>,
}

/// A server under a load, once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseRun {
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Its place in the order that is planned for all runs of the suite, from 1. They are carried
    /// out in that order, but for those that come after the study was taken up again.
    pub position: u32,
    /// How often the study had been taken up again (`--continue`) when this was measured: 0 for
    /// what was measured in the first go.
    #[serde(default)]
    pub resumed: u32,
    /// When the load began, RFC 3339, UTC.
    pub started_at: String,
    /// How the tester was called, without what was added to read its figures.
    pub command: String,
    /// Why the figures do not count, where they do not: one line.
    pub failure: Option<String>,
    /// What the tester said.
    pub figures: Figures,
    /// What the tester said of its own figures, where it does.
    pub verdict: Option<Verdict>,
    /// Why.
    pub causes: Vec<Cause>,
    /// What the server's processes used while it was loaded.
    pub server: Option<Usage>,
    /// What the tester's used.
    pub tester: Option<Usage>,
    /// What the tester printed, the middle left out where it is long.
    pub output: String,
    /// The last lines of the server's log, where something was wrong.
    pub log: Option<String>,
    /// The file of the whole result, from the study's directory.
    pub result: Option<String>,
    /// The conditions that the load sets, each with how it was decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
}

/// A failure without the numbers that the lab draws anew for each run (ports, processes) and
/// without the time that it took: failures that are the same in these words have one cause.
#[must_use]
pub fn failure_kind(failure: &str) -> String {
    const BEFORE: [&str; 4] = ["127.0.0.1:", "port ", "process ", "after "];
    let mut kind = String::with_capacity(failure.len());
    let mut rest = failure;
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit();
        let is_number_of_the_run = is_number && BEFORE.iter().any(|word| kind.ends_with(word));
        let is_part = |c: char| is_number == (c.is_ascii_digit() || (is_number && c == '.'));
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        kind.push_str(if is_number_of_the_run { "…" } else { &rest[..end] });
        rest = &rest[end..];
    }
    kind
}

/// A quantile of latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// 0 to 1.
    pub q: f64,
    /// Seconds.
    pub s: f64,
    /// Whether it is a lower bound: had the requests without a whole response waited for ever, it
    /// would be over 1 % higher. False also if that is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
    /// On which side of it the true value may lie, because the measurement was disturbed. `None`
    /// also if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Mark>,
}

impl Quantile {
    /// A quantile (0 to 1) that is known, seconds.
    #[must_use]
    pub const fn known(q: f64, s: f64) -> Self {
        Self { q, s, is_lower_bound: false, doubt: None }
    }
}

/// What a tester said, in common terms; `None` and empty: it does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Responses per second.
    pub rate_rps: Option<f64>,
    /// Of those, the ones that were as expected, where the tester says it itself.
    #[serde(default)]
    pub good_rps: Option<f64>,
    /// How long it took, seconds.
    pub duration_s: Option<f64>,
    /// Requests that had a whole response.
    pub completed: Option<u64>,
    /// Of those, the ones that were not as expected.
    pub failed: Option<u64>,
    /// Requests that had none: timeouts, resets, connects.
    pub errors: Option<u64>,
    /// The share of the users' time in which they were cut off, 0 to 1.
    #[serde(default)]
    pub outage: Option<f64>,
    /// Connections opened.
    #[serde(default)]
    pub connections: Option<u64>,
    /// Mean latency, seconds.
    pub mean_s: Option<f64>,
    /// Greatest latency, seconds.
    pub max_s: Option<f64>,
    /// The doubt of the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_doubt: Option<Mark>,
    /// The doubt of the greatest latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_doubt: Option<Mark>,
    /// Latency by the clock that the tester puts first, ascending. Of Plimsoll: response
    /// time.
    pub latency: Vec<Quantile>,
    /// Service time, where the tester has both clocks and the other comes first.
    pub service: Vec<Quantile>,
    /// Times of the messages of calls of gRPC that stream. Absent without such calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Box<StreamFigures>>,
    /// What the tester itself may have added to the figures. Absent where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_delay: Option<Box<OwnDelay>>,
    /// The load line of the server. Absent where the load is not a search for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_line: Option<LoadLine>,
}

/// When the messages of calls came that stream, ascending by quantile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamFigures {
    /// From the start of sending to the first message.
    pub first_message: Vec<Quantile>,
    /// From each message of a call to the next one.
    pub gaps: Vec<Quantile>,
    /// From a message to its answer, where each waits for the answer to the one before.
    pub round_trips: Vec<Quantile>,
}

impl StreamFigures {
    /// Those of a result of Plimsoll's own.
    #[must_use]
    pub fn of(streams: &Streams, doubts: &Doubts<'_>) -> Self {
        let of = |times: Bounds<'_>| quantiles(doubts, Figure::Service, &times);
        Self {
            first_message: of(streams.first_message_bounds()),
            gaps: of(streams.gap_bounds()),
            round_trips: streams.round_trip_bounds().map(of).unwrap_or_default(),
        }
    }
}

/// The quantiles kept of a histogram: enough to draw its curve.
pub const KEPT: [f64; 19] = [
    0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995,
    0.999, 0.9999,
];

impl Figures {
    /// Those of a result of Plimsoll's own.
    #[must_use]
    pub fn of(result: &RunResult) -> Self {
        let lead = Clock::HEADLINE;
        let (first, ledger) = (lead.bounds(result), &result.ledger);
        let times = first.all();
        let doubts = doubts(&result.loader.causes);
        let of = |clock: Clock| quantiles(&doubts, clock.figure(), &clock.bounds(result));
        let streams = result.grpc_streams.as_deref();
        let (mean_ns, max_ns) = (times.mean_ns(), times.max_ns().map(|ns| ns as f64));
        let doubt = |ns: Option<f64>, interval: Interval| time_mark(interval, ns? / 1e9);
        let mean = doubts.mean_ns(lead.figure(), &Bounds::new(times, 0, 0));
        let max = doubts.quantile_ns(lead.figure(), &Bounds::new(times, 0, 0), 1.0);
        Self {
            rate_rps: Some(result.rate.achieved_rps),
            good_rps: result.rate.good_rps,
            duration_s: Some(result.rate.window_ns as f64 / 1e9),
            completed: Some(ledger.completed),
            failed: Some(ledger.failed),
            errors: Some(ledger.scheduled.saturating_sub(ledger.completed)),
            outage: result.outage.map(|outage| outage.share),
            connections: Some(result.connections.opened),
            mean_s: mean_ns.map(|ns| ns / 1e9),
            max_s: max_ns.map(|ns| ns / 1e9),
            mean_doubt: doubt(mean_ns, mean),
            max_doubt: doubt(max_ns, max),
            latency: of(lead),
            service: of(lead.other()),
            streams: streams.map(|streams| Box::new(StreamFigures::of(streams, &doubts))),
            own_delay: OwnDelay::of(result).map(Box::new),
            load_line: None,
        }
    }

    /// The latency at a quantile, seconds, if the tester gave that very one.
    #[must_use]
    pub fn latency_s(&self, q: f64) -> Option<f64> {
        quantile_s(&self.latency, q)
    }

    /// The service time at a quantile, seconds.
    #[must_use]
    pub fn service_s(&self, q: f64) -> Option<f64> {
        quantile_s(&self.service, q)
    }

    /// A time of messages at a quantile, seconds.
    #[must_use]
    pub fn message_s(&self, time: MessageTime, q: f64) -> Option<f64> {
        self.message(time, q).map(|it| it.s)
    }

    fn message(&self, time: MessageTime, q: f64) -> Option<&Quantile> {
        let streams = self.streams.as_deref()?;
        let quantiles = match time {
            MessageTime::First => &streams.first_message,
            MessageTime::Gap => &streams.gaps,
            MessageTime::RoundTrip => &streams.round_trips,
        };
        quantile(quantiles, q)
    }

    /// Responses per second that were as expected. Where the tester does not say it, the rate of
    /// all of them by the share that did not fail.
    #[must_use]
    pub fn good_rate_rps(&self) -> Option<f64> {
        let share = match (self.completed, self.failed) {
            (Some(completed), Some(failed)) if completed > 0 => {
                1.0 - failed.min(completed) as f64 / completed as f64
            }
            _ => 1.0,
        };
        self.good_rps.or_else(|| Some(self.rate_rps? * share))
    }

    /// The share of requests that failed, 0 to 1; no less than that of the users' time in which
    /// they were cut off and sent nothing that could have failed.
    #[must_use]
    pub fn error_share(&self) -> Option<f64> {
        let completed = self.completed?;
        let bad = self.failed.unwrap_or(0).saturating_add(self.errors.unwrap_or(0));
        let all = completed.saturating_add(self.errors.unwrap_or(0));
        let of_requests = (all > 0).then(|| bad as f64 / all as f64)?;
        Some(of_requests.max(self.outage.unwrap_or(0.0)))
    }
}

/// Those of times that are kept, each with its marks.
fn quantiles(doubts: &Doubts<'_>, figure: Figure, times: &Bounds<'_>) -> Vec<Quantile> {
    let count = times.all().count() as f64;
    // A quantile that no sample lies beyond is the maximum by another name.
    let known = KEPT.into_iter().filter(|q| (1.0 - q) * count >= 1.0 - 1e-9);
    known.filter_map(|q| Quantile::of(doubts, figure, times, q)).collect()
}

fn quantile_s(quantiles: &[Quantile], q: f64) -> Option<f64> {
    quantile(quantiles, q).map(|it| it.s)
}

fn quantile(quantiles: &[Quantile], q: f64) -> Option<&Quantile> {
    quantiles.iter().find(|it| (it.q - q).abs() < 1e-9)
}

impl Study {
    /// Nothing measured yet.
    #[must_use]
    pub fn empty(name: &str) -> Self {
        Self { schema: SCHEMA.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// The repeats that were measured in several goes (`--continue`): within them the cases did
    /// not take turns.
    #[must_use]
    pub fn repeats_out_of_turn(&self) -> BTreeSet<u32> {
        let mut goes: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for run in self.cases.iter().flat_map(Case::whole) {
            goes.entry(run.repeat).or_default().insert(run.resumed);
        }
        goes.into_iter().filter(|(_, goes)| goes.len() > 1).map(|(repeat, _)| repeat).collect()
    }

    /// The case of a server and a load.
    #[must_use]
    pub fn case(&self, server: &str, load: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.server == server && case.load == load)
    }
}

impl CaseRun {
    /// A result of Plimsoll's own as a repeat of its plan.
    #[must_use]
    pub fn of(result: &RunResult, repeat: u32) -> Self {
        Self {
            repeat,
            started_at: result.started_at.clone(),
            failure: why_not_whole(result),
            figures: Figures::of(result),
            verdict: Some(result.loader.verdict),
            causes: result.loader.causes.clone(),
            server: result.target.clone(),
            gates: result.gates.clone(),
            ..Self::default()
        }
    }
}

/// Why a result does not count as a repeat of its plan; `None` if it counts.
fn why_not_whole(result: &RunResult) -> Option<String> {
    if let Some(condition) = &result.aborted {
        return Some(format!("ended early by the condition '{condition}' of its plan"));
    }
    if result.interrupted {
        return Some(format!("interrupted after {}", format_ns(result.elapsed_ns)));
    }
    let changes = [
        ("its rate was", result.rate.changes.len()),
        ("its connections were", result.connections.changes.len()),
    ];
    if let Some((what, count)) = changes.into_iter().find(|(_, count)| *count > 0) {
        return Some(format!("{what} changed {count} times while it went on"));
    }
    let nothing = result.ledger.scheduled == 0 && result.ledger.sent == 0;
    nothing.then(|| "not one request was sent".to_owned())
}
