//! How servers of multiplexed protocols behave in tests, and what they write down of it.

use plimsoll_core::ledger::Ledger;

/// What the server did, over all connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Did {
    pub connections: u64,
    /// Requests received whole.
    pub requests: u64,
    pub answered: u64,
    /// Answers that were not as expected.
    pub answered_badly: u64,
    /// Refused, each by name or by a goodbye.
    pub refused: u64,
    pub reset: u64,
    /// Never answered.
    pub hung: u64,
    /// Bodies of requests, whole or not.
    pub bodies: u64,
    /// For how long it held back bodies that it had no room for, of requests that it answered.
    pub held_ns: Vec<u64>,
    /// Streams that the client gave up.
    pub cancelled: u64,
    pub goodbyes: u64,
    pub pings: u64,
    pub pongs: u64,
    /// What the client did against the rules.
    pub violations: Vec<String>,
}

/// How often it does what, in percent of the requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    pub refuses: u64,
    pub resets: u64,
    pub hangs: u64,
    pub says_goodbye: u64,
    pub fails: u64,
    /// Asks for the body that a client holds back.
    pub continues: u64,
    /// Allows a stream more.
    pub grows: u64,
    /// How many streams it allows at first.
    pub streams: u64,
    /// When it says so, ns after the connect.
    pub hello_ns: u64,
    /// How many bytes of each body it has room for at first, where it has a window. It asks for
    /// bodies that are held back then, and answers once it knows how long they are.
    pub window: Option<u64>,
}

/// What became of requests, as both sides can tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fates {
    pub sent: u64,
    pub completed: u64,
    pub failed: u64,
    pub refused: u64,
    pub broken: u64,
    pub timed_out: u64,
    pub unfinished: u64,
}

impl Fates {
    /// As the tester tells it.
    pub(crate) fn told(ledger: &Ledger) -> Self {
        Self {
            sent: ledger.sent,
            completed: ledger.completed,
            failed: ledger.failed,
            refused: ledger.refused,
            broken: ledger.broken,
            timed_out: ledger.timed_out,
            unfinished: ledger.unfinished,
        }
    }

    /// As it was by what the servers did, if none was left open in the end.
    pub(crate) fn truth(dids: &[Did]) -> Self {
        let total = |of: fn(&Did) -> u64| dids.iter().map(of).sum::<u64>();
        Self {
            sent: total(|did| did.requests),
            completed: total(|did| did.answered),
            failed: total(|did| did.answered_badly),
            refused: total(|did| did.refused),
            broken: total(|did| did.reset),
            timed_out: total(|did| did.hung),
            unfinished: 0,
        }
    }

    /// Whether the tester tells this of servers that did that, where refused requests are sent
    /// again as often as `ledger` says: until they are answered, or their time is over.
    pub(crate) fn fits_resent(self, truth: Self, ledger: &Ledger) -> bool {
        self.sent + ledger.resent == truth.sent
            && self.refused == 0
            && ledger.resent <= truth.refused
            && self.completed <= truth.completed
            && self.broken <= truth.broken
            && self.completed + self.broken + self.timed_out + self.unfinished == self.sent
    }
}
