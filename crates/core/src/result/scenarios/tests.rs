//! The run's result of made-up scenarios whose sums are known, and merging over hosts.

use super::*;
use crate::ledger::Ledger;
use crate::plan::{Draft, Endpoint};
use crate::recorder::Span;
use crate::result::{Pause, Rate, RateChange, Tool, Verdict};
use crate::schedule::{Arrival, Profile};
use crate::series::{POINTS_LIMIT, Point};

const SECOND_NS: u64 = 1_000_000_000;

/// How a made-up scenario is.
struct Made {
    name: &'static str,
    start_ns: u64,
    seconds: u64,
    /// Requests a second; in a closed loop the same number comes about.
    rps: u64,
    is_open: bool,
}

const A: Made = Made { name: "a", start_ns: 0, seconds: 4, rps: 50, is_open: true };
const B: Made = Made { name: "b", start_ns: 2_300_000_000, seconds: 4, rps: 100, is_open: true };
const CLOSED: Made =
    Made { name: "closed", start_ns: SECOND_NS, seconds: 2, rps: 15, is_open: false };

fn tool() -> Tool {
    Tool { name: "plimsoll".to_owned(), version: "0".to_owned() }
}

/// All requests were answered in a millisecond, each second's in that second.
fn made(made: &Made) -> ScenarioResult {
    let &Made { name, start_ns, seconds, rps, is_open } = made;
    let profile = Profile::constant(rps * 1_000_000, Some(seconds * SECOND_NS), Arrival::Uniform);
    let rate = is_open.then_some(profile);
    let plan = Draft { rate, ..Draft::new(Endpoint::http(name, 80, "/")) };
    let mut result = RunResult::empty(tool(), &plan);
    let total = rps * seconds;
    result.elapsed_ns = seconds * SECOND_NS + 1_000_000;
    result.ledger =
        Ledger { scheduled: total, sent: total, completed: total, ok: total, ..Ledger::default() };
    result.rate = Rate {
        target_rps: is_open.then_some(rps as f64),
        window_ns: seconds * SECOND_NS,
        answered_ns: result.elapsed_ns,
        responses: Some(total),
        good: Some(total),
        changes: vec![RateChange { at_ns: 7, rps: 1.0 }],
        ..Rate::default()
    };
    result.latency.response.record_n(1_000_000, total);
    result.status.insert(200, total);
    result.loader.rss_peak_bytes = 10 + start_ns / SECOND_NS;
    result.loader.workers = 1;
    result.loader.pauses.push(Pause { at_ns: 5, for_ns: 3 });
    result.endpoints.push(crate::part::Part::new("/"));
    result.series = series(start_ns, seconds, rps);
    result.refresh_rates();
    ScenarioResult { name: name.to_owned(), start_ns, result }
}

fn series(start_ns: u64, seconds: u64, rps: u64) -> crate::series::Series {
    let mut series = crate::series::Series::starting_at(start_ns);
    let (mut index, mut told) = (0, 0);
    while told < rps * seconds {
        let span = Span::nth(index, start_ns);
        let due = (rps * span.end_ns() / SECOND_NS).min(rps * seconds);
        let (t_ns, interval_ns) = (span.t_ns, span.length_ns);
        series.add(&Point { t_ns, interval_ns, sent: due - told, ..Point::default() });
        told = due;
        index += 1;
    }
    series
}

fn run_of(scenarios: Vec<ScenarioResult>) -> RunResult {
    let plan = Draft::new(Endpoint::http("", 0, ""));
    let mut empty = RunResult::empty(tool(), &plan);
    empty.started_at = "2026-01-01T00:00:00Z".to_owned();
    RunResult::of_scenarios(empty, scenarios)
}

fn sent(result: &RunResult) -> Vec<u64> {
    result.series.points().iter().map(|point| point.sent).collect()
}

