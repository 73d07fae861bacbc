//! fortio's buckets from a histogram of ours.
//!
//! Minimum, maximum, sum and count of ours are exact. Each of its buckets counts at its middle, so
//! a value within 0.1 % of an edge of fortio's may count on the other side of it, and deviations
//! are within 0.1 %.

use plimsoll_core::Histogram;
use plimsoll_core::details::Tally;

use super::interpolate::percentile;
use super::result::{Exported, Percentile, Row};
use super::said::Bucket;

/// The ends of buckets, as multiples of the resolution. A value belongs to the bucket whose end is
/// the first that it does not exceed; the last bucket has no end.
const ENDS: [f64; 51] = [
    0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 14.0, 16.0, 18.0, 20.0,
    25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 120.0, 140.0, 160.0, 180.0,
    200.0, 250.0, 300.0, 350.0, 400.0, 450.0, 500.0, 600.0, 700.0, 800.0, 900.0, 1000.0, 2000.0,
    3000.0, 4000.0, 5000.0, 7500.0, 10_000.0, 20_000.0,
];
const FURTHER_ENDS: [f64; 5] = [30_000.0, 40_000.0, 50_000.0, 75_000.0, 100_000.0];

/// How a histogram is exported.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<'a> {
    /// How many of the histogram's units are one of fortio's: 1e9 for times in seconds.
    pub unit: f64,
    /// Width of the first buckets, in fortio's unit.
    pub resolution: f64,
    /// The least value, in fortio's unit.
    pub offset: f64,
    /// Percentiles to compute.
    pub percentiles: &'a [f64],
}

/// A histogram in fortio's buckets.
pub(super) fn export(histogram: &Histogram, form: Form<'_>) -> Exported {
    let values = histogram.buckets().map(|(top, count)| {
        let low = histogram.bucket_start_ns(top);
        (low + (top - low) / 2, count)
    });
    let Some((min, max)) = histogram.min_ns().zip(histogram.max_ns()) else {
        return Exported::default();
    };
    let scaled = |value: u64| value as f64 / form.unit;
    let values = values.map(|(value, count)| (scaled(value.clamp(min, max)), count));
    let sum = scaled(histogram.sum_ns());
    let count = histogram.count();
    let std_dev = histogram.stdev_ns().unwrap_or_default() / form.unit;
    let range = (scaled(min), scaled(max));
    exported(values, (count, sum, std_dev), range, form)
}

/// Times that lie before and after a moment, as positive and negative values in one histogram.
pub(super) fn export_signed(ahead: &Histogram, behind: &Histogram, form: Form<'_>) -> Exported {
    let signed = |sign: f64, (value, count): (u64, u64)| (sign * value as f64 / form.unit, count);
    let below = behind.buckets().map(|bucket| signed(-1.0, bucket));
    let mut values: Vec<(f64, u64)> = below.collect();
    values.reverse();
    values.extend(ahead.buckets().map(|bucket| signed(1.0, bucket)));
    let count = ahead.count() + behind.count();
    if count == 0 {
        return Exported::default();
    }
    let exact = |value: Option<u64>, sign: f64| value.map(|value| sign * value as f64 / form.unit);
    let min = exact(behind.max_ns(), -1.0).or_else(|| exact(ahead.min_ns(), 1.0));
    let max = exact(ahead.max_ns(), 1.0).or_else(|| exact(behind.min_ns(), -1.0));
    let range = (min.unwrap_or_default(), max.unwrap_or_default());
    let sum = (ahead.sum_ns() as f64 - behind.sum_ns() as f64) / form.unit;
    let mean = sum / count as f64;
    let squares = values.iter().map(|(value, count)| (value - mean).powi(2) * *count as f64);
    let std_dev = (squares.sum::<f64>() / count as f64).sqrt();
    exported(values.into_iter(), (count, sum, std_dev), range, form)
}

/// The line of a tally, in seconds.
pub(super) fn counted(tally: &Tally) -> Exported {
    if tally.count == 0 {
        return Exported::default();
    }
    let s = |ns: u64| ns as f64 / 1e9;
    let mean_ns = tally.sum_ns as f64 / tally.count as f64;
    let variance = tally.sum_of_squares / tally.count as f64 - mean_ns * mean_ns;
    Exported {
        count: tally.count as i64,
        min: s(tally.min_ns),
        max: s(tally.max_ns),
        sum: s(tally.sum_ns),
        avg: mean_ns / 1e9,
        std_dev: variance.max(0.0).sqrt() / 1e9,
        ..Exported::default()
    }
}

/// Values in order, in fortio's buckets.
fn exported(
    values: impl Iterator<Item = (f64, u64)>,
    (count, sum, std_dev): (u64, f64, f64),
    (min, max): (f64, f64),
    form: Form<'_>,
) -> Exported {
    let ends: Vec<f64> = ENDS
        .iter()
        .chain(&FURTHER_ENDS)
        .map(|end| end * form.resolution + form.offset)
        .chain([f64::INFINITY])
        .collect();
    let mut buckets: Vec<Bucket> = Vec::new();
    let mut at = None;
    for (value, count) in values {
        let bucket = ends.partition_point(|end| *end < value);
        if at == Some(bucket) {
            if let Some(last) = buckets.last_mut() {
                last.count += count;
            }
            continue;
        }
        at = Some(bucket);
        let start = if bucket == 0 { min } else { ends[bucket - 1] };
        buckets.push(Bucket { start, end: ends[bucket], count });
    }
    if let Some(first) = buckets.first_mut() {
        first.start = min;
    }
    if let Some(last) = buckets.last_mut() {
        last.end = max;
    }
    let mut seen = 0;
    let row = |bucket: &Bucket| {
        seen += bucket.count;
        Row {
            start: bucket.start,
            end: bucket.end,
            percent: 100.0 * seen as f64 / count as f64,
            count: bucket.count as i64,
        }
    };
    let data = buckets.iter().map(row).collect();
    let at = |percent: &f64| Percentile {
        percentile: *percent,
        value: percentile(&buckets, (min, max), *percent).0,
    };
    Exported {
        count: count as i64,
        min,
        max,
        sum,
        avg: sum / count as f64,
        std_dev,
        data: Some(data),
        percentiles: form.percentiles.iter().map(at).collect(),
    }
}
