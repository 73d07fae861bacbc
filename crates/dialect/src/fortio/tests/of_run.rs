//! fortio's result of a run of ours, and the plans of commands.

use plimsoll_core::Histogram;
use plimsoll_core::details::{Buckets, Calls};
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::result::{RunResult, Tool};

use super::{HTTP, command};
use crate::WallTime;
use crate::fortio::buckets::{Form, approximated, export};
use crate::fortio::pace::{Deal, schedule};
use crate::fortio::result::{Exported, FortioResult, Protocol};
use crate::fortio::text::{Summary, corrected};
use crate::fortio::{Host, LogLevel, Outcome, Parts, outcome};

const FORM: Form<'static> =
    Form { unit: 1e9, resolution: 0.001, offset: 0.0, percentiles: &[50.0, 75.0, 99.9] };

fn of(values: &[(i64, u64)], form: Form<'_>) -> Buckets {
    let mut buckets = Buckets::new(&form.ends());
    for (value, count) in values {
        buckets.record_n(*value, *count);
    }
    buckets
}

fn rows(exported: &Exported) -> Vec<(f64, f64, i64)> {
    let rows = exported.data.iter().flatten();
    rows.map(|row| (row.start, row.end, row.count)).collect()
}

/// Values that fall into the buckets of a run of fortio give its percentiles.
#[test]
fn buckets_and_percentiles_are_fortios() {
    let golden: FortioResult = serde_json::from_str(HTTP).expect("a result");
    let want = golden.duration_histogram;
    let values = [(88_691, 1), (600_000, 62), (1_500_000, 30), (2_500_000, 4), (5_773_513, 3)];
    let percentiles: Vec<f64> = want.percentiles.iter().map(|it| it.percentile).collect();
    let got = export(&of(&values, FORM), Form { percentiles: &percentiles, ..FORM });
    assert_eq!((got.count, got.min, got.max), (want.count, want.min, want.max));
    assert_eq!(got.data, want.data);
    assert_eq!(got.percentiles, want.percentiles);
    assert_eq!(export(&Buckets::default(), FORM), Exported::default());
    assert_eq!(approximated(&Histogram::new(), FORM), Exported::default());
}

#[test]
fn a_value_belongs_to_the_bucket_that_it_ends() {
    let sizes = Form { unit: 1.0, resolution: 5.0, percentiles: &[], ..FORM };
    let exported = export(&of(&[(0, 2), (70, 1), (75, 97)], sizes), sizes);
    assert_eq!(rows(&exported), [(0.0, 0.0, 2), (60.0, 70.0, 1), (70.0, 75.0, 97)]);
    let late = export(&of(&[(1, 1), (200_000_000_000, 1)], FORM), FORM);
    assert_eq!(rows(&late), [(1e-9, 0.001, 1), (100.0, 200.0, 1)]);
    let form = Form { offset: 0.001, ..FORM };
    let shifted = export(&of(&[(500_000, 1), (1_500_000, 1)], form), form);
    assert_eq!(rows(&shifted), [(0.0005, 0.001, 1), (0.001, 0.0015, 1)]);
}

/// Each end counts in the bucket that it ends, and a nanosecond more in the next one, for widths
/// that floats cannot have.
#[test]
fn edges_are_exact_to_the_nanosecond() {
    for (resolution, width_ns) in [(0.001, 1_000_000), (0.0001, 100_000), (1e-6, 1000)] {
        let form = Form { resolution, percentiles: &[], ..FORM };
        for end in [1, 3, 7, 12, 70, 90, 450, 7500] {
            let edge_ns = end * width_ns;
            let exported = export(&of(&[(edge_ns, 5), (edge_ns + 1, 7)], form), form);
            let counts: Vec<i64> = rows(&exported).into_iter().map(|row| row.2).collect();
            assert_eq!(counts, [5, 7], "{end} of {resolution}");
        }
    }
}

/// Corrected times come from a histogram, so those near an edge may count on its other side: here,
/// a nanosecond above 20 ms.
#[test]
fn a_histogram_counts_at_the_middles_of_its_buckets() {
    let mut histogram = Histogram::new();
    histogram.record_n(1_500_000, 3);
    histogram.record_n(20_000_001, 2);
    let exported = approximated(&histogram, FORM);
    assert_eq!(rows(&exported), [(0.0015, 0.002, 3), (0.018000000000000002, 0.020000001, 2)]);
    assert_eq!((exported.count, exported.sum), (5, 0.044500002));
}

#[test]
fn sleeps_may_be_negative() {
    let form = Form { offset: -0.001, percentiles: &[50.0], ..FORM };
    let exported = export(&of(&[(500_000, 1), (4_500_000, 1), (-2_000_000, 1)], form), form);
    let want = [(-0.002, -0.001, 1), (0.0, 0.001, 1), (0.004, 0.0045, 1)];
    assert_eq!(rows(&exported), want);
    assert_eq!((exported.min, exported.max, exported.sum), (-0.002, 0.0045, 0.003));
    let behind = export(&of(&[(-2_000_000, 1)], form), form);
    assert_eq!((behind.min, behind.max, behind.count), (-0.002, -0.002, 1));
}

