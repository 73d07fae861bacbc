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
    /// The least that a server allowed at any time on any of the connections, where the protocol
    /// has it say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Allowed>,
    /// The most. It differs from the least if a server changed its mind, or servers differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_most: Option<Allowed>,
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

    /// What either of them allows.
    #[must_use]
    pub fn most(self, other: Self) -> Self {
        Self {
            streams: self.streams.zip(other.streams).map(|(mine, theirs)| mine.max(theirs)),
            window_bytes: self.window_bytes.max(other.window_bytes),
            header_table_bytes: self.header_table_bytes.max(other.header_table_bytes),
            frame_bytes: self.frame_bytes.max(other.frame_bytes),
        }
    }
}

/// The least and the most of each that a server has allowed on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedRange {
    /// The least.
    pub least: Allowed,
    /// The most.
    pub most: Allowed,
}

impl ProtocolCounts {
    /// A server has allowed this on a connection.
    pub fn allow(&mut self, allowed: Option<AllowedRange>) {
        let Some(AllowedRange { least, most }) = allowed else { return };
        self.allowed = Some(self.allowed.map_or(least, |mine| mine.least(least)));
        self.allowed_most = Some(self.allowed_most.map_or(most, |mine| mine.most(most)));
    }

    /// What servers have allowed on its connections. Documents of earlier versions have the least
    /// alone.
    #[must_use]
    pub fn allowed_range(&self) -> Option<AllowedRange> {
        let least = self.allowed?;
        Some(AllowedRange { least, most: self.allowed_most.unwrap_or(least) })
    }
}

/// What servers have allowed on the connections of a run, where its protocol has them say.
#[must_use]
pub fn allowed_range(protocols: &[ProtocolCounts]) -> Option<AllowedRange> {
    protocols.iter().find_map(ProtocolCounts::allowed_range)
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
        mine.allow(theirs.allowed_range());
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
            ..ProtocolCounts::default()
        };
        let mut protocols = vec![counts("http/1.1", 1, 20, 10)];
        merge_protocols(&mut protocols, &[counts("h2", 2, 5, 5), counts("http/1.1", 1, 2, 1)]);
        assert_eq!(protocols, [counts("h2", 2, 5, 5), counts("http/1.1", 2, 22, 11)]);
    }

    #[test]
    fn the_least_and_the_most_that_were_allowed_count() {
        let allowing = |streams, window_bytes| Allowed {
            streams,
            window_bytes,
            header_table_bytes: 4096,
            frame_bytes: 16_384,
        };
        let counts = |allowed, allowed_most| ProtocolCounts {
            allowed: Some(allowed),
            allowed_most,
            ..ProtocolCounts::default()
        };
        let same = |allowed| counts(allowed, Some(allowed));
        let mut protocols = vec![ProtocolCounts::default()];
        let unlimited = allowing(None, 100);
        merge_protocols(&mut protocols, &[same(unlimited), ProtocolCounts::default()]);
        assert_eq!(protocols, [same(unlimited)]);
        let [ten, twenty] = [allowing(Some(10), 200), allowing(Some(20), 100)];
        merge_protocols(&mut protocols, &[same(ten), same(twenty)]);
        let both = counts(allowing(Some(10), 100), Some(allowing(None, 200)));
        assert_eq!(protocols, [both]);
        let mut protocols = vec![same(twenty)];
        // As earlier versions wrote it.
        merge_protocols(&mut protocols, &[counts(ten, None)]);
        let both = counts(allowing(Some(10), 100), Some(allowing(Some(20), 200)));
        assert_eq!(protocols, [both]);
    }
}
