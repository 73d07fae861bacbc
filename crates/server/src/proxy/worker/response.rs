//! From an upstream to a client: reading responses and passing them on as they come.

use plimsoll_io::{Close, Driver, Received};
use plimsoll_proto::http1::{self, RequestKind, ResponseEvent};

use super::super::client;
use super::super::head::{self, Body, Recipient};
use super::super::link::State;
use super::super::upstreams::Outcome;
use super::super::wire::Stream;
use super::ProxyWorker;
use crate::server::Input;

/// Bytes that a kernel takes at once on a connection with nothing under way.
const TAKEN_WHOLE_BYTES: usize = 4096;

/// Where reading a stretch of a response stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    /// All of it was used up.
    More,
    /// At the end of the response, which the connection may outlive.
    End { is_reusable: bool },
    /// At bytes that cannot be forwarded.
    Unusable,
}

impl<D: Driver> ProxyWorker<D> {
    #[inline]
    pub(super) fn on_link_received(&mut self, now_ns: u64, link: usize, received: Received) {
        self.counters.upstream_bytes_received += received.len() as u64;
        if self.wire.is_secure(received.socket) {
            return self.on_link_sealed(now_ns, link, received);
        }
        self.take_response(now_ns, link, &Input::Received(&received), true);
        self.wire.driver.release(received);
    }

    /// What arrived over TLS.
    fn on_link_sealed(&mut self, now_ns: u64, link: usize, received: Received) {
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let stream = self.wire.decrypt(&received, &mut plain);
        self.wire.driver.release(received);
        let uses = self.links[link].uses;
        if self.links[link].state == State::Handshaking && stream == Stream::Open {
            self.on_link_secured(now_ns, link);
        }
        if !plain.is_empty() && self.links[link].uses == uses {
            self.take_response(now_ns, link, &Input::Held(&plain), stream == Stream::Open);
        }
        self.plain = plain;
        match stream {
            // The slot is free, or has another connection by now.
            _ if self.links[link].uses != uses => {}
            Stream::Open => {}
            Stream::Ended => self.on_link_ended(now_ns, link),
            Stream::Failed => self.on_link_failed(now_ns, link),
        }
    }

    /// Takes in an upstream's bytes; `is_open` unless the upstream said that they are the last.
    #[inline]
    fn take_response(&mut self, now_ns: u64, link: usize, input: &Input<'_>, is_open: bool) {
        if self.links[link].state != State::Busy {
            return self.on_unsolicited(now_ns, link);
        }
        let index = self.links[link].client as usize;
        if !self.links[link].has_begun && !self.begin_response(now_ns, index, link) {
            return;
        }
        self.scratch.clear();
        let was_answered = self.clients[index].exchange.is_answered;
        let read = self.read_response(index, link, input);
        if read == Read::Unusable {
            // None of it is sent.
            self.clients[index].exchange.is_answered = was_answered;
            return self.response_unusable(now_ns, link);
        }
        if !was_answered && self.clients[index].exchange.is_answered {
            self.learn_status(now_ns, link);
        }
        self.send_scratch(index);
        match read {
            Read::End { is_reusable } => self.finish(now_ns, link, is_reusable && is_open),
            _ => self.after_response(now_ns, index, link),
        }
    }

    /// The first bytes arrived after a request. False if they cannot be its response.
    #[inline]
    fn begin_response(&mut self, now_ns: u64, index: usize, link: usize) -> bool {
        // Nobody can answer a request that has not left this host, so the bytes belong to an
        // earlier one. A part of a longer request may have left, though the driver still holds all
        // of it.
        let sent_bytes = self.links[link].sent_bytes;
        let queued_bytes = self.wire.driver.queued_bytes(self.link_socket(link));
        if queued_bytes >= sent_bytes && (1..=TAKEN_WHOLE_BYTES).contains(&sent_bytes) {
            self.counters.unsolicited += 1;
            if !self.retry(now_ns, link, true) {
                self.response_unusable(now_ns, link);
            }
            return false;
        }
        self.links[link].has_begun = true;
        self.recycle_request(index);
        true
    }

