//! The bytes of answers in HTTP/1. Some are rendered once and registered with the driver; the
//! others are rendered for each request into a buffer that is reused.

use std::sync::Arc;

use plimsoll_io::{Driver, Payload, PayloadId};
use plimsoll_proto::http1;
use plimsoll_proto::websocket::handshake::VERSION;

use super::{Answer, BINARY, Content, HELLO, LINE, TEXT, refusal_answer};
use crate::route::Refusal;
use crate::site::{Parts, Shaper, has_body};
use crate::wire::Wire;

/// Whether a connection goes on after an answer, and how the answer says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// It goes on, the default of HTTP/1.1.
    KeepAlive,
    /// It goes on, which an HTTP/1.0 client has to be told.
    KeepAlive10,
    /// It is closed.
    Close,
}

/// What of a request's form decides the form of its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestForm {
    pub(crate) is_head: bool,
    pub(crate) minor_version: u8,
}

/// How the end of a body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// No body, by definition of the status (204, 304).
    Absent,
    /// Content-Length.
    Known(u64),
    /// Transfer-Encoding: chunked.
    Chunked,
    /// The end of the connection.
    UntilClose,
}

/// Answers that fit one registered payload, for pipelined requests.
pub(crate) const HELLO_BATCH: u32 = 64;

const PATTERN_BYTES: usize = 256 * 1024;
const FRAME_DATA_BYTES: usize = 64 * 1024;
const FRAMES: usize = 4;
/// Bodies up to here go out in one piece with their head.
const SMALL_BYTES: u64 = 16 * 1024;
/// Pieces of an echoed body.
const PIECE_BYTES: usize = 256 * 1024;

/// The interim response that a client with `Expect: 100-continue` waits for (RFC 9110 section
/// 10.1.1).
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// One of the hellos within the registered bytes.
#[derive(Debug, Clone, Copy)]
struct Hello {
    offset: u32,
    head_len: u32,
}

/// The answers that are registered with a driver.
#[derive(Debug)]
pub(crate) struct PreparedAnswers {
    hellos: PayloadId,
    keep_alive: Hello,
    keep_alive_10: Hello,
    close: Hello,
    pattern: PayloadId,
    pattern_bytes: Arc<[u8]>,
    frames: PayloadId,
    frame_len: u32,
}

impl PreparedAnswers {
    /// Renders the answers and registers them.
    pub(crate) fn register<D: Driver>(wire: &mut Wire<D>) -> Self {
        let mut bytes = Vec::new();
        let mut hello = |persistence, copies| {
            let offset = bytes.len() as u32;
            let mut head = Vec::new();
            http1::write_status_line(&mut head, 1, 200);
            http1::write_header(&mut head, "Content-Type", TEXT);
            write_framing(&mut head, persistence, Length::Known(HELLO.len() as u64));
            for _ in 0..copies {
                bytes.extend_from_slice(&head);
                bytes.extend_from_slice(HELLO);
            }
            Hello { offset, head_len: head.len() as u32 }
        };
        let keep_alive = hello(Persistence::KeepAlive, HELLO_BATCH);
        let keep_alive_10 = hello(Persistence::KeepAlive10, 1);
        let close = hello(Persistence::Close, 1);
        let pattern_bytes: Arc<[u8]> = LINE.iter().copied().cycle().take(PATTERN_BYTES).collect();
        let mut frame = Vec::new();
        http1::write_chunk(&mut frame, &pattern_bytes[..FRAME_DATA_BYTES]);
        Self {
            hellos: wire.register(bytes.into()),
            keep_alive,
            keep_alive_10,
            close,
            pattern: wire.register(Arc::clone(&pattern_bytes)),
            pattern_bytes,
            frames: wire.register(frame.repeat(FRAMES).into()),
            frame_len: frame.len() as u32,
        }
    }

