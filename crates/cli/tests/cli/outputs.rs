//! Reports: what goes to stdout and what to files, and that the tools for each format can read it.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;

use crate::closed::ClosedPort;
use crate::peer::{Answer, OK, Peer};
use crate::support::{Finished, Report, Server, plimsoll, run};

/// A directory for outputs, and the paths in it as text.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text_of(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn succeed(arguments: &[&str]) -> Finished {
    let finished = run(&mut plimsoll(arguments));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    finished
}

/// The last rows of an `.hgrm`: the counts only grow, and the total is repeated at the end.
fn assert_hgrm(text: &str, count: u64) {
    let rows: Vec<Vec<f64>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.contains("Value"))
        .map(|line| line.split_whitespace().map(|word| word.parse().expect("a number")).collect())
        .filter(|row: &Vec<f64>| !row.is_empty())
        .collect();
    assert!(rows.len() > 2, "{text}");
    for pair in rows.windows(2) {
        assert!((0..3).all(|column| pair[0][column] <= pair[1][column]), "{pair:?}");
    }
    assert_eq!(rows.last().map(|row| (row[1], row[2])), Some((1.0, count as f64)));
    let total = text.lines().find_map(|line| line.split_once("Total count    ="));
    let total = total.map(|(_, rest)| rest.trim().trim_end_matches(']').trim().to_owned());
    assert_eq!(total, Some(count.to_string()));
}

fn assert_html(text: &str) {
    assert!(text.starts_with("<!doctype html>") || text.starts_with("<!DOCTYPE html>"));
    assert!(text.trim_end().ends_with("</html>"));
    assert!(text.contains("<svg"), "charts");
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!text.contains(outside), "the page is one file, but has {outside}");
    }
}

fn assert_text(text: &str) {
    let mut first = text.lines().take(5);
    assert!(first.any(|line| line.starts_with("confidence: ")), "the answer comes first: {text}");
    for word in ["scheduled", "completed", "p99", "service time", "response time", "200"] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    assert!(!text.contains('\u{1b}'), "no colour where nobody looks");
    // The causes of a verdict stand before the load, and a busy machine has many of them. It adds
    // lines of pauses and marks below as well.
    let lines = text.lines().skip_while(|line| !line.starts_with("GET "));
    let count = lines.count();
    assert!((20..=45).contains(&count), "one screen, not {count} lines: {text}");
    assert!(text.lines().all(|line| line.chars().count() <= 110), "one screen: {text}");
}

#[test]
fn every_format_goes_to_stdout_or_to_a_file() {
    let server = Server::start(&[]);
    let files = Files::new();
    let url = server.url("/");
    for format in ["text", "json", "html", "hgrm", "none"] {
        let path = files.path(format);
        let path = path.to_str().expect("a readable path");
        let arguments = [url.as_str(), "-n", "200", "-c", "4", "--format", format];
        let to_stdout = succeed(&arguments).stdout;
        let beside = succeed(&[&arguments[..], &["-o", path]].concat()).stdout;
        assert_eq!(beside, "", "the report goes to the file alone");
        for text in [to_stdout, files.text_of(format)] {
            match format {
                "text" => assert_text(&text),
                "json" => assert_eq!(Report::read(&text).ledger(["completed"]), [200]),
                "html" => assert_html(&text),
                "hgrm" => assert_hgrm(&text, 200),
                _ => assert_eq!(text, ""),
            }
        }
    }
}

#[test]
fn run_is_the_command_where_none_is_given_and_text_the_format() {
    let server = Server::start(&[]);
    let url = server.url("/");
    for arguments in [&[url.as_str(), "-n", "20"][..], &["run", "-n", "20", &url]] {
        assert_text(&succeed(arguments).stdout);
    }
}

#[test]
fn quiet_leaves_the_terminal_alone_and_files_as_they_are() {
    let server = Server::start(&[]);
    let files = Files::new();
    let json = files.path("json");
    let (json, url) = (json.to_str().expect("a readable path"), server.url("/"));
    let finished = succeed(&["-q", "-n", "20", "--json", json, &url]);
    assert_eq!(finished.stdout, "");
    assert_eq!(Report::read(&files.text_of("json")).ledger(["completed"]), [20]);
    // What is asked for by name is written anyway.
    let finished = succeed(&["-q", "-n", "20", "--format", "json", &url]);
    assert_eq!(Report::read(&finished.stdout).ledger(["completed"]), [20]);
}

#[test]
fn all_outputs_at_once_tell_of_the_same_run() {
    let server = Server::start(&[]);
    let files = Files::new();
    let paths = ["o", "json", "html", "hgrm", "series"].map(|name| files.path(name));
    let [o, json, html, hgrm, series] =
        paths.each_ref().map(|path| path.to_str().expect("a readable path"));
    let url = server.url("/");
    let mut arguments = vec![url.as_str(), "-c", "7", "-r", "200", "-d", "2s", "-o", o];
    arguments.extend(["--json", json, "--html", html, "--hgrm", hgrm, "--timeseries", series]);
    assert_eq!(succeed(&arguments).stdout, "");
    let report = Report::read(&files.text_of("json"));
    assert_eq!(report.ledger(["scheduled"]), [400]);
    assert_text(&files.text_of("o"));
    assert_html(&files.text_of("html"));
    assert_hgrm(&files.text_of("hgrm"), 400);
    assert_series(&files.text_of("series"), &report);
}

