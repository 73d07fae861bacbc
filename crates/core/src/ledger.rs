//! The ledger: what became of every request of a run. Its identities hold at the end of every run
//! and in every result document. If they don't, the program has a bug, and the report says so.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;

/// Counts of requests. `docs/metrics.md` defines each word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Slots that came due: the requests the plan asked for.
    pub scheduled: u64,
    /// Requests started on a connection.
    pub sent: u64,
    /// Slots dropped because the plan says to drop late ones.
    pub shed: u64,
    /// Slots that were due but had no connection before the end.
    pub unsent: u64,
    /// Requests whose whole response arrived.
    pub completed: u64,
    /// Requests that the server said it did not process.
    #[serde(default)]
    pub refused: u64,
    /// Requests that waited longer than the timeout.
    pub timed_out: u64,
    /// Requests whose connection failed, or that the server gave up, before the whole response had
    /// arrived.
    pub broken: u64,
    /// Requests still open when the drain ended.
    pub unfinished: u64,
    /// Completed requests that met the expectation.
    pub ok: u64,
    /// Completed requests that did not; by default a status of 400 or more.
    pub failed: u64,
    /// Of those scheduled, requests that follow a redirect.
    #[serde(default)]
    pub redirects: u64,
    /// How often a request was sent again, because the server said that it had not processed it.
    /// Each request counts once in all other figures.
    #[serde(default)]
    pub resent: u64,
    /// Connections opened beyond each connection's first.
    pub reconnects: u64,
}

/// An identity that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the ledger does not balance: {identity} ({left} against {right})")]
pub struct Imbalance {
    /// The identity, in words.
    pub identity: &'static str,
    /// Its left side.
    pub left: u64,
    /// Its right side.
    pub right: u64,
}

impl Ledger {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.scheduled += other.scheduled;
        self.sent += other.sent;
        self.shed += other.shed;
        self.unsent += other.unsent;
        self.completed += other.completed;
        self.refused += other.refused;
        self.timed_out += other.timed_out;
        self.broken += other.broken;
        self.unfinished += other.unfinished;
        self.ok += other.ok;
        self.failed += other.failed;
        self.redirects += other.redirects;
        self.resent += other.resent;
        self.reconnects += other.reconnects;
    }

    /// A request that was sent ended.
    #[inline]
    pub(crate) fn ended(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Completed { ok, .. } => {
                self.completed += 1;
                self.ok += u64::from(ok);
                self.failed += u64::from(!ok);
            }
            Outcome::Refused => self.refused += 1,
            Outcome::TimedOut => self.timed_out += 1,
            Outcome::Broken => self.broken += 1,
            Outcome::Unfinished => self.unfinished += 1,
        }
    }

    /// Checks the three identities of a finished run.
    ///
    /// # Errors
    /// The first identity that does not hold.
    pub fn check(&self) -> Result<(), Imbalance> {
        let identities = [
            (
                "scheduled = sent + shed + unsent",
                self.scheduled,
                self.sent + self.shed + self.unsent,
            ),
            (
                "sent = completed + refused + timed_out + broken + unfinished",
                self.sent,
                self.completed + self.refused + self.timed_out + self.broken + self.unfinished,
            ),
            ("completed = ok + failed", self.completed, self.ok + self.failed),
        ];
        for (identity, left, right) in identities {
            if left != right {
                return Err(Imbalance { identity, left, right });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_identity_is_checked() {
        let balanced = Ledger {
            scheduled: 10,
            sent: 9,
            unsent: 1,
            completed: 5,
            refused: 1,
            timed_out: 1,
            broken: 1,
            unfinished: 1,
            ok: 4,
            failed: 1,
            ..Ledger::default()
        };
        assert_eq!(balanced.check(), Ok(()));
        let wrong = [
            Ledger { scheduled: 11, ..balanced },
            Ledger { unfinished: 0, ..balanced },
            Ledger { ok: 5, ..balanced },
        ];
        for ledger in wrong {
            assert!(ledger.check().is_err(), "{ledger:?}");
        }
    }
}
