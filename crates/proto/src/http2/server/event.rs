//! What a client's bytes mean to the caller.

use std::ops::Range;

use crate::http2::head::RequestParts;
use crate::http2::{ErrorCode, Headers, StreamError};

/// What happened. Requests are named by their streams. Heads borrow from the machine, bodies from
/// the input, so that a body can be passed on to the machine.
#[derive(Debug, Clone)]
pub enum ServerEvent<'m, 'i> {
    /// The client has announced its settings.
    Greeted,
    /// The head of a request, which opens its stream.
    Request(u32, RequestHead<'m>),
    /// A piece of its body; never empty.
    Body(u32, &'i [u8]),
    /// Its trailers.
    Trailers(u32, Headers<'m>),
    /// The request is complete.
    End(u32),
    /// The rest of this stream's response, which a window had held back, has been sent.
    Resumed(u32),
    /// The client gave the stream up: it is closed.
    Reset(u32, ErrorCode),
    /// The client broke the protocol on this stream, which is closed. Not told of requests whose
    /// head was broken.
    Broken(u32, StreamError),
    /// The client does not need the connection for longer than its open streams.
    Draining(ErrorCode),
}

/// The head of a request.
#[derive(Debug, Clone)]
pub struct RequestHead<'a> {
    head: &'a HeadText,
    is_whole: bool,
}

impl<'a> RequestHead<'a> {
    /// The method, as sent: methods are case-sensitive.
    #[must_use]
    pub fn method(&self) -> &'a str {
        self.text(&self.head.parts.pseudo.method).unwrap_or_default()
    }

    /// The scheme; none of a plain CONNECT.
    #[must_use]
    pub fn scheme(&self) -> Option<&'a str> {
        self.text(&self.head.parts.pseudo.scheme)
    }

    /// The server that is asked, if `:authority` names it; a Host field may, too.
    #[must_use]
    pub fn authority(&self) -> Option<&'a str> {
        self.text(&self.head.parts.pseudo.authority)
    }

    /// Path and query, or `*`; none of a plain CONNECT.
    #[must_use]
    pub fn path(&self) -> Option<&'a str> {
        self.text(&self.head.parts.pseudo.path)
    }

    /// The protocol of an extended CONNECT (RFC 8441).
    #[must_use]
    pub fn protocol(&self) -> Option<&'a str> {
        self.text(&self.head.parts.pseudo.protocol)
    }

    /// How long the body is to be, if the head says so. The machine checks it.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        self.head.parts.content_length
    }

    /// Whether nothing follows the head: the next event of this stream ends it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The other fields in order.
    #[must_use]
    pub fn headers(&self) -> Headers<'a> {
        Headers::of_head(&self.head.lines)
    }

    /// The other fields as lines of an HTTP/1 head: each ends in CRLF, and an empty line precedes
    /// them.
    #[must_use]
    pub fn lines(&self) -> &'a [u8] {
        &self.head.lines
    }

    fn text(&self, range: &Option<Range<usize>>) -> Option<&'a str> {
        std::str::from_utf8(&self.head.text[range.clone()?]).ok()
    }
}

/// The head that was read last: its pseudo-fields' values, and the others as lines.
#[derive(Debug, Default)]
pub(super) struct HeadText {
    pub(super) parts: RequestParts,
    pub(super) text: Vec<u8>,
    pub(super) lines: Vec<u8>,
}

impl HeadText {
    /// Bytes of memory that the client made it keep.
    pub(super) fn kept_bytes(&self) -> usize {
        self.lines.capacity() + self.text.capacity()
    }
}

/// An event before it borrows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Happened {
    Greeted,
    Request(u32),
    Body(u32, Range<usize>),
    Trailers(u32),
    End(u32),
    Resumed(u32),
    Reset(u32, ErrorCode),
    Broken(u32, StreamError),
    Draining(ErrorCode),
}

impl Happened {
    /// The event. `is_whole`: nothing follows the head that was read.
    #[inline]
    pub(super) fn event<'m, 'i>(
        self,
        head: &'m HeadText,
        is_whole: bool,
        input: &'i [u8],
    ) -> ServerEvent<'m, 'i> {
        match self {
            Self::Greeted => ServerEvent::Greeted,
            Self::Request(stream) => ServerEvent::Request(stream, RequestHead { head, is_whole }),
            Self::Body(stream, range) => ServerEvent::Body(stream, &input[range]),
            Self::Trailers(stream) => ServerEvent::Trailers(stream, Headers::of_head(&head.lines)),
            Self::End(stream) => ServerEvent::End(stream),
            Self::Resumed(stream) => ServerEvent::Resumed(stream),
            Self::Reset(stream, code) => ServerEvent::Reset(stream, code),
            Self::Broken(stream, error) => ServerEvent::Broken(stream, error),
            Self::Draining(code) => ServerEvent::Draining(code),
        }
    }
}
