//! Whether the tester itself may explain that a probe does not pass, and what fails in spite of it.
//!
//! A run's verdict doubts each quantile that the tester has delayed by a tenth. A search asks less:
//! whether requests are over the limit because of it. A tester that is 0.2 ms late decides nothing
//! about a limit of 10 ms, and a pause of 50 ms nothing about a queue of seconds.
//!
//! The direction is known. A time contains the tester's own delays, so it is never shorter than
//! the server's. A probe that meets an upper limit in spite of them meets it. For one that does
//! not, [`Late::least`] takes out all that the delays may have added; what still fails fails.
//! Shares of failures have no time in them, and no delay moves them.

use serde::{Deserialize, Serialize};

use super::figures::{Figures, Sums};
use crate::gate::Objective;
use crate::histogram::Histogram;
use crate::verdict::{Cause, Verdict, is_about_pace, is_about_tester};

/// A delay of less than this part of a limit does not decide whether a time is over it.
const PART_OF_LIMIT: u64 = 10;

/// How many requests a delayed one may have brought over the limit. Requests that were held up are
/// sent at once, and those behind them wait for all of these.
const TOUCHED: u64 = 10;

/// A tester that sends a hundredth of its requests this late does not offer the rate.
const NOT_OFFERED_NS: u64 = 1_000_000_000;

/// How late the tester was in a probe, by what counts for each objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// For each objective, in their order.
    pub objectives: Vec<LateFor>,
}

/// How late the tester was for an objective.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LateFor {
    /// Requests sent later than a tenth of the limit: they decide whether a time is over it.
    pub decisive: u64,
    /// Requests sent later than the limit: they decide whether a time is far over it.
    pub long: u64,
    /// The mean lateness.
    #[serde(rename = "mean_s", with = "crate::serde_units::from_ns")]
    pub mean_ns: u64,
}

/// Why a probe that does not pass may say nothing about the server.
#[derive(Debug, Clone, PartialEq)]
pub struct TesterDoubt {
    /// The cause of its run's verdict, in a line.
    pub text: String,
    /// How late the tester was; `None` where that bounds nothing.
    pub late: Option<Late>,
}

/// What of the tester may explain that a probe does not pass; `None` if nothing does. `lateness` is
/// by how much the tester sent each request late.
#[must_use]
pub fn doubt(
    causes: &[Cause],
    lateness: &Histogram,
    objectives: &[Objective],
    figures: &Figures,
) -> Option<TesterDoubt> {
    let of_tester = |it: &&Cause| it.verdict > Verdict::Valid && is_about_tester(&it.code);
    let other = causes.iter().filter(of_tester).find(|it| !is_about_pace(&it.code));
    if let Some(cause) = other {
        return Some(TesterDoubt { text: cause.text.clone(), late: None });
    }
    let cause = causes.iter().find(of_tester)?;
    let late = Late { objectives: objectives.iter().map(|it| late_for(it, lateness)).collect() };
    let is_offered = later_than(lateness, NOT_OFFERED_NS) <= lateness.count() / 100;
    let is_decisive = !is_offered || late.is_decisive(objectives, figures);
    is_decisive.then(|| TesterDoubt { text: cause.text.clone(), late: is_offered.then_some(late) })
}

fn later_than(lateness: &Histogram, ns: u64) -> u64 {
    lateness.count() - lateness.count_at_most(ns)
}

fn late_for(objective: &Objective, lateness: &Histogram) -> LateFor {
    let Some(limit_ns) = objective.time_limit_ns() else { return LateFor::default() };
    LateFor {
        decisive: later_than(lateness, limit_ns / PART_OF_LIMIT),
        long: later_than(lateness, limit_ns),
        mean_ns: lateness.mean_ns().unwrap_or(0.0) as u64,
    }
}

impl Late {
    /// Whether it may decide about an objective.
    fn is_decisive(&self, objectives: &[Objective], figures: &Figures) -> bool {
        let mut judged = objectives.iter().zip(&figures.objectives).zip(&self.objectives);
        judged.any(|((objective, sums), late)| {
            let Some(limit_ns) = objective.time_limit_ns() else { return false };
            match objective.is_share() {
                true => touched(late.decisive) > sums.against.iter().sum(),
                false => late.mean_ns > limit_ns / PART_OF_LIMIT,
            }
        })
    }

    /// The figures without all that the delays may have added to them: what is still over a limit
    /// then is the server's.
    pub(super) fn least(&self, figures: &Figures, objectives: &[Objective]) -> Figures {
        let mut least = figures.clone();
        let each = least.objectives.iter_mut().zip(objectives).zip(&self.objectives);
        for ((sums, objective), late) in each {
            if objective.time_limit_ns().is_none() {
                continue;
            }
            if objective.is_share() {
                late.leave_shares(sums);
            } else {
                let requests: u64 = sums.among.iter().sum();
                // A request that was held up holds up others behind it.
                leave(&mut sums.against, touched(late.mean_ns).saturating_mul(requests));
            }
        }
        least
    }
}

