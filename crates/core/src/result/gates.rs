//! What a result holds of gates: each condition as given, and what was measured for it.

use serde::{Deserialize, Serialize};

use crate::doubt::{Interval, Lean};
use crate::units::{format_bytes, format_number, format_whole};
use crate::verdict::Verdict;

/// A true value that may be further away than this share of a decided gate's value has a mark.
const MARKED_FROM_SHARE: f64 = 0.05;

/// A condition the run had to meet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// As given.
    pub expr: String,
    /// What was measured; null when there was nothing to measure.
    pub value: Option<f64>,
    /// What the value counts.
    #[serde(default)]
    pub unit: Unit,
    /// Whether it was met, whatever the doubt.
    pub pass: bool,
    /// Whether doubt leaves it open: the true value may meet it or not. Then it counts as not met.
    #[serde(default)]
    pub undecided: bool,
    /// Where the true value lies, if that is not known to be the value; in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<GateInterval>,
    /// What a reader has to know about the value, or why there is no value.
    #[serde(default)]
    pub note: Option<String>,
}

/// Where the true value of a gate lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GateInterval {
    /// The least that it can be.
    pub low: f64,
    /// The most; null without a limit.
    pub high: Option<f64>,
}

/// How a gate was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Met, whatever the doubt.
    Pass,
    /// Not met, whatever the doubt.
    Fail,
    /// Doubt leaves it open.
    Undecided,
}

impl Outcome {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Undecided => "UNDECIDED",
        }
    }
}

impl Gate {
    /// How it was decided.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.pass, self.undecided) {
            (true, _) => Outcome::Pass,
            (false, true) => Outcome::Undecided,
            (false, false) => Outcome::Fail,
        }
    }

    /// What was measured, for people, marked if the true value may lie elsewhere: `≤ 2.791 ms`.
    #[must_use]
    pub fn measured(&self) -> String {
        let Some(value) = self.value else { return "nothing to measure".to_owned() };
        let words = self.unit.format(value);
        match self.lean(value) {
            Some(lean) => format!("{} {words}", lean.sign()),
            None => words,
        }
    }

    /// The same for a gate that was decided by a condition with this sign (`<`). A mark that points
    /// across the limit would speak against what was decided: then the end of the interval that
    /// decided it is given, `150 ms (at least 120 ms)`.
    #[must_use]
    pub fn decided(&self, sign: &str) -> String {
        let (Some(value), Some(interval)) = (self.value, self.interval) else {
            return self.measured();
        };
        let is_upper_limit = sign.starts_with('<');
        let is_limit = is_upper_limit || sign.starts_with('>');
        // What fails an upper limit, and what meets a lower one, is decided by the least.
        let is_by_least = is_upper_limit != self.pass;
        let against = if is_by_least { Lean::Lower } else { Lean::Higher };
        let lean = self.lean(value).filter(|lean| [against, Lean::Either].contains(lean));
        if self.undecided || !is_limit || lean.is_none() {
            return self.measured();
        }
        let words = self.unit.format(value);
        match (is_by_least, interval.high) {
            (true, _) => format!("{words} (at least {})", self.unit.format(interval.low)),
            (false, Some(high)) => format!("{words} (at most {})", self.unit.format(high)),
            (false, None) => self.measured(),
        }
    }

    /// Where the true value may lie, as far as that matters: of what is undecided, anywhere else.
    fn lean(&self, value: f64) -> Option<Lean> {
        let GateInterval { low, high } = self.interval?;
        let tolerance = if self.undecided { 0.0 } else { MARKED_FROM_SHARE * value.abs() };
        Interval { low, high: high.unwrap_or(f64::INFINITY) }.lean(value, tolerance)
    }
}

/// What a measured value counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Anything.
    #[default]
    Number,
    /// Microseconds.
    Us,
    /// Requests, connections or other things that are counted.
    Count,
    /// A share of a whole, of a target or of a CPU: 1 is all of it.
    Share,
    /// Requests per second.
    Rps,
    /// Bytes.
    Bytes,
    /// 2 is valid, 1 suspect, 0 invalid.
    Verdict,
}

