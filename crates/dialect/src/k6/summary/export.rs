//! The document of `--summary-export`.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use serde_json::{Map, Value, json};

use super::{Figures, Part, Summary, Values, path};

/// Groups with their checks, all metrics, and what `setup()` returned, if anything.
#[must_use]
pub fn export(summary: &Summary, setup_data: Option<&Value>) -> String {
    let mut metrics = Map::new();
    for figures in &summary.whole.metrics {
        metrics.insert(figures.name.clone(), metric(figures));
    }
    let mut document = Map::new();
    document.insert("root_group".to_owned(), group(&summary.tree, "", "", &Keyed));
    document.insert("metrics".to_owned(), metrics.into());
    if let Some(data) = setup_data {
        document.insert("setup_data".to_owned(), data.clone());
    }
    indented(&document.into())
}

/// With four blanks for each level, as k6 writes documents.
pub(super) fn indented(document: &Value) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(document, &mut serializer)
        .expect("a JSON value has text for its keys, and memory takes it");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

fn metric(figures: &Figures) -> Value {
    let mut fields = Map::new();
    for (name, value) in numbers(&figures.values) {
        // What everything else calls the rate of a rate is its value here.
        let is_rate = matches!(figures.values, Values::Rate { .. }) && name == "rate";
        fields.insert(if is_rate { "value".to_owned() } else { name }, value);
    }
    if !figures.thresholds.is_empty() {
        let thresholds = figures.thresholds.iter();
        // True says that it failed.
        let thresholds = thresholds.map(|it| (it.source.clone(), Value::Bool(!it.is_ok)));
        fields.insert("thresholds".to_owned(), Value::Object(thresholds.collect()));
    }
    fields.into()
}

/// The figures of a metric by name.
pub(super) fn numbers(values: &Values) -> Vec<(String, Value)> {
    let named = |pairs: &[(&str, Value)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    };
    match values {
        Values::Counter { count, rate } => {
            named(&[("count", number(*count)), ("rate", number(*rate))])
        }
        Values::Gauge { value, min, max } => {
            named(&[("value", number(*value)), ("min", number(*min)), ("max", number(*max))])
        }
        Values::Rate { rate, passes, fails } => {
            named(&[("rate", number(*rate)), ("passes", json!(passes)), ("fails", json!(fails))])
        }
        Values::Trend(stats) => {
            stats.iter().map(|(name, value)| (name.clone(), number(*value))).collect()
        }
    }
}

/// A number as JavaScript writes it: whole ones without a point. What is not finite is null.
pub(in crate::k6) fn number(value: f64) -> Value {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        return json!(value as i64);
    }
    json!(value)
}

/// How a list of groups or checks is written.
pub(super) trait Shape {
    /// Makes one value of named ones.
    fn collect(&self, named: Vec<(String, Value)>) -> Value;
}

/// As an object with their names as keys.
pub(super) struct Keyed;

impl Shape for Keyed {
    fn collect(&self, named: Vec<(String, Value)>) -> Value {
        Value::Object(named.into_iter().collect())
    }
}

/// A group with all that is in it.
pub(super) fn group(part: &Part, name: &str, path_of_it: &str, shape: &dyn Shape) -> Value {
    let checks = part.checks.iter().map(|check| {
        let path = path(path_of_it, &check.name);
        let value = json!({
            "name": check.name,
            "id": id(&path),
            "path": path,
            "passes": check.passes,
            "fails": check.fails,
        });
        (check.name.clone(), value)
    });
    let groups = part
        .groups
        .iter()
        .map(|(name, part)| (name.clone(), group(part, name, &path(path_of_it, name), shape)));
    json!({
        "name": name,
        "path": path_of_it,
        "id": id(path_of_it),
        "groups": shape.collect(groups.collect()),
        "checks": shape.collect(checks.collect()),
    })
}

/// The MD5 of a path, in hexadecimal: an identity, not a secret.
pub(in crate::k6) fn id(path: &str) -> String {
    let digest = Md5::digest(path.as_bytes());
    digest.iter().fold(String::with_capacity(32), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
