//! Times as every table shows them: the value, and a mark where it is not the whole truth.
//!
//! A mark is in the cell of each figure that it is about, so that a figure that is copied takes it
//! along. `≥`: the true value may be higher, because of incomplete requests or of doubt. `≤`: it
//! may be lower. `≈`: either. `~`: few samples lie beyond, so that the next run has another value.

use plimsoll_core::clock::Clock;
use plimsoll_core::doubt::{Bounds, Doubts, Figure, Interval, Lean};
use plimsoll_core::part::Part;
use plimsoll_core::units::{format_ns, format_rate};
use plimsoll_core::{Histogram, RunResult, confidence};

/// A quantile with fewer samples beyond it than this moves a lot from run to run.
pub(crate) const FEW_BEYOND: u64 = 10;

/// A quantile and what it stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The value; `None` when no sample lies beyond, so that it would be the maximum again.
    pub(crate) value_ns: Option<u64>,
    /// How many samples rank above it.
    pub(crate) beyond: u64,
    /// Where the true value may lie, if that is not here.
    pub(crate) lean: Option<Lean>,
}

impl Tail {
    /// The quantile of rank `per_10k` ten thousandths, of times without doubt.
    pub(crate) fn of(histogram: &Histogram, per_10k: u64) -> Self {
        let beyond = Self::beyond(histogram.count(), per_10k);
        let value_ns = histogram.quantile_ns(per_10k as f64 / 10_000.0).filter(|_| beyond > 0);
        Self { value_ns, beyond, lean: None }
    }

    /// That of a run's requests.
    pub(crate) fn of_run(clock: Clock, result: &RunResult, per_10k: u64) -> Self {
        Times::of_run(clock, result).tail(per_10k)
    }

    /// How many of `count` samples rank above the quantile.
    pub(crate) fn beyond(count: u64, per_10k: u64) -> u64 {
        let beyond = u128::from(count) * u128::from(10_000 - per_10k) / 10_000;
        u64::try_from(beyond).unwrap_or(u64::MAX)
    }

    /// The value for people, marked; `n/a` where nothing lies beyond.
    pub(crate) fn words(self) -> String {
        match self.value_ns {
            Some(value_ns) if self.lean.is_some() => marked(self.lean, format_ns(value_ns)),
            Some(value_ns) if self.is_rough() => format!("~ {}", format_ns(value_ns)),
            Some(value_ns) => format_ns(value_ns),
            None => "n/a".to_owned(),
        }
    }

    /// The value in a sentence, where no table explains a mark: `about 20.2 ms` is rough.
    pub(crate) fn spoken(self) -> String {
        match self.value_ns {
            Some(value_ns) if self.lean.is_none() && self.is_rough() => {
                format!("about {}", format_ns(value_ns))
            }
            _ => self.words(),
        }
    }

    /// Whether too few samples lie beyond for the value to be more than a rough one.
    pub(crate) fn is_rough(self) -> bool {
        self.value_ns.is_some() && self.beyond < FEW_BEYOND
    }
}

/// The times of some requests, and what is in doubt about them.
#[derive(Debug)]
pub(crate) struct Times<'r> {
    bounds: Bounds<'r>,
    figure: Figure,
    doubts: Doubts<'r>,
}

impl<'r> Times<'r> {
    /// Of a run's requests by a clock.
    pub(crate) fn of_run(clock: Clock, result: &'r RunResult) -> Self {
        let doubts = confidence::doubts(&result.loader.causes);
        Self { bounds: clock.bounds(result), figure: clock.figure(), doubts }
    }

    /// Of the requests of a part by a clock.
    pub(crate) fn of_part(clock: Clock, part: &'r Part, result: &'r RunResult) -> Self {
        let doubts = confidence::doubts(&result.loader.causes)
            .of_part(part.ledger.scheduled, result.ledger.scheduled);
        Self { bounds: clock.bounds_of_part(part), figure: clock.figure(), doubts }
    }

    /// Of another distribution of times of the run's requests, which may be of some of them.
    pub(crate) fn of_some(figure: Figure, times: &'r Histogram, result: &'r RunResult) -> Self {
        let doubts = confidence::doubts(&result.loader.causes)
            .of_part(times.count(), result.ledger.scheduled.max(times.count()));
        Self { bounds: Bounds::new(times, 0, 0), figure, doubts }
    }

