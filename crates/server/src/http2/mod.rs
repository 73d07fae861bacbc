//! A client that speaks HTTP/2: turns its bytes into requests, and answers them as they become due,
//! each on a stream of its own.
//!
//! An echo is sent as it comes in, and the client gets new room in its window for what has been
//! passed on, so neither the length of a body nor the client's slowness decides how much is kept.
//! Other bodies of requests are dropped. Long bodies of answers take turns, a piece at a time.
//!
//! Pure: it has no driver and no clock; `server` moves the bytes.

mod call;
mod exchange;
mod send;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::SocketAddr;

use plimsoll_proto::http2::{
    ConnectionError, ErrorCode, Headers, Key, LastStream, RequestHead, Server, ServerEvent,
    ServerOptions, Streams,
};

use crate::answer::http2::Blocks;
use crate::faults::{Fates, Goaway, StreamOutcome};
use crate::options::Counters;
use crate::queue::Queue;
use crate::route::{Role, Route};
use crate::site::Shaper;
use crate::timers::Timers;

use exchange::{Exchange, Request, Stage};

/// How long a client has between the two steps of a graceful end, so that requests on their way
/// arrive before the second.
const LAST_CALL_NS: u64 = 10_000_000;

/// Bytes of messages that a connection without a client may still hold.
const KEPT_BYTES_MAX: usize = 64 * 1024;

/// A connection.
#[derive(Debug)]
pub(crate) struct Http2 {
    machine: Server,
    exchanges: Streams<Exchange>,
    /// A request whose head is all of it, until its end is told.
    whole: Option<(u32, Request)>,
    /// Streams with a long body, or with a call to be answered, that no window holds back, in turn.
    ready: VecDeque<u32>,
    timers: Timers<(u32, Wake)>,
    /// Streams with calls that have come in this turn and have a deadline. Most are answered in the
    /// same turn, and need no timer.
    deadlines: Vec<u32>,
    /// Bytes of messages that all calls hold.
    held_bytes: usize,
    /// Scratch memory for a message.
    message: Vec<u8>,
    requests: u32,
    answers: u32,
    /// Whether no more requests are taken, and the connection ends with its last stream.
    is_ending: bool,
}

/// What one turn of the loop lends to a connection.
pub(crate) struct Turn<'t> {
    pub(crate) now_ns: u64,
    /// What is to be sent.
    pub(crate) out: &'t mut Vec<u8>,
    /// How long `out` may become by long bodies.
    pub(crate) out_bytes_max: usize,
    pub(crate) blocks: &'t Blocks,
    pub(crate) fates: &'t mut Fates,
    pub(crate) counters: &'t mut Counters,
    pub(crate) queue: &'t Queue,
    pub(crate) shaper: &'t mut Shaper,
    pub(crate) role: Role,
    pub(crate) peer: SocketAddr,
}

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    /// The next stage of an exchange.
    Stage,
    /// New room for what came of a body.
    Room,
    /// The time of a call is over.
    Deadline,
    /// The second step of a graceful end.
    LastCall,
}

impl Http2 {
    /// A connection that has yet to begin.
    pub(crate) fn new(options: ServerOptions) -> Self {
        Self {
            machine: Server::new(ServerOptions { holds_windows: true, ..options }),
            exchanges: Streams::with_capacity(0),
            whole: None,
            ready: VecDeque::new(),
            // An exchange has three at most: for its stage, for room, and for its deadline.
            timers: Timers::new(options.streams.saturating_mul(3)),
            deadlines: Vec::new(),
            held_bytes: 0,
            message: Vec::new(),
            requests: 0,
            answers: 0,
            is_ending: false,
        }
    }

    /// Greets a client. Forgets the connection before.
    pub(crate) fn begin(&mut self, turn: &mut Turn<'_>) {
        while let Some(key) = self.exchanges.oldest() {
            self.exchanges.close(key);
        }
        self.whole = None;
        self.ready.clear();
        self.deadlines.clear();
        self.timers.clear();
        (self.requests, self.answers, self.held_bytes) = (0, 0, 0);
        self.is_ending = false;
        self.machine.begin(turn.out);
    }

    /// Whether it allocated little enough to serve another client.
    pub(crate) fn is_worth_keeping(&self) -> bool {
        self.exchanges.slots() <= 32 && self.held_bytes <= KEPT_BYTES_MAX
    }

