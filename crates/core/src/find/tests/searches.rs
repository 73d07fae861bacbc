//! The search as a state machine: budgets, interruptions, resuming, limits, and drivers that report
//! anything at all.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::servers::{Queue, Service};
use super::simulation::{Arrivals, Found, Simulation};
use crate::find::{
    Doubt, Ending, Figures, Next, Objective, Outcome, ProbePlan, Purpose, Report, ResumeError,
    Search, Settings, SettingsError, due_in, judge,
};
use crate::histogram::Histogram;
use crate::schedule::{Arrival, Profile};
use crate::series::Point;

const SECOND_NS: u64 = 1_000_000_000;

fn found(settings: Settings) -> Found {
    let server = Box::new(Queue::new(Service::Fixed(0.001), 1));
    Simulation::new(server, Arrivals::Poisson, 2).search(settings, &["p99<10ms"])
}

fn objectives() -> Vec<Objective> {
    vec![Objective::parse("p99<10ms").unwrap()]
}

#[test]
fn settings_out_of_range_are_refused_in_one_line() {
    let usual = Settings::default;
    for (settings, problem) in [
        (Settings { from_rps: 0.0, ..usual() }, "above 0"),
        (Settings { from_rps: f64::NAN, ..usual() }, "above 0"),
        (Settings { max_rps: 10.0, ..usual() }, "in the order min, from, max"),
        (Settings { step: 1.0, ..usual() }, "give 0.1% to 50%"),
        (Settings { confidence: 1.0, ..usual() }, "80% to 99.9%"),
        (Settings { hold_ns: SECOND_NS, ..usual() }, "holds 30s or more"),
        (Settings { quick_ns: 0, ..usual() }, "quick probes 1s or more"),
        (Settings { from_rps: 1.0, max_rps: 10.0, ..usual() }, "needs 1000 in a probe"),
    ] {
        let error = Search::new(settings, objectives()).unwrap_err().to_string();
        assert!(error.contains(problem) && !error.contains('\n'), "{error}");
    }
    let none = Search::new(usual(), Vec::new()).unwrap_err();
    assert_eq!(none, SettingsError::Objectives(0));
    let slow = Settings { from_rps: 0.1, min_rps: 0.1, max_rps: 0.1, ..usual() };
    let error = Search::new(slow, vec![Objective::parse("p50<1s").unwrap()]).unwrap_err();
    assert!(error.to_string().contains("too few requests"), "{error}");
}

#[test]
fn the_order_of_the_probes_is_that_of_the_method() {
    let found = found(Settings::default());
    let mut purposes: Vec<Purpose> = found.probes.iter().map(|it| it.plan.purpose).collect();
    purposes.dedup();
    use Purpose::{AfterOverload, Bracket, Climb, Narrow, Overload, Recheck, Top};
    let order = [Bracket, Narrow, Climb, Top, Overload, AfterOverload, Recheck];
    let mut left = order.iter();
    assert!(purposes.iter().all(|it| left.any(|other| other == it)), "{}", found.story());
    // A server that has just passed has nothing to cool down from.
    for pair in found.probes.windows(2) {
        let is_direct = matches!(pair[1].plan.purpose, AfterOverload | Overload);
        let has_passed = pair[0].judgement.outcome == Outcome::Pass;
        assert_eq!(pair[1].plan.cool_down_rps.is_none(), is_direct || has_passed, "{pair:?}");
    }
}

#[test]
fn probes_end_once_they_show_what_they_are_for() {
    let found = found(Settings::default());
    for probe in &found.probes {
        let measured_s = probe.report.figures.as_ref().map_or(0.0, Figures::measured_s);
        let (planned_s, alpha) = (probe.plan.measure_ns as f64 / 1e9, probe.judgement.alpha);
        assert!(measured_s <= planned_s, "{probe:?}");
        let is_pass = probe.judgement.outcome == Outcome::Pass;
        match probe.plan.purpose.decides() {
            true => {
                assert!(measured_s >= if is_pass { 30.0 } else { 10.0 }, "{probe:?}");
                // An earlier end has to be surer.
                let is_whole = (alpha.unwrap() / Settings::default().alpha() - 1.0).abs() < 1e-9;
                assert_eq!(is_whole, measured_s >= planned_s, "{probe:?}");
            }
            false => assert!(measured_s >= 2.0 && alpha.is_none(), "{probe:?}"),
        }
    }
    assert!(found.probes.iter().any(|it| {
        it.report.figures.as_ref().is_some_and(|figures| figures.measured_s() < 30.0)
            && it.judgement.outcome == Outcome::Fail
    }));
}

