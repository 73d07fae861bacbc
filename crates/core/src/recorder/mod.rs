//! What one worker records: the only thing on the path of a request that remembers.
//!
//! Recording allocates nothing, except for the sample text of an error when that error is first
//! seen, and for a custom metric when it is first used. Outcomes are kept apart, so the response
//! times of all requests are the sum of parts that are reported anyway.

mod interval;
mod statuses;

use crate::compression::Compression;
use crate::errors::{ERROR_KINDS, ErrorCount, merge_errors};
use crate::histogram::Histogram;
use crate::ledger::Ledger;
use crate::metric::Metrics;
use crate::outcome::{ByOutcome, Outcome};
use crate::part::{Part, Parts, Place};
use crate::phase::{Phase, Phases};
use crate::protocol::{ProtocolCounts, merge_protocols};
use crate::pushed::Pushed;
use crate::streams::{Streams, merge_streams};
use interval::Running;

pub use interval::{Interval, Span};

/// The moments of a request, ns on one monotonic clock, each at or after the one before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moments {
    /// When the schedule wanted it sent; in a closed loop, when its connection was free.
    pub intended_ns: u64,
    /// When there was both the slot and a connection for it.
    pub available_ns: u64,
    /// When the tester acted on it: the connect began, or the write where one was open.
    pub started_ns: u64,
    /// When the write began.
    pub sent_ns: u64,
    /// When the kernel had taken all of it.
    pub written_ns: u64,
    /// When the first byte of the response arrived.
    pub first_byte_ns: u64,
}

/// Where [`Recorder::grpc_status`] counts the codes that gRPC does not define.
pub const GRPC_OTHER: usize = 17;

/// What results call the statuses of gRPC, by their codes, and at [`GRPC_OTHER`] all others.
pub const GRPC_STATUSES: [&str; GRPC_OTHER + 1] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
    "OTHER",
];

/// Histograms and counts of one worker.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// Where every request went.
    pub ledger: Ledger,
    /// Response times of all requests, by how they ended.
    pub by_outcome: ByOutcome,
    /// Service times of all requests sent.
    pub service: Histogram,
    /// How long each phase took. Name lookups are not a worker's.
    pub phases: Phases,
    /// How late requests were started, and what came was read.
    pub delays: Delays,
    /// The requests of each part, as far as parts are told apart.
    pub parts: Parts,
    /// Completed requests by status; those without one stand at 0.
    pub status: Vec<u64>,
    /// Calls of gRPC by their status, where there are any: the codes that have names, and at
    /// [`GRPC_OTHER`] all others.
    pub grpc_status: Vec<u64>,
    /// What went wrong.
    pub errors: Vec<ErrorCount>,
    /// What sources of work record themselves.
    pub metrics: Metrics,
    /// What each protocol carried.
    pub protocols: Vec<ProtocolCounts>,
    /// What the server sent of its own accord.
    pub pushed: Pushed,
    /// What came of the offer to compress messages.
    pub compression: Compression,
    /// The messages of calls that stream, where there are such calls.
    pub streams: Option<Box<Streams>>,
    /// Bytes handed to the kernel.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Durations that would have been negative, see [`gap_ns`](Self::gap_ns).
    pub disordered: u64,
    running: Running,
}

/// How late requests were started, and what came was read.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    /// From intended to started, each request sent.
    pub lag: Histogram,
    /// The tester's own share of the lag.
    pub lateness: Histogram,
    /// From the kernel's receipt of bytes to the worker's, where the kernel's is known.
    pub receive: Histogram,
}

