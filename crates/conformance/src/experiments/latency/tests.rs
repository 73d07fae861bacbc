//! The judges of latency, on hand-made readings and logs.

use super::*;
use crate::oracle::Entry;

fn reading(quantiles: &[(f64, f64)], max_s: f64) -> Reading {
    Reading { quantiles: quantiles.to_vec(), max_s: Some(max_s), ..Reading::default() }
}

fn passes(outcome: &Result<Judgement, Judgement>) -> bool {
    matches!(outcome, Ok(Judgement::Pass { .. }))
}

fn fails(outcome: &Result<Judgement, Judgement>) -> bool {
    matches!(outcome, Ok(Judgement::Fail { .. }))
}

#[test]
fn a_stall_is_in_the_quantiles() {
    let true_ones = [(0.5, 0.001), (0.95, 0.51), (0.99, 0.91), (0.999, 0.995)];
    let judged = |quantiles: &[_], max_s| judge_stall(&reading(quantiles, max_s), 1.0, 10.0);
    assert!(passes(&judged(&true_ones, 1.0)));
    let omitted = [(0.5, 0.001), (0.95, 0.001), (0.99, 0.001), (0.999, 0.001)];
    assert!(fails(&judged(&omitted, 1.0)));
    let synthesised = [(0.95, 0.51), (0.99, 1.3)];
    assert!(fails(&judged(&synthesised, 1.3)));
    assert!(fails(&judged(&true_ones, 0.9)));
    assert!(matches!(judged(&[(0.5, 0.1)], 1.0), Err(Judgement::Unmeasured { .. })));
}

/// Requests by when they came and how long they took, both in ms.
fn log(requests: impl Iterator<Item = (u64, u64)>) -> Log {
    let entry = |(at_ms, took_ms): (u64, u64)| {
        let received_ns = 1_000_000_000 + at_ms * MS;
        Entry { received_ns, sent_ns: received_ns + took_ms * MS, ..Entry::default() }
    };
    Log { entries: requests.map(entry).collect(), ..Log::default() }
}

#[test]
fn quantiles_are_the_oracles() {
    let log = log((0..1000).map(|i| (i, if i % 10 == 0 { 1000 } else { 1 })));
    let judged = |quantiles: &[_]| judge_against_log(&reading(quantiles, 1.0), &log, &[0.5, 0.99]);
    assert!(passes(&judged(&[(0.5, 0.0012), (0.99, 1.002)])));
    assert!(fails(&judged(&[(0.5, 0.4), (0.99, 1.0)])), "as wrk's correction makes it");
    assert!(fails(&judged(&[(0.5, 0.0012), (0.99, 0.5)])));
    assert!(matches!(judged(&[(0.99, 1.0)]), Err(Judgement::Unmeasured { .. })));
}

#[test]
fn a_limit_has_to_be_said_where_there_is_one() {
    let told = |verdict: Option<&str>, text: &str| Reading {
        verdict: verdict.map(str::to_owned),
        causes: verdict.map(|_| text.to_owned()).into_iter().collect(),
        text: text.to_owned(),
        ..Reading::default()
    };
    let judged = |verdict: Option<&str>, text: &str, opened| {
        let control = told(verdict.map(|_| "valid"), "10 connections");
        matches!(judge_limited(&told(verdict, text), &control, opened), Judgement::Pass { .. })
    };
    assert!(judged(Some("suspect"), "10 Connections were too few", 10));
    assert!(!judged(Some("valid"), "10 connections were too few", 10));
    assert!(!judged(None, "10 connections", 10));
    assert!(judged(None, "Insufficient VUs, reached 10", 10));
    assert!(judged(None, "warning: 10 connections limited the rate", 10));
    assert!(!judged(Some("suspect"), "steal", 10));
    assert!(!judged(Some("suspect"), "10 connections were too few", 200), "more than allowed");
    let always = told(None, "Insufficient VUs, reached 10");
    assert!(
        !matches!(judge_limited(&always, &always, 10), Judgement::Pass { .. }),
        "it cries wolf"
    );
}

#[test]
fn requests_at_hand_are_counted() {
    let log = log((0..300).map(|i| (i * 10, 500)));
    let open = open_at_a_time(&log, 1.0, 2.9);
    assert!((49.0..=51.0).contains(&open), "{open}");
    assert_eq!(open_at_a_time(&Log::default(), 1.0, 2.0), 0.0);
}

#[test]
fn what_is_open_at_the_end_counts() {
    let judged = |p99_s, completed, errors| {
        let reading = Reading {
            completed: Some(completed),
            errors: Some(errors),
            ..reading(&[(0.99, p99_s)], 5.0)
        };
        judge_end(&reading, 2000, 5.0)
    };
    assert!(passes(&judged(5.001, 2000, 0)));
    assert!(passes(&judged(5.001, 1985, 15)));
    assert!(fails(&judged(0.001, 1985, 15)), "the slow ones are gone from the quantiles");
    assert!(fails(&judged(5.001, 1985, 0)), "and from the counts");
}

#[test]
fn timeouts_are_counted_and_long() {
    let judged = |timed_out, p95_s, p99_s| {
        let mut reading = reading(&[(0.95, p95_s), (0.99, p99_s)], 1.0);
        reading.timed_out = timed_out;
        judge_timeouts(&reading, 40)
    };
    assert!(passes(&judged(Some(40), 0.001, 1.01)));
    assert!(fails(&judged(Some(40), 0.001, 0.001)));
    assert!(fails(&judged(Some(0), 0.001, 1.0)));
    assert!(fails(&judged(Some(40), 1.0, 1.0)));
    assert!(matches!(judged(None, 0.001, 1.0), Err(Judgement::Unmeasured { .. })));
}
