//! Closed searches in virtual time: as many clients as connections, each of which asks again when
//! it has its response.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::servers::{Delay, Limiter, Queue, Server, Service};
use crate::find::{
    ClosedAnswer, ClosedDocument, ClosedNext, ClosedPlan, ClosedPurpose, ClosedSearch,
    ClosedSettings, Doubt, Ending, Figures, Objective, Outcome, Report, Settings, Why,
};

const SECOND_NS: u64 = 1_000_000_000;

/// Clients on a server, and when each asks next.
struct Clients {
    server: Box<dyn Server>,
    random: Xoshiro256PlusPlus,
    now_s: f64,
}

impl Clients {
    fn new(server: impl Server + 'static, seed: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { server: Box::new(server), random, now_s: 0.0 }
    }

    fn probe(&mut self, plan: &ClosedPlan, objectives: &[Objective]) -> Report {
        let seconds = (plan.measure_ns / 1_000_000_000) as usize;
        let mut figures = Figures::empty(1_000_000_000, objectives.len());
        figures.ended.resize(seconds, 0);
        for sums in &mut figures.objectives {
            for column in [&mut sums.among, &mut sums.against, &mut sums.near, &mut sums.far] {
                column.resize(seconds, 0);
            }
        }
        let from_s = self.now_s + plan.settle_ns as f64 / 1e9;
        let until_s = from_s + seconds as f64;
        // The order of positive floats is that of their bits.
        let asks: Vec<_> = vec![Reverse(self.now_s.to_bits()); plan.connections as usize];
        let mut asks: BinaryHeap<_> = asks.into();
        while let Some(Reverse(at)) = asks.pop() {
            let at_s = f64::from_bits(at);
            if at_s >= until_s {
                continue;
            }
            let (end_s, is_ok) = self.server.serve(at_s, &mut self.random);
            asks.push(Reverse(end_s.to_bits()));
            if end_s < from_s || end_s >= until_s {
                continue;
            }
            let second = (end_s - from_s) as usize;
            figures.ended[second] += 1;
            let time_ns = ((end_s - at_s) * 1e9) as u64;
            for (sums, objective) in figures.objectives.iter_mut().zip(objectives) {
                sums.among[second] += 1;
                let is_against =
                    objective.time_limit_ns().map_or(!is_ok, |limit_ns| time_ns > limit_ns);
                let near = objective.time_limit_ns().is_some_and(|it| time_ns > it / 2);
                sums.against[second] += u64::from(is_against);
                sums.near[second] += u64::from(near);
            }
        }
        self.now_s = until_s.max(self.server.idle_s());
        figures.answered.clone_from(&figures.ended);
        figures.due.clone_from(&figures.ended);
        Report {
            figures: Some(figures),
            tester: None,
            late: None,
            connections: None,
            server_cpus: None,
            recovered: true,
            elapsed_ns: plan.settle_ns + plan.measure_ns,
        }
    }

    fn search(&mut self, settings: ClosedSettings, objective: &str) -> ClosedSearch {
        let objectives = vec![Objective::parse(objective).unwrap()];
        let mut search = ClosedSearch::new(settings, objectives.clone()).unwrap();
        while let ClosedNext::Probe(plan) = search.next() {
            search.told(self.probe(&plan, &objectives));
        }
        search
    }
}

fn settings(max_connections: u32) -> ClosedSettings {
    ClosedSettings::of(&Settings::default(), max_connections)
}

/// The answer of a search, or what is known so far.
fn answer(search: &ClosedSearch) -> ClosedAnswer {
    match search.next() {
        ClosedNext::Answer(answer) => *answer,
        ClosedNext::Probe(_) => search.so_far(),
    }
}

fn whys(answer: &ClosedAnswer) -> Vec<Why> {
    answer.turns.iter().map(|turn| turn.why).collect()
}

fn story(search: &ClosedSearch) -> String {
    let probe = |it: &crate::find::ClosedProbe| {
        format!("{:?} {} {:?}\n", it.plan.purpose, it.plan.connections, it.judgement.outcome)
    };
    search.probes().iter().map(probe).collect::<String>() + &format!("{:?}", answer(search))
}

