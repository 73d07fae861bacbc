//! A connection to an upstream, and the state of the response on it.
//!
//! ```text
//!            connected         TLS agreed            request sent        response complete
//!   Connecting ──▶ Handshaking ──▶ (given its request) ──▶ Busy ──────────────────▶ Idle
//!        ▲                                                   ▲                        │
//!        └── opened for a request                            └── next request ────────┘
//! ```

use plimsoll_proto::http1::{Limits, ResponseDecoder};

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
    /// The client whose request it has, or is opened for.
    pub(super) client: u32,
    /// Bytes of the request given to the driver. The number is kept small, because only zero or not
    /// matters.
    pub(super) sent_bytes: usize,
    /// Whether it had a request before this one.
    pub(super) is_reused: bool,
    /// Whether the first byte of the response has arrived.
    pub(super) has_begun: bool,
    /// How the response's body is framed for the client.
    pub(super) body: Body,
    /// Whether receiving from it is paused.
    pub(super) is_paused: bool,
    pub(super) status: u16,
    pub(super) body_bytes: u64,
    /// Bytes queued for it when the time limit for progress began.
    pub(super) stuck_bytes: usize,
    /// When it is due to be checked; `u64::MAX` for never.
    pub(super) deadline_ns: u64,
    /// When it will be checked, at the latest.
    pub(super) timer_ns: u64,
}

impl Link {
    /// A slot without a connection.
    pub(super) fn free(upstream: u8, limits: Limits) -> Self {
        Self {
            decoder: ResponseDecoder::new(limits),
            state: State::Free,
            upstream,
            uses: 0,
            client: 0,
            sent_bytes: 0,
            is_reused: false,
            has_begun: false,
            body: Body::Plain,
            is_paused: false,
            status: 0,
            body_bytes: 0,
            stuck_bytes: 0,
            deadline_ns: u64::MAX,
            timer_ns: u64::MAX,
        }
    }

    /// Frees the slot.
    pub(super) fn clear(&mut self) {
        self.decoder.reset();
        self.state = State::Free;
        self.uses = self.uses.wrapping_add(1);
        self.is_reused = false;
        self.is_paused = false;
        self.deadline_ns = u64::MAX;
    }

    /// Takes a client's request.
    #[inline]
    pub(super) fn begin(&mut self, client: u32) {
        self.state = State::Busy;
        self.client = client;
        self.sent_bytes = 0;
        self.has_begun = false;
        self.body = Body::Plain;
        self.status = 0;
        self.body_bytes = 0;
    }
}
