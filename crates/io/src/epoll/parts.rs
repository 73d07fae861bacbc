//! What the driver is made of: what tells of events, what there is to do, and the buffers.

use std::collections::VecDeque;
use std::sync::Arc;

use mio::{Events, Poll};

use crate::OsError;
use crate::clock;
use crate::driver::{SocketId, Wake};

/// An event known before [`Driver::next`] was asked for it.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) at_ns: u64,
    pub(super) id: SocketId,
    pub(super) generation: u32,
    pub(super) what: PendingKind,
}

#[derive(Debug)]
pub(super) enum PendingKind {
    Sent,
    ConnectFailed(OsError),
    Woken,
}

#[derive(Debug)]
pub(super) struct MioWaker(pub(super) mio::Waker);

impl Wake for MioWaker {
    fn wake(&self) {
        // An eventfd write fails only when its counter is full, and then the wake-up is due anyway.
        let _ = self.0.wake();
    }
}

/// What tells that something has happened.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) poll: Poll,
    pub(super) events: Events,
    pub(super) waker: Arc<MioWaker>,
    pub(super) woken: bool,
}

/// The clock, and what it said last.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) read_ns: u64,
}

impl Clock {
    /// Reads it.
    #[inline]
    pub(super) fn now_ns(&mut self) -> u64 {
        self.read_ns = clock::now_ns();
        self.read_ns
    }
}

/// What there is to do before the kernel is asked again.
#[derive(Debug)]
pub(super) struct Agenda {
    /// Slots with work, each at most once, in the order they are served.
    pub(super) ready: VecDeque<SocketId>,
    /// Servings left before the kernel must be polled again.
    pub(super) turn_left: usize,
    pub(super) pending: VecDeque<Pending>,
    /// The last `wait` had pending events and left the poll out.
    pub(super) poll_skipped: bool,
}

/// Listeners resting after a failed accept, and when they try again.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) listeners: Vec<SocketId>,
    pub(super) until_ns: u64,
}

/// What received bytes are put into.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) bytes: Box<[u8]>,
    pub(super) free: Vec<u32>,
}
