//! Texts and documents of a run of k6 itself, against what k6 made of the same samples.

use serde_json::{Value, json};

use super::*;
use crate::k6::metrics::Registry;
use crate::k6::options::OptionValue as _;
use crate::k6::replay::Run;

fn shown(mode: Mode) -> String {
    text(&Run::recorded().summary(), Look { mode, ..Look::default() })
}

#[test]
fn a_full_summary_is_k6s_to_the_byte() {
    let (ours, theirs) = (shown(Mode::Full), include_str!("../fixtures/full.txt"));
    for (at, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", at + 1);
    }
    assert_eq!(ours, theirs);
}

#[test]
fn the_export_is_k6s() {
    let setup_data = json!({ "a": 1, "b": [1, 2] });
    let of = ScriptData { setup_data: Some(&setup_data), ..ScriptData::default() };
    let ours = export(&script_data(&Run::recorded().summary(), of));
    let ours: Value = serde_json::from_str(&ours).expect("JSON");
    let theirs: Value =
        serde_json::from_str(include_str!("../fixtures/export.json")).expect("JSON");
    for (name, metric) in theirs["metrics"].as_object().expect("metrics") {
        assert_eq!(&ours["metrics"][name], metric, "{name}");
    }
    assert_eq!(ours, theirs);
}

/// What differs from a full one, and what a terminal gets, as k6 printed it for other samples.
#[test]
fn a_compact_summary_leaves_phases_and_parts_out() {
    let (full, compact) = (shown(Mode::Full), shown(Mode::Compact));
    for text in ["http_req_waiting", "GROUP: outer", "SCENARIO: late"] {
        assert!(full.contains(text) && !compact.contains(text), "{text}");
    }
    let end = full.find("  █ GROUP:").expect("groups");
    let is_phase = |line: &&str| PHASES.iter().any(|name| line.trim_start().starts_with(name));
    let kept: Vec<&str> = full[..end].lines().filter(|line| !is_phase(line)).collect();
    // Columns may be narrower without the longest values.
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let ours = compact.trim_end().lines().map(words);
    let theirs = kept.join("\n");
    assert!(ours.eq(theirs.trim_end().lines().map(words)));
    assert_eq!(
        text(&Run::recorded().summary(), Look { mode: Mode::Disabled, ..Look::default() }),
        ""
    );
}

#[test]
fn colors_change_nothing_else() {
    let summary = Run::recorded().summary();
    let look = Look { mode: Mode::Full, has_colors: true, time_unit: None };
    let colored = text(&summary, look);
    for line in [
        "  █ \x1b[1mTHRESHOLDS\x1b[0m \n",
        "    \x1b[31m✗\x1b[0m \x1b[37m'rate>0.5'\x1b[0m \x1b[37mrate\x1b[0m=\x1b[36m50.00%\x1b[0m\n",
        "    checks_total\x1b[2;37m.......:\x1b[0m \x1b[36m11\x1b[0m     \x1b[2;36m9.977202/s\x1b[0m\n",
        "    \x1b[32m✓ a is 1\x1b[0m\n",
        "      \x1b[31m↳  60% — ✓ 3 / ✗ 2\x1b[0m\n",
        "    \x1b[1mCUSTOM\x1b[0m\n",
    ] {
        assert!(colored.contains(line), "{line:?}");
    }
    let mut plain = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = after.split_once('m').expect("the end of a sequence").1;
    }
    plain.push_str(rest);
    assert_eq!(plain, shown(Mode::Full));
}

#[test]
fn a_fixed_unit_holds_for_all_times() {
    let look = Look { time_unit: Some(TimeUnit::Milliseconds), ..Look::default() };
    let text = text(&Run::recorded().summary(), look);
    assert!(text.contains("took...") && text.contains(": 3000.00ms"), "{text}");
    assert!(text.contains("max=3661000.00ms"), "{text}");
}

