//! `-o influxdb` and `-o experimental-prometheus-rw`: samples of a script for receivers over the
//! network, in the forms in which k6 sends them, so that people's dashboards go on to work.
//!
//! Delivering is the feed's: a receiver that is down costs no worker any time. What it did not get
//! is said at the end, which k6 does not do.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use plimsoll_core::authorization::basic;
use plimsoll_core::units::parse_duration_ns;
use plimsoll_dialect::k6::Refused;
use plimsoll_dialect::k6::metrics::{
    Contains, Metric, MetricId, Registry, Sink, TagSet, TrendStat,
};
use plimsoll_outputs::samples::{Field, Sample, influx_point, remote_write, stale};
use plimsoll_outputs::{Delivery, Feed, HEADERS, Receiver};
use plimsoll_runner::k6::Point;

use super::log::other_fault;

/// Looks a variable of the environment up.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The most series whose values are kept.
const SERIES_MAX: usize = 100_000;

/// Lines are sent before their interval is over when there are this many bytes of them.
const LINES_BYTES_MAX: usize = 1 << 20;

/// What k6 sends as fields of InfluxDB and not as tags, unless it is told otherwise.
const TAGS_AS_FIELDS: &str = "vu:int,iter:int,url";

/// Samples for one receiver.
pub(super) struct Fed {
    feed: Feed,
    form: Form,
    /// How often something is sent.
    interval: Duration,
    due: Instant,
}

enum Form {
    /// A point for each sample.
    Influx { lines: String, fields: Vec<(String, bool)> },
    /// The present value of each series.
    RemoteWrite(Box<Series>),
}

/// The values of all series so far.
struct Series {
    stats: Vec<TrendStat>,
    ends_stale: bool,
    sinks: HashMap<(MetricId, TagSet), Sink>,
    /// Samples of series that were too many.
    left_out: u64,
    /// When the last sample was made, ms since 1970.
    time_ms: i64,
}

impl Fed {
    /// Opens the output of this name with its arguments; `None` for other names.
    ///
    /// # Errors
    /// Options that make no sense.
    pub(super) fn open(
        kind: &str,
        arguments: &str,
        lookup: Lookup<'_>,
    ) -> Result<Option<(String, Self)>, Refused> {
        let (receiver, form, interval) = match kind {
            "influxdb" => influx(arguments, lookup)?,
            "experimental-prometheus-rw" => prometheus(arguments, lookup)?,
            _ => return Ok(None),
        };
        let feed = Feed::begin(std::slice::from_ref(&receiver), &[]);
        let feed = feed.map_err(|error| other_fault(error.to_string()))?;
        let description = format!("{kind} ({})", receiver.place());
        let due = Instant::now() + interval;
        Ok(Some((description, Self { feed, form, interval, due })))
    }

    /// Takes a sample.
    pub(super) fn add(&mut self, point: &Point, metric: &Metric, metadata: &TagSet) {
        match &mut self.form {
            Form::Influx { lines, fields } => {
                add_line(lines, fields, point, &metric.name, metadata);
                if lines.len() > LINES_BYTES_MAX {
                    self.feed.batch(std::mem::take(lines).into_bytes());
                }
            }
            Form::RemoteWrite(series) => series.add(point, metric),
        }
    }

    /// Sends what there is, once it is time.
    pub(super) fn tick(&mut self, registry: &Registry) {
        let now = Instant::now();
        if now >= self.due {
            self.send(registry);
            self.due = now + self.interval;
        }
    }

    fn send(&mut self, registry: &Registry) {
        let batch = match &mut self.form {
            Form::Influx { lines, .. } => std::mem::take(lines).into_bytes(),
            Form::RemoteWrite(series) if series.sinks.is_empty() => return,
            Form::RemoteWrite(series) => remote_write(&series.samples(registry), series.time_ms),
        };
        if !batch.is_empty() {
            self.feed.batch(batch);
        }
    }

    /// Sends the rest. Gives what a user has to know of it.
    pub(super) fn finish(mut self, registry: &Registry) -> Vec<String> {
        self.send(registry);
        let mut complaints = Vec::new();
        if let Form::RemoteWrite(series) = &self.form {
            if series.ends_stale && !series.sinks.is_empty() {
                let mut ended = series.samples(registry);
                ended.iter_mut().for_each(|sample| sample.value = stale());
                self.feed.batch(remote_write(&ended, series.time_ms + 1));
            }
            if series.left_out > 0 {
                complaints.push(format!(
                    "{} samples were left out of Prometheus: there are more than {SERIES_MAX} \
                     series; give requests a name tag",
                    series.left_out
                ));
            }
        }
        complaints.extend(self.feed.finish().iter().filter_map(Delivery::complaint));
        complaints
    }
}

