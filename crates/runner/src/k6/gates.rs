//! The thresholds of a script, and what else it says of its test, as gates of the result.

use plimsoll_core::RunResult;
use plimsoll_core::confidence;
use plimsoll_core::doubt::{Doubts, Figure, Interval};
use plimsoll_core::result::{Gate, GateInterval, Outcome, Unit};
use plimsoll_core::secret::Masks;
use plimsoll_core::verdict::{Cause, Verdict, is_about_pace};
use plimsoll_dialect::k6::ExitCode;
use plimsoll_dialect::k6::metrics::{Contains, Kind, Metric, Sink};
use plimsoll_dialect::k6::threshold::{Aggregate, Comparison, Threshold};

use super::run::{Ending, Ran};

/// A gate for each threshold, and one for each failure that the script or its end reports. `result`
/// is that of the run.
pub(super) fn gates(ran: &Ran, masks: &Masks, result: &RunResult) -> Vec<Gate> {
    let doubts = confidence::doubts(&result.loader.causes);
    let of_metric = ran.thresholds.iter().flat_map(|(metric, thresholds)| {
        thresholds.iter().map(move |threshold| (metric, threshold))
    });
    let of_thresholds = of_metric.map(|(id, threshold)| {
        let metric = ran.book.registry().get(id);
        let expr = format!("{}: {}", masks.submetric(&metric.name), threshold.text.source);
        match ran.book.sink(id).filter(|sink| sink.count() > 0) {
            None => without_data(expr, metric, threshold),
            Some(sink) => {
                let judged = Judged::of(metric, threshold, sink, ran.run_ns, result, &doubts);
                judged.gate(expr, unit(metric, threshold))
            }
        }
    });
    of_thresholds.chain(ran.endings.iter().filter_map(failure)).collect()
}

/// A gate without data fails, where k6 lets a threshold pass: its tags may never have matched.
fn without_data(expr: String, metric: &Metric, threshold: &Threshold) -> Gate {
    let note = Some("no value was recorded, so there is nothing to judge".to_owned());
    Gate { expr, unit: unit(metric, threshold).0, note, ..Gate::default() }
}

/// Why a threshold is undecided: what may have moved it.
const IN_DOUBT: &str = "in doubt: the tester may have moved it across the limit";
const GIVEN_UP: &str = "a lower bound: requests were given up before they had a response";

/// The metric of iterations that were due and found no VU.
const DROPPED: &str = "dropped_iterations";

/// A threshold's value, and where the true one lies, in k6's unit.
struct Judged<'a> {
    threshold: &'a Threshold,
    value: f64,
    interval: Interval,
    /// Whether the interval has no end because of requests that were given up.
    is_bound: bool,
}

impl<'a> Judged<'a> {
    fn of(
        metric: &Metric,
        threshold: &'a Threshold,
        sink: &Sink,
        run_ns: u64,
        result: &RunResult,
        doubts: &Doubts<'_>,
    ) -> Self {
        let value = threshold.value(sink, run_ns);
        let name = metric.name.split('{').next().unwrap_or_default();
        let of_tester = match sink {
            Sink::Counter(dropped) if name == DROPPED => {
                let share = (by_tester(result) / dropped.sum).clamp(0.0, 1.0);
                Interval { low: value * (1.0 - share), high: value }
            }
            _ => interval(metric, threshold, value, doubts),
        };
        let most = match (sink, &threshold.aggregate) {
            (Sink::Trend(trend), Aggregate::Trend(stat)) => trend.most(stat),
            _ => value,
        };
        let interval = Interval { high: of_tester.high.max(most), ..of_tester };
        Self { threshold, value, interval, is_bound: most > of_tester.high }
    }

    /// Whether the threshold holds for each value in the interval, for none, or for some.
    fn outcome(&self) -> Outcome {
        let Interval { low, high } = self.interval;
        let limit = self.threshold.limit;
        let ends = [low, self.value, high].map(|value| self.threshold.holds(value));
        let is_between = low < limit && limit < high;
        let is_exact = matches!(self.threshold.comparison, Comparison::Equal | Comparison::Unequal);
        match ends {
            [true, true, true] if !(is_exact && is_between) => Outcome::Pass,
            [false, false, false] if !(is_exact && is_between) => Outcome::Fail,
            _ => Outcome::Undecided,
        }
    }

    fn gate(&self, expr: String, (unit, factor): (Unit, f64)) -> Gate {
        let outcome = self.outcome();
        let Interval { low, high } = self.interval;
        let why = if self.is_bound { GIVEN_UP } else { IN_DOUBT };
        Gate {
            expr,
            value: Some(self.value * factor),
            unit,
            pass: outcome == Outcome::Pass,
            undecided: outcome == Outcome::Undecided,
            interval: (low < high).then(|| GateInterval {
                low: low * factor,
                high: high.is_finite().then_some(high * factor),
            }),
            note: (outcome == Outcome::Undecided).then(|| why.to_owned()),
        }
    }
}

