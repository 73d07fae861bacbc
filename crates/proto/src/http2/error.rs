//! What goes wrong on a connection: the codes that peers exchange, and our own words for what a
//! peer did.
//!
//! A [`ConnectionError`] ends the connection; a [`StreamError`] ends one stream, and the others go
//! on (RFC 9113 5.4).

use std::fmt;

use thiserror::Error;

use super::hpack::HpackError;

/// Why a stream or a connection was ended, as frames have it (RFC 9113 7). Peers may send codes
/// that the RFC does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Nothing went wrong.
    pub const NO_ERROR: Self = Self(0);
    /// The peer broke the protocol in a way that no other code describes.
    pub const PROTOCOL_ERROR: Self = Self(1);
    /// The sender has a problem of its own.
    pub const INTERNAL_ERROR: Self = Self(2);
    /// The peer sent more than the windows allow, or made one too large.
    pub const FLOW_CONTROL_ERROR: Self = Self(3);
    /// The peer did not acknowledge settings in time.
    pub const SETTINGS_TIMEOUT: Self = Self(4);
    /// A frame came for a stream that was closed.
    pub const STREAM_CLOSED: Self = Self(5);
    /// A frame has a length that its type does not allow.
    pub const FRAME_SIZE_ERROR: Self = Self(6);
    /// The request was not processed.
    pub const REFUSED_STREAM: Self = Self(7);
    /// The sender does not need the stream any more.
    pub const CANCEL: Self = Self(8);
    /// A header block can't be decoded.
    pub const COMPRESSION_ERROR: Self = Self(9);
    /// The connection behind a CONNECT failed.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer asks for more work than it is given.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// TLS is too weak.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// The sender wants HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);

    /// The name in RFC 9113, or `UNKNOWN`.
    #[must_use]
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(self.0 as usize).copied().unwrap_or("UNKNOWN")
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "UNKNOWN" => write!(f, "code {:#x}", self.0),
            name => f.write_str(name),
        }
    }
}

/// Why a connection can't be used any further. The machine stays failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum ConnectionError {
    /// The server's first bytes are those of an HTTP/1 response.
    #[error("the server speaks HTTP/1 where HTTP/2 was expected")]
    Http1,
    /// The client's first bytes are not the connection preface (RFC 9113 3.4).
    #[error("malformed connection preface")]
    BadPreface,
    /// The first frame is not SETTINGS (RFC 9113 3.4).
    #[error("what came is not HTTP/2: its first frame is not SETTINGS")]
    NoSettings,
    /// A frame is longer than we allow (RFC 9113 4.2).
    #[error("a frame is longer than allowed")]
    FrameTooLong,
    /// A frame has a length that its type does not allow (RFC 9113 6).
    #[error("a frame has a length that its type does not allow")]
    BadFrameLength,
    /// The padding is longer than the frame (RFC 9113 6.1).
    #[error("the padding is longer than the frame")]
    BadPadding,
    /// A frame that belongs to a stream came for the connection, or the reverse (RFC 9113 6).
    #[error("a frame came on a stream that its type does not allow")]
    BadStream,
    /// A frame came for a stream that was never opened (RFC 9113 5.1).
    #[error("a frame came for a stream that was never opened")]
    IdleStream,
    /// A stream's number is even, or lower than that of an earlier one (RFC 9113 5.1.1).
    #[error("a stream was opened out of order")]
    BadStreamId,
    /// A frame came for a stream that the peer itself had closed (RFC 9113 5.1).
    #[error("a frame came for a closed stream")]
    StreamClosed,
    /// Another frame stands within a header block, or CONTINUATION outside of one (RFC 9113 6.10).
    #[error("the frames of a header block are not contiguous")]
    BrokenHeaderBlock,
    /// A setting has a value that it can't have (RFC 9113 6.5.2).
    #[error("a setting has an impossible value")]
    BadSetting,
    /// A PUSH_PROMISE came, which clients may not send and which this client does not allow.
    #[error("the peer pushed a response")]
    Push,
    /// The last stream of a GOAWAY is higher than that of an earlier one (RFC 9113 6.8).
    #[error("a GOAWAY takes back an earlier one")]
    BadGoAway,
    /// A window was increased by 0 (RFC 9113 6.9).
    #[error("a window was increased by 0")]
    ZeroIncrement,
    /// A window exceeds 2^31-1 (RFC 9113 6.9.1, 6.9.2).
    #[error("a flow-control window is too large")]
    WindowOverflow,
    /// The peer sent more than the connection's window allows (RFC 9113 6.9).
    #[error("the peer sent more than the connection's window allows")]
    WindowExceeded,
    /// A header block can't be decoded (RFC 7541).
    #[error(transparent)]
    Hpack(#[from] HpackError),
    /// A header block is longer than [`Limits::block_bytes`](super::Limits::block_bytes), or has
    /// more frames than [`Limits::continuations`](super::Limits::continuations).
    #[error("a header block is too long")]
    BlockTooLong,
    /// The peer gave up more streams than [`Limits::resets`](super::Limits::resets).
    #[error("the peer reset too many streams")]
    ResetFlood,
    /// More than [`Limits::futile_frames`](super::Limits::futile_frames) in a row moved nothing.
    #[error("too many frames without content")]
    FutileFlood,
    /// The peer closed within a frame, or before its settings.
    #[error("connection closed within a frame")]
    Truncated,
}

