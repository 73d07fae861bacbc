//! Merging: what several workers and processes recorded is what one would have.

use super::*;

/// A value recorded at a time, of a metric by its place in [`KINDS`], with one of six sets of tags.
struct Recorded {
    metric: usize,
    tags: u64,
    value: f64,
    at_ns: u64,
}

fn drawn(seed: u64, count: usize) -> Vec<Recorded> {
    let mut draw = Draw::new(seed);
    let mut value = |metric: usize| match KINDS[metric].1 {
        Kind::Counter => draw.number(40).abs(),
        Kind::TimeTrend => draw.number(40).abs().round(),
        Kind::Rate => draw.below(2) as f64,
        Kind::Gauge | Kind::Trend => draw.number(40),
    };
    let mut pick = Draw::new(seed + 1000);
    (0..count)
        .map(|_| {
            let metric = pick.below(KINDS.len() as u64) as usize;
            // Now and then a value that is rejected.
            let value = if pick.below(20) == 0 { f64::NAN } else { value(metric) };
            Recorded { metric, tags: pick.below(6), value, at_ns: pick.below(50) }
        })
        .collect()
}

/// A worker that records these, and declares the metrics beginning with another one.
fn worker(values: &[&Recorded], first: usize) -> Metrics {
    let mut registry = Registry::default();
    for at in 0..KINDS.len() {
        let (name, kind) = KINDS[(at + first) % KINDS.len()];
        registry.declare(name, kind).expect("a name");
    }
    let registry = Arc::new(registry);
    let mut metrics = Metrics::new(&registry);
    for it in values {
        let number = it.tags.to_string();
        let pairs = [("n", number.as_str()), ("kind", "x")];
        let tags = metrics.tags(if it.tags == 0 { &[] } else { &pairs });
        metrics.record(id(&registry, KINDS[it.metric].0), tags, it.value, it.at_ns);
    }
    metrics
}

#[test]
fn any_split_over_workers_gives_the_same_totals() {
    for seed in 0..12 {
        let values = drawn(seed, 200);
        let all: Vec<&Recorded> = values.iter().collect();
        let whole = worker(&all, 0).totals();
        let mut draw = Draw::new(seed + 2000);
        let mut parts: [Vec<&Recorded>; 3] = Default::default();
        for value in &values {
            parts[draw.below(3) as usize].push(value);
        }
        let workers = [0, 1, 2].map(|at| worker(&parts[at], at));
        let [a, b, c] = [0, 1, 2].map(|at| workers[at].totals());
        let sum = |parts: &[&CustomMetrics]| {
            let mut sum = CustomMetrics::default();
            parts.iter().for_each(|part| sum.merge(part));
            sum
        };
        assert_eq!(sum(&[&a, &b, &c]), whole, "seed {seed}");
        assert_eq!(sum(&[&a, &sum(&[&b, &c])]), whole, "seed {seed}: from the right");
        assert_eq!(sum(&[&c, &b, &a]), whole, "seed {seed}: backwards");
        let mut first = workers[2].clone();
        first.merge(&workers[0]);
        first.merge(&workers[1]);
        assert_eq!(first.totals(), whole, "seed {seed}: as workers");
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<CustomMetrics>(&text).unwrap(), whole, "seed {seed}");
    }
}

#[test]
fn one_name_of_two_kinds_is_kept_apart_and_told() {
    let of = |kind: Kind, value: f64| {
        let mut registry = Registry::default();
        let id = registry.declare("x", kind).unwrap();
        registry.declare("y", Kind::Rate).unwrap();
        let mut metrics = Metrics::new(&Arc::new(registry));
        metrics.record(id, TagsId::NONE, value, 0);
        metrics.totals()
    };
    let [counter, gauge] = [of(Kind::Counter, 2.0), of(Kind::Gauge, 3.0)];
    let mut sum = gauge.clone();
    sum.merge(&counter);
    sum.merge(&counter);
    let mut other = counter.clone();
    other.merge(&counter);
    other.merge(&gauge);
    assert_eq!(sum, other);
    assert_eq!(sum.conflicts(), ["metric 'x' was recorded as a counter and as a gauge"]);
    assert_eq!(counter.conflicts(), [""; 0]);
    let counts: Vec<u64> = sum.named("x").map(|metric| metric.value.count()).collect();
    assert_eq!(counts, [2, 1]);
    assert_eq!(sum.named("y").count(), 1);
}

#[test]
fn a_document_with_two_kinds_in_one_metric_is_refused() {
    let metric = |kind: &str| {
        serde_json::json!([{
            "name": "x",
            "value": {"kind": "rate", "trues": 1, "total": 2},
            "tagged": [{"tags": {"k": "v"}, "value": {"kind": kind, "trues": 1, "total": 2,
                "adds": 1, "sum": 2.0}}],
        }])
    };
    assert!(serde_json::from_value::<CustomMetrics>(metric("rate")).is_ok());
    let error = serde_json::from_value::<CustomMetrics>(metric("counter")).unwrap_err();
    assert!(error.to_string().contains("'x' has values of several kinds"), "{error}");
}

/// Of several values at one time the greatest is the last, whichever worker is added first.
#[test]
fn the_last_of_a_gauge_is_the_last_by_time() {
    let of = |values: &[(f64, u64)]| {
        let mut gauge = Gauge::default();
        for (value, at_ns) in values {
            gauge.set(*value, *at_ns);
        }
        gauge
    };
    let parts = [of(&[(1.0, 5), (9.0, 3)]), of(&[(4.0, 5)]), of(&[])];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut sum = Gauge::default();
        order.iter().for_each(|at| sum.merge(&parts[*at]));
        assert_eq!(sum, of(&[(9.0, 3), (1.0, 5), (4.0, 5)]));
        assert_eq!((sum.last, sum.max), (Some(4.0), Some(9.0)));
    }
}
