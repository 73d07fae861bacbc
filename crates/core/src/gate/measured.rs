//! What a condition's metric was found to be, and what readers have to know about it.

use super::metric::Statistic;
use crate::clock::{Clock, beyond};
use crate::ledger::Ledger;
use crate::units::counted;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    /// The value in the limit's unit; `None` when there was nothing to measure.
    pub(super) value: Option<f64>,
    /// What readers have to know about it.
    pub(super) note: Option<String>,
    /// Whether the true value may be anything above.
    pub(super) is_lower_bound: bool,
}

impl Measured {
    pub(super) fn some(value: f64) -> Self {
        Self { value: Some(value), note: None, is_lower_bound: false }
    }

    pub(super) fn none(why: impl Into<String>) -> Self {
        Self::nothing(Some(why.into()))
    }

    /// No value, for a reason that may be known.
    pub(super) fn nothing(why: Option<String>) -> Self {
        Self { value: None, note: why, is_lower_bound: false }
    }

    pub(super) fn of(value: Option<f64>, why_not: &str) -> Self {
        value.map_or_else(|| Self::none(why_not), Self::some)
    }

    /// A quantile of `count` samples.
    pub(super) fn quantile(value: Option<f64>, q: f64, count: u64) -> Self {
        if count == 0 || beyond(q, count) > 0 {
            return Self::of(value, "no samples");
        }
        let samples = counted(count, "sample");
        let note = format!("of {samples} none lies beyond: this is the maximum");
        Self { value, note: Some(note), is_lower_bound: false }
    }

    /// A figure by a clock of the requests in a ledger.
    pub(super) fn by(self, clock: Clock, figure: Statistic, ledger: &Ledger) -> Self {
        self.among(figure, clock.timed(ledger), clock.incomplete(ledger))
    }

    /// A figure of the times of requests, of which some are incomplete. Had all of those waited
    /// longer, and were they more than lie beyond a quantile, it would be one of theirs.
    pub(super) fn among(self, figure: Statistic, timed: u64, incomplete: u64) -> Self {
        let Statistic::Quantile(q) = figure else { return self };
        let beyond = beyond(q, timed);
        if self.value.is_none() || incomplete <= beyond {
            return self;
        }
        let requests = counted(incomplete, "incomplete request");
        let note = format!("a lower bound: {requests}, and {beyond} beyond this");
        Self { note: Some(note), is_lower_bound: true, ..self }
    }
}
