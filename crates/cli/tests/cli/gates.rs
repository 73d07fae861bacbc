//! Conditions on runs and their exit codes, reports for machines, and results shown again.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use tempfile::TempDir;

use crate::closed::ClosedPort;
use crate::peer::{Answer, Peer};
use crate::support::{Finished, Report, Server, plimsoll, run};

fn finished(arguments: &[&str]) -> Finished {
    run(&mut plimsoll(arguments))
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A result document in a directory of its own.
fn document(url: &str, flags: &[&str]) -> (TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("result.json");
    let path = path.to_str().expect("a readable path").to_owned();
    let ended = finished(&[&[url, "-q", "--json", &path], flags].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (directory, path)
}

#[test]
fn gates_decide_the_exit_code() {
    let server = Server::start(&["--errors", "50%:503", "--seed", "7"]);
    let url = server.url("/");
    for (gates, code, passes) in [
        (&["completed==200"][..], 0, &[true][..]),
        (&["p99<60s", "errors>=1%", "status.5xx>0", "rate>0.001", "cpu<50"], 0, &[true; 5]),
        (&["errors<1%"], 3, &[false]),
        (&["completed==200", "ok==200", "timed_out==0"], 3, &[true, false, true]),
        // Nothing went over TLS, so nothing can be said of it.
        (&["tls.p99<1s"], 3, &[false]),
    ] {
        let mut command = plimsoll(&[&url, "-n", "200", "-c", "4", "--format", "json"]);
        let ended = run(command.args(gates.iter().flat_map(|gate| ["--gate", gate])));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""), "{gates:?}");
        let report = Report::read(&ended.stdout);
        let judged = report.at("/gates").as_array().expect("a list");
        assert_eq!(judged.len(), gates.len());
        for ((gate, expr), pass) in judged.iter().zip(gates).zip(passes) {
            assert_eq!((gate["expr"].as_str(), gate["pass"].as_bool()), (Some(*expr), Some(*pass)));
            assert_eq!(gate["value"].is_null(), expr.starts_with("tls"), "{gate}");
        }
        assert_eq!(report.at("/plan/gates").as_array().map(Vec::len), Some(gates.len()));
    }
}

