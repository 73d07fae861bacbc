//! What a search for the load line says of a server, as a figure of a run.
//!
//! Absent: how a search comes to it, which is `find`'s business. Its document makes this value.

use serde::{Deserialize, Serialize};

/// How far the rates of a [`LoadLine`] are the load line of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineOutcome {
    /// The line is at the rate that was shown to meet the objectives.
    Found,
    /// The rate was shown to meet them, and the line may be higher.
    AtLeast,
    /// Quick probes passed at the rate; nothing was shown.
    Guessed,
    /// No rate meets them, from the lowest of the search on.
    NotMet,
    /// The search does not say where the line is.
    Unknown,
}

impl LineOutcome {
    /// In a few words, for tables.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::AtLeast => "at least",
            Self::Guessed => "guessed",
            Self::NotMet => "not met",
            Self::Unknown => "unknown",
        }
    }
}

/// The load line of a server, by one search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadLine {
    /// How far the rates are the load line.
    pub outcome: LineOutcome,
    /// The highest rate shown to meet the objectives, requests per second.
    pub rate_rps: Option<f64>,
    /// The lowest rate shown not to meet them.
    pub fails_rps: Option<f64>,
}

impl LoadLine {
    /// The figure by which servers are ranked. A server that meets the objectives at no rate has
    /// the lowest line there is, 0.
    #[must_use]
    pub fn ranked_rps(&self) -> Option<f64> {
        match self.outcome {
            LineOutcome::NotMet => Some(0.0),
            _ => self.rate_rps,
        }
    }
}