    /// A number of hellos, at most [`HELLO_BATCH`], on a connection that goes on.
    pub(crate) fn hellos(&self, count: u32) -> Payload<'static> {
        debug_assert!(count <= HELLO_BATCH);
        let len = count * (self.keep_alive.head_len + HELLO.len() as u32);
        Payload::Registered { id: self.hellos, offset: self.keep_alive.offset, len }
    }

    /// One hello, or its head alone.
    pub(crate) fn hello(&self, persistence: Persistence, is_head: bool) -> Payload<'static> {
        let hello = match persistence {
            Persistence::KeepAlive => self.keep_alive,
            Persistence::KeepAlive10 => self.keep_alive_10,
            Persistence::Close => self.close,
        };
        let body_len = if is_head { 0 } else { HELLO.len() as u32 };
        Payload::Registered {
            id: self.hellos,
            offset: hello.offset,
            len: hello.head_len + body_len,
        }
    }

    /// Writes the head of an answer, and the body if it is small. The rest remains to be sent.
    /// HTTP/1.0 knows no chunks, so there the end of the connection ends a body without a length.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        answer: &Answer,
        to: Persistence,
        request: RequestForm,
    ) -> Rest {
        let length = length(&answer.content, request.minor_version);
        write_head(out, answer, to, length);
        match answer.content {
            _ if request.is_head => {}
            Content::Absent => {}
            Content::Text(ref text) => out.extend_from_slice(text.bytes()),
            Content::Page(page) => out.extend_from_slice(page),
            Content::Pattern { bytes, .. } => return self.write_pattern(out, bytes, length),
        }
        Rest::Nothing
    }

    fn write_pattern(&self, out: &mut Vec<u8>, bytes: u64, length: Length) -> Rest {
        match length {
            Length::Chunked if bytes > SMALL_BYTES => Rest::Frames(bytes),
            Length::Chunked => {
                self.write_last_frames(out, bytes);
                Rest::Nothing
            }
            _ if bytes > SMALL_BYTES => Rest::Pattern(bytes),
            _ => {
                out.extend_from_slice(&self.pattern_bytes[..bytes as usize]);
                Rest::Nothing
            }
        }
    }

    fn write_last_frames(&self, out: &mut Vec<u8>, count: u64) {
        http1::write_chunk(out, &self.pattern_bytes[..count as usize]);
        http1::write_last_chunk(out);
    }
}

/// The part of a body that remains to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing.
    Nothing,
    /// A number of bytes of the pattern.
    Pattern(u64),
    /// A number of bytes of the pattern in chunks, and the last chunk.
    Frames(u64),
    /// The connection's own body, from this byte on.
    Body(usize),
}

impl Rest {
    /// Takes the next piece; `None` when nothing remains. `body` is the connection's own, `out` a
    /// buffer to render in.
    pub(crate) fn take<'a>(
        &mut self,
        prepared: &PreparedAnswers,
        body: &'a [u8],
        out: &'a mut Vec<u8>,
    ) -> Option<Payload<'a>> {
        match *self {
            Self::Nothing | Self::Pattern(0) => None,
            Self::Pattern(count) => {
                let len = count.min(PATTERN_BYTES as u64);
                *self = Self::Pattern(count - len);
                Some(Payload::Registered { id: prepared.pattern, offset: 0, len: len as u32 })
            }
            Self::Frames(count) if count >= FRAME_DATA_BYTES as u64 => {
                let frames = (count / FRAME_DATA_BYTES as u64).min(FRAMES as u64);
                *self = Self::Frames(count - frames * FRAME_DATA_BYTES as u64);
                let len = frames as u32 * prepared.frame_len;
                Some(Payload::Registered { id: prepared.frames, offset: 0, len })
            }
            Self::Frames(count) => {
                *self = Self::Nothing;
                out.clear();
                prepared.write_last_frames(out, count);
                Some(Payload::Copied(out))
            }
            Self::Body(from) => {
                let piece = &body[from..body.len().min(from + PIECE_BYTES)];
                *self = Self::Body(from + piece.len());
                (!piece.is_empty()).then_some(Payload::Copied(piece))
            }
        }
    }
}

/// Writes the whole answer to a request that is refused.
pub(crate) fn write_refusal(out: &mut Vec<u8>, refusal: Refusal, is_head: bool) {
    let answer = refusal_answer(refusal);
    write_head(out, &answer, Persistence::Close, length(&answer.content, 1));
    if let (Content::Text(text), false) = (&answer.content, is_head) {
        out.extend_from_slice(text.bytes());
    }
}

