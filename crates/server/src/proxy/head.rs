//! Heads, written anew for the other side: the start line, the fields that go from end to end as
//! they came, and framing of our own.
//!
//! One pass over a head's lines finds out what it contains and copies runs of lines that stay.
//! Heads that two readers could read in two ways are refused here, in addition to those that the
//! decoders refuse.
//!
//! Left out: Connection and the fields it names, Keep-Alive, Proxy-Connection, Proxy-Authorization,
//! Proxy-Authenticate, TE, Trailer, Transfer-Encoding, Upgrade (RFC 9110 section 7.6.1), and
//! Content-Length, which is written anew from the length that the decoder found.

pub(super) mod fields;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::net::IpAddr;

use plimsoll_proto::http1::{self, BodyLength, RequestHead, ResponseHead};

use self::fields::{Field, Found, copy_end_to_end, field, find, first_line};
use super::options::{Forwarded, HostField};
use crate::route::Refusal;

/// How requests are rewritten; the same for all requests of a worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rewriting {
    pub(super) forwarded: Forwarded,
    pub(super) host: HostField,
    pub(super) via: bool,
    /// Whether the proxy itself answers `Expect: 100-continue`.
    pub(super) answers_expect: bool,
    /// Whether clients speak TLS.
    pub(super) is_secure: bool,
}

/// The findings of the pass over a request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    /// Where in the written head a Host field with the upstream's name is to be inserted; 0 if the
    /// client's is there.
    pub(super) host_at: u32,
    /// Whether its method is idempotent (RFC 9110 section 9.2.2).
    pub(super) is_idempotent: bool,
    pub(super) is_head: bool,
}

/// The client of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    pub(super) address: IpAddr,
    /// Whether it speaks HTTP/2, and the head was translated.
    pub(super) is_http2: bool,
    /// Whether it takes trailers: the upstream is told so.
    pub(super) takes_trailers: bool,
}

const fn bad(line: &'static str) -> Refusal {
    Refusal { status: 400, line }
}

const BARE_BREAK: Refusal = bad("a line of the head does not end in CRLF");
const NO_HOST: Refusal = bad("HTTP/1.1 requires one Host field (RFC 9112 section 3.2)");
const BAD_HOST: Refusal = bad("the Host field is not a host and port");
const HOST_MISMATCH: Refusal = bad("the target names another host than the Host field");
const BAD_TARGET: Refusal = bad("the request target is malformed");
const TWO_LENGTHS: Refusal = bad("Content-Length is stated more than once");
const TOO_MANY_NAMED: Refusal = bad("Connection names too many fields");
const BAD_MAX_FORWARDS: Refusal = bad("Max-Forwards is not a number");
const NO_MORE_HOPS: Refusal =
    Refusal { status: 501, line: "Max-Forwards is 0 (RFC 9110 section 7.6.2)" };
const NO_METHOD: Refusal =
    Refusal { status: 501, line: "CONNECT and TRACE are not forwarded by this proxy" };

/// Writes the head that an upstream gets.
///
/// # Errors
/// The answer for the client when the request must not be forwarded.
#[inline]
pub(super) fn write_request(
    out: &mut Vec<u8>,
    head: &RequestHead<'_>,
    from: Sender,
    rewriting: Rewriting,
) -> Result<Written, Refusal> {
    let bytes = head.head_bytes();
    let line_end = first_line(bytes).ok_or(BARE_BREAK)?;
    let method = head.method.as_bytes();
    if matches!(method, b"CONNECT" | b"TRACE") {
        return Err(NO_METHOD);
    }
    let target = Target::of(head.method, head.target).ok_or(BAD_TARGET)?;
    out.extend_from_slice(method);
    out.push(b' ');
    target.write(out, head.method);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    let fields_at = out.len();
    let Rewriting { forwarded, host, answers_expect, .. } = rewriting;
    let is_options = method == b"OPTIONS";
    let drops = move |field| match field {
        Field::Host => host == HostField::Upstream,
        Field::Expect => answers_expect,
        Field::MaxForwards => is_options,
        Field::Cookie => false,
        _ => forwarded != Forwarded::Off,
    };
    let found = copy_end_to_end(out, bytes, line_end, drops).ok_or(BARE_BREAK)?;
    check(&found, head, &target)?;
    if is_options && let Some(hops) = found.max_forwards {
        write_max_forwards(out, hops)?;
    }
    let named = target.authority.filter(|_| host == HostField::Keep && found.hosts == 0);
    if let Some(authority) = named {
        http1::write_header(out, "Host", authority);
    }
    write_framing(out, head.body);
    if from.takes_trailers {
        // TE is for this connection alone, and says so (RFC 9110 section 10.1.4).
        out.extend_from_slice(b"TE: trailers\r\nConnection: TE\r\n");
    }
    if forwarded != Forwarded::Off {
        write_forwarded(out, bytes, &found, from.address, rewriting);
    }
    if rewriting.via {
        let via: &[u8] = match (from.is_http2, head.minor_version) {
            (true, _) => b"Via: 2.0 plimsoll\r\n",
            (false, 0) => b"Via: 1.0 plimsoll\r\n",
            (false, _) => b"Via: 1.1 plimsoll\r\n",
        };
        out.extend_from_slice(via);
    }
    http1::write_head_end(out);
    let needs_host = host == HostField::Upstream || (found.hosts == 0 && named.is_none());
    Ok(Written {
        host_at: if needs_host { fields_at as u32 } else { 0 },
        is_idempotent: matches!(method, b"GET" | b"HEAD" | b"PUT" | b"DELETE" | b"OPTIONS"),
        is_head: method == b"HEAD",
    })
}

