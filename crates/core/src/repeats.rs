//! Repeats of one load: the document `plimsoll/repeats/1`.
//!
//! One run shows how that run went. Repeats show how far the next one may differ: for each headline
//! figure the median, the least and the greatest value, and an interval for the true median. The
//! document contains every result, whole, as a single run would have written it.

use serde::{Deserialize, Serialize};

use crate::result::{RunResult, Tool};
use crate::stats::{ConfidenceInterval, LEAST_VALUES};
use crate::study::{Case, CaseRun, Column, Measure};
use crate::verdict::Verdict;

/// The schema's name and version.
pub const SCHEMA: &str = "plimsoll/repeats/1";

/// The least number of repeats that have a 95 % interval of their median; see
/// [`median_interval`](crate::stats::median_interval).
pub const FOR_95_PERCENT: usize = 6;

/// What is shown of repeats: rate of good responses, both response times, share of errors.
const HEADLINES: [Measure; 4] =
    [Measure::Rate, Measure::Latency(0.5), Measure::Latency(0.99), Measure::Errors];

/// The repeats of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// [`SCHEMA`].
    pub schema: String,
    /// Which program wrote it.
    pub tool: Tool,
    /// How many repeats were asked for. There are fewer where a signal came first.
    pub asked: u32,
    /// Names of the runs of the plan that took turns with these.
    #[serde(default)]
    pub in_turns_with: Vec<String>,
    /// The worst verdict of them.
    pub verdict: Verdict,
    /// The first repeat, from 1, that has it; null where nothing was run.
    pub worst: Option<u32>,
    /// The headline figures over the repeats that count.
    pub spread: Vec<MeasureSpread>,
    /// Repeats that do not count, and why.
    pub left_out: Vec<LeftOut>,
    /// The results, in the order in which they were taken.
    pub runs: Vec<RunResult>,
}

/// A figure over the repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureSpread {
    /// Which; a column that is divided by nothing. Units are those of a comparison.
    pub measure: Column,
    /// In how many repeats it is known.
    pub n: usize,
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// Where the true median lies; null of fewer repeats than a comparison takes.
    pub interval: Option<ConfidenceInterval>,
}

/// A repeat that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Which, from 1.
    pub repeat: u32,
    /// Why: one line.
    pub reason: String,
}

impl Repeats {
    /// Sums up results, in the order in which they were taken.
    #[must_use]
    pub fn of(runs: Vec<RunResult>, asked: u32, in_turns_with: Vec<String>, tool: Tool) -> Self {
        let numbered = (1..).zip(&runs);
        let case = Case {
            runs: numbered.clone().map(|(repeat, run)| CaseRun::of(run, repeat)).collect(),
            ..Case::default()
        };
        let verdict_of = |run: &RunResult| run.loader.verdict;
        let verdict = runs.iter().map(verdict_of).max().unwrap_or_default();
        let worst = numbered.clone().find(|(_, run)| verdict_of(run) == verdict);
        let left_out =
            |run: &CaseRun| run.why_left_out().map(|reason| LeftOut { repeat: run.repeat, reason });
        Self {
            schema: SCHEMA.to_owned(),
            tool,
            asked,
            in_turns_with,
            verdict,
            worst: worst.map(|(repeat, _)| repeat),
            spread: HEADLINES.into_iter().filter_map(|measure| spread(&case, measure)).collect(),
            left_out: case.runs.iter().filter_map(left_out).collect(),
            runs,
        }
    }

    /// How many of them count.
    #[must_use]
    pub fn counted(&self) -> usize {
        self.runs.len() - self.left_out.len()
    }
}

/// The seed of a repeat, from 1: that of the plan for the first, the next number for the next. With
/// `--seed` it gives that repeat alone.
#[must_use]
pub fn seed_of(seed: u64, repeat: u32) -> u64 {
    seed.wrapping_add(u64::from(repeat.saturating_sub(1)))
}

