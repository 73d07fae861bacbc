//! How HTTP/2 says a request that was written during the run, as HTTP/1 has it (RFC 9113 section
//! 8.3).
//!
//! What it does with the fields is what it does with those of compiled requests: `Host` becomes
//! `:authority`, and what HTTP/1 says about its connection is left out. The body is as long as
//! `Content-Length` says. All of the request is checked before a byte of it is sent.
//!
//! Absent on purpose: the peer's table. A field of a request that nobody saw before may be any, so
//! each is a literal.

use plimsoll_proto::http1::{
    BodyLength, HEADERS_MAX, Headers, Limits, RequestDecoder, RequestEvent,
};
use plimsoll_proto::http2::{Body, HeadWriter};

use super::request::{CONNECTION_FIELDS, is, is_any};
use crate::request::WrittenError;

/// The caller has the whole request in memory, so its length needs no limit here. A head may have
/// as many fields as the decoder can read.
const LIMITS: Limits = Limits {
    head_bytes: usize::MAX,
    headers: HEADERS_MAX,
    chunk_line_bytes: 0,
    trailer_bytes: 0,
    body_bytes: u64::MAX,
};

/// What reads the head of one request.
pub(super) fn decoder() -> RequestDecoder {
    RequestDecoder::new(LIMITS)
}

/// A request that HTTP/2 can say.
#[derive(Debug)]
pub(super) struct Written<'b> {
    method: &'b str,
    target: &'b str,
    /// The first Host that is not empty.
    host: Option<&'b [u8]>,
    fields: Headers<'b>,
    body: &'b [u8],
}

impl<'b> Written<'b> {
    /// Reads a request of HTTP/1, of which `bytes` has all and nothing else.
    pub(super) fn read(
        decoder: &'b mut RequestDecoder,
        bytes: &'b [u8],
    ) -> Result<Self, WrittenError> {
        let Some(RequestEvent::Head(head)) = decoder.decode(bytes)?.event else {
            return Err(WrittenError::Unfinished);
        };
        let body = &bytes[head.head_bytes().len()..];
        let body_bytes = match head.body {
            BodyLength::None => 0,
            BodyLength::Known(body_bytes) => body_bytes,
            BodyLength::Chunked | BodyLength::UntilClose => return Err(WrittenError::Chunked),
        };
        if body.len() as u64 != body_bytes {
            return Err(WrittenError::Length);
        }
        if head.method == "CONNECT" {
            return Err(WrittenError::Connect);
        }
        if !head.target.starts_with('/') && head.target != "*" {
            return Err(WrittenError::Target);
        }
        let fields = head.headers();
        if fields.clone().any(|(name, value)| is_forbidden(name, value)) {
            return Err(WrittenError::ConnectionField);
        }
        let mut hosts =
            fields.clone().filter(|(name, value)| is(name, "Host") && !value.is_empty());
        let host = hosts.next().map(|(_, host)| host);
        if !host.is_none_or(is_visible) {
            return Err(WrittenError::Host);
        }
        Ok(Self { method: head.method, target: head.target, host, fields, body })
    }

    /// Its body. What the server has no room for is copied.
    pub(super) fn body(&self) -> Body<'b> {
        if self.body.is_empty() { Body::Empty } else { Body::Bytes(self.body) }
    }

    /// Writes its fields; `name` is a buffer.
    pub(super) fn write_head(&self, scheme: &str, name: &mut Vec<u8>, writer: &mut HeadWriter<'_>) {
        writer.passed_on(b":method", self.method.as_bytes());
        writer.passed_on(b":scheme", scheme.as_bytes());
        if let Some(host) = self.host {
            writer.passed_on(b":authority", host);
        }
        writer.passed_on(b":path", self.target.as_bytes());
        let mut says_length = false;
        for (given, value) in self.fields.clone() {
            if is(given, "Host") || is_any(given, &CONNECTION_FIELDS) {
                continue;
            }
            // HTTP/1 may say the same length more than once.
            if is(given, "Content-Length") {
                if !std::mem::replace(&mut says_length, true) {
                    writer.content_length(self.body.len() as u64);
                }
                continue;
            }
            name.clear();
            name.extend(given.bytes().map(|byte| byte.to_ascii_lowercase()));
            writer.passed_on(name, value);
        }
    }
}

/// Whether a text may stand in a pseudo-field.
fn is_visible(text: &[u8]) -> bool {
    text.iter().all(|&byte| byte > b' ' && byte != 0x7f) && std::str::from_utf8(text).is_ok()
}

/// Whether HTTP/2 forbids a field that cannot be left out unnoticed, as those about the connection
/// can.
fn is_forbidden(name: &str, value: &[u8]) -> bool {
    is(name, "Upgrade") || (is(name, "TE") && !value.eq_ignore_ascii_case(b"trailers"))
}
