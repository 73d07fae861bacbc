//! What is refused, as tables, in words of a front that the tests make up.

use super::*;
use crate::plan::{
    Body, Endpoint, HttpVersion, Keys, PemFile, Proxy, Request, Script, TlsPlan, Trace, Transport,
    Words,
};
use crate::schedule::{Arrival, Profile, Stage, parse_stages};
use crate::secret::Secret;
use crate::template::Table;

fn draft() -> Draft {
    Draft::new(Endpoint::http("::1", 8080, "/"))
}

/// Words like those of the command line.
struct Flags;

impl Words for Flags {
    fn name(&self, field: Field) -> String {
        match field {
            Field::Connections => "-c".to_owned(),
            Field::Requests => "-n".to_owned(),
            Field::Duration => "-d".to_owned(),
            Field::Threads => "-t".to_owned(),
            Field::Rate => "-r".to_owned(),
            field => format!("--{field}"),
        }
    }

    fn given(&self, field: Field, value: &str) -> String {
        format!("{} {value}", self.name(field))
    }
}

#[test]
fn what_cannot_be_carried_out_is_refused_in_the_words_of_the_front() {
    draft().check().expect("a plan");
    let rate = |uhz| Some(Profile::constant(uhz, Some(10_000_000_000), Arrival::Uniform));
    let stages = parse_stages(&["1s@5"; 501].join(","));
    let many_stages = Profile { stages: stages.expect("stages"), arrival: Arrival::Uniform };
    let cases = [
        (Draft { connections: 0, ..draft() }, "-c"),
        (Draft { pipeline: 0, ..draft() }, "--pipeline"),
        (Draft { pipeline: u32::MAX, ..draft() }, "on each of 50 connections are too many"),
        (Draft { requests: Some(0), ..draft() }, "-n"),
        (Draft { duration_ns: Some(0), ..draft() }, "-d"),
        (Draft { timeout_ns: 0, ..draft() }, "--timeout"),
        (Draft { workers: 51, ..draft() }, "-t"),
        (Draft { duration_ns: None, ..draft() }, "-d or -n"),
        (Draft { requests_per_connection: Some(0), ..draft() }, "--requests-per-conn"),
        (Draft { rate: rate(0), ..draft() }, "rate"),
        (Draft { rate: Some(many_stages), ..draft() }, "501 stages are too many"),
        (Draft { connections_max: Some(9), ..draft() }, "-c MIN..MAX"),
        (Draft { connections_max: Some(99), ..draft() }, "needs a schedule"),
        (Draft { shed_after_ns: Some(1), ..draft() }, "--shed-after"),
        (Draft { pipeline: 2, cookies: true, ..draft() }, "--cookies"),
        (Draft { pipeline: 2, requests_per_connection: Some(1), ..draft() }, "--no-keepalive"),
        (
            Draft { requests_per_connection: Some(1), connection_lifetime_ns: Some(1), ..draft() },
            "--conn-lifetime",
        ),
        (
            Draft { tls: TlsPlan { resume_percent: 101, ..TlsPlan::default() }, ..draft() },
            "--tls-resume",
        ),
        (
            Draft { tls: TlsPlan { alpn: vec!["h2".to_owned()], ..TlsPlan::default() }, ..draft() },
            "--alpn 'h2'",
        ),
        (Draft { gates: vec!["p99".to_owned()], ..draft() }, "p99<250ms"),
        (Draft { abort_when: vec!["ok.p99<1s".to_owned()], ..draft() }, "'ok.p99<1s'"),
        (Draft { rate: rate(1_000_000), requests: Some(11), ..draft() }, "-n, -d or -r"),
    ];
    for (draft, says) in cases {
        let error = draft.check().unwrap_err().first().told(&Flags);
        assert!(error.contains(says), "{error}");
        assert!(!error.contains('\n') && !error.ends_with(' '), "{error}");
    }
}

