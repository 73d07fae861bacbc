//! What happened: the result document, `plimsoll/result/1`.
//!
//! Its JSON Schema is `docs/result.schema.json`; tests check real output against it. Inside, all
//! times are integers, so [`RunResult::merge`] is lossless and associative. The document prints
//! them as seconds and microseconds.

mod connections;
mod gates;
mod scenarios;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::beside::Beside;
use crate::compression::Compression;
use crate::details::Details;
pub use crate::environment::Environment;
use crate::errors::{ErrorCount, merge_errors};
use crate::histogram::Histogram;
use crate::iterations::Iterations;
use crate::ledger::Ledger;
use crate::metric::{CustomMetrics, TAG_SETS_MAX};
use crate::outage::Outage;
use crate::part::{Part, merge_parts};
use crate::phase::{Phase, Phases};
use crate::plan::{Draft, Record};
use crate::protocol::{ProtocolCounts, merge_protocols};
use crate::pushed::Pushed;
use crate::recorder::Recorder;
use crate::series::Series;
use crate::streams::{Streams, merge_streams};
use crate::throughput::per_second;
use crate::usage::Usage;
use crate::verdict::{Cause, Pause, Verdict, covered_ns};

pub use crate::outcome::ByOutcome;
pub use connections::{Connections, ConnectionsChange};
pub(crate) use gates::verdict_value;
pub use gates::{Gate, GateInterval, Outcome, Unit};
pub use scenarios::ScenarioResult;

/// The schema's name and version.
pub const SCHEMA: &str = "plimsoll/result/1";

/// Which program wrote a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Requests per second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// What the plan asked for, averaged over its stages; null in a closed loop.
    pub target_rps: Option<f64>,
    /// Slots that came due, over the time in which they did.
    pub offered_rps: f64,
    /// Responses that count, over the window: see [`throughput`](crate::throughput).
    pub achieved_rps: f64,
    /// Those of them that were as expected, over the window; null in documents that lack it.
    #[serde(default)]
    pub good_rps: Option<f64>,
    /// All responses, over the time until the last of them; null without any.
    #[serde(default)]
    pub to_last_rps: Option<f64>,
    /// How many responses came in the window, also those that redirected; null in documents that
    /// lack it.
    #[serde(default)]
    pub responses: Option<u64>,
    /// Of those, as expected.
    #[serde(default)]
    pub good: Option<u64>,
    /// Requests that became due after the window, redirects left out: what a script's iterations
    /// ask for in the time that they have to end. They are not offered within it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub due_after: u64,
    /// Changes of the target rate while the run went on.
    #[serde(default)]
    pub changes: Vec<RateChange>,
    /// The time in which requests were started.
    #[serde(rename = "window_s", with = "crate::serde_units::from_ns")]
    pub window_ns: u64,
    /// When the last response was complete.
    #[serde(rename = "answered_s", with = "crate::serde_units::from_ns")]
    pub answered_ns: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A change of the target rate while a run went on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateChange {
    /// When, from the start of the measured part.
    #[serde(rename = "at_s", with = "crate::serde_units::from_ns")]
    pub at_ns: u64,
    /// The new rate.
    pub rps: f64,
}

/// The two clocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// From the intended time to the end: what a user saw.
    pub response: Histogram,
    /// From the start of sending to the end: what the server took.
    pub service: Histogram,
}

/// Bytes on the connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Handed to the kernel.
    pub sent: u64,
    /// Received from it.
    pub received: u64,
}

/// The driver that was used and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverUsed {
    /// `uring`, `epoll` or `sim`.
    pub kind: String,
    /// Why it was chosen.
    pub reason: String,
}