fn spread(case: &Case, measure: Measure) -> Option<MeasureSpread> {
    let column = Column { measure, over: None };
    let middle = case.middle(&column)?;
    let values = &middle.values;
    Some(MeasureSpread {
        measure: column,
        n: values.len(),
        median: middle.median,
        min: values.iter().copied().min_by(f64::total_cmp)?,
        max: values.iter().copied().max_by(f64::total_cmp)?,
        interval: middle.interval.filter(|_| values.len() >= LEAST_VALUES),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ledger;
    use crate::plan::{Draft, Endpoint};
    use crate::stats::median_interval;

    fn run(rate_rps: f64, verdict: Verdict) -> RunResult {
        let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
        let mut run = RunResult::empty(tool, &Draft::new(Endpoint::http("a", 80, "/")));
        let ledger = Ledger { scheduled: 100, sent: 100, completed: 100, ok: 100, ..run.ledger };
        run.ledger = ledger;
        run.rate.achieved_rps = rate_rps;
        run.loader.verdict = verdict;
        run.latency.response.record_n((1e9 / rate_rps) as u64, 100);
        run
    }

    fn repeats(runs: Vec<RunResult>) -> Repeats {
        let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
        Repeats::of(runs, 5, Vec::new(), tool)
    }

    #[test]
    fn the_whole_is_as_valid_as_its_worst_run() {
        use Verdict::{Invalid, Suspect, Valid};
        for (verdicts, want, worst) in [
            (&[Valid, Valid][..], Valid, Some(1)),
            (&[Valid, Suspect, Suspect], Suspect, Some(2)),
            (&[Suspect, Valid, Invalid], Invalid, Some(3)),
            (&[], Valid, None),
        ] {
            let found = repeats(verdicts.iter().map(|verdict| run(10.0, *verdict)).collect());
            assert_eq!((found.verdict, found.worst), (want, worst), "{verdicts:?}");
        }
    }

    #[test]
    fn the_spread_is_of_the_repeats_that_count() {
        let mut runs: Vec<RunResult> =
            [40.0, 10.0, 30.0, 20.0].map(|rate| run(rate, Verdict::Valid)).into();
        runs.push(run(9000.0, Verdict::Invalid));
        runs.push(RunResult { interrupted: true, ..run(7000.0, Verdict::Valid) });
        let found = repeats(runs);
        let rate = &found.spread[0];
        assert_eq!((rate.measure.to_string().as_str(), rate.n), ("rate", 4));
        assert_eq!((rate.median, rate.min, rate.max), (25.0, 10.0, 40.0));
        let interval = rate.interval.unwrap();
        assert_eq!((interval.low, interval.high, interval.confidence), (10.0, 40.0, 0.875));
        assert_eq!(found.counted(), 4);
        let left_out: Vec<u32> = found.left_out.iter().map(|it| it.repeat).collect();
        assert_eq!(left_out, [5, 6], "{:?}", found.left_out);
        let names: Vec<String> = found.spread.iter().map(|it| it.measure.to_string()).collect();
        assert_eq!(names, ["rate", "p50", "p99", "errors"]);
    }

    /// A median that lies between two printed values shows the same one when it was read back.
    #[test]
    fn figures_read_back_to_the_last_digit() {
        let read_back = |median: f64| {
            let found = repeats(vec![run(median, Verdict::Valid)]);
            let text = serde_json::to_string(&found.spread).unwrap();
            serde_json::from_str::<Vec<MeasureSpread>>(&text).unwrap()[0].median
        };
        for n in 1..200 {
            let median = f64::from(n) / 3e7;
            assert_eq!(read_back(median).to_bits(), median.to_bits(), "{median}");
        }
    }

    #[test]
    fn too_few_repeats_have_no_interval() {
        let found = repeats([1.0, 2.0, 3.0].map(|rate| run(rate, Verdict::Valid)).into());
        assert_eq!(found.spread[0].interval, None);
        let confidence = |n: usize| median_interval(&vec![1.0; n], 0.95).unwrap().confidence;
        assert!(confidence(FOR_95_PERCENT) >= 0.95 && confidence(FOR_95_PERCENT - 1) < 0.95);
    }

    #[test]
    fn each_repeat_has_a_seed_of_its_own() {
        assert_eq!([1, 2, 3].map(|repeat| seed_of(7, repeat)), [7, 8, 9]);
        assert_eq!(seed_of(u64::MAX, 2), 0);
    }

    #[test]
    fn a_document_reads_back_whole() {
        let found = repeats(vec![run(10.0, Verdict::Valid), run(11.0, Verdict::Suspect)]);
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Repeats>(&text).unwrap(), found);
    }
}
