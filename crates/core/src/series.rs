//! What happened in each second: one point per interval, in bounded memory however long the run is.
//!
//! Points start one second long. When there are more than [`POINTS_LIMIT`], the series halves its
//! resolution. Its memory has a ceiling, and its counts stay exact.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::histogram::Packed;
use crate::metric::CustomMetrics;

/// The most points a series holds.
pub const POINTS_LIMIT: usize = 3600;

/// The interval a series starts with, ns.
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// Adds responses by status.
pub fn add_statuses(all: &mut BTreeMap<u16, u64>, new: &BTreeMap<u16, u64>) {
    for (status, count) in new {
        *all.entry(*status).or_default() += count;
    }
}

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
    /// How long the slots dropped in it had waited. Known while a run goes on; no series has it.
    #[serde(skip)]
    pub shed_waits: Packed,
    /// Response times of the requests that ended in the interval.
    pub response: Packed,
    /// Service times of the requests that ended in the interval.
    pub service: Packed,
    /// Of `response`, the times of requests that ended without a whole response. Of runs of this
    /// process; no document has it.
    #[serde(skip)]
    pub incomplete_response: Packed,
    /// Of `service`, the same.
    #[serde(skip)]
    pub incomplete_service: Packed,
    /// Whole responses by status, 0 for those without one. Absent without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub status: BTreeMap<u16, u64>,
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
        self.shed_waits.merge(&other.shed_waits);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.incomplete_response.merge(&other.incomplete_response);
        self.incomplete_service.merge(&other.incomplete_service);
        add_statuses(&mut self.status, &other.status);
        self.metrics.merge(&other.metrics);
    }

    /// The same, of a load that started `start_ns` later.
    #[must_use]
    pub fn shifted(&self, start_ns: u64) -> Self {
        let mut shifted = Self { t_ns: self.t_ns.saturating_add(start_ns), ..self.clone() };
        shifted.metrics.shift(start_ns);
        shifted
    }
}

/// The points of a run, in order, each starting where the one before ends. All are equally long,
/// but for the first of a scenario that began within an interval of its run: that point ends with
/// the run's interval, so that series of scenarios add up to the run's.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Vec<Point>")]
pub struct Series {
    points: Vec<Point>,
    /// How long an interval is, ns.
    interval_ns: u64,
    /// How far the zero of the points' times lies behind the zero of the intervals, ns.
    offset_ns: u64,
}

impl Default for Series {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.points.serialize(serializer)
    }
}

impl From<Vec<Point>> for Series {
    fn from(points: Vec<Point>) -> Self {
        let interval_ns = match points.as_slice() {
            [] => INTERVAL_NS,
            [only] => only.interval_ns,
            [_, second, ..] => second.interval_ns,
        };
        // A length of 0 would make intervals without an end.
        Self { points, interval_ns: interval_ns.max(1), offset_ns: 0 }
    }
}

impl Series {
    /// Nothing yet, of a load that starts `offset_ns` after its run, whose intervals it keeps to.
    #[must_use]
    pub fn starting_at(offset_ns: u64) -> Self {
        Self { points: Vec::new(), interval_ns: INTERVAL_NS, offset_ns }
    }

    /// A series as it was read, of a load that started `offset_ns` after its run.
    #[must_use]
    pub(crate) fn read_at(self, offset_ns: u64) -> Self {
        let interval_ns = match self.points.as_slice() {
            [only] if !offset_ns.is_multiple_of(INTERVAL_NS) => whole_ns(only, offset_ns),
            _ => self.interval_ns,
        };
        Self { points: self.points, interval_ns, offset_ns }
    }

    /// The points, in order.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The length of an interval, ns.
    #[must_use]
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Adds what was seen in an interval no longer than the series' own.
    pub fn add(&mut self, point: &Point) {
        while self.place(point.t_ns) >= POINTS_LIMIT as u64 {
            self.halve();
        }
        let index = usize::try_from(self.place(point.t_ns)).expect("below the limit");
        for i in self.points.len()..=index {
            let empty = self.empty_at(i as u64);
            self.points.push(empty);
        }
        let Point { t_ns, interval_ns, .. } = self.points[index];
        // How long others waited is for those who watch, not for a record.
        let (waiting, shed_waits) = (Packed::default(), Packed::default());
        self.points[index].merge(&Point {
            t_ns,
            interval_ns,
            waiting,
            shed_waits,
            overdue: 0,
            ..point.clone()
        });
    }

