//! The document of `--new-machine-readable-summary`.

use serde_json::{Value, json};

use super::export::{indented, number, numbers};
use super::{Figures, Mode, Summary, Values, is_listed};

/// What the document says beside figures.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    /// The text of the script.
    pub script: &'a str,
    /// When the document was made, RFC 3339.
    pub generated_at: &'a str,
    /// The version of k6 that it claims to be of.
    pub version: &'a str,
    /// How much it shows: a compact one leaves the phases of requests out.
    pub mode: Mode,
}

/// The schema's version.
const VERSION: &str = "1.0.0";

/// The document, with four blanks for each level. It has the usual figures of trends, so make the
/// summary with [`TrendStat::defaults`](crate::k6::metrics::TrendStat::defaults). k6 writes null
/// where `summaryTrendStats` leaves one of them out.
#[must_use]
pub fn machine_readable(summary: &Summary, of: Machine<'_>) -> String {
    indented(&document(summary, of))
}

fn document(summary: &Summary, of: Machine<'_>) -> Value {
    let mut results = serde_json::Map::new();
    let checks = checks(summary);
    results.insert("checks".to_owned(), checks);
    let listed = summary.whole.metrics.iter().filter(|it| is_listed(&it.name, of.mode));
    let metrics: Vec<Value> = listed.map(figures).collect();
    results.insert("metrics".to_owned(), metrics.into());
    json!({
        "version": VERSION,
        "config": {
            "duration": summary.run_ns as f64 / 1e9,
            "execution": "local",
            "script": of.script,
        },
        "metadata": { "generated_at": of.generated_at, "k6_version": of.version },
        "results": results,
    })
}

/// The counts of all checks and each by its name; without checks, two empty lists.
fn checks(summary: &Summary) -> Value {
    let checks = &summary.whole.checks;
    let (passes, fails) = summary.whole.check_counts();
    let total = passes + fails;
    let rate = |name: &str, matches: u64| {
        let share = if total == 0 { 0.0 } else { matches as f64 / total as f64 };
        let values = json!({ "matches": matches, "total": total, "rate": number(share) });
        metric(name, "rate", "default", &values)
    };
    let list: Vec<Value> = checks
        .iter()
        .map(|it| json!({ "name": it.name, "passes": it.passes, "fails": it.fails }))
        .collect();
    let metrics = match checks.is_empty() {
        true => Vec::new(),
        false => vec![
            metric("checks_total", "counter", "default", &json!({ "count": total })),
            rate("checks_failed", fails),
            rate("checks_succeeded", passes),
        ],
    };
    json!({ "metrics": metrics, "results": list })
}

fn figures(figures: &Figures) -> Value {
    let values = match &figures.values {
        Values::Counter { count, .. } => json!({ "count": number(*count) }),
        Values::Rate { rate, passes, fails } => {
            json!({ "matches": passes, "total": passes + fails, "rate": number(*rate) })
        }
        // Names of figures are keys there, so percentiles lose their brackets.
        values => numbers(values)
            .into_iter()
            .map(|(name, value)| (name.replace(['(', ')'], ""), value))
            .collect(),
    };
    metric(&figures.name, figures.kind.name(), figures.contains.name(), &values)
}

fn metric(name: &str, kind: &str, contains: &str, values: &Value) -> Value {
    json!({ "name": name, "type": kind, "contains": contains, "values": values })
}