/// A result of three calls, one of which failed, over two connections.
fn ran(flags: &str) -> Outcome {
    let command = command(flags);
    let plan = Draft::new(Endpoint::http("h", 80, "/"));
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let mut run = RunResult::empty(tool, &plan);
    run.elapsed_ns = 1_500_000_000;
    run.ledger.scheduled = 4;
    run.ledger.sent = 3;
    run.ledger.completed = 2;
    run.ledger.broken = 1;
    run.ledger.unsent = 1;
    run.status.insert(200, 2);
    run.latency.response.record_n(2_000_000, 4);
    let mut calls = Calls::new(&command.calls_plan());
    calls.taken.record_n(1_000_000, 3);
    calls.failed.record(1_000_000);
    for (head_bytes, body_bytes) in [(75, 17), (75, 17), (0, 0)] {
        calls.head_bytes.record(head_bytes);
        calls.body_bytes.record(body_bytes);
        calls.response_bytes.record(head_bytes + body_bytes);
    }
    calls.idle.record(3_000_000);
    calls.addresses = vec!["1.2.3.4:80".to_owned(), "5.6.7.8:80".to_owned()];
    for (place, ns) in [((0, 0), 1000), ((1, 0), 2000), ((1, 1), 3000)] {
        calls.opens.entry(place).or_default().record(ns);
        calls.connects.record(ns as i64);
    }
    run.details.calls = Some(Box::new(calls));
    let started = WallTime { unix_ns: 1_795_331_238_000_000_000, offset_s: 0 };
    let host = Host { name: "vm.example", started };
    outcome(&command, &Deal::of(&command), &run, host, &[])
}

