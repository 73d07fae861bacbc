//! From a client to an upstream: reading requests and passing them on as they come.

use plimsoll_io::{Close, Driver, Received};
use plimsoll_proto::http1::{self, RequestEvent, RequestHead};

use super::super::access_log::RequestLine;
use super::super::client::{Exchange, State};
use super::super::head::{self, Written};
use super::super::upstreams::{hash, mix};
use super::super::wire::Stream;
use super::ProxyWorker;
use crate::connection::refusal;
use crate::server::Input;

/// The interim response that a client with `Expect: 100-continue` waits for.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

impl<D: Driver> ProxyWorker<D> {
    #[inline]
    pub(super) fn on_client_received(&mut self, now_ns: u64, index: usize, received: Received) {
        let len = received.len() as u64;
        self.counters.client_bytes_received += len;
        let client = &mut self.clients[index];
        client.received_bytes = client.received_bytes.wrapping_add(len);
        if self.wire.is_secure(received.socket) {
            return self.on_client_sealed(now_ns, index, received);
        }
        self.take(now_ns, index, &Input::Received(&received));
        self.wire.driver.release(received);
    }

    /// What arrived over TLS.
    fn on_client_sealed(&mut self, now_ns: u64, index: usize, received: Received) {
        if self.clients[index].state == State::Closing {
            return self.wire.driver.release(received);
        }
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let stream = self.wire.decrypt(&received, &mut plain);
        self.wire.driver.release(received);
        if !plain.is_empty() {
            self.take(now_ns, index, &Input::Held(&plain));
        }
        self.plain = plain;
        match stream {
            _ if self.clients[index].state == State::Free => {}
            Stream::Open => {}
            Stream::Ended => self.on_client_ended(now_ns, index),
            Stream::Failed => {
                self.counters.tls_failures += 1;
                self.abandon(now_ns, index);
                self.close_when_sent(now_ns, index);
            }
        }
    }

    /// Reads what arrived, and holds what is not to be read yet.
    #[inline]
    fn take(&mut self, now_ns: u64, index: usize, input: &Input<'_>) {
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
        if matches!(client.state, State::Free | State::Lingering | State::Closing) {
            return;
        }
        client.hold(&input.bytes(&self.wire.driver)[at..]);
        if client.held_bytes() > self.rules.limits.held_bytes {
            self.pause_client(index);
        }
    }

    fn pause_client(&mut self, index: usize) {
        let socket = self.client_socket(index);
        self.clients[index].is_paused = true;
        self.wire.driver.pause_receiving(socket);
    }

    /// Whether to read the client's bytes now.
    #[inline]
    fn may_read(&self, index: usize) -> bool {
        let client = &self.clients[index];
        let limits = &self.rules.limits;
        match client.state {
            State::Reading => {
                let socket = self.client_socket(index);
                self.wire.driver.queued_bytes(socket) <= limits.response_buffer_bytes
            }
            State::Collecting => true,
            State::Forwarding => {
                let link = client.exchange.link;
                let queued_bytes = link.map_or(0, |link| self.wire.driver.queued_bytes(link));
                !client.exchange.is_read && queued_bytes <= limits.queued_bytes
            }
            State::Free | State::Waiting | State::Lingering | State::Closing => false,
        }
    }

    /// Goes on with the held bytes, and with receiving, as far as the limits allow.
    pub(super) fn resume_client(&mut self, now_ns: u64, index: usize) {
        if !self.clients[index].held.is_empty() && self.may_read(index) {
            let held = std::mem::take(&mut self.clients[index].held);
            let from = std::mem::take(&mut self.clients[index].held_at);
            let at = from + self.read(now_ns, index, &Input::Held(&held[from..]));
            let client = &mut self.clients[index];
            let is_alive = !matches!(client.state, State::Free | State::Lingering | State::Closing);
            if at < held.len() && is_alive {
                client.held = held;
                client.held_at = at;
            }
        }
        let client = &self.clients[index];
        let has_room = client.held_bytes() <= self.rules.limits.held_bytes;
        if client.is_paused && has_room && (client.exchange.is_read || self.may_read(index)) {
            let socket = self.client_socket(index);
            self.clients[index].is_paused = false;
            self.wire.driver.resume_receiving(socket);
        }
        let client = &self.clients[index];
        if client.has_ended && client.held.is_empty() {
            self.on_client_ended(now_ns, index);
        }
    }

