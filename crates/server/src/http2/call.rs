//! Calls of gRPC on their streams: when what comes is read, when answers go out, and how calls end.
//!
//! A call that has something to say is among those that are ready, and says one message each time
//! it is its turn. One whose stream a window holds back is not: it says nothing until the window
//! has let all go. So of the answers of a client that does not read, one message is kept at most.

use plimsoll_grpc::builtin::testing;
use plimsoll_proto::grpc::{Code, status_message};
use plimsoll_proto::http2::{Block, Body, ErrorCode, HeadWriter, Key, RequestHead};

use super::exchange::{EchoParts, Exchange, Stage};
use super::{Http2, Turn, Wake};
use crate::answer::http2::PIECE_BYTES;
use crate::grpc::{ACCEPTED, CallHead, Method, Next};

/// Begins a call with what its head says.
pub(super) fn begin(exchange: &mut Exchange, method: Method, head: &RequestHead<'_>, now_ns: u64) {
    let head = CallHead::read(head.headers());
    exchange.call.begin(method, &head);
    if let Some(Ok(timeout_ns)) = head.timeout_ns {
        exchange.deadline_ns = now_ns.saturating_add(timeout_ns);
    }
    if !exchange.call.echoes_metadata() {
        return;
    }
    if let Some(value) = head.echo_initial {
        exchange.echo.fields.push(testing::ECHO_INITIAL.as_bytes(), value);
    }
    if let Some(value) = head.echo_trailing {
        exchange.echo.trailers.push(testing::ECHO_TRAILING.as_bytes(), value);
    }
}

impl Http2 {
    /// The head of a call came.
    #[inline]
    pub(super) fn begin_call(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        let exchange = &self.exchanges[key];
        if exchange.deadline_ns < u64::MAX {
            self.deadlines.push(stream);
        }
        if exchange.call.answers_early() {
            self.plan_call(stream, key, turn);
        }
    }

    /// Sets the timers of the calls that are still to be answered when a turn ends.
    #[inline]
    pub(super) fn set_deadlines(&mut self) {
        while let Some(stream) = self.deadlines.pop() {
            if let Some(key) = self.exchanges.find(stream) {
                self.set_timer(stream, Wake::Deadline, self.exchanges[key].deadline_ns);
            }
        }
    }

    /// The request of a call has ended.
    #[inline]
    pub(super) fn end_call_request(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        let exchange = &mut self.exchanges[key];
        exchange.call.end();
        match exchange.stage {
            Stage::Reading => self.plan_call(stream, key, turn),
            Stage::Calling => self.make_ready(stream, key),
            _ => {}
        }
    }

    fn plan_call(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        let fate = turn.fates.draw_call(turn.now_ns);
        self.plan(stream, key, fate.due_ns, fate.outcome, turn);
    }

    /// A piece of the messages of a call.
    #[inline]
    pub(super) fn call_body(&mut self, stream: u32, key: Key, piece: &[u8], turn: &mut Turn<'_>) {
        let call = &mut self.exchanges[key].call;
        let others_bytes = self.held_bytes - call.held_bytes();
        call.receive(piece, others_bytes);
        self.held_bytes = others_bytes + call.held_bytes();
        let (has_room, is_ending) = (call.has_room(), call.is_ending());
        if has_room {
            self.make_room(stream, key, turn);
        }
        match self.exchanges[key].stage {
            Stage::Calling => self.make_ready(stream, key),
            // What breaks the rules is told at once.
            Stage::Reading if is_ending => self.begin_calling(stream, key),
            _ => {}
        }
    }

    /// The answer of a call is due.
    #[inline]
    pub(super) fn begin_calling(&mut self, stream: u32, key: Key) {
        self.exchanges[key].stage = Stage::Calling;
        self.make_ready(stream, key);
    }

    #[inline]
    pub(super) fn make_ready(&mut self, stream: u32, key: Key) {
        if !std::mem::replace(&mut self.exchanges[key].is_ready, true) {
            self.ready.push_back(stream);
        }
    }

    /// It is the turn of a call: says its next message, or a piece of it.
    pub(super) fn go_on_calling(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        self.exchanges[key].is_ready = false;
        if self.machine.is_stalled(stream) {
            return;
        }
        if self.exchanges[key].rest_bytes > 0 {
            return self.send_zeros(stream, key, turn);
        }
        self.message.clear();
        let call = &mut self.exchanges[key].call;
        let others_bytes = self.held_bytes - call.held_bytes();
        call.base_unix_ns = turn.shaper.base_unix_ns;
        let next = call.next(turn.now_ns, others_bytes, &mut self.message);
        self.held_bytes = others_bytes + call.held_bytes();
        match next {
            Next::Read => self.make_room(stream, key, turn),
            Next::Wait(due_ns) => self.wait_until(stream, key, due_ns),
            Next::Message { zero_bytes } => self.send_message(stream, key, zero_bytes, turn),
            Next::Status(code) => self.end_call(stream, key, code, turn),
        }
    }