/// Every line is a point; together they are the report's.
fn assert_series(text: &str, report: &Report) {
    let points: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert!(points.len() >= 2, "a line for each second");
    for name in ["sent", "completed", "ok", "failed", "timed_out", "broken"] {
        let sum: u64 = points.iter().map(|point| point[name].as_u64().expect(name)).sum();
        assert_eq!(sum, report.count(&format!("/ledger/{name}")), "{name}");
    }
    let bytes: u64 = points.iter().filter_map(|point| point["received_bytes"].as_u64()).sum();
    assert_eq!(bytes, report.count("/bytes/received"));
    let starts: Vec<f64> = points.iter().map(|point| point["t_s"].as_f64().expect("t_s")).collect();
    assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "{starts:?}");
}

#[test]
fn a_report_replaces_the_one_before_in_whole() {
    let server = Server::start(&[]);
    let files = Files::new();
    for name in ["json", "html", "hgrm", "series"] {
        fs::write(files.path(name), "x".repeat(1 << 20)).expect("a file");
    }
    let paths = ["json", "html", "hgrm", "series"].map(|name| files.path(name));
    let [json, html, hgrm, series] =
        paths.each_ref().map(|path| path.to_str().expect("a readable path"));
    let url = server.url("/");
    let mut arguments = vec![url.as_str(), "-q", "-r", "50", "-d", "1200ms", "--json", json];
    arguments.extend(["--html", html, "--hgrm", hgrm, "--timeseries", series]);
    succeed(&arguments);
    let report = Report::read(&files.text_of("json"));
    assert_html(&files.text_of("html"));
    assert_hgrm(&files.text_of("hgrm"), 60);
    assert_series(&files.text_of("series"), &report);
}

/// After a run, every report is of that run, also if it could not be carried out.
#[test]
fn a_run_that_cannot_be_carried_out_says_so_in_every_report() {
    let files = Files::new();
    let names = ["o", "json", "html", "hgrm", "hlog", "junit", "summary", "series"];
    for name in names {
        fs::write(files.path(name), "of an earlier run\n").expect("a file");
    }
    let closed = ClosedPort::new();
    let mut command = plimsoll(&["--gate", "errors<1%", "--gate", "p99<1s", &closed.url()]);
    for name in names {
        let flag = match name {
            "o" => "--output".to_owned(),
            "summary" => "--github-summary".to_owned(),
            "series" => "--timeseries".to_owned(),
            name => format!("--{name}"),
        };
        command.arg(format!("{flag}={}", files.path(name).display()));
    }
    let finished = run(&mut command);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{finished:?}");
    let says = "could be opened: ";
    assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
    assert!(finished.stderr.contains(says), "{finished:?}");
    let report = Report::read(&files.text_of("json"));
    assert_eq!(report.text("/loader/verdict"), "invalid");
    assert!(report.text("/loader/causes/0/text").contains(says));
    assert_eq!(report.ledger(["scheduled", "completed"]), [0, 0]);
    for name in ["o", "html", "junit", "summary"] {
        assert!(files.text_of(name).contains(says), "{name}: {}", files.text_of(name));
    }
    for name in names.into_iter().filter(|name| *name != "summary") {
        assert!(!files.text_of(name).contains("of an earlier run"), "{name}");
    }
    let summary = files.text_of("summary");
    assert!(summary.starts_with("of an earlier run\n"), "steps of a job share it: {summary}");
    assert_eq!(files.text_of("series"), "");
    let junit = files.text_of("junit");
    assert!(junit.contains("failures=\"2\" errors=\"1\""), "no gate is met: {junit}");
}

#[test]
fn data_that_was_asked_for_on_stdout_comes_without_a_load_too() {
    let closed = ClosedPort::new();
    let url = closed.url();
    for flags in [&["-q", "--json", "-"][..], &["--format", "json"], &["-o", "-", "--format=json"]]
    {
        let finished = run(plimsoll(&[&url]).args(flags));
        assert_eq!(finished.code, Some(1), "{finished:?}");
        assert_eq!(Report::read(&finished.stdout).text("/loader/verdict"), "invalid");
    }
}

#[test]
fn a_mistake_in_the_flags_leaves_files_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let [new, old] = ["new", "old"].map(|name| directory.path().join(name));
    fs::write(&old, "precious").expect("a file");
    let closed = ClosedPort::new();
    let mut command = plimsoll(&[&closed.url(), "-n", "0"]);
    let finished = run(command.arg("--html").arg(&new).arg("--json").arg(&old));
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(!new.exists());
    assert_eq!(fs::read_to_string(&old).expect("the file"), "precious");
}