    /// Reads up to the end of a response or of the input, into the scratch buffer.
    #[inline]
    fn read_response(&mut self, index: usize, link: usize, input: &Input<'_>) -> Read {
        let bytes = input.bytes(&self.wire.driver);
        let link = &mut self.links[link];
        let client = &mut self.clients[index];
        let exchange = &mut client.exchange;
        let kind = if exchange.is_head { RequestKind::Head } else { RequestKind::Plain };
        let out = &mut self.scratch;
        let mut at = 0;
        while at < bytes.len() {
            let Ok(decoded) = link.decoder.decode(kind, &bytes[at..]) else {
                return Read::Unusable;
            };
            at += decoded.consumed;
            match decoded.event {
                None => break,
                Some(ResponseEvent::Interim(head)) => {
                    // HTTP/1.0 does not know them (RFC 9110 section 15.2).
                    if exchange.minor_version > 0 && head::write_interim(out, &head).is_err() {
                        return Read::Unusable;
                    }
                }
                Some(ResponseEvent::Head(head)) => {
                    let is_last = !exchange.keep_alive
                        || !exchange.is_read
                        || self.deadline_ns.is_some()
                        || (client.has_ended && client.held.is_empty());
                    let to = Recipient {
                        minor_version: exchange.minor_version,
                        is_head: exchange.is_head,
                        is_last,
                    };
                    let written = head::write_response(out, &head, to);
                    let (Ok(body), false) = (written, head.status == 101) else {
                        return Read::Unusable;
                    };
                    exchange.is_last = is_last || body == Body::UntilClose;
                    exchange.is_answered = true;
                    link.body = body;
                    link.status = head.status;
                }
                Some(ResponseEvent::Body(piece)) => {
                    link.body_bytes += piece.len() as u64;
                    match link.body {
                        Body::Chunked => http1::write_chunk(out, piece),
                        Body::Plain | Body::UntilClose => out.extend_from_slice(piece),
                    }
                }
                Some(ResponseEvent::End(end)) => {
                    if link.body == Body::Chunked {
                        http1::write_last_chunk(out);
                    }
                    // What follows answers nothing.
                    let has_more = at < bytes.len();
                    self.counters.unsolicited += u64::from(has_more);
                    let is_reusable = end.keep_alive && exchange.is_read && !has_more;
                    return Read::End { is_reusable };
                }
            }
        }
        Read::More
    }

    /// The head of a response has arrived: counts it, and judges the upstream by it. The rest
    /// depends on the client as well.
    #[inline]
    fn learn_status(&mut self, now_ns: u64, link: usize) {
        let (_, upstream) = self.links[link].owner();
        let status = self.links[link].status;
        let class = usize::from(status / 100).clamp(1, 5);
        self.counters.responses[class - 1] += 1;
        let is_failure = class == 5 && self.rules.health.fail_on_5xx;
        let outcome = if is_failure { Outcome::Failure } else { Outcome::Success };
        self.learn(now_ns, upstream, outcome);
    }

    /// Sends a client what was written for it.
    #[inline]
    pub(super) fn send_scratch(&mut self, index: usize) {
        if !self.scratch.is_empty() {
            let scratch = std::mem::take(&mut self.scratch);
            self.send_to_client(index, &scratch);
            self.scratch = scratch;
        }
    }

    #[inline]
    pub(super) fn send_to_client(&mut self, index: usize, bytes: &[u8]) {
        let sent_bytes = self.wire.send(self.client_socket(index), bytes) as u64;
        self.counters.client_bytes_sent += sent_bytes;
        let client = &mut self.clients[index];
        client.sent_bytes = client.sent_bytes.wrapping_add(sent_bytes);
    }

    /// More of the response is to come: sets its time, and waits for a slow client.
    fn after_response(&mut self, now_ns: u64, index: usize, link: usize) {
        let queued_bytes = self.wire.driver.queued_bytes(self.client_socket(index));
        if queued_bytes <= self.rules.limits.response_buffer_bytes {
            return self.watch_response(now_ns, index, link);
        }
        self.links[link].is_paused = true;
        self.links[link].deadline_ns = u64::MAX;
        self.wire.driver.pause_receiving(self.link_socket(link));
        if !self.clients[index].is_taking {
            self.time_taking(now_ns, index);
        }
    }

    /// A response is complete.
    #[inline]
    fn finish(&mut self, now_ns: u64, link: usize, is_reusable: bool) {
        let (index, _) = self.links[link].owner();
        let status = self.links[link].status;
        self.counters.completed += 1;
        self.log_exchange(now_ns, index, Some(link), status, true);
        let client = &mut self.clients[index];
        let is_last = client.exchange.is_last;
        client.exchange = client::Exchange::NONE;
        client.state = client::State::Reading;
        // What is left of a request's body would be read as the next request.
        let is_sent = self.wire.driver.queued_bytes(self.link_socket(link)) == 0;
        if is_reusable && is_sent && self.deadline_ns.is_none() {
            self.release_link(now_ns, link);
        } else {
            self.close_link(now_ns, link, Close::Graceful);
        }
        if is_last || self.deadline_ns.is_some() {
            return self.linger(now_ns, index);
        }
        self.await_request(now_ns, index);
    }

