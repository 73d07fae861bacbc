//! The time that clients have: to send a body, and to take what is queued for them.

use plimsoll_io::Driver;

use super::super::client::State;
use super::super::pace::{BodyTime, Floor, Window};
use super::ProxyWorker;

impl<D: Driver> ProxyWorker<D> {
    /// How fast a client has to send a body.
    fn body_floor(&self) -> Floor {
        Floor::of(self.rules.limits.client_rate, self.rules.timeouts.client_slack_ns)
    }

    /// How fast a client has to take what is queued for it.
    fn taking_floor(&self) -> Floor {
        let timeouts = &self.rules.timeouts;
        Floor::of(self.rules.limits.client_rate, timeouts.client_slack_ns.min(timeouts.send_ns))
    }

    /// Starts the time of a body that is about to be read.
    pub(super) fn start_body(&mut self, now_ns: u64, index: usize) {
        self.start_window(now_ns, index);
        let client = &mut self.clients[index];
        let ends_ns = now_ns.saturating_add(self.rules.timeouts.body_total_ns);
        client.body_time = BodyTime { ends_ns, ..BodyTime::NONE };
    }

    /// From now on, the body has to arrive at the minimum pace.
    pub(super) fn start_window(&mut self, now_ns: u64, index: usize) {
        let floor = self.body_floor();
        let client = &mut self.clients[index];
        client.window = Window::start(now_ns, floor, client.received_bytes);
    }

    /// Sets the time for the rest of a body.
    pub(super) fn time_body(&mut self, now_ns: u64, index: usize) {
        let idle_ends_ns = now_ns.saturating_add(self.rules.timeouts.body_ns);
        let client = &mut self.clients[index];
        let held_ns = client.body_time.go_on(now_ns);
        client.window.put_off(held_ns);
        client.body_time.idle_ends_ns = idle_ends_ns;
        let deadline_ns = idle_ends_ns.min(client.window.ends_ns).min(client.body_time.ends_ns);
        self.set_client_deadline(index, deadline_ns);
    }

    /// A body waits for others: stops the client's time.
    pub(super) fn hold_body(&mut self, now_ns: u64, index: usize) {
        let client = &mut self.clients[index];
        client.body_time.hold(now_ns);
        client.deadline_ns = u64::MAX;
    }

    /// Checks a client's time for its body. False if it took too long.
    pub(super) fn body_goes_on(&mut self, now_ns: u64, index: usize) -> bool {
        let floor = self.body_floor();
        let client = &self.clients[index];
        let is_body = matches!(client.state, State::Collecting | State::Forwarding);
        let is_met = client.window.is_met(floor, client.received_bytes);
        if !is_body || !is_met || client.body_time.is_over(now_ns) {
            return false;
        }
        self.start_window(now_ns, index);
        let client = &self.clients[index];
        let ends_ns = client.body_time.idle_ends_ns.min(client.body_time.ends_ns);
        let deadline_ns = ends_ns.min(client.window.ends_ns);
        self.set_client_deadline(index, deadline_ns);
        true
    }

    /// Bytes that a client took: as many as its kernel has acknowledged, if that can be known. The
    /// kernel of this host takes up to a few MiB by itself, in a few large gulps. Wraps.
    fn taken_bytes(&self, index: usize) -> u64 {
        let socket = self.client_socket(index);
        let driver = &self.wire.driver;
        driver.tcp_info(socket).and_then(|info| info.acked_bytes).unwrap_or_else(|| {
            self.clients[index].sent_bytes.wrapping_sub(driver.queued_bytes(socket) as u64)
        })
    }

    /// Begins, or begins anew, the time that a client has to take what is queued for it.
    pub(super) fn time_taking(&mut self, now_ns: u64, index: usize) {
        let window = Window::start(now_ns, self.taking_floor(), self.taken_bytes(index));
        let client = &mut self.clients[index];
        client.is_taking = true;
        client.window = window;
        self.set_client_deadline(index, window.ends_ns);
    }

    /// The time to take what was queued is over. A client that took enough gets more.
    pub(super) fn taking_expired(&mut self, now_ns: u64, index: usize) {
        let taken_bytes = self.taken_bytes(index);
        if self.clients[index].window.is_met(self.taking_floor(), taken_bytes) {
            return self.time_taking(now_ns, index);
        }
        self.counters.client_timeouts += 1;
        self.drop_client(now_ns, index);
    }
}
