//! Sides made of studies.

use super::documents::{BASE_US, contrast, side};
use crate::comparison::*;
use crate::study::{Case, CaseRun, Figures, LoadFacts, Quantile, ServerFacts, Study};
use crate::usage::Usage;

/// A study with one case for each name of a load, its rates around 1000 times `by`.
pub(super) fn study(tester: &str, command: &str, loads: &[&str], by: f64) -> Study {
    let mut study = Study::empty("echo");
    study.servers.push(ServerFacts { name: "nginx".to_owned(), ..ServerFacts::default() });
    for load in loads {
        study.loads.push(LoadFacts {
            name: (*load).to_owned(),
            tester: tester.to_owned(),
            command: command.to_owned(),
            ..LoadFacts::default()
        });
        let run = |repeat: u32| CaseRun {
            repeat,
            figures: Figures {
                rate_rps: Some((1000.0 + f64::from(repeat)) * by),
                latency: vec![Quantile::known(0.99, 0.001 / by + f64::from(repeat) * 1e-6)],
                completed: Some(1000),
                ..Figures::default()
            },
            server: Some(Usage { cpu_ns: 1_000_000, rss_peak_bytes: 5, ..Usage::default() }),
            ..CaseRun::default()
        };
        study.cases.push(Case {
            server: "nginx".to_owned(),
            load: (*load).to_owned(),
            skipped: None,
            runs: (1..=5).map(run).collect(),
        });
    }
    study
}

#[test]
fn studies_are_compared_case_by_case() {
    let base = Side::of_study("base", &study("wrk", "wrk {url}", &["few", "many"], 1.0));
    let new = Side::of_study("new", &study("wrk", "wrk {url}", &["many", "more"], 1.1));
    let found = contrast(&base, &new);
    let case = &found.cases[0];
    assert_eq!(found.cases.len(), 1);
    assert_eq!((case.server.as_str(), case.load.as_str()), ("nginx", "many"));
    assert_eq!(case.decision, CaseDecision::Better);
    let others: Vec<String> = case.others.iter().map(|it| it.measure.to_string()).collect();
    assert_eq!(others, ["p99", "cpu_per_request", "errors", "rss"]);
    assert_eq!(
        found.notes,
        ["in 'base' alone: nginx under few", "in 'new' alone: nginx under more"]
    );
}

#[test]
fn the_measure_that_decides_is_the_loads() {
    for (tester, command, want) in [
        ("wrk", "wrk -c 5 {url}", "rate"),
        ("wrk2", "wrk2 -R 1000 {url}", "p99"),
        ("fortio", "fortio load -qps 0 {url}", "rate"),
        ("fortio", "fortio load -qps 100 {url}", "p99"),
        ("fortio", "fortio load {url}", "p99"),
        ("ab", "ab -r {url}", "rate"),
        ("oha", "oha -q 100 {url}", "p99"),
    ] {
        let [base, new] =
            [1.0, 1.0].map(|by| Side::of_study("x", &study(tester, command, &["load"], by)));
        let found = contrast(&base, &new);
        assert_eq!(found.cases[0].headline.measure.to_string(), want, "{command}");
    }
}

#[test]
fn loads_that_were_made_otherwise_are_unlike() {
    let of = |command: &str| Side::of_study("x", &study("wrk", command, &["few"], 1.0));
    assert!(of("wrk -c 5").differences(&of("wrk -c 5")).is_empty());
    assert_eq!(
        of("wrk -c 5").differences(&of("wrk -c 9")),
        ["command of load few wrk -c 5 and wrk -c 9"]
    );
    let results = side("r", 0, &BASE_US);
    assert_eq!(of("wrk").differences(&results), ["'x' is a study, 'r' of results"]);
    assert!(contrast(&of("wrk"), &results).cases.is_empty());
}

#[test]
fn nothing_on_a_side_is_no_panic() {
    let mut bare = study("wrk", "wrk", &["few"], 1.0);
    bare.cases[0].runs.clear();
    let bare = Side::of_study("bare", &bare);
    let full = Side::of_study("full", &study("wrk", "wrk", &["few"], 1.0));
    for (base, new) in [(&bare, &full), (&full, &bare), (&bare, &bare)] {
        let found = contrast(base, new);
        assert_eq!(found.cases[0].headline.comparison.reason, Some(Reason::NothingMeasured));
    }
    let none = Side::of_study("none", &Study::default());
    assert!(contrast(&none, &none).cases.is_empty());
}

/// Looking up each run and each case takes no look at every other.
#[test]
fn sides_of_many_runs_are_read_in_one_pass() {
    let mut many = study("wrk", "wrk {url}", &["few"], 1.0);
    let run = many.cases[0].runs[0].clone();
    many.cases[0].runs = (0..20_000)
        .map(|i| CaseRun { repeat: i, started_at: format!("{i:06}"), ..run.clone() })
        .collect();
    let base = Side::of_study("base", &many);
    let found = contrast(&base, &base);
    assert_eq!(found.base.runs, 20_000);
    assert_eq!(found.notes, ["both sides are the same runs: there is nothing to compare"]);
}
