//! A client's connection, and the state of its request.
//!
//! ```text
//!       head read        body, or enough of it    connection had       response complete
//!   Reading ──▶ Collecting ─────────────▶ Waiting ──────▶ Forwarding ─────────────▶ Reading
//!      │             │                       │                │
//!      │ refused, or an answer of our own    │                │ the last response
//!      ├─────────────┴───────────────────────┴─▶ Lingering    ├───▶ Closing ── Sent ──▶ closed
//!      │                  input is dropped until FIN or a time
//! ```
//!
//! The proxy collects a body before it takes an upstream connection. So a client that sends slowly
//! holds only memory, and no connection that others need, unless its body is longer than the
//! buffer.
//!
//! A connection has one request at a time. Bytes sent ahead of their turn are held up to a limit;
//! beyond it the proxy stops receiving. Between requests a connection holds no buffer.

use std::net::{IpAddr, Ipv4Addr};

use plimsoll_io::SocketId;
use plimsoll_proto::http1::{BodyLength, Limits, RequestDecoder};

use super::access_log::RequestLine;
use super::pace::{BodyTime, Window};

/// The state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: the slot is free.
    Free,
    /// Between requests, or within a head.
    Reading,
    /// Its request's body is being read; no upstream is involved yet.
    Collecting,
    /// Its request waits for an upstream connection: one is being opened, or the request is queued.
    Waiting,
    /// Its request is with an upstream.
    Forwarding,
    /// Input is dropped until the client closes or a time comes.
    Lingering,
    /// Input is dropped until what was sent is with the kernel.
    Closing,
}

/// The request being forwarded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    /// The upstream connection; `None` while the request is queued.
    pub(super) link: Option<SocketId>,
    /// The chosen upstream.
    pub(super) upstream: u8,
    /// Upstreams that could not be reached, as bits.
    pub(super) tried: u64,
    pub(super) hash: u64,
    /// Where to insert a Host field into the head; 0 if it has one.
    pub(super) host_at: u32,
    /// The length of the head that an upstream gets, without an inserted Host field.
    pub(super) head_bytes: u32,
    pub(super) minor_version: u8,
    pub(super) keep_alive: bool,
    pub(super) is_head: bool,
    pub(super) is_idempotent: bool,
    /// Whether its body is sent in chunks.
    pub(super) is_chunked: bool,
    /// Whether all of it was read.
    pub(super) is_read: bool,
    /// Whether it failed once on a connection that was already open.
    pub(super) was_failed: bool,
    /// Whether the last failed connect ran into its time limit.
    pub(super) timed_out: bool,
    /// Whether the response's head was sent to the client.
    pub(super) is_answered: bool,
    /// Whether the connection ends with the response.
    pub(super) is_last: bool,
    pub(super) started_ns: u64,
    /// When its time in queues is over, all its waits together; set when it first enters a queue.
    pub(super) queue_deadline_ns: Option<u64>,
}

