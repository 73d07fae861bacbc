//! What a condition's metric was found to be, and what readers have to know about it.

use super::metric::Statistic;
use crate::bounds::Bounds;
use crate::units::{counted, format_ns};

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    /// The value in the limit's unit; `None` when there was nothing to measure.
    pub(super) value: Option<f64>,
    /// What readers have to know about it.
    pub(super) note: Option<String>,
    /// The most that it may be, if that is not known to be the value.
    pub(super) most: Option<Most>,
}

/// The most that a time may be, because some requests are incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Most {
    /// ns; `None` without a limit.
    value_ns: Option<u64>,
    /// How many requests are incomplete.
    requests: u64,
}

impl Measured {
    pub(super) fn some(value: f64) -> Self {
        Self { value: Some(value), note: None, most: None }
    }

    pub(super) fn none(why: impl Into<String>) -> Self {
        Self::nothing(Some(why.into()))
    }

    /// No value, for a reason that may be known.
    pub(super) fn nothing(why: Option<String>) -> Self {
        Self { value: None, note: why, most: None }
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
        Self { value, note: Some(note), most: None }
    }

    /// A time of requests, of which some may be incomplete.
    pub(super) fn within(self, figure: Statistic, bounds: &Bounds<'_>) -> Self {
        let most_ns = match figure {
            Statistic::Quantile(q) => bounds.most_ns(q),
            Statistic::Max => None,
            _ => return self,
        };
        let requests = bounds.incomplete();
        if requests == 0 || self.value.is_none() {
            return self;
        }
        Self { most: Some(Most { value_ns: most_ns, requests }), ..self }
    }
}

impl Most {
    /// The value in the unit of times.
    pub(super) fn value(&self) -> f64 {
        self.value_ns.map_or(f64::INFINITY, |value_ns| value_ns as f64 / 1e3)
    }

    /// Why a condition is not met that the value meets.
    pub(super) fn note(&self) -> String {
        let requests = counted(self.requests, "incomplete request");
        let most = self.value_ns.map_or_else(
            || "be anything above".to_owned(),
            |value_ns| format!("be up to {}", format_ns(value_ns)),
        );
        format!("a lower bound: with {requests} it may {most}")
    }
}
