//! A worker's requests on its connections: what is sent, what comes back, and what is done about
//! connections that fail. Joins the pool, the users and the accounts.
//!
//! Absent on purpose: what is sent next, and when. Traffic tells which entries of the pool are free
//! and which exchanges have ended; the worker decides what follows.

mod deadlines;
mod events;
mod opening;
mod send;

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_conn::{Encoding as _, ExchangeId, Hop, Protocol, State};
use plimsoll_core::Plan;
use plimsoll_core::outcome::Outcome;
use plimsoll_io::{Close, Driver, PayloadId};

use crate::accounts::Accounts;
use crate::admission::Timetable;
use crate::assignment::Assignment;
use crate::exchanges::Exchange;
use crate::observer::{CpuUse, Observer};
use crate::pool::Pool;
use crate::source::{Prepared, Source};
use crate::user::{Users, Waiting};

/// A worker's requests on its connections.
pub(crate) struct Traffic<D: Driver, P: Protocol> {
    plan: Arc<Plan>,
    pub prepared: Arc<Prepared<P::Encoding>>,
    /// For each target, its request's bytes as the driver knows them, where they never change.
    payloads: Vec<Option<PayloadId>>,
    tracks_addresses: bool,
    pub pool: Pool<D, P>,
    pub users: Users,
    pub accounts: Accounts,
    /// Entries of the pool that may be free, and since when: for the worker to look at.
    pub freed: VecDeque<(u32, u64)>,
    pub times: Times,
}

