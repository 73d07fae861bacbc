//! A connection to an upstream, and the state of the response on it.
//!
//! ```text
//!            connected         TLS agreed            request sent        response complete
//!   Connecting ──▶ Handshaking ──▶ (given its request) ──▶ Busy ──────────────────▶ Idle
//!        ▲                                                   ▲                        │
//!        └── opened for a request                            └── next request ────────┘
//! ```

use plimsoll_proto::http1::{Limits, ResponseDecoder};

use super::deadline::Deadline;
use super::head::Body;

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: there is no body.
    Free,
    Connecting,
    Handshaking,
    /// It has no request.
    Idle,
    /// It has one.
    Busy,
}

/// A connection to an upstream.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) decoder: ResponseDecoder,
    pub(super) state: State,
    pub(super) upstream: u8,
    /// Counts the connections that have used this slot.
    pub(super) uses: u32,
    /// The exchange whose request it has, or is opened for.
    pub(super) exchange: u32,
    /// Bytes of the request given to the driver. The number is kept small, because only zero or not
    /// matters.
    pub(super) sent_bytes: usize,
    /// Whether it had a request before this one.
    pub(super) is_reused: bool,
    /// Whether the first byte of the response has arrived.
    pub(super) has_begun: bool,
    /// How the response's body is framed for a client of HTTP/1.
    pub(super) body: Body,
    /// Whether receiving from it is paused.
    pub(super) is_paused: bool,
    pub(super) status: u16,
    /// How long the response's body is, if its head says so.
    pub(super) length_bytes: Option<u64>,
    pub(super) body_bytes: u64,
    /// Bytes queued for it when the time limit for progress began.
    pub(super) stuck_bytes: usize,
    /// When it is due to be checked.
    pub(super) due: Deadline,
}

impl Link {
    /// A slot without a connection.
    pub(super) fn free(upstream: u8, limits: Limits) -> Self {
        Self {
            decoder: ResponseDecoder::new(limits).keeping_trailers(),
            state: State::Free,
            upstream,
            uses: 0,
            exchange: 0,
            sent_bytes: 0,
            is_reused: false,
            has_begun: false,
            body: Body::Plain,
            is_paused: false,
            status: 0,
            length_bytes: None,
            body_bytes: 0,
            stuck_bytes: 0,
            due: Deadline::NONE,
        }
    }

    /// Frees the slot.
    pub(super) fn clear(&mut self) {
        self.decoder.reset();
        self.state = State::Free;
        self.uses = self.uses.wrapping_add(1);
        self.is_reused = false;
        self.is_paused = false;
        self.due.at_ns = u64::MAX;
    }

    /// Takes a request.
    #[inline]
    pub(super) fn begin(&mut self, exchange: usize) {
        self.state = State::Busy;
        self.exchange = exchange as u32;
        self.sent_bytes = 0;
        self.has_begun = false;
        self.body = Body::Plain;
        self.status = 0;
        self.length_bytes = None;
        self.body_bytes = 0;
    }

    /// Its exchange and its upstream.
    #[inline]
    pub(super) fn owner(&self) -> (usize, usize) {
        (self.exchange as usize, usize::from(self.upstream))
    }
}
