//! What is read, what stays unsaid, and what is refused.

use plimsoll_core::foreign::{ForeignResult, Interpolated, TimesOf};
use serde_json::{Value, json};

use super::{HTTP, TCP};
use crate::fortio::{Said, foreign, is_result};

fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn read(document: &Value) -> ForeignResult {
    assert!(is_result(document));
    foreign(&Said::read(document).expect("a result"))
}

fn refused(document: &Value) -> String {
    Said::read(document).expect_err("no result").to_string()
}

/// The shape of Nighthawk's files: no minimum, no counts of failures, counts as strings.
fn nighthawk() -> Value {
    json!({
        "Labels": "Nighthawk",
        "RequestedQPS": 12,
        "RequestedDuration": "5s",
        "ActualQPS": 12.0,
        "ActualDuration": 5_000_000_000_u64,
        "NumThreads": 12,
        "StartTime": "2019-10-16T00:30:12Z",
        "DurationHistogram": {
            "Count": "48",
            "Data": [
                {"Start": 0.05, "End": 0.05, "Percent": 0, "Count": "1"},
                {"Start": 0.05, "End": 0.06, "Percent": 50, "Count": "23"},
                {"Start": 0.06, "End": 0.07, "Percent": 90, "Count": "20"},
                {"Start": 0.07, "End": 0.07, "Percent": 92, "Count": "0"},
                {"Start": 0.07, "End": 0.08, "Percent": 100, "Count": "4"},
            ],
        },
        "RetCodes": {"200": "50"},
        "URL": "http://127.0.0.1:10000/",
    })
}

#[test]
fn a_run_over_http_is_read() {
    let result = read(&document(HTTP));
    assert_eq!(result.read_as, "a result of fortio dev (HTTP)");
    assert_eq!(result.tester, "fortio dev");
    assert_eq!(result.load, ["100/s", "for 1s", "2 threads"]);
    assert_eq!(result.started_at.as_deref(), Some("2026-11-22T07:07:18.408442713Z"));
    assert_eq!((result.is_paced, result.target_rps), (Some(true), Some(100.0)));
    assert_eq!((&result.failure, result.notes.len()), (&None, 0));
    let figures = &result.figures;
    let counts = (figures.completed, figures.failed, figures.errors);
    assert_eq!(counts, (Some(100), Some(2), Some(0)));
    assert_eq!(figures.rate_rps, Some(99.781_648_417_457_97));
    assert_eq!(figures.duration_s, Some(1.002_188_294));
    assert_eq!((figures.mean_s, figures.max_s), (None, None), "no response times");
    assert!(figures.latency.is_empty());
    assert_eq!(figures.service_s(0.99), Some(0.005_515_675_333_333_333));
    assert_eq!(figures.service_s(0.999), None, "no sample lies beyond");
    assert_eq!(result.times.mean_s, Some(0.000_910_210_730_000_000_1));
    let fact = |name: &str| result.facts.get(name).map(String::as_str);
    for (name, want) in [
        ("connections", Some("2")),
        ("requests", Some("none")),
        ("rate", Some("100/s")),
        ("endpoint.path", Some("/echo?delay=250us:30,5ms:5&status=503:2")),
        ("Jitter", Some("false")),
        ("Resolution", Some("0.001")),
        ("UserCredentials", None),
        ("Payload", None),
    ] {
        assert_eq!(fact(name), want, "{name}");
    }
}

#[test]
fn a_run_over_tcp_is_read() {
    let result = read(&document(TCP));
    assert_eq!(result.read_as, "a result of fortio dev (TCP)");
    assert_eq!(result.load, ["as fast as possible", "exactly 10 calls", "2 threads"]);
    assert_eq!((result.is_paced, result.target_rps), (Some(false), None));
    assert_eq!(result.target.as_deref(), Some("tcp://127.0.0.1:18078"));
    assert_eq!(result.outcomes, [("OK".to_owned(), 10)]);
    assert_eq!(result.figures.errors, Some(0));
}

/// The percentiles that fortio wrote are those that its buckets give, to the last digit.
#[test]
fn percentiles_are_interpolated_as_fortio_does() {
    for text in [HTTP, TCP] {
        let mut document = document(text);
        let said = read(&document).times.quantiles;
        let fields = document["DurationHistogram"].as_object_mut().expect("an object");
        fields.remove("Percentiles");
        let own = read(&document).times.quantiles;
        let mut shared = 0;
        for one in own.iter().filter(|it| !it.is_said) {
            for other in said.iter().filter(|it| it.is_said && it.q == one.q) {
                assert_eq!((one.s, one.bucket_s), (other.s, other.bucket_s), "{}", one.q);
                shared += 1;
            }
        }
        assert!(shared >= 3, "{shared}");
    }
    let said = read(&document(HTTP)).times;
    let p95 = said.quantile(0.95).copied();
    let (s, bucket_s) = (0.0025, Some((0.002, 0.003)));
    assert_eq!(p95, Some(Interpolated { q: 0.95, s, bucket_s, is_said: false }));
}

