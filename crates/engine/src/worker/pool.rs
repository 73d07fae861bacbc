//! The life of connections: opened through a paced window, used first in first out, closed, and
//! opened again after a backoff.
//!
//! Normally connections are open before they are needed, and a slot waits for a free one. With one
//! request for each connection it is the other way round: the slot takes a closed entry of the
//! pool, and the connect is part of its time.

use std::collections::VecDeque;

use plimsoll_conn::{Protocol, State};
use plimsoll_core::Plan;
use plimsoll_core::outcome::Outcome;
use plimsoll_io::{Close, Driver, Token};

use super::Worker;
use crate::admission::Due;
use crate::client::Client;
use crate::exchanges::Exchange;
use crate::signals::Signals;

/// Connects under way at first, per worker.
const WINDOW_START: u32 = 16;
const WINDOW_MIN: u32 = 4;
const WINDOW_MAX: u32 = 256;

/// A connection that a request could take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    index: u32,
    epoch: u32,
    since_ns: u64,
}

/// Connections waiting to be opened, and how many may be under way at once.
#[derive(Debug)]
pub(super) struct Opener {
    pub queue: VecDeque<u32>,
    under_way: u32,
    window: u32,
}

impl Opener {
    pub(super) fn new(connections: u32) -> Self {
        let queue = VecDeque::with_capacity(connections as usize);
        Self { queue, under_way: 0, window: WINDOW_START }
    }

    pub(super) fn under_way(&self) -> u32 {
        self.under_way
    }

    pub(super) fn succeeded(&mut self) {
        self.under_way -= 1;
        self.window = (self.window + 1).min(WINDOW_MAX);
    }

    pub(super) fn failed(&mut self) {
        self.under_way -= 1;
        self.window = (self.window / 2).max(WINDOW_MIN);
    }
}

impl<P: Protocol> Client<P> {
    /// Whether a request can be sent on the open connection.
    #[inline]
    pub(super) fn can_send(&self, plan: &Plan) -> bool {
        self.connection.room() > 0
            && !self.retiring
            && self.sent < plan.requests_per_connection.unwrap_or(u64::MAX)
    }

    /// Whether it is open, or on the way to be.
    pub(super) fn is_in_use(&self) -> bool {
        self.connection.state() != State::Closed
    }

    /// Whether a request can take the closed entry and connect.
    pub(super) fn can_connect(&self, plan: &Plan) -> bool {
        plan.connects_per_request()
            && self.connection.state() == State::Closed
            && self.due_ns == u64::MAX
    }
}

impl<D: Driver, P: Protocol> Worker<D, P> {
    /// Starts the slots that are due, as long as there are free connections; drops those that have
    /// waited too long. The last turn before the end still does, so that a slot due just before it
    /// is not lost to lateness.
    pub(super) fn admit(&mut self, signals: &Signals, now_ns: u64) {
        if self.stopped_ns.is_some() || self.script_is_over() {
            return;
        }
        let mut now_ns = now_ns;
        while let Some(due) = self.admission.peek(&self.timetable) {
            if due.at_ns > now_ns {
                // The work of this turn took time: look again before going to sleep. An order that
                // came meanwhile may hold for the slots that are due since.
                now_ns = self.read_clock();
                self.obey(signals, now_ns);
                if self.admission.peek(&self.timetable).is_none_or(|due| due.at_ns > now_ns) {
                    return;
                }
                continue;
            }
            let Some(idle) = self.take_idle() else {
                if self.is_too_old(&due, now_ns) {
                    self.shed(&due, now_ns);
                    continue;
                }
                if self.can_grow() {
                    self.grow(now_ns);
                }
                return;
            };
            // Only the wait for a connection counts: that the tester was late itself is no reason.
            if self.is_too_old(&due, idle.since_ns) {
                self.shed(&due, idle.since_ns);
                self.put_back(idle);
                continue;
            }
            self.admission.take();
            let started_ns = self.read_clock();
            let exchange = self.exchange(idle.index, &due, idle.since_ns, started_ns);
            self.start(exchange);
            // It has had room all along for another.
            self.push_idle(idle.index, idle.since_ns);
            if self.script_is_over() {
                return;
            }
        }
    }

