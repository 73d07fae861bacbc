//! WebSockets: when messages are read, answered and pushed, and how their connections end.

use plimsoll_io::{Close, Driver, Payload, SocketId};

use super::{Input, Server};
use crate::connection::{Next, State};
use crate::websocket::{Channel, Step};

/// How long a client that was sent a Close may take to answer it.
const LINGER_NS: u64 = 1_000_000_000;

impl<D: Driver> Server<D> {
    /// Whether what comes on a connection are frames.
    #[inline]
    pub(super) fn has_channel(&self, socket: SocketId) -> bool {
        let channel = &self.connections[socket.index()].channel;
        channel.as_ref().is_some_and(|channel| channel.is_open)
    }

    /// Sends the 101.
    pub(super) fn open_channel(&mut self, now_ns: u64, socket: SocketId) {
        self.counters.responses[0] += 1;
        let Some(channel) = &mut self.connections[socket.index()].channel else { return };
        let response = channel.start(now_ns);
        self.wire.send(socket, Payload::Copied(&response));
        self.arm_push(now_ns, socket);
    }

    /// Reads frames from `at` on, and answers messages until the input is used up or one is not to
    /// be answered at once. Returns up to where the input was used up.
    pub(super) fn read_frames(
        &mut self,
        now_ns: u64,
        socket: SocketId,
        input: &Input<'_>,
        mut at: usize,
    ) -> usize {
        loop {
            let bytes = input.bytes(&self.wire.driver);
            let connection = &mut self.connections[socket.index()];
            let Some(channel) = &mut connection.channel else { return input.len() };
            self.scratch.clear();
            let (used, step) =
                channel.step(&bytes[at..], &mut connection.work, &mut self.pool, &mut self.scratch);
            at += used;
            self.send_scratch(socket);
            match step {
                Step::More => {
                    self.pause_if_slow(socket);
                    return at;
                }
                Step::Message => self.answer_message(now_ns, socket),
                Step::Closed => self.close_when_sent(socket),
                Step::Failed => self.linger_after_close(now_ns, socket),
            }
            if self.connections[socket.index()].state != State::Open {
                return at;
            }
        }
    }

    /// Answers the message just read, when the script says.
    fn answer_message(&mut self, now_ns: u64, socket: SocketId) {
        self.counters.messages += 1;
        let connection = &mut self.connections[socket.index()];
        let (Some(channel), Some(work)) = (&mut connection.channel, &mut connection.work) else {
            return;
        };
        channel.begin_answer(now_ns, work, &mut self.deflater);
        self.answer_or_push(now_ns, socket);
    }

    /// Pushes what is due while an answer is delayed, and starts the answer when that is due.
    /// Between the fragments of an answer nothing may be pushed (RFC 6455 section 5.4).
    pub(super) fn answer_or_push(&mut self, now_ns: u64, socket: SocketId) {
        let Some(channel) = &self.connections[socket.index()].channel else { return };
        if channel.is_between_fragments() {
            return self.send_fragments(now_ns, socket);
        }
        self.push(now_ns, socket);
        let Some(channel) = &self.connections[socket.index()].channel else { return };
        if channel.answer_due_ns <= now_ns {
            return self.send_fragments(now_ns, socket);
        }
        let due_ns = channel.answer_due_ns.min(channel.push_due_ns);
        self.perform_at(now_ns, socket, due_ns, Next::Fragment);
    }

    /// Sends the next fragment of an answer, and those that are due with it.
    fn send_fragments(&mut self, now_ns: u64, socket: SocketId) {
        loop {
            let connection = &mut self.connections[socket.index()];
            let (Some(channel), Some(work)) = (&mut connection.channel, &connection.work) else {
                return;
            };
            self.scratch.clear();
            let is_last = channel.write_fragment(&work.body, &mut self.scratch);
            let pause_ns = channel.script.pause_ns;
            self.send_scratch(socket);
            if is_last {
                return self.finish_answer(now_ns, socket);
            }
            if pause_ns > 0 {
                let due_ns = now_ns.saturating_add(pause_ns);
                return self.perform_at(now_ns, socket, due_ns, Next::Fragment);
            }
        }
    }

