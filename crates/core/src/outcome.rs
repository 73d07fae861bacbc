//! What became of a request that was sent: the word that workers, the ledger and the parts share.

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The whole response arrived.
    Completed {
        /// Its status.
        status: u16,
        /// Whether it was as expected.
        ok: bool,
    },
    /// It ran into the timeout.
    TimedOut,
    /// Its connection failed, or the server gave it up.
    Broken,
    /// The server said that it did not process it.
    Refused,
    /// It was still open when the drain ended.
    Unfinished,
}
