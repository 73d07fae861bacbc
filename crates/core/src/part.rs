//! A part of a run's requests, counted apart from the others: those of one endpoint, of one stage,
//! to one address, or of users in one group.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::ledger::Ledger;
use crate::outcome::Outcome;

/// Which parts a request belongs to. [`Place::NONE`] of a kind: it is not told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of its endpoint.
    pub endpoint: u16,
    /// Number of its stage.
    pub stage: u16,
    /// Number of the address it went to.
    pub address: u16,
    /// Number of the group that its user was in.
    pub group: u16,
}

impl Place {
    /// Stands for no part.
    pub const NONE: u16 = u16::MAX;

    /// A request that belongs to no part.
    pub const NOWHERE: Self =
        Self { endpoint: Self::NONE, stage: Self::NONE, address: Self::NONE, group: Self::NONE };
}

impl Default for Place {
    fn default() -> Self {
        Self::NOWHERE
    }
}

/// The requests of a part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What it is called in reports.
    pub name: String,
    /// Where its requests went.
    pub ledger: Ledger,
    /// From the intended time to the end, each request; those that did not complete too.
    pub response: Histogram,
    /// From the start of sending to the end, each request sent.
    pub service: Histogram,
    /// Completed requests by status.
    pub status: BTreeMap<u16, u64>,
    /// How many of its responses the rate counts; null in documents that lack it.
    #[serde(default)]
    pub responses: Option<u64>,
    /// Responses that came after the window, of which some may count: for the end of the run.
    #[serde(skip)]
    pub late: u64,
}

impl Part {
    /// A part without requests.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// A request of it ended.
    #[inline]
    pub(crate) fn ended(&mut self, response_ns: u64, service_ns: u64, outcome: Outcome) {
        self.ledger.ended(outcome);
        self.response.record(response_ns);
        self.service.record(service_ns);
        if let Outcome::Completed { status: status @ 1.., .. } = outcome {
            *self.status.entry(status).or_default() += 1;
        }
    }

    /// One of its responses came, in the window or after it.
    #[inline]
    pub fn answered(&mut self, in_window: bool) {
        self.late += u64::from(!in_window);
        *self.responses.get_or_insert_default() += u64::from(in_window);
    }

    /// Adds the same part of another record.
    pub fn merge(&mut self, other: &Self) {
        // Without a single response nothing is lost that an old document would lack.
        self.responses = match (self.responses, other.responses) {
            (Some(mine), Some(theirs)) => Some(mine + theirs),
            (mine, theirs) if self.ledger.completed == 0 => theirs.or(mine),
            (mine, _) if other.ledger.completed == 0 => mine,
            _ => None,
        };
        self.late += other.late;
        self.ledger.merge(&other.ledger);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        for (status, count) in &other.status {
            *self.status.entry(*status).or_default() += count;
        }
    }
}

/// Adds parts of the same names; those that are new come behind.
pub fn merge_parts(parts: &mut Vec<Part>, more: &[Part]) {
    for part in more {
        match parts.iter_mut().find(|known| known.name == part.name) {
            Some(known) => known.merge(part),
            None => parts.push(part.clone()),
        }
    }
}

/// The parts of a run's requests; a list is empty where they are not told apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    /// The requests of each endpoint.
    pub endpoints: Vec<Part>,
    /// The requests of each stage.
    pub stages: Vec<Part>,
    /// The requests to each address.
    pub addresses: Vec<Part>,
    /// The requests of users in each group.
    pub groups: Vec<Part>,
}

impl Parts {
    /// Acts on the parts a request belongs to. Most runs have no parts.
    #[inline]
    pub fn each(&mut self, place: Place, mut act: impl FnMut(&mut Part)) {
        if place == Place::NOWHERE {
            return;
        }
        let lists = [
            (&mut self.endpoints, place.endpoint),
            (&mut self.stages, place.stage),
            (&mut self.addresses, place.address),
            (&mut self.groups, place.group),
        ];
        for (parts, number) in lists {
            if let Some(part) = parts.get_mut(usize::from(number)) {
                act(part);
            }
        }
    }

    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        merge_parts(&mut self.endpoints, &other.endpoints);
        merge_parts(&mut self.stages, &other.stages);
        merge_parts(&mut self.addresses, &other.addresses);
        merge_parts(&mut self.groups, &other.groups);
    }
}

/// How a number is spread over the connections: how many requests each has served.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The numbers, each with how many connections have it.
    counts: BTreeMap<u64, u64>,
}

impl Spread {
    /// Counts a connection.
    pub fn add(&mut self, number: u64) {
        *self.counts.entry(number).or_default() += 1;
    }

    /// Adds another's connections.
    pub fn merge(&mut self, other: &Self) {
        for (number, connections) in &other.counts {
            *self.counts.entry(*number).or_default() += connections;
        }
    }

    /// How many connections there are.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The sum of the numbers over all connections.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.counts.iter().map(|(number, connections)| number * connections).sum()
    }

    /// The smallest number; `None` without connections.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.counts.keys().next().copied()
    }

    /// The largest number; `None` without connections.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.counts.keys().next_back().copied()
    }

    /// The number that half of the connections do not exceed; `None` without connections.
    #[must_use]
    pub fn median(&self) -> Option<u64> {
        let half = self.connections().div_ceil(2);
        let mut seen = 0;
        self.counts.iter().find_map(|(number, connections)| {
            seen += connections;
            (seen >= half).then_some(*number)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_knows_its_middle_and_its_ends() {
        let mut spread = Spread::default();
        assert_eq!((spread.min(), spread.median(), spread.max()), (None, None, None));
        for number in [5, 1, 9, 5] {
            spread.add(number);
        }
        let mut other = Spread::default();
        other.add(100);
        spread.merge(&other);
        assert_eq!((spread.min(), spread.median(), spread.max()), (Some(1), Some(5), Some(100)));
        assert_eq!((spread.connections(), spread.sum()), (5, 120));
    }

    #[test]
    fn parts_are_joined_by_name() {
        let ended = |name: &str, status| {
            let mut part = Part::new(name);
            part.ended(10, 5, Outcome::Completed { status, ok: true });
            part
        };
        let mut parts = vec![ended("a", 200)];
        merge_parts(&mut parts, &[ended("b", 200), ended("a", 204)]);
        assert_eq!(parts.len(), 2);
        assert_eq!((parts[0].ledger.completed, parts[0].status.len()), (2, 2));
        assert_eq!(parts[0].response.count(), 2);
    }
}
