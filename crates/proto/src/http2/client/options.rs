//! What all connections of a client have in common.

use crate::http2::Limits;
use crate::http2::flow::WINDOW_MAX;
use crate::http2::frame::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use crate::http2::settings::{Settings, WINDOW_BYTES_DEFAULT};

/// How a client uses its connections, and what it announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    /// The most streams open at a time, at least 1; fewer if the server allows fewer.
    pub streams: u32,
    /// Bytes of a response that may be on their way on one stream: SETTINGS_INITIAL_WINDOW_SIZE.
    pub window_bytes: u32,
    /// Bytes of all responses that may be on their way, at least 65 535.
    pub connection_window_bytes: u32,
    /// Bytes of the table that responses' fields are decoded with: SETTINGS_HEADER_TABLE_SIZE. A
    /// connection has twice as many for it, at least 8192.
    pub header_table_bytes: u32,
    /// Bytes of the largest frame taken: SETTINGS_MAX_FRAME_SIZE, 2^14 to 2^24-1.
    pub frame_bytes: u32,
    /// How many fields the compiled requests share:
    /// [`SharedFields::len`](super::super::SharedFields::len).
    pub shared_fields: usize,
    /// What the server may send.
    pub limits: Limits,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            streams: 100,
            window_bytes: WINDOW_MAX,
            connection_window_bytes: WINDOW_MAX,
            header_table_bytes: Settings::INITIAL.header_table_bytes,
            frame_bytes: FRAME_BYTES_MIN,
            shared_fields: 0,
            limits: Limits::default(),
        }
    }
}

impl ClientOptions {
    /// The same, brought into the ranges that the fields have.
    pub(super) fn bounded(self) -> Self {
        Self {
            streams: self.streams.max(1),
            window_bytes: self.window_bytes.min(WINDOW_MAX),
            connection_window_bytes: self
                .connection_window_bytes
                .clamp(WINDOW_BYTES_DEFAULT, WINDOW_MAX),
            header_table_bytes: self.header_table_bytes.min(1 << 20),
            frame_bytes: self.frame_bytes.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX),
            ..self
        }
    }

    /// What the client announces.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            header_table_bytes: self.header_table_bytes,
            push: false,
            window_bytes: self.window_bytes,
            frame_bytes: self.frame_bytes,
            list_bytes: self.limits.list_bytes,
            ..Settings::INITIAL
        }
    }
}
