//! Moments and deadlines in the cases that are hardest to keep in order: a driver that stamps each
//! event by itself, and the time after a pause.

use plimsoll_core::plan::Draft;
use plimsoll_io::sim::{SimOptions, Window};

use crate::peer::Answer;
use crate::world::{MS, S, at_rate, plan, run};

/// The first of two pipelined requests is answered just before the second runs out of time, so that
/// a third is begun by an event of the turn that ends both.
#[test]
fn a_request_begun_with_an_event_does_not_end_before_it() {
    for seed in 0..40 {
        let sim = SimOptions {
            seed,
            readiness: true,
            wait_jitter_ns: 0..8 * MS,
            latency_ns: 10_000..500_000,
            ..SimOptions::default()
        };
        let plan = Draft {
            connections: 100,
            pipeline: 2,
            timeout_ns: 100 * MS,
            duration_ns: Some(2 * S),
            ..plan()
        };
        let ran = run(&plan, &sim, |_| {
            |number, _| {
                if number % 2 == 0 { Answer::Status(200, 97 * MS) } else { Answer::Hang }
            }
        });
        let sum = ran.sum();
        assert_eq!(sum.ledger.check(), Ok(()));
        assert!(sum.ledger.timed_out > 100 && sum.ledger.ok > 100, "seed {seed}: {:?}", sum.ledger);
        for (clock, histogram) in [("response", sum.response()), ("service", sum.service.clone())] {
            let max_ns = histogram.max_ns().unwrap();
            assert!(max_ns < S, "seed {seed}: a {clock} time of {max_ns} ns");
        }
    }
}

/// Of 200 requests, every other is answered while the tester stands still, long before its
/// deadline.
#[test]
fn what_came_in_time_during_a_pause_is_answered() {
    for readiness in [false, true] {
        let pause = Window { at_ns: 2 * S + 50 * MS, for_ns: 800 * MS };
        let sim = SimOptions { pause: Some(pause), readiness, ..SimOptions::default() };
        let plan = Draft {
            connections: 200,
            requests: Some(200),
            timeout_ns: 500 * MS,
            duration_ns: Some(3 * S),
            ..plan()
        };
        let ran = run(&plan, &sim, |_| {
            |number, _| {
                if number % 2 == 0 { Answer::Status(200, 100 * MS) } else { Answer::Hang }
            }
        });
        let ledger = ran.sum().ledger;
        assert_eq!((ledger.ok, ledger.timed_out), (100, 100), "readiness {readiness}");
    }
}

/// The same at the end of the drain: what had come by then is no unfinished request.
#[test]
fn what_came_before_the_drain_was_over_is_answered() {
    for readiness in [false, true] {
        let pause = Window { at_ns: 2 * S + 900 * MS, for_ns: 2 * S };
        let sim = SimOptions { pause: Some(pause), readiness, ..SimOptions::default() };
        let plan = Draft { connections: 100, drain_ns: 500 * MS, ..at_rate(50_000_000, 880 * MS) };
        let ran = run(&plan, &sim, |_| |_, _| Answer::Status(200, 200 * MS));
        let ledger = ran.sum().ledger;
        assert_eq!((ledger.sent, ledger.ok), (44, 44), "readiness {readiness}: {ledger:?}");
    }
}
