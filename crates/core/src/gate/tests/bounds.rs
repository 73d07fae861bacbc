//! Conditions on times of requests, of which some are incomplete.

use super::{MS, SECOND, judged, result};
use crate::ledger::Ledger;
use crate::result::Outcome;
use crate::series::Point;
use crate::streams::Streams;

/// Requests without a response count with the time they had waited, which shows nothing of a limit
/// above that.
#[test]
fn a_lower_bound_meets_no_upper_limit() {
    let mut result = result();
    // The drain.
    result.series.add(&Point { t_ns: 20 * SECOND, interval_ns: SECOND, ..Point::default() });
    result.endpoints[0].ledger =
        Ledger { scheduled: 250, sent: 250, completed: 247, ..Ledger::default() };
    let anything = |requests| {
        Some(format!("{requests} incomplete requests the true value may be anything above"))
    };
    for (text, value, pass, doubt) in [
        // 500 of 3000 have no response.
        ("p80<10.1ms", "10.00 ms", true, None),
        (
            "p82<10.5ms",
            "≥ 10.00 ms",
            false,
            Some("500 incomplete requests the true value may be up to 11.00 ms".into()),
        ),
        ("p82<11.1ms", "≥ 10.00 ms", true, None),
        ("p90<20ms", "≥ 10.00 ms", false, anything(500)),
        ("p90<=20ms", "≥ 10.00 ms", false, anything(500)),
        ("p90<5ms", "≥ 10.00 ms", false, None),
        ("p90>5ms", "≥ 10.00 ms", true, None),
        ("max<1s", "≥ 40.00 ms", false, anything(500)),
        ("ok.max<1s", "10.00 ms", true, None),
        // Of those that were sent, 200.
        ("service.p90<7ms", "6.000 ms", true, None),
        ("service.p95<1s", "≥ 6.000 ms", false, anything(200)),
        ("p95@endpoint:/<1s", "16.00 ms", true, None),
        ("p99@endpoint:/<1s", "≥ 16.00 ms", false, anything(3)),
        // Of 1100 that ended, 100 timed out.
        ("p90@0s..10s<20ms", "10.00 ms", true, None),
        ("p95@0s..10s<1s", "≥ 50.00 ms", false, anything(100)),
        // When the run ended, 220 more had no response.
        ("p80@10s..20s<1s", "≥ 19.01 ms", true, None),
        ("p90@10s..20s<1s", "≥ 20.00 ms", false, anything(320)),
    ] {
        let gate = judged(text, &result);
        assert_eq!((gate.measured().as_str(), gate.pass), (value, pass), "{text}: {gate:?}");
        let note = doubt.map(|doubt| format!("with {doubt}"));
        assert_eq!(gate.note, note, "{text}");
        assert_eq!(gate.undecided, note.is_some(), "{text}");
    }
}

/// Of 100 calls 89 had no first message within half a second, and one answer in four never came.
#[test]
fn messages_that_never_came_fail_limits_below_their_wait() {
    let mut result = result();
    let mut streams = Streams::new(true);
    streams.first_message.record_n(5 * MS, 11);
    (0..89).for_each(|_| streams.no_first_message(500 * MS));
    streams.gaps.record_n(MS, 100);
    if let Some(round_trips) = &mut streams.round_trips {
        round_trips.record_n(4 * MS, 75);
    }
    (0..25).for_each(|_| streams.no_answer(300 * MS));
    result.grpc_streams = Some(Box::new(streams));
    for (text, want) in [
        ("first_message.p99<100ms", Outcome::Fail),
        ("first_message.p99<1s", Outcome::Undecided),
        ("first_message.p99>400ms", Outcome::Pass),
        ("first_message.mean<100ms", Outcome::Fail),
        ("round_trip.p99<100ms", Outcome::Fail),
        ("round_trip.p99<1s", Outcome::Undecided),
        ("round_trip.p40<5ms", Outcome::Pass),
        ("message_gap.p99<2ms", Outcome::Pass),
    ] {
        let gate = judged(text, &result);
        assert_eq!(gate.outcome(), want, "{gate:?}");
    }
    let note = judged("first_message.p99<1s", &result).note;
    let words = "with 89 missing messages the true value may be anything above";
    assert_eq!(note.as_deref(), Some(words));
}
