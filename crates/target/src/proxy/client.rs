//! A client's connection, and what is known of its request.
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
//! A body is collected before an upstream connection is taken, so that a client that is slow to
//! send holds memory and nothing that others need; only one longer than the buffer holds more.
//!
//! One request at a time: what is sent ahead of its turn is held, up to a limit, then not received.
//! Between requests a connection holds no buffer.

use std::net::{IpAddr, Ipv4Addr};

use plimsoll_io::Token;
use plimsoll_proto::http1::{BodyLength, Limits, RequestDecoder};

use super::log::RequestLine;
use super::pace::{BodyTime, Window};

/// What a client is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: the slot is free.
    Free,
    /// Between requests, or within a head.
    Reading,
    /// Its request's body is read; no upstream has to do with it yet.
    Collecting,
    /// Its request is to have an upstream connection: one is being opened, or it is in a queue.
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
    /// The upstream connection; of a request in a queue, none.
    pub(super) link: Option<Token>,
    /// Which upstream was chosen.
    pub(super) upstream: u8,
    /// Upstreams that could not be reached, as bits.
    pub(super) tried: u64,
    pub(super) hash: u64,
    /// Where a Host field belongs in the head; 0 if one is there.
    pub(super) host_at: u32,
    /// The length of the head that an upstream gets, without such a Host field.
    pub(super) head_bytes: u32,
    pub(super) minor_version: u8,
    pub(super) keep_alive: bool,
    pub(super) is_head: bool,
    pub(super) is_idempotent: bool,
    /// Its body is sent in chunks.
    pub(super) is_chunked: bool,
    /// All of it was read.
    pub(super) is_read: bool,
    /// A connection that was open already failed it once.
    pub(super) was_failed: bool,
    /// The last connect that failed took too long.
    pub(super) timed_out: bool,
    /// The response's head went to the client.
    pub(super) is_answered: bool,
    /// The connection ends with the response.
    pub(super) is_last: bool,
    pub(super) started_ns: u64,
    /// When its time in queues is over, once it was in one; of all its waits together.
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
    /// The request's bytes as an upstream gets them, while they may have to be sent (again).
    pub(super) request: Vec<u8>,
    /// The request's memory, as far as it counts against the limit for all.
    pub(super) charged_bytes: usize,
    /// Input for later, from `held_at` on.
    pub(super) held: Vec<u8>,
    pub(super) held_at: usize,
    /// Counts requests that waited, so that what a queue knows of one is recognised as old.
    pub(super) ticket: u32,
    /// Whether it is in a queue.
    pub(super) is_queued: bool,
    /// Not received from.
    pub(super) is_paused: bool,
    /// A head has begun, and its time runs.
    pub(super) is_timed: bool,
    /// It sends no more.
    pub(super) has_ended: bool,
    /// It has to take what is queued for it, and the window is for that.
    pub(super) is_taking: bool,
    /// How much it has to send of a body, or to take, and by when.
    pub(super) window: Window,
    /// The times of a body that is read.
    pub(super) body_time: BodyTime,
    /// Bytes received from it; wraps.
    pub(super) received_bytes: u64,
    /// Bytes handed over to be sent to it, but for TLS's own; wraps.
    pub(super) sent_bytes: u64,
    /// When it has to be looked at; `u64::MAX` for never.
    pub(super) deadline_ns: u64,
    /// When it will be looked at, at the latest.
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

    /// Whether it stands between two requests, with nothing of the next one here.
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Reading && self.decoder.is_idle() && self.held.is_empty()
    }

    /// Begins an exchange with what a head says.
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
