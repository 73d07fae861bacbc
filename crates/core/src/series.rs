//! What happened in each second: one point per interval, in bounded memory however long the run is.
//!
//! Points start one second long. When there are more than [`POINTS_LIMIT`], the series halves its
//! resolution. Its memory has a ceiling, and its counts stay exact.

use serde::{Deserialize, Serialize};

use crate::histogram::Packed;
use crate::metric::CustomMetrics;

/// The most points a series holds.
pub const POINTS_LIMIT: usize = 3600;

/// The interval a series starts with, ns.
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// One interval of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Start of the interval, from the start of the measured part.
    #[serde(rename = "t_s", with = "crate::serde_units::from_ns")]
    pub t_ns: u64,
    /// Length of the interval.
    #[serde(rename = "interval_s", with = "crate::serde_units::from_ns")]
    pub interval_ns: u64,
    /// Requests started.
    pub sent: u64,
    /// Whole responses received.
    pub completed: u64,
    /// Of those, as expected.
    pub ok: u64,
    /// Of those, not as expected.
    pub failed: u64,
    /// Requests that ran into the timeout.
    pub timed_out: u64,
    /// Requests whose connection failed.
    pub broken: u64,
    /// Requests that the server said it did not process.
    #[serde(default)]
    pub refused: u64,
    /// Slots dropped unsent.
    #[serde(default)]
    pub shed: u64,
    /// Errors of any kind, also those that hurt no request.
    pub errors: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// CPU time of the workers, time spent spinning left out.
    #[serde(rename = "loader_cpu_s", with = "crate::serde_units::from_ns")]
    pub loader_cpu_ns: u64,
    /// The worst lateness of the tester itself in the interval.
    #[serde(rename = "lateness_max_s", with = "crate::serde_units::from_ns")]
    pub lateness_max_ns: u64,
    /// How long users were cut off from the server, added up.
    #[serde(default, rename = "cut_off_s", with = "crate::serde_units::from_ns")]
    pub cut_off_ns: u64,
    /// The time of all users, added up.
    #[serde(default, rename = "users_s", with = "crate::serde_units::from_ns")]
    pub users_ns: u64,
    /// Slots that had waited for a connection for an interval or longer at the end of this one.
    /// Known while a run goes on, where conditions may end it.
    #[serde(skip)]
    pub overdue: u64,
    /// How long all that were waiting then had waited. Known as `overdue` is.
    #[serde(skip)]
    pub waiting: Packed,
    /// Response times of the requests that ended in the interval.
    pub response: Packed,
    /// Service times of the requests that ended in the interval.
    pub service: Packed,
    /// What sources of work recorded in the interval, whatever its tags. Absent without any.
    #[serde(default, skip_serializing_if = "CustomMetrics::is_empty")]
    pub metrics: CustomMetrics,
}

impl Point {
    /// Adds what another worker or process saw in the same interval.
    pub fn merge(&mut self, other: &Self) {
        self.t_ns = self.t_ns.min(other.t_ns);
        self.interval_ns = self.interval_ns.max(other.interval_ns);
        self.sent += other.sent;
        self.completed += other.completed;
        self.ok += other.ok;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.broken += other.broken;
        self.refused += other.refused;
        self.shed += other.shed;
        self.errors += other.errors;
        self.received_bytes += other.received_bytes;
        self.loader_cpu_ns += other.loader_cpu_ns;
        self.lateness_max_ns = self.lateness_max_ns.max(other.lateness_max_ns);
        self.cut_off_ns += other.cut_off_ns;
        self.users_ns += other.users_ns;
        self.overdue += other.overdue;
        self.waiting.merge(&other.waiting);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.metrics.merge(&other.metrics);
    }
}

/// The points of a run, in order, each starting where the one before ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Series {
    points: Vec<Point>,
}

impl Series {
    /// The points, in order.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The length of an interval, ns.
    #[must_use]
    pub fn interval_ns(&self) -> u64 {
        self.points.first().map_or(INTERVAL_NS, |point| point.interval_ns)
    }

