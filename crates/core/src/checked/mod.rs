//! The checked plan: what may be carried out, what is refused, and plans that travel.

use std::ops::Deref;

mod check;
pub mod document;
#[cfg(test)]
mod tests;

use crate::gate::Condition;
use crate::metric::Declared;
use crate::plan::{Draft, PlanErrors};

pub use check::key_without_cert;

/// What to do, checked: one that exists can be carried out. It is made by [`Draft::check`] alone,
/// and nothing of it can be changed but in ways that leave it valid.
///
/// It is not serialized: a result keeps its [`record`](Draft::record), and what another process is
/// to carry out travels as a [`document`].
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    draft: Draft,
    abort_conditions: Vec<Condition>,
    /// Whether conditions that end the run look at what waits, those of its run too.
    notes_waiting: bool,
}

impl Draft {
    /// Makes a plan of it, whose source of work declares no metrics.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn check(self) -> Result<Plan, PlanErrors> {
        self.check_declared(&[])
    }

    /// Makes a plan of it. Its conditions may name the metrics that its source of work has
    /// declared.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn check_declared(self, declared: &[Declared]) -> Result<Plan, PlanErrors> {
        let checked = check::check(self, declared);
        checked.map(|(draft, abort_conditions)| {
            let notes_waiting = !abort_conditions.is_empty();
            Plan { draft, abort_conditions, notes_waiting }
        })
    }
}

impl Plan {
    /// The same over a number of threads, 0 for as many as the engine chooses. More threads than
    /// connections would have no work, so there are no more.
    #[must_use]
    pub fn with_workers(&self, workers: u32) -> Self {
        let mut plan = self.clone();
        plan.draft.workers = workers.min(plan.draft.connections).min(check::THREADS_MAX);
        plan
    }

    /// The same from another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut plan = self.clone();
        plan.draft.seed = seed;
        plan
    }

    /// The same with the schema of its calls: a serialized `FileDescriptorSet` that a server gave.
    #[must_use]
    pub fn with_descriptors(&self, descriptors: Vec<u8>) -> Self {
        let mut plan = self.clone();
        if let Some(grpc) = &mut plan.draft.grpc {
            grpc.descriptors = descriptors;
        }
        plan
    }

    /// Whether it is to be told, interval by interval, what waits for a connection: conditions that
    /// end the run look at it.
    #[must_use]
    pub fn notes_waiting(&self) -> bool {
        self.notes_waiting
    }

    /// Has it told for the sake of conditions that are not the plan's own.
    pub(crate) fn note_waiting(&mut self, is_noted: bool) {
        self.notes_waiting |= is_noted;
    }

    /// The conditions that end the run once they hold.
    #[must_use]
    pub fn abort_conditions(&self) -> &[Condition] {
        &self.abort_conditions
    }

    /// Its parts, to vary them.
    #[must_use]
    pub fn into_draft(self) -> Draft {
        self.draft
    }
}

impl Deref for Plan {
    type Target = Draft;

    fn deref(&self) -> &Draft {
        &self.draft
    }
}
