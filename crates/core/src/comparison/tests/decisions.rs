//! Decisions by example, and by simulation: how often equal sides are called different, and how
//! often a real difference is found.

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::comparison::noise::{Noise, Shape};
use crate::comparison::success::decide_together;
use crate::comparison::*;
use crate::study::{Better, Case, CaseRun, Figures, Measure};

const FIVE: [f64; 5] = [100.0, 101.0, 99.0, 100.5, 99.5];

fn times(values: &[f64], by: f64) -> Vec<f64> {
    values.iter().map(|value| value * by).collect()
}

#[test]
fn decisions_by_example() {
    let (rate, time) =
        (DecisionOptions::ratio(Better::Higher), DecisionOptions::ratio(Better::Lower));
    let (two, none) = (&FIVE[..2], &FIVE[..0]);
    let within = Some(Reason::WithinNoise);
    let few = Some(Reason::TooFewRepeats);
    let cannot = Decision::CannotTell;
    for (name, base, new, options, decision, reason) in [
        ("the same", &FIVE[..], FIVE.to_vec(), rate, cannot, within),
        ("a rate that rose", &FIVE, times(&FIVE, 1.1), rate, Decision::Better, None),
        ("a rate that fell", &FIVE, times(&FIVE, 0.9), rate, Decision::Worse, None),
        ("a time that rose", &FIVE, times(&FIVE, 1.1), time, Decision::Worse, None),
        ("a time that fell", &FIVE, times(&FIVE, 0.9), time, Decision::Better, None),
        (
            "too little noise to hide it",
            &[100.0; 5],
            vec![100.9; 5],
            rate,
            cannot,
            Some(Reason::TooSmall),
        ),
        ("the least change", &[100.0; 5], vec![101.0001; 5], rate, Decision::Better, None),
        ("three repeats", &FIVE[..3], times(&FIVE[..3], 9.0), rate, cannot, few),
        ("three and five", &FIVE[..3], times(&FIVE, 9.0), rate, cannot, few),
        ("two and many", two, times(&FIVE, 9.0), rate, cannot, few),
        ("one run each", &FIVE[..1], vec![1000.0], rate, cannot, few),
        ("nothing at all", none, vec![], rate, cannot, Some(Reason::NothingMeasured)),
        ("nothing on one side", &FIVE, vec![], rate, cannot, Some(Reason::NothingMeasured)),
        ("negative", &FIVE[..], vec![-1.0; 5], rate, cannot, Some(Reason::NothingMeasured)),
        ("not numbers", &FIVE, vec![f64::NAN; 5], rate, cannot, Some(Reason::NothingMeasured)),
        ("from zero", &[0.0; 5], FIVE.to_vec(), rate, Decision::Better, None),
        ("to zero", &FIVE, vec![0.0; 5], rate, Decision::Worse, None),
        ("zeros", &[0.0; 5], vec![0.0; 5], rate, cannot, within),
        ("other magnitudes", &[1e-300; 5], vec![1e300; 5], rate, Decision::Better, None),
    ] {
        let found = compare(base, &new, &options);
        assert_eq!((found.decision, found.reason), (decision, reason), "{name}: {found:?}");
        assert_eq!(found.reason.is_none(), found.decision != cannot, "{name}");
        let text = serde_json::to_string(&found).unwrap();
        let read: Comparison = serde_json::from_str(&text).unwrap();
        assert_eq!((read.decision, read.reason, read.base.n), (decision, reason, found.base.n));
    }
}

#[test]
fn ratios_have_their_values_and_intervals() {
    let found = compare(&FIVE, &times(&FIVE, 1.1), &DecisionOptions::ratio(Better::Higher));
    assert!((found.ratio().unwrap() - 1.1).abs() < 1e-9);
    assert!((found.p.unwrap() - 2.0 / 252.0).abs() < 1e-12);
    let interval = found.interval.unwrap();
    assert!(1.08 < interval.low && interval.low < 1.1 && 1.1 < interval.high);
    assert_eq!(interval.confidence, 0.95);
    assert_eq!((found.base.n, found.base.median), (5, Some(100.0)));
    let detectable = found.detectable.unwrap();
    assert!((0.01..0.04).contains(&detectable), "{detectable}");
}

/// One rule: what the tests find is called also where the interval ends at no change.
#[test]
fn ties_at_no_change_hide_no_difference() {
    let base = [100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 110.0];
    let new = [100.0, 110.0, 110.0, 110.0, 110.0, 110.0, 110.0, 110.0];
    let found = compare(&base, &new, &DecisionOptions::ratio(Better::Higher));
    assert_eq!(found.decision, Decision::Better, "{found:?}");
    assert!(found.p.unwrap() < 0.02 && found.interval.unwrap().low == 1.0, "{found:?}");
}

#[test]
fn what_has_no_bounds_has_no_number() {
    let options = DecisionOptions::ratio(Better::Higher);
    let found = compare(&[0.0; 5], &FIVE, &options);
    assert_eq!((found.ratio(), found.interval, found.detectable), (None, None, None));
    let found = compare(&[0.0; 5], &[0.0; 5], &options);
    assert_eq!(found.ratio(), Some(1.0));
}

#[test]
fn too_few_repeats_say_how_many_it_takes() {
    let mut options = DecisionOptions::ratio(Better::Higher);
    for (confidence, needed) in [(0.9, 4), (0.95, 4), (0.99, 5), (0.999, 7)] {
        options.confidence = confidence;
        let found = compare(&FIVE[..1], &FIVE[..1], &options);
        assert_eq!(found.repeats_needed, Some(needed), "{confidence}");
    }
    let enough = compare(&FIVE, &FIVE, &DecisionOptions::ratio(Better::Higher));
    assert_eq!(enough.repeats_needed, None);
}