    /// Adds a whole series. Lossless but for the coarser of the two resolutions.
    pub fn merge(&mut self, other: &Self) {
        if self.points.is_empty() {
            self.clone_from(other);
            return;
        }
        self.merge_shifted(other, 0);
    }

    /// Adds the series of a load that started `start_ns` after this one. It is as lossless if the
    /// other was made to start there.
    pub fn merge_shifted(&mut self, other: &Self, start_ns: u64) {
        while !other.points.is_empty() && self.interval_ns < other.interval_ns {
            self.halve();
        }
        for point in &other.points {
            self.add(&point.shifted(start_ns));
        }
    }

    /// Which point a time lies in.
    fn place(&self, t_ns: u64) -> u64 {
        t_ns.saturating_add(self.offset_ns) / self.interval_ns - self.offset_ns / self.interval_ns
    }

    /// A point without requests.
    fn empty_at(&self, index: u64) -> Point {
        let begins_ns = (self.offset_ns / self.interval_ns + index) * self.interval_ns;
        let ends_ns = begins_ns + self.interval_ns - self.offset_ns;
        let t_ns = begins_ns.saturating_sub(self.offset_ns);
        Point { t_ns, interval_ns: ends_ns - t_ns, ..Point::default() }
    }

    /// Joins neighbours, so that intervals are twice as long.
    fn halve(&mut self) {
        self.interval_ns *= 2;
        for point in std::mem::take(&mut self.points) {
            self.add(&point);
        }
    }
}

/// How long the intervals are of a series with a single point, cut short by its start.
fn whole_ns(only: &Point, offset_ns: u64) -> u64 {
    let lengths = std::iter::successors(Some(INTERVAL_NS), |length_ns| length_ns.checked_mul(2));
    let mut fitting = lengths.filter(|length| length - offset_ns % length == only.interval_ns);
    fitting.next().unwrap_or_else(|| only.interval_ns.max(1))
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

    /// A point of a load that starts `offset_ns` after its run, in the run's second `second`.
    fn offset_point(offset_ns: u64, second: u64, sent: u64) -> Point {
        let t_ns = (second * INTERVAL_NS).saturating_sub(offset_ns);
        let interval_ns = (second + 1) * INTERVAL_NS - offset_ns - t_ns;
        Point { t_ns, interval_ns, sent, ..Point::default() }
    }

    #[test]
    fn a_series_that_starts_within_a_second_adds_up_to_the_run_s() {
        // Whether the start is even or odd among the longer intervals decides how seconds pair up.
        for offset_ns in [0, 300_000_000, 1_300_000_000, 2_000_000_000, 5_999_999_999] {
            let first = offset_ns / INTERVAL_NS;
            for seconds in [1, 5, POINTS_LIMIT as u64 + 7, 2 * POINTS_LIMIT as u64 + 1] {
                let mut own = Series::starting_at(offset_ns);
                let mut want = Series::default();
                for second in first..first + seconds {
                    own.add(&offset_point(offset_ns, second, second % 7 + 1));
                    want.add(&offset_point(0, second, second % 7 + 1));
                }
                let starts = own.points().windows(2);
                for pair in starts.map(|pair| [&pair[0], &pair[1]]) {
                    assert_eq!(pair[0].t_ns + pair[0].interval_ns, pair[1].t_ns, "{offset_ns}");
                }
                let mut run = Series::default();
                run.merge_shifted(&own, offset_ns);
                let sent = |series: &Series| {
                    let points = series.points().iter().map(|point| (point.t_ns, point.sent));
                    points.collect::<Vec<_>>()
                };
                while want.interval_ns() < run.interval_ns() {
                    want.halve();
                }
                assert_eq!(sent(&run), sent(&want), "{offset_ns} {seconds}");
                assert_eq!(run.points()[0].interval_ns, run.interval_ns());
                let text = serde_json::to_string(&own).unwrap();
                let read: Series = serde_json::from_str(&text).unwrap();
                assert_eq!(read.read_at(offset_ns), own, "{offset_ns} {seconds}");
            }
        }
    }
}
