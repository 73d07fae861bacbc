//! What a connection has written and not sent yet, where the protocol gathers requests.
//!
//! The buffers are shared, so they hold what one connection has written: turning to another sends
//! it. All of it is sent before the driver is waited for.

use plimsoll_conn::{Protocol, Scratch};
use plimsoll_io::Driver;

use super::Entries;
use crate::id::ConnectionId;

/// More than this is sent at once.
const HELD_BYTES_MAX: usize = 16 * 1024;

/// The buffers that a worker's connections share, and whose bytes wait in them.
#[derive(Debug)]
pub(super) struct Held {
    pub scratch: Scratch,
    entry: Option<ConnectionId>,
    /// Bytes sent that nobody was told of.
    sent_bytes: usize,
}

impl Held {
    /// With room for requests of `request_bytes`.
    pub(super) fn new(request_bytes: usize) -> Self {
        Self { scratch: Scratch::new(request_bytes), entry: None, sent_bytes: 0 }
    }

    /// Makes the buffers this connection's.
    #[inline]
    pub(super) fn turn_to<D: Driver, P: Protocol>(
        &mut self,
        entry: ConnectionId,
        entries: &mut Entries<P>,
        driver: &mut D,
    ) {
        if P::GATHERS {
            let is_full = self.scratch.waiting_bytes() > HELD_BYTES_MAX;
            if self.entry != Some(entry) || is_full {
                self.send(entries, driver);
                self.entry = Some(entry);
            }
        }
    }

    /// Sends what is held; of one connection alone, if it is `only` wanted.
    #[inline]
    pub(super) fn flush<D: Driver, P: Protocol>(
        &mut self,
        only: Option<ConnectionId>,
        entries: &mut Entries<P>,
        driver: &mut D,
    ) {
        if P::GATHERS && only.is_none_or(|entry| self.entry == Some(entry)) {
            self.send(entries, driver);
        }
    }

    #[inline]
    fn send<D: Driver, P: Protocol>(&mut self, entries: &mut Entries<P>, driver: &mut D) {
        let Some(entry) = self.entry.take() else { return };
        if !self.scratch.is_empty() {
            let client = &mut entries[entry];
            client.note_uptake(driver.queued_bytes(entry.socket()));
            let sent_bytes = client.connection.flush(driver, &mut self.scratch);
            client.usage.uptake.hand_over(sent_bytes);
            self.sent_bytes += sent_bytes;
        }
    }

    /// Whether a connection has written what is yet to be sent.
    #[inline]
    pub(super) fn is_of(&self, entry: ConnectionId) -> bool {
        self.entry == Some(entry) && !self.scratch.is_empty()
    }

    /// How many bytes were sent since the last time.
    #[inline]
    pub(super) fn take_sent_bytes(&mut self) -> usize {
        std::mem::take(&mut self.sent_bytes)
    }
}
