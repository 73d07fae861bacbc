//! Decides on one measure: how two sides differ, and whether the difference is more than noise.
//!
//! A difference is called when both tests of [`shift`] find it at the given confidence, and the
//! Hodges–Lehmann estimate reaches a least change, below which nobody should care. The interval
//! shown comes from the same tests. They keep their level whatever the shape of the noise, even if
//! one side has more of it; `docs/comparing-statistics.md` has the simulations.
//!
//! [`compare_pairs`] decides on several measures at once (Holm): the chance of calling any of
//! them where nothing differs is that of one, and their intervals hold together.
//!
//! The tester's own delay may differ between the sides, as when the host was busy on one of them.
//! So measures of cases are compared twice, as measured and without that delay ([`Pair`]).

use serde::{Deserialize, Serialize};

use crate::stats::{
    CHANCE_ROUNDING, ConfidenceInterval, LEAST_VALUES, SampleSummary, Shift, detectable_shift,
    holm, least_p, shift_among,
};
use crate::study::{Better, Case, Measure};

/// What a difference is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// The new over the base: for what is above zero.
    Ratio,
    /// The new less the base: for shares, which are often zero.
    Difference,
}

/// How to decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecisionOptions {
    /// Which way is better.
    pub better: Better,
    /// What the difference is counted in.
    pub scale: Scale,
    /// From 0 to 1. One minus this is how often equal sides may be called different.
    pub confidence: f64,
    /// Differences below this are never called: of a ratio, its distance from 1.
    pub least_change: f64,
    /// From 0.5 to 1: the chance with which [`Comparison::detectable`] is found.
    pub power: f64,
}

impl DecisionOptions {
    /// Those that suit a measure: ratios, but differences for shares of errors, which are often
    /// none.
    #[must_use]
    pub fn of(measure: Measure) -> Self {
        match measure {
            Measure::Errors => Self::difference(measure.better()),
            _ => Self::ratio(measure.better()),
        }
    }

    /// Of ratios: 95 % confidence, differences from 1 % up, power 80 %.
    #[must_use]
    pub const fn ratio(better: Better) -> Self {
        Self { better, scale: Scale::Ratio, confidence: 0.95, least_change: 0.01, power: 0.8 }
    }

    /// Of shares: 95 % confidence, differences from a tenth of a percentage point up, power 80 %.
    #[must_use]
    pub const fn difference(better: Better) -> Self {
        Self { better, scale: Scale::Difference, confidence: 0.95, least_change: 0.001, power: 0.8 }
    }
}

/// What was decided of the new side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is better.
    Better,
    /// It is worse.
    Worse,
    /// It may be either, or the same.
    CannotTell,
}

/// Why nothing could be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A side has no values.
    NothingMeasured,
    /// No values of so few repeats could ever differ by more than chance.
    TooFewRepeats,
    /// Chance alone makes such a difference too often.
    WithinNoise,
    /// The difference is no accident, and too small to matter.
    TooSmall,
    /// Without what the tester itself may have added on each side, the difference is not there.
    OwnDelay,
    /// In a run of a side, the percentile is a lower bound, because requests had no whole response.
    LowerBound,
    /// One side fails more often than the other, or both fail always: the figures are not of the
    /// same thing, or of no success.
    UnlikeFailures,
}

/// Two sides of one measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What the difference is counted in.
    pub scale: Scale,
    /// Which way is better.
    pub better: Better,
    /// The base's values, one for each repeat.
    pub base: SampleSummary,
    /// The new side's.
    pub new: SampleSummary,
    /// The new over the base, or the new less the base: the Hodges–Lehmann estimate. Null without
    /// values, and where the ratio is without bounds.
    pub change: Option<f64>,
    /// Where the true change lies; null where the repeats are too few to say. If measures are
    /// decided together, the intervals of all of them hold with the confidence asked for, and each
    /// by itself with [`ConfidenceInterval::confidence`].
    pub interval: Option<ConfidenceInterval>,
    /// The chance of a difference this large, in either direction, between equal sides: the larger
    /// of the two tests' p-values.
    pub p: Option<f64>,
    /// The same, raised for being one of several measures that are decided together (Holm); null
    /// if the measure is decided by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_together: Option<f64>,
    /// What was decided.
    pub decision: Decision,
    /// Why it cannot be told; null where it can.
    pub reason: Option<Reason>,
    /// Whether the whole interval lies within the least change: the sides are as good as the same.
    #[serde(default)]
    pub is_alike: bool,
    /// How many repeats each side needs at least, where they are too few.
    pub repeats_needed: Option<usize>,
    /// The smallest difference that as many repeats of this noise show with a chance of the power
    /// asked for: of a ratio, its distance from 1. Never below the least change.
    pub detectable: Option<f64>,
}

