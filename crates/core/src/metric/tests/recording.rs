//! Declaring and recording: what is refused, what is bounded, and that nothing is lost.

use super::*;

fn only(metrics: &CustomMetrics, name: &str) -> CustomMetric {
    let found: Vec<&CustomMetric> = metrics.named(name).collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0].clone()
}

#[test]
fn names_are_declared_once_and_for_one_kind() {
    let mut registry = Registry::new(crate::gate::is_built_in);
    let id = registry.declare("checkout_time", Kind::TimeTrend).unwrap();
    assert_eq!(registry.declare("checkout_time", Kind::TimeTrend), Ok(id));
    assert_ne!(registry.declare("_x9", Kind::Rate), Ok(id));
    let long = "x".repeat(129);
    let cases = [
        ("checkout_time", "is a trend of times, and cannot also be a trend"),
        ("", "is not a name"),
        ("9lives", "is not a name"),
        ("a.b", "is not a name"),
        ("größe", "is not a name"),
        (long.as_str(), "is not a name"),
        ("errors", "is built in"),
        ("ok", "is built in"),
        ("p95", "is built in"),
        ("status", "is built in"),
        ("connect", "is built in"),
        ("target", "is built in"),
    ];
    for (name, problem) in cases {
        let error = registry.declare(name, Kind::Trend).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
        assert!(!error.contains('\n') && error.len() < 250, "{error}");
    }
    assert!(registry.declare(&long[1..], Kind::Trend).is_ok());
    // Other testers' sources have names of their own.
    assert!(Registry::default().declare("errors", Kind::Rate).is_ok());
}

#[test]
fn there_may_be_only_a_number_of_metrics() {
    let mut registry = Registry::default();
    for number in 0..METRICS_MAX {
        registry.declare(&format!("m{number}"), Kind::Counter).unwrap();
    }
    assert!(registry.declare("m0", Kind::Counter).is_ok());
    let error = registry.declare("more", Kind::Counter).unwrap_err().to_string();
    assert!(error.contains("'more' is one too many"), "{error}");
}

/// Each kind with values that it counts and values that it rejects.
#[test]
fn each_kind_counts_what_it_can_and_says_what_it_cannot() {
    let registry = registry();
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300];
    let mut metrics = Metrics::new(&registry);
    for (name, kind) in KINDS {
        let id = id(&registry, name);
        for (value, at_ns) in [(3.0, 5), (0.5, 9), (0.0, 7), (-0.0, 1)] {
            metrics.record(id, TagsId::NONE, value, at_ns);
        }
        for value in bad {
            metrics.record(id, TagsId::NONE, value, 99);
        }
        metrics.record(id, TagsId::NONE, -2.0, 2);
        let takes_negative = !matches!(kind, Kind::Counter | Kind::TimeTrend);
        assert_eq!(kind.accepts(-2.0), takes_negative);
        let metric = only(&metrics.totals(), name);
        assert_eq!(metric.rejected, 4 + u64::from(!takes_negative), "{name}");
        assert_eq!(metric.value.count(), 9 - metric.rejected, "{name}");
        match metric.value {
            Value::Counter(counter) => assert_eq!(counter.total.value(), 3.5),
            Value::Gauge(gauge) => {
                assert_eq!((gauge.last, gauge.last_at_ns), (Some(0.5), 9));
                assert_eq!((gauge.min, gauge.max), (Some(-2.0), Some(3.0)));
            }
            Value::Rate(rate) => assert_eq!((rate.trues, rate.total), (3, 5)),
            Value::Trend(numbers) => {
                assert_eq!((numbers.min(), numbers.max()), (Some(-2.0), Some(3.0)));
                assert_eq!(numbers.mean(), Some(0.3));
            }
            // To the nearest ns, halves up.
            Value::TimeTrend(times) => assert_eq!(times.unpack().sum_ns(), 4),
        }
    }
}

#[test]
fn a_recorder_without_metrics_counts_none() {
    let registry = registry();
    let mut warmup = Metrics::default();
    let tags = warmup.tags(&[("page", "home")]);
    warmup.record(id(&registry, "items"), tags, 1.0, 0);
    assert!(warmup.totals().is_empty());
    let mut interval = IntervalMetrics::default();
    warmup.take_interval(&mut interval);
    assert!(interval.is_empty());
}