impl Unit {
    /// A value for people, with its unit: enough digits to tell it from a limit close by.
    #[must_use]
    pub fn format(self, value: f64) -> String {
        match self {
            Self::Number => format_number(value),
            Self::Us => time(value * 1e3),
            Self::Count => format_whole(value),
            Self::Share => share(value * 100.0),
            Self::Rps => format!("{}/s", four_digits(value)),
            Self::Bytes => format_bytes(value.round() as u64),
            Self::Verdict => verdict_of(value).name().to_owned(),
        }
    }
}

/// A number with four significant digits, whole from 1 000 up and then with a space between groups
/// of three digits.
fn four_digits(value: f64) -> String {
    match value.abs() {
        v if v >= 999.95 => format_whole(value),
        v if v >= 99.995 => format!("{value:.1}"),
        v if v >= 9.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn time(value_ns: f64) -> String {
    match value_ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 999_950.0 => format!("{} µs", four_digits(ns / 1e3)),
        ns if ns < 999_950_000.0 => format!("{} ms", four_digits(ns / 1e6)),
        ns if ns < 120e9 => format!("{} s", four_digits(ns / 1e9)),
        ns => format!("{} min", four_digits(ns / 60e9)),
    }
}

fn share(percent: f64) -> String {
    if percent > 0.0 && percent < 0.0005 {
        return "< 0.001 %".to_owned();
    }
    let text = four_digits(percent);
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} %")
}

/// A verdict as a number: the better, the higher.
pub(crate) fn verdict_value(verdict: Verdict) -> f64 {
    match verdict {
        Verdict::Valid => 2.0,
        Verdict::Suspect => 1.0,
        Verdict::Invalid => 0.0,
    }
}

fn verdict_of(value: f64) -> Verdict {
    [Verdict::Valid, Verdict::Suspect]
        .into_iter()
        .find(|verdict| verdict_value(*verdict) <= value)
        .unwrap_or(Verdict::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was decided stands beside the figure that decided it, and not against a mark.
    #[test]
    fn no_mark_speaks_against_what_was_decided() {
        let gate = |pass: bool, low: f64, high: Option<f64>| Gate {
            value: Some(150_000.0),
            unit: Unit::Us,
            pass,
            interval: Some(GateInterval { low, high }),
            ..Gate::default()
        };
        let (ms, exactly) = (1000.0, 150_000.0);
        for (sign, gate, want) in [
            ("<", gate(false, 120.0 * ms, Some(exactly)), "150.0 ms (at least 120.0 ms)"),
            ("<=", gate(false, 120.0 * ms, None), "150.0 ms (at least 120.0 ms)"),
            ("<", gate(false, exactly, None), "≥ 150.0 ms"),
            ("<", gate(true, 0.0, Some(exactly)), "≤ 150.0 ms"),
            ("<", gate(true, exactly, Some(200.0 * ms)), "150.0 ms (at most 200.0 ms)"),
            (">", gate(false, 0.0, Some(200.0 * ms)), "150.0 ms (at most 200.0 ms)"),
            (">", gate(false, 0.0, Some(exactly)), "≤ 150.0 ms"),
            (">=", gate(true, exactly, None), "≥ 150.0 ms"),
            (">=", gate(true, 120.0 * ms, None), "150.0 ms (at least 120.0 ms)"),
            ("==", gate(false, 120.0 * ms, Some(exactly)), "≤ 150.0 ms"),
            ("<", Gate { undecided: true, ..gate(false, 0.0, None) }, "≈ 150.0 ms"),
        ] {
            assert_eq!(gate.decided(sign), want, "{sign} {gate:?}");
        }
    }

    #[test]
    fn digits_are_grouped_after_rounding() {
        for (unit, value, want) in [
            (Unit::Rps, 99.994, "99.99/s"),
            (Unit::Rps, 999.94, "999.9/s"),
            (Unit::Rps, 999.96, "1 000/s"),
            (Unit::Rps, 1234.5, "1 235/s"),
            (Unit::Rps, 9999.6, "10 000/s"),
            (Unit::Count, 999.6, "1 000"),
            (Unit::Share, 9.9996, "1 000 %"),
            (Unit::Number, -1234.5, "-1 235"),
            (Unit::Us, 999.96, "1.000 ms"),
        ] {
            assert_eq!(unit.format(value), want, "{unit:?} {value}");
        }
    }
}
