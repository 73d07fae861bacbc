//! The outcome of an experiment, and how figures are compared with the truth.

use serde::{Deserialize, Serialize};

use crate::tool::Reading;

/// What came of an experiment on a tester.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Judgement {
    /// Its figures are true.
    Pass {
        /// What it said.
        figure: String,
    },
    /// They are not.
    Fail {
        /// What it said or did.
        figure: String,
        /// What is true.
        expected: String,
    },
    /// The tester has no way to ask for this.
    CannotExpress {
        /// What is missing.
        why: String,
    },
    /// This host or this call does not allow the experiment.
    Skipped {
        /// Why.
        why: String,
    },
    /// The tester does not say what would have to be judged, or the machine disturbed each attempt.
    Unmeasured {
        /// What is not said.
        why: String,
    },
    /// The experiment itself went wrong; it says nothing about the tester.
    Broken {
        /// How.
        why: String,
    },
}

impl Judgement {
    /// A pass.
    pub fn pass(figure: impl Into<String>) -> Self {
        Self::Pass { figure: figure.into() }
    }

    /// A failure.
    pub fn fail(figure: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Fail { figure: figure.into(), expected: expected.into() }
    }

    /// Not possible here.
    pub fn skipped(why: impl Into<String>) -> Self {
        Self::Skipped { why: why.into() }
    }

    /// Not said.
    pub fn unmeasured(why: impl Into<String>) -> Self {
        Self::Unmeasured { why: why.into() }
    }

    /// The experiment's own fault.
    pub fn broken(why: impl std::fmt::Display) -> Self {
        Self::Broken { why: why.to_string() }
    }
}

impl Judgement {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass { .. } => "pass",
            Self::Fail { .. } => "FAIL",
            Self::CannotExpress { .. } => "can't express",
            Self::Skipped { .. } => "skipped",
            Self::Unmeasured { .. } => "unmeasured",
            Self::Broken { .. } => "BROKEN",
        }
    }

    /// What stands behind the word.
    #[must_use]
    pub fn details(&self) -> String {
        match self {
            Self::Pass { figure } => figure.clone(),
            Self::Fail { figure, expected } => format!("{figure}; expected {expected}"),
            Self::CannotExpress { why }
            | Self::Skipped { why }
            | Self::Unmeasured { why }
            | Self::Broken { why } => why.trim().to_owned(),
        }
    }
}

/// A value that the tester has to have said.
///
/// # Errors
/// Unmeasured, when it has not.
pub fn said<T>(value: Option<T>, what: &str) -> Result<T, Judgement> {
    value.ok_or_else(|| Judgement::unmeasured(format!("it does not say {what}")))
}

/// The value at a quantile that was printed.
#[must_use]
pub fn printed(quantiles: &[(f64, f64)], q: f64) -> Option<f64> {
    quantiles.iter().find(|(printed, _)| (printed - q).abs() < 1e-9).map(|(_, value)| *value)
}

/// A quantile of the headline latency, seconds.
///
/// # Errors
/// Unmeasured, when it is not printed.
pub fn quantile(reading: &Reading, q: f64) -> Result<f64, Judgement> {
    said(printed(&reading.quantiles, q), &quantile_name(q))
}

/// `p99.9` of 0.999.
#[must_use]
pub fn quantile_name(q: f64) -> String {
    let percent = (q * 1e6).round() / 1e4;
    format!("p{percent}")
}

/// The value at a quantile of ascending values: the smallest that at least the share `q` does not
/// exceed.
#[must_use]
pub fn quantile_of(ascending: &[f64], q: f64) -> Option<f64> {
    let rank = (q * ascending.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    ascending.get(rank - 1).copied()
}

/// How a figure is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, shown in the unit that fits.
    Time,
    /// A plain number.
    Count,
    /// A share, shown in percent.
    Share,
    /// Per second.
    Rate,
}

impl Unit {
    /// The value in words.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Time if !value.is_finite() => "no time".to_owned(),
            Self::Time => plimsoll_core::units::format_ns((value.max(0.0) * 1e9).round() as u64),
            Self::Count if value.fract() == 0.0 => format!("{value}"),
            Self::Count => format!("{value:.2}"),
            Self::Share => format!("{:.2} %", value * 100.0),
            Self::Rate => format!("{value:.1}/s"),
        }
    }
}

