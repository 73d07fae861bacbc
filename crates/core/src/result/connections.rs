//! What a result holds of the connections: how many there were, what was set up on them, and how
//! the load was spread over them.

use serde::{Deserialize, Serialize};

use crate::part::Spread;

/// What became of the connections.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// Connections opened, warm-up and all.
    pub opened: u64,
    /// The most that were open at once.
    pub open_max: u64,
    /// TLS handshakes that resumed an earlier session.
    pub tls_resumed: u64,
    /// TLS handshakes that did not.
    pub tls_full: u64,
    /// What was agreed on in the first TLS handshake: version and cipher suite.
    pub tls: Option<String>,
    /// TCP segments sent again by this host.
    pub retransmits: u64,
    /// How long streams of HTTP/2 idled in the measured part because their connection was to end
    /// and others of its streams were still open, summed up over the streams.
    #[serde(default, rename = "draining_idle_s", with = "crate::serde_units::from_ns")]
    pub draining_idle_ns: u64,
    /// How long streams of HTTP/2 idled in the measured part because the server had lowered its
    /// limit of streams meanwhile, summed up over the streams.
    #[serde(default, rename = "lowered_idle_s", with = "crate::serde_units::from_ns")]
    pub lowered_idle_ns: u64,
    /// How many requests each of the plan's connections served, reopened or not.
    pub served: Spread,
    /// Changes of their number while the run went on.
    #[serde(default)]
    pub changes: Vec<ConnectionsChange>,
}

/// A change of the number of connections while a run went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionsChange {
    /// When, from the start of the measured part; 0 for a change during the warm-up.
    #[serde(rename = "at_s", with = "crate::serde_units::from_ns")]
    pub at_ns: u64,
    /// The new number.
    pub connections: u32,
}

impl Connections {
    /// Adds another worker's or process's connections.
    pub fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.open_max += other.open_max;
        self.tls_resumed += other.tls_resumed;
        self.tls_full += other.tls_full;
        self.tls = self.tls.take().or_else(|| other.tls.clone());
        self.retransmits += other.retransmits;
        self.draining_idle_ns += other.draining_idle_ns;
        self.lowered_idle_ns += other.lowered_idle_ns;
        self.served.merge(&other.served);
        self.changes.extend_from_slice(&other.changes);
        self.changes.sort_by_key(|change| change.at_ns);
    }
}