#[test]
fn other_writers_leave_more_unsaid() {
    let result = read(&nighthawk());
    let read_as = "a result in fortio's format with counts as strings, as Nighthawk's";
    assert_eq!(result.read_as, read_as);
    assert_eq!(result.tester, "a writer of fortio's format");
    let figures = &result.figures;
    let counts = (figures.completed, figures.failed, figures.errors, figures.rate_rps);
    assert_eq!(counts, (None, None, None, None));
    assert_eq!((figures.good_rps, figures.error_share()), (Some(10.0), None));
    assert_eq!((result.times.min_s, result.times.max_s), (Some(0.05), Some(0.08)));
    assert_eq!((result.times.mean_s, result.times.stdev_s), (None, None));
    assert_eq!(result.times.count, Some(48));
    assert_eq!(result.times.quantile(0.5).map(|it| it.s), Some(0.06));
    assert_eq!(result.notes, ["it counts good responses alone: failed ones stay unsaid"]);
}

#[test]
fn fractions_are_told_from_percents_by_the_buckets() {
    for (written, q, s) in [
        (
            json!([{"Percentile": 0.5, "Value": 0.06}, {"Percentile": 0.9, "Value": 0.07}]),
            0.9,
            0.07,
        ),
        (json!([{"Percentile": 50, "Value": 0.06}, {"Percentile": 90, "Value": 0.07}]), 0.9, 0.07),
        (json!([{"Percentile": 0.5, "Value": 0.05}]), 0.005, 0.05),
    ] {
        let mut document = nighthawk();
        document["DurationHistogram"]["Percentiles"] = written.clone();
        let quantile = read(&document).times.quantile(q).copied();
        let found = quantile.map(|it| (it.s, it.is_said));
        assert_eq!(found, Some((s, true)), "{written}");
    }
}

#[test]
fn numbers_may_be_strings_and_figures_may_be_missing() {
    let mut document = nighthawk();
    document["RequestedQPS"] = json!("12");
    document["DurationHistogram"]["Avg"] = json!("NaN");
    document["ActualDuration"] = json!("5");
    document["DurationHistogram"]["Min"] = Value::Null;
    let result = read(&document);
    assert_eq!((result.target_rps, result.times.mean_s), (Some(12.0), None));
    assert_eq!(result.figures.duration_s, None);
    assert_eq!(result.figures.good_rps, None, "without a duration there is no rate");
    assert_eq!(result.notes[0], "its ActualDuration is shorter than a single call: left out");
    let bare = read(&json!({"DurationHistogram": {}}));
    assert_eq!((bare.times.count, bare.figures.completed), (None, None));
    assert_eq!(bare.is_paced, None);
    assert!(bare.load.is_empty() && bare.times.quantiles.is_empty());
}

#[test]
fn calls_are_good_by_fortios_rule() {
    for (kind, codes, want) in [
        ("HTTP", json!({"-1": 2, "200": 3, "404": 1}), (Some(4), Some(1), Some(2))),
        ("HTTP", json!({"200": 3, "301": 1, "418": 2}), (Some(6), Some(1), Some(0))),
        ("HTTP", json!({"-1": 2}), (Some(0), Some(0), Some(2))),
        ("GRPC Ping", json!({"ERROR": 1, "SERVING": 9}), (Some(10), Some(1), None)),
        ("TCP", json!({"OK": 9, "short read": 1}), (Some(9), Some(0), Some(1))),
        ("HTTP", json!({}), (None, None, None)),
    ] {
        let mut document = document(HTTP);
        document["RunType"] = json!(kind);
        document["RetCodes"] = codes.clone();
        let figures = read(&document).figures;
        assert_eq!((figures.completed, figures.failed, figures.errors), want, "{codes}");
    }
}

#[test]
fn runs_that_were_cut_short_are_named() {
    for (asked, took_ns, want) in [
        ("1s", 1_002_000_000_u64, None),
        ("1s", 950_000_000, None),
        ("5s", 400_000_000, Some("ended after 400ms of 5s")),
        ("exactly 10 calls", 1_000_000, None),
        (
            "exactly 10 calls, interrupted after 4",
            1_000_000_000,
            Some("exactly 10 calls, interrupted after 4"),
        ),
        ("until stop", 1_000_000_000, None),
    ] {
        let mut document = document(HTTP);
        document["RequestedDuration"] = json!(asked);
        document["ActualDuration"] = json!(took_ns);
        // A call may not have taken longer than the run.
        document["DurationHistogram"] = json!({});
        assert_eq!(read(&document).failure.as_deref(), want, "{asked}");
    }
}

