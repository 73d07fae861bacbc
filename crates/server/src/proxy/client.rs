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
use std::ops::{Index, IndexMut};

use plimsoll_proto::http1::{Limits, RequestDecoder};
use plimsoll_proto::http2::ServerOptions;

use super::deadline::Deadline;
use super::http2::Http2;
use super::pace::Window;
use crate::connection::Spoken;

/// How many connections of HTTP/2 are kept for later clients.
const SPARE_MAX: usize = 64;

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

/// The clients of a worker, by index.
#[derive(Debug)]
pub(super) struct Clients {
    slots: Vec<Client>,
    limits: Limits,
    /// Those for which something was written over HTTP/2 in this turn, or whose connection may be
    /// over.
    touched: Vec<u32>,
    /// Connections of HTTP/2 without a client.
    #[expect(clippy::vec_box, reason = "a client holds the box, allocated once")]
    spare: Vec<Box<Http2>>,
}

impl Clients {
    pub(super) fn new(limits: Limits) -> Self {
        Self { slots: Vec::new(), limits, touched: Vec::new(), spare: Vec::new() }
    }

    /// How many slots there are.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Client> {
        self.slots.get(index)
    }

    /// A client has connected.
    pub(super) fn open(&mut self, index: usize, address: IpAddr) {
        while self.slots.len() <= index {
            self.slots.push(Client::free(self.limits));
        }
        self.slots[index].state = State::Reading;
        self.slots[index].address = address;
    }

    /// A client is gone: frees its slot.
    pub(super) fn close(&mut self, index: usize) {
        let http2 = self.slots[index].http2.take().filter(|http2| http2.is_worth_keeping());
        if self.spare.len() < SPARE_MAX {
            self.spare.extend(http2);
        }
        self.slots[index].clear();
    }

    /// A client turned out to speak HTTP/2: greets it.
    pub(super) fn begin_http2(&mut self, index: usize, options: ServerOptions) {
        let mut http2 = self.spare.pop().unwrap_or_else(|| Box::new(Http2::new(options)));
        http2.begin();
        let client = &mut self.slots[index];
        client.spoken = Spoken::Http2;
        client.state = State::Multiplexed;
        client.due.at_ns = u64::MAX;
        client.http2 = Some(http2);
    }

    /// The connection of a client that speaks HTTP/2, to write to it.
    #[inline]
    pub(super) fn http2(&mut self, index: usize) -> Option<&mut Http2> {
        let http2 = self.slots[index].http2.as_deref_mut()?;
        if !http2.is_touched {
            http2.is_touched = true;
            self.touched.push(index as u32);
        }
        Some(http2)
    }

    /// Takes one of those that were written to.
    #[inline]
    pub(super) fn take_touched(&mut self) -> Option<usize> {
        self.touched.pop().map(|index| index as usize)
    }

    /// Removes a stream that has an exchange from a connection, and gives that exchange.
    pub(super) fn take_stream(&mut self, index: usize) -> Option<usize> {
        let http2 = self.slots[index].http2.as_deref_mut()?;
        loop {
            if let Some(exchange) = http2.take_oldest()? {
                return Some(exchange);
            }
        }
    }
}

impl Index<usize> for Clients {
    type Output = Client;

    #[inline]
    fn index(&self, index: usize) -> &Client {
        &self.slots[index]
    }
}

impl IndexMut<usize> for Clients {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Client {
        &mut self.slots[index]
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
