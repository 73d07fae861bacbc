//! Which runs count, and for which figures.
//!
//! A run that failed counts for nothing. Any other loses the figures that are in doubt, and counts
//! for the rest: a tester that sent late spoils response times, and neither the rate nor the
//! server's CPU. [`CaseRun::why_not_counted`] alone decides it, for comparisons, rankings and
//! medians alike; which figures are in doubt, `mark` says.

use std::collections::BTreeMap;

use super::{Case, CaseRun, Measure};
use crate::verdict::Verdict;

impl CaseRun {
    /// Why the run does not count for a measure; `None` if it counts.
    #[must_use]
    pub fn why_not_counted(&self, measure: Measure) -> Option<String> {
        let why = || match self.is_invalid_as_a_whole() {
            true => self.invalid_words(),
            false => format!("in doubt: {}", self.reasons().join(", and ")),
        };
        self.failure.clone().or_else(|| self.doubt(measure).map(|_| why()))
    }

    /// Whether the run counts for a measure.
    #[must_use]
    pub fn counts_for(&self, measure: Measure) -> bool {
        self.why_not_counted(measure).is_none()
    }

    /// Whether the run counts for any measure that servers are compared by.
    #[must_use]
    pub fn counts(&self) -> bool {
        let is_known = |measure: Measure| measure.of(self).is_some();
        self.counts_for(Measure::Rate)
            || (self.counts_for(Measure::CpuPerRequest) && is_known(Measure::CpuPerRequest))
    }

    /// Whether it is a repeat like the others, of which figures count: it did not fail, and it was
    /// not called invalid as a whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.failure.is_none() && !self.is_invalid_as_a_whole()
    }

    /// Why the run is not [whole](Self::is_whole); `None` for one that is.
    #[must_use]
    pub fn why_left_out(&self) -> Option<String> {
        self.failure.clone().or_else(|| (!self.is_whole()).then(|| self.invalid_words()))
    }

    fn invalid_words(&self) -> String {
        let causes = self.causes.iter().filter(|cause| cause.verdict == Verdict::Invalid);
        let codes: Vec<&str> = causes.map(|cause| cause.code.as_str()).collect();
        format!("invalid by the tester's verdict: {}", codes.join(", "))
    }
}

impl Case {
    /// The runs that count with every figure, in the order of the repeats.
    pub fn whole(&self) -> impl Iterator<Item = &CaseRun> {
        self.runs.iter().filter(|run| run.is_whole())
    }

    /// The runs that count for a measure, in the order of the repeats.
    pub fn counted(&self, measure: Measure) -> impl Iterator<Item = &CaseRun> {
        self.runs.iter().filter(move |run| run.counts_for(measure))
    }

    /// What a measure was in each run that counts for it, in the order of the repeats.
    #[must_use]
    pub fn values(&self, measure: Measure) -> Vec<f64> {
        self.counted(measure).filter_map(|run| measure.of(run)).collect()
    }

    /// The same values without the [tester's own delay](CaseRun::undelayed).
    #[must_use]
    pub fn undelayed(&self, measure: Measure) -> Vec<f64> {
        self.counted(measure).filter_map(|run| run.undelayed(measure)).collect()
    }

    /// Whether a run says what a measure was, one that counts or not.
    #[must_use]
    pub fn says(&self, measure: Measure) -> bool {
        self.runs.iter().any(|run| measure.of(run).is_some())
    }

    /// Whether a measure is a lower bound in a run that counts for it.
    #[must_use]
    pub fn has_lower_bound(&self, measure: Measure) -> bool {
        self.counted(measure).any(|run| measure.is_lower_bound(run))
    }

    /// Whether a measure was seen and counts in no run.
    #[must_use]
    pub fn is_in_doubt(&self, measure: Measure) -> bool {
        let mut seen = self.runs.iter().filter(|run| run.failure.is_none());
        self.values(measure).is_empty() && seen.any(|run| measure.of(run).is_some())
    }

