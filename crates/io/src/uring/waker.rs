//! Waking a driver from another thread: an eventfd that the ring polls.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::driver::Wake;

/// Counts up and is never read: each write wakes the poll, and 2^64 of them do not happen.
pub(super) struct EventWaker {
    event: OwnedFd,
    /// Set by `wake`, cleared when the driver is about to report it.
    called: AtomicBool,
}

impl EventWaker {
    pub(super) fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC)?;
        Ok(Self { event, called: AtomicBool::new(false) })
    }

    pub(super) fn fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    /// Whether `wake` was called since this was last asked.
    pub(super) fn take(&self) -> bool {
        self.called.swap(false, Ordering::AcqRel)
    }
}

impl Wake for EventWaker {
    fn wake(&self) {
        if !self.called.swap(true, Ordering::AcqRel) {
            // It can fail only at the counter's limit, when the driver is awake anyway.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }
}
