//! Targets as people write them, and what the environment adds.

use super::*;

fn url(text: &str) -> String {
    match Receiver::parse(text, &|_| None).unwrap().place {
        Place::Udp(address) => address,
        Place::Http(http) => http.url,
        Place::Listen(address, linger) => format!("{address} {linger:?}"),
    }
}

#[test]
fn targets_are_read_as_people_write_them() {
    for (text, want) in [
        ("statsd=localhost:8125", "localhost:8125"),
        ("statsd=[::1]:8125,dogstatsd", "[::1]:8125"),
        ("influx=http://a:8086/load", "http://a:8086/write?db=load&precision=ns"),
        ("influx=http://a:8086/x/load/", "http://a:8086/x/write?db=load&precision=ns"),
        ("influx=http://a?db=load", "http://a/write?db=load&precision=ns"),
        ("influx=https://a/?org=o&bucket=b", "https://a/api/v2/write?org=o&bucket=b&precision=ns"),
        ("influx=http://a/write?db=d&rp=r", "http://a/write?db=d&rp=r&precision=ns"),
        ("prometheus", "127.0.0.1:9464 30s"),
        ("prometheus=", "127.0.0.1:9464 30s"),
        ("prometheus=:0,linger=1s", "127.0.0.1:0 1s"),
        ("prometheus=9000", "127.0.0.1:9000 30s"),
        ("prometheus=0.0.0.0:9000", "0.0.0.0:9000 30s"),
        ("prometheus=[::1]:9000", "[::1]:9000 30s"),
        ("prometheus-rw=http://a:9090", "http://a:9090/api/v1/write"),
        ("prometheus-rw=http://a/x/push?y=1,native", "http://a/x/push?y=1"),
        ("prometheus-rw=http://a,v2,native", "http://a/api/v1/write"),
        ("prometheus-rw=http://a,native,v2", "http://a/api/v1/write"),
        ("otlp", "http://localhost:4318/v1/metrics"),
        ("otlp=http://a:4318/x/", "http://a:4318/x/v1/metrics"),
        ("otlp=http://a/v1/metrics", "http://a/v1/metrics"),
    ] {
        assert_eq!(url(text), want, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    for (text, want) in [
        ("graphite=a:2003", "'graphite' is not an output"),
        ("statsd=", "'' is not HOST:PORT"),
        ("statsd=a:0", "'a:0' is not HOST:PORT"),
        ("statsd=:8125", "':8125' is not HOST:PORT"),
        ("influx=http://a:8086", "'http://a:8086' names no database"),
        ("prometheus=a:9000", "'a:9000' is not an address to listen on"),
        ("prometheus=:1,linger=x", "':1,linger=x' is not an address to listen on"),
        ("prometheus-rw=", "'' is not a URL of prometheus-rw"),
        ("otlp=ftp://a", "'ftp://a' is not a URL of otlp"),
        ("influx=a:8086", "'a:8086' is not a URL of influx"),
        ("influx=http://a:99999/db?p=hush", "'http://a:99999/db' is not a URL of influx"),
        ("otlp=http://a:x", "'http://a:x' is not a URL of otlp"),
        ("otlp=http://[::1]:9x/", "'http://[::1]:9x/' is not a URL of otlp"),
        ("influx=http://u:p@a:8086/d", "a URL of an output has no user and password"),
    ] {
        let error = Receiver::parse(text, &|_| None).unwrap_err().to_string();
        assert!(error.starts_with(want) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn otlp_follows_the_environment() {
    let lookup = |name: &str| {
        let value = match name {
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" => "http://a:1/mine",
            "OTEL_EXPORTER_OTLP_ENDPOINT" => "http://b:1",
            "OTEL_EXPORTER_OTLP_HEADERS" => "x-key=a%20b",
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE" => "Delta",
            "OTEL_SERVICE_NAME" => "load",
            "OTEL_RESOURCE_ATTRIBUTES" => "team=web",
            _ => return None,
        };
        Some(value.to_owned())
    };
    let receiver = Receiver::parse("otlp", &lookup).unwrap();
    let Place::Http(http) = &receiver.place else { panic!("it is HTTP") };
    assert_eq!(http.url, "http://a:1/mine");
    assert!(http.headers.contains(&("x-key".to_owned(), "a b".to_owned())));
    let resource = [("service.name", "load"), ("team", "web")];
    let resource = resource.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    assert_eq!(receiver.form, Form::Otlp { temporality: Temporality::Delta, resource });
    let wrong = |name: &str| name.ends_with("PREFERENCE").then(|| "weekly".to_owned());
    let error = Receiver::parse("otlp", &wrong).unwrap_err().to_string();
    assert!(error.contains("is 'weekly': set it to cumulative"), "{error}");
}

#[test]
fn credentials_come_from_the_environment_and_are_not_shown() {
    let lookup = |name: &str| match name {
        HEADERS => Some("X-Scope-OrgID=7, Authorization=Basic YTpi=".to_owned()),
        "INFLUX_TOKEN" => Some("hidden".to_owned()),
        _ => None,
    };
    let receiver = Receiver::parse("influx=http://a/load", &lookup).unwrap();
    let Place::Http(http) = &receiver.place else { panic!("it is HTTP") };
    let authorizations: Vec<&str> = http
        .headers
        .iter()
        .filter(|(name, _)| name == "Authorization")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(authorizations, ["Basic YTpi="]);
    let shown = format!("{receiver} {receiver:?}");
    assert!(!shown.contains("YTpi") && !shown.contains("hidden"), "{shown}");
    let broken = |_: &str| Some("no header".to_owned());
    let error = Receiver::parse("influx=http://a/load", &broken).unwrap_err();
    assert_eq!(error, ReceiverError::Headers { name: HEADERS });
}
