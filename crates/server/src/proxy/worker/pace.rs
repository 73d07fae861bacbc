//! The time that clients have: to send a body, and to take what is queued for them.

use plimsoll_io::Driver;
use plimsoll_proto::http2::ErrorCode;

use super::super::deadline::Owner;
use super::super::exchange::{Exchange, State};
use super::super::options::Rules;
use super::super::pace::{BodyTime, Floor, Window};
use super::ProxyWorker;
use super::answer::Why;

impl Rules {
    /// How fast a client has to send a body.
    fn body_floor(&self) -> Floor {
        Floor::of(self.limits.client_rate, self.timeouts.client_slack_ns)
    }

    /// How fast a client has to take what is queued for it.
    fn taking_floor(&self) -> Floor {
        let timeouts = &self.timeouts;
        Floor::of(self.limits.client_rate, timeouts.client_slack_ns.min(timeouts.send_ns))
    }
}

impl Exchange {
    /// Starts the time of a body that is about to be read.
    pub(super) fn start_body(&mut self, now_ns: u64, rules: &Rules) {
        self.start_window(now_ns, rules);
        let ends_ns = now_ns.saturating_add(rules.timeouts.body_total_ns);
        self.body_time = BodyTime { ends_ns, ..BodyTime::NONE };
    }

    /// From now on, the body has to arrive at the minimum pace.
    pub(super) fn start_window(&mut self, now_ns: u64, rules: &Rules) {
        self.window = Window::start(now_ns, rules.body_floor(), self.received_bytes);
    }

    /// The body waits for others: stops the client's time.
    pub(super) fn hold_body(&mut self, now_ns: u64) {
        self.body_time.hold(now_ns);
        self.due.at_ns = u64::MAX;
    }
}

impl<D: Driver> ProxyWorker<D> {
    /// Sets the time for the rest of a body.
    pub(super) fn time_body(&mut self, now_ns: u64, index: usize) {
        let idle_ends_ns = now_ns.saturating_add(self.rules.timeouts.body_ns);
        let exchange = &mut self.exchanges[index];
        let held_ns = exchange.body_time.go_on(now_ns);
        exchange.window.put_off(held_ns);
        exchange.body_time.idle_ends_ns = idle_ends_ns;
        let deadline_ns = idle_ends_ns.min(exchange.window.ends_ns).min(exchange.body_time.ends_ns);
        self.set_deadline(Owner::Exchange(index), deadline_ns);
    }

    /// Checks a client's time for its body. False if it took too long.
    pub(super) fn body_goes_on(&mut self, now_ns: u64, index: usize) -> bool {
        let floor = self.rules.body_floor();
        let exchange = &self.exchanges[index];
        let is_body = matches!(exchange.state, State::Collecting | State::Forwarding);
        let is_met = exchange.window.is_met(floor, exchange.received_bytes);
        if !is_body || !is_met || exchange.body_time.is_over(now_ns) {
            return false;
        }
        self.exchanges[index].start_window(now_ns, &self.rules);
        let exchange = &self.exchanges[index];
        let ends_ns = exchange.body_time.idle_ends_ns.min(exchange.body_time.ends_ns);
        let deadline_ns = ends_ns.min(exchange.window.ends_ns);
        self.set_deadline(Owner::Exchange(index), deadline_ns);
        true
    }

    /// Whether an exchange's client is to take what is queued for it, so that the time of its body
    /// does not run.
    #[inline]
    pub(super) fn is_taking(&self, index: usize) -> bool {
        let exchange = &self.exchanges[index];
        exchange.is_stalled || self.clients[exchange.client as usize].is_taking
    }

    /// Bytes that a client took: as many as its kernel has acknowledged, if that can be known. The
    /// kernel of this host takes up to a few MiB by itself, in a few large gulps. Wraps.
    fn taken_bytes(&self, client: usize) -> u64 {
        let socket = self.sockets.client(client);
        let driver = &self.wire.driver;
        driver.tcp_info(socket).and_then(|info| info.acked_bytes).unwrap_or_else(|| {
            self.clients[client].sent_bytes.wrapping_sub(driver.queued_bytes(socket) as u64)
        })
    }

    /// Begins, or begins anew, the time that a client has to take what is queued for it. The time
    /// of bodies that it sends does not run meanwhile.
    pub(super) fn time_taking(&mut self, now_ns: u64, client: usize) {
        let window = Window::start(now_ns, self.rules.taking_floor(), self.taken_bytes(client));
        let it = &mut self.clients[client];
        it.is_taking = true;
        it.window = window;
        if it.state == super::client::State::Busy {
            self.exchanges[it.exchange as usize].due.at_ns = u64::MAX;
        }
        self.set_deadline(Owner::Client(client), window.ends_ns);
    }

    /// The time to take what was queued is over. A client that took enough gets more.
    pub(super) fn taking_expired(&mut self, now_ns: u64, client: usize) {
        let taken_bytes = self.taken_bytes(client);
        if self.clients[client].window.is_met(self.rules.taking_floor(), taken_bytes) {
            return self.time_taking(now_ns, client);
        }
        self.counters.client_timeouts += 1;
        self.drop_client(now_ns, client);
    }

    /// Bytes of a response that the client's windows have let through.
    fn passed_bytes(&self, index: usize) -> u64 {
        let exchange = &self.exchanges[index];
        let http2 = self.clients[exchange.client as usize].http2.as_deref();
        let held_bytes = http2.map_or(0, |http2| http2.machine.held_bytes(exchange.stream));
        let link = exchange.link.map(|socket| self.sockets.link_of(socket));
        let body_bytes = link.map_or(0, |link| self.links[link].body_bytes);
        body_bytes.saturating_sub(held_bytes as u64)
    }

    /// Begins the time that a client has to make room on a stream.
    pub(super) fn time_stall(&mut self, now_ns: u64, index: usize) {
        let window = Window::start(now_ns, self.rules.taking_floor(), self.passed_bytes(index));
        let exchange = &mut self.exchanges[index];
        exchange.is_stalled = true;
        exchange.window = window;
        self.set_deadline(Owner::Exchange(index), window.ends_ns);
    }

    /// The time to make room on a stream is over. A client that took enough gets more.
    pub(super) fn stall_expired(&mut self, now_ns: u64, index: usize) {
        let passed_bytes = self.passed_bytes(index);
        if self.exchanges[index].window.is_met(self.rules.taking_floor(), passed_bytes) {
            return self.time_stall(now_ns, index);
        }
        self.counters.client_timeouts += 1;
        self.end_exchange(now_ns, index, Why::Abandoned);
        self.end_stream(index, ErrorCode::CANCEL);
    }
}
