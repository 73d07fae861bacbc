//! Real output of testers, captured on loopback from the built-in server.

use super::*;

fn read(tester: Tester, stdout: &str) -> Reading {
    let run = Finished { code: Some(0), stdout: stdout.to_owned(), ..Finished::default() };
    tester.read(&run, f64::INFINITY).expect("a report")
}

const WRK: &str = "\
Running 2s test @ http://127.0.0.1:18082/
  1 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    96.87us  206.40us   5.41ms   98.44%
    Req/Sec    66.81k    17.46k  121.83k    80.00%
  Latency Distribution
     50%   76.00us
     75%   92.00us
     90%  115.00us
     99%  658.00us
  132575 requests in 2.00s, 9.80MB read
  Socket errors: connect 1, read 1297, write 2, timeout 4
  Non-2xx or 3xx responses: 6605
Requests/sec:  66269.87
Transfer/sec:      4.90MB
";

const WRK2: &str = "\
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.02ms    0.90ms   6.46ms   92.04%
    Req/Sec       -nan      -nan   0.00      0.00%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    0.86ms
 99.900%    6.16ms
100.000%    6.47ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.927     0.550000          548         2.22

  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))
 50.000%   89.00us
 99.900%    5.20ms
100.000%    5.20ms
  995 requests in 2.00s, 74.96KB read
Requests/sec:    497.18
";

#[test]
fn wrk() {
    let reading = read(Tester::Wrk, WRK);
    let counts = [reading.completed, reading.ok, reading.failed, reading.errors];
    assert_eq!(counts, [132_575, 125_970, 6605, 1300].map(Some));
    assert_eq!(reading.rate_rps, Some(66_269.87));
    let rows: Vec<(f64, f64)> =
        reading.quantiles.iter().map(|(q, s)| (*q, (s * 1e6).round())).collect();
    assert_eq!(rows, [(0.5, 76.0), (0.75, 92.0), (0.9, 115.0), (0.99, 658.0)]);
}

#[test]
fn wrk_without_anything_wrong() {
    let good: Vec<&str> =
        WRK.lines().filter(|line| !line.contains("Socket") && !line.contains("Non-2xx")).collect();
    let reading = read(Tester::Wrk, &good.join("\n"));
    assert_eq!([reading.failed, reading.errors], [Some(0); 2]);
    let us = |seconds: Option<f64>| seconds.map(|seconds| (seconds * 1e8).round() / 100.0);
    assert_eq!([us(reading.mean_s), us(reading.max_s)], [Some(96.87), Some(5410.0)]);
    assert!(reading.left_out.is_empty(), "{:?}", reading.left_out);
    let figures = plimsoll_core::study::Figures::from(&reading);
    assert_eq!(figures.error_share(), Some(0.0));
}

#[test]
fn wrk2_has_both_clocks() {
    let reading = read(Tester::Wrk2, WRK2);
    assert_eq!(reading.completed, Some(995));
    let us =
        |rows: &[(f64, f64)]| rows.iter().map(|(q, s)| (*q, (s * 1e6).round())).collect::<Vec<_>>();
    assert_eq!(us(&reading.quantiles), [(0.5, 860.0), (0.999, 6160.0)]);
    assert_eq!(us(&reading.service_quantiles), [(0.5, 89.0), (0.999, 5200.0)]);
}

const HEY: &str = "
Summary:
  Total:\t1.0000 secs
  Slowest:\t0.0100 secs
  Fastest:\t0.0000 secs
  Average:\t0.0020 secs
  Requests/sec:\t10000.0000

Latency distribution:
  0%% in 0.0000 secs
  50%% in 0.0020 secs

Status code distribution:
  [200]\t4000 responses

Error distribution:
  [6000]\tGet \"http://127.0.0.1:1/\": connection reset by peer
";

/// The rate of failures is not a rate of responses, and zero is not a latency.
#[test]
fn rates_are_of_responses_whatever_the_tester_counts() {
    let reading = read(Tester::Hey, HEY);
    assert_eq!((reading.rate_rps, reading.unanswered_in_rate), (Some(10_000.0), 6000));
    assert_eq!((reading.min_s, reading.quantiles.as_slice()), (None, &[(0.5, 0.002)][..]));
    let figures = plimsoll_core::study::Figures::from(&reading);
    assert_eq!((figures.rate_rps, figures.errors), (Some(4000.0), Some(6000)));
}