/// What `plimsoll fortio` adds to fortio's results, and the histograms that have calls.
#[test]
fn what_plimsoll_adds_is_read_as_well() {
    let mut document = document(HTTP);
    let of =
        |result: &ForeignResult| result.distributions.iter().map(|it| it.of).collect::<Vec<_>>();
    let plain = read(&document);
    assert!(!plain.notes.iter().any(|note| note.contains("verdict")), "{:?}", plain.notes);
    document["CorrectedDurationHistogram"] = document["DurationHistogram"].clone();
    document["Verdict"] = json!("suspect");
    document["VerdictCauses"] = json!(["lateness", "cpu"]);
    let result = read(&document);
    let want = "Plimsoll's verdict: suspect (lateness, cpu)".to_owned();
    assert!(result.notes.contains(&want), "{:?}", result.notes);
    assert_eq!(of(&result), [&[TimesOf::Calls, TimesOf::DueCalls], &of(&plain)[1..]].concat());
    let due = &result.distributions[1].buckets;
    assert_eq!((due, due.iter().all(|it| it.count > 0)), (&plain.distributions[0].buckets, true));
    document["VerdictCauses"] = json!("cpu");
    assert_eq!(refused(&document), "VerdictCauses of fortio's result is not a list");
}

#[test]
fn secrets_are_masked() {
    let mut document = document(HTTP);
    document["URL"] = json!("http://me:word@h:1/a?token=abc&b=1");
    document["Labels"] = json!("h:1/a?token=abc , vm");
    let result = read(&document);
    let shown = format!("{result:?}");
    assert!(!shown.contains("abc") && !shown.contains("word@"), "{shown}");
    assert!(result.target.is_some_and(|url| url.contains("b=1")));
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    for (pointer, value, want) in [
        ("/ActualQPS", json!("fast"), "ActualQPS of fortio's result is not a number"),
        ("/ActualQPS", json!(-1), "ActualQPS of fortio's result is -1, and less than 0 cannot be"),
        ("/Labels", json!(7), "Labels of fortio's result is not a text"),
        ("/NumThreads", json!(1.5), "NumThreads of fortio's result is not a whole number"),
        ("/DurationHistogram", json!([]), "DurationHistogram of fortio's result is not an object"),
        (
            "/DurationHistogram/Count",
            json!(99),
            "DurationHistogram.Count of fortio's result is 99, but its Data add up to 100",
        ),
        (
            "/DurationHistogram/Data/1/Start",
            json!(0.01),
            "DurationHistogram.Data[1].End of fortio's result is 0.002, and Start is 0.01",
        ),
        (
            "/DurationHistogram/Data/0/End",
            json!(0.0015),
            "DurationHistogram.Data of fortio's result is not in ascending order",
        ),
        (
            "/DurationHistogram/Data/0/Count",
            Value::Null,
            "DurationHistogram.Data[0].Count of fortio's result is missing",
        ),
        (
            "/DurationHistogram/Percentiles/0/Percentile",
            json!(101),
            "DurationHistogram.Percentiles[0].Percentile of fortio's result is 101, and more than \
             100 cannot be",
        ),
        (
            "/RetCodes/200",
            json!("many"),
            "RetCodes[\"200\"] of fortio's result is not a whole number",
        ),
    ] {
        let mut document = document(HTTP);
        *document.pointer_mut(pointer).expect(pointer) = value;
        assert_eq!(refused(&document), want);
    }
    let failed = json!({
        "DurationHistogram": {}, "error": true, "message": "warmup error", "exception": "no\nway",
    });
    let want = "a run of fortio that did not take place: warmup error: no way";
    assert_eq!(refused(&failed), want);
    let mut long = document(HTTP);
    long["DurationHistogram"]["Data"] =
        json!(vec![json!({"Start": 0, "End": 1, "Count": 0}); 10_001]);
    let want = "DurationHistogram.Data of fortio's result is a list of 10001 rows: 10000 at most";
    assert_eq!(refused(&long), want);
}

/// Every value of a file replaced by others of all types: a reader ends with a result or a line.
#[test]
fn no_value_makes_it_panic() {
    fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
        found.push(at.to_owned());
        let step = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(key, value)| pointers(value, &step(key), found));
            }
            Value::Array(rows) => {
                let rows = rows.iter().enumerate();
                rows.for_each(|(index, row)| pointers(row, &step(&index.to_string()), found));
            }
            _ => {}
        }
    }
    let whole = document(HTTP);
    let mut found = Vec::new();
    pointers(&whole, "", &mut found);
    let others = [
        json!(null),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(1e308),
        json!(5e-324),
        json!(true),
        json!("NaN"),
        json!(""),
        json!("\u{0}é"),
        json!([]),
        json!({}),
        json!([{}]),
    ];
    for pointer in &found {
        for other in &others {
            let mut document = whole.clone();
            *document.pointer_mut(pointer).expect(pointer) = other.clone();
            if let Err(error) = Said::read(&document).map(|said| foreign(&said)) {
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
}
