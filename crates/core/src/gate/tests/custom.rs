//! Conditions on custom metrics: every figure on made-up values, and every way to write one wrong.

use std::sync::Arc;

use super::*;
use crate::metric::{CustomMetrics, IntervalMetrics, Kind, Metrics, Registry, TagsId};

const KINDS: [(&str, Kind); 7] = [
    ("items", Kind::Counter),
    ("queue", Kind::Gauge),
    ("ok_rate", Kind::Rate),
    ("balance", Kind::Trend),
    ("checkout_time", Kind::TimeTrend),
    ("unused", Kind::Trend),
    // As scripts of another tester may call theirs.
    ("errors", Kind::Rate),
];

fn registry() -> Arc<Registry> {
    let mut registry = Registry::default();
    for (name, kind) in KINDS {
        registry.declare(name, kind).unwrap();
    }
    Arc::new(registry)
}

/// Ten seconds; in each, a value of every metric with a page: `home` in even ones.
fn recorded() -> (RunResult, Vec<Declared>) {
    let registry = registry();
    let mut metrics = Metrics::new(&registry);
    let mut result = result();
    result.elapsed_ns = 10 * SECOND;
    result.series = crate::series::Series::default();
    let mut spare = IntervalMetrics::default();
    for second in 0..10u64 {
        let page = if second % 2 == 0 { "home" } else { "a@b, {x}" };
        let tags = metrics.tags(&[("page", page), ("second", &second.to_string())]);
        let value = second as f64;
        let values = [
            ("items", 2.0),
            ("queue", value),
            ("ok_rate", f64::from(second != 3)),
            ("balance", value - 5.0),
            ("checkout_time", value * MS as f64),
            ("errors", 0.0),
        ];
        for (name, value) in values {
            metrics.record(registry.find(name).unwrap().0, tags, value, second * SECOND);
        }
        metrics.take_interval(&mut spare);
        result.series.add(&Point { metrics: spare.pack(), ..point(second, 10) });
    }
    result.metrics = metrics.totals();
    (result, registry.declared().to_vec())
}

#[test]
fn every_figure_of_every_kind() {
    let (result, declared) = recorded();
    let maximum = Some("of 5 samples none lies beyond: this is the maximum");
    let cases = [
        ("items==20", Some(20.0), Unit::Number, None),
        ("items.count>=20", Some(20.0), Unit::Number, None),
        ("items.rate>=2", Some(2.0), Unit::Rps, None),
        ("items{page:home}==10", Some(10.0), Unit::Number, None),
        ("queue==9", Some(9.0), Unit::Number, None),
        ("queue.value<1k", Some(9.0), Unit::Number, None),
        ("queue{page:home}.value==8", Some(8.0), Unit::Number, None),
        ("queue.min<=0.0", Some(0.0), Unit::Number, None),
        ("queue.max<9.5", Some(9.0), Unit::Number, None),
        ("ok_rate>0.89", Some(0.9), Unit::Share, None),
        ("ok_rate.rate >= 90%", Some(0.9), Unit::Share, None),
        ("ok_rate{page:home} == 100 %", Some(1.0), Unit::Share, None),
        ("balance.min>-5.5", Some(-5.0), Unit::Number, None),
        ("balance.mean==-0.5", Some(-0.5), Unit::Number, None),
        ("balance.p50<=-1", Some(-1.0), Unit::Number, None),
        ("balance{page:home}.p95<4", Some(3.0), Unit::Number, maximum),
        ("balance.count==10", Some(10.0), Unit::Count, None),
        ("checkout_time.p50<5ms", Some(4001.791), Unit::Us, None),
        ("checkout_time.avg<5ms", Some(4500.0), Unit::Us, None),
        ("checkout_time.max<10ms", Some(9000.0), Unit::Us, None),
        ("checkout_time.p100<10ms", Some(9000.0), Unit::Us, None),
        ("checkout_time.count>9", Some(10.0), Unit::Count, None),
        ("checkout_time{ page : 'home', second:\"4\" }.max<5ms", Some(4000.0), Unit::Us, None),
        ("checkout_time{page:\"a@b, {x}\"}.min<2ms", Some(1000.0), Unit::Us, None),
        ("checkout_time{}.min<2ms", Some(0.0), Unit::Us, None),
        ("checkout_time.max@2s..4s<4ms", Some(3000.0), Unit::Us, None),
        ("items.rate@2s..4s>1", Some(2.0), Unit::Rps, None),
        ("errors{}<1%", Some(0.0), Unit::Share, None),
        // Without braces it is the built-in metric.
        ("errors<=600", Some(600.0), Unit::Count, None),
    ];
    for (text, value, unit, note) in cases {
        let gate = Condition::parse(text, &declared).unwrap_or_else(|e| panic!("{e}"));
        let gate = gate.judge(&result);
        assert_eq!((gate.value, gate.unit, gate.note.as_deref()), (value, unit, note), "{text}");
        assert!(gate.pass, "{text}");
        assert_eq!(judge(&[text.to_owned()], &result).unwrap(), [gate], "from the result alone");
    }
}

