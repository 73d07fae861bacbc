//! A worker's connections: which of them are free, which way each takes to the server, and what the
//! driver says about them.
//!
//! `opening` and `closing` have the life of a connection, `entries` which is used next, `origins`
//! the ways to the servers.
//!
//! Normally connections are open before they are needed, and a slot waits for a free one. With one
//! request for each connection it is the other way round: the slot takes a closed entry of the
//! pool, and the connect is part of its time.
//!
//! A user has an entry for each origin. The plan's own is number 0; connections to the others are
//! opened when a request first needs them.
//!
//! Absent on purpose: requests. What is sent when, and what is written down, is the worker's.

mod client;
mod closing;
mod entries;
mod fin_wait;
mod held;
mod idling;
mod opening;
mod origins;
mod reach;
mod silence;
mod uptake;

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use plimsoll_conn::{ExchangeId, Failure, Message, Progress, Protocol};
use plimsoll_core::Plan;
use plimsoll_core::compression::Compression;
use plimsoll_core::outage::Outage;
use plimsoll_core::protocol::{AllowedRange, ProtocolCounts, counts_of};
use plimsoll_core::recorder::Interval;
use plimsoll_core::result::Connections;
use plimsoll_io::{Driver, Received, Route};
use plimsoll_proto::tls::Tls;

use crate::admission::Tickets;
use crate::assignment::Assignment;
use crate::deadlines::Deadlines;
use crate::id::ConnectionId;
use crate::setup::note_secured;
use client::Carried;
use fin_wait::FinWait;
use held::Held;
use opening::Opener;
use origins::Origins;

pub(crate) use client::{BACKOFF_LIMIT_NS, Client};
pub(crate) use entries::Entries;
pub(crate) use reach::Reach;
pub(crate) use silence::Silence;

/// A worker's connections, and the driver beneath them.
pub(crate) struct Pool<D: Driver, P: Protocol> {
    pub driver: D,
    pub entries: Entries<P>,
    pub origins: Origins,
    held: Held,
    opener: Opener,
    /// When to look at which entry again.
    pub deadlines: Deadlines<ConnectionId>,
    fin_wait: FinWait,
    /// Which users are cut off.
    pub reach: Reach,
    /// What became of the connections.
    pub counts: Counts,
    /// What all workers of a closed loop take from.
    tickets: Arc<Tickets>,
    plan: Arc<Plan>,
}

/// What became of a worker's connections.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// How many are open.
    pub open_now: u64,
    /// TLS handshakes begun.
    handshakes: u64,
    pub connections: Connections,
    /// What each protocol carried.
    pub protocols: Vec<ProtocolCounts>,
    /// What came of the offer to compress messages; what was sent and received stands elsewhere.
    pub compression: Compression,
}

impl Counts {
    /// A connection is open on which this is spoken.
    fn opened(&mut self, protocol: &str, allowed: Option<AllowedRange>) {
        self.open_now += 1;
        self.connections.opened += 1;
        self.connections.open_max = self.connections.open_max.max(self.open_now);
        let counts = counts_of(&mut self.protocols, protocol);
        counts.connections += 1;
        counts.allow(allowed);
    }

    /// A connection on which this is spoken carries no more.
    fn carried(&mut self, protocol: &str, carried: &Carried, allowed: Option<AllowedRange>) {
        // One that was never open, as behind a server that is gone, has no protocol.
        if carried.sent > 0 {
            let counts = counts_of(&mut self.protocols, protocol);
            counts.sent += carried.sent;
            counts.completed += carried.answered;
            // It may have changed since the connection was opened.
            counts.allow(allowed);
        }
    }

    /// Whether the next TLS handshake may resume a session: spread evenly, `percent` of a hundred.
    fn next_resumes(&mut self, percent: u8) -> bool {
        let percent = u64::from(percent);
        let before = self.handshakes * percent / 100;
        self.handshakes += 1;
        self.handshakes * percent / 100 > before
    }

    /// A TLS handshake is done.
    fn secured(&mut self, tls: &Tls) {
        note_secured(&mut self.connections, tls);
    }
}

