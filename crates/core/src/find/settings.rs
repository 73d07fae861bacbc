//! How to search.

use serde::{Deserialize, Serialize};

use crate::gate::Objective;
use crate::units::format_duration;

const SECOND_NS: u64 = 1_000_000_000;

/// The most objectives of a search.
const OBJECTIVES_MAX: usize = 16;

/// The parameters of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The first rate, requests per second.
    pub from_rps: f64,
    /// The search does not go below this rate.
    pub min_rps: f64,
    /// The search does not go above this rate.
    pub max_rps: f64,
    /// The ratio of neighbouring rates of the climb, above 1: the width of the answer.
    pub step: f64,
    /// How long the load of a probe lasts before it is measured.
    #[serde(rename = "settle_s", with = "crate::serde_units::from_ns")]
    pub settle_ns: u64,
    /// How long a quick probe of the bracket is measured.
    #[serde(rename = "quick_s", with = "crate::serde_units::from_ns")]
    pub quick_ns: u64,
    /// How long a probe that decides is measured.
    #[serde(rename = "hold_s", with = "crate::serde_units::from_ns")]
    pub hold_ns: u64,
    /// From 0 to 1: one less this is α, the chance of a wrong answer.
    pub confidence: f64,
    /// How long the server has to sustain the load: a backlog must not grow so fast that it breaks
    /// an objective within this time.
    #[serde(rename = "sustain_s", with = "crate::serde_units::from_ns")]
    pub sustain_ns: u64,
    /// How long the search may take.
    #[serde(rename = "budget_s", with = "crate::serde_units::optional_from_ns")]
    pub budget_ns: Option<u64>,
    /// Whether the answer is measured again directly after overload.
    pub is_checked_after_overload: bool,
    /// Whether quick probes alone decide, without a promise.
    pub is_quick_only: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            from_rps: 50.0,
            min_rps: 1.0,
            max_rps: 1e6,
            step: 1.05,
            settle_ns: 3 * SECOND_NS,
            quick_ns: 5 * SECOND_NS,
            hold_ns: 60 * SECOND_NS,
            confidence: 0.95,
            sustain_ns: 600 * SECOND_NS,
            budget_ns: None,
            is_checked_after_overload: true,
            is_quick_only: false,
        }
    }
}

/// Why there is no search with these settings: one line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// No objective, or too many.
    #[error("{0} objectives: give 1 to {OBJECTIVES_MAX}, such as --slo 'p99<10ms'")]
    Objectives(usize),
    /// Rates out of order.
    #[error(
        "the search goes from {from_rps}/s and stays between {min_rps}/s and {max_rps}/s: \
             give rates above 0 in the order min, from, max"
    )]
    Rates {
        /// The first rate.
        from_rps: f64,
        /// The lowest.
        min_rps: f64,
        /// The highest.
        max_rps: f64,
    },
    /// A step that leads nowhere, or too far.
    #[error("steps of {:.1} %: give 0.1% to 50%", (.0 - 1.0) * 100.0)]
    Step(f64),
    /// A confidence out of range.
    #[error("a confidence of {0}: give 80% to 99.9%")]
    Confidence(f64),
    /// Probes too short to say anything.
    #[error("quick probes of {} and holds of {}: give quick probes 1s or more, holds 30s or more \
             and an hour at most", format_duration(*quick_ns), format_duration(*hold_ns))]
    Times {
        /// Of quick probes.
        quick_ns: u64,
        /// Of probes that decide.
        hold_ns: u64,
    },
    /// An objective that no rate of the search can show.
    #[error("too few requests: '{objective}' needs {requests} in a probe, and {rate_rps}/s has \
             them in {}: give a longer hold or a higher rate", format_duration(*hold_ns))]
    TooFewRequests {
        /// The objective.
        objective: String,
        /// How many it needs.
        requests: u64,
        /// The highest rate of the search.
        rate_rps: f64,
        /// The hold that would do.
        hold_ns: u64,
    },
}

impl Settings {
    /// The chance of a wrong answer.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        1.0 - self.confidence
    }

    /// Checks the settings for a search by these objectives.
    ///
    /// # Errors
    /// What is out of range, and the range.
    pub fn check(&self, objectives: &[Objective]) -> Result<(), SettingsError> {
        let Self { from_rps, min_rps, max_rps, quick_ns, hold_ns, .. } = *self;
        if !(1..=OBJECTIVES_MAX).contains(&objectives.len()) {
            return Err(SettingsError::Objectives(objectives.len()));
        }
        if !(min_rps > 0.0 && min_rps <= from_rps && from_rps <= max_rps && max_rps <= 1e9) {
            return Err(SettingsError::Rates { from_rps, min_rps, max_rps });
        }
        if !(1.001..=1.5).contains(&self.step) {
            return Err(SettingsError::Step(self.step));
        }
        if !(0.8..=0.999).contains(&self.confidence) {
            return Err(SettingsError::Confidence(self.confidence));
        }
        let are_long = quick_ns >= SECOND_NS && hold_ns >= 30 * SECOND_NS;
        if !are_long || quick_ns.max(hold_ns) > 3600 * SECOND_NS {
            return Err(SettingsError::Times { quick_ns, hold_ns });
        }
        match self.too_few(objectives, max_rps) {
            Some(error) if !self.is_quick_only => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a hold at a rate has too few requests to show an objective met.
    pub(super) fn too_few(&self, objectives: &[Objective], rate_rps: f64) -> Option<SettingsError> {
        let due = rate_rps * self.hold_ns as f64 / 1e9;
        let hard = objectives.iter().max_by_key(|it| it.requests_least())?;
        let requests = hard.requests_least();
        (due < requests as f64).then(|| SettingsError::TooFewRequests {
            objective: hard.text().to_owned(),
            requests,
            rate_rps,
            hold_ns: ((requests as f64 / rate_rps).ceil() as u64).saturating_mul(SECOND_NS),
        })
    }
}
