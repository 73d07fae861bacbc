//! A worker's connections: which of them are free, which way each takes to the server, and what the
//! driver says about them.
//!
//! `opening` and `closing` have the life of a connection, `idle` which is used next.
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
mod fin_wait;
mod idle;
mod opening;
mod reach;

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use plimsoll_conn::{ExchangeId, Failure, Message, Progress, Protocol, Scratch, Setup};
use plimsoll_core::Plan;
use plimsoll_core::part::{Part, Place};
use plimsoll_core::result::Connections;
use plimsoll_io::{Driver, Received, Route, Token};

use crate::admission::Tickets;
use crate::assignment::Assignment;
use crate::deadlines::Deadlines;
use crate::routes::Routes;
use fin_wait::FinWait;
use opening::Opener;

pub(crate) use client::Client;
pub(crate) use idle::Idle;
pub(crate) use reach::Reach;

/// A worker's connections, and the driver beneath them.
pub(crate) struct Pool<D: Driver, P: Protocol> {
    pub driver: D,
    /// The entries of all users for the first origin, then those for the next.
    clients: Vec<Client<P>>,
    users: u32,
    origins: Vec<Ways>,
    scratch: Scratch,
    idle: VecDeque<Idle>,
    opener: Opener,
    /// When to look at which entry again.
    pub deadlines: Deadlines,
    fin_wait: FinWait,
    /// Which users are cut off.
    pub reach: Reach,
    /// How many of the users are active, and whether more become so when those don't suffice.
    active: u32,
    pub grows: bool,
    /// Whether connections are opened when a request needs them, and not before.
    opens_on_demand: bool,
    /// What became of the connections.
    pub counts: Counts,
    /// What all workers of a closed loop take from.
    tickets: Arc<Tickets>,
    plan: Arc<Plan>,
}

/// How to get to an origin.
#[derive(Debug)]
struct Ways {
    setup: Setup,
    routes: Routes,
}

