//! What a scrape gets as text: OpenMetrics 1.0, and the older text format of Prometheus (0.0.4).
//! Both have classic buckets; native histograms are in the format of protobuf alone.

use std::fmt::Write as _;

use crate::buckets::{BOUNDS_NS, cumulative};
use crate::figures::Figures;
use crate::labels::Label;
use crate::metrics::{Family, Type, Value};
use crate::naming::families;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    OpenMetrics,
    Prometheus,
}

/// All metrics, as text.
pub(crate) fn write(text: Text, figures: &Figures, labels: &[Label]) -> String {
    let mut out = String::new();
    for family in families(figures) {
        Writer { text, out: &mut out, labels, began_ns: figures.began_ns }.family(&family);
    }
    if text == Text::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

struct Writer<'a> {
    text: Text,
    out: &'a mut String,
    labels: &'a [Label],
    began_ns: u64,
}

impl Writer<'_> {
    fn family(&mut self, family: &Family<'_>) {
        let is_open = self.text == Text::OpenMetrics;
        let suffix = suffix(family.kind);
        // In OpenMetrics the family has no suffix, before it had.
        let name =
            if is_open { family.name.to_owned() } else { format!("{}{suffix}", family.name) };
        let kind = match family.kind {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
            Type::Info if is_open => "info",
            Type::Info => "gauge",
        };
        self.line(&format!("# HELP {name} {}", family.help));
        self.line(&format!("# TYPE {name} {kind}"));
        if let Some(unit) = family.unit.filter(|_| is_open) {
            self.line(&format!("# UNIT {name} {unit}"));
        }
        for sample in &family.samples {
            let own: Vec<(&str, &str)> =
                sample.labels.iter().map(|(name, value)| (*name, value.as_ref())).collect();
            match sample.value {
                Value::Number(value) => {
                    self.sample(&format!("{}{suffix}", family.name), &own, value);
                }
                Value::Times(times) => {
                    for (index, count) in cumulative(times).into_iter().enumerate() {
                        let bound = bound(index, is_open);
                        let own = [own.as_slice(), &[("le", bound.as_str())]].concat();
                        self.sample(&format!("{}_bucket", family.name), &own, count as f64);
                    }
                    let sum = times.sum_ns() as f64 / 1e9;
                    self.sample(&format!("{}_sum", family.name), &own, sum);
                    self.sample(&format!("{}_count", family.name), &own, times.count() as f64);
                }
            }
            if is_open && matches!(family.kind, Type::Counter | Type::Histogram) {
                let created = self.began_ns as f64 / 1e9;
                self.sample(&format!("{}_created", family.name), &own, created);
            }
        }
    }

    fn sample(&mut self, name: &str, own: &[(&str, &str)], value: f64) {
        let shared = self.labels.iter().map(|label| (label.name(), label.value()));
        let pairs: Vec<String> = shared
            .chain(own.iter().copied())
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        match pairs.is_empty() {
            true => self.line(&format!("{name} {value}")),
            false => self.line(&format!("{name}{{{}}} {value}", pairs.join(","))),
        }
    }

    fn line(&mut self, line: &str) {
        writeln!(self.out, "{line}").expect("writing to memory cannot fail");
    }
}

/// What names of samples end with.
pub(crate) fn suffix(kind: Type) -> &'static str {
    match kind {
        Type::Counter => "_total",
        Type::Info => "_info",
        Type::Gauge | Type::Histogram => "",
    }
}

/// The bound of a classic bucket as the label `le` has it, s. OpenMetrics wants whole numbers with
/// a fraction.
pub(crate) fn bound(index: usize, is_open: bool) -> String {
    match BOUNDS_NS.get(index).map(|bound_ns| *bound_ns as f64 / 1e9) {
        None => "+Inf".to_owned(),
        Some(bound) if is_open && bound.fract() == 0.0 => format!("{bound:.1}"),
        Some(bound) => bound.to_string(),
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