#[test]
fn shares_are_compared_by_their_difference() {
    let options = DecisionOptions::difference(Better::Lower);
    let none = [0.0; 5];
    let found = compare(&none, &[0.02, 0.03, 0.02, 0.01, 0.02], &options);
    assert_eq!(found.decision, Decision::Worse);
    assert_eq!((found.change, found.ratio()), (Some(0.02), None));
    let found = compare(&none, &[0.0002, 0.0003, 0.0002, 0.0001, 0.0002], &options);
    assert_eq!(found.reason, Some(Reason::TooSmall));
    assert_eq!(compare(&none, &none, &options).reason, Some(Reason::WithinNoise));
}

/// A case of a server, its rates around 1000.
fn server(name: &str, noise: &[f64]) -> Case {
    let run = |noise: &f64| CaseRun {
        figures: Figures { rate_rps: Some(1000.0 * noise.exp()), ..Figures::default() },
        ..CaseRun::default()
    };
    Case { server: name.to_owned(), runs: noise.iter().map(run).collect(), ..Case::default() }
}

/// Of many servers that are the same some pair is apart by chance. The table is held to one in
/// twenty, not each of its pairs.
#[test]
fn a_table_of_identical_servers_is_told_apart_in_one_of_twenty() {
    const TABLES: u32 = 400;
    let at_most = 0.05 + 3.0 * (0.05 * 0.95 / f64::from(TABLES)).sqrt();
    for (servers, repeats) in [(4, 5), (4, 10), (8, 5)] {
        for shape in [Shape::Normal, Shape::Skewed, Shape::Outliers] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(servers);
            let mut told_apart = 0;
            for _ in 0..TABLES {
                let cases: Vec<Case> = (0..servers)
                    .map(|_| server("same", &Noise::new(shape, 0.02).values(repeats, &mut random)))
                    .collect();
                let cases: Vec<&Case> = cases.iter().collect();
                let decided = decide_together(Measure::Rate, &cases);
                told_apart += u32::from(decided.iter().any(|it| *it != Decision::CannotTell));
            }
            let share = f64::from(told_apart) / f64::from(TABLES);
            assert!(share <= at_most, "{servers} {repeats} {shape:?}: {share}");
        }
    }
}

/// Servers that are far apart are still told apart, and one that fails is behind.
#[test]
fn servers_that_differ_are_told_apart_in_a_table() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let noise = Noise::new(Shape::Normal, 0.02);
    let mut cases: Vec<Case> = (0..8)
        .map(|i| {
            let by = 0.2 * f64::from(i);
            let noise: Vec<f64> =
                noise.values(5, &mut random).iter().map(|noise| noise + by).collect();
            server("other", &noise)
        })
        .collect();
    let decide = |cases: &[Case]| {
        let cases: Vec<&Case> = cases.iter().collect();
        decide_together(Measure::Rate, &cases)
    };
    assert!(decide(&cases).iter().all(|decided| *decided == Decision::Better));
    for run in &mut cases[7].runs {
        run.figures.completed = Some(1000);
        run.figures.failed = Some(900);
    }
    for case in &mut cases[..7] {
        for run in &mut case.runs {
            run.figures.completed = Some(1000);
            run.figures.failed = Some(0);
        }
    }
    let last: Vec<Decision> = decide(&cases)[21..].to_vec();
    assert_eq!(last, [Decision::Worse; 7]);
}

/// The share of pairs, with `n` repeats on each side, in which a difference is called when the new
/// side is `by` times as fast.
fn called(noise: Noise, n: usize, by: f64, seeds: u64) -> f64 {
    const PAIRS: u64 = 40;
    let mut called = 0u64;
    for seed in 0..seeds {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..PAIRS {
            let (base, new) = noise.interleaved(n, &mut random);
            let rates = |noise: &[f64], by: f64| -> Vec<f64> {
                noise.iter().map(|noise| (50_000.0 * by * noise.exp()).round()).collect()
            };
            let options = DecisionOptions::ratio(Better::Higher);
            let found = compare(&rates(&base, 1.0), &rates(&new, by), &options);
            called += u64::from(found.decision != Decision::CannotTell);
        }
    }
    called as f64 / (seeds * PAIRS) as f64
}

const SHAPES: [Shape; 5] =
    [Shape::Normal, Shape::HeavyTails, Shape::Skewed, Shape::Outliers, Shape::Drift];

#[test]
fn identical_sides_are_told_apart_in_at_most_one_case_of_twenty() {
    for shape in SHAPES {
        for (n, deviation) in [(4, 0.02), (5, 0.002), (5, 0.02), (5, 0.2), (10, 0.02)] {
            let false_positives = called(Noise::new(shape, deviation), n, 1.0, 100);
            assert!(false_positives <= 0.05, "{shape:?} {n} {deviation}: {false_positives}");
        }
    }
}

#[test]
fn a_server_slowed_by_a_tenth_is_found() {
    for (shape, least) in SHAPES.into_iter().zip([0.99, 0.97, 0.95, 0.6, 0.99]) {
        let power = called(Noise::new(shape, 0.02), 5, 0.9, 50);
        assert!(power >= least, "{shape:?}: {power}");
    }
}
