//! A request of a run as it was compiled, in words that fit any protocol: what it says, before a
//! protocol has given it a form on the wire.
//!
//! A protocol encodes each of them once, before the run. What is left to do for a request then is
//! to fill in what it has of its own.

use std::fmt;
use std::sync::Arc;

use plimsoll_core::template::Template;
use plimsoll_grpc::MessageTemplate;
use plimsoll_io::PayloadId;
use plimsoll_proto::grpc::PREFIX_BYTES;
use plimsoll_proto::http1::write_request_head;
use plimsoll_proto::{http1, http2};

/// Fields that go with a body: a request sent on without it leaves them out (as the Fetch standard
/// has it, section 4.4, and those of the framing).
pub(crate) const BODY_FIELDS: [&str; 7] = [
    "Content-Type",
    "Content-Length",
    "Content-Encoding",
    "Content-Language",
    "Content-Location",
    "Transfer-Encoding",
    "Expect",
];

/// Messages that are sent together take about this much: a frame of HTTP/2, as most peers allow it.
const BATCH_BYTES: usize = 16_384;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// One of the requests of a run.
#[derive(Debug)]
pub struct CompiledRequest {
    /// Its method.
    pub method: String,
    /// `http` or `https`; `ws` or `wss` for WebSocket.
    pub scheme: String,
    /// What stands before the path where a proxy is spoken to: the target's scheme and authority
    /// (RFC 9112 section 3.2.2). Empty otherwise.
    pub prefix: String,
    /// Path and query, or `*`.
    pub path: Template,
    /// The digit after `HTTP/1.`, where that is what is spoken.
    pub http_minor: u8,
    /// The fields of its head, in order.
    pub fields: Vec<Field>,
    /// How the end of its body is told.
    pub framing: Framing,
    /// Its body.
    pub body: RequestBody,
    /// Whether its user's cookies are added.
    pub takes_cookies: bool,
    /// Whether it is sent on where a response redirects it to.
    pub follows_redirects: bool,
    /// Whether it is sent compressed, where the protocol has that and the server agrees.
    pub is_compressed: bool,
}

impl CompiledRequest {
    /// Refuses a head whose bytes, apart from what templates put there, would not be read back as
    /// they were meant.
    pub(crate) fn check_literals(&self) -> Result<(), EncodeError> {
        let text = |template: &Template| {
            let bytes: Vec<u8> = template.literals().flatten().copied().collect();
            // The plan holds text, and templates are cut from it between characters.
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let fields: Vec<(&str, String)> =
            self.given_fields().map(|(name, value)| (name, text(value))).collect();
        let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
        let (method, path) = (&self.method, text(&self.path));
        write_request_head(&mut Vec::new(), method, &path, self.http_minor, fields)?;
        Ok(())
    }

    /// The fields with a value of their own, in order.
    pub(crate) fn given_fields(&self) -> impl Iterator<Item = (&str, &Template)> {
        self.fields.iter().filter_map(|field| match field {
            Field::Given(name, value) => Some((name.as_str(), value)),
            Field::Length => None,
        })
    }
}

/// The body of a request.
#[derive(Debug)]
pub enum RequestBody {
    /// Bytes, with what templates put between them.
    Template(Template),
    /// Messages of gRPC, each behind its prefix.
    Messages(Messages),
}

/// The messages of a call.
#[derive(Debug)]
pub struct Messages {
    /// Those that there are, taken in turn; at least one.
    pub templates: Vec<MessageTemplate>,
    /// How many are sent in a call.
    pub count: u32,
}

impl Messages {
    /// How long the longest of them can be behind its prefix, bytes.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        let longest = self.templates.iter().map(MessageTemplate::bytes_max).max();
        PREFIX_BYTES + longest.unwrap_or(0)
    }

    /// How many of them are sent at a time, so that a call needs little memory however many it
    /// sends.
    #[must_use]
    pub fn batch(&self) -> u32 {
        let batch = BATCH_BYTES / self.bytes_max();
        u32::try_from(batch).unwrap_or(u32::MAX).clamp(1, self.count.max(1))
    }
}

/// Some of the messages of a call, in their order: from the first of these numbers on, up to the
/// second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Portion {
    /// The first of them; the first of a call has the number 0.
    pub from: u32,
    /// The one behind the last.
    pub to: u32,
}

/// A field of a request's head.
#[derive(Debug)]
pub enum Field {
    /// A name and its value.
    Given(String, Template),
    /// Content-Length, which each request computes.
    Length,
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// By what the fields say, if anything.
    AsGiven,
    /// By a length that is computed for each request.
    Length,
    /// By chunks.
    Chunked,
}

/// Where a redirect leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// Path and query on the same server. A peer chose them.
    pub path: String,
    /// Whether the next request is a GET without a body, whatever this one was.
    pub as_get: bool,
}

/// What one request has of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filling<'a> {
    /// Its number in the run: with the seed it decides what templates put in.
    pub number: u64,
    /// The value of the field with its user's cookies; empty without any.
    pub cookies: &'a [u8],
    /// Where it was redirected to, if it was.
    pub hop: Option<&'a Hop>,
    /// Where a call sends several messages, or none: which of them go now.
    pub messages: Portion,
}

