//! Finds figures that mix different things: a start unlike the rest, connections or addresses that
//! were not served alike, failures that took longer or shorter than good responses.

use super::{Cause, Evidence, Verdict, cause, note, percent, share};
use crate::histogram::Histogram;
use crate::part::Part;
use crate::series::{Point, Series};
use crate::units::{counted, format_count, format_duration, format_ns};

/// How the service time settled after a start unlike the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settling {
    /// When it had settled, ns from the start of the measured part.
    pub until_ns: u64,
    /// Service times of requests that ended before.
    pub head: u64,
    /// Those of the rest.
    pub rest: u64,
    /// Median service time of the first interval, ns.
    pub head_p50_ns: u64,
    /// Median of the medians of the intervals once settled, ns.
    pub rest_p50_ns: u64,
}

/// With fewer intervals there is no telling a start from a rest.
const INTERVALS_MIN: usize = 5;
/// An interval with fewer requests has no median worth the name.
const INTERVAL_REQUESTS_MIN: u64 = 10;
/// Of a long run, the check looks at every one of the first intervals, and at this many in all.
const INTERVALS_ALL: usize = 60;
const INTERVALS_MAX: usize = 240;
/// How many times longer or shorter than the rest's the median of an interval has to be.
const SETTLING_FACTOR: f64 = 2.0;
/// And by how many standard deviations of the rest's medians, as estimated by their median
/// absolute deviation.
const SETTLING_DEVIATIONS: f64 = 6.0;
/// What the median absolute deviation of normal values is multiplied with to estimate their
/// standard deviation.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// The rest is steady when this share of its intervals is within the factor.
const STEADY_SHARE: f64 = 0.9;
/// From one request in a thousand on, a start is seen in the quantiles.
const HEAD_SHARE: f64 = 0.001;

struct Interval {
    t_ns: u64,
    p50_ns: u64,
    count: u64,
}

/// Whether the service time settled: the intervals of the beginning, one or more and no more than
/// half, have medians far from those of the rest, and the rest is steady. Far is beyond a factor
/// and beyond the rest's own scatter, both measured with medians, so that single odd intervals, in
/// the beginning or in the rest, decide nothing. For a load that was the same all along.
#[must_use]
pub fn settling(series: &Series) -> Option<Settling> {
    let intervals = intervals(series.points());
    if intervals.len() < INTERVALS_MIN {
        return None;
    }
    let medians: Vec<f64> = intervals.iter().map(|interval| interval.p50_ns as f64).collect();
    let second_half = &medians[medians.len() / 2..];
    let rest_p50_ns = median(second_half);
    let deviations: Vec<f64> =
        second_half.iter().map(|median_ns| (median_ns - rest_p50_ns).abs()).collect();
    let scatter_ns = SETTLING_DEVIATIONS * MAD_TO_DEVIATION * median(&deviations);
    let within_factor = |&median_ns: &f64| {
        median_ns < SETTLING_FACTOR * rest_p50_ns && rest_p50_ns < SETTLING_FACTOR * median_ns
    };
    let far =
        |median_ns: &f64| !within_factor(median_ns) && (median_ns - rest_p50_ns).abs() > scatter_ns;
    let settled = medians.iter().take_while(|median_ns| far(median_ns)).count();
    let rest = &medians[settled..];
    let steady = rest.iter().filter(|median_ns| within_factor(median_ns)).count() as u64;
    if settled == 0
        || settled > medians.len() / 2
        || share(steady, rest.len() as u64) < STEADY_SHARE
    {
        return None;
    }
    let all: u64 = series.points().iter().map(ended).sum();
    let head = intervals[..settled].iter().map(|interval| interval.count).sum();
    Some(Settling {
        until_ns: intervals[settled].t_ns,
        head,
        rest: all.saturating_sub(head),
        head_p50_ns: intervals[0].p50_ns,
        rest_p50_ns: rest_p50_ns as u64,
    })
}

/// Requests that ended in an interval.
fn ended(point: &Point) -> u64 {
    point.completed + point.refused + point.timed_out + point.broken
}

/// The intervals that have a median, without the last: it is shorter than the others, or the drain.
fn intervals(points: &[Point]) -> Vec<Interval> {
    let whole = &points[..points.len().saturating_sub(1)];
    let step = whole.len().div_ceil(INTERVALS_MAX).max(1);
    whole
        .iter()
        .enumerate()
        .filter(|(index, _)| *index < INTERVALS_ALL || index % step == 0)
        .filter_map(|(_, point)| {
            let service = point.service.unpack();
            let count = service.count();
            let p50_ns = service.quantile_ns(0.5)?;
            (count >= INTERVAL_REQUESTS_MIN).then_some(Interval { t_ns: point.t_ns, p50_ns, count })
        })
        .collect()
}

/// The upper of the two in the middle where their number is even.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

pub(super) fn nonstationary(e: &Evidence) -> Option<Cause> {
    let settling = e.settling?;
    if share(settling.head, settling.head + settling.rest) < HEAD_SHARE {
        return None;
    }
    let text = format!(
        "the first {} were unlike the rest: median service time {}, then {}: leave them out with \
         --warmup {}",
        format_duration(settling.until_ns),
        format_ns(settling.head_p50_ns),
        format_ns(settling.rest_p50_ns),
        format_duration(e.warmup_ns + settling.until_ns),
    );
    cause(Verdict::Suspect, "nonstationary", text)
}

