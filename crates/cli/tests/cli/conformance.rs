//! `plimsoll conformance`: experiments whose outcome does not hang on how fast the machine is, and
//! what it refuses.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Running, Stream, plimsoll, run};

fn findings(flags: &[&str]) -> Value {
    let finished = run(plimsoll(&["conformance", "--format", "json"]).args(flags));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    serde_json::from_str(&finished.stdout).expect("findings")
}

#[test]
fn experiments_by_number_of_requests_pass() {
    let findings = findings(&["--only", "few-samples,truncated,http-shapes", "--repeats", "2"]);
    assert_eq!(findings["schema"], "plimsoll/conformance/1");
    assert_eq!(findings["tools"][0]["name"], "plimsoll");
    let rows = findings["experiments"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        let repeats = row["cells"][0]["repeats"].as_array().expect("repeats");
        assert_eq!(repeats.len(), 2);
        assert!(repeats.iter().all(|outcome| outcome["outcome"] == "pass"), "{row:#}");
    }
}

/// A tester that prints nothing cannot pass.
#[test]
fn a_tester_that_says_nothing_is_unmeasured() {
    let flags =
        ["--only", "few-samples", "--tool", "plimsoll", "--tool-path", "plimsoll=/bin/true"];
    let findings = findings(&flags);
    let outcome = &findings["experiments"][0]["cells"][0]["repeats"][0];
    assert_eq!(outcome["outcome"], "unmeasured", "{outcome}");
}

#[test]
fn what_is_not_known_is_refused() {
    for (flags, code, part) in [
        (&["--only", "bogus"][..], 2, "no experiment 'bogus'"),
        (&["--tool", "bogus"], 2, "no tester 'bogus'"),
        (&["--tool-path", "wrk=/wrk"], 2, "without --tool wrk"),
        (&["--tool-path", "wrk"], 2, "not NAME=PATH"),
        (
            &["--tool-path", "plimsoll=/no/such/program", "--tool", "plimsoll"],
            1,
            "/no/such/program",
        ),
    ] {
        let finished = run(plimsoll(&["conformance"]).args(flags));
        assert_eq!(finished.code, Some(code), "{flags:?}: {finished:?}");
        assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
        assert!(finished.stderr.contains(part), "{finished:?}");
    }
}

#[test]
fn experiments_and_testers_are_listed() {
    let finished = run(&mut plimsoll(&["conformance", "--list"]));
    assert_eq!(finished.code, Some(0));
    for part in ["stalled-server", "testers: plimsoll, "] {
        assert!(finished.stdout.contains(part), "{}", finished.stdout);
    }
}

#[test]
fn a_signal_ends_it_with_what_there_is() {
    let flags = ["conformance", "--only", "few-samples,memory,end-of-run"];
    let mut running = Running::start(&mut plimsoll(&flags));
    while !running.next_line(Stream::Err).starts_with("memory") {}
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(130));
    assert!(finished.stdout.contains("stopped from outside"), "{}", finished.stdout);
    assert!(finished.stdout.contains("not run"), "{}", finished.stdout);
}
