//! Held against SciPy (`fixtures/generate.py` writes what is compared with), against counting by
//! hand, and against the coverage that is promised.

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

use super::*;
use crate::comparison::noise::{Noise, Shape};

fn scipy(part: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("fixtures/scipy.json")).unwrap();
    all[part].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[track_caller]
fn assert_close(got: f64, want: f64, relative: f64, what: &Value) {
    let off = (got - want).abs();
    assert!(off <= relative * want.abs() + 1e-300, "got {got}, want {want}: {what}");
}

#[test]
fn rank_sums_are_those_of_scipy() {
    let cases = scipy("rank_sum");
    assert!(cases.len() >= 50, "{}", cases.len());
    let mut exact = 0;
    for case in &cases {
        let (first, second) = (numbers(&case["first"]), numbers(&case["second"]));
        let approximate = rank_sum_by_normal(&first, &second);
        assert_close(approximate.u, case["u"].as_f64().unwrap(), 0.0, case);
        // SciPy has no number where all values are the same.
        assert_close(approximate.p, case["asymptotic"].as_f64().unwrap_or(1.0), 1e-9, case);
        if let Some(p) = case["exact"].as_f64() {
            assert_close(rank_sum(&first, &second).p, p, 1e-9, case);
            exact += 1;
        }
        for (i, side) in [first, second].iter().enumerate() {
            let summary = Summary::of(side);
            assert_close(summary.median.unwrap(), numbers(&case["median"])[i], 1e-12, case);
            assert_close(summary.mad.unwrap(), numbers(&case["mad"])[i], 1e-9, case);
        }
    }
    assert!(exact >= 40, "{exact}");
}

#[test]
fn quantiles_of_the_distributions_are_those_of_scipy() {
    for case in scipy("t_quantile") {
        let of = |name: &str| case[name].as_f64().unwrap();
        assert_close(normal::t_quantile(of("p"), of("freedom")), of("t"), 1e-6, &case);
    }
    for case in scipy("normal") {
        let of = |name: &str| case[name].as_f64().unwrap();
        assert_close(normal::above(of("z")), of("above"), 1e-8, &case);
        assert_close(normal::quantile(normal::below(of("z"))), of("quantile"), 1e-6, &case);
    }
}

#[test]
fn bootstrap_intervals_are_those_of_scipy_but_for_the_draw() {
    for case in scipy("bootstrap") {
        let sets: Vec<Vec<f64>> = case["sets"].as_array().unwrap().iter().map(numbers).collect();
        let sets: Vec<&[f64]> = sets.iter().map(Vec::as_slice).collect();
        let statistic = |sets: &[Vec<f64>]| match case["statistic"].as_str().unwrap() {
            "mean" => mean(&sets[0]).unwrap(),
            "median" => median(&sets[0]).unwrap(),
            _ => median(&sets[1]).unwrap() / median(&sets[0]).unwrap(),
        };
        for (method, name) in [(Method::Percentile, "percentile"), (Method::Bca, "bca")] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
            let draw = (method, 0.95, 20_000);
            let interval = bootstrap(&sets, statistic, draw, &mut random).unwrap();
            let want = numbers(&case[name]);
            // Ends of 20 000 draws lie within a few hundredths of the width from those of others.
            let near = 0.06 * (want[1] - want[0]);
            for (got, want) in [interval.low, interval.high].iter().zip(&want) {
                assert!((got - want).abs() <= near, "{name} {interval:?}: {case}");
            }
        }
    }
}

#[test]
fn a_bootstrap_is_a_function_of_its_seed() {
    let values: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0];
    let run = |seed| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let of_means = |sets: &[Vec<f64>]| mean(&sets[0]).unwrap();
        bootstrap(&[values], of_means, (Method::Bca, 0.9, 500), &mut random)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn no_bootstrap_of_nothing() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut of = |sets: &[&[f64]], value: f64| {
        bootstrap(sets, |_| value, (Method::Bca, 0.95, 100), &mut random)
    };
    assert_eq!(of(&[], 1.0), None);
    assert_eq!(of(&[&[1.0], &[]], 1.0), None);
    assert_eq!(of(&[&[1.0, 2.0]], f64::NAN), None);
    let constant = of(&[&[1.0], &[2.0]], 3.0).unwrap();
    assert_eq!((constant.low, constant.high), (3.0, 3.0));
}

#[test]
fn empty_sets_and_single_values_have_what_they_can_have() {
    assert_eq!(rank_sum(&[], &[1.0]), RankSum { u: 0.0, p: 1.0 });
    assert_eq!(rank_sum(&[], &[]).p, 1.0);
    assert_eq!(rank_sum_by_normal(&[], &[1.0]).p, 1.0);
    assert_eq!(shift(&[], &[1.0], 0.95), None);
    assert_eq!(shift(&[1.0], &[3.0], 0.95), Some(Shift { estimate: 2.0, interval: None }));
    assert_eq!((median(&[]), mean(&[]), mad(&[])), (None, None, None));
    assert_eq!(median_interval(&[1.0], 0.95), None);
}

