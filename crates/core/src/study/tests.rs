//! The names of columns, and their values for a made-up run.

use super::*;

/// A case under the load wrk, with these rates.
pub(crate) fn case(server: &str, rates_rps: &[f64]) -> Case {
    let run = |(i, rate_rps): (usize, &f64)| CaseRun {
        repeat: i as u32 + 1,
        figures: Figures {
            rate_rps: Some(*rate_rps),
            completed: Some(100),
            failed: Some(if server == "slow" { 2 } else { 0 }),
            latency: vec![Quantile::known(0.5, 1.0 / rate_rps)],
            ..Figures::default()
        },
        server: Some(Usage { rss_peak_bytes: 7, cpu_ns: 500, ..Usage::default() }),
        ..CaseRun::default()
    };
    let runs = rates_rps.iter().enumerate().map(run).collect();
    Case { server: server.to_owned(), load: "wrk".to_owned(), runs, ..Case::default() }
}

/// Three servers: one is slower, and fails more often.
pub(crate) fn study() -> Study {
    let columns = ["rate", "p50", "p99/p50", "p90", "errors", "cpu", "threads", "rate"];
    Study {
        baseline: Some("fast".to_owned()),
        columns: columns.iter().map(|name| name.parse().unwrap()).collect(),
        cases: vec![
            case("fast", &[100.0, 101.0, 99.0, 102.0, 98.0]),
            case("slow", &[60.0, 59.0, 61.0, 58.0, 62.0]),
            case("alike", &[100.5, 101.5, 99.5, 97.5, 98.5]),
        ],
        ..Study::default()
    }
}

fn run(rate_rps: f64, quantiles: &[(f64, f64)], cpu_ns: u64) -> CaseRun {
    let latency = quantiles.iter().map(|&(q, s)| Quantile::known(q, s)).collect();
    let mut server = Usage {
        window_ns: 1_000_000_000,
        cpu_user_ns: cpu_ns,
        rss_peak_bytes: 5_000_000,
        ..Usage::default()
    };
    server.refresh();
    CaseRun {
        repeat: 1,
        figures: Figures {
            rate_rps: Some(rate_rps),
            completed: Some(1000),
            failed: Some(40),
            errors: Some(10),
            latency,
            ..Figures::default()
        },
        server: Some(server),
        ..CaseRun::default()
    }
}

#[test]
fn columns_read_what_they_write() {
    let names = "rate responses p50 p99.9 p99.99 p90/p50 p99.9/p50 service.p99 first_message.p50 \
                 message_gap.p99 round_trip.p99.9/round_trip.p50 mean max errors load_line fails_at cpu \
                 cpu_per_request rss pss processes connections threads tester_cpu tester_rss rate/cpu";
    for name in names.split_whitespace() {
        let column: Column = name.parse().unwrap();
        assert_eq!(column.to_string(), name);
        let json = serde_json::to_string(&column).unwrap();
        assert_eq!(serde_json::from_str::<Column>(&json).unwrap(), column);
    }
    for name in [
        "",
        "p",
        "p0",
        "p100",
        "p-1",
        "pNaN",
        "speed",
        "rate/",
        "/rate",
        "service.rate",
        "message_gap",
        "round_trip.p0",
    ] {
        assert!(name.parse::<Column>().is_err(), "{name}");
    }
}

#[test]
fn columns_are_figures_of_a_run() {
    let run = run(500.0, &[(0.5, 0.001), (0.99, 0.004), (0.999, 0.008)], 250_000_000);
    for (name, want) in [
        ("rate", Some(480.0)),
        ("responses", Some(500.0)),
        ("p50", Some(0.001)),
        ("p99.9", Some(0.008)),
        ("p99/p50", Some(4.0)),
        ("p90", None),
        ("p90/p50", None),
        ("cpu", Some(0.25)),
        ("cpu_per_request", Some(0.000_25)),
        ("rss", Some(5_000_000.0)),
        ("pss", None),
        ("tester_cpu", None),
        ("errors", Some(50.0 / 1010.0)),
    ] {
        let column: Column = name.parse().unwrap();
        assert_eq!(column.of(&run), want, "{name}");
    }
}

/// The last of three stragglers came six seconds after the window.
#[test]
fn the_rate_of_a_result_is_that_of_its_window() {
    let tool = Tool { name: "plimsoll".to_owned(), version: String::new() };
    let plan = crate::plan::Draft::new(crate::plan::Endpoint::http("127.0.0.1", 1, "/"));
    let mut result = RunResult::empty(tool, &plan);
    result.ledger.completed = 1003;
    result.rate.window_ns = 2_000_000_000;
    result.rate.answered_ns = 8_000_000_000;
    (result.rate.responses, result.rate.good) = (Some(1000), Some(900));
    result.refresh_rates();
    let Figures { rate_rps, good_rps, duration_s, .. } = Figures::of(&result);
    assert_eq!((rate_rps, good_rps, duration_s), (Some(500.0), Some(450.0), Some(2.0)));
}

