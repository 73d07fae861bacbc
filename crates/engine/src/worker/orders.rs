//! How a worker carries out orders: stop, another rate, other connections, other addresses, sleep
//! instead of spinning.

use plimsoll_conn::Protocol;
use plimsoll_core::plan::Spin;
use plimsoll_core::schedule::share;
use plimsoll_io::Driver;

use super::{INTERRUPT_DRAIN_NS, Worker};
use crate::signals::{Change, Order, Signals};
use crate::source::Source;

impl<D: Driver, P: Protocol, S: Source> Worker<D, P, S> {
    /// Looks whether there are orders, and carries them out.
    #[inline]
    pub(super) fn obey(&mut self, signals: &Signals, now_ns: u64) {
        if signals.is_stopped() && !self.stage.interrupted {
            self.stage.interrupted = true;
            self.stage.drain_ns = self.stage.drain_ns.min(INTERRUPT_DRAIN_NS);
            self.slots.stop(now_ns);
        }
        if let Some(news) = signals.news(&mut self.orders_seen) {
            for order in news.orders {
                self.carry_out(order, now_ns);
            }
            if let Some(routes) = news.routes {
                self.traffic.lines.move_to_routes(&routes, now_ns);
            }
            if news.gives_way && self.plan.spin == Spin::Auto {
                self.traffic.lines.pool.driver.set_spin(Spin::Off);
            }
            self.serve_freed();
        }
    }

    fn carry_out(&mut self, order: Order, now_ns: u64) {
        self.slots.obey(order);
        match order.change {
            Change::Rate(_) => self.traffic.lines.accounts.observer.forget_planned_window(),
            Change::Connections(connections) => {
                // A number that was set by hand is not to grow by itself.
                self.traffic.lines.pool.entries.grows = false;
                let active = share(connections, self.worker, self.plan.workers);
                self.traffic.lines.set_active(active, now_ns);
            }
        }
    }

    /// Opens as many connections as slots wait for one, beyond those already on their way.
    pub(super) fn grow(&mut self, now_ns: u64) {
        let growth = self.traffic.lines.pool.growth(self.slots.behind(now_ns)) as u32;
        if growth == 0 {
            return;
        }
        let active = self.traffic.lines.pool.entries.active() + growth;
        self.traffic.lines.set_active(active, now_ns);
        self.serve_freed();
    }
}
