//! `-o influxdb`, `-o experimental-prometheus-rw` and `-o opentelemetry`: samples of a script for
//! receivers over the network, in the forms in which k6 sends them, so that people's dashboards go
//! on to work.
//!
//! Delivering is the feed's: a receiver that is down costs no worker any time. The log says at the
//! end what it did not get, which k6 does not do.

mod otel;
mod series;
mod settings;
mod tls;

use std::time::{Duration, Instant};

use plimsoll_dialect::k6::Refused;
use plimsoll_dialect::k6::metrics::{Metric, Registry, TagSet};
use plimsoll_outputs::samples::{Field, influx_point};
use plimsoll_outputs::{Delivery, Feed, Style};
use plimsoll_runner::k6::Point;

use self::otel::Otel;
use self::series::{SERIES_MAX, Series};
use self::settings::{Asked, influx, opentelemetry, prometheus};
use super::log::other_fault;
use super::outputs::Variables;

/// Lines are sent before their interval is over when there are this many bytes of them.
const LINES_BYTES_MAX: usize = 1 << 20;

/// Samples for one receiver.
pub(super) struct Fed {
    feed: Feed,
    form: Form,
    /// How often something is sent.
    interval: Duration,
    due: Instant,
}

enum Form {
    /// A point for each sample, with tags that are fields, and its time in this many ns.
    Influx { lines: String, fields: Vec<(String, bool)>, unit_ns: u64, infinite: u64 },
    /// The present value of each series.
    RemoteWrite(Box<Series>),
    /// The same for OpenTelemetry.
    Otel(Box<Otel>),
}

impl Fed {
    /// Opens the output of this name with its arguments; `None` for other names.
    ///
    /// # Errors
    /// Options that make no sense.
    pub(super) fn open(
        kind: &str,
        arguments: &str,
        variables: Variables<'_>,
    ) -> Result<Option<(String, Self)>, Refused> {
        let Asked { receiver, form, interval } = match kind {
            "influxdb" => influx(arguments, variables)?,
            "experimental-prometheus-rw" => prometheus(arguments, variables)?,
            "opentelemetry" | "experimental-opentelemetry" => opentelemetry(variables)?,
            _ => return Ok(None),
        };
        let feed = Feed::begin(std::slice::from_ref(&receiver), Style::default());
        let feed = feed.map_err(|error| other_fault(error.to_string()))?;
        let description = format!("{kind} ({})", receiver.place());
        let due = Instant::now() + interval;
        Ok(Some((description, Self { feed, form, interval, due })))
    }

    /// Takes a sample.
    pub(super) fn add(&mut self, point: &Point, metric: &Metric, metadata: &TagSet) {
        match &mut self.form {
            // A batch with such a value would be refused as a whole.
            Form::Influx { infinite, .. } if point.value.is_infinite() => *infinite += 1,
            Form::Influx { lines, fields, unit_ns, .. } => {
                let time = point.wall_ns / *unit_ns;
                add_line(lines, fields, point, time, (&metric.name, metadata));
                if lines.len() > LINES_BYTES_MAX {
                    self.feed.batch(std::mem::take(lines).into_bytes());
                }
            }
            Form::RemoteWrite(series) => series.add(point, metric),
            Form::Otel(otel) => otel.add(point, metric),
        }
    }

    /// Sends what there is, once it is time.
    pub(super) fn tick(&mut self, registry: &Registry) {
        let now = Instant::now();
        if now >= self.due {
            self.send(registry);
            self.due = now + self.interval;
        }
    }

    fn send(&mut self, registry: &Registry) {
        let batch = match &mut self.form {
            Form::Influx { lines, .. } => std::mem::take(lines).into_bytes(),
            Form::RemoteWrite(series) => series.batch(registry),
            Form::Otel(otel) => otel.batch(registry),
        };
        if !batch.is_empty() {
            self.feed.batch(batch);
        }
    }

    /// Sends the rest. Gives what a user has to know of it.
    pub(super) fn finish(mut self, registry: &Registry) -> Vec<String> {
        self.send(registry);
        let mut complaints = Vec::new();
        let left_out = match &self.form {
            Form::Influx { infinite, .. } => {
                if *infinite > 0 {
                    complaints.push(format!(
                        "{infinite} samples were left out of an output: InfluxDB takes no infinite \
                         values"
                    ));
                }
                0
            }
            Form::Otel(otel) => otel.left_out(),
            Form::RemoteWrite(series) => {
                let ending = series.ending(registry);
                if !ending.is_empty() {
                    self.feed.batch(ending);
                }
                series.left_out()
            }
        };
        if left_out > 0 {
            complaints.push(format!(
                "{left_out} samples were left out of an output: there are more than {SERIES_MAX} \
                 series; give requests a name tag"
            ));
        }
        complaints.extend(self.feed.finish().iter().filter_map(Delivery::complaint));
        complaints
    }
}

fn add_line(
    lines: &mut String,
    as_fields: &[(String, bool)],
    point: &Point,
    time: u64,
    (metric, metadata): (&str, &TagSet),
) {
    let all = || point.tags.iter().chain(metadata.iter());
    let mut fields = vec![("value", Field::Number(point.value))];
    for (name, is_whole) in as_fields {
        let Some((_, value)) = all().find(|(known, _)| known == name) else { continue };
        let whole = value.parse().ok().filter(|_| *is_whole);
        fields.push((name.as_str(), whole.map_or(Field::Text(value), Field::Whole)));
    }
    let tags = all().filter(|(name, _)| as_fields.iter().all(|(field, _)| field != name));
    influx_point(lines, metric, tags, &fields, time);
}
