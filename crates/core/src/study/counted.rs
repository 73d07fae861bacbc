//! Which runs count, and for which figures.
//!
//! A run that failed counts for nothing. A run that its own verdict calls invalid loses the figures
//! that the causes reach, and counts for the others: a tester that sent late spoils response times,
//! and neither the rate nor the server's CPU. [`CaseRun::why_not_counted`] alone decides it, for
//! comparisons, rankings and medians alike.

use std::collections::BTreeMap;

use super::{Case, CaseRun, Measure};
use crate::verdict::{Cause, Verdict};

/// The figures that a cause spoils.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Times that count from when a request was due.
    Times,
    /// All but what the server's processes used.
    Responses,
    /// All of them.
    Everything,
}

impl Reach {
    fn of(cause: &Cause) -> Self {
        match cause.code.as_str() {
            "late" => Self::Times,
            "paused" | "throttled" => Self::Responses,
            _ => Self::Everything,
        }
    }

    fn holds(self, measure: Measure) -> bool {
        match self {
            Self::Times => is_time(measure),
            Self::Responses => !is_of_processes(measure),
            Self::Everything => true,
        }
    }
}

fn is_time(measure: Measure) -> bool {
    matches!(
        measure,
        Measure::Latency(_)
            | Measure::Service(_)
            | Measure::Message(..)
            | Measure::Mean
            | Measure::Max
            // A search decides by times.
            | Measure::LoadLine
            | Measure::FailsAt
    )
}

fn is_of_processes(measure: Measure) -> bool {
    matches!(
        measure,
        Measure::CpuPerRequest
            | Measure::Cpu
            | Measure::Rss
            | Measure::Pss
            | Measure::Processes
            | Measure::Threads
    )
}

impl CaseRun {
    /// Why the run does not count for a measure; `None` if it counts.
    #[must_use]
    pub fn why_not_counted(&self, measure: Measure) -> Option<String> {
        if self.failure.is_some() || self.verdict != Some(Verdict::Invalid) {
            return self.failure.clone();
        }
        let invalid: Vec<&Cause> =
            self.causes.iter().filter(|cause| cause.verdict == Verdict::Invalid).collect();
        let reaching = invalid.iter().filter(|cause| Reach::of(cause).holds(measure));
        let codes: Vec<&str> = reaching.map(|cause| cause.code.as_str()).collect();
        // A verdict without a cause is of everything.
        let is_reached = !codes.is_empty() || invalid.is_empty();
        is_reached.then(|| format!("invalid by the tester's verdict: {}", codes.join(", ")))
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

    /// Whether it is a repeat like the others, with every figure: it did not fail, and its own
    /// verdict does not call it invalid.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.failure.is_none() && self.verdict != Some(Verdict::Invalid)
    }

    /// Why the run is not [whole](Self::is_whole); `None` for one that is.
    #[must_use]
    pub fn why_left_out(&self) -> Option<String> {
        let invalid = || {
            let causes = self.causes.iter().filter(|cause| cause.verdict == Verdict::Invalid);
            let codes: Vec<&str> = causes.map(|cause| cause.code.as_str()).collect();
            format!("invalid by the tester's verdict: {}", codes.join(", "))
        };
        self.failure.clone().or_else(|| (!self.is_whole()).then(invalid))
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
    use crate::study::tests::case;

    fn doubted(verdict: Verdict, codes: &[&str]) -> CaseRun {
        let cause = |code: &&str| Cause::new(verdict, code, String::new());
        CaseRun {
            verdict: Some(verdict),
            causes: codes.iter().map(cause).collect(),
            ..case("a", &[1.0]).runs[0].clone()
        }
    }

    #[test]
    fn a_run_loses_the_figures_that_its_causes_reach() {
        let (rate, p99) = (Measure::Rate, Measure::Latency(0.99));
        let (cpu, errors) = (Measure::CpuPerRequest, Measure::Errors);
        let all = [rate, p99, cpu, errors];
        for (verdict, codes, lost) in [
            (Verdict::Valid, &[][..], &[][..]),
            (Verdict::Suspect, &["late", "cpu"], &[]),
            (Verdict::Invalid, &["late"], &[p99]),
            (Verdict::Invalid, &["paused"], &[rate, p99, errors]),
            (Verdict::Invalid, &["late", "throttled"], &[rate, p99, errors]),
            (Verdict::Invalid, &["time_order"], &all),
            (Verdict::Invalid, &["a cause of a later version"], &all),
            (Verdict::Invalid, &[], &all),
        ] {
            let run = doubted(verdict, codes);
            for measure in all {
                let is_lost = lost.contains(&measure);
                assert_eq!(run.counts_for(measure), !is_lost, "{codes:?} {measure}");
            }
        }
        let mut failed = doubted(Verdict::Valid, &[]);
        failed.failure = Some("it died".to_owned());
        assert_eq!(failed.why_not_counted(cpu).as_deref(), Some("it died"));
        assert!(!failed.counts());
        // What an invalid cause does not reach is not lost for a note that would.
        let mut late = doubted(Verdict::Invalid, &["late"]);
        late.causes.extend(doubted(Verdict::Suspect, &["steal"]).causes);
        assert!(late.counts_for(rate) && late.counts() && !late.counts_for(p99));
    }

    #[test]
    fn the_measures_that_a_run_loses_are_named() {
        let mut case = case("a", &[1.0, 2.0]);
        case.runs[0] = doubted(Verdict::Invalid, &["late"]);
        case.runs[1].failure = Some("it died".to_owned());
        let measures = [Measure::Rate, Measure::Latency(0.5), Measure::Latency(0.99)];
        let found: Vec<_> = case.not_counted(&measures).into_iter().collect();
        let late = "invalid by the tester's verdict: late".to_owned();
        assert_eq!(
            found,
            [((late, "p50, p99".to_owned()), 1), (("it died".to_owned(), String::new()), 1)]
        );
        assert_eq!(case.values(Measure::Rate).len(), 1);
        assert!(case.values(Measure::Latency(0.5)).is_empty() && case.says(Measure::Rate));
    }
}
