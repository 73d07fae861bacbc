//! Clients that speak HTTP/2: finding them out, reading their streams, and sending what was written
//! for them, once a turn.

use plimsoll_io::Driver;
use plimsoll_proto::http2::{ConnectionError, ErrorCode, RequestHead, ServerEvent};

use super::super::access_log::RequestLine;
use super::super::client::State;
use super::super::deadline::Owner;
use super::super::exchange::{self, write_last_chunk, write_piece};
use super::super::head::{self, Sender};
use super::super::http2::{Ending, Refused, Translation, translate, write_text};
use super::ProxyWorker;
use super::answer::Why;
use crate::connection::{HTTP2_START, Spoken};
use crate::route::Refusal;
use crate::server::Input;

/// How long a client has between the two steps of a graceful end, so that requests on their way
/// arrive before the second.
const LAST_CALL_NS: u64 = 10_000_000;

const BODY_TOO_LONG: Refusal = Refusal { status: 413, line: "the body is too long" };

/// What a client's bytes mean for its exchanges.
enum Heard {
    /// All of the input was read.
    Nothing,
    /// Nothing to act on.
    Quiet,
    /// A request began.
    Begun(usize),
    /// A request is not to be forwarded.
    Refused(Refused),
    /// More of a request, or its end, was read.
    More(usize),
    /// A request's body is longer than it may be.
    TooLong(usize),
    /// Windows have let a response go.
    Resumed(u32),
    /// The client gave a stream up, or broke it.
    Gone(u32),
}

/// What happens to one client that speaks HTTP/2, or may turn out to.
pub(super) struct Turn<'w, D> {
    worker: &'w mut ProxyWorker<D>,
    now_ns: u64,
    client: usize,
}

impl<D: Driver> ProxyWorker<D> {
    /// A turn of one client.
    #[inline]
    pub(super) fn turn(&mut self, now_ns: u64, client: usize) -> Turn<'_, D> {
        Turn { worker: self, now_ns, client }
    }

    /// Sends what was written in this turn.
    #[inline]
    pub(super) fn send_touched(&mut self, now_ns: u64) {
        while let Some(index) = self.clients.take_touched() {
            self.turn(now_ns, index).end();
        }
    }
}

