//! Why a connection failed, and the codes that connections close with (RFC 6455 7.4).

use std::fmt;

use thiserror::Error;

/// A status code of a Close frame, or of a connection that had none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The purpose of the connection is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// An endpoint goes away: a server stops, a page is left.
    pub const GOING_AWAY: Self = Self(1001);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// A Close frame had no code. Never sent.
    pub const NO_STATUS: Self = Self(1005);
    /// The connection ended without a Close frame. Never sent.
    pub const ABNORMAL: Self = Self(1006);
    /// A payload is not what its type says: text that is not UTF-8.
    pub const INVALID_PAYLOAD: Self = Self(1007);
    /// A message is longer than the limit.
    pub const TOO_BIG: Self = Self(1009);
    /// A server has too much to do at the moment.
    pub const TRY_AGAIN_LATER: Self = Self(1013);

    /// The code of this number, if it may stand in a Close frame: 1000 to 1003, 1007 to 1014
    /// (those that RFC 6455 7.4.1 and its registry define for it), and 3000 to 4999.
    #[must_use]
    pub fn new(number: u16) -> Option<Self> {
        matches!(number, 1000..=1003 | 1007..=1014 | 3000..=4999).then_some(Self(number))
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a connection failed. It stays failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Error {
    /// A bit is set that no agreed extension defines (RFC 6455 5.2).
    #[error("a reserved bit is set in a frame")]
    ReservedBits,
    /// An opcode that no standard defines.
    #[error("a frame has a reserved opcode")]
    ReservedOpcode,
    /// A client's frame is not masked (RFC 6455 5.1).
    #[error("a client's frame is not masked")]
    MaskMissing,
    /// A server's frame is masked (RFC 6455 5.1).
    #[error("a server's frame is masked")]
    MaskUnexpected,
    /// A control frame that is not whole (RFC 6455 5.5).
    #[error("a control frame is fragmented")]
    FragmentedControl,
    /// A control frame of more than 125 bytes (RFC 6455 5.5).
    #[error("a control frame is longer than 125 bytes")]
    ControlTooLong,
    /// A continuation without a message (RFC 6455 5.4).
    #[error("a frame continues a message, and none is under way")]
    NothingToContinue,
    /// A message within another one (RFC 6455 5.4).
    #[error("a message begins before the one under way has ended")]
    MessageInterrupted,
    /// A length of 2^63 or more (RFC 6455 5.2).
    #[error("a frame's length exceeds 2^63-1")]
    LengthOverflow,
    /// More than [`Limits::message_bytes`](super::Limits::message_bytes).
    #[error("message too long")]
    MessageTooLong,
    /// Text that is not UTF-8 (RFC 6455 8.1).
    #[error("a text message is not UTF-8")]
    InvalidUtf8,
    /// A compressed message that cannot be decompressed (RFC 7692 7.2.2).
    #[error("a compressed message cannot be decompressed")]
    BadDeflate,
    /// A Close frame with half of a code (RFC 6455 5.5.1).
    #[error("a Close frame has a payload of one byte")]
    CloseLength,
    /// A Close frame with a code that may not be sent (RFC 6455 7.4).
    #[error("a Close frame has a code that may not be sent")]
    InvalidCloseCode,
    /// A Close frame whose reason is not UTF-8 (RFC 6455 5.5.1).
    #[error("the reason of a Close frame is not UTF-8")]
    InvalidCloseReason,
    /// The connection ended between messages, without a Close frame (RFC 6455 7.1.5).
    #[error("connection closed without a Close frame")]
    NoClose,
    /// The connection ended within a frame or a message.
    #[error("connection closed within a message")]
    Truncated,
}

impl Error {
    /// Every error.
    pub const ALL: [Self; 17] = [
        Self::ReservedBits,
        Self::ReservedOpcode,
        Self::MaskMissing,
        Self::MaskUnexpected,
        Self::FragmentedControl,
        Self::ControlTooLong,
        Self::NothingToContinue,
        Self::MessageInterrupted,
        Self::LengthOverflow,
        Self::MessageTooLong,
        Self::InvalidUtf8,
        Self::BadDeflate,
        Self::CloseLength,
        Self::InvalidCloseCode,
        Self::InvalidCloseReason,
        Self::NoClose,
        Self::Truncated,
    ];

    /// The code that the Close frame tells the peer; 1006 when there is no peer to tell.
    #[must_use]
    pub fn code(self) -> CloseCode {
        match self {
            Self::MessageTooLong => CloseCode::TOO_BIG,
            Self::InvalidUtf8 | Self::BadDeflate | Self::InvalidCloseReason => {
                CloseCode::INVALID_PAYLOAD
            }
            Self::NoClose | Self::Truncated => CloseCode::ABNORMAL,
            _ => CloseCode::PROTOCOL_ERROR,
        }
    }

    /// The error's name in results: snake case, stable.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::ReservedBits => "reserved_bits",
            Self::ReservedOpcode => "reserved_opcode",
            Self::MaskMissing => "mask_missing",
            Self::MaskUnexpected => "mask_unexpected",
            Self::FragmentedControl => "fragmented_control",
            Self::ControlTooLong => "control_too_long",
            Self::NothingToContinue => "nothing_to_continue",
            Self::MessageInterrupted => "message_interrupted",
            Self::LengthOverflow => "length_overflow",
            Self::MessageTooLong => "message_too_long",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::BadDeflate => "bad_deflate",
            Self::CloseLength => "close_length",
            Self::InvalidCloseCode => "invalid_close_code",
            Self::InvalidCloseReason => "invalid_close_reason",
            Self::NoClose => "no_close",
            Self::Truncated => "truncated",
        }
    }
}
