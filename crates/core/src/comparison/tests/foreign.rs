//! Results of another tester: which times are compared, what readers are told, and what is refused.

use super::documents::{of_results, result};
use crate::comparison::*;
use crate::foreign::{ForeignResult, Interpolated, ServiceTimes};
use crate::result::Tool;
use crate::study::{Column, Figures, Measure};

const US: [f64; 5] = [1000.0, 1010.0, 990.0, 1005.0, 995.0];

/// A run at `second` whose quantiles are all `us`.
fn foreign(second: usize, us: f64, is_paced: bool) -> ForeignResult {
    let quantile = |q| {
        let s = us / 1e6;
        Interpolated { q, s, bucket_s: Some((0.0, 2.0 * s)), is_said: true }
    };
    let times = ServiceTimes {
        count: Some(100_000),
        quantiles: [0.5, 0.9, 0.99, 0.999].map(quantile).to_vec(),
        ..ServiceTimes::default()
    };
    ForeignResult {
        read_as: "a result of fortio 1.75.2 (HTTP)".to_owned(),
        tester: "fortio 1.75.2".to_owned(),
        started_at: Some(format!("2026-11-21T12:00:{second:02}Z")),
        is_paced: Some(is_paced),
        facts: [("rate".to_owned(), "100/s".to_owned())].into(),
        figures: Figures {
            rate_rps: Some(1e6 / us),
            completed: Some(100_000),
            failed: Some(0),
            errors: Some(0),
            service: times.figures(),
            ..Figures::default()
        },
        times,
        ..ForeignResult::default()
    }
}

fn repeats(first: usize, by: f64, is_paced: bool) -> Vec<Repeat> {
    let one = |(at, us): (usize, &f64)| {
        Repeat::of_foreign(&format!("{at}.json"), &foreign(first + 2 * at, us * by, is_paced))
    };
    US.iter().enumerate().map(one).collect()
}

fn side(first: usize, by: f64, is_paced: bool) -> Side {
    Side::of_repeats("side", &repeats(first, by, is_paced), false).unwrap()
}

fn contrast(base: &Side, new: &Side, limits: &[&str]) -> Contrast {
    let limits: Vec<Limit> = limits.iter().map(|text| Limit::parse(text).unwrap()).collect();
    let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
    Contrast::of(base, new, Settings::default(), &limits, tool)
}

fn has(notes: &[String], words: &str) -> bool {
    notes.iter().any(|note| note.contains(words))
}

#[test]
fn at_a_rate_the_tail_of_service_time_decides() {
    for (is_paced, headline) in [(true, "service.p99"), (false, "rate")] {
        let (base, new) = (side(10, 1.0, is_paced), side(11, 1.2, is_paced));
        let limits = ["service.p99>+10%", "p99>+10%", "mean>+10%"];
        let found = contrast(&base, &new, &limits);
        let case = &found.cases[0];
        assert_eq!(case.headline.measure.to_string(), headline);
        assert_eq!(case.decision, CaseDecision::Worse);
        let measures: Vec<Column> =
            case.others.iter().chain([&case.headline]).map(|it| it.measure).collect();
        let holds = |measure| measures.contains(&Column { measure, over: None });
        assert!(holds(Measure::Service(0.5)) && holds(Measure::Service(0.999)));
        assert!(!holds(Measure::Latency(0.99)), "it has no response times");
        assert!(has(&case.notes, "is in neither side's"), "{:?}", case.notes);
        assert!(!found.limits.iter().any(|judged| judged.pass));
        let says = found.limits.iter().map(|judged| judged.note.clone().unwrap_or_default());
        let says: Vec<String> = says.collect();
        assert_eq!(says[0], "");
        assert!(has(&says[1..2], "p99 was not measured on both sides"), "{says:?}");
        assert!(has(&says[2..], "mean was not measured on both sides"), "{says:?}");
        let read = "'0.json' and 4 other files: read as a result of fortio 1.75.2 (HTTP)";
        assert!(has(&found.notes, read), "{:?}", found.notes);
        assert!(has(&found.notes, "p99 within 0 ns to 2.00 ms"), "{:?}", found.notes);
    }
}

#[test]
fn against_results_of_our_own_service_times_alone_are_compared() {
    let own: Vec<_> = (0..5).map(|at| (format!("{at}"), result(10 + 2 * at, 1000))).collect();
    let base = of_results("own", &own, false).unwrap();
    let new = side(11, 1.2, false);
    let differences = base.differences(&new);
    assert!(has(&differences, "tester plimsoll 0.1.0 and fortio 1.75.2"), "{differences:?}");
    assert!(has(&differences, "rate none and 100/s"), "{differences:?}");
    let found = contrast(&base, &new, &["p99>+10%"]);
    let case = &found.cases[0];
    assert!(has(&case.notes, "have no counterpart"), "{:?}", case.notes);
    let names: Vec<String> = case.others.iter().map(|it| it.measure.to_string()).collect();
    assert!(names.iter().any(|name| name == "service.p99"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with('p')), "{names:?}");
    assert_eq!(found.outcome(), Outcome::Undecided, "a side does not have it");
}

#[test]
fn runs_that_differ_or_were_cut_short_do_not_mix() {
    let mut mixed = repeats(10, 1.0, true);
    let other = ForeignResult { tester: "fortio 1.60".to_owned(), ..foreign(30, 1e3, true) };
    mixed.push(Repeat::of_foreign("other.json", &other));
    let error = Side::of_repeats("x", &mixed, false).unwrap_err().to_string();
    assert!(error.contains("tester fortio 1.75.2 and fortio 1.60"), "{error}");
    assert!(Side::of_repeats("x", &mixed, true).is_ok());
    let cut = ForeignResult {
        failure: Some("ended after 1s of 5s".to_owned()),
        ..foreign(30, 1e3, true)
    };
    let mut repeats = repeats(10, 1.0, true);
    repeats.push(Repeat::of_foreign("cut.json", &cut));
    let base = Side::of_repeats("x", &repeats, false).unwrap();
    let found = contrast(&base, &side(11, 1.0, true), &[]);
    let notes = &found.cases[0].notes;
    assert!(has(notes, "base: 1 of 6 runs do not count: ended after 1s of 5s"), "{notes:?}");
}
