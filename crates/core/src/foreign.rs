//! What another load tester wrote down of a run, in common terms.
//!
//! Crate `dialect` reads the files, views and comparisons show what was read. What a file does not
//! say is `None` or empty, never a guess. Absent on purpose: response times. Testers of another
//! make start the clock when they send, so their times are service times, whatever they call them.

use std::collections::BTreeMap;

use crate::study::{Figures, Quantile};

/// A run of another tester.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignResult {
    /// What the file was read as, for people: `a result of fortio 1.75.2 (HTTP)`.
    pub read_as: String,
    /// The tester, with its version where the file says it.
    pub tester: String,
    /// What was loaded, without secrets: a URL or an address.
    pub target: Option<String>,
    /// What the user called the run.
    pub labels: Option<String>,
    /// When it began, RFC 3339, UTC.
    pub started_at: Option<String>,
    /// How the load was made, for people, in the order in which it is shown.
    pub load: Vec<String>,
    /// Whether the load came at a rate; if not, as fast as possible.
    pub is_paced: Option<bool>,
    /// The rate that was asked for, requests per second.
    pub target_rps: Option<f64>,
    /// What has to be the same on both sides of a comparison, by name.
    pub facts: BTreeMap<String, String>,
    /// Why the run does not count as a repeat of its load: one line.
    pub failure: Option<String>,
    /// Calls per second as the tester has it, with and without an answer.
    pub calls_rps: Option<f64>,
    /// Counts and rates, and the quantiles of service time. The fields for latency by the first
    /// clock are empty.
    pub figures: Figures,
    /// Service times.
    pub times: ServiceTimes,
    /// Times as the file has them in buckets.
    pub distributions: Vec<Distribution>,
    /// Requests by what came of them, in the tester's words and order.
    pub outcomes: Vec<(String, u64)>,
    /// What readers have to know.
    pub notes: Vec<String>,
}

/// Service times of a run, seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServiceTimes {
    /// How many there are.
    pub count: Option<u64>,
    /// The least.
    pub min_s: Option<f64>,
    /// The mean.
    pub mean_s: Option<f64>,
    /// The standard deviation.
    pub stdev_s: Option<f64>,
    /// The greatest.
    pub max_s: Option<f64>,
    /// Quantiles, ascending.
    pub quantiles: Vec<Interpolated>,
}

/// Times of calls in buckets.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Which times they are.
    pub of: TimesOf,
    /// Those with calls in them, ascending.
    pub buckets: Vec<TimeBucket>,
}

/// Which times a distribution is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimesOf {
    /// All calls, from when they were sent.
    Calls,
    /// All calls that were due, from when they were due: what fortio itself does not write.
    DueCalls,
    /// The calls that were not good, from when they were sent.
    FailedCalls,
}

/// Calls whose times lie in a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeBucket {
    /// Where it begins, seconds.
    pub from_s: f64,
    /// Where it ends, seconds.
    pub to_s: f64,
    /// How many there are.
    pub count: u64,
}

/// A quantile that was interpolated within a bucket of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interpolated {
    /// 0 to 1.
    pub q: f64,
    /// Seconds.
    pub s: f64,
    /// Where the bucket begins and ends, seconds: the true value may be anywhere in it. `None`
    /// where the file has no buckets.
    pub bucket_s: Option<(f64, f64)>,
    /// Whether the file has it; if not, it was interpolated as the tester would have done.
    pub is_said: bool,
}

impl ServiceTimes {
    /// The quantiles as figures have them: those with a sample beyond.
    #[must_use]
    pub fn figures(&self) -> Vec<Quantile> {
        let known = self.quantiles.iter().filter(|it| self.has_beyond(it.q));
        known.map(|it| Quantile::known(it.q, it.s)).collect()
    }

    /// Whether a sample lies beyond a quantile. If none does, it is the maximum by another name.
    #[must_use]
    pub fn has_beyond(&self, q: f64) -> bool {
        self.count.is_some_and(|count| (1.0 - q) * count as f64 >= 1.0 - 1e-9)
    }

    /// A quantile, if it is known.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<&Interpolated> {
        self.quantiles.iter().find(|it| (it.q - q).abs() < 1e-9)
    }
}
