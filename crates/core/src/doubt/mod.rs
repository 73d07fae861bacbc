//! Doubt about figures: how far the true value of each may lie from the one that was measured.
//!
//! *True* is what a tester with a machine of its own would have measured of the same server. A
//! cause of the verdict says with its [`Touch`]es which figures it can have moved, in which
//! direction, and by how much if the evidence says so. [`Doubts`] adds up the touches of all causes
//! and gives the [`Interval`] in which the true value lies. Incomplete requests are the second
//! reason why a time has an interval ([`Bounds`]).
//!
//! What evidence leads to which touch is the business of `verdict`; what readers are told is that
//! of `confidence`. `docs/verdict.md` has the table of causes and figures.

mod bounds;
mod doubts;
mod interval;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use bounds::Bounds;
pub use doubts::Doubts;
pub use interval::{Interval, Lean};

/// Figures that doubt touches together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Whether the load was the one that the plan asks for, and the same throughout. Not a number.
    Load,
    /// Counts and shares of requests: outcomes, statuses, errors.
    Counts,
    /// The rate at which requests were due.
    Offered,
    /// The rates of responses.
    Achieved,
    /// Response times.
    Response,
    /// Service times, and the times that scripts record.
    Service,
    /// The phases of requests.
    Phases,
    /// Connections: how many, and how long they took to open.
    Connections,
    /// CPU time and memory of the server.
    Server,
    /// The seconds of the series.
    Series,
}

impl Figure {
    /// All of them, in the order in which reports show them.
    pub const ALL: [Self; 10] = [
        Self::Load,
        Self::Counts,
        Self::Offered,
        Self::Achieved,
        Self::Response,
        Self::Service,
        Self::Phases,
        Self::Connections,
        Self::Server,
        Self::Series,
    ];

    /// Whether it is a distribution of times of requests.
    #[must_use]
    pub fn is_time(self) -> bool {
        matches!(self, Self::Response | Self::Service | Self::Phases)
    }
}

/// What a cause can have done to some figures.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Touch {
    /// Which figures.
    pub figure: Figure,
    /// How far the true value may lie below the measured one.
    #[serde(default, skip_serializing_if = "Reach::is_nothing")]
    pub below: Reach,
    /// How far the true value may lie above it.
    #[serde(default, skip_serializing_if = "Reach::is_nothing")]
    pub above: Reach,
}

/// How far a true value may lie from the measured one, on one side.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// It does not.
    #[default]
    Nothing,
    /// By this share of the measured value, in millionths.
    SharePpm(u32),
    /// Of a distribution: some of its requests may be off. For each entry, at most this share of
    /// the requests is off by more than this time. Shares fall as times rise.
    Requests(Vec<Off>),
    /// By any amount.
    Any,
}

/// At most a share of the requests is off by more than a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Off {
    /// The time, ns.
    #[serde(rename = "over_s", with = "crate::serde_units::from_ns")]
    pub over_ns: u64,
    /// The share of the requests, in millionths.
    pub share_ppm: u32,
}

impl Off {
    /// At most the share `share` (0 to 1, more counts as 1) is off by more than `over_ns`.
    #[must_use]
    pub fn new(over_ns: u64, share: f64) -> Self {
        Self { over_ns, share_ppm: ppm(share.min(1.0)) }
    }
}

impl Reach {
    /// A share of the measured value; not a number counts as any amount.
    #[must_use]
    pub fn share(share: f64) -> Self {
        match share {
            share if share <= 0.0 => Self::Nothing,
            share if share < f64::from(u32::MAX) / 1e6 => Self::SharePpm(ppm(share)),
            _ => Self::Any,
        }
    }

    /// At most the share `share` of the requests is off, each by any amount.
    #[must_use]
    pub fn requests(share: f64) -> Self {
        match share {
            share if share <= 0.0 => Self::Nothing,
            share if share < 1.0 => Self::Requests(vec![Off::new(0, share)]),
            _ => Self::Any,
        }
    }

    /// Whether the true value does not lie on this side at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

impl Touch {
    /// The true value may lie below.
    #[must_use]
    pub fn below(figure: Figure, below: Reach) -> Self {
        Self { figure, below, above: Reach::Nothing }
    }

    /// The true value may lie above.
    #[must_use]
    pub fn above(figure: Figure, above: Reach) -> Self {
        Self { figure, below: Reach::Nothing, above }
    }

    /// The true value may lie on either side, as far away on each.
    #[must_use]
    pub fn either(figure: Figure, reach: Reach) -> Self {
        Self { figure, below: reach.clone(), above: reach }
    }
}

/// Rounded up, so that no doubt is lost.
fn ppm(share: f64) -> u32 {
    (share * 1e6).ceil() as u32
}