/// Refuses heads that the decoder accepts and a proxy must not forward.
#[inline]
fn check(found: &Found<'_>, head: &RequestHead<'_>, target: &Target<'_>) -> Result<(), Refusal> {
    if found.hosts > 1 || (found.hosts == 0 && head.minor_version == 1) {
        return Err(NO_HOST);
    }
    if found.hosts == 1 && !is_host(found.host) {
        return Err(BAD_HOST);
    }
    if let Some(authority) = target.authority {
        if !is_host(authority) {
            return Err(BAD_TARGET);
        }
        if found.hosts == 1 && !authority.eq_ignore_ascii_case(found.host) {
            return Err(HOST_MISMATCH);
        }
    }
    if found.content_lengths > 1 || found.content_length.contains(&b',') {
        return Err(TWO_LENGTHS);
    }
    if found.named.overflows {
        return Err(TOO_MANY_NAMED);
    }
    Ok(())
}

/// Writes Max-Forwards, reduced by one.
#[cold]
fn write_max_forwards(out: &mut Vec<u8>, hops: &[u8]) -> Result<(), Refusal> {
    // No path has more proxies in a row; larger numbers are cut to it.
    const HOPS_MAX: u32 = 1000;
    if !is_number(hops) {
        return Err(BAD_MAX_FORWARDS);
    }
    let hops = hops
        .iter()
        .fold(0, |number: u32, digit| (number * 10 + u32::from(digit - b'0')).min(HOPS_MAX));
    let left = hops.checked_sub(1).ok_or(NO_MORE_HOPS)?;
    write!(out, "Max-Forwards: {left}\r\n").expect("a Vec takes everything");
    Ok(())
}

/// Whether a text is a host with an optional port (RFC 3986 section 3.2.2), and not empty. A comma,
/// though allowed there, could be read as two hosts.
#[inline]
fn is_host(text: &[u8]) -> bool {
    let (host, port) = match text {
        [b'[', rest @ ..] => {
            let Some(end) = find(rest, b']') else { return false };
            let is_address = |&byte: &u8| byte.is_ascii_hexdigit() || b":.".contains(&byte);
            if end == 0 || !rest[..end].iter().all(is_address) {
                return false;
            }
            (&text[..end + 2], &rest[end + 1..])
        }
        _ => text.split_at(find(text, b':').unwrap_or(text.len())),
    };
    let is_allowed =
        |&byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=".contains(&byte);
    let is_name = !host.is_empty() && (host[0] == b'[' || host.iter().all(is_allowed));
    is_name && matches!(port, [] | [b':', ..] if port.iter().skip(1).all(u8::is_ascii_digit))
}

/// A request's target, in one of the forms that are forwarded (RFC 9112 section 3.2).
struct Target<'a> {
    /// Scheme and authority, in the absolute form.
    authority: Option<&'a [u8]>,
    /// Path and query, may be empty in the absolute form; or `*`.
    path: &'a [u8],
}

