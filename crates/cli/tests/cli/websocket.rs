//! WebSockets of our own server under our own load: what is counted, timed and refused.

use crate::peer::{Answer, OK, Peer};
use crate::support::{Report, Server, measure, plimsoll, run};

/// Measures messages to a path of the server.
fn load(server: &Server, path: &str, flags: &[&str]) -> Report {
    let url = server.url(path).replacen("http", "ws", 1);
    let arguments =
        [&[url.as_str(), "--insecure", "--ws-message", "hello {{seq}}"], flags].concat();
    measure(&arguments)
}

/// Runs what is to be refused; gives the one line that says why.
fn refused(arguments: &[&str], code: i32) -> String {
    let seen = run(&mut plimsoll(arguments));
    assert_eq!(
        (seen.code, seen.stdout.as_str()),
        (Some(code), ""),
        "{arguments:?}: {}",
        seen.stderr
    );
    assert_eq!(seen.stderr.lines().count(), 1, "{arguments:?}: {}", seen.stderr);
    seen.stderr
}

#[test]
fn exactly_n_messages_over_tls_and_without_on_every_driver() {
    for server in [Server::start(&[]), Server::start(&["--tls"])] {
        for flags in [
            &["-n", "1", "-c", "1"][..],
            &["-n", "997", "-c", "7", "-t", "2"],
            &["-n", "997", "-c", "7", "--driver", "epoll"],
            &["-n", "997", "-c", "3", "-m", "8"],
            &["-n", "200", "-c", "4", "--requests-per-conn", "10"],
            &["-n", "50", "-c", "4", "--no-keepalive"],
            &["-n", "300", "-r", "3k", "--ws-binary"],
            &["-n", "300", "--ws-message", "two", "--ws-reply", "match:^(hello|two)"],
            &["-n", "300", "--expect", "body~=^hello [0-9]+$", "--expect", "bytes=7..9"],
        ] {
            let report = load(&server, "/ws", flags);
            let n: u64 = flags[1].parse().expect("a number");
            let want = [n; 4];
            let ledger = report.ledger(["scheduled", "sent", "completed", "ok"]);
            assert_eq!(ledger, want, "{flags:?}");
            assert!(report.errors().is_empty(), "{flags:?}: {:?}", report.errors());
            assert_eq!(report.text("/protocols/0/name"), "websocket");
            assert_eq!(report.count("/protocols/0/completed"), n, "{flags:?}");
            assert_eq!(report.count("/pushed/messages"), 0, "{flags:?}");
        }
    }
}

#[test]
fn messages_are_compressed_if_both_sides_want_it() {
    for server in [Server::start(&[]), Server::start(&["--tls"])] {
        for flags in [
            &["-n", "300", "-c", "3", "-m", "4"][..],
            &["-n", "300", "-c", "3", "--requests-per-conn", "10", "--driver", "epoll"],
        ] {
            let long = "as long as it is dull, ".repeat(2000);
            let all = [&["--ws-message", &long, "--ws-compress"], flags].concat();
            let report = load(&server, "/ws?fragments=2", &all);
            assert_eq!(report.ledger(["sent", "ok"]), [300; 2], "{:?}", report.errors());
            let count = |at: &str| report.count(&format!("/compression/{at}"));
            let opened = report.count("/protocols/0/connections");
            assert_eq!([count("agreed"), count("declined")], [opened, 0]);
            for way in ["sent", "received"] {
                let [messages, bytes, compressed_bytes] = ["messages", "bytes", "compressed_bytes"]
                    .map(|it| count(&format!("{way}/{it}")));
                assert_eq!(messages, 300, "{way}");
                assert!(bytes > 150 * 46_000 && compressed_bytes * 20 < bytes, "{way}: {bytes}");
            }
        }
        let plain = load(&server, "/ws", &["-n", "10"]);
        assert!(plain.at("").get("compression").is_none(), "nothing was offered");
    }
}

#[test]
fn messages_taken_in_turn_have_a_line_each() {
    let report = load(&Server::start(&[]), "/ws", &["--ws-message", "other", "-n", "101"]);
    let counts = |at: usize| report.count(&format!("/endpoints/{at}/ledger/ok"));
    assert_eq!([counts(0), counts(1)], [51, 50]);
    assert_eq!(report.text("/endpoints/1/name"), "message 2");
}

/// The server waits at least as long as it was asked to.
#[test]
fn a_message_takes_what_the_server_takes_up_to_the_last_fragment() {
    let server = Server::start(&[]);
    let path = "/ws?delay=20ms&fragments=3&pause=30ms";
    let report = load(&server, path, &["-n", "8", "-c", "4"]);
    assert!(report.number("/latency/service/min_us") >= 80_000.0);
    assert!(report.number("/phases/receiving/min_us") >= 60_000.0 * 0.99);
    assert_eq!(report.count("/phases/greeting/count"), 4);
}

/// A message is due every millisecond, so one at least comes in the 10 ms before each reply.
#[test]
fn pushed_messages_are_counted_apart() {
    let server = Server::start(&[]);
    let flags = ["-n", "20", "-c", "1", "--ws-reply", "match:^hello"];
    let report = load(&server, "/ws?push=1ms&size=10&delay=10ms", &flags);
    assert_eq!(report.ledger(["ok"]), [20]);
    let messages = report.count("/pushed/messages");
    assert!(messages >= 20, "{messages}");
    assert_eq!(report.count("/pushed/bytes"), 10 * messages);
}

