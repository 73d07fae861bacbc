//! Checks against SciPy (`fixtures/generate.py` writes the expected values), against counting by
//! hand, and against the promised coverage.

mod simulations;

use std::cell::Cell;

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
            let summary = SampleSummary::of(side);
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
        assert_close(t_quantile(of("p"), of("freedom")), of("t"), 1e-6, &case);
    }
    for case in scipy("normal") {
        let of = |name: &str| case[name].as_f64().unwrap();
        assert_close(normal::below(-of("z")), of("above"), 1e-8, &case);
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
        for (method, name) in
            [(BootstrapMethod::Percentile, "percentile"), (BootstrapMethod::Bca, "bca")]
        {
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
        bootstrap(&[values], of_means, (BootstrapMethod::Bca, 0.9, 500), &mut random)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn no_bootstrap_of_nothing() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut of = |sets: &[&[f64]], value: f64| {
        bootstrap(sets, |_| value, (BootstrapMethod::Bca, 0.95, 100), &mut random)
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
    let alone = Shift { estimate: 2.0, p: 1.0, p_of_many: 1.0, interval: None };
    assert_eq!(shift(&[1.0], &[3.0], 0.95), Some(alone));
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
fn the_chances_of_u_are_those_of_counting() {
    for (n, m) in [(1, 1), (2, 3), (4, 4), (5, 3), (7, 6)] {
        let mut counts = vec![0u32; n * m + 1];
        for dealt in 0u32..1 << (n + m) {
            if dealt.count_ones() as usize == n {
                let below = |place: usize| place as u32 - (dealt & ((1 << place) - 1)).count_ones();
                let wrong: u32 = (0..n + m).filter(|i| dealt >> i & 1 == 1).map(below).sum();
                counts[wrong as usize] += 1;
            }
        }
        let all: u32 = counts.iter().sum();
        let null = null::Null::untied(n, m);
        let mut sum = 0;
        for (u, count) in counts.iter().enumerate() {
            let want = f64::from(all - sum) / f64::from(all);
            assert!((null.from(u as f64) - want).abs() < 1e-12, "{n} {m} {u}");
            sum += count;
            let want = f64::from(sum) / f64::from(all);
            assert!((null.up_to(u as f64) - want).abs() < 1e-12, "{n} {m} {u}");
            let found = null.quantile(want).unwrap();
            assert!(found >= u as f64 && found < u as f64 + 1.0 + 1e-9, "{n} {m} {u}: {found}");
        }
    }
}

#[test]
fn an_interval_holds_the_shifts_that_the_tests_do_not_refuse() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    for times in [1.0, 5.0] {
        for (n, m) in [(4, 4), (5, 5), (5, 7), (20, 4), (12, 9), (20, 20), (40, 35)] {
            let first = Noise::new(Shape::Normal, times).values(n, &mut random);
            let second = Noise::new(Shape::Normal, 1.0).values(m, &mut random);
            let found = shift(&first, &second, 0.95).unwrap();
            let interval = found.interval.unwrap();
            assert!(interval.low < interval.high);
            assert!(interval.low <= found.estimate && found.estimate <= interval.high);
            let refused = |by: f64| {
                let moved: Vec<f64> = second.iter().map(|value| value - by).collect();
                shift(&first, &moved, 0.95).unwrap().p <= 0.05 + CHANCE_ROUNDING
            };
            let near = 1e-6 * (interval.high - interval.low);
            assert!(!refused(interval.low + near) && !refused(interval.high - near), "{n} {m}");
            assert!(refused(interval.low - near) && refused(interval.high + near), "{n} {m}");
        }
    }
}

/// Tied values: the interval that belongs to untied ones touches no shift, and the exact chance is
/// one in two hundred.
#[test]
fn ties_at_no_shift_do_not_hide_what_the_tests_find() {
    let first = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let second = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let found = shift(&first, &second, 0.95).unwrap();
    assert!(found.p < 0.02, "{found:?}");
    assert_eq!((found.estimate, found.interval.unwrap().low), (1.0, 0.0));
    let back = shift(&second, &first, 0.95).unwrap();
    assert!((back.p - found.p).abs() < 1e-12, "{back:?}");
    assert_eq!((back.estimate, back.interval.unwrap().high), (-1.0, 0.0));
}

/// Every side of a test is looked at from the other one.
#[test]
fn what_is_found_does_not_hang_on_which_set_is_first() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    for shape in [Shape::Normal, Shape::Tied, Shape::Skewed] {
        for (n, m) in [(4, 4), (5, 9), (20, 4), (12, 9), (40, 35)] {
            let first = Noise::new(shape, 1.0).values(n, &mut random);
            let second = Noise::new(shape, 3.0).values(m, &mut random);
            let there = shift(&first, &second, 0.95).unwrap();
            let back = shift(&second, &first, 0.95).unwrap();
            let (one, other) = (there.interval.unwrap(), back.interval.unwrap());
            assert!((there.p - back.p).abs() < 1e-9, "{shape:?} {n} {m}: {there:?} {back:?}");
            assert!((there.estimate + back.estimate).abs() < 1e-9, "{shape:?} {n} {m}");
            assert!((one.low + other.high).abs() < 1e-9 && (one.high + other.low).abs() < 1e-9);
        }
    }
}

#[test]
fn differences_by_rank_are_those_of_all_of_them_sorted() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(13);
    let with = |extra: &[f64], values: Vec<f64>| sample::sorted(&[extra, &values[..]].concat());
    let noise = Noise::new(Shape::Tied, 1.0);
    for extra in [&[][..], &[f64::NEG_INFINITY, f64::NEG_INFINITY], &[1e300, -1e300, 1e-300]] {
        for (n, m) in [(1, 1), (3, 8), (9, 9)] {
            let first = with(extra, noise.values(n, &mut random));
            let second = with(extra, noise.values(m, &mut random));
            let differ = |new: f64, base: f64| if new == base { 0.0 } else { new - base };
            let all: Vec<f64> =
                second.iter().flat_map(|a| first.iter().map(|b| differ(*a, *b))).collect();
            let all = sample::sorted(&all);
            let pairs = pairs::Pairs { first: &first, second: &second };
            for (rank, want) in all.iter().enumerate() {
                assert_eq!(pairs.nth(rank), *want, "{rank} of {first:?} {second:?}");
            }
        }
    }
}