#[test]
fn bytes_without_a_protocol_have_nothing_of_one() {
    let endpoint = Endpoint { scheme: "tcp".to_owned(), ..Endpoint::http("::1", 8080, "/") };
    let body = Some(Body::Text("hello".into()));
    let request = Request { body, ..Request::get() };
    let echo = Draft { endpoint, request, ..draft() };
    echo.clone().check().expect("a plan");
    let with = |change: fn(&mut Request)| {
        let mut changed = echo.clone();
        change(&mut changed.request);
        changed
    };
    let proxy = Proxy { host: "proxy".to_owned(), port: 3128, credentials: None };
    let through = Transport { proxy: Some(proxy), ..Transport::default() };
    for (draft, says) in [
        (with(|request| request.body = None), "an echo needs bytes"),
        (with(|request| request.body = Some(Body::Text("".into()))), "an echo needs bytes"),
        (with(|request| request.method = "PUT".to_owned()), "--method"),
        (with(|request| request.headers.push(("a".to_owned(), "b".into()))), "--header"),
        (with(|request| request.chunked = true), "--chunked"),
        (Draft { pipeline: 2, ..echo.clone() }, "--pipeline"),
        (Draft { cookies: true, ..echo.clone() }, "--cookies"),
        (Draft { redirects: 1, ..echo.clone() }, "--redirects"),
        (Draft { transport: through, ..echo.clone() }, "--proxy"),
        (Draft { http_version: HttpVersion::Http2, ..echo.clone() }, "--http"),
    ] {
        let error = draft.check().unwrap_err().first().told(&Flags);
        assert!(error.contains(says), "{says}: {error}");
    }
    let udp = Endpoint { scheme: "udp".to_owned(), ..echo.endpoint.clone() };
    let datagrams = Draft { endpoint: udp, ..echo };
    datagrams.clone().check().expect("a plan");
    let mut long = datagrams.clone();
    long.request.body = Some(Body::Bytes(Secret::new(vec![0; 65_508])));
    let unix = Transport { unix_socket: Some("/x".to_owned()), ..Transport::default() };
    for (draft, says) in [
        (long, "a datagram of 65508 bytes is above 65507"),
        (Draft { transport: unix, ..datagrams }, "--unix-socket carries no datagrams"),
    ] {
        let error = draft.check().unwrap_err().first().told(&Flags);
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn each_mistake_is_told_of_its_field() {
    let stage = |duration_ns, from_uhz, to_uhz| Stage { duration_ns, from_uhz, to_uhz };
    let staged = |stages| Some(Profile { stages, arrival: Arrival::Uniform });
    let endpoint = |scheme: &str, host: &str, port| Endpoint {
        scheme: scheme.to_owned(),
        ..Endpoint::http(host, port, "/")
    };
    let request = |change: fn(&mut Draft)| {
        let mut draft = draft();
        change(&mut draft);
        draft
    };
    let file = |bytes: &[u8]| {
        Some(PemFile { path: "x.pem".to_owned(), bytes: Secret::new(bytes.to_vec()) })
    };
    let tls = |cert, key| TlsPlan { cert, key, ..TlsPlan::default() };
    let script = || Some(Script { path: "x.lua".to_owned(), text: "".into(), arguments: vec![] });
    let trace = |offsets_ns| Some(Trace { path: "times".to_owned(), offsets_ns });
    let masked = || Secret::from("[masked:7f]");
    let table = Table {
        path: "t.csv".to_owned(),
        columns: vec!["a".to_owned()],
        rows: vec![vec!["1".to_owned(), "2".to_owned()]],
    };
    let proxy = Proxy { host: "p".to_owned(), port: 1, credentials: Some(masked()) };
    let cases = [
        (Draft { endpoint: endpoint("ftp", "a", 1), ..draft() }, Field::Url),
        (Draft { endpoint: endpoint("http", "", 1), ..draft() }, Field::Url),
        (Draft { endpoint: endpoint("http", "a\r\nX: y", 1), ..draft() }, Field::Url),
        (Draft { endpoint: endpoint("http", "a", 0), ..draft() }, Field::Url),
        (Draft { workers: 5000, connections: 6000, ..draft() }, Field::Threads),
        (Draft { pin: vec![0; 10_001], ..draft() }, Field::Pin),
        (Draft { timeout_ns: u64::MAX, ..draft() }, Field::Timeout),
        (Draft { rate: staged(vec![stage(Some(0), 1, 1)]), ..draft() }, Field::Rate),
        (Draft { rate: staged(vec![stage(None, 1, 2)]), ..draft() }, Field::Rate),
        (
            Draft { rate: staged(vec![stage(None, 1, 1), stage(Some(1), 1, 1)]), ..draft() },
            Field::Stages,
        ),
        (Draft { rate: staged(vec![stage(Some(u64::MAX), 1, 1); 2]), ..draft() }, Field::Stages),
        (Draft { trace: trace(vec![]), ..draft() }, Field::RateFile),
        (Draft { trace: trace(vec![2, 1]), ..draft() }, Field::RateFile),
        (request(|draft| draft.request.http_minor = 2), Field::Http),
        (request(|draft| draft.request.chunked = true), Field::Chunked),
        (request(|draft| draft.request.expect_continue = true), Field::ExpectContinue),
        (Draft { tls: tls(None, file(b"x")), ..draft() }, Field::Key),
        (Draft { tls: tls(file(b""), None), ..draft() }, Field::Cert),
        (Draft { tables: vec![table], ..draft() }, Field::Body),
        (Draft { script: script(), cookies: true, ..draft() }, Field::Cookies),
        (
            Draft { script: script(), endpoint: Endpoint::http("a", 1, "/{{seq}}"), ..draft() },
            Field::Url,
        ),
        (Draft { endpoint: Endpoint::http("a", 1, "/[masked:7f]"), ..draft() }, Field::Url),
        (
            Draft {
                transport: Transport { proxy: Some(proxy), ..Transport::default() },
                ..draft()
            },
            Field::Proxy,
        ),
        (request(|draft| draft.request.body = Some(Body::Text("[masked:7f]".into()))), Field::Body),
    ];
    for (draft, field) in cases {
        let errors = draft.check().expect_err("it cannot be carried out");
        assert_eq!(errors.first().field(), field, "{errors}");
        let line = errors.first().told(&Keys);
        assert!(line.contains(": ") && !line.contains('\n'), "{line}");
    }
}

#[test]
fn every_mistake_is_listed_once() {
    let draft = Draft { connections: 0, timeout_ns: 0, cookies: true, pipeline: 2, ..draft() };
    let errors = draft.check().expect_err("nothing of it is right");
    let fields: Vec<Field> = errors.iter().map(PlanError::field).collect();
    assert_eq!(fields, [Field::Connections, Field::Timeout, Field::Cookies]);
}

#[test]
fn a_plan_stays_one_when_threads_and_seed_are_set() {
    let plan = Draft { connections: 3, ..draft() }.check().expect("a plan");
    let varied = plan.with_workers(7).with_seed(9);
    assert_eq!((varied.workers, varied.seed), (3, 9));
    assert_eq!(varied.clone().into_draft().check(), Ok(varied));
}
