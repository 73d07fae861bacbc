//! What one side of a connection takes, and announces that it takes.

use super::Limits;
use super::flow::WINDOW_MAX;
use super::frame::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use super::settings::{Settings, WINDOW_BYTES_DEFAULT};

/// The largest table that is kept for a peer's fields, bytes.
const HEADER_TABLE_BYTES_MAX: u32 = 1 << 20;

/// How much a side takes. Values beyond their range are brought into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiving {
    /// Bytes of a message that may be on their way on one stream: SETTINGS_INITIAL_WINDOW_SIZE, at
    /// most 2^31-1.
    pub window_bytes: u32,
    /// Bytes of all messages that may be on their way, 65 535 to 2^31-1.
    pub connection_window_bytes: u32,
    /// Bytes of the table that fields are decoded with: SETTINGS_HEADER_TABLE_SIZE, at most 2^20. A
    /// connection has twice as many for it, at least 8192.
    pub header_table_bytes: u32,
    /// Bytes of the largest frame taken: SETTINGS_MAX_FRAME_SIZE, 2^14 to 2^24-1.
    pub frame_bytes: u32,
    /// What the peer may send.
    pub limits: Limits,
}

impl Receiving {
    /// With these windows, and all else as the protocol has it.
    pub(super) fn with_windows(window_bytes: u32, connection_window_bytes: u32) -> Self {
        Self {
            window_bytes,
            connection_window_bytes,
            header_table_bytes: Settings::INITIAL.header_table_bytes,
            frame_bytes: FRAME_BYTES_MIN,
            limits: Limits::default(),
        }
    }

    /// The same, brought into the ranges that the fields have.
    pub(super) fn bounded(self) -> Self {
        let connection_window_bytes = self.connection_window_bytes;
        Self {
            window_bytes: self.window_bytes.min(WINDOW_MAX),
            connection_window_bytes: connection_window_bytes
                .clamp(WINDOW_BYTES_DEFAULT, WINDOW_MAX),
            header_table_bytes: self.header_table_bytes.min(HEADER_TABLE_BYTES_MAX),
            frame_bytes: self.frame_bytes.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX),
            limits: self.limits,
        }
    }

    /// The window that a stream opens with. Until the peer has acknowledged ours, it may use the
    /// default.
    pub(super) fn opening_window_bytes(&self, is_acknowledged: bool) -> u32 {
        match is_acknowledged {
            true => self.window_bytes,
            false => self.window_bytes.max(WINDOW_BYTES_DEFAULT),
        }
    }

    /// What is announced of it.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            header_table_bytes: self.header_table_bytes,
            window_bytes: self.window_bytes,
            frame_bytes: self.frame_bytes,
            list_bytes: self.limits.list_bytes,
            ..Settings::INITIAL
        }
    }
}
