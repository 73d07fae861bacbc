//! The bytes of answers. Some are rendered once and registered with the driver; the others are
//! rendered for each request into a buffer that is reused.
//!
//! Large bodies are sent piece by piece (`Rest`), each piece after the kernel has taken the one
//! before. So neither memory nor the length of a queue depends on the request.
//!
//! Absent on purpose: Date and Server headers, so that an answer's bytes never change.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_io::{Driver, Payload, PayloadId};
use plimsoll_proto::http1;
use plimsoll_proto::websocket::handshake::VERSION;

use crate::route::Refusal;
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

/// How the end of a body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// No body, by definition of the status (204, 304).
    Absent,
    /// Content-Length.
    Known(u64),
    /// Transfer-Encoding: chunked.
    Chunked,
    /// The end of the connection.
    UntilClose,
}

/// The type of every answer without one of its own.
pub(crate) const TEXT: &[u8] = b"text/plain";
pub(crate) const BINARY: &[u8] = b"application/octet-stream";
const HTML: &[u8] = b"text/html; charset=utf-8";
const HELLO: &[u8] = b"hello world";

/// Answers that fit one registered payload, for pipelined requests.
pub(crate) const HELLO_BATCH: u32 = 64;

/// The pattern of `/bytes/` and `/chunked/`: a line of 64 bytes, repeated.
const LINE: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";
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
            let length = Length::Known(HELLO.len() as u64);
            write_head(&mut head, 200, persistence, Some(TEXT), length);
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

    /// Writes the head of `/bytes/`, and the body if it is small. The rest remains to be sent.
    pub(crate) fn write_bytes(&self, out: &mut Vec<u8>, count: u64, to: Persistence) -> Rest {
        write_head(out, 200, to, Some(BINARY), Length::Known(count));
        if count > SMALL_BYTES {
            return Rest::Pattern(count);
        }
        out.extend_from_slice(&self.pattern_bytes[..count as usize]);
        Rest::Nothing
    }

    /// Writes the head of `/chunked/`, and the body if it is small. HTTP/1.0 knows no chunks, so
    /// there the end of the connection ends the body.
    pub(crate) fn write_chunked(
        &self,
        out: &mut Vec<u8>,
        count: u64,
        to: Persistence,
        minor_version: u8,
    ) -> Rest {
        if minor_version == 0 {
            write_head(out, 200, to, Some(BINARY), Length::UntilClose);
            return Rest::Pattern(count);
        }
        write_head(out, 200, to, Some(BINARY), Length::Chunked);
        if count > SMALL_BYTES {
            return Rest::Frames(count);
        }
        self.write_last_frames(out, count);
        Rest::Nothing
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

/// Writes an answer's head, including the empty line.
pub(crate) fn write_head(
    out: &mut Vec<u8>,
    status: u16,
    persistence: Persistence,
    content_type: Option<&[u8]>,
    length: Length,
) {
    http1::write_status_line(out, 1, status);
    if let Some(content_type) = content_type {
        http1::write_header(out, "Content-Type", content_type);
    }
    write_framing(out, persistence, length);
}

fn write_framing(out: &mut Vec<u8>, persistence: Persistence, length: Length) {
    match length {
        Length::Absent | Length::UntilClose => {}
        Length::Known(count) => http1::write_content_length(out, count),
        Length::Chunked => http1::write_header(out, "Transfer-Encoding", b"chunked"),
    }
    match persistence {
        Persistence::KeepAlive => {}
        Persistence::KeepAlive10 => http1::write_header(out, "Connection", b"keep-alive"),
        Persistence::Close => http1::write_header(out, "Connection", b"close"),
    }
    http1::write_head_end(out);
}

/// Writes the whole answer of `/status/` and of an error drawn as a fault: a line that names the
/// status, where a body is allowed (RFC 9110 section 15).
pub(crate) fn write_status(out: &mut Vec<u8>, status: u16, to: Persistence, is_head: bool) {
    if let 204 | 304 = status {
        return write_head(out, status, to, None, Length::Absent);
    }
    let digits = [status / 100 % 10, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
    let parts = [&digits, b" ".as_slice(), reason(status), b"\n"];
    // A 205 has no content, but may say so.
    let body_len = if status == 205 { 0 } else { parts.iter().map(|part| part.len()).sum() };
    http1::write_status_line(out, 1, status);
    http1::write_header(out, "Content-Type", TEXT);
    if let 301 | 302 | 303 | 307 | 308 = status {
        http1::write_header(out, "Location", b"/");
    }
    write_framing(out, to, Length::Known(body_len as u64));
    if body_len > 0 && !is_head {
        parts.iter().for_each(|part| out.extend_from_slice(part));
    }
}

fn reason(status: u16) -> &'static [u8] {
    match http1::reason_phrase(status) {
        "" => b"Unassigned",
        reason => reason.as_bytes(),
    }
}

/// Writes the whole answer of a page.
pub(crate) fn write_page(out: &mut Vec<u8>, page: &[u8], to: Persistence, is_head: bool) {
    write_head(out, 200, to, Some(HTML), Length::Known(page.len() as u64));
    if !is_head {
        out.extend_from_slice(page);
    }
}

/// Writes the whole answer to a request that is refused.
pub(crate) fn write_refusal(out: &mut Vec<u8>, refusal: Refusal, to: Persistence, is_head: bool) {
    let length = Length::Known(refusal.line.len() as u64 + 1);
    http1::write_status_line(out, 1, refusal.status);
    http1::write_header(out, "Content-Type", TEXT);
    if refusal.status == 426 {
        // RFC 6455 section 4.4; RFC 9110 section 15.5.22.
        http1::write_header(out, "Upgrade", b"websocket");
        http1::write_header(out, "Sec-WebSocket-Version", VERSION);
    }
    write_framing(out, to, length);
    if !is_head {
        out.extend_from_slice(refusal.line.as_bytes());
        out.push(b'\n');
    }
}

/// Writes the whole answer of `/ip`: address and port, an IPv6 address in brackets.
pub(crate) fn write_address(out: &mut Vec<u8>, peer: SocketAddr, to: Persistence, is_head: bool) {
    let mut line = Line::default();
    std::fmt::Write::write_fmt(&mut line, format_args!("{peer}\n")).expect("an address is short");
    write_head(out, 200, to, Some(TEXT), Length::Known(line.len as u64));
    if !is_head {
        out.extend_from_slice(&line.bytes[..line.len]);
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

/// A short text on the stack: an address with port and zone fits.
#[derive(Debug)]
struct Line {
    bytes: [u8; 96],
    len: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self { bytes: [0; 96], len: 0 }
    }
}

impl std::fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        let space = self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?;
        space.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
