//! The present value of every series of a script, as k6 sends it to OpenTelemetry: trends are
//! histograms in k6's own units, a rate counts what was zero and what was not.

use std::collections::HashMap;

use plimsoll_dialect::k6::metrics::{Contains, Kind, Metric, MetricId, Registry, TagSet};
use plimsoll_outputs::samples::{OtlpSample, OtlpValue, otlp};
use plimsoll_runner::k6::Point;

use super::series::SERIES_MAX;

/// Upper bounds of buckets: those that OpenTelemetry's libraries have unless they are told others.
const BOUNDS: [f64; 15] = [
    0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 100.0, 250.0, 500.0, 750.0, 1000.0, 2500.0, 5000.0, 7500.0,
    10000.0,
];

/// What a rate's value was, as k6 calls it.
const CONDITIONS: [&str; 2] = ["zero", "nonzero"];

/// The values of all series so far.
pub(super) struct Otel {
    /// Name and version.
    service: (String, String),
    prefix: String,
    /// By metric, tags and, of a rate, whether values were not 0.
    series: HashMap<(MetricId, TagSet, Option<bool>), OtlpValue>,
    left_out: u64,
    /// When the first and the last sample were made, ns since 1970.
    span_ns: (u64, u64),
}

impl Otel {
    /// Nothing yet, of a service; names of metrics begin with `prefix`.
    pub(super) fn new(service: (String, String), prefix: String) -> Self {
        Self { service, prefix, series: HashMap::new(), left_out: 0, span_ns: (u64::MAX, 0) }
    }

    /// Samples of series that were too many.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Takes a sample.
    pub(super) fn add(&mut self, point: &Point, metric: &Metric) {
        let (first_ns, last_ns) = self.span_ns;
        self.span_ns = (first_ns.min(point.wall_ns), last_ns.max(point.wall_ns));
        let condition = (metric.kind == Kind::Rate).then_some(point.value != 0.0);
        let key = (point.metric, point.tags.clone(), condition);
        if self.series.len() >= SERIES_MAX && !self.series.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let value = self.series.entry(key).or_insert_with(|| match metric.kind {
            Kind::Counter | Kind::Rate => OtlpValue::Sum(0.0),
            Kind::Gauge => OtlpValue::Gauge(0.0),
            Kind::Trend => OtlpValue::histogram(&BOUNDS),
        });
        match value {
            OtlpValue::Sum(sum) if condition.is_some() => *sum += 1.0,
            OtlpValue::Sum(sum) => *sum += point.value,
            OtlpValue::Gauge(last) => *last = point.value,
            OtlpValue::Histogram(buckets) => buckets.record(point.value),
        }
    }

    /// A batch of all values; empty without any.
    pub(super) fn batch(&self, registry: &Registry) -> Vec<u8> {
        if self.series.is_empty() {
            return Vec::new();
        }
        let samples = self.series.iter().map(|((id, tags, condition), value)| {
            let metric = registry.get(*id);
            let mut attributes: Vec<(&str, &str)> = tags.iter().collect();
            let condition = condition.map(|is_nonzero| CONDITIONS[usize::from(is_nonzero)]);
            attributes.extend(condition.map(|condition| ("condition", condition)));
            OtlpSample {
                name: format!("{}{}", self.prefix, metric.name),
                unit: match metric.contains {
                    Contains::Time => "ms",
                    Contains::Data => "By",
                    Contains::Default => "",
                },
                attributes,
                value,
            }
        });
        let (start_ns, time_ns) = self.span_ns;
        let (service, version) = &self.service;
        otlp((service, version), &samples.collect::<Vec<_>>(), start_ns, time_ns)
    }
}
