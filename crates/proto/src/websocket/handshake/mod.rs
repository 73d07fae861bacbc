//! The opening handshake (RFC 6455 4): the fields of an upgrade over HTTP/1.1, written and checked
//! on either side. Heads are read and written by `http1`.

mod client;
mod extensions;
mod fields;
mod server;

pub use client::{Agreed, HandshakeError, Offer};
pub use extensions::DeflateAnswer;
pub use server::{Answer, Upgrade, UpgradeError, VERSION};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What a key is joined with before it is hashed (RFC 6455 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The Sec-WebSocket-Accept that answers a Sec-WebSocket-Key.
#[must_use]
pub fn accept(key: &[u8]) -> String {
    let joined = [key, GUID].concat();
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &joined))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
