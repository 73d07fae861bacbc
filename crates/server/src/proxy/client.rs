//! A client's connection. What it asks for is in `exchange`.
//!
//! ```text
//!            a head of HTTP/1 read      response complete
//!   Reading ─────────▶ Busy ──────────────────▶ Reading
//!      │ │               │
//!      │ │ refused, or   │ an answer of our own, or the last response
//!      │ ├───────────────┴──────────────▶ Lingering ───▶ Closing ── Sent ──▶ closed
//!      │ │           input is dropped until FIN or a time   ▲
//!      │ └── the preface of HTTP/2 ──▶ Multiplexed ─────────┘
//!      │                                 broken, given up, or going away and done
//! ```
//!
//! Over HTTP/1 a connection has one request at a time. Bytes sent ahead of their turn are held up
//! to a limit; beyond it the proxy stops receiving. Between requests a connection holds no buffer.

use std::net::{IpAddr, Ipv4Addr};

use plimsoll_proto::http1::{Limits, RequestDecoder};

use super::deadline::Deadline;
use super::http2::Http2;
use super::pace::Window;
use crate::connection::Spoken;

/// The state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: the slot is free.
    Free,
    /// Between requests, or within a head.
    Reading,
    /// It has a request of HTTP/1.
    Busy,
    /// It speaks HTTP/2.
    Multiplexed,
    /// Input is dropped until the client closes or a time comes.
    Lingering,
    /// Input is dropped until what was sent is with the kernel.
    Closing,
}

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) decoder: RequestDecoder,
    pub(super) http2: Option<Box<Http2>>,
    pub(super) spoken: Spoken,
    pub(super) state: State,
    pub(super) address: IpAddr,
    /// The exchange of a busy connection.
    pub(super) exchange: u32,
    /// Input held for later, from `held_at` on.
    pub(super) held: Vec<u8>,
    pub(super) held_at: usize,
    /// Whether receiving from it is paused.
    pub(super) is_paused: bool,
    /// Whether a head has begun, so that its time limit runs.
    pub(super) is_timed: bool,
    /// Whether it has ended its side of the connection.
    pub(super) has_ended: bool,
    /// Whether it has to take what is queued for it.
    pub(super) is_taking: bool,
    /// How many bytes of that, and by when.
    pub(super) window: Window,
    /// Bytes handed over for sending to it, without TLS's own; wraps.
    pub(super) sent_bytes: u64,
    /// When it is due to be checked.
    pub(super) due: Deadline,
}

impl Client {
    /// A free slot.
    pub(super) fn free(limits: Limits) -> Self {
        Self {
            decoder: RequestDecoder::new(limits),
            http2: None,
            spoken: Spoken::Unknown(0),
            state: State::Free,
            address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            exchange: 0,
            held: Vec::new(),
            held_at: 0,
            is_paused: false,
            is_timed: false,
            has_ended: false,
            is_taking: false,
            window: Window::NONE,
            sent_bytes: 0,
            due: Deadline::NONE,
        }
    }

    /// Frees the slot and its memory.
    pub(super) fn clear(&mut self) {
        self.decoder.reset();
        self.spoken = Spoken::Unknown(0);
        self.state = State::Free;
        self.held = Vec::new();
        self.held_at = 0;
        self.is_paused = false;
        self.is_timed = false;
        self.has_ended = false;
        self.is_taking = false;
        self.due.at_ns = u64::MAX;
    }

    /// Whether its bytes are still looked at.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Reading | State::Busy | State::Multiplexed)
    }

    /// Whether it is between two requests, and no byte of the next one has arrived.
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Reading && self.decoder.is_idle() && self.held.is_empty()
    }

    /// Takes a request of HTTP/1.
    #[inline]
    pub(super) fn begin(&mut self, exchange: usize) {
        self.exchange = exchange as u32;
        self.state = State::Busy;
        self.is_timed = false;
        self.is_taking = false;
        self.due.at_ns = u64::MAX;
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
        assert!(size_of::<Client>() <= 320, "{} bytes", size_of::<Client>());
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
