//! Limits on a change, as people write them: `p99>+10%`, `rate<-5%`, `errors>+1%`.
//!
//! A limit is `MEASURE OP SIGN NUMBER %` and names the change that must not happen. It is broken
//! when the difference is more than noise and its estimate lies beyond the limit. It is also broken
//! when the repeats are too few to show any difference, because a limit that passes for lack of
//! data protects nothing. A limit on speed is also broken when the new side fails more often:
//! success comes first.

use serde::{Deserialize, Serialize};

use super::decide::{Comparison, Decision, DecisionOptions, Reason, Scale, compare};
use super::document::Settings;
use super::side::SideCase;
use super::success::{Failures, is_of_speed};
use crate::study::Measure;

/// A limit that cannot be read: one line, what and what is possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("limit '{limit}': {problem}")]
pub struct LimitError {
    limit: String,
    problem: String,
}

/// A change that must not be.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    text: String,
    measure: Measure,
    /// Whether a rise is what must not be.
    is_rise: bool,
    /// Of a ratio, its distance from 1; of a share, the difference.
    by: f64,
}

/// What a limit makes of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The limit as it was given.
    pub expr: String,
    /// The server's name, where there is one.
    pub server: String,
    /// The load's name, where there is one.
    pub load: String,
    /// How the measure changed: 0.1 is a tenth more, or ten percentage points. Null where it cannot
    /// be told.
    pub change: Option<f64>,
    /// Whether it is kept.
    pub pass: bool,
    /// What readers have to know about it.
    pub note: Option<String>,
}

/// Changes beyond this many per cent are no limits.
const PERCENT_MAX: f64 = 1e6;

impl Limit {
    /// Reads a limit.
    ///
    /// # Errors
    /// What cannot be read, and what is possible there.
    pub fn parse(text: &str) -> Result<Self, LimitError> {
        let text = text.trim();
        let fail =
            |problem: &str| LimitError { limit: text.to_owned(), problem: problem.to_owned() };
        let shape = || fail("write MEASURE>+N% or MEASURE<-N%: p99>+10%, rate<-5%");
        let (measure, op, change) = match (text.split_once('>'), text.split_once('<')) {
            (Some((measure, change)), None) => (measure, '+', change),
            (None, Some((measure, change))) => (measure, '-', change),
            _ => return Err(shape()),
        };
        let measure: Measure = measure.trim().parse().map_err(|problem: String| fail(&problem))?;
        let number = change.trim().strip_prefix(op).and_then(|rest| rest.strip_suffix('%'));
        let number = number.ok_or_else(shape)?.trim();
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let percent: f64 = number.parse().ok().filter(|_| is_plain).ok_or_else(shape)?;
        let is_rise = op == '+';
        if percent > PERCENT_MAX || (!is_rise && percent >= 100.0) {
            return Err(fail("nothing falls by 100 % or more, nor is that a limit on a rise"));
        }
        Ok(Self { text: text.to_owned(), measure, is_rise, by: percent / 100.0 })
    }

    /// Of a limit on a fall of the rate: the part, 0 to 1.
    #[must_use]
    pub fn rate_fall(&self) -> Option<f64> {
        (self.measure == Measure::Rate && !self.is_rise).then_some(self.by)
    }