/// A limit that passes for lack of values protects nothing.
#[test]
fn without_a_value_a_condition_fails() {
    let (mut result, declared) = recorded();
    let judged = |text: &str, result: &RunResult| {
        let gate = Condition::parse(text, &declared).unwrap().judge(result);
        assert_eq!((gate.pass, gate.value), (false, None), "{text}");
        gate.note.unwrap_or_default()
    };
    let nothing = "no value was recorded";
    for text in ["unused.p95<1", "unused.count==0", "unused.max@0s..9s<1"] {
        assert_eq!(judged(text, &result), nothing, "{text}");
    }
    let with_tags = "no value was recorded with these tags";
    assert_eq!(judged("items{page:cart}<1k", &result), with_tags);
    let nothing_kept = judged("items@20s..30s<1k", &result);
    assert!(nothing_kept.contains("nothing was kept"), "{nothing_kept}");

    // Some of what has tags is not told apart: the limit might not be met.
    result.metrics.fold(1);
    let folded = judged("items{page:home}<1k", &result);
    assert!(folded.contains("had tags beyond those that are told apart"), "{folded}");

    let mut registry = Registry::default();
    let id = registry.declare("items", Kind::Gauge).unwrap();
    let mut metrics = Metrics::new(&Arc::new(registry));
    metrics.record(id, TagsId::NONE, 1.0, 0);
    result.metrics.merge(&metrics.totals());
    let conflict = judged("items<1k", &result);
    assert_eq!(conflict, "metric 'items' was recorded as a counter and as a gauge");

    result.metrics = CustomMetrics::default();
    assert_eq!(judged("items<1k", &result), nothing);
}

#[test]
fn what_cannot_be_read_is_one_clear_line() {
    let (_, declared) = recorded();
    let cases = [
        ("chekout_time.p95<1s", "no metric 'chekout_time': did you mean 'checkout_time'?"),
        ("chekout_time{a:b}.p95<1s", "did you mean 'checkout_time'?"),
        ("checkout_time<1s", "'checkout_time' is not a figure of a trend of times: write"),
        ("checkout_time.stdev<1s", "is not a figure of a trend of times"),
        ("checkout_time.p0<1s", "is not a figure of a trend of times"),
        ("checkout_time.p95<1000", "duration"),
        ("items.p95<3", "'items.p95' is not a figure of a counter: write items.count or"),
        ("queue.rate<3", "is not a figure of a gauge"),
        ("ok_rate.count<3", "is not a figure of a rate"),
        ("ok_rate<x", "'x' is not a share of the values"),
        ("balance.p95<inf", "'inf' is not a number"),
        ("items.rate<10k/m", "is not a number for each second"),
        ("items{page}<3", "'page' is not a tag: write KEY:VALUE"),
        ("items{page:home<3", "has no closing brace"),
        ("items{page:home}x<3", "is not NAME{KEY:VALUE}.FIGURE"),
        ("p99{page:home}<3s", "no metric 'p99' that has tags"),
        ("items@endpoint:x<3", "values of 'items' belong to no endpoint, address or stage"),
        ("items@stage:1<3", "belong to no endpoint, address or stage"),
        ("items{page:home}@1s..2s<3", "tags are known of the whole run only"),
        ("items@last:10s<3", "@last is for --abort-when"),
    ];
    for (text, problem) in cases {
        let error = Condition::parse(text, &declared).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let error = Condition::parse_abort("items{page:home}<3", &declared).unwrap_err().to_string();
    assert!(error.contains("tags are known of the whole run only"), "{error}");
    // Where nothing is declared, nothing but built-in metrics has a name.
    for text in ["checkout_time.p95<1s", "items{}<3", "items{page:home}<3"] {
        let error = Condition::parse(text, &[]).unwrap_err().to_string();
        assert!(error.contains("no metric '"), "{error}");
    }
}

#[test]
fn the_conditions_of_a_plan_are_read_with_what_is_declared() {
    let (_, declared) = recorded();
    let draft = Draft {
        gates: vec!["checkout_time.p95<300ms".to_owned()],
        abort_when: vec!["ok_rate@last:5s<50%".to_owned()],
        requests: Some(1),
        ..Draft::new(Endpoint::http("127.0.0.1", 80, "/"))
    };
    let plan = draft.clone().check_declared(&declared).expect("both are declared");
    assert_eq!(plan.abort_conditions().len(), 1);
    let error = draft.check().expect_err("nothing is declared").to_string();
    assert!(error.contains("no metric 'checkout_time.p95'"), "{error}");
}

/// Watched like any other, on what the intervals hold.
#[test]
fn they_can_end_a_run() {
    let (result, declared) = recorded();
    let cases = [
        ("checkout_time.p50>2.5ms", Some(6)),
        ("checkout_time.max@last:2s>=8ms", Some(8)),
        ("ok_rate<100%", Some(3)),
        ("ok_rate@last:2s<60% FOR 2s", Some(4)),
        ("queue>=7", Some(7)),
        ("items>=20", Some(9)),
        ("items.rate>2", None),
        ("unused.count<1", None),
    ];
    for (text, second) in cases {
        let condition = Condition::parse_abort(text, &declared).unwrap();
        let mut watch = AbortWatch::new(std::slice::from_ref(&condition), &result.plan);
        let mut points = result.series.points().iter();
        let held = points.position(|point| watch.add(point) == Some(&condition));
        assert_eq!(held, second, "{text}");
    }
}