#[test]
fn a_dash_is_stdout_for_every_output() {
    let server = Server::start(&[]);
    let url = server.url("/");
    let files = Files::new();
    let in_there = |arguments: &[&str]| run(plimsoll(arguments).current_dir(files.0.path()));
    for (flags, starts) in [
        (&["-o", "-"][..], "20 responses in "),
        (&["-q", "-o", "-", "--format", "csv"], "started_at,"),
        (&["-q", "--json", "-"], "{"),
        (&["-q", "--html", "-"], "<!"),
        (&["-q", "--hgrm", "-"], " "),
        (&["-q", "--hlog", "-"], "#"),
        (&["-q", "--junit", "-"], "<?xml"),
        (&["-q", "--github-summary=-"], "##"),
        (&["-q", "--timeseries", "-"], "{\"t_s\""),
        (&["--format", "none", "--json", "-"], "{"),
        (&["-o", "report.txt", "--json", "-"], "{"),
    ] {
        let finished = in_there(&[&[url.as_str(), "-n", "20", "-c", "2"], flags].concat());
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{flags:?}");
        assert!(finished.stdout.starts_with(starts), "{flags:?}: {}", finished.stdout);
        assert!(!files.path("-").exists(), "{flags:?}");
    }
    assert!(files.text_of("report.txt").contains("Requests"));
}

#[test]
fn two_outputs_to_stdout_are_refused() {
    let files = Files::new();
    for (flags, says) in [
        (
            &["--json", "-"][..],
            "the report and --json would both go to stdout: leave the report out with -q",
        ),
        (
            &["--format", "csv", "--junit", "-"],
            "the report and --junit would both go to stdout: give one of them a file",
        ),
        (
            &["-q", "-o", "-", "--html", "-"],
            "the report and --html would both go to stdout: give one of them a file",
        ),
        (
            &["-q", "--json", "-", "--timeseries", "-"],
            "--json and --timeseries would both go to stdout: give one of them a file",
        ),
    ] {
        let mut command = plimsoll(&["http://127.0.0.1:1/", "-n", "1"]);
        let finished = run(command.args(flags).current_dir(files.0.path()));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{flags:?}");
        assert_eq!(finished.stderr, format!("plimsoll: {says}\n"), "{flags:?}");
    }
    for arguments in [
        &["demo", "--html", "-"][..],
        &["wrk", "--json-result", "-", "http://127.0.0.1:1/"],
        &["ab", "--json-result", "-", "http://127.0.0.1:1/"],
        &["serve", "--listen", "0", "--tls-save", "-"],
    ] {
        let finished = run(plimsoll(arguments).current_dir(files.0.path()));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert_eq!(finished.stderr.lines().count(), 1, "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains("stdout"), "{arguments:?}: {}", finished.stderr);
    }
    assert!(!files.path("-").exists());
}

/// Pipes and devices have no length to cut.
#[test]
fn outputs_may_be_devices() {
    let server = Server::start(&[]);
    let url = server.url("/");
    for flag in ["-o", "--json", "--html", "--hgrm", "--timeseries"] {
        succeed(&[&url, "-q", "-n", "20", flag, "/dev/null"]);
    }
    let finished = succeed(&[&url, "-q", "-n", "20", "--json", "/dev/stdout"]);
    assert_eq!(Report::read(&finished.stdout).ledger(["completed"]), [20]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let peer = Peer::answering(|_| Answer::Say(OK));
    for format in ["text", "json", "html", "hgrm"] {
        let url = peer.url("/");
        let mut command = plimsoll(&[&url, "-n", "20", "-c", "2", "--format", format]);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a child");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("an end");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{format}");
    }
}

#[test]
fn require_valid_ends_with_4_when_nothing_good_was_measured() {
    let server = Server::start(&[]);
    let url = server.url("/status/503");
    let arguments = [url.as_str(), "-n", "4", "-c", "2", "--format", "json"];
    for (more, code) in [(None, 0), (Some("--require-valid"), 4)] {
        let finished = run(plimsoll(&arguments).args(more));
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(code), ""), "{finished:?}");
        let report = Report::read(&finished.stdout);
        // "suspect" by itself, "invalid" on a busy machine.
        assert_ne!(report.text("/loader/verdict"), "valid");
        assert_eq!(report.at("/plan/require_valid"), more.is_some());
        assert_eq!(report.ledger(["sent", "failed"]), [4, 4]);
    }
}

#[test]
fn without_a_response_the_code_is_1_whatever_is_required() {
    let peer = Peer::answering(|_| Answer::Hang);
    let url = peer.url("/");
    let arguments = [url.as_str(), "-n", "4", "-c", "2", "--timeout", "200ms", "--format", "json"];
    for more in [None, Some("--require-valid")] {
        let finished = run(plimsoll(&arguments).args(more));
        assert_eq!(finished.code, Some(1), "{finished:?}");
        let report = Report::read(&finished.stdout);
        assert_eq!(report.text("/loader/verdict"), "invalid");
        assert_eq!(report.text("/loader/causes/0/code"), "no_responses");
        assert_eq!(report.ledger(["sent", "timed_out", "completed"]), [4, 4, 0]);
    }
}
