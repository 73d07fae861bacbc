//! Status codes of gRPC, and those that stand for what HTTP says instead.

use std::fmt;

use crate::http2::ErrorCode;

/// Names by number.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// How a call ended. Peers may send numbers that have no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u32);

impl Code {
    /// The call succeeded.
    pub const OK: Self = Self(0);
    /// The call was cancelled.
    pub const CANCELLED: Self = Self(1);
    /// Nothing more is known.
    pub const UNKNOWN: Self = Self(2);
    /// The request makes no sense, whatever the server's state.
    pub const INVALID_ARGUMENT: Self = Self(3);
    /// The deadline passed.
    pub const DEADLINE_EXCEEDED: Self = Self(4);
    /// What was asked for is not there.
    pub const NOT_FOUND: Self = Self(5);
    /// The caller may not do this.
    pub const PERMISSION_DENIED: Self = Self(7);
    /// A limit was exceeded.
    pub const RESOURCE_EXHAUSTED: Self = Self(8);
    /// The server has no such method.
    pub const UNIMPLEMENTED: Self = Self(12);
    /// The peer broke the protocol.
    pub const INTERNAL: Self = Self(13);
    /// The server can't be reached at the moment.
    pub const UNAVAILABLE: Self = Self(14);
    /// The caller is not known.
    pub const UNAUTHENTICATED: Self = Self(16);

    /// Its name; `None` for a number that the protocol does not define.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.get(usize::try_from(self.0).ok()?).copied()
    }

    /// The names of all codes, from 0 on.
    #[must_use]
    pub fn names() -> &'static [&'static str] {
        &NAMES
    }

    /// The code of a name, whatever its case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let number = NAMES.iter().position(|known| known.eq_ignore_ascii_case(name))?;
        Some(Self(number as u32))
    }

    /// Reads the value of a `grpc-status` field; `None` if it is not a number of 32 bits.
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        // 2^32 has 10 digits. The protocol has no leading zeros, and peers that send some are
        // understood, so the limit is for the length alone.
        if value.is_empty() || value.len() > 10 {
            return None;
        }
        let number = value.iter().try_fold(0u64, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0'))
        })?;
        Some(Self(u32::try_from(number).ok()?))
    }

    /// What an HTTP status says where `grpc-status` is missing.
    #[must_use]
    pub fn of_http_status(status: u16) -> Self {
        match status {
            400 | 431 => Self::INTERNAL,
            401 => Self::UNAUTHENTICATED,
            403 => Self::PERMISSION_DENIED,
            404 => Self::UNIMPLEMENTED,
            429 | 502 | 503 | 504 => Self::UNAVAILABLE,
            _ => Self::UNKNOWN,
        }
    }

    /// What the reset of a stream by the server says.
    #[must_use]
    pub fn of_reset(code: ErrorCode) -> Self {
        match code {
            ErrorCode::REFUSED_STREAM => Self::UNAVAILABLE,
            ErrorCode::CANCEL => Self::CANCELLED,
            ErrorCode::ENHANCE_YOUR_CALM => Self::RESOURCE_EXHAUSTED,
            ErrorCode::INADEQUATE_SECURITY => Self::PERMISSION_DENIED,
            _ => Self::INTERNAL,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}
