//! The distributions behind the report's tables: connect, processing, waiting, total.
//!
//! Exact where the run kept the times of each request, else from the histograms, within 0.1 %.
//! Requests that got no answer count in processing and total with what they had waited, a lower
//! bound; `ab` leaves them out, and so does `--as-original`.

use std::borrow::Cow;

use plimsoll_core::details::RequestTimes;
use plimsoll_core::histogram::Histogram;
use plimsoll_core::phase::{Phase, Phases};
use plimsoll_core::result::RunResult;

use super::Command;

/// Durations in ns that can be asked for by rank.
#[derive(Debug)]
pub(super) enum Values<'r> {
    /// All of them, sorted.
    Exact(Vec<u64>),
    /// A number of zeros, and the values of a histogram.
    Counted { zeros: u64, histogram: Cow<'r, Histogram> },
}

impl Values<'_> {
    fn exact(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self::Exact(values)
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Exact(values) => values.len() as u64,
            Self::Counted { zeros, histogram } => zeros + histogram.count(),
        }
    }

    /// The value at an index of the sorted order; the last one beyond it, 0 without values.
    pub(super) fn at(&self, index: u64) -> u64 {
        match self {
            Self::Exact(values) => {
                let last = values.len().saturating_sub(1);
                let index = usize::try_from(index).unwrap_or(last).min(last);
                values.get(index).copied().unwrap_or(0)
            }
            Self::Counted { zeros, histogram } => {
                index.checked_sub(*zeros).map_or(0, |rank| ranked(histogram, rank))
            }
        }
    }

    fn min(&self) -> u64 {
        self.at(0)
    }

    /// The largest value.
    pub(super) fn max(&self) -> u64 {
        match self {
            Self::Exact(values) => values.last().copied().unwrap_or(0),
            Self::Counted { histogram, .. } => histogram.max_ns().unwrap_or(0),
        }
    }

    fn mean(&self) -> f64 {
        let sum = match self {
            Self::Exact(values) => values.iter().map(|value| *value as f64).sum(),
            Self::Counted { histogram, .. } => histogram.sum_ns() as f64,
        };
        sum / self.count().max(1) as f64
    }

    /// The standard deviation of a sample (over n − 1); 0 for less than two values.
    fn deviation(&self) -> f64 {
        let count = self.count();
        if count < 2 {
            return 0.0;
        }
        let squares = match self {
            Self::Exact(values) => {
                let mean = self.mean();
                values.iter().map(|value| (*value as f64 - mean).powi(2)).sum()
            }
            Self::Counted { zeros, histogram } => {
                let (zeros, others) = (*zeros as f64, histogram.count() as f64);
                let mean = histogram.mean_ns().unwrap_or(0.0);
                let within = others * histogram.stdev_ns().unwrap_or(0.0).powi(2);
                // Between the two groups: those of nothing, and the histogram's around its mean.
                within + zeros * others * mean.powi(2) / count as f64
            }
        };
        (squares / (count - 1) as f64).sqrt()
    }

    /// The median. That of ab averages two values where the count is odd, and those are the middle
    /// one and its successor; where it is even, it takes the upper of the middle ones.
    fn median(&self, as_original: bool) -> f64 {
        let count = self.count();
        let middle = count / 2;
        let between = |low: u64, high: u64| (self.at(low) as f64 + self.at(high) as f64) / 2.0;
        match (as_original, count % 2) {
            (true, 1) if count > 1 => between(middle, middle + 1),
            (false, 0) if count > 0 => between(middle - 1, middle),
            _ => self.at(middle) as f64,
        }
    }
}

/// The value of a rank, counted from 0, to the precision of a bucket.
fn ranked(histogram: &Histogram, rank: u64) -> u64 {
    if rank == 0 {
        return histogram.min_ns().unwrap_or(0);
    }
    let max_ns = histogram.max_ns().unwrap_or(0);
    let min_ns = histogram.min_ns().unwrap_or(0);
    let mut seen = 0;
    for (value_ns, count) in histogram.buckets() {
        seen += count;
        if rank < seen {
            // The last value is known exactly.
            return if rank + 1 == histogram.count() {
                max_ns
            } else {
                value_ns.clamp(min_ns, max_ns)
            };
        }
    }
    max_ns
}

