//! Scenarios: what each of the six executors does, as pure schedules.
//!
//! A [`Draft`] is what a script says. [`Scenario`] is checked: its executor holds the schedule that
//! the engine follows, due times from `plimsoll_core::schedule` and VUs over time. What a test
//! needs as a whole is in [`plan`].

mod check;
mod describe;
mod draft;
pub mod plan;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

pub use check::{STAGES_MAX, VUS_MAX};
pub(in crate::k6) use check::{check, worded};
pub use draft::Draft;
pub use plimsoll_core::executor::{Executor, Kind, VuPool};

/// A scenario that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name: letters, digits, `_`, `-`.
    pub name: String,
    /// What it does.
    pub executor: Executor,
    /// When it starts, ns after the start of the test.
    pub start_ns: u64,
    /// How long running iterations may go on after its regular end.
    pub graceful_stop_ns: u64,
    /// The function that an iteration calls, if not `default`.
    pub exec: Option<String>,
    /// Variables of the environment for its iterations.
    pub env: BTreeMap<String, String>,
    /// Tags of its samples.
    pub tags: BTreeMap<String, String>,
    /// What it asks of modules, such as the browser.
    pub options: Option<Value>,
}

impl Scenario {
    /// The function that an iteration calls.
    #[must_use]
    pub fn function(&self) -> &str {
        self.exec.as_deref().unwrap_or("default")
    }

    /// How long iterations may start, at the most.
    #[must_use]
    pub fn regular_duration_ns(&self) -> u64 {
        self.executor.regular_duration_ns()
    }

    /// When its iterations are interrupted, ns after its own start.
    #[must_use]
    pub fn hard_end_ns(&self) -> u64 {
        self.regular_duration_ns().saturating_add(self.graceful_stop_ns)
    }
}
