//! Custom metrics as views show them: trends in one table, the other kinds in another, each metric
//! with those of its tags that have the most values.

use std::cmp::Reverse;

use plimsoll_core::RunResult;
use plimsoll_core::metric::{CustomMetric, Kind, Tagged, Value};
use plimsoll_core::units::{counted, format_count, format_ns, format_number, format_rate};

use crate::facts::{FEW_BEYOND, Tail, percent};

/// Sets of tags that are shown of each metric.
const TAGS_SHOWN: usize = 5;

/// A metric, or those of its values that have one set of tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The metric's name or, in a row below it, the tags.
    pub(crate) name: String,
    /// Whether it is below its metric.
    pub(crate) is_tagged: bool,
    /// A cell for each heading.
    pub(crate) cells: Vec<String>,
}

/// The headings of trends, behind the name.
pub(crate) const TRENDS_HEAD: [&str; 7] = ["count", "min", "mean", "p50", "p95", "p99", "max"];

/// The headings of the other kinds, behind the name.
pub(crate) const OTHERS_HEAD: [&str; 3] = ["kind", "value", "rate or range"];

/// What stands in a cell without a value.
const NONE: &str = "–";

/// Rows of trends.
pub(crate) fn trends(result: &RunResult) -> Vec<Row> {
    rows(result, |kind| matches!(kind, Kind::Trend | Kind::TimeTrend))
}

/// Rows of counters, gauges and rates.
pub(crate) fn others(result: &RunResult) -> Vec<Row> {
    rows(result, |kind| matches!(kind, Kind::Counter | Kind::Gauge | Kind::Rate))
}

fn rows(result: &RunResult, is_shown: fn(Kind) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for metric in result.metrics.iter().filter(|metric| is_shown(metric.kind())) {
        let row = |name: String, is_tagged, value: &Value| Row {
            name,
            is_tagged,
            cells: cells(value, result.elapsed_ns),
        };
        rows.push(row(metric.name.to_string(), false, &metric.value));
        let mut tagged: Vec<&Tagged> = metric.tagged.iter().collect();
        tagged.sort_by_cached_key(|tagged| Reverse(tagged.value.count()));
        let shown = tagged.iter().take(TAGS_SHOWN);
        rows.extend(shown.map(|tagged| row(tagged.tags.to_string(), true, &tagged.value)));
    }
    rows
}

fn cells(value: &Value, elapsed_ns: u64) -> Vec<String> {
    let kind = value.kind().words().to_owned();
    let number = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), format_number);
    match value {
        Value::Counter(counter) => {
            let sum = counter.total.value();
            let seconds = elapsed_ns.max(1) as f64 / 1e9;
            vec![kind, format_number(sum), format!("{}/s", format_rate(sum / seconds))]
        }
        Value::Gauge(gauge) => {
            let range = gauge.min.zip(gauge.max).map_or_else(String::new, |(min, max)| {
                format!("{} to {}", format_number(min), format_number(max))
            });
            vec![kind, number(gauge.last), range]
        }
        Value::Rate(rate) if rate.total == 0 => vec![kind, NONE.to_owned(), String::new()],
        Value::Rate(rate) => {
            let of = format!("{} of {}", format_count(rate.trues), format_count(rate.total));
            vec![kind, percent(rate.trues, rate.total), of]
        }
        Value::Trend(numbers) => {
            let quantile = |q| number(numbers.quantile(q));
            let [min, mean, max] = [numbers.min(), numbers.mean(), numbers.max()].map(number);
            spread(numbers.count(), [min, mean, max], quantile)
        }
        Value::TimeTrend(times) => {
            let times = times.unpack();
            let time = |value_ns: Option<u64>| value_ns.map_or_else(|| NONE.to_owned(), format_ns);
            let mean_ns = times.mean_ns().map(|mean_ns| mean_ns.round() as u64);
            let figures = [times.min_ns(), mean_ns, times.max_ns()].map(time);
            spread(times.count(), figures, |q| time(times.quantile_ns(q)))
        }
    }
}

/// The cells of a trend. Quantiles as far as samples support them, as in other tables.
fn spread(
    count: u64,
    [min, mean, max]: [String; 3],
    quantile: impl Fn(f64) -> String,
) -> Vec<String> {
    let tail = |per_10k: u64| match Tail::beyond(count, per_10k) {
        _ if count == 0 => NONE.to_owned(),
        0 => "n/a".to_owned(),
        beyond if beyond < FEW_BEYOND => format!("~ {}", quantile(per_10k as f64 / 10_000.0)),
        _ => quantile(per_10k as f64 / 10_000.0),
    };
    vec![format_count(count), min, mean, tail(5000), tail(9500), tail(9900), max]
}

/// What readers have to know about the figures: values that are in none, and tags that are not
/// shown.
pub(crate) fn notes(result: &RunResult) -> Vec<String> {
    result.metrics.iter().flat_map(notes_on).collect()
}

fn notes_on(metric: &CustomMetric) -> Vec<String> {
    let mut notes = Vec::new();
    if metric.value.count() == 0 {
        notes.push(format!("{}: no value was recorded", metric.name));
    }
    if metric.rejected > 0 {
        let values = counted(metric.rejected, "value");
        notes.push(format!("{}: {values} could not be counted", metric.name));
    }
    if metric.folded > 0 {
        let values = counted(metric.folded, "value");
        notes.push(format!("{}: the tags of {values} are not told apart", metric.name));
    }
    if let more @ 1.. = metric.tagged.len().saturating_sub(TAGS_SHOWN) {
        let sets = counted(more as u64, "more set");
        notes.push(format!("{}: {sets} of tags in the JSON document", metric.name));
    }
    notes
}
