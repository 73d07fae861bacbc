//! How HTTP/1 writes a compiled request (RFC 9112).
//!
//! A request that never varies is one piece of bytes. Others are templates, filled into a buffer
//! that has room for the largest.

use std::sync::Arc;

use plimsoll_core::template::Template;
use plimsoll_proto::http1::{
    RequestKind, ends_connection, write_content_length, write_head_end, write_last_chunk,
};

use crate::request::{
    BODY_FIELDS, CompiledRequest, EncodeError, Encoding, Field, Filling, Framing, RequestBody,
    literal, push_target,
};

/// Chunked bodies are cut into pieces of this size.
const CHUNK_BYTES: usize = 16 * 1024;

/// Of the largest chunk: four hexadecimal digits and two line breaks.
const CHUNK_FRAME_BYTES: usize = 8;
const LAST_CHUNK_BYTES: usize = 5;

/// `Content-Length: `, at most 20 digits, and the line break.
const LENGTH_LINE_BYTES: usize = 38;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// One of the requests of a run as HTTP/1 sends it.
#[derive(Debug)]
pub struct Http1Request {
    kind: RequestKind,
    takes_cookies: bool,
    ending: Ending,
    form: Form,
    redirect: Option<Box<Redirect>>,
}

/// Whether its connection ends with the response to it, because it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Never,
    Always,
    /// A template decides.
    Varies,
}

impl Ending {
    fn of(request: &CompiledRequest) -> Self {
        let is_connection = |name: &str| name.eq_ignore_ascii_case("Connection");
        let mut given = request.given_fields().filter(|(name, _)| is_connection(name));
        if given.any(|(_, value)| value.fixed().is_none()) {
            return Self::Varies;
        }
        let fields = request
            .fields
            .iter()
            .filter(|field| matches!(field, Field::Given(name, _) if is_connection(name)));
        let [head, _] = write_fields(request.http_minor, fields);
        let mut bytes = Vec::new();
        head.fill(0, &mut bytes);
        write_head_end(&mut bytes);
        if ends_connection(&bytes) { Self::Always } else { Self::Never }
    }
}

/// How it is kept.
#[derive(Debug)]
enum Form {
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
struct Varying {
    /// Method and request target.
    line: Template,
    /// From the version to the last field, in two parts: the length goes between.
    fields: [Template; 2],
    framing: Framing,
    body: Template,
}

/// What a request is turned into when it is sent on.
#[derive(Debug)]
struct Redirect {
    method: String,
    prefix: String,
    /// From the version to the last field, for a request without the body.
    fields: Template,
}

impl Encoding for Http1Request {
    type Shared = ();

    fn of(request: CompiledRequest, _shared: &mut ()) -> Result<Self, EncodeError> {
        request.check_literals()?;
        let kind = if request.method == "HEAD" { RequestKind::Head } else { RequestKind::Plain };
        let redirect = request.follows_redirects.then(|| Box::new(Redirect::of(&request)));
        let (takes_cookies, ending) = (request.takes_cookies, Ending::of(&request));
        let form = Varying::of(request)?.into_form();
        Ok(Self { kind, takes_cookies, ending, form, redirect })
    }

    fn of_written(bytes: &[u8]) -> Self {
        let kind = if bytes.starts_with(b"HEAD ") { RequestKind::Head } else { RequestKind::Plain };
        let ending = if ends_connection(bytes) { Ending::Always } else { Ending::Never };
        let form = Form::Fixed { bytes: bytes.into(), line_end: 0, head_end: bytes.len() };
        Self { kind, takes_cookies: false, ending, form, redirect: None }
    }

    #[inline]
    fn fixed(&self) -> Option<&Arc<[u8]>> {
        match &self.form {
            Form::Fixed { bytes, .. } if !self.takes_cookies => Some(bytes),
            _ => None,
        }
    }

    fn bytes_max(&self) -> usize {
        match &self.form {
            Form::Fixed { bytes, .. } => bytes.len(),
            Form::Varying(varying) => varying.bytes_max(),
        }
    }

    fn has_body(&self, filling: &Filling<'_>) -> bool {
        let loses_it = filling.hop.is_some_and(|hop| hop.as_get);
        !loses_it
            && match &self.form {
                Form::Fixed { bytes, head_end, .. } => *head_end < bytes.len(),
                Form::Varying(varying) => {
                    varying.framing == Framing::Chunked || varying.body.bytes(filling.number) > 0
                }
            }
    }

    fn write_text(&self, filling: &Filling<'_>, out: &mut Vec<u8>) -> usize {
        self.write(filling, out)
    }
}

impl Http1Request {
    /// What its responses have to be read as.
    #[inline]
    pub(super) fn kind(&self) -> RequestKind {
        self.kind
    }

    /// Whether each says that its connection ends with the response to it.
    #[inline]
    pub(super) fn ends_connection(&self) -> bool {
        self.ending == Ending::Always
    }

