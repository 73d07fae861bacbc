//! Calls of gRPC: which methods there are, and what each makes of its messages.
//!
//! A [`Call`] is a state machine of its own: bytes of a request's body go in, messages and a status
//! come out, and times are arguments. It knows neither streams nor windows: `http2` says when it
//! has room for the next message.
//!
//! Absent on purpose: compressed answers. Requests may come with gzip.

mod call;
mod coding;
mod head;
mod service;
#[cfg(test)]
mod tests;

use plimsoll_grpc::builtin::{self, testing};
use plimsoll_grpc::reflection::Version;

pub(crate) use call::{Call, Next};
pub(crate) use coding::ACCEPTED;
pub(crate) use head::{CallHead, is_grpc};

/// Bytes of the longest message that is taken.
pub(crate) const MESSAGE_BYTES_MAX: u32 = 4 << 20;

/// Bytes of messages that the calls of one connection may hold together.
pub(crate) const HELD_BYTES_MAX: usize = 16 << 20;

/// The longest that a message can ask its answer to be held back.
const DELAY_NS_MAX: u64 = 3_600_000_000_000;

/// What is called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Method {
    HealthCheck,
    HealthWatch,
    Ping,
    Reflection,
    EmptyCall,
    UnaryCall,
    StreamingOutputCall,
    StreamingInputCall,
    FullDuplexCall,
    /// Anything else.
    #[default]
    Unknown,
}

/// What a method takes before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// One message, and the end of the request.
    One,
    /// All messages of the request.
    All,
    /// Each message is answered before the next is looked at.
    Each,
}

impl Method {
    /// The method that is at this path.
    #[inline]
    pub(crate) fn of(path: &str) -> Option<Self> {
        Some(match path {
            builtin::HEALTH_CHECK => Self::HealthCheck,
            builtin::HEALTH_WATCH => Self::HealthWatch,
            builtin::PING => Self::Ping,
            testing::EMPTY_CALL => Self::EmptyCall,
            testing::UNARY_CALL => Self::UnaryCall,
            testing::STREAMING_OUTPUT_CALL => Self::StreamingOutputCall,
            testing::STREAMING_INPUT_CALL => Self::StreamingInputCall,
            testing::FULL_DUPLEX_CALL => Self::FullDuplexCall,
            _ if Version::ALL.iter().any(|version| version.path() == path) => Self::Reflection,
            _ => return None,
        })
    }

    /// Whether it is a test's method, which sends back some of the metadata.
    fn echoes_metadata(self) -> bool {
        matches!(
            self,
            Self::EmptyCall
                | Self::UnaryCall
                | Self::StreamingOutputCall
                | Self::StreamingInputCall
                | Self::FullDuplexCall
        )
    }

    fn takes(self) -> Takes {
        match self {
            Self::StreamingInputCall => Takes::All,
            Self::FullDuplexCall | Self::Reflection | Self::Unknown => Takes::Each,
            Self::HealthCheck
            | Self::HealthWatch
            | Self::Ping
            | Self::EmptyCall
            | Self::UnaryCall
            | Self::StreamingOutputCall => Takes::One,
        }
    }
}
