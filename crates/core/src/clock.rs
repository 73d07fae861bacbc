//! The two clocks of a request, and which of them is the headline.
//!
//! Response time is the headline wherever one figure stands for the latency: in reports, in gates
//! that name no clock, in comparisons and studies, in the live line. It is the time a user waits.
//! In a closed loop with open connections it equals the service time, apart from the tester's own
//! work. If a request opens its own connection, response time includes the connect, because the
//! user waits for that too.

use crate::doubt::{Bounds, Figure};
use crate::histogram::{Histogram, Packed};
use crate::ledger::Ledger;
use crate::part::Part;
use crate::result::RunResult;
use crate::series::Point;

/// One of the two clocks of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// From the intended time to the end: what a user saw.
    Response,
    /// From the start of sending to the end: what the server took.
    Service,
}

impl Clock {
    /// The clock that leads.
    pub const HEADLINE: Self = Self::Response;

    /// The one that does not.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Response => Self::Service,
            Self::Service => Self::Response,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Response => "response time",
            Self::Service => "service time",
        }
    }

    /// Its name where it is clear that a time is meant.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
        }
    }

    /// What it reads in a result.
    #[must_use]
    pub fn histogram(self, result: &RunResult) -> &Histogram {
        match self {
            Self::Response => &result.latency.response,
            Self::Service => &result.latency.service,
        }
    }

    /// What it reads of a part of the requests.
    #[must_use]
    pub fn of_part(self, part: &Part) -> &Histogram {
        match self {
            Self::Response => &part.response,
            Self::Service => &part.service,
        }
    }

    /// How many requests it times.
    #[must_use]
    pub fn timed(self, ledger: &Ledger) -> u64 {
        match self {
            Self::Response => ledger.scheduled,
            Self::Service => ledger.sent,
        }
    }

    /// How many of these are incomplete. Their times are lower bounds.
    #[must_use]
    pub fn incomplete(self, ledger: &Ledger) -> u64 {
        self.timed(ledger).saturating_sub(ledger.completed)
    }

    /// What it reads in an interval of the requests without a whole response.
    #[must_use]
    pub fn of_incomplete(self, point: &Point) -> &Packed {
        match self {
            Self::Response => &point.incomplete_response,
            Self::Service => &point.incomplete_service,
        }
    }

    /// What it reads in an interval.
    #[must_use]
    pub fn of_point(self, point: &Point) -> &Packed {
        match self {
            Self::Response => &point.response,
            Self::Service => &point.service,
        }
    }

    /// What doubt calls its times.
    #[must_use]
    pub fn figure(self) -> Figure {
        match self {
            Self::Response => Figure::Response,
            Self::Service => Figure::Service,
        }
    }

    /// The times of a run's requests.
    #[must_use]
    pub fn bounds(self, result: &RunResult) -> Bounds<'_> {
        let incomplete = self.incomplete(&result.ledger);
        let by = &result.by_outcome;
        let is_apart = by.ok.count() + by.failed.count() == result.ledger.completed;
        // A response time is no shorter than the service time of its request.
        let complete = (incomplete > 0 && is_apart).then(|| {
            let mut complete = by.ok.clone();
            complete.merge(&by.failed);
            complete
        });
        Bounds::new(self.histogram(result), incomplete, 0).with_complete(complete)
    }

    /// The times of the requests of a part.
    #[must_use]
    pub fn bounds_of_part(self, part: &Part) -> Bounds<'_> {
        Bounds::new(self.of_part(part), self.incomplete(&part.ledger), 0)
    }
}
