//! The columns of custom metrics. Runs in one table may have recorded different ones, so the names
//! are those of all of them.

use plimsoll_core::histogram::QUANTILES;
use plimsoll_core::metric::{CustomMetric, CustomMetrics, Value};
use plimsoll_core::{Histogram, RunResult};

use super::{Column, optional, quantile_name};

/// The metrics of all runs, without values.
pub(super) fn of_all(results: &[RunResult]) -> CustomMetrics {
    let all = results.iter().flat_map(|result| &result.metrics);
    all.map(|metric| CustomMetric::empty(metric.name.clone(), metric.kind())).collect()
}

/// The columns of one run.
pub(super) fn columns(of_all: &CustomMetrics, result: &RunResult) -> Vec<Column> {
    of_all.iter().flat_map(|metric| of_metric(metric, result)).collect()
}

fn of_metric(metric: &CustomMetric, result: &RunResult) -> Vec<Column> {
    let (name, kind) = (metric.name.as_str(), metric.kind());
    let recorded = result.metrics.named(name).find(|it| it.kind() == kind);
    let value = recorded.map_or_else(|| Value::empty(kind), |it| it.value.clone());
    let has_value = value.count() > 0;
    let cell =
        |figure: &str, value: Option<f64>| optional(&format!("metric_{name}{figure}"), value);
    match value {
        Value::Counter(counter) => {
            vec![cell("_sum", has_value.then(|| counter.total.value()))]
        }
        Value::Gauge(gauge) => vec![cell("_last", gauge.last)],
        Value::Rate(rate) => vec![cell("_share", rate.share())],
        Value::Trend(numbers) => {
            let mut columns = vec![cell("_count", Some(numbers.count() as f64))];
            columns.extend([cell("_min", numbers.min()), cell("_mean", numbers.mean())]);
            let quantile = |q: f64| cell(&format!("_{}", quantile_name(q)), numbers.quantile(q));
            columns.extend(QUANTILES.map(quantile));
            columns.push(cell("_max", numbers.max()));
            columns
        }
        Value::TimeTrend(times) => of_times(name, &times.unpack()),
    }
}

fn of_times(name: &str, times: &Histogram) -> Vec<Column> {
    let mut columns = Vec::new();
    super::times(&format!("metric_{name}"), times, &mut columns);
    columns
}
