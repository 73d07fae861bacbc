//! What is written, byte for byte as fortio wrote it, and what its readers make of it.

use serde_json::Value;

use super::{HTTP, HTTP_ERR, TCP};
use crate::fortio::LogLevel;
use crate::fortio::json::{file, response};
use crate::fortio::result::{Exported, FortioResult, Percentile, Protocol};
use crate::fortio::text::{
    Connection, Limit, Load, Summary, banner, ended, histogram, starting, written,
};

fn result(text: &str) -> FortioResult {
    serde_json::from_str(text).expect("a result")
}

fn document(result: &FortioResult) -> String {
    String::from_utf8(file(result).expect("JSON")).expect("UTF-8")
}

/// A figure line as fortio keeps it.
fn counted(count: i64, avg: f64, std_dev: f64, [min, max, sum]: [f64; 3]) -> Exported {
    Exported { count, min, max, sum, avg, std_dev, ..Exported::default() }
}

#[test]
fn documents_are_fortios_byte_for_byte() {
    for text in [HTTP, TCP] {
        assert_eq!(document(&result(text)), text);
    }
    let calls = include_str!("../../../../conformance/src/tools/fixtures/fortio-calls/stdout");
    assert_eq!(document(&result(calls)), calls);
    let bytes = response(&result(TCP)).expect("JSON");
    assert_eq!(bytes, TCP.trim_end().as_bytes(), "without the newline");
}

