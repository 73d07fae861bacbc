//! Prometheus' remote write: all metrics after each interval, with the time of its end, as
//! compressed messages. Field numbers are those of the published definitions. Version 1.0
//! (`prometheus.WriteRequest`) is here, and 2.0 is made of it.
//!
//! Durations go as classic buckets, which every receiver takes, or as native histograms. At the end
//! every series gets the marker of staleness, so that no query takes its last value for a present
//! one.

mod version2;

use prost::Message;

use crate::batch::{Batch, Points};
use crate::buckets::{Exponential, ZERO_THRESHOLD, cumulative};
use crate::exposition::{bound, suffix};
use crate::figures::Figures;
use crate::labels::Label;
use crate::metrics::{Family, Type, Value};
use crate::naming::families;

/// The value that says that a series has ended.
pub(crate) const STALE: u64 = 0x7ff0_0000_0000_0002;

/// How long after the last figures series end: as long as an interval, so that queries in steps
/// find the last ones.
const STALE_AFTER_MS: i64 = 1000;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    pub timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    pub metadata: Vec<Metadata>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<Pair>,
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Point>,
    #[prost(message, repeated, tag = "4")]
    pub histograms: Vec<Native>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub(crate) struct Pair {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Point {
    #[prost(double, tag = "1")]
    pub value: f64,
    #[prost(int64, tag = "2")]
    pub timestamp_ms: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Metadata {
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "4")]
    pub help: String,
    #[prost(string, tag = "5")]
    pub unit: String,
}

/// A native histogram of counts.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Native {
    #[prost(uint64, optional, tag = "1")]
    pub count: Option<u64>,
    #[prost(double, tag = "3")]
    pub sum: f64,
    #[prost(sint32, tag = "4")]
    pub schema: i32,
    #[prost(double, tag = "5")]
    pub zero_threshold: f64,
    #[prost(uint64, optional, tag = "6")]
    pub zero_count: Option<u64>,
    #[prost(message, repeated, tag = "11")]
    pub positive_spans: Vec<Span>,
    #[prost(sint64, repeated, tag = "12")]
    pub positive_deltas: Vec<i64>,
    #[prost(int64, tag = "15")]
    pub timestamp_ms: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Span {
    #[prost(sint32, tag = "1")]
    pub offset: i32,
    #[prost(uint32, tag = "2")]
    pub length: u32,
}

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

impl Version {
    /// The type of its messages.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::One => "application/x-protobuf",
            Self::Two => "application/x-protobuf;proto=io.prometheus.write.v2.Request",
        }
    }

    /// What its header of the version has.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::One => "0.1.0",
            Self::Two => "2.0.0",
        }
    }
}

/// A series with what is known of its metric.
#[derive(Debug, Clone)]
struct Series {
    series: TimeSeries,
    metadata: Metadata,
}

/// Writes requests.
#[derive(Debug)]
pub(crate) struct RemoteWrite {
    labels: Vec<Label>,
    has_native: bool,
    version: Version,
    /// Every series so far, for its end.
    known: Vec<Series>,
    /// When the last of them was written.
    last_ms: i64,
}

impl RemoteWrite {
    pub(crate) fn new(labels: &[Label], has_native: bool, version: Version) -> Self {
        Self { labels: labels.to_vec(), has_native, version, known: Vec::new(), last_ms: 0 }
    }

    /// All that is known.
    pub(crate) fn encode(&mut self, figures: &Figures) -> Batch {
        let time_ms = (figures.time_ns / 1_000_000) as i64;
        self.last_ms = time_ms;
        let mut all = Vec::new();
        for family in &families(figures) {
            let metadata = metadata(family);
            let series = self.series(family, time_ms).into_iter();
            all.extend(series.map(|series| Series { series, metadata: metadata.clone() }));
        }
        for new in &all {
            if self.known.iter().all(|known| known.series.labels != new.series.labels) {
                self.known.push(new.clone());
            }
        }
        self.batch(all)
    }

    /// The end of every series.
    pub(crate) fn farewell(&self) -> Batch {
        if self.known.is_empty() {
            return Batch::default();
        }
        let timestamp_ms = self.last_ms + STALE_AFTER_MS;
        let ended = self.known.iter().map(|Series { series, metadata }| {
            let value = f64::from_bits(STALE);
            let labels = series.labels.clone();
            let (samples, histograms) = match series.histograms.is_empty() {
                true => (vec![Point { value, timestamp_ms }], Vec::new()),
                false => {
                    let ended = Native { sum: value, timestamp_ms, ..Native::default() };
                    (Vec::new(), vec![ended])
                }
            };
            let series = TimeSeries { labels, samples, histograms };
            Series { series, metadata: metadata.clone() }
        });
        self.batch(ended.collect())
    }

