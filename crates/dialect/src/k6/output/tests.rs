//! Lines of a run of k6 itself, against what k6 wrote.

use serde_json::{Value, json};

use super::*;
use crate::k6::metrics::SystemTags;
use crate::k6::options::{Configuration, Options, Sources, consolidate};
use crate::k6::replay::{Run, SAMPLES};

#[test]
fn json_lines_are_k6s_to_the_byte() {
    let run = Run::recorded();
    let mut seen = Vec::new();
    let (mut ours, mut lines) = (String::new(), PointLines::default());
    let none = TagSet::default();
    for sample in &run.samples {
        let name = run.registry.get(sample.metric).name.as_str();
        if !seen.contains(&sample.metric) {
            seen.push(sample.metric);
            ours.push_str(&metric_line(sample.metric, &run.registry, &run.thresholds));
        }
        let (time, value, tags) = (sample.time, sample.value, &sample.tags);
        ours.push_str(&lines.line(&Sample { metric: name, time, value, tags, metadata: &none }));
    }
    for (at, (ours, theirs)) in ours.lines().zip(SAMPLES.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", at + 1);
    }
    assert_eq!(ours, SAMPLES);
}

#[test]
fn csv_lines_are_k6s_to_the_byte() {
    let run = Run::recorded();
    let columns = Columns::new(&SystemTags::default(), TimeFormat::Unix);
    let none = TagSet::default();
    let mut ours = columns.header();
    for sample in &run.samples {
        let metric = run.registry.get(sample.metric).name.as_str();
        let (time, value, tags) = (sample.time, sample.value, &sample.tags);
        ours.push_str(&columns.row(&Sample { metric, time, value, tags, metadata: &none }));
    }
    let theirs = include_str!("../fixtures/samples.csv");
    for (at, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", at + 1);
    }
    assert_eq!(ours, theirs);
}

#[test]
fn metadata_and_zones_have_their_place() {
    let tags = TagSet::of([("group", ""), ("url", "a&b"), ("k", "<\">")]);
    let metadata = TagSet::of([("vu", "1"), ("iter", "0")]);
    let time = WallTime { unix_ns: 1_795_544_765_936_721_343, offset_s: 7200 };
    let sample = Sample { metric: "m", time, value: 1e-7, tags: &tags, metadata: &metadata };
    assert_eq!(
        PointLines::default().line(&sample),
        "{\"metric\":\"m\",\"type\":\"Point\",\"data\":{\"time\":\"2026-11-24T20:26:05.936721343+02:00\",\
         \"value\":1e-07,\"tags\":{\"group\":\"\",\"k\":\"\\u003c\\\"\\u003e\",\"url\":\"a\\u0026b\"},\
         \"metadata\":{\"iter\":\"0\",\"vu\":\"1\"}}}\n"
    );
    let names = ["vu", "iter", "url", "group"].map(str::to_owned);
    for (format, want) in [
        ("unix", "1795544765"),
        ("unix_milli", "1795544765936"),
        ("unix_micro", "1795544765936721"),
        ("unix_nano", "1795544765936721343"),
        ("rfc3339", "2026-11-24T20:26:05+02:00"),
        ("rfc3339_nano", "2026-11-24T20:26:05.936721343+02:00"),
    ] {
        let format = TimeFormat::parse(format).expect("a format");
        let columns = Columns::new(&SystemTags::of(&names), format);
        assert_eq!(
            columns.header(),
            "metric_name,timestamp,metric_value,group,url,extra_tags,metadata\n"
        );
        let row = format!("m,{want},0.000000,,a&b,\"k=<\"\">\",iter=0&vu=1\n");
        assert_eq!(columns.row(&sample), row);
    }
    assert_eq!(TimeFormat::parse("x"), None);
}

