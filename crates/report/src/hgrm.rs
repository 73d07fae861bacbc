//! The percentile distribution as HdrHistogram prints it, for its plotters and for scripts that
//! read it (`.hgrm`).
//!
//! The form is that of HdrHistogram's own `outputPercentileDistribution` (Java: twelve digits of
//! percentile, a last line without its reciprocal), five ticks for each halving of the distance to
//! 100 %, values in ms. It is byte for byte what HdrHistogram prints for the `hdr` string of the
//! same histogram, so mean, deviation and maximum are those of buckets, within 0.1 % of the exact
//! ones in the other views. wrk2's form differs in its widths; plotters read both.

use std::io::{self, Write};

use plimsoll_core::histogram::LIMIT_NS;
use plimsoll_core::{Histogram, RunResult};

use crate::Clock;

const TICKS_PER_HALF_DISTANCE: f64 = 5.0;

/// What [`Histogram`] is made of: buckets of this many parts, the first one 1 ns wide each.
const SUB_BUCKETS: u64 = 2048;

const NS_PER_MS: f64 = 1e6;

/// Writes the distribution of one clock.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, clock: Clock, out: &mut dyn Write) -> io::Result<()> {
    distribution(clock.histogram(result), out)
}

fn distribution(histogram: &Histogram, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let (count, mut running) = (histogram.count(), 0);
    let (mut level, mut last_ns) = (0.0, 0);
    for (value_ns, here) in histogram.buckets() {
        running += here;
        last_ns = value_ns;
        while 100.0 * running as f64 / count as f64 >= level {
            let share = level / 100.0;
            let value_ms = value_ns as f64 / NS_PER_MS;
            writeln!(
                out,
                "{value_ms:12.3} {share:2.12} {running:10} {:14.2}",
                1.0 / (1.0 - share)
            )?;
            level += step(level);
            if running == count {
                break;
            }
        }
    }
    if count > 0 {
        writeln!(out, "{:12.3} {:2.12} {count:10}", last_ns as f64 / NS_PER_MS, 1.0)?;
    }
    let (mean_ms, deviation_ms) = moments_ms(histogram);
    writeln!(out, "#[Mean    = {mean_ms:12.3}, StdDeviation   = {deviation_ms:12.3}]")?;
    writeln!(out, "#[Max     = {:12.3}, Total count    = {count:12}]", last_ns as f64 / NS_PER_MS)?;
    writeln!(out, "#[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]", bucket_count())
}

/// From one percentile to the next: a fifth of the stretch in which the distance to 100 halves.
fn step(level: f64) -> f64 {
    let halvings = ((100.0 / (100.0 - level)).ln() / 2f64.ln()).trunc() + 1.0;
    100.0 / (TICKS_PER_HALF_DISTANCE * halvings.exp2())
}

fn bucket_count() -> u32 {
    (LIMIT_NS / SUB_BUCKETS).ilog2() + 2
}

/// The middle of the bucket whose highest value is given.
fn middle_ns(highest_ns: u64) -> u64 {
    let width = 1 << (highest_ns / SUB_BUCKETS).checked_ilog2().map_or(0, |power| power + 1);
    highest_ns + 1 - width + width / 2
}

fn moments_ms(histogram: &Histogram) -> (f64, f64) {
    let count = histogram.count() as f64;
    if count == 0.0 {
        return (0.0, 0.0);
    }
    let middles = || histogram.buckets().map(|(ns, n)| (middle_ns(ns) as f64, n as f64));
    let mean = middles().map(|(middle, n)| middle * n).sum::<f64>() / count;
    let variance = middles().map(|(middle, n)| (middle - mean).powi(2) * n).sum::<f64>() / count;
    (mean / NS_PER_MS, variance.sqrt() / NS_PER_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(histogram: &Histogram) -> String {
        let mut bytes = Vec::new();
        distribution(histogram, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_distribution() {
        let mut histogram = Histogram::new();
        histogram.record_n(40_000, 980);
        histogram.record_n(1_234_567, 19);
        histogram.record(300_000_000);
        insta::assert_snapshot!(text(&histogram), @"");
    }

    #[test]
    fn an_empty_distribution() {
        insta::assert_snapshot!(text(&Histogram::new()), @"");
    }

    #[test]
    fn the_middle_of_a_bucket() {
        for (highest_ns, middle) in
            [(0, 0), (2_047, 2_047), (2_049, 2_049), (4_095, 4_095), (4_099, 4_098)]
        {
            assert_eq!(middle_ns(highest_ns), middle, "{highest_ns}");
        }
    }

    #[test]
    fn extremes_end() {
        let mut histogram = Histogram::new();
        histogram.record_n(1, u64::MAX >> 1);
        histogram.record(u64::MAX);
        let lines = text(&histogram).lines().count();
        assert!(lines < 400, "{lines}");
    }
}