    /// Whether a slot had waited too long at `at_ns`.
    #[inline]
    pub(super) fn is_too_old(&self, due: &Due, at_ns: u64) -> bool {
        let shed_after_ns = self.plan.shed_after_ns;
        shed_after_ns.is_some_and(|after_ns| at_ns.saturating_sub(due.at_ns) >= after_ns)
    }

    #[cold]
    fn shed(&mut self, due: &Due, now_ns: u64) {
        self.admission.take();
        let place = self.place_of(self.prepared.choose(due.number), due.stage);
        let recorder = self.observer.recorder(due.measured);
        let waited_ns = recorder.gap_ns(due.at_ns, now_ns);
        recorder.shed(1, waited_ns, place);
    }

    /// A connection has room for a request (or its entry is closed and may connect).
    pub(super) fn freed(&mut self, index: u32, now_ns: u64) {
        if !self.running {
            return;
        }
        let client = &mut self.clients[index as usize];
        let used_up = client.sent >= self.plan.requests_per_connection.unwrap_or(u64::MAX);
        let follows = !self.users[index as usize].follows.is_empty();
        if follows && !used_up && client.connection.room() > 0 {
            self.follow(index, now_ns);
            return;
        }
        if (used_up || client.retiring)
            && client.connection.open_exchanges() == 0
            && client.is_in_use()
        {
            self.close(index, now_ns, Close::Graceful);
            return;
        }
        if follows {
            if client.can_connect(&self.plan) {
                self.follow(index, now_ns);
            }
            return;
        }
        if index >= self.active || self.script_is_over() || self.pauses(index, now_ns) {
            return;
        }
        if self.plan.is_open_loop() {
            self.push_idle(index, now_ns);
            return;
        }
        loop {
            let client = &self.clients[index as usize];
            if !client.can_send(&self.plan) && !client.can_connect(&self.plan) {
                return;
            }
            let taken = self.admission.take_closed(&self.timetable, now_ns);
            let Some((number, measured)) = taken else {
                return;
            };
            self.clients[index as usize].draw(measured);
            let stage = plimsoll_core::part::Place::NONE;
            let due = Due { at_ns: now_ns, number, stage, measured };
            let exchange = self.exchange(index, &due, now_ns, now_ns);
            self.start(exchange);
        }
    }

    pub(super) fn push_idle(&mut self, index: u32, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        let usable = client.can_send(&self.plan) || client.can_connect(&self.plan);
        if usable && !client.queued {
            client.queued = true;
            self.idle.push_back(Idle { index, epoch: client.epoch, since_ns: now_ns });
        }
    }

    /// Gives a connection back that was taken and is not needed.
    fn put_back(&mut self, idle: Idle) {
        self.clients[idle.index as usize].queued = true;
        self.idle.push_front(idle);
    }

    fn take_idle(&mut self) -> Option<Idle> {
        while let Some(idle) = self.idle.pop_front() {
            let client = &mut self.clients[idle.index as usize];
            // An entry of a connection that was closed meanwhile is stale.
            if idle.epoch != client.epoch {
                continue;
            }
            client.queued = false;
            // Nor is one of use that is to be let go, or whose server has said that it will close.
            if idle.index >= self.active {
                continue;
            }
            if client.can_send(&self.plan) || client.can_connect(&self.plan) {
                return Some(idle);
            }
        }
        None
    }

    /// Opens what waits to be opened, as far as the window allows.
    pub(super) fn open_queued(&mut self, now_ns: u64) {
        if self.stopped_ns.is_some() && self.follows == 0 {
            return;
        }
        while self.opener.under_way < self.opener.window {
            let Some(index) = self.opener.queue.pop_front() else {
                return;
            };
            if index >= self.active || self.clients[index as usize].is_in_use() {
                continue;
            }
            // Those to begin with are opened in any case.
            if self.running && self.follows == 0 && !self.tickets.need_connection() {
                continue;
            }
            self.opener.under_way += 1;
            self.connect(index, now_ns);
            self.deadlines.watch(index, now_ns.saturating_add(self.plan.timeout_ns));
        }
    }

    pub(super) fn connect(&mut self, index: u32, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        client.opening_ns = client.moment(now_ns);
        client.due_ns = u64::MAX;
        client.tried = true;
        client.route = client.next_route;
        client.room = self.tickets.cover();
        let route = self.routes.get(client.route);
        client.connection.open(&mut self.driver, route);
    }

