//! `plimsoll report` and `plimsoll compare` on results of fortio.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Finished, Server, plimsoll, run};

/// What fortio wrote of a run at 100 requests a second.
const HTTP: &str = include_str!("../../../dialect/src/fortio/fixtures/http.json");

fn whole() -> Value {
    serde_json::from_str(HTTP).expect("JSON")
}

/// A directory with files in it.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().expect("a directory"));
        files.write("fortio.json", &whole());
        files
    }

    fn write(&self, name: &str, document: &Value) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, document.to_string()).expect("a file");
    }

    fn plimsoll(&self, arguments: &[&str]) -> Finished {
        run(plimsoll(arguments).current_dir(self.0.path()))
    }

    /// Five runs that took turns with those of another side, with times of `by` of fortio's.
    fn write_repeats(&self, side: &str, first: u32, by: f64) {
        for (at, noise) in (0..).zip([0, 7, -9, 4, -2]) {
            let mut document = whole();
            document["StartTime"] = json!(format!("2026-11-21T12:00:{}Z", first + 2 * at));
            let by = by * (1.0 + f64::from(noise) / 1000.0);
            let histogram = &mut document["DurationHistogram"];
            for (rows, names) in [("Data", &["Start", "End"][..]), ("Percentiles", &["Value"])] {
                for row in histogram[rows].as_array_mut().expect("rows") {
                    for name in names {
                        row[name] = json!(row[name].as_f64().expect("a number") * by);
                    }
                }
            }
            self.write(&format!("{side}/{at}.json"), &document);
        }
    }
}

#[test]
fn a_report_shows_what_fortio_says() {
    let files = Files::new();
    let ended = files.plimsoll(&["report", "fortio.json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let read = "plimsoll: 'fortio.json': read as a result of fortio dev (HTTP)\n";
    assert_eq!(ended.stderr, read);
    let first = "fortio dev · 99.8/s of 100/s, service p50 809 µs, service p99 5.52 ms, 2 failed";
    assert!(ended.stdout.starts_with(first), "{}", ended.stdout);
    for line in ["p99.9     5.75 ms  5.00 ms to 5.77 ms               0", "503        2  2.0 %"] {
        assert!(ended.stdout.contains(line), "{line}: {}", ended.stdout);
    }
    // Without a comma in a cell, cells can be cut at commas.
    let mut plain = whole();
    plain["URL"] = json!("http://127.0.0.1:18080/");
    files.write("plain.json", &plain);
    let row = files.plimsoll(&["report", "plain.json", "--format", "csv", "-q"]);
    assert_eq!((row.code, row.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = row.stdout.lines().collect();
    let cell = |name: &str| {
        let at = lines[0].split(',').position(|it| it == name).expect(name);
        lines[1].split(',').nth(at).expect(name)
    };
    assert_eq!(cell("service_p99_us"), "5515.675");
    assert_eq!((cell("response_p99_us"), cell("verdict"), cell("failed")), ("", "", "2"));
    let ended = files.plimsoll(&["report", "fortio.json", "--format", "md", "-o", "out.md"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    let text = fs::read_to_string(files.0.path().join("out.md")).expect("a report");
    assert!(text.starts_with("**fortio dev** · 99.8/s"), "{text}");
    for flags in [&["--format", "html", "-o", "out.html"][..], &["--html", "out.html", "-q"]] {
        let ended = files.plimsoll(&[&["report", "fortio.json"], flags].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
        let page = fs::read_to_string(files.0.path().join("out.html")).expect("a page");
        assert!(page.contains("<h3>Latency by percentile</h3>"), "{page}");
    }
}

#[test]
fn what_fortio_cannot_say_is_refused_in_one_line() {
    let files = Files::new();
    let mut broken = whole();
    broken["DurationHistogram"]["Count"] = json!("many");
    files.write("broken.json", &broken);
    let failed = json!({"DurationHistogram": {}, "error": true, "message": "warmup error"});
    files.write("failed.json", &failed);
    let text = "another tester's result is written as text, md, github, csv or html";
    for (arguments, code, says) in [
        (&["report", "fortio.json", "--format", "hgrm"][..], 2, text),
        (&["report", "fortio.json", "--json", "x.json"], 2, "--json: another tester's"),
        (&["report", "fortio.json", "--gate", "p99<1s"], 2, "--gate judges results of Plimsoll's"),
        (
            &["report", "broken.json"],
            1,
            "cannot read 'broken.json': DurationHistogram.Count of fortio's result is not a whole",
        ),
        (&["compare", "fortio.json", "broken.json"], 1, "cannot read 'broken.json'"),
        (&["report", "failed.json"], 1, "a run of fortio that did not take place: warmup error"),
    ] {
        let ended = files.plimsoll(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{arguments:?}");
        assert!(ended.stderr.contains(says), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    assert!(!files.0.path().join("x.json").exists());
}

#[test]
fn runs_of_fortio_are_compared_by_service_time() {
    let files = Files::new();
    files.write_repeats("base", 10, 1.0);
    files.write_repeats("new", 11, 1.1);
    let limit = "service.p90>+5%";
    let ended = files.plimsoll(&["compare", "base", "new", "--format", "json", "--fail-if", limit]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(3), ""));
    let found: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let case = &found["cases"][0];
    let decided = (&case["decision"], &case["headline"]["measure"]);
    assert_eq!(decided, (&json!("worse"), &json!("service.p99")), "{found}");
    let notes = found["notes"].to_string();
    assert!(notes.contains("'base/0.json' and 4 other files: read as a result of fortio dev"));
    assert!(notes.contains("interpolated in the buckets of a histogram: p50 within"), "{notes}");
}

#[test]
fn fortio_against_plimsoll_has_to_be_allowed() {
    let files = Files::new();
    let server = Server::start(&[]);
    let arguments = [&server.url("/"), "-n", "200", "-c", "2", "-q", "--json", "own.json"];
    let ended = files.plimsoll(&arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = files.plimsoll(&["compare", "own.json", "fortio.json"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    for says in ["tester plimsoll", "fortio dev", "requests 200 and none", "--allow-different"] {
        assert!(ended.stderr.contains(says), "{says}: {}", ended.stderr);
    }
    let ended = files.plimsoll(&["compare", "own.json", "fortio.json", "--allow-different"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in ["service.p99", "have no counterpart", "read as a result of fortio dev (HTTP)"] {
        assert!(text.contains(says), "{says}: {text}");
    }
}
