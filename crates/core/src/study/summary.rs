//! What the repeats of a study show: where a column lies, and which measures there are.
//!
//! Only runs that count are used. Absent on purpose: one figure for a server over several loads,
//! because nobody has that load; and which servers differ, which [`comparison`](crate::comparison)
//! decides.

use crate::stats::{ConfidenceInterval, median, median_interval};

use super::{Case, CaseRun, Column, Measure, Study};

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
    pub interval: Option<ConfidenceInterval>,
}

impl Case {
    /// What a column was over the repeats that count; none where none of them says.
    #[must_use]
    pub fn middle(&self, column: &Column) -> Option<Middle> {
        let counts = |run: &&CaseRun| {
            [Some(column.measure), column.over].into_iter().flatten().all(|it| run.counts_for(it))
        };
        let values = self.runs.iter().filter(counts).filter_map(|run| column.of(run));
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let median = median(&values)?;
        let interval = median_interval(&values, CONFIDENCE);
        Some(Middle { values, median, interval })
    }
}

impl Measure {
    /// Whether servers are compared by it. Neither way is better for processes, threads and
    /// connections, nor for CPU that is not divided by the work done with it; the tester's own
    /// use is not the server's. The rate that fails follows from the load line and the step of the
    /// search.
    fn is_of_merit(self) -> bool {
        !matches!(
            self,
            Self::Cpu
                | Self::FailsAt
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
    /// the load line, the 99th percentile and CPU time per request; each where a run has it.
    #[must_use]
    pub fn measures(&self) -> Vec<Measure> {
        let plain = self.columns.iter().filter(|column| column.over.is_none());
        let always =
            [Measure::Rate, Measure::LoadLine, Measure::Latency(0.99), Measure::CpuPerRequest];
        let mut measures: Vec<Measure> = Vec::new();
        for measure in plain.map(|column| column.measure).chain(always) {
            let is_said = self.cases.iter().any(|case| !case.values(measure).is_empty());
            if measure.is_of_merit() && is_said && !measures.contains(&measure) {
                measures.push(measure);
            }
        }
        measures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::{case, study};

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
}
