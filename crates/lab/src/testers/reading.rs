//! A reading: what a load tester reported, in one form for all of them.

use std::path::PathBuf;

use plimsoll_core::find;
use plimsoll_core::result::RunResult;
use plimsoll_core::study::{Figures, Quantile};

/// A call that has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finished {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it printed beside that.
    pub stderr: String,
    /// The scratch directory of the call.
    pub scratch: PathBuf,
}

/// What a tester said; `None`: it does not say.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Requests that had a whole response.
    pub completed: Option<u64>,
    /// Of those, the ones as expected.
    pub ok: Option<u64>,
    /// Of those, the others: by default a status of 400 or more.
    pub failed: Option<u64>,
    /// Requests given up for taking too long.
    pub timed_out: Option<u64>,
    /// Everything else that went wrong: connects, resets, broken responses.
    pub errors: Option<u64>,
    /// Requests that were due and that it says it never sent.
    pub dropped: Option<u64>,
    /// Requests per second, as the tester has it.
    pub rate_rps: Option<f64>,
    /// Requests without a response that it counts in that rate.
    pub unanswered_in_rate: u64,
    /// How long it says the run took, seconds.
    pub duration_s: Option<f64>,
    /// Mean latency, seconds.
    pub mean_s: Option<f64>,
    /// Least latency, seconds.
    pub min_s: Option<f64>,
    /// Greatest latency, seconds.
    pub max_s: Option<f64>,
    /// The latency it shows first: quantile (0 to 1) and seconds, ascending.
    pub quantiles: Vec<(f64, f64)>,
    /// The same from the time of sending, where it has both clocks.
    pub service_quantiles: Vec<(f64, f64)>,
    /// The same of expected responses alone, where it has them apart.
    pub ok_quantiles: Vec<(f64, f64)>,
    /// What it says of its own figures: `valid`, `suspect`, `invalid` or words of its own.
    pub verdict: Option<String>,
    /// Why.
    pub causes: Vec<String>,
    /// Figures that it printed and that are no figures, each with the reason. Ours, not its words.
    pub left_out: Vec<String>,
    /// All it printed.
    pub text: String,
    /// Plimsoll's own result.
    pub result: Option<Box<RunResult>>,
    /// What a search of Plimsoll's found.
    pub search: Option<Box<find::Document>>,
}

impl Reading {
    /// Whether the tester does not call its own figures valid. `None`: it does not judge them.
    #[must_use]
    pub fn is_doubted(&self) -> Option<bool> {
        self.verdict.as_ref().map(|verdict| verdict != "valid")
    }

    /// The first of these words that is in what it printed or gave as a cause.
    #[must_use]
    pub fn says<'a>(&self, words: &[&'a str]) -> Option<&'a str> {
        let all = format!("{} {}", self.causes.join(" "), self.text).to_lowercase();
        words.iter().find(|word| all.contains(&word.to_lowercase())).copied()
    }
}

impl From<&Reading> for Figures {
    fn from(reading: &Reading) -> Self {
        let quantiles = |rows: &[(f64, f64)]| {
            rows.iter().map(|(q, s)| Quantile::known(*q, *s)).collect::<Vec<_>>()
        };
        // Where nothing was answered there is nothing to take a share of.
        let share = reading.completed.map_or(1.0, |completed| {
            completed as f64 / completed.saturating_add(reading.unanswered_in_rate).max(1) as f64
        });
        let untold = reading.errors.is_none() && reading.timed_out.is_none();
        let errors = reading.errors.unwrap_or(0).saturating_add(reading.timed_out.unwrap_or(0));
        let of_result = reading.result.as_deref().map(Self::of);
        let streams = of_result.as_ref().and_then(|figures| figures.streams.clone());
        let mut figures = Self {
            rate_rps: reading.rate_rps.map(|rate| rate * share),
            good_rps: None,
            duration_s: reading.duration_s,
            completed: reading.completed,
            failed: reading.failed,
            errors: (!untold).then_some(errors),
            outage: reading.result.as_ref().and_then(|result| result.outage).map(|it| it.share),
            connections: reading.result.as_ref().map(|result| result.connections.opened),
            mean_s: reading.mean_s,
            max_s: reading.max_s,
            mean_doubt: None,
            max_doubt: None,
            latency: quantiles(&reading.quantiles),
            service: quantiles(&reading.service_quantiles),
            streams,
            own_delay: None,
            load_line: reading.search.as_ref().map(|search| search.load_line()),
        };
        if let Some(of_result) = &of_result {
            figures.take_marks(of_result);
        }
        figures
    }
}
