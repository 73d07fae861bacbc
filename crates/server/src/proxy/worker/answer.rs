//! Answers of the proxy's own, ends of connections, and what happens when a time is up.
//!
//! Each request that was admitted comes to one end here or in `response`, and is counted once.

use plimsoll_io::{Close, Driver};
use plimsoll_proto::http2::ErrorCode;

use super::super::access_log::Line;
use super::super::client::State;
use super::super::deadline::Owner;
use super::super::exchange;
use super::super::link;
use super::super::upstreams::Outcome;
use super::ProxyWorker;
use crate::answer::http1;
use crate::route::Refusal;

/// How long a client may go on after its last response was sent: a connection closed with bytes
/// unread is reset, and the reset may overtake the response (RFC 9112 section 9.6).
const LINGER_NS: u64 = 1_000_000_000;

const UNREACHABLE: Refusal = Refusal { status: 502, line: "no upstream could be reached" };
const UNUSABLE: Refusal =
    Refusal { status: 502, line: "the upstream's response is missing or cannot be forwarded" };
const BUSY: Refusal = Refusal { status: 503, line: "all connections to the upstreams are busy" };
const NO_CONNECTION: Refusal =
    Refusal { status: 504, line: "the upstream could not be reached in time" };
const NO_RESPONSE: Refusal = Refusal { status: 504, line: "the upstream did not respond in time" };
const NO_REQUEST: Refusal = Refusal { status: 408, line: "the request did not arrive in time" };

/// Why a client's exchanges end all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The client is gone.
    Abandoned,
    /// The drain time is over.
    Drained,
}

impl<D: Driver> ProxyWorker<D> {
    /// What a client of HTTP/1 sends is not to be forwarded.
    #[cold]
    pub(super) fn refuse(&mut self, now_ns: u64, client: usize, refusal: Refusal, is_head: bool) {
        if self.clients[client].state == State::Busy {
            let exchange = self.clients[client].exchange as usize;
            return self.refuse_body(now_ns, exchange, refusal);
        }
        self.counters.refused += 1;
        self.counters.count_response(refusal.status);
        self.answer_client(now_ns, client, refusal, is_head);
    }

    /// The rest of an admitted request cannot be read.
    pub(super) fn refuse_body(&mut self, now_ns: u64, index: usize, refusal: Refusal) {
        // A request whose response has begun is cut off.
        let is_answered = self.exchanges[index].is_answered;
        self.counters.bodies_refused += u64::from(!is_answered);
        self.give_up(now_ns, index);
        self.answer(now_ns, index, refusal);
    }

    #[cold]
    pub(super) fn answer_unreachable(&mut self, now_ns: u64, index: usize) {
        if self.exchanges[index].timed_out {
            self.counters.gateway_timeouts += 1;
            return self.answer(now_ns, index, NO_CONNECTION);
        }
        self.counters.bad_gateway += 1;
        self.answer(now_ns, index, UNREACHABLE);
    }

    #[cold]
    pub(super) fn answer_busy(&mut self, now_ns: u64, index: usize) {
        self.counters.queue_failures += 1;
        self.answer(now_ns, index, BUSY);
    }

    /// An upstream's bytes are not a response. An option says whether that is a failure, as for an
    /// error that the upstream reports.
    #[cold]
    pub(super) fn response_unusable(&mut self, now_ns: u64, link: usize) {
        let is_failure = self.rules.health.fail_on_5xx;
        self.fail_response(now_ns, link, UNUSABLE, is_failure);
    }

    /// The connection broke before the response was whole.
    #[cold]
    pub(super) fn response_broken(&mut self, now_ns: u64, link: usize) {
        self.fail_response(now_ns, link, UNUSABLE, true);
    }

    /// A request gets no response, or not the whole of one. `is_failure` if the upstream is to
    /// blame, as far as can be known. It is not while the client has not sent everything.
    fn fail_response(&mut self, now_ns: u64, link: usize, refusal: Refusal, is_failure: bool) {
        let (index, upstream) = self.links[link].owner();
        let exchange = &self.exchanges[index];
        let is_answered = exchange.is_answered;
        let is_learned = is_failure && exchange.is_read && !is_answered;
        let outcome = if is_learned { Outcome::Failure } else { Outcome::Neither };
        self.learn(now_ns, upstream, outcome);
        if is_answered {
            let status = self.links[link].status;
            self.log_exchange(now_ns, index, Some(link), status, false);
        } else if refusal.status == 504 {
            self.counters.gateway_timeouts += 1;
        } else {
            self.counters.bad_gateway += 1;
        }
        self.exchanges[index].link = None;
        self.close_link(now_ns, link, Close::Reset);
        self.answer(now_ns, index, refusal);
    }

