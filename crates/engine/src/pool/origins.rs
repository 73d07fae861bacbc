//! The ways to the origins: how a connection to each is set up, and which of its addresses each
//! entry of the pool takes.
//!
//! The plan's own origin is number 0. Only its addresses may change while the run goes on, and only
//! its requests are told apart by address.

use plimsoll_conn::{Encoding, Protocol, Setup};
use plimsoll_core::part::Place;
use plimsoll_io::Route;

use super::client::Client;
use super::entries::Entries;
use crate::assignment::Assignment;
use crate::routes::Routes;

/// A worker's ways to all origins.
#[derive(Debug)]
pub(crate) struct Origins {
    ways: Vec<Ways>,
    /// Which worker it is, and of how many.
    worker: u64,
    workers: u64,
}

/// How to get to an origin.
#[derive(Debug)]
pub(super) struct Ways {
    pub setup: Setup,
    pub routes: Routes,
}

impl Origins {
    /// The ways of a worker.
    pub(super) fn of<E: Encoding>(assignment: &Assignment<E>) -> Self {
        let ways =
            |setup: &Setup, routes| Ways { setup: setup.clone(), routes: Routes::new(routes) };
        let mut all = vec![ways(&assignment.setup, &assignment.routes)];
        let further = assignment.origins.iter();
        all.extend(further.map(|origin| ways(&origin.setup, &origin.routes)));
        let workers = assignment.plan.workers.into();
        Self { ways: all, worker: assignment.worker.into(), workers }
    }

    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        self.ways.len() as u32
    }

    /// The ways to an origin.
    #[inline]
    pub(super) fn ways(&self, origin: usize) -> &Ways {
        &self.ways[origin]
    }

    /// From now on these are the ways to the first origin.
    pub(super) fn replace_routes(&mut self, routes: &[Route]) {
        self.ways[0].routes.replace(routes);
    }

    /// Deals the entries out over the ways there are.
    pub(super) fn deal<P: Protocol>(&self, entries: &mut Entries<P>) {
        let users = entries.users().max(1);
        let of_origins = entries.clients_mut().chunks_mut(users as usize);
        for (clients, ways) in of_origins.zip(&self.ways) {
            for (index, client) in (0u64..).zip(clients) {
                let number = index * self.workers + self.worker;
                client.next_route = ways.routes.of_connection(number);
            }
        }
    }

    /// The addresses of the first origin, all that ever were, in the order of their numbers.
    pub(crate) fn address_names(&self) -> &[String] {
        self.ways[0].routes.address_names()
    }

    /// The number of the address that the next request of an entry for `origin` goes to, where that
    /// is the first.
    #[inline]
    pub(super) fn address<P: Protocol>(&self, origin: usize, client: &Client<P>) -> u16 {
        if origin > 0 {
            return Place::NONE;
        }
        let route = if client.is_in_use() { client.route } else { client.next_route };
        self.ways[0].routes.address(route)
    }

    /// Where a route of an origin leads.
    pub(crate) fn address_of(&self, (origin, route): (usize, u16)) -> String {
        self.ways[origin].routes.get(route).to.to_string()
    }

    /// Whether requests are sent as they are, without TLS, to all origins.
    pub(crate) fn is_plain_text(&self) -> bool {
        self.ways.iter().all(|ways| ways.setup.tls.is_none())
    }
}