impl<'a> Target<'a> {
    #[inline]
    fn of(method: &str, target: &'a str) -> Option<Self> {
        let bytes = target.as_bytes();
        // Browsers send what RFC 3986 does not allow, but none of these.
        let is_good = |&byte: &u8| {
            (b'!'..=b'~').contains(&byte) && !matches!(byte, b'"' | b'#' | b'<' | b'>')
        };
        if !bytes.iter().all(is_good) {
            return None;
        }
        match bytes {
            [b'/', ..] => Some(Self { authority: None, path: bytes }),
            b"*" if method == "OPTIONS" => Some(Self { authority: None, path: bytes }),
            _ => Self::absolute(bytes),
        }
    }

    #[cold]
    fn absolute(target: &'a [u8]) -> Option<Self> {
        let after = |scheme: &str| {
            let (start, rest) = target.split_at_checked(scheme.len())?;
            start.eq_ignore_ascii_case(scheme.as_bytes()).then_some(rest)
        };
        let rest = after("http://").or_else(|| after("https://"))?;
        let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        Some(Self { authority: Some(authority), path })
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>, method: &str) {
        match (self.authority, self.path.first()) {
            (Some(_), None) if method == "OPTIONS" => return out.push(b'*'),
            (Some(_), None | Some(b'?')) => out.push(b'/'),
            _ => {}
        }
        out.extend_from_slice(self.path);
    }
}

#[inline]
fn write_framing(out: &mut Vec<u8>, body: BodyLength) {
    match body {
        BodyLength::None | BodyLength::UntilClose => {}
        BodyLength::Known(length_bytes) => http1::write_content_length(out, length_bytes),
        BodyLength::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
}

#[inline]
fn write_forwarded(
    out: &mut Vec<u8>,
    head: &[u8],
    found: &Found<'_>,
    client: IpAddr,
    rewriting: Rewriting,
) {
    out.extend_from_slice(b"X-Forwarded-For: ");
    if found.has_forwarded_for && rewriting.forwarded == Forwarded::Append {
        write_earlier(out, head);
    }
    write_address(out, client);
    let proto: &[u8] = match rewriting.is_secure {
        true => b"\r\nX-Forwarded-Proto: https\r\n",
        false => b"\r\nX-Forwarded-Proto: http\r\n",
    };
    out.extend_from_slice(proto);
    if found.hosts == 1 {
        out.extend_from_slice(b"X-Forwarded-Host: ");
        out.extend_from_slice(found.host);
        out.extend_from_slice(b"\r\n");
    }
}

/// Writes the values of the client's X-Forwarded-For fields, each followed by a comma.
#[cold]
fn write_earlier(out: &mut Vec<u8>, head: &[u8]) {
    for (name, value) in http1::Headers::of_head(head) {
        if field(name.as_bytes()) == Field::ForwardedFor && !value.is_empty() {
            out.extend_from_slice(value);
            out.extend_from_slice(b", ");
        }
    }
}

#[inline]
fn write_address(out: &mut Vec<u8>, address: IpAddr) {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            for (index, octet) in address.octets().into_iter().enumerate() {
                if index > 0 {
                    out.push(b'.');
                }
                if octet >= 100 {
                    out.push(b'0' + octet / 100);
                }
                if octet >= 10 {
                    out.push(b'0' + octet / 10 % 10);
                }
                out.push(b'0' + octet % 10);
            }
        }
        IpAddr::V6(address) => write!(out, "{address}").expect("a Vec takes everything"),
    }
}

/// How a response is framed for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Unchanged: its length was stated, or it has no body.
    Plain,
    /// In new chunks.
    Chunked,
    /// Up to the end of the connection.
    UntilClose,
}

/// An upstream's response that cannot be forwarded: its framing is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unusable;

/// The client of a response.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recipient {
    pub(super) minor_version: u8,
    /// Whether it asked with HEAD.
    pub(super) is_head: bool,
    /// Whether its connection ends with this response.
    pub(super) is_last: bool,
}