#[test]
fn counts_add_up_and_times_are_the_run_s() {
    let run = run_of(vec![made(&A), made(&B)]);
    assert_eq!((run.ledger.sent, run.ledger.check()), (600, Ok(())));
    assert_eq!((run.latency.response.count(), run.status[&200]), (600, 600));
    assert_eq!(run.rate.window_ns, 6_300_000_000);
    assert_eq!((run.elapsed_ns, run.rate.answered_ns), (6_301_000_000, 6_301_000_000));
    assert_eq!((run.rate.responses, run.rate.good), (Some(600), Some(600)));
    let per_second = (600.0 / 6.3 * 1e6_f64).round() / 1e6;
    assert_eq!((run.rate.achieved_rps, run.rate.offered_rps), (per_second, per_second));
    let target = run.rate.target_rps.expect("both have one");
    assert!((target - 600.0 / 6.3).abs() < 1e-9, "{target}");
    assert_eq!(run.rate.changes.iter().map(|it| it.at_ns).collect::<Vec<_>>(), [7, 2_300_000_007]);
    let pauses: Vec<u64> = run.loader.pauses.iter().map(|pause| pause.at_ns).collect();
    assert_eq!(pauses, [5, 2_300_000_005]);
    // 0.7 s of b in the third second, and the rest of its last second in the seventh.
    assert_eq!(sent(&run), [50, 50, 120, 150, 100, 100, 30]);
    assert_eq!((run.loader.workers, run.loader.rss_peak_bytes), (2, 12), "one process");
    assert!(run.endpoints.is_empty() && !run.scenario("b").unwrap().result.endpoints.is_empty());
    assert_eq!(run.started_at, "2026-01-01T00:00:00Z");
}

#[test]
fn a_closed_loop_leaves_the_run_without_a_target() {
    let run = run_of(vec![made(&A), made(&CLOSED)]);
    assert_eq!((run.rate.target_rps, run.rate.window_ns), (None, 4 * SECOND_NS));
    assert_eq!((run.ledger.sent, run.rate.achieved_rps), (230, 57.5));
    assert!(!run.is_open_loop() && run_of(vec![made(&A), made(&B)]).is_open_loop());
}

#[test]
fn responses_after_a_scenario_s_window_count_in_a_longer_run() {
    let late = |it: &Made| {
        let mut scenario = made(it);
        let rate = &mut scenario.result.rate;
        (rate.responses, rate.good) = (rate.responses.map(|n| n - 3), rate.good.map(|n| n - 3));
        scenario
    };
    // b ends last: what came after its window came after the run's.
    let run = run_of(vec![late(&A), late(&B)]);
    assert_eq!((run.rate.responses, run.rate.good), (Some(597), Some(597)));
    let unknown = |it: &Made| {
        let mut scenario = made(it);
        scenario.result.rate.responses = None;
        scenario
    };
    assert_eq!(run_of(vec![unknown(&A), made(&B)]).rate.responses, Some(600));
    assert_eq!(run_of(vec![made(&A), unknown(&B)]).rate.responses, None);
}

#[test]
fn what_never_began_does_not_make_a_run_longer() {
    let mut late = made(&Made { start_ns: 60 * SECOND_NS, seconds: 0, ..B });
    late.result.elapsed_ns = 0;
    late.result.rate = Rate::default();
    late.result.interrupted = true;
    late.result.loader.verdict = Verdict::Invalid;
    let text = "no response".to_owned();
    late.result.loader.causes = vec![Cause {
        verdict: Verdict::Invalid,
        code: "no_responses".to_owned(),
        text,
        touches: Vec::new(),
    }];
    let run = run_of(vec![made(&A), late]);
    assert_eq!((run.elapsed_ns, run.rate.window_ns), (4_001_000_000, 4 * SECOND_NS));
    assert!(run.interrupted);
    let notes: Vec<&str> = run.loader.causes.iter().map(|cause| cause.text.as_str()).collect();
    assert_eq!(run.loader.verdict, Verdict::Valid);
    assert_eq!(notes, ["note: scenario b: the run ended before it began"]);
    assert_eq!(run.scenarios[1].result.loader.verdict, Verdict::Invalid);
}

