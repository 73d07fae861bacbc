//! WebSocket: what it needs, and what does not go with it.

use crate::expect::Expectation;
use crate::plan::error::{Message, PlanError, name};
use crate::plan::websocket::Reply;
use crate::plan::{Body, Draft, Field, HttpVersion, WebSocketPlan};

pub(super) fn check(draft: &Draft, errors: &mut Vec<PlanError>) {
    if !draft.endpoint.is_websocket() {
        errors.extend(unspoken(&draft.websocket));
        return;
    }
    if draft.grpc.is_some() {
        return;
    }
    errors.extend(of_http(draft));
    errors.extend(expectation(draft));
    errors.extend(messages(draft));
    errors.extend(subprotocol(&draft.websocket));
}

/// What is about WebSocket, where that is not spoken.
fn unspoken(websocket: &WebSocketPlan) -> Option<PlanError> {
    let usual = WebSocketPlan::default();
    let given_fields = [
        (Field::WsReply, websocket.reply != usual.reply),
        (Field::WsBinary, websocket.binary),
        (Field::WsCompress, websocket.compress),
        (Field::WsSubprotocol, websocket.subprotocol.is_some()),
        (Field::Streams, websocket.in_flight != usual.in_flight),
    ];
    let (field, _) = given_fields.into_iter().find(|(_, is_given)| *is_given)?;
    let problem = name(field) + " is about WebSocket";
    Some(PlanError::new(field, problem, "give a ws:// or wss:// URL"))
}

/// What messages do not have.
fn of_http(draft: &Draft) -> Option<PlanError> {
    let given_fields = [
        (Field::Method, draft.requests().any(|request| request.method != "GET")),
        (Field::Http, draft.http_version != HttpVersion::Http1),
        (Field::Http, draft.requests().any(|request| request.http_minor != 1)),
        (Field::Chunked, draft.requests().any(|request| request.chunked)),
        (Field::ExpectContinue, draft.requests().any(|request| request.expect_continue)),
        (Field::Redirects, draft.redirects > 0),
        (Field::Cookies, draft.cookies),
        (Field::Pipeline, draft.pipeline > 1),
        (Field::Script, draft.script.is_some()),
    ];
    let (field, _) = given_fields.into_iter().find(|(_, is_given)| *is_given)?;
    let advice = match field {
        Field::Pipeline => Message::from("give ") + name(Field::Streams),
        field => Message::from("leave ") + name(field) + " out",
    };
    Some(PlanError::new(field, name(field) + " means nothing for messages of a WebSocket", advice))
}

/// A message has a length and bytes, and neither status nor headers.
fn expectation(draft: &Draft) -> Option<PlanError> {
    let of_targets = draft.targets.iter().flat_map(|target| &target.expect);
    let mut all = draft.expect.iter().chain(of_targets);
    let is_of_http =
        |expect: &&Expectation| matches!(expect, Expectation::Status(_)) || expect.needs_headers();
    all.find(is_of_http).map(|_| {
        let problem = "a message of a WebSocket has neither a status nor headers";
        PlanError::new(Field::Expect, problem, "expect something of its bytes or its body")
    })
}

fn messages(draft: &Draft) -> Option<PlanError> {
    if draft.requests().any(|request| request.body.is_none()) {
        let advice = Message::from("give one with ") + name(Field::WsMessage);
        return Some(PlanError::new(Field::WsMessage, "a WebSocket needs a message", advice));
    }
    let is_text = |body: &Option<Body>| !matches!(body, Some(Body::Bytes(_)));
    if !draft.websocket.binary && !draft.requests().all(|request| is_text(&request.body)) {
        let advice = Message::from("give ") + name(Field::WsBinary);
        let problem = "a text message is UTF-8, and this one is not";
        return Some(PlanError::new(Field::WsMessage, problem, advice));
    }
    let WebSocketPlan { reply, in_flight, .. } = &draft.websocket;
    if *in_flight == 0 {
        let problem = name(Field::Streams) + " 0 cannot send anything";
        return Some(PlanError::new(Field::Streams, problem, "give 1 or more"));
    }
    (*in_flight > 1 && matches!(reply, Reply::Match(_))).then(|| {
        let problem = name(Field::Streams) + " needs replies that come in order";
        let advice = Message::from("leave ") + name(Field::WsReply) + " out";
        PlanError::new(Field::Streams, problem, advice)
    })
}

/// A subprotocol is a token (RFC 6455 section 4.1).
fn subprotocol(websocket: &WebSocketPlan) -> Option<PlanError> {
    let given = websocket.subprotocol.as_deref()?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (given.is_empty() || !given.bytes().all(is_token)).then(|| {
        let problem = format!("'{}' is not the name of a subprotocol", given.escape_debug());
        PlanError::new(Field::WsSubprotocol, problem, "give one word, such as chat.v1")
    })
}
