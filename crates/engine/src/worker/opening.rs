//! Before the load: connections are opened and, where the plan says so, carry a first request each.
//!
//! First requests go through the same traffic as those of the load, on the connections that the
//! load goes on with. They are recorded with the warm-up.

use std::io;

use plimsoll_conn::{Protocol, State};
use plimsoll_core::part::Place;
use plimsoll_io::Driver;

use super::iterate::When;
use super::{TICK_NS, Worker};
use crate::admission::Due;
use crate::error::{FirstFailure, OpeningError};
use crate::signals::Signals;
use crate::source::Source;
use crate::traffic::Traffic;

/// The number of the first of these requests: none of the load comes that far.
const FIRST_NUMBER: u64 = 1 << 62;

/// What came of opening a worker's connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connected {
    /// How many are open; `None` where connections are opened when a request needs them.
    pub open: Option<u32>,
    /// The first thing that went wrong with one.
    pub error: Option<OpeningError>,
    /// What went wrong with the first requests on them, where the plan asks for some.
    pub first_failure: Option<FirstFailure>,
}

impl<D: Driver, P: Protocol, S: Source> Worker<D, P, S> {
    /// Opens the connections: tries each once, until `limit_ns` at most. Where the plan asks for
    /// it, each then carries a first request; how long that takes is up to the plan's timeout.
    ///
    /// # Errors
    /// When the driver breaks.
    pub fn open(&mut self, limit_ns: u64, signals: &Signals) -> io::Result<Connected> {
        let mut connected = self.connect(limit_ns, signals)?;
        // A source that goes on with what came of its requests has not begun yet.
        let Some(first) = self.plan.first_request.filter(|_| !S::RESUMES) else {
            return Ok(connected);
        };
        for user in 0..self.traffic.lines.pool.entries.active() {
            if signals.is_stopped() {
                break;
            }
            self.send_first(user);
            if first.one_by_one {
                self.await_responses(signals)?;
            }
        }
        self.await_responses(signals)?;
        if !signals.is_stopped() {
            connected.first_failure = self.first_failure(connected.error.as_ref());
        }
        Ok(connected)
    }

    /// Tries to open each connection once. Each connect is looked after before the next one begins,
    /// because one that is done at once, as over the loopback, would wait for all the others
    /// to be seen.
    fn connect(&mut self, limit_ns: u64, signals: &Signals) -> io::Result<Connected> {
        let entries = &self.traffic.lines.pool.entries;
        if entries.opens_on_demand(entries.entry(0, 0)) {
            return Ok(Connected::default());
        }
        self.traffic.lines.read_clock();
        self.traffic.lines.pool.queue_all();
        while self.traffic.lines.pool.entries.is_opening_any()
            && self.traffic.lines.times.now_ns < limit_ns
            && !signals.is_stopped()
        {
            let has_begun = self.traffic.lines.pool.open_next(true);
            let tick_ns = self.traffic.lines.times.now_ns + TICK_NS;
            let until_ns = tick_ns.min(limit_ns).min(self.traffic.lines.pool.deadlines.next_ns());
            self.wait(if has_begun { 0 } else { until_ns })?;
            self.traffic.look_at_deadlines();
        }
        let clients = self.traffic.lines.pool.entries.clients().iter();
        let open = clients.filter(|client| client.connection.state() == State::Open).count() as u32;
        let error = self.traffic.lines.pool.opening_error().cloned();
        Ok(Connected { open: Some(open), error, first_failure: None })
    }

    /// Sends what a user's connection carries first.
    fn send_first(&mut self, user: u32) {
        let entry = self.traffic.lines.pool.entries.entry(user, 0);
        let in_flight = self.plan.in_flight_per_connection();
        for place in 0..in_flight {
            if !self.traffic.lines.pool.entries.can_take(entry) {
                return;
            }
            let now_ns = self.traffic.lines.read_clock();
            let nth = u64::from(user) * u64::from(in_flight) + u64::from(place);
            let number = FIRST_NUMBER + nth * u64::from(self.plan.workers) + u64::from(self.worker);
            let due = Due { at_ns: now_ns, number, stage: Place::NONE, measured: false };
            self.begin_iteration(user, &due, When::at_once(now_ns));
        }
    }

    /// Waits until all requests have ended. Each does, because it times out.
    fn await_responses(&mut self, signals: &Signals) -> io::Result<()> {
        let goes_on = |traffic: &Traffic<D, P>| {
            traffic.lines.accounts.exchanges.len() > 0 || traffic.users.waiting() > 0
        };
        while goes_on(&self.traffic) && !signals.is_stopped() {
            let now_ns = self.traffic.lines.times.now_ns;
            self.traffic.open_queued(true);
            self.wait((now_ns + TICK_NS).min(self.traffic.next_deadline_ns()))?;
            self.traffic.look_at_deadlines();
            // A connection whose deadline has come may be what a redirected request waits for.
            self.serve_freed();
        }
        Ok(())
    }

    /// What went wrong with the first requests, of connections that may have met `error`.
    fn first_failure(&self, error: Option<&OpeningError>) -> Option<FirstFailure> {
        let recorder = self.traffic.lines.accounts.observer.warmup.as_deref()?;
        let ledger = &recorder.ledger;
        let users = u64::from(self.traffic.lines.pool.entries.active());
        if ledger.ok >= users * u64::from(self.plan.in_flight_per_connection()) {
            return None;
        }
        let counted = recorder.status.iter().enumerate().skip(1).filter(|(_, count)| **count > 0);
        let met = recorder.errors.first().map(|error| error.sample.as_str());
        let reason = met.or_else(|| error.map(|it| it.reason.as_str())).map(str::to_owned);
        let statuses: Vec<u16> = counted.map(|(status, _)| status as u16).collect();
        let status = || statuses.last().map(|status| format!("a response had the status {status}"));
        let reason = reason.or_else(status);
        Some(FirstFailure {
            bytes: recorder.received_bytes.checked_div(ledger.completed).unwrap_or(0),
            reason: reason.unwrap_or_else(|| "the server took no request".to_owned()),
            statuses,
        })
    }
}