/// The tester itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Loader {
    /// CPU time in user mode over the measured part.
    #[serde(rename = "cpu_user_s", with = "crate::serde_units::from_ns")]
    pub cpu_user_ns: u64,
    /// CPU time in the kernel over the measured part.
    #[serde(rename = "cpu_system_s", with = "crate::serde_units::from_ns")]
    pub cpu_system_ns: u64,
    /// Of the CPU time, what was spent spinning towards a deadline.
    #[serde(rename = "spin_s", with = "crate::serde_units::from_ns")]
    pub spin_ns: u64,
    /// Peak resident memory.
    pub rss_peak_bytes: u64,
    /// Worker threads.
    pub workers: u32,
    /// The driver.
    pub driver: DriverUsed,
    /// Can the result be believed?
    pub verdict: Verdict,
    /// Why not.
    pub causes: Vec<Cause>,
    /// How late the tester itself was, each request sent.
    pub lateness: Histogram,
    /// Stretches in which it did not run.
    pub pauses: Vec<Pause>,
    /// How long that was in all; where several workers stood still at once, it counts once.
    #[serde(default, rename = "paused_s", with = "crate::serde_units::from_ns")]
    pub paused_ns: u64,
    /// The largest share of the time (0 to 1) that anything kept a worker from running: other
    /// processes, the hypervisor, a quota or a stop. `None` in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_share: Option<f64>,
    /// Durations that would have been negative and were taken for nothing. Any is a bug.
    #[serde(default)]
    pub disordered: u64,
    /// From the kernel's receipt of bytes to the worker's, where the plan asks for it.
    #[serde(default)]
    pub receive_delay: Histogram,
}

/// A stage of the schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageResult {
    /// When it began, from the start of the measured part.
    #[serde(rename = "start_s", with = "crate::serde_units::from_ns")]
    pub start_ns: u64,
    /// How long it was.
    #[serde(rename = "duration_s", with = "crate::serde_units::from_ns")]
    pub duration_ns: u64,
    /// What the plan asked for, averaged over it.
    pub target_rps: f64,
    /// The requests that were due in it; its name is as the plan writes it.
    pub part: Part,
}

/// The load before the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Warmup {
    /// How long it was.
    #[serde(rename = "duration_s", with = "crate::serde_units::from_ns")]
    pub duration_ns: u64,
    /// Where its requests went.
    pub ledger: Ledger,
    /// Their response times.
    pub response: Histogram,
}

/// What happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Which program wrote it.
    pub tool: Tool,
    /// What was asked for.
    pub plan: Record,
    /// Where the tester ran.
    pub environment: Environment,
    /// When the measured part began, RFC 3339, UTC.
    pub started_at: String,
    /// How long the measured part took, with its drain.
    #[serde(rename = "elapsed_s", with = "crate::serde_units::from_ns")]
    pub elapsed_ns: u64,
    /// Whether it was cut short: from outside, or by a condition of the plan.
    pub interrupted: bool,
    /// The condition that ended it early.
    #[serde(default)]
    pub aborted: Option<String>,
    /// Where every request went.
    pub ledger: Ledger,
    /// Requests per second.
    pub rate: Rate,
    /// The two clocks.
    pub latency: Latency,
    /// Response times by outcome.
    pub by_outcome: ByOutcome,
    /// Where the time went.
    pub phases: Phases,
    /// From intended to started, each request sent.
    pub lag: Histogram,
    /// Completed requests by status.
    pub status: BTreeMap<u16, u64>,
    /// Calls of gRPC that the server has ended, by the name of their status. Absent without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grpc_status: BTreeMap<String, u64>,
    /// The messages of calls of gRPC that stream. Absent without such calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc_streams: Option<Box<Streams>>,
    /// What went wrong, most frequent first.
    pub errors: Vec<ErrorCount>,
    /// Bytes on the connections.
    pub bytes: Bytes,
    /// The tester itself.
    pub loader: Loader,
    /// The server's processes, where they were watched.
    pub target: Option<Usage>,
    /// The requests of each endpoint, where a run has several.
    #[serde(default)]
    pub endpoints: Vec<Part>,
    /// The requests of each stage, where the schedule has several.
    #[serde(default)]
    pub stages: Vec<StageResult>,
    /// The requests to each address, where the name has several.
    #[serde(default)]
    pub addresses: Vec<Part>,
    /// The requests of users in each group, where the source of work has groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Part>,
    /// What became of the iterations, where they are counted apart from requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<Iterations>,
    /// What scripts did beside requests: WebSockets and calls of gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// What became of the connections.
    #[serde(default)]
    pub connections: Connections,
    /// What each protocol carried, by name.
    #[serde(default)]
    pub protocols: Vec<ProtocolCounts>,
    /// What the server sent of its own accord, where the protocol lets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<Pushed>,
    /// What came of the offer to compress messages. Absent where the plan makes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// How far users were cut off from the server; null in documents that lack it.
    #[serde(default)]
    pub outage: Option<Outage>,
    /// What sources of work recorded themselves. Absent where they declared nothing.
    #[serde(default, skip_serializing_if = "CustomMetrics::is_empty")]
    pub metrics: CustomMetrics,
    /// What happened in each second.
    pub series: Series,
    /// Conditions the run had to meet.
    pub gates: Vec<Gate>,
    /// The load before the measured part.
    pub warmup: Option<Warmup>,
    /// Where a run has named scenarios, the whole result of each; the other fields are of all of
    /// them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<ScenarioResult>,
    /// What only some views want. Not kept in documents.
    #[serde(skip)]
    pub details: Details,
}