/// How many iterations the tester's own standstills can have dropped: those that were due
/// meanwhile, and as many after them, which found the VUs taken by those.
fn by_tester(result: &RunResult) -> f64 {
    let is_slow = |cause: &Cause| cause.verdict != Verdict::Valid && is_about_pace(&cause.code);
    let lost_share = result.loader.lost_share.unwrap_or(0.0);
    match &result.iterations {
        Some(iterations) if result.loader.causes.iter().any(is_slow) => {
            (2.0 * lost_share * iterations.scheduled as f64).ceil()
        }
        _ => 0.0,
    }
}

/// Where the tester may have moved the true value to. Scripts record times of requests as trends.
fn interval(metric: &Metric, threshold: &Threshold, value: f64, doubts: &Doubts<'_>) -> Interval {
    match (metric.kind, &threshold.aggregate, metric.contains) {
        (_, _, Contains::Data) | (Kind::Gauge, ..) => Interval::exact(value),
        (Kind::Trend, ..) => doubts.of_times(Figure::Service, value),
        (Kind::Counter, Aggregate::Rate, _) => doubts.value(Figure::Achieved, value),
        _ => doubts.value(Figure::Counts, value),
    }
}

/// What a threshold's value counts here, and what k6's value is multiplied with for that.
fn unit(metric: &Metric, threshold: &Threshold) -> (Unit, f64) {
    match (metric.kind, &threshold.aggregate, metric.contains) {
        (Kind::Rate, ..) => (Unit::Share, 1.0),
        (Kind::Counter, Aggregate::Rate, _) => (Unit::Rps, 1.0),
        (_, _, Contains::Data) => (Unit::Bytes, 1.0),
        (Kind::Trend, _, Contains::Time) => (Unit::Us, 1e3),
        (Kind::Counter, ..) => (Unit::Count, 1.0),
        _ => (Unit::Number, 1.0),
    }
}

/// An ending that comes from no threshold and did not end the run early.
fn failure(ending: &Ending) -> Option<Gate> {
    let expr = match ending.code {
        ExitCode::Thresholds | ExitCode::Interrupted | ExitCode::Aborted => return None,
        ExitCode::MarkedFailed => "exec.test.fail() is not called",
        _ => "the script ends without an error",
    };
    let note = Some(ending.what.clone());
    Some(Gate { expr: expr.to_owned(), note, ..Gate::default() })
}

/// Why a run was ended early by its script or by a threshold.
pub(super) fn aborted(ran: &Ran, cause: Option<ExitCode>) -> Option<String> {
    let cause = cause.filter(|cause| *cause != ExitCode::Interrupted)?;
    let ending = ran.endings.iter().find(|ending| ending.code == cause)?;
    Some(ending.what.clone())
}

#[cfg(test)]
mod tests {
    use plimsoll_core::iterations::Iterations;
    use plimsoll_core::plan::{Draft, Endpoint};
    use plimsoll_dialect::k6::metrics::Registry;
    use plimsoll_dialect::k6::threshold::ThresholdText;

    use super::*;

    /// A run that had 1000 iterations to start and lost 2 % of its time.
    fn run(code: &str, verdict: Verdict) -> RunResult {
        let endpoint = Endpoint {
            scheme: String::new(),
            host: String::new(),
            port: 0,
            path: String::new().into(),
        };
        let mut result = plimsoll_engine::not_carried_out(&Draft::new(endpoint), "");
        result.iterations = Some(Iterations { scheduled: 1000, ..Iterations::default() });
        result.loader.lost_share = Some(0.02);
        result.loader.causes = vec![Cause::new(verdict, code, String::new())];
        result
    }

    #[test]
    fn iterations_that_the_tester_may_have_dropped_fail_no_threshold() {
        let mut registry = Registry::default();
        let (whole, part) = (DROPPED, "dropped_iterations{scenario:a}");
        for (name, dropped, (code, verdict), text, want) in [
            (whole, 30, ("paused", Verdict::Suspect), "count<10", Outcome::Undecided),
            (part, 30, ("paused", Verdict::Suspect), "count<10", Outcome::Undecided),
            (whole, 30, ("throttled", Verdict::Invalid), "count==0", Outcome::Undecided),
            (whole, 30, ("paused", Verdict::Suspect), "rate<1", Outcome::Undecided),
            // It cannot have been as many.
            (whole, 300, ("paused", Verdict::Suspect), "count<10", Outcome::Fail),
            (whole, 5, ("paused", Verdict::Suspect), "count<10", Outcome::Pass),
            // Too few VUs, and what is only worth knowing, are no standstills.
            (whole, 30, ("vus", Verdict::Suspect), "count<10", Outcome::Fail),
            (whole, 30, ("paused", Verdict::Valid), "count<10", Outcome::Fail),
        ] {
            let id = registry.select(name).expect("a metric");
            let text = ThresholdText {
                source: text.to_owned(),
                abort_on_fail: false,
                delay_abort_eval: None,
            };
            let threshold = Threshold::parse(&text).expect("a threshold");
            let mut sink = Sink::new(Kind::Counter);
            sink.add(f64::from(dropped));
            let result = run(code, verdict);
            let doubts = confidence::doubts(&result.loader.causes);
            let metric = registry.get(id);
            let run_ns = 10_000_000_000;
            let judged = Judged::of(metric, &threshold, &sink, run_ns, &result, &doubts);
            assert_eq!(judged.outcome(), want, "{name} {dropped} {code} {text:?}");
        }
    }
}
