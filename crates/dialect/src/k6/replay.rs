//! A run of k6 itself, replayed: `fixtures` holds the samples that k6 v1.8.1 wrote with `-o json`
//! and `-o csv` for a script of ours, and what it made of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::metrics::{Book, Contains, Kind, MetricId, Registry, SystemTags, TagSet, TrendStat};
use super::options::{OptionValue as _, Options};
use super::summary::Summary;
use super::threshold::Thresholds;
use crate::WallTime;

pub(super) const SAMPLES: &str = include_str!("fixtures/samples.ndjson");

/// How long that run took.
const RUN_NS: u64 = 1_102_513_498;

/// A sample as the fixture has it.
pub(super) struct Sample {
    pub(super) metric: MetricId,
    pub(super) time: WallTime,
    pub(super) value: f64,
    pub(super) tags: TagSet,
}

/// A run: its metrics, its thresholds, and its samples in the order in which they were written.
pub(super) struct Run {
    pub(super) registry: Registry,
    pub(super) thresholds: Thresholds,
    pub(super) samples: Vec<Sample>,
}

impl Run {
    /// The run of the fixture.
    pub(super) fn recorded() -> Self {
        Self::of(SAMPLES)
    }

    pub(super) fn of(samples: &str) -> Self {
        let mut registry = Registry::default();
        for (name, kind, contains) in [
            ("bought", Kind::Counter, Contains::Default),
            ("took", Kind::Counter, Contains::Time),
            ("level", Kind::Gauge, Contains::Time),
            ("depth", Kind::Gauge, Contains::Default),
            ("right", Kind::Rate, Contains::Default),
            ("size", Kind::Trend, Contains::Default),
            ("pause", Kind::Trend, Contains::Time),
            ("unused", Kind::Trend, Contains::Default),
            ("ws_own", Kind::Counter, Contains::Default),
        ] {
            registry.declare(name, kind, contains).expect("a valid metric");
        }
        let texts = json!({
            "http_req_duration": ["p(95)<5000", "avg<0.0001"],
            "http_req_duration{name:a}":
                [{ "threshold": "max<5000", "abortOnFail": true, "delayAbortEval": "5s" }],
            "bought": ["count>2", " rate < 1000 "],
            "depth": ["value>=0"],
            "right": ["rate>0.5"],
            "http_reqs{ scenario : late }": ["count==4"],
            "unused": ["avg<1"],
            "checks{check:never}": ["rate==1"],
        });
        let texts = BTreeMap::from_json(&texts).expect("thresholds");
        let thresholds = Thresholds::new(&texts, &mut registry).expect("thresholds that fit");
        registry.select_expected(&SystemTags::default()).expect("room for a submetric");
        let points = samples.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let points = points.filter(|line: &Value| line["type"] == "Point");
        let samples = points.map(|point| sample(&registry, &point)).collect();
        Self { registry, thresholds, samples }
    }

    /// What it amounts to after `run_ns`.
    pub(super) fn summary_after(&self, stats: &[TrendStat], run_ns: u64) -> Summary {
        let mut book = Book::new(self.registry.clone(), true);
        for sample in &self.samples {
            book.record(sample.metric, &sample.tags, sample.value);
        }
        let mut thresholds = self.thresholds.clone();
        thresholds.evaluate(&book, run_ns, true);
        Summary::of(&book, &thresholds, stats, run_ns)
    }

    /// What it amounts to.
    pub(super) fn summary(&self) -> Summary {
        let names = json!(["avg", "min", "med", "max", "p(90)", "p(99.9)", "count"]);
        let options = Options::from_script(&json!({ "summaryTrendStats": names }), &mut Vec::new());
        let stats = options.expect("options").summary_trend_stats.expect("figures of trends");
        self.summary_after(&stats, RUN_NS)
    }

    /// What it amounts to with the figures of trends that are usual.
    pub(super) fn usual_summary(&self) -> Summary {
        self.summary_after(&TrendStat::defaults(), RUN_NS)
    }
}

fn sample(registry: &Registry, point: &Value) -> Sample {
    let name = point["metric"].as_str().expect("a name");
    let tags = point["data"]["tags"].as_object().expect("tags").iter();
    let tags = tags.map(|(name, value)| (name.as_str(), value.as_str().expect("text")));
    Sample {
        metric: registry.find(name).expect(name),
        time: time(point["data"]["time"].as_str().expect("a time")),
        value: point["data"]["value"].as_f64().expect("a number"),
        tags: TagSet::of(tags),
    }
}

/// The day of the run in UTC, since 1970.
const DAY: i64 = 20_781;

fn time(text: &str) -> WallTime {
    let clock = text.strip_prefix("2026-11-24T").and_then(|text| text.strip_suffix('Z'));
    let (whole, fraction) = clock.expect("the day of the run").split_once('.').expect("a fraction");
    let mut seconds = 0;
    for part in whole.split(':') {
        seconds = seconds * 60 + part.parse::<i64>().expect("a number");
    }
    let fraction: i64 = format!("{fraction:0<9}").parse().expect("digits");
    let unix_ns = (DAY * 86_400 + seconds) * 1_000_000_000 + fraction;
    WallTime { unix_ns, offset_s: 0 }
}
