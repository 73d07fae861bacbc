//! How connections are opened: paced, so that a server's queue of new connections does not
//! overflow. The window of connects under way starts small and grows as they succeed.

use std::collections::VecDeque;

use plimsoll_conn::{Failure, Protocol};
use plimsoll_core::Phase;
use plimsoll_io::Driver;

use super::Pool;
use super::held::Held;
use super::origins::Ways;
use crate::error::OpeningError;
use crate::id::ConnectionId;

/// Connects under way at first, per worker.
const WINDOW_START: u32 = 16;
const WINDOW_MIN: u32 = 4;
const WINDOW_MAX: u32 = 256;

/// Connections waiting to be opened, and how many may be under way at once.
#[derive(Debug)]
pub(super) struct Opener {
    queue: VecDeque<ConnectionId>,
    under_way: u32,
    window: u32,
    /// When the latest connect began that came to nothing.
    failed_ns: u64,
    /// The first thing that went wrong with a connection before it was open.
    error: Option<OpeningError>,
}

impl Opener {
    pub(super) fn new(connections: u32) -> Self {
        let queue = VecDeque::with_capacity(connections as usize);
        Self { queue, under_way: 0, window: WINDOW_START, failed_ns: 0, error: None }
    }

    /// The next to be opened, as far as the window allows.
    fn next(&mut self) -> Option<ConnectionId> {
        if self.under_way < self.window { self.queue.pop_front() } else { None }
    }

    /// One came about.
    fn succeeded(&mut self) {
        self.under_way -= 1;
        self.window = (self.window + 1).min(WINDOW_MAX);
    }

    /// One did not.
    fn failed(&mut self) {
        self.under_way -= 1;
        self.window = (self.window / 2).max(WINDOW_MIN);
    }

    /// How many are under way or wait.
    fn on_its_way(&self) -> u64 {
        u64::from(self.under_way) + self.queue.len() as u64
    }
}

impl<D: Driver, P: Protocol> Pool<D, P> {
    /// The first thing that went wrong with a connection before it was open.
    pub(crate) fn opening_error(&self) -> Option<&OpeningError> {
        self.opener.error.as_ref()
    }

    /// Has the connections of all active users opened.
    pub(crate) fn queue_all(&mut self) {
        self.opener.queue.extend(self.entries.active_ids());
    }

    /// Puts a closed entry to use. `true`: a request can take it at once; otherwise it is opened
    /// first, and tells when it is open.
    #[must_use]
    pub(crate) fn bring_in(&mut self, entry: ConnectionId) -> bool {
        if self.entries.opens_on_demand(entry) {
            return true;
        }
        if !self[entry].is_in_use() {
            self.opener.queue.push_back(entry);
        }
        false
    }

    /// Opens what waits to be opened, as far as the window allows. Where the number of requests
    /// bounds how many connections there are, `is_needed` says that this one is.
    pub(crate) fn open_queued(&mut self, is_needed: bool) {
        while self.open_next(is_needed) {}
    }

    /// Opens the next one alone, and says whether there was one. What is done for one connection
    /// takes time, so each connect begins at a time of its own.
    pub(crate) fn open_next(&mut self, is_needed: bool) -> bool {
        while let Some(entry) = self.opener.next() {
            if self.entries.user(entry) >= self.entries.active() || self[entry].is_in_use() {
                continue;
            }
            if !is_needed && !self.tickets.need_connection() {
                continue;
            }
            self.opener.under_way += 1;
            let now_ns = self.driver.clock_ns();
            self.connect(entry, now_ns);
            self.deadlines.watch(entry, now_ns.saturating_add(self.plan.timeout_ns));
            return true;
        }
        false
    }

    /// Begins to connect.
    pub(crate) fn connect(&mut self, entry: ConnectionId, now_ns: u64) {
        let client = &mut self.entries[entry];
        client.opening.began_ns = client.moment(now_ns);
        client.due_ns = u64::MAX;
        client.opening.tried = true;
        client.route = client.next_route;
        client.usage.room = self.tickets.cover();
        let route = client.route;
        let ways = self.origins.ways(self.entries.origin(entry));
        let connection = &mut self.entries[entry].connection;
        connection.open(&mut self.driver, ways.routes.get(route));
    }

    /// The TCP connection stands: goes on with what is set up on it. Gives the number of bytes
    /// sent.
    pub(crate) fn connected(&mut self, entry: ConnectionId) -> Result<usize, Failure> {
        self.held.turn_to(entry, &mut self.entries, &mut self.driver);
        let origin = self.entries.origin(entry);
        let resumes = self.origins.ways(origin).setup.tls.is_some()
            && self.counts.next_resumes(self.plan.tls.resume_percent);
        let Self { entries, driver, held: Held { scratch, .. }, origins, .. } = self;
        let client = &mut entries[entry];
        client.opening.resumes = resumes;
        let Ways { setup, routes } = origins.ways(origin);
        let route = routes.get(client.route);
        client.connection.connected(driver, setup, route, resumes, scratch)
    }

    /// A TLS handshake is done.
    pub(crate) fn secured(&mut self, entry: ConnectionId) {
        if let Some(tls) = self.entries[entry].connection.tls() {
            self.counts.secured(tls);
        }
    }

    /// A connection is open: requests can be sent. Says whether its entry had one before.
    pub(crate) fn opened(&mut self, entry: ConnectionId, at_ns: u64) -> bool {
        self.reach.reached(entry, at_ns);
        let client = &mut self.entries[entry];
        client.opening.counted = true;
        let connection = &client.connection;
        self.counts.opened(connection.protocol_name(), connection.allowed_range());
        if let Some(is_agreed) = connection.is_compressed() {
            self.counts.compression.opened(is_agreed);
        }
        if let Some(lifetime_ns) = self.plan.connection_lifetime_ns {
            client.retire_ns = at_ns.saturating_add(lifetime_ns);
            self.deadlines.watch(entry, client.retire_ns);
        }
        if client.pending.is_none() {
            self.opener.succeeded();
        }
        std::mem::replace(&mut client.opening.ever_opened, true)
    }

    /// A connection could not be opened, because of what happened in a phase of that.
    pub(crate) fn open_failed(
        &mut self,
        entry: ConnectionId,
        phase: Phase,
        kind: &'static str,
        reason: impl FnOnce() -> String,
    ) {
        self.opener.error.get_or_insert_with(|| OpeningError { phase, kind, reason: reason() });
        let client = &self.entries[entry];
        let began_ns = client.opening.began_ns;
        self.opener.failed_ns = self.opener.failed_ns.max(began_ns);
        self.reach.failed(entry, began_ns, client.pending.is_some());
        if client.pending.is_none() {
            self.opener.failed();
        }
    }

    /// Whether no connect is to show that the server is back: one that began at `since_ns` or later
    /// came to nothing, or none is under way or to come.
    pub(crate) fn has_no_hope(&self, since_ns: u64) -> bool {
        let mut active = self.entries.active_ids().map(|entry| &self.entries[entry]);
        let is_tried = self.opener.on_its_way() > 0
            || active.any(|client| client.connection.is_opening() || client.is_put_off());
        !is_tried || self.opener.failed_ns >= since_ns
    }

    /// How many more users to have for `behind` slots that wait for one, beyond those whose
    /// connection is on its way.
    pub(crate) fn growth(&self, behind: u64) -> u64 {
        behind
            .saturating_sub(self.opener.on_its_way())
            .min(u64::from(self.entries.users() - self.entries.active()))
    }
}
