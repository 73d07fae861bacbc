//! The thresholds of a script, and what else it says of its test, as gates of the result.

use plimsoll_core::result::{Gate, Unit};
use plimsoll_core::secret::Masks;
use plimsoll_dialect::k6::ExitCode;
use plimsoll_dialect::k6::metrics::{Contains, Kind, Metric};
use plimsoll_dialect::k6::threshold::{Aggregate, Threshold};

use super::run::{Ending, Ran};

/// A gate for each threshold, and one for each failure that the script or its end reports.
pub(super) fn gates(ran: &Ran, masks: &Masks) -> Vec<Gate> {
    let of_metric = ran.thresholds.iter().flat_map(|(metric, thresholds)| {
        thresholds.iter().map(move |threshold| (metric, threshold))
    });
    let of_thresholds = of_metric.map(|(id, threshold)| {
        let metric = ran.book.registry().get(id);
        let sink = ran.book.sink(id).filter(|sink| sink.count() > 0);
        let (unit, factor) = unit(metric, threshold);
        Gate {
            expr: format!("{}: {}", masks.submetric(&metric.name), threshold.text.source),
            value: sink.map(|sink| threshold.value(sink, ran.run_ns) * factor),
            unit,
            pass: !threshold.has_failed,
            note: sink.is_none().then(|| "no value was recorded".to_owned()),
        }
    });
    of_thresholds.chain(ran.endings.iter().filter_map(failure)).collect()
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
    Some(Gate { expr: expr.to_owned(), value: None, unit: Unit::Number, pass: false, note })
}

/// Why a run was ended early by its script or by a threshold.
pub(super) fn aborted(ran: &Ran, cause: Option<ExitCode>) -> Option<String> {
    let cause = cause.filter(|cause| *cause != ExitCode::Interrupted)?;
    let ending = ran.endings.iter().find(|ending| ending.code == cause)?;
    Some(ending.what.clone())
}
