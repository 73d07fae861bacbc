//! What a request is answered with, whichever protocol carries it. `http1` and `http2` give answers
//! their form.
//!
//! Large bodies are sent piece by piece, each piece after the kernel has taken the one before. So
//! neither memory nor the length of a queue depends on the request.
//!
//! Absent on purpose: Date and Server headers, so that an answer's bytes never change.

pub(crate) mod http1;
pub(crate) mod http2;

use std::net::SocketAddr;

use plimsoll_proto::http1::reason_phrase;

use crate::route::{GRPC_OVER_HTTP1, Refusal, Route};
use crate::websocket;

/// The type of every answer without one of its own.
pub(crate) const TEXT: &[u8] = b"text/plain";
pub(crate) const BINARY: &[u8] = b"application/octet-stream";
const GRPC: &[u8] = b"application/grpc";
const HTML: &[u8] = b"text/html; charset=utf-8";
pub(crate) const HELLO: &[u8] = b"hello world";

/// The pattern of `/bytes/` and `/chunked/`: a line of 64 bytes, repeated.
pub(crate) const LINE: &[u8; 64] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: Option<&'static [u8]>,
    pub(crate) content: Content,
}

/// The body of an answer, and so its type and length.
#[derive(Debug)]
pub(crate) enum Content {
    /// None, by definition of the status (204, 304).
    Absent,
    Text(Text),
    Page(&'static [u8]),
    /// A number of bytes of the pattern. `is_sized`: the head says how many.
    Pattern {
        bytes: u64,
        is_sized: bool,
    },
}

impl Content {
    pub(crate) fn content_type(&self) -> Option<&'static [u8]> {
        match self {
            Self::Absent => None,
            Self::Text(_) => Some(TEXT),
            Self::Page(_) => Some(HTML),
            Self::Pattern { .. } => Some(BINARY),
        }
    }
}

/// The answer of a route. Echoes need the request's body too, so they are not made here.
pub(crate) fn answer(route: Route, peer: SocketAddr) -> Answer {
    let ok = |content| Answer { status: 200, location: None, content };
    match route {
        Route::Status(status) => status_answer(status),
        Route::Refused(refusal) => refusal_answer(refusal),
        // HTTP/2 answers calls with messages.
        Route::Call(_) => refusal_answer(GRPC_OVER_HTTP1),
        Route::Address => {
            let mut text = Text::default();
            let written = std::fmt::Write::write_fmt(&mut text, format_args!("{peer}\n"));
            written.expect("an address is short");
            ok(Content::Text(text))
        }
        Route::Bytes(bytes) => ok(Content::Pattern { bytes, is_sized: true }),
        Route::Chunked(bytes) => ok(Content::Pattern { bytes, is_sized: false }),
        Route::Page => ok(Content::Page(websocket::PAGE)),
        // A WebSocket is no answer: it is opened instead of one.
        Route::Hello
        | Route::Delay(_)
        | Route::Queue(_)
        | Route::Echo(_)
        | Route::WebSocket
        | Route::Site
        | Route::Handled
        | Route::Redirect => ok(Content::Text(Text::of(&[HELLO]))),
    }
}

/// The answer of `/status/`, and an error drawn as a fault: a line that names the status, where a
/// body is allowed (RFC 9110 section 15).
fn status_answer(status: u16) -> Answer {
    let location = matches!(status, 301 | 302 | 303 | 307 | 308).then_some(&b"/"[..]);
    let digits = [status / 100 % 10, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
    let content = match status {
        204 | 304 => Content::Absent,
        // A 205 has no content, but may say so.
        205 => Content::Text(Text::default()),
        _ => Content::Text(Text::of(&[&digits, b" ", reason(status), b"\n"])),
    };
    Answer { status, location, content }
}

fn reason(status: u16) -> &'static [u8] {
    match reason_phrase(status) {
        "" => b"Unassigned",
        reason => reason.as_bytes(),
    }
}

/// The answer to a request that is refused.
pub(crate) fn refusal_answer(refusal: Refusal) -> Answer {
    let content = Content::Text(Text::of(&[refusal.line.as_bytes(), b"\n"]));
    Answer { status: refusal.status, location: None, content }
}

/// A short text on the stack: an address with port and zone fits, and so does every refusal.
#[derive(Debug)]
pub(crate) struct Text {
    bytes: [u8; 160],
    len: usize,
}

impl Text {
    /// The parts together; what does not fit is cut off.
    fn of(parts: &[&[u8]]) -> Self {
        let mut text = Self::default();
        for part in parts {
            let room = &mut text.bytes[text.len..];
            let taken = part.len().min(room.len());
            debug_assert_eq!(taken, part.len(), "texts are short");
            room[..taken].copy_from_slice(&part[..taken]);
            text.len += taken;
        }
        text
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: [0; 160], len: 0 }
    }
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        let space = self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?;
        space.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
