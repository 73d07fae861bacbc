//! What arguments and variables say of a receiver: where it is, what it is told beside samples, and
//! how often.
//!
//! Absent on purpose: variables that mean nothing here. `plimsoll_dialect::k6::variables` names
//! those, and each is warned of.

use std::time::Duration;

use plimsoll_core::authorization::basic;
use plimsoll_core::secret::percent_decoded;
use plimsoll_core::units::parse_duration_ns;
use plimsoll_dialect::k6::Refused;
use plimsoll_dialect::k6::metrics::TrendStat;
use plimsoll_outputs::Receiver;

use super::Form;
use super::otel::Otel;
use super::series::Series;
use super::tls::{Files, trust};
use crate::k6::K6_VERSION;
use crate::k6::log::other_fault;
use crate::k6::outputs::Variables;

/// What k6 sends as fields of InfluxDB and not as tags, unless it is told otherwise.
const TAGS_AS_FIELDS: &str = "vu:int,iter:int,url";

/// Units of times that InfluxDB takes: as k6 names them, as InfluxDB does, and in ns.
const PRECISIONS: [(&str, &str, u64); 6] = [
    ("ns", "ns", 1),
    ("us", "u", 1_000),
    ("ms", "ms", 1_000_000),
    ("s", "s", 1_000_000_000),
    ("m", "m", 60_000_000_000),
    ("h", "h", 3_600_000_000_000),
];

/// An output that was asked for.
pub(super) struct Asked {
    pub(super) receiver: Receiver,
    pub(super) form: Form,
    /// How often something is sent.
    pub(super) interval: Duration,
}

pub(super) fn influx(arguments: &str, variables: Variables<'_>) -> Result<Asked, Refused> {
    let (arguments, query) = arguments.split_once('?').unwrap_or((arguments, ""));
    let own = parameters(query)?;
    // What the URL says wins over variables.
    let text = |parameter: &str, variable: &str| {
        let own = own.iter().find(|(name, _)| name == parameter).map(|(_, value)| value.clone());
        own.or_else(|| variables.text(variable))
    };
    let given = Some(arguments.to_owned()).filter(|url| !url.is_empty());
    let is_given = given.is_some();
    let url = given.or_else(|| variables.text("K6_INFLUXDB_ADDR"));
    let (url, in_url) =
        without_credentials(&url.unwrap_or_else(|| "http://localhost:8086".to_owned()));
    let has_path = url.splitn(4, '/').nth(3).is_some_and(|path| !path.is_empty());
    let database = variables.text("K6_INFLUXDB_DB").unwrap_or_else(|| "k6".to_owned());
    let url = match is_given && has_path {
        true => url,
        false => format!("{}/{database}", url.trim_end_matches('/')),
    };
    let user = credentials(variables, "K6_INFLUXDB_USERNAME", "K6_INFLUXDB_PASSWORD");
    let mut receiver = receiver(&format!("influx={url}"), in_url.or(user).as_deref().map(basic))?;
    let precision = text("precision", "K6_INFLUXDB_PRECISION").unwrap_or_else(|| "ns".to_owned());
    let known = PRECISIONS.iter().find(|(name, ..)| *name == precision);
    let (_, unit, unit_ns) = *known.ok_or_else(|| {
        let what = format!("'{precision}' is not ns, us, ms, s, m or h");
        other_fault(format!("K6_INFLUXDB_PRECISION: {what}"))
    })?;
    receiver = receiver.with_parameter("precision", unit);
    for (name, parameter, variable) in [
        ("rp", "retention", "K6_INFLUXDB_RETENTION"),
        ("consistency", "consistency", "K6_INFLUXDB_CONSISTENCY"),
    ] {
        if let Some(value) = text(parameter, variable) {
            receiver = receiver.with_parameter(name, &encoded(&value));
        }
    }
    let accepts_any = is_true(text("insecure", "K6_INFLUXDB_INSECURE"));
    let trust = trust(variables, Files { accepts_any, ..Files::default() })?;
    let fields = text("tagsAsFields", "K6_INFLUXDB_TAGS_AS_FIELDS");
    let fields = fields.as_deref().unwrap_or(TAGS_AS_FIELDS).split(',');
    let fields = fields.map(str::trim).filter(|field| !field.is_empty()).map(|field| {
        let (name, kind) = field.split_once(':').unwrap_or((field, "string"));
        (name.to_owned(), kind == "int")
    });
    let form =
        Form::Influx { lines: String::new(), fields: fields.collect(), unit_ns, infinite: 0 };
    let interval = match text("pushInterval", "K6_INFLUXDB_PUSH_INTERVAL") {
        Some(given) => duration("K6_INFLUXDB_PUSH_INTERVAL", &given)?,
        None => Duration::from_secs(1),
    };
    Ok(Asked { receiver: receiver.with_trust(trust), form, interval })
}

