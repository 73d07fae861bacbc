//! What programs and scripts take from fortio's JSON, over ours: each field by its path, with the
//! type that its readers expect and the right figure.
//!
//! The end-to-end tests run the same expressions with jq and Python.

use serde_json::{Value, json};

use crate::fortio_server::FortioServer;
use crate::support::{Finished, plimsoll, run};

fn load(flags: &[&str], target: &str) -> Finished {
    run(&mut plimsoll(&[&["fortio", "load", "-json", "-", "-quiet"], flags, &[target]].concat()))
}

fn document(flags: &[&str], target: &str) -> Value {
    let finished = load(flags, target);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

/// What tables and charts of Istio's benchmarks, of Meshery and of scripts take.
#[test]
fn figures_are_where_readers_look_for_them() {
    let (_folder, server) = FortioServer::all();
    let url = format!("{}?size=100&status=503:0", server.http);
    let flags = ["-n", "40", "-qps", "400", "-c", "2", "-labels", "a b", "-p", "50,99,99.9"];
    let document = document(&flags, &url);
    for (reader, path, want) in [
        ("istio, meshery", "/Labels", json!("a b")),
        ("istio", "/RequestedQPS", json!("400")),
        ("istio", "/NumThreads", json!(2)),
        ("istio", "/RunType", json!("HTTP")),
        ("istio", "/RetCodes/200", json!(40)),
        ("istio", "/Sizes/Count", json!(40)),
        ("istio, p50", "/DurationHistogram/Percentiles/0/Percentile", json!(50)),
        ("istio, p99", "/DurationHistogram/Percentiles/1/Percentile", json!(99)),
        ("istio, p99.9", "/DurationHistogram/Percentiles/2/Percentile", json!(99.9)),
        ("scripts", "/RequestedDuration", json!("exactly 40 calls")),
        ("scripts", "/DurationHistogram/Count", json!(40)),
        ("fortio's pages", "/RunID", json!(0)),
        ("fortio's pages", "/ErrorsDurationHistogram/Count", json!(0)),
        ("fortio's pages", "/ErrorsDurationHistogram/Data", Value::Null),
        ("fortio's pages", "/Jitter", json!(false)),
        ("fortio's pages", "/Uniform", json!(false)),
        ("fortio's pages", "/URL", json!(url)),
    ] {
        assert_eq!(document.pointer(path), Some(&want), "{reader}: {path}");
    }
    for absent in ["/error", "/message", "/exception", "/RetCodes/-1", "/RetCodes/503"] {
        assert_eq!(document.pointer(absent), None, "{absent}");
    }
    let number = |path: &str| {
        let value = document.pointer(path).and_then(Value::as_f64);
        value.unwrap_or_else(|| panic!("{path}: {:?}", document.pointer(path)))
    };
    // The rate is that of its own count and time, which is in ns.
    let seconds = number("/ActualDuration") / 1e9;
    assert!((number("/ActualQPS") - 40.0 / seconds).abs() < 1e-6);
    let [min, avg, max] =
        ["Min", "Avg", "Max"].map(|it| number(&format!("/DurationHistogram/{it}")));
    assert!(0.0 < min && min <= avg && avg <= max && max <= seconds, "{min} {avg} {max}");
    assert!((number("/DurationHistogram/Sum") - 40.0 * avg).abs() < 1e-9);
    let rows = document["DurationHistogram"]["Data"].as_array().expect("buckets");
    let counted: i64 = rows.iter().filter_map(|row| row["Count"].as_i64()).sum();
    assert_eq!((counted, rows[rows.len() - 1]["Percent"].as_f64()), (40, Some(100.0)));
    assert_eq!(
        (rows[0]["Start"].as_f64(), rows[rows.len() - 1]["End"].as_f64()),
        (Some(min), Some(max))
    );
    let value = |place: usize| number(&format!("/DurationHistogram/Percentiles/{place}/Value"));
    assert!(min <= value(0) && value(0) <= value(1) && value(1) <= value(2) && value(2) <= max);
    // Heads and bodies are of one length each.
    let bytes = number("/Sizes/Avg");
    assert_eq!(number("/HeaderSizes/Avg") + 100.0, bytes);
    assert_eq!((number("/Sizes/Min"), number("/Sizes/Max")), (bytes, bytes));
    let start = document["StartTime"].as_str().expect("a time");
    let shape: String =
        start[..20].chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!((shape.as_str(), &start[start.len() - 1..]), ("0000-00-00T00:00:00.", "Z"));
}

/// Calls that fail, and rates without an end: what tables take for errors.
#[test]
fn errors_and_rates_are_told_apart() {
    let (_folder, server) = FortioServer::all();
    let grpc = server.address("grpc");
    let bad = format!("{}?status=503", server.http);
    let other = format!("{}?status=418", server.http);
    for (flags, target, path, want) in [
        (&["-qps", "0", "-n", "8"][..], &bad, "/RetCodes", json!({ "503": 8 })),
        (&["-qps", "0", "-n", "8"], &bad, "/ErrorsDurationHistogram/Count", json!(8)),
        (&["-qps", "0", "-n", "8"], &bad, "/RequestedQPS", json!("max")),
        (&["-qps", "0", "-n", "8"], &other, "/ErrorsDurationHistogram/Count", json!(0)),
        (&["-grpc", "-n", "6"], &grpc, "/RetCodes", json!({ "SERVING": 6 })),
        (&["-grpc", "-n", "6"], &grpc, "/RunType", json!("GRPC Health for ''")),
        (&["-grpc", "-n", "6"], &grpc, "/Destination", json!(grpc)),
        (&["-grpc", "-ping", "-n", "6"], &grpc, "/RunType", json!("GRPC Ping")),
        (&["-qps", "20", "-t", "100ms"], &server.http, "/RequestedDuration", json!("100ms")),
        (&["-qps", "0.5", "-n", "1"], &server.http, "/RequestedQPS", json!("0.5")),
    ] {
        assert_eq!(document(flags, target).pointer(path), Some(&want), "{flags:?}: {path}");
    }
}