    /// Why no figure of some runs counts, each reason with how many it holds for.
    #[must_use]
    pub fn left_out(&self) -> BTreeMap<String, usize> {
        let mut reasons = BTreeMap::new();
        for why in self.runs.iter().filter_map(CaseRun::why_left_out) {
            *reasons.entry(why).or_default() += 1;
        }
        reasons
    }

    /// Why runs do not count for some of these measures: each reason, the measures, and how many
    /// runs it holds for.
    #[must_use]
    pub fn not_counted(&self, measures: &[Measure]) -> BTreeMap<(String, String), usize> {
        let mut reasons = BTreeMap::new();
        for run in &self.runs {
            let mut of_run: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for measure in measures {
                if let Some(why) = run.why_not_counted(*measure) {
                    of_run.entry(why).or_default().push(measure.to_string());
                }
            }
            for (why, of) in of_run {
                let is_all = of.len() == measures.len();
                let of = if is_all { String::new() } else { of.join(", ") };
                *reasons.entry((why, of)).or_default() += 1;
            }
        }
        reasons
    }

    /// The runs that failed.
    pub fn failures(&self) -> impl Iterator<Item = &CaseRun> {
        self.runs.iter().filter(|run| run.failure.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubt::{Figure, Reach, Touch};
    use crate::study::Mark;
    use crate::study::tests::case;
    use crate::verdict::Cause;

    const MEASURES: [Measure; 4] =
        [Measure::Rate, Measure::Latency(0.5), Measure::CpuPerRequest, Measure::Errors];

    /// A run that is invalid for a cause with these touches.
    fn touched(touches: Vec<Touch>) -> CaseRun {
        let cause = Cause::new(Verdict::Invalid, "late", String::new());
        CaseRun {
            verdict: Some(Verdict::Invalid),
            causes: vec![Cause { touches, ..cause }],
            ..case("a", &[1.0]).runs[0].clone()
        }
    }

    /// As what a late tester leaves of a run: its percentiles may be lower.
    fn late() -> CaseRun {
        let mut run = touched(vec![Touch::below(Figure::Response, Reach::Any)]);
        run.figures.latency.iter_mut().for_each(|it| it.doubt = Some(Mark::AtMost));
        run
    }

    #[test]
    fn a_run_loses_the_figures_that_are_in_doubt() {
        use Measure::{CpuPerRequest, Errors, Latency, Rate};
        let any = |figure: Figure| vec![Touch::either(figure, Reach::Any)];
        for (run, lost) in [
            (late(), &[Latency(0.5)][..]),
            (touched(any(Figure::Achieved)), &[Rate]),
            (touched(vec![Touch::above(Figure::Achieved, Reach::share(0.04))]), &[]),
            (touched(any(Figure::Counts)), &[CpuPerRequest, Errors]),
            (touched(any(Figure::Load)), &[]),
            // As in documents of earlier versions.
            (touched(Vec::new()), &[Rate, Latency(0.5), CpuPerRequest]),
        ] {
            for measure in MEASURES {
                let is_lost = lost.contains(&measure);
                assert_eq!(run.counts_for(measure), !is_lost, "{:?} {measure}", run.causes);
            }
        }
        let mut failed = late();
        failed.failure = Some("it died".to_owned());
        assert_eq!(failed.why_not_counted(CpuPerRequest).as_deref(), Some("it died"));
        assert!(!failed.counts() && late().counts());
    }

    #[test]
    fn the_measures_that_a_run_loses_are_named() {
        let mut case = case("a", &[1.0, 2.0]);
        case.runs[0] = late();
        case.runs[1].failure = Some("it died".to_owned());
        let measures = [Measure::Rate, Measure::Latency(0.5), Measure::Errors];
        let found: Vec<_> = case.not_counted(&measures).into_iter().collect();
        let busy = "in doubt: this host was busy".to_owned();
        assert_eq!(
            found,
            [((busy, "p50".to_owned()), 1), (("it died".to_owned(), String::new()), 1)]
        );
        assert_eq!(case.values(Measure::Rate).len(), 1);
        assert!(case.values(Measure::Latency(0.5)).is_empty() && case.says(Measure::Rate));
    }
}
