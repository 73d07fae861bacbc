//! The end of a test: its figures as plain data, and the texts and documents made of them.
//!
//! [`Summary::of`] reads a [`Book`] once. Everything shown after a run comes from the summary, so
//! that all of it says the same.

mod export;
mod humanize;
mod machine;
mod script_data;
mod text;

#[cfg(test)]
mod tests;

pub use export::{export, indented};
pub(in crate::k6) use export::{id, number};
pub use humanize::TimeUnit;
pub use machine::{Machine, machine_readable};
pub use script_data::{ScriptData, script_data};
pub use text::{Look, text};

use super::metrics::{
    Block, Book, Check, Contains, GROUP_SEPARATOR, Kind, Metric, Sink, TREE, TrendStat, WHOLE,
};
use super::threshold::{Aggregate, Threshold, Thresholds, per_second};

/// How much of a test its summary shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Totals, without the phases of requests.
    #[default]
    Compact,
    /// All metrics; scenarios and groups too.
    Full,
    /// Nothing.
    Disabled,
}

impl Mode {
    /// Reads `compact`, `full` or `disabled`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "compact" => Self::Compact,
            "full" => Self::Full,
            "disabled" => Self::Disabled,
            _ => return None,
        })
    }
}

/// What a test amounts to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// How long the test took, with setup and teardown.
    pub run_ns: u64,
    /// Figures of trends.
    pub trend_stats: Vec<TrendStat>,
    /// All metrics with samples or thresholds, submetrics too, as they were made; the whole's
    /// checks; and groups outside of named scenarios.
    pub whole: Part,
    /// All groups with their checks, whatever the scenario.
    pub tree: Part,
    /// Scenarios not named `default`, by name.
    pub scenarios: Vec<(String, Part)>,
}

/// What belongs to the whole, to a scenario or to a group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Checks, in the order in which they were first seen.
    pub checks: Vec<Check>,
    /// Metrics.
    pub metrics: Vec<Figures>,
    /// Groups within it, by name, in the order in which they were first seen.
    pub groups: Vec<(String, Self)>,
}

impl Part {
    /// How often checks passed and failed, all together: also those that are not listed, because
    /// samples have no tag with the name or there are too many names.
    fn check_counts(&self) -> (u64, u64) {
        let metric = self.metrics.iter().find(|figures| figures.name == "checks");
        if let Some(Figures { values: Values::Rate { passes, fails, .. }, .. }) = metric {
            return (*passes, *fails);
        }
        let listed = self.checks.iter();
        listed.fold((0, 0), |(passes, fails), check| (passes + check.passes, fails + check.fails))
    }
}

/// A metric's figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// What its values are.
    pub contains: Contains,
    /// The figures.
    pub values: Values,
    /// Whether percentiles are exact.
    pub is_exact: bool,
    /// Its thresholds.
    pub thresholds: Vec<Outcome>,
}

/// Figures by type.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Of a counter.
    Counter {
        /// The sum.
        count: f64,
        /// The sum in a second.
        rate: f64,
    },
    /// Of a gauge.
    Gauge {
        /// The last value.
        value: f64,
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// Of a rate.
    Rate {
        /// The share, 0 to 1.
        rate: f64,
        /// Values that are not 0.
        passes: u64,
        /// Values that are 0.
        fails: u64,
    },
    /// Of a trend, each with its name.
    Trend(Vec<(String, f64)>),
}

/// A threshold at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The threshold.
    pub source: String,
    /// Whether it holds.
    pub is_ok: bool,
    /// What it compares.
    pub aggregate: Aggregate,
    /// That figure.
    pub value: f64,
}

impl Summary {
    /// The figures of a book after `run_ns`, with thresholds as they were last evaluated.
    #[must_use]
    pub fn of(book: &Book, thresholds: &Thresholds, stats: &[TrendStat], run_ns: u64) -> Self {
        let reader = Reader { book, stats, run_ns };
        let registry = book.registry();
        let whole = book.block(WHOLE);
        let mut metrics = Vec::new();
        for (id, metric) in registry.iter() {
            let sink = book.sink(id).filter(|sink| sink.count() > 0);
            let is_watched = |id| thresholds.iter().any(|(watched, _)| watched == id);
            let has_threshold = is_watched(id) || metric.parts.iter().any(|part| is_watched(*part));
            if sink.is_some() || has_threshold {
                metrics.push(reader.figures(metric, sink, thresholds.of(id)));
            }
        }
        let mut scenarios: Vec<(String, Part)> = book
            .scenarios()
            .iter()
            .map(|(name, block)| (name.clone(), reader.part(book.block(*block))))
            .collect();
        scenarios.sort_by(|a, b| a.0.cmp(&b.0));
        let whole = Part { metrics, ..reader.part_without_metrics(whole) };
        let tree = reader.part(book.block(TREE));
        Self { run_ns, trend_stats: stats.to_vec(), whole, tree, scenarios }
    }

