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
        };
        let mut protocols = vec![counts("http/1.1", 1, 20, 10)];
        merge_protocols(&mut protocols, &[counts("h2", 2, 5, 5), counts("http/1.1", 1, 2, 1)]);
        assert_eq!(protocols, [counts("h2", 2, 5, 5), counts("http/1.1", 2, 22, 11)]);
    }
}
