//! Outputs read by other people's libraries: OpenTelemetry's messages in Python, and StatsD by its
//! authors. What they count is the ledger of the report.

use serde_json::Value;

use crate::fixture::Listening;
use crate::outputs::loaded;
use crate::programs::share_with;
use crate::support::{Report, Server};

/// Outcomes, as outputs name them.
const OUTCOMES: [&str; 8] =
    ["ok", "failed", "refused", "timed_out", "broken", "unfinished", "unsent", "shed"];

#[test]
fn opentelemetry_reads_the_ledger_out_of_its_own_messages() {
    let Some(_share) = share_with(&["python3", "python3:opentelemetry.proto.metrics.v1"]) else {
        return;
    };
    let server = Server::start(&[]);
    let mut receiver = Listening::start("python3", "otlp_receiver.py", &[]);
    let out = format!("otlp=http://127.0.0.1:{}", receiver.ports[0]);
    let report = loaded(&server, &["--out", &out, "--out-label", "run=a"]);
    let requests = receiver.take_counts();
    let requests = requests.as_array().expect("requests");
    for request in requests {
        assert_eq!(request["path"], "/v1/metrics");
        assert_eq!(request["type"], "application/x-protobuf");
        assert_eq!(request["is_whole"], true, "it has fields that the messages do not know");
    }
    let last = &requests.last().expect("a request")["message"]["resourceMetrics"][0];
    let attributes = last["resource"]["attributes"].as_array().expect("attributes");
    let run = attributes.iter().find(|attribute| attribute["key"] == "run");
    assert_eq!(run.expect("a run")["value"]["stringValue"], "a");
    let metrics = last["scopeMetrics"][0]["metrics"].as_array().expect("metrics");
    let metric = |name: &str| {
        metrics.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("no {name}"))
    };
    let requests = metric("plimsoll.requests");
    assert_eq!(requests["sum"]["isMonotonic"], true);
    assert_eq!(requests["sum"]["aggregationTemporality"], "AGGREGATION_TEMPORALITY_CUMULATIVE");
    for (outcome, want) in OUTCOMES.iter().zip(report.ledger(OUTCOMES)) {
        let points = requests["sum"]["dataPoints"].as_array().expect("points");
        let is_it = |point: &&Value| point["attributes"][0]["value"]["stringValue"] == *outcome;
        let point = points.iter().find(is_it).unwrap_or_else(|| panic!("no {outcome}"));
        assert_eq!(whole(&point["asInt"]), want, "{outcome}");
    }
    let sent = &metric("plimsoll.requests.sent")["sum"]["dataPoints"][0]["asInt"];
    assert_eq!([whole(sent)], report.ledger(["sent"]));
    has_times(&report, metric("http.client.request.duration"), "/latency/service");
    has_times(&report, metric("plimsoll.response.duration"), "/latency/response");
}

/// 64-bit integers are texts in JSON that is made of messages.
fn whole(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value}"))
}

/// Whether an exponential histogram has the count of the report, in buckets around its median.
fn has_times(report: &Report, metric: &Value, pointer: &str) {
    assert_eq!(metric["unit"], "s");
    let point = &metric["exponentialHistogram"]["dataPoints"][0];
    let want = report.count(&format!("{pointer}/count"));
    assert_eq!(whole(&point["count"]), want);
    let buckets = point["positive"]["bucketCounts"].as_array().expect("buckets");
    let counts: Vec<u64> = buckets.iter().map(whole).collect();
    assert_eq!(counts.iter().sum::<u64>(), want);
    let base = (2f64).powf((2f64).powi(-point["scale"].as_i64().unwrap_or(0) as i32));
    let offset = point["positive"]["offset"].as_i64().unwrap_or(0);
    let mut below = 0;
    let median = counts.iter().position(|count| {
        below += count;
        below * 2 >= want
    });
    let index = offset + median.expect("a median") as i64;
    // Bucket i is of values above base^i and up to base^(i + 1).
    let (low_s, high_s) = (base.powi(index as i32), base.powi(index as i32 + 1));
    let median_s = report.number(&format!("{pointer}/quantiles/0/us")) / 1e6;
    // The report's own buckets have a width, too.
    assert!((low_s * 0.99..=high_s * 1.01).contains(&median_s), "{low_s} {median_s} {high_s}");
}

#[test]
fn statsd_adds_up_to_the_ledger() {
    let Some(_share) = share_with(&["node", "node:statsd/package.json"]) else { return };
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().display().to_string();
    let mut receiver = Listening::start("node", "statsd_server.js", &[&folder]);
    let out = format!("statsd=127.0.0.1:{}", receiver.ports[0]);
    let report = loaded(&server, &["--out", &out]);
    let [sent] = report.ledger(["sent"]);
    let want: Vec<u64> = report.ledger(OUTCOMES).to_vec();
    let mut counted = Counted::default();
    // It has all datagrams, and reads them when it comes to it.
    while counted.sent < sent || counted.outcomes.iter().sum::<u64>() < want.iter().sum() {
        counted.add(&receiver.take_counts());
    }
    assert_eq!((counted.sent, counted.outcomes.to_vec(), counted.bad), (sent, want, 0));
}

/// What StatsD has counted.
#[derive(Default)]
struct Counted {
    sent: u64,
    outcomes: [u64; OUTCOMES.len()],
    /// Lines that it could not read.
    bad: u64,
}

impl Counted {
    fn add(&mut self, counters: &Value) {
        let count = |name: &str| counters[name].as_u64().unwrap_or(0);
        self.sent += count("plimsoll.sent");
        self.bad += count("statsd.bad_lines_seen");
        for (total, outcome) in self.outcomes.iter_mut().zip(OUTCOMES) {
            *total += count(&format!("plimsoll.requests.{outcome}"));
        }
    }
}
