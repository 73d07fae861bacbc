//! From a slot to an exchange on a connection.

use plimsoll_conn::{Hop, Protocol, State};
use plimsoll_io::{Close, Driver};

use super::Worker;
use super::iterate::When;
use crate::admission::Due;
use crate::exchanges::Exchange;
use crate::signals::Signals;
use crate::source::Source;
use crate::user::Waiting;

impl<D: Driver, P: Protocol, S: Source> Worker<D, P, S> {
    /// Starts the slots that are due, as long as there are free connections; drops those that have
    /// waited too long. The last turn before the end still does, so that a slot due just before it
    /// is not lost to lateness.
    pub(super) fn admit(&mut self, signals: &Signals, now_ns: u64) {
        if self.times.stopped_ns.is_some() || self.source.is_over() {
            return;
        }
        let mut now_ns = now_ns;
        while let Some(due) = self.slots.peek() {
            if due.at_ns > now_ns {
                // The work of this turn took time: look again before going to sleep. An order that
                // came meanwhile may hold for the slots that are due since.
                now_ns = self.read_clock();
                self.obey(signals, now_ns);
                if self.slots.peek().is_none_or(|due| due.at_ns > now_ns) {
                    return;
                }
                continue;
            }
            let Some(idle) = self.pool.take_idle() else {
                if self.slots.is_too_old(&due, now_ns) {
                    self.shed(&due, now_ns);
                    continue;
                }
                if self.pool.can_grow() {
                    self.grow(now_ns);
                }
                return;
            };
            // Only the wait for a connection counts: that the tester was late itself is no reason.
            if self.slots.is_too_old(&due, idle.since_ns) {
                self.shed(&due, idle.since_ns);
                self.pool.put_back(idle);
                continue;
            }
            self.slots.take();
            let started_ns = self.read_clock();
            let when = When { intended_ns: due.at_ns, free_ns: idle.since_ns, started_ns };
            self.begin_iteration(idle.index, &due, when);
            if !S::RESUMES {
                // It has had room all along for another.
                self.pool.push_idle(idle.index, idle.since_ns);
            }
            if self.source.is_over() {
                return;
            }
        }
    }

    #[cold]
    fn shed(&mut self, due: &Due, now_ns: u64) {
        self.slots.take();
        if S::COUNTS_ITERATIONS {
            if let Some(iterations) = self.accounts.iterations_of(due) {
                iterations.shed(1);
            }
            return;
        }
        let place = self.prepared.place(self.prepared.choose(due.number), due.stage);
        let recorder = self.accounts.observer.recorder(due.measured);
        let waited_ns = recorder.gap_ns(due.at_ns, now_ns);
        recorder.shed(1, waited_ns, place);
    }

    /// A connection has room for a request (or its entry is closed and may connect).
    pub(super) fn freed(&mut self, index: u32, now_ns: u64) {
        if !self.times.running {
            return;
        }
        let user = self.pool.user(index);
        while self.users.has_waiting(user, index) && self.pool.can_take(index) {
            self.start_waiting(user, index, now_ns);
        }
        let client = &self.pool[index];
        let is_idle = client.connection.open_exchanges() == 0 && client.is_in_use();
        if is_idle && (client.is_used_up(&self.plan) || client.retiring) {
            self.close(index, now_ns, Close::Graceful);
            return;
        }
        let is_first = index == self.pool.entry(user, 0);
        if is_first && user < self.pool.active() && !self.users.has_waiting(user, index) {
            self.take_up_next(user, index, now_ns);
        }
    }

    /// A user whose connection is free takes up what is next, or waits for that.
    #[inline]
    fn take_up_next(&mut self, user: u32, index: u32, now_ns: u64) {
        if self.source.is_over() || !self.pool.can_take(index) || !self.is_free(user, now_ns) {
            return;
        }
        if self.plan.is_open_loop() {
            self.pool.push_idle(index, now_ns);
            return;
        }
        while let Some(due) = self.slots.take_closed(now_ns) {
            self.pool[index].draw(due.measured);
            self.begin_iteration(user, &due, When::at_once(now_ns));
            if S::RESUMES || !self.pool.can_take(index) {
                return;
            }
        }
    }

    /// Begins an exchange, of a request that may have been redirected to `hop`: sends its request
    /// on its connection, or opens that for it.
    #[inline]
    pub(super) fn start(&mut self, mut exchange: Exchange, hop: Option<Hop>) {
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
            self.send_any(index, id);
        } else {
            self.pool[index].pending = Some(id);
            self.pool.connect(index, started_ns);
        }
    }

    /// Sends the request that has waited longest for a connection, which can take it now.
    fn start_waiting(&mut self, user: u32, index: u32, now_ns: u64) {
        let Some(Waiting { mut exchange, hop }) = self.users.take_waiting(user, index) else {
            return;
        };
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