impl<D: Driver> Turn<'_, D> {
    /// The handshake of TLS may have chosen the protocol.
    pub(super) fn ask_tls(&mut self) {
        match self.worker.wire.has_chosen(self.worker.sockets.client(self.client), b"h2") {
            Some(true) => self.begin(),
            Some(false) => self.worker.clients[self.client].spoken = Spoken::Http1,
            None => {}
        }
    }

    /// Looks at what a client begins with, and takes it if that decides what it speaks.
    #[cold]
    pub(super) fn find_out(&mut self, input: &Input<'_>) {
        let client = &mut self.worker.clients[self.client];
        let Spoken::Unknown(matched) = client.spoken else { return };
        client.spoken = client.spoken.with(input.bytes(&self.worker.wire.driver));
        let before = Input::Held(&HTTP2_START[..usize::from(matched)]);
        match client.spoken {
            Spoken::Unknown(_) => self.worker.time_head(self.now_ns, self.client),
            Spoken::Http1 => {
                if matched > 0 {
                    self.worker.take_http1(self.now_ns, self.client, &before);
                }
                self.worker.take_http1(self.now_ns, self.client, input);
            }
            Spoken::Http2 => {
                self.begin();
                self.take(&before);
                self.take(input);
            }
        }
    }

    fn begin(&mut self) {
        self.worker.counters.http2_connections += 1;
        self.worker.clients.begin_http2(self.client, self.worker.rules.limits.http2);
        self.worker.clients.http2(self.client);
        if self.worker.deadline_ns.is_some() {
            self.announce_end();
        }
    }

    /// Takes what arrived.
    pub(super) fn take(&mut self, input: &Input<'_>) {
        let mut at = 0;
        while self.worker.clients[self.client].state == State::Multiplexed {
            match self.hear(input, &mut at) {
                Ok(Heard::Nothing) => break,
                Ok(heard) => self.act(heard),
                Err(_) => return self.break_off(),
            }
        }
        self.worker.clients.http2(self.client);
    }

    /// Reads the next event, and copies what it is about to where it belongs.
    fn hear(&mut self, input: &Input<'_>, at: &mut usize) -> Result<Heard, ConnectionError> {
        let ProxyWorker { clients, wire, .. } = self.worker;
        let bytes = &input.bytes(&wire.driver)[*at..];
        let Some(http2) = clients[self.client].http2.as_deref_mut() else {
            return Ok(Heard::Nothing);
        };
        let decoded = http2.machine.receive(bytes, &mut http2.out)?;
        *at += decoded.consumed;
        Ok(match decoded.event {
            None => Heard::Nothing,
            Some(ServerEvent::Request(stream, head)) => {
                write_text(&mut self.worker.scratch, &head);
                let asked = Asked::of(&head, self.worker.rules.log.is_some());
                self.open_stream(stream, asked)
            }
            Some(ServerEvent::Body(stream, piece)) => {
                let Some(exchange) = http2.exchange(stream) else {
                    http2.release(stream, piece.len());
                    return Ok(Heard::Quiet);
                };
                let it = &mut self.worker.exchanges[exchange];
                it.received_bytes += piece.len() as u64;
                if it.received_bytes > self.worker.rules.limits.request.body_bytes {
                    return Ok(Heard::TooLong(exchange));
                }
                let queued_bytes = it.link.map_or(0, |link| wire.driver.queued_bytes(link));
                let is_full = queued_bytes > self.worker.rules.limits.queued_bytes;
                let out = match it.state {
                    exchange::State::Collecting => &mut it.request,
                    exchange::State::Forwarding if it.held.is_empty() && !is_full => {
                        self.worker.scratch.clear();
                        &mut self.worker.scratch
                    }
                    _ => {
                        it.held.extend_from_slice(piece);
                        return Ok(Heard::Quiet);
                    }
                };
                write_piece(out, it.is_chunked, piece);
                http2.release(stream, piece.len());
                Heard::More(exchange)
            }
            Some(ServerEvent::Trailers(stream, trailers)) => {
                self.worker.scratch.clear();
                head::write_trailers(&mut self.worker.scratch, trailers);
                if let Some(exchange) = http2.exchange(stream) {
                    self.worker.exchanges[exchange]
                        .trailers
                        .extend_from_slice(&self.worker.scratch);
                }
                Heard::Quiet
            }
            Some(ServerEvent::End(stream)) => match http2.refused.take() {
                Some(refused) if refused.stream == stream => Heard::Refused(refused),
                _ => match http2.exchange(stream) {
                    Some(exchange) => self.end_body(exchange),
                    None => Heard::Quiet,
                },
            },
            Some(ServerEvent::Resumed(stream)) => Heard::Resumed(stream),
            Some(ServerEvent::Reset(stream, _) | ServerEvent::Broken(stream, _)) => {
                Heard::Gone(stream)
            }
            Some(ServerEvent::Greeted | ServerEvent::Draining(_)) => Heard::Quiet,
        })
    }

    /// A request's head is in the scratch buffer, as text: translates it.
    fn open_stream(&mut self, stream: u32, asked: Asked) -> Heard {
        let client = &mut self.worker.clients[self.client];
        let Some(http2) = client.http2.as_deref_mut() else { return Heard::Quiet };
        let takes_trailers = asked.takes_trailers;
        let from = Sender { address: client.address, is_http2: true, takes_trailers };
        let how = Translation {
            rewriting: self.worker.rewriting,
            limits: self.worker.rules.limits.request,
            hashed_field: self.worker.pools.hashed_field(),
        };
        let mut request = self.worker.exchanges.buffer();
        let translated = match translate(&self.worker.scratch, &mut request, from, how) {
            Ok(translated) => translated,
            Err(refusal) => {
                let refused = Refused { stream, refusal, is_head: asked.is_head };
                if asked.is_whole {
                    http2.refused = Some(refused);
                    return Heard::Quiet;
                }
                return Heard::Refused(refused);
            }
        };
        let exchange = self.worker.exchanges.open(self.client, stream);
        let it = &mut self.worker.exchanges[exchange];
        it.begin(self.now_ns, translated.facts, translated.body);
        it.request = request;
        it.line = asked.line;
        http2.open(stream, exchange);
        if translated.expects_continue && self.worker.rewriting.answers_expect {
            self.worker.counters.responses[0] += 1;
            http2.send_continue(stream);
        }
        self.worker.counters.requests += 1;
        if !client.is_taking && http2.ending == Ending::No {
            client.due.at_ns = u64::MAX;
        }
        if asked.is_whole { Heard::Quiet } else { Heard::Begun(exchange) }
    }

    /// A request has ended: writes the end of its body where that belongs.
    fn end_body(&mut self, index: usize) -> Heard {
        let exchange = &mut self.worker.exchanges[index];
        if !exchange.held.is_empty() {
            exchange.ends_held = true;
            return Heard::Quiet;
        }
        let is_streaming = exchange.state == exchange::State::Forwarding;
        self.worker.scratch.clear();
        let out = if is_streaming { &mut self.worker.scratch } else { &mut exchange.request };
        if exchange.is_chunked {
            write_last_chunk(out, &exchange.trailers);
        }
        exchange.is_read = true;
        Heard::More(index)
    }

    fn act(&mut self, heard: Heard) {
        match heard {
            Heard::Nothing | Heard::Quiet => {}
            Heard::Begun(exchange) => self.worker.after_body(self.now_ns, exchange, true),
            Heard::More(exchange) => self.worker.after_body(self.now_ns, exchange, false),
            Heard::Refused(Refused { stream, refusal, is_head }) => {
                self.worker.counters.refused += 1;
                self.worker.counters.count_response(refusal.status);
                if let Some(http2) = self.worker.clients.http2(self.client) {
                    http2.refuse(stream, refusal, is_head);
                }
            }
            Heard::TooLong(exchange) => {
                self.worker.refuse_body(self.now_ns, exchange, BODY_TOO_LONG)
            }
            Heard::Resumed(stream) => {
                let http2 = self.worker.clients.http2(self.client);
                let exchange = http2.and_then(|http2| http2.resume(stream));
                if let Some(exchange) = exchange {
                    self.worker.exchanges[exchange].is_stalled = false;
                    self.resume_paused(&[exchange]);
                }
            }
            Heard::Gone(stream) => {
                let Some(http2) = self.worker.clients.http2(self.client) else { return };
                let exchange = http2.exchange(stream);
                http2.forget(stream);
                http2.refused = http2.refused.filter(|refused| refused.stream != stream);
                if let Some(exchange) = exchange {
                    self.worker.end_exchange(self.now_ns, exchange, Why::Abandoned);
                    self.worker.exchanges.close(exchange);
                }
            }
        }
    }

    /// The upstream takes more of a body: passes on what was held, and gives the client room for
    /// as much.
    pub(super) fn resume_body(&mut self, index: usize) {
        if self.worker.exchanges[index].held.is_empty() || !self.worker.takes_body(index) {
            return;
        }
        let exchange = &mut self.worker.exchanges[index];
        let held = std::mem::take(&mut exchange.held);
        self.worker.scratch.clear();
        write_piece(&mut self.worker.scratch, exchange.is_chunked, &held);
        if exchange.ends_held {
            exchange.is_read = true;
            if exchange.is_chunked {
                write_last_chunk(&mut self.worker.scratch, &exchange.trailers);
            }
        }
        let stream = exchange.stream;
        if let Some(http2) = self.worker.clients.http2(self.client) {
            http2.release(stream, held.len());
        }
        self.worker.after_body(self.now_ns, index, false);
    }

    /// Sends what was written in this turn, and sees what is left to do.
    fn end(&mut self) {
        self.send_written();
        let client = &self.worker.clients[self.client];
        let (State::Multiplexed, Some(http2)) = (client.state, &client.http2) else { return };
        let (is_idle, has_rest) = (http2.exchanges == 0, http2.machine.open() > 0);
        let has_paused = http2.has_paused;
        if http2.is_over() || (client.has_ended && is_idle) {
            return self.worker.close_when_sent(self.now_ns, self.client);
        }
        let (is_taking, is_paused) = (client.is_taking, client.is_paused);
        let is_ending = http2.ending != Ending::No;
        let limits = &self.worker.rules.limits;
        let (response_bytes, queued_max) = (limits.response_buffer_bytes, limits.queued_bytes);
        let queued_bytes =
            self.worker.wire.driver.queued_bytes(self.worker.sockets.client(self.client));
        if queued_bytes > queued_max && !is_paused {
            // What it sends makes the proxy write: pings, resets.
            self.worker.pause_client(self.client);
        }
        if queued_bytes > response_bytes.min(queued_max) {
            if !is_taking {
                self.worker.time_taking(self.now_ns, self.client);
            }
            return;
        }
        if has_paused {
            self.resume_all();
        }
        let is_due = self.worker.clients[self.client].due.at_ns < u64::MAX;
        if is_idle && !is_ending && !is_taking && (has_rest || !is_due) {
            let wait_ns = self.worker.rules.timeouts.keep_alive_ns;
            self.worker
                .set_deadline(Owner::Client(self.client), self.now_ns.saturating_add(wait_ns));
        }
    }

    /// Hands over what was written for a client.
    fn send_written(&mut self) {
        let client = &mut self.worker.clients[self.client];
        let Some(http2) = client.http2.as_deref_mut() else { return };
        if !http2.out.is_empty() {
            let sent_bytes =
                self.worker.wire.send(self.worker.sockets.client(self.client), &http2.out) as u64;
            self.worker.counters.client_bytes_sent += sent_bytes;
            client.sent_bytes = client.sent_bytes.wrapping_add(sent_bytes);
        }
        http2.empty();
    }

    /// The kernel has taken what was queued for a client.
    pub(super) fn sent(&mut self) {
        self.worker.clients[self.client].due.at_ns = u64::MAX;
        if std::mem::take(&mut self.worker.clients[self.client].is_paused) {
            self.worker.wire.driver.resume_receiving(self.worker.sockets.client(self.client));
        }
        self.resume_all();
        let http2 = self.worker.clients.http2(self.client);
        if http2.is_some_and(|http2| http2.ending == Ending::Announced) {
            self.announce_end();
        }
    }

    /// Goes on with the responses that waited for room.
    #[cold]
    fn resume_all(&mut self) {
        let Some(http2) = self.worker.clients[self.client].http2.as_deref_mut() else { return };
        http2.has_paused = false;
        let exchanges: Vec<_> = http2.exchanges().collect();
        self.resume_paused(&exchanges);
    }

    /// Goes on with those of these responses that wait for room and have it now.
    fn resume_paused(&mut self, exchanges: &[usize]) {
        for &exchange in exchanges {
            let it = &self.worker.exchanges[exchange];
            let link = it.link.map(|socket| self.worker.sockets.link_of(socket));
            if it.is_stalled || !link.is_some_and(|link| self.worker.links[link].is_paused) {
                continue;
            }
            if self.worker.has_room(exchange) {
                self.worker.resume_response(self.now_ns, exchange);
            } else if let Some(http2) = self.worker.clients.http2(self.client) {
                http2.has_paused = true;
            }
        }
    }

    /// The client sends no more: what it has not asked for whole comes to nothing.
    pub(super) fn client_ended(&mut self) {
        let Some(http2) = self.worker.clients.http2(self.client) else { return };
        let exchanges: Vec<_> = http2.exchanges().collect();
        for exchange in exchanges {
            let it = &self.worker.exchanges[exchange];
            if !it.is_read && !it.ends_held {
                self.worker.end_exchange(self.now_ns, exchange, Why::Abandoned);
                self.worker.end_stream(exchange, ErrorCode::CANCEL);
            }
        }
    }

    /// The client broke the protocol. It was told so.
    #[cold]
    fn break_off(&mut self) {
        self.worker.counters.http2_errors += 1;
        self.worker.end_exchanges(self.now_ns, self.client, Why::Abandoned);
        self.send_written();
        self.worker.linger(self.now_ns, self.client);
    }

    /// The first step of a graceful end.
    pub(super) fn announce_end(&mut self) {
        if let Some(http2) = self.worker.clients.http2(self.client) {
            http2.announce_end();
        }
        if !self.worker.clients[self.client].is_taking {
            self.worker
                .set_deadline(Owner::Client(self.client), self.now_ns.saturating_add(LAST_CALL_NS));
        }
    }

    /// A connection had no request for too long, or its last call is over.
    pub(super) fn expired(&mut self) {
        let Some(http2) = self.worker.clients.http2(self.client) else { return };
        let was_idle = http2.ending == Ending::No;
        http2.end();
        if was_idle {
            self.send_written();
            self.worker.close_when_sent(self.now_ns, self.client);
        }
    }
}

/// What is to be known of a request beside its text.
struct Asked {
    is_head: bool,
    is_whole: bool,
    takes_trailers: bool,
    line: Option<Box<RequestLine>>,
}

impl Asked {
    fn of(head: &RequestHead<'_>, is_logged: bool) -> Self {
        let target = head.path().or_else(|| head.authority()).unwrap_or_default();
        Self {
            is_head: head.method() == "HEAD",
            is_whole: head.is_whole(),
            // The machine lets no other value of TE through.
            takes_trailers: head.headers().any(|(name, _)| name == "te"),
            line: is_logged.then(|| Box::new(RequestLine::of_http2(head.method(), target))),
        }
    }
}
