//! What became of a request that was sent: the word that workers, the ledger and the parts share,
//! and the response times that go with it.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The whole response arrived.
    Completed {
        /// Its status; 0 where the protocol has none.
        status: u16,
        /// Whether it was as expected.
        ok: bool,
    },
    /// It ran into the timeout.
    TimedOut,
    /// Its connection failed, or the server gave it up.
    Broken,
    /// The server said that it did not process it.
    Refused,
    /// It was still open when the drain ended.
    Unfinished,
}

/// Response times by what became of the request; together they are those of all requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ByOutcome {
    /// Completed as expected.
    pub ok: Histogram,
    /// Completed otherwise.
    pub failed: Histogram,
    /// Timed out, broken, unfinished, unsent or shed: waited at least this long.
    pub incomplete: Histogram,
}

impl ByOutcome {
    /// Response times of every request, whatever became of it.
    #[must_use]
    pub fn all(&self) -> Histogram {
        let mut all = self.ok.clone();
        all.merge(&self.failed);
        all.merge(&self.incomplete);
        all
    }

    /// Adds the times of other requests.
    pub fn merge(&mut self, other: &Self) {
        self.ok.merge(&other.ok);
        self.failed.merge(&other.failed);
        self.incomplete.merge(&other.incomplete);
    }
}
