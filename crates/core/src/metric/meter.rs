//! What a worker adds values to, one after the other. Made when a metric is first used with its
//! tags; recording allocates nothing after that.

use super::numbers::NumberHistogram;
use super::registry::Kind;
use super::sum::{Sum, VALUE_MAX};
use super::value::{Counter, Gauge, Rate, Value};
use crate::histogram::Histogram;

#[derive(Debug, Clone)]
pub(super) enum Meter {
    Counter { adds: u64, sum: Sum },
    Gauge(Gauge),
    Rate(Rate),
    Trend(Box<NumberHistogram>),
    TimeTrend(Box<Histogram>),
}

impl Kind {
    /// Whether a value can be counted: a number, within ±1e270, and for counters and times 0 or
    /// more.
    #[inline]
    #[must_use]
    pub fn accepts(self, value: f64) -> bool {
        let least = match self {
            Self::Counter | Self::TimeTrend => 0.0,
            Self::Gauge | Self::Rate | Self::Trend => -VALUE_MAX,
        };
        (least..=VALUE_MAX).contains(&value)
    }
}

impl Meter {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Counter { adds: 0, sum: Sum::default() },
            Kind::Gauge => Self::Gauge(Gauge::default()),
            Kind::Rate => Self::Rate(Rate::default()),
            Kind::Trend => Self::Trend(Box::default()),
            Kind::TimeTrend => Self::TimeTrend(Box::default()),
        }
    }

    /// Counts a value that its kind accepts. Times to the nearest ns.
    #[inline]
    pub(super) fn record(&mut self, value: f64, at_ns: u64) {
        match self {
            Self::Counter { adds, sum } => {
                *adds += 1;
                sum.add(value);
            }
            Self::Gauge(gauge) => gauge.set(value, at_ns),
            Self::Rate(rate) => {
                rate.trues += u64::from(value != 0.0);
                rate.total += 1;
            }
            Self::Trend(numbers) => numbers.record(value),
            // Beyond 584 years it is the longest there is.
            Self::TimeTrend(times) => times.record(value.round() as u64),
        }
    }

    /// Whether nothing was recorded.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Counter { adds, .. } => *adds == 0,
            Self::Gauge(gauge) => gauge.sets == 0,
            Self::Rate(rate) => rate.total == 0,
            Self::Trend(numbers) => numbers.count() == 0,
            Self::TimeTrend(times) => times.is_empty(),
        }
    }

    /// The figures at rest.
    pub(super) fn pack(&self) -> Value {
        match self {
            Self::Counter { adds, sum } => {
                Value::Counter(Counter { adds: *adds, total: sum.total() })
            }
            Self::Gauge(gauge) => Value::Gauge(gauge.clone()),
            Self::Rate(rate) => Value::Rate(*rate),
            Self::Trend(numbers) => Value::Trend(numbers.pack()),
            Self::TimeTrend(times) => Value::TimeTrend(times.pack()),
        }
    }

    /// Forgets everything, and keeps the memory.
    pub(super) fn clear(&mut self) {
        match self {
            Self::Counter { adds, sum } => {
                *adds = 0;
                sum.clear();
            }
            Self::Gauge(gauge) => *gauge = Gauge::default(),
            Self::Rate(rate) => *rate = Rate::default(),
            Self::Trend(numbers) => numbers.clear(),
            Self::TimeTrend(times) => times.clear(),
        }
    }
}
