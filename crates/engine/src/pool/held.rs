//! What a connection has written and not sent yet, where the protocol gathers requests.
//!
//! The buffers are shared, so they hold what one connection has written: turning to another sends
//! it. All of it is sent before the driver is waited for.

use plimsoll_conn::Protocol;
use plimsoll_io::Driver;

use super::Pool;
use crate::id::ConnectionId;

/// More than this is sent at once.
const HELD_BYTES_MAX: usize = 16 * 1024;

/// Whose bytes wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Held {
    entry: Option<ConnectionId>,
    /// Bytes sent that nobody was told of.
    sent_bytes: usize,
}

impl<D: Driver, P: Protocol> Pool<D, P> {
    /// Makes the buffers this connection's.
    #[inline]
    pub(super) fn turn_to(&mut self, entry: ConnectionId) {
        if P::GATHERS {
            let is_full = self.scratch.waiting_bytes() > HELD_BYTES_MAX;
            if self.held.entry != Some(entry) || is_full {
                self.send_held();
                self.held.entry = Some(entry);
            }
        }
    }

    /// Whether a connection has written what is yet to be sent.
    #[inline]
    pub(crate) fn is_holding(&self, entry: ConnectionId) -> bool {
        P::GATHERS && self.held.entry == Some(entry) && !self.scratch.is_empty()
    }

    /// Sends what a connection that is about to be closed has written.
    #[inline]
    pub(super) fn flush_of(&mut self, entry: ConnectionId) {
        if P::GATHERS && self.held.entry == Some(entry) {
            self.send_held();
        }
    }

    /// Sends what has been written; gives the number of bytes sent since the last time.
    #[inline]
    pub(crate) fn flush(&mut self) -> usize {
        if !P::GATHERS {
            return 0;
        }
        self.send_held();
        std::mem::take(&mut self.held.sent_bytes)
    }

    #[inline]
    fn send_held(&mut self) {
        let Some(entry) = self.held.entry.take() else { return };
        if !self.scratch.is_empty() {
            let connection = &mut self.entries[entry].connection;
            self.held.sent_bytes += connection.flush(&mut self.driver, &mut self.scratch);
        }
    }
}
