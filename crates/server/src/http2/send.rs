//! Outgoing answers: heads, long bodies in turn, and echoes.

use plimsoll_proto::http2::{Body, Key};

use super::exchange::{Request, Stage};
use super::{Http2, Turn};
use crate::answer::http2::{PIECE_BYTES, write_fields};
use crate::answer::{Content, answer};
use crate::faults::StreamOutcome;
use crate::route::Route;

impl Http2 {
    /// Ends a turn: sends long bodies and answers calls, as far as there is room.
    #[inline]
    pub(crate) fn finish_turn(&mut self, turn: &mut Turn<'_>) {
        self.send_ready(turn);
        self.set_deadlines();
    }

    #[inline]
    fn send_ready(&mut self, turn: &mut Turn<'_>) {
        while !self.ready.is_empty() && turn.out.len() < turn.out_bytes_max {
            let Some(stream) = self.ready.pop_front() else { return };
            let Some(key) = self.exchanges.find(stream) else { continue };
            match self.exchanges[key].stage {
                Stage::Calling => self.go_on_calling(stream, key, turn),
                _ => self.send_piece(stream, key, turn),
            }
        }
    }

    fn send_piece(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        let exchange = &mut self.exchanges[key];
        let piece_bytes = exchange.rest_bytes.min(PIECE_BYTES as u64);
        exchange.rest_bytes -= piece_bytes;
        let is_last = exchange.rest_bytes == 0;
        let piece = &turn.blocks.piece;
        let body = match piece_bytes as usize {
            PIECE_BYTES => Body::Shared(piece),
            bytes => Body::Bytes(&piece[..bytes]),
        };
        self.machine.send(stream, body, is_last, turn.out);
        if is_last {
            self.close(stream, key, turn.out);
        } else if !self.machine.is_stalled(stream) {
            self.ready.push_back(stream);
        }
    }

    /// What a window held back has been sent.
    pub(super) fn resume(&mut self, stream: u32, turn: &mut Turn<'_>) {
        let Some(key) = self.exchanges.find(stream) else { return };
        match self.exchanges[key].stage {
            Stage::Sending => self.ready.push_back(stream),
            Stage::Trailing => self.end_echo(stream, key, turn.out),
            Stage::Echoing => self.make_room(stream, key, turn),
            Stage::Calling => self.make_ready(stream, key),
            Stage::Reading | Stage::Waiting(_) => {}
        }
    }

    pub(super) fn send_continue(&mut self, stream: u32, turn: &mut Turn<'_>) {
        turn.counters.count_response(100);
        self.machine.send_head(stream, false, turn.out, |head| head.status(100));
    }

    /// Does what the faults have chosen.
    pub(super) fn perform(
        &mut self,
        stream: u32,
        key: Key,
        outcome: StreamOutcome,
        turn: &mut Turn<'_>,
    ) {
        let Request { route, is_head } = self.exchanges[key].request;
        match outcome {
            StreamOutcome::Reset(code) => {
                turn.counters.resets += 1;
                self.machine.reset(stream, code, turn.out);
                self.close(stream, key, turn.out);
            }
            StreamOutcome::Error(status) => {
                self.reply(stream, Route::Status(status), is_head, turn);
            }
            StreamOutcome::Status(code) => {
                self.exchanges[key].call.fail(code, "a fault that was asked for");
                self.begin_calling(stream, key);
            }
            StreamOutcome::Answer if matches!(route, Route::Echo(_) | Route::Site) => {
                self.begin_echo(stream, key, turn);
            }
            StreamOutcome::Answer if matches!(route, Route::Call(_)) => {
                self.begin_calling(stream, key);
            }
            StreamOutcome::Answer => self.reply(stream, route, is_head, turn),
        }
    }

    /// Sends an answer, or as much of it as goes out at once, and ends its exchange with it.
    #[inline]
    pub(super) fn reply(&mut self, stream: u32, route: Route, is_head: bool, turn: &mut Turn<'_>) {
        let rest_bytes = match route {
            Route::Hello | Route::Delay(_) | Route::Queue(_) => {
                self.send_hello(stream, is_head, turn)
            }
            _ => self.send_answer(stream, route, is_head, turn),
        };
        if rest_bytes > 0 {
            let key = self.exchange(stream, Request { route, is_head });
            let exchange = &mut self.exchanges[key];
            (exchange.stage, exchange.rest_bytes) = (Stage::Sending, rest_bytes);
            self.ready.push_back(stream);
        } else if let Some(key) = self.exchanges.find(stream) {
            self.close(stream, key, turn.out);
        }
        self.count_answer(turn);
    }

