//! How often the answer is above the truth, on servers whose load line is known. The promise is a
//! chance of at most α, so the share of wrong answers stays below α and three standard errors.
//!
//! `PLIMSOLL_FIND_STORIES=1` prints the probes of each search that is wrong, `2` those of all.
//!
//! `PLIMSOLL_FIND_SEEDS=1000 cargo test -p plimsoll-core coverage -- --nocapture` runs as many
//! searches for each server, and prints a line for each. `PLIMSOLL_FIND_FIRST_SEED=9000000` begins
//! with another seed than 0. Those from 0 to 999 and from 5 000 000 on were used to choose the
//! constants of the method, so only others say how often it is wrong. Nighthawk's method and k6's
//! breakpoint test stand beside it; nothing is asserted of them.

use std::io::Write as _;

use super::methods::{breakpoint, nighthawk};
use super::servers::{Queue, Random, Server, Service, Worker};
use super::simulation::{Arrivals, Simulation};
use crate::find::{Doubt, Ending, Objective, Outcome, Settings, judge};
use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A server with a known load line.
struct Row {
    name: &'static str,
    objective: &'static str,
    truth_rps: f64,
    hold_s: u64,
    server: fn(u64) -> Box<dyn Server>,
}

impl Row {
    /// The first rate differs from seed to seed by up to a step, so that the rates of the climb lie
    /// anywhere around the truth.
    fn settings(&self, seed: u64) -> Settings {
        let part = (seed as f64 * 0.618_033_988_749_895).fract();
        let from_rps = 50.0 * (1.0 + 0.05 * part);
        Settings { from_rps, hold_ns: self.hold_s * 1_000_000_000, ..Settings::default() }
    }
}

fn mm1(_: u64) -> Box<dyn Server> {
    Box::new(Queue::new(Service::Exponential(0.001), 1))
}

fn md1(_: u64) -> Box<dyn Server> {
    Box::new(Queue::new(Service::Fixed(0.001), 1))
}

fn mm4(_: u64) -> Box<dyn Server> {
    Box::new(Queue::new(Service::Exponential(0.004), 4))
}

fn with_stalls(seed: u64) -> Box<dyn Server> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    Box::new(Worker::new(Service::Fixed(0.001), Random::new(40.0, 0.2, &mut random)))
}

/// How many searches for each server.
fn seeds() -> u64 {
    number("PLIMSOLL_FIND_SEEDS").unwrap_or(10)
}

/// The seed of the first of them.
fn first_seed() -> u64 {
    number("PLIMSOLL_FIND_FIRST_SEED").unwrap_or(0)
}