/// What became of a worker's connections.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// How many are open.
    pub open_now: u64,
    /// TLS handshakes begun.
    handshakes: u64,
    pub connections: Connections,
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
        let ways =
            |setup: &Setup, routes| Ways { setup: setup.clone(), routes: Routes::new(routes) };
        let further = assignment.origins.iter();
        let mut origins = vec![ways(&assignment.setup, &assignment.routes)];
        origins.extend(further.map(|origin| ways(&origin.setup, &origin.routes)));
        let entries = users * origins.len() as u32;
        let is_one_user = plan.connects_per_request() && plan.is_open_loop();
        let mut pool = Self {
            driver,
            clients: (0..entries).map(|index| Client::new(index, protocol)).collect(),
            users,
            origins,
            scratch: Scratch::new(assignment.prepared.request_bytes_max()),
            idle: VecDeque::with_capacity(2 * users as usize),
            opener: Opener::new(users),
            deadlines: Deadlines::new(entries as usize),
            fin_wait: FinWait::default(),
            reach: Reach::new(entries as usize, is_one_user),
            active: assignment.share(plan.connections),
            grows: plan.is_open_loop(),
            opens_on_demand: opens_on_demand || plan.connects_per_request(),
            counts: Counts::default(),
            tickets: Arc::clone(&assignment.tickets),
            plan,
        };
        pool.assign_routes(assignment.worker);
        pool
    }

    /// How many entries there are, in use or not.
    pub(crate) fn len(&self) -> u32 {
        self.clients.len() as u32
    }

    /// How many users there are, active or not.
    pub(crate) fn users(&self) -> u32 {
        self.users
    }

    /// How many users are active.
    #[inline]
    pub(crate) fn active(&self) -> u32 {
        self.active
    }

    /// A user's entry for an origin.
    #[inline]
    pub(crate) fn entry(&self, user: u32, origin: u16) -> u32 {
        u32::from(origin) * self.users + user
    }

    /// Whose entry it is.
    #[inline]
    pub(crate) fn user(&self, index: u32) -> u32 {
        if index < self.users { index } else { index % self.users }
    }

    /// How to get to where an entry leads.
    fn ways(&self, index: u32) -> &Ways {
        &self.origins[(index / self.users) as usize]
    }

    /// Whether connections are opened when a request needs them, and not before.
    pub(crate) fn opens_on_demand(&self) -> bool {
        self.opens_on_demand
    }

    /// Whether a request can be sent on an entry's connection, or can have it opened.
    #[inline]
    pub(crate) fn can_take(&self, index: u32) -> bool {
        let client = &self[index];
        client.can_send(&self.plan)
            || ((self.opens_on_demand || index >= self.users) && client.can_connect())
    }

    /// All entries.
    pub(crate) fn clients(&self) -> &[Client<P>] {
        &self.clients
    }

    /// Deals the connections out over the ways there are.
    fn assign_routes(&mut self, worker: u32) {
        let workers = u64::from(self.plan.workers);
        let of_origins = self.clients.chunks_mut(self.users.max(1) as usize);
        for (clients, ways) in of_origins.zip(&self.origins) {
            for (index, client) in (0u64..).zip(clients) {
                let number = index * workers + u64::from(worker);
                client.next_route = ways.routes.of_connection(number);
            }
        }
    }

    /// From now on these are the ways to the first origin.
    pub(crate) fn replace_routes(&mut self, routes: &[Route], worker: u32) {
        self.origins[0].routes.replace(routes);
        self.assign_routes(worker);
    }

    /// A part for each address of the first origin that has none yet.
    pub(crate) fn add_address_parts(&self, parts: &mut Vec<Part>) {
        self.origins[0].routes.add_parts(parts);
    }

    /// The number of the address that an entry's next request goes to, where it leads to the first
    /// origin.
    pub(crate) fn address(&self, index: u32) -> u16 {
        if index >= self.users {
            return Place::NONE;
        }
        let client = &self[index];
        let route = if client.is_in_use() { client.route } else { client.next_route };
        self.origins[0].routes.address(route)
    }

    /// Whether requests are sent as they are, without TLS, to all origins.
    pub(crate) fn is_plain_text(&self) -> bool {
        self.origins.iter().all(|ways| ways.setup.tls.is_none())
    }

    /// Starts an exchange on an open connection; gives the number of bytes sent.
    #[inline]
    pub(crate) fn send(
        &mut self,
        index: u32,
        exchange: ExchangeId,
        message: &Message<'_, P::Encoding>,
    ) -> usize {
        let client = &mut self.clients[index as usize];
        client.usage.sent += 1;
        client.connection.send(&mut self.driver, exchange, message, &mut self.scratch)
    }

    /// Sends the body of a request that was started without it; gives the number of bytes sent.
    pub(crate) fn send_rest(
        &mut self,
        index: u32,
        exchange: ExchangeId,
        message: &Message<'_, P::Encoding>,
    ) -> usize {
        let connection = &mut self.clients[index as usize].connection;
        connection.send_rest(&mut self.driver, exchange, message, &mut self.scratch)
    }

    /// Gives up on one exchange; gives the number of bytes sent. `None`: its connection has to be
    /// closed for that.
    pub(crate) fn cancel(&mut self, index: u32, exchange: ExchangeId) -> Option<usize> {
        let connection = &mut self.clients[index as usize].connection;
        connection.cancel(&mut self.driver, exchange, &mut self.scratch)
    }

    /// Has a connection read what it received, and gives that back to the driver. Gives the number
    /// of bytes sent in turn.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        received: Received,
        progress: impl FnMut(Progress<'_>),
    ) -> (usize, Result<(), Failure>) {
        let Self { driver, clients, users, origins, scratch, .. } = self;
        let index = received.token.index();
        let origin = if received.token.0 < *users { 0 } else { index / *users as usize };
        let setup = &origins[origin].setup;
        let client = &mut clients[index];
        let (connection, resumes) = (&mut client.connection, client.opening.resumes);
        let bytes = driver.bytes(&received);
        let taken = connection.receive(setup, resumes, scratch, bytes, progress);
        driver.release(received);
        let is_silent = setup.is_plain() && scratch.is_empty();
        let sent_bytes = if is_silent { 0 } else { connection.flush(driver, scratch) };
        (sent_bytes, taken)
    }

    /// Has something done about a connection at `at_ns`, if it is not done before.
    pub(crate) fn watch(&mut self, index: u32, at_ns: u64) {
        let client = &mut self.clients[index as usize];
        client.due_ns = client.due_ns.min(at_ns);
        self.deadlines.watch(index, client.due_ns);
    }

    /// Whether the kernel has yet to take bytes that were sent on a connection.
    pub(crate) fn has_queued_bytes(&self, index: u32) -> bool {
        self.driver.queued_bytes(Token(index)) > 0
    }
}

impl<D: Driver, P: Protocol> Index<u32> for Pool<D, P> {
    type Output = Client<P>;

    #[inline]
    fn index(&self, index: u32) -> &Client<P> {
        &self.clients[index as usize]
    }
}

impl<D: Driver, P: Protocol> IndexMut<u32> for Pool<D, P> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Client<P> {
        &mut self.clients[index as usize]
    }
}
