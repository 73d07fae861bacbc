//! Conditions on a result, as people write them: `p99<250ms`, `errors<1%`, `rate>=99%`.
//!
//! `docs/gates.md` has the grammar: `METRIC[@PART] OP VALUE`. A condition that exists names
//! something that can be measured in principle. If a run holds no data for it, the condition fails,
//! because a limit that passes for lack of data protects nothing. A condition is judged by the
//! interval in which the true value lies: doubt can leave it undecided, and never lets it pass or
//! fail. Conditions that end a run early are the same, restricted to what is known while the run
//! goes on: see [`AbortWatch`].
//!
//! Conditions may also name custom metrics. Those are known once the sources of work have declared
//! them, so a condition is read with their list. The list is empty where nothing declares any.

mod custom;
mod measure;
mod measured;
mod metric;
mod objective;
mod scope;
mod stretch;
mod value;
mod watch;

use crate::doubt::Interval;
use crate::metric::Declared;
use crate::plan::Draft;
use crate::result::{Gate, GateInterval, Outcome, RunResult, Unit};
use crate::units::{counted, format_duration, parse_duration_ns};
use custom::{Subject, end_of_tags};
use measure::measure;
use measured::Measured;
use metric::Source;
use scope::Scope;
use value::{Limit, Operator};

pub use measure::stage_rate_rps;
pub use metric::{is_built_in, metric_name, metric_names};
pub use objective::{Objective, Tallied};
pub(crate) use scope::Subplan;
pub use watch::{AbortWatch, LastRequest};

/// A condition that cannot be read, or not on this plan: one line, what and what is possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("condition '{condition}': {problem}")]
pub struct GateError {
    condition: String,
    problem: String,
}

/// A condition on a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    subject: Subject,
    scope: Scope,
    operator: Operator,
    limit: Limit,
    /// For how long it has to hold before it ends a run.
    hold_ns: u64,
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// Reads a condition that a result has to meet, on a built-in metric or a declared one.
    ///
    /// # Errors
    /// What cannot be read, and what is possible there.
    pub fn parse(text: &str, declared: &[Declared]) -> Result<Self, GateError> {
        let condition = Self::read(text, declared)?;
        let problem = if matches!(condition.scope, Scope::Last(_)) {
            Some("@last is for --abort-when: a gate takes a stretch such as @10s..20s")
        } else if condition.hold_ns > 0 {
            Some("FOR is for --abort-when: a gate is judged once, at the end")
        } else {
            None
        };
        match problem {
            Some(problem) => Err(fault(text, problem)),
            None => condition.with_source(condition.scope.source()),
        }
    }

    /// Reads a condition that ends a run: one that can be known while it goes on.
    ///
    /// # Errors
    /// What cannot be read, and what is possible there.
    pub fn parse_abort(text: &str, declared: &[Declared]) -> Result<Self, GateError> {
        let condition = Self::read(text, declared)?;
        match condition.scope {
            Scope::Run | Scope::Last(_) => condition.with_source(Source::Stretch),
            _ => {
                Err(fault(text, "while a run goes on only the whole of it and @last:10s are known"))
            }
        }
    }

    fn read(text: &str, declared: &[Declared]) -> Result<Self, GateError> {
        let fail = |problem: String| fault(text, &problem);
        let (subject, operator, rest) = Operator::split(text).map_err(fail)?;
        let at = subject[end_of_tags(subject)..].find('@').map(|at| at + end_of_tags(subject));
        let (metric, scope) = match at.map(|at| subject.split_at(at)) {
            Some((metric, part)) => (metric.trim(), Scope::parse(part[1..].trim()).map_err(fail)?),
            None => (subject, Scope::Run),
        };
        let subject = Subject::parse(metric, declared).map_err(fail)?;
        let (value, hold_ns) = split_hold(rest).map_err(fail)?;
        let limit = Limit::parse(subject.kind(declared), value).map_err(fail)?;
        Ok(Self { text: text.trim().to_owned(), subject, scope, operator, limit, hold_ns })
    }

    fn with_source(&self, source: Source) -> Result<Self, GateError> {
        let problem = match &self.subject {
            Subject::BuiltIn(metric) => metric.unknown_to(source, self.limit.unit),
            Subject::Custom(custom) => custom.unknown_to(source),
        };
        match problem {
            Some(problem) => Err(fault(&self.text, &problem)),
            None => Ok(self.clone()),
        }
    }

    /// Whether the plan's runs can have what it is about.
    pub(crate) fn check(&self, plan: &Draft) -> Result<(), GateError> {
        let problem = match without_target(plan).filter(|_| self.needs_target()) {
            Some(load) => Some(format!("{load} has no target rate: give a rate, such as 1000/s")),
            None => self.scope.missing_from(plan),
        };
        problem.map_or(Ok(()), |problem| Err(fault(&self.text, &problem)))
    }

    /// Whether a run of these scenarios, which together make `run`, can have what it is about.
    pub(crate) fn check_among(
        &self,
        run: &Draft,
        scenarios: &[Subplan<'_>],
    ) -> Result<(), GateError> {
        let mut meant = scenarios.iter().filter(|it| match &self.scope {
            Scope::Scenario(name) => it.name == name,
            _ => true,
        });
        let aimless = meant.find_map(|it| Some((it.name, without_target(it.plan)?)));
        let problem = match aimless.filter(|_| self.needs_target()) {
            Some((name, load)) => {
                let instead = "give a rate, such as 1000/s";
                Some(format!("scenario '{name}' is {load} and has no target: {instead}"))
            }
            None => self.scope.missing_among(run, scenarios),
        };
        problem.map_or(Ok(()), |problem| Err(fault(&self.text, &problem)))
    }

    /// Whether it is about a share of the target rate.
    fn needs_target(&self) -> bool {
        let is_rate = matches!(&self.subject, Subject::BuiltIn(metric) if metric.is_rate());
        is_rate && self.limit.unit == Unit::Share
    }

    /// Measures a result and compares it with the limit. The condition is met or not met if that
    /// is so for each value that the true one may have; otherwise it is undecided. A condition with
    /// nothing to measure is not met.
    #[must_use]
    pub fn judge(&self, result: &RunResult) -> Gate {
        let measured = measure(self, result);
        let outcome = self.decide(&measured);
        let note = self.note(&measured, outcome);
        Gate {
            expr: self.text.clone(),
            pass: outcome == Outcome::Pass,
            undecided: outcome == Outcome::Undecided,
            value: measured.value,
            unit: self.limit.unit,
            interval: measured.interval.map(|Interval { low, high }| GateInterval {
                low,
                high: high.is_finite().then_some(high),
            }),
            note,
        }
    }

    /// What the value is compared with, in the unit of the gate.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.limit.value
    }

    fn decide(&self, measured: &Measured) -> Outcome {
        let exact = measured.value.map(Interval::exact);
        match measured.interval.or(exact) {
            Some(interval) => self.operator.decide(interval, self.limit.value),
            None => Outcome::Fail,
        }
    }

    /// What readers have to know about the value: why it does not decide, or decides in doubt.
    fn note(&self, measured: &Measured, outcome: Outcome) -> Option<String> {
        let known = measured.value.zip(measured.interval);
        let Some((value, Interval { low, high })) = known else { return measured.note.clone() };
        let unit = self.limit.unit;
        let is_slower = value - low > value * NOTED_SHARE;
        match outcome {
            Outcome::Undecided => {
                let range = range(unit, value, Interval { low, high });
                let is_open = measured.incomplete > 0 && high > value;
                let why = if is_open {
                    let what = self.subject.incomplete_noun();
                    format!("with {} ", counted(measured.incomplete, what))
                } else {
                    "in doubt: ".to_owned()
                };
                Some(format!("{why}the true value may be {range}"))
            }
            Outcome::Pass if is_slower && high <= value * (1.0 + NOTED_SHARE) => {
                Some("passes even with the tester's own delay in it".to_owned())
            }
            Outcome::Fail if is_slower => {
                Some("fails even without the tester's own delay".to_owned())
            }
            _ => measured.note.clone(),
        }
    }
}

