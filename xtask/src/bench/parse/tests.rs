//! Outputs in the format of the tools' own, cut to the parts that are read and a little around
//! them.

use super::*;

fn check(parse: fn(&str) -> Result<Measured>, text: &str, expected: &Measured) {
    assert_eq!(&parse(text).unwrap(), expected);
    assert!(parse("").is_err());
    assert!(parse("{}").is_err());
}

fn measured(requests: u64, requests_per_s: f64, quantiles: [f64; 3]) -> Measured {
    let [p50, p99, p999] = quantiles.map(|us| (us > 0.0).then_some(us));
    Measured {
        requests,
        requests_per_s,
        p50_us: p50,
        p99_us: p99,
        p999_us: p999,
        ..Measured::default()
    }
}

#[test]
fn the_bare_loops() {
    let text = "listening on http://127.0.0.1:1\n{\"requests\":20,\"requests_per_s\":10.5}\n";
    check(bare, text, &measured(20, 10.5, [0.0; 3]));
}

#[test]
fn plimsolls_document() {
    let text = r#"{
  "ledger": {"completed": 1000, "failed": 1, "timed_out": 2, "broken": 3, "unsent": 0, "shed": 0},
  "rate": {"target_rps": TARGET, "achieved_rps": 99.5},
  "latency": {
    "response": {"quantiles": [{"q": 0.5, "us": 31.0}, {"q": 0.99, "us": 70.5}, {"q": 0.999, "us": 900.0}]},
    "service": {"quantiles": [{"q": 0.5, "us": 30.0}]}
  },
  "loader": {"lateness": {"quantiles": [{"q": 0.99, "us": 8.0}]}}
}"#;
    let mut expected = measured(1000, 99.5, [31.0, 70.5, 900.0]);
    expected.failed = 6;
    expected.lateness_p99_us = Some(8.0);
    check(plimsoll, &text.replace("TARGET", "100"), &expected);
    (expected.p50_us, expected.p99_us, expected.p999_us) = (Some(30.0), None, None);
    check(plimsoll, &text.replace("TARGET", "null"), &expected);
}

#[test]
fn wrk_and_wrk2() {
    let text = "Running 1s test @ http://127.0.0.1:1/
  1 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   461.44us  196.18us   2.19ms   79.01%
    Req/Sec   129.94k    14.21k  143.74k    70.00%
  Latency Distribution
     50%  385.00us
     90%  789.00us
     99%    1.25ms
  129268 requests in 1.00s, 9.12MB read
  Socket errors: connect 1, read 2, write 0, timeout 3
  Non-2xx or 3xx responses: 4
Requests/sec: 128825.74
";
    let mut expected = measured(129_268, 128_825.74, [385.0, 1250.0, 0.0]);
    expected.failed = 10;
    check(wrk, text, &expected);

    let text = "  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    0.99ms
 99.000%    2.09ms
 99.900%    1.20s
100.000%    1.35m

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.070     0.000000            1         1.00
  19843 requests in 2.00s, 1.40MB read
Requests/sec:   9919.56
";
    check(wrk, text, &measured(19_843, 9919.56, [990.0, 2090.0, 1.2e6]));
}

#[test]
fn abs_report() {
    let text = "Concurrency Level:      100
Time taken for tests:   1.000 seconds
Complete requests:      164629
Failed requests:        2
   (Connect: 0, Receive: 0, Length: 2, Exceptions: 0)
Requests per second:    164583.57 [#/sec] (mean)
Percentage of the requests served within a certain time (ms)
  50%      1
  99%      2
 100%      4 (longest request)
";
    let mut expected = measured(164_629, 164_583.57, [1000.0, 2000.0, 0.0]);
    expected.failed = 2;
    check(ab, text, &expected);
}

#[test]
fn h2loads_report() {
    let text = "finished in 1.00s, 126557.00 req/s, 8.93MB/s
requests: 126557 total, 126657 started, 126550 done, 126547 succeeded, 3 failed, 0 errored, 0 timeout
status codes: 126557 2xx, 0 3xx, 0 4xx, 0 5xx
";
    let mut expected = measured(126_550, 126_557.0, [0.0; 3]);
    expected.failed = 3;
    check(h2load, text, &expected);
}

#[test]
fn fortios_document() {
    let text = r#"{"ActualQPS": 9999.5, "DurationHistogram": {"Count": 50, "Percentiles": [
        {"Percentile": 50, "Value": 0.00025}, {"Percentile": 99, "Value": 0.002},
        {"Percentile": 99.9, "Value": 0.003}]}, "RetCodes": {"200": 49, "503": 1}}"#;
    let mut expected = measured(50, 9999.5, [250.0, 2000.0, 3000.0]);
    expected.failed = 1;
    check(fortio, text, &expected);
}

#[test]
fn ghzs_summary() {
    let text = "
Summary:
  Count:\t1000
  Total:\t1.00 s
  Requests/sec:\t500.25

Latency distribution:
  10 % in 490 ns
  50 % in 500.00 µs
  99 % in 2.08 ms

Status code distribution:
  [OK]            997 responses
  [Unavailable]   3 responses
";
    let mut expected = measured(1000, 500.25, [500.0, 2080.0, 0.0]);
    expected.failed = 3;
    check(ghz, text, &expected);
}

#[test]
fn ohas_document() {
    let text = r#"{"summary": {"requestsPerSec": 500.25, "total": 2.0},
        "latencyPercentiles": {"p50": 0.0005, "p99": 0.002, "p99.9": 0.004},
        "statusCodeDistribution": {"200": 999, "500": 1},
        "errorDistribution": {"connection refused": 2}}"#;
    let mut expected = measured(1000, 500.25, [500.0, 2000.0, 4000.0]);
    expected.failed = 3;
    check(oha, text, &expected);
}

#[test]
fn zrks_document() {
    let text = r#"{"requests": 9995, "achieved_rate": 9993.0, "rate_ratio": 0.9993,
        "latency_us": {"p50": 34, "p99": 76, "p99_9": 1600},
        "errors": {"connect": 1, "timeout": 1}}"#;
    let mut expected = measured(9995, 9993.0, [34.0, 76.0, 1600.0]);
    expected.failed = 2;
    check(zrk, text, &expected);
    let behind = text.replace("0.9993", "0.07");
    assert_eq!(zrk(&behind).unwrap().p50_us, None);
}
