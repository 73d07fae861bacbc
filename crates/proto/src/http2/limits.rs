//! How much a peer may make us keep or do.

/// The most interim responses (1xx) taken before a final one.
pub const INTERIM_MAX: u8 = 32;

/// Buffers of a head that grew beyond this are given back when the next one comes. Ordinary limits
/// keep them below it.
pub(super) const KEPT_BYTES_MAX: usize = 128 * 1024;

/// What a peer may send before it is taken for an attacker or out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a header block as it is sent, over all of its frames. A longer one ends the
    /// connection, because a block that is not decoded leaves the two sides' tables different.
    pub block_bytes: usize,
    /// CONTINUATION frames of a header block, whatever their length. More end the connection.
    pub continuations: u32,
    /// Bytes of a message's fields as RFC 9113 counts them (6.5.2): names, values and 32 for each
    /// field. A longer list ends the stream. The peer is told, as SETTINGS_MAX_HEADER_LIST_SIZE.
    pub list_bytes: u32,
    /// Streams that a client may make the server give up, by RST_STREAM or by breaking the
    /// protocol, beyond the number of responses it let the server finish. More end the connection.
    pub resets: u32,
    /// Frames in a row without which nothing would be missing (PING, SETTINGS, PRIORITY, empty
    /// DATA, unknown ones, WINDOW_UPDATE that makes room for more than was sent), while no message
    /// moves on. More end the connection.
    pub futile_frames: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            block_bytes: 64 * 1024,
            continuations: 32,
            list_bytes: 64 * 1024,
            resets: 1000,
            futile_frames: 10_000,
        }
    }
}
