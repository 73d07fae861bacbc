//! A request on its way to an upstream, and its response on the way back, whichever protocol the
//! client speaks.
//!
//! ```text
//!              body, or enough of it    connection had       response complete
//!   Collecting ─────────────▶ Waiting ──────▶ Forwarding ─────────────▶ free
//! ```
//!
//! The proxy collects a body before it takes an upstream connection. So a client that sends slowly
//! holds only memory, and no connection that others need, unless its body is longer than the
//! buffer.

use std::net::IpAddr;
use std::ops::{Index, IndexMut};

use plimsoll_io::SocketId;
use plimsoll_proto::http1::{self, BodyLength, RequestHead};

use super::access_log::RequestLine;
use super::deadline::Deadline;
use super::head::Written;
use super::pace::{BodyTime, Window};
use super::upstreams::{hash, mix};

/// How far an exchange is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: the slot is free.
    Free,
    /// The request's body is being read; no upstream is involved yet.
    Collecting,
    /// It waits for an upstream connection: one is being opened, or the request is queued.
    Waiting,
    /// It is with an upstream.
    Forwarding,
}

/// What a request's head says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Facts {
    pub(super) hash: u64,
    /// Where to insert a Host field into the head; 0 if it has one.
    pub(super) host_at: u32,
    /// The length of the head that an upstream gets, without an inserted Host field.
    pub(super) head_bytes: u32,
    /// Of HTTP/1; 1 over HTTP/2.
    pub(super) minor_version: u8,
    pub(super) keep_alive: bool,
    pub(super) is_head: bool,
    pub(super) is_idempotent: bool,
}

impl Facts {
    /// What is known of a request from its head.
    #[inline]
    pub(super) fn of(
        head: &RequestHead<'_>,
        written: Written,
        client: IpAddr,
        hashed_field: Option<&str>,
    ) -> Self {
        let address_hash = || match client.to_canonical() {
            IpAddr::V4(address) => hash(&address.octets()),
            IpAddr::V6(address) => hash(&address.octets()),
        };
        let field_hash = |name: &str| {
            let mut fields = head.headers();
            fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| hash(value))
        };
        Self {
            hash: mix(hashed_field.and_then(field_hash).unwrap_or_else(address_hash)),
            host_at: written.host_at,
            head_bytes: 0,
            minor_version: head.minor_version,
            keep_alive: head.keep_alive,
            is_head: written.is_head,
            is_idempotent: written.is_idempotent,
        }
    }
}

/// An exchange.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) state: State,
    /// The client's connection.
    pub(super) client: u32,
    /// Its stream of HTTP/2; 0 over HTTP/1.
    pub(super) stream: u32,
    /// What its request's head says.
    pub(super) facts: Facts,
    /// The upstream connection; `None` while the request is queued.
    pub(super) link: Option<SocketId>,
    /// The chosen upstream.
    pub(super) upstream: u8,
    /// Upstreams that could not be reached, as bits.
    pub(super) tried: u64,
    /// Whether its body is sent in chunks.
    pub(super) is_chunked: bool,
    /// Whether all of the request was read.
    pub(super) is_read: bool,
    /// Whether it failed once on a connection that was already open.
    pub(super) was_failed: bool,
    /// Whether the last failed connect ran into its time limit.
    pub(super) timed_out: bool,
    /// Whether the response's head was sent to the client.
    pub(super) is_answered: bool,
    /// Whether an HTTP/1 connection ends with the response.
    pub(super) is_last: bool,
    pub(super) started_ns: u64,
    /// When its time in queues is over, all its waits together; set when it first enters a queue.
    pub(super) queue_deadline_ns: Option<u64>,
    /// The request's bytes as an upstream gets them, while they may have to be sent or sent again.
    pub(super) request: Vec<u8>,
    /// The part of the request's memory that counts towards the worker's limit.
    pub(super) charged_bytes: usize,
    /// Counts requests that waited, so that stale entries of a queue are recognised.
    pub(super) ticket: u32,
    /// Whether it is in a queue.
    pub(super) is_queued: bool,
    /// What came of the body on a stream of HTTP/2 and has to wait for its upstream. The client has
    /// no new room for it yet.
    pub(super) held: Vec<u8>,
    /// Whether the request ends behind what is held.
    pub(super) ends_held: bool,
    /// The request's trailers as lines, if they can be sent on.
    pub(super) trailers: Vec<u8>,
    /// Whether the window is for what its stream holds back, and not for its body.
    pub(super) is_stalled: bool,
    /// How many bytes the client has to send or to take, and by when.
    pub(super) window: Window,
    /// The time limits of a body that is being read.
    pub(super) body_time: BodyTime,
    /// Bytes received for it; wraps.
    pub(super) received_bytes: u64,
    /// When it is due to be checked.
    pub(super) due: Deadline,
    pub(super) line: Option<Box<RequestLine>>,
}