    /// Ends an exchange with an answer that says what went wrong. If a response has begun, it is
    /// cut off instead, so that the client does not take the beginning for the whole.
    pub(super) fn answer(&mut self, now_ns: u64, index: usize, refusal: Refusal) {
        if self.exchanges[index].is_answered {
            self.counters.cut_off += 1;
            return self.end_stream(index, ErrorCode::INTERNAL_ERROR);
        }
        self.log_exchange(now_ns, index, None, refusal.status, true);
        self.counters.count_response(refusal.status);
        let exchange = &self.exchanges[index];
        let (client, stream, is_head) =
            (exchange.client as usize, exchange.stream, exchange.facts.is_head);
        self.exchanges.close(index);
        match self.clients.http2(client) {
            Some(http2) => http2.refuse(stream, refusal, is_head),
            None => self.answer_client(now_ns, client, refusal, is_head),
        }
    }

    /// Sends a client of HTTP/1 an answer, and ends its connection.
    fn answer_client(&mut self, now_ns: u64, client: usize, refusal: Refusal, is_head: bool) {
        self.scratch.clear();
        http1::write_refusal(&mut self.scratch, refusal, is_head);
        self.send_scratch(client);
        self.linger(now_ns, client);
    }

    /// Frees an exchange, and breaks off its stream: over HTTP/1, the connection.
    pub(super) fn end_stream(&mut self, index: usize, code: ErrorCode) {
        let exchange = &self.exchanges[index];
        let (client, stream) = (exchange.client as usize, exchange.stream);
        self.exchanges.close(index);
        match self.clients.http2(client) {
            Some(http2) => http2.reset(stream, code),
            None => self.close_client(client, Close::Reset),
        }
    }

    /// Sends no more, and drops input until the client closes or a time is over.
    pub(super) fn linger(&mut self, now_ns: u64, index: usize) {
        let client = &mut self.clients[index];
        if client.has_ended || self.deadline_ns.is_some() {
            return self.close_when_sent(now_ns, index);
        }
        client.state = State::Lingering;
        client.held = Vec::new();
        client.held_at = 0;
        let was_paused = std::mem::take(&mut client.is_paused);
        let socket = self.sockets.client(index);
        self.wire.say_closed(socket);
        self.wire.driver.shutdown(socket);
        if was_paused {
            self.wire.driver.resume_receiving(socket);
        }
        self.await_end(now_ns, index);
    }

    /// Waits for a client to take the last response, and then for it to close.
    pub(super) fn await_end(&mut self, now_ns: u64, index: usize) {
        if self.wire.driver.queued_bytes(self.sockets.client(index)) > 0 {
            return self.time_taking(now_ns, index);
        }
        self.clients[index].is_taking = false;
        self.set_deadline(Owner::Client(index), now_ns.saturating_add(LINGER_NS));
    }

    pub(super) fn close_when_sent(&mut self, now_ns: u64, index: usize) {
        let socket = self.sockets.client(index);
        self.wire.say_closed(socket);
        if self.wire.driver.queued_bytes(socket) == 0 {
            return self.close_client(index, Close::Graceful);
        }
        self.clients[index].state = State::Closing;
        self.time_taking(now_ns, index);
    }

    /// A client's connection is to end: so do its exchanges.
    pub(super) fn end_exchanges(&mut self, now_ns: u64, client: usize, why: Why) {
        if self.clients[client].state == State::Busy {
            let exchange = self.clients[client].exchange as usize;
            self.end_exchange(now_ns, exchange, why);
            self.exchanges.close(exchange);
            self.clients[client].state = State::Reading;
        }
        while let Some(exchange) = self.clients.take_stream(client) {
            self.end_exchange(now_ns, exchange, why);
            self.exchanges.close(exchange);
        }
    }

