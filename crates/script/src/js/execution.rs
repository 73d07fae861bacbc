//! What a script can learn of the test that it is part of: the facts behind `k6/execution`.
//!
//! The engine keeps them up to date; a script reads them as they are when it asks.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The facts of one virtual user.
#[derive(Debug, Clone, Default)]
pub struct Execution {
    /// The scenario that the iteration belongs to; `None` outside of one.
    pub scenario: Option<Rc<ScenarioFacts>>,
    /// How many iterations this virtual user has begun, the running one left out: `__ITER`.
    pub iteration: u64,
    /// The same within the scenario.
    pub iteration_in_scenario: u64,
    /// The number of the iteration among all of the scenario in this process.
    pub scenario_iteration: u64,
    /// The same over all processes.
    pub scenario_iteration_in_test: u64,
    /// The number of the virtual user over all processes, from 1; 0 outside of scenarios.
    pub id_in_test: u64,
    /// When the test began, ns since 1970.
    pub test_started_ns: u64,
    /// What is counted over all virtual users.
    pub instance: Arc<InstanceFacts>,
    /// The options of the test as JSON, consolidated.
    pub options: Arc<str>,
}

/// The facts of a scenario.
#[derive(Debug, Clone, Default)]
pub struct ScenarioFacts {
    /// Its name.
    pub name: String,
    /// The name of its executor.
    pub executor: String,
    /// When it began, ns since 1970.
    pub started_ns: u64,
    /// What its progress is measured by.
    pub course: Course,
    /// The tags that its samples have, those of virtual users left out.
    pub tags: Vec<(String, String)>,
    /// Whether they have the group too: the tag `group`.
    pub tags_group: bool,
}

impl ScenarioFacts {
    /// How much of it is over at this time, ns since 1970: 0 to 1.
    #[must_use]
    pub fn progress(&self, now_ns: u64) -> f64 {
        let (done, whole) = match &self.course {
            Course::Time { duration_ns } => (now_ns.saturating_sub(self.started_ns), *duration_ns),
            Course::Iterations { ended, total } => (ended.load(Ordering::Relaxed), *total),
        };
        (done as f64 / whole.max(1) as f64).min(1.0)
    }
}

/// What the progress of a scenario is measured by.
#[derive(Debug, Clone)]
pub enum Course {
    /// The time that it takes.
    Time {
        /// How long it starts iterations, ns.
        duration_ns: u64,
    },
    /// Its iterations, where their number is fixed.
    Iterations {
        /// Those that have ended, of all virtual users.
        ended: Arc<AtomicU64>,
        /// All of them.
        total: u64,
    },
}

impl Default for Course {
    fn default() -> Self {
        Self::Time { duration_ns: 0 }
    }
}

/// What is counted over all virtual users of this process.
#[derive(Debug, Default)]
pub struct InstanceFacts {
    /// Iterations that have completed.
    pub iterations_completed: AtomicU64,
    /// Iterations that were cut off.
    pub iterations_interrupted: AtomicU64,
    /// Virtual users that are in an iteration.
    pub vus_active: AtomicU64,
    /// Virtual users that have evaluated their modules.
    pub vus_initialized: AtomicU64,
}
