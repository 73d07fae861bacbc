//! From a client to an upstream: reading requests and passing them on as they come.

use plimsoll_io::{Close, Driver, Received};
use plimsoll_proto::http1::RequestEvent;

use super::super::access_log::RequestLine;
use super::super::client;
use super::super::deadline::Owner;
use super::super::exchange::{Facts, State, write_last_chunk, write_piece};
use super::super::head::{self, Sender};
use super::super::wire::Stream;
use super::ProxyWorker;
use super::answer::Why;
use crate::connection::{Spoken, refusal};
use crate::server::Input;

/// The interim response that a client with `Expect: 100-continue` waits for.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

impl<D: Driver> ProxyWorker<D> {
    #[inline]
    pub(super) fn on_client_received(&mut self, now_ns: u64, index: usize, received: Received) {
        let len = received.len() as u64;
        self.counters.client_bytes_received += len;
        let client = &self.clients[index];
        if client.state == client::State::Busy {
            let exchange = &mut self.exchanges[client.exchange as usize];
            exchange.received_bytes = exchange.received_bytes.wrapping_add(len);
        }
        if self.wire.is_secure(received.socket) {
            return self.on_client_sealed(now_ns, index, received);
        }
        self.take(now_ns, index, &Input::Received(&received));
        self.wire.driver.release(received);
    }

    /// What arrived over TLS.
    fn on_client_sealed(&mut self, now_ns: u64, index: usize, received: Received) {
        if self.clients[index].state == client::State::Closing {
            return self.wire.driver.release(received);
        }
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let stream = self.wire.decrypt(&received, &mut plain);
        self.wire.driver.release(received);
        if self.clients[index].spoken == Spoken::Unknown(0) {
            self.turn(now_ns, index).ask_tls();
        }
        if !plain.is_empty() {
            self.take(now_ns, index, &Input::Held(&plain));
        }
        self.plain = plain;
        match stream {
            _ if self.clients[index].state == client::State::Free => {}
            Stream::Open => {}
            Stream::Ended => self.on_client_ended(now_ns, index),
            Stream::Failed => {
                self.counters.tls_failures += 1;
                self.end_exchanges(now_ns, index, Why::Abandoned);
                self.close_when_sent(now_ns, index);
            }
        }
    }

    /// Reads what arrived, and holds what is not to be read yet.
    #[inline]
    fn take(&mut self, now_ns: u64, index: usize, input: &Input<'_>) {
        match self.clients[index].spoken {
            Spoken::Http1 => self.take_http1(now_ns, index, input),
            Spoken::Http2 => self.turn(now_ns, index).take(input),
            Spoken::Unknown(_) => self.turn(now_ns, index).find_out(input),
        }
    }

    #[inline]
    pub(super) fn take_http1(&mut self, now_ns: u64, index: usize, input: &Input<'_>) {
        let mut at = 0;
        if self.clients[index].held.is_empty() && self.may_read(index) {
            at = self.read(now_ns, index, input);
        }
        if at < input.len() {
            self.hold(index, input, at);
        }
    }

    #[cold]
    fn hold(&mut self, index: usize, input: &Input<'_>, at: usize) {
        let client = &mut self.clients[index];
        if !client.is_open() {
            return;
        }
        client.hold(&input.bytes(&self.wire.driver)[at..]);
        if client.held_bytes() > self.rules.limits.held_bytes {
            self.pause_client(index);
        }
    }

    pub(super) fn pause_client(&mut self, index: usize) {
        self.clients[index].is_paused = true;
        self.wire.driver.pause_receiving(self.sockets.client(index));
    }

    /// Whether to read the client's bytes now.
    #[inline]
    fn may_read(&self, index: usize) -> bool {
        let client = &self.clients[index];
        match client.state {
            client::State::Reading => {
                let queued_bytes = self.wire.driver.queued_bytes(self.sockets.client(index));
                queued_bytes <= self.rules.limits.response_buffer_bytes
            }
            client::State::Busy => self.takes_body(client.exchange as usize),
            _ => false,
        }
    }

    /// Whether an exchange takes more of its request's body now.
    #[inline]
    pub(super) fn takes_body(&self, index: usize) -> bool {
        let exchange = &self.exchanges[index];
        match exchange.state {
            State::Collecting => true,
            State::Forwarding => {
                let link = exchange.link;
                let queued_bytes = link.map_or(0, |link| self.wire.driver.queued_bytes(link));
                !exchange.is_read && queued_bytes <= self.rules.limits.queued_bytes
            }
            State::Free | State::Waiting => false,
        }
    }

