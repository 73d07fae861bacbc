//! Sums up intervals of a series, for conditions on a stretch of time and for conditions that watch
//! a run while it goes on.

use std::collections::BTreeMap;

use super::custom::Subject;
use super::measure::{doubted, share_of, statistic as statistic_of};
use super::measured::Measured;
use super::metric::{Metric, Statistic, Tally, Timing};
use crate::doubt::{Bounds, Doubts, Figure};
use crate::histogram::{Histogram, Packed};
use crate::ledger::Ledger;
use crate::metric::CustomMetrics;
use crate::outage::share;
use crate::result::Unit;
use crate::series::Point;

/// The sum of some intervals.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    /// Where the first begins.
    pub(super) from_ns: u64,
    /// Where the last ends.
    pub(super) to_ns: u64,
    /// The time they cover.
    length_ns: u64,
    sent: u64,
    completed: u64,
    ok: u64,
    failed: u64,
    timed_out: u64,
    broken: u64,
    refused: u64,
    shed: u64,
    received_bytes: u64,
    loader_cpu_ns: u64,
    lateness_max_ns: u64,
    cut_off_ns: u64,
    users_ns: u64,
    /// Of the last interval: slots that wait, and how long all that waits has waited.
    overdue: u64,
    waiting: Packed,
    /// Requests that had no response when the run ended with this stretch.
    unfinished: u64,
    unsent: u64,
    response: Histogram,
    service: Histogram,
    /// Of both, the times of requests that ended without a whole response, where they are known.
    incomplete_response: Histogram,
    incomplete_service: Histogram,
    status: BTreeMap<u16, u64>,
    metrics: CustomMetrics,
}

impl Stretch {
    /// The sum of those of `points` that lie from `from_ns` to `to_ns`, in a run that ended at
    /// `end_ns`; `None` when no point does.
    pub(super) fn within(points: &[Point], from_ns: u64, to_ns: u64, end_ns: u64) -> Option<Self> {
        let mut sum: Option<Self> = None;
        let inside = |point: &&Point| {
            point.t_ns >= from_ns && point.t_ns.saturating_add(point.interval_ns) <= to_ns
        };
        for point in points.iter().filter(inside) {
            sum.get_or_insert_default().add(point, end_ns);
        }
        sum
    }

    /// Adds an interval; the run ended, if it did, at `end_ns`.
    pub(super) fn add(&mut self, point: &Point, end_ns: u64) {
        let to_ns = point.t_ns.saturating_add(point.interval_ns);
        self.from_ns = if self.length_ns == 0 { point.t_ns } else { self.from_ns.min(point.t_ns) };
        self.to_ns = self.to_ns.max(to_ns);
        self.length_ns += to_ns.min(end_ns).saturating_sub(point.t_ns);
        self.sent += point.sent;
        self.completed += point.completed;
        self.ok += point.ok;
        self.failed += point.failed;
        self.timed_out += point.timed_out;
        self.broken += point.broken;
        self.refused += point.refused;
        self.shed += point.shed;
        self.received_bytes += point.received_bytes;
        self.loader_cpu_ns += point.loader_cpu_ns;
        self.lateness_max_ns = self.lateness_max_ns.max(point.lateness_max_ns);
        self.cut_off_ns += point.cut_off_ns;
        self.users_ns += point.users_ns;
        self.overdue = point.overdue;
        self.waiting.clone_from(&point.waiting);
        self.response.merge(&point.response.unpack());
        self.service.merge(&point.service.unpack());
        self.incomplete_response.merge(&point.incomplete_response.unpack());
        self.incomplete_service.merge(&point.incomplete_service.unpack());
        for (status, count) in &point.status {
            *self.status.entry(*status).or_default() += count;
        }
        self.metrics.merge(&point.metrics);
    }

    /// The run ended with this stretch. What was still open or due then had no response.
    pub(super) fn reach_end(&mut self, ledger: &Ledger) {
        (self.unfinished, self.unsent) = (ledger.unfinished, ledger.unsent);
    }

    /// Requests that are timed in it.
    pub(super) fn requests_timed(&self) -> u64 {
        self.response.count()
    }

    /// Responses per second.
    pub(super) fn completed_rps(&self) -> Option<f64> {
        self.per_second(self.completed)
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        (self.length_ns > 0).then(|| count as f64 * 1e9 / self.length_ns as f64)
    }

    /// Requests that ended, or were dropped.
    fn ended(&self) -> u64 {
        self.completed + self.refused + self.timed_out + self.broken + self.shed
    }