impl Comparison {
    /// The new over the base, where that is what was asked for and it has bounds.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.change.filter(|_| self.scale == Scale::Ratio)
    }

    /// What is left of it beside the same comparison without the tester's own delay: how much of
    /// that delay is in the figures is not known, so the true change lies between the two, and what
    /// only one of them calls is not called.
    fn beside(mut self, undelayed: &Self) -> Self {
        self.interval = match (self.interval, undelayed.interval) {
            (Some(mine), Some(theirs)) => Some(ConfidenceInterval {
                low: mine.low.min(theirs.low),
                high: mine.high.max(theirs.high),
                ..mine
            }),
            _ => None,
        };
        self.is_alike &= undelayed.is_alike;
        if self.decision != undelayed.decision && self.reason.is_none() {
            self.decision = Decision::CannotTell;
            self.reason = Some(Reason::OwnDelay);
        }
        self
    }
}

/// A measure of two cases, to be compared.
pub(super) struct Pair<'a> {
    pub(super) measure: Measure,
    pub(super) cases: [&'a Case; 2],
    pub(super) options: DecisionOptions,
}

impl Pair<'_> {
    fn values(&self) -> [Vec<f64>; 2] {
        self.cases.map(|case| case.values(self.measure))
    }

    fn undelayed(&self) -> [Vec<f64>; 2] {
        self.cases.map(|case| case.undelayed(self.measure))
    }

    /// Whether both sides have values.
    pub(super) fn is_measured(&self) -> bool {
        self.values().iter().all(|side| !side.is_empty())
    }

    /// Compares the measure by itself.
    pub(super) fn compare(&self) -> Comparison {
        let [values, undelayed] = [self.values(), self.undelayed()]
            .map(|[base, new]| compare(&base, &new, &self.options));
        values.beside(&undelayed)
    }
}

