//! InfluxDB's line protocol: one point an interval with what the interval added, in the measurement
//! `plimsoll`, and a point of `plimsoll_events` for each event of a run, for annotations.
//!
//! Sums of a field over all points are the run's ledger. Times of points are the ends of their
//! intervals, so that a point that is sent twice stands there once.

use std::fmt::Write as _;

use plimsoll_core::Histogram;

use crate::events::Event;
use crate::figures::{Kind, Moment, outcomes};
use crate::labels::Label;
use crate::samples::{escaped, quoted};

/// Quantiles, and how the names of their fields end.
const QUANTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p999"), (1.0, "max")];

/// Writes points.
#[derive(Debug)]
pub(crate) struct Influx {
    /// `,name=value` for each label.
    tags: String,
}

impl Influx {
    pub(crate) fn new(labels: &[Label]) -> Self {
        let tag = |label: &Label| format!(",{}={}", label.name(), escaped(label.value()));
        Self { tags: labels.iter().map(tag).collect() }
    }

    /// The points of a moment, each a line.
    pub(crate) fn encode(&self, moment: &Moment<'_>) -> Vec<u8> {
        let mut lines = String::new();
        if moment.kind != Kind::Began {
            lines.push_str(&self.point(moment));
        }
        for Event { time_ns, title, .. } in &moment.all.events {
            let (tags, title) = (&self.tags, quoted(title));
            writeln!(lines, "plimsoll_events{tags} title=\"{title}\" {time_ns}")
                .expect("writing to memory cannot fail");
        }
        lines.into_bytes()
    }

    fn point(&self, moment: &Moment<'_>) -> String {
        let new = moment.new;
        let mut fields = vec![
            format!("scheduled={}i", new.ledger.scheduled),
            format!("sent={}i", new.ledger.sent),
            format!("completed={}i", new.ledger.completed),
            format!("errors={}i", new.errors),
            format!("received_bytes={}i", new.received_bytes),
        ];
        let counts = outcomes(&new.ledger);
        fields.extend(counts.map(|(outcome, count)| format!("{outcome}={count}i")));
        if moment.kind == Kind::Interval {
            let gauges = &moment.all.gauges;
            fields.extend(gauges.target_rps.map(|rps| format!("target_rate={rps}")));
            fields.push(format!("connections={}i", gauges.connections));
            fields.push(format!("tester_cpu_cores={}", gauges.cpu_cores));
            fields.push(format!("lateness_max_seconds={}", gauges.lateness_max_ns as f64 / 1e9));
            times(&mut fields, "response", &new.response);
            times(&mut fields, "service", &new.service);
        }
        format!("plimsoll{} {} {}\n", self.tags, fields.join(","), moment.all.time_ns)
    }
}

fn times(fields: &mut Vec<String>, name: &str, times: &Histogram) {
    fields.extend(QUANTILES.iter().filter_map(|(q, suffix)| {
        let seconds = times.quantile_ns(*q)? as f64 / 1e9;
        Some(format!("{name}_{suffix}_seconds={seconds}"))
    }));
}