/// Writes an answer's head, including the empty line.
fn write_head(out: &mut Vec<u8>, answer: &Answer, to: Persistence, length: Length) {
    http1::write_status_line(out, 1, answer.status);
    if let Some(content_type) = answer.content.content_type() {
        http1::write_header(out, "Content-Type", content_type);
    }
    if let Some(location) = answer.location {
        http1::write_header(out, "Location", location);
    }
    if answer.status == 426 {
        // RFC 6455 section 4.4; RFC 9110 section 15.5.22.
        http1::write_header(out, "Upgrade", b"websocket");
        http1::write_header(out, "Sec-WebSocket-Version", VERSION);
    }
    write_framing(out, to, length);
}

/// How the end of this content is marked.
fn length(content: &Content, minor_version: u8) -> Length {
    match content {
        Content::Absent => Length::Absent,
        Content::Text(text) => Length::Known(text.bytes().len() as u64),
        Content::Page(page) => Length::Known(page.len() as u64),
        Content::Pattern { bytes, is_sized: true } => Length::Known(*bytes),
        Content::Pattern { .. } if minor_version == 0 => Length::UntilClose,
        Content::Pattern { .. } => Length::Chunked,
    }
}

fn write_framing(out: &mut Vec<u8>, persistence: Persistence, length: Length) {
    match length {
        Length::Absent | Length::UntilClose => {}
        Length::Known(count) => http1::write_content_length(out, count),
        Length::Chunked => http1::write_header(out, "Transfer-Encoding", b"chunked"),
    }
    write_connection(out, persistence);
    http1::write_head_end(out);
}

/// Says what becomes of the connection, where HTTP/1.1 does not say it already.
fn write_connection(out: &mut Vec<u8>, persistence: Persistence) {
    match persistence {
        Persistence::KeepAlive => {}
        Persistence::KeepAlive10 => http1::write_header(out, "Connection", b"keep-alive"),
        Persistence::Close => http1::write_header(out, "Connection", b"close"),
    }
}

/// Writes the head of an echo, whose own headers are `fields`, and the body if it is small. The
/// rest remains to be sent.
pub(crate) fn write_echo(
    out: &mut Vec<u8>,
    fields: &[u8],
    body: &[u8],
    to: Persistence,
    is_head: bool,
) -> Rest {
    http1::write_status_line(out, 1, 200);
    out.extend_from_slice(fields);
    write_framing(out, to, Length::Known(body.len() as u64));
    if is_head {
        return Rest::Nothing;
    }
    if body.len() as u64 > SMALL_BYTES {
        return Rest::Body(0);
    }
    out.extend_from_slice(body);
    Rest::Nothing
}

/// Writes the answer of a site: its parts and its body, if that is small. The rest remains to be
/// sent.
pub(crate) fn write_site(
    out: &mut Vec<u8>,
    (parts, body): (&Parts, &[u8]),
    to: Persistence,
    is_head: bool,
    shaper: &mut Shaper,
    now_ns: u64,
) -> Rest {
    http1::write_status_line(out, 1, parts.status);
    // Go's server writes what a handler sets before what it adds itself.
    if parts.closes {
        write_connection(out, to);
    }
    shaper.fields(parts, body, is_head, now_ns, |name, value| {
        http1::write_header(out, name, value);
    });
    if !parts.closes {
        write_connection(out, to);
    }
    http1::write_head_end(out);
    if is_head || !has_body(parts.status) {
        return Rest::Nothing;
    }
    if body.len() as u64 > SMALL_BYTES {
        return Rest::Body(0);
    }
    out.extend_from_slice(body);
    Rest::Nothing
}

/// Writes the headers that an echo adds: the request's method and target, and the body's type.
pub(crate) fn write_echo_fields(
    out: &mut Vec<u8>,
    request: Option<(&str, &str)>,
    content_type: Option<&[u8]>,
) {
    if let Some((method, target)) = request {
        http1::write_header(out, "X-Echo-Method", method.as_bytes());
        http1::write_header(out, "X-Echo-Target", target.as_bytes());
    }
    http1::write_header(out, "Content-Type", content_type.unwrap_or(BINARY));
}