/// Writes the head that a client gets, and returns how the body is framed; `UntilClose` makes it
/// the last one on the connection.
///
/// # Errors
/// When two readers could disagree about the response.
#[inline]
pub(super) fn write_response(
    out: &mut Vec<u8>,
    head: &ResponseHead<'_>,
    to: Recipient,
) -> Result<Body, Unusable> {
    let bytes = head.head_bytes();
    let line_end = write_status(out, bytes)?;
    write_fields(out, head, line_end, to.is_head)?;
    let body = match head.body {
        BodyLength::None | BodyLength::Known(_) => Body::Plain,
        BodyLength::Chunked | BodyLength::UntilClose if to.minor_version == 0 => Body::UntilClose,
        BodyLength::Chunked | BodyLength::UntilClose => {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
            Body::Chunked
        }
    };
    if to.is_last || body == Body::UntilClose {
        out.extend_from_slice(b"Connection: close\r\n");
    } else if to.minor_version == 0 {
        out.extend_from_slice(b"Connection: keep-alive\r\n");
    }
    http1::write_head_end(out);
    Ok(body)
}

/// Writes the fields of a response that go from end to end, and the length of its body if that is
/// known.
#[inline]
fn write_fields(
    out: &mut Vec<u8>,
    head: &ResponseHead<'_>,
    line_end: usize,
    is_head: bool,
) -> Result<(), Unusable> {
    let found = copy_end_to_end(out, head.head_bytes(), line_end, |_| false).ok_or(Unusable)?;
    let has_no_body = is_head || matches!(head.status, 204 | 304);
    let is_disputed = found.has_transfer_encoding
        && (found.content_lengths > 0
            || head.minor_version == 0
            || (found.has_other_coding && !has_no_body));
    if is_disputed || found.named.overflows {
        return Err(Unusable);
    }
    match head.body {
        BodyLength::None if head.status != 204 && is_number(found.content_length) => {
            http1::write_header(out, "Content-Length", found.content_length);
        }
        BodyLength::Known(length_bytes) => http1::write_content_length(out, length_bytes),
        BodyLength::None | BodyLength::Chunked | BodyLength::UntilClose => {}
    }
    Ok(())
}

/// Writes the fields of a response as HTTP/2 has them: lines with names in lower case, behind an
/// empty line. An interim response has no framing.
///
/// # Errors
/// When two readers could disagree about the response.
pub(super) fn write_lines(
    out: &mut Vec<u8>,
    head: &ResponseHead<'_>,
    is_head: bool,
) -> Result<(), Unusable> {
    let line_end = first_line(head.head_bytes()).ok_or(Unusable)?;
    out.extend_from_slice(b"\r\n");
    if head.status < 200 {
        copy_end_to_end(out, head.head_bytes(), line_end, |_| false).ok_or(Unusable)?;
    } else {
        write_fields(out, head, line_end, is_head)?;
    }
    http1::write_head_end(out);
    fields::lower_names(out);
    Ok(())
}

/// Writes trailers as lines with names in lower case: without those that are about framing,
/// routing or the connection (RFC 9110 section 6.5.1).
pub(super) fn write_trailers(out: &mut Vec<u8>, trailers: http1::Headers<'_>) {
    let start = out.len();
    for (name, value) in trailers.filter(|(name, _)| field(name.as_bytes()) == Field::Other) {
        http1::write_header(out, name, value);
    }
    fields::lower_names(&mut out[start..]);
}

/// Writes an interim response.
///
/// # Errors
/// When its lines are malformed.
#[cold]
pub(super) fn write_interim(out: &mut Vec<u8>, head: &ResponseHead<'_>) -> Result<(), Unusable> {
    let bytes = head.head_bytes();
    let line_end = write_status(out, bytes)?;
    copy_end_to_end(out, bytes, line_end, |_| false).ok_or(Unusable)?;
    http1::write_head_end(out);
    Ok(())
}

/// Writes the status line with our version, and says where it ends in `head`.
#[inline]
fn write_status(out: &mut Vec<u8>, head: &[u8]) -> Result<usize, Unusable> {
    const VERSION_BYTES: usize = b"HTTP/1.1".len();
    const STATUS_END: usize = b"HTTP/1.1 200".len();
    let line_end = first_line(head).ok_or(Unusable)?;
    let status = head.get(VERSION_BYTES..STATUS_END).ok_or(Unusable)?;
    let reason = head.get(STATUS_END..line_end).ok_or(Unusable)?;
    out.extend_from_slice(b"HTTP/1.1");
    out.extend_from_slice(status);
    if reason == b"\r\n" {
        // The space before a reason is not optional, unlike the reason (RFC 9112 section 4).
        out.push(b' ');
    }
    out.extend_from_slice(reason);
    Ok(line_end)
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}