#[test]
fn numbers_and_texts_are_written_as_go_does() {
    for (value, want) in [
        (serde_json::json!(50.0), "50"),
        (serde_json::json!(99.9), "99.9"),
        (serde_json::json!(0.000_001), "0.000001"),
        (serde_json::json!(0.000_000_5), "5e-7"),
        (serde_json::json!(1e20), "100000000000000000000"),
        (serde_json::json!(1e21), "1e+21"),
        (serde_json::json!(-0.0), "-0"),
        (serde_json::json!("a<b>&c\u{2028}\u{2029}"), r#""a\u003cb\u003e\u0026c\u2028\u2029""#),
        (serde_json::json!("\"\\\n\t\u{1}\u{7f}é"), "\"\\\"\\\\\\n\\t\\u0001\u{7f}é\""),
    ] {
        let text = String::from_utf8(response(&value).expect("JSON")).expect("UTF-8");
        assert_eq!(text, want, "{value}");
    }
}

/// The lines of a golden output that are no log lines.
fn report() -> String {
    HTTP_ERR.lines().filter(|line| !line.starts_with('{')).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_report_is_fortios_byte_for_byte() {
    let result = result(HTTP);
    let target = "http://127.0.0.1:18080/echo?delay=250us:30,5ms:5&status=503:2";
    let load = Load {
        version: "dev",
        qps: 100.0,
        limit: Limit::Duration(1_000_000_000),
        target,
        threads: 2,
        processors: [2, 2],
        calls: [50, 0],
        access_log: "",
    };
    let connection =
        |times| Connection { sockets: 2, resolved: "127.0.0.1:18080".to_owned(), times };
    let connections = [
        counted(2, 0.000_201_458, 4.353_6e-5, [0.000_157_922, 0.000_244_994, 0.000_402_916]),
        counted(2, 0.000_817_496, 0.000_344_233, [0.000_473_263, 0.001_161_729, 0.001_634_992]),
    ]
    .map(connection);
    let sleeps =
        counted(98, 1.845_801_82 / 98.0, 0.001_115, [0.014_021_117, 0.020_209_989, 1.845_801_82]);
    let summary = Summary {
        result: &result,
        sleeps: Some(&sleeps),
        behind: 0,
        connections: &connections,
        warmup: 2,
        level: LogLevel::Info,
    };
    let parts = [
        banner(&load),
        starting(&load),
        ended(result.actual_duration, 100, result.actual_qps),
        summary.to_string(),
        written(document(&result).len(), "r.json"),
    ];
    assert_eq!(parts.concat(), report());
    let quiet = Summary { level: LogLevel::Error, ..summary }.to_string();
    assert!(quiet.starts_with("Aggregated Function Time : count 100 "), "{quiet}");
    for absent in ["# range", "Connection time", "Sizes", "Sleep"] {
        assert!(!quiet.contains(absent), "{quiet}");
    }
    assert!(quiet.contains("\n# target 99.9% 0.00574773\nError cases : count 2 "), "{quiet}");
    let behind = Summary { behind: 49, ..summary }.to_string();
    assert!(behind.starts_with("Aggregated Sleep Time : no data\nWARNING 50.00% of sleep"));
}

#[test]
fn loads_are_worded_by_how_they_end() {
    let load = |qps, limit| Load {
        version: "1.75.2",
        qps,
        limit,
        target: "u",
        threads: 4,
        processors: [8, 2],
        calls: [2, 1],
        access_log: " with access logger mode json to a.log",
    };
    const LOG: &str = " with access logger mode json to a.log\n";
    for (qps, limit, first, second) in [
        (
            1e6,
            Limit::Calls(9),
            "running at 1e+06 queries per second, 8->2 procs, for 9 calls: u\n",
            "Starting at 1e+06 qps with 4 thread(s) [gomax 2] : exactly 9, 2 calls each (total 8 + 1)",
        ),
        (
            0.5,
            Limit::UntilStopped,
            "running at 0.5 queries per second, 8->2 procs, until interrupted: u\n",
            "Starting at 0.5 qps with 4 thread(s) [gomax 2] until interrupted",
        ),
        (
            -1.0,
            Limit::Duration(60_000_000_000),
            "running at -1 queries per second, 8->2 procs, for 1m0s: u\n",
            "Starting at max qps with 4 thread(s) [gomax 2] for 1m0s",
        ),
        (
            0.0,
            Limit::Calls(9),
            "running at 0 queries per second, 8->2 procs, for 9 calls: u\n",
            "Starting at max qps with 4 thread(s) [gomax 2] for exactly 9 calls (2 per thread + 1)",
        ),
        (
            -1.0,
            Limit::UntilStopped,
            "running at -1 queries per second, 8->2 procs, until interrupted: u\n",
            "Starting at max qps with 4 thread(s) [gomax 2] until interrupted",
        ),
    ] {
        let load = load(qps, limit);
        assert_eq!(banner(&load), format!("Fortio 1.75.2 {first}"));
        assert_eq!(starting(&load), format!("{second}{LOG}"));
    }
    assert_eq!(histogram("Error cases", &Exported::default()), "Error cases : no data\n");
}

/// Istio's script for benchmarks: columns of its CSV, as its Python computes them.
#[test]
fn istios_script_reads_its_figures() {
    let written: Value = serde_json::from_str(&document(&result(HTTP))).expect("JSON");
    let text = document(&result(HTTP));
    // "p" + str(Percentile): a point in a whole number would make another name.
    let columns: Vec<String> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("\"Percentile\": "))
        .map(|number| format!("p{}", number.trim_end_matches(',').replace('.', "")))
        .take(5)
        .collect();
    assert_eq!(columns, ["p50", "p75", "p90", "p99", "p999"]);
    let start = written["StartTime"].as_str().map(|text| &text[..19]);
    assert_eq!(start, Some("2026-11-22T07:07:18"));
    let qps =
        written["RequestedQPS"].as_str().map(|qps| if qps == "max" { "99999999" } else { qps });
    assert_eq!(qps, Some("100"));
    let duration_s = written["ActualDuration"].as_i64().map(|ns| ns / 1_000_000_000);
    assert_eq!(duration_s, Some(1));
    let errors = 100
        - 100 * written["RetCodes"]["200"].as_i64().expect("a count")
            / written["Sizes"]["Count"].as_i64().expect("a count");
    assert_eq!(errors, 2);
    assert_eq!(written["Sizes"]["Avg"].as_f64(), Some(75.34));
    for field in ["Labels", "NumThreads", "RunType", "ActualQPS"] {
        assert!(!written[field].is_null(), "{field}");
    }
    for field in ["Min", "Max"] {
        assert!(written["DurationHistogram"][field].is_f64(), "{field}");
    }
    let max = result(TCP);
    assert_eq!(
        (max.requested_qps.as_str(), max.requested_duration.as_str()),
        ("max", "exactly 10 calls")
    );
}

/// fortio's own pages, and scripts that take the histogram.
#[test]
fn pages_and_scripts_find_their_fields() {
    let empty = FortioResult { duration_histogram: Exported::default(), ..result(HTTP) };
    let text = document(&empty);
    let head = text.split("\"ErrorsDurationHistogram\"").next().expect("a head");
    assert!(head.contains("\"Data\": null\n") && !head.contains("Percentiles"), "{head}");
    for text in [HTTP, TCP] {
        let written: Value = serde_json::from_str(&document(&result(text))).expect("JSON");
        assert!(written["URL"].is_string() || written["Destination"].is_string());
        let code = ["200", "OK", "SERVING"].iter().find_map(|it| written["RetCodes"][it].as_i64());
        assert!(code.is_some_and(|count| count > 0));
        let rows = written["DurationHistogram"]["Data"].as_array().expect("rows");
        let counts: i64 = rows.iter().filter_map(|row| row["Count"].as_i64()).sum();
        assert_eq!(written["DurationHistogram"]["Count"].as_i64(), Some(counts));
        let ends = rows.last().map(|row| (row["Percent"].as_i64(), row["End"].as_f64()));
        assert_eq!(ends, Some((Some(100), written["DurationHistogram"]["Max"].as_f64())));
        assert!(written["RunID"].is_i64() && written["ErrorsDurationHistogram"]["Count"].is_i64());
    }
    // Scrapers of the text.
    let report = report();
    let after = |label: &str| report.lines().find_map(|line| line.strip_prefix(label));
    assert_eq!(after("# target 99% "), Some("0.00551568"));
    assert_eq!(after("Code 200 : "), Some("98 (98.0 %)"));
    let is_http = matches!(result(HTTP).protocol, Protocol::Http(_));
    let percentile = result(HTTP).duration_histogram.percentiles[0];
    assert!(is_http && percentile == Percentile { percentile: 50.0, value: percentile.value });
}