impl Series {
    fn add(&mut self, point: &Point, metric: &Metric) {
        self.time_ms = self.time_ms.max((point.wall_ns / 1_000_000) as i64);
        let key = (point.metric, point.tags.clone());
        let is_full = self.sinks.len() >= SERIES_MAX;
        match self.sinks.get_mut(&key) {
            Some(sink) => sink.add(point.value),
            None if is_full => self.left_out += 1,
            None => {
                let mut sink = Sink::new(metric.kind);
                sink.add(point.value);
                self.sinks.insert(key, sink);
            }
        }
    }

    /// What each is now. Trends are a sample for each figure, times in seconds.
    fn samples(&self, registry: &Registry) -> Vec<Sample> {
        let mut samples = Vec::new();
        for ((id, tags), sink) in &self.sinks {
            let metric = registry.get(*id);
            let labels: Vec<(String, String)> =
                tags.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let mut add = |suffix: &str, value: f64| {
                let name = format!("k6_{}{suffix}", metric.name);
                samples.push(Sample { name, labels: labels.clone(), value });
            };
            match sink {
                Sink::Counter(counter) => add("_total", counter.sum),
                Sink::Gauge(gauge) => add("", gauge.value),
                Sink::Rate(rate) => add("_rate", rate.share()),
                Sink::Trend(trend) => {
                    let figures = trend.figures(&self.stats);
                    for (stat, figure) in self.stats.iter().zip(figures) {
                        let is_time =
                            metric.contains == Contains::Time && *stat != TrendStat::Count;
                        add(&suffix(stat), if is_time { figure / 1e3 } else { figure });
                    }
                }
            }
        }
        samples
    }
}

/// `_p99` for `p(99)`, `_p999` for `p(99.9)`.
fn suffix(stat: &TrendStat) -> String {
    let letters = stat.name().chars().filter(char::is_ascii_alphanumeric);
    std::iter::once('_').chain(letters).collect()
}

fn add_line(
    lines: &mut String,
    as_fields: &[(String, bool)],
    point: &Point,
    metric: &str,
    metadata: &TagSet,
) {
    let all = || point.tags.iter().chain(metadata.iter());
    let mut fields = vec![("value", Field::Number(point.value))];
    for (name, is_whole) in as_fields {
        let Some((_, value)) = all().find(|(known, _)| known == name) else { continue };
        let whole = value.parse().ok().filter(|_| *is_whole);
        fields.push((name.as_str(), whole.map_or(Field::Text(value), Field::Whole)));
    }
    let tags = all().filter(|(name, _)| as_fields.iter().all(|(field, _)| field != name));
    influx_point(lines, metric, tags, &fields, point.wall_ns);
}

fn influx(arguments: &str, lookup: Lookup<'_>) -> Result<(Receiver, Form, Duration), Refused> {
    let given = Some(arguments.to_owned()).filter(|url| !url.is_empty());
    let is_given = given.is_some();
    let url = given.or_else(|| lookup("K6_INFLUXDB_ADDR"));
    let (url, in_url) = without_credentials(&url.unwrap_or("http://localhost:8086".to_owned()));
    let has_path = url.splitn(4, '/').nth(3).is_some_and(|path| !path.is_empty());
    let database = lookup("K6_INFLUXDB_DB").unwrap_or_else(|| "k6".to_owned());
    let url = match is_given && has_path {
        true => url,
        false => format!("{}/{database}", url.trim_end_matches('/')),
    };
    let user = lookup("K6_INFLUXDB_USERNAME")
        .map(|user| format!("{user}:{}", lookup("K6_INFLUXDB_PASSWORD").unwrap_or_default()));
    let receiver = receiver(&format!("influx={url}"), in_url.or(user).as_deref().map(basic))?;
    let fields = lookup("K6_INFLUXDB_TAGS_AS_FIELDS");
    let fields = fields.as_deref().unwrap_or(TAGS_AS_FIELDS).split(',');
    let fields = fields.map(str::trim).filter(|field| !field.is_empty()).map(|field| {
        let (name, kind) = field.split_once(':').unwrap_or((field, "string"));
        (name.to_owned(), kind == "int")
    });
    let form = Form::Influx { lines: String::new(), fields: fields.collect() };
    Ok((receiver, form, interval("K6_INFLUXDB_PUSH_INTERVAL", 1, lookup)?))
}

