//! How connections are closed, and how they come back: at once, or after a backoff where closing
//! means that something failed.

use plimsoll_conn::{ExchangeId, Protocol, State};
use plimsoll_io::{Close, Driver};

use super::Pool;
use super::client::{Carried, Usage};
use super::idling::Idling;
use super::reach::SLOW_CONNECT_NS;
use super::uptake::Uptake;
use crate::id::ConnectionId;

impl<D: Driver, P: Protocol> Pool<D, P> {
    /// Closes a connection without open requests and sees to it that it comes back. `true`: a
    /// request can take the closed entry at once.
    #[must_use]
    pub(crate) fn close(&mut self, entry: ConnectionId, now_ns: u64, how: Close) -> bool {
        self.held.flush(Some(entry), &mut self.entries, &mut self.driver);
        self.count_retransmits(entry);
        let is_active = self.entries.user(entry) < self.entries.active();
        let client = &mut self.entries[entry];
        debug_assert_eq!(client.connection.open_exchanges(), 0);
        let allowed = client.connection.allowed_range();
        drop(client.connection.close(&mut self.driver, how));
        self.counts.open_now -= u64::from(std::mem::take(&mut client.opening.counted));
        self.tickets.uncover(std::mem::take(&mut client.usage.room));
        client.epoch = client.epoch.wrapping_add(1);
        client.queued = false;
        client.retire_ns = u64::MAX;
        let fin_awaited_ns = std::mem::replace(&mut client.fin_awaited_ns, u64::MAX);
        if fin_awaited_ns != u64::MAX {
            self.fin_wait.ended(now_ns.saturating_sub(fin_awaited_ns));
        }
        // One that was closed by our own choice has not failed.
        let is_ours = std::mem::take(&mut client.retiring);
        let is_lost = client.note_fate(is_ours);
        // A connection that came about and was lost with its request may be chance, once: a user
        // that waited after each would send less than one whose connections hold.
        let is_chance = is_lost && client.failures == 1;
        let backoff_ns = if is_chance { 0 } else { client.backoff_ns() };
        // While it waits it sends nothing, so nothing fails.
        if is_lost && !is_chance {
            self.reach.lost(entry, now_ns);
        }
        client.usage.silent_ns = 0;
        client.usage.response_ns = 0;
        client.usage.told = Carried::default();
        client.usage.uptake = Uptake::default();
        client.usage.draining = Idling::default();
        client.usage.lowered.close(now_ns);
        client.usage.sent = 0;
        client.usage.answered = 0;
        let carried = std::mem::take(&mut client.usage.measured);
        client.usage.served += carried.answered;
        self.counts.carried(client.connection.protocol_name(), &carried, allowed);
        client.due_ns = u64::MAX;
        if !is_active {
            // Something may wait for it still.
            return true;
        }
        if backoff_ns > 0 {
            client.due_ns = now_ns + backoff_ns;
            self.deadlines.watch(entry, client.due_ns);
            return false;
        }
        self.bring_in(entry)
    }

    /// Closes a connection that failed, and calls `ended` for each request that was open on it or
    /// waited for it. [`close`](Self::close) has to follow.
    pub(crate) fn abandon(&mut self, entry: ConnectionId, ended: impl FnMut(ExchangeId)) {
        self.held.flush(Some(entry), &mut self.entries, &mut self.driver);
        self.count_retransmits(entry);
        let client = &mut self.entries[entry];
        self.counts.open_now -= u64::from(std::mem::take(&mut client.opening.counted));
        let pending = client.pending.take().into_iter();
        let open = client.connection.give_up(&mut self.driver);
        pending.chain(open).for_each(ended);
    }

    /// Asks the kernel how often it had to send again on a connection, before that is forgotten.
    /// Not with a connection for each request: there it would cost a system call for each.
    pub(crate) fn count_retransmits(&mut self, entry: ConnectionId) {
        if self[entry].opening.counted && !self.plan.connects_per_request() {
            let info = self.driver.tcp_info(entry.socket());
            let resent = info.map_or(0, |info| u64::from(info.retransmits));
            self.counts.connections.retransmits += resent;
        }
    }

    /// Has a connection closed once nothing is open on it; says whether that is so already.
    pub(crate) fn retire(&mut self, entry: ConnectionId) -> bool {
        let client = &mut self[entry];
        client.retiring = true;
        let is_idle = client.connection.open_exchanges() == 0 && client.pending.is_none();
        is_idle && client.connection.state() == State::Open
    }

    /// The server has said that it will close. Waits for that, if it is worth it: `false` means
    /// that it is not. `since_ns` is the time since the load began.
    pub(crate) fn await_fin(&mut self, entry: ConnectionId, at_ns: u64, since_ns: u64) -> bool {
        let users_ns = since_ns.saturating_mul(self.entries.active().into());
        let client = &mut self.entries[entry];
        // The first answer of this kind starts the wait; what a server sends after it is noise.
        if client.fin_awaited_ns != u64::MAX {
            return true;
        }
        let Some(until_ns) = self.fin_wait.begin(at_ns, users_ns) else {
            return false;
        };
        client.fin_awaited_ns = at_ns;
        self.watch(entry, until_ns);
        true
    }

    /// Begins to part from the server of a connection with nothing open on it. Gives whether its
    /// answer is waited for, until `until_ns` at the latest.
    pub(crate) fn part(&mut self, entry: ConnectionId, until_ns: u64) -> bool {
        self.held.turn_to(entry, &mut self.entries, &mut self.driver);
        let client = &mut self.entries[entry];
        client.is_parting = client.connection.part(&mut self.held.scratch);
        let is_parting = client.is_parting;
        if is_parting {
            self.held.flush(Some(entry), &mut self.entries, &mut self.driver);
            self.watch(entry, until_ns);
        }
        is_parting
    }

    /// The run is over: a connect that has taken long by now has failed.
    pub(crate) fn give_up_slow_connects(&mut self, now_ns: u64) {
        for (entry, client) in self.entries.ids().zip(self.entries.clients()) {
            let took_ns = now_ns.saturating_sub(client.opening.began_ns);
            if client.connection.is_opening() && took_ns >= SLOW_CONNECT_NS {
                let (began_ns, had_request) = (client.opening.began_ns, client.pending.is_some());
                self.reach.failed(entry, began_ns, had_request);
            }
        }
    }

    /// Counts what the connections have served, and what the kernel knows of those still open.
    pub(crate) fn count_rest(&mut self) {
        for entry in self.entries.ids() {
            self.count_retransmits(entry);
            let client = &self.entries[entry];
            let Usage { measured, served, .. } = &client.usage;
            if client.opening.tried {
                self.counts.connections.served.add(served + measured.answered);
                let connection = &client.connection;
                let allowed = connection.allowed_range();
                self.counts.carried(connection.protocol_name(), measured, allowed);
            }
        }
    }
}
