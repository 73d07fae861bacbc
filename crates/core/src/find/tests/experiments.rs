//! Servers that mislead a search, each with what the answer has to say. `docs/find.md` lists them.
//!
//! `PLIMSOLL_FIND_SEEDS=1000` runs as many searches of each server that is random, and lets as many
//! be wrong as the promise of a search does.

use std::cell::Cell;

use super::coverage::number;
use super::servers::{
    AboveRate, Batching, Delay, Drift, Limiter, Queue, Random, Server, Service, Worker,
};
use super::simulation::{Arrivals, Found, Simulation};
use crate::find::{Answer, Doubt, Ending, Objective, Outcome, Settings, Subject, judge};
use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// How many searches of a server that is random, where nobody asks for more. All are right.
const SEEDS: u64 = 5;

/// Carries out the searches of an experiment. Each returns its mistakes.
fn each(usual: u64, wrong: impl Fn(u64) -> Option<String>) {
    let seeds = number("PLIMSOLL_FIND_SEEDS").unwrap_or(usual);
    let found: Vec<String> = (0..seeds).filter_map(wrong).collect();
    let (alpha, n) = (Settings::default().alpha(), seeds as f64);
    let by_chance = n * (alpha + 3.0 * (alpha * (1.0 - alpha) / n).sqrt());
    let allowed = if seeds <= usual { 0 } else { by_chance as usize };
    assert!(found.len() <= allowed, "{} of {seeds} are wrong: {:?}", found.len(), found.first());
}

/// The mistake of a search for which this does not hold.
fn unless(holds: bool, found: &Found) -> Option<String> {
    (!holds).then(|| found.story())
}

fn search(server: impl Server + 'static, arrivals: Arrivals, seed: u64, objective: &str) -> Found {
    let mut simulation = Simulation::new(Box::new(server), arrivals, seed);
    simulation.search(Settings::default(), &[objective])
}

fn is_within(found: &Found, low_rps: f64, high_rps: f64) -> bool {
    (low_rps..=high_rps).contains(&found.answer.rate_rps.unwrap_or(0.0))
}

fn within(found: &Found, low_rps: f64, high_rps: f64) {
    assert!(is_within(found, low_rps, high_rps), "{}", found.story());
}

#[test]
fn a_backlog_that_grows_fails_long_before_the_limit_is_reached() {
    let objective = Objective::parse("p99<1s").unwrap();
    for (rate_rps, want) in [(495.0, Outcome::Pass), (499.0, Outcome::Pass), (505.0, Outcome::Fail)]
    {
        let server = Box::new(Queue::new(Service::Fixed(0.002), 1));
        let mut simulation = Simulation::new(server, Arrivals::Even, 0);
        let objectives = std::slice::from_ref(&objective);
        let figures = simulation.measure(rate_rps, 3.0, 60, objectives);
        let sustain_ns = Settings::default().sustain_ns;
        let judgement = judge(&figures, objectives, rate_rps, Some(0.05), &[], sustain_ns);
        assert_eq!(judgement.outcome, want, "{rate_rps}: {judgement:?}");
        let failed = judgement.failed().map(|it| &it.subject);
        assert_eq!(failed, (want == Outcome::Fail).then_some(&Subject::Backlog));
    }
    let found = search(Queue::new(Service::Fixed(0.002), 1), Arrivals::Even, 0, "p99<1s");
    within(&found, 450.0, 500.0);
    assert!(found.answer.fails_rps.is_some_and(|it| it > 500.0), "{}", found.story());
}

#[test]
fn a_server_without_a_line_meets_the_highest_rate() {
    let settings = Settings { max_rps: 3000.0, ..Settings::default() };
    let mut simulation = Simulation::new(Box::new(Delay(0.005)), Arrivals::Poisson, 0);
    let found = simulation.search(settings, &["p99<10ms"]);
    assert_eq!(found.answer.ending, Ending::AtLeast, "{}", found.story());
    within(&found, 3000.0, 3000.0);
    assert_eq!((found.answer.fails_rps, found.answer.doubts.len()), (None, 0));
}

