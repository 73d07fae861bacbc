//! Servers of a study: how a case compares with the baseline's, and which servers differ by more
//! than noise.

use super::case::CaseContrast;
use super::decide::{Comparison, Decision, repeats_needed};
use super::document::Settings;
use super::side::is_paced;
use super::success::{Failures, compare_cases, decide_together};
use crate::study::{Better, Case, Column, Measure, Middle, Study};

/// A case among the servers under its load.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked<'a> {
    /// The case.
    pub case: &'a Case,
    /// The measure over its repeats.
    pub middle: Middle,
    /// The best rank it may have, from 1: one more than there are servers found better.
    pub best: usize,
    /// The worst rank it may have: one less for each server found worse.
    pub worst: usize,
}

/// The least repeats of each case with which servers can be told apart at all.
#[must_use]
pub fn repeats_to_compare() -> u32 {
    let needed = repeats_needed(Settings::default().confidence);
    u32::try_from(needed).unwrap_or(u32::MAX)
}

/// How a case compares with the baseline's under the same load, as two sides of a comparison do;
/// none where there is no baseline, or the case is the baseline's.
#[must_use]
pub fn contrast_with_baseline(study: &Study, case: &Case) -> Option<CaseContrast> {
    let base = baseline_of(study, case)?;
    let is_paced = is_paced(study, base) || is_paced(study, case);
    let contrast = CaseContrast::of([base, case], is_paced, &Settings::default());
    Some(CaseContrast { server: case.server.clone(), ..contrast })
}

/// How a measure of a case compares with the baseline's: together with its family if it is in it
/// ([`contrast_with_baseline`]), otherwise by itself.
#[must_use]
pub fn against_baseline(study: &Study, case: &Case, measure: Measure) -> Option<Comparison> {
    let contrast = contrast_with_baseline(study, case)?;
    if let Some(known) = contrast.of_measure(measure) {
        return Some(known.comparison.clone());
    }
    let (base, settings) = (baseline_of(study, case)?, Settings::default());
    let failures = Failures::of(base, case, &settings);
    Some(compare_cases(measure, [base, case], failures.as_ref(), &settings))
}

fn baseline_of<'a>(study: &'a Study, case: &Case) -> Option<&'a Case> {
    let baseline = study.baseline.as_deref().filter(|name| *name != case.server)?;
    study.case(baseline, &case.load)
}

/// The servers under a load by the median of a measure, the best first. Every pair is compared,
/// success first, at Holm's levels over all of them: the chance of telling any two servers
/// apart where all are the same is one in twenty at most. Servers that cannot be told apart
/// share the ranks they may have.
#[must_use]
pub fn ranking<'a>(study: &'a Study, load: &str, measure: Measure) -> Vec<Ranked<'a>> {
    let column = Column { measure, over: None };
    let under = study.cases.iter().filter(|case| case.load == load);
    let mut found: Vec<(&Case, Middle)> =
        under.filter_map(|case| Some((case, case.middle(&column)?))).collect();
    found.sort_by(|(_, a), (_, b)| match measure.better() {
        Better::Higher => b.median.total_cmp(&a.median),
        Better::Lower => a.median.total_cmp(&b.median),
    });
    let cases: Vec<&Case> = found.iter().map(|(case, _)| *case).collect();
    let mut ranks = vec![(1, cases.len()); cases.len()];
    let pairs = (0..cases.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    for ((first, second), decision) in pairs.zip(decide_together(measure, &cases)) {
        let (better, worse) = match decision {
            Decision::Better => (second, first),
            Decision::Worse => (first, second),
            Decision::CannotTell => continue,
        };
        ranks[worse].0 += 1;
        ranks[better].1 -= 1;
    }
    let mut ranked: Vec<Ranked<'_>> = found
        .into_iter()
        .zip(ranks)
        .map(|((case, middle), (best, worst))| Ranked { case, middle, best, worst })
        .collect();
    // A server that fails more often stands behind, whatever its median.
    ranked.sort_by_key(|place| place.best + place.worst);
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::study;

    #[test]
    fn cases_are_compared_with_the_baseline() {
        let study = study();
        let decided = |server: &str, measure| {
            let case = study.case(server, "wrk").unwrap();
            against_baseline(&study, case, measure).map(|it| (it.decision, it.change))
        };
        let (decision, ratio) = decided("slow", Measure::Rate).unwrap();
        assert_eq!(decision, Decision::Worse);
        assert!((ratio.unwrap() - 0.6 * 0.98).abs() < 0.01, "of good ones: {ratio:?}");
        let (decision, points) = decided("slow", Measure::Errors).unwrap();
        assert_eq!(decision, Decision::Worse);
        assert!((points.unwrap() - 0.02).abs() < 1e-12, "a difference: {points:?}");
        assert_eq!(decided("alike", Measure::Rate).unwrap().0, Decision::CannotTell);
        assert_eq!(decided("fast", Measure::Rate), None);
        assert_eq!(decided("slow", Measure::Pss).unwrap(), (Decision::CannotTell, None));
        let alone = Study { baseline: None, ..study.clone() };
        assert_eq!(against_baseline(&alone, &alone.cases[1], Measure::Rate), None);
    }

    #[test]
    fn what_cannot_be_told_apart_shares_its_ranks() {
        let mut study = study();
        let ranks = |study: &Study, measure| {
            let place = |place: &Ranked<'_>| (place.case.server.clone(), place.best, place.worst);
            ranking(study, "wrk", measure).iter().map(place).collect::<Vec<_>>()
        };
        let want =
            [("fast".to_owned(), 1, 2), ("alike".to_owned(), 1, 2), ("slow".to_owned(), 3, 3)];
        assert_eq!(ranks(&study, Measure::Rate), want);
        assert_eq!(ranks(&study, Measure::Latency(0.5)), want);
        assert!(ranks(&study, Measure::Latency(0.99)).is_empty());
        assert!(ranking(&study, "ab", Measure::Rate).is_empty());
        study.cases.iter_mut().for_each(|case| case.runs.truncate(3));
        let [best, worst] = [1, 3];
        for (server, from, to) in ranks(&study, Measure::Rate) {
            assert_eq!((from, to), (best, worst), "{server}: three repeats tell nothing");
        }
        assert_eq!(repeats_to_compare(), 4);
    }
}
