//! What a connection speaks that has more than one thing going on at a time: HTTP/2, or the frames
//! of a WebSocket. A connection of HTTP/1 has none of this.

use super::connection::Output;
use super::log::Log;
use super::shared::Shared;
use super::wire::Wire;
use super::{http2, websocket};

/// What it speaks.
pub(super) enum Session {
    /// HTTP/2.
    Http2(http2::Session),
    /// A WebSocket.
    Socket(websocket::Session),
}

/// Something that is due on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Of HTTP/2.
    Http2(http2::Timer),
    /// Of a WebSocket.
    Socket(websocket::Timer),
}

impl From<http2::Timer> for Timer {
    fn from(timer: http2::Timer) -> Self {
        Self::Http2(timer)
    }
}

impl From<websocket::Timer> for Timer {
    fn from(timer: websocket::Timer) -> Self {
        Self::Socket(timer)
    }
}

/// How a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// As before.
    Open,
    /// It is closed once all is written.
    Close,
    /// It is reset.
    Reset,
}

impl Session {
    /// Takes the whole frames out of what was read.
    pub(super) fn receive(&mut self, input: &mut Vec<u8>, shared: &mut Shared) -> Next {
        match self {
            Self::Http2(session) => session.receive(input, shared),
            Self::Socket(session) => session.receive(input, shared),
        }
    }

    /// Does what is due.
    pub(super) fn timer(&mut self, timer: Timer, shared: &mut Shared) -> Next {
        match (self, timer) {
            (Self::Http2(session), Timer::Http2(timer)) => session.timer(timer, shared),
            (Self::Socket(session), Timer::Socket(timer)) => session.timer(timer, shared),
            // A connection changes its session once, before the first of these is due.
            (_, Timer::Http2(_) | Timer::Socket(_)) => Next::Open,
        }
    }

    /// Writes what may leave.
    pub(super) fn write(&mut self, stream: &mut Wire, log: &mut Log) -> Output {
        match self {
            Self::Http2(session) => session.write(stream, log),
            Self::Socket(session) => session.write(stream, log),
        }
    }
}
