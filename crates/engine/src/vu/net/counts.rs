//! What becomes of the connections for requests, by the scenario whose request each was opened for.
//!
//! A user's connections take each other's places: those that it opens beyond the most that it had
//! at once are reconnects. Absent on purpose: connections of calls of gRPC and of WebSockets, which
//! no ledger has.

use plimsoll_core::result::Connections;
use plimsoll_io::TcpInfo;
use plimsoll_proto::tls::Tls;

use crate::setup::note_secured;

/// What one connection adds to the counts while it is open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// The scenario; `None` outside of scenarios.
    pub scenario: Option<u32>,
    /// Whether it is open, and counted as that.
    pub is_open: bool,
    /// Responses that have come over it.
    pub answered: u64,
}

/// The connections of a scenario on one worker.
#[derive(Debug, Clone, Default)]
struct OfScenario {
    open: u64,
    reconnects: u64,
    connections: Connections,
}

/// See the head of this module.
#[derive(Debug, Default)]
pub(super) struct Counts {
    scenarios: Vec<OfScenario>,
    /// How many connections each user has open, and the most that it had.
    users: Vec<[u32; 2]>,
    /// How many all scenarios have open together, and the most that they had.
    together: [u64; 2],
}

impl Counts {
    /// A connection of a user is open.
    pub(super) fn opened(&mut self, user: u32, counted: &mut Counted, tls: Option<&Tls>) {
        let users = &mut self.users;
        users.resize(users.len().max(user as usize + 1), [0; 2]);
        let [open, open_max] = &mut users[user as usize];
        *open += 1;
        let is_again = open <= open_max;
        *open_max = (*open_max).max(*open);
        counted.is_open = true;
        let Some(scenario) = counted.scenario else { return };
        let scenarios = &mut self.scenarios;
        scenarios.resize(scenarios.len().max(scenario as usize + 1), OfScenario::default());
        let OfScenario { open, reconnects, connections } = &mut scenarios[scenario as usize];
        *open += 1;
        *reconnects += u64::from(is_again);
        connections.opened += 1;
        connections.open_max = connections.open_max.max(*open);
        let [open, open_max] = &mut self.together;
        *open += 1;
        *open_max = (*open_max).max(*open);
        if let Some(tls) = tls {
            note_secured(connections, tls);
        }
    }

    /// A connection of a user is open no longer. `info` is what the kernel knows of it.
    pub(super) fn closed(&mut self, user: u32, counted: &mut Counted, info: Option<TcpInfo>) {
        if !std::mem::take(&mut counted.is_open) {
            return;
        }
        self.users[user as usize][0] -= 1;
        let Some(scenario) = counted.scenario else { return };
        let OfScenario { open, connections, .. } = &mut self.scenarios[scenario as usize];
        *open -= 1;
        self.together[0] -= 1;
        connections.served.add(counted.answered);
        connections.retransmits += info.map_or(0, |info| u64::from(info.retransmits));
    }

    /// The most that all scenarios had open together.
    pub(super) fn open_max(&self) -> u64 {
        self.together[1]
    }

    /// What has become of them, by scenario, with the number of reconnects.
    pub(super) fn of_scenarios(&self) -> impl Iterator<Item = (u32, &Connections, u64)> {
        let all = self.scenarios.iter().zip(0..);
        all.map(|(of, scenario)| (scenario, &of.connections, of.reconnects))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_beyond_the_most_at_once_are_reconnects() {
        let mut counts = Counts::default();
        let of = |scenario| Counted { scenario, ..Counted::default() };
        let mut wires = [of(Some(1)), of(Some(1)), of(Some(1)), of(None)];
        let [first, second, third, aside] = &mut wires;
        counts.opened(4, first, None);
        counts.opened(4, second, None);
        first.answered = 3;
        counts.closed(4, first, None);
        // It is not open any more, and counts once.
        counts.closed(4, first, None);
        counts.opened(4, third, None);
        // Another user's, and one outside of scenarios.
        counts.opened(0, first, None);
        counts.opened(2, aside, None);
        let [(0, none, 0), (1, connections, 1)] = counts.of_scenarios().collect::<Vec<_>>()[..]
        else {
            panic!("{counts:?}");
        };
        assert_eq!((none.opened, connections.opened, connections.open_max), (0, 4, 3));
        assert_eq!((connections.served.connections(), connections.served.sum()), (1, 3));
    }

    #[test]
    fn scenarios_after_each_other_have_no_more_open_than_each_of_them() {
        let mut counts = Counts::default();
        for (scenario, at_once) in [(0, 2), (1, 3), (2, 1)] {
            let of = |user| (user, Counted { scenario: Some(scenario), ..Counted::default() });
            let mut wires: Vec<(u32, Counted)> = (0..at_once).map(of).collect();
            wires.iter_mut().for_each(|(user, wire)| counts.opened(*user, wire, None));
            wires.iter_mut().for_each(|(user, wire)| counts.closed(*user, wire, None));
        }
        let of_each = counts.of_scenarios().map(|(_, connections, _)| connections.open_max);
        assert_eq!(of_each.collect::<Vec<_>>(), [2, 3, 1]);
        assert_eq!(counts.open_max(), 3);
    }
}
