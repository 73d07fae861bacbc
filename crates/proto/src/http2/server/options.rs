//! What all connections of a server have in common.

use crate::http2::Receiving;
use crate::http2::settings::Settings;

/// What a server announces, and how it takes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerOptions {
    /// The most streams a client may have open: SETTINGS_MAX_CONCURRENT_STREAMS.
    pub streams: u32,
    /// Whether extended CONNECT is announced (RFC 8441).
    pub connect_protocol: bool,
    /// Whether the caller says by [`Server::release`](super::Server::release) when it is done with
    /// the bytes of a body. Otherwise the client may send more as soon as a DATA frame is read.
    pub holds_windows: bool,
    /// How many fields the compiled responses share:
    /// [`SharedFields::len`](super::super::SharedFields::len).
    pub shared_fields: usize,
    /// What it takes of requests.
    pub receiving: Receiving,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            streams: 1000,
            connect_protocol: false,
            holds_windows: false,
            shared_fields: 0,
            receiving: Receiving::with_windows(1 << 20, 1 << 24),
        }
    }
}

impl ServerOptions {
    /// The same, brought into the ranges that the fields have.
    pub(super) fn bounded(self) -> Self {
        Self { receiving: self.receiving.bounded(), ..self }
    }

    /// What the server announces.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            streams: self.streams,
            connect_protocol: self.connect_protocol,
            ..self.receiving.settings()
        }
    }
}