    /// Whether what a template puts in decides that.
    #[inline]
    pub(super) fn may_end_connection(&self) -> bool {
        self.ending == Ending::Varies
    }

    /// Where the body begins in [`fixed`](Encoding::fixed) bytes.
    #[inline]
    pub(super) fn fixed_head_bytes(&self) -> usize {
        match &self.form {
            Form::Fixed { head_end, .. } => *head_end,
            Form::Varying(_) => 0,
        }
    }

    /// Appends a request; gives the length of its head, blank line included. What follows is the
    /// body. Nothing is allocated where `out` has room.
    ///
    /// A request that is sent on as a GET (after 303, and most of 301 and 302: RFC 9110 section
    /// 15.4) leaves out the body and the fields about it. Bytes of its path that cannot stand in a
    /// request line are percent-encoded; a fragment is left out.
    #[inline]
    pub fn write(&self, filling: &Filling<'_>, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let Filling { number, cookies, hop, .. } = *filling;
        if let Some(hop) = hop
            && let Some(redirect) = &self.redirect
        {
            let method = if hop.as_get { "GET" } else { &redirect.method };
            out.extend_from_slice(method.as_bytes());
            out.push(b' ');
            out.extend_from_slice(redirect.prefix.as_bytes());
            push_target(out, &hop.path);
            if hop.as_get {
                redirect.fields.fill(number, out);
                push_cookies(out, cookies);
                write_head_end(out);
                return out.len() - start;
            }
            return self.write_rest(filling, start, out);
        }
        match &self.form {
            Form::Fixed { bytes, line_end, .. } => out.extend_from_slice(&bytes[..*line_end]),
            Form::Varying(varying) => varying.line.fill(number, out),
        }
        self.write_rest(filling, start, out)
    }

    /// Appends all that follows the request line's target.
    #[inline]
    fn write_rest(&self, filling: &Filling<'_>, start: usize, out: &mut Vec<u8>) -> usize {
        match &self.form {
            Form::Fixed { bytes, line_end, head_end } => {
                let blank_line = head_end - 2;
                out.extend_from_slice(&bytes[*line_end..blank_line]);
                push_cookies(out, filling.cookies);
                out.extend_from_slice(&bytes[blank_line..]);
                out.len() - start - (bytes.len() - head_end)
            }
            Form::Varying(varying) => {
                varying.fill_rest(filling.number, filling.cookies, start, out)
            }
        }
    }
}

impl Redirect {
    fn of(request: &CompiledRequest) -> Self {
        let is_of_body = |name: &str| BODY_FIELDS.iter().any(|of| of.eq_ignore_ascii_case(name));
        let kept = request.fields.iter().filter(|field| match field {
            Field::Given(name, _) => !is_of_body(name),
            Field::Length => false,
        });
        let [fields, _] = write_fields(request.http_minor, kept);
        Self { method: request.method.clone(), prefix: request.prefix.clone(), fields }
    }
}

impl Varying {
    fn of(request: CompiledRequest) -> Result<Self, EncodeError> {
        let RequestBody::Template(body) = request.body else {
            return Err(EncodeError::MessageNeedsHttp2);
        };
        let mut line = literal(format!("{} {}", request.method, request.prefix).as_bytes());
        // The absolute form of `*` is the authority alone (RFC 9112 section 3.2.4).
        if request.prefix.is_empty() || request.path.fixed() != Some(b"*") {
            line.append(request.path);
        }
        let fields = write_fields(request.http_minor, &request.fields);
        Ok(Self { line, fields, framing: request.framing, body })
    }

    /// The same, written out once, if no request differs from another.
    fn into_form(self) -> Form {
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

    /// Appends all that follows the request line's target; gives the length of the head.
    fn fill_rest(&self, number: u64, cookies: &[u8], start: usize, out: &mut Vec<u8>) -> usize {
        self.fields[0].fill(number, out);
        if self.framing == Framing::Length {
            write_content_length(out, self.body.bytes(number) as u64);
        }
        self.fields[1].fill(number, out);
        push_cookies(out, cookies);
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

/// What follows the request line's target, in two parts: the length goes between.
fn write_fields<'f>(minor: u8, fields: impl IntoIterator<Item = &'f Field>) -> [Template; 2] {
    let mut parts = [literal(format!(" HTTP/1.{minor}\r\n").as_bytes()), Template::default()];
    let mut at = 0;
    for field in fields {
        match field {
            Field::Given(name, value) => {
                parts[at].push_bytes(name.as_bytes());
                parts[at].push_bytes(b": ");
                parts[at].append(value.clone());
                parts[at].push_bytes(b"\r\n");
            }
            Field::Length => at = 1,
        }
    }
    parts
}

/// Appends the field with a user's cookies, if it has any.
#[inline]
fn push_cookies(out: &mut Vec<u8>, cookies: &[u8]) {
    if !cookies.is_empty() {
        out.extend_from_slice(b"Cookie: ");
        out.extend_from_slice(cookies);
        out.extend_from_slice(b"\r\n");
    }
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
