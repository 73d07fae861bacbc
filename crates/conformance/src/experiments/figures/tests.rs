//! The judges of figures, on hand-made readings and logs.

use super::*;
use crate::oracle::Entry;

fn reading(quantiles: &[(f64, f64)]) -> Reading {
    Reading { quantiles: quantiles.to_vec(), ..Reading::default() }
}

fn passes(outcome: &Result<Judgement, Judgement>) -> bool {
    matches!(outcome, Ok(Judgement::Pass { .. }))
}

fn fails(outcome: &Result<Judgement, Judgement>) -> bool {
    matches!(outcome, Ok(Judgement::Fail { .. }))
}

#[test]
fn good_responses_are_told_apart() {
    let flattered = reading(&[(0.5, 0.0002)]);
    assert!(fails(&judge_outcomes(&flattered, 0.05)));
    assert!(passes(&judge_outcomes(&reading(&[(0.5, 0.0504)]), 0.05)));
    let apart = |ok_s| Reading { ok_quantiles: vec![(0.5, ok_s)], ..flattered.clone() };
    assert!(passes(&judge_outcomes(&apart(0.0504), 0.05)));
    assert!(fails(&judge_outcomes(&apart(0.02), 0.05)));
}

#[test]
fn buckets_are_fine_and_nothing_is_clamped() {
    let times_ms = [(550, 12), (330, 123), (105, 1234), (14, 5678), (1, 65_000)];
    let entries = times_ms.into_iter().flat_map(|(count, took_ms)| {
        let entry = Entry { received_ns: 1, sent_ns: 1 + took_ms * MS, ..Entry::default() };
        std::iter::repeat_n(entry, count)
    });
    let log = Log { entries: entries.collect(), ..Log::default() };
    let judged = |p50_s, p90_s, p99_s, max_s| {
        let quantiles = [(0.5, p50_s), (0.9, p90_s), (0.99, p99_s)];
        judge_precision(&Reading { max_s: Some(max_s), ..reading(&quantiles) }, &log)
    };
    assert!(passes(&judged(0.0121, 1.2345, 5.679, 65.001)));
    assert!(fails(&judged(0.0121, 1.2345, 5.679, 60.0)), "clamped at a minute");
    assert!(fails(&judged(0.0121, 1.29, 5.679, 65.0)), "a coarse bucket");
    assert!(fails(&judged(0.0121, 1.2345, 5.61, 65.0)), "interpolated");
    assert!(fails(&judged(0.0121, 1.2345, 5.679, 5.0)), "p99 beyond the maximum");
}

#[test]
fn littles_law() {
    let judged =
        |rate_rps, mean_s| judge_little(&Reading { rate_rps, mean_s, ..Reading::default() }, 900.0);
    assert!(passes(&judged(Some(900.0), Some(0.0011))));
    assert!(fails(&judged(Some(900.0), Some(0.0005))));
    assert!(fails(&judged(Some(1000.0), Some(0.0011))));
    assert!(fails(&judged(Some(1000.0), Some(0.001))), "they fit each other and not the truth");
    assert!(matches!(judged(None, Some(0.001)), Err(Judgement::Unmeasured { .. })));
}

#[test]
fn the_warm_up_is_left_out_of_the_figures() {
    assert!(passes(&judge_warm_up(&reading(&[(0.95, 0.0012)]), 1200)));
    assert!(fails(&judge_warm_up(&reading(&[(0.95, 0.05)]), 1200)));
    assert!(passes(&judge_warm_up(&reading(&[(0.9, 0.0012)]), 1200)));
}

#[test]
fn nothing_is_thrown_away_unasked() {
    assert!(passes(&judge_discard(&reading(&[(0.75, 0.0504)]))));
    assert!(passes(&judge_discard(&reading(&[(0.9, 0.0504)]))));
    assert!(fails(&judge_discard(&reading(&[(0.75, 0.001), (0.9, 0.05)]))));
}

#[test]
fn a_tail_of_few_samples_is_not_shown() {
    assert!(passes(&judge_samples(&reading(&[(0.5, 1.0), (0.99, 2.0), (1.0, 3.0)]))));
    assert!(fails(&judge_samples(&reading(&[(0.5, 1.0), (0.999, 3.0)]))));
    assert!(fails(&judge_samples(&reading(&[(0.5, 1.0), (0.99999, 3.0)]))));
    let silent = judge_samples(&reading(&[]));
    assert!(matches!(silent, Err(Judgement::Unmeasured { .. })), "no figure at all");
}

#[test]
fn a_ramp_is_a_line() {
    // The number of requests by the time t is 500 t + 250 t^2.
    let line: Vec<f64> = (0..6000).map(|i| -1.0 + (1.0 + f64::from(i) / 250.0).sqrt()).collect();
    let told = |rate_rps| Reading { rate_rps: Some(rate_rps), ..Reading::default() };
    assert!(passes(&judge_ramp(&told(1499.0), &line)));
    assert!(fails(&judge_ramp(&told(2500.0), &line)), "the last rate is not the whole's");
    let even: Vec<f64> = (0..6000).map(|i| f64::from(i) / 1500.0).collect();
    assert!(fails(&judge_ramp(&told(1500.0), &even)));
    assert!(fails(&judge_ramp(&told(1499.0), &line[..5990])));
}
