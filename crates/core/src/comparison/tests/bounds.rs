//! Percentiles that are lower bounds, because too many requests had no whole response.

use super::documents::{contrast, of_results, result};
use crate::comparison::*;
use crate::histogram::Histogram;
use crate::result::Tool;
use crate::study::{Measure, Study};

/// Five runs of 1000 requests; in each, `broken` had no answer within `given_up_ms`.
fn resetting(name: &str, first: u32, broken: u64, given_up_ms: u64) -> Side {
    let of_one = |i: u32| {
        let mut result = result(first + 2 * i, 1000);
        let mut times = Histogram::new();
        times.record_n(1_000_000 + u64::from(i), 1000 - broken);
        times.record_n(given_up_ms * 1_000_000 + u64::from(i), broken);
        result.latency.response = times.clone();
        result.latency.service = times;
        result.rate.achieved_rps = 100.0;
        result.ledger.broken = broken;
        result.ledger.completed = 1000 - broken;
        result.ledger.ok = 1000 - broken;
        (format!("{name}{i}"), result)
    };
    of_results(name, &(0..5).map(of_one).collect::<Vec<_>>(), false).unwrap()
}

#[test]
fn the_time_of_failures_is_no_speed() {
    let found = contrast(&resetting("base", 0, 50, 900), &resetting("new", 1, 50, 300));
    let case = &found.cases[0];
    let measured = |name: &str| {
        let all = case.others.iter().chain([&case.headline]);
        let found = all.filter(|it| it.measure.to_string() == name).map(|it| &it.comparison);
        found.map(|it| (it.decision, it.reason)).next().unwrap()
    };
    for (name, reason) in [
        ("p50", Reason::TooSmall),
        ("p90", Reason::TooSmall),
        ("p99", Reason::LowerBound),
        ("p99.9", Reason::LowerBound),
        ("service.p99", Reason::LowerBound),
    ] {
        let (decision, why) = measured(name);
        assert_eq!(decision, Decision::CannotTell, "{name}");
        let is_small = matches!(why, Some(Reason::TooSmall | Reason::WithinNoise));
        assert!(why == Some(reason) || (reason == Reason::TooSmall && is_small), "{name}: {why:?}");
    }
}

#[test]
fn as_many_failures_as_lie_beyond_leave_a_percentile_as_it_is() {
    let found = contrast(&resetting("base", 0, 0, 1), &resetting("new", 1, 1, 300));
    let others = &found.cases[0].others;
    let p99 = others.iter().find(|it| it.measure.to_string() == "p99").unwrap();
    assert_ne!(p99.comparison.reason, Some(Reason::LowerBound));
}

#[test]
fn limits_on_lower_bounds_do_not_pass() {
    let sound = || resetting("sound", 0, 0, 1);
    let unsound = |first, ms| resetting("unsound", first, 50, ms);
    for (limit, base, new, pass, note) in [
        ("p99>+5%", unsound(0, 300), unsound(1, 300), false, "p99 is a lower bound"),
        ("p99>+5%", unsound(0, 900), unsound(1, 300), false, "p99 is a lower bound"),
        // The true change is a greater fall than that.
        ("p99>+5%", unsound(0, 300), resetting("new", 1, 0, 1), true, "the base fails more"),
        ("p99<-50%", unsound(0, 900), unsound(1, 300), false, "p99 is a lower bound"),
        ("p99>+5%", sound(), resetting("new", 1, 0, 1), true, ""),
    ] {
        let read = Limit::parse(limit).unwrap();
        let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
        let found = Contrast::of(&base, &new, Settings::default(), &[read], tool);
        let judged = &found.limits[0];
        assert_eq!(judged.pass, pass, "{limit}: {judged:?}");
        assert!(judged.note.as_deref().unwrap_or_default().contains(note), "{limit}: {judged:?}");
    }
}

#[test]
fn servers_of_a_study_are_not_ranked_by_lower_bounds() {
    let sides = [resetting("slow", 0, 50, 900), resetting("fast", 1, 50, 300)];
    let mut study = Study::empty("study");
    for side in &sides {
        let case = side.cases[0].case.clone();
        study.cases.push(crate::study::Case { server: side.name.clone(), ..case });
    }
    study.baseline = Some("slow".to_owned());
    let measure = Measure::Latency(0.99);
    for place in ranking(&study, "", measure) {
        assert_eq!((place.best, place.worst), (1, 2), "{}", place.case.server);
    }
    let compared = against_baseline(&study, &study.cases[1], measure).unwrap();
    assert_eq!(compared.reason, Some(Reason::LowerBound));
    // The document keeps it; what was written without it reads as known.
    let text = serde_json::to_string(&study).unwrap();
    let read: Study = serde_json::from_str(&text).unwrap();
    assert!(read.cases[0].has_lower_bound(measure));
    let older = text.replace(r#","is_lower_bound":true"#, "");
    let read: Study = serde_json::from_str(&older).unwrap();
    assert!(!read.cases[0].has_lower_bound(measure));
}
