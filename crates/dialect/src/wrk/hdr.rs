//! The HdrHistogram that wrk2 keeps, 1 µs to a day, with its arithmetic, its percentile spectrum
//! and its encodings, byte for byte what the C library makes of the same counts.
//!
//! Values are written into it once, at the end of a run, so it is plain and not fast.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::values::Values;

/// A day, in µs: what wrk2 can tell apart.
const LIMIT: u64 = 86_400_000_000;

/// Steps of the spectrum for each halving of the distance to 100 %.
const TICKS: f64 = 5.0;

/// Counts of values, in buckets that keep a number of significant digits.
#[derive(Debug, Clone)]
pub(super) struct Hdr {
    digits: u8,
    /// Buckets of one width: 2048 for three digits. A power of 2.
    sub_buckets: u64,
    /// Up to that of the largest value, and at least one.
    counts: Vec<u64>,
    total: u64,
}

/// A row of the spectrum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// The highest value of the bucket.
    pub(super) value: u64,
    /// The share of the values this row is for, 0 to 1.
    pub(super) share: f64,
    /// Values up to the end of the bucket.
    pub(super) count: u64,
}

impl Hdr {
    /// `digits` is 1 to 3.
    pub(super) fn new(digits: u8, values: &Values) -> Self {
        let single_unit = 2 * 10u64.pow(u32::from(digits));
        let sub_buckets = single_unit.next_power_of_two();
        let mut hdr = Self { digits, sub_buckets, counts: vec![0], total: 0 };
        for (value, count) in values.iter() {
            let index = hdr.index(value.min(LIMIT));
            if hdr.counts.len() <= index {
                hdr.counts.resize(index + 1, 0);
            }
            hdr.counts[index] += count;
            hdr.total += count;
        }
        hdr
    }

    fn half(&self) -> u64 {
        self.sub_buckets / 2
    }

    /// How many doublings of the first bucket reach [`LIMIT`].
    fn buckets(&self) -> u32 {
        let mut buckets = 1;
        let mut reach = self.sub_buckets - 1;
        while reach < LIMIT {
            reach <<= 1;
            buckets += 1;
        }
        buckets
    }

    fn index(&self, value: u64) -> usize {
        let doubling = (value | (self.sub_buckets - 1)).ilog2() + 1 - self.sub_buckets.ilog2();
        let index = u64::from(doubling) * self.half() + (value >> doubling);
        usize::try_from(index).expect("below 30 000")
    }

    /// The lowest value of a bucket and how many values it holds.
    fn range(&self, index: usize) -> (u64, u64) {
        let (index, half) = (index as u64, self.half());
        let doubling = (index / half).saturating_sub(1);
        ((index - doubling * half) << doubling, 1 << doubling)
    }

    fn highest(&self, index: usize) -> u64 {
        let (lowest, width) = self.range(index);
        lowest + width - 1
    }

