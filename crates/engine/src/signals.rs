//! What workers are told during a run: to stop, to continue at another rate or with another number
//! of connections, that the server's addresses changed, and that other processes need the CPUs.
//!
//! Orders that change the schedule are all kept, in the order they were given, because a late
//! worker has to find those it missed. In each turn a worker reads one number, and takes the lock
//! only when that has changed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_io::Route;

/// How many orders are kept.
pub(crate) const ORDERS_MAX: usize = 10_000;

/// As many orders were given as are kept; this one was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{ORDERS_MAX} changes were ordered, which is all that a run takes: start another run")]
pub struct TooManyOrders;

/// An order that bears on the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    /// From when on it holds, ns on the drivers' clock; never before an earlier order.
    pub at_ns: u64,
    pub change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// How fast, µHz.
    Rate(u64),
    /// How many connections to hold, all workers together.
    Connections(u32),
}

/// What a worker has not seen yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct News {
    pub orders: Vec<Order>,
    /// The ways to the server, when they were told.
    pub routes: Option<Vec<Route>>,
    /// Whether others need the CPUs that workers spin on.
    pub gives_way: bool,
}

/// How far a worker has read.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    generation: u64,
    orders: usize,
    routes: u64,
}

#[derive(Debug, Default)]
struct State {
    orders: Vec<Order>,
    /// The last ways told, and how often some were.
    routes: Vec<Route>,
    routes_told: u64,
    gives_way: bool,
}

/// A line from outside to all workers of a run.
#[derive(Debug, Default)]
pub struct Signals {
    stop: AtomicBool,
    generation: AtomicU64,
    state: Mutex<State>,
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
    ///
    /// # Errors
    /// When there were too many orders.
    pub fn set_rate(&self, at_ns: u64, rate_uhz: u64) -> Result<(), TooManyOrders> {
        self.give(at_ns, Change::Rate(rate_uhz))
    }

    /// Holds another number of connections, all workers together. The slots of a schedule follow
    /// from `at_ns` on.
    ///
    /// # Errors
    /// When there were too many orders.
    pub fn set_connections(&self, at_ns: u64, connections: u32) -> Result<(), TooManyOrders> {
        self.give(at_ns, Change::Connections(connections))
    }

    /// The server is to be reached along these ways from now on.
    pub fn set_routes(&self, routes: Vec<Route>) {
        let mut state = self.lock();
        state.routes = routes;
        state.routes_told += 1;
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Others need the CPUs: workers that spin of themselves sleep from now on.
    pub(crate) fn give_way(&self) {
        self.lock().gives_way = true;
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn give(&self, at_ns: u64, change: Change) -> Result<(), TooManyOrders> {
        let mut state = self.lock();
        if state.orders.len() >= ORDERS_MAX {
            return Err(TooManyOrders);
        }
        let at_ns = state.orders.last().map_or(at_ns, |last| at_ns.max(last.at_ns));
        state.orders.push(Order { at_ns, change });
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// What was told since `seen`, if anything was.
    #[inline]
    pub(crate) fn news(&self, seen: &mut Seen) -> Option<News> {
        let generation = self.generation.load(Ordering::Acquire);
        (generation != seen.generation).then(|| self.read(seen))
    }

    #[cold]
    fn read(&self, seen: &mut Seen) -> News {
        let state = self.lock();
        seen.generation = self.generation.load(Ordering::Acquire);
        let orders = state.orders[seen.orders..].to_vec();
        seen.orders = state.orders.len();
        let is_told = std::mem::replace(&mut seen.routes, state.routes_told) != state.routes_told;
        let routes = is_told.then(|| state.routes.clone());
        News { orders, routes, gives_way: state.gives_way }
    }

    /// The state is valid even if a thread panicked with the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_reads_every_order_once_and_in_order() {
        let signals = Signals::default();
        let (mut early, mut late) = (Seen::default(), Seen::default());
        assert_eq!(signals.news(&mut early), None);
        let order = |at_ns, change| Order { at_ns, change };
        signals.set_rate(7, 100).unwrap();
        signals.set_routes(Vec::new());
        let first = order(7, Change::Rate(100));
        let news = News { orders: vec![first], routes: Some(Vec::new()), gives_way: false };
        assert_eq!(signals.news(&mut early), Some(news));
        assert_eq!(signals.news(&mut early), None);
        // One that is to hold before an earlier one holds from when that does.
        signals.set_connections(3, 4).unwrap();
        signals.set_rate(9, 200).unwrap();
        let second = [order(7, Change::Connections(4)), order(9, Change::Rate(200))];
        let news = News { orders: second.to_vec(), routes: None, gives_way: false };
        assert_eq!(signals.news(&mut early), Some(news));
        let all = [&[first][..], &second].concat();
        assert_eq!(signals.news(&mut late).unwrap().orders, all);
        signals.give_way();
        assert!(signals.news(&mut early).unwrap().gives_way);
        assert!(signals.news(&mut late).unwrap().gives_way);
    }

    #[test]
    fn there_is_an_end_to_orders() {
        let signals = Signals::default();
        (0..ORDERS_MAX as u64).for_each(|n| signals.set_rate(n, 1).unwrap());
        assert_eq!(signals.set_rate(0, 1), Err(TooManyOrders));
        assert_eq!(signals.set_connections(0, 1), Err(TooManyOrders));
        assert_eq!(signals.news(&mut Seen::default()).unwrap().orders.len(), ORDERS_MAX);
    }
}
