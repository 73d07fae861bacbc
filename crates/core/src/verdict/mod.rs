//! Whether a result can be believed: a pure function from evidence about the tester to a verdict
//! with causes.
//!
//! The verdict is about the tester and what lies between it and the server, never about the server.
//! Errors and slow responses do not make a result suspect; a tester that sent late, ran out of CPU
//! or was stopped does. Each cause is a function of the evidence and has its section in
//! `docs/verdict.md`.
//!
//! Doubt belongs to figures: each cause says which of them it can have moved, in which direction
//! and by how much (`touches`).
//!
//! The verdict is monotone: more evidence against the tester never improves it, and never narrows a
//! doubt. So no cause may be dropped because of another, and none may use another's evidence as an
//! excuse.

mod ack;
#[cfg(test)]
mod documented;
mod lateness;
mod load;
mod messages;
#[cfg(test)]
mod monotone;
mod network;
mod outage;
mod shape;
mod tester;
#[cfg(test)]
mod tests;
mod touches;
mod vus;

use serde::{Deserialize, Serialize};

use crate::doubt::Touch;
use crate::outage::Outage;
use crate::part::Spread;
pub(crate) use lateness::LATENESS_FLOOR_NS;

pub use ack::{AckDelays, Peak, Peaks};
pub use lateness::{QUOTED, Quoted, QuotedQuantile};
pub use load::{StreamLimit, connections_needed};
pub use messages::MessageFacts;
pub use network::{TcpFacts, connects_retried};
pub use shape::{AddressFacts, Outcomes, Settling, settling};
pub use tester::covered_ns;
pub use vus::VuFacts;

/// Can the result be believed?
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// None of the figures that the report leads with is in doubt.
    #[default]
    Valid,
    /// High percentiles are in doubt, or the load was not the one that was asked for. The causes
    /// say why.
    Suspect,
    /// The median, a rate or counts are in doubt.
    Invalid,
}

impl Verdict {
    /// The name used in results and on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

/// One reason not to believe a result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cause {
    /// How bad it is: what the figures that it touches make of the result. `valid` is a note:
    /// something to know that takes nothing from the figures that the report leads with.
    pub verdict: Verdict,
    /// A stable name, for programs.
    pub code: String,
    /// What was seen and what to do, for people: one line.
    pub text: String,
    /// Which figures it can have moved; none in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<Touch>,
}

impl Cause {
    /// A cause that touches no figure.
    #[must_use]
    pub fn new(verdict: Verdict, code: &str, text: String) -> Self {
        Self { verdict, code: code.to_owned(), text, touches: Vec::new() }
    }
}

/// A stretch in which the tester did not run: stopped, throttled, or its CPU taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pause {
    /// When it began, from the start of the measured part.
    #[serde(rename = "at_s", with = "crate::serde_units::from_ns")]
    pub at_ns: u64,
    /// How long it lasted.
    #[serde(rename = "for_s", with = "crate::serde_units::from_ns")]
    pub for_ns: u64,
}