/// Figures and what they should have been, put together one by one.
#[derive(Debug, Default)]
pub struct Checks {
    figures: Vec<String>,
    wrong: Vec<String>,
}

impl Checks {
    /// A figure that has to lie between two values.
    pub fn between(&mut self, name: &str, unit: Unit, value: f64, low: f64, high: f64) {
        self.figures.push(format!("{name} {}", unit.show(value)));
        // So that what is no number is wrong.
        let is_right = value >= low && value <= high;
        if !is_right {
            let expected = match (low.is_finite(), high.is_finite()) {
                (true, false) => format!("{name} at least {}", unit.show(low)),
                (false, _) => format!("{name} at most {}", unit.show(high)),
                _ if low == high => format!("{name} {}", unit.show(low)),
                _ => format!("{name} {} to {}", unit.show(low), unit.show(high)),
            };
            self.wrong.push(expected);
        }
    }

    /// A figure that has to lie within a share of the truth, or at most `more` above that.
    pub fn near(&mut self, name: &str, unit: Unit, value: f64, truth: f64, share: f64, more: f64) {
        self.between(name, unit, value, truth * (1.0 - share), truth * (1.0 + share) + more);
    }

    /// A figure that has to be this.
    pub fn exactly(&mut self, name: &str, value: u64, truth: u64) {
        self.between(name, Unit::Count, value as f64, truth as f64, truth as f64);
    }

    /// Something that has to be so. An empty figure is left out.
    pub fn holds(&mut self, is_right: bool, figure: impl Into<String>, expected: &str) {
        self.figures.extend(Some(figure.into()).filter(|figure| !figure.is_empty()));
        if !is_right {
            self.wrong.push(expected.to_owned());
        }
    }

    /// Something to know, whatever it is.
    pub fn note(&mut self, figure: impl Into<String>) {
        self.figures.push(figure.into());
    }

    /// Whether nothing is wrong so far.
    #[must_use]
    pub fn are_right(&self) -> bool {
        self.wrong.is_empty()
    }

    /// All of them.
    #[must_use]
    pub fn outcome(self) -> Judgement {
        let figure = self.figures.join(", ");
        if self.wrong.is_empty() {
            return Judgement::Pass { figure };
        }
        Judgement::Fail { figure, expected: self.wrong.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        let values: Vec<f64> = (1..=1000).map(f64::from).collect();
        for (q, want) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0), (0.0, 1.0)] {
            assert_eq!(quantile_of(&values, q), Some(want), "{q}");
        }
        assert_eq!(quantile_of(&[], 0.5), None);
        assert_eq!(quantile_of(&[7.0], 0.99), Some(7.0));
    }

    #[test]
    fn names_of_quantiles() {
        for (q, want) in [(0.5, "p50"), (0.999, "p99.9"), (0.9999, "p99.99"), (0.975, "p97.5")] {
            assert_eq!(quantile_name(q), want);
        }
    }

    #[test]
    fn figures_are_held_against_the_truth() {
        let outcome = |value| {
            let mut checks = Checks::default();
            checks.near("p99", Unit::Time, value, 0.9, 0.03, 0.01);
            checks.outcome()
        };
        assert_eq!(outcome(0.9), Judgement::pass("p99 900 ms"));
        assert_eq!(outcome(0.5), Judgement::fail("p99 500 ms", "p99 873 ms to 937 ms"));
        assert!(matches!(outcome(f64::NAN), Judgement::Fail { .. }));
        let mut checks = Checks::default();
        checks.exactly("requests", 1000, 1000);
        checks.holds(false, "verdict valid", "verdict invalid");
        assert_eq!(
            checks.outcome(),
            Judgement::fail("requests 1000, verdict valid", "verdict invalid")
        );
    }

    #[test]
    fn what_is_not_said_is_not_judged() {
        let reading = Reading { quantiles: vec![(0.99, 1.0)], ..Reading::default() };
        assert_eq!(quantile(&reading, 0.99), Ok(1.0));
        assert_eq!(quantile(&reading, 0.5), Err(Judgement::unmeasured("it does not say p50")));
    }
}
