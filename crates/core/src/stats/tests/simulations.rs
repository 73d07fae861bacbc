//! How often equal sets are called different, how often an interval holds the true difference,
//! and how often one that is there is found. `docs/comparing-statistics.md` has the figures.

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::*;
use crate::comparison::noise::{Noise, Shape};

const CONFIDENCE: f64 = 0.95;
const ROUNDS: u32 = 2000;
const SHAPES: [Shape; 5] =
    [Shape::Normal, Shape::HeavyTails, Shape::Skewed, Shape::Outliers, Shape::Tied];

/// Two sets of values that differ by noise alone, and by how much their noise makes them differ:
/// the median of the differences of their values, which is what is estimated.
struct Cell {
    noise: [Noise; 2],
    values: [usize; 2],
    offset: f64,
}

impl Cell {
    fn new(shape: Shape, values: [usize; 2], times_the_noise: f64) -> Self {
        let noise = [0.02, 0.02 * times_the_noise].map(|deviation| Noise::new(shape, deviation));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let [first, second] = noise.map(|noise| noise.values(20_001, &mut random));
        let apart: Vec<f64> = first.iter().zip(&second).map(|(a, b)| b - a).collect();
        // Of noise that is the same to either side it is nothing, and no draw tells that as well.
        let is_even = times_the_noise == 1.0
            || matches!(shape, Shape::Normal | Shape::HeavyTails | Shape::Tied);
        Self { noise, values, offset: if is_even { 0.0 } else { median(&apart).unwrap() } }
    }

    /// What is found of each pair, the second set moved by `by`.
    fn found(&self, rounds: u32, by: f64) -> Vec<Shift> {
        self.found_among(rounds, by, 1)
    }

    /// The same by one of `tests` tests.
    fn found_among(&self, rounds: u32, by: f64, tests: usize) -> Vec<Shift> {
        let [n, m] = self.values;
        let mut random = Xoshiro256PlusPlus::seed_from_u64((100 * n + m) as u64);
        let mut round = || {
            let first = self.noise[0].values(n, &mut random);
            let second = self.noise[1].values(m, &mut random);
            let second: Vec<f64> = second.iter().map(|value| value - self.offset + by).collect();
            shift_among(&first, &second, CONFIDENCE, tests).unwrap()
        };
        (0..rounds).map(|_| round()).collect()
    }
}

fn is_called(shift: &Shift) -> bool {
    shift.p <= 1.0 - CONFIDENCE + CHANCE_ROUNDING
}

/// Whether it is called though each of the other tests may be the first to be.
fn is_called_first(shift: &Shift, tests: usize) -> bool {
    is_called(shift) && shift.p_of_many * tests as f64 <= 1.0 - CONFIDENCE + CHANCE_ROUNDING
}

fn holds(shift: &Shift, by: f64) -> bool {
    let interval = shift.interval.unwrap();
    interval.low <= by && by <= interval.high
}

fn share(found: &[Shift], is: impl Fn(&Shift) -> bool) -> f64 {
    found.iter().filter(|shift| is(shift)).count() as f64 / found.len() as f64
}

/// Three standard errors above one in twenty.
fn chance_at_most(rounds: u32) -> f64 {
    0.05 + 3.0 * (0.05 * 0.95 / f64::from(rounds)).sqrt()
}

fn assert_level(sizes: &[[usize; 2]], times_the_noise: f64) {
    for values in sizes {
        for shape in SHAPES {
            let found = Cell::new(shape, *values, times_the_noise).found(ROUNDS, 0.0);
            let called = share(&found, is_called);
            let covered = share(&found, |shift| holds(shift, 0.0));
            let cell = format!("{shape:?} {values:?} times {times_the_noise}");
            assert!(called <= chance_at_most(ROUNDS), "{cell}: called {called}");
            assert!(covered >= 0.94, "{cell}: covered {covered}");
            for shift in &found {
                let interval = shift.interval.unwrap();
                let leaves_none_out = interval.low >= 0.0 || interval.high <= 0.0;
                assert!(leaves_none_out || !is_called(shift), "{cell}: {shift:?}");
                assert!(holds(shift, 0.0) || is_called(shift), "{cell}: {shift:?}");
            }
        }
    }
}

#[test]
fn under_like_noise_few_are_called_and_intervals_hold() {
    assert_level(&[[4, 4], [5, 5], [10, 10], [20, 4]], 1.0);
}

#[test]
fn under_unlike_noise_few_are_called_and_intervals_hold() {
    assert_level(&[[4, 4], [5, 5], [10, 10]], 5.0);
}

#[test]
fn where_the_fewer_values_are_the_noisier_few_are_called_and_intervals_hold() {
    assert_level(&[[20, 4], [10, 5]], 5.0);
    assert_level(&[[4, 20]], 0.2);
}

/// Many values: what is wrong about a test does not go away with them.
#[test]
fn many_values_are_no_safer_under_unlike_noise_unless_it_is_seen() {
    for shape in [Shape::Normal, Shape::Skewed] {
        for values in [[30, 8], [60, 60]] {
            let found = Cell::new(shape, values, 5.0).found(500, 0.0);
            let called = share(&found, is_called);
            assert!(called <= chance_at_most(500), "{shape:?} {values:?}: {called}");
        }
    }
}

#[test]
fn what_is_said_to_be_shown_is_found() {
    for shape in [Shape::Normal, Shape::HeavyTails, Shape::Skewed, Shape::Outliers] {
        for (n, tests) in [(4, 1), (5, 1), (15, 1), (4, 6), (5, 6), (8, 6), (15, 6)] {
            let cell = Cell::new(shape, [n, n], 1.0);
            let said = cell.found_among(300, 0.0, tests);
            let said: Vec<f64> =
                said.iter().map(|it| detectable_shift(it, n, n, 0.8).unwrap()).collect();
            let by = median(&said).unwrap();
            let found = cell.found_among(500, by, tests);
            let power = share(&found, |shift| is_called_first(shift, tests));
            assert!(power >= 0.6, "{shape:?} {n} of {tests}: {power}");
        }
    }
}

/// Intervals of six tests miss the truth six times as seldom, and leave it out exactly where the
/// tests refuse it.
#[test]
fn intervals_of_several_tests_hold_each_as_often_as_all_of_them_need() {
    let rare = 0.05 / 6.0;
    let at_most = rare + 3.0 * (rare * (1.0 - rare) / f64::from(ROUNDS)).sqrt();
    for shape in SHAPES {
        for (values, times) in [([4, 4], 1.0), ([5, 5], 5.0), ([8, 8], 1.0), ([10, 5], 1.0)] {
            let cell = Cell::new(shape, values, times);
            let found = cell.found_among(ROUNDS, 0.0, 6);
            let missed = 1.0 - share(&found, |shift| holds(shift, 0.0));
            assert!(missed <= at_most, "{shape:?} {values:?} times {times}: {missed}");
            for shift in &found {
                let interval = shift.interval.unwrap();
                assert!((interval.confidence - (1.0 - rare)).abs() < 1e-12);
                let touches_none = interval.low >= 0.0 || interval.high <= 0.0;
                assert!(touches_none || !is_called_first(shift, 6), "{shape:?} {shift:?}");
                assert!(holds(shift, 0.0) || is_called_first(shift, 6), "{shape:?} {shift:?}");
            }
        }
    }
}
