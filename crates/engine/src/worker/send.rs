//! From a slot to bytes on a connection: which request it is, and what exactly is sent.

use plimsoll_conn::{Encoding as _, ExchangeId, Filling, Hop, Message, Protocol, State};
use plimsoll_core::recorder::Moments;
use plimsoll_io::Driver;

use super::Worker;
use crate::admission::Due;
use crate::exchanges::Exchange;
use crate::user::{Follow, User};

/// How long to wait for `100 Continue` before the body goes anyway (RFC 9110 10.1.1 leaves
/// it to the client; curl's second is what servers know).
const CONTINUE_WAIT_NS: u64 = 1_000_000_000;

impl<D: Driver, P: Protocol> Worker<D, P> {
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
        Exchange { moments, number, target, place, hops: 0, measured, withholds: false, client }
    }

    /// Begins an exchange: sends its request on its connection, or opens that for it.
    #[inline]
    pub(super) fn start(&mut self, exchange: Exchange) {
        self.start_hop(exchange, None);
    }

    /// The same for a request that may have been redirected to `hop`.
    #[inline]
    fn start_hop(&mut self, mut exchange: Exchange, hop: Option<Hop>) {
        let index = exchange.client;
        let started_ns = exchange.moments.started_ns;
        self.progress_ns = started_ns;
        let client = &mut self.clients[index as usize];
        client.moment(started_ns);
        self.users[index as usize].has_paused = false;
        let is_open = client.connection.state() == State::Open;
        if self.tracks_addresses {
            let client = &self.clients[index as usize];
            let route = if is_open { client.route } else { client.next_route };
            exchange.place.address = self.routes.address(route);
        }
        self.record_start(&exchange);
        if is_open {
            exchange.moments.sent_ns = started_ns;
        }
        let id = self.exchanges.begin(exchange);
        if let Some(inspection) = self.exchanges.inspection(id) {
            inspection.hop = hop;
        }
        if is_open {
            self.send_any(index, id);
        } else {
            self.clients[index as usize].pending = Some(id);
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
        let target = self.prepared.target(exchange.target);
        let filling = filling(&exchange, &self.users[index as usize], self.exchanges.hop(id));
        let withholds_body = target.expects_continue && target.encoding.has_body(&filling);
        let payload = self.payloads[exchange.target as usize];
        let encoding = &target.encoding;
        let message = Message::Compiled { encoding, payload, filling, withholds_body };
        let client = &mut self.clients[index as usize];
        client.sent += 1;
        let bytes = client.connection.send(&mut self.driver, id, &message, &mut self.scratch);
        self.observer.recorder(exchange.measured).sent_bytes += bytes as u64;
        if withholds_body {
            self.exchanges[id].withholds = true;
            let until_ns = exchange.moments.started_ns.saturating_add(CONTINUE_WAIT_NS);
            client.due_ns = client.due_ns.min(until_ns);
            self.deadlines.watch(index, client.due_ns);
        }
    }

    /// Sends the bodies of the exchanges that were released and have not ended since.
    #[cold]
    pub(super) fn send_released(&mut self, index: u32) {
        while let Some(id) = self.released.pop() {
            let connection = &self.clients[index as usize].connection;
            if connection.exchanges().any(|open| open == id) {
                self.send_body(index, id);
            }
        }
    }

    /// Sends the bodies that a connection has withheld for as long as it may.
    pub(super) fn send_withheld(&mut self, index: u32, now_ns: u64) {
        loop {
            let open = self.clients[index as usize].connection.exchanges();
            let withheld = open.map(|id| (id, &self.exchanges[id])).filter(|(_, it)| it.withholds);
            let Some((id, exchange)) = withheld.min_by_key(|(_, it)| it.moments.started_ns) else {
                return;
            };
            let until_ns = exchange.moments.started_ns.saturating_add(CONTINUE_WAIT_NS);
            if until_ns > now_ns {
                let client = &mut self.clients[index as usize];
                client.due_ns = client.due_ns.min(until_ns);
                return;
            }
            self.send_body(index, id);
        }
    }

    /// Sends the body of an exchange that withholds it.
    fn send_body(&mut self, index: u32, id: ExchangeId) {
        let exchange = self.exchanges[id];
        let encoding = &self.prepared.target(exchange.target).encoding;
        let filling = filling(&exchange, &self.users[index as usize], self.exchanges.hop(id));
        let message = Message::Compiled { encoding, payload: None, filling, withholds_body: true };
        let connection = &mut self.clients[index as usize].connection;
        let bytes = connection.send_rest(&mut self.driver, id, &message, &mut self.scratch);
        self.observer.recorder(exchange.measured).sent_bytes += bytes as u64;
        let exchange = &mut self.exchanges[id];
        exchange.withholds = false;
        // Written is what the kernel has taken whole.
        exchange.moments.written_ns = 0;
    }

    /// Sends the request that was redirected first, on a connection that can take it.
    pub(super) fn follow(&mut self, index: u32, now_ns: u64) {
        let Some(follow) = self.users[index as usize].follows.pop_front() else { return };
        let Follow { mut exchange, hop } = follow;
        self.follows -= 1;
        // It was due when the redirect came; what passed since went into a new connection. The
        // time is the event's and not the clock's: more bytes may have come with that event,
        // and what they answer must not have been sent after them.
        exchange.moments.available_ns = now_ns;
        exchange.moments.started_ns = now_ns;
        self.observer.recorder(exchange.measured).ledger.redirects += 1;
        self.start_hop(exchange, Some(hop));
    }
}

/// What an exchange's request has of its own.
#[inline]
fn filling<'a>(exchange: &Exchange, user: &'a User, hop: Option<&'a Hop>) -> Filling<'a> {
    Filling { number: exchange.number, cookies: user.cookies.line(), hop }
}
