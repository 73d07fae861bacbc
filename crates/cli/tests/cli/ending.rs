//! How runs end that went wrong: the exit code, the lines on stderr, and that JUnit agrees.

use std::fs;

use crate::closed::ClosedPort;
use crate::peer::{Answer, Peer};
use crate::support::{Finished, Report, Server, plimsoll, run};

fn ended(arguments: &[&str]) -> Finished {
    run(&mut plimsoll(arguments))
}

/// The closed loop and a rate, each by time and by number.
const LOADS: [&[&str]; 4] = [
    &["-n", "4"],
    &["-d", "200ms"],
    &["-r", "20", "-d", "200ms"],
    &["-r", "20", "-n", "4", "-d", "2s"],
];

#[test]
fn https_asked_for_as_http_ends_with_1_and_says_what_to_try() {
    let server = Server::start(&["--tls"]);
    let url = server.url("/").replace("https", "http");
    for load in LOADS {
        for driver in ["auto", "epoll"] {
            let flags = [&[url.as_str(), "-c", "2", "--driver", driver], load].concat();
            let Finished { code, stdout, stderr } = ended(&flags);
            assert_eq!(code, Some(1), "{flags:?}: {stderr}");
            assert!(stdout.starts_with("no response to "), "{flags:?}: {stdout}");
            assert_eq!(stderr.lines().count(), 1, "{flags:?}: {stderr}");
            let says = "malformed message head: it looks like TLS: use https:// (receiving)\n";
            assert!(stderr.starts_with("plimsoll: no response to "), "{flags:?}: {stderr}");
            assert!(stderr.ends_with(says), "{flags:?}: {stderr}");
        }
    }
}

#[test]
fn no_response_ends_with_1_whatever_came_instead() {
    for (answer, says) in [
        (Answer::Hang, "nothing within 100ms (waiting)"),
        (Answer::Reset, "Connection reset by peer (waiting)"),
        (Answer::Last(""), "the server closed the connection before the response (waiting)"),
        (Answer::Say("garbage\r\n\r\n"), "malformed message head (receiving)"),
    ] {
        for load in LOADS {
            let peer = Peer::answering(move |_| answer);
            let url = peer.url("/");
            let common = ["-q", "-c", "2", "--timeout", "100ms", url.as_str()];
            let Finished { code, stdout, stderr } = ended(&[&common[..], load].concat());
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{load:?} {answer:?}: {stderr}");
            assert!(stderr.starts_with("plimsoll: no response to "), "{stderr}");
            assert!(stderr.ends_with(&format!(": {says}\n")), "{load:?} {answer:?}: {stderr}");
        }
    }
}

#[test]
fn what_does_not_speak_http2_is_told_before_the_load() {
    for (answer, says) in [
        (
            Answer::Last(""),
            "the server closed the connection without a word of h2: does it speak that here?",
        ),
        (
            Answer::Say("<!DOCTYPE html>"),
            "what came is not HTTP/2: its first frame is not SETTINGS",
        ),
        (
            Answer::Say("HTTP/1.1 400 \r\n\r\n"),
            "the server speaks HTTP/1 where HTTP/2 was expected",
        ),
    ] {
        let peer = Peer::answering(move |_| answer);
        let url = peer.url("/");
        let Finished { code, stdout, stderr } = ended(&["-q", "--http", "2", "-n", "10", &url]);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{answer:?}: {stderr}");
        assert!(stderr.starts_with("plimsoll: no connection to "), "{stderr}");
        assert!(stderr.ends_with(&format!(" could be opened: {says}\n")), "{answer:?}: {stderr}");
    }
}

