//! The names under which a run tells requests apart: of endpoints, and of groups.
//!
//! Each name takes memory for its times on each worker and for each scenario, so all of those share
//! one limit. They share the names too: a name is told apart everywhere or nowhere, so that its
//! figures are of all its requests. Who comes first is told apart; the rest is one, called `others`.

use std::collections::HashSet;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The most names.
const NAMES_MAX: usize = 200;

/// How often all names together may be on all workers and for all scenarios.
const PARTS_MAX: usize = 1600;

/// Names that there are in any case.
const NAMES_MIN: usize = 8;

/// See the head of this module.
#[derive(Debug)]
pub(crate) struct Names {
    names_max: usize,
    known: Mutex<HashSet<String>>,
    /// All of them, once there are no more: nobody has to wait for anybody then.
    full: OnceLock<HashSet<String>>,
}

impl Names {
    /// For this number of workers and scenarios.
    pub(crate) fn new(workers: usize, scenarios: usize) -> Self {
        let names_max = PARTS_MAX / (workers * scenarios).max(1);
        Self {
            names_max: names_max.clamp(NAMES_MIN, NAMES_MAX),
            known: Mutex::default(),
            full: OnceLock::new(),
        }
    }

    /// Whether a name is told apart.
    pub(crate) fn admits(&self, name: &str) -> bool {
        if let Some(all) = self.full.get() {
            return all.contains(name);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(name) {
            return true;
        }
        if known.len() >= self.names_max {
            self.full.get_or_init(|| known.clone());
            return false;
        }
        known.insert(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_for_all_workers_and_scenarios_together() {
        for (workers, scenarios, want) in
            [(1, 1, 200), (2, 1, 200), (8, 1, 200), (8, 4, 50), (64, 9, NAMES_MIN)]
        {
            let names = Names::new(workers, scenarios);
            let count = (0..300).filter(|number| names.admits(&number.to_string())).count();
            assert_eq!(count, want, "{workers} {scenarios}");
            assert!(names.admits("7"), "who is known stays so");
            assert!(!names.admits("another"));
        }
    }
}