impl LateFor {
    /// Requests over a limit are the server's if they are more than those the delays can have
    /// brought there. Those far over it need longer delays, of which there are fewer.
    fn leave_shares(&self, sums: &mut Sums) {
        let mut far = sums.far.clone();
        leave(&mut sums.against, touched(self.decisive));
        leave(&mut far, touched(self.long));
        if far.iter().sum::<u64>() > sums.against.iter().sum() {
            sums.against.clone_from(&far);
        }
        leave(&mut sums.near, touched(self.decisive));
        sums.far = far;
    }
}

fn touched(late: u64) -> u64 {
    late.saturating_mul(TOUCHED)
}

/// Takes a sum out of a column, from each value the same part of it.
fn leave(column: &mut [u64], taken: u64) {
    let all: u64 = column.iter().fold(0, |sum, value| sum.saturating_add(*value));
    let left = all.saturating_sub(taken) as f64 / all.max(1) as f64;
    column.iter_mut().for_each(|value| *value = (*value as f64 * left) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(verdict: Verdict, code: &str) -> Cause {
        Cause::new(verdict, code, format!("text of {code}"))
    }

    #[test]
    fn only_what_explains_the_misses_is_a_doubt() {
        let suspect = |code| vec![cause(Verdict::Suspect, code)];
        // Causes, requests that were late by how many ms, requests over the limit of 10 ms, and
        // whether the lateness bounds what it did.
        for (causes, late, late_ms, against, want) in [
            (vec![], 1000, 5, 0, None),
            (suspect("late"), 1000, 5, 30, Some(("late", true))),
            (suspect("late"), 1000, 0, 30, None),
            (suspect("paused"), 2, 50, 30, None),
            (suspect("paused"), 4, 50, 30, Some(("paused", true))),
            (suspect("paused"), 1, 50, 0, Some(("paused", true))),
            (suspect("cpu"), 0, 0, 30, None),
            (suspect("cpu"), 20, 2000, 10_000, Some(("cpu", false))),
            (suspect("ports"), 0, 0, 30, Some(("ports", false))),
            (suspect("connections"), 1000, 5, 30, None),
            (vec![cause(Verdict::Valid, "late")], 1000, 5, 30, None),
            ([suspect("connections"), suspect("late")].concat(), 1000, 5, 30, Some(("late", true))),
            ([suspect("late"), suspect("ports")].concat(), 1000, 5, 30, Some(("ports", false))),
        ] {
            let mut lateness = Histogram::new();
            lateness.record_n(late_ms * 1_000_000, late);
            lateness.record_n(1_000, 1000 - late);
            let sums =
                Sums { against: vec![against / 2, against - against / 2], ..Sums::default() };
            let figures = Figures { objectives: vec![sums], ..Figures::empty(1, 1) };
            let objectives = [Objective::parse("p99<10ms").unwrap()];
            let found = doubt(&causes, &lateness, &objectives, &figures);
            let found = found.map(|it| (it.text, it.late.is_some()));
            let want = want.map(|(code, is_bounded)| (format!("text of {code}"), is_bounded));
            assert_eq!(found, want, "{causes:?} {late} {late_ms} {against}");
        }
    }

    #[test]
    fn a_mean_is_decided_by_the_mean_lateness() {
        let cause = cause(Verdict::Suspect, "late");
        let objectives = ["mean<5ms", "errors<1%"].map(|text| Objective::parse(text).unwrap());
        for (late_us, want) in [(400, false), (600, true)] {
            let mut lateness = Histogram::new();
            lateness.record_n(late_us * 1_000, 100);
            let figures = Figures::empty(1, 2);
            let found = doubt(std::slice::from_ref(&cause), &lateness, &objectives, &figures);
            assert_eq!(found.is_some(), want, "{late_us}");
        }
    }

    /// A tenth of the requests are over the limit of a hundredth. Few late requests cannot explain
    /// that, and many can; but not those that are far over the limit.
    #[test]
    fn what_is_left_without_the_tester_is_the_servers() {
        let objectives =
            ["p99<10ms", "mean<5ms", "errors<1%"].map(|it| Objective::parse(it).unwrap());
        let column = |value: u64| vec![value; 10];
        let shares = |far| Sums {
            among: column(100),
            against: column(10),
            near: column(20),
            far: column(far),
        };
        let of = |decisive, long, mean_ns| LateFor { decisive, long, mean_ns };
        for (late, far, want) in [
            (of(0, 0, 0), 0, 100),
            (of(5, 0, 0), 0, 50),
            (of(50, 0, 0), 0, 0),
            (of(50, 0, 0), 10, 100),
            (of(50, 5, 0), 10, 50),
        ] {
            let figures =
                Figures { objectives: vec![shares(far); 3], ..Figures::empty(1_000_000_000, 3) };
            let late = Late { objectives: vec![late; 3] };
            let left = late.least(&figures, &objectives);
            let sum = |i: usize| left.objectives[i].against.iter().sum::<u64>();
            assert_eq!((sum(0), sum(1), sum(2)), (want, 100, 100), "{late:?} {far}");
        }
        let times = Sums { among: column(100), against: column(1_000_000_000), ..shares(0) };
        let figures = Figures { objectives: vec![times; 3], ..Figures::empty(1_000_000_000, 3) };
        let late = Late { objectives: vec![of(0, 0, 500_000); 3] };
        let left = late.least(&figures, &objectives);
        assert_eq!(left.objectives[1].against, column(500_000_000));
        assert_eq!(left.objectives[2], figures.objectives[2], "no delay moves failures");
    }
}