    /// Share of the users' time in which they were cut off.
    fn outage(&self) -> Option<f64> {
        (self.users_ns > 0).then(|| share(self.cut_off_ns, self.users_ns))
    }

    /// Requests that did not end as expected, and slots that can't find a connection. As a share it
    /// is no less than that of the users' time in which they were cut off.
    fn errors(&self, unit: Unit) -> Measured {
        let all = self.ended() + self.overdue;
        let of_requests = share_of(all.saturating_sub(self.ok), all, unit);
        let outage = self.outage().filter(|outage| *outage > 0.0);
        match (outage, of_requests.value) {
            (Some(outage), share) if unit == Unit::Share => {
                Measured::some(share.map_or(outage, |share| share.max(outage)))
            }
            _ if all == 0 => Measured::none("no request ended"),
            _ => of_requests,
        }
    }

    /// Measures what `Metric::is_known_over_time` says can be, and custom metrics.
    pub(super) fn measure(&self, subject: &Subject, unit: Unit, doubts: &Doubts<'_>) -> Measured {
        match subject {
            Subject::BuiltIn(metric) => match metric {
                Metric::Time(timing, figure) if *timing != Timing::Lateness => {
                    self.time(*timing, *figure, doubts)
                }
                _ => doubted(self.built_in(*metric, unit), *metric, doubts),
            },
            Subject::Custom(custom) => custom.measure(&self.metrics, self.length_ns, doubts),
        }
    }

    fn built_in(&self, metric: Metric, unit: Unit) -> Measured {
        match metric {
            Metric::Time(Timing::Lateness, _) => Measured::some(self.lateness_max_ns as f64 / 1e3),
            Metric::Requests(tally) => self.requests(tally, unit),
            Metric::Status(from, to) => self.statuses(from, to, unit),
            Metric::Achieved => Measured::of(self.completed_rps(), "no time passed"),
            Metric::Outage => Measured::of(self.outage(), "no time passed"),
            Metric::ReceivedBytes => Measured::some(self.received_bytes as f64),
            Metric::Cpu => {
                let cores =
                    (self.length_ns > 0).then(|| self.loader_cpu_ns as f64 / self.length_ns as f64);
                Measured::of(cores, "no time passed")
            }
            _ => Measured::none("this is known of the whole run only"),
        }
    }

    fn time(&self, timing: Timing, statistic: Statistic, doubts: &Doubts<'_>) -> Measured {
        let waiting = self.waiting.unpack();
        let (mut times, of_incomplete, is_service) = match timing {
            Timing::Response => (self.response.clone(), &self.incomplete_response, false),
            _ => (self.service.clone(), &self.incomplete_service, true),
        };
        let is_known = of_incomplete.count() + self.completed == times.count();
        let complete = if is_known { times.without(of_incomplete) } else { None };
        // Which of the times are of unfinished requests is not known, only that these are more.
        let others = self.completed + self.refused + self.timed_out + self.broken;
        let mut untimed = self.unfinished.saturating_sub(times.count().saturating_sub(others));
        if !is_service {
            times.merge(&waiting);
            untimed += self.shed + self.unsent;
        }
        let incomplete = times.count().saturating_sub(self.completed);
        let figure = if is_service { Figure::Service } else { Figure::Response };
        let bounds = Bounds::new(&times, incomplete, untimed).with_complete(complete);
        statistic_of(&times, statistic).of_times(statistic, &bounds, (doubts, figure))
    }

    fn statuses(&self, from: u16, to: u16, unit: Unit) -> Measured {
        if self.completed == 0 {
            return Measured::none("no response arrived");
        }
        // Older documents keep them of the whole run alone.
        if self.status.is_empty() {
            return Measured::none("the statuses of a stretch of time were not kept");
        }
        let count = self.status.range(from..=to).map(|(_, count)| *count).sum();
        share_of(count, self.ended(), unit)
    }

    fn requests(&self, tally: Tally, unit: Unit) -> Measured {
        let ended = self.ended();
        let (count, base) = match tally {
            Tally::Errors => return self.errors(unit),
            Tally::Shed => (self.shed, ended),
            Tally::TimedOut => (self.timed_out, ended),
            Tally::Refused => (self.refused, ended),
            Tally::Broken => (self.broken, ended),
            Tally::Failed => (self.failed, self.completed),
            Tally::Completed => return share_of(self.completed, ended, unit),
            Tally::Ok => return share_of(self.ok, ended, unit),
            _ => return share_of(self.sent, ended, unit),
        };
        if base == 0 {
            return Measured::none("no request ended");
        }
        share_of(count, ended, unit)
    }
}
