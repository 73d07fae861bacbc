//! The rate of responses, compared with the true rate of the simulated server.

use std::cell::Cell;
use std::rc::Rc;

use plimsoll_core::plan::Draft;
use plimsoll_core::throughput::{Demand, per_second};
use plimsoll_engine::Signals;
use plimsoll_io::sim::SimOptions;

use crate::peer::Answer;
use crate::world::{MS, Ran, S, START_NS, at_rate, plan, run, run_told};

/// Responses per second, and how many they are made of.
fn rate(ran: &Ran, window_ns: u64) -> (f64, u64) {
    let mut answers = ran.records[0].answers.clone();
    for record in &ran.records[1..] {
        answers.merge(&record.answers);
    }
    // The load is steady wherever late answers may count.
    let demand = Demand { due: &|at_ns| at_ns as f64, starts_ns: &[0] };
    let counted = answers.counted(window_ns, &demand).all;
    (per_second(counted, window_ns), counted)
}

#[track_caller]
fn assert_within_a_percent(found: f64, want: f64, what: &str) {
    assert!((found / want - 1.0).abs() <= 0.01, "{what}: {found}, should be {want}");
}

#[test]
fn a_server_of_constant_latency_keeps_the_rate() {
    for workers in [1, 2] {
        for latency_ms in [1, 50, 200, 1000, 3200] {
            let load = at_rate(500_000_000, 4 * S);
            let plan = Draft { connections: 2000, workers, ..load };
            let ran = run(&plan, &SimOptions::default(), |_| {
                move |_, _| Answer::Status(200, latency_ms * MS)
            });
            assert_eq!(ran.sum().ledger.completed, 2000);
            let what = format!("{latency_ms} ms on {workers}");
            assert_within_a_percent(rate(&ran, 4 * S).0, 500.0, &what);
        }
    }
}

/// A request that is due where one second ends and the next begins is the next one's.
#[test]
fn each_second_has_the_requests_that_were_due_in_it() {
    let plan = Draft { connections: 10, ..at_rate(50_000_000, 3 * S) };
    let ran = run(&plan, &SimOptions::default(), |_| |_, _| Answer::Status(200, MS));
    let sent: Vec<u64> = ran.series.points().iter().map(|point| point.sent).collect();
    assert_eq!(sent[..3], [50; 3], "{sent:?}");
}

/// A server that answers one request after the other.
fn one_by_one(service_ns: u64) -> impl FnMut(u64, u64) -> Answer {
    let mut busy_until_ns = 0;
    move |_, now_ns| {
        busy_until_ns = busy_until_ns.max(now_ns) + service_ns;
        Answer::Status(200, busy_until_ns - now_ns)
    }
}

#[test]
fn a_server_at_its_limit_has_its_own_rate_whatever_the_drain() {
    for drain_ns in [0, S, 30 * S] {
        for (rate_uhz, connections) in [(1_000_000_000, 64), (400_000_000, 10)] {
            let load = at_rate(rate_uhz, 4 * S);
            let plan = Draft { connections, drain_ns, timeout_ns: 60 * S, ..load };
            let ran = run(&plan, &SimOptions::default(), |_| one_by_one(5 * MS));
            let what = format!("{rate_uhz} µHz on {connections}, drain {drain_ns}");
            assert_within_a_percent(rate(&ran, 4 * S).0, 200.0, &what);
        }
    }
}

#[test]
fn stragglers_leave_a_closed_loops_rate_alone() {
    let in_window = Rc::new(Cell::new(0));
    let plan = Draft { connections: 10, duration_ns: Some(2 * S), drain_ns: 20 * S, ..plan() };
    let ran = run(&plan, &SimOptions::default(), |_| {
        let in_window = Rc::clone(&in_window);
        move |number, now_ns| {
            let service_ns = if number % 500 == 499 { 8 * S } else { 12_700_000 };
            // The network takes 10 µs each way.
            if now_ns + service_ns + 10_000 <= START_NS + 2 * S {
                in_window.set(in_window.get() + 1);
            }
            Answer::Status(200, service_ns)
        }
    });
    let record = &ran.records[0];
    assert!(record.answered_ns > 8 * S && record.window_ns == 2 * S, "{}", record.answered_ns);
    assert_eq!(rate(&ran, 2 * S).1, in_window.get());
    assert!(in_window.get() > 1000, "{}", in_window.get());
}

#[test]
fn responses_of_the_warm_up_never_count() {
    let latency_ns = 300 * MS;
    let answer = move |_: u64, _: u64| Answer::Status(200, latency_ns);
    let load = Draft { connections: 100, ..at_rate(100_000_000, 2 * S) };
    let ran = run(&Draft { warmup_ns: S, ..load }, &SimOptions::default(), |_| answer);
    assert_eq!(ran.records[0].answers.total().all, 200);
    assert_within_a_percent(rate(&ran, 2 * S).0, 100.0, "at a rate");
    // The requests of the warm-up that are open when the measured part begins end in it.
    let closed = Draft { warmup_ns: S, duration_ns: Some(3 * S), ..plan() };
    let ran = run(&closed, &SimOptions::default(), |_| answer);
    let measured = ran.sum().ledger;
    assert_eq!(ran.records[0].answers.total().all, measured.completed);
    assert_eq!(rate(&ran, 3 * S).1, measured.completed - 4);
    // What ends last is the warm-up's: it says nothing of when the last response came.
    let last =
        Draft { requests: Some(1), duration_ns: None, drain_ns: 20 * S, connections: 2, ..closed };
    let ran = run(&last, &SimOptions::default(), |_| {
        |number, _| Answer::Status(200, if number == 0 { 5 * S } else { 7 * MS })
    });
    let warmup = ran.records[0].warmup.as_ref().expect("a warm-up").response();
    assert!(warmup.max_ns() > Some(5 * S), "{:?}", warmup.max_ns());
    assert!(ran.records[0].answered_ns < 20 * MS, "{}", ran.records[0].answered_ns);
}

#[test]
fn a_lower_rate_lengthens_the_window_of_a_number_of_requests() {
    let plan = Draft { requests: Some(600), duration_ns: None, ..at_rate(200_000_000, 60 * S) };
    let signals = Signals::default();
    signals.set_rate(START_NS + 1500 * MS, 50_000_000).unwrap();
    let answer = |_| |_: u64, _: u64| Answer::Status(200, MS);
    let ran = run_told(&plan, &SimOptions::default(), answer, &signals);
    let window_ns = ran.records[0].window_ns;
    assert_within_a_percent(window_ns as f64, (1500 * MS + 6 * S) as f64, "the window");
    assert_within_a_percent(rate(&ran, window_ns).0, 80.0, "the rate");
}

#[test]
fn the_window_of_a_number_of_requests_is_the_schedules() {
    let plan = Draft { requests: Some(10), duration_ns: None, ..at_rate(1_000_000, 60 * S) };
    let ran = run(&plan, &SimOptions::default(), |_| |_, _| Answer::Status(200, MS));
    assert_eq!(rate(&ran, 10 * S), (1.0, 10));
}
