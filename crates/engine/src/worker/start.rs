//! From a slot to an exchange on a connection.

use plimsoll_conn::{Hop, Protocol, State};
use plimsoll_core::recorder::Moments;
use plimsoll_io::{Close, Driver};

use super::Worker;
use crate::admission::Due;
use crate::exchanges::Exchange;
use crate::signals::Signals;
use crate::user::Follow;

impl<D: Driver, P: Protocol> Worker<D, P> {
    /// Starts the slots that are due, as long as there are free connections; drops those that have
    /// waited too long. The last turn before the end still does, so that a slot due just before it
    /// is not lost to lateness.
    pub(super) fn admit(&mut self, signals: &Signals, now_ns: u64) {
        if self.times.stopped_ns.is_some() || self.script_is_over() {
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
            let exchange = self.exchange(idle.index, &due, idle.since_ns, started_ns);
            self.start(exchange, None);
            // It has had room all along for another.
            self.pool.push_idle(idle.index, idle.since_ns);
            if self.script_is_over() {
                return;
            }
        }
    }

    #[cold]
    fn shed(&mut self, due: &Due, now_ns: u64) {
        self.slots.take();
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
        let client = &self.pool[index];
        let is_used_up = client.is_used_up(&self.plan);
        let follows = self.users[index].has_follow();
        if follows && !is_used_up && client.connection.room() > 0 {
            self.follow(index, now_ns);
            return;
        }
        let is_idle = client.connection.open_exchanges() == 0 && client.is_in_use();
        if is_idle && (is_used_up || client.retiring) {
            self.close(index, now_ns, Close::Graceful);
            return;
        }
        if follows {
            if client.can_connect(&self.plan) {
                self.follow(index, now_ns);
            }
            return;
        }
        if index >= self.pool.active() || self.script_is_over() || self.pauses(index, now_ns) {
            return;
        }
        if self.plan.is_open_loop() {
            self.pool.push_idle(index, now_ns);
            return;
        }
        while self.pool[index].can_take(&self.plan)
            && let Some(due) = self.slots.take_closed(now_ns)
        {
            self.pool[index].draw(due.measured);
            let exchange = self.exchange(index, &due, now_ns, now_ns);
            self.start(exchange, None);
        }
    }

    /// A slot's exchange, about to be started at `started_ns` on a connection that was free since
    /// `free_ns`.
    #[inline]
    fn exchange(&self, client: u32, due: &Due, free_ns: u64, started_ns: u64) -> Exchange {
        let moments = Moments {
            intended_ns: due.at_ns,
            available_ns: due.at_ns.max(free_ns),
            started_ns,
            ..Moments::default()
        };
        let target = self.prepared.choose(due.number);
        let place = self.prepared.place(target, due.stage);
        let (number, measured) = (due.number, due.measured);
        Exchange { moments, number, target, place, hops: 0, measured, withholds: false, client }
    }

    /// Begins an exchange, of a request that may have been redirected to `hop`: sends its request
    /// on its connection, or opens that for it.
    #[inline]
    fn start(&mut self, mut exchange: Exchange, hop: Option<Hop>) {
        let index = exchange.client;
        let started_ns = exchange.moments.started_ns;
        self.times.progress_ns = started_ns;
        self.users[index].has_paused = false;
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

    /// Sends the request that was redirected first, on a connection that can take it.
    fn follow(&mut self, index: u32, now_ns: u64) {
        let Some(Follow { mut exchange, hop }) = self.users.pop_follow(index) else { return };
        // It was due when the redirect came; what passed since went into a new connection. The
        // time is the event's and not the clock's: more bytes may have come with that event,
        // and what they answer must not have been sent after them.
        exchange.moments.available_ns = now_ns;
        exchange.moments.started_ns = now_ns;
        self.accounts.observer.recorder(exchange.measured).ledger.redirects += 1;
        self.start(exchange, Some(hop));
    }
}