/// The lines that k6 logged for these messages.
#[test]
fn log_lines_are_k6s() {
    let time = WallTime { unix_ns: 1_795_546_953_000_000_000, offset_s: 0 };
    let fields = [("source", "console")];
    let record = |level, message| Record { time, elapsed_s: 0, level, message, fields: &fields };
    for (level, message, text, json) in [
        (Level::Info, "", "level=info source=console", "\"info\",\"msg\":\"\""),
        (
            Level::Info,
            "ok.-_/@^+x",
            "level=info msg=ok.-_/@^+x source=console",
            "\"info\",\"msg\":\"ok.-_/@^+x\"",
        ),
        (Level::Info, "a=b", "level=info msg=\"a=b\" source=console", "\"info\",\"msg\":\"a=b\""),
        (
            Level::Error,
            "é\t\u{1}",
            "level=error msg=\"é\\t\\x01\" source=console",
            "\"error\",\"msg\":\"é\\t\\u0001\"",
        ),
        (
            Level::Warning,
            "hello \"w\"\n<x>",
            "level=warning msg=\"hello \\\"w\\\"\\n<x>\" source=console",
            "\"warning\",\"msg\":\"hello \\\"w\\\"\\n<x>\"",
        ),
    ] {
        let record = record(level, message);
        let want = format!("time=\"2026-11-24T19:02:33Z\" {text}\n");
        assert_eq!(log_line(&record, Format::Text), want);
        let want = format!(
            "{{\"level\":{json},\"source\":\"console\",\"time\":\"2026-11-24T19:02:33Z\"}}\n"
        );
        assert_eq!(log_line(&record, Format::Json), want);
        assert_eq!(log_line(&record, Format::Raw), format!("{message}\n"));
    }
    let message = format!("{:<44}", "a=b");
    let want = format!("\x1b[36mINFO\x1b[0m[0000] {message}  \x1b[36msource\x1b[0m=console\n");
    assert_eq!(log_line(&record(Level::Info, "a=b"), Format::Terminal), want);
    assert!(Level::Debug < Level::Error);
}

fn configured(scenarios: &Value) -> Configuration {
    let options = json!({ "scenarios": scenarios });
    let script = Options::from_script(&options, &mut Vec::new()).expect("options");
    consolidate(&Sources { script, ..Sources::default() }).expect("a configuration")
}

/// The text that k6 printed for these scenarios.
#[test]
fn the_banner_is_k6s() {
    let two = configured(&json!({
        "one": { "executor": "per-vu-iterations", "vus": 2, "iterations": 2, "exec": "one" },
        "two": { "executor": "shared-iterations", "iterations": 3, "exec": "two",
            "startTime": "1s" },
    }));
    let outputs = ["json (b.ndjson)".to_owned(), "csv (b.csv)".to_owned()];
    let of = Banner { script: "b.js", outputs: &outputs, has_colors: false };
    let want = "
     execution: local
        script: b.js
        output: json (b.ndjson), csv (b.csv)

     scenarios: (100.00%) 2 scenarios, 3 max VUs, 10m31s max duration (incl. graceful stop):
              * one: 2 iterations for each of 2 VUs (maxDuration: 10m0s, exec: one, gracefulStop: 30s)
              * two: 3 iterations shared among 1 VUs (maxDuration: 10m0s, exec: two, startTime: 1s, \
                gracefulStop: 30s)

";
    assert_eq!(banner(&two, of), want);
    let of = Banner { script: "-", outputs: &[], has_colors: true };
    let one = banner(&configured(&json!({ "a": { "executor": "shared-iterations" } })), of);
    assert!(one.contains("        output: \x1b[36m-\x1b[0m\n"), "{one}");
    assert!(one.contains("\x1b[36m(100.00%) 1 scenario, 1 max VUs, 10m30s max"), "{one}");
}

const S: u64 = 1_000_000_000;