#[test]
fn infinities_have_medians() {
    let (inf, low) = (f64::INFINITY, f64::NEG_INFINITY);
    for (values, want) in [
        (vec![inf, inf], inf),
        (vec![low, low, low], low),
        (vec![low, 1.0], low),
        (vec![1.0, inf], 1.0),
        (vec![low, inf], low),
        (vec![1.0, 2.0, inf], 2.0),
    ] {
        assert_eq!(median(&values), Some(want), "{values:?}");
    }
}

#[test]
fn the_least_p_is_that_of_sets_apart() {
    for (n, m, want) in
        [(1, 1, 1.0), (2, 2, 1.0 / 3.0), (3, 3, 0.1), (4, 4, 2.0 / 70.0), (5, 5, 2.0 / 252.0)]
    {
        let low: Vec<f64> = (0..n).map(f64::from).collect();
        let high: Vec<f64> = (0..m).map(|i| f64::from(i + 100)).collect();
        assert!((least_p(low.len(), high.len()) - want).abs() < 1e-12, "{n} {m}");
        assert!((rank_sum(&low, &high).p - want).abs() < 1e-12, "{n} {m}");
    }
}

#[test]
fn an_interval_holds_the_shifts_that_the_test_does_not_refuse() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let noise = Noise::new(Shape::Normal, 1.0);
    for (n, m) in [(4, 4), (5, 5), (5, 7), (12, 9), (20, 20), (40, 35)] {
        let first = noise.values(n, &mut random);
        let second = noise.values(m, &mut random);
        let found = shift(&first, &second, 0.95).unwrap();
        let interval = found.interval.unwrap();
        assert!(interval.confidence >= 0.95 && interval.low < interval.high);
        assert!(interval.low <= found.estimate && found.estimate <= interval.high);
        let refused = |by: f64| {
            let moved: Vec<f64> = second.iter().map(|value| value - by).collect();
            rank_sum(&first, &moved).p <= 0.05
        };
        let inside = 1e-9 * (interval.high - interval.low);
        assert!(!refused(interval.low + inside) && !refused(interval.high - inside));
        assert!(refused(interval.low - inside) && refused(interval.high + inside));
    }
}

#[test]
fn one_value_against_many_is_quick_and_honest() {
    let many: Vec<f64> = (0..1000).map(f64::from).collect();
    for (few, has_interval) in [(1, false), (2, true)] {
        for (first, second) in [(&many[..few], &many[..]), (&many[..], &many[..few])] {
            let wide = shift(first, second, 0.95).unwrap();
            assert_eq!(wide.interval.is_some(), has_interval, "{few}: {wide:?}");
            assert_eq!(rank_sum(first, second).p <= 0.05, has_interval, "{few}");
        }
    }
}

#[test]
fn intervals_of_medians_say_what_confidence_they_have() {
    let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
    for (n, low, high, confidence) in [
        (2, 1.0, 2.0, 0.5),
        (5, 1.0, 5.0, 0.9375),
        (6, 1.0, 6.0, 0.968_75),
        (10, 2.0, 9.0, 0.978_515_625),
        (20, 6.0, 15.0, 0.958_610_534_667_968_8),
    ] {
        let interval = median_interval(&values[20 - n..], 0.95).unwrap();
        assert_eq!((interval.low, interval.high), (low, high), "{n}");
        assert!((interval.confidence - confidence).abs() < 1e-12, "{n} {interval:?}");
    }
}

/// How often the interval of no shift holds it, and the power at the shift called detectable.
fn coverage_and_power(noise: Noise, n: usize) -> (f64, f64) {
    const ROUNDS: u32 = 4000;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(n as u64);
    let mut draw = || (noise.values(n, &mut random), noise.values(n, &mut random));
    let found: Vec<Shift> = (0..ROUNDS)
        .map(|_| {
            let (first, second) = draw();
            shift(&first, &second, 0.95).unwrap()
        })
        .collect();
    let typical: Vec<f64> =
        found.iter().map(|shift| detectable_shift(shift, n, n, 0.8).unwrap()).collect();
    let by = median(&typical).unwrap();
    let holds = |shift: &&Shift, at: f64| {
        let interval = shift.interval.unwrap();
        interval.low <= at && at <= interval.high
    };
    let covered = found.iter().filter(|shift| holds(shift, 0.0)).count();
    let missed = found.iter().filter(|shift| holds(shift, by)).count();
    let share = |count: usize| count as f64 / f64::from(ROUNDS);
    (share(covered), 1.0 - share(missed))
}

#[test]
fn intervals_hold_their_confidence_and_power_is_as_said() {
    for shape in [Shape::Normal, Shape::HeavyTails, Shape::Skewed, Shape::Outliers] {
        for n in [4, 5, 8, 15] {
            let (covered, power) = coverage_and_power(Noise::new(shape, 0.02), n);
            // Three standard deviations of a share of 4000 below 0.95.
            assert!(covered >= 0.94, "{shape:?} {n}: covered {covered}");
            assert!(power >= 0.65, "{shape:?} {n}: power {power}");
        }
    }
}
