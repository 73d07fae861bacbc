//! What the repeats of a study show: where a column lies, how it compares with the baseline, and
//! which servers differ by more than noise.
//!
//! Only runs that count are used. Absent on purpose: one figure for a server over several loads,
//! because nobody has that load.

use crate::comparison::{self, Comparison, Decision, Settings};
use crate::stats::{Interval, median, median_interval};

use super::{Better, Case, Column, Measure, Study};

/// How often the interval of a median is meant to hold the true one, where the repeats suffice.
const CONFIDENCE: f64 = 0.95;

/// A column of a case over its repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Middle {
    /// Its values, in the order of the repeats, at least one.
    pub values: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// Where the true median lies, with the confidence that this number of repeats gives; `None`
    /// for a single repeat.
    pub interval: Option<Interval>,
}

/// A case's place among the servers under its load.
#[derive(Debug, Clone, PartialEq)]
pub struct Place<'a> {
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
    let needed = comparison::repeats_needed(Settings::default().confidence);
    u32::try_from(needed).unwrap_or(u32::MAX)
}

impl Case {
    /// What a column was over the repeats that count; none where none of them says.
    #[must_use]
    pub fn middle(&self, column: &Column) -> Option<Middle> {
        let values = self.whole().filter_map(|run| column.of(run));
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let median = median(&values)?;
        let interval = median_interval(&values, CONFIDENCE);
        Some(Middle { values, median, interval })
    }
}

impl Measure {
    /// Whether servers are compared by it. Neither way is better for processes, threads and
    /// connections, nor for CPU that is not divided by the work done with it; the tester's own
    /// use is not the server's.
    fn is_of_merit(self) -> bool {
        !matches!(
            self,
            Self::Cpu
                | Self::Processes
                | Self::Threads
                | Self::Connections
                | Self::TesterCpu
                | Self::TesterRss
        )
    }
}

impl Study {
    /// The measures by which servers are compared and ranked: those of the columns, then the rate,
    /// the 99th percentile and CPU time per request; each where a run has it.
    #[must_use]
    pub fn measures(&self) -> Vec<Measure> {
        let plain = self.columns.iter().filter(|column| column.over.is_none());
        let always = [Measure::Rate, Measure::Latency(0.99), Measure::CpuPerRequest];
        let mut measures: Vec<Measure> = Vec::new();
        for measure in plain.map(|column| column.measure).chain(always) {
            let is_said = self.cases.iter().any(|case| !case.values(measure).is_empty());
            if measure.is_of_merit() && is_said && !measures.contains(&measure) {
                measures.push(measure);
            }
        }
        measures
    }

    /// How a measure of a case compares with the baseline's under the same load; none where there
    /// is no baseline, or the case is the baseline's.
    #[must_use]
    pub fn against_baseline(&self, case: &Case, measure: Measure) -> Option<Comparison> {
        let baseline = self.baseline.as_deref().filter(|name| *name != case.server)?;
        let base = self.case(baseline, &case.load)?;
        Some(comparison::against(measure, base, case))
    }

