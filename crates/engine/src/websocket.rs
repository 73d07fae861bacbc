//! What WebSocket connections of a run have in common.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_conn::{Replies, WebSocket, WebSocketSettings};
use plimsoll_core::Plan;
use plimsoll_core::plan::websocket::Reply;
use plimsoll_core::random::{Stream, WEBSOCKET_KEYS, WEBSOCKET_NONCES};
use plimsoll_proto::websocket::{Deflater, Kind};
use regex::bytes::Regex;

use crate::assignment::Assignment;
use crate::error::RunError;
use crate::spoken::Spoken;

impl Spoken for WebSocket {
    fn settings(assignment: &Assignment<Self::Encoding>) -> WebSocketSettings {
        let plan = assignment.plan();
        let websocket = &plan.websocket;
        let replies = replies(plan).expect("a plan is checked before its workers are hired");
        // No two workers draw the same nonces.
        let nonces = Stream::new(plan.seed, WEBSOCKET_NONCES).word(assignment.worker.into());
        let room_bytes = assignment.prepared.request_bytes_max();
        let deflater = || Rc::new(RefCell::new(Deflater::with_room(room_bytes)));
        WebSocketSettings {
            handshake: assignment.prepared.shared().clone(),
            subprotocol: websocket.subprotocol.clone(),
            kind: if websocket.binary { Kind::Binary } else { Kind::Text },
            replies,
            deflater: websocket.compress.then(deflater),
            in_flight: websocket.in_flight as usize,
            nonces: Stream::new(nonces, WEBSOCKET_NONCES),
            keys: Stream::new(plan.seed, WEBSOCKET_KEYS),
            begun: Arc::default(),
        }
    }
}

/// What answers the messages of a plan.
///
/// # Errors
/// An expression that is none.
pub(crate) fn replies(plan: &Plan) -> Result<Replies, RunError> {
    Ok(match &plan.websocket.reply {
        Reply::Next => Replies::Next,
        Reply::None => Replies::None,
        Reply::Match(pattern) => {
            let regex = Regex::new(pattern).map_err(|error| {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                let reason = last.trim_start_matches("error: ").trim().to_owned();
                RunError::WebSocketReply { pattern: pattern.clone(), reason }
            })?;
            Replies::Matching(regex)
        }
    })
}
