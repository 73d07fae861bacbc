//! Reports, byte for byte.

use super::*;

#[track_caller]
fn check(actual: &str, want: &[&str]) {
    assert_eq!(actual, format!("{}\n", want.join("\n")), "\n{actual}");
}

#[test]
fn wrk_without_errors() {
    let wrk = command(Flavour::Wrk, "http://h/");
    check(
        &report(&wrk, &closed(&wrk)),
        &[
            "Running 10s test @ http://h/",
            "  2 threads and 10 connections",
            "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
            "    Latency     2.00ms    2.00ms   5.00ms   75.00%",
            "    Req/Sec   800.00    141.42     0.90k   100.00%",
            "  4 requests in 10.00s, 2.08MB read",
            "Requests/sec:      0.40",
            "Transfer/sec:    212.99KB",
        ],
    );
}

#[test]
fn wrk_with_everything() {
    let wrk = command(Flavour::Wrk, "-t1 -c1k -d90 --latency http://h/?x=1");
    let mut result = closed(&wrk);
    // Of these, a request that timed out: it is in the figures.
    result.latency.service = histogram(&[(1_000_000, 3), (1_200_000_000, 1)]);
    result.ledger.timed_out = 1;
    result.ledger.failed = 2;
    result.errors = vec![
        error(Phase::Connect, "refused", 3),
        error(Phase::Connect, "timeout", 9),
        error(Phase::Tls, "handshake", 2),
        error(Phase::Dns, "not_found", 1),
        error(Phase::Sending, "reset", 4),
        error(Phase::Waiting, "closed", 5),
        error(Phase::Waiting, "timeout", 1),
        error(Phase::Receiving, "reset", 6),
        error(Phase::Receiving, "expect_status", 7),
    ];
    // Mean 300.75 ms; deviation of the sample 599.5 ms.
    check(
        &report(&wrk, &result),
        &[
            "Running 2m test @ http://h/?x=1",
            "  1 threads and 1000 connections",
            "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
            "    Latency   300.75ms  599.50ms   1.20s    75.00%",
            "    Req/Sec   800.00    141.42     0.90k   100.00%",
            "  Latency Distribution",
            "     50%    1.00ms",
            "     75%    1.20s ",
            "     90%    1.20s ",
            "     99%    1.20s ",
            "  4 requests in 1.50m, 2.08MB read",
            "  Socket errors: connect 15, read 11, write 4, timeout 1",
            "  Non-2xx or 3xx responses: 2",
            "Requests/sec:      0.04",
            "Transfer/sec:     23.67KB",
        ],
    );
}

#[test]
fn wrk_of_nothing() {
    let wrk = command(Flavour::Wrk, "--latency http://h/");
    check(
        &report(&wrk, &nothing(&wrk)),
        &[
            "Running 10s test @ http://h/",
            "  2 threads and 10 connections",
            "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
            "    Latency     0.00us    0.00us   0.00us    -nan%",
            "    Req/Sec     0.00      0.00     0.00      -nan%",
            "  Latency Distribution",
            "     50%    0.00us",
            "     75%    0.00us",
            "     90%    0.00us",
            "     99%    0.00us",
            "  0 requests in 10.00s, 0.00B read",
            "Requests/sec:      0.00",
            "Transfer/sec:       0.00B",
        ],
    );
}

#[test]
fn wrk_as_the_original_drops_and_makes_up() {
    let wrk = command(Flavour::Wrk, "-t1 -c1 -d4 -T1 --latency --as-original http://h/");
    let mut result = closed(&wrk);
    result.ledger.completed = 40;
    result.ledger.timed_out = 1;
    // An interval is 4 s / 40 = 100 ms: 350 ms make up 250 and 150. The timeout is not there.
    result.latency.service = histogram(&[(10_000_000, 39), (350_000_000, 1), (1_000_500_000, 1)]);
    result.by_outcome.incomplete = histogram(&[(1_000_500_000, 1)]);
    result.details.worker_rates = histogram(&[(0, 5), (700, 1), (900, 1)]);
    // 350.09 is the middle of its bucket. (39 * 10 + 150.09 + 250.09 + 350.09) / 42 = 27.15.
    check(
        &report(&wrk, &result),
        &[
            "Running 4s test @ http://h/",
            "  1 threads and 1 connections",
            "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
            "    Latency    27.15ms   66.37ms 350.09ms   92.86%",
            "    Req/Sec   800.00    141.42     0.90k   100.00%",
            "  Latency Distribution",
            "     50%   10.00ms",
            "     75%   10.00ms",
            "     90%   10.00ms",
            "     99%  350.09ms",
            "  40 requests in 4.00s, 2.08MB read",
            "  Socket errors: connect 0, read 0, write 0, timeout 1",
            "Requests/sec:     10.00",
            "Transfer/sec:    532.48KB",
        ],
    );
}

