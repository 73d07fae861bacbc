//! A worker's requests on its connections: what is sent, and what comes back.
//!
//! Absent on purpose: what is sent next, and when. Traffic tells which entries of the pool are free
//! and which exchanges have ended; the worker decides what follows.

mod events;
mod send;

use std::sync::Arc;

use plimsoll_conn::{Encoding as _, ExchangeId, Protocol, State};
use plimsoll_core::outcome::Outcome;
use plimsoll_io::{Driver, PayloadId};

use crate::accounts::Accounts;
use crate::assignment::Assignment;
use crate::exchanges::Exchange;
use crate::id::ConnectionId;
use crate::lines::Lines;
use crate::observer::{CpuUse, Observer};
use crate::pool::Pool;
use crate::source::{Prepared, Source};
use crate::user::{Course, Users, Waiting};

/// A worker's requests on its connections.
pub(crate) struct Traffic<D: Driver, P: Protocol> {
    pub prepared: Arc<Prepared<P::Encoding>>,
    /// For each target, its request's bytes as the driver knows them, where they never change.
    payloads: Vec<Option<PayloadId>>,
    pub lines: Lines<D, P>,
    pub users: Users,
}

impl<D: Driver, P: Protocol> Traffic<D, P> {
    /// The traffic of a worker on its driver. `cpu` tells what the thread has used of the CPU.
    pub(crate) fn new<S: Source>(
        driver: D,
        assignment: &Assignment<P::Encoding>,
        protocol: &P::Settings,
        cpu: fn() -> CpuUse,
    ) -> Self {
        let plan = Arc::clone(&assignment.plan);
        let prepared = Arc::clone(&assignment.prepared);
        let mut pool = Pool::new(driver, assignment, protocol, S::COUNTS_ITERATIONS);
        // With TLS no request is the same bytes twice.
        let is_plain_text = pool.origins.is_plain_text();
        let payloads = prepared.targets().iter().map(|target| {
            let fixed = target.encoding.fixed().filter(|_| is_plain_text);
            fixed.map(|bytes| pool.driver.register(Arc::clone(bytes)))
        });
        let payloads = payloads.collect();
        let exchanges_max = pool.entries.len() * P::exchanges_max(protocol);
        let offset_ns = assignment.member.start_ns;
        let has_warmup = plan.warmup_ns > 0 || plan.first_request.is_some();
        let observer = Observer::new(has_warmup, cpu, &assignment.metrics, offset_ns);
        let mut accounts = Accounts::new::<S>(assignment, exchanges_max, observer);
        let stages = plan.rate.as_ref().map_or(&[][..], |profile| &profile.stages);
        accounts.observer.add_parts(prepared.endpoint_names(), stages);
        let are_alike = !S::RESUMES && !plan.cookies;
        let users = Users::new(pool.entries.users(), plan.timeout_ns, are_alike);
        let lines = Lines::new(&plan, pool, accounts, assignment.tracks_addresses);
        Self { prepared, payloads, lines, users }
    }

    /// Begins an exchange: sends its request on its connection, or opens that for it.
    #[inline]
    pub(crate) fn start(&mut self, exchange: Exchange) {
        let waiting = Waiting { exchange, hop: None, course: Course::Anew };
        self.start_at(exchange.moments.started_ns, waiting);
    }

    /// Begins the exchange of a request at `now_ns`, or goes on with it.
    #[inline]
    fn start_at(&mut self, now_ns: u64, Waiting { mut exchange, hop, course }: Waiting) {
        let entry = exchange.client;
        self.lines.times.progress_ns = now_ns;
        exchange.place.address = self.lines.address(entry);
        let client = &mut self.lines.pool[entry];
        client.moment(now_ns);
        let is_open = client.connection.state() == State::Open;
        if is_open && exchange.moments.sent_ns == 0 {
            exchange.moments.sent_ns = now_ns;
        }
        let id = self.lines.accounts.begin(exchange, hop, course);
        if is_open {
            self.send(entry, id);
        } else {
            self.lines.pool[entry].pending = Some(id);
            self.lines.pool.connect(entry, now_ns);
        }
    }

    /// Sends what connections have gathered.
    #[inline]
    pub(crate) fn flush(&mut self) {
        let sent_bytes = self.lines.pool.flush();
        if sent_bytes > 0 {
            self.lines.accounts.sent_at(self.lines.times.now_ns, sent_bytes);
        }
    }

    /// Begins an exchange on an open connection, whose request the caller sends.
    pub(crate) fn begin_at_once(&mut self, exchange: &mut Exchange) -> ExchangeId {
        self.lines.times.progress_ns = exchange.moments.started_ns;
        exchange.place.address = self.lines.address(exchange.client);
        self.lines.accounts.begin(*exchange, None, Course::Anew)
    }

