//! What `handleSummary()` is given.

use serde_json::{Map, Value, json};

use super::export::{group, numbers};
use super::{Summary, TimeUnit};

/// What the document says beside figures.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScriptData<'a> {
    /// A fixed unit of times.
    pub time_unit: Option<TimeUnit>,
    /// Whether colours are off.
    pub has_no_color: bool,
    /// Whether standard output is a terminal.
    pub is_stdout_tty: bool,
    /// Whether standard error is a terminal.
    pub is_stderr_tty: bool,
    /// What `setup()` returned.
    pub setup_data: Option<&'a Value>,
}

/// The argument of `handleSummary()`.
#[must_use]
pub fn script_data(summary: &Summary, data: ScriptData<'_>) -> Value {
    let mut metrics = Map::new();
    for figures in &summary.whole.metrics {
        let values: Map<String, Value> = numbers(&figures.values).into_iter().collect();
        let mut metric = Map::new();
        metric.insert("type".to_owned(), figures.kind.name().into());
        metric.insert("contains".to_owned(), figures.contains.name().into());
        metric.insert("values".to_owned(), values.into());
        if !figures.thresholds.is_empty() {
            let thresholds = figures.thresholds.iter();
            let thresholds = thresholds.map(|it| (it.source.clone(), json!({ "ok": it.is_ok })));
            metric.insert("thresholds".to_owned(), Value::Object(thresholds.collect()));
        }
        metrics.insert(figures.name.clone(), metric.into());
    }
    let stats: Vec<&str> = summary.trend_stats.iter().map(|stat| stat.name()).collect();
    let mut document = json!({
        "root_group": group(&summary.tree, "", ""),
        "options": {
            "summaryTrendStats": stats,
            "summaryTimeUnit": data.time_unit.map_or("", TimeUnit::name),
            "noColor": data.has_no_color,
        },
        "state": {
            "isStdOutTTY": data.is_stdout_tty,
            "isStdErrTTY": data.is_stderr_tty,
            "testRunDurationMs": summary.run_ns as f64 / 1e6,
        },
        "metrics": metrics,
    });
    if let Some(setup_data) = data.setup_data {
        document["setup_data"] = setup_data.clone();
    }
    document
}
