//! The names under which a run of scripts tells requests and values apart: of endpoints, of groups,
//! and of sets of tags.
//!
//! Each name takes memory for its times on each worker and for each scenario, so all of those share
//! one limit. They share the names too: a name is told apart everywhere or nowhere, so that its
//! figures are of all its requests. Who comes first is told apart; the rest is one, called
//! `others`, and has no tags.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plimsoll_core::metric::TAG_SETS_MAX;

/// How many names there may be of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// How often all of them together may be on all workers and for all scenarios.
    everywhere: usize,
    /// Names that there are in any case, and the most of them.
    names: [usize; 2],
}

impl Most {
    /// Of endpoints, and of groups.
    pub(crate) const PARTS: Self = Self { everywhere: 1600, names: [8, 200] };
    /// Of sets of tags, which take less memory.
    pub(crate) const TAGS: Self = Self { everywhere: 4000, names: [20, TAG_SETS_MAX] };
}

/// The names of groups and the sets of tags that all of a run tell apart.
#[derive(Debug, Clone)]
pub(crate) struct ToldApart {
    pub groups: Arc<Names>,
    pub tags: Arc<Names>,
}

/// See the head of this module.
#[derive(Debug)]
pub(crate) struct Names {
    names_max: usize,
    known: Mutex<HashSet<String>>,
    /// All of them, once there are no more: workers need not wait for each other then.
    full: OnceLock<HashSet<String>>,
}

impl Names {
    /// Of a kind, for this number of workers and scenarios.
    pub(crate) fn new(most: Most, workers: usize, scenarios: usize) -> Self {
        let [least, greatest] = most.names;
        let names_max = most.everywhere / (workers * scenarios).max(1);
        Self {
            names_max: names_max.clamp(least, greatest),
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
        let (parts, tags) = (Most::PARTS, Most::TAGS);
        for (most, workers, scenarios, want) in [
            (parts, 1, 1, 200),
            (parts, 8, 1, 200),
            (parts, 8, 4, 50),
            (parts, 64, 9, 8),
            (tags, 4, 1, 1000),
            (tags, 8, 4, 125),
            (tags, 64, 9, 20),
        ] {
            let names = Names::new(most, workers, scenarios);
            let count = (0..1300).filter(|number| names.admits(&number.to_string())).count();
            assert_eq!(count, want, "{most:?} {workers} {scenarios}");
            assert!(names.admits("7"), "who is known stays so");
            assert!(!names.admits("another"));
        }
    }
}