impl<D: Driver, P: Protocol> Pool<D, P> {
    /// The connections of a worker. `opens_on_demand`: they are opened when a request needs them.
    pub(crate) fn new(
        driver: D,
        assignment: &Assignment<P::Encoding>,
        protocol: &P::Settings,
        opens_on_demand: bool,
    ) -> Self {
        let plan = Arc::clone(&assignment.plan);
        let users = assignment.share(plan.connections_limit());
        let origins = Origins::of(assignment);
        let active = assignment.share(plan.connections);
        let counts = [users, active, origins.len()];
        let mut entries = Entries::new(&plan, counts, protocol, opens_on_demand);
        origins.deal(&mut entries);
        let is_one_user = plan.connects_per_request() && plan.is_open_loop();
        Self {
            driver,
            origins,
            held: Held::new(assignment.prepared.request_bytes_max()),
            opener: Opener::new(users),
            deadlines: Deadlines::new(entries.len()),
            fin_wait: FinWait::default(),
            reach: Reach::new(entries.len(), is_one_user),
            counts: Counts::default(),
            tickets: Arc::clone(&assignment.tickets),
            entries,
            plan,
        }
    }

    /// From now on these are the ways to the first origin.
    pub(crate) fn replace_routes(&mut self, routes: &[Route]) {
        self.origins.replace_routes(routes);
        self.origins.deal(&mut self.entries);
    }

    /// The number of the address that an entry's next request goes to, where it leads to the first
    /// origin.
    pub(crate) fn address(&self, entry: ConnectionId) -> u16 {
        self.origins.address(self.entries.origin(entry), &self[entry])
    }

    /// Makes the buffers a connection's, before it reads; gives how much of its output the driver
    /// has been handed.
    #[inline]
    pub(crate) fn turn_to(&mut self, entry: ConnectionId) -> i64 {
        self.held.turn_to(entry, &mut self.entries, &mut self.driver);
        self.entries[entry].usage.uptake.end_bytes(0)
    }

    /// Starts an exchange on an open connection; gives the number of bytes sent.
    #[inline]
    pub(crate) fn send(
        &mut self,
        entry: ConnectionId,
        exchange: ExchangeId,
        message: &Message<'_, P::Encoding>,
        measured: bool,
    ) -> usize {
        self.held.turn_to(entry, &mut self.entries, &mut self.driver);
        let client = &mut self.entries[entry];
        client.usage.sent += 1;
        client.usage.measured.sent += u64::from(measured);
        let scratch = &mut self.held.scratch;
        let sent = client.connection.send(&mut self.driver, exchange, message, scratch);
        let sent_bytes =
            sent.expect("compiled for its protocol, or written for HTTP/1 and sent so");
        client.usage.uptake.hand_over(sent_bytes);
        sent_bytes
    }

    /// Sends the body of a request that was started without it; gives the number of bytes sent.
    pub(crate) fn send_rest(
        &mut self,
        entry: ConnectionId,
        exchange: ExchangeId,
        message: &Message<'_, P::Encoding>,
    ) -> usize {
        self.held.turn_to(entry, &mut self.entries, &mut self.driver);
        let client = &mut self.entries[entry];
        let scratch = &mut self.held.scratch;
        let sent_bytes = client.connection.send_rest(&mut self.driver, exchange, message, scratch);
        client.usage.uptake.hand_over(sent_bytes);
        sent_bytes
    }

    /// Gives up on one exchange. `false`: its connection has to be closed for that.
    pub(crate) fn cancel(&mut self, entry: ConnectionId, exchange: ExchangeId) -> bool {
        self.held.turn_to(entry, &mut self.entries, &mut self.driver);
        self.entries[entry].connection.cancel(exchange, &mut self.held.scratch)
    }

    /// Has a connection [whose turn it is](Self::turn_to) read what it received, and gives that
    /// back to the driver. Gives the number of bytes sent in turn; where the protocol gathers,
    /// [`flush`](Self::flush) sends them.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        received: Received,
        progress: impl FnMut(Progress<'_>),
    ) -> (usize, Result<(), Failure>) {
        let entry = ConnectionId::of(received.socket);
        let Self { driver, entries, origins, held: Held { scratch, .. }, .. } = self;
        let setup = &origins.ways(entries.origin(entry)).setup;
        let client = &mut entries[entry];
        let (connection, resumes) = (&mut client.connection, client.opening.resumes);
        let bytes = driver.bytes(&received);
        let taken = connection.receive(setup, resumes, scratch, bytes, progress);
        driver.release(received);
        let is_silent = P::GATHERS || (setup.is_plain() && scratch.is_empty());
        let sent_bytes = if is_silent { 0 } else { connection.flush(driver, scratch) };
        client.usage.uptake.hand_over(sent_bytes);
        (sent_bytes, taken)
    }