/// What stands behind the `?` of k6's argument, with the parameters that k6 knows.
fn parameters(query: &str) -> Result<Vec<(String, String)>, Refused> {
    const KNOWN: [&str; 6] =
        ["insecure", "precision", "retention", "consistency", "pushInterval", "tagsAsFields"];
    let mut all: Vec<(String, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decoded(value);
        match name {
            "payload_size" | "concurrentWrites" => {
                let why = "batches go out one after another, over HTTP";
                return Err(other_fault(format!("--out influxdb: '{name}' has no effect: {why}")));
            }
            _ if !KNOWN.contains(&name) => {
                let known = KNOWN.join(", ");
                return Err(other_fault(format!("--out influxdb: '{name}' is not {known}")));
            }
            _ => match all.iter_mut().find(|(known, _)| known == name) {
                // Several lists of tags are one.
                Some((_, before)) if name == "tagsAsFields" => {
                    *before = format!("{before},{value}")
                }
                Some(_) => {}
                None => all.push((name.to_owned(), value)),
            },
        }
    }
    all.retain(|(_, value)| !value.is_empty());
    Ok(all)
}

pub(super) fn prometheus(arguments: &str, variables: Variables<'_>) -> Result<Asked, Refused> {
    const NATIVE: &str = "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM";
    if is_true(variables.text(NATIVE)) {
        let what =
            format!("{NATIVE} is not supported: choose figures in K6_PROMETHEUS_RW_TREND_STATS");
        return Err(other_fault(what));
    }
    for name in ["REGION", "ACCESS_KEY", "SECRET_KEY"] {
        let name = format!("K6_PROMETHEUS_RW_SIGV4_{name}");
        if variables.text(&name).is_some() {
            let what = "requests are not signed: send through a proxy that signs them";
            return Err(other_fault(format!("{name} is not supported: {what}")));
        }
    }
    let given = Some(arguments.to_owned()).filter(|url| !url.is_empty());
    let url = given.or_else(|| variables.text("K6_PROMETHEUS_RW_SERVER_URL"));
    let url = url.unwrap_or_else(|| "http://localhost:9090/api/v1/write".to_owned());
    let (url, in_url) = without_credentials(&url);
    let user = credentials(variables, "K6_PROMETHEUS_RW_USERNAME", "K6_PROMETHEUS_RW_PASSWORD");
    let bearer =
        variables.text("K6_PROMETHEUS_RW_BEARER_TOKEN").map(|token| format!("Bearer {token}"));
    let authorization = in_url.or(user).as_deref().map(basic).or(bearer);
    let receiver = receiver(&format!("prometheus-rw={url}"), authorization)?;
    let receiver = with_headers(receiver, remote_headers(variables)?)?;
    let trust = trust(
        variables,
        Files {
            accepts_any: is_true(variables.text("K6_PROMETHEUS_RW_INSECURE_SKIP_TLS_VERIFY")),
            certificate: "K6_PROMETHEUS_RW_CLIENT_CERTIFICATE",
            key: "K6_PROMETHEUS_RW_CLIENT_CERTIFICATE_KEY",
            ..Files::default()
        },
    )?;
    let lowest = variables.text("K6_PROMETHEUS_RW_TLS_MINIMUM_VERSION");
    if let Some(lowest) = lowest.filter(|lowest| lowest != "1.2") {
        let what = format!("'{lowest}' is not supported: 1.2 and 1.3 are both taken");
        return Err(other_fault(format!("K6_PROMETHEUS_RW_TLS_MINIMUM_VERSION: {what}")));
    }
    let stats = variables.text("K6_PROMETHEUS_RW_TREND_STATS");
    let stats = stats.unwrap_or_else(|| "p(99)".to_owned());
    let read = |text: &str| {
        TrendStat::parse(text).ok_or_else(|| {
            let known = "avg, min, med, max, count or p(99)";
            other_fault(format!("K6_PROMETHEUS_RW_TREND_STATS: '{text}' is not {known}"))
        })
    };
    let stats = stats.split(',').map(str::trim).map(read).collect::<Result<_, _>>()?;
    let ends_stale = is_true(variables.text("K6_PROMETHEUS_RW_STALE_MARKERS"));
    let form = Form::RemoteWrite(Box::new(Series::new(stats, ends_stale)));
    let interval = interval("K6_PROMETHEUS_RW_PUSH_INTERVAL", 5, variables)?;
    Ok(Asked { receiver: receiver.with_trust(trust), form, interval })
}