/// The bucket holds a second's tokens. Above 800/s it takes a while to drain, so that a hold can
/// pass up to a rate at which it lasts for half the hold, where it may end, and the settling. An
/// overload leaves the bucket empty, so that such an answer has a second line, which is the true
/// one. A percent above 800/s, an empty bucket is hardly seen either: the load varies by more.
#[test]
fn a_rate_limiter_is_found_by_its_errors() {
    each(SEEDS, |seed| {
        let found = search(Limiter::new(800.0, 800.0), Arrivals::Poisson, seed, "errors<0.1%");
        let failed = found.answer.failed.clone().map(|it| it.subject);
        let is_of_errors = failed == Some(Subject::Objective("errors<0.1%".to_owned()));
        let is_found = found.answer.ending == Ending::Found && is_of_errors;
        let after_rps = found.answer.after_overload.and_then(|it| it.rate_rps);
        let is_line = is_within(&found, 680.0, 808.0)
            || is_within(&found, 808.0, 800.0 * (1.0 + 1.0 / 33.0))
                && after_rps.is_some_and(|it| (680.0..=800.0).contains(&it));
        unless(is_found && is_line, &found)
    });
}

#[test]
fn a_cliff_is_found_from_below() {
    each(SEEDS, |seed| {
        let server = Worker::new(Service::Fixed(0.001), AboveRate::new(600, 0));
        let found = search(server, Arrivals::Even, seed, "p99<10ms");
        let has_one_line = found.answer.after_overload.is_none();
        unless(has_one_line && is_within(&found, 540.0, 600.5), &found)
    });
}

#[test]
fn a_server_that_stays_slow_after_overload_has_two_lines() {
    each(SEEDS, |seed| {
        let server = Worker::new(Service::Fixed(0.001), AboveRate::new(600, 400));
        let found = search(server, Arrivals::Even, seed, "p99<10ms");
        let after_rps = found.answer.after_overload.and_then(|it| it.rate_rps).unwrap_or(0.0);
        let has_both = is_within(&found, 540.0, 600.5) && (330.0..=400.0).contains(&after_rps);
        let has_changed = found.answer.doubts.contains(&Doubt::ChangedWhileMeasured);
        unless(has_both && !has_changed, &found)
    });
}

#[test]
fn stalls_are_counted_and_a_longer_hold_is_recommended() {
    each(SEEDS, |seed| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let stalls = Random::new(40.0, 0.2, &mut random);
        let found =
            search(Worker::new(Service::Fixed(0.001), stalls), Arrivals::Poisson, seed, "p99<10ms");
        let [seen] = &found.answer.stalls[..] else { return Some(found.story()) };
        let every_s = seen.measured_s / seen.seen as f64;
        let is_recommended = seen.hold_s.is_some_and(|it| it >= 10.0 * every_s);
        // Few are seen in so short a search. If none is, it has to say that so rare a stall may be.
        let is_right = is_recommended && (10.0..=160.0).contains(&every_s);
        unless(is_right || seen.seen == 0 && seen.unseen_every_s < 40.0, &found)
    });
    let calm = search(Queue::new(Service::Fixed(0.001), 1), Arrivals::Poisson, 0, "p99<10ms");
    let [seen] = &calm.answer.stalls[..] else { panic!("{}", calm.story()) };
    assert_eq!((seen.seen, seen.hold_s), (0, None));
    assert!((seen.measured_s / seen.unseen_every_s - 2.9957).abs() < 1e-3, "{seen:?}");
}

#[test]
fn a_server_that_is_slow_at_low_rates_has_no_single_line() {
    each(SEEDS, |seed| {
        let found = search(Batching::new(100), Arrivals::Poisson, seed, "p99<10ms");
        let Answer { ending, rate_rps, .. } = found.answer;
        unless(ending == Ending::NotMonotone && rate_rps.is_none(), &found)
    });
}