pub(super) fn number(name: &str) -> Option<u64> {
    let given = std::env::var(name).ok();
    given.map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// What many searches found.
#[derive(Default)]
struct Table {
    wrong: u64,
    /// Of these, searches that had seen a stall.
    wrong_with_stalls: u64,
    worst: f64,
    answers: Vec<f64>,
    tops: Vec<f64>,
    tops_below: u64,
    doubted: u64,
    changed: u64,
    hours: f64,
    longest_s: f64,
    probes: usize,
    nighthawk: Vec<f64>,
    breakpoint: Vec<f64>,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Runs the searches of a row, checks the promise, and prints what was found.
fn check(row: &Row) -> Table {
    let objective = Objective::parse(row.objective).unwrap();
    let seeds = seeds();
    let mut table = Table::default();
    let mut wrong = String::new();
    for seed in (first_seed()..).take(seeds as usize) {
        let simulation = || Simulation::new((row.server)(seed), Arrivals::Poisson, seed);
        let found = simulation().search(row.settings(seed), &[row.objective]);
        let answer = &found.answer;
        table.longest_s = table.longest_s.max(answer.elapsed_ns as f64 / 1e9);
        table.hours += answer.elapsed_ns as f64 / 3.6e12;
        table.probes += found.probes.len();
        table.changed += u64::from(answer.doubts.contains(&Doubt::ChangedWhileMeasured));
        let is_wrong = answer.rate_rps.is_some_and(|it| it > row.truth_rps);
        if number("PLIMSOLL_FIND_STORIES").is_some_and(|it| it > u64::from(!is_wrong)) {
            let story = format!("{} seed {seed}\n{}\n", row.name, found.story());
            std::io::stdout().write_all(story.as_bytes()).unwrap();
        }
        if let Some(rate_rps) = answer.rate_rps {
            assert_eq!(answer.ending, Ending::Found, "{} seed {seed}", found.story());
            // It says of itself that it is not shown.
            if answer.doubts.contains(&Doubt::StallsUndecided) {
                table.doubted += 1;
                continue;
            }
            table.answers.push(rate_rps / row.truth_rps);
            if rate_rps > row.truth_rps {
                table.wrong += 1;
                let has_seen = answer.stalls.iter().any(|it| it.seen > 0);
                table.wrong_with_stalls += u64::from(has_seen);
                table.worst = table.worst.max(rate_rps / row.truth_rps - 1.0);
                wrong = format!("seed {seed}\n{}", found.story());
            }
        }
        if let Some(top_rps) = answer.fails_rps {
            table.tops.push(top_rps / row.truth_rps);
            table.tops_below += u64::from(top_rps < row.truth_rps);
        }
        if seeds > 10 {
            table.nighthawk.push(nighthawk(&mut simulation(), &objective) / row.truth_rps);
            table.breakpoint.push(breakpoint(&mut simulation(), &objective) / row.truth_rps);
        }
    }
    let held = held_above(row, &objective);
    report(row, &table, held, seeds);
    let n = seeds as f64;
    let alpha = Settings::default().alpha();
    let most = alpha + 3.0 * (alpha * (1.0 - alpha) / n).sqrt();
    let shares = [table.wrong, table.tops_below].map(|count| count as f64 / n);
    assert!(shares[0] <= most, "{}: {} wrong, at most {most}: {wrong}", row.name, shares[0]);
    assert!(shares[1] <= most, "{}: {} tops below, at most {most}", row.name, shares[1]);
    table
}

/// The share of single holds that pass at a rate just above the truth: the level of the judge.
fn held_above(row: &Row, objective: &Objective) -> f64 {
    let (rate_rps, holds) = (1.005 * row.truth_rps, 3 * seeds());
    let passes = |seed: u64| {
        let mut simulation =
            Simulation::new((row.server)(seed), Arrivals::Poisson, seed + 7_000_000_000);
        let seconds = row.hold_s as usize;
        let objectives = std::slice::from_ref(objective);
        let figures = simulation.measure(rate_rps, 10.0, seconds, objectives);
        let alpha = Some(Settings::default().alpha());
        judge(&figures, objectives, rate_rps, alpha, &[], 0).outcome == Outcome::Pass
    };
    let first = 3 * first_seed();
    (first..first + holds).filter(|seed| passes(*seed)).count() as f64 / holds as f64
}

fn report(row: &Row, table: &Table, held: f64, seeds: u64) {
    let n = seeds as f64;
    let share = |count: usize| 100.0 * count as f64 / n;
    let of = |values: &[f64]| {
        let too_high = values.iter().filter(|it| **it > 1.03).count();
        let mean = mean(values);
        let spread = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / n;
        format!("{mean:.2} ±{:.1} % high {:.0} %", 100.0 * spread.sqrt(), share(too_high))
    };
    let band = table.answers.iter().filter(|it| (0.85..=1.0).contains(*it)).count();
    let line = format!(
        "{:34} truth {:6.1} | answer {:.3} in [0.85,1] {:5.1} % none {:4.1} % wrong {:4.1} % ({:4.1} % with stalls) by {:4.1} % \
         | top {:.2} shown {:5.1} % below {:4.1} % | changed {:4.1} % | {:4.0} s to {:4.0} s {:4.1} probes \
         | hold above passes {:4.1} % | nighthawk {} | breakpoint {}\n",
        format!("{} {}", row.name, row.objective),
        row.truth_rps,
        mean(&table.answers),
        share(band),
        share(seeds as usize - table.answers.len()),
        share(table.wrong as usize),
        share(table.wrong_with_stalls as usize),
        100.0 * table.worst,
        mean(&table.tops),
        share(table.tops.len()),
        share(table.tops_below as usize),
        share(table.changed as usize),
        table.hours * 3600.0 / n,
        table.longest_s,
        table.probes as f64 / n,
        100.0 * held,
        of(&table.nighthawk),
        of(&table.breakpoint),
    );
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// The share of requests over a limit in an M/M/c queue, from Erlang's C formula.
fn mmc_over(rate_rps: f64, workers: u32, service_s: f64, limit_s: f64) -> f64 {
    let offered = rate_rps * service_s;
    let c = f64::from(workers);
    let (mut term, mut sum) = (1.0, 0.0);
    for k in 0..workers {
        sum += term;
        term *= offered / f64::from(k + 1);
    }
    let waiting = term * c / (c - offered);
    let waits = waiting / (sum + waiting);
    let (mu, theta) = (1.0 / service_s, c / service_s - rate_rps);
    let both = (theta * (-mu * limit_s).exp() - mu * (-theta * limit_s).exp()) / (theta - mu);
    (1.0 - waits) * (-mu * limit_s).exp() + waits * both
}

#[test]
fn coverage_mm1_10_ms() {
    check(&Row { name: "M/M/1", objective: "p99<10ms", truth_rps: 539.5, hold_s: 60, server: mm1 });
}

#[test]
fn coverage_mm1_20_ms() {
    check(&Row { name: "M/M/1", objective: "p99<20ms", truth_rps: 769.7, hold_s: 60, server: mm1 });
}

#[test]
fn coverage_mm1_50_ms() {
    check(&Row { name: "M/M/1", objective: "p99<50ms", truth_rps: 907.9, hold_s: 60, server: mm1 });
}

#[test]
fn coverage_mm1_p999() {
    check(&Row {
        name: "M/M/1",
        objective: "p99.9<20ms",
        truth_rps: 654.6,
        hold_s: 60,
        server: mm1,
    });
}

#[test]
fn coverage_mm1_mean() {
    // 1/(μ − λ) is the mean.
    check(&Row { name: "M/M/1", objective: "mean<5ms", truth_rps: 800.0, hold_s: 60, server: mm1 });
}

#[test]
fn coverage_md1_10_ms() {
    check(&Row { name: "M/D/1", objective: "p99<10ms", truth_rps: 773.5, hold_s: 60, server: md1 });
}

#[test]
fn coverage_md1_50_ms() {
    check(&Row { name: "M/D/1", objective: "p99<50ms", truth_rps: 954.1, hold_s: 60, server: md1 });
}

#[test]
fn coverage_md1_p999() {
    check(&Row {
        name: "M/D/1",
        objective: "p99.9<20ms",
        truth_rps: 832.0,
        hold_s: 60,
        server: md1,
    });
}

#[test]
fn coverage_md1_p90() {
    check(&Row { name: "M/D/1", objective: "p90<5ms", truth_rps: 757.7, hold_s: 60, server: md1 });
}

#[test]
fn coverage_mm4() {
    let (mut low, mut high) = (1.0, 999.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if mmc_over(middle, 4, 0.004, 0.030) < 0.01 { low = middle } else { high = middle }
    }
    check(&Row { name: "M/M/4", objective: "p99<30ms", truth_rps: low, hold_s: 60, server: mm4 });
}

#[test]
fn coverage_md1_with_stalls() {
    check(&Row {
        name: "M/D/1 + stalls",
        objective: "p99<10ms",
        truth_rps: STALLS_TRUTH_RPS,
        hold_s: 60,
        server: with_stalls,
    });
}

#[test]
fn coverage_md1_with_stalls_in_longer_holds() {
    check(&Row {
        name: "M/D/1 + stalls, 5 min",
        objective: "p99<10ms",
        truth_rps: STALLS_TRUTH_RPS,
        hold_s: 300,
        server: with_stalls,
    });
}

/// Checked by [`the_line_with_stalls_is_that_of_a_long_run`], the more closely the more seeds.
const STALLS_TRUTH_RPS: f64 = 504.5;

#[test]
fn the_line_with_stalls_is_that_of_a_long_run() {
    let objective = Objective::parse("p99<10ms").unwrap();
    let over = |rate_rps: f64| {
        let mut simulation = Simulation::new(with_stalls(1), Arrivals::Poisson, 1);
        let seconds = 200 * seeds() as usize;
        let figures =
            simulation.measure(rate_rps, 100.0, seconds, std::slice::from_ref(&objective));
        let sums = &figures.objectives[0];
        sums.against.iter().sum::<u64>() as f64 / sums.among.iter().sum::<u64>() as f64
    };
    let share = over(STALLS_TRUTH_RPS);
    // The share of stalls varies as 1/√n of their number.
    let stalls = 5.0 * seeds() as f64;
    assert!((share / 0.01 - 1.0).abs() < 4.0 / stalls.sqrt(), "{share}");
}