impl Exchange {
    pub(super) const NONE: Self = Self {
        link: None,
        upstream: 0,
        tried: 0,
        hash: 0,
        host_at: 0,
        head_bytes: 0,
        minor_version: 1,
        keep_alive: true,
        is_head: false,
        is_idempotent: false,
        is_chunked: false,
        is_read: false,
        was_failed: false,
        timed_out: false,
        is_answered: false,
        is_last: false,
        started_ns: 0,
        queue_deadline_ns: None,
    };
}

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) decoder: RequestDecoder,
    pub(super) state: State,
    pub(super) address: IpAddr,
    pub(super) exchange: Exchange,
    /// The request's bytes as an upstream gets them, while they may have to be sent or sent again.
    pub(super) request: Vec<u8>,
    /// The part of the request's memory that counts towards the worker's limit.
    pub(super) charged_bytes: usize,
    /// Input held for later, from `held_at` on.
    pub(super) held: Vec<u8>,
    pub(super) held_at: usize,
    /// Counts requests that waited, so that stale entries of a queue are recognised.
    pub(super) ticket: u32,
    /// Whether it is in a queue.
    pub(super) is_queued: bool,
    /// Whether receiving from it is paused.
    pub(super) is_paused: bool,
    /// Whether a head has begun, so that its time limit runs.
    pub(super) is_timed: bool,
    /// Whether it has ended its side of the connection.
    pub(super) has_ended: bool,
    /// Whether the window is for the bytes queued for it, and not for its body.
    pub(super) is_taking: bool,
    /// How many bytes it has to send or to read, and by when.
    pub(super) window: Window,
    /// The time limits of a body that is being read.
    pub(super) body_time: BodyTime,
    /// Bytes received from it; wraps.
    pub(super) received_bytes: u64,
    /// Bytes handed over for sending to it, without TLS's own; wraps.
    pub(super) sent_bytes: u64,
    /// When it is due to be checked; `u64::MAX` for never.
    pub(super) deadline_ns: u64,
    /// When it will be checked, at the latest.
    pub(super) timer_ns: u64,
    pub(super) line: Option<Box<RequestLine>>,
}

impl Client {
    /// A free slot.
    pub(super) fn free(limits: Limits) -> Self {
        Self {
            decoder: RequestDecoder::new(limits),
            state: State::Free,
            address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            exchange: Exchange::NONE,
            request: Vec::new(),
            charged_bytes: 0,
            held: Vec::new(),
            held_at: 0,
            ticket: 0,
            is_queued: false,
            is_paused: false,
            is_timed: false,
            has_ended: false,
            is_taking: false,
            window: Window::NONE,
            body_time: BodyTime::NONE,
            received_bytes: 0,
            sent_bytes: 0,
            deadline_ns: u64::MAX,
            timer_ns: u64::MAX,
            line: None,
        }
    }

    /// Frees the slot and its memory.
    pub(super) fn clear(&mut self) {
        self.decoder.reset();
        self.state = State::Free;
        self.exchange = Exchange::NONE;
        self.request = Vec::new();
        self.held = Vec::new();
        self.held_at = 0;
        self.ticket = self.ticket.wrapping_add(1);
        self.is_queued = false;
        self.is_paused = false;
        self.is_timed = false;
        self.has_ended = false;
        self.is_taking = false;
        self.deadline_ns = u64::MAX;
        self.line = None;
    }

    /// Whether a request is under way.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.state, State::Collecting | State::Waiting | State::Forwarding)
    }

    /// Whether it is between two requests, and no byte of the next one has arrived.
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Reading && self.decoder.is_idle() && self.held.is_empty()
    }

    /// Begins an exchange from a head.
    #[inline]
    pub(super) fn begin(&mut self, exchange: Exchange, body: BodyLength) {
        self.exchange = Exchange { is_chunked: body == BodyLength::Chunked, ..exchange };
        self.state = State::Collecting;
        self.is_timed = false;
        self.is_taking = false;
        self.deadline_ns = u64::MAX;
    }

    /// Holds input for later.
    pub(super) fn hold(&mut self, input: &[u8]) {
        self.held.drain(..self.held_at);
        self.held_at = 0;
        self.held.extend_from_slice(input);
    }

    /// Bytes held.
    pub(super) fn held_bytes(&self) -> usize {
        self.held.len() - self.held_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_client_is_small() {
        assert!(size_of::<Client>() <= 448, "{} bytes", size_of::<Client>());
    }

    #[test]
    fn what_is_held_goes_on_from_where_it_was_read() {
        let mut client = Client::free(Limits::default());
        client.hold(b"abcdef");
        client.held_at = 4;
        client.hold(b"ghi");
        assert_eq!((client.held.as_slice(), client.held_at), (b"efghi".as_slice(), 0));
        assert_eq!(client.held_bytes(), 5);
    }
}