/// One worker that takes 1 ms: with N connections a response takes N ms, and the rate is the same.
#[test]
fn the_line_of_a_single_worker_is_exact() {
    for (objective, line) in [("p99<10.5ms", 10), ("p99<40.5ms", 40), ("p99<1.5ms", 1)] {
        let mut clients = Clients::new(Queue::new(Service::Fixed(0.001), 1), 0);
        let search = clients.search(settings(1000), objective);
        let answer = search.so_far();
        assert_eq!(answer.ending, Ending::Found, "{}", story(&search));
        let (count, fails) = (answer.connections.unwrap(), answer.fails_connections.unwrap());
        // Steps are of one connection up to 20, and of 5 % from there on.
        let width = 1 + line / 20;
        let is_near = count <= line && count + width > line && fails > line;
        assert!(is_near && fails <= line + width, "{}", story(&search));
        let usl = answer.usl.as_ref().expect("a fit");
        assert!((usl.sigma - 1.0).abs() < 0.01 && usl.kappa < 1e-4, "{usl:?}");
        assert!((answer.rate_rps.unwrap() - 1000.0).abs() < 5.0, "{answer:?}");
        assert_eq!(answer.doubts, []);
    }
}

/// Exponential service times: the answers of many searches stay below the line.
#[test]
fn random_servers_are_found_from_below() {
    let objective = Objective::parse("p99<20ms").unwrap();
    // The line, from a long run with each number.
    let is_met = |connections: u32| {
        let mut clients = Clients::new(Queue::new(Service::Exponential(0.004), 4), 99);
        let (settle_ns, measure_ns) = (3_000_000_000, 300_000_000_000);
        let plan = ClosedPlan { purpose: ClosedPurpose::Climb, connections, settle_ns, measure_ns };
        let report = clients.probe(&plan, std::slice::from_ref(&objective));
        let sums = &report.figures.unwrap().objectives[0];
        sums.against.iter().sum::<u64>() * 100 < sums.among.iter().sum()
    };
    let line = (1..100).take_while(|count| is_met(*count)).last().unwrap();
    for seed in 0..10 {
        let mut clients = Clients::new(Queue::new(Service::Exponential(0.004), 4), seed);
        let search = clients.search(settings(200), "p99<20ms");
        let answer = search.so_far();
        let count = answer.connections.unwrap_or(0);
        assert!(count <= line && count + 2 >= line, "line {line}\n{}", story(&search));
        assert!(answer.fails_connections.is_some_and(|it| it > line), "{}", story(&search));
        assert_ne!(
            answer.usl.is_some(),
            answer.no_usl.is_some(),
            "a fit or the reason that it failed"
        );
    }
}

#[test]
fn searches_end_as_their_servers_make_them() {
    let delay = || Clients::new(Delay(0.005), 0);
    let at_least = delay().search(settings(64), "p99<10ms");
    let answer = at_least.so_far();
    assert_eq!((answer.ending, answer.connections), (Ending::AtLeast, Some(64)));
    assert!((answer.rate_rps.unwrap() / 12_800.0 - 1.0).abs() < 0.01, "{answer:?}");
    let usl = answer.usl.expect("a fit");
    assert!((usl.rate_rps(64.0) / 12_800.0 - 1.0).abs() < 0.01, "it scales: {usl:?}");

    let not_met = delay().search(settings(64), "p99<2ms").so_far();
    assert_eq!((not_met.ending, not_met.connections), (Ending::NotMet, None));

    let guessed = ClosedSettings { is_quick_only: true, ..settings(64) };
    let guessed = delay().search(guessed, "p99<10ms").so_far();
    assert_eq!((guessed.ending, guessed.connections), (Ending::Guessed, Some(64)));
    assert_eq!(guessed.doubts, [Doubt::QuickProbesOnly]);

    let budget = ClosedSettings { budget_ns: Some(20 * SECOND_NS), ..settings(64) };
    let budget = super::closed::answer(&delay().search(budget, "p99<10ms"));
    assert_eq!((budget.ending, budget.connections), (Ending::OutOfBudget, None));
    assert_eq!((budget.quick_passed_connections, budget.quick_failed_connections), (Some(2), None));
    assert_eq!(whys(&budget), [Why::OutOfBudget]);
    assert!(budget.no_usl.is_some_and(|why| why.contains("too few for a fit")));

    // A limiter that answers at once: more connections are more errors.
    let mut clients = Clients::new(Limiter::new(2500.0, 10.0), 0);
    let limited = clients.search(settings(64), "errors<1%");
    let answer = limited.so_far();
    assert_eq!(answer.connections, Some(2), "{}", story(&limited));
    assert_eq!(answer.fails_connections, Some(3), "{}", story(&limited));
}