    #[inline]
    fn send_hello(&mut self, stream: u32, is_head: bool, turn: &mut Turn<'_>) -> u64 {
        let blocks = turn.blocks;
        turn.counters.count_response(200);
        self.machine
            .send_head(stream, is_head, turn.out, |head| head.block(&blocks.hello, |_, _| {}));
        if !is_head {
            self.machine.send(stream, Body::Shared(&blocks.hello_body), true, turn.out);
        }
        0
    }

    /// Gives how many bytes of the pattern remain to be sent.
    fn send_answer(
        &mut self,
        stream: u32,
        route: Route,
        is_head: bool,
        turn: &mut Turn<'_>,
    ) -> u64 {
        let answer = answer(route, turn.peer);
        turn.counters.count_response(answer.status);
        let (text, rest_bytes) = match &answer.content {
            _ if is_head => (&[][..], 0),
            Content::Absent => (&[][..], 0),
            Content::Text(text) => (text.bytes(), 0),
            Content::Page(page) => (*page, 0),
            Content::Pattern { bytes, .. } => (&[][..], *bytes),
        };
        let ends = text.is_empty() && rest_bytes == 0;
        self.machine.send_head(stream, ends, turn.out, |head| write_fields(&answer, head));
        if !text.is_empty() {
            self.machine.send(stream, Body::Bytes(text), true, turn.out);
        }
        rest_bytes
    }

    #[inline]
    pub(super) fn count_answer(&mut self, turn: &mut Turn<'_>) {
        self.answers += 1;
        if turn.fates.closes_after(self.answers) {
            self.finish(turn.out);
        }
    }

    /// Sends the head of an echo, and what of its body is there.
    fn begin_echo(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        if self.exchanges[key].expects_continue && !self.exchanges[key].has_ended {
            self.send_continue(stream, turn);
        }
        let exchange = &mut self.exchanges[key];
        let status = if exchange.echo.status == 0 { 200 } else { exchange.echo.status };
        turn.counters.count_response(status.min(599));
        if exchange.echo.closes {
            self.finish(turn.out);
        }
        let exchange = &mut self.exchanges[key];
        exchange.stage = Stage::Echoing;
        let has_body = !matches!(status, 204 | 304);
        let sized_bytes = exchange.rest_bytes;
        let is_bare = !has_body || (exchange.echo.length == Some(0) && exchange.echo.status != 0);
        let (echo, is_head) = (&exchange.echo, exchange.request.is_head || is_bare);
        self.machine.send_head(stream, is_head, turn.out, |head| {
            head.status(status);
            echo.fields.iter().for_each(|(name, value)| head.passed_on(name, value));
            if let Some(bytes) = echo.length.filter(|_| has_body) {
                head.content_length(bytes);
            }
        });
        if sized_bytes > 0 && !is_head {
            exchange.stage = Stage::Sending;
            self.ready.push_back(stream);
            return self.count_answer(turn);
        }
        let has_ended = exchange.has_ended;
        let ends = has_ended && echo.trailers.is_empty();
        if !is_head {
            self.machine.send(stream, Body::Bytes(&echo.text), ends, turn.out);
        }
        exchange.echo.text.clear();
        match (is_head || ends, has_ended) {
            (true, _) => self.close(stream, key, turn.out),
            (false, true) => self.end_echo(stream, key, turn.out),
            (false, false) => self.make_room(stream, key, turn),
        }
        self.count_answer(turn);
    }

    /// Sends a piece of an echo that has begun.
    pub(super) fn pass_on(&mut self, stream: u32, piece: &[u8], out: &mut Vec<u8>) {
        self.machine.send(stream, Body::Bytes(piece), false, out);
    }

    /// The request that is echoed has ended.
    pub(super) fn end_echo(&mut self, stream: u32, key: Key, out: &mut Vec<u8>) {
        let exchange = &mut self.exchanges[key];
        if exchange.echo.trailers.is_empty() {
            self.machine.send(stream, Body::Empty, true, out);
            return self.close(stream, key, out);
        }
        exchange.stage = Stage::Trailing;
        let trailers = &exchange.echo.trailers;
        let is_sent = self.machine.send_trailers(stream, out, |head| {
            trailers.iter().for_each(|(name, value)| head.passed_on(name, value));
        });
        if is_sent {
            self.close(stream, key, out);
        }
    }
}