/// A request to be sent.
#[derive(Debug)]
pub enum Message<'a, E> {
    /// One that was compiled.
    Compiled {
        /// Its form in the protocol.
        encoding: &'a E,
        /// How the driver knows the bytes of [`Encoding::fixed`], if it does.
        payload: Option<PayloadId>,
        /// What it has of its own.
        filling: Filling<'a>,
        /// Whether its body is held back, to be sent by
        /// [`send_rest`](crate::Connection::send_rest).
        withholds_body: bool,
    },
    /// One that a script wrote during the run, as HTTP/1 has it. Without bytes: it was sent as part
    /// of the one before, where HTTP/1 is spoken.
    Written {
        /// Its bytes.
        bytes: &'a [u8],
        /// Whether it is a HEAD request, whose response has no body.
        is_head: bool,
    },
    /// A request that a script writes piece by piece during the run. HTTP/2 alone has these.
    Streamed {
        /// Its head, as HTTP/1 has it.
        head: &'a [u8],
        /// The next bytes of its body.
        body: &'a [u8],
        /// Whether they are the last; if not, [`send_rest`](crate::Connection::send_rest) sends
        /// more.
        ends: bool,
    },
}

/// Why a request was not encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// HTTP/1 would not be read back as it was meant.
    #[error(transparent)]
    Http1(#[from] http1::EncodeError),
    /// gRPC is spoken over HTTP/2 alone.
    #[error("a message of gRPC is sent over HTTP/2 alone")]
    MessageNeedsHttp2,
    /// The handshake of a WebSocket is the same on all connections.
    #[error("a template cannot stand in the URL or the headers of a WebSocket: write the value")]
    VaryingHandshake,
    /// A field that WebSocket sets itself.
    #[error(
        "the Sec-WebSocket headers are set by the handshake: leave them out, or give \
         --ws-subprotocol"
    )]
    OwnField,
    /// HTTP/2 has no such field.
    #[error(transparent)]
    Http2(#[from] http2::EncodeError),
}

/// Why a request that was written during the run, as HTTP/1 has it, cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrittenError {
    /// It is not as HTTP/1 has it.
    #[error("the request cannot be sent over HTTP/2: {0}")]
    Malformed(#[from] http1::DecodeError),
    /// Its head has no end.
    #[error("the request cannot be sent over HTTP/2: no blank line ends its head")]
    Unfinished,
    /// Content-Length is wrong, or missing where there is a body.
    #[error("the request cannot be sent over HTTP/2: its body has another length than it says")]
    Length,
    /// The body is framed in a way that HTTP/2 does not have.
    #[error("the request cannot be sent over HTTP/2: its body is in chunks; give Content-Length")]
    Chunked,
    /// A tunnel has no responses.
    #[error("the request cannot be sent over HTTP/2: CONNECT asks for a tunnel")]
    Connect,
    /// The target is neither a path nor `*` (RFC 9113 section 8.3.1).
    #[error("the request cannot be sent over HTTP/2: its target is not a path")]
    Target,
    /// Host holds a space or is not UTF-8.
    #[error("the request cannot be sent over HTTP/2: its Host is not a host and port")]
    Host,
    /// A field that HTTP/2 forbids, and without which the request says something else: Upgrade, or
    /// a TE that is not `trailers` (RFC 9113 section 8.2.2).
    #[error("the request cannot be sent over HTTP/2: leave out the headers Upgrade and TE")]
    ConnectionField,
    /// HTTP/2 alone sends a request piece by piece.
    #[error("the request needs HTTP/2, and the connection speaks HTTP/1")]
    Streamed,
}

/// The form that a protocol gives a request before the run.
pub trait Encoding: fmt::Debug + Send + Sync + Sized {
    /// What all requests of a run have in common.
    type Shared: fmt::Debug + Default + Send + Sync;

    /// Encodes a request.
    ///
    /// # Errors
    /// When the request would not be read back as it was meant.
    fn of(request: CompiledRequest, shared: &mut Self::Shared) -> Result<Self, EncodeError>;

    /// Takes a request that a script wrote, as HTTP/1 has it.
    fn of_written(bytes: &[u8]) -> Self;

    /// The bytes of the whole request, where no request differs from another and no connection
    /// from another.
    fn fixed(&self) -> Option<&Arc<[u8]>>;

    /// The most bytes that a request takes, cookies and redirects left out: what a buffer needs so
    /// that filling it never allocates.
    fn bytes_max(&self) -> usize;

    /// Whether anything follows the head of this request.
    fn has_body(&self, filling: &Filling<'_>) -> bool;

    /// Appends the request for readers: its head as lines, with pseudo-fields where the protocol
    /// has them, an empty line, and the body as it goes out. Gives the length of the head, 0 where
    /// the protocol has none. Not for the path of a request: it may allocate.
    fn write_text(&self, filling: &Filling<'_>, out: &mut Vec<u8>) -> usize;
}

/// A template that puts in nothing.
pub(crate) fn literal(bytes: &[u8]) -> Template {
    let mut template = Template::default();
    template.push_bytes(bytes);
    template
}

/// Appends a path that a peer chose as a request may hold it: what cannot stand there is
/// percent-encoded, and a fragment is left out.
pub(crate) fn push_target(out: &mut Vec<u8>, path: &str) {
    let path = path.split('#').next().unwrap_or_default();
    if !path.starts_with('/') {
        out.push(b'/');
    }
    for &byte in path.as_bytes() {
        if byte > b' ' && byte < 0x7f {
            out.push(byte);
        } else {
            let digit = |nibble: u8| HEX[usize::from(nibble)];
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 0xf)]);
        }
    }
}
