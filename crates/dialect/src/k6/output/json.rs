//! Lines of `-o json`: a JSON object each.

use std::fmt::Write as _;

use super::Sample;
use crate::k6::metrics::{Metric, MetricId, Registry, TagSet};
use crate::k6::threshold::{Threshold, Thresholds};
use crate::numbers::go_shortest;

/// The line of a metric, which precedes the first of its samples. It ends with a line break.
#[must_use]
pub fn metric_line(id: MetricId, registry: &Registry, thresholds: &Thresholds) -> String {
    let metric = registry.get(id);
    let name = quoted(&metric.name);
    let list: Vec<String> = thresholds.of(id).iter().map(threshold).collect();
    let parts: Vec<String> =
        metric.parts.iter().map(|part| submetric(registry.get(*part))).collect();
    let submetrics =
        if parts.is_empty() { "null".to_owned() } else { format!("[{}]", parts.join(",")) };
    format!(
        "{{\"type\":\"Metric\",\"data\":{{\"name\":{name},\"type\":\"{}\",\"contains\":\"{}\",\
         \"thresholds\":[{}],\"submetrics\":{submetrics}}},\"metric\":{name}}}\n",
        metric.kind.name(),
        metric.contains.name(),
        list.join(","),
    )
}

fn threshold(threshold: &Threshold) -> String {
    let text = &threshold.text;
    let source = quoted(&text.source);
    if !text.abort_on_fail {
        return source;
    }
    let delay = text.delay_abort_eval.map(|delay| quoted(&delay.to_string()));
    let delay = delay.unwrap_or_else(|| "null".to_owned());
    format!("{{\"threshold\":{source},\"abortOnFail\":true,\"delayAbortEval\":{delay}}}")
}

fn submetric(part: &Metric) -> String {
    let (suffix, selected) = part.part.as_ref().map_or_else(
        || ("", String::new()),
        |selection| (selection.suffix.as_str(), tags(&selection.tags, escaped)),
    );
    let (name, suffix) = (quoted(&part.name), quoted(suffix));
    format!("{{\"name\":{name},\"suffix\":{suffix},\"tags\":{{{selected}}}}}")
}

/// Makes the lines of samples. It keeps the text of the last tags: the samples of a request, and
/// most that follow one another, share them.
#[derive(Debug, Clone, Default)]
pub struct PointLines {
    last: TagSet,
    text: String,
}

impl PointLines {
    /// The line of a sample. It ends with a line break.
    #[must_use]
    pub fn line(&mut self, sample: &Sample<'_>) -> String {
        if !self.last.is_same(sample.tags) {
            self.last = sample.tags.clone();
            self.text = tags(sample.tags, escaped);
        }
        let mut line = format!(
            "{{\"metric\":{},\"type\":\"Point\",\"data\":{{\"time\":\"{}\",\"value\":{},\
             \"tags\":{{{}}}",
            quoted(sample.metric),
            sample.time.rfc3339_nano(),
            go_shortest(sample.value),
            self.text,
        );
        if !sample.metadata.is_empty() {
            let _ = write!(line, ",\"metadata\":{{{}}}", tags(sample.metadata, quoted));
        }
        line.push_str("}}\n");
        line
    }
}

fn tags(tags: &TagSet, quote: fn(&str) -> String) -> String {
    let pair = |(name, value)| format!("{}:{}", quote(name), quote(value));
    tags.iter().map(pair).collect::<Vec<_>>().join(",")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Tags go through Go's encoder for pages, which escapes what HTML would read.
fn escaped(text: &str) -> String {
    quoted(text).replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}
