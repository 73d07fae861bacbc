//! What a server sends of its own accord, where the protocol lets it: a WebSocket's messages that
//! answer nothing, and its pings.

use serde::{Deserialize, Serialize};

/// What a server sent of its own accord in the measured part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    /// Messages that are the reply to none that was sent.
    pub messages: u64,
    /// Bytes in them, framing left out.
    pub bytes: u64,
    /// Pings, all of which were answered.
    pub pings: u64,
}

impl Pushed {
    /// A message was pushed.
    #[inline]
    pub fn message(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes += bytes;
    }

    /// Adds what another connection, worker or host was sent.
    pub fn merge(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.pings += other.pings;
    }

    /// The sum of both.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.merge(other);
        self
    }
}