const SPECTRUM: [&str; 12] = [
    "       0.007     0.000000            6         1.00",
    "       0.007     0.100000            6         1.11",
    "       0.007     0.200000            6         1.25",
    "       0.007     0.300000            6         1.43",
    "       0.007     0.400000            6         1.67",
    "       0.007     0.500000            6         2.00",
    "       0.007     0.550000            6         2.22",
    "       0.007     0.600000            6         2.50",
    "       0.009     0.650000           10         2.86",
    "       0.009     1.000000           10          inf",
    "#[Mean    =        0.008, StdDeviation   =        0.001]",
    "#[Max     =        0.009, Total count    =           10]",
];

#[test]
fn wrk2_with_its_spectrum() {
    let wrk2 = command(Flavour::Wrk2, "-R1 -L -d10 http://h/");
    let head = [
        "Running 10s test @ http://h/",
        "  2 threads and 10 connections",
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        "    Latency     7.80us    0.98us   9.00us  100.00%",
        "    Req/Sec     1.00k     0.00     1.00k   100.00%",
        "  Latency Distribution (HdrHistogram - Recorded Latency)",
        " 50.000%    7.00us",
        " 75.000%    9.00us",
        " 90.000%    9.00us",
        " 99.000%    9.00us",
        " 99.900%    9.00us",
        " 99.990%    9.00us",
        " 99.999%    9.00us",
        "100.000%    9.00us",
        "",
        "  Detailed Percentile spectrum:",
        "       Value   Percentile   TotalCount 1/(1-Percentile)",
        "",
    ];
    let tail = [
        "#[Buckets =           27, SubBuckets     =         2048]",
        "----------------------------------------------------------",
        "  10 requests in 10.00s, 17.03KB read",
        "Requests/sec:      1.00",
        "Transfer/sec:      1.70KB",
    ];
    check(&report(&wrk2, &open(&wrk2)), &[&head[..], &SPECTRUM, &tail].concat());
}

#[test]
fn wrk2_prints_the_uncorrected_spectrum_behind() {
    let wrk2 = command(Flavour::Wrk2, "-R1 -U http://h/");
    let text = report(&wrk2, &open(&wrk2));
    let between = "SubBuckets     =         2048]\n\
        ----------------------------------------------------------\n\n  \
        Latency Distribution (HdrHistogram - Uncorrected Latency \
        (measured without taking delayed starts into account))\n 50.000%    6.00us\n";
    assert!(text.contains(between), "{text}");
    assert_eq!(text.matches("Detailed Percentile spectrum:").count(), 2);
    assert!(text.contains("       0.008     1.000000           10          inf\n"), "{text}");
}

#[test]
fn wrk2_of_nothing() {
    let wrk2 = command(Flavour::Wrk2, "-R1 -L http://h/");
    let text = report(&wrk2, &nothing(&wrk2));
    for line in [
        "    Latency     -nanus    -nanus   0.00us    0.00%",
        "    Req/Sec       -nan      -nan   0.00      0.00%",
        " 50.000%    0.00us",
        "       0.000     1.000000            0          inf",
        "#[Mean    =         -nan, StdDeviation   =         -nan]",
        "#[Max     =        0.000, Total count    =            0]",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line} in\n{text}");
    }
}

/// A point of each second, with a number of requests that all took the same time.
fn point(second: u64, response_ns: u64, count: u64) -> Point {
    Point {
        t_ns: second * 1_000_000_000,
        interval_ns: 1_000_000_000,
        completed: count,
        received_bytes: 1000,
        response: histogram(&[(response_ns, count)]).pack(),
        service: histogram(&[(response_ns / 2, count)]).pack(),
        ..Point::default()
    }
}

#[test]
fn wrk2_calibrates_only_in_name_and_as_the_original_in_fact() {
    let mut wrk2 = command(Flavour::Wrk2, "-R10 -d20 http://h/");
    let mut result = nothing(&wrk2);
    for second in 0..20 {
        result.series.add(&point(second, if second < 10 { 9_001_000 } else { 1_000_000 }, 10));
    }
    result.latency.response = histogram(&[(9_001_000, 100), (1_000_000, 100), (2_000_000, 3)]);
    result.latency.service = histogram(&[(4_500_500, 100), (500_000, 103)]);
    result.by_outcome.ok = histogram(&[(9_001_000, 100), (1_000_000, 100)]);
    result.by_outcome.incomplete = histogram(&[(2_000_000, 3)]);
    let calibration = "  Thread calibration: mean lat.: 9.001ms, rate sampling interval: 100ms\n";
    let whole = report(&wrk2, &result);
    assert_eq!(whole.matches(calibration).count(), 2, "{whole}");
    assert!(whole.contains("    Latency     4.95ms "), "{whole}");
    wrk2.as_original = true;
    let cut = report(&wrk2, &result);
    assert!(cut.contains("    Latency     1.00ms    0.00us   1.00ms  100.00%\n"), "{cut}");
    // Ten seconds are not enough.
    let short = command(Flavour::Wrk2, "-R10 -d10 http://h/");
    result.rate.window_ns = short.duration_ns;
    assert!(!report(&short, &result).contains("calibration"));
}

