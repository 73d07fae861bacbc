//! One compiled request, and how its bytes are written.

use std::sync::Arc;

use plimsoll_conn::RequestKind;
use plimsoll_core::part::Place;
use plimsoll_core::template::Template;
use plimsoll_proto::http1::{write_content_length, write_head_end, write_last_chunk};

/// Chunked bodies are cut into pieces of this size.
const CHUNK_BYTES: usize = 16 * 1024;

/// Of the largest chunk: four hexadecimal digits and two line breaks.
const CHUNK_FRAME_BYTES: usize = 8;
const LAST_CHUNK_BYTES: usize = 5;

/// `Content-Length: `, at most 20 digits, and the line break.
const LENGTH_LINE_BYTES: usize = 38;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// One of the requests of a run.
#[derive(Debug)]
pub struct PreparedTarget {
    pub(super) kind: RequestKind,
    pub(super) endpoint: u16,
    pub(super) expects_continue: bool,
    pub(super) takes_headers: bool,
    pub(super) form: Form,
    pub(super) redirect: Option<Box<Redirect>>,
}

/// How it is kept.
#[derive(Debug)]
pub(super) enum Form {
    /// Every byte is known.
    Fixed {
        bytes: Arc<[u8]>,
        /// Where the request line's target ends.
        line_end: usize,
        /// Where the body begins.
        head_end: usize,
    },
    /// Something differs from request to request.
    Varying(Box<Varying>),
}

/// A request with templates in it.
#[derive(Debug)]
pub(super) struct Varying {
    /// Method and request target.
    pub line: Template,
    /// From the version to the last field, in two parts: the length goes between.
    pub fields: [Template; 2],
    pub framing: Framing,
    pub body: Template,
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// By what the fields say, if anything.
    AsGiven,
    /// By a length that is computed for each request.
    Length,
    /// By chunks.
    Chunked,
}

/// What a request is turned into when it is sent on.
#[derive(Debug)]
pub(super) struct Redirect {
    pub method: Box<str>,
    /// What stands before the path: empty, or the origin's scheme and authority.
    pub prefix: Arc<str>,
    /// From the version to the last field, for a request without the body.
    pub fields: Template,
}

impl PreparedTarget {
    /// A request that the caller has written.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let kind = if bytes.starts_with(b"HEAD ") { RequestKind::Head } else { RequestKind::Plain };
        let form = Form::Fixed { bytes: bytes.into(), line_end: 0, head_end: bytes.len() };
        Self {
            kind,
            endpoint: Place::NONE,
            expects_continue: false,
            takes_headers: false,
            form,
            redirect: None,
        }
    }

    /// What its responses have to be read as.
    #[must_use]
    pub fn kind(&self) -> RequestKind {
        self.kind
    }

    /// The number of its name among the run's endpoints; `Place::NONE` when they are not told
    /// apart.
    #[must_use]
    pub fn endpoint(&self) -> u16 {
        self.endpoint
    }

    /// Whether `100 Continue` is to be waited for between head and body.
    #[must_use]
    pub fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// The whole request and the length of its head, where no request differs from another: nothing
    /// in it varies and no cookies are added.
    #[must_use]
    pub fn fixed(&self) -> Option<(&Arc<[u8]>, usize)> {
        match &self.form {
            Form::Fixed { bytes, head_end, .. } if !self.takes_headers => Some((bytes, *head_end)),
            _ => None,
        }
    }

    /// The most bytes that [`fill`](Self::fill) appends without extra headers.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        match &self.form {
            Form::Fixed { bytes, .. } => bytes.len(),
            Form::Varying(varying) => varying.bytes_max(),
        }
    }

    /// Appends request `number`, with further headers behind its own: whole lines, each with its
    /// line break. Returns the length of the head, blank line included; what follows is the body.
    /// Nothing is allocated where `out` has room.
    #[inline]
    pub fn fill(&self, number: u64, extra_headers: &[u8], out: &mut Vec<u8>) -> usize {
        let start = out.len();
        match &self.form {
            Form::Fixed { bytes, head_end, .. } if extra_headers.is_empty() => {
                out.extend_from_slice(bytes);
                *head_end
            }
            Form::Fixed { bytes, head_end, .. } => {
                push_with(out, bytes, *head_end, extra_headers);
                head_end + extra_headers.len()
            }
            Form::Varying(varying) => {
                varying.line.fill(number, out);
                varying.fill_rest(number, extra_headers, start, out)
            }
        }
    }

    /// Appends request `number` as it is sent on to another path of the same server, and returns
    /// the length of the head. With a `method` (GET, after 303 and most of 301 and 302: RFC 9110
    /// section 15.4) the body and the fields about it are left out. Bytes of `path`, which a peer
    /// chose, that cannot stand in a request line are percent-encoded; a fragment is left out.
    ///
    /// # Panics
    /// When the plan does not follow redirects.
    pub fn redirected(
        &self,
        path: &str,
        method: Option<&str>,
        extra_headers: &[u8],
        number: u64,
        out: &mut Vec<u8>,
    ) -> usize {
        let redirect = self.redirect.as_ref().expect("prepared for a plan that follows redirects");
        let start = out.len();
        out.extend_from_slice(method.unwrap_or(&redirect.method).as_bytes());
        out.push(b' ');
        out.extend_from_slice(redirect.prefix.as_bytes());
        push_target(out, path);
        if method.is_some() {
            redirect.fields.fill(number, out);
            out.extend_from_slice(extra_headers);
            write_head_end(out);
            return out.len() - start;
        }
        match &self.form {
            Form::Fixed { bytes, line_end, head_end } => {
                push_with(out, &bytes[*line_end..], head_end - line_end, extra_headers);
                out.len() - start - (bytes.len() - head_end)
            }
            Form::Varying(varying) => varying.fill_rest(number, extra_headers, start, out),
        }
    }
}

