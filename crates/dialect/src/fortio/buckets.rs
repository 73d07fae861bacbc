//! fortio's buckets: their ends for a plan, in which a run counts, and what was counted as fortio
//! exports it.
//!
//! A run counts exactly. The corrected times alone come from a histogram of ours: each of its
//! buckets counts at its middle, so a value within 0.1 % of an edge of fortio's may count on the
//! other side of it.

use plimsoll_core::Histogram;
use plimsoll_core::details::{Buckets, Tally};

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

impl Form<'_> {
    /// The ends of buckets in the units that are counted, for a plan: of each the greatest whole
    /// number that fortio counts in it.
    pub(super) fn ends(&self) -> Vec<i64> {
        // fortio divides, so an end that is a whole number in its unit is one here too.
        let whole = |end: f64| (end * self.unit + 1e-4).floor();
        self.scaled_ends().map(|end| whole(end) as i64).collect()
    }

    /// The ends of buckets, in fortio's unit.
    fn scaled_ends(&self) -> impl Iterator<Item = f64> {
        let ends = ENDS.iter().chain(&FURTHER_ENDS);
        ends.map(|end| end * self.resolution + self.offset)
    }
}

/// What was counted in fortio's buckets, whose ends were those of [`Form::ends`].
pub(super) fn export(counted: &Buckets, form: Form<'_>) -> Exported {
    let Some((min, max)) = counted.range() else { return Exported::default() };
    let figures = Figures {
        count: counted.count(),
        sum: counted.sum() as f64 / form.unit,
        std_dev: counted.stdev() / form.unit,
        min: min as f64 / form.unit,
        max: max as f64 / form.unit,
    };
    exported(counted.counts(), figures, form)
}

/// A histogram of ours in fortio's buckets.
pub(super) fn approximated(histogram: &Histogram, form: Form<'_>) -> Exported {
    let Some((min, max)) = histogram.min_ns().zip(histogram.max_ns()) else {
        return Exported::default();
    };
    let ends = form.ends();
    let mut counts: Vec<(usize, u64)> = Vec::new();
    for (top, count) in histogram.buckets() {
        let low = histogram.bucket_start_ns(top);
        let middle = (low + (top - low) / 2).clamp(min, max) as i64;
        let bucket = ends.partition_point(|end| *end < middle);
        match counts.last_mut() {
            Some((last, counted)) if *last == bucket => *counted += count,
            _ => counts.push((bucket, count)),
        }
    }
    let figures = Figures {
        count: histogram.count(),
        sum: histogram.sum_ns() as f64 / form.unit,
        std_dev: histogram.stdev_ns().unwrap_or_default() / form.unit,
        min: min as f64 / form.unit,
        max: max as f64 / form.unit,
    };
    exported(counts.into_iter(), figures, form)
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

/// What is known of values as a whole, in fortio's unit.
#[derive(Debug, Clone, Copy)]
struct Figures {
    count: u64,
    sum: f64,
    std_dev: f64,
    min: f64,
    max: f64,
}

/// The buckets that hold values, by their numbers and in order.
fn exported(
    counts: impl Iterator<Item = (usize, u64)>,
    figures: Figures,
    form: Form<'_>,
) -> Exported {
    let Figures { count, sum, std_dev, min, max } = figures;
    let ends: Vec<f64> = form.scaled_ends().chain([f64::INFINITY]).collect();
    let bucket = |(number, count): (usize, u64)| Bucket {
        start: if number == 0 { min } else { ends[number - 1] },
        end: ends[number],
        count,
    };
    let mut buckets: Vec<Bucket> = counts.map(bucket).collect();
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