#[test]
fn a_search_is_resumed_from_any_of_its_probes() {
    let found = found(Settings::default());
    for told in 0..=found.probes.len() {
        let probes = &found.probes[..told];
        let mut search = Search::resume(Settings::default(), objectives(), probes).unwrap();
        assert_eq!(search.probes(), probes);
        for probe in &found.probes[told..] {
            assert_eq!(search.next(), Next::Probe(probe.plan), "{told}");
            search.told(probe.report.clone());
        }
        assert_eq!(search.next(), Next::Answer(Box::new(found.answer.clone())), "{told}");
        search.told(found.probes[0].report.clone());
        assert_eq!(search.probes().len(), found.probes.len(), "the end is the end");
    }
    let resume = |settings, change: fn(&mut Vec<crate::find::Probe>)| {
        let mut probes = found.probes.clone();
        change(&mut probes);
        Search::resume(settings, objectives(), &probes).map(|_| ()).unwrap_err()
    };
    let other = Settings { from_rps: 60.0, ..Settings::default() };
    assert_eq!(resume(other, |_| ()), ResumeError::Plan(1));
    let short = |probes: &mut Vec<crate::find::Probe>| {
        probes[3].report.figures.as_mut().unwrap().due.pop();
    };
    assert_eq!(resume(Settings::default(), short), ResumeError::Figures(4));
    let twice = |probes: &mut Vec<crate::find::Probe>| probes.push(probes[0].clone());
    let n = found.probes.len();
    assert_eq!(resume(Settings::default(), twice), ResumeError::Plan(n + 1));
}

#[test]
fn a_budget_ends_the_search_with_what_is_shown() {
    let mut known = 0;
    for minutes in 0..6 {
        let budget_ns = minutes * 60 * SECOND_NS;
        let found = found(Settings { budget_ns: Some(budget_ns), ..Settings::default() });
        assert!(found.answer.elapsed_ns <= budget_ns, "{minutes} min: {}", found.story());
        if found.answer.ending == Ending::OutOfBudget {
            known += u32::from(found.answer.rate_rps.is_some());
            let has_again = found.probes.iter().any(|it| it.plan.purpose == Purpose::AfterOverload);
            let is_doubted = found.answer.doubts.contains(&Doubt::NotMeasuredAgain);
            assert_eq!(is_doubted, found.answer.rate_rps.is_some() && !has_again);
        } else {
            assert!(found.answer.rate_rps.is_some(), "{}", found.story());
        }
    }
    assert!(known > 0);
}

#[test]
fn a_search_that_is_stopped_says_what_is_shown_so_far() {
    let whole = found(Settings::default());
    let climbing = whole.probes.iter().position(|it| it.plan.purpose == Purpose::Top).unwrap();
    let probes = &whole.probes[..climbing];
    let search = Search::resume(Settings::default(), objectives(), probes).unwrap();
    let answer = search.so_far();
    assert_eq!((answer.ending, answer.rate_rps), (Ending::Stopped, whole.answer.rate_rps));
}

#[test]
fn quick_probes_alone_promise_nothing() {
    let found = found(Settings { is_quick_only: true, ..Settings::default() });
    assert_eq!(found.answer.ending, Ending::Guessed);
    assert_eq!(found.answer.doubts, [Doubt::QuickProbesOnly]);
    let rate_rps = found.answer.rate_rps.unwrap();
    assert!((600.0..=900.0).contains(&rate_rps), "{}", found.story());
    assert!(found.answer.elapsed_ns < 60 * SECOND_NS, "{}", found.story());
}

/// Reports at random, also such that no driver would make.
fn any_report(random: &mut Xoshiro256PlusPlus, plan: &ProbePlan) -> Report {
    let mut below = |limit: u64| random.next_u64() % limit;
    let seconds = match below(10) {
        0 => 0,
        1 => below(100),
        _ => plan.measure_ns / SECOND_NS,
    };
    let kind = below(6);
    let mut figures = Figures::empty(SECOND_NS, 1);
    for _ in 0..seconds {
        let due = if kind == 0 { 0 } else { below(2000) };
        let ended = if kind == 1 { due / 2 } else { due };
        figures.due.push(due);
        figures.answered.push(ended);
        figures.ended.push(if kind == 2 { u64::MAX / 4000 } else { ended });
        let sums = &mut figures.objectives[0];
        sums.among.push(ended);
        let against = if kind < 4 { 0 } else { below(30).min(ended) };
        sums.against.push(against);
        sums.near.push(2 * against);
        sums.far.push(if kind == 5 { against } else { 0 });
    }
    let is_measured = below(10) > 0;
    let figures = is_measured.then_some(figures);
    let tester = (below(10) == 0).then(|| "late".to_owned());
    let (recovered, elapsed_ns) = (below(5) > 0, below(100 * SECOND_NS));
    let (late, connections) = (None, None);
    Report { figures, tester, late, connections, server_cpus: None, recovered, elapsed_ns }
}

#[test]
fn whatever_a_driver_reports_the_search_ends() {
    for seed in 0..300 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut search = Search::new(Settings::default(), objectives()).unwrap();
        while let Next::Probe(plan) = search.next() {
            let is_within = (0.999..=1.001e6).contains(&plan.rate_rps);
            assert!(is_within && search.probes().len() < 200, "seed {seed}: {plan:?}");
            search.told(any_report(&mut random, &plan));
        }
        let answer = search.so_far();
        assert!(answer.rate_rps.is_none_or(f64::is_finite), "seed {seed}: {answer:?}");
        serde_json::to_string(search.probes()).unwrap();
        let again = Search::resume(Settings::default(), objectives(), search.probes());
        match again {
            Ok(again) => assert_eq!(again.next(), search.next(), "seed {seed}"),
            Err(error) => assert!(matches!(error, ResumeError::Figures(_)), "seed {seed}: {error}"),
        }
    }
}

