//! A search always answers: what is shown to meet the objectives, what is shown to fail, and why it
//! took the turns that it took, whatever ended it.

use super::servers::{AboveRate, Delay, Queue, Service, Worker};
use super::simulation::{Arrivals, Found, Simulation};
use crate::find::{
    Answer, Connected, Doubt, Ending, Figures, Late, LateFor, Next, Objective, Outcome, ProbePlan,
    Purpose, Report, Search, Settings, Sums, Why,
};

const SECOND_NS: u64 = 1_000_000_000;

fn objectives() -> Vec<Objective> {
    vec![Objective::parse("p99<20ms").unwrap()]
}

/// What a made-up server shows of a rate: the share of requests over the limit, and far over it in
/// some second.
#[derive(Clone, Copy, Default)]
struct Shown {
    over: f64,
    stall: u64,
}

fn report(plan: &ProbePlan, shown: Shown) -> Report {
    let seconds = (plan.measure_ns / SECOND_NS) as usize;
    let due = plan.rate_rps as u64;
    let mut figures = Figures::empty(SECOND_NS, 1);
    (figures.due, figures.answered, figures.ended) =
        (vec![due; seconds], vec![due; seconds], vec![due; seconds]);
    let against = |second: usize| (due as f64 * shown.over) as u64 + second as u64 % 2;
    let against: Vec<u64> = (0..seconds).map(against).collect();
    let mut far = vec![0; seconds];
    far[seconds / 2] = shown.stall;
    let with_stall = |(against, far): (&u64, &u64)| against + far;
    figures.objectives[0] = Sums {
        among: vec![due; seconds],
        near: against.clone(),
        against: against.iter().zip(&far).map(with_stall).collect(),
        far,
    };
    Report {
        figures: Some(figures),
        tester: None,
        late: None,
        connections: None,
        server_cpus: None,
        recovered: true,
        elapsed_ns: plan.settle_ns + plan.measure_ns + SECOND_NS,
    }
}

/// Tells a search what `server` shows, until it ends or has this many probes.
fn led(settings: Settings, probes: usize, server: impl Fn(&ProbePlan, usize) -> Shown) -> Search {
    let mut search = Search::new(settings, objectives()).unwrap();
    while search.probes().len() < probes
        && let Next::Probe(plan) = search.next()
    {
        let shown = server(&plan, search.probes().len());
        search.told(report(&plan, shown));
    }
    search
}

fn answer(search: &Search) -> Answer {
    match search.next() {
        Next::Answer(answer) => *answer,
        Next::Probe(_) => search.so_far(),
    }
}

fn whys(answer: &Answer) -> Vec<Why> {
    answer.turns.iter().map(|turn| turn.why).collect()
}

/// A line between 380/s and 390/s.
fn usual(plan: &ProbePlan, _: usize) -> Shown {
    let is_over = plan.rate_rps > 386.75;
    Shown { over: if is_over { 0.05 } else { 0.001 }, stall: 0 }
}

/// The answer fails when it is measured again. A lower rate passed before.
#[test]
fn a_rate_that_fails_again_leaves_the_rates_below_it() {
    let again = |plan: &ProbePlan, probe: usize| match plan.purpose {
        Purpose::AfterOverload => Shown { over: 0.05, stall: 0 },
        Purpose::Recheck if plan.rate_rps > 370.0 => Shown { over: 0.05, stall: 0 },
        _ => usual(plan, probe),
    };
    let search = led(Settings::default(), usize::MAX, again);
    let answer = answer(&search);
    let passed = search
        .probes()
        .iter()
        .filter(|it| it.plan.purpose == Purpose::Climb && it.judgement.outcome == Outcome::Pass);
    let passed: Vec<f64> = passed.map(|it| it.plan.rate_rps).collect();
    assert!(passed.len() >= 2, "{passed:?}");
    let lower_rps = passed.iter().copied().filter(|it| *it <= 370.0).max_by(f64::total_cmp);
    assert_eq!((answer.ending, answer.rate_rps), (Ending::Found, lower_rps), "{answer:?}");
    assert!(answer.fails_rps.is_some_and(|it| it > 370.0 && it < 386.75), "{answer:?}");
    assert!(answer.doubts.contains(&Doubt::ChangedWhileMeasured));
    let turns = whys(&answer);
    for why in [Why::FailedAfterOverload, Why::FailedAgain, Why::FellBack] {
        assert!(turns.contains(&why), "{turns:?}");
    }
}

