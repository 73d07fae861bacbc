//! What a metric amounts to at rest: in an interval, in a result, in a document.

use serde::{Deserialize, Serialize};

use super::numbers::PackedNumbers;
use super::registry::Kind;
use super::sum::Total;
use crate::histogram::Packed;

/// The figures of a metric, or of those of its values that have one set of tags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Value {
    /// A sum.
    Counter(Counter),
    /// The last of its values.
    Gauge(Gauge),
    /// How many of its values are true.
    Rate(Rate),
    /// How its numbers are distributed.
    Trend(PackedNumbers),
    /// How its times are distributed.
    TimeTrend(Packed),
}

/// A sum.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// How many values were added.
    pub adds: u64,
    /// Their sum, exact.
    #[serde(flatten)]
    pub total: Total,
}

/// The last value, and the range of all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauge {
    /// How many values were set.
    pub sets: u64,
    /// The last. Of several at one time, the greatest. Null without any.
    pub last: Option<f64>,
    /// When it was set, from the start of the measured part.
    #[serde(rename = "last_at_s", with = "crate::serde_units::from_ns")]
    pub last_at_ns: u64,
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
}

impl Gauge {
    /// The value was set, at a time from the start of the measured part.
    #[inline]
    pub fn set(&mut self, value: f64, at_ns: u64) {
        let value = Some(value);
        let once = Self { sets: 1, last: value, last_at_ns: at_ns, min: value, max: value };
        self.merge(&once);
    }

    /// Adds what another recorder set.
    pub fn merge(&mut self, other: &Self) {
        let (Some(last), Some(min), Some(max)) = (other.last, other.min, other.max) else { return };
        let is_later = self.last.is_none_or(|mine| {
            other.last_at_ns > self.last_at_ns || other.last_at_ns == self.last_at_ns && last > mine
        });
        if is_later {
            self.last = Some(last);
            self.last_at_ns = other.last_at_ns;
        }
        self.sets += other.sets;
        self.min = Some(self.min.map_or(min, |mine| mine.min(min)));
        self.max = Some(self.max.map_or(max, |mine| mine.max(max)));
    }
}

/// How many of the values are true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Those that are.
    pub trues: u64,
    /// All.
    pub total: u64,
}

impl Rate {
    /// The share that is true; `None` without values.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        (self.total > 0).then(|| self.trues as f64 / self.total as f64)
    }
}

impl Value {
    /// A metric of a kind that nothing was recorded for.
    #[must_use]
    pub fn empty(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Counter(Counter::default()),
            Kind::Gauge => Self::Gauge(Gauge::default()),
            Kind::Rate => Self::Rate(Rate::default()),
            Kind::Trend => Self::Trend(PackedNumbers::default()),
            Kind::TimeTrend => Self::TimeTrend(Packed::default()),
        }
    }

    /// What kind of metric has it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Counter(_) => Kind::Counter,
            Self::Gauge(_) => Kind::Gauge,
            Self::Rate(_) => Kind::Rate,
            Self::Trend(_) => Kind::Trend,
            Self::TimeTrend(_) => Kind::TimeTrend,
        }
    }

    /// How many values were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Counter(counter) => counter.adds,
            Self::Gauge(gauge) => gauge.sets,
            Self::Rate(rate) => rate.total,
            Self::Trend(numbers) => numbers.count(),
            Self::TimeTrend(times) => times.count(),
        }
    }

    /// Has it recorded `later_ns` later.
    pub(super) fn shift(&mut self, later_ns: u64) {
        if let Self::Gauge(gauge) = self
            && gauge.sets > 0
        {
            gauge.last_at_ns = gauge.last_at_ns.saturating_add(later_ns);
        }
    }

    /// Adds all of a value of the same kind. Lossless, associative and commutative. Leaves a value
    /// of another kind alone: [`CustomMetrics`](super::CustomMetrics) keeps those apart.
    pub fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Counter(mine), Self::Counter(theirs)) => {
                mine.adds += theirs.adds;
                mine.total.merge(&theirs.total);
            }
            (Self::Gauge(mine), Self::Gauge(theirs)) => mine.merge(theirs),
            (Self::Rate(mine), Self::Rate(theirs)) => {
                mine.trues += theirs.trues;
                mine.total += theirs.total;
            }
            (Self::Trend(mine), Self::Trend(theirs)) => mine.merge(theirs),
            (Self::TimeTrend(mine), Self::TimeTrend(theirs)) => mine.merge(theirs),
            _ => {}
        }
    }
}
