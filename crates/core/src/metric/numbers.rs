//! Histograms of plain numbers, which may be fractions and negative, unlike durations.
//!
//! Buckets are those of floating point itself: the sign, the exponent and the first ten bits of the
//! fraction. So there are 1024 in each power of two, each at most 1/1024 of its value wide. Each
//! bucket ends at a number of eleven binary digits and stands for that end, its highest value.
//! A quantile is therefore never too low, at most 0.1 % of its size too high, and exact for whole
//! numbers up to 2048. That is the promise of [`Histogram`](crate::Histogram) for durations. It
//! holds for sizes from 2^-30 (about 1e-9) to 2^53 (about 9e15). What is nearer to zero is off by
//! 1e-9 at most; what is further away is in the last bucket, and is counted as beyond. Count,
//! minimum, maximum and sum are exact for all.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::sum::{Sum, Total};
use crate::histogram::QUANTILES;

/// Bits of the fraction that do not tell buckets apart: of 52, ten do.
const DROPPED_BITS: u32 = 42;

/// Buckets of one sign, from 2^-30 to 2^53, by the upper bits of their ends.
const LEAST: u64 = (1023 - 30) << 10;
const MOST: u64 = (1023 + 53) << 10;
const PER_SIGN: usize = (MOST - LEAST) as usize + 1;

/// The bucket of zero, between the negative and the positive ones.
const ZERO: usize = PER_SIGN;
const BUCKETS: usize = 2 * PER_SIGN + 1;

/// The most values that a document may hold, as for durations.
const DOCUMENT_COUNT_MAX: u64 = 1 << 53;

/// The bucket that a finite value counts in. Buckets ascend with the values.
fn bucket(value: f64) -> usize {
    let bits = value.abs().to_bits();
    if value > 0.0 {
        let end = (bits + ((1 << DROPPED_BITS) - 1)) >> DROPPED_BITS;
        return ZERO + 1 + (end.clamp(LEAST, MOST) - LEAST) as usize;
    }
    let end = bits >> DROPPED_BITS;
    if end < LEAST { ZERO } else { ZERO - 1 - (end.min(MOST) - LEAST) as usize }
}

/// The highest value of a bucket.
fn bucket_end(bucket: usize) -> f64 {
    let end = |steps: usize| f64::from_bits((LEAST + steps as u64) << DROPPED_BITS);
    match bucket {
        ZERO => 0.0,
        above if above > ZERO => end(above - ZERO - 1),
        below => -end(ZERO - 1 - below),
    }
}

fn is_beyond(value: f64) -> bool {
    value.abs() > bucket_end(BUCKETS - 1)
}

/// Numbers, counted. Recording allocates nothing.
#[derive(Debug, Clone)]
pub struct NumberHistogram {
    /// 1.4 MB, of which only the pages in use become resident.
    counts: Vec<u64>,
    /// The buckets that may hold something.
    used: Range<usize>,
    count: u64,
    min: f64,
    max: f64,
    sum: Sum,
    beyond: u64,
}

impl Default for NumberHistogram {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            used: 0..0,
            count: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            sum: Sum::default(),
            beyond: 0,
        }
    }
}

impl NumberHistogram {
    /// Counts a value, which has to be finite and within ±1e270.
    pub fn record(&mut self, value: f64) {
        let bucket = bucket(value);
        self.counts[bucket] += 1;
        self.used = match self.count {
            0 => bucket..bucket + 1,
            _ => self.used.start.min(bucket)..self.used.end.max(bucket + 1),
        };
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum.add(value);
        self.beyond += u64::from(is_beyond(value));
    }

    /// How many values were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        for (bucket, count) in other.used.clone().zip(&other.counts[other.used.clone()]) {
            self.counts[bucket] += count;
        }
        self.used = match self.count {
            0 => other.used.clone(),
            _ => self.used.start.min(other.used.start)..self.used.end.max(other.used.end),
        };
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum.merge(&other.sum);
        self.beyond += other.beyond;
    }

    /// The same counts in 16 bytes for each bucket in use.
    #[must_use]
    pub fn pack(&self) -> PackedNumbers {
        let used = self.used.clone().zip(&self.counts[self.used.clone()]);
        let buckets = used.filter(|(_, count)| **count > 0);
        PackedNumbers {
            buckets: buckets.map(|(bucket, count)| (bucket as u32, *count)).collect(),
            extremes: (self.count > 0).then_some((self.min, self.max)),
            total: self.sum.total(),
            beyond: self.beyond,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts[self.used.clone()].fill(0);
        self.used = 0..0;
        self.count = 0;
        self.min = f64::INFINITY;
        self.max = f64::NEG_INFINITY;
        self.sum.clear();
        self.beyond = 0;
    }
}

/// A histogram of numbers at rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Document", into = "Document")]
pub struct PackedNumbers {
    /// Buckets that hold something, ascending, and how many values each holds.
    buckets: Vec<(u32, u64)>,
    /// The exact minimum and maximum.
    extremes: Option<(f64, f64)>,
    total: Total,
    beyond: u64,
}