/// Requests waited for a connection. If those that were sent were served as quickly as ever, more
/// connections would have helped; if they took longer too, they waited in the server.
#[test]
fn connections_are_the_limit_if_the_server_was_as_quick_as_ever() {
    const MS: u64 = 1_000_000;
    for (limit, blocked_ms, service_ms, want) in [
        (2, 50, 1, Some(2)),
        (2, 50, 2, None),
        (2, 8, 1, None),
        (2, 0, 1, None),
        // Not all of them were open.
        (1000, 50, 1, None),
    ] {
        let mut search = Search::new(Settings::default(), objectives()).unwrap();
        while let Next::Probe(plan) = search.next() {
            let is_over = plan.rate_rps > 386.75;
            let mut report = report(&plan, usual(&plan, 0));
            report.figures.as_mut().unwrap().p99_ns = Some(if is_over { 50 * MS } else { 2 * MS });
            report.connections = Some(Connected {
                limit,
                open_max: 2,
                blocked_p99_ns: Some(if is_over { blocked_ms * MS } else { 0 }),
                service_p50_ns: Some(if is_over { service_ms * MS } else { MS }),
            });
            search.told(report);
        }
        let answer = answer(&search);
        assert_eq!(answer.ending, Ending::Found, "{answer:?}");
        assert_eq!(answer.connections_limit, want, "{limit} {blocked_ms} {service_ms}");
    }
}

/// Stopped anywhere after its first hold that passed, a search says what is shown.
#[test]
fn whatever_ends_a_search_what_is_shown_stays() {
    let whole = led(Settings::default(), usize::MAX, usual);
    for probes in 0..=whole.probes().len() {
        let search = led(Settings::default(), probes, usual);
        let shown = search.probes().iter().filter(|it| it.plan.purpose == Purpose::Climb);
        let passed = shown.clone().filter(|it| it.judgement.outcome == Outcome::Pass);
        let highest_rps = passed.map(|it| it.plan.rate_rps).max_by(f64::total_cmp);
        let answer = answer(&search);
        assert_eq!(answer.rate_rps, highest_rps, "{probes}: {answer:?}");
        let is_guided = search.probes().iter().any(|it| it.plan.purpose.guides());
        assert_eq!(answer.quick_passed_rps.is_some(), is_guided, "{probes}: {answer:?}");
    }
    let answer = answer(&whole);
    assert!(answer.rate_rps.is_some_and(|it| (300.0..386.75).contains(&it)), "{answer:?}");
    assert!(answer.fails_rps.is_some_and(|it| it > 386.75), "{answer:?}");
    assert_eq!(whys(&answer), [], "a search without turns");
}

/// A quick probe that was too short to show that its rate is too high looked like a stall of the
/// server. Counted against all rates below, it sent the search down from 370/s to 187/s.
#[test]
fn an_overload_in_a_quick_probe_is_no_stall() {
    let server = |plan: &ProbePlan, _: usize| match plan.purpose.guides() && plan.rate_rps > 386.75
    {
        true => Shown { over: 0.05, stall: plan.rate_rps as u64 / 2 },
        false => usual(plan, 0),
    };
    let answer = answer(&led(Settings::default(), usize::MAX, server));
    assert!(answer.rate_rps.is_some_and(|it| it > 330.0), "{answer:?}");
    assert_eq!(answer.ending, Ending::Found);
    assert!(!whys(&answer).contains(&Why::Stalls), "{answer:?}");
}

/// The tester was late. Rates that meet the objective meet it, rates that fail by far fail, and
/// only what it may have decided says nothing.
#[test]
fn a_late_tester_spoils_only_what_it_can_have_decided() {
    let late = |decisive| {
        Some(Late { objectives: vec![LateFor { decisive, long: 0, mean_ns: 1_000_000 }] })
    };
    let search = led(Settings::default(), usize::MAX, usual);
    let climb = search.probes().iter().position(|it| it.plan.purpose == Purpose::Climb).unwrap();
    let search = Search::resume(Settings::default(), objectives(), &search.probes()[..climb]);
    let search = search.unwrap();
    let Next::Probe(plan) = search.next() else { panic!("a hold comes next") };
    for (over, late, want) in [
        (0.001, late(10_000), Outcome::Pass),
        (0.001, None, Outcome::Pass),
        (0.05, late(0), Outcome::Fail),
        (0.05, late(20), Outcome::Fail),
        (0.05, late(100), Outcome::NotMeasured),
        (0.05, None, Outcome::NotMeasured),
    ] {
        let report = Report {
            tester: Some("the tester was late".to_owned()),
            late: late.clone(),
            ..report(&plan, Shown { over, stall: 0 })
        };
        let found = search.preview(&report).map(|it| it.outcome);
        assert_eq!(found, Some(want), "{over} {late:?}");
    }
}

fn simulated(budget_s: u64, seed: u64) -> Found {
    let server = Box::new(Queue::new(Service::Fixed(0.001), 1));
    let mut simulation = Simulation::new(server, Arrivals::Poisson, seed);
    let settings = Settings { budget_ns: Some(budget_s * SECOND_NS), ..Settings::default() };
    simulation.search(settings, &["p99<10ms"])
}

