//! Figures of others than a run's own, such as the samples of k6's metrics, in the forms of
//! receivers: batches for [`Feed::batch`](crate::Feed::batch).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prost::Message as _;

use crate::otlp::message::{
    Attribute, Data, Gauge, Histogram, HistogramPoint, Metric, Number, NumberPoint, Sum,
};
use crate::otlp::{Temporality, request};
use crate::remote_write::{Pair, Point, TimeSeries, WriteRequest, compressed};

/// The value of a sample that says that its series has ended, for Prometheus.
#[must_use]
pub fn stale() -> f64 {
    f64::from_bits(crate::remote_write::STALE)
}

/// A value of a series, with what tells the series from others.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Name of the metric.
    pub name: String,
    /// Names and values of its labels, without the metric's name.
    pub labels: Vec<(String, String)>,
    /// What it is now.
    pub value: f64,
}

/// The samples of one time, ms since 1970, as a batch of remote write 1.0.
#[must_use]
pub fn remote_write(samples: &[Sample], timestamp_ms: i64) -> Vec<u8> {
    let series = samples.iter().map(|sample| {
        let own = sample.labels.iter().filter(|(_, value)| !value.is_empty());
        let own = own.map(|(name, value)| (plain(name), value.clone()));
        let name = ("__name__".to_owned(), plain(&sample.name));
        let pair = |(name, value)| Pair { name, value };
        let mut labels: Vec<Pair> = [name].into_iter().chain(own).map(pair).collect();
        labels.sort();
        labels.dedup_by(|later, earlier| later.name == earlier.name);
        let samples = vec![Point { value: sample.value, timestamp_ms }];
        TimeSeries { labels, samples, histograms: Vec::new() }
    });
    compressed(&WriteRequest { timeseries: series.collect(), metadata: Vec::new() })
}

/// A name as Prometheus takes it: other letters become `_`.
fn plain(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut plain: String =
        name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    if plain.starts_with(|first: char| first.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    plain
}

/// A value of a field of InfluxDB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Field<'a> {
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(i64),
    /// A text.
    Text(&'a str),
}

/// Adds a point to lines of InfluxDB. Tags without a value are left out. The time is in the unit
/// that the receiver is told.
pub fn influx_point<'a>(
    lines: &mut String,
    measurement: &str,
    tags: impl Iterator<Item = (&'a str, &'a str)>,
    fields: &[(&str, Field<'_>)],
    time: u64,
) {
    lines.push_str(&escaped(measurement));
    for (name, value) in tags.filter(|(_, value)| !value.is_empty()) {
        let _ = write!(lines, ",{}={}", escaped(name), escaped(value));
    }
    for (index, (name, value)) in fields.iter().enumerate() {
        lines.push(if index == 0 { ' ' } else { ',' });
        lines.push_str(&escaped(name));
        let _ = match value {
            Field::Number(number) => write!(lines, "={number}"),
            Field::Whole(number) => write!(lines, "={number}i"),
            Field::Text(text) => write!(lines, "=\"{}\"", quoted(text)),
        };
    }
    let _ = writeln!(lines, " {time}");
}

/// A name or a value of a tag, with what separates them escaped. A backslash at its end would
/// escape what follows.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.trim_end_matches('\\').chars() {
        match letter {
            '\n' | '\r' => escaped.push_str("\\ "),
            ',' | '=' | ' ' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// A text in quotes, without those around it.
pub(crate) fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}

/// A value of a series for OTLP, since the beginning.
#[derive(Debug, Clone, PartialEq)]
pub enum OtlpValue {
    /// It only grows.
    Sum(f64),
    /// It goes up and down.
    Gauge(f64),
    /// How values are distributed.
    Histogram(OtlpBuckets),
}

/// Values in buckets with bounds that are written.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpBuckets {
    bounds: &'static [f64],
    /// One more than there are bounds: the last has none.
    counts: Vec<u64>,
    sum: f64,
    extremes: Option<(f64, f64)>,
}

impl OtlpValue {
    /// A histogram without values, whose buckets end at these bounds.
    #[must_use]
    pub fn histogram(bounds: &'static [f64]) -> Self {
        let counts = vec![0; bounds.len() + 1];
        Self::Histogram(OtlpBuckets { bounds, counts, sum: 0.0, extremes: None })
    }
}

impl OtlpBuckets {
    /// Counts a value.
    pub fn record(&mut self, value: f64) {
        self.counts[self.bounds.partition_point(|bound| *bound < value)] += 1;
        self.sum += value;
        let (min, max) = self.extremes.unwrap_or((value, value));
        self.extremes = Some((min.min(value), max.max(value)));
    }

    fn point(&self, attributes: Vec<Attribute>, start_ns: u64, time_ns: u64) -> HistogramPoint {
        HistogramPoint {
            start_ns,
            time_ns,
            count: self.counts.iter().sum(),
            sum: Some(self.sum),
            counts: self.counts.clone(),
            bounds: self.bounds.to_vec(),
            attributes,
            min: self.extremes.map(|(min, _)| min),
            max: self.extremes.map(|(_, max)| max),
        }
    }
}

/// A series for OTLP.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpSample<'a> {
    /// Name of the metric.
    pub name: String,
    /// Its unit, as OpenTelemetry writes it.
    pub unit: &'a str,
    /// What tells the series from others of the metric.
    pub attributes: Vec<(&'a str, &'a str)>,
    /// What it is now.
    pub value: &'a OtlpValue,
}