#[test]
fn no_response_comes_before_a_gate_and_a_gate_before_the_verdict() {
    let peer = Peer::answering(|_| Answer::Hang);
    let server = Server::start(&[]);
    let conditions = ["--gate", "ok.p99<10s", "--gate", "failed==0", "--require-valid"];
    let flags = ["-n", "4", "-c", "2", "--timeout", "200ms", "--format", "json"];
    let failing = server.url("/status/503");
    let ended = finished(&[&[failing.as_str()], &flags[..], &conditions].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_ne!(Report::read(&ended.stdout).text("/loader/verdict"), "valid");

    let url = peer.url("/");
    let ended = finished(&[&[url.as_str()], &flags[..], &conditions].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let report = Report::read(&ended.stdout);
    for (gate, note) in [("/gates/0", "no samples"), ("/gates/1", "no response arrived")] {
        assert_eq!(report.at(gate)["value"], serde_json::Value::Null);
        assert_eq!(report.at(gate)["pass"], false);
        assert_eq!(report.at(gate)["note"], note);
    }
}

#[test]
fn conditions_that_cannot_be_read_are_refused_before_anything_is_sent() {
    let closed = ClosedPort::new();
    let url = closed.url();
    for (flags, what) in [
        (&["--gate", "p99"][..], "write METRIC OP VALUE"),
        (&["--gate", "speed>3"], "no metric 'speed'"),
        (&["--gate", "p99<fast"], "is not a duration"),
        (&["--gate", "rate>=99%"], "closed loop"),
        (&["--gate", "p99@stage:3<1s", "--stages", "1s@5,1s@9"], "has 2 stages"),
        (&["--gate", "p99@last:5s<1s"], "--abort-when"),
        (&["--abort-when", "ok.p99>1s"], "whole run only"),
        (&["--abort-when", "errors>5% FOR ever"], "not a duration"),
        (&["--github-summary"], "GITHUB_STEP_SUMMARY is not set"),
    ] {
        let ended = run(plimsoll(&[&url]).args(flags).env_remove("GITHUB_STEP_SUMMARY"));
        assert_eq!(ended.code, Some(2), "{flags:?}: {ended:?}");
        assert_eq!(ended.stdout, "");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(what), "{}", ended.stderr);
    }
}

#[test]
fn a_condition_that_holds_ends_the_run() {
    let server = Server::start(&["--errors", "100%:503"]);
    let url = server.url("/");
    let flags = ["-r", "100", "-d", "10m", "--format", "json"];
    let abort = ["--abort-when", "completed@last:5m>1", "--abort-when", "errors>5% FOR 2s"];
    let ended = finished(&[&[url.as_str()], &flags[..], &abort].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let report = Report::read(&ended.stdout);
    assert_eq!(report.text("/aborted"), "errors>5% FOR 2s");
    assert_eq!(report.at("/interrupted"), true);
    assert!(report.count("/ledger/scheduled") < 60_000, "{}", report.at("/ledger"));
    assert!(report.count("/ledger/failed") >= 100, "{}", report.at("/ledger"));
}

#[test]
fn a_result_shown_again_says_the_same() {
    let server = Server::start(&["--errors", "10%:503"]);
    let url = server.url("/");
    let directory = tempfile::tempdir().expect("a directory");
    let json = directory.path().join("result.json");
    let json = json.to_str().expect("a readable path");
    let flags = ["-r", "400", "-d", "1200ms", "--warmup", "300ms", "-c", "3"];
    let gates = ["--gate", "p99<60s", "--gate", "p50@0s..1s<60s"];
    for format in ["text", "html", "md", "csv", "hgrm", "hlog", "junit", "github", "json"] {
        let output = ["--format", format, "--json", json];
        let first = finished(&[&[url.as_str()], &flags[..], &gates, &output].concat());
        assert_eq!(first.code, Some(0), "{first:?}");
        let again = finished(&["report", json, "--format", format]);
        assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "{format}");
        assert!(!again.stdout.is_empty());
        assert_eq!(again.stdout, first.stdout, "{format}");
    }
    let series = directory.path().join("series");
    let series = series.to_str().expect("a readable path");
    assert_eq!(finished(&["report", json, "-q", "--timeseries", series]).code, Some(0));
    let report = Report::read(&text_of(Path::new(json)));
    let points = report.at("/series").as_array().expect("a list").len();
    assert_eq!(text_of(Path::new(series)).lines().count(), points);
}

#[test]
fn a_result_can_be_judged_again() {
    let server = Server::start(&[]);
    let url = server.url("/");
    let (_directory, path) = document(&url, &["-n", "100", "-c", "2"]);
    for (flags, code) in [
        (&["--gate", "completed==100"][..], 0),
        (&["--gate", "completed==100", "--gate", "errors>0"], 3),
        (&["--gate", "p99@stage:1<1s"], 3),
        (&["--gate", "p99<fast"], 2),
        (&[], 0),
    ] {
        let ended = finished(&[&["report", &path, "--format", "json"], flags].concat());
        assert_eq!(ended.code, Some(code), "{flags:?}: {ended:?}");
        if code != 2 {
            let judged = Report::read(&ended.stdout);
            let gates = judged.at("/gates").as_array().expect("a list");
            assert_eq!(gates.len(), flags.len() / 2);
        }
    }
}

#[test]
fn what_is_no_result_is_refused_with_a_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    let name = path.to_str().expect("a readable path");
    for (text, what) in [
        ("", "is not JSON"),
        ("[1, 2", "is not JSON"),
        ("[]", "is not a result"),
        ("{\"schema\": 3}", "is not a result"),
        ("{\"schema\": \"plimsoll/result/99\"}", "this reads a plimsoll/result/1"),
        ("{\"schema\": \"plimsoll/result/1\"}", "missing field"),
    ] {
        fs::write(&path, text).expect("a file");
        let ended = finished(&["report", name]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{text}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(what), "{}", ended.stderr);
    }
    let ended = finished(&["report", "/nothing/here"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("cannot read '/nothing/here'"), "{}", ended.stderr);
}

#[test]
fn summaries_of_steps_are_added_to_one_file() {
    let server = Server::start(&[]);
    let url = server.url("/");
    let directory = tempfile::tempdir().expect("a directory");
    let [step, own] = ["step", "own"].map(|name| directory.path().join(name));
    fs::write(&step, "before\n").expect("a file");
    for _ in 0..2 {
        let mut command = plimsoll(&["--github-summary", &url, "-q", "-n", "10"]);
        let ended = run(command.env("GITHUB_STEP_SUMMARY", &step));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    }
    let text = text_of(&step);
    assert!(text.starts_with("before\n## "), "{text}");
    assert_eq!(text.matches("\n## ").count(), 2, "{text}");
    let flag = format!("--github-summary={}", own.display());
    assert_eq!(finished(&[&url, "-q", "-n", "10", &flag]).code, Some(0));
    assert_eq!(text_of(&own).matches("## ").count(), 1);
}

#[test]
fn reports_for_machines_hold_what_was_counted() {
    let server = Server::start(&[]);
    let url = server.url("/");
    let directory = tempfile::tempdir().expect("a directory");
    let [hlog, junit] = ["hlog", "junit"].map(|name| directory.path().join(name));
    let mut command = plimsoll(&[&url, "-n", "500", "-c", "4", "--format", "csv"]);
    command.arg("--hlog").arg(&hlog).arg("--junit").arg(&junit);
    let ended = run(command.args(["--gate", "ok==500", "--gate", "ok==501"]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let lines: Vec<Vec<&str>> =
        ended.stdout.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 2);
    let cell = |name: &str| {
        let column = lines[0].iter().position(|column| *column == name).expect(name);
        lines[1][column]
    };
    assert_eq!([cell("ok"), cell("status_2xx"), cell("service_count")], ["500"; 3]);
    assert_eq!([cell("gates"), cell("gates_failed")], ["2", "1"]);
    assert_hlog(&text_of(&hlog), 500);
    let junit = text_of(&junit);
    assert!(junit.contains("tests=\"4\" failures=\"1\""), "{junit}");
    assert!(junit.contains("name=\"ok==501\"><failure"), "{junit}");
}

/// Both clocks' lines, in the format's order, decoded by HdrHistogram.
fn assert_hlog(text: &str, count: u64) {
    assert!(text.contains("#[Histogram log format version 1.3]"), "{text}");
    let mut counts = [0, 0];
    for line in text.lines().skip_while(|line| !line.starts_with("\"StartTimestamp\"")).skip(1) {
        let (tagged, line) = match line.strip_prefix("Tag=service,") {
            Some(line) => (1, line),
            None => (0, line),
        };
        let [start, length, max, histogram] =
            line.split(',').collect::<Vec<_>>().try_into().expect("four fields");
        for number in [start, length, max] {
            number.parse::<f64>().expect("a number");
        }
        let bytes = BASE64_STANDARD.decode(histogram).expect("base64");
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).expect("an HdrHistogram");
        counts[tagged] += histogram.len();
    }
    assert_eq!(counts, [count, count]);
}
