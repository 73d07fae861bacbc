//! Histograms of durations: HdrHistogram in nanoseconds, three significant digits, up to an hour,
//! beside an exact minimum, maximum and sum.
//!
//! Buckets are those of Gil Tene's HdrHistogram, so any HdrHistogram library decodes the `hdr`
//! string of a result. Nothing is clamped silently: a value beyond an hour goes into the last
//! bucket, is exact in the maximum, and is counted in [`Histogram::beyond_hour`].
//!
//! Absent on purpose: any correction for coordinated omission. The engine measures from the
//! intended time, so there is nothing to synthesise.

mod coded;

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{
    Deserializer, Serializer as _, V2DeflateSerializer, V2Serializer,
};
use serde::{Deserialize, Serialize};

/// The longest duration a bucket tells apart: one hour, in ns.
pub const LIMIT_NS: u64 = 3_600_000_000_000;

const SIGNIFICANT_DIGITS: u8 = 3;

/// The most values that a histogram of a document may hold: beyond it numbers of JSON are not
/// exact. Sums of as many documents as are ever read together can still be written.
const DOCUMENT_COUNT_MAX: u64 = 1 << 53;

/// The quantiles every result document holds.
pub const QUANTILES: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// Durations, counted. Recording allocates nothing.
#[derive(Clone, PartialEq)]
pub struct Histogram {
    buckets: Hdr<u64>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    beyond_hour: u64,
}

/// Without the buckets, of which there are tens of thousands.
impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("min_ns", &self.min_ns())
            .field("max_ns", &self.max_ns())
            .finish_non_exhaustive()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram: about 264 KiB, all of it resident at once.
    ///
    /// # Panics
    /// Never: the bounds are constants that HdrHistogram accepts.
    #[must_use]
    pub fn new() -> Self {
        let buckets = Hdr::new_with_bounds(1, LIMIT_NS, SIGNIFICANT_DIGITS)
            .expect("constant bounds are valid");
        Self { buckets, min_ns: u64::MAX, max_ns: 0, sum_ns: 0, beyond_hour: 0 }
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Counts the same duration `n` times.
    #[inline]
    pub fn record_n(&mut self, value_ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        if value_ns > LIMIT_NS {
            self.beyond_hour += n;
        }
        self.buckets.saturating_record_n(value_ns, n);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        self.sum_ns = self.sum_ns.saturating_add(value_ns.saturating_mul(n));
    }

    /// The least duration that counts in the same bucket as `value_ns`.
    #[must_use]
    pub fn bucket_start_ns(&self, value_ns: u64) -> u64 {
        self.buckets.lowest_equivalent(value_ns.min(LIMIT_NS))
    }

    /// How many durations were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// How many of the durations were longer than an hour.
    #[must_use]
    pub fn beyond_hour(&self) -> u64 {
        self.beyond_hour
    }

    /// The exact minimum; `None` when empty.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// The exact maximum; `None` when empty.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The exact mean; `None` when empty.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The standard deviation of the population, from bucket midpoints; `None` when empty.
    #[must_use]
    pub fn stdev_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.buckets.stdev())
    }

    /// The sum of all durations, ns; saturates at 584 years.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The smallest value that at least the share `q` (0 to 1) of the durations does not exceed,
    /// within 0.1 %; never outside the exact minimum and maximum. `None` when empty.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        if q >= 1.0 {
            return Some(self.max_ns);
        }
        Some(self.buckets.value_at_quantile(q).clamp(self.min_ns, self.max_ns))
    }

    /// How many durations are at or below `value_ns`, to the precision of a bucket.
    #[must_use]
    pub fn count_at_most(&self, value_ns: u64) -> u64 {
        self.buckets.count_between(0, value_ns.min(LIMIT_NS))
    }

    /// Adds all of `other`. Lossless, associative and commutative.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.buckets.add(&other.buckets).expect("all histograms have the same bounds");
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.beyond_hour += other.beyond_hour;
    }

    /// What is left without the durations of `part`, to the precision of a bucket; `None` if they
    /// are not all in here.
    #[must_use]
    pub fn without(&self, part: &Self) -> Option<Self> {
        let mut rest = Self::new();
        let mut taken = part.buckets().peekable();
        for (value_ns, count) in self.buckets() {
            let of_part = taken.next_if(|(part_ns, _)| *part_ns == value_ns);
            rest.record_n(value_ns, count.checked_sub(of_part.map_or(0, |(_, count)| count))?);
        }
        taken.next().is_none().then_some(rest)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.buckets.reset();
        self.min_ns = u64::MAX;
        self.max_ns = 0;
        self.sum_ns = 0;
        self.beyond_hour = 0;
    }

    /// The buckets that hold something, ascending: the highest value of the bucket in ns, and how
    /// many durations it holds.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter_recorded().map(|b| (b.value_iterated_to(), b.count_at_value()))
    }

    /// The percentile spectrum as HdrHistogram prints it: (value ns, quantile, running count),
    /// with `ticks` steps for each halving of the distance to 1.
    pub fn spectrum(&self, ticks: u32) -> Vec<(u64, f64, u64)> {
        let mut running = 0;
        self.buckets
            .iter_quantiles(ticks)
            .map(|step| {
                running += step.count_since_last_iteration();
                let value_ns = step.value_iterated_to().clamp(self.min_ns, self.max_ns);
                (value_ns, step.quantile_iterated_to(), running)
            })
            .collect()
    }

    /// HdrHistogram's V2 encoding, compressed, base64: `HISTF…`.
    #[must_use]
    pub fn to_hdr(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.buckets, &mut bytes)
            .expect("writing to memory cannot fail");
        BASE64.encode(bytes)
    }

    /// The same counts in a few bytes for each bucket in use.
    #[must_use]
    pub fn pack(&self) -> Packed {
        if self.is_empty() {
            return Packed::default();
        }
        let mut v2 = Vec::new();
        V2Serializer::new()
            .serialize(&self.buckets, &mut v2)
            .expect("writing to memory cannot fail");
        v2.shrink_to_fit();
        Packed {
            v2,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            sum_ns: self.sum_ns,
            beyond_hour: self.beyond_hour,
        }
    }

    /// A histogram with the bounds of all of ours, filled from one that was decoded.
    fn from_decoded(decoded: &Hdr<u64>) -> Self {
        let mut histogram = Self::new();
        for bucket in decoded.iter_recorded() {
            let value_ns = bucket.value_iterated_to();
            histogram.record_n(value_ns, bucket.count_at_value());
        }
        histogram
    }
}