    /// Waits for a client's next request, or goes on with it if it is here.
    #[inline]
    fn await_request(&mut self, now_ns: u64, index: usize) {
        let socket = self.client_socket(index);
        if self.wire.driver.queued_bytes(socket) > self.rules.limits.response_buffer_bytes {
            self.time_taking(now_ns, index);
        } else {
            self.clients[index].is_taking = false;
            let wait_ns = self.rules.timeouts.keep_alive_ns;
            self.set_client_deadline(index, now_ns.saturating_add(wait_ns));
        }
        let client = &self.clients[index];
        if !client.held.is_empty() || client.is_paused || client.has_ended {
            self.resume_client(now_ns, index);
        }
    }

    /// The kernel has taken what was queued for a client.
    #[inline]
    pub(super) fn on_client_sent(&mut self, now_ns: u64, index: usize) {
        let socket = self.client_socket(index);
        let client = &self.clients[index];
        // The event may be that of an earlier send, with another one queued since.
        let is_watched = client.is_taking || client.state == client::State::Closing;
        if !is_watched || self.wire.driver.queued_bytes(socket) > 0 {
            return;
        }
        self.clients[index].is_taking = false;
        match self.clients[index].state {
            client::State::Closing => self.close_client(index, Close::Graceful),
            client::State::Forwarding => self.resume_link(now_ns, index),
            client::State::Reading => self.await_request(now_ns, index),
            client::State::Lingering => self.await_end(now_ns, index),
            client::State::Free | client::State::Collecting | client::State::Waiting => {}
        }
    }

    /// A client has taken all that its upstream has sent so far.
    fn resume_link(&mut self, now_ns: u64, index: usize) {
        let client = &mut self.clients[index];
        let Some(socket) = client.exchange.link else { return };
        client.deadline_ns = u64::MAX;
        if !client.exchange.is_read {
            // The window was that of what it took.
            self.start_window(now_ns, index);
            self.time_body(now_ns, index);
        }
        let link = (socket.0 - self.first_link) as usize;
        if std::mem::take(&mut self.links[link].is_paused) {
            self.watch_response(now_ns, index, link);
            self.wire.driver.resume_receiving(socket);
        }
    }

    /// Sets the time for more of a response; before its head, interim responses change nothing.
    fn watch_response(&mut self, now_ns: u64, index: usize, link: usize) {
        if !self.clients[index].exchange.is_answered {
            return self.watch_request(now_ns, index, link);
        }
        let wait_ns = self.rules.timeouts.upstream_idle_ns;
        self.set_link_deadline(link, now_ns.saturating_add(wait_ns));
    }

    /// The kernel has taken what was queued for an upstream: its client may go on.
    #[inline]
    pub(super) fn on_link_sent(&mut self, now_ns: u64, link: usize) {
        let state = &self.links[link];
        if state.state != State::Busy {
            return;
        }
        let index = state.client as usize;
        let client = &self.clients[index];
        if client.exchange.is_read || (client.held.is_empty() && !client.is_paused) {
            return;
        }
        if self.wire.driver.queued_bytes(self.link_socket(link)) == 0 {
            if !client.is_taking {
                self.time_body(now_ns, index);
            }
            self.watch_request(now_ns, index, link);
            self.resume_client(now_ns, index);
        }
    }

    /// An upstream sends bytes that nobody asked for.
    #[cold]
    fn on_unsolicited(&mut self, now_ns: u64, link: usize) {
        match self.links[link].state {
            State::Idle => {
                self.counters.unsolicited += 1;
                self.close_idle(link);
            }
            State::Connecting | State::Handshaking => self.connect_failed(now_ns, link, false),
            State::Free | State::Busy => {}
        }
    }

    /// An upstream will send no more.
    pub(super) fn on_link_ended(&mut self, now_ns: u64, link: usize) {
        match self.links[link].state {
            State::Free => {}
            State::Idle => self.close_idle(link),
            State::Connecting | State::Handshaking => self.connect_failed(now_ns, link, false),
            State::Busy => {
                let is_whole = self.wire.ended_well(self.link_socket(link));
                match self.links[link].decoder.end() {
                    // Only a close could end it.
                    Ok(Some(_)) if is_whole => {
                        let index = self.links[link].client as usize;
                        self.scratch.clear();
                        if self.links[link].body == Body::Chunked {
                            http1::write_last_chunk(&mut self.scratch);
                        }
                        self.send_scratch(index);
                        self.finish(now_ns, link, false);
                    }
                    _ => self.on_link_failed(now_ns, link),
                }
            }
        }
    }

    /// A connection to an upstream broke.
    pub(super) fn on_link_failed(&mut self, now_ns: u64, link: usize) {
        match self.links[link].state {
            State::Free => {}
            State::Idle => self.close_idle(link),
            State::Connecting | State::Handshaking => self.connect_failed(now_ns, link, false),
            State::Busy => {
                let has_begun = self.links[link].has_begun;
                if has_begun || !self.retry(now_ns, link, false) {
                    self.response_broken(now_ns, link);
                }
            }
        }
    }
}
