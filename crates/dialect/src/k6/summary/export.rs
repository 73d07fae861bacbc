//! The document of `--summary-export`.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::{Part, Values, path};

/// Groups with their checks, all metrics, and all else in the data of `handleSummary`, as that
/// function has left them, but for `options` and `state`. Lists are objects by name here, and
/// thresholds say whether they failed.
#[must_use]
pub fn export(data: &Value) -> String {
    let mut document = data.clone();
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|name, _| name != "options" && name != "state");
        if let Some(Value::Object(metrics)) = fields.get_mut("metrics") {
            metrics.values_mut().for_each(|it| *it = metric(it));
        }
        if let Some(root) = fields.get_mut("root_group") {
            by_name(root);
        }
    }
    indented(&document)
}

/// With four blanks for each level, as k6 writes documents.
#[must_use]
pub fn indented(document: &Value) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(document, &mut serializer)
        .expect("a JSON value has text for its keys, and memory takes it");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// The figures of a metric, with its thresholds among them.
fn metric(of: &Value) -> Value {
    let Some(Value::Object(mut fields)) = of.get("values").cloned() else { return Value::Null };
    if let Some(Value::Object(thresholds)) = of.get("thresholds")
        && !thresholds.is_empty()
    {
        let has_failed = |it: &Value| Value::Bool(it["ok"] != Value::Bool(true));
        let thresholds = thresholds.iter().map(|(source, it)| (source.clone(), has_failed(it)));
        fields.insert("thresholds".to_owned(), Value::Object(thresholds.collect()));
    }
    // What everything else calls the rate of a rate is its value here.
    if of["type"] == "rate"
        && let Some(rate) = fields.remove("rate")
    {
        fields.insert("value".to_owned(), rate);
    }
    fields.into()
}

/// Makes objects of the lists of a group, with names as keys.
fn by_name(group: &mut Value) {
    for list in ["groups", "checks"] {
        let Some(items) = group.get_mut(list).and_then(Value::as_array_mut).map(std::mem::take)
        else {
            continue;
        };
        let named = items.into_iter().map(|mut item| {
            if list == "groups" {
                by_name(&mut item);
            }
            (item["name"].as_str().unwrap_or("undefined").to_owned(), item)
        });
        group[list] = Value::Object(named.collect());
    }
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

/// A group with all that is in it.
pub(super) fn group(part: &Part, name: &str, path_of_it: &str) -> Value {
    let checks = part.checks.iter().map(|check| {
        let path = path(path_of_it, &check.name);
        json!({
            "name": check.name,
            "id": id(&path),
            "path": path,
            "passes": check.passes,
            "fails": check.fails,
        })
    });
    let groups = part.groups.iter().map(|(name, part)| group(part, name, &path(path_of_it, name)));
    json!({
        "name": name,
        "path": path_of_it,
        "id": id(path_of_it),
        "groups": groups.collect::<Vec<_>>(),
        "checks": checks.collect::<Vec<_>>(),
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
