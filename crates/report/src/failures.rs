//! Why a run failed, one line for each reason: for stderr when no report is printed, and for JUnit.

use plimsoll_core::RunResult;
use plimsoll_core::confidence::confidence;
use plimsoll_core::result::Gate;
use plimsoll_core::units::counted;

use crate::facts::{incomplete_words, printable};

/// What went wrong when not one whole response came, unless the run was stopped before.
#[must_use]
pub fn unanswered(result: &RunResult) -> Option<String> {
    if !result.is_unanswered() {
        return None;
    }
    if !result.was_carried_out() {
        return Some(printable(&not_carried_out(result)));
    }
    let silent = result.unanswered_scenario().filter(|_| result.ledger.completed > 0);
    Some(match silent {
        Some(scenario) => {
            printable(&format!("scenario {}: {}", scenario.name, no_response(&scenario.result)))
        }
        None => no_response(result),
    })
}

/// That not one response came, and why.
#[must_use]
pub fn no_response(result: &RunResult) -> String {
    let asked = match result.ledger.sent {
        0 => "not one request could be sent".to_owned(),
        sent => format!("no response to {}", counted(sent, "request")),
    };
    let why = match result.errors.first() {
        Some(error) => format!("{} ({})", error.sample, error.phase.name()),
        None => incomplete_words(result).join(", "),
    };
    printable(&if why.is_empty() { asked } else { format!("{asked}: {why}") })
}

/// Why the load did not begin.
fn not_carried_out(result: &RunResult) -> String {
    let why = result.loader.causes.first().map(|cause| format!(": {}", cause.text));
    format!("the run could not be carried out{}", why.unwrap_or_default())
}

/// The condition that ended the run, the gates that were not met, and a verdict below the one
/// required.
#[must_use]
pub fn unmet(result: &RunResult) -> Vec<String> {
    let aborted = result.aborted.iter().map(|condition| format!("'{condition}' ended the run"));
    let loader = &result.loader;
    let verdict = result.is_below_verdict().then(|| {
        format!("the result is {}, not valid: {}", loader.verdict.name(), confidence(result).text)
    });
    let lines = aborted.chain(unmet_gates(result)).chain(verdict);
    lines.map(|line| printable(&line)).collect()
}

/// The gates that failed, and those that are undecided.
#[must_use]
pub fn unmet_gates(result: &RunResult) -> Vec<String> {
    let unmet = result.gates.iter().filter(|gate| !gate.pass);
    let line = |gate: &Gate| {
        let what = if gate.undecided { "is undecided" } else { "failed" };
        format!("gate '{}' {what}: {}", gate.expr, measured(gate))
    };
    unmet.map(|gate| printable(&line(gate))).collect()
}

/// What was measured for a gate, with its note.
pub(crate) fn measured(gate: &Gate) -> String {
    let mut text = match gate.value {
        Some(_) => format!("measured {}", gate.measured()),
        None => gate.measured(),
    };
    if let Some(note) = &gate.note {
        text += &format!(" ({note})");
    }
    text
}

#[cfg(test)]
mod tests {
    use plimsoll_core::result::ScenarioResult;
    use plimsoll_core::verdict::Verdict;

    use super::*;
    use crate::samples;

    #[test]
    fn a_run_without_a_response_says_what_it_met() {
        let mut nothing = samples::nothing();
        assert_eq!(
            unanswered(&nothing).as_deref(),
            Some("not one request could be sent: connection refused (connect)")
        );
        nothing.ledger.sent = 1;
        nothing.errors.clear();
        assert_eq!(unanswered(&nothing).as_deref(), Some("no response to 1 request: 50 unsent"));
        nothing.interrupted = true;
        assert_eq!(unanswered(&nothing), None);
        assert_eq!(unanswered(&samples::steady()), None);
    }

    #[test]
    fn a_run_that_could_not_be_carried_out_says_why() {
        let mut unrun = samples::nothing();
        unrun.elapsed_ns = 0;
        unrun.loader.causes[0].text = "no connection could be opened".to_owned();
        let want = "the run could not be carried out: no connection could be opened";
        assert_eq!(unanswered(&unrun).as_deref(), Some(want));
        unrun.interrupted = true;
        assert_eq!(unanswered(&unrun), None);
    }

    #[test]
    fn a_scenario_without_a_response_is_named() {
        let scenario = |name: &str, result: RunResult| {
            let name = name.to_owned();
            ScenarioResult { name, start_ns: 0, result }
        };
        let run = |list| {
            let empty = RunResult::empty(samples::steady().tool, &samples::steady().plan);
            RunResult::of_scenarios(empty, list)
        };
        let both = run(vec![scenario("a", samples::steady()), scenario("b", samples::steady())]);
        assert_eq!(unanswered(&both), None);
        let mut one =
            run(vec![scenario("a", samples::steady()), scenario("b", samples::nothing())]);
        let want = "scenario b: not one request could be sent: connection refused (connect)";
        assert_eq!(unanswered(&one).as_deref(), Some(want));
        one.scenarios[1].result.interrupted = true;
        assert_eq!(unanswered(&one), None, "it was stopped before");
        let none = run(vec![scenario("b", samples::nothing())]);
        assert_eq!(unanswered(&none).as_deref(), want.strip_prefix("scenario b: "));
    }

    #[test]
    fn what_was_not_met_is_a_line_each() {
        assert_eq!(unmet(&samples::steady()), [""; 0]);
        assert_eq!(unmet(&samples::stall()), ["gate 'p99<250ms' failed: measured 271.4 ms"]);
        assert_eq!(
            unmet(&samples::parts()),
            [
                "'errors>1% FOR 3s' ended the run",
                "gate 'p99@endpoint:login<1s' failed: nothing to measure (no endpoint 'login'; \
                 there is: home, search)",
            ]
        );
        let mut invalid = samples::nothing();
        assert_eq!(unmet(&invalid), [""; 0]);
        invalid.plan.require_valid = true;
        assert_eq!(
            unmet(&invalid),
            ["the result is invalid, not valid: no response arrived, so no time and no rate was \
                 measured"]
        );
        invalid.loader.verdict = Verdict::Suspect;
        invalid.loader.causes.clear();
        assert!(unmet(&invalid)[0].starts_with("the result is suspect, not valid: "));
    }
}
