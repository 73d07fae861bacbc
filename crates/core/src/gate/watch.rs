//! Conditions that end a run: checked once a second against what has happened so far.

use std::collections::VecDeque;

use super::Condition;
use super::scope::Scope;
use super::stretch::Stretch;
use crate::doubt::Doubts;
use crate::plan::Draft;
use crate::result::Outcome;
use crate::series::Point;

/// Whether the last request of a load was started, as far as its plan and its intervals tell.
#[derive(Debug)]
pub struct LastRequest {
    /// When it is due, if the plan says.
    window_ns: Option<u64>,
    /// How many requests there are, if the plan says.
    requests: Option<u64>,
    started: u64,
    is_over: bool,
}

impl LastRequest {
    /// That of this plan, whose load has yet to begin.
    #[must_use]
    pub fn of(plan: &Draft) -> Self {
        let trace = plan.trace.as_ref().and_then(|trace| trace.offsets_ns.last().copied());
        let window_ns = plan.duration_ns.into_iter().chain(trace).min();
        Self { window_ns, requests: plan.requests, started: 0, is_over: false }
    }

    /// Takes the next interval. Whether the last request was started in it or before.
    pub fn add(&mut self, point: &Point) -> bool {
        let end_ns = point.t_ns.saturating_add(point.interval_ns);
        self.started += point.sent + point.shed;
        self.is_over |= self.window_ns.is_some_and(|window_ns| end_ns > window_ns)
            || self.requests.is_some_and(|requests| self.started >= requests);
        self.is_over
    }

    /// The load has ended, whatever its plan says.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Whether it was started.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Conditions and what is known of a run that goes on.
#[derive(Debug)]
pub struct AbortWatch {
    watched: Vec<Watched>,
    last: LastRequest,
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

impl AbortWatch {
    /// Watches a run of this plan for conditions made by [`Condition::parse_abort`].
    #[must_use]
    pub fn new(conditions: &[Condition], plan: &Draft) -> Self {
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
            last: LastRequest::of(plan),
            sum: Stretch::default(),
            recent: VecDeque::new(),
            recent_ns: conditions.iter().map(looks_back).max().unwrap_or(0),
        }
    }

    /// The last request was started, though the plan does not say when: nothing is checked from now
    /// on.
    pub fn end(&mut self) {
        self.last.end();
    }

    /// Takes the next interval of the run. The first condition that has held for its time, if any.
    /// None does once the last request was started: there is nothing left to end, and the interval
    /// in which a load ends looks like one in which it dwindles.
    pub fn add(&mut self, point: &Point) -> Option<&Condition> {
        let end_ns = point.t_ns.saturating_add(point.interval_ns);
        let is_over = self.last.add(point);
        if self.watched.is_empty() || is_over {
            return None;
        }
        self.sum.add(point, end_ns);
        self.keep(point, end_ns);
        let Self { watched, sum, recent, .. } = self;
        for entry in watched.iter_mut() {
            let holds = holds(&entry.condition, sum, recent, end_ns);
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

/// Whether a condition holds at `end_ns`, whatever the times of incomplete requests. One that looks
/// back further than the run goes does not, and neither does one that has nothing to measure.
fn holds(condition: &Condition, sum: &Stretch, recent: &VecDeque<Point>, end_ns: u64) -> bool {
    let unit = condition.limit.unit;
    // What disturbed the tester is known at the end of the run.
    let doubts = Doubts::none();
    let measured = match condition.scope {
        Scope::Last(for_ns) if for_ns > end_ns => return false,
        Scope::Last(for_ns) => {
            let mut stretch = Stretch::default();
            for point in recent.iter().filter(|point| point.t_ns >= end_ns - for_ns) {
                stretch.add(point, end_ns);
            }
            stretch.measure(&condition.subject, unit, &doubts)
        }
        _ => sum.measure(&condition.subject, unit, &doubts),
    };
    condition.decide(&measured) == Outcome::Pass
}
