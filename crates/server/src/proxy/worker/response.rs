//! From an upstream to a client: reading responses and passing them on as they come.

use plimsoll_io::{Close, Driver, Received};
use plimsoll_proto::http1::Headers;

use super::super::client;
use super::super::deadline::Owner;
use super::super::head::Recipient;
use super::super::http2::Http2End;
use super::super::link::State;
use super::super::response::{ClientEnd, Http1End, Read, read};
use super::super::upstreams::Outcome;
use super::super::wire::Stream;
use super::ProxyWorker;
use crate::server::Input;

/// Bytes that a kernel takes at once on a connection with nothing under way.
const TAKEN_WHOLE_BYTES: usize = 4096;

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
        let index = self.links[link].exchange as usize;
        if !self.links[link].has_begun && !self.begin_response(now_ns, index, link) {
            return;
        }
        let was_answered = self.exchanges[index].is_answered;
        let read = self.read_response(index, link, input);
        if !was_answered && self.exchanges[index].is_answered {
            self.learn_status(now_ns, link);
        }
        match read {
            Read::Unusable => self.response_unusable(now_ns, link),
            Read::More => {
                self.send_response(index);
                self.after_response(now_ns, index, link);
            }
            Read::End { is_reusable, has_more } => {
                self.counters.unsolicited += u64::from(has_more);
                self.send_response(index);
                self.finish(now_ns, link, is_reusable && is_open);
            }
        }
    }

    /// The first bytes arrived after a request. False if they cannot be its response.
    #[inline]
    fn begin_response(&mut self, now_ns: u64, index: usize, link: usize) -> bool {
        // Nobody can answer a request that has not left this host, so the bytes belong to an
        // earlier one. A part of a longer request may have left, though the driver still holds all
        // of it.
        let sent_bytes = self.links[link].sent_bytes;
        let queued_bytes = self.wire.driver.queued_bytes(self.sockets.link(link));
        if queued_bytes >= sent_bytes && (1..=TAKEN_WHOLE_BYTES).contains(&sent_bytes) {
            self.counters.unsolicited += 1;
            if !self.retry(now_ns, link, true) {
                self.response_unusable(now_ns, link);
            }
            return false;
        }
        self.links[link].has_begun = true;
        self.exchanges.recycle(index);
        true
    }

    /// Reads up to the end of a response or of the input, and writes it for its client.
    #[inline]
    fn read_response(&mut self, index: usize, link: usize, input: &Input<'_>) -> Read {
        let stopping = self.deadline_ns.is_some();
        let Self { exchanges, links, clients, scratch, wire, .. } = self;
        let bytes = input.bytes(&wire.driver);
        let (exchange, link) = (&mut exchanges[index], &mut links[link]);
        let client = &mut clients[exchange.client as usize];
        scratch.clear();
        if let Some(http2) = client.http2.as_deref_mut() {
            let is_head = exchange.facts.is_head;
            let mut end = Http2End::new(http2, exchange.stream, is_head, scratch);
            return read(link, exchange, bytes, &mut end);
        }
        let was_answered = exchange.is_answered;
        let recipient = Recipient {
            minor_version: exchange.facts.minor_version,
            is_head: exchange.facts.is_head,
            is_last: exchange.is_last
                || !exchange.facts.keep_alive
                || !exchange.is_read
                || stopping
                || (client.has_ended && client.held.is_empty()),
        };
        let mut end = Http1End { out: scratch, recipient, body: link.body };
        let read = read(link, exchange, bytes, &mut end);
        link.body = end.body;
        if read == Read::Unusable {
            // None of it is sent.
            exchange.is_answered = was_answered;
        } else if !was_answered && exchange.is_answered {
            exchange.is_last = end.recipient.is_last;
        }
        read
    }

    /// Sends what was written of a response.
    #[inline]
    fn send_response(&mut self, index: usize) {
        let exchange = &self.exchanges[index];
        let client = exchange.client as usize;
        match exchange.stream {
            0 => self.send_scratch(client),
            _ => _ = self.clients.http2(client),
        }
    }

    /// The head of a response has arrived: counts it, and judges the upstream by it. The rest
    /// depends on the client as well.
    #[inline]
    fn learn_status(&mut self, now_ns: u64, link: usize) {
        let (_, upstream) = self.links[link].owner();
        let status = self.links[link].status;
        self.counters.count_response(status);
        let is_failure = status >= 500 && self.rules.health.fail_on_5xx;
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
        let sent_bytes = self.wire.send(self.sockets.client(index), bytes) as u64;
        self.counters.client_bytes_sent += sent_bytes;
        let client = &mut self.clients[index];
        client.sent_bytes = client.sent_bytes.wrapping_add(sent_bytes);
    }

    /// Whether a client takes more of its response now.
    #[inline]
    pub(super) fn has_room(&self, index: usize) -> bool {
        let exchange = &self.exchanges[index];
        let client = exchange.client as usize;
        let queued_bytes = self.wire.driver.queued_bytes(self.sockets.client(client));
        let bytes_max = self.rules.limits.response_buffer_bytes;
        match &self.clients[client].http2 {
            None => queued_bytes <= bytes_max,
            Some(http2) => http2.has_room(exchange.stream, queued_bytes, bytes_max),
        }
    }

    /// More of the response is to come: sets its time, and waits for a slow client.
    fn after_response(&mut self, now_ns: u64, index: usize, link: usize) {
        if self.has_room(index) {
            return self.watch_response(now_ns, index, link);
        }
        self.links[link].is_paused = true;
        self.links[link].due.at_ns = u64::MAX;
        self.wire.driver.pause_receiving(self.sockets.link(link));
        let exchange = &self.exchanges[index];
        let client = exchange.client as usize;
        let is_taking = self.clients[client].is_taking;
        match self.clients.http2(client) {
            None if is_taking => {}
            None => self.time_taking(now_ns, client),
            Some(_) if exchange.is_stalled => {}
            Some(http2) if http2.machine.is_stalled(exchange.stream) => {
                self.time_stall(now_ns, index);
            }
            Some(http2) => http2.has_paused = true,
        }
    }

    /// A response is complete.
    #[inline]
    fn finish(&mut self, now_ns: u64, link: usize, is_reusable: bool) {
        let (index, _) = self.links[link].owner();
        let status = self.links[link].status;
        self.counters.completed += 1;
        self.log_exchange(now_ns, index, Some(link), status, true);
        let exchange = &self.exchanges[index];
        let (client, stream, is_last) =
            (exchange.client as usize, exchange.stream, exchange.is_last);
        self.exchanges.close(index);
        // What is left of a request's body would be read as the next request.
        let is_sent = self.wire.driver.queued_bytes(self.sockets.link(link)) == 0;
        if is_reusable && is_sent && self.deadline_ns.is_none() {
            self.release_link(now_ns, link);
        } else {
            self.close_link(now_ns, link, Close::Graceful);
        }
        if stream > 0 {
            if let Some(http2) = self.clients.http2(client) {
                http2.leave(stream);
            }
            return;
        }
        self.clients[client].state = client::State::Reading;
        if is_last || self.deadline_ns.is_some() {
            return self.linger(now_ns, client);
        }
        self.await_request(now_ns, client);
    }

    /// Waits for a client's next request, or goes on with it if it is here.
    #[inline]
    fn await_request(&mut self, now_ns: u64, index: usize) {
        let socket = self.sockets.client(index);
        if self.wire.driver.queued_bytes(socket) > self.rules.limits.response_buffer_bytes {
            self.time_taking(now_ns, index);
        } else {
            self.clients[index].is_taking = false;
            let wait_ns = self.rules.timeouts.keep_alive_ns;
            self.set_deadline(Owner::Client(index), now_ns.saturating_add(wait_ns));
        }
        let client = &self.clients[index];
        if !client.held.is_empty() || client.is_paused || client.has_ended {
            self.resume_client(now_ns, index);
        }
    }

    /// The kernel has taken what was queued for a client.
    #[inline]
    pub(super) fn on_client_sent(&mut self, now_ns: u64, index: usize) {
        let socket = self.sockets.client(index);
        let client = &self.clients[index];
        // The event may be that of an earlier send, with another one queued since.
        let is_watched = client.is_taking
            || client.is_paused && client.state == client::State::Multiplexed
            || client.state == client::State::Closing;
        if !is_watched || self.wire.driver.queued_bytes(socket) > 0 {
            return;
        }
        self.clients[index].is_taking = false;
        match self.clients[index].state {
            client::State::Closing => self.close_client(index, Close::Graceful),
            client::State::Busy => {
                self.clients[index].due.at_ns = u64::MAX;
                self.resume_response(now_ns, self.clients[index].exchange as usize);
            }
            client::State::Reading => self.await_request(now_ns, index),
            client::State::Multiplexed => self.turn(now_ns, index).sent(),
            client::State::Lingering => self.await_end(now_ns, index),
            client::State::Free => {}
        }
    }

    /// A client has taken all that its upstream has sent so far.
    pub(super) fn resume_response(&mut self, now_ns: u64, index: usize) {
        let exchange = &mut self.exchanges[index];
        let Some(socket) = exchange.link else { return };
        exchange.is_stalled = false;
        exchange.due.at_ns = u64::MAX;
        if !exchange.is_read {
            // The window was that of what it took.
            self.exchanges[index].start_window(now_ns, &self.rules);
            self.time_body(now_ns, index);
        }
        let link = self.sockets.link_of(socket);
        if std::mem::take(&mut self.links[link].is_paused) {
            self.watch_response(now_ns, index, link);
            self.wire.driver.resume_receiving(socket);
        }
    }

    /// Sets the time for more of a response; before its head, interim responses change nothing.
    fn watch_response(&mut self, now_ns: u64, index: usize, link: usize) {
        if !self.exchanges[index].is_answered {
            return self.watch_request(now_ns, index, link);
        }
        let wait_ns = self.rules.timeouts.upstream_idle_ns;
        self.set_deadline(Owner::Link(link), now_ns.saturating_add(wait_ns));
    }

    /// The kernel has taken what was queued for an upstream: its client may go on.
    #[inline]
    pub(super) fn on_link_sent(&mut self, now_ns: u64, link: usize) {
        let state = &self.links[link];
        if state.state != State::Busy {
            return;
        }
        let index = state.exchange as usize;
        let exchange = &self.exchanges[index];
        let client = &self.clients[exchange.client as usize];
        let is_waiting = match exchange.stream {
            0 => !client.held.is_empty() || client.is_paused,
            _ => !exchange.held.is_empty(),
        };
        if exchange.is_read || !is_waiting {
            return;
        }
        if self.wire.driver.queued_bytes(self.sockets.link(link)) == 0 {
            if !self.is_taking(index) {
                self.time_body(now_ns, index);
            }
            self.watch_request(now_ns, index, link);
            self.resume_request(now_ns, index);
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
            State::Connecting | State::Handshaking => {
                self.go_elsewhere(now_ns, link, false, Outcome::Failure)
            }
            State::Free | State::Busy => {}
        }
    }

    /// An upstream will send no more.
    pub(super) fn on_link_ended(&mut self, now_ns: u64, link: usize) {
        match self.links[link].state {
            State::Free => {}
            State::Idle => self.close_idle(link),
            State::Connecting | State::Handshaking => {
                self.go_elsewhere(now_ns, link, false, Outcome::Failure)
            }
            State::Busy => {
                let is_whole = self.wire.ended_well(self.sockets.link(link));
                match self.links[link].decoder.end() {
                    // Only a close could end it.
                    Ok(Some(_)) if is_whole => {
                        self.end_response(link);
                        self.finish(now_ns, link, false);
                    }
                    _ => self.on_link_failed(now_ns, link),
                }
            }
        }
    }

    /// Writes the end of a response that ended with its connection.
    fn end_response(&mut self, link: usize) {
        let (index, _) = self.links[link].owner();
        let Self { exchanges, links, clients, scratch, .. } = self;
        let (exchange, link) = (&exchanges[index], &links[link]);
        scratch.clear();
        let none = Headers::of_head(&[]);
        if let Some(http2) = clients[exchange.client as usize].http2.as_deref_mut() {
            Http2End::new(http2, exchange.stream, exchange.facts.is_head, scratch).end(none);
        } else {
            let recipient = Recipient::default();
            Http1End { out: scratch, recipient, body: link.body }.end(none);
        }
        self.send_response(index);
    }

    /// A connection to an upstream broke.
    pub(super) fn on_link_failed(&mut self, now_ns: u64, link: usize) {
        match self.links[link].state {
            State::Free => {}
            State::Idle => self.close_idle(link),
            State::Connecting | State::Handshaking => {
                self.go_elsewhere(now_ns, link, false, Outcome::Failure)
            }
            State::Busy => {
                let has_begun = self.links[link].has_begun;
                if has_begun || !self.retry(now_ns, link, false) {
                    self.response_broken(now_ns, link);
                }
            }
        }
    }
}