    /// An exchange ends before its response does.
    pub(super) fn end_exchange(&mut self, now_ns: u64, index: usize, why: Why) {
        match why {
            Why::Abandoned => self.counters.abandoned += 1,
            Why::Drained => self.counters.drained += 1,
        }
        self.log_cut(now_ns, index);
        self.give_up(now_ns, index);
    }

    /// Writes a log line for a request that is cut off.
    pub(super) fn log_cut(&mut self, now_ns: u64, index: usize) {
        let exchange = &self.exchanges[index];
        let link = exchange.link.map(|socket| self.sockets.link_of(socket));
        let status = link.filter(|_| exchange.is_answered).map_or(0, |it| self.links[it].status);
        self.log_exchange(now_ns, index, link, status, false);
    }

    /// Removes a request from wherever it is.
    pub(super) fn give_up(&mut self, now_ns: u64, index: usize) {
        self.leave_queue(now_ns, index);
        if let Some(socket) = self.exchanges[index].link.take() {
            let link = self.sockets.link_of(socket);
            let upstream = usize::from(self.links[link].upstream);
            if self.exchanges[index].is_answered {
                let status = self.links[link].status;
                self.log_exchange(now_ns, index, Some(link), status, false);
            }
            self.learn(now_ns, upstream, Outcome::Neither);
            self.close_link(now_ns, link, Close::Reset);
        }
    }

    /// Writes a log line for a request, if there is an access log.
    #[inline]
    pub(super) fn log_exchange(
        &mut self,
        now_ns: u64,
        index: usize,
        link: Option<usize>,
        status: u16,
        is_complete: bool,
    ) {
        if let Some(log) = &self.rules.log {
            let exchange = &mut self.exchanges[index];
            let Some(request) = exchange.line.take() else { return };
            let line = Line {
                client: self.clients[exchange.client as usize].address.to_canonical(),
                request: *request,
                status,
                body_bytes: link.map_or(0, |link| self.links[link].body_bytes),
                duration_ns: now_ns.saturating_sub(exchange.started_ns),
                upstream: link.map(|link| self.links[link].upstream),
                is_complete,
            };
            self.counters.log_dropped += u64::from(!log.put(line));
        }
    }

    pub(super) fn client_expired(&mut self, now_ns: u64, index: usize) {
        let client = &self.clients[index];
        if client.is_taking {
            return self.taking_expired(now_ns, index);
        }
        match client.state {
            State::Free => {}
            State::Closing | State::Lingering => self.close_client(index, Close::Graceful),
            State::Reading if client.is_idle() => self.close_when_sent(now_ns, index),
            State::Reading => {
                self.counters.client_timeouts += 1;
                self.counters.count_response(NO_REQUEST.status);
                self.answer_client(now_ns, index, NO_REQUEST, false);
            }
            State::Multiplexed => self.turn(now_ns, index).expired(),
            State::Busy => {}
        }
    }

    pub(super) fn exchange_expired(&mut self, now_ns: u64, index: usize) {
        let exchange = &self.exchanges[index];
        match exchange.state {
            exchange::State::Free => {}
            exchange::State::Waiting if exchange.is_queued => {
                self.leave_queue(now_ns, index);
                self.answer_busy(now_ns, index);
            }
            _ if exchange.is_stalled => self.stall_expired(now_ns, index),
            // It is to take a response first.
            _ if self.is_taking(index) => self.time_body(now_ns, index),
            _ => {
                if !self.body_goes_on(now_ns, index) {
                    self.counters.client_timeouts += 1;
                    self.refuse_body(now_ns, index, NO_REQUEST);
                }
            }
        }
    }

    pub(super) fn link_expired(&mut self, now_ns: u64, link: usize) {
        let state = &self.links[link];
        match state.state {
            link::State::Free => {}
            link::State::Idle => self.close_idle(link),
            link::State::Connecting | link::State::Handshaking => {
                self.go_elsewhere(now_ns, link, true, Outcome::Failure);
            }
            link::State::Busy => {
                let exchange = &self.exchanges[state.exchange as usize];
                let is_sending = !exchange.is_read && !exchange.is_answered;
                let queued_bytes = self.wire.driver.queued_bytes(self.sockets.link(link));
                if is_sending && queued_bytes < state.stuck_bytes {
                    let index = state.exchange as usize;
                    return self.watch_request(now_ns, index, link);
                }
                self.fail_response(now_ns, link, NO_RESPONSE, true);
            }
        }
    }
}