/// Headers of one variable each, and those of a list, which win.
fn remote_headers(variables: Variables<'_>) -> Result<Vec<(String, String)>, Refused> {
    const LIST: &str = "K6_PROMETHEUS_RW_HTTP_HEADERS";
    let list = variables.text(LIST).unwrap_or_default();
    let pairs = list.split(',').filter(|pair| !pair.is_empty());
    let read = |pair: &str| match pair.split_once(':') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(other_fault(format!("{LIST} is not a list of headers: write NAME:VALUE"))),
    };
    let mut all: Vec<(String, String)> = pairs.map(read).collect::<Result<_, _>>()?;
    all.extend(variables.beginning_with("K6_PROMETHEUS_RW_HEADERS_"));
    Ok(all)
}

pub(super) fn opentelemetry(variables: Variables<'_>) -> Result<Asked, Refused> {
    let protocol = variables.text("K6_OTEL_EXPORTER_PROTOCOL");
    let protocol = protocol.or_else(|| variables.text("K6_OTEL_EXPORTER_TYPE"));
    if !matches!(protocol.as_deref(), Some("http/protobuf" | "http")) {
        let what = "opentelemetry is sent over HTTP alone: set \
                    K6_OTEL_EXPORTER_PROTOCOL=http/protobuf";
        return Err(other_fault(what.to_owned()));
    }
    let text = |name: &str, usual: &str| variables.text(name).unwrap_or_else(|| usual.to_owned());
    let endpoint = text("K6_OTEL_HTTP_EXPORTER_ENDPOINT", "localhost:4318");
    let path = text("K6_OTEL_HTTP_EXPORTER_URL_PATH", "/v1/metrics");
    let is_plain = is_true(variables.text("K6_OTEL_HTTP_EXPORTER_INSECURE"));
    let scheme = if is_plain { "http" } else { "https" };
    let user =
        credentials(variables, "K6_OTEL_HTTP_EXPORTER_USERNAME", "K6_OTEL_HTTP_EXPORTER_PASSWORD");
    let url = format!("{scheme}://{endpoint}{path}");
    // The path is whole, as that of OpenTelemetry's own variable for metrics alone.
    let whole = |name: &str| (name == "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT").then(|| url.clone());
    let receiver = Receiver::parse("otlp", &whole);
    let receiver = receiver.map_err(|error| other_fault(error.to_string()))?;
    let receiver = with_authorization(receiver, user.as_deref().map(basic))?;
    let receiver = with_headers(receiver, otel_headers(variables)?)?;
    let trust = trust(
        variables,
        Files {
            accepts_any: is_true(variables.text("K6_OTEL_TLS_INSECURE_SKIP_VERIFY")),
            roots: "K6_OTEL_TLS_CERTIFICATE",
            certificate: "K6_OTEL_TLS_CLIENT_CERTIFICATE",
            key: "K6_OTEL_TLS_CLIENT_KEY",
        },
    )?;
    let service = variables.text("K6_OTEL_SERVICE_NAME");
    let service = service.unwrap_or_else(|| text("OTEL_SERVICE_NAME", "k6"));
    let version = text("K6_OTEL_SERVICE_VERSION", K6_VERSION);
    let prefix = text("K6_OTEL_METRIC_PREFIX", "");
    // Samples are counted as they come, so only whether it is a duration matters.
    interval("K6_OTEL_FLUSH_INTERVAL", 1, variables)?;
    let form = Form::Otel(Box::new(Otel::new((service, version), prefix)));
    let interval = interval("K6_OTEL_EXPORT_INTERVAL", 10, variables)?;
    Ok(Asked { receiver: receiver.with_trust(trust), form, interval })
}

