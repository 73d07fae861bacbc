//! From a slot to bytes on a connection: which request it is, and what exactly is sent.

use plimsoll_conn::{Outgoing, State};
use plimsoll_core::recorder::Moments;
use plimsoll_io::Driver;

use super::Worker;
use crate::admission::Due;
use crate::client::Client;
use crate::exchanges::{Exchange, ExchangeId};

/// How long to wait for `100 Continue` before the body goes anyway (RFC 9110 10.1.1 leaves
/// it to the client; curl's second is what servers know).
const CONTINUE_WAIT_NS: u64 = 1_000_000_000;

impl<D: Driver> Worker<D> {
    /// A slot's exchange, about to be started at `started_ns` on a connection that was free since
    /// `free_ns`.
    #[inline]
    pub(super) fn exchange(
        &self,
        client: u32,
        due: &Due,
        free_ns: u64,
        started_ns: u64,
    ) -> Exchange {
        let moments = Moments {
            intended_ns: due.at_ns,
            available_ns: due.at_ns.max(free_ns),
            started_ns,
            ..Moments::default()
        };
        let target = self.prepared.choose(due.number);
        let place = self.place_of(target, due.stage);
        let (number, measured) = (due.number, due.measured);
        Exchange { moments, number, target, place, hops: 0, measured, client }
    }

    /// Begins an exchange: sends its request on its connection, or opens that for it.
    #[inline]
    pub(super) fn start(&mut self, mut exchange: Exchange) {
        let index = exchange.client;
        let started_ns = exchange.moments.started_ns;
        self.progress_ns = started_ns;
        let client = &mut self.clients[index as usize];
        client.moment(started_ns);
        client.has_paused = false;
        let is_open = client.connection.state() == State::Open;
        if self.tracks_addresses {
            let client = &self.clients[index as usize];
            let route = if is_open { client.route } else { client.next_route };
            exchange.place.address = self.routes.address(route);
        }
        self.record_start(&exchange);
        if is_open {
            exchange.moments.sent_ns = started_ns;
            let id = self.exchanges.begin(exchange);
            self.send_any(index, id);
            if self.plan.pipeline > 1 && self.plan.is_open_loop() {
                self.push_idle(index, started_ns);
            }
        } else {
            self.clients[index as usize].pending = Some(self.exchanges.begin(exchange));
            self.connect(index, started_ns);
        }
    }

    /// Writes down that an exchange begins.
    #[inline]
    pub(super) fn record_start(&mut self, exchange: &Exchange) {
        let recorder = self.observer.recorder(exchange.measured);
        recorder.scheduled(exchange.place);
        if self.plan.is_open_loop() {
            recorder.started(&exchange.moments, exchange.place);
        } else {
            recorder.started_at_once(exchange.place);
        }
    }

    /// Writes a request to an open connection, or has the script write it.
    #[inline]
    pub(super) fn send_any(&mut self, index: u32, id: ExchangeId) {
        if self.script.as_ref().is_some_and(|script| script.writes()) {
            self.send_scripted(index, id);
        } else {
            self.send(index, id);
        }
    }

    /// Writes a request to an open connection.
    #[inline]
    fn send(&mut self, index: u32, id: ExchangeId) {
        let exchange = self.exchanges[id];
        let Self { clients, driver, scratch, prepared, payloads, built, .. } = self;
        let client = &mut clients[index as usize];
        let target = prepared.target(exchange.target);
        let fixed = payloads[exchange.target as usize].filter(|_| exchange.hops == 0);
        let (mut outgoing, head_bytes) = match (fixed, target.fixed()) {
            (Some(id), Some((bytes, head_bytes))) => (Outgoing::Registered(id, bytes), head_bytes),
            (None, Some((bytes, head_bytes))) if exchange.hops == 0 => {
                (Outgoing::Built(bytes), head_bytes)
            }
            _ => {
                built.clear();
                let head_bytes = write(client, target, &exchange, built);
                (Outgoing::Built(built), head_bytes)
            }
        };
        let whole = outgoing.bytes();
        let withheld = target.expects_continue() && head_bytes < whole.len();
        if withheld {
            outgoing = Outgoing::Built(&whole[..head_bytes]);
            client.due_ns = exchange.moments.started_ns.saturating_add(CONTINUE_WAIT_NS);
        }
        if let Some(dialog) = &mut client.dialog {
            dialog.begin(withheld);
        }
        client.sent += 1;
        let kind = target.kind();
        let bytes = client.connection.send(driver, outgoing, kind, id, scratch);
        self.observer.recorder(exchange.measured).sent_bytes += bytes as u64;
        if withheld {
            self.deadlines.watch(index, self.clients[index as usize].due_ns);
        }
    }

    /// Sends the body that was withheld.
    pub(super) fn send_withheld(&mut self, index: u32) {
        let Self { clients, driver, scratch, prepared, built, exchanges, .. } = self;
        let client = &mut clients[index as usize];
        let Some(id) = client.connection.oldest() else {
            return;
        };
        let exchange = exchanges[id];
        let target = prepared.target(exchange.target);
        built.clear();
        // The same number makes the same bytes.
        let head_bytes = write(client, target, &exchange, built);
        let body = Outgoing::Built(&built[head_bytes..]);
        let bytes = client.connection.send_more(driver, body, scratch);
        self.observer.recorder(exchange.measured).sent_bytes += bytes as u64;
        for id in client.connection.requests() {
            // Written is what the kernel has taken whole.
            exchanges[id].moments.written_ns = 0;
        }
        client.due_ns = u64::MAX;
        if let Some(dialog) = &mut client.dialog {
            dialog.begin(false);
        }
    }

    /// Sends the request that was redirected, on a connection that can take it.
    pub(super) fn follow(&mut self, index: u32, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        if let Some(mut exchange) = client.follow.take() {
            self.follows -= 1;
            // It was due when the redirect came; what passed since went into a new connection. The
            // time is the event's and not the clock's: more bytes may have come with that event,
            // and what they answer must not have been sent after them.
            exchange.moments.available_ns = now_ns;
            exchange.moments.started_ns = now_ns;
            self.observer.recorder(exchange.measured).ledger.redirects += 1;
            self.start(exchange);
        }
    }
}

/// Writes a request that is not the same each time; gives the length of its head.
fn write(
    client: &Client,
    target: &crate::source::PreparedTarget,
    exchange: &Exchange,
    out: &mut Vec<u8>,
) -> usize {
    let dialog = client.dialog.as_deref();
    let cookies = dialog.map_or(&[][..], |dialog| dialog.cookie_line());
    match dialog.and_then(|dialog| dialog.hop.as_ref()).filter(|_| exchange.hops > 0) {
        Some(hop) => {
            let method = hop.as_get.then_some("GET");
            target.redirected(&hop.path, method, cookies, exchange.number, out)
        }
        None => target.fill(exchange.number, cookies, out),
    }
}
