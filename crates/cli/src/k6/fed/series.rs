//! The present value of every series of a script, as k6 sends it to Prometheus.

use std::collections::HashMap;

use plimsoll_dialect::k6::metrics::{
    Contains, Metric, MetricId, Registry, Sink, TagSet, TrendStat,
};
use plimsoll_outputs::samples::{Sample, remote_write, stale};
use plimsoll_runner::k6::Point;

/// The most series whose values are kept.
pub(super) const SERIES_MAX: usize = 100_000;

/// The values of all series so far.
pub(super) struct Series {
    stats: Vec<TrendStat>,
    ends_stale: bool,
    sinks: HashMap<(MetricId, TagSet), Sink>,
    /// Samples of series that were too many.
    left_out: u64,
    /// When the last sample was made, ms since 1970.
    time_ms: i64,
}

impl Series {
    /// Nothing yet; trends are sent as these figures, and series end with markers or without.
    pub(super) fn new(stats: Vec<TrendStat>, ends_stale: bool) -> Self {
        Self { stats, ends_stale, sinks: HashMap::new(), left_out: 0, time_ms: 0 }
    }

    /// Samples of series that were too many.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// A batch of all values; empty without any.
    pub(super) fn batch(&self, registry: &Registry) -> Vec<u8> {
        match self.sinks.is_empty() {
            true => Vec::new(),
            false => remote_write(&self.samples(registry), self.time_ms),
        }
    }

    /// The batch after the last, which ends all series; empty where they do not end so.
    pub(super) fn ending(&self, registry: &Registry) -> Vec<u8> {
        if !self.ends_stale || self.sinks.is_empty() {
            return Vec::new();
        }
        let mut ended = self.samples(registry);
        ended.iter_mut().for_each(|sample| sample.value = stale());
        remote_write(&ended, self.time_ms + 1)
    }

    /// Takes a sample.
    pub(super) fn add(&mut self, point: &Point, metric: &Metric) {
        self.time_ms = self.time_ms.max((point.wall_ns / 1_000_000) as i64);
        let key = (point.metric, point.tags.clone());
        let is_full = self.sinks.len() >= SERIES_MAX;
        match self.sinks.get_mut(&key) {
            Some(sink) => sink.add(point.value),
            None if is_full => self.left_out += 1,
            None => {
                let mut sink = Sink::new(metric.kind);
                sink.add(point.value);
                self.sinks.insert(key, sink);
            }
        }
    }

    /// What each is now. Trends are a sample for each figure, times in seconds.
    fn samples(&self, registry: &Registry) -> Vec<Sample> {
        let mut samples = Vec::new();
        for ((id, tags), sink) in &self.sinks {
            let metric = registry.get(*id);
            let labels: Vec<(String, String)> =
                tags.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let mut add = |suffix: &str, value: f64| {
                let name = format!("k6_{}{suffix}", metric.name);
                samples.push(Sample { name, labels: labels.clone(), value });
            };
            match sink {
                Sink::Counter(counter) => add("_total", counter.sum),
                Sink::Gauge(gauge) => add("", gauge.value),
                Sink::Rate(rate) => add("_rate", rate.share()),
                Sink::Trend(trend) => {
                    let figures = trend.figures(&self.stats);
                    for (stat, figure) in self.stats.iter().zip(figures) {
                        let is_time =
                            metric.contains == Contains::Time && *stat != TrendStat::Count;
                        add(&suffix(stat), if is_time { figure / 1e3 } else { figure });
                    }
                }
            }
        }
        samples
    }
}

/// `_p99` for `p(99)`, `_p999` for `p(99.9)`.
fn suffix(stat: &TrendStat) -> String {
    let letters = stat.name().chars().filter(char::is_ascii_alphanumeric);
    std::iter::once('_').chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_trends_are_named_as_k6_names_them() {
        for (text, want) in
            [("p(99)", "_p99"), ("p(99.9)", "_p999"), ("p(0.95)", "_p095"), ("avg", "_avg")]
        {
            assert_eq!(suffix(&TrendStat::parse(text).unwrap()), want);
        }
    }
}