impl Exchange {
    fn free() -> Self {
        Self {
            state: State::Free,
            client: 0,
            stream: 0,
            facts: Facts::default(),
            link: None,
            upstream: 0,
            tried: 0,
            is_chunked: false,
            is_read: false,
            was_failed: false,
            timed_out: false,
            is_answered: false,
            is_last: false,
            started_ns: 0,
            queue_deadline_ns: None,
            request: Vec::new(),
            charged_bytes: 0,
            ticket: 0,
            is_queued: false,
            held: Vec::new(),
            ends_held: false,
            trailers: Vec::new(),
            is_stalled: false,
            window: Window::NONE,
            body_time: BodyTime::NONE,
            received_bytes: 0,
            due: Deadline::NONE,
            line: None,
        }
    }

    /// Begins with a head, which is written.
    #[inline]
    pub(super) fn begin(&mut self, now_ns: u64, facts: Facts, body: BodyLength) {
        self.facts = facts;
        self.is_chunked = body == BodyLength::Chunked;
        self.started_ns = now_ns;
    }

    /// Bytes of the body that were collected, with their framing.
    #[inline]
    pub(super) fn collected_bytes(&self) -> usize {
        self.request.len() - self.facts.head_bytes as usize
    }
}

/// Writes a piece of a request's body in its framing.
#[inline]
pub(super) fn write_piece(out: &mut Vec<u8>, is_chunked: bool, piece: &[u8]) {
    match is_chunked {
        true => http1::write_chunk(out, piece),
        false => out.extend_from_slice(piece),
    }
}

/// Writes what ends a body in chunks: `trailers` are lines.
pub(super) fn write_last_chunk(out: &mut Vec<u8>, trailers: &[u8]) {
    if trailers.is_empty() {
        return http1::write_last_chunk(out);
    }
    out.extend_from_slice(b"0\r\n");
    out.extend_from_slice(trailers);
    out.extend_from_slice(b"\r\n");
}

/// How many buffers are kept for later requests.
const BUFFERS_MAX: usize = 256;
/// A buffer that grew beyond this is not kept.
const BUFFER_BYTES_MAX: usize = 64 << 10;

/// The exchanges of a worker, and the memory of their requests. Slots are used again.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    slots: Vec<Exchange>,
    free: Vec<u32>,
    /// Memory of the requests that are, or were, collected.
    pub(super) buffered_bytes: usize,
    /// Buffers for later requests, the one used last at the end.
    buffers: Vec<Vec<u8>>,
}

impl Exchanges {
    /// Opens one. The slot used last is used first.
    #[inline]
    pub(super) fn open(&mut self, client: usize, stream: u32) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Exchange::free());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        let (ticket, due) = (slot.ticket, slot.due);
        *slot = Exchange {
            state: State::Collecting,
            client: client as u32,
            stream,
            ticket,
            due,
            ..Exchange::free()
        };
        index as usize
    }

    /// A buffer for a request.
    #[inline]
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Counts a request's memory.
    pub(super) fn charge(&mut self, index: usize) {
        let exchange = &mut self.slots[index];
        self.buffered_bytes += exchange.request.capacity() - exchange.charged_bytes;
        exchange.charged_bytes = exchange.request.capacity();
    }

    /// Takes back the memory of a request.
    #[inline]
    pub(super) fn recycle(&mut self, index: usize) {
        let exchange = &mut self.slots[index];
        self.buffered_bytes -= std::mem::take(&mut exchange.charged_bytes);
        let mut buffer = std::mem::take(&mut exchange.request);
        let is_worth_it = (1..=BUFFER_BYTES_MAX).contains(&buffer.capacity());
        if is_worth_it && self.buffers.len() < BUFFERS_MAX {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    /// Closes one that has no upstream connection any more.
    #[inline]
    pub(super) fn close(&mut self, index: usize) {
        self.recycle(index);
        let slot = &mut self.slots[index];
        slot.state = State::Free;
        slot.ticket = slot.ticket.wrapping_add(1);
        slot.due.at_ns = u64::MAX;
        slot.line = None;
        if slot.held.capacity() > 0 {
            slot.held = Vec::new();
        }
        self.free.push(index as u32);
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Exchange> {
        self.slots.get(index)
    }
}

impl Index<usize> for Exchanges {
    type Output = Exchange;

    #[inline]
    fn index(&self, index: usize) -> &Exchange {
        &self.slots[index]
    }
}

impl IndexMut<usize> for Exchanges {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Exchange {
        &mut self.slots[index]
    }
}
