//! What all scenarios of a test need together: VUs over time, and how long it takes at most.
//!
//! VUs are pooled: scenarios that follow each other use the same ones, so a test needs as many as
//! its scenarios need at one time. VUs that are leaving count until their iterations must have
//! ended.

use std::collections::VecDeque;

use plimsoll_core::schedule::UserStep;

use super::{Executor, Scenario, VuPool};
use crate::k6::segment::Part;

/// From a time on, this many VUs are needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Need {
    /// ns after the start.
    pub at_ns: u64,
    /// VUs that are initialised before the test starts.
    pub planned_vus: u64,
    /// VUs that may be initialised on the way, beside those.
    pub unplanned_vus: u64,
}

impl Scenario {
    /// The VUs that it needs over time, ns after its own start; the last need is 0. Empty if it has
    /// nothing to do in this part of the run.
    #[must_use]
    pub fn needs(&self, part: &Part) -> Vec<Need> {
        let end_ns = self.hard_end_ns();
        let flat = |planned_vus: u64, unplanned_vus: u64| {
            // Without a VU it does not start, and drops nothing.
            if planned_vus == 0 && unplanned_vus == 0 {
                return Vec::new();
            }
            let at = |at_ns, planned_vus, unplanned_vus| Need { at_ns, planned_vus, unplanned_vus };
            vec![at(0, planned_vus, unplanned_vus), at(end_ns, 0, 0)]
        };
        match &self.executor {
            Executor::SharedIterations { vus, .. }
            | Executor::PerVuIterations { vus, .. }
            | Executor::ConstantVus { vus, .. } => flat(part.scale(*vus), 0),
            Executor::ConstantArrivalRate { pool, .. }
            | Executor::RampingArrivalRate { pool, .. } => {
                let VuPool { pre_allocated_vus, max_vus } = *pool;
                let planned = part.scale(pre_allocated_vus);
                flat(planned, part.scale(max_vus).saturating_sub(planned))
            }
            Executor::RampingVus { ramp, graceful_ramp_down_ns } => {
                let Some(stripe) = part.stripe() else { return Vec::new() };
                reserved(ramp.steps(stripe), *graceful_ramp_down_ns, end_ns)
            }
        }
    }
}

/// The VUs that are active or may still be ending an iteration, until nothing can be left.
fn reserved(steps: impl Iterator<Item = UserStep>, graceful_ns: u64, end_ns: u64) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    let mut push = |at_ns: u64, planned_vus: u64| {
        if needs.last().is_none_or(|last| last.planned_vus != planned_vus) {
            needs.push(Need { at_ns, planned_vus, unplanned_vus: 0 });
        }
    };
    // Numbers of VUs, falling, each with the time until which it counts; the last one has no end.
    let mut held: VecDeque<(u64, u64)> = VecDeque::new();
    for step in steps {
        if let Some((_, until_ns)) = held.back_mut() {
            *until_ns = step.at_ns.saturating_add(graceful_ns);
        }
        expire(&mut held, step.at_ns, step.users, &mut push);
        while held.back().is_some_and(|(users, _)| *users <= step.users) {
            held.pop_back();
        }
        held.push_back((step.users, u64::MAX));
        push(step.at_ns, held.front().map_or(0, |(users, _)| *users));
    }
    let last = held.back().map_or(0, |(users, _)| *users);
    expire(&mut held, end_ns.saturating_sub(1), last, &mut push);
    if held.front().is_some_and(|(users, _)| *users > 0) {
        push(end_ns, 0);
    }
    needs
}

/// Drops what counts no longer; then what comes after it is the number, or what the last step says.
fn expire(
    held: &mut VecDeque<(u64, u64)>,
    now_ns: u64,
    otherwise: u64,
    push: &mut impl FnMut(u64, u64),
) {
    while let Some((_, until_ns)) = held.front().copied().filter(|(_, until)| *until <= now_ns) {
        held.pop_front();
        push(until_ns, held.front().map_or(otherwise, |(users, _)| *users));
    }
}

/// The needs of all scenarios, by time from the start of the test. What changes at one time
/// changes one after the other, scenario by scenario. So numbers that last no time are among them:
/// as in k6, which initialises VUs for those too.
#[must_use]
pub fn needs(scenarios: &[Scenario], part: &Part) -> Vec<Need> {
    let mut changes: Vec<Change> = Vec::new();
    for scenario in scenarios {
        let mut last = Need::default();
        for need in scenario.needs(part) {
            let more = |now: u64, before: u64| i128::from(now) - i128::from(before);
            changes.push(Change {
                at_ns: need.at_ns.saturating_add(scenario.start_ns),
                planned: more(need.planned_vus, last.planned_vus),
                unplanned: more(need.unplanned_vus, last.unplanned_vus),
            });
            last = need;
        }
    }
    changes.sort_by_key(|change| change.at_ns);
    let (mut planned, mut unplanned) = (0i128, 0i128);
    let count = |sum: i128| u64::try_from(sum).unwrap_or(u64::MAX);
    let need = |change: Change| {
        planned += change.planned;
        unplanned += change.unplanned;
        let (planned_vus, unplanned_vus) = (count(planned), count(unplanned));
        Need { at_ns: change.at_ns, planned_vus, unplanned_vus }
    };
    let mut all: Vec<Need> = changes.into_iter().map(need).collect();
    all.dedup_by_key(|need| (need.planned_vus, need.unplanned_vus));
    all
}

/// How much more a scenario needs from a time on.
struct Change {
    at_ns: u64,
    planned: i128,
    unplanned: i128,
}

/// What a test needs at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// VUs that are initialised before it starts.
    pub planned_vus: u64,
    /// VUs that there may be at any time.
    pub max_vus: u64,
    /// How long it takes at most, with graceful stops, without setup and teardown.
    pub duration_ns: u64,
}

impl Limits {
    /// Those of needs over time.
    #[must_use]
    pub fn of(needs: &[Need]) -> Self {
        let most = |count: fn(&Need) -> u64| needs.iter().map(count).max().unwrap_or(0);
        Self {
            planned_vus: most(|need| need.planned_vus),
            max_vus: most(|need| need.planned_vus.saturating_add(need.unplanned_vus)),
            duration_ns: needs.last().map_or(0, |last| last.at_ns),
        }
    }
}

/// In the order in which k6 lists them: by start, then by name.
pub fn sort(scenarios: &mut [Scenario]) {
    scenarios.sort_by(|a, b| (a.start_ns, &a.name).cmp(&(b.start_ns, &b.name)));
}
