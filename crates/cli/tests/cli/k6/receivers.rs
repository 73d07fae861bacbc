//! `-o influxdb`: a point for each sample, to a server over the network.

use super::World;
use crate::peer::{Answer, Peer};
use crate::support::Server;

const SCRIPT: &str = "import http from 'k6/http';
    export default function () { http.get(`${__ENV.BASE}/?a b`, { tags: { name: 'x y' } }); }";

#[test]
fn influxdb_gets_a_point_for_each_sample() {
    let world = World::new(SCRIPT);
    let receiver = Peer::answering(|_| Answer::Say("HTTP/1.1 204 No Content\r\n\r\n"));
    let url = receiver.url("/mine").replace("http://", "http://me:secret@");
    let finished = world.run(&["-i", "7", "-o", &format!("influxdb={url}")]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let shown = format!("output: influxdb ({})", receiver.url("/write"));
    assert!(finished.stdout.contains(&shown), "{finished:?}");
    let requests = receiver.requests().join("\n");
    assert!(requests.starts_with("POST /write?db=mine&precision=ns HTTP/1.1\r\n"), "{requests}");
    assert!(
        requests.to_lowercase().contains("authorization: basic bwu6c2vjcmv0\r\n"),
        "{requests}"
    );
    let points: Vec<&str> =
        requests.lines().filter(|line| line.starts_with("http_reqs,")).collect();
    assert_eq!(points.len(), 7, "{requests}");
    for point in points {
        assert!(point.contains(",name=x\\ y,"), "{point}");
        assert!(point.contains(",status=200"), "{point}");
        // As with k6, a name given in the script stands for the URL.
        assert!(point.contains(" value=1,url=\"x y\" "), "{point}");
    }
    assert!(requests.contains("\nhttp_req_duration,"), "{requests}");
    assert!(!finished.stderr.contains("secret") && !finished.stdout.contains("secret"));
}

#[test]
fn a_receiver_that_refuses_is_named_at_the_end() {
    let world = World::new(SCRIPT);
    let receiver = Peer::answering(|_| Answer::Say("HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n"));
    let outputs = ["influxdb", "experimental-prometheus-rw"];
    for output in outputs {
        let flag = format!("{output}={}", receiver.url("/a"));
        let finished = world.run(&["-q", "-i", "3", "-o", &flag]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let wants = ["level=warning", "batches were not delivered: HTTP 400"];
        assert!(wants.iter().all(|want| finished.stderr.contains(want)), "{finished:?}");
    }
}

/// What k6's variables say of a receiver goes out, or into the URL.
#[test]
fn variables_say_what_receivers_are_told() {
    let world = World::new(SCRIPT);
    let receiver = Peer::answering(|_| Answer::Say("HTTP/1.1 204 No Content\r\n\r\n"));
    let place = receiver.url("").replace("http://", "").trim_end_matches('/').to_owned();
    let otel = [
        ("K6_OTEL_EXPORTER_PROTOCOL", "http/protobuf"),
        ("K6_OTEL_HTTP_EXPORTER_INSECURE", "true"),
        ("K6_OTEL_HTTP_EXPORTER_ENDPOINT", place.as_str()),
    ];
    let basic = "authorization: basic bwu6c2vjcmv0";
    for (output, variables, wants) in [
        (
            format!("influxdb={}", receiver.url("/d")),
            &[
                ("K6_INFLUXDB_RETENTION", "one week"),
                ("K6_INFLUXDB_PRECISION", "ms"),
                ("K6_INFLUXDB_CONSISTENCY", "any"),
            ][..],
            &["db=d&precision=ms&rp=one%20week&consistency=any"][..],
        ),
        (
            format!("influxdb={}", receiver.url("/d?retention=r&precision=s")),
            &[("K6_INFLUXDB_RETENTION", "other")],
            &["db=d&precision=s&rp=r "],
        ),
        (
            format!("experimental-prometheus-rw={}", receiver.url("/w")),
            &[
                ("K6_PROMETHEUS_RW_HTTP_HEADERS", "X-Scope-OrgID:abc,X-Other: 1"),
                ("K6_PROMETHEUS_RW_HEADERS_X-Mine", "a,b"),
            ],
            &["x-scope-orgid: abc", "x-other: 1", "x-mine: a,b"],
        ),
        (
            "opentelemetry".to_owned(),
            &[
                ("K6_OTEL_HTTP_EXPORTER_USERNAME", "me"),
                ("K6_OTEL_HTTP_EXPORTER_PASSWORD", "secret"),
                ("K6_OTEL_HEADERS", "X-A=b%20c"),
                ("K6_OTEL_SERVICE_VERSION", "9.8.7-mine"),
                ("K6_OTEL_FLUSH_INTERVAL", "2s"),
            ],
            &[basic, "x-a: b c", "9.8.7-mine"],
        ),
    ] {
        let before = receiver.requests().len();
        let mut command = world.k6(&["run", "-q", "-i", "2", "-o", &output, "script.js"]);
        command.envs(otel).envs(variables.iter().copied());
        let finished = crate::support::run(&mut command);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(!finished.stderr.contains("level=warning msg=\"K6_"), "{finished:?}");
        let sent = receiver.requests()[before..].join("\n").to_lowercase();
        for want in wants {
            assert!(sent.contains(want), "{output}: {want}: {sent}");
        }
        let said = finished.stdout + &finished.stderr;
        assert!(!said.contains("secret") && !said.contains("bwu6"), "{said}");
    }
    let given = [("K6_INFLUXDB_PROXY", "http://x"), ("K6_BROWSER_HEADLESS", "0")];
    let output = format!("influxdb={}", receiver.url("/d"));
    let mut command = world.k6(&["run", "-q", "-o", &output, "script.js"]);
    let finished = crate::support::run(command.envs(given));
    for (name, _) in given {
        assert!(finished.stderr.contains(&format!("{name} has no effect: ")), "{finished:?}");
    }
}

/// A receiver over TLS is believed if the user says by whom, and shown who sends.
#[test]
fn receivers_over_tls_are_trusted_as_variables_say() {
    let world = World::new("export default function () {}");
    let roots = world.path("roots.pem");
    let roots = roots.to_str().expect("a readable path");
    let client = world.path("client.pem");
    std::fs::write(&client, include_str!("../support/client.pem")).expect("a file");
    let client = client.to_str().expect("a readable path");
    let server = Server::start(&["--tls", "--tls-save", roots]);
    let url = server.url("/echo");
    let place = url.strip_prefix("https://").and_then(|rest| rest.split('/').next());
    let remote = format!("experimental-prometheus-rw={url}");
    let otel = [
        ("K6_OTEL_EXPORTER_PROTOCOL", "http/protobuf"),
        ("K6_OTEL_HTTP_EXPORTER_ENDPOINT", place.expect("a URL")),
        ("K6_OTEL_HTTP_EXPORTER_URL_PATH", "/echo"),
    ];
    let unknown = "were not delivered: invalid peer certificate: UnknownIssuer";
    for (output, variables, code, says) in [
        (remote.as_str(), &[][..], 0, unknown),
        (&remote, &[("SSL_CERT_FILE", roots)], 0, ""),
        (&remote, &[("K6_PROMETHEUS_RW_INSECURE_SKIP_TLS_VERIFY", "true")], 0, ""),
        (
            &remote,
            &[
                ("SSL_CERT_FILE", roots),
                ("K6_PROMETHEUS_RW_CLIENT_CERTIFICATE", client),
                ("K6_PROMETHEUS_RW_CLIENT_CERTIFICATE_KEY", client),
            ],
            0,
            "",
        ),
        (
            &remote,
            &[
                ("K6_PROMETHEUS_RW_CLIENT_CERTIFICATE", roots),
                ("K6_PROMETHEUS_RW_CLIENT_CERTIFICATE_KEY", client),
            ],
            255,
            "certificate and key of the client do not fit together",
        ),
        ("opentelemetry", &[], 0, unknown),
        ("opentelemetry", &[("K6_OTEL_TLS_CERTIFICATE", roots)], 0, ""),
        ("opentelemetry", &[("K6_OTEL_TLS_INSECURE_SKIP_VERIFY", "true")], 0, ""),
    ] {
        let mut command = world.k6(&["run", "-q", "-o", output, "script.js"]);
        let finished = crate::support::run(command.envs(otel).envs(variables.iter().copied()));
        assert_eq!(finished.code, Some(code), "{variables:?}: {finished:?}");
        assert!(finished.stderr.contains(says), "{variables:?}: {finished:?}");
        let is_lost = finished.stderr.contains("not delivered");
        assert_eq!(is_lost, says == unknown, "{variables:?}: {finished:?}");
    }
}