#[test]
fn a_run_of_ours_is_a_result_of_fortios() {
    let Outcome { result, sleeps, behind, connections } = ran("-qps 4 -t 1s -c 2 -runid 7");
    let document = crate::fortio::json::file(&result).expect("JSON");
    let read: FortioResult = serde_json::from_slice(&document).expect("its own");
    assert_eq!(read, result);
    assert_eq!(result.labels, "h/ , vm");
    assert_eq!(result.id, "2026-11-22-070718_7_h_vm");
    assert_eq!((result.actual_qps, result.num_threads), (2.0, 2));
    assert_eq!((result.requested_qps.as_str(), result.requested_duration.as_str()), ("4", "1s"));
    let Protocol::Http(http) = &result.protocol else { panic!("{result:?}") };
    let codes: Vec<_> = http.ret_codes.iter().map(|(code, n)| (code.as_str(), *n)).collect();
    assert_eq!(codes, [("-1", 1), ("200", 2)]);
    assert_eq!((http.sockets.clone(), http.socket_count), (vec![1, 2], 3));
    let addresses: Vec<_> = http.ip_count_map.values().copied().collect();
    assert_eq!(addresses, [2, 1]);
    assert_eq!((http.sizes.sum, http.header_sizes.min), (184.0, 0.0));
    assert_eq!((behind, sleeps.as_ref().map(|it| it.count)), (0, Some(1)));
    let summary = Summary {
        result: &result,
        sleeps: sleeps.as_ref(),
        behind,
        connections: &connections,
        warmup: 2,
        level: LogLevel::Info,
    };
    let text = summary.to_string();
    for line in [
        "[1]   2 socket used, resolved to [1.2.3.4:80 (1), 5.6.7.8:80 (1)], connection timing",
        "\nCode  -1 : 1 (33.3 %)\nCode 200 : 2 (66.7 %)\n",
        "\nAll done 3 calls (plus 2 warmup) 1.000 ms avg, 2.0 qps\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let own = corrected(&result);
    assert!(own.starts_with("Corrected Function Time : count 4 avg 0.002 "), "{own}");
    assert!(own.ends_with("Calls due 4 : sent 3, answered 2, refused 0, timed out 0, broken 1, unfinished 0, never sent 1, left out 0\n"), "{own}");
    assert!(String::from_utf8_lossy(&document).contains("\"CorrectedDurationHistogram\""));
}

/// Go's client does not tell the sizes of heads.
#[test]
fn with_http2_sizes_are_those_of_bodies() {
    let Outcome { result, .. } = ran("-h2 -qps 4 -t 1s");
    let Protocol::Http(http) = &result.protocol else { panic!("{result:?}") };
    assert_eq!((http.header_sizes.count, http.header_sizes.max), (3, 0.0));
    assert_eq!((http.sizes.count, http.sizes.sum), (3, 34.0));
    assert!(http.disable_fast_client && http.h2);
}

#[test]
fn as_the_original_nothing_is_added() {
    let Outcome { result, .. } = ran("-as-original -qps 4 -t 1s");
    assert_eq!((result.own.as_ref(), corrected(&result).as_str()), (None, ""));
    let document = crate::fortio::json::file(&result).expect("JSON");
    assert!(document.ends_with(b"\n  \"AbortOn\": 0\n}\n"));
}

#[test]
fn durations_and_types_are_named_as_fortio_names_them() {
    for (flags, duration, run_type) in [
        ("-n 3", "exactly 3 calls", "HTTP"),
        ("-t 0", "until stop", "HTTP"),
        ("-t 0 -qps 0", "", "HTTP"),
        ("-grpc", "5s", "GRPC Health for ''"),
        ("-grpc -ping", "5s", "GRPC Ping"),
        (
            "-grpc -ping -grpc-ping-delay 10ms -payload ab",
            "5s",
            "GRPC Ping Delay=10ms PayloadLength=2",
        ),
    ] {
        let Outcome { result, .. } = ran(flags);
        assert_eq!(result.requested_duration, duration, "{flags}");
        assert_eq!(result.run_type, run_type, "{flags}");
    }
}

/// The heads that fortio 1.66 sent for these flags.
#[test]
fn requests_have_fortios_fields_in_its_order() {
    const AGENT: &str = "User-Agent: fortio.org/fortio-1.75.2";
    for (flags, want) in [
        ("", vec!["GET 1", "Host: h", AGENT]),
        ("-H X-A:b -H Host:foo", vec!["GET 1", "Host: foo", AGENT, "X-A: b"]),
        ("-H user-agent:", vec!["GET 1", "Host: h"]),
        (
            "-payload hello",
            vec![
                "POST 1",
                "Host: h",
                "Content-Length: 5",
                "Content-Type: application/octet-stream",
                AGENT,
            ],
        ),
        (
            "-content-type text/plain",
            vec!["POST 1", "Host: h", "Content-Length: 0", "Content-Type: text/plain", AGENT],
        ),
        ("-X PUT", vec!["PUT 1", "Host: h", AGENT]),
        ("-user a:b", vec!["GET 1", "Host: h", "Authorization: Basic YTpi", AGENT]),
        ("-http1.0", vec!["GET 0", AGENT]),
        ("-keepalive=false", vec!["GET 1", "Host: h", "Connection: close", AGENT]),
        ("-compression", vec!["GET 1", "Host: h", AGENT]),
    ] {
        let command = command(flags);
        let deal = Deal::of(&command);
        let schedule = schedule(&command, &deal).expect("times");
        let endpoint = Endpoint::http("h", 80, "/");
        let plan = command.plan(endpoint, &Parts::default(), &deal, schedule).expect("a plan");
        let request = &plan.request;
        let first = format!("{} {}", request.method, request.http_minor);
        let shown = request.headers.iter().filter(|(_, value)| !value.reveal().is_empty());
        let fields = shown.map(|(name, value)| format!("{name}: {}", value.reveal()));
        let got: Vec<String> = [first].into_iter().chain(fields).collect();
        assert_eq!(got, want, "{flags}");
    }
}

#[test]
fn plans_end_where_fortios_runs_end() {
    for (flags, requests, duration_ns, is_open, connections) in [
        ("", Some(40), Some(40 * 128_205_129), true, 4),
        ("-n 9 -qps 100", Some(9), None, true, 4),
        ("-qps 0 -t 2s", None, Some(2_000_000_000), false, 4),
        ("-qps 0 -n 9", Some(9), None, false, 4),
        ("-as-original -n 9", Some(9), None, true, 4),
        ("-grpc -s 2 -c 3", Some(36), Some(36 * 128_571_429), true, 3),
    ] {
        let command = command(flags);
        let deal = Deal::of(&command);
        let schedule = schedule(&command, &deal).expect("times");
        let parts = Parts { descriptors: vec![1], ..Parts::default() };
        let endpoint = Endpoint::http("h", 80, "/");
        let plan = command.plan(endpoint, &parts, &deal, schedule).expect("a plan");
        assert_eq!((plan.requests, plan.duration_ns), (requests, duration_ns), "{flags}");
        assert_eq!((plan.is_open_loop(), plan.connections), (is_open, connections), "{flags}");
        assert_eq!(plan.first_request.is_some(), command.exactly == 0, "{flags}");
    }
}

/// Go's client gives up after ten requests. `curl` goes where it is sent itself.
#[test]
fn loads_follow_redirects_where_fortios_do() {
    for (flags, redirects) in [("", 0), ("-stdclient", 0), ("-L", 9), ("-L -h2", 9)] {
        let command = command(flags);
        let deal = Deal::of(&command);
        let schedule = schedule(&command, &deal).expect("times");
        let (endpoint, parts) = (Endpoint::http("h", 80, "/"), Parts::default());
        let plan = command.plan(endpoint.clone(), &parts, &deal, schedule).expect("a plan");
        let want = (redirects, redirects > 0);
        assert_eq!((plan.redirects, plan.joins_redirects), want, "{flags}");
        assert_eq!(command.once(endpoint, &parts).expect("a plan").redirects, 0, "{flags}");
    }
}