    /// When something becomes due; `u64::MAX` for never.
    pub(crate) fn next_due_ns(&self) -> u64 {
        self.timers.next_ns()
    }

    /// Whether a long body waits for the kernel to take what was sent.
    pub(crate) fn has_more(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether no request is being read or answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.machine.open() == 0
    }

    /// Whether nothing is left to do on it.
    pub(crate) fn is_over(&self) -> bool {
        self.is_ending && self.is_idle()
    }

    /// Whether nothing will come of it once the client sends no more.
    pub(crate) fn is_stuck(&self) -> bool {
        // The timers of calls that were answered in time are still there.
        self.ready.is_empty() && (self.is_idle() || self.timers.next_ns() == u64::MAX)
    }

    /// Takes no more requests.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.is_ending {
            self.is_ending = true;
            self.machine.go_away(LastStream::Opened, ErrorCode::NO_ERROR, out);
        }
    }

    /// Reads what came, and answers what is due.
    ///
    /// # Errors
    /// When the client breaks the protocol. What tells it so is to be sent.
    #[inline]
    pub(crate) fn read(
        &mut self,
        input: &[u8],
        turn: &mut Turn<'_>,
    ) -> Result<(), ConnectionError> {
        let mut at = 0;
        loop {
            let decoded = self.machine.receive(&input[at..], turn.out)?;
            at += decoded.consumed;
            match decoded.event {
                None => return Ok(()),
                Some(ServerEvent::Request(stream, head)) => {
                    let request = Request::of(&head, turn.role, &turn.shaper.options);
                    if head.is_whole() && request.is_plain() {
                        self.whole = Some((stream, request));
                    } else if let Route::Call(method) = request.route {
                        let key = open(&mut self.exchanges, stream, request, &head, turn);
                        let exchange = &mut self.exchanges[key];
                        call::begin(exchange, method, &head, turn.now_ns);
                        self.begin_call(stream, key, turn);
                    } else {
                        let key = open(&mut self.exchanges, stream, request, &head, turn);
                        let is_whole = head.is_whole();
                        self.begin_request(stream, key, is_whole, turn);
                    }
                }
                Some(ServerEvent::End(stream)) => self.end_request(stream, turn),
                Some(ServerEvent::Body(stream, piece)) => self.body(stream, piece, turn),
                Some(ServerEvent::Trailers(stream, trailers)) => {
                    keep_trailers(&mut self.exchanges, stream, trailers);
                }
                Some(ServerEvent::Resumed(stream)) => self.resume(stream, turn),
                Some(ServerEvent::Reset(stream, _)) => self.forget(stream, turn.out),
                Some(ServerEvent::Broken(stream, _)) => {
                    turn.counters.refused += 1;
                    self.forget(stream, turn.out);
                }
                Some(ServerEvent::Greeted | ServerEvent::Draining(_)) => {}
            }
        }
    }

    /// Does what has become due.
    pub(crate) fn wake(&mut self, turn: &mut Turn<'_>) {
        while let Some((due_ns, (stream, wake))) = self.timers.take_due(turn.now_ns) {
            if wake == Wake::LastCall {
                self.finish(turn.out);
            }
            let Some(key) = self.exchanges.find(stream) else { continue };
            let exchange = &mut self.exchanges[key];
            match wake {
                Wake::Stage if exchange.due_ns == due_ns => self.take_stage(stream, key, turn),
                Wake::Room if exchange.owed_due_ns == due_ns => self.release(stream, key, turn.out),
                Wake::Deadline if exchange.deadline_ns == due_ns => self.expire(stream, key, turn),
                _ => {}
            }
        }
    }

    /// A head came that more follows, or that is to be echoed.
    fn begin_request(&mut self, stream: u32, key: Key, is_whole: bool, turn: &mut Turn<'_>) {
        if is_whole {
            return;
        }
        let exchange = &self.exchanges[key];
        if let Route::Echo(_) | Route::Site = exchange.request.route {
            let ready_ns = turn.now_ns.saturating_add(exchange.echo.delay_ns);
            let fate = turn.fates.draw_stream(ready_ns);
            return self.plan(stream, key, fate.due_ns, fate.outcome, turn);
        }
        if exchange.expects_continue {
            let due_ns = turn.fates.stalled_until_ns(turn.now_ns);
            if due_ns <= turn.now_ns {
                return self.send_continue(stream, turn);
            }
            self.exchanges[key].due_ns = due_ns;
            self.set_timer(stream, Wake::Stage, due_ns);
        }
    }

    #[inline]
    fn end_request(&mut self, stream: u32, turn: &mut Turn<'_>) {
        turn.counters.requests += 1;
        self.requests += 1;
        let whole = self.whole.take();
        if let Some(goaway) = turn.fates.goaway_after(self.requests) {
            self.go_away(stream, goaway, turn);
        }
        match whole {
            // It may have just been given up.
            Some(_) if !self.machine.is_open(stream) => {}
            Some((_, request)) => self.answer(stream, request, turn),
            None => self.end_exchange(stream, turn),
        }
    }

    fn end_exchange(&mut self, stream: u32, turn: &mut Turn<'_>) {
        let Some(key) = self.exchanges.find(stream) else { return };
        let exchange = &mut self.exchanges[key];
        exchange.has_ended = true;
        match exchange.stage {
            _ if matches!(exchange.request.route, Route::Call(_)) => {
                self.end_call_request(stream, key, turn);
            }
            Stage::Reading => {
                exchange.due_ns = u64::MAX;
                let request = exchange.request;
                self.answer(stream, request, turn);
            }
            Stage::Echoing => self.end_echo(stream, key, turn.out),
            Stage::Waiting(_) | Stage::Trailing | Stage::Sending | Stage::Calling => {}
        }
    }

    /// Answers a request that has ended: now, or when its route and the faults say.
    #[inline]
    fn answer(&mut self, stream: u32, request: Request, turn: &mut Turn<'_>) {
        if !turn.fates.is_active() && request.route == Route::Hello {
            return self.reply(stream, Route::Hello, request.is_head, turn);
        }
        let delay_ns = match request.route {
            Route::Delay(delay_ns) => delay_ns,
            Route::Queue(service_ns) => {
                turn.queue.enter(turn.now_ns, service_ns).saturating_sub(turn.now_ns)
            }
            Route::Site => {
                let key = self.exchanges.find(stream);
                key.map_or(0, |key| self.exchanges[key].echo.delay_ns)
            }
            _ => 0,
        };
        let fate = turn.fates.draw_stream(turn.now_ns.saturating_add(delay_ns));
        let key = self.exchange(stream, request);
        self.plan(stream, key, fate.due_ns, fate.outcome, turn);
    }

    /// The exchange of a stream, opened if there is none yet.
    fn exchange(&mut self, stream: u32, request: Request) -> Key {
        if let Some(key) = self.exchanges.find(stream) {
            return key;
        }
        let key = self.exchanges.open(stream);
        self.exchanges[key].begin(request);
        key
    }

    fn plan(
        &mut self,
        stream: u32,
        key: Key,
        due_ns: u64,
        outcome: StreamOutcome,
        turn: &mut Turn<'_>,
    ) {
        if due_ns <= turn.now_ns {
            return self.perform(stream, key, outcome, turn);
        }
        let exchange = &mut self.exchanges[key];
        exchange.stage = Stage::Waiting(outcome);
        exchange.due_ns = due_ns;
        self.set_timer(stream, Wake::Stage, due_ns);
    }

    fn take_stage(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        self.exchanges[key].due_ns = u64::MAX;
        match self.exchanges[key].stage {
            Stage::Reading => self.send_continue(stream, turn),
            Stage::Waiting(outcome) => self.perform(stream, key, outcome, turn),
            Stage::Calling => self.make_ready(stream, key),
            Stage::Echoing | Stage::Trailing | Stage::Sending => {}
        }
    }

    /// A piece of a request's body.
    fn body(&mut self, stream: u32, piece: &[u8], turn: &mut Turn<'_>) {
        let Some(key) = self.exchanges.find(stream) else {
            return self.machine.release(stream, piece.len() as u32, turn.out);
        };
        let exchange = &mut self.exchanges[key];
        exchange.owed_bytes += piece.len() as u32;
        if let Route::Call(_) = exchange.request.route {
            return self.call_body(stream, key, piece, turn);
        }
        let is_echo = matches!(exchange.request.route, Route::Echo(_) | Route::Site);
        match exchange.stage {
            // Without new room, the client sends a window's worth at most.
            Stage::Waiting(StreamOutcome::Answer) if is_echo && !exchange.request.is_head => {
                return exchange.echo.text.extend_from_slice(piece);
            }
            Stage::Echoing => self.pass_on(stream, piece, turn.out),
            _ => {}
        }
        self.make_room(stream, key, turn);
    }

    /// Gives the client new room for what has been passed on, at once or when the faults say.
    fn make_room(&mut self, stream: u32, key: Key, turn: &mut Turn<'_>) {
        if self.machine.is_stalled(stream) {
            return;
        }
        let delay_ns = turn.fates.window_delay_ns();
        if delay_ns == 0 {
            return self.release(stream, key, turn.out);
        }
        let exchange = &mut self.exchanges[key];
        if exchange.owed_due_ns == u64::MAX {
            exchange.owed_due_ns = turn.now_ns.saturating_add(delay_ns);
            let due_ns = exchange.owed_due_ns;
            self.set_timer(stream, Wake::Room, due_ns);
        }
    }

    fn release(&mut self, stream: u32, key: Key, out: &mut Vec<u8>) {
        let exchange = &mut self.exchanges[key];
        exchange.owed_due_ns = u64::MAX;
        let bytes = std::mem::take(&mut exchange.owed_bytes);
        if bytes > 0 {
            self.machine.release(stream, bytes, out);
        }
    }

    /// Ends an exchange. The machine may still hold back the rest of its answer.
    fn close(&mut self, stream: u32, key: Key, out: &mut Vec<u8>) {
        self.release(stream, key, out);
        self.held_bytes -= self.exchanges[key].call.held_bytes();
        self.exchanges[key].call.clear();
        self.exchanges.close(key);
    }

    /// A stream is no more.
    fn forget(&mut self, stream: u32, out: &mut Vec<u8>) {
        self.whole = self.whole.filter(|(whole, _)| *whole != stream);
        if let Some(key) = self.exchanges.find(stream) {
            self.close(stream, key, out);
        }
    }

    fn go_away(&mut self, stream: u32, goaway: Goaway, turn: &mut Turn<'_>) {
        if self.is_ending {
            return;
        }
        if goaway == Goaway::Graceful {
            self.machine.go_away(LastStream::Announced, ErrorCode::NO_ERROR, turn.out);
            let due_ns = turn.now_ns.saturating_add(LAST_CALL_NS);
            return self.set_timer(0, Wake::LastCall, due_ns);
        }
        self.is_ending = true;
        let last_stream = stream.saturating_sub(2);
        while let Some(key) = self.exchanges.newest() {
            let newest = self.exchanges.id(key);
            if newest <= last_stream {
                break;
            }
            self.close(newest, key, turn.out);
        }
        let last = LastStream::Number(last_stream);
        self.machine.go_away(last, ErrorCode::NO_ERROR, turn.out);
    }

    fn set_timer(&mut self, stream: u32, wake: Wake, due_ns: u64) {
        let exchanges = &self.exchanges;
        self.timers.set(due_ns, (stream, wake), |due_ns, (stream, wake)| {
            let exchange = exchanges.find(stream).map(|key| &exchanges[key]);
            match wake {
                Wake::LastCall => true,
                Wake::Stage => exchange.is_some_and(|it| it.due_ns == due_ns),
                Wake::Room => exchange.is_some_and(|it| it.owed_due_ns == due_ns),
                Wake::Deadline => exchange.is_some_and(|it| it.deadline_ns == due_ns),
            }
        });
    }
}

/// Opens the exchange of a request.
fn open(
    exchanges: &mut Streams<Exchange>,
    stream: u32,
    request: Request,
    head: &RequestHead<'_>,
    turn: &mut Turn<'_>,
) -> Key {
    let key = exchanges.open(stream);
    let exchange = &mut exchanges[key];
    exchange.begin(request);
    let mut expects = head.headers().filter(|(name, _)| *name == "expect");
    let is_continue = |value: &[u8]| value.eq_ignore_ascii_case(b"100-continue");
    exchange.expects_continue = expects.any(|(_, value)| is_continue(value));
    if let Route::Echo(echo) = request.route {
        exchange.echo.begin(echo, head);
    }
    if request.route == Route::Site {
        exchange.rest_bytes = exchange.echo.begin_site(head, turn.shaper, turn.now_ns);
    }
    key
}

fn keep_trailers(exchanges: &mut Streams<Exchange>, stream: u32, trailers: Headers<'_>) {
    let Some(key) = exchanges.find(stream) else { return };
    let exchange = &mut exchanges[key];
    if let Route::Echo(_) = exchange.request.route {
        exchange.echo.keep_trailers(trailers);
    }
}