    /// Some series as a message of the version.
    fn batch(&self, all: Vec<Series>) -> Batch {
        let points = all.iter().fold(Points::default(), |points, Series { series, .. }| Points {
            samples: points.samples + series.samples.len() as u64,
            histograms: points.histograms + series.histograms.len() as u64,
        });
        let bytes = match self.version {
            Version::One => compressed(&version1(all)),
            Version::Two => compressed(&version2::request(all)),
        };
        Batch { bytes, points }
    }

    fn series(&self, family: &Family<'_>, timestamp_ms: i64) -> Vec<TimeSeries> {
        let mut series = Vec::new();
        for sample in &family.samples {
            let own: Vec<(&str, &str)> =
                sample.labels.iter().map(|(name, value)| (*name, value.as_ref())).collect();
            let mut add = |suffix: &str, own: &[(&str, &str)], value: f64| {
                series.push(TimeSeries {
                    labels: self.pairs(&format!("{}{suffix}", family.name), own),
                    samples: vec![Point { value, timestamp_ms }],
                    histograms: Vec::new(),
                });
            };
            match sample.value {
                Value::Number(value) => add(suffix(family.kind), &own, value),
                Value::Times(times) if self.has_native => series.push(TimeSeries {
                    labels: self.pairs(family.name, &own),
                    samples: Vec::new(),
                    histograms: vec![native(times, timestamp_ms)],
                }),
                Value::Times(times) => {
                    for (index, count) in cumulative(times).into_iter().enumerate() {
                        let bound = bound(index, false);
                        let own = [own.as_slice(), &[("le", bound.as_str())]].concat();
                        add("_bucket", &own, count as f64);
                    }
                    add("_sum", &own, times.sum_ns() as f64 / 1e9);
                    add("_count", &own, times.count() as f64);
                }
            }
        }
        series
    }

    /// All labels of a series, in the order that receivers want.
    fn pairs(&self, name: &str, own: &[(&str, &str)]) -> Vec<Pair> {
        let pair =
            |name: &str, value: &str| Pair { name: name.to_owned(), value: value.to_owned() };
        let shared = self.labels.iter().map(|label| pair(label.name(), label.value()));
        let own = own.iter().filter(|(_, value)| !value.is_empty());
        let own = own.map(|(name, value)| pair(name, value));
        let mut pairs: Vec<Pair> =
            [pair("__name__", name)].into_iter().chain(shared).chain(own).collect();
        pairs.sort();
        pairs
    }
}

/// The request with these series, which come metric by metric.
fn version1(all: Vec<Series>) -> WriteRequest {
    let mut request = WriteRequest::default();
    for Series { series, metadata } in all {
        request.timeseries.push(series);
        if request.metadata.last() != Some(&metadata) {
            request.metadata.push(metadata);
        }
    }
    request
}

fn native(times: &plimsoll_core::Histogram, timestamp_ms: i64) -> Native {
    let own = Exponential::of(times);
    let spans = own.spans().into_iter().map(|(offset, length)| Span { offset, length });
    Native {
        count: Some(times.count()),
        sum: times.sum_ns() as f64 / 1e9,
        schema: own.schema,
        zero_threshold: ZERO_THRESHOLD,
        zero_count: Some(own.zero_count),
        positive_spans: spans.collect(),
        positive_deltas: own.deltas(),
        timestamp_ms,
    }
}

fn metadata(family: &Family<'_>) -> Metadata {
    let kind = match family.kind {
        Type::Counter => 1,
        Type::Gauge => 2,
        Type::Histogram => 3,
        Type::Info => 6,
    };
    Metadata {
        kind,
        name: format!("{}{}", family.name, suffix(family.kind)),
        help: family.help.to_owned(),
        unit: family.unit.unwrap_or_default().to_owned(),
    }
}

pub(crate) fn compressed(request: &impl Message) -> Vec<u8> {
    let bytes = request.encode_to_vec();
    let compressed = snap::raw::Encoder::new().compress_vec(&bytes);
    compressed.expect("some hundred kilobytes are within the format's limit")
}
