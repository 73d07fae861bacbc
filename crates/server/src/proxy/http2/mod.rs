//! A client's connection that speaks HTTP/2: which exchange each stream has, and what is written
//! for it.
//!
//! A stream stays in the table until all of its response is sent: what windows hold back is in the
//! machine, and trailers wait here for it. Pure: `worker` moves the bytes.

mod head;
mod response;

use plimsoll_proto::http2::{
    Body, ErrorCode, HeadWriter, Headers, Key, LastStream, Server, ServerOptions, Streams,
};

pub(super) use head::{Translation, translate, write_text};
pub(super) use response::Http2End;

use crate::answer::refusal_answer;
use crate::answer::{Content, http2::write_fields};
use crate::route::Refusal;

/// No exchange.
const NONE: u32 = u32::MAX;
/// A buffer that grew beyond this is given back after use.
const KEEP_BYTES_MAX: usize = 64 << 10;

/// How far the end of a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It goes on.
    No,
    /// The client was told to send no more requests soon.
    Announced,
    /// No more requests are taken; open streams go on to their ends.
    Ended,
}

/// What is known of a stream.
#[derive(Debug)]
struct Stream {
    /// `NONE` once the response was handed over.
    exchange: u32,
    /// Trailers that wait for the client's window, as lines behind an empty line.
    trailers: Vec<u8>,
}

impl Default for Stream {
    fn default() -> Self {
        Self { exchange: NONE, trailers: Vec::new() }
    }
}

/// A request that is refused at its head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused {
    pub(super) stream: u32,
    pub(super) refusal: Refusal,
    pub(super) is_head: bool,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Http2 {
    pub(super) machine: Server,
    streams: Streams<Stream>,
    /// What is to be sent.
    pub(super) out: Vec<u8>,
    /// Streams with an exchange.
    pub(super) exchanges: u32,
    pub(super) ending: Ending,
    /// A request that is refused as soon as its end is told, which it has with its head.
    pub(super) refused: Option<Refused>,
    /// Whether responses wait for the kernel to take what was sent.
    pub(super) has_paused: bool,
    /// Whether the worker knows that there is something to do at the end of its turn.
    pub(super) is_touched: bool,
}

impl Http2 {
    /// A connection that has yet to begin.
    pub(super) fn new(options: ServerOptions) -> Self {
        Self {
            machine: Server::new(ServerOptions { holds_windows: true, ..options }),
            streams: Streams::with_capacity(0),
            out: Vec::new(),
            exchanges: 0,
            ending: Ending::No,
            refused: None,
            has_paused: false,
            is_touched: false,
        }
    }

    /// Greets a client. Forgets the connection before.
    pub(super) fn begin(&mut self) {
        while self.take_oldest().is_some() {}
        self.out.clear();
        self.exchanges = 0;
        self.ending = Ending::No;
        self.refused = None;
        self.has_paused = false;
        self.is_touched = false;
        self.machine.begin(&mut self.out);
    }

    /// Whether it allocated little enough to serve another client.
    pub(super) fn is_worth_keeping(&self) -> bool {
        self.streams.slots() <= 256
    }

    /// Gives a stream its exchange.
    pub(super) fn open(&mut self, stream: u32, exchange: usize) {
        let key = self.streams.open(stream);
        self.streams[key].exchange = exchange as u32;
        self.streams[key].trailers.clear();
        self.exchanges += 1;
    }

    /// The exchange of a stream.
    #[inline]
    pub(super) fn exchange(&self, stream: u32) -> Option<usize> {
        self.of(self.streams.find(stream)?)
    }

    fn of(&self, key: Key) -> Option<usize> {
        let exchange = self.streams[key].exchange;
        (exchange != NONE).then_some(exchange as usize)
    }

    /// Removes the oldest stream, and gives its exchange if it has one.
    pub(super) fn take_oldest(&mut self) -> Option<Option<usize>> {
        let key = self.streams.oldest()?;
        let exchange = self.of(key);
        self.exchanges -= u32::from(exchange.is_some());
        self.streams.close(key);
        Some(exchange)
    }

    /// The exchanges, oldest first.
    pub(super) fn exchanges(&self) -> impl Iterator<Item = usize> {
        let mut next = self.streams.oldest();
        let keys = std::iter::from_fn(move || {
            let key = next?;
            next = self.streams.after(key);
            Some(key)
        });
        keys.filter_map(|key| self.of(key))
    }

