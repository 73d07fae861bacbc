//! Bytes that are to come back as they are: what a plan for them needs, and what does not go with
//! it.

use crate::plan::error::{Message, PlanError, name};
use crate::plan::{Draft, Field, HttpVersion};

/// What an IPv4 datagram of UDP holds (RFC 768).
const DATAGRAM_BYTES_MAX: usize = 65_507;

pub(super) fn check(draft: &Draft, errors: &mut Vec<PlanError>) {
    if draft.endpoint.is_echo() {
        errors.extend(of_http(draft));
        errors.extend(body(draft));
    }
    if draft.endpoint.is_datagram() {
        errors.extend(datagram(draft));
    }
}

/// What bytes without a protocol do not have.
fn of_http(draft: &Draft) -> Option<PlanError> {
    let request = &draft.request;
    let given_fields = [
        (Field::Grpc, draft.grpc.is_some()),
        (Field::Targets, !draft.targets.is_empty()),
        (Field::Script, draft.script.is_some()),
        (Field::Method, request.method != "GET"),
        (Field::Header, !request.headers.is_empty()),
        (Field::Http, draft.http_version != HttpVersion::Http1 || request.http_minor != 1),
        (Field::Chunked, request.chunked),
        (Field::ExpectContinue, request.expect_continue),
        (Field::Expect, !draft.expect.is_empty()),
        (Field::Redirects, draft.redirects > 0),
        (Field::Cookies, draft.cookies),
        (Field::Pipeline, draft.pipeline > 1),
        (Field::Proxy, draft.transport.proxy.is_some()),
    ];
    let (field, _) = given_fields.into_iter().find(|(_, is_given)| *is_given)?;
    let problem = name(field) + " means nothing for bytes without a protocol";
    Some(PlanError::new(field, problem, Message::from("leave ") + name(field) + " out"))
}

/// What is to come back.
fn body(draft: &Draft) -> Option<PlanError> {
    let body = draft.request.body.as_ref();
    let is_empty = body.is_none_or(|body| body.as_bytes().is_empty());
    is_empty.then(|| {
        let advice = Message::from("give some with ") + name(Field::Body);
        PlanError::new(Field::Body, "an echo needs bytes that can come back", advice)
    })
}

/// What a datagram cannot have.
fn datagram(draft: &Draft) -> Option<PlanError> {
    let bytes = draft.request.body.as_ref().map_or(0, |body| body.as_bytes().len());
    if bytes > DATAGRAM_BYTES_MAX {
        let problem = format!("a datagram of {bytes} bytes is above {DATAGRAM_BYTES_MAX}");
        return Some(PlanError::new(Field::Body, problem, "send less"));
    }
    draft.transport.unix_socket.as_ref().map(|_| {
        let problem = name(Field::UnixSocket) + " carries no datagrams";
        let advice = Message::from("leave ") + name(Field::UnixSocket) + " out";
        PlanError::new(Field::UnixSocket, problem, advice)
    })
}