    /// The upstream takes more of a request: its client goes on with it.
    pub(super) fn resume_request(&mut self, now_ns: u64, index: usize) {
        let exchange = &self.exchanges[index];
        match exchange.stream {
            0 => self.resume_client(now_ns, exchange.client as usize),
            _ => self.turn(now_ns, exchange.client as usize).resume_body(index),
        }
    }

    /// Goes on with the held bytes, and with receiving, as far as the limits allow.
    pub(super) fn resume_client(&mut self, now_ns: u64, index: usize) {
        if !self.clients[index].held.is_empty() && self.may_read(index) {
            let held = std::mem::take(&mut self.clients[index].held);
            let from = std::mem::take(&mut self.clients[index].held_at);
            let at = from + self.read(now_ns, index, &Input::Held(&held[from..]));
            let client = &mut self.clients[index];
            if at < held.len() && client.is_open() {
                client.held = held;
                client.held_at = at;
            }
        }
        let client = &self.clients[index];
        let has_room = client.held_bytes() <= self.rules.limits.held_bytes;
        let is_read =
            client.state == client::State::Busy && self.exchanges[client.exchange as usize].is_read;
        if client.is_paused && has_room && (is_read || self.may_read(index)) {
            self.clients[index].is_paused = false;
            self.wire.driver.resume_receiving(self.sockets.client(index));
        }
        let client = &self.clients[index];
        if client.has_ended && client.held.is_empty() {
            self.on_client_ended(now_ns, index);
        }
    }

    /// Reads up to the end of a request or of the input. Returns how much was used up.
    #[inline]
    fn read(&mut self, now_ns: u64, index: usize, input: &Input<'_>) -> usize {
        let client = &self.clients[index];
        let mut exchange = client.exchange as usize;
        let is_busy = client.state == client::State::Busy;
        let is_streaming = is_busy && self.exchanges[exchange].state == State::Forwarding;
        let mut is_begun = false;
        let mut expects_continue = false;
        let mut at = 0;
        self.scratch.clear();
        while at < input.len() {
            let bytes = &input.bytes(&self.wire.driver)[at..];
            let client = &mut self.clients[index];
            let decoded = match client.decoder.decode(bytes) {
                Ok(decoded) => decoded,
                Err(error) => {
                    self.refuse(now_ns, index, refusal(error), false);
                    return input.len();
                }
            };
            at += decoded.consumed;
            match decoded.event {
                None => break,
                Some(RequestEvent::Head(head)) => {
                    let mut request = self.exchanges.buffer();
                    let from =
                        Sender { address: client.address, is_http2: false, takes_trailers: false };
                    let written =
                        match head::write_request(&mut request, &head, from, self.rewriting) {
                            Ok(written) => written,
                            Err(refusal) => {
                                let is_head = head.method == "HEAD";
                                self.refuse(now_ns, index, refusal, is_head);
                                return input.len();
                            }
                        };
                    let hashed_field = self.pools.hashed_field();
                    let mut facts = Facts::of(&head, written, from.address, hashed_field);
                    facts.head_bytes = request.len() as u32;
                    expects_continue = head.expect_continue && self.rewriting.answers_expect;
                    exchange = self.exchanges.open(index, 0);
                    let it = &mut self.exchanges[exchange];
                    it.begin(now_ns, facts, head.body);
                    it.request = request;
                    it.received_bytes = bytes.len() as u64;
                    if self.rules.log.is_some() {
                        it.line = Some(Box::new(RequestLine::of(head.head_bytes())));
                    }
                    client.begin(exchange);
                    self.counters.requests += 1;
                    is_begun = true;
                }
                Some(RequestEvent::Body(piece)) => {
                    expects_continue = false;
                    let it = &mut self.exchanges[exchange];
                    let out = if is_streaming { &mut self.scratch } else { &mut it.request };
                    write_piece(out, it.is_chunked, piece);
                }
                Some(RequestEvent::End(_)) => {
                    expects_continue = false;
                    let it = &mut self.exchanges[exchange];
                    it.is_read = true;
                    if it.is_chunked {
                        let out = if is_streaming { &mut self.scratch } else { &mut it.request };
                        write_last_chunk(out, &[]);
                    }
                    break;
                }
            }
        }
        if expects_continue {
            self.send_to_client(index, CONTINUE);
        }
        match self.clients[index].state {
            client::State::Reading => self.time_head(now_ns, index),
            client::State::Busy => self.after_body(now_ns, exchange, is_begun),
            _ => {}
        }
        let client = &self.clients[index];
        let is_unread = client.state == client::State::Busy
            && !self.exchanges[client.exchange as usize].is_read;
        if is_unread && !self.may_read(index) {
            self.pause_client(index);
        }
        at
    }

