//! Limits on the change: how they are read, and what they make of two sides.

use super::documents::{failing, side};
use super::studies::study;
use crate::comparison::*;
use crate::result::Tool;

#[test]
fn limits_are_read_or_refused_with_what_to_write() {
    for text in ["p99>+10%", " rate < -5 % ", "errors>+1%", "service.p50>+0.5%", "rss>+0%"] {
        assert!(Limit::parse(text).is_ok(), "{text}");
    }
    for (text, says) in [
        ("", "p99>+10%"),
        ("p99", "p99>+10%"),
        ("p99>10%", "p99>+10%"),
        ("p99>+10", "p99>+10%"),
        ("p99>-10%", "p99>+10%"),
        ("p99<+10%", "p99>+10%"),
        ("p99>+1e3%", "p99>+10%"),
        ("p99>+inf%", "p99>+10%"),
        ("p99>+%", "p99>+10%"),
        ("p99>+1%<-1%", "p99>+10%"),
        ("speed>+1%", "'speed' is not a measure: there are rate"),
        ("rps>+1%", "'rps' is not a measure: did you mean 'rate'?"),
        ("pp99>+1%", "'pp99' is not a measure: did you mean 'p99'?"),
        ("rate<-100%", "100 %"),
        ("p99>+99999999999%", "100 %"),
    ] {
        let error = Limit::parse(text).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn limits_are_broken_by_what_is_more_than_noise_and_beyond_them() {
    let steady = [1000, 1010, 990, 1005, 995];
    let rough = [1000, 1500, 700, 1200, 900];
    let by = |services_us: &[u64], percent: u64| -> Vec<u64> {
        services_us.iter().map(|us| us * percent / 100).collect()
    };
    for (limit, base, new, pass, note) in [
        ("p99>+10%", &steady[..], by(&steady, 120), false, None),
        ("p99>+10%", &steady, by(&steady, 105), true, None),
        ("p99>+10%", &steady, by(&steady, 80), true, None),
        ("rate<-10%", &steady, by(&steady, 120), false, None),
        ("rate<-10%", &steady, by(&steady, 105), true, None),
        ("rate>+10%", &steady, by(&steady, 80), false, None),
        ("p99>+10%", &rough, by(&rough, 120), true, Some("noise hides changes below")),
        ("p99>+10%", &steady[..1], by(&steady[..1], 200), false, Some("it takes 4 repeats")),
        ("rss>+10%", &steady, by(&steady, 100), false, Some("rss was not measured")),
        ("errors>+1%", &steady, by(&steady, 120), true, None),
        // Below the least change of the others, because the limit says so.
        ("p50>+0.2%", &[100_000; 5], vec![100_500; 5], false, None),
        ("p50>+2%", &[100_000; 5], vec![100_500; 5], true, None),
    ] {
        let read = Limit::parse(limit).unwrap();
        let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
        let (base, new) = (side("base", 0, base), side("new", 1, &new));
        let found = Contrast::of(&base, &new, Settings::default(), &[read], tool);
        let judged = &found.limits[0];
        assert_eq!((judged.pass, found.passes()), (pass, pass), "{limit}: {found:?}");
        assert_eq!(judged.expr, limit);
        match (note, &judged.note) {
            (Some(want), Some(got)) => assert!(got.contains(want), "{limit}: {got}"),
            (want, got) => assert_eq!(got.as_deref(), want, "{limit}"),
        }
    }
}

/// A limit looks at every case of the base: one that is gone has not kept it.
#[test]
fn a_case_that_the_new_side_does_not_have_breaks_a_limit() {
    let base = Side::of_study("base", &study("wrk", "wrk {url}", &["few", "many"], 1.0));
    let new = Side::of_study("new", &study("wrk", "wrk {url}", &["many"], 1.0));
    let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
    let limit = Limit::parse("p99>+10%").unwrap();
    let found = Contrast::of(&base, &new, Settings::default(), &[limit], tool);
    let judged: Vec<_> = found.limits.iter().map(|it| (it.load.as_str(), it.pass)).collect();
    assert_eq!(judged, [("few", false), ("many", true)]);
    assert_eq!(found.limits[0].note.as_deref(), Some("the new side does not have this case"));
}

/// Half as much again is a rise of 50 % and falls back by a third.
#[test]
fn what_noise_hides_is_told_in_the_direction_of_the_limit() {
    let rough = [1000, 1500, 700, 1200, 900];
    let (base, new) = (side("base", 0, &rough), side("new", 1, &rough));
    let hidden = |limit: &str| {
        let judged =
            Limit::parse(limit).unwrap().judge(&base.cases[0], &new.cases[0], &Settings::default());
        let note = judged.note.expect("a note");
        let number = note.split_once("below ").and_then(|(_, rest)| rest.split_once(" %"));
        number.expect("a number").0.parse::<f64>().unwrap() / 100.0
    };
    let (rise, fall) = (hidden("rate>+1%"), hidden("rate<-1%"));
    assert!((fall - rise / (1.0 + rise)).abs() < 1e-3 && fall < 1.0, "{rise} {fall}");
}

/// Runs that are left out are no secret.
#[test]
fn a_limit_says_how_many_runs_had_no_say() {
    let mut broken = study("wrk", "wrk {url}", &["few"], 1.0);
    broken.cases[0].runs[0].failure = Some("the server ended".to_owned());
    let runs = broken.cases[0].runs.len();
    let base = Side::of_study("base", &study("wrk", "wrk {url}", &["few"], 1.0));
    let new = Side::of_study("new", &broken);
    let judged = Limit::parse("p99>+10%").unwrap().judge(
        &base.cases[0],
        &new.cases[0],
        &Settings::default(),
    );
    let want = format!("new: 1 of {runs} runs have no p99 that counts");
    assert!(judged.note.as_ref().is_some_and(|note| note.contains(&want)), "{judged:?}");
}

/// Success comes first: a failed answer is not a fast one.
#[test]
fn limits_on_speed_are_broken_by_failures() {
    let good = || failing("base", 0, 1000, [0; 5]);
    for (limit, base, new, pass, said) in [
        ("rate<-5%", good(), failing("new", 1, 15, [1000; 5]), false, true),
        ("p99>+10%", good(), failing("new", 1, 15, [1000; 5]), false, true),
        ("p99>+10%", good(), failing("new", 1, 500, [0, 0, 30, 0, 20]), false, true),
        ("p99>+10%", good(), failing("new", 1, 1000, [0, 0, 1, 0, 0]), true, false),
        ("p99>+10%", failing("base", 0, 1000, [1000; 5]), good(), true, true),
        ("errors>+1%", good(), failing("new", 1, 15, [1000; 5]), false, false),
    ] {
        let judged =
            Limit::parse(limit).unwrap().judge(&base.cases[0], &new.cases[0], &Settings::default());
        assert_eq!(judged.pass, pass, "{limit}: {judged:?}");
        let is_said = judged.note.is_some_and(|note| note.contains("success comes first"));
        assert_eq!(is_said, said, "{limit}");
    }
}
