//! OTLP over HTTP: all metrics after each interval as `ExportMetricsServiceRequest`. Field numbers
//! are those of the published definition.
//!
//! Names and units are those of OpenTelemetry's conventions where they have one: service time is
//! `http.client.request.duration`. Response time, which they do not know, and all else stand under
//! `plimsoll.`. Durations are exponential histograms.

pub(crate) mod message;

use plimsoll_core::Histogram;
use prost::Message as _;

use self::message::{
    Any, Attribute, Buckets, Data, ExponentialHistogram, ExponentialPoint, Gauge, Metric, Number,
    NumberPoint, Request, Resource, ResourceMetrics, Scope, ScopeMetrics, Sum,
};
use crate::buckets::{Exponential, ZERO_THRESHOLD};
use crate::figures::{Moment, outcomes};
use crate::labels::Label;

/// How counts relate to those before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Temporality {
    /// Since the beginning.
    #[default]
    Cumulative,
    /// Since the last time.
    Delta,
}

impl Temporality {
    /// As OTLP numbers it.
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::Delta => 1,
            Self::Cumulative => 2,
        }
    }
}

/// Writes requests.
#[derive(Debug)]
pub(crate) struct Otlp {
    resource: Vec<Attribute>,
    /// What points of `http.client.request.duration` have.
    server: Vec<Attribute>,
    temporality: Temporality,
    /// When the last request was written, ns since 1970.
    last_ns: u64,
}

impl Otlp {
    /// `resource` has further attributes of the resource.
    pub(crate) fn new(
        labels: &[Label],
        resource: &[(String, String)],
        temporality: Temporality,
    ) -> Self {
        let own = [("service.name", "plimsoll"), ("service.version", env!("CARGO_PKG_VERSION"))];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let labels_of = labels.iter().map(|it| (it.name().to_owned(), it.value().to_owned()));
        let run = labels.iter().find(|label| label.name() == "run");
        let instance = run.map(|run| ("service.instance.id".to_owned(), run.value().to_owned()));
        let mut all: Vec<(String, String)> = resource.to_vec();
        for (name, value) in own.into_iter().chain(instance).chain(labels_of) {
            if all.iter().all(|(known, _)| *known != name) {
                all.push((name, value));
            }
        }
        let target = labels.iter().find(|label| label.name() == "target").map(Label::value);
        Self {
            resource: all.iter().map(|(name, value)| Attribute::text(name, value)).collect(),
            server: target.map(server).unwrap_or_default(),
            temporality,
            last_ns: 0,
        }
    }

    /// All that is known, or what is new.
    pub(crate) fn encode(&mut self, moment: &Moment<'_>) -> Vec<u8> {
        let time_ns = moment.all.time_ns;
        let (totals, start_ns) = match self.temporality {
            Temporality::Cumulative => (&moment.all.totals, moment.all.began_ns),
            Temporality::Delta if self.last_ns == 0 => (moment.new, moment.all.began_ns),
            Temporality::Delta => (moment.new, self.last_ns),
        };
        self.last_ns = time_ns;
        let span = Span { start_ns, time_ns, temporality: self.temporality };
        let ended = outcomes(&totals.ledger)
            .map(|(name, count)| (vec![Attribute::text("outcome", name)], count));
        let mut metrics = vec![
            span.sum(
                "plimsoll.requests.scheduled",
                "{request}",
                vec![(vec![], totals.ledger.scheduled)],
            ),
            span.sum("plimsoll.requests.sent", "{request}", vec![(vec![], totals.ledger.sent)]),
            span.sum("plimsoll.requests", "{request}", ended.into()),
            span.sum("plimsoll.errors", "{error}", vec![(vec![], totals.errors)]),
            span.sum("plimsoll.received", "By", vec![(vec![], totals.received_bytes)]),
            span.times("http.client.request.duration", &totals.service, self.server.clone()),
            span.times("plimsoll.response.duration", &totals.response, Vec::new()),
        ];
        let gauges = &moment.all.gauges;
        let target = gauges.target_rps.map(|rps| ("plimsoll.target_rate", "{request}/s", rps));
        let others = [
            ("plimsoll.connections", "{connection}", f64::from(gauges.connections)),
            ("plimsoll.tester.cpu", "{cpu}", gauges.cpu_cores),
            ("plimsoll.lateness.max", "s", gauges.lateness_max_ns as f64 / 1e9),
        ];
        let gauges = others.into_iter().chain(target);
        metrics.extend(gauges.map(|(name, unit, value)| span.gauge(name, unit, value)));
        request(self.resource.clone(), metrics).encode_to_vec()
    }
}

/// Metrics of a resource, as they are sent.
pub(crate) fn request(attributes: Vec<Attribute>, metrics: Vec<Metric>) -> Request {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let scope = Scope { name: "plimsoll".to_owned(), version };
    Request {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource { attributes }),
            scope_metrics: vec![ScopeMetrics { scope: Some(scope), metrics }],
        }],
    }
}

/// The attributes of a server, `HOST:PORT`.
fn server(target: &str) -> Vec<Attribute> {
    let Some((host, port)) = target.rsplit_once(':') else { return Vec::new() };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = port.parse().ok().map(|port| Attribute {
        key: "server.port".to_owned(),
        value: Some(Any::Int(port).into()),
    });
    [Attribute::text("server.address", host)].into_iter().chain(port).collect()
}

/// The time that points are of.
#[derive(Debug, Clone, Copy)]
struct Span {
    start_ns: u64,
    time_ns: u64,
    temporality: Temporality,
}

impl Span {
    fn sum(self, name: &str, unit: &str, counts: Vec<(Vec<Attribute>, u64)>) -> Metric {
        let points = counts.into_iter().map(|(attributes, count)| NumberPoint {
            attributes,
            start_ns: self.start_ns,
            time_ns: self.time_ns,
            value: Some(Number::Int(count as i64)),
        });
        let sum = Sum {
            points: points.collect(),
            temporality: self.temporality.number(),
            is_monotonic: true,
        };
        metric(name, unit, Data::Sum(sum))
    }

    fn gauge(self, name: &str, unit: &str, value: f64) -> Metric {
        let point = NumberPoint {
            attributes: Vec::new(),
            start_ns: 0,
            time_ns: self.time_ns,
            value: Some(Number::Double(value)),
        };
        metric(name, unit, Data::Gauge(Gauge { points: vec![point] }))
    }

    fn times(self, name: &str, times: &Histogram, attributes: Vec<Attribute>) -> Metric {
        let own = Exponential::of(times);
        // The lower bound of a bucket has its number here, the upper one there.
        let positive = own.dense().map(|(first, counts)| Buckets { offset: first - 1, counts });
        let seconds = |value_ns: u64| value_ns as f64 / 1e9;
        let point = ExponentialPoint {
            attributes,
            start_ns: self.start_ns,
            time_ns: self.time_ns,
            count: times.count(),
            sum: Some(seconds(times.sum_ns())),
            scale: own.schema,
            zero_count: own.zero_count,
            positive,
            min: times.min_ns().map(seconds),
            max: times.max_ns().map(seconds),
            zero_threshold: ZERO_THRESHOLD,
        };
        let histogram =
            ExponentialHistogram { points: vec![point], temporality: self.temporality.number() };
        metric(name, "s", Data::ExponentialHistogram(histogram))
    }
}

fn metric(name: &str, unit: &str, data: Data) -> Metric {
    Metric { name: name.to_owned(), unit: unit.to_owned(), data: Some(data) }
}
