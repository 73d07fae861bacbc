//! A call that is under way: where it stands, and what has come of it.

use std::collections::VecDeque;

use plimsoll_conn::grpc::CallResponse;
use plimsoll_script::js::grpc::{CallEnd, CallKind};

use crate::vu::books::Actor;

/// Where a call stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// The slot holds no call.
    #[default]
    Free,
    /// It waits for its channel's connection.
    Waiting,
    /// It is on a connection.
    OnWire(u32),
    /// It has ended, and its user has yet to be told all of it.
    Ended,
}

/// See the head of this module.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub user: u32,
    /// Its number at its user.
    pub number: u32,
    pub actor: Actor,
    pub channel: u32,
    pub kind: CallKind,
    pub returns_stream: bool,
    pub phase: Phase,
    pub started_ns: u64,
    /// `u64::MAX` without one.
    pub deadline_ns: u64,
    /// What was to be sent while it had no connection.
    pub unsent: Vec<u8>,
    /// Whether nothing follows on that.
    pub finishes: bool,
    /// Bytes that the server's windows hold back, at most.
    pub stalled_bytes: usize,
    pub response: Option<CallResponse>,
    /// Messages that have come, and how many ever did.
    pub messages: VecDeque<Vec<u8>>,
    pub count: u64,
    /// Bytes of messages that the server does not get room for yet.
    pub held_bytes: u32,
    /// Whether its body is no good from here on.
    pub has_failed: bool,
    pub code: u32,
    pub text: Vec<u8>,
    /// Whether it was begun a second time, because the server had not looked at it.
    pub is_repeated: bool,
}

impl Call {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::OnWire(_))
    }

    /// How it has ended, once it has.
    pub(super) fn end(&self) -> CallEnd<'_> {
        let response = self.response.as_ref();
        CallEnd {
            code: self.code,
            text: &self.text,
            head: response.map_or(&[], CallResponse::head_lines),
            trailers: response.map_or(&[], CallResponse::trailer_lines),
        }
    }
}
