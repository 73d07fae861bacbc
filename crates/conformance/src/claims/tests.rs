//! Claims of made-up testers, and of results of Plimsoll with made-up causes.

use plimsoll_core::doubt::{Off, Reach, Touch};
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::result::{RunResult, Tool};
use plimsoll_core::verdict::{Cause, Verdict};

use super::*;

const NEAR: Tolerance = Tolerance { share: 0.03, more: 0.003 };

const TOPIC: Topic =
    Topic { expected: "a pause", tells: &["paused"], names: &[], figures: &[Figure::Response] };

fn passes(checks: Checks) -> bool {
    matches!(checks.outcome(), Judgement::Pass { .. })
}

fn p99_is(claims: Claims<'_>, truth_s: f64) -> bool {
    let mut checks = Checks::default();
    claims.quantile(&mut checks, (Clock::Response, 0.99), truth_s, NEAR);
    passes(checks)
}

fn said(text: &str) -> Reading {
    let quantiles = vec![(0.99, 0.5)];
    let text = text.to_owned();
    Reading { quantiles, text, completed: Some(100), ..Reading::default() }
}

#[test]
fn a_figure_is_exact_unless_a_warning_puts_it_in_doubt() {
    let quiet = said("");
    let silent = Claims::of(&TOPIC, &quiet, &quiet);
    assert!(p99_is(silent, 0.5));
    assert!(!p99_is(silent, 0.001));
    let warned = said("it was paused");
    assert!(p99_is(Claims::of(&TOPIC, &warned, &quiet), 0.001));
    assert!(!p99_is(Claims::of(&TOPIC, &warned, &warned), 0.001), "it warns of any run");
    let mut checks = Checks::default();
    let claims = Claims::of(&TOPIC, &warned, &quiet);
    claims.completed(&mut checks, 150, Tolerance { share: 0.0, more: 0.0 });
    assert!(!passes(checks), "a warning of times does not cover counts");
}

/// Plimsoll's, of 1000 requests of 1 ms, ten of which were 500 ms late.
fn result(touches: Vec<Touch>) -> Reading {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let mut result = RunResult::empty(tool, &Draft::new(Endpoint::http("a", 80, "/")));
    let response = &mut result.latency.response;
    response.record_n(1_000_000, 980);
    response.record_n(500_000_000, 20);
    let cause = Cause::new(Verdict::Suspect, "paused", "it was paused".to_owned());
    result.loader.causes = vec![Cause { touches, ..cause }];
    Reading { result: Some(Box::new(result)), ..said("") }
}

#[test]
fn doubt_has_to_be_on_the_side_of_the_truth_and_far_enough() {
    let quiet = said("");
    let of = |touch: Touch| result(vec![touch]);
    let pause = Reach::Requests(vec![Off::new(0, 0.02), Off::new(500_000_000, 0.0)]);
    let below = of(Touch::below(Figure::Response, pause.clone()));
    assert!(p99_is(Claims::of(&TOPIC, &below, &quiet), 0.001));
    let above = of(Touch::above(Figure::Response, pause));
    assert!(!p99_is(Claims::of(&TOPIC, &above, &quiet), 0.001), "the wrong side");
    let little = of(Touch::below(Figure::Response, Reach::share(0.5)));
    assert!(!p99_is(Claims::of(&TOPIC, &little, &quiet), 0.001), "not far enough");
}

#[test]
fn what_nothing_disturbed_must_not_be_in_doubt() {
    let quiet = said("");
    let certain = |reading: &Reading| {
        let claims = Claims::of(&TOPIC, reading, &quiet);
        let mut checks = Checks::default();
        claims.are_certain(&mut checks, &[Figure::Counts]);
        claims.is_certain(&mut checks, (Clock::Response, 0.5));
        passes(checks)
    };
    let everything = [Figure::Counts, Figure::Response].map(|it| Touch::either(it, Reach::Any));
    assert!(!certain(&result(everything.to_vec())));
    assert!(certain(&result(vec![Touch::below(Figure::Response, Reach::requests(0.02))])));
    assert!(certain(&said("it was paused")), "it does not judge single figures");
}

#[test]
fn being_told_is_one_half() {
    let wrong = || {
        let mut checks = Checks::default();
        checks.exactly("completed", 1, 2);
        checks
    };
    let pass = || Judgement::pass("a");
    assert_eq!(both(pass(), Checks::default()), pass());
    assert_eq!(both(pass(), wrong()), Judgement::fail("a, completed 1", "completed 2"));
    let untold = Judgement::fail("b", "c");
    assert_eq!(both(untold.clone(), wrong()), untold);
}
