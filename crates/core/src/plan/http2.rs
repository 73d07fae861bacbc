//! Which version of HTTP is spoken, and how HTTP/2 is.

use serde::{Deserialize, Serialize};

/// The largest window that HTTP/2 has (RFC 9113 section 6.9.1), bytes.
pub const WINDOW_BYTES_MAX: u32 = (1 << 31) - 1;

/// The least that a connection's window can be (RFC 9113 section 6.9.2), bytes.
pub const CONNECTION_WINDOW_BYTES_MIN: u32 = 65_535;

/// The largest table for fields that a run keeps for each connection, bytes.
pub const HEADER_TABLE_BYTES_MAX: u32 = 1 << 20;

/// The range of the largest frame (RFC 9113 section 4.2), bytes.
pub const FRAME_BYTES_MIN: u32 = 1 << 14;
/// See [`FRAME_BYTES_MIN`].
pub const FRAME_BYTES_MAX: u32 = (1 << 24) - 1;

/// Which version of HTTP is spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1; each request says which of 1.0 and 1.1.
    #[default]
    #[serde(rename = "1")]
    Http1,
    /// HTTP/2: agreed on in TLS, by prior knowledge without it.
    #[serde(rename = "2")]
    Http2,
    /// What the first connection agrees on in TLS; HTTP/1.1 without it.
    #[serde(rename = "auto")]
    Auto,
}

/// How HTTP/2 is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http2Plan {
    /// Requests in flight on one connection, each on a stream of its own; fewer if the server
    /// allows fewer.
    pub streams: u32,
    /// Bytes of a response that a server may send on a stream before it is told to go on, at most
    /// [`WINDOW_BYTES_MAX`].
    pub window_bytes: u32,
    /// The same for all streams of a connection, from [`CONNECTION_WINDOW_BYTES_MIN`] to
    /// [`WINDOW_BYTES_MAX`].
    pub connection_window_bytes: u32,
    /// Bytes of the table that responses' fields are decoded with, at most
    /// [`HEADER_TABLE_BYTES_MAX`].
    pub header_table_bytes: u32,
    /// The largest frame taken, from [`FRAME_BYTES_MIN`] to [`FRAME_BYTES_MAX`].
    pub frame_bytes: u32,
}

impl Default for Http2Plan {
    fn default() -> Self {
        Self {
            streams: 1,
            window_bytes: WINDOW_BYTES_MAX,
            connection_window_bytes: WINDOW_BYTES_MAX,
            header_table_bytes: 4096,
            frame_bytes: FRAME_BYTES_MIN,
        }
    }
}
