//! Advice: what would make a result tell more, in a few words that point to the guide. Only the
//! first of several reasons is given, because a report is no place to teach.

use plimsoll_core::RunResult;
use plimsoll_core::verdict::Verdict;

use crate::Clock;
use crate::facts::{FEW_BEYOND, Tail};

/// A shorter run sees little of what recurs: collections of garbage, checkpoints, cron jobs.
const SHORT_NS: u64 = 5_000_000_000;

/// What to do and where it is explained; `None` where nothing is to be said, or where something
/// else comes first: figures that are not the server's, and runs that were ended early.
pub(crate) fn advice(result: &RunResult) -> Option<String> {
    let is_cut = result.interrupted || result.aborted.is_some();
    if result.loader.verdict == Verdict::Invalid || is_cut || result.ledger.completed == 0 {
        return None;
    }
    let (text, section) = reason(result)?;
    Some(format!("{text} ({})", guide(section)))
}

/// Where a section of the guide is found.
pub(crate) fn guide(section: u32) -> String {
    format!("docs/measuring-well.md, section {section}")
}

/// Sections of the guide that reports name.
const LOOPS: u32 = 2;
const LENGTH: u32 = 5;
pub(crate) const REPEATS: u32 = 6;

fn reason(result: &RunResult) -> Option<(&'static str, u32)> {
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
        return Some(("to see how long users wait, give a rate: -r", LOOPS));
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
            ("a closed loop", samples::steady(), Some("-r (docs/measuring-well.md, section 2)")),
            (
                "gates on one run",
                samples::stall(),
                Some("--repeat 5 (docs/measuring-well.md, section 6)"),
            ),
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
    fn it_fits_a_line_and_the_guide_has_the_section() {
        let guide = include_str!("../../../docs/measuring-well.md");
        for result in [samples::steady(), samples::stall(), samples::cut_short()] {
            let result = RunResult { interrupted: false, ..result };
            let advice = advice(&result).unwrap();
            assert!(advice.chars().count() <= 90, "{advice}");
        }
        for (section, title) in
            [(LOOPS, "Open or closed loop?"), (LENGTH, "How long?"), (REPEATS, "How many repeats?")]
        {
            assert!(guide.contains(&format!("\n## {section}. {title}\n")), "{title}");
        }
    }
}
