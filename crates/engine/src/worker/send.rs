//! From a slot to bytes on a connection: which request it is, and what exactly is sent.

use plimsoll_conn::Outgoing;
use plimsoll_conn::http1::State;
use plimsoll_core::recorder::Moments;
use plimsoll_io::Driver;

use super::Worker;
use crate::admission::Due;
use crate::client::{Client, Flight};

/// How long to wait for `100 Continue` before the body goes all the same (RFC 9110 10.1.1 leaves
/// it to the client; curl's second is what servers know).
const CONTINUE_WAIT_NS: u64 = 1_000_000_000;

impl<D: Driver> Worker<D> {
    /// A slot's request, about to be started at `started_ns` on a connection that was free since
    /// `free_ns`.
    #[inline]
    pub(super) fn flight(&self, due: &Due, free_ns: u64, started_ns: u64) -> Flight {
        let moments = Moments {
            intended_ns: due.at_ns,
            available_ns: due.at_ns.max(free_ns),
            started_ns,
            ..Moments::default()
        };
        let target = self.prepared.choose(due.number);
        let place = self.place_of(target, due.stage);
        let (number, measured) = (due.number, due.measured);
        Flight { moments, number, target, place, hops: 0, measured }
    }

    /// Sends a request on an open connection, or opens one for it.
    #[inline]
    pub(super) fn start(&mut self, index: u32, mut flight: Flight) {
        let started_ns = flight.moments.started_ns;
        self.progress_ns = started_ns;
        self.open_requests += 1;
        self.deadlines.watch(index, started_ns.saturating_add(self.plan.timeout_ns));
        let client = &mut self.clients[index as usize];
        client.moment(started_ns);
        client.has_paused = false;
        let is_open = client.connection.state() == State::Open;
        if self.tracks_addresses {
            let client = &self.clients[index as usize];
            let route = if is_open { client.route } else { client.next_route };
            flight.place.address = self.routes.address(route);
        }
        let recorder = self.observer.recorder(flight.measured);
        recorder.scheduled(flight.place);
        if self.plan.is_open_loop() {
            recorder.started(&flight.moments, flight.place);
        } else {
            recorder.started_at_once(flight.place);
        }
        if is_open {
            flight.moments.sent_ns = started_ns;
            self.send_any(index, flight);
            if self.plan.pipeline > 1 && self.plan.is_open_loop() {
                self.push_idle(index, started_ns);
            }
        } else {
            self.clients[index as usize].pending = Some(flight);
            self.connect(index, started_ns);
        }
    }

    /// Writes a request to an open connection, or has the script write it.
    #[inline]
    pub(super) fn send_any(&mut self, index: u32, flight: Flight) {
        if self.script.as_ref().is_some_and(|script| script.writes()) {
            self.send_scripted(index, flight);
        } else {
            self.send(index, flight);
        }
    }

    /// Writes a request to an open connection.
    #[inline]
    fn send(&mut self, index: u32, flight: Flight) {
        let Self { clients, driver, scratch, prepared, payloads, built, .. } = self;
        let client = &mut clients[index as usize];
        let target = prepared.target(flight.target);
        let fixed = payloads[flight.target as usize].filter(|_| flight.hops == 0);
        let (mut outgoing, head_bytes) = match (fixed, target.fixed()) {
            (Some(id), Some((bytes, head_bytes))) => (Outgoing::Registered(id, bytes), head_bytes),
            (None, Some((bytes, head_bytes))) if flight.hops == 0 => {
                (Outgoing::Built(bytes), head_bytes)
            }
            _ => {
                built.clear();
                let head_bytes = write(client, target, &flight, built);
                (Outgoing::Built(built), head_bytes)
            }
        };
        let whole = outgoing.bytes();
        let withheld = target.expects_continue() && head_bytes < whole.len();
        if withheld {
            outgoing = Outgoing::Built(&whole[..head_bytes]);
            client.due_ns = flight.moments.started_ns.saturating_add(CONTINUE_WAIT_NS);
        }
        if let Some(dialog) = &mut client.dialog {
            dialog.begin(withheld);
        }
        client.sent += 1;
        let kind = target.kind();
        let bytes = client.connection.send(driver, outgoing, kind, flight, scratch);
        self.observer.recorder(flight.measured).sent_bytes += bytes as u64;
        if withheld {
            self.deadlines.watch(index, self.clients[index as usize].due_ns);
        }
    }

    /// Sends the body that was withheld.
    pub(super) fn send_withheld(&mut self, index: u32) {
        let Self { clients, driver, scratch, prepared, built, .. } = self;
        let client = &mut clients[index as usize];
        let Some(flight) = client.connection.oldest().copied() else {
            return;
        };
        let target = prepared.target(flight.target);
        built.clear();
        // The same number makes the same bytes.
        let head_bytes = write(client, target, &flight, built);
        let body = Outgoing::Built(&built[head_bytes..]);
        let bytes = client.connection.send_more(driver, body, scratch);
        self.observer.recorder(flight.measured).sent_bytes += bytes as u64;
        for flight in client.connection.requests_mut() {
            // Written is what the kernel has taken whole.
            flight.moments.written_ns = 0;
        }
        client.due_ns = u64::MAX;
        if let Some(dialog) = &mut client.dialog {
            dialog.begin(false);
        }
    }

    /// Sends the request that was redirected, on a connection that can take it.
    pub(super) fn follow(&mut self, index: u32, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        if let Some(mut flight) = client.follow.take() {
            self.follows -= 1;
            // It was due when the redirect came; what passed since went into a new connection. The
            // time is the event's and not the clock's: more bytes may have come with that event,
            // and what they answer must not have been sent after them.
            flight.moments.available_ns = now_ns;
            flight.moments.started_ns = now_ns;
            self.observer.recorder(flight.measured).ledger.redirects += 1;
            self.start(index, flight);
        }
    }
}

/// Writes a request that is not the same each time; gives the length of its head.
fn write(
    client: &Client,
    target: &crate::source::PreparedTarget,
    flight: &Flight,
    out: &mut Vec<u8>,
) -> usize {
    let dialog = client.dialog.as_deref();
    let cookies = dialog.map_or(&[][..], |dialog| dialog.cookie_line());
    match dialog.and_then(|dialog| dialog.hop.as_ref()).filter(|_| flight.hops > 0) {
        Some(hop) => {
            let method = hop.as_get.then_some("GET");
            target.redirected(&hop.path, method, cookies, flight.number, out)
        }
        None => target.fill(flight.number, cookies, out),
    }
}
