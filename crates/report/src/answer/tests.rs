//! Answers of runs: what leads, how it looks, and that one judgement is made at a time.

use plimsoll_core::Ledger;
use plimsoll_core::doubt::{Figure, Reach, Touch};
use plimsoll_core::result::{Gate, Unit};
use plimsoll_core::verdict::{Cause, Verdict};

use super::*;
use crate::samples;

/// A hundred requests, of which some were answered otherwise than with 200.
fn with_statuses(others: &[(u16, u64)]) -> RunResult {
    let mut result = samples::steady();
    let failed: u64 = others.iter().map(|(_, count)| count).sum();
    let all = 1000;
    result.ledger = Ledger {
        scheduled: all,
        sent: all,
        completed: all,
        ok: all - failed,
        failed,
        ..Ledger::default()
    };
    result.status = others.iter().copied().chain([(200, all - failed)]).collect();
    result
}

fn gate(expr: &str, value: f64, unit: Unit, pass: bool) -> Gate {
    Gate { expr: expr.to_owned(), value: Some(value), unit, pass, ..Gate::default() }
}

#[test]
fn half_of_the_answers_failing_is_what_a_reader_sees() {
    let answer = Answer::of(&with_statuses(&[(503, 400), (429, 100)]));
    assert_eq!(answer.look, Look::Bad);
    assert_eq!(answer.lead, "500 of 1 000 failed: 503 x 400, 429 x 100");
    assert!(answer.behind[0].contains(" responses/s · response p50 "), "{:?}", answer.behind);
    assert_eq!(answer.confidence.verdict, Verdict::Valid);
}

#[test]
fn few_failures_are_said_and_green() {
    for (failed, look) in [(10, Look::Good), (11, Look::Bad)] {
        let answer = Answer::of(&with_statuses(&[(503, failed)]));
        assert_eq!(
            (answer.look, answer.lead),
            (look, format!("{failed} of 1 000 failed: 503 x {failed}"),)
        );
    }
}

/// A reader of the first line alone takes no figures for good ones that are not.
#[test]
fn figures_that_do_not_hold_do_not_look_good() {
    for (verdict, look) in [
        (Verdict::Valid, Look::Good),
        (Verdict::Suspect, Look::Good),
        (Verdict::Invalid, Look::Caution),
    ] {
        let mut result = samples::steady();
        let causes = [Cause {
            touches: vec![Touch::either(Figure::Response, Reach::Any)],
            ..Cause::new(verdict, "paused", "the tester stood still".to_owned())
        }];
        result.loader.verdict = verdict;
        result.loader.causes =
            causes.into_iter().filter(|cause| cause.verdict > Verdict::Valid).collect();
        let answer = Answer::of(&result);
        assert_eq!((answer.confidence.verdict, answer.look), (verdict, look));
    }
}

#[test]
fn without_gates_and_failures_rate_and_times_lead() {
    let answer = Answer::of(&samples::steady());
    assert_eq!(answer.look, Look::Good);
    assert_eq!(
        answer.lead,
        "17 188 responses/s · response p50 2.70 ms, p99 6.39 ms · service p50 2.70 ms, p99 6.39 ms"
    );
    assert!(answer.behind.is_empty());
    assert_eq!(answer.sureness(), "valid · all figures hold: the tester did not disturb them");
}

