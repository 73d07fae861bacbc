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
        while level < 100.0 && 100.0 * running as f64 / count as f64 >= level {
            // Java rounds decimal halves up; a half that binary holds as a little less is lifted.
            let share = level / 100.0 + f64::EPSILON;
            let value_ms = value_ns as f64 / NS_PER_MS;
            writeln!(
                out,
                "{value_ms:12.3} {share:2.12} {running:10} {:14.2}",
                1.0 / (1.0 - level / 100.0)
            )?;
            // Of counts beyond 2^50 the step is smaller than the level can tell.
            level = (level + step(level)).max(level.next_up());
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
        insta::assert_snapshot!(text(&histogram), @r"
               Value     Percentile TotalCount 1/(1-Percentile)

               0.040 0.000000000000        980           1.00
               0.040 0.100000000000        980           1.11
               0.040 0.200000000000        980           1.25
               0.040 0.300000000000        980           1.43
               0.040 0.400000000000        980           1.67
               0.040 0.500000000000        980           2.00
               0.040 0.550000000000        980           2.22
               0.040 0.600000000000        980           2.50
               0.040 0.650000000000        980           2.86
               0.040 0.700000000000        980           3.33
               0.040 0.750000000000        980           4.00
               0.040 0.775000000000        980           4.44
               0.040 0.800000000000        980           5.00
               0.040 0.825000000000        980           5.71
               0.040 0.850000000000        980           6.67
               0.040 0.875000000000        980           8.00
               0.040 0.887500000000        980           8.89
               0.040 0.900000000000        980          10.00
               0.040 0.912500000000        980          11.43
               0.040 0.925000000000        980          13.33
               0.040 0.937500000000        980          16.00
               0.040 0.943750000000        980          17.78
               0.040 0.950000000000        980          20.00
               0.040 0.956250000000        980          22.86
               0.040 0.962500000000        980          26.67
               0.040 0.968750000000        980          32.00
               0.040 0.971875000000        980          35.56
               0.040 0.975000000000        980          40.00
               0.040 0.978125000000        980          45.71
               1.235 0.981250000000        999          53.33
               1.235 0.984375000000        999          64.00
               1.235 0.985937500000        999          71.11
               1.235 0.987500000000        999          80.00
               1.235 0.989062500000        999          91.43
               1.235 0.990625000000        999         106.67
               1.235 0.992187500000        999         128.00
               1.235 0.992968750000        999         142.22
               1.235 0.993750000000        999         160.00
               1.235 0.994531250000        999         182.86
               1.235 0.995312500000        999         213.33
               1.235 0.996093750000        999         256.00
               1.235 0.996484375000        999         284.44
               1.235 0.996875000000        999         320.00
               1.235 0.997265625000        999         365.71
               1.235 0.997656250000        999         426.67
               1.235 0.998046875000        999         512.00
               1.235 0.998242187500        999         568.89
               1.235 0.998437500000        999         640.00
               1.235 0.998632812500        999         731.43
               1.235 0.998828125000        999         853.33
             300.155 0.999023437500       1000        1024.00
             300.155 1.000000000000       1000
        #[Mean    =        0.363, StdDeviation   =        9.482]
        #[Max     =      300.155, Total count    =         1000]
        #[Buckets =           32, SubBuckets     =         2048]
        ");
    }

    #[test]
    fn an_empty_distribution() {
        insta::assert_snapshot!(text(&Histogram::new()), @r"
               Value     Percentile TotalCount 1/(1-Percentile)

        #[Mean    =        0.000, StdDeviation   =        0.000]
        #[Max     =        0.000, Total count    =            0]
        #[Buckets =           32, SubBuckets     =         2048]
        ");
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
