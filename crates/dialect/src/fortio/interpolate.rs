//! Percentiles as fortio takes them from a histogram: linear within a bucket.

use super::said::Bucket;

/// A percentile (0 to 100) of buckets that hold `count` values from `min` to `max`, and the bucket
/// it was found in.
///
/// The least value covers the first `100 / count` per cent, so the first bucket is interpolated
/// from there.
pub(super) fn percentile(
    buckets: &[Bucket],
    (min, max): (f64, f64),
    percent: f64,
) -> (f64, (f64, f64)) {
    let count: u64 = buckets.iter().map(|it| it.count).fold(0, u64::saturating_add);
    let share = |seen: u64| 100.0 * seen as f64 / count as f64;
    let mut before = share(1);
    if percent <= before {
        let first = buckets.iter().find(|it| it.count > 0);
        return (min, first.map_or((min, min), |it| (it.start, it.end)));
    }
    let mut seen = 0_u64;
    for bucket in buckets.iter().filter(|it| it.count > 0) {
        seen = seen.saturating_add(bucket.count);
        let percent_here = share(seen);
        if percent <= percent_here {
            let within = (percent - before) / (percent_here - before);
            let value = bucket.start + within * (bucket.end - bucket.start);
            return (value, (bucket.start, bucket.end));
        }
        before = percent_here;
    }
    (max, (max, max))
}