#[test]
fn gates_lead_the_worst_first() {
    let mut result = samples::steady();
    for (gates, look, want) in [
        (
            vec![
                gate("p99<250ms", 3279.0, Unit::Us, true),
                gate("errors<1%", 0.0, Unit::Share, true),
            ],
            Look::Good,
            "2 gates passed: p99 3.279 ms < 250 ms; errors 0 % < 1 %",
        ),
        (vec![gate("p99<250ms", 3279.0, Unit::Us, true); 3], Look::Good, "3 gates passed"),
        (
            vec![
                gate("p50<250ms", 251_000.0, Unit::Us, false),
                gate("p99<250ms", 900_000.0, Unit::Us, false),
                gate("max<1s", 1e3, Unit::Us, true),
                gate("p75<250ms", 300_000.0, Unit::Us, false),
            ],
            Look::Bad,
            "3 of 4 gates FAILED: p99 900.0 ms is not < 250 ms; p75 300.0 ms is not < 250 ms",
        ),
        (
            vec![
                Gate {
                    undecided: true,
                    note: Some("in doubt: the true value may be anything from 1 ms up".to_owned()),
                    ..gate("p99<250ms", 271_000.0, Unit::Us, false)
                },
                gate("errors<1%", 0.0, Unit::Share, true),
            ],
            Look::Caution,
            "1 of 2 gates UNDECIDED: p99 271.0 ms may be < 250 ms or not, in doubt: the true value \
             may be anything from 1 ms up",
        ),
        (
            vec![
                gate("errors<1%", 0.5, Unit::Share, false),
                Gate { undecided: true, ..gate("p99<250ms", 1.0, Unit::Us, false) },
            ],
            Look::Bad,
            "1 of 2 gates FAILED: errors 50 % is not < 1 %; 1 undecided",
        ),
    ] {
        result.gates = gates;
        let answer = Answer::of(&result);
        assert_eq!((answer.look, answer.lead.as_str()), (look, want));
        assert!(answer.behind[0].starts_with("17 188 responses/s"), "{:?}", answer.behind);
    }
}

#[test]
fn gates_that_pass_do_not_hide_failures() {
    let mut result = with_statuses(&[(503, 500)]);
    result.gates = vec![gate("p99<250ms", 3279.0, Unit::Us, true)];
    let answer = Answer::of(&result);
    assert_eq!(answer.look, Look::Caution);
    assert_eq!(answer.lead, "gate passed: p99 3.279 ms < 250 ms");
    assert_eq!(answer.behind[0], "500 of 1 000 failed: 503 x 500");
    for expr in ["errors<60%", "errors>0", "errors@endpoint:good<1%"] {
        result.gates = vec![gate(expr, 0.5, Unit::Share, true)];
        assert_eq!(Answer::of(&result).look, Look::Caution, "{expr}");
    }
    let few = with_statuses(&[(503, 10)]);
    assert_eq!(Answer::of(&few).look, Look::Good, "1 % is no news");
}

#[test]
fn what_ended_a_run_early_comes_before_its_gates() {
    let answer = Answer::of(&samples::parts());
    assert_eq!(answer.look, Look::Bad);
    assert_eq!(answer.lead, "ABORTED after 4.00 s because errors>1% FOR 3s");
    assert!(answer.behind[0].starts_with("1 of 2 gates FAILED: "), "{:?}", answer.behind);
}

#[test]
fn a_run_without_a_response_says_so() {
    let answer = Answer::of(&samples::nothing());
    assert_eq!(answer.look, Look::Bad);
    assert_eq!(answer.lead, "not one request could be sent: connection refused (connect)");
    assert!(answer.behind.is_empty());
}

#[test]
fn a_run_too_small_for_a_rate_has_none() {
    let mut result = with_statuses(&[]);
    result.rate.window_ns = 300_000;
    result.elapsed_ns = 370_000;
    result.ledger.completed = 10;
    assert_eq!(
        without_rate(&result).as_deref(),
        Some("10 responses in 370 µs: too short for a rate")
    );
    result.rate.window_ns = 5_000_000_000;
    result.elapsed_ns = 5_000_000_000;
    assert_eq!(without_rate(&result), None);
    result.ledger.completed = 9;
    assert_eq!(without_rate(&result).as_deref(), Some("9 responses in 5.00 s: too few for a rate"));
    let answer = Answer::of(&result);
    let figures = answer.behind.first().unwrap_or(&answer.lead);
    let want = "9 responses in 5.00 s: too few for a rate · response p50";
    assert!(figures.starts_with(want), "{figures}");
}

#[test]
fn requests_that_an_interrupted_run_left_open_are_no_bad_news() {
    let mut result = samples::cut_short();
    (result.ledger.completed, result.ledger.ok, result.ledger.unfinished) = (123, 123, 50);
    let answer = Answer::of(&result);
    assert_eq!(
        (answer.look, answer.lead.as_str()),
        (Look::Good, "50 of 173 failed: 50 unfinished")
    );
    result.interrupted = false;
    assert_eq!(Answer::of(&result).look, Look::Bad);
}
