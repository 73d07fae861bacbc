//! Whether a closed loop shows that its server was gone.

use super::Experiment;
use crate::claims::Claims;
use crate::doubts::{self, Told, Topic};
use crate::harness::{Action, Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit};
use crate::oracle::Mode;
use crate::tool::{Ask, Need, Reading};
use plimsoll_core::doubt::Figure;

pub(super) const ALL: [Experiment; 1] = [Experiment {
    name: "outage",
    row: 39,
    title: "A closed loop cannot see an outage",
    method: "10 connections, closed loop, 5 s; each is answered in 5 ms; the oracle is killed \
             after 1.5 s and another is there from 3.5 s on; in the control, of 2 s, it lives; \
             with the condition that fewer than 1 % of the requests fail, where the tester has \
             conditions",
    truth: "for 2 s of 5 s nobody was served; in the control everybody was",
    tolerance: "1 % of the requests failed, or words that name it, or (without a condition) an \
                exit code; the condition fails; none of these in the control; Plimsoll must not \
                doubt counts and rate",
    needs_quiet: false,
    run: outage,
}];

const OUTAGE: Topic = Topic {
    expected: "errors, a word of the outage, or an exit code",
    tells: &[
        "outage",
        "no connection could",
        "could not connect",
        "unreachable",
        "not be reached",
        "not reach the server",
        "connection refused",
        "econnrefused",
        "server was down",
        "server was gone",
    ],
    names: &["refused", "reach"],
    figures: &[Figure::Load, Figure::Response, Figure::Service, Figure::Achieved],
};

/// The share of requests that failed from which on a figure of errors shows an outage.
const FAILED_SHARE: f64 = 0.01;

fn outage(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let condition = vec![Need::ErrorGate { share: FAILED_SHARE }];
    match pair(bench, subject, condition) {
        Ok([run, control]) => Ok(judge_outage(&run, &control, true)),
        Err(Judgement::CannotExpress { .. }) => {
            let [run, control] = pair(bench, subject, Vec::new())?;
            Ok(judge_outage(&run, &control, false))
        }
        Err(other) => Err(other),
    }
}

/// A run with an outage, and one without.
fn pair(bench: &Bench, subject: &Subject, extra: Vec<Need>) -> Result<[Run; 2], Judgement> {
    let mode = Mode::delay_ns(5_000_000);
    let ask = Ask { connections: 10, duration_s: Some(2.0), extra, ..Ask::to("/") };
    let control = Setup { least: 400, ..Setup::new(ask.clone(), mode.clone()) };
    let control = bench.hear(subject, &control)?;
    let ask = Ask { duration_s: Some(5.0), ..ask };
    let actions = vec![(1.5, Action::KillOracle), (3.5, Action::StartOracle)];
    // The log is of the second oracle alone, and a tester may give up before that.
    let run = bench.hear(subject, &Setup { actions, least: 0, ..Setup::new(ask, mode) })?;
    if run.acted.is_empty() {
        return Err(Judgement::unmeasured("the load ended before the outage began"));
    }
    Ok([run, control])
}

/// The share of requests that failed, as the tester has it.
fn failed_share(reading: &Reading) -> f64 {
    let bad = [reading.errors, reading.timed_out].into_iter().flatten().sum::<u64>() as f64;
    bad / (bad + reading.completed.unwrap_or(0) as f64).max(1.0)
}

/// `has_condition`: whether the exit code is of the condition on what failed.
fn judge_outage(run: &Run, control: &Run, has_condition: bool) -> Judgement {
    let mut checks = Checks::default();
    let share = failed_share(&run.reading);
    checks.note(format!("{} failed", Unit::Share.show(share)));
    checks.note(match run.finished.code {
        Some(code) => format!("exit {code}"),
        None => "ended by a signal".to_owned(),
    });
    let word = doubts::told(&OUTAGE, &run.reading, &control.reading);
    if let Told::Rightly(word) = word {
        checks.note(format!("it says so ('{word}')"));
    }
    let cries = matches!(word, Told::CriedWolf(_))
        || control.finished.code != Some(0)
        || failed_share(&control.reading) > 0.0;
    checks.holds(!cries, if cries { "as without an outage" } else { "" }, "none without an outage");
    let has_ended_so = run.finished.code != Some(0);
    let is_shown = share >= FAILED_SHARE
        || matches!(word, Told::Rightly(_))
        || (!has_condition && has_ended_so);
    checks.holds(is_shown, "", OUTAGE.expected);
    if has_condition {
        checks.holds(has_ended_so, "", "the condition fails");
    }
    // Counts and the rate are of what was served, outage or not.
    let claims = Claims::of(&OUTAGE, &run.reading, &control.reading);
    claims.are_certain(&mut checks, &[Figure::Counts, Figure::Achieved]);
    checks.outcome()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Finished;

    fn run(errors: u64, text: &str, code: i32) -> Run {
        Run {
            reading: Reading {
                completed: Some(10_000),
                errors: Some(errors),
                text: text.to_owned(),
                ..Reading::default()
            },
            finished: Finished { code: Some(code), ..Finished::default() },
            ..Run::default()
        }
    }

    #[test]
    fn an_outage_shows_somewhere() {
        let quiet = run(0, "connections: 10", 0);
        let judged = |run: &Run, control: &Run| {
            matches!(judge_outage(run, control, false), Judgement::Pass { .. })
        };
        assert!(judged(&run(400, "", 0), &quiet));
        assert!(judged(&run(10, "dial tcp: connect: connection refused", 0), &quiet));
        assert!(judged(&run(10, "", 1), &quiet), "it gave up and said so");
        assert!(!judged(&run(10, "10 errors", 0), &quiet), "one for each connection");
        assert!(!judged(&run(0, "p99 5 ms", 0), &quiet));
        assert!(!judged(&run(400, "", 0), &run(100, "", 0)), "errors without a cause");
        let wolf = run(0, "warning: the server was unreachable", 0);
        assert!(!judged(&wolf, &wolf));
        assert!(!judged(&run(0, "", 1), &run(0, "", 1)), "it always ends so");
        let with_condition =
            |run: &Run| matches!(judge_outage(run, &quiet, true), Judgement::Pass { .. });
        assert!(with_condition(&run(400, "", 3)));
        assert!(!with_condition(&run(400, "", 0)), "the condition held");
        assert!(!with_condition(&run(0, "", 3)), "and nothing says why");
    }

    #[test]
    fn a_verdict_has_to_doubt() {
        let judging = |verdict: &str, cause: &str| {
            let mut run = run(10, "", 0);
            run.reading.verdict = Some(verdict.to_owned());
            run.reading.causes = vec![cause.to_owned()];
            run
        };
        let judged = |run: &Run| {
            let outcome = judge_outage(run, &run_valid(), false);
            matches!(outcome, Judgement::Pass { .. })
        };
        fn run_valid() -> Run {
            let mut valid = run(0, "", 0);
            valid.reading.verdict = Some("valid".to_owned());
            valid
        }
        assert!(judged(&judging("suspect", "the server could not be reached for 2.00 s")));
        assert!(judged(&judging(
            "suspect",
            "users could not reach the server in 40 % of their time"
        )));
        assert!(!judged(&judging("valid", "")));
        assert!(!judged(&judging("suspect", "late")));
    }
}
