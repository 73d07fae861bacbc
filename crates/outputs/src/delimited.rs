//! What a scrape gets as protobuf: messages of `io.prometheus.client`, each behind its length. The
//! only format of a scrape with native histograms; classic buckets stand beside them. Field numbers
//! are those of the published definition.

use prost::Message;

use crate::buckets::{BOUNDS_NS, Exponential, ZERO_THRESHOLD, cumulative};
use crate::exposition::suffix;
use crate::figures::Figures;
use crate::labels::Label;
use crate::metrics::{Sample, Type, Value};
use crate::naming::families;

const COUNTER: i32 = 0;
const GAUGE: i32 = 1;
const HISTOGRAM: i32 = 4;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub help: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    pub metric: Vec<Metric>,
    #[prost(string, optional, tag = "5")]
    pub unit: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Metric {
    #[prost(message, repeated, tag = "1")]
    pub label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    pub gauge: Option<Gauge>,
    #[prost(message, optional, tag = "3")]
    pub counter: Option<Counter>,
    #[prost(message, optional, tag = "7")]
    pub histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LabelPair {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Gauge {
    #[prost(double, optional, tag = "1")]
    pub value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Counter {
    #[prost(double, optional, tag = "1")]
    pub value: Option<f64>,
    #[prost(message, optional, tag = "3")]
    pub created: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    pub sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    pub bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    pub schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    pub zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    pub zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    pub positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    pub positive_delta: Vec<i64>,
    #[prost(message, optional, tag = "15")]
    pub created: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    pub cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub upper_bound: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    pub offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    pub length: Option<u32>,
}

/// All metrics, each with its length before it.
pub(crate) fn write(figures: &Figures, labels: &[Label]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for family in families(figures) {
        let metric = family.samples.iter().map(|it| metric(it, family.kind, figures, labels));
        let message = MetricFamily {
            name: Some(format!("{}{}", family.name, suffix(family.kind))),
            help: Some(family.help.to_owned()),
            kind: Some(match family.kind {
                Type::Counter => COUNTER,
                Type::Gauge | Type::Info => GAUGE,
                Type::Histogram => HISTOGRAM,
            }),
            metric: metric.collect(),
            unit: family.unit.map(str::to_owned),
        };
        bytes.extend(message.encode_length_delimited_to_vec());
    }
    bytes
}

fn metric(sample: &Sample<'_>, kind: Type, figures: &Figures, labels: &[Label]) -> Metric {
    let own = sample.labels.iter().map(|(name, value)| (*name, value.as_ref()));
    let all = labels.iter().map(|label| (label.name(), label.value())).chain(own);
    let label = all.map(|(name, value)| LabelPair {
        name: Some(name.to_owned()),
        value: Some(value.to_owned()),
    });
    let created = Some(Timestamp {
        seconds: (figures.began_ns / 1_000_000_000) as i64,
        nanos: (figures.began_ns % 1_000_000_000) as i32,
    });
    let mut metric = Metric { label: label.collect(), ..Metric::default() };
    match (sample.value, kind) {
        (Value::Number(value), Type::Counter) => {
            metric.counter = Some(Counter { value: Some(value), created });
        }
        (Value::Number(value), _) => metric.gauge = Some(Gauge { value: Some(value) }),
        (Value::Times(times), _) => metric.histogram = Some(histogram(times, created)),
    }
    metric
}

fn histogram(times: &plimsoll_core::Histogram, created: Option<Timestamp>) -> Histogram {
    let bounds = BOUNDS_NS.iter().map(|bound_ns| *bound_ns as f64 / 1e9);
    let bounds = bounds.chain([f64::INFINITY]);
    let bucket = bounds
        .zip(cumulative(times))
        .map(|(bound, count)| Bucket { cumulative_count: Some(count), upper_bound: Some(bound) });
    let own = Exponential::of(times);
    let spans = own.spans().into_iter();
    Histogram {
        sample_count: Some(times.count()),
        sample_sum: Some(times.sum_ns() as f64 / 1e9),
        bucket: bucket.collect(),
        schema: Some(own.schema),
        zero_threshold: Some(ZERO_THRESHOLD),
        zero_count: Some(own.zero_count),
        positive_span: spans
            .map(|(offset, length)| BucketSpan { offset: Some(offset), length: Some(length) })
            .collect(),
        positive_delta: own.deltas(),
        created,
    }
}
