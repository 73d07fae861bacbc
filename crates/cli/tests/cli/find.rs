//! `plimsoll find` from the outside: searches with known answers, their documents and reports, what
//! is refused, and what a signal and a resumed search leave.
//!
//! The line of `SLOW` is known: a response takes 20 ms and there are four connections, so that no
//! more than 200/s get one. Probes take a second here, so the tests use rates far from that line.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::closed::ClosedPort;
use crate::peer::{Answer, OK, Peer};
use crate::support::{Finished, Running, Server, check_schema, plimsoll, run};

/// A search by quick probes of a second.
const QUICK: [&str; 7] = ["find", "--quick-only", "--settle", "0s", "--quick", "1s", "--slo"];

/// Where a response takes 20 ms.
const SLOW: &str = "/delay/20ms";

/// A server, and a directory to run in.
struct World {
    server: Server,
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        Self { server: Server::start(&[]), directory: tempfile::tempdir().expect("a directory") }
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        run(plimsoll(arguments).current_dir(self.directory.path()))
    }

    /// Searches with quick probes.
    fn search(&self, slo: &str, path: &str, flags: &[&str]) -> Finished {
        let url = self.server.url(path);
        self.run(&[&QUICK[..], &[slo, &url], flags].concat())
    }

    fn document(&self, name: &str) -> Value {
        read(&self.directory.path().join(name))
    }
}

/// Reads a document and checks it against its schema.
fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let document = serde_json::from_str(&text).expect("JSON");
    check_schema(&document, "find");
    document
}

fn rates(document: &Value) -> Vec<f64> {
    let probes = document["probes"].as_array().expect("a list").iter();
    probes.map(|probe| probe["plan"]["rate_rps"].as_f64().expect("a rate")).collect()
}

fn outcomes(document: &Value) -> Vec<&str> {
    let probes = document["probes"].as_array().expect("a list").iter();
    probes.map(|probe| probe["judgement"]["outcome"].as_str().expect("text")).collect()
}

