//! Conditions that are watched while a run goes on: when they first hold.

use super::*;

/// When conditions first hold over the seconds of [`result`], whose first ten complete 100
/// and whose last ten 150, each with 10 that time out.
#[test]
fn watched_conditions_hold_when_they_have_for_long_enough() {
    let result = result();
    let cases = [
        ("errors>5%", Some(0)),
        ("errors>5% FOR 5s", Some(4)),
        ("errors>5% for 1500ms", Some(1)),
        ("errors>10%", None),
        ("timed_out>=100", Some(9)),
        ("completed>1k", Some(10)),
        ("p50>4.5ms", Some(7)),
        ("p50@last:1s>5.5ms", Some(5)),
        ("p50@last:3s>5.5ms", Some(6)),
        ("service.p50>1ms", None),
        ("response.max>=50ms FOR 20s", Some(19)),
        ("response.max>=50ms FOR 21s", None),
        ("rate@last:1s>120", Some(10)),
        ("rate@last:2s>120 FOR 3s", Some(12)),
        ("rate>120", Some(16)),
        ("ok@last:10s>=1000", Some(9)),
        ("lateness.max>=7us", Some(7)),
        ("cpu@last:5s>=25%", Some(4)),
        ("failed>0", None),
        ("status.503>0", Some(12)),
        ("status.5xx>3", Some(13)),
        ("status.503@last:1s>=1% FOR 3s", Some(14)),
        ("status.404>0", None),
    ];
    let plan = Draft { duration_ns: Some(20 * SECOND), ..Draft::clone(&result.plan) };
    let mut series = result.series.points().to_vec();
    for (point, second) in series.iter_mut().zip(0..) {
        let busy = if second >= 12 { 3 } else { 0 };
        point.status = [(200, point.completed - busy), (503, busy)].into();
    }
    for (text, second) in cases {
        let condition = Condition::parse_abort(text, &[]).unwrap();
        let mut watch = AbortWatch::new(std::slice::from_ref(&condition), &plan);
        let mut points = series.iter();
        let held = points.position(|point| watch.add(point) == Some(&condition));
        assert_eq!(held, second, "{text}");
    }
}

/// What holds once and then not begins again; what has nothing to measure does not hold.
#[test]
fn watched_conditions_start_anew_when_they_cease() {
    let condition = Condition::parse_abort("rate@last:1s<50 FOR 2s", &[]).unwrap();
    let plan = empty().plan;
    let mut watch = AbortWatch::new(&[condition], &plan);
    let held: Vec<bool> = [10, 100, 10, 100, 10, 10]
        .into_iter()
        .zip(0..)
        .map(|(completed, second)| watch.add(&point(second, completed)).is_some())
        .collect();
    assert_eq!(held, [false, false, false, false, false, true]);
    let idle = Point { interval_ns: SECOND, ..Point::default() };
    for text in ["errors>=0%", "failed==0", "p99<1s"] {
        let condition = Condition::parse_abort(text, &[]).unwrap();
        assert_eq!(AbortWatch::new(&[condition], &plan).add(&idle), None, "{text}");
    }
    assert_eq!(AbortWatch::new(&[], &plan).add(&idle), None);
}

/// The second in which the last request is sent, and those in which the rest is drained, are no
/// sign of a rate that sinks.
#[test]
fn a_load_that_ends_is_not_taken_for_one_that_dwindles() {
    let open = Draft { rate: profile("1h@100"), duration_ns: None, ..Draft::clone(&empty().plan) };
    let trace = crate::plan::Trace { path: String::new(), offsets_ns: vec![0, 2 * SECOND + 5] };
    let cases = [
        (Draft { duration_ns: Some(2 * SECOND + 1), ..open.clone() }, None),
        (Draft { requests: Some(225), ..open.clone() }, None),
        (Draft { trace: Some(trace), rate: None, ..open.clone() }, None),
        (Draft { duration_ns: Some(3 * SECOND), ..open.clone() }, Some(2)),
        (Draft { requests: Some(226), ..open }, Some(2)),
    ];
    for (plan, second) in cases {
        let condition = Condition::parse_abort("rate@last:1s<50", &[]).unwrap();
        let mut watch = AbortWatch::new(&[condition], &plan);
        // 110 are sent in each of the first two seconds, 5 in the third, and none in the fourth.
        let mut points = [point(0, 100), point(1, 100), point(2, 0), point(3, 0)];
        (points[2].sent, points[3].sent) = (5, 0);
        let held = points.iter().position(|point| watch.add(point).is_some());
        assert_eq!(held, second, "{plan:?}");
    }
}
