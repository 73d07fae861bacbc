//! How a run ends: the exit code that its result deserves, and the lines on stderr that explain a
//! code other than 0.
//!
//! The report on stdout says which gates failed and what the verdict is. With `-q` there is no
//! report, so each reason is a line on stderr. A run without a single response always gets its
//! line.

use std::process::ExitCode;

use plimsoll_core::RunResult;
use plimsoll_report::failures::{unanswered, unmet};

use crate::exit::{COULD_NOT_RUN, GATE, VERDICT};
use crate::message;

/// The exit code of a run that no signal ended, after saying why it is not 0.
pub(crate) fn end(result: &RunResult, is_quiet: bool) -> ExitCode {
    say(unanswered(result).as_slice());
    if is_quiet {
        say(&unmet(result));
    }
    ExitCode::from(code(result))
}

fn code(result: &RunResult) -> u8 {
    if result.is_unanswered() {
        COULD_NOT_RUN
    } else if has_failed_gate(result) || result.aborted.is_some() {
        GATE
    } else if result.is_below_verdict() {
        VERDICT
    } else {
        0
    }
}

/// Whether a gate was not met.
pub(crate) fn has_failed_gate(result: &RunResult) -> bool {
    result.gates.iter().any(|gate| !gate.pass)
}

/// Writes lines to stderr.
pub(crate) fn say(lines: &[String]) {
    for line in lines {
        message::show(&format!("plimsoll: {line}"));
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::{Draft, Endpoint};
    use plimsoll_core::result::{Gate, Tool};
    use plimsoll_core::verdict::Verdict;

    use super::*;

    #[test]
    fn the_worst_of_several_reasons_decides_the_code() {
        let tool = Tool { name: String::new(), version: String::new() };
        let mut result = RunResult::empty(tool, &Draft::new(Endpoint::http("a", 80, "/")));
        result.loader.verdict = Verdict::Suspect;
        assert_eq!(code(&result), COULD_NOT_RUN, "nothing came");
        result.interrupted = true;
        assert_eq!(code(&result), 0, "it was told to stop before anything could");
        (result.interrupted, result.ledger.completed) = (false, 1);
        assert_eq!(code(&result), 0, "a failed response is one");
        result.plan.require_valid = true;
        assert_eq!(code(&result), VERDICT);
        let gate = |pass| Gate {
            expr: String::new(),
            value: None,
            unit: plimsoll_core::result::Unit::Count,
            pass,
            note: None,
        };
        result.gates = vec![gate(true)];
        assert_eq!(code(&result), VERDICT);
        result.gates.push(gate(false));
        assert_eq!(code(&result), GATE);
        result.gates.clear();
        result.aborted = Some("errors>1%".to_owned());
        result.interrupted = true;
        assert_eq!(code(&result), GATE);
        result.ledger.completed = 0;
        assert_eq!(code(&result), COULD_NOT_RUN, "a condition ended it, not a person");
    }
}
