//! HTTP/1.0 and HTTP/1.1 (RFC 9110, RFC 9112): decoders for both roles, and the writers.
//!
//! `httparse` reads message heads; this module does the framing of messages. A decoder takes the
//! bytes that arrived and hands out one event per call:
//!
//! ```text
//!     blank line, part of a head, 1xx (Interim)
//!            +-----+
//!            |     v
//!           +-------+   head, body to come    +------+
//!   new --> | Head  | ------- (Head) -------> | Body | --+ piece of the body (Body)
//!           +-------+                         +------+ <-+
//!            ^     |                             |
//!            |     | head, no body               | end by length or last chunk
//!            |     +-- (Head) --> +------+ <-----+ (or by FIN, if UntilClose)
//!            |                    | Last |
//!            |                    +------+
//!            |                        |
//!            +-- (End, keep_alive) ---+--- (End, !keep_alive) --> Done
//!
//!   any state -- malformed, truncated or too long --> Failed: the same error from then on
//! ```
//!
//! The contract with the caller:
//!
//! - `consumed` bytes of the input are done with; call again with the rest. An event of `None`
//!   means that all of the input was consumed and more is needed.
//! - The last byte of a message is consumed by its `End` event, never earlier and never with a
//!   byte of the next message. So looping while input is left misses no event, and so does looping
//!   until the event is `None`. Empty input gives `None`, or the error of a failed decoder.
//! - In `Done` (after an `End` without `keep_alive`) input is consumed and dropped, as RFC 9112
//!   9.6 requires. A caller that switches protocols stops calling at that `End` and keeps the bytes
//!   behind it.
//! - The events and the error, if any, do not depend on how the bytes were cut into inputs, with
//!   two exceptions: the body comes in other pieces, and an error in a head may be found only at
//!   the end of its line.
//!
//! Memory: a message that arrives in one input is read in place. Only a head that was cut is
//! carried over, at most [`Limits::head_bytes`] of it.
//!
//! Absent on purpose: a server's side of CONNECT, content codings, the requirement of a Host field
//! (RFC 9112 3.2: a server's to answer), and the content of a request's trailers, which are checked
//! and dropped. Those of a response are kept on request.

mod body;
mod carry;
mod chunked;
mod error;
mod fold;
mod framing;
#[doc(hidden)]
pub mod fuzz;
mod headers;
mod reason;
mod request;
mod response;
mod write;

#[cfg(test)]
mod tests;

pub use error::{DecodeError, EncodeError};
pub use fold::LineStart;
pub use framing::ends_connection;
pub use headers::Headers;
pub use reason::reason_phrase;
pub use request::{RequestDecoder, RequestEnd, RequestEvent, RequestHead};
pub use response::{ResponseDecoder, ResponseEnd, ResponseEvent, ResponseHead};
pub use write::{
    write_chunk, write_content_length, write_decimal, write_head_end, write_header,
    write_last_chunk, write_request_head, write_status_line,
};

/// The most header fields a request can have, whatever [`Limits::headers`] says. A response with no
/// more than this many is read without allocating.
pub const HEADERS_MAX: usize = 128;

/// The most interim responses (1xx) taken before a final one.
pub const INTERIM_MAX: u8 = 32;

/// How long the parts of a message may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in a head, from the start line (and blank lines before it) to the blank line after
    /// the fields.
    pub head_bytes: usize,
    /// Header fields in a head; of a request, more than [`HEADERS_MAX`] counts as [`HEADERS_MAX`].
    pub headers: usize,
    /// Bytes in the line that starts a chunk, with its extensions and CRLF.
    pub chunk_line_bytes: usize,
    /// Bytes in all trailer fields of a message together.
    pub trailer_bytes: usize,
    /// Bytes in a body, without its chunk framing.
    pub body_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 64 * 1024,
            headers: HEADERS_MAX,
            chunk_line_bytes: 4 * 1024,
            trailer_bytes: 16 * 1024,
            body_bytes: u64::MAX,
        }
    }
}

/// The outcome of one call to a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded<E> {
    /// How many bytes of the input are done with.
    pub consumed: usize,
    /// What happened; `None` when all of the input was consumed and more is needed.
    pub event: Option<E>,
}

impl<E> Decoded<E> {
    fn more(input: &[u8]) -> Self {
        Self { consumed: input.len(), event: None }
    }
}

/// Which request a response answers, because that decides whether it has a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Any method that the others don't name.
    Plain,
    /// HEAD: the response has no body, whatever its fields say (RFC 9110 9.3.2).
    Head,
    /// CONNECT: a 2xx has no body, and what follows it is the tunnel's (RFC 9110 9.3.6).
    Connect,
}

/// How the end of a body is found (RFC 9112 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodyLength {
    /// There is no body.
    None,
    /// This many bytes (Content-Length).
    Known(u64),
    /// Chunks, up to one of size 0 (Transfer-Encoding).
    Chunked,
    /// Everything until the connection is closed; responses only.
    UntilClose,
}
