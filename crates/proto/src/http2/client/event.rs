//! What a server's bytes mean to the caller.

use std::ops::Range;

use crate::http2::{ErrorCode, Headers, StreamError};

/// What happened. Requests are named by the numbers that the caller gave them.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// The server has announced its settings: requests can be started.
    Greeted,
    /// The server allows more streams than before.
    Room,
    /// The rest of this request's body, which a window had held back, has been sent.
    Resumed(u32),
    /// The head of a response, final or interim, has begun to arrive.
    FirstByte(u32),
    /// An interim response, 1xx.
    Interim(u32, Head<'a>),
    /// The head of a final response.
    Head(u32, Head<'a>),
    /// A piece of its body; never empty.
    Body(u32, &'a [u8]),
    /// Its trailers.
    Trailers(u32, Headers<'a>),
    /// The response is complete: the request has ended.
    Complete(u32, Response),
    /// The server has not processed the request, which has ended: REFUSED_STREAM before a final
    /// response, or its stream is above the last one of a GOAWAY.
    Refused(u32),
    /// The server gave the stream up: the request has ended.
    Reset(u32, ErrorCode),
    /// The server broke the protocol on this stream, which was given up: the request has ended.
    Broken(u32, StreamError),
    /// The server takes no more requests on this connection. Those that it has not refused go on.
    Draining(ErrorCode),
}

/// The head of a response.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// Its status: 100, or 102 to 999.
    pub status: u16,
    pub(super) lines: &'a [u8],
}

impl<'a> Head<'a> {
    /// The fields in order.
    #[must_use]
    pub fn headers(&self) -> Headers<'a> {
        Headers::of_head(self.lines)
    }

    /// The fields as the lines of an HTTP/1 head, behind an empty first line.
    #[must_use]
    pub fn lines(&self) -> &'a [u8] {
        self.lines
    }
}

/// A complete response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Bytes of its body, without padding.
    pub body_bytes: u64,
}

/// An event before it borrows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Happened {
    Greeted,
    Room,
    Resumed(u32),
    FirstByte(u32),
    Interim(u32, u16),
    Head(u32, u16),
    Body(u32, Range<usize>),
    Trailers(u32),
    Complete(u32, Response),
    Refused(u32),
    Reset(u32, ErrorCode),
    Broken(u32, StreamError),
    Draining(ErrorCode),
}

impl Happened {
    /// The event; `lines` are those of the head that was read last.
    #[inline]
    pub(super) fn event<'a>(self, input: &'a [u8], lines: &'a [u8]) -> Event<'a> {
        match self {
            Self::Greeted => Event::Greeted,
            Self::Room => Event::Room,
            Self::Resumed(number) => Event::Resumed(number),
            Self::FirstByte(number) => Event::FirstByte(number),
            Self::Interim(number, status) => Event::Interim(number, Head { status, lines }),
            Self::Head(number, status) => Event::Head(number, Head { status, lines }),
            Self::Body(number, range) => Event::Body(number, &input[range]),
            Self::Trailers(number) => Event::Trailers(number, Headers::of_head(lines)),
            Self::Complete(number, response) => Event::Complete(number, response),
            Self::Refused(number) => Event::Refused(number),
            Self::Reset(number, code) => Event::Reset(number, code),
            Self::Broken(number, error) => Event::Broken(number, error),
            Self::Draining(code) => Event::Draining(code),
        }
    }
}
