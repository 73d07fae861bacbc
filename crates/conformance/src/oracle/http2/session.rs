//! A connection of HTTP/2: reads frames, keeps the streams, and does what is due on them.

use std::collections::BTreeMap;

use super::code;
use super::flow::{CONNECTION_WINDOW_BYTES, WINDOW_BYTES};
use super::frame::{self, Head};
use super::hpack::{Decoder, Field};
use crate::oracle::call::{self, Messages};
use crate::oracle::clock_ns;
use crate::oracle::connection::Output;
use crate::oracle::log::{CallEntry, Entry, Log, Side};
use crate::oracle::mode::{Act, Answer};
use crate::oracle::output::Outbox;
use crate::oracle::server::hash;
use crate::oracle::session::Next;
use crate::oracle::shared::{Due, Shared};
use crate::oracle::wire::Wire;

/// Payloads that the oracle takes.
const FRAME_MAX: usize = 16_384;
/// Bytes of a header block, with its continuations.
const BLOCK_MAX: usize = 1 << 18;
/// How long a tester has to leave after GOAWAY.
const LEAVE_NS: u64 = 1_000_000_000;
/// What tells the answer to the oracle's own PING.
const PING: [u8; 8] = *b"goodbye!";

/// Something that is due on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::oracle) enum Timer {
    /// What was held back with the SETTINGS leaves.
    Greet,
    /// A stream is answered.
    Answer(u32),
    /// The next message of a stream's answer leaves.
    Message(u32),
    /// The tester gets back the window of a stream.
    OpenWindow(u32),
    /// The tester's WINDOW_UPDATE for this stream of this many bytes counts.
    Heard(u32, u32),
    /// The connection is closed after GOAWAY.
    Leave,
}

/// A stream that is open.
pub(super) struct Stream {
    /// The request's number in the log.
    pub entry: usize,
    pub answer: Answer,
    /// Whether only the head of the answer is asked for.
    pub head_only: bool,
    /// Whether the request is whole.
    pub has_ended: bool,
    /// The messages of the request, where it is a call of gRPC.
    pub messages: Messages,
    /// What is left of the answer, once it was begun.
    pub rest: Option<super::answer::Rest>,
    /// What the oracle may send on it, bytes.
    pub window: i64,
    /// What the tester may still send on it, bytes.
    pub window_in: i64,
    /// What of that it has used and not been given back.
    pub used: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goodbye {
    No,
    /// Said, and not yet which stream is the last.
    Said,
    /// Streams above this one are refused.
    Last(u32),
}

/// A connection.
pub(in crate::oracle) struct Session {
    /// Its slot, and its number in the log.
    pub(super) slot: usize,
    pub(super) connection: usize,
    decoder: Decoder,
    /// A header block that is not whole: the head of its first frame, and its bytes.
    block: Option<(Head, Vec<u8>)>,
    pub(super) streams: BTreeMap<u32, Stream>,
    pub(super) out: Outbox,
    /// Whether nothing leaves yet.
    is_held: bool,
    /// The highest stream of the tester, and how many there were.
    last: u32,
    opened: u32,
    goodbye: Goodbye,
    pub(super) answers: u32,
    /// What the oracle may send, bytes, and how much each payload holds.
    pub(super) window: i64,
    pub(super) frame_max: usize,
    pub(super) stream_window: i64,
    /// What the tester has used of the connection's window and not been given back.
    pub(super) used: u32,
    bytes_in: u64,
}

impl Session {
    /// A connection whose preface was read.
    pub(in crate::oracle) fn new(slot: usize, connection: usize, shared: &mut Shared) -> Self {
        let mode = &shared.mode.http2;
        let mut out = Outbox::default();
        let settings = [(3, mode.streams_max), (4, mode.window_bytes)];
        frame::put_settings(&mut out.bytes, &settings);
        frame::put_window(&mut out.bytes, 0, CONNECTION_WINDOW_BYTES);
        let delay_ns = mode.settings_delay_ns;
        if delay_ns > 0 {
            let due = Due::Session(slot, connection, Timer::Greet.into());
            shared.remind(clock_ns() + delay_ns, due);
        }
        shared.log.connections[connection].is_http2 = true;
        Self {
            slot,
            connection,
            decoder: Decoder::default(),
            block: None,
            streams: BTreeMap::new(),
            out,
            is_held: delay_ns > 0,
            last: 0,
            opened: 0,
            goodbye: Goodbye::No,
            answers: 0,
            window: i64::from(WINDOW_BYTES),
            frame_max: FRAME_MAX,
            stream_window: i64::from(WINDOW_BYTES),
            used: 0,
            bytes_in: frame::PREFACE.len() as u64,
        }
    }

