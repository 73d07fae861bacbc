//! Clients that speak HTTP/2: finding them out, lending a connection what it needs for a turn, and
//! what happens to the socket then.

use plimsoll_io::{Driver, Payload, SocketId};

use super::{Input, Server};
use crate::connection::{HTTP2_START, Next, Spoken, State};
use crate::http2::{Http2, Turn};

/// Bytes of long bodies handed to the driver before waiting for the kernel to take them.
const TURN_BYTES: usize = 256 * 1024;

/// Connections without a client that are kept for later ones.
const SPARE_MAX: usize = 64;

/// Why a connection gets a turn.
pub(super) enum Cause<'a> {
    /// Its client is to be greeted.
    Begin,
    /// Bytes came.
    Input(&'a Input<'a>),
    /// A time came, or the kernel took what was sent.
    Due,
    /// The server is to stop.
    Stop,
}

impl<D: Driver> Server<D> {
    /// Looks at what a client begins with. Whether that was all of the input so far.
    #[cold]
    pub(super) fn find_out(&mut self, now_ns: u64, socket: SocketId, input: &Input<'_>) -> bool {
        let connection = &mut self.connections[socket.index()];
        let Spoken::Unknown(matched) = connection.spoken else { return false };
        connection.spoken = connection.spoken.with(input.bytes(&self.wire.driver));
        let before = Input::Held(&HTTP2_START[..usize::from(matched)]);
        match connection.spoken {
            Spoken::Unknown(_) => return true,
            Spoken::Http1 => {
                self.read(now_ns, socket, &before);
            }
            Spoken::Http2 => {
                self.begin_http2(now_ns, socket);
                self.take_http2(now_ns, socket, &before);
            }
        }
        false
    }

    /// A client turned out to speak HTTP/2.
    pub(super) fn begin_http2(&mut self, now_ns: u64, socket: SocketId) {
        let spare = self.spare.pop();
        let http2 = spare.unwrap_or_else(|| Box::new(Http2::new(self.http2_options)));
        let connection = &mut self.connections[socket.index()];
        connection.spoken = Spoken::Http2;
        connection.http2 = Some(http2);
        let delay_ns = self.fates.settings_delay_ns();
        if delay_ns > 0 {
            self.wire.driver.pause_receiving(socket);
        }
        self.perform_at(now_ns, socket, now_ns.saturating_add(delay_ns), Next::Greet);
    }

    pub(super) fn greet(&mut self, now_ns: u64, socket: SocketId) {
        if self.fates.settings_delay_ns() > 0 {
            self.wire.driver.resume_receiving(socket);
        }
        self.turn(now_ns, socket, &Cause::Begin);
    }

    /// Takes what arrived.
    #[inline]
    pub(super) fn take_http2(&mut self, now_ns: u64, socket: SocketId, input: &Input<'_>) {
        match self.connections[socket.index()].state {
            State::Open => self.turn(now_ns, socket, &Cause::Input(input)),
            State::Waiting(_) => self.hold(socket, input, 0),
            State::Free | State::Sending | State::Lingering | State::Closing => {}
        }
    }

    /// The kernel has taken all that was sent.
    pub(super) fn on_http2_sent(&mut self, now_ns: u64, socket: SocketId) {
        self.receive_again(socket);
        let connection = &self.connections[socket.index()];
        let has_more = connection.http2.as_ref().is_some_and(|http2| http2.has_more());
        if has_more || connection.ended {
            self.turn(now_ns, socket, &Cause::Due);
        }
    }

    /// Gives a connection its turn, and does what came of it.
    #[inline]
    pub(super) fn turn(&mut self, now_ns: u64, socket: SocketId, cause: &Cause<'_>) {
        let connection = &mut self.connections[socket.index()];
        let Some(http2) = connection.http2.as_deref_mut() else { return };
        let queued_bytes = self.wire.driver.queued_bytes(socket);
        self.scratch.clear();
        let mut turn = Turn {
            now_ns,
            out: &mut self.scratch,
            out_bytes_max: TURN_BYTES.saturating_sub(queued_bytes),
            blocks: &self.blocks,
            fates: &mut self.fates,
            counters: &mut self.counters,
            queue: &self.options.queue,
            shaper: &mut self.shaper,
            role: connection.role,
            peer: connection.peer,
        };
        let mut has_failed = false;
        match cause {
            Cause::Begin => http2.begin(&mut turn),
            Cause::Input(input) => {
                has_failed = http2.read(input.bytes(&self.wire.driver), &mut turn).is_err();
            }
            Cause::Due => http2.wake(&mut turn),
            Cause::Stop => http2.stop(&mut turn),
        }
        if !has_failed {
            http2.finish_turn(&mut turn);
        }
        let is_over = http2.is_over() || (connection.ended && http2.is_stuck());
        let due_ns = http2.next_due_ns();
        let is_timer_set = due_ns == connection.timer_ns || due_ns == u64::MAX;
        if !self.scratch.is_empty() {
            self.wire.send(socket, Payload::Copied(&self.scratch));
        }
        if has_failed {
            self.counters.refused += 1;
        }
        if has_failed || is_over {
            return self.linger(now_ns, socket);
        }
        if !is_timer_set {
            self.set_timer(socket, due_ns);
        }
        if self.wire.driver.queued_bytes(socket) > self.options.limits.queued_bytes {
            self.wire.driver.pause_receiving(socket);
            self.connections[socket.index()].is_paused = true;
        }
    }

    /// Ends a connection behind what was sent. What the client still sends is dropped for a while,
    /// so that it can read why.
    fn linger(&mut self, now_ns: u64, socket: SocketId) {
        let connection = &self.connections[socket.index()];
        if connection.ended || self.deadline_ns.is_some() {
            return self.close_when_sent(socket);
        }
        self.receive_again(socket);
        self.wire.say_closed(socket);
        self.wire.driver.shutdown(socket);
        self.linger_for_a_while(now_ns, socket);
    }

    /// Keeps a connection for a later client.
    pub(super) fn keep_http2(&mut self, http2: Box<Http2>) {
        if self.spare.len() < SPARE_MAX && http2.is_worth_keeping() {
            self.spare.push(http2);
        }
    }
}
