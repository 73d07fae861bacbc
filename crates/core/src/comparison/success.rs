//! Success comes before speed: a failed answer is not a fast one.
//!
//! The side on which a larger share of requests fails is the worse one, whatever its rate and its
//! times. If the shares differ but the difference may be noise, the times of the two sides describe
//! different things, so neither side is called faster. Speed decides alone only if no request
//! failed, or the same share failed on both sides.

use super::decide::{Comparison, Decision, DecisionOptions, Pair, Reason, compare, compare_pairs};
use super::document::Settings;
use crate::stats::mean;
use crate::study::{Case, Measure};

/// Two tests may call a case where requests fail: this much of the chance allowed goes to the one
/// of failures, the rest to the one of speed. It is enough for 4 repeats that lie wholly apart.
const SHARE_OF_CHANCE: f64 = 0.6;

/// What fails on the two sides of a case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failures {
    /// The mean share of requests that failed: of the base, of the new side.
    pub(super) shares: [f64; 2],
    /// How they compare; none where their difference is below the least that is called.
    pub(super) compared: Option<Comparison>,
}

impl Failures {
    /// Those of two cases. None where a side does not say.
    pub(super) fn of(base: &Case, new: &Case, settings: &Settings) -> Option<Self> {
        let values = [base, new].map(|case| case.values(Measure::Errors));
        let shares = [mean(&values[0])?, mean(&values[1])?];
        let options = DecisionOptions { confidence: for_success(settings), ..options(settings) };
        let compared = are_apart(&values, options.least_change)
            .then(|| compare(&values[0], &values[1], &options));
        Some(Self { shares, compared })
    }

    /// Which side is the worse one for its failures, seen from the new one.
    pub(super) fn decision(&self) -> Decision {
        self.compared.as_ref().map_or(Decision::CannotTell, |it| it.decision)
    }

    /// Whether the shares lie apart as measured, more than noise or not.
    pub(super) fn are_unlike(&self) -> bool {
        let [base, new] = self.shares;
        (new - base).abs() >= DecisionOptions::of(Measure::Errors).least_change
    }

    /// Whether the new side fails more often, as measured.
    pub(super) fn are_more(&self) -> bool {
        self.are_unlike() && self.shares[1] > self.shares[0]
    }

    /// Whether nothing else was seen on both sides.
    fn are_all(&self) -> bool {
        self.shares.iter().all(|share| *share >= 1.0)
    }

    /// Takes back what was decided of a measure that failures spoil.
    fn withhold(&self, measure: Measure, found: &mut Comparison) {
        if is_of_all_answers(measure) && self.are_unlike() {
            found.is_alike = false;
        }
        let is_spoilt = match (measure, found.decision) {
            (_, Decision::CannotTell) => false,
            (measure, _) if is_of_all_answers(measure) => self.are_unlike() || self.are_all(),
            (Measure::Rate, Decision::Better) => self.are_more(),
            (Measure::Rate, Decision::Worse) => self.are_unlike() && !self.are_more(),
            _ => false,
        };
        if is_spoilt {
            found.decision = Decision::CannotTell;
            found.reason = Some(Reason::UnlikeFailures);
        }
    }
}

/// Compares a measure of two cases, success first.
pub(super) fn compare_cases(
    measure: Measure,
    cases: [&Case; 2],
    failures: Option<&Failures>,
    settings: &Settings,
) -> Comparison {
    let options = options_beside(measure, failures, settings);
    let mut found = Pair { measure, cases, options }.compare();
    withhold(measure, cases, failures, &mut found);
    found
}

/// Compares measures of two cases, success first, so that the chance of calling any of them where
/// none differs is that of one comparison (Holm). Those that have no values on a side take nothing
/// of it.
pub(super) fn compare_family(
    measures: &[Measure],
    cases: [&Case; 2],
    failures: Option<&Failures>,
    settings: &Settings,
) -> Vec<Comparison> {
    let pair = |measure: &Measure| {
        let (measure, options) = (*measure, options_beside(*measure, failures, settings));
        Pair { measure, cases, options }
    };
    let (tested, bare): (Vec<Pair<'_>>, Vec<Pair<'_>>) =
        measures.iter().map(pair).partition(Pair::is_measured);
    let together = tested.iter().zip(compare_pairs(&tested));
    let found = together.chain(bare.iter().map(|pair| (pair, pair.compare())));
    let mut withheld: Vec<(Measure, Comparison)> = found
        .map(|(pair, mut found)| {
            withhold(pair.measure, cases, failures, &mut found);
            (pair.measure, found)
        })
        .collect();
    let place = |measure: &Measure| measures.iter().position(|it| it == measure);
    withheld.sort_by_key(|(measure, _)| place(measure));
    withheld.into_iter().map(|(_, found)| found).collect()
}

