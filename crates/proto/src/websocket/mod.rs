//! WebSocket (RFC 6455) with compression of messages (RFC 7692), both roles.
//!
//! [`handshake`] is the upgrade that HTTP/1.1 carries: the fields of the request and of its 101,
//! and what either side must check in them. The bytes behind it are a [`Socket`]'s:
//!
//! ```text
//!                    Begin ──▶ Data … ──▶ End      a message, in any number of fragments
//!                  Ping, Pong, between any of them
//!            +------+                                   +---------+
//!   new ───▶ | Open | ── the peer's Close (Close) ────▶ | Closed  |  drops what follows
//!            +------+                                   +---------+
//!              │  ▲ our own Close goes out: nothing is sent after it, and what comes is read
//!              └──┘ until the peer's
//!
//!   any but Closed ── malformed or too long ──▶ Failed: a Close says why, and the same error from
//!                                               then on
//! ```
//!
//! The contract with the caller:
//!
//! - `consumed` bytes of the input are done with; call again with the rest until the event is
//!   `None`, also when no input is left. `None` means that more input is needed.
//! - What the protocol answers by itself is appended to `out`: pongs, the echo of a Close, and the
//!   Close of a failure. It is sent even when the call returns an error.
//! - The events and the error, if any, do not depend on how the bytes were cut, except that `Data`
//!   comes in other pieces.
//!
//! Memory: a client reads payloads where they stand. A server unmasks pieces of up to
//! [`PIECE_BYTES`] in a buffer that is reused, and what was compressed passes through another.
//! Messages are never put together, so memory does not depend on their length. Where compression
//! was agreed on, each side also has a window to decompress with.
//!
//! Absent on purpose: other extensions, a choice of masking keys (they are arguments), and
//! WebSocket over HTTP/2.

mod deflate;
mod error;
mod frame;
#[doc(hidden)]
pub mod fuzz;
pub mod handshake;
mod mask;
mod reader;
mod sender;
mod socket;
mod utf8;

#[cfg(test)]
mod tests;

pub use crate::http1::Decoded;
pub use deflate::{DeflateParameters, Deflater};
pub use error::{CloseCode, Error};
pub use mask::{MaskKey, mask};
pub use reader::{Message, PIECE_BYTES};
pub use sender::Outgoing;
pub use socket::{Close, Event, Options, Socket};

/// What a message contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Text, in UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

/// Which side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Masks what it sends.
    Client,
    /// Reads what is masked.
    Server,
}

/// How long what a peer sends may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a message, all its fragments together and decompressed.
    pub message_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { message_bytes: 64 << 20 }
    }
}