#[test]
fn a_close_between_messages_is_no_error_and_one_with_messages_open_breaks_them() {
    let server = Server::start(&[]);
    let report = load(&server, "/ws?close-after=5", &["-n", "50", "-c", "1"]);
    let [ok, broken, reconnects] = report.ledger(["ok", "broken", "reconnects"]);
    assert_eq!(ok + broken, 50);
    assert!(reconnects >= 9, "{reconnects}");
    let path = "/ws?close-after=5&close-code=1001&delay=1ms";
    let report = load(&server, path, &["-n", "100", "-c", "1", "-m", "8"]);
    let [ok, broken] = report.ledger(["ok", "broken"]);
    assert_eq!(ok + broken, 100);
    assert!(broken > 0);
    let errors = report.errors();
    assert!(errors.iter().all(|(_, kind, _)| *kind == "close:1001"), "{errors:?}");
}

#[test]
fn without_replies_all_messages_are_sent() {
    let report = load(&Server::start(&[]), "/ws", &["-n", "500", "--ws-reply", "none"]);
    assert_eq!(report.ledger(["sent", "ok"]), [500, 500]);
}

/// Whether a report has a cause of this name.
fn has_cause(report: &Report, code: &str) -> bool {
    let causes = report.at("/loader/causes").as_array().expect("a list");
    causes.iter().any(|cause| cause["code"] == code)
}

/// The server closes behind the fifth message: that a later one meets it is an error of the
/// connection, and the message is sent again or broken.
#[test]
fn a_server_that_closes_while_no_reply_is_awaited_makes_the_result_suspect() {
    let server = Server::start(&[]);
    let flags = ["-n", "100", "-r", "500", "-c", "1", "--ws-reply", "none"];
    let report = load(&server, "/ws?close-after=5", &flags);
    let [ok, broken] = report.ledger(["ok", "broken"]);
    assert_eq!(ok + broken, 100);
    assert!(!report.errors().is_empty() && has_cause(&report, "unconfirmed"));
    let report = load(&server, "/ws", &flags);
    assert!(report.errors().is_empty() && !has_cause(&report, "unconfirmed"));
}

#[test]
fn pushes_that_may_be_taken_for_replies_make_the_result_suspect() {
    let server = Server::start(&[]);
    let flags = ["-n", "20", "-r", "100", "-c", "1"];
    let report = load(&server, "/ws?push=1ms", &flags);
    assert!(has_cause(&report, "pushed_replies"));
    let matching = [&flags[..], &["--ws-reply", "match:^hello"]].concat();
    let report = load(&server, "/ws?push=1ms", &matching);
    assert!(!has_cause(&report, "pushed_replies") && report.count("/pushed/messages") > 0);
}

#[test]
fn what_is_no_websocket_is_told_before_the_load() {
    let server = Server::start(&[]);
    let message = &["--ws-message", "x"][..];
    let of = |path: &str, flags: &[&str], code| {
        let url = server.url(path).replacen("http", "ws", 1);
        refused(&[&["run", &url], message, flags].concat(), code)
    };
    for (path, flags, says) in [
        ("/", &[][..], "answered 200 instead of upgrading to WebSocket"),
        ("/none", &[], "answered 404 instead of upgrading to WebSocket"),
        ("/ws?push=x", &[], "answered 400 instead of upgrading to WebSocket"),
    ] {
        let line = of(path, flags, 1);
        assert!(line.contains(says), "{path}: {line}");
    }
    let other = Peer::answering(|_| Answer::Say(OK));
    let line = refused(&["run", &format!("ws://{}/", other.address()), "--ws-message", "x"], 1);
    assert!(line.contains("answered 200 instead"), "{line}");
}

#[test]
fn what_makes_no_sense_for_messages_is_refused_in_one_line() {
    const URL: &str = "ws://127.0.0.1:1/ws";
    const MESSAGE: [&str; 2] = ["--ws-message", "x"];
    for (flags, says) in [
        (&["--redirects", "2"][..], "--redirects means nothing"),
        (&["--cookies"], "--cookies means nothing"),
        (&["-X", "POST"], "-X means nothing"),
        (&["--http", "2"], "--http means nothing"),
        (&["--pipeline", "2"], "give -m"),
        (&["-b", "x"], "give messages with --ws-message"),
        (&["--expect", "status=200"], "neither a status nor headers"),
        (&["--expect", "header:a=b"], "neither a status nor headers"),
        (&["--ws-reply", "match:("], "'(' is no regular expression: unclosed group"),
        (&["--ws-reply", "match:x", "-m", "2"], "replies that come in order"),
        (&["-H", "Sec-WebSocket-Key: x"], "set by the handshake"),
        (&["-H", "X-Id: {{seq}}"], "a template cannot stand"),
        (&["-m", "0"], "cannot send anything"),
    ] {
        let line = refused(&[&["run", URL][..], &MESSAGE, flags].concat(), 2);
        assert!(line.contains(says), "{flags:?}: {line}");
    }
    let line = refused(&["run", URL, "--ws-message", "@none"], 1);
    assert!(line.contains("message file 'none'"), "{line}");
    let line = refused(&["run", URL], 2);
    assert!(line.contains("a WebSocket needs a message: give one with --ws-message"), "{line}");
}