/// Compares many measures at once ([`compare_together`]), each beside the tester's own delay.
pub(super) fn compare_pairs(pairs: &[Pair<'_>]) -> Vec<Comparison> {
    let measured: Vec<_> = pairs.iter().map(|pair| (pair.values(), pair.options)).collect();
    let undelayed: Vec<_> = pairs.iter().map(|pair| (pair.undelayed(), pair.options)).collect();
    let [measured, undelayed] = [measured, undelayed].map(|side| compare_together(&side));
    measured.into_iter().zip(&undelayed).map(|(found, other)| found.beside(other)).collect()
}

/// Compares values over repeats, in any order. What is not finite counts as not measured; so does
/// what is below zero where ratios are asked for.
#[must_use]
pub fn compare(base: &[f64], new: &[f64], options: &DecisionOptions) -> Comparison {
    let found = Found::of([base, new], options, 1);
    found.decided(found.shift.as_ref().map_or(1.0, |shift| shift.p))
}

/// Compares many pairs at once. Only what is more than chance at Holm's levels over all of them is
/// called, so that the chance of calling any where nothing differs is that of one comparison.
fn compare_together(pairs: &[([Vec<f64>; 2], DecisionOptions)]) -> Vec<Comparison> {
    let found: Vec<Found> = pairs
        .iter()
        .map(|([base, new], options)| Found::of([base, new], options, pairs.len()))
        .collect();
    let chances: Vec<f64> = found
        .iter()
        .map(|found| found.shift.as_ref().map_or(1.0, |shift| shift.p_of_many))
        .collect();
    let together = found.into_iter().zip(holm(&chances)).map(|(found, raised)| {
        let p = found.shift.as_ref().map_or(raised, |shift| raised.max(shift.p));
        let comparison = found.decided(p);
        Comparison { p_together: comparison.p.map(|_| p), ..comparison }
    });
    together.collect()
}

/// What the tests find, before anything is decided of it.
struct Found {
    options: DecisionOptions,
    values: [Vec<f64>; 2],
    /// On the scale of the tests; none where a side has no values.
    shift: Option<Shift>,
}

impl Found {
    /// Of one of several tests that share the chance of error.
    fn of([base, new]: [&[f64]; 2], options: &DecisionOptions, tests: usize) -> Self {
        let values = [base, new].map(|side| usable(side, options.scale));
        let [base, new] = [0, 1].map(|side| scaled(&values[side], options.scale));
        let shift = shift_among(&base, &new, options.confidence, tests);
        Self { options: *options, values, shift }
    }

    /// The decision, where `p` is the chance of such a difference between equal sides.
    fn decided(&self, p: f64) -> Comparison {
        let Self { options, values: [base, new], shift } = self;
        let blank = Comparison {
            scale: options.scale,
            better: options.better,
            base: SampleSummary::of(base),
            new: SampleSummary::of(new),
            change: None,
            interval: None,
            p: None,
            p_together: None,
            decision: Decision::CannotTell,
            reason: Some(Reason::NothingMeasured),
            is_alike: false,
            repeats_needed: None,
            detectable: None,
        };
        let Some(shift) = shift else { return blank };
        let measured = Comparison {
            change: unscaled(shift.estimate, options.scale),
            p: Some(shift.p),
            detectable: detectable(shift, (base.len(), new.len()), options),
            ..blank
        };
        let is_refused = p <= chance_allowed(options.confidence);
        let shift = if is_refused { shift.refused() } else { *shift };
        let Some(interval) = shift.interval else {
            let repeats_needed = Some(repeats_needed(options.confidence));
            return Comparison { reason: Some(Reason::TooFewRepeats), repeats_needed, ..measured };
        };
        let ends = [interval.low, interval.high].map(|end| unscaled(end, options.scale));
        let shown = match ends {
            [Some(low), Some(high)] => Some(ConfidenceInterval { low, high, ..interval }),
            _ => None,
        };
        let is_alike = is_within(&interval, options);
        let (decision, reason) = decide(&shift, is_refused, options);
        Comparison { interval: shown, decision, reason, is_alike, ..measured }
    }
}

/// Whether no shift of an interval, on the scale of the tests, is as large as the least change.
fn is_within(interval: &ConfidenceInterval, options: &DecisionOptions) -> bool {
    let least = match options.scale {
        Scale::Ratio => options.least_change.ln_1p(),
        Scale::Difference => options.least_change,
    };
    -least < interval.low && interval.high < least
}

fn decide(
    shift: &Shift,
    is_refused: bool,
    options: &DecisionOptions,
) -> (Decision, Option<Reason>) {
    if !is_refused {
        return (Decision::CannotTell, Some(Reason::WithinNoise));
    }
    if size(shift.estimate, options.scale) < options.least_change {
        return (Decision::CannotTell, Some(Reason::TooSmall));
    }
    let rose = shift.estimate > 0.0;
    let decision = match options.better {
        Better::Higher if rose => Decision::Better,
        Better::Lower if !rose => Decision::Better,
        _ => Decision::Worse,
    };
    (decision, None)
}

fn usable(values: &[f64], scale: Scale) -> Vec<f64> {
    let is_usable =
        |value: &f64| value.is_finite() && (scale == Scale::Difference || *value >= 0.0);
    values.iter().copied().filter(is_usable).collect()
}

/// On logarithms a ratio is a difference.
fn scaled(values: &[f64], scale: Scale) -> Vec<f64> {
    match scale {
        Scale::Ratio => values.iter().map(|value| value.ln()).collect(),
        Scale::Difference => values.to_vec(),
    }
}

fn unscaled(shift: f64, scale: Scale) -> Option<f64> {
    let value = match scale {
        Scale::Ratio => shift.exp(),
        Scale::Difference => shift,
    };
    value.is_finite().then_some(value)
}

/// How large a shift is, whichever its direction: of a ratio, its distance from 1.
fn size(shift: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Ratio => shift.exp_m1().abs(),
        Scale::Difference => shift.abs(),
    }
}

fn detectable(shift: &Shift, (n, m): (usize, usize), options: &DecisionOptions) -> Option<f64> {
    let least = detectable_shift(shift, n, m, options.power)?;
    let least = size(least, options.scale);
    least.is_finite().then_some(least.max(options.least_change))
}

/// The least repeats on each side with which a difference can be called at all, at a confidence
/// (0 to 1).
pub(crate) fn repeats_needed(confidence: f64) -> usize {
    let is_enough = |n: &usize| least_p(*n, *n) <= chance_allowed(confidence);
    (LEAST_VALUES..).find(is_enough).unwrap_or(usize::MAX)
}

/// What a chance may be for a difference to be called; the subtraction is not exact.
fn chance_allowed(confidence: f64) -> f64 {
    1.0 - confidence + CHANCE_ROUNDING
}
