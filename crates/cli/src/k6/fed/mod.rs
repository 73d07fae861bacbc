//! `-o influxdb`, `-o experimental-prometheus-rw` and `-o opentelemetry`: samples of a script for
//! receivers over the network, in the forms in which k6 sends them, so that people's dashboards go
//! on to work.
//!
//! Delivering is the feed's: a receiver that is down costs no worker any time. The log says at the
//! end what it did not get, which k6 does not do.

mod otel;
mod series;

use std::time::{Duration, Instant};

use plimsoll_core::authorization::basic;
use plimsoll_core::units::parse_duration_ns;
use plimsoll_dialect::k6::Refused;
use plimsoll_dialect::k6::metrics::{Metric, Registry, TagSet, TrendStat};
use plimsoll_outputs::samples::{Field, influx_point};
use plimsoll_outputs::{Delivery, Feed, HEADERS, Receiver, Style};
use plimsoll_runner::k6::Point;

use self::otel::Otel;
use self::series::{SERIES_MAX, Series};
use super::log::other_fault;

/// Looks a variable of the environment up.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

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
    Influx { lines: String, fields: Vec<(String, bool)>, infinite: u64 },
    /// The present value of each series.
    RemoteWrite(Box<Series>),
    /// The same for OpenTelemetry.
    Otel(Box<Otel>),
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
            "opentelemetry" | "experimental-opentelemetry" => opentelemetry(lookup)?,
            _ => return Ok(None),
        };
        let feed = Feed::begin(std::slice::from_ref(&receiver), Style::default());
        let feed = feed.map_err(|error| other_fault(error.to_string()))?;
        let description = format!("{kind} ({})", receiver.place());
        let due = Instant::now() + interval;
        Ok(Some((description, Self { feed, form, interval, due })))
    }

    /// Takes a sample.
    pub(super) fn add(&mut self, point: &Point, metric: &Metric, metadata: &TagSet) {
        match &mut self.form {
            // A batch with such a value would be refused as a whole.
            Form::Influx { infinite, .. } if point.value.is_infinite() => *infinite += 1,
            Form::Influx { lines, fields, .. } => {
                add_line(lines, fields, point, &metric.name, metadata);
                if lines.len() > LINES_BYTES_MAX {
                    self.feed.batch(std::mem::take(lines).into_bytes());
                }
            }
            Form::RemoteWrite(series) => series.add(point, metric),
            Form::Otel(otel) => otel.add(point, metric),
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
            Form::RemoteWrite(series) => series.batch(registry),
            Form::Otel(otel) => otel.batch(registry),
        };
        if !batch.is_empty() {
            self.feed.batch(batch);
        }
    }

    /// Sends the rest. Gives what a user has to know of it.
    pub(super) fn finish(mut self, registry: &Registry) -> Vec<String> {
        self.send(registry);
        let mut complaints = Vec::new();
        let left_out = match &self.form {
            Form::Influx { infinite, .. } => {
                if *infinite > 0 {
                    complaints.push(format!(
                        "{infinite} samples were left out of an output: InfluxDB takes no infinite \
                         values"
                    ));
                }
                0
            }
            Form::Otel(otel) => otel.left_out(),
            Form::RemoteWrite(series) => {
                let ending = series.ending(registry);
                if !ending.is_empty() {
                    self.feed.batch(ending);
                }
                series.left_out()
            }
        };
        if left_out > 0 {
            complaints.push(format!(
                "{left_out} samples were left out of an output: there are more than {SERIES_MAX} \
                 series; give requests a name tag"
            ));
        }
        complaints.extend(self.feed.finish().iter().filter_map(Delivery::complaint));
        complaints
    }
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
    let (url, in_url) =
        without_credentials(&url.unwrap_or_else(|| "http://localhost:8086".to_owned()));
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
    let form = Form::Influx { lines: String::new(), fields: fields.collect(), infinite: 0 };
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
    let form = Form::RemoteWrite(Box::new(Series::new(stats, ends_stale)));
    Ok((receiver, form, interval("K6_PROMETHEUS_RW_PUSH_INTERVAL", 5, lookup)?))
}

fn opentelemetry(lookup: Lookup<'_>) -> Result<(Receiver, Form, Duration), Refused> {
    let protocol = lookup("K6_OTEL_EXPORTER_PROTOCOL").or_else(|| lookup("K6_OTEL_EXPORTER_TYPE"));
    if !matches!(protocol.as_deref(), Some("http/protobuf" | "http")) {
        let what = "opentelemetry is sent over HTTP alone: set \
                    K6_OTEL_EXPORTER_PROTOCOL=http/protobuf";
        return Err(other_fault(what.to_owned()));
    }
    let endpoint = lookup("K6_OTEL_HTTP_EXPORTER_ENDPOINT");
    let endpoint = endpoint.unwrap_or_else(|| "localhost:4318".to_owned());
    let path = lookup("K6_OTEL_HTTP_EXPORTER_URL_PATH");
    let path = path.unwrap_or_else(|| "/v1/metrics".to_owned());
    let is_plain = is_true(lookup("K6_OTEL_HTTP_EXPORTER_INSECURE"));
    let scheme = if is_plain { "http" } else { "https" };
    let url = format!("otlp={scheme}://{endpoint}{path}");
    let headers = lookup("K6_OTEL_HEADERS");
    let own = |name: &str| headers.clone().filter(|_| name == HEADERS);
    let receiver = Receiver::parse(&url, &own).map_err(|error| other_fault(error.to_string()))?;
    let service = lookup("K6_OTEL_SERVICE_NAME").unwrap_or_else(|| "k6".to_owned());
    let prefix = lookup("K6_OTEL_METRIC_PREFIX").unwrap_or_default();
    let form = Form::Otel(Box::new(Otel::new(service, prefix)));
    Ok((receiver, form, interval("K6_OTEL_EXPORT_INTERVAL", 10, lookup)?))
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
