//! What causes can have done to times, by evidence whose effect is known.

use super::*;

/// The least that a median and a 99th percentile can be, as shares of what was measured: of times
/// that are all 20 ms but for 5 % of 40 ms.
fn lows(evidence: &Evidence) -> [f64; 2] {
    let mut times = Histogram::new();
    times.record_n(20_000_000, 950);
    times.record_n(40_000_000, 50);
    let causes = judge(evidence);
    let doubts = Doubts::of(causes.iter().flat_map(|cause| &cause.touches));
    [0.5, 0.99].map(|q| {
        let interval = doubts.quantile_ns(Figure::Response, &Bounds::new(&times, 0, 0), q);
        interval.low / times.quantile_ns(q).unwrap() as f64
    })
}

#[test]
fn a_closed_loop_waits_no_longer_than_its_tester_stood_still() {
    let shared = |share: f64| Evidence {
        open_loop: false,
        worker_run_delay: vec![share],
        cycle_ns: 21e6,
        ..good()
    };
    // A request waits 1.05 ms on average, so at most 40 % of them wait 2.6 ms or longer.
    let [p50, p99] = lows(&shared(0.05));
    assert!((0.86..0.88).contains(&p50), "{p50}");
    // All of the slowest may be among those that waited.
    assert!((0.45..0.5).contains(&p99), "{p99}");
    let [worse, _] = lows(&shared(0.2));
    assert!(worse < p50, "{worse}");
    let stamped = Evidence { kernel_stamps: true, ..shared(0.2) };
    assert_eq!(lows(&stamped).map(|low| low > 0.99), [true, true]);
}

#[test]
fn reading_is_as_late_as_sending_unless_the_kernel_timed_it() {
    let of = |figure: Figure, kernel_stamps: bool| {
        let evidence = Evidence { kernel_stamps, ..late_at(4, 2_000_000, 3_000_000) };
        let touches = judge(&evidence).remove(0).touches;
        touches.into_iter().find(|touch| touch.figure == figure).map(|touch| touch.below)
    };
    let tail = |reach: Option<Reach>| match reach {
        // After it come that of p99.9 and the latest.
        Some(Reach::Requests(offs)) => {
            let p99 = offs[offs.len() - 3];
            (p99.over_ns, p99.share_ppm / 1000)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(tail(of(Figure::Response, false)), (4_000_000, 30));
    assert_eq!(tail(of(Figure::Service, false)), (2_000_000, 20));
    assert_eq!(tail(of(Figure::Response, true)), (2_000_000, 10));
    assert_eq!(of(Figure::Service, true), None);
}

/// A tester that reads late holds its connections, so that requests wait for one.
#[test]
fn waits_for_a_connection_may_be_the_testers_own() {
    let mut evidence =
        Evidence { worker_run_delay: vec![0.7], elapsed_ns: 3_000_000_000, ..good() };
    evidence.blocked = [Quoted { lateness_ns: 500_000_000, response_ns: 0 }; QUOTED.len()];
    evidence.blocked_max_ns = 900_000_000;
    let mut times = Histogram::new();
    times.record_n(510_000_000, 1000);
    let low_ms = |evidence: &Evidence| {
        let causes = judge(evidence);
        let doubts = Doubts::of(causes.iter().flat_map(|cause| &cause.touches));
        let times = Bounds::new(&times, 0, 0);
        (doubts.quantile_ns(Figure::Response, &times, 0.5).low / 1e6).round()
    };
    assert_eq!(low_ms(&evidence), 10.0);
    // It stood still for 300 ms in all, so it can have added no more.
    assert_eq!(low_ms(&Evidence { worker_run_delay: vec![0.1], ..evidence.clone() }), 210.0);
    assert_eq!(low_ms(&Evidence { worker_run_delay: vec![0.0], ..evidence }), 510.0);
}

/// What is due in the last 6 ms of a window can come after its end, if sending and reading are 3
/// ms late.
#[test]
fn a_late_tester_cuts_a_short_window_and_not_a_long_one() {
    let high = |elapsed_ns: u64, evidence: Evidence| {
        let lateness_max_ns = 3_000_000;
        let causes = judge(&Evidence { elapsed_ns, lateness_max_ns, ..evidence });
        let doubts = Doubts::of(causes.iter().flat_map(|cause| &cause.touches));
        doubts.value(Figure::Achieved, 0.94).high
    };
    let late =
        || Evidence { after_window: 5_000, completed: 10_000, ..late_at(4, 2_000_000, 3_000_000) };
    let short = high(100_000_000, late());
    assert!((0.999..1.001).contains(&short), "{short}");
    assert!(high(6_000_000, late()) < 1.881, "as much again has come");
    assert_eq!(high(100_000_000, Evidence { after_window: 0, ..late() }), 0.94);
    let shared = high(100_000_000, Evidence { worker_run_delay: vec![0.2], ..late() });
    assert!(shared > short, "two causes");
    assert!(high(60_000_000_000, late()) < 0.941);
    assert_eq!(high(100_000_000, Evidence { open_loop: false, ..good() }), 0.94);
}