/// A budget of a minute or two is kept, and holds for an answer.
#[test]
fn a_short_budget_has_an_answer() {
    let mut above = 0;
    for seed in 0..20 {
        for budget_s in [75, 90, 120, 180] {
            let found = simulated(budget_s, seed);
            let elapsed_s = found.answer.elapsed_ns as f64 / 1e9;
            assert!(elapsed_s <= budget_s as f64, "{budget_s} s: {}", found.story());
            let rate_rps = found.answer.rate_rps;
            assert!(rate_rps.is_some(), "{budget_s} s, seed {seed}: {}", found.story());
            above += u64::from(rate_rps.is_some_and(|it| it > 773.5));
        }
    }
    // Of 80, as many as the promise and three standard errors allow.
    assert!(above <= 9, "{above}");
}

#[test]
fn a_budget_too_short_for_a_hold_leaves_what_quick_probes_saw() {
    for budget_s in [0, 10, 20] {
        let found = simulated(budget_s, 1);
        let Answer { ending, rate_rps, quick_passed_rps, .. } = found.answer;
        assert_eq!((ending, rate_rps), (Ending::OutOfBudget, None), "{}", found.story());
        assert_eq!(quick_passed_rps.is_some(), budget_s > 0, "{}", found.story());
        assert!(whys(&found.answer).contains(&Why::OutOfBudget), "{}", found.story());
    }
}

/// Hurried and shortened probes are those of another budget, and are taken over from a document.
#[test]
fn a_search_with_a_short_budget_is_resumed_with_another() {
    let found = simulated(90, 3);
    let turns = whys(&found.answer);
    assert!(turns.contains(&Why::Hurried) || turns.contains(&Why::Shortened), "{turns:?}");
    for budget_ns in [None, Some(90 * SECOND_NS), Some(600 * SECOND_NS)] {
        let settings = Settings { budget_ns, ..Settings::default() };
        let objectives = vec![Objective::parse("p99<10ms").unwrap()];
        let search = Search::resume(settings, objectives, &found.probes).unwrap();
        assert_eq!(search.probes(), found.probes);
        let is_over = matches!(search.next(), Next::Answer(_));
        assert_eq!(is_over, budget_ns == Some(90 * SECOND_NS));
    }
}

/// The default search and the quick one take as long as is promised, load and cool-downs together.
#[test]
fn searches_take_minutes_and_quick_ones_less_than_one() {
    for service in [Service::Fixed(0.001), Service::Exponential(0.001)] {
        let mut all_s = 0.0;
        for seed in 0..20 {
            let mut simulation =
                Simulation::new(Box::new(Queue::new(service, 1)), Arrivals::Poisson, seed);
            let found = simulation.search(Settings::default(), &["p99<20ms"]);
            all_s += found.answer.elapsed_ns as f64 / 1e9;
            assert!(found.answer.rate_rps.is_some(), "{}", found.story());
            let settings = Settings { is_quick_only: true, ..Settings::default() };
            let mut simulation =
                Simulation::new(Box::new(Queue::new(service, 1)), Arrivals::Poisson, seed);
            let quick = simulation.search(settings, &["p99<20ms"]);
            assert_eq!(quick.answer.ending, Ending::Guessed);
            assert!(quick.answer.elapsed_ns < 60 * SECOND_NS, "{}", quick.story());
        }
        assert!(all_s / 20.0 < 240.0, "{service:?}: {} s", all_s / 20.0);
    }
}

#[test]
fn turns_say_why_a_search_did_not_simply_go_on() {
    let low = Settings { from_rps: 400.0, ..Settings::default() };
    let search = led(low, usize::MAX, usual);
    let first = answer(&search).turns[0];
    assert_eq!((first.after, first.why, first.rate_rps), (1, Why::FirstFailed, 400.0));
    assert_eq!(first.next_rps, Some(200.0));
    let mut latched = Simulation::new(
        Box::new(Worker::new(Service::Fixed(0.001), AboveRate::new(600, 400))),
        Arrivals::Even,
        1,
    );
    let found = latched.search(Settings::default(), &["p99<10ms"]);
    let turns = whys(&found.answer);
    for why in [Why::FailedAfterOverload, Why::Recovering] {
        assert!(turns.contains(&why), "{}", found.story());
    }
    let mut slow = Simulation::new(Box::new(Delay(0.020)), Arrivals::Poisson, 1);
    let found = slow.search(Settings::default(), &["p99<10ms"]);
    assert_eq!(whys(&found.answer), [Why::FirstFailed, Why::NothingBelow], "{}", found.story());
}
