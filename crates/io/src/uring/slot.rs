//! One number's state.

use std::os::fd::OwnedFd;

use io_uring::squeue;

use super::outbox::Outbox;
use super::tag::{Op, Tag};
use crate::driver::SocketId;
use crate::socket;

/// What a number is in use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Free,
    Connecting,
    Open,
    Listening,
    /// Reported as failed: nothing more comes until it is closed.
    Failed,
}

/// One number's state.
pub(super) struct Socket {
    pub(super) phase: Phase,
    /// Which use of the number this is.
    pub(super) generation: u32,
    pub(super) fd: Option<OwnedFd>,
    /// What operations name the socket by: the descriptor, or its place among the registered files.
    pub(super) handle: i32,
    pub(super) handle_flags: squeue::Flags,
    /// A multishot receive (on listeners: accept) is with the kernel.
    pub(super) receiving: bool,
    /// The peer sends no more.
    pub(super) ended: bool,
    /// Not to receive until resumed.
    pub(super) paused: bool,
    /// This side sends no more once the outbox is empty.
    pub(super) finishing: bool,
    /// The last send stopped short, which only an error of the connection makes it do; what is
    /// left of it is with the kernel, to learn the error.
    pub(super) cut_short: bool,
    /// Why a send failed while received bytes may still be on their way; 0: none did.
    pub(super) send_error: i32,
    /// [`Ring::submissions`] when the number was last closed.
    pub(super) closed_at: u64,
    pub(super) outbox: Outbox,
}

impl Socket {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Free,
            generation: 0,
            fd: None,
            handle: -1,
            handle_flags: squeue::Flags::empty(),
            receiving: false,
            ended: false,
            paused: false,
            finishing: false,
            cut_short: false,
            send_error: 0,
            closed_at: u64::MAX,
            outbox: Outbox::default(),
        }
    }

    /// Sends the FIN that was asked for, if nothing is left to be sent before it.
    pub(super) fn finish_if_sent(&self) {
        if !self.outbox.is_sending()
            && let Some(fd) = &self.fd
        {
            socket::finish(fd);
        }
    }

    pub(super) fn is_registered(&self) -> bool {
        self.handle_flags.contains(squeue::Flags::FIXED_FILE)
    }

    pub(super) fn tag(&self, op: Op, id: SocketId) -> Tag {
        Tag::new(op, self.generation, id)
    }
}