/// Holds are made shorter and quick probes left out, so that a budget of a minute is kept and holds
/// for an answer.
#[test]
fn a_short_budget_is_kept_and_has_an_answer() {
    for budget_s in [45, 60, 75, 90, 120, 240, 400] {
        let budget_ns = Some(budget_s * SECOND_NS);
        let limited = ClosedSettings { budget_ns, ..settings(1000) };
        let mut clients = Clients::new(Queue::new(Service::Fixed(0.001), 1), 0);
        let search = clients.search(limited, "p99<10.5ms");
        let answer = answer(&search);
        assert!(answer.elapsed_ns <= budget_s * SECOND_NS, "{budget_s} s: {}", story(&search));
        assert!(answer.connections.is_some_and(|it| it <= 10), "{budget_s} s: {}", story(&search));
        assert!(answer.fails_connections.is_none_or(|it| it > 10), "{}", story(&search));
        let turns = whys(&answer);
        if budget_s < 240 {
            assert!(turns.contains(&Why::Hurried) || turns.contains(&Why::Shortened), "{turns:?}");
        }
        let is_over = answer.ending == Ending::OutOfBudget;
        assert_eq!(turns.contains(&Why::OutOfBudget), is_over, "{}", story(&search));
        let shortest = search.probes().iter().filter(|it| it.plan.purpose.decides());
        assert!(shortest.map(|it| it.plan.measure_ns).min() >= Some(20 * SECOND_NS));
    }
}

/// Stopped anywhere, a search says which numbers passed and failed a hold.
#[test]
fn whatever_ends_a_search_what_is_shown_stays() {
    let objectives = vec![Objective::parse("p99<10.5ms").unwrap()];
    let mut search = ClosedSearch::new(settings(1000), objectives.clone()).unwrap();
    let mut clients = Clients::new(Queue::new(Service::Fixed(0.001), 1), 0);
    loop {
        let holds = |outcome| {
            let is_it = move |it: &&crate::find::ClosedProbe| {
                it.plan.purpose.decides() && it.judgement.outcome == outcome
            };
            search.probes().iter().filter(is_it).map(|it| it.plan.connections)
        };
        let known = search.so_far();
        assert_eq!(known.connections, holds(Outcome::Pass).max(), "{}", story(&search));
        assert_eq!(known.fails_connections, holds(Outcome::Fail).min(), "{}", story(&search));
        let ClosedNext::Probe(plan) = search.next() else { break };
        let report = clients.probe(&plan, &objectives);
        search.told(report);
    }
    assert_eq!(answer(&search).connections, Some(10), "{}", story(&search));
}

/// The answer fails when it is measured again. A lower number passed before, and is measured again
/// in its place.
#[test]
fn a_number_that_fails_again_leaves_those_below_it() {
    let objectives = vec![Objective::parse("p99<10.5ms").unwrap()];
    let mut search = ClosedSearch::new(settings(1000), objectives.clone()).unwrap();
    let mut clients = Clients::new(Queue::new(Service::Fixed(0.001), 1), 0);
    while let ClosedNext::Probe(plan) = search.next() {
        let mut report = clients.probe(&plan, &objectives);
        if plan.purpose == ClosedPurpose::Recheck && plan.connections == 10 {
            let sums = &mut report.figures.as_mut().unwrap().objectives[0];
            sums.against.clone_from(&sums.among);
        }
        search.told(report);
    }
    let answer = answer(&search);
    assert_eq!((answer.ending, answer.connections), (Ending::Found, Some(9)), "{}", story(&search));
    assert_eq!(answer.fails_connections, Some(10), "{}", story(&search));
    assert_eq!(whys(&answer), [Why::FailedAgain, Why::FellBack]);
    assert_eq!(answer.turns[1].next_connections, Some(9));
    assert_eq!(answer.doubts, [Doubt::ChangedWhileMeasured]);
}

/// The answer is measured again, and that hold shows nothing: the report says so.
#[test]
fn a_number_that_is_not_confirmed_is_in_doubt() {
    let objectives = vec![Objective::parse("p99<10.5ms").unwrap()];
    let mut search = ClosedSearch::new(settings(1000), objectives.clone()).unwrap();
    let mut clients = Clients::new(Queue::new(Service::Fixed(0.001), 1), 0);
    while let ClosedNext::Probe(plan) = search.next() {
        let mut report = clients.probe(&plan, &objectives);
        if plan.purpose == ClosedPurpose::Recheck {
            report.figures = None;
        }
        search.told(report);
    }
    let answer = answer(&search);
    assert_eq!(answer.connections, Some(10), "{}", story(&search));
    assert_eq!(answer.doubts, [Doubt::NotConfirmed]);
}

