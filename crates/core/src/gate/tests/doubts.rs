//! Conditions on figures in doubt: met or not met whatever the doubt, or undecided.

use super::{judged, of, result};
use crate::RunResult;
use crate::doubt::{Figure, Off, Reach, Touch};
use crate::ledger::Ledger;
use crate::result::Outcome::{self, Fail, Pass, Undecided};
use crate::verdict::{Cause, Verdict};

const MS: u64 = 1_000_000;

/// 1000 good requests, 2 % of which took 300 ms instead of 3 ms.
fn slow_tail(touches: Vec<Touch>) -> RunResult {
    let mut result = result();
    let count = 1000;
    result.ledger = Ledger {
        scheduled: count,
        sent: count,
        completed: count,
        ok: 990,
        failed: 10,
        ..Ledger::default()
    };
    result.outage = None;
    result.latency.response = of(&[(3 * MS, 980), (300 * MS, 20)]);
    result.latency.service = result.latency.response.clone();
    let cause = Cause::new(Verdict::Suspect, "late", String::new());
    result.loader.causes = vec![Cause { touches, ..cause }];
    result
}

fn outcomes(result: &RunResult, cases: &[(&str, Outcome)]) {
    for (text, want) in cases {
        let gate = judged(text, result);
        assert_eq!(gate.outcome(), *want, "{gate:?}");
        assert!(gate.interval.is_some() || *want != Undecided, "{gate:?}");
    }
}

/// The tester was late: times contain its delay, so a limit that holds, holds all the more.
#[test]
fn delay_of_the_tester_fails_nothing_and_passes_what_holds_with_it() {
    let late = vec![Off::new(1_000, 0.5), Off::new(200 * MS, 0.015), Off::new(290 * MS, 0.0)];
    let result = slow_tail(vec![
        Touch::below(Figure::Response, Reach::Requests(late.clone())),
        Touch::below(Figure::Service, Reach::Requests(late)),
    ]);
    outcomes(
        &result,
        &[
            ("p99<400ms", Pass),
            ("p99<250ms", Undecided),
            ("p99<9ms", Fail),
            ("p99<11ms", Undecided),
            ("p99>9ms", Pass),
            ("p99>400ms", Fail),
            ("service.p99<250ms", Undecided),
            ("p50<4ms", Pass),
            ("p50<2ms", Undecided),
            ("max<1s", Pass),
            ("max<5ms", Fail),
            ("mean<1ms", Fail),
            ("mean<2ms", Undecided),
            ("mean<100ms", Pass),
            ("p99@endpoint:/<1s", Pass),
            // Counts and rates are what they are.
            ("errors<2%", Pass),
            ("errors<0.5%", Fail),
            ("ok>=99%", Pass),
            ("rate>=122", Pass),
            ("offered>=200/s", Fail),
        ],
    );
    let passed = judged("p99<400ms", &result);
    assert_eq!(passed.note.as_deref(), Some("passes even with the tester's own delay in it"));
    let failed = judged("max<5ms", &result);
    assert_eq!(failed.note.as_deref(), Some("fails even without the tester's own delay"));
    let open = judged("p99<250ms", &result);
    let note = "in doubt: the true value may be anything from 10.00 ms to 300.0 ms";
    assert_eq!(open.note.as_deref(), Some(note));
}

#[test]
fn each_direction_decides_the_limits_that_it_cannot_cross() {
    let result = slow_tail(vec![
        Touch::above(Figure::Achieved, Reach::Any),
        Touch::above(Figure::Response, Reach::share(0.1)),
        Touch::either(Figure::Counts, Reach::Any),
    ]);
    outcomes(
        &result,
        &[
            ("rate>=122", Pass),
            ("rate>=1000", Undecided),
            ("rate<1000", Undecided),
            ("rate<100", Fail),
            ("p99<331ms", Pass),
            ("p99<320ms", Undecided),
            ("p99<250ms", Fail),
            ("p50==3.1ms", Undecided),
            ("p50!=3.1ms", Undecided),
            ("p50==2ms", Fail),
            ("p50!=2ms", Pass),
            ("errors<2%", Undecided),
            ("errors<0.1%", Undecided),
            ("offered==147/s", Pass),
            ("service.p99<301ms", Pass),
        ],
    );
}

/// Nothing to measure is not a doubt.
#[test]
fn a_condition_without_data_is_not_met() {
    let result = slow_tail(vec![Touch::either(Figure::Response, Reach::Any)]);
    let gate = judged("iteration.p99<1s", &result);
    assert_eq!((gate.outcome(), gate.interval), (Fail, None));
}