    /// Judges a case.
    #[must_use]
    pub fn judge(&self, base: &SideCase, new: &SideCase, settings: &Settings) -> Judged {
        let options = settings.options(self.measure);
        // Who names a limit below the least change cares about less.
        let options =
            DecisionOptions { least_change: options.least_change.min(self.by), ..options };
        let comparison = compare(&base.values(self.measure), &new.values(self.measure), &options);
        let failures = Failures::of(&base.case, &new.case, settings);
        let failures = failures.filter(|it| it.are_unlike() && is_of_speed(self.measure));
        let (pass, said) = match &failures {
            Some(failures) if failures.are_more() => (false, None),
            _ => self.verdict(&comparison, [base, new]),
        };
        let caveat = failures.map(|it| unlike_words(&it));
        let is_counted_already = comparison.reason == Some(Reason::TooFewRepeats);
        let gaps = [("base", base), ("new", new)]
            .map(|(word, side)| self.gaps(word, side).filter(|_| !is_counted_already));
        let notes: Vec<String> = [said, caveat].into_iter().chain(gaps).flatten().collect();
        let none = if comparison.scale == Scale::Ratio { 1.0 } else { 0.0 };
        Judged {
            expr: self.text.clone(),
            server: base.case.server.clone(),
            load: base.case.load.clone(),
            change: comparison.change.map(|change| change - none),
            pass,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }

    /// Judges a case that the new side does not have.
    pub(super) fn judge_missing(&self, base: &SideCase) -> Judged {
        Judged {
            expr: self.text.clone(),
            server: base.case.server.clone(),
            load: base.case.load.clone(),
            change: None,
            pass: false,
            note: Some("the new side does not have this case".to_owned()),
        }
    }

    /// How many runs of a side have a say, and how many there are.
    fn told(&self, side: &SideCase) -> (usize, usize) {
        (side.values(self.measure).len(), side.case.runs.len())
    }

    /// Runs of a side that have no say.
    fn gaps(&self, word: &str, side: &SideCase) -> Option<String> {
        let (told, all) = self.told(side);
        let is_gap = 0 < told && told < all;
        is_gap.then(|| {
            format!("{word}: {} of {all} runs have no {} that counts", all - told, self.measure)
        })
    }

    fn verdict(&self, found: &Comparison, sides: [&SideCase; 2]) -> (bool, Option<String>) {
        match (found.decision, found.reason) {
            (_, Some(Reason::NothingMeasured)) => {
                let note = format!("{} was not measured on both sides", self.measure);
                (false, Some(note))
            }
            (_, Some(Reason::TooFewRepeats)) => {
                let needed = found.repeats_needed.unwrap_or(usize::MAX);
                let [base, new] = sides.map(|side| {
                    let (told, all) = self.told(side);
                    format!("{told} of {all}")
                });
                let note = format!(
                    "cannot be judged: it takes {needed} repeats on each side, and {base} runs of \
                     the base count, {new} of the new side"
                );
                (false, Some(note))
            }
            _ if self.is_open(sides) => {
                let note = format!(
                    "cannot be judged: {} is a lower bound, as requests have no whole response",
                    self.measure
                );
                (false, Some(note))
            }
            (Decision::CannotTell, _) => (true, self.blindness(found)),
            _ => (!self.is_broken_by(found), None),
        }
    }

    /// Whether the true change may be anything beyond the limit. A lower bound on the other side
    /// only makes the change that was measured larger than the true one.
    fn is_open(&self, [base, new]: [&SideCase; 2]) -> bool {
        let open = if self.is_rise { new } else { base };
        open.case.has_lower_bound(self.measure)
    }

    fn is_broken_by(&self, found: &Comparison) -> bool {
        let none = if found.scale == Scale::Ratio { 1.0 } else { 0.0 };
        // A ratio without bounds is a rise from nothing.
        let change = found.change.map_or(f64::INFINITY, |change| change - none);
        if self.is_rise { change > self.by } else { -change > self.by }
    }

    /// A limit that these repeats could not have shown to be broken.
    fn blindness(&self, found: &Comparison) -> Option<String> {
        let Some(rise) = found.detectable else {
            return Some("noise hides changes of any size: more repeats tell more".to_owned());
        };
        // The size of a rise is told: half as much again falls back by a third.
        let is_fall_of_ratio = !self.is_rise && found.scale == Scale::Ratio;
        let least = if is_fall_of_ratio { rise / (1.0 + rise) } else { rise };
        (least > self.by).then(|| {
            format!("noise hides changes below {:.1} %: more repeats tell more", least * 100.0)
        })
    }
}

fn unlike_words(failures: &Failures) -> String {
    let [base, new] = failures.shares.map(|share| share * 100.0);
    let side = if failures.are_more() { "new side" } else { "base" };
    format!(
        "the {side} fails more often ({base:.2} % of the base's requests, {new:.2} % of the new \
         side's), and success comes first"
    )
}
