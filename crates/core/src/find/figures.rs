//! What a probe measured: for each interval of its measured part, how many requests were due and
//! ended, and the sums of each objective.
//!
//! Requests depend on each other, and on those just before. How far a share may be from the truth
//! therefore follows from how it varies over time. Columns of counts for each second hold that,
//! add up over workers and machines, and are small enough to stand in the document.

use serde::{Deserialize, Serialize};

use crate::gate::Objective;
use crate::histogram::Histogram;
use crate::schedule::{Cursor, Deal, Profile};
use crate::series::Point;

/// The most intervals that figures hold; more are not read from a document.
pub const INTERVALS_MAX: usize = crate::series::POINTS_LIMIT;

/// The figures of a probe; all columns are equally long.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// How long an interval is.
    #[serde(rename = "interval_s", with = "crate::serde_units::from_ns")]
    pub interval_ns: u64,
    /// Requests due in each interval.
    pub due: Vec<u64>,
    /// Responses that came in it.
    pub answered: Vec<u64>,
    /// Requests that ended in it, with or without a response.
    pub ended: Vec<u64>,
    /// The sums of each objective, in the order in which they were given.
    pub objectives: Vec<Sums>,
    /// The median of the response time; null without responses.
    #[serde(rename = "p50_s", with = "crate::serde_units::optional_from_ns", default)]
    pub p50_ns: Option<u64>,
    /// The 99th percentile of the response time.
    #[serde(rename = "p99_s", with = "crate::serde_units::optional_from_ns", default)]
    pub p99_ns: Option<u64>,
}

/// An objective's sums over the requests that ended in each interval; see
/// [`Tallied`](crate::gate::Tallied).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Requests that count.
    pub among: Vec<u64>,
    /// What the objective averages, summed up.
    pub against: Vec<u64>,
    /// Requests that took more than half the limit.
    pub near: Vec<u64>,
    /// Requests that only a stall of the server explains.
    pub far: Vec<u64>,
}

impl Figures {
    /// The figures of a probe from the points of its measured part, with the number of requests
    /// due in each: the shorter of the two lists decides.
    #[must_use]
    pub fn of_points(objectives: &[Objective], points: &[Point], due: &[u64]) -> Self {
        let mut figures = Self::empty(
            points.first().map_or(crate::series::INTERVAL_NS, |point| point.interval_ns),
            objectives.len(),
        );
        let mut response = Histogram::new();
        for (point, due) in points.iter().zip(due) {
            figures.add(objectives, point, *due);
            response.merge(&point.response.unpack());
        }
        figures.excuse_stalls(objectives, points);
        figures.p50_ns = response.quantile_ns(0.5);
        figures.p99_ns = response.quantile_ns(0.99);
        figures
    }

    /// Adds an interval, with the number of requests due in it. Percentiles are left as they are.
    pub fn add(&mut self, objectives: &[Objective], point: &Point, due: u64) {
        self.due.push(due);
        self.answered.push(point.completed);
        let unanswered = point.refused + point.timed_out + point.broken + point.shed;
        self.ended.push(point.completed + unanswered);
        for (sums, objective) in self.objectives.iter_mut().zip(objectives) {
            let tallied = objective.tally(point);
            sums.among.push(tallied.among);
            sums.against.push(tallied.against);
            sums.near.push(tallied.near);
            sums.far.push(tallied.far);
        }
    }

    /// Takes out stalls that the tester itself may have made. One that was late by half a limit in
    /// an interval or beside it may also have been late to read, so that nothing says that the
    /// server stood still.
    fn excuse_stalls(&mut self, objectives: &[Objective], points: &[Point]) {
        let late_ns: Vec<u64> = points.iter().map(|point| point.lateness_max_ns).collect();
        for (sums, objective) in self.objectives.iter_mut().zip(objectives) {
            let Some(limit_ns) = objective.time_limit_ns() else { continue };
            for (i, far) in sums.far.iter_mut().enumerate() {
                let around = &late_ns[i.saturating_sub(1)..(i + 2).min(late_ns.len())];
                if around.iter().any(|late_ns| *late_ns >= limit_ns / 2) {
                    *far = 0;
                }
            }
        }
    }

    /// The figures of the first `count` intervals, as they were known then.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        let mut first = self.clone();
        for column in [&mut first.due, &mut first.answered, &mut first.ended] {
            column.truncate(count);
        }
        for sums in &mut first.objectives {
            for column in [&mut sums.among, &mut sums.against, &mut sums.near, &mut sums.far] {
                column.truncate(count);
            }
        }
        first
    }

    /// These figures and those of another probe at the same rate, one after the other.
    #[must_use]
    pub(super) fn followed_by(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.due.extend(&other.due);
        all.answered.extend(&other.answered);
        all.ended.extend(&other.ended);
        for (sums, other) in all.objectives.iter_mut().zip(&other.objectives) {
            sums.among.extend(&other.among);
            sums.against.extend(&other.against);
            sums.near.extend(&other.near);
            sums.far.extend(&other.far);
        }
        all
    }

    /// Ends the figures after `count` intervals. What objectives say of later requests counts with
    /// the last of them: they were asked for before.
    pub fn end_after(&mut self, count: usize) {
        for column in [&mut self.due, &mut self.answered, &mut self.ended] {
            column.truncate(count);
        }
        for sums in &mut self.objectives {
            for column in [&mut sums.among, &mut sums.against, &mut sums.near, &mut sums.far] {
                let later: u64 = column.drain(count.min(column.len())..).sum();
                if let Some(last) = column.last_mut() {
                    *last += later;
                }
            }
        }
    }

    /// Figures without intervals.
    #[must_use]
    pub fn empty(interval_ns: u64, objectives: usize) -> Self {
        Self { interval_ns, objectives: vec![Sums::default(); objectives], ..Self::default() }
    }

    /// Whether the columns fit together, for this number of objectives.
    #[must_use]
    pub fn are_whole(&self, objectives: usize) -> bool {
        let long = self.due.len();
        let is_long = |column: &Vec<u64>| column.len() == long;
        let are_long =
            |sums: &Sums| [&sums.among, &sums.against, &sums.near, &sums.far].map(is_long);
        self.interval_ns > 0
            && (1..=INTERVALS_MAX).contains(&long)
            && self.objectives.len() == objectives
            && [&self.answered, &self.ended].into_iter().all(is_long)
            && self.objectives.iter().map(are_long).all(|are| are == [true; 4])
    }

    /// How long the measured part is, in seconds.
    #[must_use]
    pub fn measured_s(&self) -> f64 {
        self.due.len() as f64 * self.interval_ns as f64 / 1e9
    }

    /// Responses per second.
    #[must_use]
    pub fn achieved_rps(&self) -> f64 {
        let answered: u64 = self.answered.iter().sum();
        if self.due.is_empty() { 0.0 } else { answered as f64 / self.measured_s() }
    }
}

/// How many requests of a schedule are due in each of `count` intervals. A schedule follows from
/// its seed, so the tester's own delays do not touch these numbers.
#[must_use]
pub fn due_in(profile: &Profile, seed: u64, interval_ns: u64, count: usize) -> Vec<u64> {
    let mut due = vec![0; count];
    let mut cursor = Cursor::new(profile, Deal::new(1, 0, 1), None, seed);
    while let Some(slot) = cursor.peek() {
        match due.get_mut((slot.due_ns / interval_ns.max(1)) as usize) {
            Some(count) => *count += 1,
            None => break,
        }
        cursor.advance();
    }
    due
}
