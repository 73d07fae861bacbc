//! What is done as connections are opened, fail, and are closed.

use plimsoll_conn::{Connection, ExchangeId, Failure, Protocol, REFUSED, State};
use plimsoll_core::Phase;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::plan::websocket::Reply;
use plimsoll_io::{Close, Driver, Route};

use super::Lines;
use crate::accounts::After;
use crate::error::{CLOSE_UNANSWERED, NOT_PROCESSED};
use crate::exchanges::{Exchange, Exchanges};
use crate::id::ConnectionId;

impl<D: Driver, P: Protocol> Lines<D, P> {
    /// The TCP connection stands. Says whether it is open: there may be more to do before.
    pub(crate) fn connected(&mut self, entry: ConnectionId, at_ns: u64) -> bool {
        let begun = self.pool.connected(entry);
        if self.pool[entry].connection.state() != State::Tunnelling {
            self.reached(entry, at_ns);
        }
        match begun {
            Ok(bytes) => self.accounts.sent_at(at_ns, bytes),
            Err(failure) => {
                self.lost(entry, at_ns, &failure);
                return false;
            }
        }
        self.pool[entry].connection.state() == State::Open
    }

    /// A tunnel, TLS or a greeting came about. Says whether the connection is open now.
    #[cold]
    pub(crate) fn opened_further(
        &mut self,
        entry: ConnectionId,
        at_ns: u64,
        after: &After,
    ) -> bool {
        if after.tunnelled {
            self.reached(entry, at_ns);
        }
        if after.secured {
            self.pool.secured(entry);
            let opening = &mut self.pool[entry].opening;
            opening.secured_ns = at_ns;
            self.accounts.opened_to(Phase::Tls, opening.reached_ns, at_ns);
        }
        if after.greeted {
            let opening = &self.pool[entry].opening;
            let since_ns = opening.secured_ns.max(opening.reached_ns);
            self.accounts.opened_to(Phase::Greeting, since_ns, at_ns);
        }
        self.pool[entry].connection.state() == State::Open
    }

    /// The way to the server stands.
    fn reached(&mut self, entry: ConnectionId, at_ns: u64) {
        let opening = &mut self.pool[entry].opening;
        opening.reached_ns = at_ns;
        let began_ns = opening.began_ns;
        self.accounts.opened_to(Phase::Connect, began_ns, at_ns);
        if let Some(notes) = &mut self.accounts.notes {
            let (number, address) = (self.pool.entries.user(entry), self.pool.address(entry));
            notes.connected(number, address, at_ns.saturating_sub(began_ns));
        }
    }

    /// A connection is open: requests can be sent.
    pub(crate) fn ready(&mut self, entry: ConnectionId, at_ns: u64) {
        let again = self.pool.opened(entry, at_ns);
        self.accounts.observer.recorder_at(at_ns).ledger.reconnects += u64::from(again);
        if self.pool[entry].pending.is_none() {
            self.freed.push_back((entry, at_ns));
        }
    }

    /// The request that a connection was opened for, to be sent on it now. `None` without one, and
    /// while the server allows none.
    pub(crate) fn take_pending(&mut self, entry: ConnectionId, at_ns: u64) -> Option<ExchangeId> {
        let client = &mut self.pool[entry];
        let id = client.pending.take_if(|_| client.connection.room() > 0)?;
        let moments = &mut self.accounts.exchanges[id].moments;
        // Of a call that goes on after a redirect, the first request counts; of a request that is
        // sent again, the last time.
        if moments.sent_ns == 0 {
            moments.sent_ns = at_ns;
        }
        Some(id)
    }

    /// The server takes no request on a connection any more, not even the one that it was opened
    /// for.
    pub(super) fn refused(&mut self, entry: ConnectionId, at_ns: u64) {
        let sample = || NOT_PROCESSED.to_owned();
        self.setup_failed(entry, at_ns, REFUSED, Outcome::Refused, sample);
    }

    /// A connection failed by what was received on it.
    pub(crate) fn lost(&mut self, entry: ConnectionId, at_ns: u64, failure: &Failure) {
        let (kind, sample) = (failure.kind(), || failure.to_string());
        if self.pool[entry].connection.is_opening() {
            self.setup_failed(entry, at_ns, kind, Outcome::Broken, sample);
        } else {
            self.broken(entry, at_ns, kind, !failure.is_close(), sample);
        }
    }

    /// A connection could not be opened.
    pub(crate) fn setup_failed(
        &mut self,
        entry: ConnectionId,
        at_ns: u64,
        kind: &'static str,
        outcome: Outcome,
        sample: impl Fn() -> String,
    ) {
        let phase = phase(&self.pool[entry].connection, &self.accounts.exchanges);
        self.accounts.observer.recorder_at(at_ns).error(phase, kind, 1, &sample);
        self.pool.open_failed(entry, phase, kind, sample);
        self.abandon(entry, at_ns, |_| outcome);
        self.close(entry, at_ns, Close::Reset);
    }

