//! How long a worker waits for the FIN of a server that said it would close.
//!
//! A server that closes first keeps the port's TIME-WAIT on its side, where it costs no local port.
//! But a user that waits sends nothing, and some servers leave the close to the client. So a worker
//! that has waited in vain closes at once for a while. Its users lose 0.5 % of their time at most.

/// The longest wait for one FIN. It comes with the response, or as soon as the server's close.
const WAIT_NS: u64 = 50_000_000;

/// After a wait in vain, none of a worker's connections waits for this long.
const PAUSE_NS: u64 = 10_000_000_000;

/// A worker's patience.
#[derive(Debug, Default)]
pub(super) struct FinWait {
    /// Until then no connection waits.
    paused_until_ns: u64,
}

impl FinWait {
    /// Until when to wait for a FIN from now on; `None`: not at all.
    pub(super) fn until_ns(&self, now_ns: u64) -> Option<u64> {
        (now_ns >= self.paused_until_ns).then_some(now_ns + WAIT_NS)
    }

    /// The FIN did not come in time.
    pub(super) fn was_in_vain(&mut self, now_ns: u64) {
        self.paused_until_ns = now_ns + PAUSE_NS;
    }
}
