//! The judges of pacing, on hand-made logs.

use super::*;
use crate::oracle::Entry;

fn log(late_us: impl Fn(u64) -> u64) -> Log {
    let entry = |i: u64| {
        let received_ns = 1_000_000_000 + i * 10_000_000 + late_us(i) * 1000;
        Entry { received_ns, sent_ns: received_ns + 5_000, ..Entry::default() }
    };
    Log { entries: (0..500).map(entry).collect(), ..Log::default() }
}

fn passes(outcome: &Judgement) -> bool {
    matches!(outcome, Judgement::Pass { .. })
}

#[test]
fn lateness_is_what_lies_behind_the_grid() {
    let behind = behind_grid_s(&[0.0, 0.011, 0.02, 0.0305], 100.0);
    let want = [0.0, 0.0, 0.0005, 0.001];
    assert!(behind.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-9));
}

#[test]
fn timers_of_a_millisecond_fail() {
    let judged = |log: &Log, p50_s| {
        let reading = Reading { quantiles: vec![(0.5, p50_s)], ..Reading::default() };
        passes(&judge_precision(&reading, log, &Default::default(), 100.0).unwrap())
    };
    let sharp = log(|i| i % 7);
    assert!(judged(&sharp, 50e-6));
    assert!(!judged(&sharp, 1.02e-3));
    assert!(!judged(&sharp, 1e-6), "less than the truth");
    assert!(!judged(&log(|i| i * 37 % 1000), 50e-6));
    assert!(!judged(&log(|i| if i % 50 == 3 { 900 } else { 0 }), 50e-6));
    assert!(!judged(&Log::default(), 50e-6));
}

#[test]
fn what_a_bare_loop_is_late_by_is_the_machines() {
    let late = |i: u64| if i % 50 == 3 { 900 } else { 0 };
    let noisy = Reference { log: log(late), latency_s: vec![200e-6; 10] };
    let bare = [Reference::default(), noisy];
    let judged = |late: fn(u64) -> u64, p50_s| {
        let reading = Reading { quantiles: vec![(0.5, p50_s)], ..Reading::default() };
        passes(&judge_precision(&reading, &log(late), &bare, 100.0).unwrap())
    };
    assert!(judged(|i| if i % 50 == 3 { 900 } else { 0 }, 290e-6));
    assert!(!judged(|i| if i % 50 == 3 { 1500 } else { 0 }, 290e-6));
    assert!(!judged(|_| 0, 310e-6));
}

#[test]
fn bursts_are_dispersed() {
    let even: Vec<f64> = (0..30_000).map(|i| f64::from(i) / 10_000.0).collect();
    assert!(dispersion(&even, 0.3, 2.8) < 0.05);
    // Fifty at a time, each 5 ms.
    let clumps: Vec<f64> = (0..30_000).map(|i| f64::from(i / 50) * 0.005).collect();
    assert!(dispersion(&clumps, 0.3, 2.8) > 10.0);
    assert!(dispersion(&[], 0.3, 2.8).is_nan(), "which no tolerance holds");
    // The CPU is away for 10 ms, ten times in three seconds.
    let taken_away = |at_s: f64| {
        let into_s = at_s % 0.3;
        if into_s < 0.01 { at_s - into_s + 0.01 } else { at_s }
    };
    let disturbed: Vec<f64> = even.iter().copied().map(taken_away).collect();
    assert!(dispersion(&disturbed, 0.3, 2.8) < 0.05);
}

/// Gaps that are exponential by their quantiles, in an order that has no pattern.
fn exponential(rate_rps: f64, count: u64) -> Vec<f64> {
    let mut at_s = 0.0;
    let gap = |i: u64| {
        let share = ((i * 7919) % count) as f64 + 0.5;
        -(1.0 - share / count as f64).ln() / rate_rps
    };
    (0..count)
        .map(|i| {
            at_s += gap(i);
            at_s
        })
        .collect()
}

#[test]
fn poisson_arrivals_are_told_from_others() {
    let times = exponential(2000.0, 8009);
    assert!(exponential_distance(&times, 2000.0) < 0.001);
    assert!(exponential_distance(&times, 2500.0) > 0.05, "another rate");
    let even: Vec<f64> = (0..8000).map(|i| f64::from(i) / 2000.0).collect();
    assert!(!passes(&judge_poisson(&even, 2000.0, 4.0)));
    assert!(exponential_distance(&even, 2000.0) > 0.5);
    assert_eq!(exponential_distance(&[], 2000.0), 1.0);
}

#[test]
fn what_was_due_is_sent_or_dropped_aloud() {
    // 1000/s; the second second's come in 50 at once and the rest after it.
    let times: Vec<f64> = (0..4000)
        .map(|i| match i {
            1050..2000 => 2.0 + f64::from(i - 1050) / 20_000.0,
            _ => f64::from(i) / 1000.0,
        })
        .collect();
    let told = |errors| Reading { errors, ..Reading::default() };
    let said = |dropped| Reading { dropped: Some(dropped), errors: Some(0), ..Reading::default() };
    let figure = match judge_catch_up(&told(None), &times) {
        Judgement::Pass { figure } => figure,
        other => panic!("{other:?}"),
    };
    assert!(figure.contains("50 sent during the stall"), "{figure}");
    let dropped = [&times[..1050], &times[2000..]].concat();
    assert!(!passes(&judge_catch_up(&told(None), &dropped)));
    assert!(passes(&judge_catch_up(&told(Some(950)), &dropped)));
    assert!(passes(&judge_catch_up(&said(950), &dropped)));
    assert!(!passes(&judge_catch_up(&said(0), &dropped)));
    let twice = [&times[..], &times[..50]].concat();
    assert!(!passes(&judge_catch_up(&told(None), &twice)));
}

#[test]
fn rates_add_up() {
    assert!(passes(&judge_rates(&[(0.5, 6.0, Some(3)), (997.0, 3.0, Some(2992))])));
    assert!(passes(&judge_rates(&[(0.5, 6.0, None), (7.0, 3.0, Some(21))])));
    assert!(!passes(&judge_rates(&[(997.0, 3.0, Some(2944))])), "15 a connection");
}

#[test]
fn a_seed_repeats_a_run() {
    let log = |times: &[f64], paths: &[u32]| Log {
        entries: times
            .iter()
            .zip(paths.iter().cycle())
            .map(|(at_s, path)| Entry {
                received_ns: 1 + (at_s * 1e9) as u64,
                path: *path,
                ..Entry::default()
            })
            .collect(),
        ..Log::default()
    };
    let times = exponential(500.0, 1009);
    let slower: Vec<f64> = times.iter().map(|at_s| at_s * 1.1).collect();
    let (first, other) = (log(&times, &[1, 2, 3]), log(&slower, &[3, 1, 2]));
    assert!(passes(&judge_seed([&first, &first, &other], true)));
    assert!(!passes(&judge_seed([&first, &other, &other], true)), "not the same times");
    assert!(!passes(&judge_seed([&first, &first, &first], true)), "the seed does nothing");
    let shuffled = log(&times, &[2, 1, 3]);
    assert!(!passes(&judge_seed([&first, &shuffled, &other], true)), "not the same order");
    assert!(passes(&judge_seed([&first, &shuffled, &other], false)));
}