#[test]
fn the_worst_verdict_stands_and_causes_name_their_scenario() {
    let cause = |verdict, text: &str| {
        let (code, text) = ("late".to_owned(), text.to_owned());
        Cause { verdict, code, text, touches: Vec::new() }
    };
    let (mut a, mut b) = (made(&A), made(&B));
    a.result.loader.causes = vec![cause(Verdict::Valid, "note: seen")];
    b.result.loader.verdict = Verdict::Suspect;
    b.result.loader.causes = vec![cause(Verdict::Suspect, "seen")];
    let run = run_of(vec![a, b]);
    assert_eq!(run.loader.verdict, Verdict::Suspect);
    let texts: Vec<&str> = run.loader.causes.iter().map(|cause| cause.text.as_str()).collect();
    assert_eq!(texts, ["scenario b: seen", "note: scenario a: seen"]);
}

#[test]
fn attempts_that_failed_count_in_closed_loops_alone() {
    let failing = |it: &Made| {
        let mut scenario = made(it);
        let outage = crate::outage::Outage { failed_attempts: 5, ..Default::default() };
        scenario.result.outage = Some(outage);
        scenario
    };
    assert_eq!(run_of(vec![failing(&A), failing(&CLOSED)]).failed_attempts(), 5);
}

#[test]
fn series_that_were_halved_add_up() {
    let seconds = POINTS_LIMIT as u64 + 10;
    let long = made(&Made { seconds, rps: 2, ..A });
    let short = made(&Made { start_ns: 1_500_000_000, ..B });
    for scenarios in [vec![long.clone(), short.clone()], vec![short, long]] {
        let run = run_of(scenarios);
        assert_eq!(run.series.interval_ns(), 2 * SECOND_NS);
        // b sends from 1.5 s to 5.5 s.
        assert_eq!(sent(&run)[..4], [4 + 50, 4 + 200, 4 + 150, 4]);
        assert_eq!(sent(&run).iter().sum::<u64>(), 2 * seconds + 400);
    }
}

#[test]
fn merging_over_hosts_goes_by_name_and_in_any_grouping() {
    let hosts = [
        run_of(vec![made(&A), made(&B)]),
        run_of(vec![made(&B), made(&CLOSED)]),
        run_of(vec![made(&Made { rps: 70, ..A }), made(&B)]),
    ];
    let mut left = hosts[0].clone();
    left.merge(&hosts[1]);
    left.merge(&hosts[2]);
    let mut tail = hosts[1].clone();
    tail.merge(&hosts[2]);
    let mut right = hosts[0].clone();
    right.merge(&tail);
    assert_eq!(left, right);
    let names: Vec<&str> = left.scenarios.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "closed"]);
    assert_eq!(left.scenario("b").unwrap().result.ledger.sent, 3 * 400);
    // The sum of the runs is the run of the sums.
    let again = run_of(left.scenarios.clone());
    assert_eq!((again.ledger, &again.latency), (left.ledger, &left.latency));
    assert_eq!((&again.series, &again.status), (&left.series, &left.status));
    assert_eq!(again.rate.responses, left.rate.responses);
}

#[test]
fn a_document_reads_back_whole() {
    let run = run_of(vec![made(&A), made(&B), made(&Made { seconds: 1, rps: 2, ..B })]);
    let text = serde_json::to_string(&run).unwrap();
    assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), run);
    let plain = serde_json::to_value(made(&A).result).unwrap();
    assert_eq!(plain.get("scenarios"), None, "a plain run has none");
}

#[test]
fn documents_meet_the_checked_in_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/result.schema.json");
    let mut schemas = boon::Schemas::new();
    let schema = boon::Compiler::new().compile(path, &mut schemas).unwrap();
    let mut document = serde_json::to_value(run_of(vec![made(&A), made(&CLOSED)])).unwrap();
    if let Err(error) = schemas.validate(&document, schema) {
        panic!("{error}");
    }
    document["scenarios"][1]["result"]["ledger"]["sent"] = serde_json::json!(-1);
    assert!(schemas.validate(&document, schema).is_err(), "each result is a result");
}
