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

use plimsoll_core::schedule::{ArrivalStage, Arrivals, UserRamp};
use serde_json::Value;

pub use check::{STAGES_MAX, VUS_MAX};
pub(in crate::k6) use check::{check, worded};
pub use draft::{Draft, Kind};

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

/// The VUs of a scenario whose iterations start at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VuPool {
    /// VUs that are there from the start.
    pub pre_allocated_vus: u64,
    /// VUs that there may be.
    pub max_vus: u64,
}

/// What a scenario does, for the whole of the run.
#[derive(Debug, Clone, PartialEq)]
pub enum Executor {
    /// VUs take iterations from one count, each as soon as it is free.
    SharedIterations {
        /// VUs.
        vus: u64,
        /// Iterations of all VUs together.
        iterations: u64,
        /// When it ends at the latest.
        max_duration_ns: u64,
    },
    /// Each VU does a number of iterations.
    PerVuIterations {
        /// VUs.
        vus: u64,
        /// Iterations of each.
        iterations: u64,
        /// When it ends at the latest.
        max_duration_ns: u64,
    },
    /// A number of VUs loop for a time.
    ConstantVus {
        /// VUs.
        vus: u64,
        /// How long.
        duration_ns: u64,
    },
    /// VUs loop, and their number ramps.
    RampingVus {
        /// VUs over time.
        ramp: UserRamp,
        /// How long the iteration of a VU that goes may take to end.
        graceful_ramp_down_ns: u64,
    },
    /// Iterations start at a rate.
    ConstantArrivalRate {
        /// Iterations per unit of time.
        rate: u64,
        /// The unit.
        time_unit_ns: u64,
        /// VUs for them.
        pool: VuPool,
        /// When each is due.
        arrivals: Arrivals,
    },
    /// Iterations start at a rate that ramps.
    RampingArrivalRate {
        /// Iterations per unit of time at the start.
        start_rate: u64,
        /// How the rate changes.
        stages: Vec<ArrivalStage>,
        /// The unit.
        time_unit_ns: u64,
        /// VUs for them.
        pool: VuPool,
        /// When each is due.
        arrivals: Arrivals,
    },
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
        match &self.executor {
            Executor::SharedIterations { max_duration_ns, .. }
            | Executor::PerVuIterations { max_duration_ns, .. } => *max_duration_ns,
            Executor::ConstantVus { duration_ns, .. } => *duration_ns,
            Executor::RampingVus { ramp, .. } => ramp.duration_ns(),
            Executor::ConstantArrivalRate { arrivals, .. }
            | Executor::RampingArrivalRate { arrivals, .. } => arrivals.duration_ns(),
        }
    }

    /// When its iterations are interrupted, ns after its own start.
    #[must_use]
    pub fn hard_end_ns(&self) -> u64 {
        self.regular_duration_ns().saturating_add(self.graceful_stop_ns)
    }
}

impl Executor {
    /// Which of the six it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::SharedIterations { .. } => Kind::SharedIterations,
            Self::PerVuIterations { .. } => Kind::PerVuIterations,
            Self::ConstantVus { .. } => Kind::ConstantVus,
            Self::RampingVus { .. } => Kind::RampingVus,
            Self::ConstantArrivalRate { .. } => Kind::ConstantArrivalRate,
            Self::RampingArrivalRate { .. } => Kind::RampingArrivalRate,
        }
    }
}