impl RunResult {
    /// How late the tester started what was due: requests, or iterations where those are due and
    /// requests follow from them.
    #[must_use]
    pub fn lateness(&self) -> &Histogram {
        let of_iterations = self.iterations.as_ref().map(|iterations| &iterations.lateness);
        of_iterations.filter(|late| !late.is_empty()).unwrap_or(&self.loader.lateness)
    }

    /// A result of a plan in which nothing happened yet.
    #[must_use]
    pub fn empty(tool: Tool, plan: &Draft) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            tool,
            plan: plan.record(),
            environment: Environment::default(),
            started_at: String::new(),
            elapsed_ns: 0,
            interrupted: false,
            aborted: None,
            ledger: Ledger::default(),
            rate: Rate::default(),
            latency: Latency::default(),
            by_outcome: ByOutcome::default(),
            phases: Phases::default(),
            lag: Histogram::default(),
            status: BTreeMap::new(),
            grpc_status: BTreeMap::new(),
            grpc_streams: None,
            errors: Vec::new(),
            bytes: Bytes::default(),
            loader: Loader::default(),
            target: None,
            endpoints: Vec::new(),
            stages: Vec::new(),
            addresses: Vec::new(),
            groups: Vec::new(),
            iterations: None,
            beside: None,
            connections: Connections::default(),
            protocols: Vec::new(),
            pushed: None,
            compression: None,
            outage: None,
            metrics: CustomMetrics::default(),
            series: Series::default(),
            gates: Vec::new(),
            warmup: None,
            scenarios: Vec::new(),
            details: Details::default(),
        }
    }

    /// Whether the load began. If not, the first cause of the verdict says why.
    #[must_use]
    pub fn was_carried_out(&self) -> bool {
        self.elapsed_ns > 0
    }

    /// Whether it, or one of its scenarios that began, was left without one whole response, though
    /// nobody told it to stop before.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        let was_stopped = self.interrupted && self.aborted.is_none();
        let answered = self.ledger.completed + self.beside.map_or(0, |beside| beside.answered());
        (answered == 0 && !was_stopped) || self.unanswered_scenario().is_some()
    }

    /// Whether the plan requires a valid result and has no gates that say which figures matter, and
    /// a figure that the report leads with is in doubt.
    #[must_use]
    pub fn is_below_verdict(&self) -> bool {
        self.plan.require_valid && self.gates.is_empty() && self.loader.verdict != Verdict::Valid
    }

    /// How many of its gates have an outcome.
    #[must_use]
    pub fn gates_that(&self, outcome: Outcome) -> usize {
        self.gates.iter().filter(|gate| gate.outcome() == outcome).count()
    }

    /// Fills in what a worker's record (or the sum of several) says. Leaves what it does not know.
    pub fn record(&mut self, recorder: &Recorder) {
        self.ledger = recorder.ledger;
        self.latency = Latency { response: recorder.response(), service: recorder.service.clone() };
        self.by_outcome.clone_from(&recorder.by_outcome);
        let dns = std::mem::take(&mut self.phases[Phase::Dns]);
        self.phases.clone_from(&recorder.phases);
        self.phases[Phase::Dns].merge(&dns);
        self.lag.clone_from(&recorder.delays.lag);
        self.loader.lateness.clone_from(&recorder.delays.lateness);
        self.loader.receive_delay.clone_from(&recorder.delays.receive);
        self.loader.disordered = recorder.disordered;
        self.endpoints.clone_from(&recorder.parts.endpoints);
        self.addresses.clone_from(&recorder.parts.addresses);
        self.groups.clone_from(&recorder.parts.groups);
        for (stage, part) in self.stages.iter_mut().zip(&recorder.parts.stages) {
            stage.part.clone_from(part);
        }
        self.pushed = self.plan.endpoint.is_websocket().then_some(recorder.pushed);
        self.compression = self.plan.websocket.compress.then_some(recorder.compression);
        // What has no status stands at 0.
        self.status = (0u16..)
            .zip(&recorder.status)
            .skip(1)
            .filter(|(_, n)| **n > 0)
            .map(|(s, n)| (s, *n))
            .collect();
        self.grpc_streams.clone_from(&recorder.streams);
        self.errors.clone_from(&recorder.errors);
        merge_errors(&mut self.errors, &[]);
        self.protocols.clear();
        merge_protocols(&mut self.protocols, &recorder.protocols);
        self.metrics = recorder.metrics.totals();
        self.metrics.fold(TAG_SETS_MAX);
        self.bytes = Bytes { sent: recorder.sent_bytes, received: recorder.received_bytes };
        self.refresh_rates();
    }

    /// Recomputes the rates from the counts and times. A request with its redirects is one in each
    /// of them, so that what was offered and what was achieved can be compared.
    pub fn refresh_rates(&mut self) {
        let Rate { window_ns, answered_ns, responses, good, .. } = self.rate;
        // Each response that was followed brought one request more.
        let apart = |count: u64| count.saturating_sub(self.ledger.redirects);
        let completed = apart(self.ledger.completed);
        let (responses, good) = (responses.map(apart), good.map(apart));
        let slots = apart(self.ledger.scheduled).saturating_sub(self.rate.due_after);
        self.rate.offered_rps = per_second(slots, window_ns);
        // Documents of before the count have only this.
        let over_all = || per_second(completed, answered_ns.max(window_ns));
        self.rate.achieved_rps =
            responses.map_or_else(over_all, |responses| per_second(responses, window_ns));
        self.rate.good_rps = good.map(|good| per_second(good, window_ns));
        let is_answered = completed > 0 && answered_ns > 0;
        self.rate.to_last_rps = is_answered.then(|| per_second(completed, answered_ns));
    }

    /// Adds a result of the same load measured side by side: another process, another host. Counts
    /// and histograms are summed without loss; the worse verdict stands. Associative: any grouping
    /// gives the same sum, with the plan and environment of the leftmost.
    pub fn merge(&mut self, other: &Self) {
        self.started_at = self.started_at.clone().min(other.started_at.clone());
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.interrupted |= other.interrupted;
        self.aborted = self.aborted.take().or_else(|| other.aborted.clone());
        self.ledger.merge(&other.ledger);
        self.rate.window_ns = self.rate.window_ns.max(other.rate.window_ns);
        self.rate.answered_ns = self.rate.answered_ns.max(other.rate.answered_ns);
        let sum = |mine: Option<u64>, theirs: Option<u64>| Some(mine? + theirs?);
        self.rate.responses = sum(self.rate.responses, other.rate.responses);
        self.rate.good = sum(self.rate.good, other.rate.good);
        self.rate.due_after += other.rate.due_after;
        self.rate.target_rps = match (self.rate.target_rps, other.rate.target_rps) {
            (Some(a), Some(b)) => Some(a + b),
            _ => None,
        };
        self.latency.response.merge(&other.latency.response);
        self.latency.service.merge(&other.latency.service);
        self.by_outcome.merge(&other.by_outcome);
        self.pushed = match (self.pushed, other.pushed) {
            (Some(mine), Some(theirs)) => Some(mine.with(&theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.compression = match (self.compression, other.compression) {
            (Some(mine), Some(theirs)) => Some(mine.with(&theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.phases.merge(&other.phases);
        self.lag.merge(&other.lag);
        for (status, count) in &other.status {
            *self.status.entry(*status).or_default() += count;
        }
        for (status, count) in &other.grpc_status {
            *self.grpc_status.entry(status.clone()).or_default() += count;
        }
        merge_streams(&mut self.grpc_streams, other.grpc_streams.as_deref());
        merge_errors(&mut self.errors, &other.errors);
        self.bytes.sent += other.bytes.sent;
        self.bytes.received += other.bytes.received;
        self.loader.merge(&other.loader);
        if let Some(theirs) = &other.target {
            match &mut self.target {
                Some(mine) => mine.merge(theirs),
                None => self.target = Some(theirs.clone()),
            }
        }
        merge_parts(&mut self.endpoints, &other.endpoints);
        merge_parts(&mut self.addresses, &other.addresses);
        merge_parts(&mut self.groups, &other.groups);
        if let Some(theirs) = &other.beside {
            self.beside.get_or_insert_default().merge(theirs);
        }
        match (&mut self.iterations, &other.iterations) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or_else(|| theirs.clone()),
        }
        self.merge_stages(&other.stages);
        self.connections.merge(&other.connections);
        merge_protocols(&mut self.protocols, &other.protocols);
        match (&mut self.outage, &other.outage) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.or(*theirs),
        }
        self.metrics.merge(&other.metrics);
        self.series.merge(&other.series);
        self.rate.changes.extend_from_slice(&other.rate.changes);
        self.rate.changes.sort_by_key(|change| change.at_ns);
        self.details.merge(&other.details);
        if let Some(theirs) = &other.warmup {
            let mine = self.warmup.get_or_insert_default();
            mine.duration_ns = mine.duration_ns.max(theirs.duration_ns);
            mine.ledger.merge(&theirs.ledger);
            mine.response.merge(&theirs.response);
        }
        scenarios::merge(&mut self.scenarios, &other.scenarios);
        self.gates.clear();
        self.refresh_rates();
    }

    fn merge_stages(&mut self, more: &[StageResult]) {
        for stage in more {
            let known = self.stages.iter_mut().find(|known| {
                (known.start_ns, &known.part.name) == (stage.start_ns, &stage.part.name)
            });
            match known {
                Some(known) => {
                    known.target_rps += stage.target_rps;
                    known.part.merge(&stage.part);
                }
                None => self.stages.push(stage.clone()),
            }
        }
    }
}

impl Loader {
    fn merge(&mut self, other: &Self) {
        self.cpu_user_ns += other.cpu_user_ns;
        self.cpu_system_ns += other.cpu_system_ns;
        self.spin_ns += other.spin_ns;
        self.rss_peak_bytes += other.rss_peak_bytes;
        self.workers += other.workers;
        self.verdict = self.verdict.max(other.verdict);
        self.causes.extend_from_slice(&other.causes);
        self.causes
            .sort_by(|a, b| (b.verdict, &a.code, &a.text).cmp(&(a.verdict, &b.code, &b.text)));
        self.causes.dedup();
        self.lateness.merge(&other.lateness);
        self.receive_delay.merge(&other.receive_delay);
        self.pauses.extend_from_slice(&other.pauses);
        self.pauses.sort_unstable();
        let longer_ns = self.paused_ns.max(other.paused_ns);
        self.paused_ns = longer_ns.max(covered_ns(&self.pauses));
        self.lost_share =
            self.lost_share.into_iter().chain(other.lost_share).max_by(f64::total_cmp);
        self.disordered += other.disordered;
    }
}

#[cfg(test)]
pub(crate) mod tests;