/// What was seen of the tester during the measured part of a run.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Whether there is a schedule to keep.
    pub open_loop: bool,
    /// How long the measured part took, ns.
    pub elapsed_ns: u64,
    /// For each worker, the share of one CPU it worked (0 to 1, spinning left out).
    pub worker_busy: Vec<f64>,
    /// For each worker, the share of the time it was ready to run and had no CPU (0 to 1).
    pub worker_run_delay: Vec<f64>,
    /// The tester's own lateness and the response time at each of the quantiles [`QUOTED`].
    pub quoted: [Quoted; QUOTED.len()],
    /// The latest that the tester itself sent a request, ns.
    pub lateness_max_ns: u64,
    /// How long requests waited for a connection, and the response time, at each of the quantiles
    /// [`QUOTED`].
    pub blocked: [Quoted; QUOTED.len()],
    /// The longest that a request waited for a connection, ns.
    pub blocked_max_ns: u64,
    /// How many requests were in flight: in a closed loop as many as there may be, at a rate on
    /// average (Little's law).
    pub in_flight: f64,
    /// In a closed loop, the time from one request of a connection to the next, ns.
    pub cycle_ns: f64,
    /// In a closed loop, by which share the cycle is longer than the response time.
    pub cycle_excess: f64,
    /// Whether the kernel's clock timed the arrival of responses, so that no time contains how late
    /// the tester read them.
    pub kernel_stamps: bool,
    /// Whether the plan has the workers spin all the time.
    pub spins_always: bool,
    /// When the workers stopped spinning because others needed the CPUs, ns from the start of the
    /// measured part.
    pub gave_way_ns: Option<u64>,
    /// Stretches in which a worker did not run.
    pub pauses: Vec<Pause>,
    /// How long that was in all, ns; those that are not listed too.
    pub paused_ns: u64,
    /// Durations that would have been negative.
    pub disordered: u64,
    /// Whether a script did not end by itself and was stopped.
    pub script_stopped: bool,
    /// How long the control group was throttled, ns.
    pub throttled_ns: u64,
    /// Share of CPU time the hypervisor took (0 to 1).
    pub steal_share: f64,
    /// Requests the plan wants exactly, if it does, and was not interrupted before.
    pub requests: Option<u64>,
    /// Of the schedule's slots, those that were started: without iterations, `sent`.
    pub started: u64,
    /// Requests started.
    pub sent: u64,
    /// Slots that came due.
    pub scheduled: u64,
    /// Of those, never sent for want of a connection, or dropped.
    pub unsent: u64,
    /// Requests completed.
    pub completed: u64,
    /// Of those, after the end of the window.
    pub after_window: u64,
    /// Requests that ran into the timeout.
    pub timed_out: u64,
    /// Requests that were open when the run ended.
    pub unfinished: u64,
    /// How long a request may take, ns; 0 if that is not known.
    pub timeout_ns: u64,
    /// How far users were cut off from the server.
    pub outage: Outage,
    /// Connections the plan gives.
    pub connections: u32,
    /// Connections that the schedule would have needed at the service time seen (Little's law).
    pub connections_needed: u64,
    /// Connects that failed because the tester's host had no free port.
    pub no_ports: u64,
    /// Connects that failed because the tester's host had no free file descriptor.
    pub no_files: u64,
    /// Durations beyond an hour.
    pub beyond_hour: u64,
    /// How far the wall clock was moved against the monotonic one, ns; negative: back.
    pub clock_step_ns: i64,
    /// How long the warm-up was, ns.
    pub warmup_ns: u64,
    /// What TCP did.
    pub tcp: TcpFacts,
    /// How the service time settled, where the load was the same all along and it did.
    pub settling: Option<Settling>,
    /// How many requests each connection served.
    pub served: Spread,
    /// The addresses of the server, where there are several.
    pub addresses: Vec<AddressFacts>,
    /// Of the addresses that the server's name has, those that were left out.
    pub addresses_left_out: Vec<String>,
    /// Times about the lengths of delayed acknowledgements.
    pub ack_delays: AckDelays,
    /// Good responses and failed ones.
    pub outcomes: Outcomes,
    /// The share of the streams' time in which they idled on connections that were to end (0 to 1).
    pub draining_share: f64,
    /// The share of the streams' time in which they idled because the server had lowered its limit
    /// (0 to 1).
    pub lowered_share: f64,
    /// How many streams the server allows on a connection, if that is fewer than the plan gives.
    pub stream_limit: Option<StreamLimit>,
    /// Messages that may not be what they were taken for.
    pub messages: MessageFacts,
    /// Virtual users, where a script has some.
    pub vus: VuFacts,
}

impl Evidence {
    /// The largest share of the time (0 to 1) that anything kept a worker from running. The steal
    /// is that of all CPUs, and those of the workers may have lost twice as much.
    #[must_use]
    pub fn lost_share(&self) -> f64 {
        let throttled = share(self.throttled_ns, self.elapsed_ns);
        let paused = share(self.paused_ns.max(covered_ns(&self.pauses)), self.elapsed_ns);
        let shares = [2.0 * self.steal_share, throttled, paused];
        shares.into_iter().chain(self.worker_run_delay.iter().copied()).fold(0.0, f64::max).min(1.0)
    }
}

