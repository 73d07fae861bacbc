//! Watches what two peers say to each other, and keeps account of the windows by itself.

use std::collections::HashMap;

use super::super::client::PREFACE;
use super::super::frame::{FrameHead, HEAD_BYTES, flag, kind, number};
use super::super::settings::{WINDOW_BYTES_DEFAULT, id, pairs};

/// One direction: how much DATA was sent, and how much the receiver has allowed.
#[derive(Debug)]
pub(super) struct Watch {
    /// What was sent and is no whole frame yet.
    rest: Vec<u8>,
    /// DATA by stream; of the connection under 0.
    sent: HashMap<u32, u64>,
    /// What this side's WINDOW_UPDATEs have allowed the other side.
    allows: HashMap<u32, u64>,
    /// The largest window that it has announced for new streams.
    initial: u64,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self {
            rest: Vec::new(),
            sent: HashMap::new(),
            allows: HashMap::new(),
            initial: u64::from(WINDOW_BYTES_DEFAULT),
        }
    }

    /// This side has sent bytes, which `other` has to have allowed.
    pub(super) fn sends(&mut self, bytes: &[u8], other: &Self) {
        self.rest.extend_from_slice(bytes);
        if self.rest.starts_with(PREFACE) {
            self.rest.drain(..PREFACE.len());
        }
        while let Some(head) = self.rest.first_chunk::<HEAD_BYTES>().map(FrameHead::read) {
            let end = HEAD_BYTES + head.length as usize;
            assert!(self.rest.len() >= end, "frames are sent whole");
            let payload: Vec<u8> = self.rest.drain(..end).skip(HEAD_BYTES).collect();
            self.frame(head, &payload, other);
        }
    }

    fn frame(&mut self, head: FrameHead, payload: &[u8], other: &Self) {
        match head.kind {
            kind::DATA => {
                for stream in [0, head.stream] {
                    let initial =
                        if stream == 0 { u64::from(WINDOW_BYTES_DEFAULT) } else { other.initial };
                    let sent = self.sent.entry(stream).or_default();
                    *sent += u64::from(head.length);
                    let allowed = initial + other.allows.get(&stream).copied().unwrap_or(0);
                    assert!(*sent <= allowed, "{sent} bytes on {stream}, {allowed} allowed");
                }
            }
            kind::WINDOW_UPDATE => {
                let increment = number(payload).expect("four bytes");
                *self.allows.entry(head.stream).or_default() += u64::from(increment);
            }
            kind::SETTINGS if !head.has(flag::ACK) => {
                for (setting, value) in pairs(payload) {
                    if setting == id::INITIAL_WINDOW_SIZE {
                        self.initial = self.initial.max(u64::from(value));
                    }
                }
            }
            _ => {}
        }
    }
}