/// Where a true value may lie, in words that follow `may be`.
fn range(unit: Unit, value: f64, interval: Interval) -> String {
    let Interval { low, high } = interval;
    let low = (low < value).then(|| unit.format(low));
    let high = high.is_finite().then(|| unit.format(high));
    match (low, high) {
        (Some(low), Some(high)) => format!("anything from {low} to {high}"),
        (Some(low), None) => format!("anything from {low} up"),
        (None, Some(high)) => format!("up to {high}"),
        (None, None) => "anything above".to_owned(),
    }
}

/// A doubt below this share of a value is not worth a note.
const NOTED_SHARE: f64 = 0.05;

/// What a load is that has no target rate; `None` at a rate.
fn without_target(plan: &Draft) -> Option<&'static str> {
    match (&plan.rate, &plan.trace) {
        (Some(_), _) => None,
        (None, Some(_)) => Some("a list of times"),
        (None, None) => Some("a closed loop"),
    }
}

fn fault(condition: &str, problem: &str) -> GateError {
    GateError { condition: condition.trim().to_owned(), problem: problem.to_owned() }
}

/// `5% FOR 3s` into the value and the time it has to hold, ns.
fn split_hold(text: &str) -> Result<(&str, u64), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [value, word, time] if word.eq_ignore_ascii_case("for") => {
            Ok((value, parse_duration_ns(time).map_err(|error| error.to_string())?))
        }
        _ => Ok((text, 0)),
    }
}

/// Judges a result by conditions as they were given. The custom metrics that they can name are
/// those that the result has.
///
/// # Errors
/// The first that cannot be read.
pub fn judge(conditions: &[String], result: &RunResult) -> Result<Vec<Gate>, GateError> {
    let declared = result.metrics.declared();
    conditions.iter().map(|text| Ok(Condition::parse(text, &declared)?.judge(result))).collect()
}

/// Checks the conditions of a run whose load is no checked plan, such as that of a script: those
/// that its result has to meet, and those that end it, which it gives back. Without scenarios the
/// run is a plain one.
///
/// # Errors
/// The first that cannot be read, or that no such run can have.
pub fn read_conditions(
    run: &Draft,
    scenarios: &[(&str, &Draft)],
    declared: &[Declared],
) -> Result<Vec<Condition>, GateError> {
    let known: Vec<Subplan<'_>> =
        scenarios.iter().map(|(name, plan)| Subplan { name, plan }).collect();
    let check = |condition: &Condition| match known.as_slice() {
        [] => condition.check(run),
        several => condition.check_among(run, several),
    };
    for text in &run.gates {
        check(&Condition::parse(text, declared)?)?;
    }
    let read = |text: &String| {
        let condition = Condition::parse_abort(text, declared)?;
        check(&condition).map(|()| condition)
    };
    run.abort_when.iter().map(read).collect()
}

/// A stretch of time for people, from the start of the measured part.
fn stretch_words(from_ns: u64, to_ns: u64) -> String {
    format!("{} to {}", format_duration(from_ns), format_duration(to_ns))
}

#[cfg(test)]
mod tests;
