//! The messages that are sent to a WebSocket: each is the body of a request, whose rest is the
//! opening handshake.

use std::path::Path;

use plimsoll_core::plan::error::{Message, PlanError, given, name};
use plimsoll_core::plan::{Body, Endpoint, Field, Request, Target};
use plimsoll_core::secret::Secret;

use crate::fault::Fault;
use crate::files::{FILE_BYTES_MAX, read_or_stdin};
use crate::request_args::RequestFlags;

/// The messages to an endpoint; none where it is one of HTTP.
///
/// # Errors
/// A file that cannot be read, messages for a server of HTTP, and what a WebSocket has no use for.
pub(crate) fn messages(flags: &RequestFlags, endpoint: &Endpoint) -> Result<Vec<Body>, Fault> {
    let texts = &flags.websocket.ws_message;
    if !endpoint.is_websocket() {
        let problem = name(Field::WsMessage) + " is about WebSocket";
        let advice = "give a ws:// or wss:// URL";
        let error = PlanError::new(Field::WsMessage, problem, advice);
        return if texts.is_empty() { Ok(Vec::new()) } else { Err(error.into()) };
    }
    let unwanted = [
        (Field::Body, flags.body.is_some()),
        (Field::Form, !flags.form.is_empty()),
        (Field::FormUrlencoded, !flags.form_urlencoded.is_empty()),
        (Field::Targets, flags.targets.is_some()),
    ];
    if let Some((field, _)) = unwanted.into_iter().find(|(_, is_given)| *is_given) {
        let problem = name(field) + " is about requests of HTTP";
        let advice = Message::from("give messages with ") + given(Field::WsMessage, "TEXT");
        return Err(PlanError::new(field, problem, advice).into());
    }
    texts.iter().map(message).collect()
}

fn message(text: &Secret) -> Result<Body, Fault> {
    let Some(path) = text.reveal().strip_prefix('@') else {
        return Ok(Body::Text(text.clone()));
    };
    let bytes = read_or_stdin(Path::new(path), FILE_BYTES_MAX)
        .map_err(|why| Fault::File(Field::WsMessage, format!("message file '{path}': {why}")))?;
    Ok(Body::new(bytes))
}

/// Several messages as targets of a plan, with the handshake of `request`.
pub(crate) fn targets(endpoint: &Endpoint, request: &Request, messages: Vec<Body>) -> Vec<Target> {
    let targets = (1..).zip(messages).map(|(number, body)| Target {
        name: format!("message {number}"),
        path: endpoint.path.clone(),
        request: Request { body: Some(body), ..request.clone() },
        weight: 1,
        expect: Vec::new(),
    });
    targets.collect()
}
