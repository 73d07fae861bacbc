//! What a side sends: messages in any number of fragments, and control frames, up to its Close.

use super::frame::{CONTROL_BYTES_MAX, FrameHead, Opcode, write_frame};
use super::mask::MaskKey;
use super::{CloseCode, Kind, Role};

/// A message to be sent, or a fragment of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// What the message contains; of fragments the first one's counts.
    pub kind: Kind,
    /// Its bytes; of a compressed message, what
    /// [`Deflater::message`](super::Deflater::message) made of them.
    pub payload: &'a [u8],
    /// Whether the message is compressed, which both sides have agreed on; of fragments the first
    /// one's counts.
    pub is_compressed: bool,
    /// Whether no fragment follows.
    pub is_last: bool,
}

impl<'a> Outgoing<'a> {
    /// A whole message, not compressed.
    #[must_use]
    pub fn whole(kind: Kind, payload: &'a [u8]) -> Self {
        Self { kind, payload, is_compressed: false, is_last: true }
    }
}

#[derive(Debug)]
pub(super) struct Sender {
    role: Role,
    /// A message is under way.
    within_message: bool,
    /// A Close was sent: nothing follows it (RFC 6455 5.5.1).
    is_closed: bool,
}

impl Sender {
    pub(super) fn new(role: Role) -> Self {
        Self { role, within_message: false, is_closed: false }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Appends a frame to `out`. False when a Close was sent.
    #[inline]
    pub(super) fn message(&mut self, what: &Outgoing<'_>, key: MaskKey, out: &mut Vec<u8>) -> bool {
        if self.is_closed {
            return false;
        }
        let head = FrameHead {
            opcode: if self.within_message { Opcode::Continuation } else { what.kind.into() },
            is_last: what.is_last,
            is_compressed: what.is_compressed && !self.within_message,
            key: self.key(key),
            payload_bytes: what.payload.len() as u64,
        };
        self.within_message = !what.is_last;
        write_frame(out, &head, what.payload);
        true
    }

    /// Appends a control frame of at most [`CONTROL_BYTES_MAX`] bytes. False when a Close was
    /// sent.
    pub(super) fn control(
        &mut self,
        opcode: Opcode,
        payload: &[u8],
        key: MaskKey,
        out: &mut Vec<u8>,
    ) -> bool {
        if self.is_closed {
            return false;
        }
        debug_assert!(opcode.is_control());
        let payload = &payload[..payload.len().min(CONTROL_BYTES_MAX)];
        let head = FrameHead {
            opcode,
            is_last: true,
            is_compressed: false,
            key: self.key(key),
            payload_bytes: payload.len() as u64,
        };
        write_frame(out, &head, payload);
        self.is_closed = opcode == Opcode::Close;
        true
    }

    /// Appends a Close. Without a code, or with one that is never sent, it is empty.
    pub(super) fn close(
        &mut self,
        code: Option<CloseCode>,
        reason: &str,
        key: MaskKey,
        out: &mut Vec<u8>,
    ) -> bool {
        let sendable = code.and_then(|code| CloseCode::new(code.number()));
        let Some(code) = sendable else {
            return self.control(Opcode::Close, &[], key, out);
        };
        let length = reason.floor_char_boundary(CONTROL_BYTES_MAX - 2);
        let mut payload = [0; CONTROL_BYTES_MAX];
        payload[..2].copy_from_slice(&code.number().to_be_bytes());
        payload[2..2 + length].copy_from_slice(&reason.as_bytes()[..length]);
        self.control(Opcode::Close, &payload[..2 + length], key, out)
    }

    fn key(&self, key: MaskKey) -> Option<MaskKey> {
        (self.role == Role::Client).then_some(key)
    }
}
