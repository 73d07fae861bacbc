//! How far the kernel takes what is sent on a connection that goes on after timeouts.
//!
//! A server that does not read leaves everything in the tester once the kernel's buffers are full.
//! Each request that times out there would leave its bytes for ever, and the next one adds its own.
//! So a connection of which the kernel has taken nothing since a request was sent is closed when
//! that request times out.
//!
//! A driver may see that a long stretch of bytes was taken only when all of it was. So a timeout
//! counts only without any response (`silence`): a server that answers others does read.

use plimsoll_conn::Protocol;
use plimsoll_io::Driver;

use super::Pool;
use crate::id::ConnectionId;

/// What was handed to the driver on the open connection, and how much of it the kernel has taken.
/// Bytes sent before the first request are not counted: only differences matter.
#[derive(Debug, Default)]
pub(crate) struct Uptake {
    handed_bytes: i64,
    /// How many were taken at the last look, and when there were as many first.
    taken_bytes: i64,
    since_ns: u64,
}

impl Uptake {
    /// How much of the output is with the kernel. Negative while what was sent before the first
    /// request is not.
    pub(super) fn taken_bytes(&self, queued_bytes: usize) -> i64 {
        self.handed_bytes - queued_bytes as i64
    }

    /// Where the output ends, with what is held.
    #[inline]
    pub(super) fn end_bytes(&self, held_bytes: usize) -> i64 {
        self.handed_bytes + held_bytes as i64
    }

    /// Looks at `now_ns`, with this many bytes queued.
    #[inline]
    pub(super) fn look(&mut self, queued_bytes: usize, now_ns: u64) {
        let taken_bytes = self.taken_bytes(queued_bytes);
        if taken_bytes != self.taken_bytes {
            (self.taken_bytes, self.since_ns) = (taken_bytes, now_ns);
        }
    }

    /// More bytes were handed over, after a look.
    #[inline]
    pub(super) fn hand_over(&mut self, bytes: usize) {
        self.handed_bytes += bytes as i64;
    }

    /// Whether bytes are queued, and none has been taken since `since_ns`, when some were sent.
    fn is_stuck(&self, queued_bytes: usize, since_ns: u64) -> bool {
        let taken_bytes = self.taken_bytes(queued_bytes);
        queued_bytes > 0 && taken_bytes == self.taken_bytes && self.since_ns <= since_ns
    }
}

impl<D: Driver, P: Protocol> Pool<D, P> {
    /// Whether the kernel has yet to take bytes of a connection, and has taken none since a request
    /// was sent on it that was started at `started_ns`.
    pub(crate) fn is_stuck(&self, entry: ConnectionId, started_ns: u64) -> bool {
        let queued_bytes = self.driver.queued_bytes(entry.socket());
        self[entry].usage.uptake.is_stuck(queued_bytes, started_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_taken_since_a_request_was_sent_is_stuck() {
        let mut uptake = Uptake::default();
        // Ten bytes at 1 ns, of which six are taken at once, and ten more at 2 and at 5 ns.
        for (queued_bytes, now_ns) in [(0, 1), (4, 2), (14, 5)] {
            uptake.look(queued_bytes, now_ns);
            uptake.hand_over(10);
        }
        for (queued_bytes, since_ns, want) in
            [(24, 1, false), (24, 2, true), (24, 5, true), (23, 5, false), (0, 5, false)]
        {
            assert_eq!(uptake.is_stuck(queued_bytes, since_ns), want, "{queued_bytes} {since_ns}");
        }
    }
}