    /// Of the messages of calls.
    pub(crate) fn of_messages(bounds: Bounds<'r>, result: &'r RunResult) -> Self {
        let Self { figure, doubts, .. } = Self::of_some(Figure::Service, bounds.all(), result);
        Self { bounds, figure, doubts }
    }

    /// Of times that nothing is in doubt about.
    pub(crate) fn sure(times: &'r Histogram) -> Self {
        let doubts = Doubts::none();
        Self { bounds: Bounds::new(times, 0, 0), figure: Figure::Phases, doubts }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.bounds.all().count()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.bounds.all().is_empty()
    }

    /// The quantile of rank `per_10k` ten thousandths.
    pub(crate) fn tail(&self, per_10k: u64) -> Tail {
        let q = per_10k as f64 / 10_000.0;
        Tail { lean: self.lean(q), ..Tail::of(self.bounds.all(), per_10k) }
    }

    /// Where the true quantile `q` (0 to 1) may lie, if that is not where it was measured.
    pub(crate) fn lean(&self, q: f64) -> Option<Lean> {
        let incomplete = self.bounds.is_lower_bound(q).then_some(Lean::Higher);
        let doubt = self.doubts.quantile_lean(self.figure, self.bounds.all(), q);
        Lean::both(incomplete, doubt)
    }

    /// The maximum, marked; `None` without times.
    pub(crate) fn max(&self) -> Option<String> {
        Some(marked(self.lean(1.0), format_ns(self.bounds.all().max_ns()?)))
    }

    /// The mean, marked; `None` without times.
    pub(crate) fn mean(&self) -> Option<String> {
        let mean_ns = self.bounds.all().mean_ns()?;
        Some(marked(self.mean_lean(), format_ns(mean_ns.round() as u64)))
    }

    /// Where the true mean may lie, if that is not where it was measured.
    pub(crate) fn mean_lean(&self) -> Option<Lean> {
        let incomplete = (self.bounds.incomplete() > 0).then_some(Lean::Higher);
        Lean::both(incomplete, self.doubts.mean_lean(self.figure, self.bounds.all()))
    }

    /// Where the true standard deviation may lie, if that is not where it was measured.
    pub(crate) fn stdev_lean(&self) -> Option<Lean> {
        let Interval { low, high } = self.doubts.stdev_ns(self.figure, &self.bounds);
        (low < high).then_some(Lean::Either)
    }

    /// Median, 99th percentile and maximum; `none` stands where there are no times.
    pub(crate) fn spread(&self, none: &str) -> [String; 3] {
        if self.bounds.all().is_empty() {
            return [none, none, none].map(str::to_owned);
        }
        let max = self.max().unwrap_or_else(|| none.to_owned());
        [self.tail(5000).words(), self.tail(9900).words(), max]
    }
}

/// A value with the mark of where the true one may lie.
fn marked(lean: Option<Lean>, value: String) -> String {
    match lean {
        Some(lean) => format!("{} {value}", lean.sign()),
        None => value,
    }
}

/// A rate of the run, marked.
pub(crate) fn rate(figure: Figure, result: &RunResult, rps: f64) -> String {
    let doubts = confidence::doubts(&result.loader.causes);
    marked(doubts.value_lean(figure), format_rate(rps))
}

