//! `plimsoll conformance`: experiments whose outcome does not depend on the speed of the machine,
//! and what it refuses.

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
    let only = "few-samples,truncated,http-shapes,trailer-status,closed-sockets";
    let findings = findings(&["--only", only, "--repeats", "2"]);
    assert_eq!(findings["schema"], "plimsoll/conformance/1");
    assert_eq!(findings["tools"][0]["name"], "plimsoll");
    let rows = findings["experiments"].as_array().expect("rows");
    assert_eq!(rows.len(), 5);
    for row in rows {
        let repeats = row["cells"][0]["repeats"].as_array().expect("repeats");
        assert_eq!(repeats.len(), 2);
        assert!(repeats.iter().all(|repeat| repeat["outcome"] == "pass"), "{row:#}");
    }
}

/// The oracle behind TLS, from its command line to its log.
#[test]
fn a_handshake_that_does_not_choose_http2_is_refused() {
    let findings = findings(&["--only", "silent-fallback"]);
    let outcome = &findings["experiments"][0]["cells"][0]["repeats"][0];
    assert_eq!(outcome["outcome"], "pass", "{outcome}");
    assert!(outcome["figure"].as_str().expect("a figure").contains("sent 0"), "{outcome}");
}

/// One that ends well without a request cannot pass, and one that ends badly is not judged.
#[test]
fn a_tester_that_sends_nothing_does_not_pass() {
    for (program, want) in [("/bin/true", "fail"), ("/bin/false", "unmeasured")] {
        let path = format!("plimsoll={program}");
        let flags = ["--only", "few-samples,memory", "--tool", "plimsoll", "--tool-path", &path];
        let findings = findings(&flags);
        for row in findings["experiments"].as_array().expect("rows") {
            let outcome = &row["cells"][0]["repeats"][0];
            // A failure while the hypervisor takes the CPUs away proves nothing.
            let why = outcome["why"].as_str().unwrap_or_default();
            let is_excused = why.starts_with("the hypervisor took ");
            assert!(outcome["outcome"] == want || is_excused, "{outcome}");
        }
    }
}

/// What was found once is written again in any format, as it was the first time.
#[test]
fn findings_are_written_again() {
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().join("findings.json");
    let path = path.to_str().expect("a name");
    let made = run(plimsoll(&["conformance", "--only", "few-samples,truncated"])
        .args(["--format", "json", "--output", path]));
    assert_eq!(made.code, Some(0), "{made:?}");
    let again = |flags: &[&str]| {
        run(plimsoll(&["conformance", "--from", path, "--from", path]).args(flags))
    };
    let table = again(&["--format", "md", "--only", "few-samples"]);
    assert_eq!(table.code, Some(0), "{table:?}");
    assert!(table.stdout.contains("| 33 | `few-samples` | pass 2/2 |"), "{}", table.stdout);
    assert!(!table.stdout.contains("truncated"), "{}", table.stdout);
    let missing = run(&mut plimsoll(&["conformance", "--from", "/no/such/file"]));
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.stderr.contains("/no/such/file: "), "{missing:?}");
    let both = again(&["--tool", "wrk"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn what_is_not_known_is_refused() {
    for (flags, code, part) in [
        (&["--only", "bogus"][..], 2, "no experiment 'bogus' (see --list)"),
        (&["--tool", "bogus"], 2, "no tester 'bogus'; there are"),
        (&["--tool", "plimsol"], 2, "no tester 'plimsol': did you mean 'plimsoll'?; there are"),
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
    for part in ["stalled-server", "pipelined-timeouts", "testers: plimsoll, "] {
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