    /// A connection cannot be used any further: its open requests are broken. A server may close an
    /// idle one, which harms no request; what `is_wrong` is an error even then.
    pub(crate) fn broken(
        &mut self,
        entry: ConnectionId,
        at_ns: u64,
        kind: &'static str,
        is_wrong: bool,
        sample: impl FnOnce() -> String,
    ) {
        let phase = phase(&self.pool[entry].connection, &self.accounts.exchanges);
        // What it waits for is told by this error.
        self.pool[entry].is_parting = false;
        let settled = self.abandon(entry, at_ns, |_| Outcome::Broken);
        // What was on its way to a server that closes is lost, and no reply was to tell.
        let is_unconfirmed = self.plan.websocket.reply == Reply::None;
        if settled > 0 || is_wrong || is_unconfirmed {
            let recorder = self.accounts.observer.recorder_at(at_ns);
            recorder.error(phase, kind, settled.max(1), sample);
        }
        self.close(entry, at_ns, Close::Reset);
    }

    /// Closes a connection hard and settles its open requests, each with the outcome it gets.
    /// Returns how many there were.
    pub(crate) fn abandon(
        &mut self,
        entry: ConnectionId,
        now_ns: u64,
        outcome: impl Fn(&Exchange) -> Outcome,
    ) -> u64 {
        let now_ns = self.pool[entry].moment(now_ns);
        let accounts = &mut self.accounts;
        let mut settled = 0;
        self.pool.abandon(entry, |id| {
            settled += 1;
            let outcome = outcome(&accounts.exchanges[id]);
            accounts.abandon(id, now_ns, outcome);
        });
        if settled > 0 {
            self.times.progress_ns = now_ns;
        }
        settled
    }

    /// Closes a connection without open requests and sees to it that it comes back.
    pub(crate) fn close(&mut self, entry: ConnectionId, now_ns: u64, how: Close) {
        let client = &mut self.pool[entry];
        if std::mem::take(&mut client.is_parting) && !client.connection.has_parted() {
            let sample = || "the server did not answer the Close behind the messages".to_owned();
            let recorder = self.accounts.observer.recorder_at(now_ns);
            recorder.error(Phase::Waiting, CLOSE_UNANSWERED, 1, sample);
        }
        if self.pool.close(entry, now_ns, how) {
            self.freed.push_back((entry, now_ns));
        }
    }

    /// Keeps the connections of `active` users from now on: opens more, or closes some once they
    /// are idle.
    pub(crate) fn set_active(&mut self, active: u32, now_ns: u64) {
        let before = self.pool.entries.set_active(active);
        let active = self.pool.entries.active();
        for entry in self.pool.entries.ids() {
            let user = self.pool.entries.user(entry);
            if (active..before).contains(&user) {
                self.pool.reach.reached(entry, now_ns);
                self.retire(entry, now_ns);
            } else if (before..active).contains(&user) {
                self.pool[entry].retiring = false;
                self.bring_in(entry, now_ns);
            }
        }
    }

    /// The first origin's addresses changed: connections move as soon as nothing is open on them.
    pub(crate) fn move_to_routes(&mut self, routes: &[Route], now_ns: u64) {
        self.pool.replace_routes(routes);
        self.add_address_parts();
        for entry in self.pool.entries.ids() {
            let client = &self.pool[entry];
            if client.route != client.next_route && client.is_in_use() {
                self.retire(entry, now_ns);
            }
        }
    }

    /// Closes a connection once nothing is open on it.
    pub(super) fn retire(&mut self, entry: ConnectionId, now_ns: u64) {
        if self.pool.retire(entry) {
            self.part(entry, now_ns);
        }
    }

    /// Closes a connection with nothing open on it by our own choice: once the server has said that
    /// it has read all, where nothing else would tell.
    pub(super) fn part(&mut self, entry: ConnectionId, now_ns: u64) {
        let until_ns = now_ns.saturating_add(self.plan.drain_ns.min(self.plan.timeout_ns));
        if !self.pool.part(entry, until_ns) {
            self.close(entry, now_ns, Close::Graceful);
        }
    }

    /// Begins to part from the servers of all connections, for `drain_ns` at most, where nothing
    /// else would tell what they have read.
    pub(crate) fn part_from_all(&mut self, now_ns: u64, drain_ns: u64) {
        let until_ns = now_ns.saturating_add(drain_ns.min(self.plan.timeout_ns));
        for entry in self.pool.entries.ids() {
            if !self.pool[entry].is_parting {
                self.pool.part(entry, until_ns);
            }
        }
    }

    /// Whether a server has yet to say that it has read all.
    pub(crate) fn is_parting(&self) -> bool {
        self.pool.entries.clients().iter().any(|client| client.is_parting)
    }

    /// Puts a closed entry of the pool to use.
    pub(super) fn bring_in(&mut self, entry: ConnectionId, now_ns: u64) {
        if self.pool.bring_in(entry) {
            self.freed.push_back((entry, now_ns));
        }
    }
}

/// Where a connection stands: in its opening, or where its oldest exchange does.
fn phase<P: Protocol>(connection: &Connection<P>, exchanges: &Exchanges) -> Phase {
    match connection.state() {
        State::Connecting | State::Tunnelling => Phase::Connect,
        State::Handshaking => Phase::Tls,
        State::Greeting => Phase::Greeting,
        State::Closed | State::Open | State::Spent => {
            let oldest = connection.exchanges().next();
            oldest.map_or(Phase::Waiting, |id| exchanges[id].phase())
        }
    }
}
