//! Figures of others than a run's own, such as the samples of k6's metrics, in the forms of
//! receivers: batches for [`Feed::batch`](crate::Feed::batch).

use std::fmt::Write as _;

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

/// Adds a point to lines of InfluxDB. Tags without a value are left out.
pub fn influx_point<'a>(
    lines: &mut String,
    measurement: &str,
    tags: impl Iterator<Item = (&'a str, &'a str)>,
    fields: &[(&str, Field<'_>)],
    time_ns: u64,
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
    let _ = writeln!(lines, " {time_ns}");
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

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

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