    fn finish_answer(&mut self, now_ns: u64, socket: SocketId) {
        let connection = &mut self.connections[socket.index()];
        if let Some(work) = connection.work.take() {
            self.pool.put(work);
        }
        connection.state = State::Open;
        self.pause_if_slow(socket);
        self.arm_push(now_ns, socket);
    }

    /// Reads no further while a client does not take what it was sent, answers to its pings among
    /// that.
    fn pause_if_slow(&mut self, socket: SocketId) {
        if self.wire.driver.queued_bytes(socket) > self.options.limits.queued_bytes {
            self.connections[socket.index()].state = State::Sending;
        }
    }

    /// Holds frames that came while an answer waits, and receives no more until they are read: a
    /// client may well send several large messages before it reads. What the driver has received
    /// already is all that can be added.
    pub(super) fn hold_frames(&mut self, socket: SocketId, input: &Input<'_>, at: usize) {
        let bytes = &input.bytes(&self.wire.driver)[at..];
        let connection = &mut self.connections[socket.index()];
        connection.hold(bytes, usize::MAX);
        if !std::mem::replace(&mut connection.is_paused, true) {
            self.wire.driver.pause_receiving(socket);
        }
    }

    /// Goes on receiving, if it does not.
    pub(super) fn receive_again(&mut self, socket: SocketId) {
        if std::mem::take(&mut self.connections[socket.index()].is_paused) {
            self.wire.driver.resume_receiving(socket);
        }
    }

    /// The timer of a channel that is not answering: a message is due, or the client has not
    /// answered our Close.
    pub(super) fn on_channel_timer(&mut self, now_ns: u64, socket: SocketId) {
        let Some(channel) = &self.connections[socket.index()].channel else { return };
        if channel.is_closing() {
            return self.close(socket, Close::Graceful);
        }
        self.push(now_ns, socket);
        self.arm_push(now_ns, socket);
    }

    /// Pushes a message when one is due.
    fn push(&mut self, now_ns: u64, socket: SocketId) {
        let slow = self.wire.driver.queued_bytes(socket) > self.options.limits.queued_bytes;
        let Some(channel) = &mut self.connections[socket.index()].channel else { return };
        if channel.push_due_ns > now_ns {
            return;
        }
        let push_ns = channel.script.push_ns.unwrap_or(u64::MAX);
        channel.push_due_ns = now_ns.saturating_add(push_ns);
        // What a slow client does not read is left out.
        if !slow {
            self.scratch.clear();
            channel.write_push(&mut self.scratch);
            self.send_scratch(socket);
        }
    }

    /// Sets the timer for what comes next without the client: a pushed message, or the end of our
    /// patience after a Close.
    fn arm_push(&mut self, now_ns: u64, socket: SocketId) {
        let Some(channel) = &self.connections[socket.index()].channel else { return };
        let due_ns = match channel.is_closing() {
            true => now_ns.saturating_add(LINGER_NS),
            false => channel.push_due_ns,
        };
        if due_ns < u64::MAX {
            self.set_timer(socket, due_ns);
        }
    }

    /// Tells the client that the server stops.
    pub(super) fn say_going_away(&mut self, socket: SocketId) {
        let channel = &mut self.connections[socket.index()].channel;
        let Some(channel) = channel.as_deref_mut().filter(|channel: &&mut Channel| channel.is_open)
        else {
            return;
        };
        self.scratch.clear();
        channel.write_going_away(&mut self.scratch);
        self.send_scratch(socket);
    }

    /// Drops what comes for a while, so that the Close is not lost to a reset.
    fn linger_after_close(&mut self, now_ns: u64, socket: SocketId) {
        self.counters.refused += 1;
        self.wire.say_closed(socket);
        self.receive_again(socket);
        self.linger_for_a_while(now_ns, socket);
    }

    fn send_scratch(&mut self, socket: SocketId) {
        if !self.scratch.is_empty() {
            self.wire.send(socket, Payload::Copied(&self.scratch));
        }
    }
}