fn prometheus(arguments: &str, lookup: Lookup<'_>) -> Result<(Receiver, Form, Duration), Refused> {
    const NATIVE: &str = "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM";
    if is_true(lookup(NATIVE)) {
        let what =
            format!("{NATIVE} is not supported: choose figures in K6_PROMETHEUS_RW_TREND_STATS");
        return Err(other_fault(what));
    }
    let given = Some(arguments.to_owned()).filter(|url| !url.is_empty());
    let url = given.or_else(|| lookup("K6_PROMETHEUS_RW_SERVER_URL"));
    let url = url.unwrap_or_else(|| "http://localhost:9090/api/v1/write".to_owned());
    let (url, in_url) = without_credentials(&url);
    let user = lookup("K6_PROMETHEUS_RW_USERNAME")
        .map(|user| format!("{user}:{}", lookup("K6_PROMETHEUS_RW_PASSWORD").unwrap_or_default()));
    let bearer = lookup("K6_PROMETHEUS_RW_BEARER_TOKEN").map(|token| format!("Bearer {token}"));
    let credentials = in_url.or(user).as_deref().map(basic).or(bearer);
    let receiver = receiver(&format!("prometheus-rw={url}"), credentials)?;
    let stats = lookup("K6_PROMETHEUS_RW_TREND_STATS").unwrap_or_else(|| "p(99)".to_owned());
    let read = |text: &str| {
        TrendStat::parse(text).ok_or_else(|| {
            let known = "avg, min, med, max, count or p(99)";
            other_fault(format!("K6_PROMETHEUS_RW_TREND_STATS: '{text}' is not {known}"))
        })
    };
    let stats = stats.split(',').map(str::trim).map(read).collect::<Result<_, _>>()?;
    let ends_stale = is_true(lookup("K6_PROMETHEUS_RW_STALE_MARKERS"));
    let series = Series { stats, ends_stale, sinks: HashMap::new(), left_out: 0, time_ms: 0 };
    let form = Form::RemoteWrite(Box::new(series));
    Ok((receiver, form, interval("K6_PROMETHEUS_RW_PUSH_INTERVAL", 5, lookup)?))
}

fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|value| matches!(value.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True"))
}

fn receiver(text: &str, authorization: Option<String>) -> Result<Receiver, Refused> {
    let headers = authorization.map(|value| format!("Authorization={value}"));
    let lookup = |name: &str| headers.clone().filter(|_| name == HEADERS);
    Receiver::parse(text, &lookup).map_err(|error| other_fault(error.to_string()))
}

/// A URL without its user and password, and those.
fn without_credentials(url: &str) -> (String, Option<String>) {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find('/').unwrap_or(rest.len());
        let (credentials, host) = rest[..end].rsplit_once('@')?;
        Some((format!("{scheme}://{host}{}", &rest[end..]), credentials.to_owned()))
    });
    match parts {
        Some((url, credentials)) => (url, Some(credentials)),
        None => (url.to_owned(), None),
    }
}

fn interval(name: &str, default_s: u64, lookup: Lookup<'_>) -> Result<Duration, Refused> {
    let Some(text) = lookup(name) else { return Ok(Duration::from_secs(default_s)) };
    let interval = parse_duration_ns(&text).map(Duration::from_nanos);
    interval.map_err(|error| other_fault(format!("{name}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_trends_are_named_as_k6_names_them() {
        for (text, want) in
            [("p(99)", "_p99"), ("p(99.9)", "_p999"), ("p(0.95)", "_p095"), ("avg", "_avg")]
        {
            assert_eq!(suffix(&TrendStat::parse(text).unwrap()), want);
        }
    }

    #[test]
    fn credentials_in_a_url_become_a_header() {
        for (url, want) in [
            ("http://a:1/b", ("http://a:1/b", None)),
            ("http://u:p@a:1/b@c", ("http://a:1/b@c", Some("u:p"))),
            ("http://u:p@a", ("http://a", Some("u:p"))),
        ] {
            let (found, credentials) = without_credentials(url);
            assert_eq!((found.as_str(), credentials.as_deref()), want);
        }
    }

    #[test]
    fn addresses_and_databases_come_from_where_k6_takes_them() {
        let none = |_: &str| None;
        let place = |found: Result<(Receiver, Form, Duration), Refused>| {
            found.unwrap_or_else(|refused| panic!("{}", refused.what)).0.place().to_owned()
        };
        assert_eq!(place(influx("", &none)), "http://localhost:8086/write");
        assert_eq!(place(influx("http://a:1/load", &none)), "http://a:1/write");
        assert_eq!(place(prometheus("", &none)), "http://localhost:9090/api/v1/write");
        let lookup = |name: &str| (name == "K6_INFLUXDB_ADDR").then(|| "http://b:2".to_owned());
        assert_eq!(place(influx("", &lookup)), "http://b:2/write");
        let lookup = |name: &str| name.ends_with("TREND_STATS").then(|| "p99".to_owned());
        let refused = prometheus("", &lookup).err().expect("p99 is not a figure").what;
        assert!(refused.contains("'p99' is not avg"), "{refused}");
    }
}
