//! What compression made of messages, where a protocol has it: a WebSocket's, when the plan offers
//! permessage-deflate (RFC 7692) and the server agrees.

use serde::{Deserialize, Serialize};

/// How long a message was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes that it says.
    pub bytes: u64,
    /// Bytes that they were compressed to, framing left out.
    pub compressed_bytes: u64,
}

/// Compressed messages of one direction, in the measured part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compressed {
    /// Messages that went compressed.
    pub messages: u64,
    /// Bytes that they say.
    pub bytes: u64,
    /// Bytes that those were compressed to, framing left out.
    pub compressed_bytes: u64,
}

/// What came of the offer to compress messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compression {
    /// Connections opened whose server agreed, warm-up and all.
    pub agreed: u64,
    /// Connections opened whose server did not: their messages are not compressed.
    pub declined: u64,
    /// What was sent.
    pub sent: Compressed,
    /// What was received.
    pub received: Compressed,
}

impl Compressed {
    /// A message went compressed.
    #[inline]
    pub fn message(&mut self, sizes: Sizes) {
        self.messages += 1;
        self.bytes += sizes.bytes;
        self.compressed_bytes += sizes.compressed_bytes;
    }

    fn merge(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.compressed_bytes += other.compressed_bytes;
    }
}

impl Compression {
    /// A connection was opened, and its server agreed or did not.
    pub fn opened(&mut self, is_agreed: bool) {
        *(if is_agreed { &mut self.agreed } else { &mut self.declined }) += 1;
    }

    /// Adds what came of it on another connection, worker or host.
    pub fn merge(&mut self, other: &Self) {
        self.agreed += other.agreed;
        self.declined += other.declined;
        self.sent.merge(&other.sent);
        self.received.merge(&other.received);
    }

    /// The sum of both.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.merge(other);
        self
    }
}