    /// Whether the next TLS handshake may resume a session: spread evenly, as many of a hundred as
    /// the plan says.
    pub(super) fn next_resumes(&mut self) -> bool {
        let percent = u64::from(self.plan.tls.resume_percent);
        let before = self.handshakes * percent / 100;
        self.handshakes += 1;
        self.handshakes * percent / 100 > before
    }

    /// Closes a connection without open requests and sees to it that it comes back.
    pub(super) fn close(&mut self, index: u32, now_ns: u64, how: Close) {
        self.count_retransmits(index);
        let client = &mut self.clients[index as usize];
        debug_assert_eq!(client.connection.open_exchanges(), 0);
        drop(client.connection.close(&mut self.driver, how));
        self.open_now -= u64::from(std::mem::take(&mut client.counted));
        self.tickets.uncover(std::mem::take(&mut client.room));
        client.epoch = client.epoch.wrapping_add(1);
        client.queued = false;
        client.retire_ns = u64::MAX;
        self.users[index as usize].pause_until_ns = u64::MAX;
        let fin_awaited_ns = std::mem::replace(&mut client.fin_awaited_ns, u64::MAX);
        if fin_awaited_ns != u64::MAX {
            self.fin_wait.ended(now_ns.saturating_sub(fin_awaited_ns));
        }
        // One that was closed by our own choice has not failed.
        let is_ours = std::mem::take(&mut client.retiring);
        let failed = client.answered == 0 && !is_ours;
        client.failures = if failed { client.failures + 1 } else { 0 };
        // A connection that came about and was lost with its request may be chance, once: a user
        // that waited after each would send less than one whose connections hold.
        let is_lost = failed && client.sent > 0;
        let is_chance = is_lost && client.failures == 1;
        let backoff_ns = if is_chance { 0 } else { client.backoff_ns() };
        // While it waits it sends nothing, so nothing fails.
        if is_lost && !is_chance {
            self.reach.lost(index, now_ns);
        }
        client.sent = 0;
        client.answered = 0;
        if index >= self.active {
            client.due_ns = u64::MAX;
        } else if backoff_ns > 0 {
            client.due_ns = now_ns + backoff_ns;
            self.deadlines.watch(index, client.due_ns);
        } else {
            self.come_back(index, now_ns);
        }
    }

    /// Asks the kernel how often it had to send again on a connection, before that is forgotten.
    /// Not with a connection for each request: there it would cost a system call for each.
    pub(super) fn count_retransmits(&mut self, index: u32) {
        let is_open = self.clients[index as usize].counted;
        if is_open && !self.plan.connects_per_request() {
            let info = self.driver.tcp_info(Token(index));
            self.connections.retransmits += info.map_or(0, |info| u64::from(info.retransmits));
        }
    }

    /// A closed entry may be used again.
    pub(super) fn come_back(&mut self, index: u32, now_ns: u64) {
        self.clients[index as usize].due_ns = u64::MAX;
        if self.plan.connects_per_request() {
            self.freed(index, now_ns);
        } else {
            self.opener.queue.push_back(index);
        }
    }

    /// Closes a connection hard and settles its open requests, each with the outcome it gets.
    /// Returns how many there were.
    pub(super) fn abandon(
        &mut self,
        index: u32,
        now_ns: u64,
        outcome: impl Fn(&Exchange) -> Outcome,
    ) -> u64 {
        self.count_retransmits(index);
        let Self { clients, driver, observer, exchanges, open_now, .. } = self;
        let client = &mut clients[index as usize];
        let now_ns = client.moment(now_ns);
        *open_now -= u64::from(std::mem::take(&mut client.counted));
        let pending = client.pending.take().into_iter();
        let mut settled = 0;
        for id in pending.chain(client.connection.close(driver, Close::Reset)) {
            settled += 1;
            let exchange = exchanges.end(id);
            let mut moments = exchange.moments;
            // Its connect failed: the service it did not get began with the attempt.
            if moments.sent_ns == 0 {
                moments.sent_ns = moments.started_ns;
            }
            let recorder = observer.recorder(exchange.measured);
            recorder.ended(&moments, now_ns, outcome(&exchange), exchange.place);
        }
        self.progress_ns = if settled > 0 { now_ns } else { self.progress_ns };
        settled
    }
}
