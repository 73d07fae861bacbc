//! Impossible figures of testers, and what is left of a reading without them.

use plimsoll_core::study::Figures;

use super::*;

fn finished(stdout: &str) -> Finished {
    Finished { code: Some(0), stdout: stdout.to_owned(), ..Finished::default() }
}

fn read(tester: Tester, stdout: &str) -> Reading {
    tester.read(&finished(stdout), 10.0).expect("a report")
}

/// wrk with `--timeout 1s` and a server of 1.5 s: every answer is late.
const WRK_LATE: &str = "\
Running 3s test @ http://127.0.0.1:18082/
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     0.00us    0.00us   0.00us    -nan%
    Req/Sec     1.50      0.71     2.00    100.00%
  Latency Distribution
     50%    0.00us
     75%    0.00us
     90%    0.00us
     99%    0.00us
  8 requests in 3.01s, 600.00B read
  Socket errors: connect 0, read 0, write 0, timeout 8
Requests/sec:      2.66
Transfer/sec:    199.54B
";

/// Of 1000 answers 20 came later than the timeout.
const WRK_SOME_LATE: &str = "\
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.00ms    0.50ms   9.00ms   98.44%
    Req/Sec     0.50k     0.01k    0.60k    80.00%
  Latency Distribution
     50%    1.00ms
     75%    1.20ms
     90%    2.00ms
     99%    4.00ms
  1000 requests in 2.00s, 74.96KB read
  Socket errors: connect 0, read 0, write 0, timeout 20
Requests/sec:    500.00
";

#[test]
fn late_answers_of_wrk_are_answers_and_in_no_quantile() {
    let reading = read(Tester::Wrk, WRK_LATE);
    let figures = Figures::from(&reading);
    assert_eq!((figures.completed, figures.errors), (Some(8), Some(0)), "late is answered");
    assert_eq!((figures.mean_s, figures.max_s, figures.latency.len()), (None, None, 0));
    let said = reading.left_out.join("; ");
    assert!(said.contains("8 answers came later than its timeout"), "{said}");
    let reading = read(Tester::Wrk, WRK_SOME_LATE);
    let figures = Figures::from(&reading);
    // 2 % are late: what it calls its 99th percentile is the 97th, and its median the 49th.
    assert_eq!(figures.latency.iter().map(|it| it.q).collect::<Vec<_>>(), [0.5, 0.75]);
    assert_eq!((figures.mean_s, figures.max_s), (None, None), "they are of the fast ones alone");
    assert_eq!(figures.error_share(), Some(0.0));
}

#[test]
fn timeouts_of_wrk2_are_of_idle_connections_too() {
    let text = "\
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    0.86ms
 99.900%    6.16ms
  100 requests in 2.00s, 74.96KB read
  Socket errors: connect 0, read 0, write 0, timeout 150
Requests/sec:     50.00
";
    let figures = Figures::from(&read(Tester::Wrk2, text));
    assert_eq!((figures.errors, figures.latency.len()), (Some(0), 2));
}

const AB: &str = "\
Concurrency Level:      2
Time taken for tests:   0.010 seconds
Complete requests:      COUNT
Failed requests:        0
Requests per second:    RATE [#/sec] (mean)
Time per request:       0.400 [ms] (mean)
";

/// ab takes the row of each percentage from beyond its table when there are few requests.
#[test]
fn quantiles_of_few_requests_of_ab_are_no_figures() {
    for (count, kept) in [(10_u32, 94), (50, 98), (51, 99), (200, 99)] {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let mut table = "Percentage served,Time in ms\n".to_owned();
        for percent in 0..100_u32 {
            let row = (0.5 + f64::from(count) * f64::from(percent) / 100.0) as u32;
            // What lies behind the table is anything.
            let ms = if row < count { 1.0 + f64::from(percent) / 100.0 } else { 1e9 };
            table += &format!("{percent},{ms:.3}\n");
        }
        std::fs::write(scratch.path().join(ab::TABLE), table).expect("written");
        let rate = format!("{:.2}", f64::from(count) / 0.01);
        let stdout = AB.replace("COUNT", &count.to_string()).replace("RATE", &rate);
        let run = Finished { scratch: scratch.path().to_path_buf(), ..finished(&stdout) };
        let reading = Tester::Ab.read(&run, 10.0).expect("a report");
        let last = reading.quantiles.last().map(|row| (row.0 * 100.0).round() as u32);
        assert_eq!(last, Some(kept), "{count} requests");
        assert_eq!(reading.left_out.len(), usize::from(kept < 99), "{count} requests");
    }
}

const HEY: &str = "\
Summary:
  Total:\t1.0000 secs
  Slowest:\t0.0100 secs
  Fastest:\t0.0010 secs
  Average:\t0.0020 secs
  Requests/sec:\tRATE

Latency distribution:
  50%% in P50 secs
  99%% in P99 secs

Status code distribution:
  [200]\t100 responses

";

#[test]
fn figures_that_cannot_be_are_none_and_say_why() {
    let hey = |rate: &str, p50: &str, p99: &str| {
        read(Tester::Hey, &HEY.replace("RATE", rate).replace("P50", p50).replace("P99", p99))
    };
    let good = hey("100.0", "0.0020", "0.0090");
    assert_eq!((good.rate_rps, good.quantiles.len()), (Some(100.0), 2));
    assert!(good.left_out.is_empty(), "{:?}", good.left_out);
    for (name, reading, rate, quantiles, word) in [
        ("descending", hey("100.0", "0.0090", "0.0020"), true, 0, "descend"),
        ("a negative rate", hey("-100.0", "0.0020", "0.0090"), false, 2, "negative"),
        ("a rate of twice its count", hey("200.0", "0.0020", "0.0090"), false, 2, "does not fit"),
        ("a latency of the day before", hey("100.0", "0.0020", "86400"), true, 0, "longer than"),
        ("a negative latency", hey("100.0", "-0.002", "0.0090"), true, 0, "negative"),
    ] {
        assert_eq!(reading.rate_rps.is_some(), rate, "{name}: {reading:?}");
        assert_eq!(reading.quantiles.len(), quantiles, "{name}: {reading:?}");
        assert_eq!(reading.left_out.len(), 1, "{name}: {reading:?}");
        assert!(reading.left_out[0].contains(word), "{name}: {:?}", reading.left_out);
    }
}

#[test]
fn more_failures_than_answers_are_none() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let summary = r#"{"metrics": {"http_reqs": {"count": 200, "rate": 100.0},
        "http_req_failed": {"value": 1.5}, "http_req_duration": {"med": 1.25}}}"#;
    std::fs::write(scratch.path().join("k6.json"), summary).expect("written");
    let run = Finished { scratch: scratch.path().to_path_buf(), ..finished("") };
    let reading = Tester::K6.read(&run, 10.0).expect("a summary");
    assert_eq!((reading.completed, reading.failed, reading.ok), (Some(200), None, None));
    assert!(reading.left_out.join("").contains("300 of 200"), "{:?}", reading.left_out);
}