/// What the marks in some cells mean, those that are used: for the line below a table.
pub(crate) fn legend<'c>(cells: impl IntoIterator<Item = &'c str>) -> Vec<String> {
    let all: String = cells.into_iter().flat_map(|cell| [cell, "\n"]).collect();
    let meanings = [
        ("≥ ", "≥ the true value may be higher".to_owned()),
        ("≤ ", "≤ the true value may be lower".to_owned()),
        ("≈ ", "≈ the true value may be lower or higher".to_owned()),
        ("~ ", format!("~ fewer than {FEW_BEYOND} samples are slower: varies from run to run")),
        ("n/a", "n/a no sample is slower, see max".to_owned()),
    ];
    meanings.into_iter().filter(|(mark, _)| all.contains(mark)).map(|(_, words)| words).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Ledger;
    use plimsoll_core::doubt::{Off, Reach, Touch};
    use plimsoll_core::outcome::ByOutcome;
    use plimsoll_core::verdict::{Cause, Verdict};

    use super::*;
    use crate::samples;

    #[test]
    fn a_quantile_counts_the_samples_beyond_it() {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000_000, 100_000);
        let cases = [(100_000, 9999, 10, false), (99_999, 9999, 9, true), (1_000, 9900, 10, false)];
        for (count, per_10k, beyond, rough) in cases {
            let mut histogram = Histogram::new();
            histogram.record_n(1_000_000, count);
            let tail = Tail::of(&histogram, per_10k);
            assert_eq!((tail.beyond, tail.is_rough()), (beyond, rough), "{count} {per_10k}");
        }
        let mut few = Histogram::new();
        few.record_n(1, 9_999);
        assert_eq!(Tail::of(&few, 9999).words(), "n/a");
        assert_eq!(Tail::of(&Histogram::new(), 5000).words(), "n/a");
    }

    #[test]
    fn a_quantile_is_a_lower_bound_if_incomplete_requests_may_take_its_rank() {
        let mut result = samples::steady();
        for (scheduled, sent, completed, slow, expected) in [
            // 1000 requests took 1 ms, but for those that are slow or incomplete. p50, p90 and p99
            // of the response time, of the service time and of a part.
            (1000, 1000, 1000, 0, ["1.00 ms", "1.00 ms", "1.00 ms"]),
            (1000, 1000, 990, 0, ["1.00 ms", "1.00 ms", "1.00 ms"]),
            (1000, 1000, 989, 0, ["1.00 ms", "≥ 1.00 ms", "≥ 1.00 ms"]),
            // Some that are slow come to light.
            (1000, 1000, 995, 10, ["1.00 ms", "≥ 1.00 ms", "≥ 1.00 ms"]),
            (1000, 900, 889, 0, ["≥ 1.00 ms", "≥ 1.00 ms", "≥ 1.00 ms"]),
            (1000, 900, 900, 0, ["1.00 ms", "≥ 1.00 ms", "~ 1.00 ms"]),
        ] {
            result.ledger = Ledger { scheduled, sent, completed, ..Ledger::default() };
            result.by_outcome = ByOutcome::default();
            result.by_outcome.ok.record_n(1_000_000, completed - slow);
            result.by_outcome.failed.record_n(1_000_000_000, slow);
            for (times, timed) in
                [(&mut result.latency.response, scheduled), (&mut result.latency.service, sent)]
            {
                times.clear();
                times.record_n(1_000_000, timed - slow);
                times.record_n(1_000_000_000, slow);
            }
            let [p90, p99, service_p99] = expected;
            let tail = |clock, rank| Tail::of_run(clock, &result, rank).words();
            let found = [tail(Clock::Response, 9000), tail(Clock::Response, 9900)];
            assert_eq!(found, [p90, p99], "{:?}", result.ledger);
            assert_eq!(tail(Clock::Service, 9900), service_p99, "{:?}", result.ledger);
            let part = Part {
                ledger: result.ledger,
                service: result.latency.service.clone(),
                ..Part::default()
            };
            assert_eq!(
                Times::of_part(Clock::Service, &part, &result).tail(9900).words(),
                service_p99
            );
        }
    }

    /// Each side that doubt can have has its mark, in every figure of the clock that it touches.
    #[test]
    fn figures_in_doubt_are_marked() {
        let mut result = samples::stall();
        let off = || Reach::Requests(vec![Off::new(0, 0.05)]);
        for (touch, want) in [
            (Touch::below(Figure::Response, off()), ["40.4 µs", "≤ 200 ms", "≤ 300 ms"]),
            (Touch::above(Figure::Response, off()), ["40.4 µs", "≥ 200 ms", "≥ 300 ms"]),
            (Touch::either(Figure::Response, off()), ["40.4 µs", "≈ 200 ms", "≈ 300 ms"]),
            (Touch::either(Figure::Service, off()), ["40.4 µs", "200 ms", "300 ms"]),
        ] {
            let touches = vec![touch];
            let cause = Cause::new(Verdict::Suspect, "cpu_shared", "busy".to_owned());
            result.loader.causes = vec![Cause { touches, ..cause }];
            let times = Times::of_run(Clock::Response, &result);
            assert_eq!(times.spread("-"), want, "{:?}", result.loader.causes);
            let marks = [want[1], &times.mean().unwrap()].map(|it| it.chars().next().unwrap());
            assert!(marks[0].is_ascii_digit() == marks[1].is_ascii_digit(), "{marks:?}");
        }
        assert_eq!(legend(["≤ 200 ms", "1 ms"]), ["≤ the true value may be lower"]);
        assert_eq!(legend(["200 ms"]), [""; 0]);
    }
}