#[test]
fn tags_are_sets() {
    let mut metrics = Metrics::new(&registry());
    let home = metrics.tags(&[("page", "home"), ("step", "2")]);
    for (pairs, is_same) in [
        (&[("step", "2"), ("page", "home")][..], true),
        (&[("page", "cart"), ("step", "2"), ("page", "home")], true),
        (&[("page", "home")], false),
        (&[("page", "home"), ("step", "20")], false),
    ] {
        assert_eq!(metrics.tags(pairs) == home, is_same, "{pairs:?}");
    }
    assert_eq!(metrics.tags(&[]), TagsId::NONE);
    let keys: Vec<String> = (0..=PAIRS_MAX).map(|number| number.to_string()).collect();
    let pairs: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "")).collect();
    assert_eq!(metrics.tags(&pairs), TagsId::FOLDED);
    assert_ne!(metrics.tags(&pairs[1..]), TagsId::FOLDED);
    let long = "x".repeat(SET_BYTES_MAX);
    assert_eq!(metrics.tags(&[("k", &long)]), TagsId::FOLDED);
    assert_ne!(metrics.tags(&[("k", &long[1..])]), TagsId::FOLDED);
}

/// As many sets as there may be, and some more, over two metrics.
#[test]
fn sets_of_tags_are_bounded_and_their_values_are_not_lost() {
    let registry = registry();
    let (items, queue) = (id(&registry, "items"), id(&registry, "queue"));
    let mut metrics = Metrics::new(&registry);
    let more = 7;
    for round in 0..2 {
        for number in 0..TAG_SETS_MAX + more {
            let tags = metrics.tags(&[("user", &number.to_string())]);
            assert_eq!(tags == TagsId::FOLDED, number >= TAG_SETS_MAX);
            metrics.record(items, tags, 1.0, 0);
            metrics.record(queue, tags, number as f64, round);
        }
    }
    let all = 2 * (TAG_SETS_MAX + more) as u64;
    let mut totals = metrics.totals();
    // Both metrics take from the same number of sets, as they come.
    for name in ["items", "queue"] {
        let metric = only(&totals, name);
        assert_eq!(metric.value.count(), all);
        assert_eq!(metric.tagged.len(), TAG_SETS_MAX / 2, "{name}");
        let tagged: u64 = metric.tagged.iter().map(|tagged| tagged.value.count()).sum();
        assert_eq!(tagged + metric.folded, all, "{name}");
    }
    totals.fold(6);
    let metric = only(&totals, "items");
    assert_eq!((metric.tagged.len(), metric.folded, metric.value.count()), (3, all - 6, all));
}

/// Of many sets those with the most values stay, and each metric has its share.
#[test]
fn folding_keeps_the_sets_with_the_most_values() {
    let registry = registry();
    let mut metrics = Metrics::new(&registry);
    for number in 0..10u64 {
        let tags = metrics.tags(&[("n", &number.to_string())]);
        for _ in 0..=number {
            metrics.record(id(&registry, "items"), tags, 1.0, 0);
        }
        if number < 2 {
            metrics.record(id(&registry, "queue"), tags, 1.0, 0);
        }
    }
    let mut totals = metrics.totals();
    totals.fold(6);
    let sets = |name: &str| {
        let tagged = only(&totals, name).tagged;
        tagged.iter().map(|tagged| tagged.tags.to_string()).collect::<Vec<String>>()
    };
    assert_eq!(sets("items"), ["{n:6}", "{n:7}", "{n:8}", "{n:9}"]);
    assert_eq!(sets("queue"), ["{n:0}", "{n:1}"]);
}

#[test]
fn an_interval_holds_what_came_since_the_last() {
    let registry = registry();
    let mut metrics = Metrics::new(&registry);
    let mut spare = IntervalMetrics::default();
    let mut sum = CustomMetrics::default();
    for second in 0..5u64 {
        // Some are new in their second, some are known from one before.
        let tags = metrics.tags(&[("even", &(second % 2).to_string())]);
        for (name, _) in KINDS {
            // The last second is idle.
            for value in 0..second % 4 {
                metrics.record(id(&registry, name), tags, value as f64, second);
            }
        }
        metrics.take_interval(&mut spare);
        assert_eq!(spare.is_empty(), second % 4 == 0, "{second}");
        let packed = spare.pack();
        assert!(spare.is_empty());
        assert_eq!(packed.is_empty(), second % 4 == 0, "{second}");
        for metric in &packed {
            assert_eq!(metric.value.count(), second, "{}", metric.name);
            assert!(metric.tagged.is_empty());
        }
        sum.merge(&packed);
    }
    for (name, _) in KINDS {
        assert_eq!(only(&sum, name).value, only(&metrics.totals(), name).value, "{name}");
    }
}
