//! What timeouts say of a connection that goes on after them.
//!
//! HTTP/1 closes a connection with each timeout, and users whose connections are lost before any
//! response are cut off. A protocol that gives up a single request keeps the connection, so nothing
//! would tell that its server hangs. Here a timeout with no response since its request was sent
//! counts as if the connection had been closed and opened again in that moment: both kinds of
//! protocol have the same outage.
//!
//! Only responses count as a sign of life. A server that hangs may still answer the kernel, and
//! even send PING.

use plimsoll_conn::Protocol;
use plimsoll_io::Driver;

use super::Pool;
use super::client::{Carried, Client, Usage};
use crate::id::ConnectionId;

/// What a request that timed out says of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// A response has come since the request was sent, or a part of one: the request alone is late.
    None,
    /// It was sent before the connection fell silent, as another that timed out has told.
    Known,
    /// The connection has fallen silent.
    New,
    /// It was sent after the connection fell silent, and nothing has come since.
    Lasting,
}

impl Usage {
    /// What a request says that was started at `started_ns` and has timed out.
    pub(crate) fn silence(&self, started_ns: u64) -> Silence {
        if self.response_ns > started_ns {
            Silence::None
        } else if self.silent_ns <= self.response_ns {
            Silence::New
        } else if started_ns < self.silent_ns {
            Silence::Known
        } else {
            Silence::Lasting
        }
    }
}

impl<P: Protocol> Client<P> {
    /// Counts whether the open connection failed, since it was opened or fell silent: it brought no
    /// response, and `is_ours`, our own choice to close it, is not why. `true`: it has failed with
    /// a request on it.
    pub(super) fn note_fate(&mut self, is_ours: bool) -> bool {
        let Usage { sent, answered, told, .. } = &self.usage;
        let is_told = told.sent > 0 && told.sent == *sent;
        if is_ours || *answered > told.answered {
            self.failures = 0;
        } else if !is_told {
            self.failures += 1;
        }
        self.failures > 0 && *sent > 0
    }
}

impl<D: Driver, P: Protocol> Pool<D, P> {
    /// A connection has fallen silent at `now_ns` and goes on.
    pub(crate) fn fell_silent(&mut self, entry: ConnectionId, now_ns: u64) {
        let client = &mut self.entries[entry];
        let is_lost = client.note_fate(false);
        let Usage { sent, answered, .. } = client.usage;
        client.usage.told = Carried { sent, answered };
        client.usage.silent_ns = now_ns;
        // As with a connection that was closed: the first may be chance.
        if is_lost && client.failures > 1 {
            self.reach.lost(entry, now_ns);
            self.reach.reached(entry, now_ns);
        }
    }
}