    /// Takes the whole frames out of what was read.
    pub(in crate::oracle) fn receive(&mut self, input: &mut Vec<u8>, shared: &mut Shared) -> Next {
        let mut taken = 0;
        let mut next = Next::Open;
        while let Some(head) = Head::read(&input[taken..]).filter(|_| next == Next::Open) {
            let from = taken + frame::HEAD_BYTES;
            if head.length > FRAME_MAX {
                next = self.broken(code::FRAME_SIZE, shared);
                break;
            }
            let Some(payload) = input.get(from..from + head.length) else { break };
            next =
                self.frame(head, payload, shared).unwrap_or_else(|code| self.broken(code, shared));
            taken = from + head.length;
        }
        self.bytes_in += taken as u64;
        shared.log.connections[self.connection].bytes_in = self.bytes_in;
        input.drain(..taken);
        next
    }

    /// Does what is due.
    pub(in crate::oracle) fn timer(&mut self, timer: Timer, shared: &mut Shared) -> Next {
        match timer {
            Timer::Greet => self.is_held = false,
            Timer::Answer(stream) => return self.answer(stream, shared),
            Timer::Message(stream) => self.next_message(stream, shared),
            Timer::OpenWindow(id) => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    frame::put_window(&mut self.out.bytes, id, stream.used);
                    stream.window_in += i64::from(std::mem::take(&mut stream.used));
                }
            }
            Timer::Heard(stream, bytes) => self.widen(stream, bytes, shared),
            Timer::Leave if self.streams.is_empty() => return Next::Close,
            Timer::Leave => self.remind(LEAVE_NS, Timer::Leave, shared),
        }
        Next::Open
    }

    /// Writes what may leave.
    pub(in crate::oracle) fn write(&mut self, stream: &mut Wire, log: &mut Log) -> Output {
        if self.is_held {
            return Output::Done(0);
        }
        let output = self.out.write(stream, log);
        log.connections[self.connection].bytes_out = self.out.total();
        output
    }

    pub(super) fn remind(&self, in_ns: u64, timer: Timer, shared: &mut Shared) {
        let due = Due::Session(self.slot, self.connection, timer.into());
        shared.remind(clock_ns() + in_ns, due);
    }

    /// The tester broke the protocol: that is logged and said, and it is the end.
    fn broken(&mut self, code: u32, shared: &mut Shared) -> Next {
        shared.log.connections[self.connection].broke = code;
        frame::put_goaway(&mut self.out.bytes, self.last, code);
        Next::Close
    }

    /// A frame; an error is its code.
    fn frame(&mut self, head: Head, payload: &[u8], shared: &mut Shared) -> Result<Next, u32> {
        if self.block.is_some() != (head.kind == frame::CONTINUATION) {
            return Err(code::PROTOCOL);
        }
        match head.kind {
            frame::DATA => return self.data(head, payload, shared),
            frame::HEADERS => {
                let block = head.content(payload).ok_or(code::PROTOCOL)?;
                return self.block(head, block.to_vec(), head.flags, shared);
            }
            frame::CONTINUATION => {
                let (first, mut block) = self.block.take().ok_or(code::PROTOCOL)?;
                block.extend_from_slice(payload);
                if first.stream != head.stream || block.len() > BLOCK_MAX {
                    return Err(code::PROTOCOL);
                }
                let first = Head { length: first.length + 9 + head.length, ..first };
                return self.block(first, block, head.flags, shared);
            }
            frame::RST_STREAM => {
                let code = u32::from_be_bytes(payload.try_into().map_err(|_| code::FRAME_SIZE)?);
                if let Some(stream) = self.streams.remove(&head.stream) {
                    shared.reset(stream.entry, Side::Tester, code);
                }
            }
            frame::SETTINGS if !head.has(frame::ACK) => self.settings(payload, shared),
            frame::PING => {
                let payload: [u8; 8] = payload.try_into().map_err(|_| code::FRAME_SIZE)?;
                if !head.has(frame::ACK) {
                    frame::put(&mut self.out.bytes, frame::PING, frame::ACK, 0, &payload);
                } else if payload == PING && self.goodbye == Goodbye::Said {
                    self.leave(self.last, shared);
                }
            }
            frame::WINDOW_UPDATE => {
                let bytes = u32::from_be_bytes(payload.try_into().map_err(|_| code::FRAME_SIZE)?);
                match shared.mode.http2.updates_heard_ns {
                    0 => self.widen(head.stream, bytes, shared),
                    heard_ns => self.remind(heard_ns, Timer::Heard(head.stream, bytes), shared),
                }
            }
            // Priorities, what a client may not push, its goodbye, and what nobody knows.
            _ => {}
        }
        Ok(Next::Open)
    }

    /// A header block as far as it is there.
    fn block(
        &mut self,
        head: Head,
        block: Vec<u8>,
        flags: u8,
        shared: &mut Shared,
    ) -> Result<Next, u32> {
        if flags & frame::END_HEADERS == 0 {
            self.block = Some((head, block));
            return Ok(Next::Open);
        }
        let fields = self.decoder.block(&block).ok_or(code::COMPRESSION)?;
        let is_end = head.has(frame::END_STREAM);
        if head.stream <= self.last {
            // Trailers, or what came after the stream was reset.
            return Ok(if is_end { self.request_ended(head.stream, shared) } else { Next::Open });
        }
        if head.stream.is_multiple_of(2) {
            return Err(code::PROTOCOL);
        }
        (self.last, self.opened) = (head.stream, self.opened + 1);
        let entry = self.entry(head, &block, &fields);
        let next = self.open(entry, &fields, shared);
        let next = match next {
            Next::Open if is_end => self.request_ended(head.stream, shared),
            other => other,
        };
        if self.opened == shared.mode.http2.goaway_every {
            self.say_goodbye(shared);
        }
        Ok(next)
    }

    fn entry(&self, head: Head, block: &[u8], fields: &[Field]) -> Entry {
        let now_ns = clock_ns();
        let call = call::is_call(field(fields, b"content-type")).then(|| CallEntry {
            timeout_ns: call::timeout_ns(field(fields, b"grpc-timeout")).unwrap_or(0),
            ..CallEntry::default()
        });
        Entry {
            opened_ns: now_ns,
            received_ns: now_ns,
            connection: self.connection as u32,
            bytes_in: (frame::HEAD_BYTES + head.length) as u32,
            path: hash(field(fields, b":path")),
            stream: head.stream,
            open: self.streams.len() as u32 + 1,
            header_bytes_in: block.len() as u32,
            call,
            ..Entry::default()
        }
    }

    /// A new stream: it is refused, or the mode says what becomes of it.
    fn open(&mut self, entry: Entry, fields: &[Field], shared: &mut Shared) -> Next {
        let (id, open) = (entry.stream, entry.open);
        let Some((entry, answer)) = shared.request(entry, self.answers) else { return Next::Close };
        if matches!(self.goodbye, Goodbye::Last(last) if id > last) {
            shared.reset(entry, Side::Oracle, code::REFUSED_STREAM);
            return Next::Open;
        }
        if open > shared.mode.http2.streams_max {
            frame::put_reset(&mut self.out.bytes, id, code::REFUSED_STREAM);
            shared.reset(entry, Side::Oracle, code::REFUSED_STREAM);
            return Next::Open;
        }
        let most = &mut shared.log.connections[self.connection].open_max;
        *most = open.max(*most);
        // Until it has the SETTINGS, a tester has the standard's window.
        let window_in = WINDOW_BYTES.max(shared.mode.http2.window_bytes);
        let stream = Stream {
            entry,
            answer,
            head_only: field(fields, b":method") == b"HEAD",
            has_ended: false,
            messages: Messages::default(),
            rest: None,
            window: self.stream_window,
            window_in: i64::from(window_in),
            used: 0,
        };
        self.streams.insert(id, stream);
        if answer.act == Act::Early { self.answer(id, shared) } else { Next::Open }
    }

    /// A request is whole: its answer is due now or later.
    pub(super) fn request_ended(&mut self, id: u32, shared: &mut Shared) -> Next {
        let Some(stream) = self.streams.get_mut(&id) else { return Next::Open };
        stream.has_ended = true;
        let (entry, answer) = (stream.entry, stream.answer);
        let now_ns = clock_ns();
        shared.log.entries[entry].received_ns = now_ns;
        if answer.act == Act::Early {
            // Its answer was begun when its head came.
            return Next::Open;
        }
        let due_ns = shared.due_ns(answer, now_ns);
        if answer.act == Act::Hang {
            return Next::Open;
        }
        if due_ns <= now_ns {
            return self.answer(id, shared);
        }
        let due = Due::Session(self.slot, self.connection, Timer::Answer(id).into());
        shared.remind(due_ns, due);
        Next::Open
    }

    fn say_goodbye(&mut self, shared: &mut Shared) {
        let above = shared.mode.http2.goaway_above;
        if above == 0 {
            self.goodbye = Goodbye::Said;
            // What is under way towards the oracle still counts (RFC 9113 6.8).
            frame::put_goaway(&mut self.out.bytes, 0x7fff_ffff, code::NO_ERROR);
            frame::put(&mut self.out.bytes, frame::PING, 0, 0, &PING);
            return;
        }
        let newest = self.streams.keys().rev().copied();
        let refused: Vec<u32> = newest.take(above as usize).collect();
        for id in &refused {
            if let Some(stream) = self.streams.remove(id) {
                shared.reset(stream.entry, Side::Oracle, code::REFUSED_STREAM);
            }
        }
        let below = refused.last().map_or(self.last, |lowest| lowest.saturating_sub(2));
        self.leave(below, shared);
    }

    /// Says which stream is the last, and gives the tester time to go.
    fn leave(&mut self, last: u32, shared: &mut Shared) {
        self.goodbye = Goodbye::Last(last);
        frame::put_goaway(&mut self.out.bytes, last, code::NO_ERROR);
        self.remind(LEAVE_NS, Timer::Leave, shared);
    }
}

/// The value of a field; nothing where it is missing.
fn field<'a>(fields: &'a [Field], name: &[u8]) -> &'a [u8] {
    fields.iter().find(|field| field.0 == name).map_or(&[], |field| field.1.as_slice())
}
