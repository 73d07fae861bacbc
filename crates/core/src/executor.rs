//! Executors: which of a scenario's virtual users start iterations, and when. Names and meaning are
//! k6's.
//!
//! An executor here is what a scenario asks for, checked: due times as [`Arrivals`] and users over
//! time as a [`UserRamp`]. Who carries it out is the engine's business.

use crate::schedule::{ArrivalStage, Arrivals, UserRamp};

/// Which of the six executors runs a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// VUs take iterations from one count.
    SharedIterations,
    /// Each VU does a number of iterations.
    PerVuIterations,
    /// A number of VUs loop.
    ConstantVus,
    /// A number of VUs loop that changes over time.
    RampingVus,
    /// Iterations start at a rate.
    ConstantArrivalRate,
    /// Iterations start at a rate that changes over time.
    RampingArrivalRate,
}

impl Kind {
    /// The name that scripts give it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SharedIterations => "shared-iterations",
            Self::PerVuIterations => "per-vu-iterations",
            Self::ConstantVus => "constant-vus",
            Self::RampingVus => "ramping-vus",
            Self::ConstantArrivalRate => "constant-arrival-rate",
            Self::RampingArrivalRate => "ramping-arrival-rate",
        }
    }
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

    /// How long iterations may start, at the most.
    #[must_use]
    pub fn regular_duration_ns(&self) -> u64 {
        match self {
            Self::SharedIterations { max_duration_ns, .. }
            | Self::PerVuIterations { max_duration_ns, .. } => *max_duration_ns,
            Self::ConstantVus { duration_ns, .. } => *duration_ns,
            Self::RampingVus { ramp, .. } => ramp.duration_ns(),
            Self::ConstantArrivalRate { arrivals, .. }
            | Self::RampingArrivalRate { arrivals, .. } => arrivals.duration_ns(),
        }
    }
}
