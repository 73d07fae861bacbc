//! What a condition's metric was found to be, and what readers have to know about it.

use super::metric::Statistic;
use crate::doubt::{Bounds, Doubts, Figure, Interval};
use crate::units::counted;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    /// The value in the limit's unit; `None` when there was nothing to measure.
    pub(super) value: Option<f64>,
    /// What readers have to know about it.
    pub(super) note: Option<String>,
    /// Where the true value lies, if that is not known to be the value.
    pub(super) interval: Option<Interval>,
    /// Incomplete requests among those that a time is of.
    pub(super) incomplete: u64,
}

impl Measured {
    pub(super) fn some(value: f64) -> Self {
        Self { value: Some(value), ..Self::nothing(None) }
    }

    pub(super) fn none(why: impl Into<String>) -> Self {
        Self::nothing(Some(why.into()))
    }

    /// No value, for a reason that may be known.
    pub(super) fn nothing(why: Option<String>) -> Self {
        Self { value: None, note: why, interval: None, incomplete: 0 }
    }

    pub(super) fn of(value: Option<f64>, why_not: &str) -> Self {
        value.map_or_else(|| Self::none(why_not), Self::some)
    }

    /// A quantile of `count` samples.
    pub(super) fn quantile(value: Option<f64>, q: f64, count: u64) -> Self {
        let is_maximum = count > 0 && (q * count as f64).ceil() >= count as f64;
        if !is_maximum {
            return Self::of(value, "no samples");
        }
        let samples = counted(count, "sample");
        let note = format!("of {samples} none lies beyond: this is the maximum");
        Self { value, note: Some(note), ..Self::nothing(None) }
    }

    /// A rate, a count or a share of one, with the doubt of its figure.
    pub(super) fn doubted(self, doubts: &Doubts<'_>, figure: Figure) -> Self {
        let interval = self.value.map(|value| doubts.value(figure, value));
        self.within(interval)
    }

    /// A value that a script recorded, with the doubt of its figure.
    pub(super) fn doubted_time(self, doubts: &Doubts<'_>, figure: Figure) -> Self {
        let interval = self.value.map(|value| doubts.of_times(figure, value));
        self.within(interval)
    }

    /// A statistic in µs of times, with the doubt of its figure. Some of the times may be of
    /// incomplete requests.
    pub(super) fn of_times(
        self,
        statistic: Statistic,
        times: &Bounds<'_>,
        (doubts, figure): (&Doubts<'_>, Figure),
    ) -> Self {
        let interval_ns = match statistic {
            Statistic::Quantile(q) => doubts.quantile_ns(figure, times, q),
            Statistic::Max => doubts.quantile_ns(figure, times, 1.0),
            Statistic::Mean => doubts.mean_ns(figure, times),
            Statistic::Stdev => doubts.stdev_ns(figure, times),
            Statistic::Min => return self.doubted_time(doubts, figure),
        };
        let incomplete = times.incomplete();
        Self { incomplete, ..self.within(Some(interval_ns.times(1e-3))) }
    }

    fn within(self, interval: Option<Interval>) -> Self {
        // A rounding of the arithmetic is not a doubt.
        let is_apart = |interval: &Interval| {
            let value = self.value.unwrap_or(0.0);
            let least = value.abs() * 1e-9;
            value - interval.low > least || interval.high - value > least
        };
        let interval = interval.filter(|_| self.value.is_some()).filter(is_apart);
        Self { interval, ..self }
    }
}
