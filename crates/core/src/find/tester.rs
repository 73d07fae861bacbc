//! Whether the tester itself explains that a probe does not pass.
//!
//! A run's verdict doubts each quantile that the tester has delayed by a tenth. A search asks less:
//! whether requests are over the limit because of it. A tester that is 0.2 ms late decides nothing
//! about a limit of 10 ms, and a pause of 50 ms nothing about a queue of seconds.

use super::figures::Figures;
use crate::gate::Objective;
use crate::histogram::Histogram;
use crate::verdict::{Cause, Verdict, is_about_pace, is_about_tester};

/// A delay of less than this part of a limit does not decide whether a time is over it.
const PART_OF_LIMIT: u64 = 10;

/// Delayed requests that are fewer than this part of those over the limit do not decide either.
const PART_OF_MISSES: u64 = 10;

/// A tester that sends a hundredth of its requests this late does not offer the rate.
const NOT_OFFERED_NS: u64 = 1_000_000_000;

/// Why a probe that does not pass says nothing about the server, in a line: the cause of its run's
/// verdict that explains it. `lateness` is by how much the tester sent each request late.
#[must_use]
pub fn doubt(
    causes: &[Cause],
    lateness: &Histogram,
    objectives: &[Objective],
    figures: &Figures,
) -> Option<String> {
    let is_slow = is_decisive(lateness, objectives, figures);
    let counts = |cause: &&Cause| {
        cause.verdict > Verdict::Valid
            && is_about_tester(&cause.code)
            && (is_slow || !is_about_pace(&cause.code))
    };
    causes.iter().find(counts).map(|cause| cause.text.clone())
}

/// Whether the lateness decides about an objective.
fn is_decisive(lateness: &Histogram, objectives: &[Objective], figures: &Figures) -> bool {
    let later_than = |ns: u64| lateness.count() - lateness.count_at_most(ns);
    if later_than(NOT_OFFERED_NS) > lateness.count() / 100 {
        return true;
    }
    let mut judged = objectives.iter().zip(&figures.objectives);
    judged.any(|(objective, sums)| {
        let Some(limit_ns) = objective.time_limit_ns() else { return false };
        if !objective.is_share() {
            return lateness.mean_ns().unwrap_or(0.0) > limit_ns as f64 / PART_OF_LIMIT as f64;
        }
        let late = later_than(limit_ns / PART_OF_LIMIT);
        late.saturating_mul(PART_OF_MISSES) > sums.against.iter().sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::Sums;

    #[test]
    fn only_what_explains_the_misses_is_a_doubt() {
        let cause = |verdict, code: &str| Cause {
            verdict,
            code: code.to_owned(),
            text: format!("text of {code}"),
            touches: Vec::new(),
        };
        let suspect = |code| vec![cause(Verdict::Suspect, code)];
        // Causes, requests that were late by how many ms, requests over the limit of 10 ms.
        for (causes, late, late_ms, against, want) in [
            (vec![], 1000, 5, 0, None),
            (suspect("late"), 1000, 5, 30, Some("late")),
            (suspect("late"), 1000, 0, 30, None),
            (suspect("paused"), 2, 50, 30, None),
            (suspect("paused"), 4, 50, 30, Some("paused")),
            (suspect("paused"), 1, 50, 0, Some("paused")),
            (suspect("cpu"), 0, 0, 30, None),
            (suspect("cpu"), 20, 2000, 10_000, Some("cpu")),
            (suspect("ports"), 0, 0, 30, Some("ports")),
            (suspect("connections"), 1000, 5, 30, None),
            (vec![cause(Verdict::Valid, "late")], 1000, 5, 30, None),
            ([suspect("connections"), suspect("late")].concat(), 1000, 5, 30, Some("late")),
        ] {
            let mut lateness = Histogram::new();
            lateness.record_n(late_ms * 1_000_000, late);
            lateness.record_n(1_000, 1000 - late);
            let sums =
                Sums { against: vec![against / 2, against - against / 2], ..Sums::default() };
            let figures = Figures { objectives: vec![sums], ..Figures::empty(1, 1) };
            let objectives = [Objective::parse("p99<10ms").unwrap()];
            let found = doubt(&causes, &lateness, &objectives, &figures);
            let want = want.map(|code| format!("text of {code}"));
            assert_eq!(found, want, "{causes:?} {late} {late_ms} {against}");
        }
    }

    #[test]
    fn a_mean_is_decided_by_the_mean_lateness() {
        let cause = Cause {
            verdict: Verdict::Suspect,
            code: "late".to_owned(),
            text: "late".to_owned(),
            touches: Vec::new(),
        };
        let objectives = ["mean<5ms", "errors<1%"].map(|text| Objective::parse(text).unwrap());
        for (late_us, want) in [(400, false), (600, true)] {
            let mut lateness = Histogram::new();
            lateness.record_n(late_us * 1_000, 100);
            let figures = Figures::empty(1, 2);
            let found = doubt(std::slice::from_ref(&cause), &lateness, &objectives, &figures);
            assert_eq!(found.is_some(), want, "{late_us}");
        }
    }
}