#[test]
fn figures_are_those_of_the_points() {
    let point = |times_ms: &[u64]| {
        let mut response = Histogram::new();
        times_ms.iter().for_each(|ms| response.record(ms * 1_000_000));
        let completed = times_ms.len() as u64;
        let interval_ns = SECOND_NS;
        let (response, shed) = (response.pack(), 1);
        Point { interval_ns, completed, ok: completed, shed, response, ..Point::default() }
    };
    let points = [point(&[1, 2, 20, 40]), point(&[1]), point(&[])];
    let figures = Figures::of_points(&objectives(), &points, &[5, 2, 1]);
    assert!(figures.are_whole(1) && !figures.are_whole(2));
    assert_eq!(
        (figures.answered.as_slice(), figures.ended.as_slice()),
        (&[4, 1, 0][..], &[5, 2, 1][..])
    );
    let sums = &figures.objectives[0];
    assert_eq!((sums.among.as_slice(), sums.against.as_slice()), (&[5, 2, 1][..], &[3, 1, 1][..]));
    assert_eq!(sums.far, [1, 0, 0]);
    let us = |ns: Option<u64>| ns.map(|ns| (ns + 50_000) / 100_000);
    assert_eq!((us(figures.p50_ns), us(figures.p99_ns)), (Some(20), Some(400)));
    assert!(!Figures::empty(SECOND_NS, 1).are_whole(1));
}

#[test]
fn what_is_due_is_what_the_schedule_says() {
    let profile =
        |arrival| Profile::constant(1_500_000_000, Some(3 * SECOND_NS + SECOND_NS / 2), arrival);
    let even = due_in(&profile(Arrival::Uniform), 7, SECOND_NS, 5);
    assert_eq!(even, [1500, 1500, 1500, 750, 0]);
    let random = due_in(&profile(Arrival::Poisson), 7, SECOND_NS, 4);
    assert_eq!(random, due_in(&profile(Arrival::Poisson), 7, SECOND_NS, 4));
    let sum: u64 = random.iter().sum();
    assert!(random != even[..4] && sum.abs_diff(5250) < 400, "{random:?}");
    assert_eq!(due_in(&profile(Arrival::Uniform), 7, SECOND_NS, 1), [1500]);
}

/// The times contain the tester's delays, so that a server that meets an objective in spite of them
/// meets it.
#[test]
fn a_slow_tester_leaves_a_pass_and_nothing_else() {
    let server = || Box::new(Queue::new(Service::Fixed(0.001), 1));
    for (rate_rps, want) in [(50.0, Outcome::Pass), (1200.0, Outcome::NotMeasured)] {
        let settings = Settings { from_rps: rate_rps, ..Settings::default() };
        let search = Search::new(settings, objectives()).unwrap();
        let Next::Probe(plan) = search.next() else { panic!("a search begins with a probe") };
        let report = Simulation::new(server(), Arrivals::Poisson, 2).probe(&search, &plan);
        let report = Report { tester: Some("the tester was late".to_owned()), ..report };
        let shown = search.preview(&report).map(|it| it.outcome);
        assert_eq!(shown, Some(want), "{rate_rps}");
        let mut told = search.clone();
        told.told(report);
        assert_eq!(told.probes()[0].judgement.outcome, want, "{rate_rps}");
    }
}

/// Few seconds have equal counts by chance: one request more in flight at the end of each says
/// nothing about a backlog.
#[test]
fn a_quick_probe_with_requests_in_flight_does_not_fail() {
    let objectives = [Objective::parse("p99<100ms").unwrap()];
    let figures = |due: [u64; 5], ended: [u64; 5]| {
        let mut figures = Figures::empty(SECOND_NS, 1);
        (figures.due, figures.ended) = (due.to_vec(), ended.to_vec());
        figures.answered.clone_from(&figures.ended);
        let sums = &mut figures.objectives[0];
        sums.among.clone_from(&figures.ended);
        (sums.against, sums.near, sums.far) = (vec![0; 5], vec![0; 5], vec![0; 5]);
        figures
    };
    for (due, ended, want) in [
        (100, [99, 100, 99, 100, 100], Outcome::Pass),
        (100, [100; 5], Outcome::Pass),
        (100, [50; 5], Outcome::Fail),
        // A moment's wait at the end, of few requests.
        (5, [5, 5, 5, 5, 1], Outcome::Pass),
    ] {
        let (figures, rate_rps) = (figures([due; 5], ended), due as f64);
        let judged = judge(&figures, &objectives, rate_rps, None, &[], SECOND_NS * 600);
        assert_eq!(judged.outcome, want, "{ended:?} {judged:?}");
    }
}