/// A histogram at rest: some hundred bytes for a second's worth of durations. What a series keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packed {
    v2: Vec<u8>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    beyond_hour: u64,
}

impl Packed {
    /// The histogram again, exactly.
    ///
    /// # Panics
    /// Never: the bytes were written by [`Histogram::pack`].
    #[must_use]
    pub fn unpack(&self) -> Histogram {
        if self.v2.is_empty() {
            return Histogram::new();
        }
        let decoded: Hdr<u64> = Deserializer::new()
            .deserialize(&mut Cursor::new(&self.v2))
            .expect("bytes written by pack decode");
        Histogram {
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            sum_ns: self.sum_ns,
            beyond_hour: self.beyond_hour,
            ..Histogram::from_decoded(&decoded)
        }
    }

    /// Whether there is no value in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.v2.is_empty()
    }

    /// How many durations it holds.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.unpack().count()
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.v2.is_empty() {
            return;
        }
        if self.v2.is_empty() {
            self.clone_from(other);
            return;
        }
        let mut sum = self.unpack();
        sum.merge(&other.unpack());
        *self = sum.pack();
    }

    /// How many bytes it holds in memory besides itself.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.v2.capacity()
    }
}

/// One quantile of a result document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Quantile {
    q: f64,
    us: Option<f64>,
}

/// A histogram as it stands in a result document (DESIGN: `H`).
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    count: u64,
    beyond_hour: u64,
    min_us: Option<f64>,
    mean_us: Option<f64>,
    stdev_us: Option<f64>,
    max_us: Option<f64>,
    sum_ns: u64,
    quantiles: Vec<Quantile>,
    hdr: String,
}

fn us(value_ns: u64) -> f64 {
    value_ns as f64 / 1e3
}

fn ns(value_us: f64) -> u64 {
    (value_us * 1e3).round() as u64
}

impl From<&Histogram> for Document {
    fn from(h: &Histogram) -> Self {
        Self {
            count: h.count(),
            beyond_hour: h.beyond_hour,
            min_us: h.min_ns().map(us),
            mean_us: h.mean_ns().map(|v| v / 1e3),
            stdev_us: h.stdev_ns().map(|v| v / 1e3),
            max_us: h.max_ns().map(us),
            sum_ns: h.sum_ns,
            quantiles: QUANTILES
                .iter()
                .map(|&q| Quantile { q, us: h.quantile_ns(q).map(us) })
                .collect(),
            hdr: h.to_hdr(),
        }
    }
}

/// Why a histogram of a result document cannot be read.
#[derive(Debug, thiserror::Error)]
enum DocumentError {
    #[error("hdr is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error("hdr is not a V2 HdrHistogram: {0}")]
    Hdr(String),
    #[error("hdr holds {hdr} values, count says {count}")]
    Count { hdr: u64, count: u64 },
    #[error("it holds {0} values, and {DOCUMENT_COUNT_MAX} is the most")]
    TooMany(u64),
    #[error("min_us and max_us are not the extremes of {0} values")]
    Extremes(u64),
}

impl TryFrom<Document> for Histogram {
    type Error = DocumentError;

    fn try_from(document: Document) -> Result<Self, DocumentError> {
        let bytes = BASE64.decode(&document.hdr)?;
        let decoded = coded::read(&bytes).map_err(DocumentError::Hdr)?;
        let mut histogram = Self::from_decoded(&decoded);
        if histogram.count() > DOCUMENT_COUNT_MAX {
            return Err(DocumentError::TooMany(histogram.count()));
        }
        if histogram.count() != document.count {
            return Err(DocumentError::Count { hdr: histogram.count(), count: document.count });
        }
        histogram.beyond_hour = document.beyond_hour;
        histogram.sum_ns = document.sum_ns;
        histogram.min_ns = document.min_us.map_or(u64::MAX, ns);
        histogram.max_ns = document.max_us.map_or(0, ns);
        if histogram.min_ns > histogram.max_ns && !histogram.is_empty() {
            return Err(DocumentError::Extremes(document.count));
        }
        Ok(histogram)
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Document::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Packed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.unpack().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Histogram::deserialize(deserializer)?.pack())
    }
}

#[cfg(test)]
mod tests;
