//! What scripts do beside requests: WebSockets and calls of gRPC. They are counted here, and no
//! other figure of a run has them, because neither is a request with one response.

use serde::{Deserialize, Serialize};

/// The WebSockets and the calls of gRPC of scripts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// WebSockets.
    pub websockets: Websockets,
    /// Calls of gRPC.
    pub calls: Calls,
}

/// What became of WebSockets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Websockets {
    /// Sessions: WebSockets that were opened.
    pub opened: u64,
    /// WebSockets that could not be opened.
    pub failed: u64,
    /// Messages sent; with `k6/websockets` pings and closes too, as k6 counts them.
    pub sent: u64,
    /// Messages that the script was given.
    pub received: u64,
}

/// What became of calls of gRPC that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Calls that ended with OK.
    pub ok: u64,
    /// Calls that ended with another status.
    pub failed: u64,
    /// Messages sent in calls that stream.
    pub sent: u64,
    /// Messages received in calls that stream.
    pub received: u64,
}

impl Beside {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.websockets.opened += other.websockets.opened;
        self.websockets.failed += other.websockets.failed;
        self.websockets.sent += other.websockets.sent;
        self.websockets.received += other.websockets.received;
        self.calls.ok += other.calls.ok;
        self.calls.failed += other.calls.failed;
        self.calls.sent += other.calls.sent;
        self.calls.received += other.calls.received;
    }

    /// Whether there was none of it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a server answered: sessions that it opened and calls that it ended with OK.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.websockets.opened + self.calls.ok
    }
}