    /// Buckets in use: the middle of their values and the count.
    fn middles(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(index, &count)| {
            let (lowest, width) = self.range(index);
            ((lowest + width / 2) as f64, count as f64)
        })
    }

    /// The lowest value of the highest bucket in use.
    pub(super) fn max(&self) -> u64 {
        self.range(self.counts.len() - 1).0
    }

    /// NaN without values.
    pub(super) fn mean(&self) -> f64 {
        self.middles().map(|(value, count)| value * count).sum::<f64>() / self.total as f64
    }

    /// Of the population. NaN without values.
    pub(super) fn stdev(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 =
            self.middles().map(|(value, count)| (value - mean).powi(2) * count).sum();
        (squares / self.total as f64).sqrt()
    }

    /// Per cent of the values in the buckets around the mean, as wrk2 counts them; 0 without any.
    pub(super) fn within_stdev(&self) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        let (mean, stdev) = (self.mean(), self.stdev());
        let (lower, upper) = ((mean - stdev) as i64, (mean + stdev) as i64);
        let (mut below, mut up_to, mut running) = (0, self.total, 0);
        for (index, count) in self.counts.iter().enumerate() {
            running += count;
            if lower > self.range(index).0.cast_signed() {
                below = running;
            }
            if upper < self.highest(index).cast_signed() {
                up_to = running;
                break;
            }
        }
        100.0 * (up_to as f64 - below as f64) / self.total as f64
    }

    /// The highest value of the bucket in which `percent` of the values are reached.
    pub(super) fn percentile(&self, percent: f64) -> u64 {
        let wanted = ((percent / 100.0 * self.total as f64 + 0.5) as u64).max(1);
        let mut running = 0;
        let found = self.counts.iter().position(|count| {
            running += count;
            running >= wanted
        });
        found.map_or(0, |index| self.highest(index))
    }

    /// The rows of the spectrum. The last is for all of the values.
    pub(super) fn spectrum(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let (mut running, mut value, mut next_percent) = (0, 0, 0.0);
        for (index, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            running += count;
            value = self.highest(index);
            let percent = 100.0 * running as f64 / self.total as f64;
            while next_percent <= percent {
                steps.push(Step { value, share: next_percent / 100.0, count: running });
                let halvings = ((100.0 / (100.0 - next_percent)).ln() / 2f64.ln()).trunc();
                next_percent += 100.0 / (TICKS * (halvings + 1.0).exp2());
                // The last bucket is left for the last row.
                if running == self.total {
                    break;
                }
            }
        }
        steps.push(Step { value, share: 1.0, count: running });
        steps
    }

    /// Writes the spectrum and its footer, in ms, as `hdr_percentiles_print` does.
    pub(super) fn write_spectrum(&self, out: &mut dyn Write) -> io::Result<()> {
        let digits = usize::from(self.digits);
        let number = |value: f64, digits: usize| {
            let text = if value.is_nan() {
                crate::units::NAN.to_owned()
            } else {
                format!("{value:.digits$}")
            };
            format!("{text:>12}")
        };
        writeln!(
            out,
            "{:>12} {:>12} {:>12} {:>12}\n",
            "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
        )?;
        for step in self.spectrum() {
            writeln!(
                out,
                "{} {:>12.6} {:>12} {:>12.2}",
                number(step.value as f64 / 1000.0, digits),
                step.share,
                step.count,
                1.0 / (1.0 - step.share),
            )?;
        }
        let [mean, stdev] = [self.mean(), self.stdev()].map(|value| number(value / 1000.0, 3));
        let max = number(self.max() as f64 / 1000.0, 3);
        writeln!(out, "#[Mean    = {mean}, StdDeviation   = {stdev}]")?;
        writeln!(out, "#[Max     = {max}, Total count    = {:>12}]", self.total)?;
        writeln!(
            out,
            "#[Buckets = {:>12}, SubBuckets     = {:>12}]",
            self.buckets(),
            self.sub_buckets
        )
    }

    /// HdrHistogram's encoding, version 1 or 2, compressed, base64.
    pub(super) fn encoded(&self, is_v1: bool) -> String {
        let (cookie, compressed_cookie, payload) = if is_v1 {
            (0x1c84_9381u32, 0x1c84_9382u32, self.payload_v1())
        } else {
            (0x1c84_9313, 0x1c84_9314, self.payload_v2())
        };
        let length = |bytes: usize| u32::try_from(bytes).expect("below a MiB").to_be_bytes();
        let mut plain = Vec::new();
        plain.extend(cookie.to_be_bytes());
        plain.extend(length(payload.len()));
        // The offset of normalised indices.
        plain.extend(0u32.to_be_bytes());
        plain.extend(u32::from(self.digits).to_be_bytes());
        plain.extend(1u64.to_be_bytes());
        plain.extend(LIMIT.to_be_bytes());
        plain.extend(1f64.to_be_bytes());
        plain.extend(payload);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        let compressed = encoder
            .write_all(&plain)
            .and_then(|()| encoder.finish())
            .expect("writing to memory cannot fail");
        let head = [compressed_cookie.to_be_bytes(), length(compressed.len())].concat();
        BASE64.encode([head, compressed].concat())
    }

    /// Each count in eight bytes.
    fn payload_v1(&self) -> Vec<u8> {
        self.counts.iter().flat_map(|count| count.to_be_bytes()).collect()
    }

    /// Each count, and each run of zeros as its length below 0, as ZigZag LEB128.
    fn payload_v2(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        for run in self.counts.chunk_by(|a, b| *a == 0 && *b == 0) {
            // A run of n zeros is -n, whose ZigZag is 2n - 1.
            let mut rest = if run[0] == 0 { 2 * run.len() as u64 - 1 } else { run[0] * 2 };
            while rest > 0x7f {
                payload.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            payload.push(rest as u8);
        }
        payload
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;

    use super::*;

    fn of(digits: u8, values: &[(u64, u64)]) -> Hdr {
        Hdr::new(digits, &values.iter().copied().collect())
    }

    const SAMPLE: [(u64, u64); 8] =
        [(0, 1), (1, 2), (2047, 3), (2048, 4), (4095, 5), (4096, 6), (12_503, 7), (LIMIT, 1)];

    #[test]
    fn buckets_are_those_of_hdrhistogram() {
        for digits in 1..=3 {
            let peer = Histogram::<u64>::new_with_bounds(1, LIMIT, digits).expect("valid bounds");
            let hdr = of(digits, &[]);
            for value in (0..5000).chain((13..37).map(|shift| (1 << shift) + (1 << shift) / 3)) {
                let index = hdr.index(value);
                let (lowest, width) = hdr.range(index);
                assert_eq!(lowest, peer.lowest_equivalent(value), "{digits} digits, {value}");
                assert_eq!(lowest + width - 1, peer.highest_equivalent(value), "{digits}, {value}");
                assert_eq!(hdr.index(lowest), index);
            }
        }
        let [one, two, three] = [1, 2, 3].map(|digits| of(digits, &[]));
        assert_eq!((three.buckets(), three.sub_buckets), (27, 2048));
        assert_eq!((two.sub_buckets, one.sub_buckets), (256, 32));
    }

    #[test]
    fn the_second_encoding_is_read_by_hdrhistogram() {
        for digits in 1..=3 {
            let hdr = of(digits, &SAMPLE);
            let bytes = BASE64.decode(hdr.encoded(false)).expect("base64");
            let peer: Histogram<u64> =
                Deserializer::new().deserialize(&mut io::Cursor::new(bytes)).expect("decodes");
            assert_eq!((peer.len(), peer.sigfig(), peer.high()), (hdr.total, digits, LIMIT));
            for (value, _) in SAMPLE {
                assert_eq!(peer.count_at(value), hdr.counts[hdr.index(value)], "{value}");
            }
        }
    }

    #[test]
    fn the_first_encoding_has_its_layout() {
        let hdr = of(2, &SAMPLE);
        let text = hdr.encoded(true);
        assert!(text.starts_with("HISTgg"), "{text}");
        let bytes = BASE64.decode(text).expect("base64");
        let word = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
        assert_eq!(word(&bytes[4..8]) as usize, bytes.len() - 8);
        let mut plain = Vec::new();
        let mut decoder = flate2::write::ZlibDecoder::new(&mut plain);
        decoder.write_all(&bytes[8..]).and_then(|()| decoder.finish().map(|_| ())).expect("zlib");
        assert_eq!(word(&plain[..4]), 0x1c84_9381);
        assert_eq!(word(&plain[4..8]) as usize, 8 * hdr.counts.len());
        assert_eq!(plain.len(), 40 + 8 * hdr.counts.len());
        assert_eq!(word(&plain[12..16]), 2);
        let counts: Vec<u64> = plain[40..]
            .chunks(8)
            .map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")))
            .collect();
        assert_eq!(counts, hdr.counts);
        assert!(of(3, &[]).encoded(true).starts_with("HISTgg"));
    }

    #[test]
    fn arithmetic_is_that_of_the_c_library() {
        // 10 values of 100 and 10 of 300: nothing to round.
        let hdr = of(3, &[(100, 10), (300, 10)]);
        assert_eq!((hdr.mean(), hdr.stdev(), hdr.max()), (200.0, 100.0, 300));
        assert_eq!([0.0, 50.0, 50.1, 100.0].map(|p| hdr.percentile(p)), [100, 100, 100, 300]);
        assert_eq!(hdr.percentile(55.0), 300);
        // 300 is not above the bucket of 300: everything is within.
        assert_eq!(hdr.within_stdev(), 100.0);
        // A bucket's values are 12496 to 12503, its middle 12500.
        let wide = of(3, &[(12_503, 1)]);
        assert_eq!((wide.mean(), wide.max(), wide.percentile(99.0)), (12_500.0, 12_496, 12_503));
        let none = of(3, &[]);
        assert!(none.mean().is_nan() && none.stdev().is_nan());
        assert_eq!((none.within_stdev(), none.max(), none.percentile(50.0)), (0.0, 0, 0));
    }

    #[test]
    fn the_spectrum_halves_its_steps() {
        let rows = |values: &[(u64, u64)]| -> Vec<(u64, u64, u64)> {
            let steps = of(3, values).spectrum();
            steps.iter().map(|s| (s.value, (s.share * 1e6).round() as u64, s.count)).collect()
        };
        assert_eq!(rows(&[]), [(0, 1_000_000, 0)]);
        assert_eq!(rows(&[(7, 1)]), [(7, 0, 1), (7, 1_000_000, 1)]);
        // Six of ten: the steps of 10 % to 50 % and of 5 % behind them.
        assert_eq!(
            rows(&[(7, 6), (9, 4)]),
            [
                (7, 0, 6),
                (7, 100_000, 6),
                (7, 200_000, 6),
                (7, 300_000, 6),
                (7, 400_000, 6),
                (7, 500_000, 6),
                (7, 550_000, 6),
                (7, 600_000, 6),
                (9, 650_000, 10),
                (9, 1_000_000, 10),
            ]
        );
    }
}