#[test]
fn a_tester_that_spoils_probes_is_the_limit() {
    let objectives = vec![Objective::parse("p99<10ms").unwrap()];
    let mut search = ClosedSearch::new(settings(1000), objectives.clone()).unwrap();
    let mut clients = Clients::new(Delay(0.005), 0);
    while let ClosedNext::Probe(plan) = search.next() {
        let report = clients.probe(&plan, &objectives);
        let report = match plan.connections > 100 {
            true => Report { figures: None, tester: Some("no CPU left".to_owned()), ..report },
            false => report,
        };
        search.told(report);
    }
    let answer = search.so_far();
    assert_eq!(answer.ending, Ending::TesterLimited, "{}", story(&search));
    assert!((80..=100).contains(&answer.connections.unwrap()), "{}", story(&search));
    assert!(answer.tester_limit_connections.is_some_and(|it| it > 100));
    assert_eq!(answer.fails_connections, None, "no figure of the server");
}

#[test]
fn settings_out_of_range_are_refused() {
    let objectives = || vec![Objective::parse("p99<10ms").unwrap()];
    for (settings, problem) in [
        (ClosedSettings { step: 1.0, ..settings(9) }, "give 0.1% to 50%"),
        (ClosedSettings { hold_ns: 1, ..settings(9) }, "holds 30s or more"),
        (ClosedSettings { confidence: 0.5, ..settings(9) }, "80% to 99.9%"),
    ] {
        let error = ClosedSearch::new(settings, objectives()).unwrap_err().to_string();
        assert!(error.contains(problem) && !error.contains('\n'), "{error}");
    }
    assert!(ClosedSearch::new(settings(9), Vec::new()).is_err());
}

#[test]
fn whatever_is_reported_the_search_ends() {
    for seed in 0..40u64 {
        let objectives = vec![Objective::parse("p99<10ms").unwrap()];
        let mut search = ClosedSearch::new(settings(500), objectives.clone()).unwrap();
        let mut clients = Clients::new(Delay(0.005), seed);
        let mut word = seed;
        while let ClosedNext::Probe(plan) = search.next() {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            assert!((1..=500).contains(&plan.connections), "{}", story(&search));
            let mut report = clients.probe(&ClosedPlan { connections: 1, ..plan }, &objectives);
            match word >> 60 {
                0 => report.figures = None,
                1..=5 => {
                    let sums = &mut report.figures.as_mut().unwrap().objectives[0];
                    sums.against.clone_from(&sums.among);
                }
                6 => report.figures.as_mut().unwrap().due.clear(),
                _ => {}
            }
            search.told(report);
        }
        let outcomes = search.probes().iter().filter(|it| it.judgement.outcome == Outcome::Pass);
        assert!(search.so_far().connections.is_none() || outcomes.count() > 0);
    }
}

#[test]
fn documents_are_read_as_they_were_written() {
    let mut clients = Clients::new(Queue::new(Service::Fixed(0.001), 1), 0);
    let search = clients.search(settings(100), "p99<10.5ms");
    let (schemas, schema) = super::documents::schema("find-closed");
    let written = ClosedDocument::of(&search, super::documents::origin());
    let mut value = serde_json::to_value(&written).unwrap();
    if let Err(error) = schemas.validate(&value, schema) {
        panic!("{error}");
    }
    assert_eq!(serde_json::from_value::<ClosedDocument>(value.clone()).unwrap(), written);
    value["answer"]["ending"] = serde_json::json!("luck");
    assert!(schemas.validate(&value, schema).is_err(), "the schema knows the endings");
}

#[test]
fn what_comes_after_the_measured_part_counts_for_objectives() {
    let mut figures = Figures::empty(1_000_000_000, 1);
    figures.due = vec![4, 5, 1, 2];
    figures.objectives[0].against = vec![0, 1, 1];
    figures.end_after(2);
    assert_eq!(figures.due, [4, 5]);
    assert_eq!(figures.objectives[0].against, [0, 2]);
    assert_eq!(figures.ended, [0; 0]);
}
