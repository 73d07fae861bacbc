//! Limits on a change, as people write them: `p99>+10%`, `rate<-5%`, `errors>+1%`.
//!
//! A limit is `MEASURE OP SIGN NUMBER %` and names the change that must not happen. It is broken
//! when the difference is more than noise and its estimate lies beyond the limit. It is also broken
//! when the repeats are too few to show any difference, because a limit that passes for lack of
//! data protects nothing. A limit on speed is also broken when the new side fails more often:
//! success comes first.

use serde::{Deserialize, Serialize};

use super::decide::{Comparison, Decision, DecisionOptions, Pair, Reason, Scale};
use super::document::Settings;
use super::side::SideCase;
use super::success::{Failures, is_of_speed};
use crate::study::{Column, Measure};

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

/// What became of a limit, the worst last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The change is not beyond it.
    #[default]
    Passed,
    /// The data do not say on which side of it the change lies.
    Undecided,
    /// The change is beyond it.
    Failed,
}

/// What a limit makes of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The limit as it was given.
    pub expr: String,
    /// The measure that it is about.
    pub measure: Column,
    /// The limit itself: 0.1 is a tenth more, -0.1 a tenth less, and of shares percentage points.
    pub by: f64,
    /// The server's name, where there is one.
    pub server: String,
    /// The load's name, where there is one.
    pub load: String,
    /// How the measure changed: 0.1 is a tenth more, or ten percentage points. Null where it cannot
    /// be told.
    pub change: Option<f64>,
    /// The true change is no less than this, as sure as was asked for; null where it may be any.
    pub at_least: Option<f64>,
    /// The true change is no more than this.
    pub at_most: Option<f64>,
    /// What the limit came to.
    pub outcome: Outcome,
    /// Whether it is kept: neither failed nor undecided.
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
        // Each end of the interval is wrong as often as one answer may be.
        let confidence = 1.0 - 2.0 * (1.0 - settings.confidence);
        let options = settings.options(self.measure);
        let options = DecisionOptions { confidence, least_change: 0.0, ..options };
        let cases = [&base.case, &new.case];
        let found = Pair { measure: self.measure, cases, options }.compare();
        let failures = Failures::of(&base.case, &new.case, settings);
        let failures = failures.filter(|it| it.are_unlike() && is_of_speed(self.measure));
        let [at_least, at_most] = ends(&found, [base, new], self.measure);
        let (outcome, said) = match &failures {
            Some(failures) if failures.are_more() => (Outcome::Failed, None),
            _ => match self.unknown(&found, [base, new]) {
                Some(why) => (Outcome::Undecided, Some(why)),
                None => self.outcome(at_least, at_most, [base, new]),
            },
        };
        let caveat = failures.map(|it| unlike_words(&it));
        let is_counted_already = found.reason == Some(Reason::TooFewRepeats);
        let gaps = [("base", base), ("new", new)]
            .map(|(word, side)| self.gaps(word, side).filter(|_| !is_counted_already));
        let notes: Vec<String> = [said, caveat].into_iter().chain(gaps).flatten().collect();
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        Judged {
            change: found.change.map(|change| change - none(found.scale)),
            at_least: finite(at_least),
            at_most: finite(at_most),
            outcome,
            pass: outcome == Outcome::Passed,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            ..self.about(base)
        }
    }

    /// Judges a case that the new side does not have.
    pub(super) fn judge_missing(&self, base: &SideCase) -> Judged {
        Judged { note: Some("the new side does not have this case".to_owned()), ..self.about(base) }
    }

    /// Nothing known of a case yet.
    fn about(&self, base: &SideCase) -> Judged {
        Judged {
            expr: self.text.clone(),
            measure: Column { measure: self.measure, over: None },
            by: if self.is_rise { self.by } else { -self.by },
            server: base.case.server.clone(),
            load: base.case.load.clone(),
            change: None,
            at_least: None,
            at_most: None,
            outcome: Outcome::Undecided,
            pass: false,
            note: None,
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

    /// Why nothing is known of the change.
    fn unknown(&self, found: &Comparison, sides: [&SideCase; 2]) -> Option<String> {
        match found.reason? {
            Reason::NothingMeasured => {
                Some(format!("{} was not measured on both sides", self.measure))
            }
            Reason::TooFewRepeats => {
                let needed = found.repeats_needed.unwrap_or(usize::MAX);
                let [base, new] = sides.map(|side| {
                    let (told, all) = self.told(side);
                    format!("{told} of {all}")
                });
                Some(format!(
                    "it takes {needed} repeats on each side, and {base} runs of the base count, \
                     {new} of the new side"
                ))
            }
            _ => None,
        }
    }

    fn outcome(
        &self,
        at_least: f64,
        at_most: f64,
        sides: [&SideCase; 2],
    ) -> (Outcome, Option<String>) {
        // A fall is a rise seen from the other side.
        let (nearest, farthest) =
            if self.is_rise { (at_least, at_most) } else { (-at_most, -at_least) };
        if nearest > self.by {
            return (Outcome::Failed, None);
        }
        if farthest <= self.by {
            return (Outcome::Passed, None);
        }
        let is_bound = sides.iter().any(|side| side.case.has_lower_bound(self.measure));
        let why = match is_bound {
            true => {
                format!("{} is a lower bound, as requests have no whole response", self.measure)
            }
            false => "the noise hides on which side of the limit the change lies: more repeats \
                      tell more"
                .to_owned(),
        };
        (Outcome::Undecided, Some(why))
    }
}

/// The change that there is where nothing differs.
fn none(scale: Scale) -> f64 {
    if scale == Scale::Ratio { 1.0 } else { 0.0 }
}

/// Between which changes the true one lies. A lower bound leaves the side open to which the true
/// figure may lie.
fn ends(found: &Comparison, [base, new]: [&SideCase; 2], measure: Measure) -> [f64; 2] {
    let is_open = |side: &SideCase| side.case.has_lower_bound(measure);
    let [low, high] = match found.interval {
        Some(interval) => [interval.low, interval.high].map(|end| end - none(found.scale)),
        // A ratio without bounds is a rise from nothing.
        None if found.decision != Decision::CannotTell => [f64::INFINITY; 2],
        None => [f64::NEG_INFINITY, f64::INFINITY],
    };
    [
        if is_open(base) { f64::NEG_INFINITY } else { low },
        if is_open(new) { f64::INFINITY } else { high },
    ]
}

fn unlike_words(failures: &Failures) -> String {
    let [base, new] = failures.shares.map(|share| share * 100.0);
    let side = if failures.are_more() { "new side" } else { "base" };
    format!(
        "the {side} fails more often ({base:.2} % of the base's requests, {new:.2} % of the new \
         side's), and success comes first"
    )
}