    /// Adds what was seen in an interval no longer than the series' own.
    pub fn add(&mut self, point: &Point) {
        while point.t_ns / self.interval_ns() >= POINTS_LIMIT as u64 {
            self.halve();
        }
        let interval_ns = self.interval_ns();
        let index = usize::try_from(point.t_ns / interval_ns).expect("below the limit");
        for i in self.points.len()..=index {
            let t_ns = i as u64 * interval_ns;
            self.points.push(Point { t_ns, interval_ns, ..Point::default() });
        }
        let t_ns = self.points[index].t_ns;
        // What waits is for those who watch, not for a record.
        let waiting = Packed::default();
        self.points[index].merge(&Point { t_ns, waiting, overdue: 0, ..point.clone() });
    }

    /// Adds a whole series. Lossless but for the coarser of the two resolutions.
    pub fn merge(&mut self, other: &Self) {
        while !self.points.is_empty() && self.interval_ns() < other.interval_ns() {
            self.halve();
        }
        if self.points.is_empty() {
            self.points.clone_from(&other.points);
            return;
        }
        for point in &other.points {
            self.add(&Point { interval_ns: self.interval_ns(), ..point.clone() });
        }
    }

    /// Joins neighbours, so that intervals are twice as long.
    fn halve(&mut self) {
        let interval_ns = 2 * self.interval_ns();
        let mut joined: Vec<Point> = Vec::with_capacity(self.points.len().div_ceil(2).max(1));
        for pair in self.points.chunks(2) {
            let mut point = pair[0].clone();
            if let Some(second) = pair.get(1) {
                point.merge(second);
            }
            point.interval_ns = interval_ns;
            joined.push(point);
        }
        if joined.is_empty() {
            joined.push(Point { interval_ns, ..Point::default() });
        }
        self.points = joined;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;

    fn point(second: u64, sent: u64) -> Point {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000_000 * (second + 1), sent);
        Point {
            t_ns: second * INTERVAL_NS,
            interval_ns: INTERVAL_NS,
            sent,
            response: histogram.pack(),
            ..Point::default()
        }
    }

    fn of(points: &[(u64, u64)]) -> Series {
        let mut series = Series::default();
        for &(second, sent) in points {
            series.add(&point(second, sent));
        }
        series
    }

    #[test]
    fn gaps_are_filled_and_the_same_second_adds_up() {
        let series = of(&[(0, 1), (3, 2), (3, 5)]);
        let sent: Vec<u64> = series.points().iter().map(|point| point.sent).collect();
        assert_eq!(sent, [1, 0, 0, 7]);
        assert_eq!(series.points()[3].response.unpack().count(), 7);
    }

    #[test]
    fn a_long_run_stays_bounded_and_exact() {
        let long = 4 * POINTS_LIMIT as u64 + 3;
        let series = of(&(0..long).map(|second| (second, 1)).collect::<Vec<_>>());
        assert!(series.points().len() <= POINTS_LIMIT);
        assert_eq!(series.interval_ns(), 8 * INTERVAL_NS);
        assert_eq!(series.points().iter().map(|point| point.sent).sum::<u64>(), long);
        let times: Vec<u64> = series.points().iter().map(|point| point.t_ns).collect();
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 8 * INTERVAL_NS));
    }

    #[test]
    fn merge_is_associative_also_across_resolutions() {
        let long = POINTS_LIMIT as u64 + 10;
        let parts = [of(&[(0, 1), (1, 1)]), of(&[(5, 9)]), of(&[(0, 2), (long, 3)])];
        let mut left = parts[0].clone();
        left.merge(&parts[1]);
        left.merge(&parts[2]);
        let mut tail = parts[1].clone();
        tail.merge(&parts[2]);
        let mut right = parts[0].clone();
        right.merge(&tail);
        assert_eq!(left, right);
        assert_eq!(left.points().iter().map(|point| point.sent).sum::<u64>(), 16);
    }
}
