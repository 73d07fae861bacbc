//! Conditions that end a run: held once a second against what has happened so far.

use std::collections::VecDeque;

use super::Condition;
use super::scope::Scope;
use super::stretch::Stretch;
use crate::series::Point;

/// Conditions and what is known of a run that goes on.
#[derive(Debug)]
pub struct Watch {
    watched: Vec<Watched>,
    open_loop: bool,
    /// All of the run so far.
    sum: Stretch,
    /// Its last intervals, as many as a condition looks back.
    recent: VecDeque<Point>,
    recent_ns: u64,
}

#[derive(Debug)]
struct Watched {
    condition: Condition,
    /// Since when it has held.
    since_ns: Option<u64>,
}

impl Watch {
    /// Watches for conditions made by [`Condition::parse_abort`]. In an open loop percentiles
    /// without a clock are of the response time, else of the service time.
    #[must_use]
    pub fn new(conditions: &[Condition], open_loop: bool) -> Self {
        let looks_back = |condition: &Condition| match condition.scope {
            Scope::Last(for_ns) => for_ns,
            _ => 0,
        };
        let watched = conditions
            .iter()
            .map(|condition| Watched { condition: condition.clone(), since_ns: None })
            .collect();
        Self {
            watched,
            open_loop,
            sum: Stretch::default(),
            recent: VecDeque::new(),
            recent_ns: conditions.iter().map(looks_back).max().unwrap_or(0),
        }
    }

    /// Takes the next interval of the run. The first condition that has held for its time, if any.
    pub fn add(&mut self, point: &Point) -> Option<&Condition> {
        if self.watched.is_empty() {
            return None;
        }
        let end_ns = point.t_ns.saturating_add(point.interval_ns);
        self.sum.add(point, end_ns);
        self.keep(point, end_ns);
        let Self { watched, open_loop, sum, recent, .. } = self;
        for entry in watched.iter_mut() {
            let holds = holds(&entry.condition, sum, recent, end_ns, *open_loop);
            entry.since_ns = holds.then(|| entry.since_ns.unwrap_or(point.t_ns));
        }
        let has_held = |entry: &&Watched| {
            entry.since_ns.is_some_and(|since_ns| end_ns - since_ns >= entry.condition.hold_ns)
        };
        watched.iter().find(has_held).map(|entry| &entry.condition)
    }

    fn keep(&mut self, point: &Point, end_ns: u64) {
        if self.recent_ns == 0 {
            return;
        }
        self.recent.push_back(point.clone());
        let oldest_ns = end_ns.saturating_sub(self.recent_ns);
        while self.recent.front().is_some_and(|oldest| oldest.t_ns < oldest_ns) {
            self.recent.pop_front();
        }
    }
}

/// Whether a condition holds at `end_ns`. One that looks back further than the run goes does not,
/// and neither does one that has nothing to measure.
fn holds(
    condition: &Condition,
    sum: &Stretch,
    recent: &VecDeque<Point>,
    end_ns: u64,
    open_loop: bool,
) -> bool {
    let unit = condition.limit.unit;
    let measured = match condition.scope {
        Scope::Last(for_ns) if for_ns > end_ns => return false,
        Scope::Last(for_ns) => {
            let mut stretch = Stretch::default();
            for point in recent.iter().filter(|point| point.t_ns >= end_ns - for_ns) {
                stretch.add(point, end_ns);
            }
            stretch.measure(condition.metric, unit, open_loop)
        }
        _ => sum.measure(condition.metric, unit, open_loop),
    };
    measured.value.is_some_and(|value| condition.operator.holds(value, condition.limit.value))
}