    /// The kernel has taken output of a connection. Whether requests that it held back can
    /// [go on](Self::resume).
    #[inline]
    pub(crate) fn output_taken(&mut self, entry: ConnectionId) -> bool {
        let queued_bytes = self.driver.queued_bytes(entry.socket()) + self.held_bytes(entry);
        self.entries[entry].connection.output_taken(queued_bytes)
    }

    /// Goes on with the requests that the kernel held back of a connection
    /// [whose turn it is](Self::turn_to).
    pub(crate) fn resume(
        &mut self,
        entry: ConnectionId,
        progress: impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        self.entries[entry].connection.resume(&mut self.held.scratch, progress)
    }

    /// Sends what has been written; gives the number of bytes sent since the last time.
    #[inline]
    pub(crate) fn flush(&mut self) -> usize {
        self.held.flush(None, &mut self.entries, &mut self.driver);
        self.held.take_sent_bytes()
    }

    /// Whether a connection has written what is yet to be sent.
    #[inline]
    pub(crate) fn is_holding(&self, entry: ConnectionId) -> bool {
        P::GATHERS && self.held.is_of(entry)
    }

    /// How much a connection has written that is yet to be sent.
    #[inline]
    fn held_bytes(&self, entry: ConnectionId) -> usize {
        if self.is_holding(entry) { self.held.scratch.waiting_bytes() } else { 0 }
    }

    /// Adds to an interval that ends at `end_ns` for how long users were cut off in it.
    pub(crate) fn note_outage(&mut self, interval: &mut Interval, end_ns: u64) {
        let connections = self.entries.active() + self.entries.tried_elsewhere();
        let (cut_off_ns, users_ns) =
            self.reach.take_interval(end_ns, interval.length_ns(), connections);
        interval.note_outage(cut_off_ns, users_ns);
    }

    /// How far users were cut off, in a window of `window_ns`.
    pub(crate) fn outage(&mut self, window_ns: u64) -> Outage {
        let clients = self.entries.clients().iter();
        let tried = clients.filter(|client| client.opening.tried).count() as u64;
        self.reach.outage(window_ns, tried)
    }

    /// Has something done about a connection at `at_ns`, if it is not done before.
    pub(crate) fn watch(&mut self, entry: ConnectionId, at_ns: u64) {
        let client = &mut self.entries[entry];
        client.due_ns = client.due_ns.min(at_ns);
        self.deadlines.watch(entry, client.due_ns);
    }

    /// Where the output of an entry ends, with what is held.
    #[inline]
    pub(crate) fn output_end(&self, entry: ConnectionId) -> i64 {
        self.entries[entry].usage.uptake.end_bytes(self.held_bytes(entry))
    }

    /// How much of the output of an entry is with the kernel.
    pub(crate) fn taken_bytes(&self, entry: ConnectionId) -> i64 {
        let queued_bytes = self.driver.queued_bytes(entry.socket());
        self.entries[entry].usage.uptake.taken_bytes(queued_bytes)
    }

    /// Whether the kernel has yet to take bytes that were sent on a connection.
    pub(crate) fn has_queued_bytes(&self, entry: ConnectionId) -> bool {
        self.driver.queued_bytes(entry.socket()) > 0
    }
}

impl<D: Driver, P: Protocol> Index<ConnectionId> for Pool<D, P> {
    type Output = Client<P>;

    #[inline]
    fn index(&self, entry: ConnectionId) -> &Client<P> {
        &self.entries[entry]
    }
}

impl<D: Driver, P: Protocol> IndexMut<ConnectionId> for Pool<D, P> {
    #[inline]
    fn index_mut(&mut self, entry: ConnectionId) -> &mut Client<P> {
        &mut self.entries[entry]
    }
}
