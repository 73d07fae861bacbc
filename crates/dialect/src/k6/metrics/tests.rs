//! Names, selections, figures, and where samples count.

use plimsoll_core::metric::NumberHistogram;

use super::*;

fn tags(pairs: &[(&str, &str)]) -> TagSet {
    TagSet::of(pairs.iter().copied())
}

#[test]
fn names_are_of_one_type() {
    let mut registry = Registry::default();
    let mut declare = |name: &str, kind, contains| registry.declare(name, kind, contains);
    let first = declare("mine", Kind::Trend, Contains::Time).expect("a metric");
    assert_eq!(declare("mine", Kind::Trend, Contains::Time), Ok(first));
    for (name, kind, contains, want) in [
        (
            "mine",
            Kind::Trend,
            Contains::Default,
            "metric 'mine' is a trend of time values: give another name",
        ),
        (
            "http_reqs",
            Kind::Gauge,
            Contains::Default,
            "metric 'http_reqs' is a counter of default values: give another name",
        ),
        ("n", Kind::Rate, Contains::Default, "'n' is not a name for a metric: give a letter or _,"),
        ("1a", Kind::Rate, Contains::Default, "'1a' is not a name"),
        ("a-b", Kind::Rate, Contains::Default, "'a-b' is not a name"),
        ("ä_", Kind::Rate, Contains::Default, "'ä_' is not a name"),
        (&"a".repeat(130), Kind::Rate, Contains::Default, "'aaaaaaaa"),
    ] {
        let error = declare(name, kind, contains).expect_err(want).to_string();
        assert!(error.starts_with(want), "{error}");
    }
    assert!(declare(&"a".repeat(129), Kind::Rate, Contains::Default).is_ok());
}