/// What has happened when; ns on the driver's clock.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// When the load begins.
    pub start_ns: u64,
    /// The latest moment that anything has happened at: the clock of the last wait, of an event
    /// since then, or as it was read since then. No event and no request is ahead of it.
    pub now_ns: u64,
    /// When the last request was started, received something, or was settled.
    pub progress_ns: u64,
    /// When the last response was complete.
    pub answered_ns: u64,
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
        let is_plain_text = pool.is_plain_text();
        let payloads = prepared.targets().iter().map(|target| {
            let fixed = target.encoding.fixed().filter(|_| is_plain_text);
            fixed.map(|bytes| pool.driver.register(Arc::clone(bytes)))
        });
        let payloads = payloads.collect();
        let exchanges_max = pool.entries.len() as usize * P::exchanges_max(protocol);
        let observer = Observer::new(plan.warmup_ns > 0, cpu);
        let judge = &assignment.judge;
        let mut accounts = Accounts::new(&plan, exchanges_max, judge, observer, S::RESUMES);
        accounts.iterations = S::COUNTS_ITERATIONS.then(Box::default);
        let mut traffic = Self {
            payloads,
            prepared,
            tracks_addresses: assignment.tracks_addresses,
            users: Users::new(pool.entries.users()),
            pool,
            accounts,
            freed: VecDeque::new(),
            times: Times::default(),
            plan,
        };
        traffic.add_parts();
        traffic
    }

    /// Prepares the parts that requests are told apart by.
    pub(crate) fn add_parts(&mut self) {
        let stages = self.plan.rate.as_ref().map_or(&[][..], |profile| &profile.stages);
        let names = self.prepared.endpoint_names();
        let addresses = self.tracks_addresses.then(|| self.pool.address_names());
        self.accounts.observer.add_parts(names, stages, addresses.unwrap_or_default());
    }

    /// The run begins as the timetable says, with the planned window of its schedule.
    pub(crate) fn start_at(&mut self, timetable: Timetable, planned_ns: Option<u64>) {
        self.times.start_ns = timetable.start_ns;
        self.accounts.start(timetable, planned_ns);
        self.pool.reach.start(timetable.measured_ns);
        self.pool.driver.watch_standstills();
        self.read_clock();
    }

    /// Starts to count the worker's own CPU time once the measured part has begun.
    #[inline]
    pub(crate) fn begin_measuring(&mut self, now_ns: u64) {
        self.accounts.observer.begin_measuring(now_ns, self.pool.driver.spun_ns());
    }

    /// Opens what waits to be opened: while new requests are started, and for those that wait.
    pub(crate) fn open_queued(&mut self, now_ns: u64, starts: bool) {
        let is_needed = self.users.waiting() > 0;
        if starts || is_needed {
            self.pool.open_queued(now_ns, is_needed);
        }
    }

    /// Reads the clock.
    #[inline]
    pub(crate) fn read_clock(&mut self) -> u64 {
        self.times.now_ns = self.times.now_ns.max(self.pool.driver.clock_ns());
        self.times.now_ns
    }

    /// Begins an exchange, of a request that may have been redirected to `hop`: sends its request
    /// on its connection, or opens that for it.
    #[inline]
    pub(crate) fn start(&mut self, mut exchange: Exchange, hop: Option<Hop>) {
        let index = exchange.client;
        let started_ns = exchange.moments.started_ns;
        self.times.progress_ns = started_ns;
        if self.tracks_addresses {
            exchange.place.address = self.pool.address(index);
        }
        let client = &mut self.pool[index];
        client.moment(started_ns);
        let is_open = client.connection.state() == State::Open;
        if is_open {
            exchange.moments.sent_ns = started_ns;
        }
        let id = self.accounts.begin(exchange, hop);
        if is_open {
            self.send(index, id);
        } else {
            self.pool[index].pending = Some(id);
            self.pool.connect(index, started_ns);
        }
    }

    /// Begins an exchange on an open connection, whose request the caller sends.
    pub(crate) fn begin_at_once(&mut self, exchange: &mut Exchange) -> ExchangeId {
        self.times.progress_ns = exchange.moments.started_ns;
        if self.tracks_addresses {
            exchange.place.address = self.pool.address(exchange.client);
        }
        self.accounts.begin(*exchange, None)
    }

    /// Sends the requests that wait for an entry of the pool, as far as it can take them.
    #[inline]
    pub(crate) fn start_waiting(&mut self, user: u32, index: u32, now_ns: u64) {
        while self.users.has_waiting(user, index) && self.pool.entries.can_take(index) {
            let Some(waiting) = self.users.take_waiting(user, index) else { return };
            let Waiting { mut exchange, hop } = waiting;
            // It was due when it was asked for; what passed since is time without a connection. The
            // time is the event's and not the clock's: more bytes may have come with that event,
            // and what they answer must not have been sent after them.
            exchange.moments.available_ns = now_ns;
            exchange.moments.started_ns = now_ns;
            if hop.is_some() {
                self.accounts.observer.recorder(exchange.measured).ledger.redirects += 1;
            }
            self.start(exchange, hop);
        }
    }

    /// Closes a connection that is to be, once nothing is open on it; says whether it did.
    #[inline]
    pub(crate) fn close_if_used_up(&mut self, index: u32, now_ns: u64) -> bool {
        let client = &self.pool[index];
        let is_idle = client.connection.open_exchanges() == 0 && client.is_in_use();
        let closes = is_idle && (client.is_used_up(&self.plan) || client.retiring);
        if closes {
            self.close(index, now_ns, Close::Graceful);
        }
        closes
    }

    /// Ends what is under way, and writes it down as what it is. Gives the time of it.
    pub(crate) fn settle_rest(&mut self) -> u64 {
        let now_ns = self.read_clock();
        self.pool.give_up_slow_connects(now_ns);
        for index in 0..self.pool.entries.len() {
            let client = &self.pool[index];
            if client.pending.is_some() || client.connection.open_exchanges() > 0 {
                self.abandon(index, now_ns, |_| Outcome::Unfinished);
            }
        }
        for waiting in self.users.drain_waiting() {
            self.accounts.unsent(&waiting.exchange, waiting.hop.is_some(), now_ns);
        }
        self.pool.count_rest();
        if !self.plan.is_open_loop() {
            self.accounts.observer.settle_closed_loop();
        }
        now_ns
    }
}
