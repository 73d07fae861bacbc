//! The judges of the tester itself, on hand-made readings.

use super::*;
use crate::oracle::Entry;

fn passes(outcome: &Judgement) -> bool {
    matches!(outcome, Judgement::Pass { .. })
}

fn told(verdict: Option<&str>, cause: &str) -> Reading {
    Reading {
        verdict: verdict.map(str::to_owned),
        causes: vec![cause.to_owned()],
        ..Reading::default()
    }
}

/// A run of this reading in which the oracle answered 1000 requests within 100 µs each.
fn run(reading: Reading) -> Run {
    let entry = |i: u64| Entry {
        received_ns: i * 1_000_000,
        sent_ns: i * 1_000_000 + 100_000,
        ..Entry::default()
    };
    let log = Log { entries: (0..1000).map(entry).collect(), ..Log::default() };
    Run { reading, log, ..Run::default() }
}

fn judged(topic: &Topic, reading: Reading, control: &Reading) -> bool {
    passes(&judge_claims(topic, &run(reading), control, &[0.5, 0.99]))
}

#[test]
fn a_starved_tester_says_so() {
    let easy = told(Some("valid"), "");
    let judged = |verdict, cause| judged(&NO_CPU, told(Some(verdict), cause), &easy);
    assert!(judged("invalid", "the CPU quota kept it from running"));
    let shared = "a worker was ready to run and had no CPU for 34 % of the time: give it another";
    assert!(judged("suspect", shared), "'no CPU' is what there was, no denial");
    assert!(!judged("valid", "the CPU quota kept it from running"));
    assert!(!judged("invalid", "too few connections"), "another cause");
    let wolf = told(Some("invalid"), "the CPU quota kept it from running");
    assert!(!passes(&judge_claims(&NO_CPU, &run(wolf.clone()), &wolf, &[])), "it always says so");
}

#[test]
fn a_tester_without_a_verdict_is_heard() {
    let said = |text: &str| Reading { text: text.to_owned(), ..Reading::default() };
    let judged = |text: &str| judged(&NO_CPU, said(text), &said("CPU 3 %"));
    assert!(judged("warning: the CPU was the limit (CPU 100 %), figures are unreliable"));
    assert!(judged("WARNING 93% of sleep were falling behind"));
    assert!(!judged("CPU 100 %"));
    assert!(!judged("p99 3 ms"));
}

#[test]
fn a_pause_is_named() {
    let easy = told(Some("valid"), "");
    let judged = |verdict, cause| judged(&PAUSE, told(Some(verdict), cause), &easy);
    assert!(judged("suspect", "the tester did not run for 500 ms"));
    assert!(!judged("valid", "the tester did not run for 500 ms"));
    assert!(!judged("suspect", "late"));
}

#[test]
fn a_warning_of_times_does_not_excuse_counts() {
    let warned = |completed| Reading {
        completed: Some(completed),
        quantiles: vec![(0.5, 0.2), (0.99, 0.4)],
        ..told(None, "the tester was paused: stopped for 400 ms")
    };
    let easy = told(None, "");
    assert!(judged(&PAUSE, warned(1000), &easy));
    assert!(!judged(&PAUSE, warned(900), &easy));
}

#[test]
fn watching_is_cheap() {
    let noise = [0.0, 0.02, -0.03, 0.05, -0.06, 0.01, -0.01, 0.04, -0.02];
    let judged = |cost: f64, noisy: f64| {
        judge_observer(&noise.map(|share| (1000.0 * (1.0 - cost + noisy * share), 1000.0)))
    };
    for (cost, holds) in [(0.0, true), (-0.05, true), (0.03, true), (0.06, false), (0.8, false)] {
        assert_eq!(passes(&judged(cost, 1.0).unwrap()), holds, "{cost}");
    }
    assert!(!passes(&judged(0.02, 0.1).unwrap()), "a quiet machine tells less");
    assert!(matches!(judged(0.5, 10.0), Err(Judgement::Unmeasured { .. })));
    let none = judge_observer(&[(0.0, 0.0); OBSERVER_PAIRS]);
    assert!(matches!(none, Err(Judgement::Unmeasured { .. })), "no rate at all");
}

#[test]
fn the_load_goes_on_unread() {
    let even: Vec<f64> = (0..3000).map(|i| f64::from(i) / 1000.0).collect();
    assert!(passes(&judge_seconds(&even, 3)));
    assert!(!passes(&judge_seconds(&even[..1100], 3)));
    let bunched: Vec<f64> = even.iter().map(|at_s| if *at_s > 1.0 { 2.5 } else { *at_s }).collect();
    assert!(!passes(&judge_seconds(&bunched, 3)));
}

#[test]
fn memory_is_flat() {
    let judged = |rss: &[u64]| {
        let samples: Vec<Sample> = rss
            .iter()
            .map(|mb| Sample { rss_bytes: mb * 1_000_000, ..Sample::default() })
            .collect();
        judge_memory(&samples, 1)
    };
    assert!(passes(&judged(&[2, 8, 9, 9, 9, 10, 11, 11, 0]).unwrap()), "starting up is no growth");
    assert!(!passes(&judged(&[2, 8, 9, 12, 15, 18, 21, 24, 0]).unwrap()));
    assert!(judged(&[0]).is_err());
}

#[test]
fn the_wall_clock_does_not_matter() {
    let judged = |duration_s, max_s, seen| {
        let reading = Reading { duration_s, max_s, ..Reading::default() };
        judge_clock(&reading, seen).is_ok_and(|outcome| passes(&outcome))
    };
    assert!(judged(Some(4.01), Some(0.01), 4000));
    assert!(!judged(Some(9.0), Some(0.01), 4000));
    assert!(!judged(Some(4.0), Some(5.0), 4000));
    assert!(!judged(Some(4.0), None, 2000));
    assert!(!judged(None, None, 4000), "it shows no time");
}