#[test]
fn a_search_finds_a_known_line_and_writes_its_reports() {
    let world = World::new();
    let flags = ["-c", "4", "--from", "25", "--max-rate", "1600", "--json", "found.json"];
    let more = ["--html", "found.html", "--monitor", &world.server.id().to_string()];
    let finished = world.search("p99<300ms", SLOW, &[&flags[..], &more].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document = world.document("found.json");
    let answer = &document["answer"];
    assert_eq!(answer["ending"], "guessed", "{finished:?}");
    let said: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(said.len(), rates(&document).len(), "a line for each probe: {finished:?}");
    assert!(said[0].starts_with("1 quick 25.0/s: pass, p50 "), "{finished:?}");
    let rate_rps = answer["rate_rps"].as_f64().expect("a rate");
    // A second is too short for a queue that grows slowly: a quick search is off by as much.
    assert!((50.0..=400.0).contains(&rate_rps), "{finished:?}");
    let saturation_rps = answer["saturation_rps"].as_f64().expect("a rate");
    assert!((50.0..=200.0 * 1.05).contains(&saturation_rps), "{finished:?}");
    assert_eq!(document["objectives"], serde_json::json!(["p99<300ms", "errors<1%"]));
    for probe in document["probes"].as_array().expect("a list") {
        let figures = &probe["report"]["figures"];
        let due: u64 =
            figures["due"].as_array().expect("a list").iter().filter_map(Value::as_u64).sum();
        let asked = probe["plan"]["rate_rps"].as_f64().unwrap()
            * probe["plan"]["measure_s"].as_f64().unwrap();
        // Arrivals are Poisson: six standard deviations.
        assert!((due as f64 - asked).abs() <= 6.0 * asked.sqrt(), "{probe}");
        assert!(probe["report"]["server_cpus"].as_f64().is_some(), "{probe}");
    }
    for part in ["ABOUT · ", "p99<300ms", "promise", "4 connections", "FAIL"] {
        assert!(finished.stdout.contains(part), "{part}: {finished:?}");
    }
    // The server would serve any number at once, as quickly as one.
    assert_eq!(answer["connections_limit"], 4, "{finished:?}");
    let words = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(": 4 connections were the limit, not the server"), "{finished:?}");
    let again = world.run(&["report", "found.json"]);
    assert_eq!(again.stdout, finished.stdout, "the same as the search wrote");
    let page = fs::read_to_string(world.directory.path().join("found.html")).expect("a page");
    for part in ["Latency against rate", "meets the objectives", "most responses", "</html>"] {
        assert!(page.contains(part), "{part}");
    }
    let csv = world.run(&["report", "found.json", "--format", "csv"]);
    assert_eq!(csv.stdout.lines().count(), 1 + 4 * rates(&document).len(), "{csv:?}");
    let resumed = world.run(&[
        "find",
        "--quick-only",
        "--resume",
        "found.json",
        "-c",
        "4",
        "--monitor",
        &world.server.id().to_string(),
        "--format",
        "json",
        &world.server.url(SLOW),
    ]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let resumed: Value = serde_json::from_str(&resumed.stdout).expect("JSON");
    assert_eq!(resumed, document, "a search that is over has nothing left to do");
}

#[test]
fn answers_have_exit_codes() {
    let world = World::new();
    let highest = ["--from", "50", "--max-rate", "100", "--format", "json"];
    let lowest = ["--from", "50", "--min-rate", "50", "--max-rate", "50", "-q", "--json", "a.json"];
    for (slo, path, flags, code, says) in [
        ("p99<5s", SLOW, &highest[..], 0, ""),
        ("p99<2ms", SLOW, &lowest, 3, "not met: no rate from 50.0/s"),
        // Responses that come at once and are failures.
        ("p99<5s", "/status/503", &lowest, 3, "not met"),
    ] {
        let finished = world.search(slo, path, flags);
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert!(finished.stderr.contains(says), "{finished:?}");
        let is_quiet = flags.contains(&"-q");
        assert_eq!(finished.stderr.lines().count() == 1, is_quiet, "{finished:?}");
    }
    let document = world.document("a.json");
    assert_eq!(document["answer"]["ending"], "not_met");
    let failed = &document["probes"][0]["judgement"]["findings"][1];
    assert_eq!(failed["subject"]["objective"], "errors<1%", "{document}");
    assert_eq!(failed["outcome"], "fail");
}

#[test]
fn a_budget_ends_a_search_and_another_goes_on() {
    let world = World::new();
    let url = world.server.url(SLOW);
    let flags = ["--from", "25", "--max-rate", "100", "--budget", "3s", "--json", "first.json"];
    let finished = world.search("p99<5s", SLOW, &flags);
    assert_eq!(finished.code, Some(4), "{finished:?}");
    let first = world.document("first.json");
    assert_eq!(
        (first["answer"]["ending"].as_str(), rates(&first)),
        (Some("out_of_budget"), vec![25.0])
    );
    let on = ["find", "--quick-only", "--resume", "first.json", "--json", "second.json"];
    let finished = world.run(&[&on[..], &[&url]].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let second = world.document("second.json");
    assert_eq!(rates(&second), [25.0, 50.0, 100.0]);
    assert_eq!(second["probes"][0], first["probes"][0], "what was measured stays");
    assert_eq!(outcomes(&second), ["pass"; 3]);
    for (url, says) in [
        (world.server.url("/"), "and this one is at"),
        ("http://127.0.0.1:1/".to_owned(), "and this one is at"),
    ] {
        let refused = world.run(&[&on[..], &[&url]].concat());
        assert_eq!((refused.code, refused.stderr.lines().count()), (Some(1), 1), "{refused:?}");
        assert!(refused.stderr.contains(says), "{refused:?}");
    }
    let other = world.run(&[&on[..], &[&url, "-X", "PUT"]].concat());
    assert!(other.stderr.contains("sent something else"), "{other:?}");
}

#[test]
fn a_signal_leaves_what_is_known() {
    let peer = Peer::answering(|_| Answer::Say(OK));
    let url = peer.url("/");
    let arguments = [&QUICK[..], &["p99<5s", "--from", "50", "--format", "json", &url]].concat();
    let running = Running::start(&mut plimsoll(&arguments));
    // More than the first probe sends, and less than the second and third.
    peer.wait_for_requests(120);
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    check_schema(&document, "find");
    assert_eq!(document["answer"]["ending"], "stopped", "{document}");
    assert!(outcomes(&document).iter().all(|outcome| *outcome == "pass"), "{document}");
    assert_eq!(rates(&document)[0], 50.0);
}

#[test]
fn what_makes_no_search_is_refused_in_a_line() {
    let world = World::new();
    let url = world.server.url("/");
    let closed = ClosedPort::new();
    let nowhere = closed.url();
    fs::write(world.directory.path().join("other.json"), "{\"schema\": \"x/1\"}").expect("a file");
    for (arguments, code, says) in [
        (&["--slo", "p99<1s", "-r", "5"][..], 2, "--min-rate"),
        (&["--slo", "p99<1s", "-d", "5s"], 2, "--hold"),
        (&["--slo", "p99<1s", "--warmup", "5s"], 2, "--settle"),
        (&["--slo", "p99<1s", "--gate", "p99<1s"], 2, "--slo"),
        (&["--slo", "p99<1s", "--hgrm", "x"], 2, "shows one run"),
        (&["--slo", "p99<1s", "-e", "A=b"], 2, "k6 scripts, which only run takes"),
        (&["--slo", "p99<1s", "load.js"], 2, "only run takes k6 scripts"),
        (&["--slo", "p99<1s", "--format", "junit"], 2, "text, json, html, md or csv"),
        (&["--slo", "max<1s"], 2, "p99.9"),
        (&[], 2, "give 1 to 16, such as --slo"),
        (&["--slo", "p99<1s", "--step", "5"], 2, "write 5%"),
        (&["--slo", "p99<1s", "--step", "90%"], 2, "0.1% to 50%"),
        (&["--slo", "p99<1s", "--hold", "5s"], 2, "holds 30s or more"),
        (&["--slo", "p99<1s", "--min-rate", "9", "--max-rate", "5"], 2, "min, from, max"),
        (&["--slo", "p99<1s", "--max-rate", "10"], 2, "needs 1000 in a probe"),
        (&["--resume", "a.json", "--slo", "p99<1s"], 2, "cannot be used with"),
        (&["--resume", "no/such.json"], 1, "no/such.json"),
        (&["--resume", "other.json"], 1, "is not a plimsoll/find/1"),
        (&["--slo", "p99<1s", &nowhere], 1, "Connection refused"),
    ] {
        let has_url = arguments.iter().any(|it| it.contains("://") || it.ends_with(".js"));
        let given = if has_url { vec![] } else { vec![url.as_str()] };
        let finished = world.run(&[&["find"][..], arguments, &given].concat());
        assert_eq!(finished.code, Some(code), "{arguments:?}: {finished:?}");
        assert_eq!(finished.stderr.lines().count(), 1, "{arguments:?}: {finished:?}");
        assert!(finished.stderr.contains(says), "{arguments:?}: {finished:?}");
        assert_eq!(finished.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_plan_file_says_what_is_sent_and_how_to_search() {
    let world = World::new();
    let url = world.server.url("/echo");
    let plan = |name: &str, text: &str| {
        fs::write(world.directory.path().join(name), text).expect("a file");
    };
    let search = "slo = [\"p99<5s\"]\nquick-only = true\nsettle = \"0s\"\nquick = \"1s\"\n";
    plan("plan.toml", &format!("url = \"{url}\"\nmethod = \"PUT\"\nbody = \"hello\"\n{search}"));
    let flags = ["--from", "50", "--max-rate", "50", "--format", "json"];
    let finished = world.run(&[&["find", "plan.toml"][..], &flags].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    check_schema(&document, "find");
    assert_eq!(document["plan"]["request"]["method"], "PUT");
    assert_eq!(
        (rates(&document), document["settings"]["quick_s"].as_f64()),
        (vec![50.0], Some(1.0))
    );
    plan("rate.toml", &format!("url = \"{url}\"\nrate = 5\n"));
    plan("two.toml", &format!("url = \"{url}\"\n[[run]]\nname = \"a\"\n[[run]]\nname = \"b\"\n"));
    for (name, says) in [
        ("rate.toml", "rate.toml:2: find has no rate: the search chooses"),
        ("two.toml", "a search is about one run, and the plan has 2"),
        ("none.toml", "none.toml"),
    ] {
        let finished = world.run(&["find", name, "--slo", "p99<1s"]);
        assert!(matches!(finished.code, Some(1 | 2)), "{finished:?}");
        assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
        assert!(finished.stderr.contains(says), "{name}: {finished:?}");
    }
}

#[test]
fn two_searches_are_compared() {
    let world = World::new();
    let flags = ["--from", "50", "--max-rate", "50", "-q"];
    for (name, slo) in [("a.json", "p99<5s"), ("b.json", "p99<5s"), ("other.json", "p99<6s")] {
        let finished = world.search(slo, SLOW, &[&flags[..], &["--json", name]].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
    // The line falls by a fifth, and both were shown by holds.
    for (name, rate_rps, fails_rps) in [("base.json", 1000.0, 1100.0), ("new.json", 800.0, 900.0)] {
        let mut found = world.document("a.json");
        let answer = &mut found["answer"];
        answer["ending"] = "found".into();
        (answer["rate_rps"], answer["fails_rps"]) = (rate_rps.into(), fails_rps.into());
        answer["doubts"] = serde_json::json!([]);
        fs::write(world.directory.path().join(name), found.to_string()).expect("a file");
    }
    for sides in [["a.json", "b.json"], ["base.json", "new.json"]] {
        let written = world.run(&[&["compare", "--format", "json"][..], &sides].concat());
        let document = serde_json::from_str(&written.stdout).expect("JSON");
        check_schema(&document, "find-comparison");
    }
    for (arguments, code, says) in [
        (&["a.json", "b.json"][..], 0, "quick probes show nothing"),
        (&["base.json", "new.json"], 0, "LOWER · the new load line is lower (90 % sure): 1 000/s"),
        (&["new.json", "base.json", "--format", "md"], 0, "## HIGHER: "),
        (&["base.json", "new.json", "--fail-if", "rate<-10%"], 3, "-20.0 %"),
        (&["base.json", "new.json", "--fail-if", "rate<-30%"], 0, "LOWER"),
        (&["base.json", "new.json", "--fail-if", "p99>+5%"], 2, "rate<-5%"),
        (&["a.json", "other.json"], 1, "objectives p99<5s, errors<1% and p99<6s, errors<1%"),
        (&["a.json", "other.json", "--allow-different"], 0, "not alike: objectives"),
    ] {
        let finished = world.run(&[&["compare"][..], arguments].concat());
        assert_eq!(finished.code, Some(code), "{arguments:?}: {finished:?}");
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(said.contains(says), "{arguments:?}: {finished:?}");
    }
}

/// One worker takes 20 ms for each request: with N connections a response takes N times as long,
/// and the rate is 50/s.
#[test]
fn a_closed_search_finds_a_number_of_connections() {
    let world = World::new();
    let flags = ["--closed", "-c", "64", "--json", "closed.json", "--html", "closed.html"];
    let finished = world.search("p99<300ms", "/queue/20ms", &flags);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let text = fs::read_to_string(world.directory.path().join("closed.json")).expect("a file");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    check_schema(&document, "find-closed");
    let answer = &document["answer"];
    assert_eq!(answer["ending"], "guessed", "{finished:?}");
    let count = answer["connections"].as_u64().expect("a number");
    // A second is short, and a response takes up to 280 ms with 14 connections.
    assert!((4..=15).contains(&count), "{finished:?}");
    let rate_rps = answer["rate_rps"].as_f64().expect("a rate");
    assert!((30.0..=51.0).contains(&rate_rps), "{finished:?}");
    let counts: Vec<u64> = document["probes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|probe| probe["plan"]["connections"].as_u64().expect("a number"))
        .collect();
    assert!(counts.starts_with(&[1, 2, 4, 8, 16, 32]), "{counts:?}");
    let words: Vec<&str> = finished.stdout.split_whitespace().collect();
    let words = words.join(" ");
    for part in ["ABOUT · ", "p99<300ms", "closed loop", "Universal Scalability Law", "FAIL"] {
        assert!(words.contains(part), "{part}: {finished:?}");
    }
    let page = fs::read_to_string(world.directory.path().join("closed.html")).expect("a page");
    for part in ["Rate against connections", "Latency against connections", "</html>"] {
        assert!(page.contains(part), "{part}");
    }
    let again = world.run(&["report", "closed.json"]);
    assert_eq!(again.stdout, finished.stdout, "the same as the search wrote");
    for format in ["md", "csv"] {
        let written = world.run(&["report", "closed.json", "--format", format]);
        assert_eq!(written.code, Some(0), "{written:?}");
        assert!(written.stdout.lines().count() > counts.len(), "{written:?}");
    }
    for (arguments, code, says) in [
        (&["compare", "closed.json", "closed.json"][..], 1, "is a search for connections"),
        (&["report", "closed.json", "--gate", "p99<1s"], 2, "has its objectives"),
        (&["find", "--resume", "closed.json"], 1, "is not a plimsoll/find/1"),
        (&["find", "--closed", "--max-rate", "5"], 2, "cannot be used with"),
        (&["find", "--closed"], 2, "give 1 to 16, such as --slo"),
    ] {
        let url = world.server.url("/");
        let url = if arguments[0] == "find" { vec![url.as_str()] } else { Vec::new() };
        let finished = world.run(&[arguments, &url].concat());
        assert_eq!(finished.code, Some(code), "{arguments:?}: {finished:?}");
        assert_eq!(finished.stderr.lines().count(), 1, "{arguments:?}: {finished:?}");
        assert!(finished.stderr.contains(says), "{arguments:?}: {finished:?}");
    }
}

/// All connections wait to the end, so there is hardly a response that could be late.
#[test]
fn a_closed_search_does_not_pass_a_server_that_hangs() {
    let world = World::new();
    let hanging = Peer::answering(|_| Answer::Hang);
    let url = hanging.url("/");
    let flags = ["p99<1s", &url, "--closed", "-c", "2", "--drain", "200ms"];
    let finished = world.run(&[&QUICK[..], &flags].concat());
    assert_eq!(finished.code, Some(4), "nothing is shown: {finished:?}");
}
