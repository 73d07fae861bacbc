//! The phases of a request, in the order they happen.

use serde::{Deserialize, Serialize};

/// Where the time of a request went, or where it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Waiting for a connection.
    Blocked,
    /// Looking the name up.
    Dns,
    /// Opening the TCP connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Writing the request.
    Sending,
    /// From the request written to the first byte of the response.
    Waiting,
    /// From the first byte of the response to its last.
    Receiving,
}

impl Phase {
    /// All phases in order.
    pub const ALL: [Self; 7] = [
        Self::Blocked,
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::Sending,
        Self::Waiting,
        Self::Receiving,
    ];

    /// Whether it is a part of opening a connection.
    #[must_use]
    pub fn is_opening(self) -> bool {
        matches!(self, Self::Connect | Self::Tls)
    }

    /// The name used in results and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Sending => "sending",
            Self::Waiting => "waiting",
            Self::Receiving => "receiving",
        }
    }
}
