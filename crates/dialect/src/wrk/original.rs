//! What `--as-original` does to the figures: removes what the originals discard, and adds what they
//! invent.

use std::collections::BTreeMap;

use plimsoll_core::{Histogram, RunResult};

use super::values::{Values, bucket_width};

/// wrk2 forgets its first ten seconds.
const CALIBRATION_NS: u64 = 10_000_000_000;

/// wrk2 opens a thread's connections this far apart, and calibrates later by as much for each.
const STAGGER_NS: u64 = 5_000_000;

const SECOND_NS: u64 = 1_000_000_000;

/// What is in `all` and not in `part`, bucket by bucket. The extremes of `all` stay exact where
/// their buckets have something left, the rest stands in the middle of its bucket.
pub(super) fn difference(all: &Histogram, part: &Histogram) -> Histogram {
    let mut rest = Histogram::new();
    let (Some(min), Some(max)) = (all.min_ns(), all.max_ns()) else {
        return rest;
    };
    let mut taken = part.buckets().peekable();
    for (highest, count) in all.buckets() {
        while taken.next_if(|(other, _)| *other < highest).is_some() {}
        let taken = taken.next_if(|(other, _)| *other == highest).map_or(0, |(_, count)| count);
        let width = bucket_width(highest);
        let mut left = count.saturating_sub(taken);
        for extreme in [min, max] {
            let is_here = (highest - (width - 1)..=highest).contains(&extreme);
            if is_here && left > 0 {
                rest.record(extreme);
                left -= 1;
            }
        }
        rest.record_n((highest - width / 2).clamp(min, max), left);
    }
    rest
}

/// wrk's samples, µs: of the requests that were answered in time, and those it makes up. `interval`
/// is what a connection takes for a request on average, µs.
pub(super) fn wrk_samples(result: &RunResult, interval: Option<u64>) -> Values {
    let answered = difference(&result.latency.service, &result.by_outcome.incomplete);
    let answered = Values::of(&answered, 1000).between(0, result.plan.timeout_ns / 1000);
    match interval {
        Some(interval) if interval > 0 => corrected(&answered, interval),
        _ => answered,
    }
}

/// Adds for each value from two intervals up what requests would have taken that were sent an
/// interval apart while it was waited for: one interval less each, down to one interval. Those
/// below the smallest real value count, but wrk never looks there.
fn corrected(values: &Values, interval: u64) -> Values {
    // From the largest down: what is made up for a value is made up for those below it too.
    let mut pending: BTreeMap<u64, u64> = values.iter().collect();
    let mut done = Vec::new();
    while let Some((value, count)) = pending.pop_last() {
        done.push((value, count));
        let made_up = value.saturating_sub(interval);
        if made_up > interval {
            *pending.entry(made_up).or_insert(0) += count;
        }
    }
    let min = values.iter().next().map_or(0, |(value, _)| value);
    let below_min = done.iter().filter(|(value, _)| *value < min).map(|(_, count)| count).sum();
    done.retain(|(value, _)| *value >= min);
    done.into_iter().rev().collect::<Values>().with_blank(below_min)
}

/// When wrk2 throws its samples away, if the run is long enough; ns.
fn forgets_until_ns(result: &RunResult) -> Option<u64> {
    let per_thread = result.plan.connections / result.plan.workers.max(1);
    let calibrated_ns = CALIBRATION_NS + STAGGER_NS * u64::from(per_thread);
    (result.rate.window_ns > calibrated_ns).then_some(calibrated_ns)
}

/// Response and service times of the first ten seconds, of as many as the series has.
pub(super) fn early(result: &RunResult) -> (Histogram, Histogram) {
    let (mut response, mut service) = (Histogram::new(), Histogram::new());
    let is_early =
        |t_ns: u64| forgets_until_ns(result).is_some_and(|end| t_ns < end / SECOND_NS * SECOND_NS);
    for point in result.series.points().iter().filter(|point| is_early(point.t_ns)) {
        response.merge(&point.response.unpack());
        service.merge(&point.service.unpack());
    }
    (response, service)
}

/// wrk2's samples, ns: response and service times of the requests that were answered after the
/// first ten seconds.
pub(super) fn wrk2_samples(result: &RunResult) -> (Histogram, Histogram) {
    let (early_response, early_service) = early(result);
    let mut answered = result.by_outcome.ok.clone();
    answered.merge(&result.by_outcome.failed);
    let service = difference(&result.latency.service, &result.by_outcome.incomplete);
    (difference(&answered, &early_response), difference(&service, &early_service))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_made_up_as_wrk_does() {
        let values = |pairs: &[(u64, u64)]| pairs.iter().copied().collect::<Values>();
        for (given, want, blank) in [
            // Below two intervals: nothing.
            (vec![(1, 1), (199, 3)], vec![(1, 1), (199, 3)], 0),
            // 200 - 100 is not above an interval.
            (vec![(1, 1), (200, 3)], vec![(1, 1), (200, 3)], 0),
            (vec![(1, 1), (201, 3)], vec![(1, 1), (101, 3), (201, 3)], 0),
            (vec![(150, 1), (450, 2)], vec![(150, 3), (250, 2), (350, 2), (450, 2)], 0),
            // 250 and 150 are below the smallest.
            (vec![(300, 1), (350, 2)], vec![(300, 1), (350, 2)], 5),
        ] {
            let want = values(&want).with_blank(blank);
            assert_eq!(corrected(&values(&given), 100), want, "{given:?}");
        }
    }

    #[test]
    fn a_difference_is_taken_bucket_by_bucket() {
        let of = |pairs: &[(u64, u64)]| {
            let mut histogram = Histogram::new();
            for &(value, count) in pairs {
                histogram.record_n(value, count);
            }
            histogram
        };
        let all = of(&[(10, 5), (20, 1), (1_000_000, 4)]);
        let part = of(&[(5, 9), (10, 2), (20, 3), (1_000_100, 1)]);
        let rest: Vec<_> = difference(&all, &part).buckets().collect();
        assert_eq!(rest, [(10, 3), (1_000_447, 3)]);
        let rest = difference(&all, &part);
        assert_eq!((rest.min_ns(), rest.max_ns()), (Some(10), Some(1_000_000)));
        assert_eq!(difference(&part, &all).count(), 11);
    }
}
