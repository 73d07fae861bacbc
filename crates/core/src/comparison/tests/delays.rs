//! The tester's own delay on one side is no change of the server.

use super::documents::{BASE_US, contrast, of_results, result};
use crate::comparison::*;
use crate::result::RunResult;
use crate::schedule::{Arrival, Profile};
use crate::study::Measure;

/// Runs of a server that answers within `services_us`, which the tester disturbs.
fn side(
    name: &str,
    first: u32,
    services_us: &[u64],
    disturb: impl Fn(&mut RunResult, u64),
) -> Side {
    let runs = (0..).zip(services_us).map(|(i, us)| {
        let mut run = result(first + 2 * i, *us);
        disturb(&mut run, *us);
        (format!("{name}{i}.json"), run)
    });
    of_results(name, &runs.collect::<Vec<_>>(), false).unwrap()
}

/// At a rate, one request in fifty is sent late by 0.1 ms or by `late_us`, and read as late.
fn paced(late_us: u64) -> impl Fn(&mut RunResult, u64) {
    move |run, service_us| {
        run.plan.rate = Some(Profile::constant(1_000_000_000, None, Arrival::Uniform));
        for i in 0..1000 {
            let late_us = if i % 50 == 0 { late_us } else { 1 };
            run.loader.lateness.record(late_us * 1000);
            if i % 50 == 0 {
                run.latency.response.record((service_us + 2 * late_us) * 1000);
            }
        }
    }
}

/// A closed loop of which the tester lost a share of the time.
fn closed(lost_share: f64) -> impl Fn(&mut RunResult, u64) {
    move |run, service_us| {
        run.loader.lost_share = Some(lost_share);
        run.rate.achieved_rps = 1e6 * (1.0 - lost_share) / service_us as f64;
    }
}

fn decided(base: &Side, new: &Side, measure: Measure) -> (Decision, Option<Reason>) {
    let found = contrast(base, new);
    let of_measure = found.cases[0].of_measure(measure).unwrap();
    (of_measure.comparison.decision, of_measure.comparison.reason)
}

#[test]
fn a_tester_that_was_later_on_one_side_makes_no_server_slower() {
    let slower = BASE_US.map(|us| us * 13 / 10);
    let (p99, p50) = (Measure::Latency(0.99), Measure::Latency(0.5));
    let own = (Decision::CannotTell, Some(Reason::OwnDelay));
    let worse = (Decision::Worse, None);
    for (base_late, new_late, new_us, measure, want) in [
        (1, 50, BASE_US, p99, own),
        (50, 1, BASE_US, p99, own),
        (50, 50, slower, p99, worse),
        (1, 50, slower, p99, worse),
        (1, 50, slower, p50, worse),
    ] {
        let base = side("base", 0, &BASE_US, paced(base_late));
        let new = side("new", 1, &new_us, paced(new_late));
        let found = decided(&base, &new, measure);
        assert_eq!(found, want, "{measure}: late by {base_late} and {new_late} µs");
    }
}

#[test]
fn a_closed_loop_that_lost_time_on_one_side_makes_no_server_slower() {
    let slower = BASE_US.map(|us| us * 13 / 10);
    let own = (Decision::CannotTell, Some(Reason::OwnDelay));
    let worse = (Decision::Worse, None);
    for (base_lost, new_lost, new_us, want) in [
        (0.0, 0.08, BASE_US, own),
        (0.08, 0.0, BASE_US, own),
        (0.08, 0.08, slower, worse),
        (0.0, 0.08, slower, worse),
    ] {
        let base = side("base", 0, &BASE_US, closed(base_lost));
        let new = side("new", 1, &new_us, closed(new_lost));
        let found = decided(&base, &new, Measure::Rate);
        assert_eq!(found, want, "lost {base_lost} and {new_lost}");
    }
}

#[test]
fn limits_are_kept_and_broken_whatever_the_testers_delay() {
    let slower = BASE_US.map(|us| us * 13 / 10);
    for (limit, lost, new_us, want) in [
        ("rate<-5%", 0.08, BASE_US, Outcome::Undecided),
        ("rate<-10%", 0.08, BASE_US, Outcome::Passed),
        ("rate<-5%", 0.08, slower, Outcome::Failed),
    ] {
        let base = side("base", 0, &BASE_US, closed(0.0));
        let new = side("new", 1, &new_us, closed(lost));
        let limits = [Limit::parse(limit).unwrap()];
        let tool = crate::result::Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
        let found = Contrast::of(&base, &new, Settings::default(), &limits, tool);
        assert_eq!(found.outcome(), want, "{limit}, lost {lost}: {:?}", found.limits);
    }
}