#[test]
fn what_a_script_is_given() {
    let data = json!({ "a": 1 });
    let of = ScriptData {
        time_unit: Some(TimeUnit::Microseconds),
        is_stdout_tty: true,
        setup_data: Some(&data),
        ..ScriptData::default()
    };
    let document = script_data(&Run::recorded().summary(), of);
    assert_eq!(document["setup_data"], data);
    assert_eq!(
        document["state"],
        json!({
            "isStdOutTTY": true, "isStdErrTTY": false, "testRunDurationMs": 1102.513498,
        })
    );
    assert_eq!(
        document["options"],
        json!({
            "summaryTrendStats": ["avg", "min", "med", "max", "p(90)", "p(99.9)", "count"],
            "summaryTimeUnit": "us", "noColor": false,
        })
    );
    assert_eq!(
        document["metrics"]["right"],
        json!({
            "type": "rate", "contains": "default", "values": { "rate": 0.5, "passes": 2, "fails": 2 },
            "thresholds": { "rate>0.5": { "ok": false } },
        })
    );
    let root = &document["root_group"];
    assert_eq!(root["id"], "d41d8cd98f00b204e9800998ecf8427e");
    let names = |list: &Value| {
        let list = list.as_array().expect("a list");
        list.iter().map(|it| it["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&root["groups"]), ["setup", "outer", "idle", "teardown"]);
    assert_eq!(names(&root["checks"]), ["a is 1", "odd"]);
}

#[test]
fn the_machine_readable_document() {
    let of = Machine { script: "s", generated_at: "t", version: "2.2.0", mode: Mode::Compact };
    let text = machine_readable(&Run::recorded().usual_summary(), of);
    assert!(text.starts_with("{\n    \"config\": {\n        \"duration\": 1.102513498,"), "{text}");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["version"], "1.0.0");
    assert_eq!(document["metadata"], json!({ "generated_at": "t", "k6_version": "2.2.0" }));
    let results = &document["results"];
    assert_eq!(
        results["checks"]["metrics"][1],
        json!({
            "name": "checks_failed", "type": "rate", "contains": "default",
            "values": { "matches": 4, "total": 11, "rate": 0.36363636363636365 },
        })
    );
    assert_eq!(results["checks"]["results"][2], json!({ "name": "odd", "passes": 3, "fails": 2 }));
    let metrics = results["metrics"].as_array().expect("a list");
    let find = |name: &str| metrics.iter().find(|metric| metric["name"] == name);
    assert_eq!(find("bought").expect("it")["values"], json!({ "count": 2000000.2469134 }));
    assert_eq!(
        find("right").expect("it")["values"],
        json!({ "matches": 2, "total": 4, "rate": 0.5 })
    );
    let keys: Vec<&String> =
        find("pause").expect("it")["values"].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["avg", "max", "med", "min", "p90", "p95"]);
    assert!(find("http_req_waiting").is_none() && find("checks{check:never}").is_none());
}

#[test]
fn a_run_without_samples_has_a_summary() {
    let book = Book::new(Registry::default(), true);
    let summary = Summary::of(&book, &Thresholds::default(), &TrendStat::defaults(), 0);
    let text = text(&summary, Look { mode: Mode::Full, ..Look::default() });
    assert_eq!(text, "\n\n  █ TOTAL RESULTS \n\n\n\n");
    assert_eq!(summary.inexact().count(), 0);
    let document: Value =
        serde_json::from_str(&export(&script_data(&summary, ScriptData::default()))).expect("JSON");
    assert_eq!(document["metrics"], json!({}));
}

/// k6 shows the block of checks when a threshold asks for them, and thresholds by their names.
#[test]
fn thresholds_show_what_has_no_samples() {
    let texts = json!({ "checks": [], "iterations": ["count!=3", "rate>=0"],
        "iteration_duration": ["p(99.99)<4"], "dropped_iterations": [] });
    let texts = std::collections::BTreeMap::from_json(&texts).expect("thresholds");
    let mut registry = Registry::default();
    let mut thresholds = Thresholds::new(&texts, &mut registry).expect("thresholds that fit");
    let book = Book::new(registry, false);
    thresholds.evaluate(&book, 1_000_000_000, true);
    let stats = &TrendStat::defaults()[..2];
    let summary = Summary::of(&book, &thresholds, stats, 1_000_000_000);
    let want = "

  █ THRESHOLDS\u{20}

    iteration_duration
    ✓ 'p(99.99)<4' p(99.99)=0s

    iterations
    ✓ 'count!=3' count=0
    ✓ 'rate>=0' rate=0/s


  █ TOTAL RESULTS\u{20}

    checks_total.......: 0     0/s
    checks_succeeded...: 0.00% 0 out of 0
    checks_failed......: 0.00% 0 out of 0


    EXECUTION
    dropped_iterations...: 0 0/s
    iteration_duration...: avg=0s min=0s
    iterations...........: 0 0/s



";
    assert_eq!(text(&summary, Look::default()), want);
}

/// A script's own metrics stand where their names place them, in k6's order.
#[test]
fn sections_follow_from_names() {
    let mut registry = Registry::default();
    let names = [
        "http_requests",
        "http_reqs_own",
        "vus_own",
        "data_sent_own",
        "grpc_own",
        "browser_web_vital_own",
        "browser_own",
        "checks_own",
        "http_req_sending_own",
        "Zulu",
        "alpha",
        "_under",
        "a1",
        "a_b",
        "aB",
        "ab",
    ];
    let ids: Vec<_> = names
        .iter()
        .map(|name| registry.declare(name, Kind::Counter, Contains::Default).expect("a name"))
        .collect();
    let mut book = Book::new(registry, false);
    for id in ids {
        book.record(id, &crate::k6::metrics::TagSet::default(), 1.0);
    }
    let summary = Summary::of(&book, &Thresholds::default(), &[], 1_000_000_000);
    for (mode, http) in [(Mode::Compact, ""), (Mode::Full, "http_req_sending_own ")] {
        let shown = text(&summary, Look { mode, ..Look::default() });
        let words = shown.lines().filter(|line| line.starts_with("    "));
        let words: Vec<&str> =
            words.map(|line| line.trim().split('.').next().unwrap_or("")).collect();
        let want = format!(
            "CUSTOM _under a_b a1 ab aB alpha http_requests Zulu HTTP {http}http_reqs_own EXECUTION \
             vus_own NETWORK \
             data_sent_own BROWSER browser_own WEB_VITALS browser_web_vital_own GRPC grpc_own"
        );
        assert_eq!(words.join(" "), want);
    }
}
