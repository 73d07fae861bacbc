//! What a run's connections spoke, and how much of the load each protocol carried.

use serde::{Deserialize, Serialize};

/// What one protocol carried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolCounts {
    /// Its name, as ALPN has it (RFC 7301): `http/1.1`.
    pub name: String,
    /// Connections opened that speak it, warm-up and all.
    pub connections: u64,
    /// Requests of the measured part that were sent on them.
    pub sent: u64,
    /// Of those, the ones whose whole response arrived.
    pub completed: u64,
    /// The least that a server allowed on any of the connections, where the protocol has it say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Allowed>,
}

/// What a server allows a client to send on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    /// Requests in flight at a time; `None`: no limit.
    pub streams: Option<u32>,
    /// Bytes of a request's body before the server makes more room.
    pub window_bytes: u32,
    /// Bytes of the table that it decodes fields with.
    pub header_table_bytes: u32,
    /// Bytes of a frame.
    pub frame_bytes: u32,
}

impl Allowed {
    /// What both of them allow.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        let streams = match (self.streams, other.streams) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        Self {
            streams,
            window_bytes: self.window_bytes.min(other.window_bytes),
            header_table_bytes: self.header_table_bytes.min(other.header_table_bytes),
            frame_bytes: self.frame_bytes.min(other.frame_bytes),
        }
    }
}

impl ProtocolCounts {
    /// A server has said what it allows.
    pub fn allow(&mut self, allowed: Option<Allowed>) {
        let mine = self.allowed;
        self.allowed = allowed.map(|new| mine.map_or(new, |mine| mine.least(new))).or(mine);
    }
}

/// The counts of a protocol, which begin with nothing when it is first asked for.
pub fn counts_of<'a>(protocols: &'a mut Vec<ProtocolCounts>, name: &str) -> &'a mut ProtocolCounts {
    let at = protocols.iter().position(|known| known.name == name).unwrap_or_else(|| {
        protocols.push(ProtocolCounts { name: name.to_owned(), ..ProtocolCounts::default() });
        protocols.len() - 1
    });
    &mut protocols[at]
}

/// Adds the counts of others, in the order of their names.
pub fn merge_protocols(protocols: &mut Vec<ProtocolCounts>, more: &[ProtocolCounts]) {
    for theirs in more {
        let mine = counts_of(protocols, &theirs.name);
        mine.connections += theirs.connections;
        mine.sent += theirs.sent;
        mine.completed += theirs.completed;
        mine.allow(theirs.allowed);
    }
    protocols.sort_by(|a, b| a.name.cmp(&b.name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_joined_by_name() {
        let counts = |name: &str, connections, sent, completed| ProtocolCounts {
            name: name.to_owned(),
            connections,
            sent,
            completed,
            allowed: None,
        };
        let mut protocols = vec![counts("http/1.1", 1, 20, 10)];
        merge_protocols(&mut protocols, &[counts("h2", 2, 5, 5), counts("http/1.1", 1, 2, 1)]);
        assert_eq!(protocols, [counts("h2", 2, 5, 5), counts("http/1.1", 2, 22, 11)]);
    }

    #[test]
    fn the_least_that_was_allowed_counts() {
        let allowing = |streams, window_bytes| ProtocolCounts {
            allowed: Some(Allowed {
                streams,
                window_bytes,
                header_table_bytes: 4096,
                frame_bytes: 16_384,
            }),
            ..ProtocolCounts::default()
        };
        let mut protocols = vec![ProtocolCounts::default()];
        merge_protocols(&mut protocols, &[allowing(None, 100), ProtocolCounts::default()]);
        assert_eq!(protocols, [allowing(None, 100)]);
        merge_protocols(&mut protocols, &[allowing(Some(10), 200), allowing(Some(20), 100)]);
        assert_eq!(protocols, [allowing(Some(10), 100)]);
    }
}
