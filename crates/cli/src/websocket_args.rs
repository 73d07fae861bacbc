//! Flags for WebSocket, and how they enter the plan: each message is a request of it.

use std::path::Path;

use clap::Args;
use plimsoll_core::plan::error::{Message, PlanError, given, name};
use plimsoll_core::plan::websocket::Reply;
use plimsoll_core::plan::{Body, Field, Request, Target, WebSocketPlan};
use plimsoll_core::secret::Secret;

use crate::fault::Fault;
use crate::files::{FILE_BYTES_MAX, read_or_stdin};
use crate::request::Sent;
use crate::request_args::{RequestFlags, secret};

/// What is sent to a WebSocket.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "WebSocket")]
pub(crate) struct WebSocketFlags {
    /// A message to a ws:// or wss:// URL, or @FILE to read it from; given again, taken in turn
    #[arg(long, value_name = "STR|@FILE", value_parser = secret)]
    pub ws_message: Vec<Secret>,
    /// What ends a message: the next one that comes, the next that matches, or none: then it ends
    /// when the kernel has taken it
    #[arg(long, value_name = "next|match:REGEX|none", default_value_t)]
    pub ws_reply: Reply,
    /// Send messages as binary ones
    #[arg(long)]
    pub ws_binary: bool,
    /// Ask for a subprotocol
    #[arg(long, value_name = "NAME")]
    pub ws_subprotocol: Option<String>,
}

impl WebSocketFlags {
    /// The part of a plan that these are, with so many messages in flight on a connection.
    pub(crate) fn plan(&self, in_flight: u32) -> WebSocketPlan {
        WebSocketPlan {
            reply: self.ws_reply.clone(),
            binary: self.ws_binary,
            subprotocol: self.ws_subprotocol.clone(),
            in_flight,
        }
    }
}

/// Puts the messages into what is sent to a URL.
///
/// # Errors
/// A file that cannot be read, messages for a server of HTTP, and what a WebSocket has no use for.
pub(crate) fn put_messages(sent: &mut Sent, flags: &RequestFlags) -> Result<(), Fault> {
    let texts = &flags.websocket.ws_message;
    if !sent.endpoint.is_websocket() {
        let problem = name(Field::WsMessage) + " is about WebSocket";
        let advice = "give a ws:// or wss:// URL";
        let error = PlanError::new(Field::WsMessage, problem, advice);
        return if texts.is_empty() { Ok(()) } else { Err(error.into()) };
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
    let mut messages = texts.iter().map(message).collect::<Result<Vec<_>, _>>()?;
    if messages.len() < 2 {
        sent.request.body = messages.pop();
        return Ok(());
    }
    let targets = (1..).zip(messages).map(|(number, body)| Target {
        name: format!("message {number}"),
        path: sent.endpoint.path.clone(),
        request: Request { body: Some(body), ..sent.request.clone() },
        weight: 1,
        expect: Vec::new(),
    });
    sent.targets = targets.collect();
    Ok(())
}

fn message(text: &Secret) -> Result<Body, Fault> {
    let Some(path) = text.reveal().strip_prefix('@') else {
        return Ok(Body::Text(text.clone()));
    };
    let bytes = read_or_stdin(Path::new(path), FILE_BYTES_MAX)
        .map_err(|why| Fault::File(Field::WsMessage, format!("message file '{path}': {why}")))?;
    Ok(Body::new(bytes))
}
