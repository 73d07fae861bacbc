//! The phases of a request, in the order they happen, and the time that each took. They follow one
//! another, but for `stalled`, which is a part of `sending`.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::histogram::Histogram;

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
    /// From there to what the server must say before the first request. HTTP/1 has nothing of the
    /// kind.
    Greeting,
    /// Writing the request.
    Sending,
    /// The part of it in which the peer's flow control held the rest of the request back. HTTP/1
    /// has nothing of the kind.
    Stalled,
    /// From the request written to the first byte of the response.
    Waiting,
    /// From the first byte of the response to its last.
    Receiving,
}

impl Phase {
    /// All phases in order.
    pub const ALL: [Self; 9] = [
        Self::Blocked,
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::Greeting,
        Self::Sending,
        Self::Stalled,
        Self::Waiting,
        Self::Receiving,
    ];

    /// Whether it is a part of opening a connection.
    #[must_use]
    pub fn is_opening(self) -> bool {
        matches!(self, Self::Connect | Self::Tls | Self::Greeting)
    }

    /// The name used in results and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Greeting => "greeting",
            Self::Sending => "sending",
            Self::Stalled => "stalled",
            Self::Waiting => "waiting",
            Self::Receiving => "receiving",
        }
    }
}

/// How long each phase took, in a histogram for each.
///
/// In a document it is an object with the phases' names. One that a document lacks is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phases([Histogram; Phase::ALL.len()]);

impl Phases {
    /// Adds what others took.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.merge(theirs);
        }
    }
}

impl Index<Phase> for Phases {
    type Output = Histogram;

    #[inline]
    fn index(&self, phase: Phase) -> &Histogram {
        &self.0[phase as usize]
    }
}

impl IndexMut<Phase> for Phases {
    #[inline]
    fn index_mut(&mut self, phase: Phase) -> &mut Histogram {
        &mut self.0[phase as usize]
    }
}

impl Serialize for Phases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for phase in Phase::ALL {
            map.serialize_entry(phase.name(), &self[phase])?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Phases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut named = HashMap::<String, Histogram>::deserialize(deserializer)?;
        let mut phases = Self::default();
        for phase in Phase::ALL {
            phases[phase] = named.remove(phase.name()).unwrap_or_default();
        }
        Ok(phases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_stand_in_a_document_by_name_and_in_order() {
        let mut phases = Phases::default();
        for (n, phase) in (1..).zip(Phase::ALL) {
            phases[phase].record(1000 * n);
        }
        let text = serde_json::to_string(&phases).unwrap();
        let at = |phase: Phase| text.find(&format!("\"{}\":", phase.name())).unwrap();
        assert!(Phase::ALL.is_sorted_by_key(|phase| at(*phase)), "{text}");
        let read: Phases = serde_json::from_str(&text).unwrap();
        assert!(Phase::ALL.iter().all(|phase| read[*phase].max_ns() == phases[*phase].max_ns()));
        let old: Phases = serde_json::from_str("{}").unwrap();
        assert!(old.0.iter().all(Histogram::is_empty));
    }
}