#[test]
fn k6_writes_a_summary() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let summary = r#"{"root_group": {}, "metrics": {
        "http_reqs": {"count": 200, "rate": 100.0},
        "http_req_failed": {"passes": 10, "fails": 190, "value": 0.05},
        "http_req_duration": {"avg": 1.5, "min": 1, "med": 1.25, "max": 9,
            "p(90)": 2, "p(99.9)": 8.5},
        "dropped_iterations": {"count": 7, "rate": 3.5}}}"#;
    std::fs::write(scratch.path().join("k6.json"), summary).expect("written");
    let run =
        Finished { code: Some(0), scratch: scratch.path().to_path_buf(), ..Finished::default() };
    for tester in [Tester::K6, Tester::PlimsollK6] {
        let reading = tester.read(&run, 3.0).expect("a summary");
        assert_eq!([reading.completed, reading.ok, reading.failed], [200, 190, 10].map(Some));
        assert_eq!((reading.rate_rps, reading.duration_s), (Some(100.0), Some(2.0)));
        assert_eq!(reading.quantiles, [(0.5, 1.25e-3), (0.9, 2e-3), (0.999, 8.5e-3)]);
        assert_eq!(reading.causes.len(), 1);
    }
}

#[test]
fn what_is_no_report_is_said() {
    for tester in Tester::ALL {
        for (code, stdout) in [(Some(0), ""), (Some(0), "hello\n"), (Some(1), "no"), (None, "")] {
            let run = Finished { code, stdout: stdout.to_owned(), ..Finished::default() };
            let error = tester.read(&run, 3.0).expect_err("no report");
            assert!(!error.is_empty() && !error.contains('\n'), "{tester}: {error}");
        }
    }
}

/// Its document has no figures, and its last line has the reason.
#[test]
fn a_run_that_was_not_carried_out_is_no_report() {
    let whole = include_str!("../../../../docs/pictures/report.json");
    let mut unrun: serde_json::Value = serde_json::from_str(whole).expect("a document");
    unrun["elapsed_s"] = 0.into();
    for (document, want) in [
        (whole.to_owned(), None),
        (unrun.to_string(), Some("ended with 1: plimsoll: no connection could be opened")),
    ] {
        let scratch = tempfile::tempdir().expect("a directory");
        std::fs::write(scratch.path().join(RESULT), document).expect("a file");
        let run = Finished {
            code: Some(1),
            stderr: "plimsoll: no connection could be opened\n".to_owned(),
            scratch: scratch.path().to_path_buf(),
            ..Finished::default()
        };
        let read = Tester::Plimsoll.read(&run, f64::INFINITY);
        assert_eq!(read.err().as_deref(), want);
    }
}

#[test]
fn only_what_makes_figures_readable_is_added() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (tester, given, want) in [
        (Tester::Wrk, "-c1 URL", "--latency -c1 URL"),
        (Tester::Wrk, "-c1 --latency URL", "-c1 --latency URL"),
        (Tester::Wrk2, "-L -R1 URL", "-L -R1 URL"),
        (Tester::Ab, "-n1 URL", "-e {scratch}/ab.csv -n1 URL"),
        (Tester::Fortio, "load -p 50 URL", "load -quiet -json - -p 50 URL"),
        (Tester::Hey, "-n 1 URL", "-n 1 URL"),
        (Tester::Oha, "URL", "--no-tui --output-format json URL"),
        (
            Tester::PlimsollK6,
            "run --summary-trend-stats max a.js",
            "k6 run --no-color --quiet --summary-export {scratch}/k6.json \
             --summary-trend-stats max a.js",
        ),
    ] {
        assert_eq!(tester.arguments(&words(given)), words(want), "{tester}");
    }
    for tester in Tester::ALL {
        assert_eq!(tester.name().parse::<Tester>(), Ok(tester));
    }
    assert!("siege".parse::<Tester>().is_err());
}
