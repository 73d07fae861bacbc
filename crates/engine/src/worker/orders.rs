//! How a worker carries out orders: stop, another rate, other connections, other addresses, sleep
//! instead of spinning.

use plimsoll_conn::Protocol;
use plimsoll_core::plan::Spin;
use plimsoll_io::{Close, Driver};

use super::Worker;
use crate::signals::{Change, Order, Signals};

impl<D: Driver, P: Protocol> Worker<D, P> {
    /// Looks whether there are orders, and carries them out.
    #[inline]
    pub(super) fn obey(&mut self, signals: &Signals, now_ns: u64) {
        if signals.is_stopped() {
            self.interrupt(now_ns);
        }
        if let Some(news) = signals.news(&mut self.orders_seen) {
            for order in news.orders {
                self.carry_out(order, now_ns);
            }
            if let Some(routes) = news.routes {
                self.routes.replace(&routes);
                self.move_to_new_routes(now_ns);
            }
            if news.gives_way && self.plan.spin == Spin::Auto {
                self.driver.set_spin(Spin::Off);
            }
        }
    }

    fn carry_out(&mut self, order: Order, now_ns: u64) {
        self.admission.obey(&self.timetable, order);
        if let Change::Rate(_) = order.change {
            self.observer.forget_planned_window();
        }
        if let Change::Connections(connections) = order.change {
            // A number that was set by hand is not to grow by itself.
            self.grows = false;
            self.set_active(self.share_of(connections), now_ns);
        }
    }

    /// Keeps `active` connections from now on: opens more, or closes some once they are idle.
    fn set_active(&mut self, active: u32, now_ns: u64) {
        let active = active.min(self.clients.len() as u32);
        let before = std::mem::replace(&mut self.active, active);
        for index in active..before {
            self.reach.reached(index, now_ns);
            self.retire(index, now_ns);
        }
        for index in before..active {
            self.clients[index as usize].retiring = false;
            self.bring_in(index, now_ns);
        }
    }

    /// Puts an entry of the pool to use.
    pub(super) fn bring_in(&mut self, index: u32, now_ns: u64) {
        if self.plan.connects_per_request() {
            self.freed(index, now_ns);
        } else if !self.clients[index as usize].is_in_use() {
            self.opener.queue.push_back(index);
        }
    }

    /// Deals the connections out over the ways there are.
    pub(super) fn assign_routes(&mut self) {
        let workers = u64::from(self.plan.workers);
        for (index, client) in (0u64..).zip(&mut self.clients) {
            let number = index * workers + u64::from(self.worker);
            client.next_route = self.routes.of_connection(number);
        }
    }

    /// The server's addresses changed: connections move as soon as nothing is open on them.
    fn move_to_new_routes(&mut self, now_ns: u64) {
        if self.tracks_addresses {
            self.routes.add_parts(&mut self.observer.measured.addresses);
        }
        self.assign_routes();
        for index in 0..self.clients.len() as u32 {
            let client = &self.clients[index as usize];
            if client.route != client.next_route && client.is_in_use() {
                self.retire(index, now_ns);
            }
        }
    }

    /// Closes a connection once nothing is open on it.
    pub(super) fn retire(&mut self, index: u32, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        client.retiring = true;
        let is_idle = client.connection.open_exchanges() == 0 && client.pending.is_none();
        if is_idle && client.connection.state() == plimsoll_conn::State::Open {
            self.close(index, now_ns, Close::Graceful);
        }
    }

    /// Whether more connections may be opened for the slots that wait.
    pub(super) fn can_grow(&self) -> bool {
        self.grows && (self.active as usize) < self.clients.len()
    }

    /// Opens as many connections as slots wait for one, beyond those already on their way.
    pub(super) fn grow(&mut self, now_ns: u64) {
        let behind = self.admission.behind(&self.timetable, now_ns);
        let under_way = u64::from(self.opener.under_way()) + self.opener.queue.len() as u64;
        let room = self.clients.len() as u64 - u64::from(self.active);
        for _ in 0..behind.saturating_sub(under_way).min(room) {
            let index = self.active;
            self.active += 1;
            self.bring_in(index, now_ns);
        }
    }
}