#[test]
fn runs_that_failed_do_not_count() {
    let failed = CaseRun { failure: Some("it died".to_owned()), ..run(1.0, &[], 1) };
    let case = Case { runs: vec![run(5.0, &[], 1), failed, run(7.0, &[], 1)], ..Case::default() };
    assert_eq!(case.values(Measure::Responses), [5.0, 7.0]);
    assert_eq!(case.values(Measure::Latency(0.5)), [0.0; 0]);
    assert_eq!(case.failures().count(), 1);
}

#[test]
fn the_headline_is_the_response_time_whatever_the_load() {
    let plan = crate::plan::Draft::new(crate::plan::Endpoint::http("127.0.0.1", 1, "/"));
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let mut result = RunResult::empty(tool, &plan);
    for ns in 1..=200 {
        result.latency.response.record(ns * 2_000_000);
        result.latency.service.record(ns * 1_000_000);
    }
    let rate = crate::schedule::Profile::constant(1, None, crate::schedule::Arrival::Uniform);
    for rate in [None, Some(rate)] {
        result.plan.rate = rate;
        let figures = Figures::of(&result);
        assert!((figures.latency_s(0.5).unwrap() - 0.2).abs() < 0.001);
        assert!((figures.service_s(0.5).unwrap() - 0.1).abs() < 0.001);
        assert_eq!(figures.latency_s(0.999), None, "no sample lies beyond it");
    }
}

#[test]
fn times_of_messages_are_figures_where_calls_stream() {
    let plan = crate::plan::Draft::new(crate::plan::Endpoint::http("127.0.0.1", 1, "/"));
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let mut result = RunResult::empty(tool, &plan);
    let of = |result: &RunResult| {
        let run = CaseRun { figures: Figures::of(result), ..CaseRun::default() };
        let names = ["first_message.p50", "message_gap.p50", "round_trip.p50"];
        names.map(|name| name.parse::<Column>().unwrap().of(&run).map(|s| (s * 1e3).round()))
    };
    assert_eq!(of(&result), [None; 3]);
    let mut streams = Streams::new(false);
    for _ in 0..100 {
        streams.first_message.record(3_000_000);
        streams.gaps.record(20_000_000);
    }
    result.grpc_streams = Some(Box::new(streams.clone()));
    assert_eq!(of(&result), [Some(3.0), Some(20.0), None], "no message waits for an answer");
    streams.round_trips = Some(streams.gaps.clone());
    result.grpc_streams = Some(Box::new(streams));
    assert_eq!(of(&result), [Some(3.0), Some(20.0), Some(20.0)]);
}

#[test]
fn a_study_is_read_as_it_was_written() {
    let mut study = Study::empty("echo");
    study.columns = vec!["p99/p50".parse().unwrap()];
    let mut first = run(5.0, &[(0.5, 0.1)], 1);
    let gaps = vec![Quantile::known(0.5, 0.25)];
    first.figures.streams = Some(Box::new(StreamFigures { gaps, ..StreamFigures::default() }));
    let runs = vec![first, run(5.0, &[(0.5, 0.1)], 1)];
    study.cases.push(Case { server: "a".to_owned(), load: "b".to_owned(), skipped: None, runs });
    let json = serde_json::to_string(&study).unwrap();
    assert_eq!(serde_json::from_str::<Study>(&json).unwrap(), study);
    assert!(study.case("a", "b").is_some() && study.case("b", "a").is_none());
}

#[test]
fn failures_of_one_kind_differ_in_numbers_of_the_run_alone() {
    for (one, other, are_alike) in [
        ("port 10240: refused", "port 31999: refused", true),
        ("no answer at http://127.0.0.1:80/a", "no answer at http://127.0.0.1:8080/a", true),
        ("p50>1ns ended it after 1.25 s", "p50>1ns ended it after 3 s", true),
        ("it ended (exit status: 7)", "it ended (exit status: 9)", false),
        ("status 404", "status 503", false),
        ("a 1", "a 1 1", false),
        ("", "x", false),
    ] {
        assert_eq!(failure_kind(one) == failure_kind(other), are_alike, "{one:?}, {other:?}");
    }
    assert_eq!(failure_kind("port 7: é 8 port"), "port …: é 8 port");
}

#[test]
fn a_repeat_that_was_measured_in_two_goes_is_out_of_turn() {
    let run = |repeat, resumed, failure: Option<&str>| CaseRun {
        repeat,
        resumed,
        failure: failure.map(str::to_owned),
        ..CaseRun::default()
    };
    let case = |runs| Case { runs, ..Case::default() };
    let study = Study {
        cases: vec![
            case(vec![run(1, 0, None), run(2, 0, None), run(3, 1, None), run(4, 0, Some("x"))]),
            case(vec![run(1, 0, None), run(2, 1, None), run(3, 1, None), run(4, 1, None)]),
        ],
        ..Study::default()
    };
    assert_eq!(Vec::from_iter(study.repeats_out_of_turn()), [2]);
}
