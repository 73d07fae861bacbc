//! Iterations: what users do again and again where that is more than one request. They have a
//! ledger of their own, because slots of the schedule are iterations then.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::ledger::Imbalance;

/// What became of every iteration of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Iterations {
    /// Slots that came due: the iterations the plan asked for.
    pub scheduled: u64,
    /// Iterations that a user took up.
    pub started: u64,
    /// Slots dropped because the plan says to drop late ones.
    pub shed: u64,
    /// Slots that were due and found no free user before the end.
    pub unsent: u64,
    /// Iterations that came to their end.
    pub completed: u64,
    /// Of those, iterations that ended with an exception of their script.
    #[serde(default, skip_serializing_if = "is_none")]
    pub failed: u64,
    /// Iterations still under way when the drain ended.
    pub unfinished: u64,
    /// From when an iteration was due to its end, of those that came to it, ns.
    pub response: Histogram,
    /// From when a user took it up to its end, ns.
    pub duration: Histogram,
    /// From when an iteration was due to when a user took it up, each one started, ns. Empty where
    /// requests tell it themselves.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub lateness: Histogram,
    /// How many the plan asked for each second, averaged over its stages; `None` in a closed loop.
    pub target_per_second: Option<f64>,
}

/// Whether a count is zero, so that documents leave it out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Iterations {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.scheduled += other.scheduled;
        self.started += other.started;
        self.shed += other.shed;
        self.unsent += other.unsent;
        self.completed += other.completed;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.response.merge(&other.response);
        self.duration.merge(&other.duration);
        self.lateness.merge(&other.lateness);
        let targets = self.target_per_second.zip(other.target_per_second);
        self.target_per_second = targets.map(|(mine, theirs)| mine + theirs);
    }

    /// A user has taken an iteration up.
    pub fn started(&mut self) {
        self.scheduled += 1;
        self.started += 1;
    }

    /// Slots were dropped.
    pub fn shed(&mut self, slots: u64) {
        self.scheduled += slots;
        self.shed += slots;
    }

    /// Slots found no free user before the end.
    pub fn unsent(&mut self, slots: u64) {
        self.scheduled += slots;
        self.unsent += slots;
    }

    /// An iteration that was due at `due_ns` and taken up at `started_ns` has come to its end.
    pub fn completed(&mut self, due_ns: u64, started_ns: u64, at_ns: u64) {
        self.completed += 1;
        self.response.record(at_ns.saturating_sub(due_ns));
        self.duration.record(at_ns.saturating_sub(started_ns));
    }

    /// Whether every iteration is accounted for.
    ///
    /// # Errors
    /// The identity that does not hold.
    pub fn check(&self) -> Result<(), Imbalance> {
        let identities = [
            (
                "iterations scheduled = started + shed + unsent",
                self.scheduled,
                self.started + self.shed + self.unsent,
            ),
            (
                "iterations started = completed + unfinished",
                self.started,
                self.completed + self.unfinished,
            ),
            ("iterations completed = those timed", self.completed, self.duration.count()),
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
    use super::Iterations;

    #[test]
    fn each_iteration_is_accounted_for_once() {
        let mut iterations = Iterations::default();
        iterations.started();
        iterations.started();
        iterations.completed(5, 10, 30);
        iterations.unfinished += 1;
        iterations.shed(3);
        iterations.unsent(4);
        assert_eq!(iterations.check(), Ok(()));
        assert_eq!((iterations.scheduled, iterations.started), (9, 2));
        assert_eq!(iterations.response.max_ns(), Some(25));
        assert_eq!(iterations.duration.max_ns(), Some(20));
        let mut sum = iterations.clone();
        sum.merge(&iterations);
        assert_eq!((sum.check(), sum.scheduled, sum.duration.count()), (Ok(()), 18, 2));
        for spoil in [
            |it: &mut Iterations| it.scheduled += 1,
            |it: &mut Iterations| it.unfinished += 1,
            |it: &mut Iterations| it.duration.record(1),
        ] {
            let mut spoilt = iterations.clone();
            spoil(&mut spoilt);
            assert!(spoilt.check().is_err());
        }
    }
}
