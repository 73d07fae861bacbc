//! Operators and limits of conditions: reading them, and comparing.
//!
//! Shares and counts that are the same number compare as equal: both are quotients of whole
//! numbers, and equal quotients are rounded the same way wherever they come from.

use super::metric::Kind;
use crate::doubt::Interval;
use crate::result::{Outcome, Unit, verdict_value};
use crate::units::{parse_count, parse_duration_ns, parse_rate_uhz};
use crate::verdict::Verdict;

/// How a value is compared with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Less,
    AtMost,
    More,
    AtLeast,
    Is,
    IsNot,
}

const OPERATORS: [(&str, Operator); 6] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("==", Operator::Is),
    ("!=", Operator::IsNot),
    ("<", Operator::Less),
    (">", Operator::More),
];

impl Operator {
    /// How a value in an interval compares with a limit.
    pub(super) fn decide(self, interval: Interval, limit: f64) -> Outcome {
        let Interval { low, high } = interval;
        let has_limit = low <= limit && limit <= high;
        match self {
            Self::Is if has_limit && low < high => Outcome::Undecided,
            Self::IsNot if has_limit && low < high => Outcome::Undecided,
            _ => match (self.holds(low, limit), self.holds(high, limit)) {
                (true, true) => Outcome::Pass,
                (false, false) => Outcome::Fail,
                _ => Outcome::Undecided,
            },
        }
    }

    /// Splits a condition at its last operator: names of parts may hold some, values cannot.
    pub(super) fn split(text: &str) -> Result<(&str, Self, &str), String> {
        let possible = "write METRIC OP VALUE, with <, <=, >, >=, == or !=: p99<250ms";
        let is_sign = |c: char| "<>=!".contains(c);
        let end = text.rfind(is_sign).ok_or_else(|| possible.to_owned())? + 1;
        let (left, value) = text.split_at(end);
        let found = OPERATORS.iter().find_map(|(sign, operator)| {
            Some((left.strip_suffix(sign)?.trim(), *operator, value.trim()))
        });
        // Only names of parts and tags have such signs.
        let is_whole = |subject: &str| subject.contains(['@', '{']) || !subject.contains(is_sign);
        found.filter(|(subject, ..)| is_whole(subject)).ok_or_else(|| possible.to_owned())
    }

    pub(super) fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Less => value < limit,
            Self::AtMost => value <= limit,
            Self::More => value > limit,
            Self::AtLeast => value >= limit,
            Self::Is => value == limit,
            Self::IsNot => value != limit,
        }
    }
}

/// What a value is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limit {
    pub(super) value: f64,
    pub(super) unit: Unit,
}

impl Limit {
    /// Reads a limit of a kind of metric.
    pub(super) fn parse(kind: Kind, text: &str) -> Result<Self, String> {
        let of = |unit, value| Self { value, unit };
        let percent = text.strip_suffix('%').and_then(|number| decimal(number.trim(), 2));
        let wanted = match kind {
            Kind::Time => {
                let limit_ns = parse_duration_ns(text).map_err(|error| error.to_string())?;
                return Ok(of(Unit::Us, limit_ns as f64 / 1e3));
            }
            Kind::Requests => match (percent, parse_count(text)) {
                (Some(share), _) => return Ok(of(Unit::Share, share)),
                (None, Ok(count)) => return Ok(of(Unit::Count, count as f64)),
                _ => "a count or a share of the requests: write 10, 10k or 0.1%",
            },
            Kind::Events => match parse_count(text) {
                Ok(count) => return Ok(of(Unit::Count, count as f64)),
                Err(error) => return Err(error.to_string()),
            },
            Kind::Rate => match (percent.or_else(|| of_target(text)), parse_rate_uhz(text)) {
                (Some(share), _) => return Ok(of(Unit::Share, share)),
                (None, Ok(rate_uhz)) => return Ok(of(Unit::Rps, rate_uhz as f64 / 1e6)),
                _ => "a rate or a share of the target: write 1000, 10k/s, 99% or 0.99*target",
            },
            Kind::Size => match size(text) {
                Some(bytes) => return Ok(of(Unit::Bytes, bytes as f64)),
                None => "a size: write 1000, 10k, 1.5M, 64KiB or 100MiB",
            },
            Kind::Cores => match percent.or_else(|| decimal(text, 0)) {
                Some(cores) => return Ok(of(Unit::Share, cores)),
                None => "a share of one core: write 80% or 0.8",
            },
            Kind::Share => match percent {
                Some(share) => return Ok(of(Unit::Share, share)),
                None => "a share of the time: write 1%",
            },
            Kind::Proportion => match percent.or_else(|| decimal(text, 0)) {
                Some(share) => return Ok(of(Unit::Share, share)),
                None => "a share of the values: write 95% or 0.95",
            },
            Kind::Number => match number(text) {
                Some(number) => return Ok(of(Unit::Number, number)),
                None => "a number: write 10, -2.5 or 10k",
            },
            Kind::PerSecond => match number(text.strip_suffix("/s").unwrap_or(text).trim_end()) {
                Some(number) => return Ok(of(Unit::Rps, number)),
                None => "a number for each second: write 10, 2.5 or 10k/s",
            },
            Kind::Verdict => {
                let all = [Verdict::Valid, Verdict::Suspect, Verdict::Invalid];
                match all.into_iter().find(|verdict| verdict.name() == text) {
                    Some(verdict) => return Ok(of(Unit::Verdict, verdict_value(verdict))),
                    None => "a verdict: write valid, suspect or invalid",
                }
            }
        };
        Err(format!("'{text}' is not {wanted}"))
    }
}

/// `0.99*target` or `target`.
fn of_target(text: &str) -> Option<f64> {
    let factor = text.strip_suffix("target")?.trim_end();
    match factor.strip_suffix('*') {
        Some(factor) => decimal(factor.trim_end(), 0),
        None => factor.is_empty().then_some(1.0),
    }
}

fn size(text: &str) -> Option<u64> {
    let binary = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    for (suffix, power) in binary {
        if let Some(number) = text.strip_suffix(suffix) {
            let bytes = decimal(number.trim(), 0)? * f64::from(1u32 << power);
            return Some(bytes.round() as u64);
        }
    }
    let number = text.strip_suffix('B').unwrap_or(text);
    parse_count(number.trim_end()).ok()
}

fn number(text: &str) -> Option<f64> {
    let plain = text.parse().ok().filter(|number: &f64| number.is_finite());
    plain.or_else(|| parse_count(text).ok().map(|count| count as f64))
}

/// A number without a sign, divided by ten to the power `shift`: the nearest there is, as if it
/// had been written out in whole.
pub(super) fn decimal(text: &str, shift: u32) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || digits.len() > 15 {
        return None;
    }
    let power = i32::try_from(fraction.len()).ok()? + i32::try_from(shift).ok()?;
    Some(digits.parse::<u64>().ok()? as f64 / 10f64.powi(power))
}