    /// The servers under a load by the median of a measure, the best first. Every pair is compared,
    /// success first, at Holm's levels over all of them: the chance of telling any two servers
    /// apart where all are the same is one in twenty at most. Servers that cannot be told apart
    /// share the ranks they may have.
    #[must_use]
    pub fn ranking(&self, load: &str, measure: Measure) -> Vec<Place<'_>> {
        let column = Column { measure, over: None };
        let under = self.cases.iter().filter(|case| case.load == load);
        let mut found: Vec<(&Case, Middle)> =
            under.filter_map(|case| Some((case, case.middle(&column)?))).collect();
        found.sort_by(|(_, a), (_, b)| match measure.better() {
            Better::Higher => b.median.total_cmp(&a.median),
            Better::Lower => a.median.total_cmp(&b.median),
        });
        let cases: Vec<&Case> = found.iter().map(|(case, _)| *case).collect();
        let mut ranks = vec![(1, cases.len()); cases.len()];
        let pairs =
            (0..cases.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
        for ((first, second), decision) in pairs.zip(comparison::decide_together(measure, &cases)) {
            let (better, worse) = match decision {
                Decision::Better => (second, first),
                Decision::Worse => (first, second),
                Decision::CannotTell => continue,
            };
            ranks[worse].0 += 1;
            ranks[better].1 -= 1;
        }
        let mut places: Vec<Place<'_>> = found
            .into_iter()
            .zip(ranks)
            .map(|((case, middle), (best, worst))| Place { case, middle, best, worst })
            .collect();
        // A server that fails more often stands behind, whatever its median.
        places.sort_by_key(|place| place.best + place.worst);
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{CaseRun, Figures, Quantile};
    use crate::usage::Usage;

    fn case(server: &str, rates_rps: &[f64]) -> Case {
        let run = |(i, rate_rps): (usize, &f64)| CaseRun {
            repeat: i as u32 + 1,
            figures: Figures {
                rate_rps: Some(*rate_rps),
                completed: Some(100),
                failed: Some(if server == "slow" { 2 } else { 0 }),
                latency: vec![Quantile { q: 0.5, s: 1.0 / rate_rps }],
                ..Figures::default()
            },
            server: Some(Usage { rss_peak_bytes: 7, cpu_ns: 500, ..Usage::default() }),
            ..CaseRun::default()
        };
        let runs = rates_rps.iter().enumerate().map(run).collect();
        Case { server: server.to_owned(), load: "wrk".to_owned(), runs, ..Case::default() }
    }

    fn study() -> Study {
        let columns = ["rate", "p50", "p99/p50", "p90", "errors", "cpu", "threads", "rate"];
        Study {
            baseline: Some("fast".to_owned()),
            columns: columns.iter().map(|name| name.parse().unwrap()).collect(),
            cases: vec![
                case("fast", &[100.0, 101.0, 99.0, 102.0, 98.0]),
                case("slow", &[60.0, 59.0, 61.0, 58.0, 62.0]),
                case("alike", &[100.5, 101.5, 99.5, 97.5, 98.5]),
            ],
            ..Study::default()
        }
    }

    #[test]
    fn the_middle_is_of_the_runs_that_count() {
        let rate: Column = "rate".parse().unwrap();
        let mut case = case("a", &[5.0, 1.0, 4.0, 2.0, 3.0, 700.0]);
        case.runs[5].failure = Some("it died".to_owned());
        let middle = case.middle(&rate).unwrap();
        assert_eq!((middle.values.len(), middle.median), (5, 3.0));
        let interval = middle.interval.unwrap();
        assert_eq!((interval.low, interval.high, interval.confidence), (1.0, 5.0, 0.9375));
        case.runs.truncate(1);
        assert_eq!(case.middle(&rate).unwrap().interval, None, "one run tells no spread");
        assert_eq!(case.middle(&"p99".parse().unwrap()), None);
    }

    #[test]
    fn servers_are_compared_by_what_has_a_better_side() {
        let names: Vec<String> = study().measures().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["rate", "p50", "errors", "cpu_per_request"]);
        assert!(Study::default().measures().is_empty());
    }

    #[test]
    fn cases_are_held_against_the_baseline() {
        let study = study();
        let decided = |server: &str, measure| {
            let case = study.case(server, "wrk").unwrap();
            study.against_baseline(case, measure).map(|it| (it.decision, it.change))
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
        assert_eq!(alone.against_baseline(&alone.cases[1], Measure::Rate), None);
    }

    #[test]
    fn what_cannot_be_told_apart_shares_its_ranks() {
        let mut study = study();
        let ranks = |study: &Study, measure| {
            let place = |place: &Place<'_>| (place.case.server.clone(), place.best, place.worst);
            study.ranking("wrk", measure).iter().map(place).collect::<Vec<_>>()
        };
        let want =
            [("fast".to_owned(), 1, 2), ("alike".to_owned(), 1, 2), ("slow".to_owned(), 3, 3)];
        assert_eq!(ranks(&study, Measure::Rate), want);
        assert_eq!(ranks(&study, Measure::Latency(0.5)), want);
        assert!(ranks(&study, Measure::Latency(0.99)).is_empty());
        assert!(study.ranking("ab", Measure::Rate).is_empty());
        study.cases.iter_mut().for_each(|case| case.runs.truncate(3));
        let [best, worst] = [1, 3];
        for (server, from, to) in ranks(&study, Measure::Rate) {
            assert_eq!((from, to), (best, worst), "{server}: three repeats tell nothing");
        }
        assert_eq!(repeats_to_compare(), 4);
    }
}