/// The name of the cause that nothing was measured.
pub const NO_RESPONSES: &str = "no_responses";

/// The stable name of every cause, in the order in which they are looked for.
pub const CODES: [&str; 39] = [
    NO_RESPONSES,
    "none_ok",
    "time_order",
    "script",
    "late",
    "late_tail",
    "read_late",
    "cpu",
    "cpu_shared",
    "paused",
    "throttled",
    "steal",
    "short",
    "connections",
    "vus",
    "cut_off",
    "left_out",
    "draining",
    "lowered_limit",
    "outage",
    "ports",
    "files",
    "retransmits",
    "connect_retries",
    "listen_drops",
    "nonstationary",
    "skew_connections",
    "skew_addresses",
    "address_left_out",
    "beyond_hour",
    "delayed_ack",
    "mixed_outcomes",
    "unconfirmed",
    "pushed_replies",
    "extra_answers",
    "cut_calls",
    "uncompressed",
    "gave_way",
    "clock_step",
];

/// Whether a cause is about the tester or its host alone, and not about what lies behind them.
#[must_use]
pub fn is_about_tester(code: &str) -> bool {
    is_about_pace(code) || matches!(code, "time_order" | "script" | "ports" | "files")
}

/// Whether a cause is about a tester that was slow. Its lateness says by how much.
#[must_use]
pub fn is_about_pace(code: &str) -> bool {
    matches!(
        code,
        "late"
            | "late_tail"
            | "read_late"
            | "cpu"
            | "cpu_shared"
            | "paused"
            | "throttled"
            | "steal"
    )
}

/// What the evidence says, worst cause first: each cause with the worst verdict that it can lead
/// to. Which figures it has really put in doubt, the figures tell: see
/// [`confidence`](crate::confidence).
#[must_use]
pub fn judge(evidence: &Evidence) -> Vec<Cause> {
    let checks: [fn(&Evidence) -> Option<Cause>; 38] = [
        load::nothing,
        load::none_ok,
        tester::time_order,
        tester::script,
        lateness::late,
        lateness::late_tail,
        vus::read_late,
        tester::busy,
        tester::run_delay,
        tester::paused,
        tester::throttled,
        tester::steal,
        load::short,
        load::connections,
        vus::dropped,
        vus::cut_off,
        vus::left_out,
        load::draining,
        load::lowered_limit,
        outage::unreachable,
        load::resources,
        network::retransmits,
        network::connect_retries,
        network::listen_drops,
        shape::nonstationary,
        shape::skew_connections,
        shape::skew_addresses,
        network::address_left_out,
        load::beyond_hour,
        ack::delayed_ack,
        shape::mixed_outcomes,
        messages::unconfirmed,
        messages::pushed_replies,
        messages::extra_answers,
        messages::cut_calls,
        messages::uncompressed,
        lateness::gave_way,
        tester::clock_step,
    ];
    worst_first(&checks, evidence)
}

/// What kept the tester from its work, worst first: the causes that need no more evidence than what
/// its host and its threads tell. For runs whose requests and schedule are counted elsewhere.
#[must_use]
pub fn of_host(evidence: &Evidence) -> Vec<Cause> {
    let checks: [fn(&Evidence) -> Option<Cause>; 6] = [
        load::resources,
        tester::run_delay,
        tester::long_paused,
        tester::throttled,
        tester::steal,
        tester::clock_step,
    ];
    worst_first(&checks, evidence)
}

fn worst_first(checks: &[fn(&Evidence) -> Option<Cause>], evidence: &Evidence) -> Vec<Cause> {
    let mut causes: Vec<Cause> = checks.iter().filter_map(|check| check(evidence)).collect();
    for cause in &mut causes {
        cause.touches = touches::of(&cause.code, evidence);
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.verdict));
    causes
}

fn cause(verdict: Verdict, code: &str, text: String) -> Option<Cause> {
    Some(Cause::new(verdict, code, text))
}

/// A cause that takes nothing from the result.
fn note(code: &str, text: String) -> Option<Cause> {
    cause(Verdict::Valid, code, format!("note: {text}"))
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A share as people write it: `4.7 %`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 0.95 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }
}