impl ConnectionError {
    /// The code that a GOAWAY tells the peer.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            Self::FrameTooLong | Self::BadFrameLength => ErrorCode::FRAME_SIZE_ERROR,
            Self::StreamClosed => ErrorCode::STREAM_CLOSED,
            Self::WindowOverflow | Self::WindowExceeded => ErrorCode::FLOW_CONTROL_ERROR,
            Self::Hpack(_) => ErrorCode::COMPRESSION_ERROR,
            Self::BlockTooLong | Self::ResetFlood | Self::FutileFlood => {
                ErrorCode::ENHANCE_YOUR_CALM
            }
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }

    /// The error's name in results: snake case, stable.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Http1 => "http1_peer",
            Self::BadPreface => "bad_preface",
            Self::NoSettings => "no_settings",
            Self::FrameTooLong => "frame_too_long",
            Self::BadFrameLength => "bad_frame_length",
            Self::BadPadding => "bad_padding",
            Self::BadStream => "bad_stream",
            Self::IdleStream => "idle_stream",
            Self::BadStreamId => "bad_stream_id",
            Self::StreamClosed => "stream_closed",
            Self::BrokenHeaderBlock => "broken_header_block",
            Self::BadSetting => "bad_setting",
            Self::Push => "push",
            Self::BadGoAway => "bad_goaway",
            Self::ZeroIncrement => "zero_increment",
            Self::WindowOverflow => "window_overflow",
            Self::WindowExceeded => "window_exceeded",
            Self::Hpack(_) => "compression",
            Self::BlockTooLong => "block_too_long",
            Self::ResetFlood => "reset_flood",
            Self::FutileFlood => "futile_flood",
            Self::Truncated => "truncated_frame",
        }
    }
}