    /// Passes on what was read of a request, and sets the time for the rest.
    #[inline]
    pub(super) fn after_body(&mut self, now_ns: u64, index: usize, is_begun: bool) {
        match self.exchanges[index].state {
            State::Collecting => self.collect(now_ns, index, is_begun),
            State::Forwarding => {
                // The time of a client that does not take its response is not put off.
                if !self.is_taking(index) {
                    match self.exchanges[index].is_read {
                        true => self.exchanges[index].due.at_ns = u64::MAX,
                        false => self.time_body(now_ns, index),
                    }
                }
                self.stream(now_ns, index);
            }
            State::Free | State::Waiting => {}
        }
    }

    /// Sets the time for the rest of a head.
    pub(super) fn time_head(&mut self, now_ns: u64, index: usize) {
        let client = &mut self.clients[index];
        let has_begun = !client.decoder.is_idle() || matches!(client.spoken, Spoken::Unknown(1..));
        if client.is_timed || !has_begun {
            return;
        }
        client.is_timed = true;
        // The time of the head is the only one, until a response is to be sent again.
        client.is_taking = false;
        let deadline_ns = now_ns.saturating_add(self.rules.timeouts.head_ns);
        self.set_deadline(Owner::Client(index), deadline_ns);
    }

    /// Gives a request an upstream once it is complete, or once no more of it can be collected.
    #[inline]
    fn collect(&mut self, now_ns: u64, index: usize, is_begun: bool) {
        let exchange = &self.exchanges[index];
        let body_bytes = exchange.collected_bytes();
        let is_read = exchange.is_read;
        if body_bytes > 0 || !is_read {
            self.exchanges.charge(index);
        }
        if is_begun && !is_read {
            self.exchanges[index].start_body(now_ns, &self.rules);
        }
        let limits = &self.rules.limits;
        let has_room = body_bytes < limits.body_buffer_bytes
            && self.exchanges.buffered_bytes < limits.body_buffers_bytes;
        if !is_read && has_room {
            return self.time_body(now_ns, index);
        }
        self.exchanges[index].state = State::Waiting;
        self.exchanges[index].hold_body(now_ns);
        self.dispatch(now_ns, index);
    }

    /// Sends what was read of a body.
    fn stream(&mut self, now_ns: u64, index: usize) {
        let Some(socket) = self.exchanges[index].link else { return };
        let link = self.sockets.link_of(socket);
        if !self.scratch.is_empty() {
            let sent = self.wire.send(socket, &self.scratch);
            self.counters.upstream_bytes_sent += sent as u64;
            self.links[link].sent_bytes = self.links[link].sent_bytes.saturating_add(sent);
        }
        self.watch_request(now_ns, index, link);
    }

    /// Sets the time that an upstream has: to answer, once it has the whole request; to take what
    /// it was sent, while too much is queued.
    pub(super) fn watch_request(&mut self, now_ns: u64, index: usize, link: usize) {
        let timeouts = &self.rules.timeouts;
        let exchange = &self.exchanges[index];
        if exchange.is_answered {
            return;
        }
        let is_read = exchange.is_read;
        let queued_bytes = self.wire.driver.queued_bytes(self.sockets.link(link));
        let is_full = queued_bytes > self.rules.limits.queued_bytes;
        let wait_ns = match (is_read, is_full) {
            (true, _) => timeouts.response_ns,
            (false, true) => timeouts.upstream_idle_ns,
            (false, false) => u64::MAX,
        };
        self.links[link].stuck_bytes = queued_bytes;
        if is_full && !is_read && !self.is_taking(index) {
            // The wait is the upstream's doing.
            self.exchanges[index].hold_body(now_ns);
        }
        self.set_deadline(Owner::Link(link), now_ns.saturating_add(wait_ns));
    }

    /// The client will send no more.
    pub(super) fn on_client_ended(&mut self, now_ns: u64, index: usize) {
        let client = &mut self.clients[index];
        client.has_ended = true;
        match client.state {
            client::State::Free | client::State::Closing => {}
            client::State::Lingering => self.close_when_sent(now_ns, index),
            client::State::Reading if client.held.is_empty() => {
                self.close_when_sent(now_ns, index);
            }
            client::State::Reading => {}
            client::State::Multiplexed => self.turn(now_ns, index).client_ended(),
            // What is held may end the request; nothing else will.
            client::State::Busy => {
                let is_read = self.exchanges[client.exchange as usize].is_read;
                if !is_read && client.held.is_empty() {
                    self.drop_client(now_ns, index);
                }
            }
        }
    }

    /// The connection failed.
    pub(super) fn drop_client(&mut self, now_ns: u64, index: usize) {
        self.end_exchanges(now_ns, index, Why::Abandoned);
        self.close_client(index, Close::Reset);
    }
}