impl Delays {
    fn merge(&mut self, other: &Self) {
        self.lag.merge(&other.lag);
        self.lateness.merge(&other.lateness);
        self.receive.merge(&other.receive);
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// An empty recorder.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ledger: Ledger::default(),
            by_outcome: ByOutcome::default(),
            service: Histogram::new(),
            phases: Phases::default(),
            delays: Delays::default(),
            parts: Parts::default(),
            status: vec![0; 1000],
            grpc_status: Vec::new(),
            errors: Vec::new(),
            metrics: Metrics::default(),
            protocols: Vec::new(),
            pushed: Pushed::default(),
            compression: Compression::default(),
            streams: None,
            sent_bytes: 0,
            received_bytes: 0,
            disordered: 0,
            running: Running::default(),
        }
    }

    /// From one moment to one that is not before it. Moments are ordered by how they are made. If
    /// two are out of order, that is a bug: it is counted, and the duration is 0.
    #[inline]
    pub fn gap_ns(&mut self, from_ns: u64, to_ns: u64) -> u64 {
        debug_assert!(from_ns <= to_ns, "from {from_ns} to {to_ns} ns");
        let disordered = &mut self.disordered;
        to_ns.checked_sub(from_ns).unwrap_or_else(|| {
            *disordered += 1;
            0
        })
    }

    /// A slot came due and was given a connection.
    #[inline]
    pub fn scheduled(&mut self, place: Place) {
        self.ledger.scheduled += 1;
        self.parts.each(place, |part| part.ledger.scheduled += 1);
    }

    /// A request was started on a connection.
    #[inline]
    pub fn started(&mut self, moments: &Moments, place: Place) {
        let blocked_ns = self.gap_ns(moments.intended_ns, moments.available_ns);
        let lateness_ns = self.gap_ns(moments.available_ns, moments.started_ns);
        self.delays.lag.record(blocked_ns + lateness_ns);
        self.phases[Phase::Blocked].record(blocked_ns);
        self.delays.lateness.record(lateness_ns);
        self.running.interval.started(lateness_ns);
        self.started_at_once(place);
    }

    /// A request of a closed loop was started, at the moment it became possible. Its lags are
    /// nothing; [`settle_closed_loop`](Self::settle_closed_loop) writes them down for all of them.
    #[inline]
    pub fn started_at_once(&mut self, place: Place) {
        self.ledger.sent += 1;
        self.parts.each(place, |part| part.ledger.sent += 1);
    }

    /// A request was started whose parts are known once it ends, which says
    /// [`belongs`](Self::belongs).
    #[inline]
    pub fn began(&mut self) {
        self.ledger.scheduled += 1;
        self.ledger.sent += 1;
    }

    /// The parts of a request that [has begun](Self::began).
    #[inline]
    pub fn belongs(&mut self, place: Place) {
        self.parts.each(place, |part| {
            part.ledger.scheduled += 1;
            part.ledger.sent += 1;
        });
    }

    /// A request that was sent is to be sent again, because the server did not process it.
    pub fn resent(&mut self, place: Place) {
        self.ledger.resent += 1;
        self.parts.each(place, |part| part.ledger.resent += 1);
    }

    /// Writes down the lags of a closed loop's requests. To be called once, at the end.
    pub fn settle_closed_loop(&mut self) {
        let Delays { lag, lateness, .. } = &mut self.delays;
        for histogram in [lag, &mut self.phases[Phase::Blocked], lateness] {
            histogram.record_n(0, self.ledger.sent);
        }
    }

    /// The tester has begun this late what was due and is no request: the iteration of a virtual
    /// user. The interval knows of it.
    #[inline]
    pub fn late(&mut self, lateness_ns: u64) {
        self.running.interval.started(lateness_ns);
    }

    /// A started request ended. Moments that never came are those of the end.
    #[inline]
    pub fn ended(&mut self, moments: &Moments, end_ns: u64, outcome: Outcome, place: Place) {
        let response_ns = self.gap_ns(moments.intended_ns, end_ns);
        let service_ns = self.gap_ns(moments.sent_ns, end_ns);
        self.ledger.ended(outcome);
        match outcome {
            Outcome::Completed { status, ok } => {
                self.status[usize::from(status).min(999)] += 1;
                let ByOutcome { ok: good, failed, .. } = &mut self.by_outcome;
                let responses = if ok { good } else { failed };
                responses.record(response_ns);
                let sending_ns = self.gap_ns(moments.sent_ns, moments.written_ns);
                let waiting_ns = self.gap_ns(moments.written_ns, moments.first_byte_ns);
                let receiving_ns = self.gap_ns(moments.first_byte_ns, end_ns);
                self.phases[Phase::Sending].record(sending_ns);
                self.phases[Phase::Waiting].record(waiting_ns);
                self.phases[Phase::Receiving].record(receiving_ns);
            }
            _ => {
                self.by_outcome.incomplete.record(response_ns);
                self.running.interval.ended_incomplete(response_ns, service_ns);
            }
        }
        self.service.record(service_ns);
        self.running.interval.ended(response_ns, service_ns);
        self.parts.each(place, |part| part.ended(response_ns, service_ns, outcome));
    }

    /// Of the time in which a request was sent, the peer's flow control held back the rest of it
    /// for `stalled_ns`. To be called when it has completed.
    pub fn stalled(&mut self, moments: &Moments, stalled_ns: u64) {
        // It is a part of sending: what is left of that is no negative time either.
        let sending_ns = moments.written_ns.saturating_sub(moments.sent_ns);
        self.gap_ns(stalled_ns, sending_ns);
        self.phases[Phase::Stalled].record(stalled_ns);
    }

    /// `slots` came due and found no connection before the end; each had waited this long.
    pub fn unsent(&mut self, slots: u64, waited_ns: u64, place: Place) {
        self.ledger.unsent += slots;
        self.never_sent(slots, waited_ns, place, |part| part.ledger.unsent += slots);
    }

    /// `slots` came due and were dropped, because each had waited this long for a connection.
    pub fn shed(&mut self, slots: u64, waited_ns: u64, place: Place) {
        self.ledger.shed += slots;
        self.running.interval.shed(slots, waited_ns);
        self.never_sent(slots, waited_ns, place, |part| part.ledger.shed += slots);
    }

    fn never_sent(&mut self, slots: u64, waited_ns: u64, place: Place, count: impl Fn(&mut Part)) {
        self.ledger.scheduled += slots;
        self.by_outcome.incomplete.record_n(waited_ns, slots);
        self.parts.each(place, |part| {
            part.ledger.scheduled += slots;
            count(part);
            part.response.record_n(waited_ns, slots);
        });
    }

    /// The server has ended a call with this status. Nothing is allocated but by the first one.
    #[inline]
    pub fn called(&mut self, code: u32) {
        if self.grpc_status.is_empty() {
            self.grpc_status.resize(GRPC_OTHER + 1, 0);
        }
        self.grpc_status[(code as usize).min(GRPC_OTHER)] += 1;
    }

    /// Something went wrong in a phase, `count` times. The kind is one of [`ERROR_KINDS`]. `sample`
    /// is called the first time only.
    pub fn error(
        &mut self,
        phase: Phase,
        kind: &'static str,
        count: u64,
        sample: impl FnOnce() -> String,
    ) {
        debug_assert!(ERROR_KINDS.contains(&kind), "'{kind}' is not among ERROR_KINDS");
        self.running.interval.error(count);
        let known = self.errors.iter_mut().find(|error| error.phase == phase && error.kind == kind);
        if let Some(known) = known {
            known.count += count;
            return;
        }
        let error = ErrorCount { phase, kind: kind.to_owned(), count, sample: sample() };
        self.errors.push(error);
    }

    /// Response times of every request, whatever its outcome.
    #[must_use]
    pub fn response(&self) -> Histogram {
        self.by_outcome.all()
    }

    /// Ends the running interval, which lies where `span` says, and goes on with an empty one.
    pub fn take_interval(
        &mut self,
        span: Span,
        loader_cpu_ns: u64,
        empty: Box<Interval>,
    ) -> Box<Interval> {
        let Self { ledger, received_bytes, status, metrics, running, .. } = self;
        let mut interval = running.take(span, *ledger, *received_bytes, status, metrics, empty);
        interval.note_cpu(loader_cpu_ns);
        interval
    }

    /// Adds all of another worker's record. Lossless and associative.
    pub fn merge(&mut self, other: &Self) {
        self.ledger.merge(&other.ledger);
        self.by_outcome.merge(&other.by_outcome);
        self.service.merge(&other.service);
        self.phases.merge(&other.phases);
        self.delays.merge(&other.delays);
        self.parts.merge(&other.parts);
        for (mine, theirs) in self.status.iter_mut().zip(&other.status) {
            *mine += theirs;
        }
        let codes = self.grpc_status.len().max(other.grpc_status.len());
        self.grpc_status.resize(codes, 0);
        for (mine, theirs) in self.grpc_status.iter_mut().zip(&other.grpc_status) {
            *mine += theirs;
        }
        merge_errors(&mut self.errors, &other.errors);
        self.metrics.merge(&other.metrics);
        merge_protocols(&mut self.protocols, &other.protocols);
        self.pushed.merge(&other.pushed);
        self.compression.merge(&other.compression);
        merge_streams(&mut self.streams, other.streams.as_deref());
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.disordered += other.disordered;
    }
}

#[cfg(test)]
mod tests;
