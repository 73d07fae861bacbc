//! The entries of a pool: for each user one for each origin, and which of them is free.
//!
//! The next request takes the connection that has been free longest, so that all of them work.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut, Range};
use std::sync::Arc;

use plimsoll_conn::Protocol;
use plimsoll_core::Plan;

use super::client::Client;
use crate::id::ConnectionId;

/// The entries of a pool.
#[derive(Debug)]
pub(crate) struct Entries<P> {
    /// Those of all users for the first origin, then those for the next.
    clients: Vec<Client<P>>,
    users: u32,
    /// How many of the users are active, and whether more become so when those don't suffice.
    active: u32,
    pub grows: bool,
    /// Whether connections are opened when a request needs them, and not before.
    opens_on_demand: bool,
    idle: VecDeque<Idle>,
    plan: Arc<Plan>,
}

/// A connection that a request could take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    pub entry: ConnectionId,
    epoch: u32,
    /// Since when it is free.
    pub since_ns: u64,
}

impl<P: Protocol> Entries<P> {
    /// Entries of `users`, of whom `active` are so at first, for each of some origins.
    pub(super) fn new(
        plan: &Arc<Plan>,
        [users, active, origins]: [u32; 3],
        protocol: &P::Settings,
        opens_on_demand: bool,
    ) -> Self {
        Self {
            clients: ids(0..users * origins).map(|entry| Client::new(entry, protocol)).collect(),
            users,
            active,
            grows: plan.is_open_loop(),
            opens_on_demand: opens_on_demand || plan.connects_per_request(),
            idle: VecDeque::with_capacity(2 * users as usize),
            plan: Arc::clone(plan),
        }
    }

    /// How many entries there are, in use or not.
    pub(crate) fn len(&self) -> usize {
        self.clients.len()
    }

    /// All entries, origin after origin.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ConnectionId> + use<P> {
        ids(0..self.clients.len() as u32)
    }

    /// Those of the active users for the first origin.
    pub(crate) fn active_ids(&self) -> impl Iterator<Item = ConnectionId> + use<P> {
        ids(0..self.active)
    }

    /// How many users there are, active or not.
    #[inline]
    pub(crate) fn users(&self) -> u32 {
        self.users
    }

    /// How many users are active.
    #[inline]
    pub(crate) fn active(&self) -> u32 {
        self.active
    }

    /// Has `active` users from now on; gives how many there were.
    pub(crate) fn set_active(&mut self, active: u32) -> u32 {
        let active = active.min(self.users);
        std::mem::replace(&mut self.active, active)
    }

    /// Whether more users may become active for the slots that wait.
    pub(crate) fn can_grow(&self) -> bool {
        self.grows && self.active < self.users
    }

    /// A user's entry for an origin.
    #[inline]
    pub(crate) fn entry(&self, user: u32, origin: u16) -> ConnectionId {
        ConnectionId::nth(u32::from(origin) * self.users + user)
    }

    /// Whose entry it is.
    #[inline]
    pub(crate) fn user(&self, entry: ConnectionId) -> u32 {
        let place = entry.place();
        if place < self.users { place } else { place % self.users }
    }

    /// Which origin an entry leads to.
    #[inline]
    pub(crate) fn origin(&self, entry: ConnectionId) -> usize {
        let place = entry.place();
        if place < self.users { 0 } else { (place / self.users) as usize }
    }

    /// All entries, origin after origin.
    pub(crate) fn clients(&self) -> &[Client<P>] {
        &self.clients
    }

    pub(super) fn clients_mut(&mut self) -> &mut [Client<P>] {
        &mut self.clients
    }

    /// How many connections to further origins have been tried.
    pub(crate) fn tried_elsewhere(&self) -> u32 {
        let further = self.clients.iter().skip(self.users as usize);
        further.filter(|client| client.opening.tried).count() as u32
    }

    /// Whether some of the active users' connections have not been tried, or are being opened.
    pub(crate) fn is_opening_any(&self) -> bool {
        let mut active = self.clients[..self.active as usize].iter();
        active.any(|client| !client.opening.tried || client.connection.is_opening())
    }

    /// Whether an entry's connection is opened when a request needs it, and not before.
    #[inline]
    pub(crate) fn opens_on_demand(&self, entry: ConnectionId) -> bool {
        self.opens_on_demand || entry.place() >= self.users
    }

    /// Whether a request can be sent on an entry's connection, or can have it opened.
    #[inline]
    pub(crate) fn can_take(&self, entry: ConnectionId) -> bool {
        let client = &self[entry];
        client.can_send(&self.plan) || (self.opens_on_demand(entry) && client.can_connect())
    }

    /// Whether a request that belongs to an iteration under way can be sent. That is also so on a
    /// connection that is to be closed, and the connection of a user who is no longer active is
    /// opened again for it.
    #[inline]
    pub(crate) fn can_go_on(&self, entry: ConnectionId) -> bool {
        let client = &self[entry];
        let is_open = client.connection.room() > 0 && !client.is_used_up(&self.plan);
        let opens = self.opens_on_demand(entry) || self.user(entry) >= self.active;
        is_open || (opens && client.can_connect())
    }

    /// Whether any may be free.
    #[inline]
    pub(crate) fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// A connection is free since `since_ns`, if it can take a request and is not waiting already.
    #[inline]
    pub(crate) fn push_idle(&mut self, entry: ConnectionId, since_ns: u64) {
        if !self[entry].queued && self.can_take(entry) {
            let client = &mut self.clients[entry.place() as usize];
            client.queued = true;
            self.idle.push_back(Idle { entry, epoch: client.epoch, since_ns });
        }
    }

    /// Gives a connection back that was taken and is not needed.
    pub(crate) fn put_back(&mut self, idle: Idle) {
        self[idle.entry].queued = true;
        self.idle.push_front(idle);
    }

    /// The connection that has been free longest.
    #[inline]
    pub(crate) fn take_idle(&mut self) -> Option<Idle> {
        while let Some(idle) = self.idle.pop_front() {
            let client = &mut self[idle.entry];
            // An entry of a connection that was closed meanwhile is stale.
            if idle.epoch != client.epoch {
                continue;
            }
            client.queued = false;
            // Nor is one of use that is to be let go, or whose server has said that it will close.
            if idle.entry.place() < self.active && self.can_take(idle.entry) {
                return Some(idle);
            }
        }
        None
    }
}

impl<P> Index<ConnectionId> for Entries<P> {
    type Output = Client<P>;

    #[inline]
    fn index(&self, entry: ConnectionId) -> &Client<P> {
        &self.clients[entry.place() as usize]
    }
}

impl<P> IndexMut<ConnectionId> for Entries<P> {
    #[inline]
    fn index_mut(&mut self, entry: ConnectionId) -> &mut Client<P> {
        &mut self.clients[entry.place() as usize]
    }
}

/// The entries in these places.
fn ids(places: Range<u32>) -> impl Iterator<Item = ConnectionId> {
    places.map(ConnectionId::nth)
}
