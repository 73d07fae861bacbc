//! Advice: what would make a result tell more, in a few words that name the command which explains
//! them. Only the first of several reasons is given, because a report is no place to teach.

use plimsoll_core::RunResult;
use plimsoll_core::verdict::Verdict;

use crate::Clock;
use crate::facts::{FEW_BEYOND, Tail};

/// A shorter run sees little of what recurs: collections of garbage, checkpoints, cron jobs.
const SHORT_NS: u64 = 5_000_000_000;

/// What to do and what explains it; `None` where nothing is to be said, or where something
/// else comes first: figures that are not the server's, and runs that were ended early.
pub(crate) fn advice(result: &RunResult) -> Option<String> {
    let is_cut = result.interrupted || result.aborted.is_some();
    if result.loader.verdict == Verdict::Invalid || is_cut || result.ledger.completed == 0 {
        return None;
    }
    let (text, code) = reason(result)?;
    Some(format!("{text} ({})", explains(code)))
}

/// The command that explains a piece of advice.
pub(crate) fn explains(code: &str) -> String {
    format!("plimsoll explain {code}")
}

/// Every code of a piece of advice; `docs/advice.md` has a section for each.
pub const CODES: [&str; 3] = [CLOSED_LOOP, LENGTH, REPEATS];

const CLOSED_LOOP: &str = "closed_loop";
const LENGTH: &str = "run_length";
pub(crate) const REPEATS: &str = "repeats";

fn reason(result: &RunResult) -> Option<(&'static str, &'static str)> {
    let samples = Clock::HEADLINE.histogram(result).count();
    if Tail::beyond(samples, 9900) < FEW_BEYOND {
        return Some(("few samples beyond the p99: run longer", LENGTH));
    }
    if result.elapsed_ns < SHORT_NS {
        return Some((
            "too short to show what recurs (garbage collection, timers): run longer",
            LENGTH,
        ));
    }
    if !result.is_open_loop() {
        return Some(("to see how long users wait, give a rate: -r", CLOSED_LOOP));
    }
    let is_judged = !result.gates.is_empty();
    is_judged.then_some(("one run does not show how much runs differ: --repeat 5", REPEATS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn one_reason_is_given_and_none_where_nothing_is_to_be_said() {
        let open = |change: fn(&mut RunResult)| {
            let mut result = samples::stall();
            change(&mut result);
            result
        };
        for (name, result, want) in [
            ("a closed loop", samples::steady(), Some("-r (plimsoll explain closed_loop)")),
            ("gates on one run", samples::stall(), Some("--repeat 5 (plimsoll explain repeats)")),
            ("nothing judged", open(|result| result.gates.clear()), None),
            (
                "short",
                open(|result| result.elapsed_ns = SHORT_NS - 1),
                Some("what recurs (garbage"),
            ),
            ("ended early", samples::parts(), None),
            ("nothing completed", samples::nothing(), None),
            ("nothing sent", samples::bare(), None),
            (
                "few samples come before a closed loop",
                RunResult { interrupted: false, ..samples::cut_short() },
                Some("few samples beyond the p99"),
            ),
        ] {
            let advice = advice(&result);
            let is_as_wanted = match (&advice, want) {
                (Some(advice), Some(want)) => advice.contains(want),
                (None, None) => true,
                _ => false,
            };
            assert!(is_as_wanted, "{name}: {advice:?}");
        }
    }

    #[test]
    fn it_fits_a_line() {
        for result in [samples::steady(), samples::stall(), samples::cut_short()] {
            let result = RunResult { interrupted: false, ..result };
            let advice = advice(&result).unwrap();
            assert!(advice.chars().count() <= 90, "{advice}");
        }
    }
}