impl PackedNumbers {
    /// How many values were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The exact minimum; `None` when empty.
    #[must_use]
    pub fn min(&self) -> Option<f64> {
        self.extremes.map(|(min, _)| min)
    }

    /// The exact maximum; `None` when empty.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        self.extremes.map(|(_, max)| max)
    }

    /// The mean, of the exact sum; `None` when empty.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        self.extremes.map(|_| self.total.value() / self.count() as f64)
    }

    /// The exact sum.
    #[must_use]
    pub fn total(&self) -> &Total {
        &self.total
    }

    /// How many of the values are further from zero than the last bucket ends.
    #[must_use]
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    /// The smallest value that at least the share `q` (0 to 1) of the values does not exceed: never
    /// too low, and at most 0.1 % of its size too high. `None` when empty.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let (min, max) = self.extremes?;
        let rank = (q * self.count() as f64).ceil().max(1.0) as u64;
        let mut running = 0;
        let holds_rank = |(_, count): &&(u32, u64)| {
            running += count;
            running >= rank
        };
        // The last bucket has no end of its own, because all that is beyond is in it.
        let found = self.buckets.iter().find(holds_rank).map(|(bucket, _)| *bucket as usize);
        let bucket = found.filter(|bucket| *bucket < BUCKETS - 1);
        Some(bucket.map_or(max, |bucket| bucket_end(bucket).clamp(min, max)))
    }

    /// Adds all of `other`. Lossless, associative and commutative.
    pub fn merge(&mut self, other: &Self) {
        let Some((min, max)) = other.extremes else { return };
        self.extremes =
            Some(self.extremes.map_or((min, max), |(least, most)| (least.min(min), most.max(max))));
        self.total.merge(&other.total);
        self.beyond += other.beyond;
        let mut buckets: BTreeMap<u32, u64> = self.buckets.iter().copied().collect();
        for (bucket, count) in &other.buckets {
            *buckets.entry(*bucket).or_default() += count;
        }
        self.buckets = buckets.into_iter().collect();
    }
}

/// One quantile of a document.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Quantile {
    q: f64,
    value: Option<f64>,
}

/// A histogram of numbers as it stands in a result document.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    count: u64,
    beyond: u64,
    min: Option<f64>,
    mean: Option<f64>,
    max: Option<f64>,
    #[serde(flatten)]
    total: Total,
    quantiles: Vec<Quantile>,
    /// The highest value of each bucket in use, and how many values it holds.
    buckets: Vec<(f64, u64)>,
}

impl From<PackedNumbers> for Document {
    fn from(numbers: PackedNumbers) -> Self {
        let quantile = |q| Quantile { q, value: numbers.quantile(q) };
        let end = |(bucket, count): &(u32, u64)| (bucket_end(*bucket as usize), *count);
        Self {
            count: numbers.count(),
            beyond: numbers.beyond,
            min: numbers.min(),
            mean: numbers.mean(),
            max: numbers.max(),
            quantiles: QUANTILES.map(quantile).to_vec(),
            buckets: numbers.buckets.iter().map(end).collect(),
            total: numbers.total,
        }
    }
}

/// Why a histogram of numbers of a document cannot be read.
#[derive(Debug, thiserror::Error)]
enum DocumentError {
    #[error("{0} is not where a bucket ends, or not above the one before it")]
    Bucket(f64),
    #[error("buckets hold {buckets} values, count says {count}")]
    Count { buckets: u128, count: u64 },
    #[error("it holds {0} values, and {DOCUMENT_COUNT_MAX} is the most")]
    TooMany(u128),
    #[error("min and max are not the extremes of {0} values")]
    Extremes(u64),
}

impl TryFrom<Document> for PackedNumbers {
    type Error = DocumentError;

    fn try_from(document: Document) -> Result<Self, DocumentError> {
        let mut buckets: Vec<(u32, u64)> = Vec::with_capacity(document.buckets.len());
        for (end, count) in document.buckets {
            let bucket = bucket(end);
            let is_above = buckets.last().is_none_or(|(last, _)| (*last as usize) < bucket);
            if bucket_end(bucket) != end || !is_above || count == 0 {
                return Err(DocumentError::Bucket(end));
            }
            buckets.push((bucket as u32, count));
        }
        let held: u128 = buckets.iter().map(|(_, count)| u128::from(*count)).sum();
        let count = document.count;
        if held > u128::from(DOCUMENT_COUNT_MAX) {
            return Err(DocumentError::TooMany(held));
        }
        if held != u128::from(count) {
            return Err(DocumentError::Count { buckets: held, count });
        }
        let extremes = document.min.zip(document.max);
        if extremes.is_some_and(|(min, max)| min > max) || extremes.is_some() != (count > 0) {
            return Err(DocumentError::Extremes(count));
        }
        Ok(Self { buckets, extremes, total: document.total, beyond: document.beyond })
    }
}