fn otel_headers(variables: Variables<'_>) -> Result<Vec<(String, String)>, Refused> {
    const LIST: &str = "K6_OTEL_HEADERS";
    let list = variables.text(LIST).unwrap_or_default();
    let pairs = list.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let read = |pair: &str| match pair.split_once('=') {
        Some((name, value)) => Ok((name.trim().to_owned(), percent_decoded(value.trim()))),
        None => Err(other_fault(format!("{LIST} is not a list of headers: write NAME=VALUE"))),
    };
    pairs.map(read).collect()
}

fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|value| matches!(value.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True"))
}

fn credentials(variables: Variables<'_>, user: &str, password: &str) -> Option<String> {
    let (user, password) = (variables.text(user), variables.text(password));
    user.map(|user| format!("{user}:{}", password.unwrap_or_default()))
}

/// The receiver of a text. Nothing of the environment is added but what k6 reads.
fn receiver(text: &str, authorization: Option<String>) -> Result<Receiver, Refused> {
    let receiver = Receiver::parse(text, &|_| None);
    let receiver = receiver.map_err(|error| other_fault(error.to_string()))?;
    with_authorization(receiver, authorization)
}

fn with_authorization(receiver: Receiver, value: Option<String>) -> Result<Receiver, Refused> {
    with_headers(receiver, value.map(|value| ("Authorization".to_owned(), value)))
}

fn with_headers(
    receiver: Receiver,
    headers: impl IntoIterator<Item = (String, String)>,
) -> Result<Receiver, Refused> {
    receiver.with_headers(headers).map_err(|error| other_fault(error.to_string()))
}

/// As a query holds it.
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let letter = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
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

fn interval(name: &str, default_s: u64, variables: Variables<'_>) -> Result<Duration, Refused> {
    match variables.text(name) {
        Some(text) => duration(name, &text),
        None => Ok(Duration::from_secs(default_s)),
    }
}

