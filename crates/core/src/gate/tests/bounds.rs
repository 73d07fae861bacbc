//! Conditions on times of requests, of which some are incomplete.

use super::{SECOND, judged, result};
use crate::ledger::Ledger;
use crate::series::Point;

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
