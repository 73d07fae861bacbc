//! The state of one number: its file, what it is ready for, and what it still has to send.

use std::io;
use std::os::fd::OwnedFd;

use mio::net::TcpListener;

use super::os_error;
use super::queue::SendQueue;
use crate::driver::OsError;
use crate::socket;

/// The file behind a number.
#[derive(Debug)]
pub(super) enum Handle {
    /// The number is free.
    Free,
    /// `Failed` was reported or is about to be; in use until closed. The socket, if there was one.
    Failed(Option<OwnedFd>),
    Stream(OwnedFd),
    Listener(TcpListener),
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) handle: Handle,
    /// Counts the uses of the number, so that what was queued for an old use is recognised.
    pub(super) generation: u32,
    pub(super) connecting: bool,
    /// There may be something to receive or accept.
    pub(super) readable: bool,
    /// The poll reported an end or an error: receive until it shows.
    pub(super) to_end: bool,
    /// Each receive is a datagram, which says nothing about what else is there.
    pub(super) takes_datagrams: bool,
    /// The kernel takes bytes again, and there are some (or a connect to conclude).
    pub(super) writable: bool,
    /// `Ended` was reported.
    pub(super) ended: bool,
    /// Not to receive until resumed.
    pub(super) paused: bool,
    /// This side sends no more once the queue is empty.
    pub(super) finishing: bool,
    /// The slot is on the ready ring. Outlives a close, as its place on the ring does.
    pub(super) listed: bool,
    /// A `Sent` is in the pending queue.
    pub(super) sent_pending: bool,
    /// When the kernel had taken all that was sent, where it took it at once.
    pub(super) taken_ns: u64,
    /// Why a send failed, held back until what the peer sent before that has been received.
    pub(super) send_error: Option<OsError>,
    pub(super) queue: SendQueue,
}

impl Slot {
    pub(super) fn free() -> Self {
        Self {
            handle: Handle::Free,
            generation: 0,
            connecting: false,
            readable: false,
            to_end: false,
            takes_datagrams: false,
            writable: false,
            ended: false,
            paused: false,
            finishing: false,
            listed: false,
            sent_pending: false,
            taken_ns: 0,
            send_error: None,
            queue: SendQueue::default(),
        }
    }

    /// The connection's socket, working or not.
    pub(super) fn stream(&self) -> Option<&OwnedFd> {
        match &self.handle {
            Handle::Stream(stream) => Some(stream),
            Handle::Failed(stream) => stream.as_ref(),
            Handle::Free | Handle::Listener(_) => None,
        }
    }

    pub(super) fn has_work(&self) -> bool {
        self.writable || self.readable && (!self.paused || self.send_error.is_some())
    }

    /// Sends the FIN that was asked for, if nothing is left to be sent before it.
    pub(super) fn finish_if_sent(&self) {
        if let Handle::Stream(stream) = &self.handle
            && self.queue.is_empty()
        {
            socket::finish(stream);
        }
    }

    /// Ends the present use of the number, leaving `handle`; returns the old one.
    pub(super) fn vacate(&mut self, handle: Handle) -> Handle {
        let old = std::mem::replace(&mut self.handle, handle);
        self.connecting = false;
        self.readable = false;
        self.to_end = false;
        self.takes_datagrams = false;
        self.writable = false;
        self.ended = false;
        self.paused = false;
        self.finishing = false;
        self.sent_pending = false;
        self.send_error = None;
        self.queue.clear();
        old
    }

    pub(super) fn send_failed(&mut self, error: &io::Error) {
        self.send_error = Some(os_error(error));
        self.sent_pending = false;
        self.queue.clear();
        self.writable = false;
        self.readable = true;
        self.to_end = true;
    }
}
