//! StatsD: a line for each figure of an interval, counters as what was added and quantiles as
//! gauges in milliseconds. With tags and events in the form of DogStatsD, or without.
//!
//! No `|ms` for each request: the server would have to be sent as many as the run sends.

use std::fmt::Write as _;

use plimsoll_core::Histogram;

use crate::events::{Event, Tone};
use crate::figures::{Kind, Moment, outcomes};
use crate::labels::Label;

/// Quantiles, and what the end of their names is.
const QUANTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p999"), (1.0, "max")];

/// Writes lines of StatsD.
#[derive(Debug)]
pub(crate) struct Statsd {
    /// `,name:value` for each label; `None` where the server knows no tags.
    tags: Option<String>,
}

impl Statsd {
    pub(crate) fn new(labels: &[Label], has_tags: bool) -> Self {
        let tag = |label: &Label| format!(",{}:{}", label.name(), harmless(label.value()));
        Self { tags: has_tags.then(|| labels.iter().map(tag).collect()) }
    }

    /// The lines of a moment, each with its end.
    pub(crate) fn encode(&self, moment: &Moment<'_>) -> Vec<u8> {
        let mut lines = String::new();
        let new = moment.new;
        self.count(&mut lines, "scheduled", "", new.ledger.scheduled);
        self.count(&mut lines, "sent", "", new.ledger.sent);
        for (outcome, count) in outcomes(&new.ledger) {
            match self.tags {
                Some(_) => {
                    self.count(&mut lines, "requests", &format!("outcome:{outcome}"), count);
                }
                None => self.count(&mut lines, &format!("requests.{outcome}"), "", count),
            }
        }
        self.count(&mut lines, "errors", "", new.errors);
        self.count(&mut lines, "received_bytes", "", new.received_bytes);
        if moment.kind == Kind::Interval {
            self.times(&mut lines, "response_ms", &new.response);
            self.times(&mut lines, "service_ms", &new.service);
        }
        let gauges = &moment.all.gauges;
        self.gauge(&mut lines, "target_rate", gauges.target_rps.unwrap_or(0.0));
        self.gauge(&mut lines, "connections", f64::from(gauges.connections));
        self.gauge(&mut lines, "tester_cpu_cores", gauges.cpu_cores);
        self.gauge(&mut lines, "lateness_max_ms", gauges.lateness_max_ns as f64 / 1e6);
        for event in &moment.all.events {
            self.event(&mut lines, event);
        }
        lines.into_bytes()
    }

    /// An event of DogStatsD, where the server knows them. Its text is what tells the run from
    /// others, because a text has to be there.
    fn event(&self, lines: &mut String, event: &Event) {
        let Some(labels) = &self.tags else { return };
        let labels = labels.trim_start_matches(',');
        let title = format!("plimsoll: {}", event.title).replace(['|', '\n'], "_");
        let text = if labels.is_empty() { "plimsoll" } else { labels };
        let kind = match event.tone {
            Tone::Neutral => "info",
            Tone::Good => "success",
            Tone::Doubtful => "warning",
            Tone::Bad => "error",
        };
        let (title_bytes, text_bytes) = (title.len(), text.len());
        let time_s = event.time_ns / 1_000_000_000;
        let tags = if labels.is_empty() { String::new() } else { format!("|#{labels}") };
        writeln!(
            lines,
            "_e{{{title_bytes},{text_bytes}}}:{title}|{text}|d:{time_s}|t:{kind}{tags}"
        )
        .expect("writing to memory cannot fail");
    }

    fn times(&self, lines: &mut String, name: &str, times: &Histogram) {
        for (q, suffix) in QUANTILES {
            if let Some(value_ns) = times.quantile_ns(q) {
                self.gauge(lines, &format!("{name}.{suffix}"), value_ns as f64 / 1e6);
            }
        }
    }

    fn count(&self, lines: &mut String, name: &str, tag: &str, count: u64) {
        if count > 0 {
            self.line(lines, name, tag, &format!("{count}|c"));
        }
    }

    fn gauge(&self, lines: &mut String, name: &str, value: f64) {
        self.line(lines, name, "", &format!("{value}|g"));
    }

    fn line(&self, lines: &mut String, name: &str, tag: &str, value: &str) {
        let tags = match &self.tags {
            None => String::new(),
            Some(labels) => {
                let all = format!("{tag}{labels}");
                let all = all.trim_start_matches(',');
                if all.is_empty() { String::new() } else { format!("|#{all}") }
            }
        };
        writeln!(lines, "plimsoll.{name}:{value}{tags}").expect("writing to memory cannot fail");
    }
}

/// A value of a tag without the letters that end one.
fn harmless(value: &str) -> String {
    value.replace([',', '|', '\n', '#'], "_")
}
