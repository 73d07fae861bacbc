//! Whether the truth lies where a tester says: *what is not in doubt is true within its tolerance,
//! what is in doubt lies on the side that it says*.
//!
//! Each figure of a report is an interval. Plimsoll's follows from the causes in its result. Any
//! other tester's figure is exact, unless the tester warns of a [`Topic`]
//! that puts it in doubt: then it says nothing of it. A tester that doubts everything would always
//! be right, so an experiment also names figures that its disturbance cannot touch. A tester that
//! says of single figures whether they are in doubt has to call those certain.

use plimsoll_core::clock::Clock;
use plimsoll_core::confidence::doubts;
use plimsoll_core::doubt::{Figure, Interval};

use crate::doubts::{Told, Topic, told};
use crate::judge::{Checks, Judgement, Unit, printed, quantile_name};
use crate::tool::Reading;

/// What a tester says of its figures.
#[derive(Debug, Clone, Copy)]
pub struct Claims<'a> {
    reading: &'a Reading,
    /// What its warning puts in doubt, if it does not judge single figures.
    warned_of: &'static [Figure],
}

/// A figure and the interval that the tester gives it.
#[derive(Debug, Clone, Copy)]
struct Claim {
    value: f64,
    interval: Interval,
}

/// How far from the truth a figure may lie: a share of it and, above it, so much more.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// The share.
    pub share: f64,
    /// Above the truth, this in addition; in the figure's unit.
    pub more: f64,
}

impl<'a> Claims<'a> {
    /// Those of a run, of which the tester may have told by a topic's words.
    #[must_use]
    pub fn of(topic: &Topic, reading: &'a Reading, control: &Reading) -> Self {
        let is_told = matches!(told(topic, reading, control), Told::Rightly(_));
        Self { reading, warned_of: if is_told { topic.figures } else { &[] } }
    }

    /// The interval of a value that is no time.
    fn value(&self, figure: Figure, value: f64) -> Claim {
        let interval = match &self.reading.result {
            Some(result) => doubts(&result.loader.causes).value(figure, value),
            None => self.warned(figure, value),
        };
        Claim { value, interval }
    }

    /// The interval of a quantile of times, seconds; `None`: it does not say.
    fn quantile_s(&self, clock: Clock, q: f64) -> Option<Claim> {
        let rows = match clock {
            Clock::Response => &self.reading.quantiles,
            Clock::Service => &self.reading.service_quantiles,
        };
        let value = printed(rows, q)?;
        let interval = match &self.reading.result {
            Some(result) => doubts(&result.loader.causes)
                .quantile_ns(clock.figure(), &clock.bounds(result), q)
                .times(1e-9),
            None => self.warned(clock.figure(), value),
        };
        Some(Claim { value, interval })
    }

    fn warned(&self, figure: Figure, value: f64) -> Interval {
        if self.warned_of.contains(&figure) { Interval::unknown() } else { Interval::exact(value) }
    }

    /// A quantile has to say where the truth lies, if it is printed.
    pub fn quantile(
        &self,
        checks: &mut Checks,
        (clock, q): (Clock, f64),
        truth_s: f64,
        near: Tolerance,
    ) {
        if let Some(claim) = self.quantile_s(clock, q) {
            claim.check(checks, &named(clock, q), Unit::Time, truth_s, near);
        }
    }

    /// A rate has to say where the truth lies, if it is printed.
    pub fn rate(&self, checks: &mut Checks, truth_rps: f64, near: Tolerance) {
        if let Some(rate_rps) = self.reading.rate_rps {
            let claim = self.value(Figure::Achieved, rate_rps);
            claim.check(checks, "rate", Unit::Rate, truth_rps, near);
        }
    }

    /// So has the number of responses.
    pub fn completed(&self, checks: &mut Checks, truth: usize, near: Tolerance) {
        if let Some(completed) = self.reading.completed {
            let claim = self.value(Figure::Counts, completed as f64);
            claim.check(checks, "completed", Unit::Count, truth as f64, near);
        }
    }

    /// A tester that judges single figures must not doubt these, which nothing has disturbed.
    pub fn are_certain(&self, checks: &mut Checks, figures: &[Figure]) {
        let Some(result) = &self.reading.result else { return };
        let doubts = doubts(&result.loader.causes);
        for figure in figures {
            if doubts.is_value_in_doubt(*figure) {
                let name = format!("{figure:?}").to_lowercase();
                checks.holds(false, format!("{name} in doubt"), &format!("{name} certain"));
            }
        }
    }

    /// Nor this quantile.
    pub fn is_certain(&self, checks: &mut Checks, (clock, q): (Clock, f64)) {
        let Some(result) = &self.reading.result else { return };
        let doubts = doubts(&result.loader.causes);
        if doubts.is_quantile_in_doubt(clock.figure(), clock.histogram(result), q) {
            let name = named(clock, q);
            checks.holds(false, format!("{name} in doubt"), &format!("{name} certain"));
        }
    }
}

fn named(clock: Clock, q: f64) -> String {
    match clock {
        Clock::Response => quantile_name(q),
        Clock::Service => format!("service {}", quantile_name(q)),
    }
}

impl Claim {
    fn check(self, checks: &mut Checks, name: &str, unit: Unit, truth: f64, near: Tolerance) {
        let Self { value, interval } = self;
        let (least, most) = (truth * (1.0 - near.share), truth * (1.0 + near.share) + near.more);
        let is_right = interval.low <= most && interval.high >= least;
        let shown = if interval.low < value || interval.high > value {
            let high = match interval.high.is_finite() {
                true => unit.show(interval.high),
                false => "any".to_owned(),
            };
            format!("{name} {} ({} to {high})", unit.show(value), unit.show(interval.low))
        } else {
            format!("{name} {}", unit.show(value))
        };
        let expected = format!("{name} of {} to {}", unit.show(least), unit.show(most));
        checks.holds(is_right, shown, &expected);
    }
}

/// The outcome of being told, and of what else was checked.
#[must_use]
pub fn both(told: Judgement, checks: Checks) -> Judgement {
    match (told, checks.outcome()) {
        (Judgement::Pass { figure }, Judgement::Pass { figure: more }) => {
            Judgement::pass(joined(figure, &more))
        }
        (Judgement::Pass { figure }, Judgement::Fail { figure: more, expected }) => {
            Judgement::fail(joined(figure, &more), expected)
        }
        (told, _) => told,
    }
}

fn joined(figure: String, more: &str) -> String {
    if more.is_empty() { figure } else { format!("{figure}, {more}") }
}

#[cfg(test)]
mod tests;