#[test]
fn selections_are_read() {
    let mut registry = Registry::default();
    for (text, name, want) in [
        ("iterations{a:b}", "iterations{a:b}", &[("a", "b")][..]),
        ("http_reqs{ scenario : one }", "http_reqs{scenario : one}", &[("scenario", "one")]),
        ("vus{a:b:c}", "vus{a:b:c}", &[("a", "b:c")]),
        ("vus{a:b,a:c}", "vus{a:b,a:c}", &[("a", "c")]),
        ("vus{name:http://${}.com}", "vus{name:http://${}.com}", &[("name", "http://${}.com")]),
        (r#"vus{y:"a b", x : '1'}"#, r#"vus{y:"a b", x : '1'}"#, &[("x", "1"), ("y", "a b")]),
    ] {
        let id = registry.select(text).expect(text);
        assert_eq!(registry.get(id).name, name);
        let part = registry.get(id).part.clone().expect("a part");
        assert_eq!(part.tags, tags(want), "{text}");
        assert_eq!(registry.select(text), Ok(id), "once");
    }
    let vus = registry.find("vus").expect("built in");
    assert_eq!(registry.select("vus"), Ok(vus));
    assert_eq!(registry.get(vus).parts.len(), 4);
    for (text, want) in [
        ("nope", "there is no metric 'nope': name one of k6's or of the script's"),
        ("vus{", "'vus{' is not a metric with tags: write metric{tag:value}"),
        ("vus{}", "'vus{}' is not a metric with tags"),
        ("vus{a}", "'vus{a}' is not a metric with tags"),
        ("vus{a:b", "'vus{a:b' is not a metric with tags"),
        ("vus{a:b}x", "'vus{a:b}x' is not a metric with tags"),
        ("vus}a:b", "'vus}a:b' is not a metric with tags"),
        ("vus{a:}", "'vus{a:}' is not a metric with tags"),
        ("vus{:b}", "'vus{:b}' is not a metric with tags"),
    ] {
        let error = registry.select(text).expect_err(text).to_string();
        assert!(error.starts_with(want), "{error}");
    }
    let text = r#"vus{y:"a b", x : '1'}"#;
    for at in 0..text.len() {
        let _ = (registry.select(&text[..at]), registry.select(&text[at..]));
    }
}

#[test]
fn there_are_only_so_many_metrics() {
    let mut registry = Registry::default();
    for number in BUILT_IN.len()..METRICS_MAX {
        registry.declare(&format!("m{number}"), Kind::Rate, Contains::Default).expect("room");
    }
    let error = registry.declare("more", Kind::Rate, Contains::Default).expect_err("no room");
    assert_eq!(error, MetricError::TooMany("more".to_owned()));
    assert!(registry.select("vus{a:b}").is_err());
}

#[test]
fn later_tags_replace_earlier_ones() {
    let set = tags(&[("b", "1"), ("a", "2"), ("b", "3")]);
    assert_eq!(set.iter().collect::<Vec<_>>(), [("a", "2"), ("b", "3")]);
    assert_eq!((set.get("b"), set.get("c")), (Some("3"), None));
    assert!(set.contains(&tags(&[("a", "2")])) && !set.contains(&tags(&[("a", "3")])));
    assert!(set.contains(&TagSet::default()) && TagSet::default().is_empty());
    let long = "ü".repeat(TAG_BYTES_MAX);
    assert_eq!(tags(&[("a", &long)]).get("a").map(str::len), Some(TAG_BYTES_MAX));
}

#[test]
fn system_tags_have_an_order() {
    let names: Vec<&str> = SystemTags::default().iter().map(SystemTag::name).collect();
    assert_eq!(
        names,
        [
            "check",
            "error",
            "error_code",
            "expected_response",
            "group",
            "method",
            "name",
            "proto",
            "scenario",
            "service",
            "status",
            "subproto",
            "tls_version",
            "url",
        ]
    );
    let own = SystemTags::of(&["vu".to_owned(), "ip".to_owned(), "nope".to_owned(), String::new()]);
    assert_eq!(own.iter().collect::<Vec<_>>(), [SystemTag::Ip, SystemTag::Vu]);
    assert_eq!(own.unknown, ["nope"]);
    assert!(SystemTag::Vu.is_metadata() && !SystemTag::Ip.is_metadata());
}

fn figures(values: &[f64], names: &[&str]) -> Vec<f64> {
    let mut trend = Trend::default();
    values.iter().for_each(|value| trend.add(*value));
    let stats: Vec<TrendStat> = names.iter().filter_map(|name| TrendStat::parse(name)).collect();
    assert_eq!(stats.len(), names.len());
    trend.figures(&stats)
}

#[test]
fn percentiles_are_interpolated() {
    for (values, name, want) in [
        (&[1.0, 2.0, 3.0, 4.0][..], "med", 2.5),
        (&[4.0, 1.0, 3.0, 2.0], "p(25)", 1.75),
        (&[10.0, 20.0], "p(90)", 19.0),
        (&[10.0, 20.0], "p(0)", 10.0),
        (&[10.0, 20.0], "p(100)", 20.0),
        (&[7.0], "p(99.99)", 7.0),
        (&[-5.0, 5.0], "avg", 0.0),
        (&[-5.0, 5.0], "min", -5.0),
        (&[-5.0, -7.0], "max", -5.0),
        (&[1.0, 1.0], "count", 2.0),
        (&[], "p(95)", 0.0),
        (&[], "min", 0.0),
    ] {
        assert_eq!(figures(values, &[name]), [want], "{name} of {values:?}");
    }
    for text in ["p95", "p(x)", "p(101)", "p(-1)", "p()", "p(1e1)", "AVG", ""] {
        assert_eq!(TrendStat::parse(text), None, "{text:?}");
    }
}

#[test]
fn many_values_go_into_a_histogram() {
    let mut exact = Trend::default();
    let mut trend = Trend::default();
    for number in 0..RAW_VALUES_MAX {
        exact.add(number as f64 / 8.0);
    }
    assert!(exact.is_exact());
    for part in [&exact, &exact] {
        trend.merge(part);
    }
    assert!(!trend.is_exact());
    assert_eq!(trend.count(), 2 * RAW_VALUES_MAX as u64);
    let names = ["avg", "min", "max", "med", "p(99)"];
    let stats: Vec<TrendStat> = names.iter().filter_map(|name| TrendStat::parse(name)).collect();
    let (want, got) = (exact.figures(&stats), trend.figures(&stats));
    assert_eq!((got[0], got[1], got[2]), (want[0], want[1], want[2]));
    for (got, want) in got.iter().zip(&want).skip(3) {
        assert!((got - want).abs() <= want * 0.001, "{got} and {want}");
    }
    let mut both = trend.clone();
    both.merge(&trend);
    assert_eq!(both.count(), 4 * RAW_VALUES_MAX as u64);
    for value in [f64::INFINITY, f64::NEG_INFINITY, 1e308, -5.0] {
        let mut one = Trend::default();
        one.add(value);
        assert_eq!(one.figures(&stats), [value; 5]);
        trend.add(value);
    }
    assert_eq!(trend.figures(&stats)[1], f64::NEG_INFINITY);
    assert!(trend.figures(&stats)[3].is_finite());
    assert_eq!(NumberHistogram::default().count(), 0);
}

#[test]
fn sinks_keep_what_their_type_needs() {
    let sink = |kind, values: &[f64]| {
        let mut sink = Sink::new(kind);
        values.iter().for_each(|value| sink.add(*value));
        sink
    };
    for kind in [Kind::Counter, Kind::Gauge, Kind::Rate, Kind::Trend] {
        let whole = sink(kind, &[3.0, 0.0, 1.0, 2.0]);
        let mut merged = sink(kind, &[3.0, 0.0]);
        merged.merge(&sink(kind, &[1.0, 2.0]));
        merged.merge(&sink(kind, &[]));
        merged.merge(&sink(if kind == Kind::Rate { Kind::Gauge } else { Kind::Rate }, &[1.0]));
        assert_eq!(merged.count(), 4);
        match (merged, whole) {
            (Sink::Counter(a), Sink::Counter(b)) => assert_eq!((a, a.sum), (b, 6.0)),
            (Sink::Gauge(a), Sink::Gauge(b)) => {
                assert_eq!((a, a.value, a.min, a.max), (b, 2.0, 0.0, 3.0));
            }
            (Sink::Rate(a), Sink::Rate(b)) => assert_eq!((a, a.share()), (b, 0.75)),
            (Sink::Trend(a), Sink::Trend(b)) => {
                let all = TrendStat::defaults();
                assert_eq!(a.figures(&all), b.figures(&all));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn samples_count_once_in_each_block() {
    let mut registry = Registry::default();
    let part = registry.select("http_reqs{scenario:one}").expect("a part");
    let (reqs, checks) = (registry.find("http_reqs"), registry.find("checks"));
    let (reqs, checks) = (reqs.expect("built in"), checks.expect("built in"));
    let mut books: Vec<Book> = (0..2).map(|_| Book::new(registry.clone(), true)).collect();
    for (book, passes) in books.iter_mut().zip([1.0, 0.0]) {
        for scenario in ["default", "one"] {
            let tags = tags(&[("group", "::a::b"), ("scenario", scenario)]);
            let route = book.route(reqs, &tags).expect("room");
            book.add(route, 1.0);
            book.add(route, f64::NAN);
            assert_eq!(book.route(reqs, &tags), Some(route));
            let check = [("check", "ok"), ("group", "::a::b"), ("scenario", scenario)];
            book.record(checks, &TagSet::of(check), passes);
        }
    }
    let (mut all, later) = (books.remove(0), books.remove(0));
    all.merge(&later);
    let sum = |id| match all.sink(id) {
        Some(Sink::Counter(counter)) => counter.sum,
        other => panic!("{other:?}"),
    };
    assert_eq!((sum(reqs), sum(part), all.without_detail()), (4.0, 2.0, 0));
    let check = |block: &Block| {
        let checks = block.checks.iter().map(|id| all.check(*id));
        checks.map(|check| (check.passes, check.fails)).collect::<Vec<_>>()
    };
    let inner = |block: &Block| {
        let outer = all.block(block.groups[0].1);
        all.block(outer.groups[0].1).clone()
    };
    let (_, one) = all.scenarios()[0];
    assert_eq!(check(all.block(WHOLE)), [(2, 2)]);
    assert_eq!(check(&inner(all.block(TREE))), [(2, 2)]);
    assert_eq!(check(&inner(all.block(WHOLE))), [(1, 1)], "the default scenario's alone");
    assert_eq!(check(all.block(one)), [(1, 1)]);
    assert_eq!(check(&inner(all.block(one))), [(1, 1)]);
}

#[test]
fn groups_have_paths() {
    let outer = group_path("", "a b").expect("a name");
    assert_eq!(outer, "::a b");
    assert_eq!(group_path(&outer, "c").as_deref(), Some("::a b::c"));
    assert_eq!(group_path("", "a::b"), None);
}

#[test]
fn too_much_detail_still_counts_in_the_whole() {
    let registry = Registry::default();
    let reqs = registry.find("http_reqs").expect("built in");
    let mut book = Book::new(registry, true);
    for number in 0..ROUTES_MAX + 10 {
        let url = number.to_string();
        book.record(reqs, &tags(&[("url", &url)]), 1.0);
    }
    let groups = BLOCKS_MAX + 10;
    let mut grouped = Book::new(Registry::default(), true);
    for number in 0..groups {
        grouped.record(reqs, &tags(&[("group", &format!("::{number}"))]), 1.0);
    }
    for (book, count) in [(&book, ROUTES_MAX + 10), (&grouped, groups)] {
        let Some(Sink::Counter(counter)) = book.sink(reqs) else { panic!("a counter") };
        assert_eq!(counter.sum, count as f64);
    }
    assert_eq!(book.without_detail(), 10);
    assert!(grouped.without_detail() > 10, "{}", grouped.without_detail());
}

#[test]
fn what_was_taken_is_counted_once() {
    let mut registry = Registry::default();
    let checks = registry.find("checks").expect("built in");
    let requests = registry.select("http_reqs{scenario:a}").expect("a part");
    let mut book = Book::new(registry.clone(), true);
    let mut whole = Book::new(registry.clone(), true);
    let set = tags(&[("check", "is it"), ("group", "::g"), ("scenario", "a")]);
    let route = book.route(checks, &set).expect("room");
    let of = registry.find("http_reqs").expect("built in");
    for value in [1.0, 0.0, 1.0] {
        book.add(route, value);
        book.record(of, &set, 2.0);
        whole.merge(&book.take());
    }
    whole.merge(&book.take());
    let rate = Sink::Rate(Rate { trues: 2, total: 3 });
    let sum = Sink::Counter(Counter { adds: 3, sum: 6.0 });
    assert_eq!(format!("{:?}", whole.sink(checks)), format!("{:?}", Some(&rate)));
    assert_eq!(format!("{:?}", whole.sink(requests)), format!("{:?}", Some(&sum)));
    let group = whole.block(TREE).groups.first().expect("a group").1;
    let check = whole.check(whole.block(group).checks[0]);
    assert_eq!((check.passes, check.fails), (2, 1));
    assert_eq!(book.sink(checks).map(Sink::count), Some(0));
}

#[test]
fn a_submetric_of_expected_responses_is_there_once() {
    for (text, count) in [
        ("http_req_duration{expected_response: true}", 1),
        ("http_req_duration{expected_response:false}", 2),
        ("http_req_waiting{expected_response:true}", 1),
    ] {
        let mut registry = Registry::default();
        registry.select(text).expect(text);
        registry.select_expected(&SystemTags::default()).expect("room");
        let durations = registry.find("http_req_duration").expect("built in");
        assert_eq!(registry.get(durations).parts.len(), count, "{text}");
    }
}

#[test]
fn figures_with_lower_bounds_among_their_values_have_a_greatest_value() {
    let mut sink = Sink::new(Kind::Trend);
    (1..=80).for_each(|value| sink.add(f64::from(value)));
    let mut later = Sink::new(Kind::Trend);
    (81..=100).for_each(|value| later.add_bound(f64::from(value)));
    let exact = sink.clone();
    sink.merge(&later);
    let stat = |text| TrendStat::parse(text).expect("a statistic");
    let most = |sink: &Sink, text| match sink {
        Sink::Trend(trend) => trend.most(&stat(text)),
        other => panic!("{other:?}"),
    };
    for (text, of_exact, of_bounds) in [
        ("max", 80.0, f64::INFINITY),
        ("avg", 40.5, f64::INFINITY),
        ("p(95)", 76.05, f64::INFINITY),
        ("p(100)", 80.0, f64::INFINITY),
        // A fifth of them may be anything, and would rank above all others.
        ("med", 40.5, 70.3),
        ("min", 1.0, 1.0),
        ("count", 80.0, 100.0),
    ] {
        assert!((most(&exact, text) - of_exact).abs() < 1e-9, "{text}: {}", most(&exact, text));
        let found = most(&sink, text);
        assert!(found == of_bounds || (found - of_bounds).abs() < 1e-9, "{text}: {found}");
    }
}
