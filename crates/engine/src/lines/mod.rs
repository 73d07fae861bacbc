//! A worker's connections and the accounts of what they carry: how connections are opened, fail and
//! are closed, what times out, and what becomes of the exchanges then.
//!
//! Absent on purpose: what is sent. That is the traffic's.

mod deadlines;
mod opening;

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_conn::{Protocol, State};
use plimsoll_core::Plan;
use plimsoll_core::part::Place;
use plimsoll_io::{Close, Driver};

use crate::accounts::{Accounts, After, Holder};
use crate::admission::Timetable;
use crate::id::ConnectionId;
use crate::pool::Pool;

/// A worker's connections, with the accounts of what they carry.
pub(crate) struct Lines<D: Driver, P: Protocol> {
    plan: Arc<Plan>,
    pub pool: Pool<D, P>,
    pub accounts: Accounts,
    /// Whether requests are told apart by address.
    tracks_addresses: bool,
    /// Entries of the pool that may be free, and since when: for the worker to look at.
    pub freed: VecDeque<(ConnectionId, u64)>,
    pub times: Times,
}

/// What has happened when; ns on the driver's clock.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// When the load begins.
    pub start_ns: u64,
    /// When its measured part begins.
    pub measured_ns: u64,
    /// The latest moment that anything has happened at: the clock of the last wait, of an event
    /// since then, or as it was read since then. No event and no request is ahead of it.
    pub now_ns: u64,
    /// When the last request was started, received something, or was settled.
    pub progress_ns: u64,
    /// When the last response was complete.
    pub answered_ns: u64,
}

impl<D: Driver, P: Protocol> Lines<D, P> {
    pub(crate) fn new(
        plan: &Arc<Plan>,
        pool: Pool<D, P>,
        accounts: Accounts,
        tracks_addresses: bool,
    ) -> Self {
        let (freed, times) = (VecDeque::new(), Times::default());
        let mut lines =
            Self { plan: Arc::clone(plan), pool, accounts, tracks_addresses, freed, times };
        lines.add_address_parts();
        lines
    }

    /// Prepares the parts of addresses that are new.
    fn add_address_parts(&mut self) {
        if self.tracks_addresses {
            self.accounts.observer.add_address_parts(self.pool.origins.address_names());
        }
    }

    /// The part of the address that an entry's next request goes to.
    #[inline]
    pub(crate) fn address(&self, entry: ConnectionId) -> u16 {
        if self.tracks_addresses { self.pool.address(entry) } else { Place::NONE }
    }

    /// The run begins as the timetable says, with the planned window of its schedule.
    pub(crate) fn start_at(&mut self, timetable: Timetable, planned_ns: Option<u64>) {
        self.times.start_ns = timetable.start_ns;
        self.times.measured_ns = timetable.measured_ns;
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

    /// Reads the clock.
    #[inline]
    pub(crate) fn read_clock(&mut self) -> u64 {
        self.times.now_ns = self.times.now_ns.max(self.pool.driver.clock_ns());
        self.times.now_ns
    }

    /// The moment of what has just been done for a connection.
    #[cold]
    pub(crate) fn moment_now(&mut self, entry: ConnectionId) -> u64 {
        let now_ns = self.read_clock();
        self.pool[entry].moment(now_ns)
    }

    /// The output of a connection has become full at `at_ns`, or has room again.
    #[cold]
    pub(crate) fn turn_held(&mut self, entry: ConnectionId, at_ns: u64) {
        let connection = &self.pool[entry].connection;
        let holder = Holder::of(connection.is_full());
        self.accounts.turn_held(connection.exchanges(), holder, at_ns);
    }

    /// Closes a connection that is to be, once nothing is open on it; says whether it did.
    #[inline]
    pub(crate) fn close_if_used_up(&mut self, entry: ConnectionId, now_ns: u64) -> bool {
        let client = &self.pool[entry];
        let is_idle =
            client.connection.open_exchanges() == 0 && client.connection.state() == State::Open;
        let is_active = self.pool.entries.user(entry) < self.pool.entries.active();
        let closes = is_idle && (!is_active || client.retiring || client.is_used_up(&self.plan));
        if closes {
            self.part(entry, now_ns);
        }
        closes
    }

    /// Counts the responses that became complete.
    #[inline]
    pub(crate) fn count(&mut self, entry: ConnectionId, at_ns: u64, after: &After) {
        if after.completed == 0 {
            return;
        }
        self.pool.reach.answered(entry);
        let client = &mut self.pool[entry];
        client.usage.answered += after.completed;
        client.usage.measured.answered += after.measured;
        if let Some(notes) = &mut self.accounts.notes
            && client.connection.state() == State::Open
        {
            notes.kept_alive(after.measured);
        }
        if after.measured > 0 {
            self.times.answered_ns = at_ns;
        }
    }

    /// Notes that a server allows no request on a connection, or does again: its user is cut off in
    /// between, as behind a server that takes no connections.
    #[inline]
    pub(crate) fn note_reach(&mut self, entry: ConnectionId, at_ns: u64, after: &After) {
        if after.room {
            self.pool.reach.reached(entry, at_ns);
        }
        if P::GATHERS && self.pool[entry].connection.is_shut() {
            self.pool.reach.lost(entry, at_ns);
        }
    }

    /// Notes how many streams of a connection idle because it is to end and others are still open,
    /// or because the server has lowered its limit.
    #[inline]
    fn note_idling(&mut self, entry: ConnectionId, at_ns: u64) {
        if self.pool.entries.user(entry) >= self.pool.entries.active() {
            return;
        }
        let client = &mut self.pool.entries[entry];
        let open = client.connection.open_exchanges() as u64;
        let allowed = client.connection.exchanges_allowed().unwrap_or(u32::MAX);
        let slots = u64::from(self.plan.in_flight_per_connection().min(allowed));
        let from_ns = self.times.measured_ns;
        let lowered_ns = client.usage.lowered.note(at_ns, slots, open, from_ns);
        self.pool.counts.connections.lowered_idle_ns += lowered_ns;
        if client.is_ending(&self.plan) {
            let idle = if open == 0 { 0 } else { slots.saturating_sub(open) };
            let idle_ns = client.usage.draining.note(at_ns, idle, from_ns);
            self.pool.counts.connections.draining_idle_ns += idle_ns;
        }
    }

    /// Goes on with a connection on which an exchange has ended, or whose server has changed what
    /// it allows.
    #[inline]
    pub(crate) fn go_on(&mut self, entry: ConnectionId, at_ns: u64, after: &After) {
        if P::GATHERS {
            self.note_idling(entry, at_ns);
        }
        let connection = &self.pool[entry].connection;
        let is_idle = connection.open_exchanges() == 0;
        if connection.state() == State::Spent && self.pool[entry].pending.is_some() {
            self.refused(entry, at_ns);
        } else if self.pool[entry].is_parting {
            if connection.has_parted() {
                self.close(entry, at_ns, Close::Graceful);
            }
        } else if connection.state() == State::Spent {
            let since_ns = at_ns.saturating_sub(self.times.start_ns);
            if is_idle && !self.pool.await_fin(entry, at_ns, since_ns) {
                self.close(entry, at_ns, Close::Graceful);
            }
        } else if is_idle
            && !connection.survives_early_response()
            && (after.early || self.pool.has_queued_bytes(entry))
        {
            // Answered before it was sent whole.
            self.close(entry, at_ns, Close::Reset);
        } else {
            self.freed.push_back((entry, at_ns));
        }
    }
}
