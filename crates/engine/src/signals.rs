//! What workers are told while they run: to stop, to go on at another rate or with another number
//! of connections, and where the server is now.
//!
//! A worker looks at one number in each turn, and takes the lock only when it has changed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use plimsoll_io::Route;

/// What changed since the start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Orders {
    /// From when on (driver's clock) and how fast, µHz.
    pub rate: Option<(u64, u64)>,
    /// How many connections to hold, all workers together.
    pub connections: Option<u32>,
    /// The ways to the server.
    pub routes: Option<Vec<Route>>,
}

/// A line from outside to all workers of a run.
#[derive(Debug, Default)]
pub struct Signals {
    stop: AtomicBool,
    generation: AtomicU64,
    orders: Mutex<Orders>,
}

impl Signals {
    /// Asks all workers to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether they were asked to stop.
    #[inline]
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Goes on at another rate, µHz, from `at_ns` on the drivers' clock.
    pub fn set_rate(&self, at_ns: u64, rate_uhz: u64) {
        self.give(|orders| orders.rate = Some((at_ns, rate_uhz)));
    }

    /// Holds another number of connections, all workers together.
    pub fn set_connections(&self, connections: u32) {
        self.give(|orders| orders.connections = Some(connections));
    }

    /// The server is to be reached along these ways from now on.
    pub fn set_routes(&self, routes: Vec<Route>) {
        self.give(|orders| orders.routes = Some(routes));
    }

    /// Whether another rate was ordered.
    #[must_use]
    pub fn changes_rate(&self) -> bool {
        self.lock().rate.is_some()
    }

    fn give(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.lock());
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// What changed, if anything did since generation `seen`.
    #[inline]
    pub(crate) fn news(&self, seen: &mut u64) -> Option<Orders> {
        let generation = self.generation.load(Ordering::Acquire);
        if generation == *seen {
            return None;
        }
        *seen = generation;
        Some(self.lock().clone())
    }

    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().expect("nobody panics with this lock held")
    }
}