/// How to decide on a measure beside failures, which have a share of the chance if they are tested.
fn options_beside(
    measure: Measure,
    failures: Option<&Failures>,
    settings: &Settings,
) -> DecisionOptions {
    let shared = failures.is_some_and(|failures| failures.compared.is_some());
    let confidence = match shared && measure != Measure::Errors {
        true => for_speed(settings),
        false => settings.confidence,
    };
    DecisionOptions { confidence, ..settings.options(measure) }
}

/// Takes back what was decided of figures that say nothing of speed.
fn withhold(
    measure: Measure,
    cases: [&Case; 2],
    failures: Option<&Failures>,
    found: &mut Comparison,
) {
    if let Some(failures) = failures {
        failures.withhold(measure, found);
    }
    withhold_bounds(measure, cases, found);
}

/// Takes back what was decided of lower bounds: where requests had no answer, the time until they
/// were given up says nothing of the time that the server takes.
fn withhold_bounds(measure: Measure, cases: [&Case; 2], found: &mut Comparison) {
    let is_of_values = matches!(found.reason, None | Some(Reason::WithinNoise | Reason::TooSmall));
    if is_of_values && cases.iter().any(|case| case.has_lower_bound(measure)) {
        found.decision = Decision::CannotTell;
        found.reason = Some(Reason::LowerBound);
        found.is_alike = false;
    }
}

/// Compares every case with every other that follows it, by a measure and success first, so that
/// the chance of calling any two of them different where none differ is that of one comparison.
///
/// The decisions are those on the second of each pair, in the order of the pairs.
#[must_use]
pub(super) fn decide_together(measure: Measure, cases: &[&Case]) -> Vec<Decision> {
    let settings = Settings::default();
    let pairs: Vec<[&Case; 2]> = cases
        .iter()
        .enumerate()
        .flat_map(|(i, second)| cases[..i].iter().map(move |first| [*first, *second]))
        .collect();
    let tests = |measure: Measure| {
        let options = settings.options(measure);
        pairs.iter().map(move |cases| Pair { measure, cases: *cases, options })
    };
    let mut all: Vec<Pair<'_>> = tests(measure).collect();
    if !is_of_speed(measure) {
        return compare_pairs(&all).into_iter().map(|found| found.decision).collect();
    }

    let least = options(&settings).least_change;
    let shares: Vec<[Vec<f64>; 2]> =
        pairs.iter().map(|pair| pair.map(|case| case.values(Measure::Errors))).collect();
    let of_failures = tests(Measure::Errors).zip(&shares);
    all.extend(of_failures.filter(|(_, shares)| are_apart(shares, least)).map(|(pair, _)| pair));
    let mut found = compare_pairs(&all);
    let mut by_failures = found.split_off(pairs.len()).into_iter();
    let decided = found.into_iter().zip(&shares).zip(&pairs).map(|((mut found, shares), pair)| {
        withhold_bounds(measure, *pair, &mut found);
        let compared = are_apart(shares, least).then(|| by_failures.next()).flatten();
        let [Some(base), Some(new)] = [mean(&shares[0]), mean(&shares[1])] else {
            return found.decision;
        };
        let failures = Failures { shares: [base, new], compared };
        failures.withhold(measure, &mut found);
        match failures.decision() {
            Decision::CannotTell => found.decision,
            worse_or_better => worse_or_better,
        }
    });
    decided.collect()
}

fn options(settings: &Settings) -> DecisionOptions {
    settings.options(Measure::Errors)
}

fn for_success(settings: &Settings) -> f64 {
    1.0 - (1.0 - settings.confidence) * SHARE_OF_CHANCE
}

fn for_speed(settings: &Settings) -> f64 {
    1.0 - (1.0 - settings.confidence) * (1.0 - SHARE_OF_CHANCE)
}

/// Whether any difference of these shares could be called at all.
fn are_apart(values: &[Vec<f64>; 2], least: f64) -> bool {
    let all = || values.iter().flatten().copied();
    all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min) >= least
}

/// Whether a measure is of every answer, failed ones among them.
fn is_of_all_answers(measure: Measure) -> bool {
    matches!(
        measure,
        Measure::Responses
            | Measure::Latency(_)
            | Measure::Service(_)
            | Measure::Message(..)
            | Measure::Mean
            | Measure::Max
            | Measure::CpuPerRequest
    )
}

/// Whether a measure is of what was answered rather than of what the server needs for it.
pub(super) fn is_of_speed(measure: Measure) -> bool {
    measure == Measure::Rate || is_of_all_answers(measure)
}