/// 400 million differences, and a look at one in a hundred of them.
#[test]
fn differences_by_rank_take_steps_in_proportion_to_the_values() {
    const VALUES: usize = 20_000;
    for rank in [0, VALUES, VALUES * VALUES / 2, VALUES * VALUES - 1] {
        let looks = Cell::new(0u64);
        let at = |i: usize, j: usize| {
            looks.set(looks.get() + 1);
            j as f64 - (i as f64).sqrt()
        };
        let found = pairs::nth(VALUES, VALUES, rank, at);
        assert!(found.is_finite());
        let most = 64 * 2 * VALUES as u64;
        assert!(looks.get() <= most, "{rank}: {} looks, {most} at most", looks.get());
    }
    let values: Vec<f64> = (0..VALUES).map(|i| i as f64).collect();
    let moved: Vec<f64> = values.iter().map(|value| value + 500.0).collect();
    let found = shift(&values, &moved, 0.95).unwrap();
    assert_eq!(found.estimate, 500.0);
    assert!(found.p < 1e-6 && found.interval.unwrap().low > 300.0, "{found:?}");
}

#[test]
fn few_values_have_no_interval() {
    let many: Vec<f64> = (0..1000).map(f64::from).collect();
    for (few, has_interval) in [(1, false), (3, false), (4, true)] {
        for (first, second) in [(&many[..few], &many[..]), (&many[..], &many[..few])] {
            let wide = shift(first, second, 0.95).unwrap();
            assert_eq!(wide.interval.is_some(), has_interval, "{few}: {wide:?}");
        }
    }
}

#[test]
fn chances_of_many_tests_are_raised_step_by_step() {
    assert_eq!(holm(&[]), [0.0; 0]);
    let raised = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (got, want) in raised.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((got - want).abs() < 1e-12, "{raised:?}");
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
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