/// Why one stream was given up. The connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum StreamError {
    /// A pseudo-field is missing, repeated, unknown, out of place or malformed (RFC 9113 8.3).
    #[error("malformed message: a pseudo-field breaks the rules")]
    PseudoField,
    /// A field's name is empty, has upper-case letters or is not a token (RFC 9113 8.2.1).
    #[error("malformed message: a field name breaks the grammar")]
    FieldName,
    /// A field's value has a line break, a NUL, or white space around it (RFC 9113 8.2.1).
    #[error("malformed message: a field value breaks the grammar")]
    FieldValue,
    /// A field that is about an HTTP/1 connection (RFC 9113 8.2.2).
    #[error("malformed message: a connection-specific field")]
    ConnectionField,
    /// A Content-Length that is not a decimal number below 2^64, or two that differ.
    #[error("malformed message: bad Content-Length")]
    BadContentLength,
    /// The body has not the length that Content-Length says, or may not be there (RFC 9113 8.1.1).
    #[error("malformed message: the body has another length than its head says")]
    BodyLength,
    /// Host and `:authority` name different servers (RFC 9113 8.3.1).
    #[error("malformed message: Host and :authority differ")]
    HostDiffers,
    /// The fields together are longer than [`Limits::list_bytes`](super::Limits::list_bytes).
    #[error("header fields too long")]
    HeadTooLong,
    /// More interim responses than [`INTERIM_MAX`](super::INTERIM_MAX) before a final one.
    #[error("too many interim responses")]
    TooManyInterim,
    /// Frames in an order that makes no message (RFC 9113 8.1).
    #[error("malformed message: frames out of order")]
    Sequence,
    /// A frame came after the peer had ended its side of the stream (RFC 9113 5.1).
    #[error("a frame came after the end of the stream")]
    HalfClosed,
    /// The peer sent more than the stream's window allows (RFC 9113 6.9).
    #[error("the peer sent more than the stream's window allows")]
    WindowExceeded,
    /// The peer made the stream's window exceed 2^31-1 (RFC 9113 6.9.1).
    #[error("a flow-control window is too large")]
    WindowOverflow,
    /// The stream's window was increased by 0 (RFC 9113 6.9).
    #[error("a window was increased by 0")]
    ZeroIncrement,
    /// A PRIORITY frame that is not 5 bytes long (RFC 9113 6.3).
    #[error("a PRIORITY frame has a wrong length")]
    PriorityLength,
    /// A stream that is to depend on itself (RFC 7540 5.3.1).
    #[error("a stream depends on itself")]
    PriorityLoop,
}

impl StreamError {
    /// The code that an RST_STREAM tells the peer.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            Self::HalfClosed => ErrorCode::STREAM_CLOSED,
            Self::WindowExceeded | Self::WindowOverflow => ErrorCode::FLOW_CONTROL_ERROR,
            Self::HeadTooLong | Self::TooManyInterim => ErrorCode::ENHANCE_YOUR_CALM,
            Self::PriorityLength => ErrorCode::FRAME_SIZE_ERROR,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }

    /// The error's name in results: snake case, stable.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::PseudoField => "bad_pseudo_field",
            Self::FieldName => "bad_field_name",
            Self::FieldValue => "bad_field_value",
            Self::ConnectionField => "connection_field",
            Self::BadContentLength => "bad_content_length",
            Self::BodyLength => "body_length",
            Self::HostDiffers => "host_differs",
            Self::HeadTooLong => "head_too_long",
            Self::TooManyInterim => "too_many_interim",
            Self::Sequence => "bad_sequence",
            Self::HalfClosed => "half_closed",
            Self::WindowExceeded => "stream_window_exceeded",
            Self::WindowOverflow => "stream_window_overflow",
            Self::ZeroIncrement => "stream_zero_increment",
            Self::PriorityLength => "priority_length",
            Self::PriorityLoop => "priority_loop",
        }
    }
}

/// Why a field was not encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum EncodeError {
    /// The name is empty or not a token (RFC 9110 5.6.2).
    #[error("header name is not a token")]
    BadName,
    /// The value has a line break, a NUL, or white space around it.
    #[error("header value has a line break, a NUL, or white space around it")]
    BadValue,
    /// A field that HTTP/2 forbids, because it is about an HTTP/1 connection (RFC 9113 8.2.2).
    #[error("header is about the connection, which HTTP/2 forbids")]
    ConnectionField,
}

/// What a frame was found to be, before it is known what that does to which stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Connection(ConnectionError),
    Stream(u32, StreamError),
}

impl From<ConnectionError> for Fault {
    fn from(error: ConnectionError) -> Self {
        Self::Connection(error)
    }
}

impl From<HpackError> for Fault {
    fn from(error: HpackError) -> Self {
        Self::Connection(error.into())
    }
}
