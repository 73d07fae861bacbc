//! How a run ends: the exit code that its result deserves, and the lines on stderr that explain a
//! code other than 0.
//!
//! The report on stdout says which gates failed and what the verdict is. With `-q` there is no
//! report, so each reason is a line on stderr. A run without a single response always gets its
//! line.

use std::process::ExitCode;

use plimsoll_core::RunResult;
use plimsoll_core::result::Outcome;
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
    } else if result.aborted.is_some() {
        GATE
    } else {
        match gates_code(result) {
            0 if result.is_below_verdict() => VERDICT,
            code => code,
        }
    }
}

/// The exit code that gates deserve: one that failed decides, then one that is undecided.
pub(crate) fn gates_code(result: &RunResult) -> u8 {
    if result.gates_that(Outcome::Fail) > 0 {
        GATE
    } else if result.gates_that(Outcome::Undecided) > 0 {
        VERDICT
    } else {
        0
    }
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
        let gate = |pass, undecided| Gate { pass, undecided, ..Gate::default() };
        result.gates = vec![gate(true, false)];
        assert_eq!(code(&result), 0, "the gates say which figures matter, and these are sure");
        result.gates.push(gate(false, true));
        assert_eq!(code(&result), VERDICT);
        result.plan.require_valid = false;
        assert_eq!(code(&result), VERDICT, "a gate that is undecided has not passed");
        result.gates.push(gate(false, false));
        assert_eq!(code(&result), GATE);
        result.gates.clear();
        result.aborted = Some("errors>1%".to_owned());
        result.interrupted = true;
        assert_eq!(code(&result), GATE);
        result.ledger.completed = 0;
        assert_eq!(code(&result), COULD_NOT_RUN, "a condition ended it, not a person");
    }
}