    fn wait_until(&mut self, stream: u32, key: Key, due_ns: u64) {
        let exchange = &mut self.exchanges[key];
        if due_ns < u64::MAX && exchange.due_ns != due_ns {
            exchange.due_ns = due_ns;
            self.set_timer(stream, Wake::Stage, due_ns);
        }
    }

    /// Sends the message in scratch memory, behind the head if it is the first.
    fn send_message(&mut self, stream: u32, key: Key, zero_bytes: u64, turn: &mut Turn<'_>) {
        let exchange = &mut self.exchanges[key];
        if !std::mem::replace(&mut exchange.has_head, true) {
            turn.counters.count_response(200);
            let (echo, block) = (&exchange.echo, &turn.blocks.call);
            self.machine.send_head(stream, false, turn.out, |head| write_head(block, echo, head));
        }
        exchange.rest_bytes = zero_bytes;
        self.machine.send(stream, Body::Bytes(&self.message), false, turn.out);
        self.make_ready(stream, key);
    }

    /// Sends a piece of the zeros that belong to a message.
    fn send_zeros(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        let exchange = &mut self.exchanges[key];
        let piece_bytes = exchange.rest_bytes.min(PIECE_BYTES as u64);
        exchange.rest_bytes -= piece_bytes;
        let zeros = &turn.blocks.zeros;
        let body = match piece_bytes as usize {
            PIECE_BYTES => Body::Shared(zeros),
            bytes => Body::Bytes(&zeros[..bytes]),
        };
        self.machine.send(stream, body, false, turn.out);
        self.make_ready(stream, key);
    }

    /// Ends a call with its status. Nothing of it is held back.
    fn end_call(&mut self, stream: u32, key: Key, code: Code, turn: &mut Turn<'_>) {
        let exchange = &self.exchanges[key];
        self.message.clear();
        status_message::write(exchange.call.text(), &mut self.message);
        let (blocks, text) = (turn.blocks, &self.message);
        if !exchange.has_head {
            turn.counters.count_response(200);
        }
        self.machine.send_head(stream, true, turn.out, |head| {
            if !exchange.has_head {
                write_head(&blocks.call, &exchange.echo, head);
            }
            match code {
                Code::OK => head.block(&blocks.call_ok, |_, _| {}),
                code => write_status(code, text, head),
            }
            if exchange.call.names_codings() {
                head.passed_on(b"grpc-accept-encoding", ACCEPTED);
            }
            exchange.echo.trailers.iter().for_each(|(name, value)| head.passed_on(name, value));
        });
        if !exchange.has_ended {
            // RFC 9113 8.1: the answer is whole, and the rest of the request is not needed.
            turn.counters.refused += 1;
            self.machine.reset(stream, ErrorCode::NO_ERROR, turn.out);
        }
        self.close(stream, key, turn.out);
        self.count_answer(turn);
    }

    /// The time of a call is over. Its status cannot follow a part of a message.
    pub(super) fn expire(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        self.break_off(stream, key, Code::DEADLINE_EXCEEDED, turn);
    }

    fn break_off(&mut self, stream: u32, key: Key, code: Code, turn: &mut Turn<'_>) {
        if self.exchanges[key].rest_bytes > 0 || self.machine.is_stalled(stream) {
            turn.counters.resets += 1;
            self.machine.reset(stream, ErrorCode::CANCEL, turn.out);
            return self.close(stream, key, turn.out);
        }
        self.exchanges[key].call.fail(code, "");
        self.end_call(stream, key, code, turn);
    }

    /// The server stops: ends what would go on for ever, and takes no more requests.
    pub(crate) fn stop(&mut self, turn: &mut Turn<'_>) {
        let mut next = self.exchanges.oldest();
        while let Some(key) = next {
            next = self.exchanges.after(key);
            if self.exchanges[key].call.is_watch() && self.exchanges[key].stage == Stage::Calling {
                self.break_off(self.exchanges.id(key), key, Code::UNAVAILABLE, turn);
            }
        }
        self.finish(turn.out);
    }
}

fn write_head(block: &Block, echo: &EchoParts, head: &mut HeadWriter<'_>) {
    head.block(block, |_, _| {});
    echo.fields.iter().for_each(|(name, value)| head.passed_on(name, value));
}

/// Writes a status other than OK.
fn write_status(code: Code, text: &[u8], head: &mut HeadWriter<'_>) {
    let mut digits = [0; 10];
    let (mut at, mut rest) = (digits.len(), code.0);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    head.passed_on(b"grpc-status", &digits[at..]);
    if !text.is_empty() {
        head.passed_on(b"grpc-message", text);
    }
}
