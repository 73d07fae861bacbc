//! How the end of a request's body is told, and whether the fields that a plan gives say the same
//! (RFC 9112 section 6): a server that believes another length than the one that goes out takes the
//! rest of the body for the next request, or waits for what never comes.
//!
//! Absent on purpose: requests that scripts write during a run.

use plimsoll_conn::{Framing, RequestBody};
use plimsoll_core::Plan;
use plimsoll_core::plan::{HttpVersion, Request};

use super::error::Problem;

/// The field that says how long a body is.
pub(super) const LENGTH: &str = "Content-Length";

const CODINGS: &str = "Transfer-Encoding";

/// How the end of a request's body is told.
pub(super) fn framing(
    plan: &Plan,
    request: &Request,
    body: &RequestBody,
) -> Result<Framing, Problem> {
    if plan.grpc.is_some() || plan.endpoint.is_websocket() {
        return of_messages(request);
    }
    let has_body = request.body.is_some();
    if request.expect_continue && has_body && request.http_minor == 0 {
        return Err(Problem::ContinueInOldVersion);
    }
    let codings: Vec<&str> = given(request, CODINGS).flat_map(|value| value.split(',')).collect();
    if request.chunked || !codings.is_empty() {
        return in_chunks(request, &codings);
    }
    let mut lengths = given(request, LENGTH).flat_map(|value| value.split(',')).peekable();
    if lengths.peek().is_some() {
        return as_given(lengths, body);
    }
    let is_taken_away = request.values(LENGTH).next().is_some();
    // HTTP/2 frames a body whatever its fields say.
    let is_framed = plan.http_version == HttpVersion::Http2;
    if is_taken_away && !is_framed && fixed_bytes(body) != Some(0) {
        return Err(Problem::NoLength);
    }
    let sends_length = has_body || matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    Ok(if sends_length && !is_taken_away { Framing::Length } else { Framing::AsGiven })
}

/// A message says itself how long it is, and what asks for it has no body.
fn of_messages(request: &Request) -> Result<Framing, Problem> {
    match given(request, LENGTH).find(|length| length.trim() != "0") {
        Some(length) => Err(Problem::LengthOfMessages(length.to_owned())),
        None => Ok(Framing::AsGiven),
    }
}

/// A body that chunks end.
fn in_chunks(request: &Request, codings: &[&str]) -> Result<Framing, Problem> {
    if request.http_minor == 0 {
        return Err(Problem::ChunksInOldVersion);
    }
    if given(request, LENGTH).next().is_some() {
        return Err(Problem::LengthOfChunks);
    }
    let is_chunked = |coding: &str| coding.trim().eq_ignore_ascii_case("chunked");
    match codings.split_last() {
        // Chunked ends a body, and stands there once (RFC 9112 section 7.1).
        Some((last, others)) if !is_chunked(last) || others.iter().any(|it| is_chunked(it)) => {
            Err(Problem::Codings(codings.join(",")))
        }
        None if request.values(CODINGS).next().is_some() => Err(Problem::Codings(String::new())),
        _ => Ok(Framing::Chunked),
    }
}

/// A body as long as its fields say.
fn as_given<'l>(
    mut lengths: impl Iterator<Item = &'l str>,
    body: &RequestBody,
) -> Result<Framing, Problem> {
    let Some(bytes) = fixed_bytes(body) else {
        return Err(Problem::LengthOfTemplate);
    };
    match lengths.find(|length| decimal(length.trim()) != Some(bytes)) {
        Some(length) => Err(Problem::OtherLength { length: length.trim().to_owned(), bytes }),
        None => Ok(Framing::AsGiven),
    }
}

/// How long a body is that never varies.
fn fixed_bytes(body: &RequestBody) -> Option<usize> {
    match body {
        RequestBody::Template(body) => body.fixed().map(<[u8]>::len),
        RequestBody::Messages(_) => None,
    }
}

/// Digits alone, as the grammar has it: no sign.
fn decimal(text: &str) -> Option<usize> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The values of a field that go out.
fn given<'r>(request: &'r Request, name: &'r str) -> impl Iterator<Item = &'r str> {
    request.values(name).filter(|value| !value.is_empty())
}