    /// Reads up to the end of a request or of the input. Returns how much was used up.
    #[inline]
    fn read(&mut self, now_ns: u64, index: usize, input: &Input<'_>) -> usize {
        let is_streaming = self.clients[index].state == State::Forwarding;
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
                    self.refuse(now_ns, index, refusal(error));
                    return input.len();
                }
            };
            at += decoded.consumed;
            match decoded.event {
                None => break,
                Some(RequestEvent::Head(head)) => {
                    client.request = self.buffers.pop().unwrap_or_default();
                    let out = &mut client.request;
                    let (address, body) = (client.address, head.body);
                    let written = match head::write_request(out, &head, address, self.rewriting) {
                        Ok(written) => written,
                        Err(refusal) => {
                            client.exchange.is_head = head.method == "HEAD";
                            self.refuse(now_ns, index, refusal);
                            return input.len();
                        }
                    };
                    let hashed_field = self.pools.hashed_field();
                    let mut exchange = exchange(now_ns, &head, written, address, hashed_field);
                    exchange.head_bytes = out.len() as u32;
                    expects_continue = head.expect_continue && self.rewriting.answers_expect;
                    if self.rules.log.is_some() {
                        client.line = Some(Box::new(RequestLine::of(head.head_bytes())));
                    }
                    client.begin(exchange, body);
                    self.counters.requests += 1;
                    is_begun = true;
                }
                Some(RequestEvent::Body(piece)) => {
                    expects_continue = false;
                    let out = if is_streaming { &mut self.scratch } else { &mut client.request };
                    match client.exchange.is_chunked {
                        true => http1::write_chunk(out, piece),
                        false => out.extend_from_slice(piece),
                    }
                }
                Some(RequestEvent::End(_)) => {
                    expects_continue = false;
                    let out = if is_streaming { &mut self.scratch } else { &mut client.request };
                    if client.exchange.is_chunked {
                        http1::write_last_chunk(out);
                    }
                    client.exchange.is_read = true;
                    break;
                }
            }
        }
        if expects_continue {
            self.send_to_client(index, CONTINUE);
        }
        self.after_reading(now_ns, index, is_begun);
        at
    }

    /// Passes on what was read, and sets the time for the rest.
    #[inline]
    fn after_reading(&mut self, now_ns: u64, index: usize, is_begun: bool) {
        match self.clients[index].state {
            State::Reading => self.time_head(now_ns, index),
            State::Collecting => self.collect(now_ns, index, is_begun),
            State::Forwarding => {
                let client = &mut self.clients[index];
                // The time of a client that does not take its response is not put off.
                match (client.is_taking, client.exchange.is_read) {
                    (true, _) => {}
                    (false, true) => client.deadline_ns = u64::MAX,
                    (false, false) => self.time_body(now_ns, index),
                }
                self.stream(now_ns, index);
            }
            State::Free | State::Waiting | State::Lingering | State::Closing => {}
        }
        let client = &self.clients[index];
        if client.is_busy() && !client.exchange.is_read && !self.may_read(index) {
            self.pause_client(index);
        }
    }

    /// Sets the time for the rest of a head.
    fn time_head(&mut self, now_ns: u64, index: usize) {
        let client = &mut self.clients[index];
        if client.is_timed || client.decoder.is_idle() {
            return;
        }
        client.is_timed = true;
        // The time of the head is the only one, until a response is to be sent again.
        client.is_taking = false;
        let deadline_ns = now_ns.saturating_add(self.rules.timeouts.head_ns);
        self.set_client_deadline(index, deadline_ns);
    }

    /// Gives a request an upstream once it is complete, or once no more of it can be collected.
    #[inline]
    fn collect(&mut self, now_ns: u64, index: usize, is_begun: bool) {
        let client = &self.clients[index];
        let body_bytes = client.request.len() - client.exchange.head_bytes as usize;
        let is_read = client.exchange.is_read;
        if body_bytes > 0 || !is_read {
            self.charge(index);
        }
        if is_begun && !is_read {
            self.start_body(now_ns, index);
        }
        let limits = &self.rules.limits;
        let has_room = body_bytes < limits.body_buffer_bytes
            && self.buffered_bytes < limits.body_buffers_bytes;
        if !is_read && has_room {
            return self.time_body(now_ns, index);
        }
        self.clients[index].state = State::Waiting;
        self.hold_body(now_ns, index);
        self.dispatch(now_ns, index);
    }

    /// Counts a request's memory.
    fn charge(&mut self, index: usize) {
        let client = &mut self.clients[index];
        self.buffered_bytes += client.request.capacity() - client.charged_bytes;
        client.charged_bytes = client.request.capacity();
    }

    /// Sends what was read of a body.
    fn stream(&mut self, now_ns: u64, index: usize) {
        let Some(socket) = self.clients[index].exchange.link else { return };
        let link = (socket.0 - self.first_link) as usize;
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
        if self.clients[index].exchange.is_answered {
            return;
        }
        let queued_bytes = self.wire.driver.queued_bytes(self.link_socket(link));
        let wait_ns = if self.clients[index].exchange.is_read {
            timeouts.response_ns
        } else if queued_bytes > self.rules.limits.queued_bytes {
            timeouts.upstream_idle_ns
        } else {
            u64::MAX
        };
        self.links[link].stuck_bytes = queued_bytes;
        let client = &self.clients[index];
        let is_waiting = queued_bytes > self.rules.limits.queued_bytes && !client.exchange.is_read;
        if is_waiting && !client.is_taking {
            // The wait is the upstream's doing.
            self.hold_body(now_ns, index);
        }
        self.set_link_deadline(link, now_ns.saturating_add(wait_ns));
    }

    /// The client will send no more.
    pub(super) fn on_client_ended(&mut self, now_ns: u64, index: usize) {
        let client = &mut self.clients[index];
        client.has_ended = true;
        match client.state {
            State::Free | State::Closing => {}
            State::Lingering => self.close_when_sent(now_ns, index),
            State::Reading if client.held.is_empty() => self.close_when_sent(now_ns, index),
            State::Reading => {}
            // What is held may end the request; nothing else will.
            State::Collecting | State::Waiting | State::Forwarding => {
                if !client.exchange.is_read && client.held.is_empty() {
                    self.abandon(now_ns, index);
                    self.close_client(index, Close::Reset);
                }
            }
        }
    }

    /// The connection failed.
    pub(super) fn drop_client(&mut self, now_ns: u64, index: usize) {
        self.abandon(now_ns, index);
        self.close_client(index, Close::Reset);
    }
}

/// What is known of a request from its head.
#[inline]
fn exchange(
    now_ns: u64,
    head: &RequestHead<'_>,
    written: Written,
    client: std::net::IpAddr,
    hashed_field: Option<&str>,
) -> Exchange {
    let address_hash = || match client.to_canonical() {
        std::net::IpAddr::V4(address) => hash(&address.octets()),
        std::net::IpAddr::V6(address) => hash(&address.octets()),
    };
    let field_hash = |name: &str| {
        let mut fields = head.headers();
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| hash(value))
    };
    Exchange {
        hash: mix(hashed_field.and_then(field_hash).unwrap_or_else(address_hash)),
        host_at: written.host_at,
        minor_version: head.minor_version,
        keep_alive: head.keep_alive,
        is_head: written.is_head,
        is_idempotent: written.is_idempotent,
        started_ns: now_ns,
        ..Exchange::NONE
    }
}
