//! The thresholds of a script, and what else it says of its test, as gates of the result.

use plimsoll_core::doubt::{Doubts, Figure, Interval};
use plimsoll_core::result::{Gate, GateInterval, Outcome, Unit};
use plimsoll_core::secret::Masks;
use plimsoll_dialect::k6::ExitCode;
use plimsoll_dialect::k6::metrics::{Contains, Kind, Metric};
use plimsoll_dialect::k6::threshold::{Aggregate, Comparison, Threshold};

use super::run::{Ending, Ran};

/// A gate for each threshold, and one for each failure that the script or its end reports.
pub(super) fn gates(ran: &Ran, masks: &Masks, doubts: &Doubts<'_>) -> Vec<Gate> {
    let of_metric = ran.thresholds.iter().flat_map(|(metric, thresholds)| {
        thresholds.iter().map(move |threshold| (metric, threshold))
    });
    let of_thresholds = of_metric.map(|(id, threshold)| {
        let metric = ran.book.registry().get(id);
        let sink = ran.book.sink(id).filter(|sink| sink.count() > 0);
        let (unit, factor) = unit(metric, threshold);
        let value = sink.map(|sink| threshold.value(sink, ran.run_ns));
        let interval = value.map(|value| interval(metric, threshold, value, doubts));
        let outcome = outcome(threshold, value, interval);
        let in_doubt = interval.filter(|interval| interval.low < interval.high);
        Gate {
            expr: format!("{}: {}", masks.submetric(&metric.name), threshold.text.source),
            value: value.map(|value| value * factor),
            unit,
            pass: outcome == Outcome::Pass,
            undecided: outcome == Outcome::Undecided,
            interval: in_doubt.map(|Interval { low, high }| GateInterval {
                low: low * factor,
                high: high.is_finite().then_some(high * factor),
            }),
            note: match sink {
                None => Some("no value was recorded".to_owned()),
                Some(_) => (outcome == Outcome::Undecided).then(|| IN_DOUBT.to_owned()),
            },
        }
    });
    of_thresholds.chain(ran.endings.iter().filter_map(failure)).collect()
}

/// Why a threshold is undecided.
const IN_DOUBT: &str = "in doubt: the tester may have moved it across the limit";

/// Where the true value lies, in k6's unit. Scripts record times of requests as trends.
fn interval(metric: &Metric, threshold: &Threshold, value: f64, doubts: &Doubts<'_>) -> Interval {
    match (metric.kind, &threshold.aggregate, metric.contains) {
        (_, _, Contains::Data) | (Kind::Gauge, ..) => Interval::exact(value),
        (Kind::Trend, ..) => doubts.of_times(Figure::Service, value),
        (Kind::Counter, Aggregate::Rate, _) => doubts.value(Figure::Achieved, value),
        _ => doubts.value(Figure::Counts, value),
    }
}

/// Whether a threshold holds for each value in the interval, for none, or for some.
fn outcome(threshold: &Threshold, value: Option<f64>, interval: Option<Interval>) -> Outcome {
    let own = if threshold.has_failed { Outcome::Fail } else { Outcome::Pass };
    let Some((value, Interval { low, high })) = value.zip(interval) else { return own };
    let ends = [low, value, high].map(|value| threshold.holds(value));
    let is_between = low < threshold.limit && threshold.limit < high;
    let is_exact = matches!(threshold.comparison, Comparison::Equal | Comparison::Unequal);
    match ends {
        [true, true, true] if !(is_exact && is_between) => Outcome::Pass,
        [false, false, false] if !(is_exact && is_between) => Outcome::Fail,
        _ => Outcome::Undecided,
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
