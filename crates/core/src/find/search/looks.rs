//! When a probe has shown enough and may end.
//!
//! A hold is looked at every few seconds. What it shows then counts if it is shown at a lower level
//! than that of the whole: a part for each look, after O'Brien and Fleming's idea that early looks
//! get little of it. The looks depend on each other, so their parts do not simply add up; that
//! whole searches keep to the level is shown by simulation (`tests::coverage`). A rate is shown to
//! be met at half the hold at the earliest, because a hold has to see what happens now and then. A
//! hold that can hardly show what it is for ends at its half, and one of the top whose averages are
//! below their limits at a quarter. Quick probes guide, and end once the
//! answer is plain.

use super::Search;
use crate::find::figures::Figures;
use crate::find::judge::{Finding, Judgement, Outcome, Subject};
use crate::find::probe::{ProbePlan, Purpose};

/// Seconds between two looks at a hold.
const EVERY_S: u64 = 5;

/// Seconds before the first look at a hold.
const FIRST_S: u64 = 10;

/// The part of the level that a look has before half the hold, where rates are only shown to fail.
const EARLY_PART: f64 = 0.1;

/// The part of the level that a look has from half the hold on.
const HALF_PART: f64 = 0.6;

/// Seconds before a quick probe of the bracket may end, and one between two rates.
const QUICK_S: (u64, u64) = (2, 5);

/// The part of the requests that a hold needs at least, with which a quick probe of the bracket may
/// end, and one between two rates.
const ENOUGH: (u64, u64) = (50, 5);

/// How much narrower bounds are at the level of the whole hold than at that of its looks, about.
const NARROWER: f64 = 0.85;

/// Upper bounds that would be this many times their limits at the end of a hold, if its average
/// stays, are hardly shown to be below them.
const HOPELESS_CLIMB: f64 = 1.2;

/// Averages below this many times their limits are hardly shown to be above them in the other half
/// of a hold.
const HOPELESS_TOP: f64 = 1.5;

/// The average is this many times over its limit where a quick probe plainly fails.
const PLAIN: f64 = 3.0;

impl Search {
    /// The level at which the figures of a probe are judged; none judges by the averages.
    pub(super) fn level(&self, plan: &ProbePlan, figures: &Figures) -> Option<f64> {
        if !plan.purpose.decides() {
            return None;
        }
        let alpha = match plan.purpose {
            Purpose::Climb => self.alpha,
            _ => self.settings.alpha(),
        };
        let is_whole = figures.measured_s() >= plan.measure_ns as f64 / 1e9 * 0.99;
        let is_half = figures.measured_s() >= plan.measure_ns as f64 / 2e9;
        Some(match (is_whole, is_half) {
            (true, _) => alpha,
            (false, true) => alpha * HALF_PART,
            (false, false) => alpha * EARLY_PART,
        })
    }

    /// Whether the probe that goes on has shown enough with these figures, and may end. A driver
    /// asks after each interval.
    #[must_use]
    pub fn is_settled(&self, figures: &Figures) -> bool {
        let plan = self.planned().and_then(|plan| self.fitted(plan));
        let Some(plan) = plan.filter(|_| figures.are_whole(self.objectives.len())) else {
            return false;
        };
        let measured_s = figures.measured_s() as u64;
        let judgement = self.judged(&plan, figures, self.level(&plan, figures));
        if !plan.purpose.decides() {
            let least_s = match plan.purpose {
                Purpose::Bracket => QUICK_S.0,
                Purpose::Narrow => QUICK_S.1,
                // What follows an overload takes its time.
                _ => return false,
            };
            return measured_s >= least_s && self.is_plain(plan.purpose, figures, &judgement);
        }
        if measured_s < FIRST_S || !measured_s.is_multiple_of(EVERY_S) {
            return false;
        }
        let is_half = measured_s * 2_000_000_000 >= plan.measure_ns;
        match judgement.outcome {
            Outcome::Fail => true,
            // Short holds see too little of what happens now and then.
            Outcome::Pass => is_half && plan.purpose == Purpose::Climb,
            _ => is_hopeless(&plan, measured_s as f64 * 1e9 / plan.measure_ns as f64, &judgement),
        }
    }

    /// Whether a quick probe plainly passes or fails.
    fn is_plain(&self, purpose: Purpose, figures: &Figures, judgement: &Judgement) -> bool {
        let of = |column: &[u64]| column.iter().sum::<u64>();
        if judgement.outcome == Outcome::Fail {
            return judgement
                .findings
                .iter()
                .any(|it| it.outcome == Outcome::Fail && it.value >= PLAIN * it.limit)
                && figures.objectives.iter().any(|sums| of(&sums.against) >= 10)
                || judgement.is_overload();
        }
        let mut judged = self.objectives.iter().zip(&figures.objectives);
        self.has_enough(purpose, figures)
            && judged.all(|(objective, sums)| match objective.is_share() {
                true => of(&sums.near) == 0 && of(&sums.against) == 0,
                false => {
                    2.0 * of(&sums.against) as f64 <= objective.limit() * of(&sums.among) as f64
                }
            })
    }

    /// Whether there are enough requests to guess that the objectives are met. Those of the bracket
    /// are far below what a later one of the search sees.
    fn has_enough(&self, purpose: Purpose, figures: &Figures) -> bool {
        let part = if purpose == Purpose::Bracket { ENOUGH.0 } else { ENOUGH.1 };
        let mut judged = self.objectives.iter().zip(&figures.objectives);
        judged.all(|(objective, sums)| {
            sums.among.iter().sum::<u64>() >= objective.requests_least() / part
        })
    }
}

/// Whether a hold can hardly show what it is for after a part of its time: that a rate of the climb
/// is met, or that one of the top is not.
fn is_hopeless(plan: &ProbePlan, part: f64, judgement: &Judgement) -> bool {
    let of_objective = |it: &&Finding| matches!(it.subject, Subject::Objective(_));
    let mut findings = judgement.findings.iter().filter(of_objective);
    match plan.purpose {
        Purpose::Climb if part >= 0.5 => findings.any(|it| {
            let high = it.high_with_stalls.or(it.high).unwrap_or(it.value);
            let at_end = it.value + NARROWER * part.sqrt() * (high - it.value);
            it.value >= it.limit || at_end >= HOPELESS_CLIMB * it.limit
        }),
        Purpose::Top if part >= 0.5 => findings.all(|it| it.value < HOPELESS_TOP * it.limit),
        Purpose::Top if part >= 0.25 => findings.all(|it| it.value < it.limit),
        _ => false,
    }
}