impl Varying {
    /// The same, written out once, if no request differs from another.
    pub(super) fn into_form(self) -> Form {
        let [before, after] = &self.fields;
        let parts = [&self.line, before, after, &self.body];
        if parts.iter().any(|part| part.fixed().is_none()) {
            return Form::Varying(Box::new(self));
        }
        let mut bytes = Vec::with_capacity(self.bytes_max());
        self.line.fill(0, &mut bytes);
        let line_end = bytes.len();
        let head_end = self.fill_rest(0, &[], 0, &mut bytes);
        Form::Fixed { bytes: bytes.into(), line_end, head_end }
    }

    /// Appends all that follows the request line's target.
    fn fill_rest(&self, number: u64, extra: &[u8], start: usize, out: &mut Vec<u8>) -> usize {
        self.fields[0].fill(number, out);
        if self.framing == Framing::Length {
            write_content_length(out, self.body.bytes(number) as u64);
        }
        self.fields[1].fill(number, out);
        out.extend_from_slice(extra);
        write_head_end(out);
        let body = out.len();
        self.body.fill(number, out);
        if self.framing == Framing::Chunked {
            cut_into_chunks(out, body);
        }
        body - start
    }

    fn bytes_max(&self) -> usize {
        let [before, after] = &self.fields;
        let head = self.line.bytes_max() + before.bytes_max() + after.bytes_max() + 2;
        let body = self.body.bytes_max();
        head + match self.framing {
            Framing::AsGiven => body,
            Framing::Length => LENGTH_LINE_BYTES + body,
            // The body stands there twice while it is cut.
            Framing::Chunked => {
                2 * body + body.div_ceil(CHUNK_BYTES) * CHUNK_FRAME_BYTES + LAST_CHUNK_BYTES
            }
        }
    }
}

/// Appends a request, or its rest, whose head ends at `head_end`, with further headers.
fn push_with(out: &mut Vec<u8>, bytes: &[u8], head_end: usize, extra_headers: &[u8]) {
    let blank_line = head_end - 2;
    out.extend_from_slice(&bytes[..blank_line]);
    out.extend_from_slice(extra_headers);
    out.extend_from_slice(&bytes[blank_line..]);
}

/// Cuts what stands from `body` on into chunks (RFC 9112 section 7.1).
fn cut_into_chunks(out: &mut Vec<u8>, body: usize) {
    let end = out.len();
    for from in (body..end).step_by(CHUNK_BYTES) {
        let to = end.min(from + CHUNK_BYTES);
        push_hex(out, to - from);
        out.extend_from_slice(b"\r\n");
        out.extend_from_within(from..to);
        out.extend_from_slice(b"\r\n");
    }
    write_last_chunk(out);
    out.drain(body..end);
}

/// Appends the length of a chunk.
fn push_hex(out: &mut Vec<u8>, length: usize) {
    let digits = length.ilog2() / 4 + 1;
    out.extend((0..digits).rev().map(|digit| HEX[length >> (4 * digit) & 0xf]));
}

/// Appends a path as a request line may hold it.
fn push_target(out: &mut Vec<u8>, path: &str) {
    let path = path.split('#').next().unwrap_or_default();
    if !path.starts_with('/') {
        out.push(b'/');
    }
    for &byte in path.as_bytes() {
        if byte > b' ' && byte != 0x7f {
            out.push(byte);
        } else {
            let digit = |nibble: u8| HEX[usize::from(nibble)].to_ascii_uppercase();
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 0xf)]);
        }
    }
}
