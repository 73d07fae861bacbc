//! How a worker carries out orders: stop, another rate, other connections, other addresses, sleep
//! instead of spinning.

use plimsoll_conn::Protocol;
use plimsoll_core::plan::Spin;
use plimsoll_core::schedule::share;
use plimsoll_io::{Close, Driver, Route};

use super::{INTERRUPT_DRAIN_NS, Worker};
use crate::signals::{Change, Order, Signals};
use crate::source::Source;

impl<D: Driver, P: Protocol, S: Source> Worker<D, P, S> {
    /// Looks whether there are orders, and carries them out.
    #[inline]
    pub(super) fn obey(&mut self, signals: &Signals, now_ns: u64) {
        if signals.is_stopped() && !self.times.interrupted {
            self.times.interrupted = true;
            self.times.drain_ns = self.times.drain_ns.min(INTERRUPT_DRAIN_NS);
            self.slots.stop(now_ns);
        }
        if let Some(news) = signals.news(&mut self.orders_seen) {
            for order in news.orders {
                self.carry_out(order, now_ns);
            }
            if let Some(routes) = news.routes {
                self.move_to_routes(&routes, now_ns);
            }
            if news.gives_way && self.plan.spin == Spin::Auto {
                self.pool.driver.set_spin(Spin::Off);
            }
        }
    }

    fn carry_out(&mut self, order: Order, now_ns: u64) {
        self.slots.obey(order);
        match order.change {
            Change::Rate(_) => self.accounts.observer.forget_planned_window(),
            Change::Connections(connections) => {
                // A number that was set by hand is not to grow by itself.
                self.pool.grows = false;
                let active = share(connections, self.worker, self.plan.workers);
                self.set_active(active, now_ns);
            }
        }
    }

    /// Keeps `active` connections from now on: opens more, or closes some once they are idle.
    fn set_active(&mut self, active: u32, now_ns: u64) {
        let before = self.pool.set_active(active);
        let active = self.pool.active();
        for index in 0..self.pool.len() {
            let user = self.pool.user(index);
            if (active..before).contains(&user) {
                self.pool.reach.reached(index, now_ns);
                self.retire(index, now_ns);
            } else if (before..active).contains(&user) {
                self.pool[index].retiring = false;
                self.bring_in(index, now_ns);
            }
        }
    }

    /// The server's addresses changed: connections move as soon as nothing is open on them.
    fn move_to_routes(&mut self, routes: &[Route], now_ns: u64) {
        self.pool.replace_routes(routes, self.worker);
        if self.tracks_addresses {
            self.pool.add_address_parts(&mut self.accounts.observer.measured.addresses);
        }
        for index in 0..self.pool.len() {
            let client = &self.pool[index];
            if client.route != client.next_route && client.is_in_use() {
                self.retire(index, now_ns);
            }
        }
    }

    /// Closes a connection once nothing is open on it.
    pub(super) fn retire(&mut self, index: u32, now_ns: u64) {
        if self.pool.retire(index) {
            self.close(index, now_ns, Close::Graceful);
        }
    }

    /// Opens as many connections as slots wait for one, beyond those already on their way.
    pub(super) fn grow(&mut self, now_ns: u64) {
        for _ in 0..self.pool.growth(self.slots.behind(now_ns)) {
            let index = self.pool.active();
            self.pool.set_active(index + 1);
            self.bring_in(index, now_ns);
        }
    }
}
