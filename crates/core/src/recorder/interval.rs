//! The stretch of a run that a recorder is filling: what happened in it, and what had been counted
//! when it began.

use super::statuses::Statuses;
use crate::histogram::Histogram;
use crate::ledger::Ledger;
use crate::metric::{IntervalMetrics, Metrics};
use crate::series::{INTERVAL_NS, Point};
use crate::times::Times;

/// Where an interval lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its start, ns from the start of the measured part.
    pub t_ns: u64,
    /// Its length, ns.
    pub length_ns: u64,
}

impl Span {
    /// Interval number `index` of a load that starts `offset_ns` after its run, whose intervals it
    /// keeps to: the first is shorter where the load starts within one.
    #[must_use]
    pub fn nth(index: u64, offset_ns: u64) -> Self {
        let missing_ns = offset_ns % INTERVAL_NS;
        let t_ns = (index * INTERVAL_NS).saturating_sub(missing_ns);
        Self { t_ns, length_ns: (index + 1) * INTERVAL_NS - missing_ns - t_ns }
    }

    /// Its end, ns from the start of the measured part.
    #[must_use]
    pub fn end_ns(self) -> u64 {
        self.t_ns + self.length_ns
    }
}

/// A stretch of the run, as the recorder fills it. [`Interval::pack`] makes the small form of it,
/// and leaves it empty to be filled again; that takes a while, so it is not for a worker to do.
#[derive(Debug, Clone, Default)]
pub struct Interval {
    point: Point,
    response: Histogram,
    service: Histogram,
    /// Of both, the times of requests that ended without a whole response.
    incomplete_response: Times,
    incomplete_service: Times,
    metrics: IntervalMetrics,
    status: Statuses,
    /// How long all that waited at its end had waited, where a condition asks for it.
    waiting: Times,
    /// How long the slots that were dropped in it had waited.
    shed_waits: Times,
}

impl Interval {
    /// Notes for how long users were cut off in it, and the time of all users, added up.
    pub fn note_outage(&mut self, cut_off_ns: u64, users_ns: u64) {
        self.point.cut_off_ns = cut_off_ns;
        self.point.users_ns = users_ns;
    }

    /// How long it is, ns.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.point.interval_ns
    }

    /// Notes how many requests were waiting when it ended, and for how long.
    pub fn note_waiting(&mut self, waited_ns: u64, count: u64) {
        self.waiting.record_n(waited_ns, count);
    }

    /// Notes how many slots had waited for a connection for an interval or longer when it ended.
    pub fn note_overdue(&mut self, slots: u64) {
        self.point.overdue = slots;
    }

    /// Whether nothing was counted in it: no request, error, byte or custom metric.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Point { sent, shed, errors, received_bytes, .. } = self.point;
        let is_idle = [sent, shed, errors, received_bytes] == [0; 4] && self.response.is_empty();
        is_idle && self.metrics.is_empty()
    }

    /// The interval as it stands in a series. Empties it.
    pub fn pack(&mut self) -> Point {
        let mut point = std::mem::take(&mut self.point);
        point.response = self.response.pack();
        point.service = self.service.pack();
        point.metrics = self.metrics.pack();
        point.status = self.status.take();
        point.waiting = self.waiting.take();
        point.shed_waits = self.shed_waits.take();
        point.incomplete_response = self.incomplete_response.take();
        point.incomplete_service = self.incomplete_service.take();
        if !self.response.is_empty() {
            self.response.clear();
            self.service.clear();
        }
        point
    }

    /// Notes how long the worker used the CPU in it, time spent spinning left out.
    pub(super) fn note_cpu(&mut self, loader_cpu_ns: u64) {
        self.point.loader_cpu_ns = loader_cpu_ns;
    }

    /// A request was started this late.
    #[inline]
    pub(super) fn started(&mut self, lateness_ns: u64) {
        self.point.lateness_max_ns = self.point.lateness_max_ns.max(lateness_ns);
    }

    /// A request ended.
    #[inline]
    pub(super) fn ended(&mut self, response_ns: u64, service_ns: u64) {
        self.response.record(response_ns);
        self.service.record(service_ns);
    }

    /// Of the requests that ended, one had no whole response.
    #[inline]
    pub(super) fn ended_incomplete(&mut self, response_ns: u64, service_ns: u64) {
        self.incomplete_response.record(response_ns);
        self.incomplete_service.record(service_ns);
    }

    /// Slots were dropped, each after it had waited this long.
    pub(super) fn shed(&mut self, slots: u64, waited_ns: u64) {
        self.shed_waits.record_n(waited_ns, slots);
    }

    /// Something went wrong, `count` times.
    pub(super) fn error(&mut self, count: u64) {
        self.point.errors += count;
    }
}

/// The interval that is being filled.
#[derive(Debug, Clone, Default)]
pub(super) struct Running {
    pub interval: Box<Interval>,
    /// What had been counted when it began.
    ledger: Ledger,
    received_bytes: u64,
    status: Statuses,
}

impl Running {
    /// Ends the interval and goes on with an empty one. `ledger`, `received_bytes` and `status` are
    /// what has been counted by now.
    pub(super) fn take(
        &mut self,
        span: Span,
        ledger: Ledger,
        received_bytes: u64,
        status: &[u64],
        metrics: &mut Metrics,
        mut empty: Box<Interval>,
    ) -> Box<Interval> {
        metrics.take_interval(&mut empty.metrics);
        let mut interval = std::mem::replace(&mut self.interval, empty);
        std::mem::swap(&mut interval.metrics, &mut self.interval.metrics);
        interval.status.take_since(&mut self.status, status);
        let before = std::mem::replace(&mut self.ledger, ledger);
        let received_before = std::mem::replace(&mut self.received_bytes, received_bytes);
        interval.point = Point {
            t_ns: span.t_ns,
            interval_ns: span.length_ns,
            sent: ledger.sent - before.sent,
            completed: ledger.completed - before.completed,
            ok: ledger.ok - before.ok,
            failed: ledger.failed - before.failed,
            timed_out: ledger.timed_out - before.timed_out,
            broken: ledger.broken - before.broken,
            refused: ledger.refused - before.refused,
            shed: ledger.shed - before.shed,
            errors: interval.point.errors,
            received_bytes: received_bytes - received_before,
            lateness_max_ns: interval.point.lateness_max_ns,
            ..Point::default()
        };
        interval
    }
}
