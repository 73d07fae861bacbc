//! What the repeats of a study show: where a column lies, and which measures there are.
//!
//! Only figures that count are used, as far as there are any. Absent on purpose: one figure for a
//! server over several loads, because nobody has that load; and which servers differ, which
//! [`comparison`](crate::comparison) decides.

use crate::stats::{ConfidenceInterval, median, median_interval};

use super::{Case, CaseRun, Column, Mark, Measure, Study};

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

/// A column of a case as tables show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Over the repeats in which it counts; if it counts in none, over those in which it is in
    /// doubt.
    pub middle: Middle,
    /// Where the true value may lie, if that matters.
    pub mark: Option<Mark>,
    /// Whether it counts. A figure in doubt is neither ranked nor compared.
    pub counts: bool,
}

impl Case {
    /// What a column was over the repeats in which it counts; none where none of them says.
    #[must_use]
    pub fn middle(&self, column: &Column) -> Option<Middle> {
        middle(self.runs.iter().filter(|run| column.counts(run)), column)
    }

    /// What tables show of a column: it is shown even if it is in doubt in every repeat.
    #[must_use]
    pub fn shown(&self, column: &Column) -> Option<Shown> {
        let shown = |run: &&CaseRun, counts: bool| {
            run.failure.is_none() && column.of(run).is_some() && column.counts(run) == counts
        };
        let found = self.middle(column);
        let counts = found.is_some();
        let doubtful = || middle(self.runs.iter().filter(|run| shown(run, false)), column);
        let middle = found.or_else(doubtful)?;
        let marks = self.runs.iter().filter(|run| shown(run, counts));
        let mark = marks.filter_map(|run| column.mark(run)).reduce(Mark::and);
        Some(Shown { middle, mark, counts })
    }
}

fn middle<'a>(runs: impl Iterator<Item = &'a CaseRun>, column: &Column) -> Option<Middle> {
    let values = runs.filter_map(|run| column.of(run));
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let median = median(&values)?;
    let interval = median_interval(&values, CONFIDENCE);
    Some(Middle { values, median, interval })
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
            let mut runs = self.cases.iter().flat_map(|case| &case.runs);
            let is_said = runs.any(|run| run.failure.is_none() && measure.of(run).is_some());
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