    /// The client may send as many more bytes on a stream.
    pub(super) fn release(&mut self, stream: u32, bytes: usize) {
        self.machine.release(stream, bytes as u32, &mut self.out);
    }

    /// Whether a stream takes more of a response now; `queued_bytes` wait for the kernel.
    pub(super) fn has_room(&self, stream: u32, queued_bytes: usize, bytes_max: usize) -> bool {
        !self.machine.is_stalled(stream) && queued_bytes + self.out.len() <= bytes_max
    }

    /// Asks for the body that a client holds back.
    pub(super) fn send_continue(&mut self, stream: u32) {
        self.machine.send_head(stream, false, &mut self.out, |head| head.status(100));
    }

    /// Writes an answer of the proxy's own, which ends an exchange or comes in place of one.
    pub(super) fn refuse(&mut self, stream: u32, refusal: Refusal, is_head: bool) {
        if self.streams.find(stream).is_none() {
            let key = self.streams.open(stream);
            self.streams[key].exchange = NONE;
            self.streams[key].trailers.clear();
        }
        let answer = refusal_answer(refusal);
        let out = &mut self.out;
        self.machine.send_head(stream, is_head, out, |head| write_fields(&answer, head));
        if let (Content::Text(text), false) = (&answer.content, is_head) {
            self.machine.send(stream, Body::Bytes(text.bytes()), true, out);
        }
        self.leave(stream);
    }

    /// What a window had held back of a response has been sent. Gives the exchange that may go on.
    pub(super) fn resume(&mut self, stream: u32) -> Option<usize> {
        let key = self.streams.find(stream)?;
        if !self.streams[key].trailers.is_empty() {
            let trailers = std::mem::take(&mut self.streams[key].trailers);
            self.machine.send_trailers(stream, &mut self.out, |head| write_all(head, &trailers));
        }
        let exchange = self.of(key);
        if exchange.is_none() {
            self.leave(stream);
        }
        exchange
    }

    /// The exchange of a stream is over, and its response is written.
    pub(super) fn leave(&mut self, stream: u32) {
        let Some(key) = self.streams.find(stream) else { return };
        self.exchanges -= u32::from(self.streams[key].exchange != NONE);
        self.streams[key].exchange = NONE;
        if self.machine.is_stalled(stream) {
            return;
        }
        self.streams.close(key);
        // The rest of a request is not needed (RFC 9113 section 8.1). If it was whole, the stream
        // is closed by now.
        self.machine.reset(stream, ErrorCode::NO_ERROR, &mut self.out);
    }

    /// Gives a stream up.
    pub(super) fn reset(&mut self, stream: u32, code: ErrorCode) {
        self.machine.reset(stream, code, &mut self.out);
        self.forget(stream);
    }

    /// A stream is no more.
    pub(super) fn forget(&mut self, stream: u32) {
        if let Some(key) = self.streams.find(stream) {
            self.exchanges -= u32::from(self.streams[key].exchange != NONE);
            self.streams.close(key);
        }
    }

    /// Announces that no requests will be taken soon.
    pub(super) fn announce_end(&mut self) {
        if self.ending == Ending::No {
            self.ending = Ending::Announced;
            self.machine.go_away(LastStream::Announced, ErrorCode::NO_ERROR, &mut self.out);
        }
    }

    /// Takes no more requests.
    pub(super) fn end(&mut self) {
        if self.ending != Ending::Ended {
            self.ending = Ending::Ended;
            self.machine.go_away(LastStream::Opened, ErrorCode::NO_ERROR, &mut self.out);
        }
    }

    /// Whether it was ended, and all streams are closed.
    pub(super) fn is_over(&self) -> bool {
        self.ending == Ending::Ended && self.machine.open() == 0
    }

    /// What was written has been handed over.
    pub(super) fn empty(&mut self) {
        self.is_touched = false;
        self.out.clear();
        self.out.shrink_to(KEEP_BYTES_MAX);
    }
}

/// Writes fields that are there as lines behind an empty line.
fn write_all(head: &mut HeadWriter<'_>, lines: &[u8]) {
    Headers::of_head(lines).for_each(|(name, value)| head.passed_on(name.as_bytes(), value));
}
