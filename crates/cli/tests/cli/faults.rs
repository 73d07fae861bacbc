//! Servers that misbehave: the ledger accounts for every request, each error is counted by its
//! phase and kind, and the run continues to its end.

use std::net::TcpStream;
use std::process::Command;

use rustix::process::Signal;

use crate::peer::{Answer, OK, Peer, reset};
use crate::support::{Report, Running, Server, Stream, measure, plimsoll};

const HALF: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
const HALF_CHUNK: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf";

#[test]
fn what_is_no_response_breaks_the_request_under_its_phase_and_kind() {
    for (answer, phase, kind) in [
        (Answer::Say("garbage\r\n\r\n"), "receiving", "malformed_head"),
        (Answer::Say("SSH-2.0-OpenSSH_9.2\r\n"), "receiving", "malformed_head"),
        (Answer::Say("HTTP/1.1 99999 x\r\n\r\n"), "receiving", "malformed_head"),
        (
            Answer::Say("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
            "receiving",
            "bad_content_length",
        ),
        (
            Answer::Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            "receiving",
            "bad_chunk",
        ),
        (Answer::Last("HTTP/1.1 200 OK\r\nConte"), "receiving", "truncated_head"),
        (Answer::Last(HALF), "receiving", "truncated_body"),
        (Answer::Last(HALF_CHUNK), "receiving", "truncated_body"),
        (Answer::Last(""), "waiting", "closed"),
        (Answer::Reset, "waiting", "reset"),
    ] {
        for driver in ["auto", "epoll"] {
            let peer = Peer::answering(move |_| answer);
            let url = peer.url("/");
            let report = measure(&[&url, "-n", "12", "-c", "4", "--driver", driver]);
            let counts = report.ledger(["sent", "broken", "completed"]);
            assert_eq!(counts, [12, 12, 0], "{answer:?}: {:?}", report.errors());
            assert_eq!(report.errors(), [(phase, kind, 12)], "{answer:?} {driver}");
            assert_eq!(peer.requests().len(), 12, "{answer:?}: each was sent once");
        }
    }
}

#[test]
fn what_never_answers_times_out() {
    for (answer, phase) in [(Answer::Hang, "waiting"), (Answer::Say(HALF), "receiving")] {
        let peer = Peer::answering(move |_| answer);
        let report = measure(&[&peer.url("/"), "-n", "8", "-c", "4", "--timeout", "300ms"]);
        assert_eq!(report.ledger(["sent", "timed_out"]), [8, 8], "{answer:?}");
        assert_eq!(report.errors(), [(phase, "timeout", 8)], "{answer:?}");
        let waited = report.number("/by_outcome/incomplete/min_us");
        assert!(waited >= 300_000.0, "they count with the time they waited: {waited} µs");
    }
}

#[test]
fn what_is_open_when_the_drain_ends_is_unfinished_and_counts() {
    let peer =
        Peer::answering(|number| if number % 2 == 0 { Answer::Say(OK) } else { Answer::Hang });
    let flags = ["-r", "100", "-d", "500ms", "-c", "50", "--drain", "300ms"];
    let report = measure(&[&[peer.url("/").as_str()], &flags[..]].concat());
    assert_eq!(report.ledger(["scheduled", "completed", "unfinished"]), [50, 25, 25]);
    let waited = report.number("/by_outcome/incomplete/min_us");
    assert!(waited >= 300_000.0, "the whole drain: {waited} µs");
}

#[test]
fn what_finds_no_connection_is_unsent_and_counts() {
    let peer = Peer::answering(|_| Answer::Hang);
    let flags = ["-r", "20", "-d", "500ms", "-c", "2", "--drain", "100ms"];
    let report = measure(&[&[peer.url("/").as_str()], &flags[..]].concat());
    assert_eq!(report.ledger(["scheduled", "sent", "unfinished", "unsent"]), [10, 2, 2, 8]);
    // The third slot was due after 100 ms and waited for the other 400.
    let longest_unsent = report.histogram("/latency/response").value_at_quantile(0.8);
    assert!(longest_unsent >= 399_000_000, "{longest_unsent} ns");
}

/// Connections that are lost before anything was asked on them cost no request its account.
#[test]
fn connections_that_do_not_last_do_not_upset_the_accounts() {
    let close: fn(TcpStream) = drop;
    let shout: fn(TcpStream) = |mut stream| {
        use std::io::Write as _;
        let _ = stream.write_all(b"220 who are you\r\n");
    };
    for (act, name) in [(close, "close"), (reset as fn(TcpStream), "reset"), (shout, "shout")] {
        let peer = Peer::accepting(act);
        let url = peer.url("/");
        for flags in
            [&["-r", "50", "-d", "600ms"][..], &["-d", "300ms"], &["-n", "5", "--timeout", "1s"]]
        {
            let report = measure(&[&[url.as_str(), "-c", "4", "--drain", "500ms"], flags].concat());
            assert_eq!(report.ledger(["completed"]), [0], "{name} {flags:?}");
            if flags[0] == "-r" {
                assert_eq!(report.ledger(["scheduled"]), [30], "{name}");
            }
            assert_eq!(report.text("/loader/verdict"), "invalid", "nothing was measured");
            // Four connections that come back after 10, 20, 40 ms ... knock this often at most.
            let connects = report.count("/phases/connect/count") + report.ledger(["reconnects"])[0];
            assert!(connects <= 200, "{name} {flags:?}: {connects} is hammering");
        }
    }
}

/// A server that fails every third request one way and every third another.
#[test]
fn faults_among_good_answers_are_told_apart() {
    let peer = Peer::answering(|number| match number % 6 {
        1 => Answer::Reset,
        3 => Answer::Last(HALF),
        5 => Answer::Say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
        _ => Answer::Say(OK),
    });
    let report = measure(&[&peer.url("/"), "-n", "600", "-c", "5"]);
    assert_eq!(report.ledger(["sent", "ok", "failed", "broken"]), [600, 300, 100, 200]);
    let mut errors = report.errors();
    errors.sort_unstable();
    assert_eq!(errors, [("receiving", "truncated_body", 100), ("waiting", "reset", 100)]);
    assert_eq!(peer.requests().len(), 600);
}

#[test]
fn errors_of_the_built_in_server_fail_requests() {
    let server = Server::start(&["--errors", "25%:503,25%:500"]);
    let report = measure(&[&server.url("/"), "-n", "4000", "-c", "8"]);
    let [busy, broken] = ["503", "500"].map(|status| report.count(&format!("/status/{status}")));
    assert_eq!(report.ledger(["completed", "failed"]), [4000, busy + broken]);
    // Drawn from a seed; five standard deviations are 137.
    assert!([busy, broken].iter().all(|count| (863..=1137).contains(count)), "{busy} {broken}");
}

#[test]
fn resets_of_the_built_in_server_break_requests() {
    let server = Server::start(&["--reset", "20%"]);
    let report = measure(&[&server.url("/"), "-n", "1000", "-c", "8"]);
    let [sent, completed, broken] = report.ledger(["sent", "completed", "broken"]);
    assert_eq!((sent, completed + broken), (1000, 1000));
    assert!((136..=264).contains(&broken), "{broken} of 1000 at 20 %");
    let resets: u64 = report
        .errors()
        .iter()
        .map(|(_, kind, count)| {
            assert_eq!(*kind, "reset");
            *count
        })
        .sum();
    assert_eq!(resets, broken);
    assert!(report.ledger(["reconnects"])[0] >= broken - 8, "each took its connection along");
}

#[test]
fn connections_closed_by_the_built_in_server_are_opened_again_without_loss() {
    let server = Server::start(&["--close-every", "10"]);
    for flags in [&["-n", "1000", "-c", "7"][..], &["-r", "1000", "-d", "1s", "-c", "7"]] {
        let report = measure(&[&[server.url("/").as_str()], flags].concat());
        let [completed, broken, unsent] = report.ledger(["completed", "broken", "unsent"]);
        assert_eq!((completed + unsent, broken), (1000, 0), "{flags:?}: {:?}", report.errors());
        let reconnects = report.ledger(["reconnects"])[0];
        assert!(reconnects + 7 >= completed.div_ceil(10), "{flags:?}: {reconnects} connections");
    }
}

#[test]
fn a_stall_of_the_built_in_server_is_waited_for() {
    let server = Server::start(&["--stall", "200ms/600ms"]);
    let report = measure(&[&server.url("/"), "-r", "200", "-d", "1500ms", "-c", "50"]);
    assert_eq!(report.ledger(["scheduled", "completed", "unsent"]), [300, 300, 0]);
    // 1.5 s hold two stalls whole, whenever they began.
    let max = report.number("/latency/response/max_us");
    assert!(max >= 190_000.0, "{max} µs");
}

#[test]
fn latency_of_the_built_in_server_is_all_in_the_service_time() {
    let server = Server::start(&["--latency", "100%:50ms"]);
    let report = measure(&[&server.url("/"), "-n", "40", "-c", "8"]);
    let min = report.number("/latency/service/min_us");
    assert!(min >= 50_000.0, "{min} µs");
}

/// Killed for a second in the middle of a run, then back on the same port.
#[test]
fn a_server_that_dies_and_comes_back_is_loaded_again() {
    for driver in ["auto", "epoll"] {
        let mut server = Server::start(&[]);
        let address = server.addresses()[0].to_string();
        let url = server.url("/");
        let directory = tempfile::tempdir().expect("a directory");
        let json = directory.path().join("json");
        let mut command: Command = plimsoll(&[&url, "-r", "200", "-d", "4s", "-c", "10", "-q"]);
        command.args(["--timeseries", "/dev/stdout", "--driver", driver, "--json"]).arg(&json);
        let mut load = Running::start(&mut command);
        load.next_line(Stream::Out);
        server.finish_by(Signal::KILL);
        load.next_line(Stream::Out);
        server = Server::listen(&["--listen", &address], 1);
        let finished = load.finish();
        drop(server);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
        let text = std::fs::read_to_string(&json).expect("a report");
        assert_dead_and_back(&Report::read(&text));
    }
}

fn assert_dead_and_back(report: &Report) {
    let [scheduled, completed, broken] = report.ledger(["scheduled", "completed", "broken"]);
    assert_eq!(scheduled, 800);
    // What was open when it died is lost, at most one request for each connection; what was due
    // while it was dead waits for its return.
    assert!(broken <= 10 && completed + broken >= 790, "{}", report.at("/ledger"));
    let refused: u64 = report
        .errors()
        .iter()
        .filter(|(phase, kind, _)| (*phase, *kind) == ("connect", "refused"))
        .map(|(_, _, count)| count)
        .sum();
    // None if the server was back before the first attempt, as on a busy machine.
    assert!(refused <= 100, "with backoff, not hammering: {:?}", report.errors());
    let max = report.number("/latency/response/max_us");
    assert!(max > 100_000.0, "who came while it was dead waited: {max} µs");
}