#[test]
fn a_response_that_failed_is_a_response() {
    let server = Server::start(&[]);
    let Finished { code, stderr, .. } = ended(&[&server.url("/status/500"), "-n", "4"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_quiet_run_says_why_it_failed() {
    let server = Server::start(&[]);
    let (fine, failing) = (server.url("/"), server.url("/status/503"));
    let gates =
        ["--gate", "ok==4", "--gate", "ok==5", "--gate", "tls.p99<1s", "--gate", "failed>9"];
    let failed = "plimsoll: gate 'ok==5' failed: measured 4\n\
                  plimsoll: gate 'tls.p99<1s' failed: nothing to measure (no samples)\n\
                  plimsoll: gate 'failed>9' failed: measured 0\n";
    let doubt = "plimsoll: the result is suspect, not valid: times, the rate in doubt: every response \
                 was a failure; counts hold\n";
    let required = ["--require-valid"];
    for (url, flags, code, says) in [
        (&fine, &gates[..], 3, failed),
        (&fine, &gates[..2], 0, ""),
        (&failing, &required[..], 4, doubt),
        (&failing, &[], 0, ""),
    ] {
        let common = ["-q", "-n", "4", "-c", "1", url.as_str()];
        let quiet = ended(&[&common[..], flags].concat());
        assert_eq!((quiet.code, quiet.stdout.as_str()), (Some(code), ""), "{flags:?}");
        assert_eq!(quiet.stderr, says, "{flags:?}");
        // The report says it where there is one.
        let loud = ended(&[&common[1..], flags].concat());
        assert_eq!((loud.code, loud.stderr.as_str()), (Some(code), ""), "{flags:?}");
        // A format for machines is written anyway.
        let machine = ended(&[&common[..], flags, &["--format", "json"]].concat());
        assert_eq!((machine.code, machine.stderr.as_str()), (Some(code), says), "{flags:?}");
        assert_eq!(Report::read(&machine.stdout).ledger(["sent"]), [4]);
    }
    let abort = ["-r", "50", "-d", "1m", "--abort-when", "errors>5%"];
    let aborted = ended(&[&["-q", failing.as_str()], &abort[..]].concat());
    assert_eq!(aborted.code, Some(3), "{aborted:?}");
    assert_eq!(aborted.stderr, "plimsoll: 'errors>5%' ended the run\n");
}

#[test]
fn a_result_judged_again_in_quiet_says_which_gate_failed() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let json = directory.path().join("result.json");
    let json = json.to_str().expect("a readable path");
    let made = ended(&[&server.url("/"), "-q", "-n", "4", "--json", json]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let judged = ended(&["report", json, "-q", "--gate", "ok==4", "--gate", "ok==5"]);
    assert_eq!((judged.code, judged.stdout.as_str()), (Some(3), ""));
    assert_eq!(judged.stderr, "plimsoll: gate 'ok==5' failed: measured 4\n");
}

/// JUnit fails where the exit code does, and only there.
#[test]
fn junit_and_the_exit_code_agree() {
    let server = Server::start(&[]);
    let plain = Server::start(&["--tls"]);
    let fine = server.url("/");
    let failing = server.url("/status/503");
    let silent = plain.url("/").replace("https", "http");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("junit.xml");
    for (url, flags, code, counts) in [
        (&fine, &["--gate", "ok==4"][..], 0, "tests=\"3\" failures=\"0\" errors=\"0\""),
        (&fine, &["--gate", "ok==5"], 3, "tests=\"3\" failures=\"1\" errors=\"0\""),
        (&failing, &[], 0, "tests=\"2\" failures=\"0\" errors=\"0\""),
        (&failing, &["--require-valid"], 4, "tests=\"2\" failures=\"0\" errors=\"1\""),
        (&silent, &[], 1, "tests=\"2\" failures=\"0\" errors=\"1\""),
    ] {
        let mut command = plimsoll(&["-q", "-n", "4", "-c", "1", url]);
        let finished = run(command.args(flags).arg("--junit").arg(&path));
        assert_eq!(finished.code, Some(code), "{url} {flags:?}: {finished:?}");
        let text = fs::read_to_string(&path).expect("a report");
        assert!(text.contains(counts), "{url} {flags:?}: {text}");
        let has_failed = text.contains("<failure") || text.contains("<error");
        assert_eq!(has_failed, code != 0, "{text}");
        let is_said = url != &failing || text.contains("every response was a failure");
        assert!(is_said, "{text}");
    }
}

#[test]
fn nobody_there_is_one_line_before_any_report() {
    let closed = ClosedPort::new();
    let url = closed.url();
    let Finished { code, stdout, stderr } = ended(&["-q", "-n", "4", &url]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}