fn duration(name: &str, text: &str) -> Result<Duration, Refused> {
    let interval = parse_duration_ns(text).map(Duration::from_nanos);
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

    fn asked(
        kind: &str,
        arguments: &str,
        given: &[(&str, &str)],
    ) -> Result<(Receiver, Duration), String> {
        let lookup = |name: &str| {
            given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let all = || given.iter().map(|(name, value)| (*name).to_owned() + "=" + value).collect();
        let variables = Variables { lookup: &lookup, all: &all };
        let asked = match kind {
            "influxdb" => influx(arguments, variables),
            "prometheus" => prometheus(arguments, variables),
            _ => opentelemetry(variables),
        };
        asked.map(|it| (it.receiver, it.interval)).map_err(|refused| refused.what)
    }

    #[test]
    fn addresses_and_databases_come_from_where_k6_takes_them() {
        let http = ("K6_OTEL_EXPORTER_PROTOCOL", "http/protobuf");
        for (kind, arguments, given, want) in [
            ("influxdb", "", &[][..], "http://localhost:8086/write"),
            ("influxdb", "http://a:1/load", &[], "http://a:1/write"),
            ("influxdb", "", &[("K6_INFLUXDB_ADDR", "http://b:2")], "http://b:2/write"),
            ("prometheus", "", &[], "http://localhost:9090/api/v1/write"),
            ("opentelemetry", "", &[http], "https://localhost:4318/v1/metrics"),
        ] {
            let (receiver, _) = asked(kind, arguments, given).expect("an output");
            assert_eq!(receiver.place(), want, "{kind} {arguments}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_name() {
        let http = ("K6_OTEL_EXPORTER_PROTOCOL", "http/protobuf");
        for (kind, arguments, given, want) in [
            ("prometheus", "", &[("K6_PROMETHEUS_RW_TREND_STATS", "p99")][..], "'p99' is not avg"),
            (
                "prometheus",
                "",
                &[("K6_PROMETHEUS_RW_SIGV4_REGION", "x")],
                "K6_PROMETHEUS_RW_SIGV4_REGION is not supported",
            ),
            (
                "prometheus",
                "",
                &[("K6_PROMETHEUS_RW_HTTP_HEADERS", "abc")],
                "K6_PROMETHEUS_RW_HTTP_HEADERS is not a list of headers",
            ),
            (
                "prometheus",
                "",
                &[("K6_PROMETHEUS_RW_HEADERS_A B", "c")],
                "'A B' is not the name of a header",
            ),
            (
                "prometheus",
                "",
                &[("K6_PROMETHEUS_RW_TLS_MINIMUM_VERSION", "1.3")],
                "K6_PROMETHEUS_RW_TLS_MINIMUM_VERSION: '1.3' is not supported",
            ),
            (
                "prometheus",
                "",
                &[("K6_PROMETHEUS_RW_CLIENT_CERTIFICATE", "/nowhere/a.pem")],
                "K6_PROMETHEUS_RW_CLIENT_CERTIFICATE needs K6_PROMETHEUS_RW_CLIENT_CERTIFICATE_KEY",
            ),
            (
                "influxdb",
                "",
                &[("K6_INFLUXDB_PRECISION", "years")],
                "K6_INFLUXDB_PRECISION: 'years' is not ns",
            ),
            ("influxdb", "http://a:1/b?foo=1", &[], "--out influxdb: 'foo' is not insecure"),
            (
                "influxdb",
                "http://a:1/b?concurrentWrites=1",
                &[],
                "--out influxdb: 'concurrentWrites' has no effect",
            ),
            ("otel", "", &[], "opentelemetry is sent over HTTP alone"),
            ("otel", "", &[http, ("K6_OTEL_FLUSH_INTERVAL", "often")], "K6_OTEL_FLUSH_INTERVAL: "),
            (
                "otel",
                "",
                &[http, ("K6_OTEL_TLS_CERTIFICATE", "/nowhere/a.pem")],
                "cannot read K6_OTEL_TLS_CERTIFICATE '/nowhere/a.pem'",
            ),
        ] {
            let what = asked(kind, arguments, given).expect_err(want);
            assert!(what.contains(want), "{what}");
        }
    }

    #[test]
    fn the_url_of_influxdb_wins_over_variables() {
        let given = [("K6_INFLUXDB_PUSH_INTERVAL", "7s")];
        for (arguments, want_s) in [("", 7), ("http://a:1/b?pushInterval=3s&precision=ms", 3)] {
            let (_, interval) = asked("influxdb", arguments, &given).expect("an output");
            assert_eq!(interval, Duration::from_secs(want_s));
        }
    }
}
