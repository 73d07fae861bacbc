//! What all connections of a server have in common.

use crate::http2::Limits;
use crate::http2::flow::WINDOW_MAX;
use crate::http2::frame::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use crate::http2::settings::{Settings, WINDOW_BYTES_DEFAULT};

/// What a server announces, and how it takes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerOptions {
    /// The most streams a client may have open: SETTINGS_MAX_CONCURRENT_STREAMS.
    pub streams: u32,
    /// Bytes of a request that may be on their way: SETTINGS_INITIAL_WINDOW_SIZE.
    pub window_bytes: u32,
    /// Bytes of all requests that may be on their way, at least 65 535.
    pub connection_window_bytes: u32,
    /// Bytes of the table that requests' fields are decoded with: SETTINGS_HEADER_TABLE_SIZE.
    pub header_table_bytes: u32,
    /// Bytes of the largest frame taken: SETTINGS_MAX_FRAME_SIZE, 2^14 to 2^24-1.
    pub frame_bytes: u32,
    /// Whether extended CONNECT is announced (RFC 8441).
    pub connect_protocol: bool,
    /// Whether the caller says by [`Server::release`](super::Server::release) when it is done with
    /// the bytes of a body. Otherwise the client may send more as soon as a DATA frame is read.
    pub holds_windows: bool,
    /// How many fields the compiled responses share:
    /// [`SharedFields::len`](super::super::SharedFields::len).
    pub shared_fields: usize,
    /// What a client may send.
    pub limits: Limits,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            streams: 1000,
            window_bytes: 1 << 20,
            connection_window_bytes: 1 << 24,
            header_table_bytes: Settings::INITIAL.header_table_bytes,
            frame_bytes: FRAME_BYTES_MIN,
            connect_protocol: false,
            holds_windows: false,
            shared_fields: 0,
            limits: Limits::default(),
        }
    }
}

impl ServerOptions {
    /// The same, brought into the ranges that the fields have.
    pub(super) fn bounded(self) -> Self {
        Self {
            window_bytes: self.window_bytes.min(WINDOW_MAX),
            connection_window_bytes: self
                .connection_window_bytes
                .clamp(WINDOW_BYTES_DEFAULT, WINDOW_MAX),
            header_table_bytes: self.header_table_bytes.min(1 << 20),
            frame_bytes: self.frame_bytes.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX),
            ..self
        }
    }

    /// What the server announces.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            header_table_bytes: self.header_table_bytes,
            streams: self.streams,
            window_bytes: self.window_bytes,
            frame_bytes: self.frame_bytes,
            list_bytes: self.limits.list_bytes,
            connect_protocol: self.connect_protocol,
            ..Settings::INITIAL
        }
    }
}