/// The capacity falls by a fifth in two minutes. An answer that no longer holds at the end must
/// have a doubt.
#[test]
fn a_server_that_changes_is_not_believed() {
    // The lines of services of 1 ms and 1.25 ms with the limit 10 ms, by Erlang's formula.
    let lines_rps = [773.5, 578.1];
    let flagged = Cell::new(0);
    each(4 * SEEDS, |seed| {
        let from_s = 50.0 + 5.0 * (seed % 20) as f64;
        let drift = Drift { from_s, to_s: from_s + 120.0, slowness: [1.0, 1.25] };
        let found =
            search(Worker::new(Service::Fixed(0.001), drift), Arrivals::Poisson, seed, "p99<10ms");
        let ended_s = found.answer.elapsed_ns as f64 / 1e9;
        let part = ((ended_s - from_s) / 120.0).clamp(0.0, 1.0);
        let line_rps = lines_rps[0] + part * (lines_rps[1] - lines_rps[0]);
        let is_true = found.answer.rate_rps.is_none_or(|it| it <= 1.02 * line_rps);
        let is_flagged = found.answer.doubts.contains(&Doubt::ChangedWhileMeasured);
        flagged.set(flagged.get() + u64::from(is_flagged));
        unless(is_true || is_flagged, &found)
    });
    assert!(flagged.get() >= SEEDS, "{flagged:?}");
}

#[test]
fn a_slow_start_leaves_the_answer_as_it_is() {
    each(SEEDS, |seed| {
        let drift = Drift { from_s: 20.0, to_s: 20.1, slowness: [10.0, 1.0] };
        let found =
            search(Worker::new(Service::Fixed(0.001), drift), Arrivals::Poisson, seed, "p99<10ms");
        let is_found = found.answer.ending == Ending::Found;
        unless(is_found && is_within(&found, 640.0, 773.5), &found)
    });
}

#[test]
fn a_tester_without_cpu_is_the_limit_and_not_the_server() {
    for (tester_rps, low_rps) in [(700.0, 600.0), (40.0, 0.0)] {
        let mut simulation = Simulation::new(Box::new(Delay(0.001)), Arrivals::Poisson, 0);
        simulation.tester_rps = tester_rps;
        let found = simulation.search(Settings::default(), &["p99<10ms"]);
        assert_eq!(found.answer.ending, Ending::TesterLimited, "{}", found.story());
        assert!(found.answer.tester_limit_rps.is_some_and(|it| it > tester_rps));
        assert_eq!(found.answer.fails_rps, None, "no figure of the server");
        if low_rps > 0.0 {
            within(&found, low_rps, tester_rps);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_probes_and_answer() {
    let found =
        || search(Queue::new(Service::Exponential(0.001), 1), Arrivals::Poisson, 3, "p99<10ms");
    let (first, second) = (found(), found());
    assert_eq!(first.probes, second.probes);
    assert_eq!(first.answer, second.answer);
}

#[test]
fn a_server_that_is_too_slow_meets_the_objective_at_no_rate() {
    let delay = search(Delay(0.020), Arrivals::Poisson, 0, "p99<10ms");
    let queue = search(Queue::new(Service::Fixed(2.0), 1), Arrivals::Poisson, 0, "p99<10ms");
    for found in [delay, queue] {
        assert_eq!(found.answer.ending, Ending::NotMet, "{}", found.story());
        assert_eq!(found.answer.rate_rps, None);
        assert!(found.probes.len() < 12, "{}", found.story());
    }
}

#[test]
fn of_several_objectives_the_hardest_decides() {
    let server = Box::new(Queue::new(Service::Fixed(0.001), 1));
    let mut simulation = Simulation::new(server, Arrivals::Poisson, 1);
    let objectives = ["p99<50ms", "errors<0.1%", "p99<10ms", "mean<1s"];
    let found = simulation.search(Settings::default(), &objectives);
    within(&found, 640.0, 773.5);
    let failed = found.answer.failed.clone().map(|it| it.subject);
    assert_eq!(failed, Some(Subject::Objective("p99<10ms".to_owned())), "{}", found.story());
    assert_eq!(found.answer.shown.len(), objectives.len() + 2);
}