/// A frame that k6 printed.
#[test]
fn progress_is_k6s() {
    let all = configured(&json!({
        "Z-only_1": { "executor": "constant-vus", "duration": "2s" },
        "car": { "executor": "constant-arrival-rate", "rate": 7, "timeUnit": "3s",
            "duration": "1h30s", "preAllocatedVUs": 2, "maxVUs": 10 },
        "rvus": { "executor": "ramping-vus", "startVUs": 1, "stages": [
            { "duration": "10s", "target": 5 }, { "duration": "0s", "target": 2 },
            { "duration": "20s", "target": 0 }] },
        "shared": { "executor": "shared-iterations", "vus": 3, "iterations": 7,
            "maxDuration": "90s" },
        "car2": { "executor": "constant-vus", "duration": "10s", "startTime": "5s" },
        "one": { "executor": "per-vu-iterations", "vus": 2, "iterations": 2, "startTime": "90s" },
    }));
    let live = |name: &str| {
        let (status, time_ns, active_vus, vus, iterations) = match name {
            "Z-only_1" => (Status::Running, S, 1, 1, 3),
            "car" => (Status::Running, S, 0, 2, 3),
            "rvus" => (Status::Running, S, 1, 5, 3),
            "shared" => (Status::Done, 300_000_000, 0, 3, 7),
            "car2" => (Status::Waiting, 4 * S, 0, 0, 0),
            _ => (Status::Waiting, 89 * S, 0, 0, 0),
        };
        Live { status, time_ns, active_vus, vus, iterations }
    };
    let bars: Vec<Bar> =
        all.scenarios.iter().map(|it| bar(it, &all.part, &live(&it.name))).collect();
    let totals = Totals {
        time_ns: S,
        max_ns: 3660 * S,
        active_vus: 5,
        vus: 19,
        max_vus: 27,
        complete: 46,
        interrupted: 0,
        is_paused: false,
    };
    let frame = Frame::new(false, false).render(&totals.line(), &bars, 80, false);
    let lines: Vec<&str> = frame.lines().collect();
    assert_eq!(
        lines,
        [
            "",
            "running (0h00m01.0s), 05/19 VUs, 46 complete and 0 interrupted iterations",
            "Z-only_1   [  50% ] 1 VUs      1.0s/2s            ",
            "car        [   0% ] 00/02 VUs  0h00m01.0s/1h0m30s  2.33 iters/s",
            "rvus       [   3% ] 1/5 VUs    01.0s/30.0s        ",
            "shared   ✓ [ 100% ] 3 VUs      0m00.3s/1m30s       7/7 shared iters",
            "car2     • [   0% ] waiting    4.0s               ",
            "one      • [   0% ] waiting    1m29.0s            ",
        ]
    );
    let done = Live { status: Status::Done, time_ns: 3 * S, ..live("Z-only_1") };
    let first = bar(&all.scenarios[0], &all.part, &done);
    assert_eq!(
        (first.progress, &first.columns[..]),
        (1.0, &["1 VUs".to_owned(), "2s".to_owned()][..])
    );
    let own = Live { status: Status::Stopping, time_ns: S, iterations: 3, ..live("one") };
    let last = all.scenarios.last().expect("it has six");
    assert_eq!(
        bar(last, &all.part, &own).columns,
        ["2 VUs", "00m01.0s/10m0s", "3/4 iters, 2 per VU"]
    );
}

#[test]
fn bars_take_the_room_of_the_terminal() {
    let one = configured(&json!({ "default": { "executor": "constant-vus", "duration": "1s" } }));
    let live = |time_ns, status| Live { status, time_ns, active_vus: 1, vus: 1, iterations: 0 };
    let at = |time_ns, status| vec![bar(&one.scenarios[0], &one.part, &live(time_ns, status))];
    let mut frame = Frame::new(true, true);
    let text = frame.render("running", &at(700_000_000, Status::Running), 80, false);
    assert_eq!(
        text,
        "\x1b[K\nrunning\x1b[K\ndefault   [=========================>\x1b[2m------------\x1b[22m] 1 \
         VUs  0.7s/1s\x1b[K\n\r\x1b[J\x1b[3A"
    );
    let text = frame.render("running", &at(2 * S, Status::Done), 80, true);
    let bar = "=".repeat(38);
    let want = format!(
        "\x1b[K\nrunning\x1b[K\ndefault \x1b[32m✓\x1b[0m [{bar}\x1b[2m\x1b[22m] 1 VUs  1s\x1b[K\n"
    );
    assert_eq!(text, want);
    // The next frame fits where this one did not.
    let mut narrow = Frame::new(true, false);
    narrow.render("running", &at(S / 2, Status::Running), 50, false);
    let text = narrow.render("running", &at(S / 2, Status::Running), 50, false);
    assert!(text.lines().all(|line| line.chars().count() <= 50 + "\x1b[K".len()), "{text:?}");
    narrow.render("running", &at(S / 2, Status::Running), 1, false);
    let text = narrow.render("running", &at(S / 2, Status::Running), 1, false);
    assert!(text.contains("[  50% ]"), "{text:?}");
}
