//! The state of one number: what it is in use for, and what has come and is to go.

use std::collections::VecDeque;

use super::network::End;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Free,
    Listening,
    Open(End),
    Failed,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) now: Use,
    /// Counts the uses of the socket, so that what was queued for an old use is recognised.
    pub(super) generation: u32,
    pub(super) inbox: VecDeque<u8>,
    pub(super) outbox: VecDeque<u8>,
    /// When the last of the inbox arrived.
    pub(super) arrived_ns: u64,
    pub(super) ended: bool,
    pub(super) reset: bool,
    pub(super) sent_pending: bool,
    /// When the kernel took something last.
    pub(super) taken_ns: u64,
    /// A `Readable` is among the events.
    pub(super) listed: bool,
    pub(super) paused: bool,
    /// This side sends no more once the outbox is empty.
    pub(super) finishing: bool,
}

impl Slot {
    pub(super) fn free() -> Self {
        Self {
            now: Use::Free,
            generation: 0,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            arrived_ns: 0,
            ended: false,
            reset: false,
            sent_pending: false,
            taken_ns: 0,
            listed: false,
            paused: false,
            finishing: false,
        }
    }

    pub(super) fn has_input(&self) -> bool {
        !self.inbox.is_empty() || self.ended || self.reset
    }

    pub(super) fn vacate(&mut self, now: Use) {
        self.now = now;
        self.inbox = VecDeque::new();
        self.outbox = VecDeque::new();
        self.ended = false;
        self.reset = false;
        self.sent_pending = false;
        self.listed = false;
        self.paused = false;
        self.finishing = false;
    }
}