/// A row of the table of connection times, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    pub min: u64,
    pub mean: f64,
    pub deviation: f64,
    pub median: f64,
    pub max: u64,
}

impl Row {
    pub(super) fn of(values: &Values<'_>, as_original: bool) -> Self {
        Self {
            min: values.min(),
            mean: values.mean(),
            deviation: values.deviation(),
            median: values.median(as_original),
            max: values.max(),
        }
    }
}

/// What the tables show.
#[derive(Debug)]
pub(super) struct Times<'r> {
    /// From the start to the open connection, TLS included; nothing where it was open already.
    pub connect: Values<'r>,
    /// From there to the end.
    pub processing: Values<'r>,
    /// From the sent request to the first byte.
    pub waiting: Values<'r>,
    /// From the start to the end.
    pub total: Values<'r>,
}

impl<'r> Times<'r> {
    pub(super) fn of(command: &Command, result: &'r RunResult) -> Self {
        let kept = &result.details.requests;
        let values = |of: fn(&RequestTimes) -> u64| Values::exact(kept.iter().map(of).collect());
        let counted = |zeros, histogram: &'r Histogram| Values::Counted {
            zeros,
            histogram: Cow::Borrowed(histogram),
        };
        let latency = &result.latency;
        let waiting = if kept.is_empty() {
            counted(0, &result.phases[Phase::Waiting])
        } else {
            values(|times| times.waiting_ns)
        };
        // Connections that are kept were opened before the load, and no request's times have that.
        let connect = if kept.is_empty() || command.keep_alive {
            let opened = opened(&result.phases);
            let zeros = result.ledger.completed.saturating_sub(opened.count());
            Values::Counted { zeros, histogram: opened }
        } else {
            values(|times| times.connect_ns)
        };
        let all_answered = kept.len() as u64 == latency.response.count();
        if !kept.is_empty() && (all_answered || command.as_original) {
            let processing = values(|times| times.total_ns.saturating_sub(times.connect_ns));
            return Self { connect, processing, waiting, total: values(|times| times.total_ns) };
        }
        let total = if command.as_original {
            let mut answered = result.by_outcome.ok.clone();
            answered.merge(&result.by_outcome.failed);
            Values::Counted { zeros: 0, histogram: Cow::Owned(answered) }
        } else {
            counted(0, &latency.response)
        };
        Self { connect, processing: counted(0, &latency.service), waiting, total }
    }

    /// The four rows, in the report's order.
    pub(super) fn rows(&self, as_original: bool) -> [(&'static str, Row); 4] {
        [
            ("Connect:", Row::of(&self.connect, as_original)),
            ("Processing:", Row::of(&self.processing, as_original)),
            ("Waiting:", Row::of(&self.waiting, as_original)),
            ("Total:", Row::of(&self.total, as_original)),
        ]
    }

    /// The time within which a share of the requests, in per cent, was served.
    pub(super) fn percentage(&self, percent: u64) -> u64 {
        let count = self.total.count();
        if percent >= 100 { self.total.max() } else { self.total.at(count * percent / 100) }
    }
}

/// How long it took to open the connections, TLS included. The two parts of a connection are not
/// known together: the shortest connect is taken with the shortest handshake, and so on, which
/// leaves the mean as it is.
fn opened(phases: &Phases) -> Cow<'_, Histogram> {
    if phases[Phase::Tls].is_empty() {
        return Cow::Borrowed(&phases[Phase::Connect]);
    }
    let each = |histogram: &Histogram| {
        let times = histogram.buckets().map(|(value_ns, count)| (value_ns, count as usize));
        times.flat_map(|(value_ns, count)| std::iter::repeat_n(value_ns, count)).collect::<Vec<_>>()
    };
    let mut sums = Histogram::new();
    for (connect_ns, tls_ns) in each(&phases[Phase::Connect]).iter().zip(each(&phases[Phase::Tls]))
    {
        sums.record(connect_ns + tls_ns);
    }
    Cow::Owned(sums)
}

/// Whole milliseconds, halves up, as all of ab's tables have them.
pub(super) fn whole_ms(value_ns: u64) -> u64 {
    value_ns.saturating_add(500_000) / 1_000_000
}