#[test]
fn json_of_the_fork() {
    let fork = command(Flavour::Wrk2, "-R1 -e -d10 http://h/");
    let mut result = open(&fork);
    let text = report(&fork, &result);
    let head = "{\n\"total_req\": 10, \"rps\": 1.00, \"rx_bps\": \"1.70KB\",\n\"hist\": \"HISTgg";
    assert!(text.starts_with(head) && text.ends_with("\"\n}\n"), "{text}");
    // Failures alone are not told, as by the fork.
    result.ledger.failed = 4;
    assert!(report(&fork, &result).starts_with(head));
    result.ledger.timed_out = 1;
    result.errors = vec![error(Phase::Waiting, "closed", 2)];
    let text = report(&fork, &result);
    let errors = "{\n\"errors\": {\"read\": 2, \"timeout\": 1, \"http_error\": 4},\n\"total_req\"";
    assert!(text.starts_with(errors), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["rps"], 1.0);
    let second = command(Flavour::Wrk2, "-R1 -e --hist-version 2 http://h/");
    assert!(report(&second, &result).contains("\"hist\": \"HISTFAAA"));
}

/// An answer that comes after the time is in the counts, and does not lower the rate.
#[test]
fn stragglers_leave_the_rate_alone() {
    let wrk = command(Flavour::Wrk, "-d2 http://h/");
    let mut result = nothing(&wrk);
    result.rate.window_ns = 2_000_000_000;
    result.rate.answered_ns = 4_000_000_000;
    result.ledger.completed = 1003;
    result.bytes.received = 1003 * 1024;
    result.rate.responses = Some(1000);
    result.refresh_rates();
    let text = report(&wrk, &result);
    assert!(text.contains("  1003 requests in 4.00s, "), "{text}");
    assert!(text.contains("Requests/sec:    500.00\n"), "{text}");
    assert!(text.contains("Transfer/sec:    500.00KB\n"), "{text}");
}

#[test]
fn periodic_reports_add_up_to_the_whole() {
    let fork = command(Flavour::Wrk2, "-R10 -d5 -p2 -L http://h/");
    let mut periodic = Periodic::new(&fork).expect("-p was given");
    let mut out = Vec::new();
    let printed: Vec<bool> = (0..5)
        .map(|second| periodic.push(&point(second, 1_000_000, 10), &mut out).expect("memory"))
        .collect();
    assert_eq!(printed, [false, true, false, true, false]);
    let mut result = nothing(&fork);
    result.rate.answered_ns = 5_500_000_000;
    result.ledger.completed = 51;
    result.ledger.timed_out = 1;
    result.bytes.received = 5100;
    result.latency.response = histogram(&[(1_000_000, 51), (3_000_000_000, 1)]);
    periodic.finish(&result, &mut out).expect("memory");
    let text = String::from_utf8(out).expect("text");
    let reports: Vec<&str> = text.split("=== REPORT END ===\n").collect();
    assert_eq!(reports.len(), 3, "{text}");
    for report in &reports[..2] {
        assert!(report.starts_with("  Thread Stats   Avg"), "{report}");
        assert!(
            report.contains("    Latency     1.00ms    0.00us   1.00ms  100.00%\n"),
            "{report}"
        );
        assert!(
            report.contains("    Req/Sec     5.00      0.00     5.00    100.00%\n"),
            "{report}"
        );
        assert!(report.contains("  20 requests in 2.00s, 1.95KB read\n"), "{report}");
        assert!(report.contains("Requests/sec:     10.00\n"), "{report}");
    }
    let last = reports[2];
    assert!(last.contains("  11 requests in 1.50s, 1.07KB read\n"), "{last}");
    assert!(last.contains("Total count    =           12]\n"), "{last}");
    assert!(last.contains("  Socket errors: connect 0, read 0, write 0, timeout 1\n"), "{last}");
    assert!(Periodic::new(&command(Flavour::Wrk2, "-R1 h")).is_none());
}

#[test]
fn periodic_reports_in_json_are_objects_behind_each_other() {
    let fork = command(Flavour::Wrk2, "-R10 -d20 -p 1 -e http://h/");
    let mut periodic = Periodic::new(&fork).expect("-p was given");
    let mut out = Vec::new();
    for second in 0..12 {
        assert!(periodic.push(&point(second, 1_000_000, 10), &mut out).expect("memory"));
    }
    periodic.finish(&nothing(&fork), &mut out).expect("memory");
    let objects = serde_json::Deserializer::from_slice(&out).into_iter::<serde_json::Value>();
    let requests: Vec<u64> =
        objects.map(|value| value.expect("JSON")["total_req"].as_u64().expect("a count")).collect();
    assert_eq!(requests, [&[10; 12][..], &[0]].concat());
}