    /// The names of trends whose percentiles come from histograms.
    pub fn inexact(&self) -> impl Iterator<Item = &str> {
        let metrics = self.whole.metrics.iter().filter(|figures| !figures.is_exact);
        metrics.map(|figures| figures.name.as_str())
    }

    fn per_second(&self, count: u64) -> f64 {
        per_second(count as f64, self.run_ns)
    }
}

struct Reader<'a> {
    book: &'a Book,
    stats: &'a [TrendStat],
    run_ns: u64,
}

impl Reader<'_> {
    fn part(&self, block: &Block) -> Part {
        let figures = block.sinks.iter().map(|(id, sink)| {
            self.figures(self.book.registry().get(*id), Some(self.book.sink_at(*sink)), &[])
        });
        Part { metrics: figures.collect(), ..self.part_without_metrics(block) }
    }

    fn part_without_metrics(&self, block: &Block) -> Part {
        let group = |(name, id): &(String, u32)| (name.clone(), self.part(self.book.block(*id)));
        Part {
            checks: block.checks.iter().map(|check| self.book.check(*check).clone()).collect(),
            metrics: Vec::new(),
            groups: block.groups.iter().map(group).collect(),
        }
    }

    fn figures(&self, metric: &Metric, sink: Option<&Sink>, thresholds: &[Threshold]) -> Figures {
        let empty = Sink::new(metric.kind);
        let sink = sink.unwrap_or(&empty);
        let outcome = |threshold: &Threshold| Outcome {
            source: threshold.text.source.clone(),
            is_ok: !threshold.has_failed,
            aggregate: threshold.aggregate.clone(),
            value: threshold.value(sink, self.run_ns),
        };
        Figures {
            name: metric.name.clone(),
            kind: metric.kind,
            contains: metric.contains,
            values: self.values(sink),
            is_exact: !matches!(sink, Sink::Trend(trend) if !trend.is_exact()),
            thresholds: thresholds.iter().map(outcome).collect(),
        }
    }

    fn values(&self, sink: &Sink) -> Values {
        match sink {
            Sink::Counter(counter) => {
                Values::Counter { count: counter.sum, rate: per_second(counter.sum, self.run_ns) }
            }
            Sink::Gauge(gauge) => {
                Values::Gauge { value: gauge.value, min: gauge.min, max: gauge.max }
            }
            Sink::Rate(rate) => Values::Rate {
                rate: rate.share(),
                passes: rate.trues,
                fails: rate.total - rate.trues,
            },
            Sink::Trend(trend) => {
                let names = self.stats.iter().map(|stat| stat.name().to_owned());
                Values::Trend(names.zip(trend.figures(self.stats)).collect())
            }
        }
    }
}

/// The path of a group or check: the names above it, each after the separator.
pub(in crate::k6) fn path(above: &str, name: &str) -> String {
    format!("{above}{GROUP_SEPARATOR}{name}")
}

/// What the names of metrics begin with that have a section of their own, or none at all.
const HIDDEN: [&str; 2] = ["checks", "group_duration"];

/// What the names of metrics begin with that a compact summary leaves out.
const PHASES: [&str; 6] = [
    "http_req_blocked",
    "http_req_connecting",
    "http_req_receiving",
    "http_req_sending",
    "http_req_tls_handshaking",
    "http_req_waiting",
];

/// The metric that a submetric is part of; of others the name itself.
fn parent(name: &str) -> &str {
    name.split('{').next().unwrap_or(name)
}

/// Whether a metric is among those that a summary lists.
fn is_listed(name: &str, mode: Mode) -> bool {
    let is_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    !is_of(&HIDDEN) && (mode == Mode::Full || !is_of(&PHASES))
}