/// From this factor on a note says that connections or addresses are not served alike.
const SKEW_NOTE: f64 = 1.5;
/// From this one on, the figures are of two things.
const SKEW_SUSPECT: f64 = 3.0;
/// With fewer requests on the fastest connection, chance makes such factors.
const SERVED_MIN: u64 = 200;
/// With fewer answers from an address its median says little.
const ADDRESS_MIN: u64 = 100;

/// Suspect or a note, by the factor.
fn skew(factor: f64, code: &str, text: String) -> Option<Cause> {
    if factor >= SKEW_SUSPECT {
        cause(Verdict::Suspect, code, text)
    } else if factor >= SKEW_NOTE {
        note(code, text)
    } else {
        None
    }
}

/// In a closed loop a connection's requests are as many as it was served fast. At a rate they are
/// as many as it was given, which says nothing.
pub(super) fn skew_connections(e: &Evidence) -> Option<Cause> {
    let (min, median, max) = (e.served.min()?, e.served.median()?, e.served.max()?);
    if e.open_loop || e.served.connections() < 2 || max < SERVED_MIN {
        return None;
    }
    let factor = (max as f64 / median as f64).max(median as f64 / min.max(1) as f64);
    let text = format!(
        "connections differ: {} on the slowest, {} on the middle one, {} on the fastest: look \
         how the server spreads them over its threads; in a closed loop the fast ones outweigh the \
         slow in every quantile",
        counted(min, "request"),
        format_count(median),
        format_count(max),
    );
    skew(factor, "skew_connections", text)
}

/// What is known of one address of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressFacts {
    /// The address.
    pub name: String,
    /// Requests sent to it.
    pub sent: u64,
    /// Responses from it.
    pub completed: u64,
    /// Median service time, ns.
    pub service_p50_ns: u64,
}

impl AddressFacts {
    /// Takes them from the address's part of a result.
    #[must_use]
    pub fn of(part: &Part) -> Self {
        let p50_ns = |service: &Histogram| service.quantile_ns(0.5).unwrap_or(0);
        Self {
            name: part.name.clone(),
            sent: part.ledger.sent,
            completed: part.ledger.completed,
            service_p50_ns: p50_ns(&part.service),
        }
    }
}

/// One address slower than another or, at a rate, with fewer requests: there they are spread by
/// connections, so one that got few could not be reached for a time.
pub(super) fn skew_addresses(e: &Evidence) -> Option<Cause> {
    let worst = [slow_address(e), idle_address(e)].into_iter().flatten();
    worst.max_by_key(|cause| cause.verdict)
}

fn slow_address(e: &Evidence) -> Option<Cause> {
    let answering: Vec<&AddressFacts> =
        e.addresses.iter().filter(|address| address.completed >= ADDRESS_MIN).collect();
    let fast = answering.iter().min_by_key(|address| address.service_p50_ns)?;
    let slow = answering.iter().max_by_key(|address| address.service_p50_ns)?;
    let factor = slow.service_p50_ns as f64 / fast.service_p50_ns.max(1) as f64;
    let text = format!(
        "the addresses did not answer alike: median service time {} at {}, {} at {}: read each by \
         itself, the figures of all are a mixture",
        format_ns(fast.service_p50_ns),
        fast.name,
        format_ns(slow.service_p50_ns),
        slow.name,
    );
    skew(factor, "skew_addresses", text)
}

fn idle_address(e: &Evidence) -> Option<Cause> {
    let least = e.addresses.iter().min_by_key(|address| address.sent)?;
    let total: u64 = e.addresses.iter().map(|address| address.sent).sum();
    let even = total as f64 / e.addresses.len() as f64;
    let factor = even / least.sent.max(1) as f64;
    let text = format!(
        "{} was sent {} of {} requests, where an even share is {even:.0}: see whether it could be \
         reached all the time",
        least.name,
        format_count(least.sent),
        format_count(total),
    );
    (e.open_loop && total >= ADDRESS_MIN).then(|| skew(factor, "skew_addresses", text))?
}

/// How good responses and failed ones compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Good ones.
    pub ok: u64,
    /// Failed ones.
    pub failed: u64,
    /// Median response time of the good ones, ns.
    pub ok_p50_ns: u64,
    /// Median response time of the failed ones, ns.
    pub failed_p50_ns: u64,
}

/// With fewer of either, the other's quantiles are hardly touched.
const OUTCOME_SHARE: f64 = 0.01;
/// With fewer there is no median worth the name.
const OUTCOME_MIN: u64 = 10;
/// How many times longer or shorter the median of one has to be.
const OUTCOME_FACTOR: u64 = 2;

/// Fast failures flatter the latency of all, slow ones spoil it.
pub(super) fn mixed_outcomes(e: &Evidence) -> Option<Cause> {
    let Outcomes { ok, failed, ok_p50_ns, failed_p50_ns } = e.outcomes;
    let fewer = ok.min(failed);
    let is_apart = ok_p50_ns.max(failed_p50_ns) >= OUTCOME_FACTOR * ok_p50_ns.min(failed_p50_ns);
    if fewer < OUTCOME_MIN || share(fewer, ok + failed) < OUTCOME_SHARE || !is_apart {
        return None;
    }
    note(
        "mixed_outcomes",
        format!(
            "{} of the responses failed and took another time: ok p50 {}, failed p50 {}: the \
             latency of all is of both, see the ok ones by themselves",
            percent(share(failed, ok + failed)),
            format_ns(ok_p50_ns),
            format_ns(failed_p50_ns),
        ),
    )
}
