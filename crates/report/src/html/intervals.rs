//! The series as a page shows it: no more intervals than fit, each with the figures to draw.
//! Neighbours are joined without loss, because their histograms are merged before a quantile is
//! taken.

use plimsoll_core::series::Point;
use plimsoll_core::{Histogram, RunResult};

/// One stretch of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Interval {
    /// From here, from the start of the measured part.
    pub(super) from_ns: u64,
    /// To here; the last one ends where the run did.
    pub(super) to_ns: u64,
    /// Requests started, per second.
    pub(super) sent_rps: f64,
    /// Responses as expected, per second.
    pub(super) ok_rps: f64,
    /// Other responses, per second.
    pub(super) failed_rps: f64,
    /// Requests that timed out or broke, per second.
    pub(super) lost_rps: f64,
    /// Requests that ended.
    pub(super) ended: u64,
    /// Median, 99th percentile and maximum of the response time; `None` when nothing ended.
    pub(super) response_ns: Option<[u64; 3]>,
    /// 99th percentile of the service time.
    pub(super) service_p99_ns: Option<u64>,
    /// CPU time of the tester per second, spinning left out.
    pub(super) cpu_cores: f64,
    /// The worst lateness of the tester.
    pub(super) lateness_max_ns: u64,
}

/// At most `most` intervals (at least one) that cover the series.
pub(super) fn thin(result: &RunResult, most: usize) -> Vec<Interval> {
    let points = result.series.points();
    let mut groups: Vec<&[Point]> =
        points.chunks(points.len().div_ceil(most.max(1)).max(1)).collect();
    join_short_end(&mut groups, points, result);
    let window_ns = result.rate.window_ns;
    groups.iter().map(|group| interval(group, end_ns(group, result), window_ns)).collect()
}

/// Where a group ends: not after the run, which may end within an interval.
fn end_ns(group: &[Point], result: &RunResult) -> u64 {
    let end_ns = group.last().map_or(0, |point| point.t_ns + point.interval_ns);
    let start_ns = group.first().map_or(0, |point| point.t_ns);
    if result.elapsed_ns > start_ns { end_ns.min(result.elapsed_ns) } else { end_ns }
}

/// A last group of less than a tenth of the usual length would show rates from a handful of
/// requests: it becomes part of the one before.
fn join_short_end<'a>(groups: &mut Vec<&'a [Point]>, points: &'a [Point], result: &RunResult) {
    let [.., before, last] = groups.as_slice() else { return };
    let length_ns = |group: &[Point]| end_ns(group, result) - group.first().map_or(0, |p| p.t_ns);
    if 10 * length_ns(last) < length_ns(before) {
        let joined = before.len() + last.len();
        groups.truncate(groups.len() - 2);
        groups.push(&points[points.len() - joined..]);
    }
}

/// Sums up a group that ends at `to_ns`. Requests were started until `window_ns` only.
fn interval(group: &[Point], to_ns: u64, window_ns: u64) -> Interval {
    let from_ns = group.first().map_or(0, |point| point.t_ns);
    let length_ns = to_ns.saturating_sub(from_ns).max(1) as f64;
    // A drain that became part of a group would make its rate of sending look low.
    let until_window_ns = window_ns.min(to_ns).saturating_sub(from_ns) as f64;
    let sending_ns = if until_window_ns > 0.9 * length_ns { until_window_ns } else { length_ns };
    let sum = |of: fn(&Point) -> u64| group.iter().map(of).sum::<u64>() as f64;
    let (mut response, mut service) = (Histogram::new(), Histogram::new());
    for point in group {
        response.merge(&point.response.unpack());
        service.merge(&point.service.unpack());
    }
    let response_ns = match [0.5, 0.99, 1.0].map(|q| response.quantile_ns(q)) {
        [Some(p50), Some(p99), Some(max)] => Some([p50, p99, max]),
        _ => None,
    };
    Interval {
        from_ns,
        to_ns,
        sent_rps: sum(|point| point.sent) * 1e9 / sending_ns,
        ok_rps: sum(|point| point.ok) * 1e9 / length_ns,
        failed_rps: sum(|point| point.failed) * 1e9 / length_ns,
        lost_rps: sum(|point| point.refused + point.timed_out + point.broken) * 1e9 / length_ns,
        ended: response.count(),
        response_ns,
        service_p99_ns: service.quantile_ns(0.99),
        cpu_cores: sum(|point| point.loader_cpu_ns) / length_ns,
        lateness_max_ns: group.iter().map(|point| point.lateness_max_ns).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn joining_keeps_counts_and_covers_the_run() {
        let result = samples::hour();
        let sent: u64 = result.series.points().iter().map(|point| point.sent).sum();
        for most in [1, 7, 100, 5_000] {
            let intervals = thin(&result, most);
            assert!(intervals.len() <= most.min(3_600));
            assert_eq!(intervals[0].from_ns, 0);
            assert_eq!(intervals.last().unwrap().to_ns, result.elapsed_ns);
            assert!(intervals.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
            let length_s = |i: &Interval| (i.to_ns - i.from_ns) as f64 / 1e9;
            let total: f64 = intervals.iter().map(|i| i.sent_rps * length_s(i)).sum();
            assert!((total - sent as f64).abs() < 1e-3);
        }
    }

    #[test]
    fn a_short_end_is_part_of_the_interval_before() {
        let mut result = samples::stall();
        let t_ns = 10_000_000_000;
        result.series.add(&Point { t_ns, interval_ns: 1_000_000_000, ok: 30, ..Point::default() });
        for (elapsed_ns, count, ok_rps) in
            [(10_030_000_000, 10, 1_000.0), (10_300_000_000, 11, 100.0), (11_000_000_000, 11, 30.0)]
        {
            result.elapsed_ns = elapsed_ns;
            let intervals = thin(&result, 600);
            assert_eq!(intervals.len(), count);
            assert!((intervals[9].sent_rps - 1_000.0).abs() < 1e-9, "the drain sends nothing");
            assert!((intervals[count - 1].ok_rps - ok_rps).abs() < 1e-9);
        }
    }

    #[test]
    fn an_empty_series_has_no_intervals() {
        assert_eq!(thin(&samples::bare(), 600), []);
    }
}