    /// Sends the requests that wait for an entry of the pool, as far as it can take them.
    #[inline]
    pub(crate) fn start_waiting(&mut self, user: u32, entry: ConnectionId, now_ns: u64) {
        while self.users.has_waiting(user, entry) && self.lines.pool.entries.can_go_on(entry) {
            let Some(mut waiting) = self.users.take_waiting(user, entry) else { return };
            let exchange = &mut waiting.exchange;
            // It was due when it was asked for; what passed since is time without a connection. The
            // time is the event's and not the clock's: more bytes may have come with that event,
            // and what they answer must not have been sent after them.
            let started_ns = now_ns.max(exchange.moments.intended_ns);
            if !waiting.course.goes_on() {
                exchange.moments.available_ns = started_ns;
                exchange.moments.started_ns = started_ns;
                let recorder = self.lines.accounts.observer.recorder(exchange.measured);
                recorder.ledger.redirects += u64::from(waiting.hop.is_some());
            }
            self.start_at(started_ns, waiting);
        }
    }

    /// Sends requests again on an entry of the pool, as far as it can take them: those whose own
    /// connections are still busy with others.
    #[cold]
    pub(crate) fn start_resent(&mut self, entry: ConnectionId, now_ns: u64) {
        let entries = &self.lines.pool.entries;
        let is_next = entries.origin(entry) == 0 && entries.user(entry) < entries.active();
        while is_next && self.lines.pool.entries.can_take(entry) {
            let Some(mut waiting) = self.users.take_movable() else { return };
            waiting.exchange.client = entry;
            let started_ns = now_ns.max(waiting.exchange.moments.started_ns);
            self.start_at(started_ns, waiting);
        }
    }

    /// Sends requests again on connections that have been free all along.
    #[cold]
    pub(super) fn start_resent_on_idle(&mut self, now_ns: u64) {
        while self.users.has_movable() {
            let Some(idle) = self.lines.pool.entries.take_idle() else { return };
            self.start_resent(idle.entry, now_ns);
            self.lines.pool.entries.push_idle(idle.entry, idle.since_ns);
        }
    }

    /// Looks at the connections and exchanges whose deadline has come, compared with the time up
    /// to which everything received has been taken: after a pause the clock is far ahead of that,
    /// and what came in time has yet to be told.
    pub(crate) fn look_at_deadlines(&mut self) {
        let by_ns = self.lines.pool.driver.caught_up_ns();
        let now_ns = self.lines.times.now_ns;
        while let Some(entry) = self.lines.pool.deadlines.pop(by_ns) {
            if self.lines.look_at(entry, by_ns, now_ns) {
                self.send_withheld(entry, now_ns);
            }
            self.lines.watch_on(entry);
        }
        self.lines.end_late(by_ns, now_ns);
        while let Some(late) = self.users.take_late(by_ns) {
            self.lines.waited_in_vain(&late.exchange, now_ns);
        }
    }

    /// When there is a deadline to look at; `u64::MAX` without one.
    #[inline]
    pub(crate) fn next_deadline_ns(&self) -> u64 {
        self.lines.next_deadline_ns().min(self.users.next_late_ns())
    }

    /// Opens what waits to be opened: while new requests are started, and for those that wait.
    pub(crate) fn open_queued(&mut self, starts: bool) {
        let is_needed = self.users.waiting() > 0;
        if starts || is_needed {
            self.lines.pool.open_queued(is_needed);
        }
    }

    /// Ends what is under way, and writes it down as what it is. Gives the time of it.
    pub(crate) fn settle_rest(&mut self) -> u64 {
        let now_ns = self.lines.read_clock();
        self.lines.pool.give_up_slow_connects(now_ns);
        for entry in self.lines.pool.entries.ids() {
            let client = &self.lines.pool[entry];
            if client.pending.is_some() || client.connection.open_exchanges() > 0 {
                self.lines.abandon(entry, now_ns, |_| Outcome::Unfinished);
            }
        }
        for waiting in self.users.drain_waiting() {
            self.lines.accounts.unsent(&waiting, now_ns);
        }
        self.lines.pool.count_rest();
        let protocols = std::mem::take(&mut self.lines.pool.counts.protocols);
        let measured = &mut self.lines.accounts.observer.measured;
        measured.protocols = protocols;
        measured.compression.merge(&self.lines.pool.counts.compression);
        self.lines.accounts.settle_lags();
        now_ns
    }
}
