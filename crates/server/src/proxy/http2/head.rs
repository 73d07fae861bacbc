//! A request's head, translated from HTTP/2 to HTTP/1 (RFC 9113 section 8.3): first into the text
//! that a client of HTTP/1 would have sent, which then is read and written anew as any other. So
//! what is refused over HTTP/1 is refused over HTTP/2, by the same code.

use plimsoll_proto::http1::{BodyLength, Limits, RequestDecoder, RequestEvent};
use plimsoll_proto::http2::RequestHead;

use crate::connection::refusal;
use crate::proxy::exchange::Facts;
use crate::proxy::head::{self, Rewriting, Sender};
use crate::route::Refusal;

/// The text of a head is whole, so this cannot be said of any.
const UNREADABLE: Refusal = Refusal { status: 400, line: "the request's head is not whole" };

/// What translating depends on, beside the head and its client.
#[derive(Debug, Clone, Copy)]
pub(in crate::proxy) struct Translation<'t> {
    pub(in crate::proxy) rewriting: Rewriting,
    pub(in crate::proxy) limits: Limits,
    /// The field whose value chooses the upstream, if any.
    pub(in crate::proxy) hashed_field: Option<&'t str>,
}

/// What came of a head that was translated.
#[derive(Debug, Clone, Copy)]
pub(in crate::proxy) struct Translated {
    pub(in crate::proxy) facts: Facts,
    pub(in crate::proxy) body: BodyLength,
    pub(in crate::proxy) expects_continue: bool,
}

/// Writes a head as a client of HTTP/1 would. The authority becomes Host; cookies, which HTTP/2 may
/// split, are joined (RFC 9113 section 8.2.3). A body without a length comes in chunks.
pub(in crate::proxy) fn write_text(out: &mut Vec<u8>, head: &RequestHead<'_>) {
    out.clear();
    // CONNECT has no path; it is refused like that of HTTP/1.
    let target = head.path().or_else(|| head.authority()).unwrap_or_default();
    for part in [head.method(), " ", target, " HTTP/1.1\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    let has_host = head.headers().any(|(name, _)| name == "host");
    if let Some(authority) = head.authority().filter(|_| !has_host) {
        write_line(out, b"host", authority.as_bytes());
    }
    let mut cookies = 0;
    for (name, value) in head.headers() {
        match name {
            "cookie" => cookies += 1,
            _ => write_line(out, name.as_bytes(), value),
        }
    }
    if cookies > 0 {
        write_cookies(out, head);
    }
    if !head.is_whole() && head.content_length().is_none() {
        write_line(out, b"transfer-encoding", b"chunked");
    }
    out.extend_from_slice(b"\r\n");
}

fn write_cookies(out: &mut Vec<u8>, head: &RequestHead<'_>) {
    out.extend_from_slice(b"cookie: ");
    let cookies = head.headers().filter(|(name, _)| *name == "cookie");
    for (number, (_, value)) in cookies.enumerate() {
        if number > 0 {
            out.extend_from_slice(b"; ");
        }
        out.extend_from_slice(value);
    }
    out.extend_from_slice(b"\r\n");
}

fn write_line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

/// Writes the head that an upstream gets, from the text of [`write_text`].
///
/// # Errors
/// The answer for the client when the request must not be forwarded.
pub(in crate::proxy) fn translate(
    text: &[u8],
    out: &mut Vec<u8>,
    from: Sender,
    how: Translation<'_>,
) -> Result<Translated, Refusal> {
    let mut decoder = RequestDecoder::new(how.limits);
    let decoded = decoder.decode(text).map_err(refusal)?;
    let Some(RequestEvent::Head(head)) = decoded.event else { return Err(UNREADABLE) };
    let written = head::write_request(out, &head, from, how.rewriting)?;
    let mut facts = Facts::of(&head, written, from.address, how.hashed_field);
    facts.head_bytes = out.len() as u32;
    Ok(Translated { facts, body: head.body, expects_continue: head.expect_continue })
}