/// The samples of one time as a batch of OTLP; both times are ns since 1970.
#[must_use]
pub fn otlp(
    (service, version): (&str, &str),
    samples: &[OtlpSample<'_>],
    start_ns: u64,
    time_ns: u64,
) -> Vec<u8> {
    let temporality = Temporality::Cumulative.number();
    let mut metrics: BTreeMap<&str, Metric> = BTreeMap::new();
    for sample in samples {
        let own = sample.attributes.iter();
        let attributes = own.map(|(name, value)| Attribute::text(name, value)).collect();
        let metric = metrics.entry(&sample.name).or_insert_with(|| Metric {
            name: sample.name.clone(),
            unit: sample.unit.to_owned(),
            data: Some(match sample.value {
                OtlpValue::Sum(_) => {
                    Data::Sum(Sum { points: Vec::new(), temporality, is_monotonic: true })
                }
                OtlpValue::Gauge(_) => Data::Gauge(Gauge { points: Vec::new() }),
                OtlpValue::Histogram(_) => {
                    Data::Histogram(Histogram { points: Vec::new(), temporality })
                }
            }),
        });
        match (&mut metric.data, sample.value) {
            (Some(Data::Sum(Sum { points, .. })), OtlpValue::Sum(value))
            | (Some(Data::Gauge(Gauge { points })), OtlpValue::Gauge(value)) => {
                let value = Some(Number::Double(*value));
                points.push(NumberPoint { start_ns, time_ns, value, attributes });
            }
            (Some(Data::Histogram(histogram)), OtlpValue::Histogram(buckets)) => {
                histogram.points.push(buckets.point(attributes, start_ns, time_ns));
            }
            // A metric has values of one kind.
            _ => {}
        }
    }
    let own = [("service.name", service), ("service.version", version)];
    let resource = own.iter().map(|(name, value)| Attribute::text(name, value)).collect();
    request(resource, metrics.into_values().collect()).encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::message::Request;

    #[test]
    fn values_of_otlp_lie_in_the_bucket_whose_bound_they_do_not_exceed() {
        let mut value = OtlpValue::histogram(&[0.0, 5.0]);
        let OtlpValue::Histogram(buckets) = &mut value else { panic!("it is one") };
        [0.0, 5.0, 5.1, 1.0].into_iter().for_each(|value| buckets.record(value));
        let attributes = vec![("a", "b")];
        let sample = OtlpSample { name: "m".to_owned(), unit: "ms", attributes, value: &value };
        let bytes = otlp(("k6", "2"), &[sample], 1, 2);
        let request = Request::decode(bytes.as_slice()).unwrap();
        let metric = &request.resource_metrics[0].scope_metrics[0].metrics[0];
        let Some(Data::Histogram(found)) = &metric.data else { panic!("{metric:?}") };
        let point = &found.points[0];
        assert_eq!((point.counts.as_slice(), point.count), ([1, 2, 1].as_slice(), 4));
        assert_eq!((point.min, point.max, point.sum), (Some(0.0), Some(5.1), Some(11.1)));
    }

    #[test]
    fn points_of_influx_keep_what_separates_them_apart() {
        let mut lines = String::new();
        let tags = [("a b", "x=y,z\\"), ("empty", ""), ("n", "1\n2")];
        let fields = [
            ("value", Field::Number(0.5)),
            ("vu", Field::Whole(3)),
            ("url", Field::Text("a\"b\\c\nd")),
        ];
        influx_point(&mut lines, "m 1", tags.into_iter(), &fields, 7);
        let want = "m\\ 1,a\\ b=x\\=y\\,z,n=1\\ 2 value=0.5,vu=3i,url=\"a\\\"b\\\\c d\" 7\n";
        assert_eq!(lines, want);
    }

    #[test]
    fn series_of_remote_write_have_names_that_prometheus_takes() {
        let labels = [("b-c", "1"), ("1a", "2"), ("empty", "")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let sample = Sample { name: "k6_x.y".to_owned(), labels, value: 2.0 };
        let bytes = snap::raw::Decoder::new().decompress_vec(&remote_write(&[sample], 9)).unwrap();
        let request = WriteRequest::decode(bytes.as_slice()).unwrap();
        let pairs = &request.timeseries[0].labels;
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|pair| (pair.name.as_str(), pair.value.as_str())).collect();
        assert_eq!(pairs, [("_1a", "2"), ("__name__", "k6_x_y"), ("b_c", "1")]);
        assert_eq!(request.timeseries[0].samples, [Point { value: 2.0, timestamp_ms: 9 }]);
    }
}
