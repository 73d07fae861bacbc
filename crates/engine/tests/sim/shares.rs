//! The figures do not depend on the number of workers: connections, slots, rows of data and the
//! last requests are shared out so that many workers do what one would have done.

use plimsoll_core::plan::Draft;
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_engine::Signals;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::lockstep::{Together, run_together};
use crate::peer::Answer;
use crate::world::{MS, S, START_NS, at_rate, plan};

/// A delivery takes 10 µs each way.
const ROUND_TRIP: u64 = 20_000;

fn slow(_: u32, _: u64, _: u64) -> Answer {
    Answer::Status(200, 10 * MS)
}

fn quiet(plan: &Draft) -> Together {
    run_together(plan, slow, &Signals::default())
}

/// Whether two runs differ in nothing that a report shows.
#[track_caller]
fn assert_same(one: &Together, many: &Together, plan: &Draft) {
    let figures = |ran: &Together| {
        let response = ran.sum.response();
        let times = [response.sum_ns(), response.max_ns().unwrap_or(0), ran.sum.service.sum_ns()];
        (ran.sum.ledger, times, ran.answered_ns, ran.connections)
    };
    assert_eq!(figures(one), figures(many), "{plan:?}");
    assert_eq!(one.arrivals_ns, many.arrivals_ns, "{plan:?}");
    assert_eq!(one.paths, many.paths, "{plan:?}");
}

#[test]
fn three_connections_keep_a_rate_with_two_workers_as_with_one() {
    let rate = Draft { connections: 3, drain_ns: S, ..at_rate(240_000_000, 4 * S) };
    for workers in [1, 2, 3] {
        let ran = quiet(&Draft { workers, ..rate.clone() });
        let ledger = ran.sum.ledger;
        assert_eq!((ledger.completed, ledger.unsent), (960, 0), "{workers} workers");
        let response = ran.sum.response();
        assert_eq!(response.max_ns(), Some(10 * MS + ROUND_TRIP), "{workers} workers");
    }
}

#[test]
fn six_hundred_requests_take_as_long_with_two_workers_as_with_one() {
    let closed = Draft { connections: 3, requests: Some(600), duration_ns: None, ..plan() };
    for workers in [1, 2, 3] {
        let ran = quiet(&Draft { workers, ..closed.clone() });
        assert_eq!(ran.sum.ledger.completed, 600, "{workers} workers");
        assert_eq!(ran.answered_ns, 200 * (10 * MS + ROUND_TRIP), "{workers} workers");
    }
}

/// One worker's server is a hundred times slower than the other's.
#[test]
fn the_last_requests_go_to_whoever_is_free() {
    let plan = Draft { workers: 2, requests: Some(400), duration_ns: None, ..plan() };
    let answer = |worker, _, _| Answer::Status(200, if worker == 0 { 100 * MS } else { MS });
    let ran = run_together(&plan, answer, &Signals::default());
    assert_eq!(ran.sum.ledger.completed, 400);
    // Two connections serve a thousand a second each; what the others began ends soon after.
    assert!(ran.answered_ns < 310 * MS, "{} and {:?}", ran.answered_ns, ran.sent);
}

#[test]
fn any_number_of_workers_does_what_one_does() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut between = |from: u64, to: u64| from + random.next_u64() % (to - from);
    for case in 0..60 {
        let mut plan = plan();
        plan.connections = between(2, 18) as u32;
        plan.drain_ns = 20 * S;
        plan.duration_ns = Some(between(100, 800) * MS);
        plan.endpoint.path = "/{{seq}}".to_owned().into();
        let requests = between(1, 300);
        match case % 3 {
            0 => (plan.requests, plan.duration_ns) = (Some(requests), None),
            kind => {
                // From an idle server to one that is asked for twice what it can do.
                let rate_uhz = between(1, 200 * u64::from(plan.connections)) * 1_000_000;
                let arrival = if kind == 1 { Arrival::Uniform } else { Arrival::Poisson };
                plan.rate = Some(Profile::constant(rate_uhz, plan.duration_ns, arrival));
                let total = plan.rate.as_ref().and_then(Profile::total).unwrap();
                plan.requests = (case % 2 == 0).then_some(requests.min(total));
            }
        }
        let one = quiet(&plan);
        let workers = between(2, u64::from(plan.connections) + 1) as u32;
        let many = Draft { workers, ..plan };
        assert_same(&one, &quiet(&many), &many);
    }
}

/// Those that a plan begins with are opened in any case.
#[test]
fn no_connection_is_opened_that_is_not_needed() {
    for (requests, connections, requests_per_connection, want) in
        [(1000, 4, 10, 100), (1001, 4, 10, 101), (37, 5, 3, 13), (400, 4, 1000, 4), (7, 4, 2, 4)]
    {
        for workers in [1, 2, 3] {
            let plan = Draft {
                connections,
                workers,
                requests: Some(requests),
                requests_per_connection: Some(requests_per_connection),
                duration_ns: None,
                ..plan()
            };
            let answer = |worker, number, _| {
                Answer::Status(200, 10 * MS + (number * 7 + u64::from(worker)) % 11 * MS)
            };
            let ran = run_together(&plan, answer, &Signals::default());
            assert_eq!(ran.sum.ledger.completed, requests, "{plan:?}");
            assert_eq!(ran.connections, want, "{plan:?}");
        }
    }
}

/// A server that breaks connections, and a warm-up that uses them up, cost further ones, and no
/// request is left for want of one.
#[test]
fn connections_that_are_lost_are_opened_again() {
    for workers in [1, 2] {
        let plan = Draft {
            workers,
            warmup_ns: 100 * MS,
            requests: Some(300),
            requests_per_connection: Some(10),
            duration_ns: None,
            ..plan()
        };
        let answer = |_, number, _| match number % 13 {
            12 => Answer::Reset,
            _ => Answer::Status(200, 3 * MS),
        };
        let ran = run_together(&plan, answer, &Signals::default());
        let ledger = ran.sum.ledger;
        assert_eq!((ledger.scheduled, ledger.completed + ledger.broken), (300, 300));
        assert!(ledger.broken > 10, "{ledger:?}");
    }
}

/// The issue of a rate near what the connections can do, with the connections changed meanwhile.
#[test]
fn slots_follow_connections_that_are_changed_while_it_goes_on() {
    let plan = Draft {
        connections: 3,
        connections_max: Some(9),
        control: Some("control".to_owned()),
        drain_ns: S,
        ..at_rate(240_000_000, 4 * S)
    };
    let told = |workers| {
        let signals = Signals::default();
        signals.set_connections(START_NS, 3).unwrap();
        signals.set_connections(START_NS + S, 4).unwrap();
        signals.set_rate(START_NS + 3 * S / 2, 350_000_000).unwrap();
        signals.set_connections(START_NS + 2 * S, 9).unwrap();
        signals.set_rate(START_NS + 2 * S, 850_000_000).unwrap();
        run_together(&Draft { workers, ..plan.clone() }, slow, &signals)
    };
    for workers in [1, 2, 3] {
        let ran = told(workers);
        let ledger = ran.sum.ledger;
        assert_eq!((ledger.completed, ledger.unsent), (360 + 175 + 1700, 0), "{workers} workers");
        let response_ns = ran.sum.response().max_ns();
        assert!(response_ns < Some(13 * MS), "{response_ns:?} with {workers} workers");
    }
}
