//! How streams are answered: heads, bodies as far as the tester's windows allow, the messages of
//! calls, trailers, resets.

use super::session::{Session, Timer};
use super::{code, frame, hpack};
use crate::oracle::clock_ns;
use crate::oracle::log::Side;
use crate::oracle::mode::Act;
use crate::oracle::session::Next;
use crate::oracle::shared::{Due, Shared};

/// What is left of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rest {
    /// The body as far as it may leave, and how much of it has.
    body: Vec<u8>,
    sent: usize,
    /// Messages that are yet to be due, after those.
    later: u32,
    /// When the last one was due, ns.
    due_ns: u64,
    /// The status of gRPC in its trailers.
    trailers: Option<u32>,
}

impl Session {
    /// Answers a stream, or resets it, as the mode says.
    pub(super) fn answer(&mut self, id: u32, shared: &mut Shared) -> Next {
        let Some(stream) = self.streams.get(&id) else { return Next::Open };
        let entry = stream.entry;
        match stream.answer.act {
            Act::Status(status) => self.answer_plain(id, status, shared),
            Act::Early => self.answer_plain(id, 200, shared),
            Act::Trailers(status) => self.answer_call(id, Some(status), shared),
            Act::NoTrailers => self.answer_call(id, None, shared),
            Act::TrailersOnly(status) => {
                let mut block = call_head();
                put_status(&mut block, entry, status, shared);
                self.put_block(id, entry, &block, true, shared);
                self.answered(id, shared);
            }
            Act::Hang => {}
            Act::Reset => return Next::Reset,
            Act::ResetStream(code) => {
                self.streams.remove(&id);
                frame::put_reset(&mut self.out.bytes, id, code);
                shared.reset(entry, Side::Oracle, code);
            }
        }
        Next::Open
    }

    fn answer_plain(&mut self, id: u32, status: u16, shared: &mut Shared) {
        let Some(stream) = self.streams.get(&id) else { return };
        let (entry, head_only) = (stream.entry, stream.head_only);
        let length = shared.mode.body_bytes as usize;
        let mut block = Vec::new();
        hpack::put_status(&mut block, status);
        hpack::put_length(&mut block, length);
        let body = if head_only { Vec::new() } else { vec![b'x'; length] };
        shared.log.entries[entry].status = status;
        let is_end = body.is_empty();
        self.put_block(id, entry, &block, is_end, shared);
        if is_end {
            return self.answered(id, shared);
        }
        self.go_on_with(id, Rest { body, sent: 0, later: 0, due_ns: 0, trailers: None }, shared);
    }

    /// Begins the answer to a call, whose messages may come one after the other.
    fn answer_call(&mut self, id: u32, trailers: Option<u32>, shared: &mut Shared) {
        let Some(stream) = self.streams.get(&id) else { return };
        let (entry, body) = (stream.entry, stream.messages.echo());
        let later = shared.mode.call.messages.saturating_sub(1);
        shared.log.entries[entry].status = 200;
        self.put_block(id, entry, &call_head(), false, shared);
        let due_ns = clock_ns();
        let rest = Rest { body, sent: 0, later, due_ns, trailers };
        self.go_on_with(id, rest, shared);
    }

    fn go_on_with(&mut self, id: u32, rest: Rest, shared: &mut Shared) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let gap_ns = shared.mode.call.gap_ns;
        if rest.later > 0 {
            let due = Due::Session(self.slot, self.connection, Timer::Message(id).into());
            shared.remind(rest.due_ns + gap_ns, due);
        }
        stream.rest = Some(rest);
        self.send_rest(id, shared);
    }

    /// The next message of an answer is due.
    pub(super) fn next_message(&mut self, id: u32, shared: &mut Shared) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(mut rest) = stream.rest.take() else { return };
        rest.body.extend(stream.messages.echo());
        rest.later -= 1;
        rest.due_ns += shared.mode.call.gap_ns;
        self.go_on_with(id, rest, shared);
    }

    /// Sends what the tester's windows allow of the rest of an answer.
    pub(super) fn send_rest(&mut self, id: u32, shared: &mut Shared) {
        while let Some(stream) = self.streams.get_mut(&id) {
            let Some(rest) = &mut stream.rest else { return };
            let number = stream.entry;
            let left = &rest.body[rest.sent..];
            if left.is_empty() {
                if rest.later == 0 {
                    self.end_answer(id, shared);
                }
                return;
            }
            let window = usize::try_from(stream.window.min(self.window)).unwrap_or(0);
            let bytes = left.len().min(window).min(self.frame_max);
            if bytes == 0 {
                return;
            }
            let is_last = bytes == left.len();
            let is_end = is_last && rest.later == 0 && rest.trailers.is_none();
            let flags = if is_end { frame::END_STREAM } else { 0 };
            frame::put(&mut self.out.bytes, frame::DATA, flags, id, &left[..bytes]);
            rest.sent += bytes;
            stream.window -= bytes as i64;
            self.window -= bytes as i64;
            let entry = &mut shared.log.entries[number];
            entry.bytes_out += (frame::HEAD_BYTES + bytes) as u32;
            if let Some(call) = entry.call.as_mut().filter(|_| is_last) {
                if call.messages_out == 0 {
                    self.out.end_first_message(number);
                }
                call.messages_out = shared.mode.call.messages.saturating_sub(rest.later);
            }
        }
    }

    /// All of an answer's body is sent.
    fn end_answer(&mut self, id: u32, shared: &mut Shared) {
        let Some(stream) = self.streams.get(&id) else { return };
        let (entry, rest) = (stream.entry, stream.rest.as_ref());
        if let Some(status) = rest.and_then(|rest| rest.trailers) {
            let mut block = Vec::new();
            put_status(&mut block, entry, status, shared);
            self.put_block(id, entry, &block, true, shared);
        }
        self.answered(id, shared);
    }

    fn put_block(
        &mut self,
        id: u32,
        entry: usize,
        block: &[u8],
        is_end: bool,
        shared: &mut Shared,
    ) {
        let end = if is_end { frame::END_STREAM } else { 0 };
        frame::put(&mut self.out.bytes, frame::HEADERS, frame::END_HEADERS | end, id, block);
        let entry = &mut shared.log.entries[entry];
        entry.header_bytes_out += block.len() as u32;
        entry.bytes_out += (frame::HEAD_BYTES + block.len()) as u32;
    }

    /// A stream's answer is whole. The rest of its request is declined.
    fn answered(&mut self, id: u32, shared: &mut Shared) {
        let Some(stream) = self.streams.remove(&id) else { return };
        self.answers += 1;
        self.out.end_answer(stream.entry);
        if !stream.has_ended {
            frame::put_reset(&mut self.out.bytes, id, code::NO_ERROR);
            shared.reset(stream.entry, Side::Oracle, code::NO_ERROR);
        }
    }
}

/// The head of every answer to a call.
fn call_head() -> Vec<u8> {
    let mut block = Vec::new();
    hpack::put_status(&mut block, 200);
    hpack::put_field(&mut block, "content-type", "application/grpc");
    block
}

/// The status of a call, in a block and in the log.
fn put_status(block: &mut Vec<u8>, entry: usize, status: u32, shared: &mut Shared) {
    hpack::put_field(block, "grpc-status", &status.to_string());
    shared.log.entries[entry].status = 200;
    if let Some(call) = &mut shared.log.entries[entry].call {
        call.status = Some(status);
    }
}
