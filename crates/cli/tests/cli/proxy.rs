//! `plimsoll proxy`: what it forwards, what it says at the end, and what it refuses.

use rustix::process::Signal;

use crate::support::{Server, measure, plimsoll, run};

/// A proxy on one address, with flags.
fn start(flags: &[&str]) -> Server {
    Server::run("proxy", &[&["--listen", "127.0.0.1:0"], flags].concat(), 1)
}

#[test]
fn a_load_goes_through_and_is_counted() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("access.log");
    let log = log.to_str().expect("text");
    for driver in ["auto", "epoll"] {
        let to = format!("{},{}", server.url("/"), server.addresses()[0]);
        let flags = ["--to", &to, "--driver", driver, "--json", "--access-log", log];
        let proxy = start(&flags);
        let report = measure(&[&proxy.url("/"), "-n", "500", "-c", "8"]);
        assert_eq!(report.ledger(["ok"]), [500]);
        let finished = proxy.finish_by(Signal::TERM);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
        let counts = finished.stdout.lines().last().expect("counts");
        let counts: serde_json::Value = serde_json::from_str(counts).expect("JSON");
        assert_eq!(counts["completed"], 500, "{counts}");
        assert_eq!(counts["responses_2xx"], 500, "{counts}");
        let lines = std::fs::read_to_string(log).expect("a log");
        assert_eq!(lines.lines().count(), 500);
        let is_whole = |line: &str| line.contains("\"GET / HTTP/1.1\" 200 11 ");
        assert!(lines.lines().all(is_whole), "{lines}");
        std::fs::remove_file(log).expect("removed");
    }
}

#[test]
fn http2_is_spoken_on_the_same_port_and_logged() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("access.log");
    let log = log.to_str().expect("text");
    for (front, load) in [(&[][..], &["--http", "2"][..]), (&["--tls"], &["--http", "2", "-k"])] {
        let to = server.url("");
        let proxy = start(&[&["--to", &to, "--json", "--access-log", log], front].concat());
        let url = proxy.url("/");
        let report = measure(&[&[&*url, "-n", "500", "-c", "2", "-m", "8"], load].concat());
        assert_eq!((report.ledger(["ok"]), report.text("/protocols/0/name")), ([500], "h2"));
        let report = measure(&[&url, "-n", "5", "-c", "1", "-k", "--http", "1.1"]);
        assert_eq!(report.ledger(["ok"]), [5]);
        let finished = proxy.finish_by(Signal::TERM);
        let counts = finished.stdout.lines().last().expect("counts");
        let counts: serde_json::Value = serde_json::from_str(counts).expect("JSON");
        assert_eq!((&counts["completed"], &counts["http2_connections"]), (&505.into(), &2.into()));
        let lines = std::fs::read_to_string(log).expect("a log");
        let count = |what: &str| lines.lines().filter(|line| line.contains(what)).count();
        assert_eq!(count("\"GET / HTTP/2.0\" 200 11 "), 500);
        assert_eq!(count("\"GET / HTTP/1.1\" 200 11 "), 5);
        std::fs::remove_file(log).expect("removed");
    }
}

#[test]
fn limits_for_slow_clients_are_taken() {
    let server = Server::start(&[]);
    let to = server.url("/");
    for flags in [
        &["--body-buffer", "0", "--body-timeout", "0", "--client-rate", "0"][..],
        &["--body-buffer", "4", "--body-buffers", "1M", "--response-buffer", "1k"],
        &["--client-rate", "1k", "--client-slack", "5s", "--body-timeout", "9s", "--fail-on-5xx"],
    ] {
        let proxy = start(&[&["--to", &to, "--json"], flags].concat());
        let load = [&proxy.url("/echo"), "-n", "50", "-c", "2", "--method", "POST"];
        let report = measure(&[&load[..], &["--body", "0123456789"]].concat());
        assert_eq!(report.ledger(["ok"]), [50], "{flags:?}");
        let finished = proxy.finish_by(Signal::TERM);
        let counts = finished.stdout.lines().last().expect("counts");
        let counts: serde_json::Value = serde_json::from_str(counts).expect("JSON");
        let ends = [&counts["requests"], &counts["completed"], &counts["bodies_refused"]];
        assert_eq!(ends, [50, 50, 0], "{counts}");
    }
}

#[test]
fn tls_in_front_and_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    let (behind, front) = (path("behind.pem"), path("front.pem"));
    let server = Server::start(&["--tls-save", &behind]);
    let flags = ["--to", &server.url(""), "--upstream-cacert", &behind, "--tls-save", &front];
    let proxy = start(&flags);
    let report = measure(&[&proxy.url("/"), "--cacert", &front, "-n", "100", "-c", "4"]);
    assert_eq!(report.ledger(["ok"]), [100]);
    let finished = proxy.finish_by(Signal::INT);
    assert!(finished.stdout.contains("100  completed"), "{}", finished.stdout);
}

#[test]
fn what_makes_no_sense_is_said_in_one_line() {
    for (flags, code, line) in [
        (&["--to", "ftp://a"][..], 2, "--to: 'ftp://a': unknown scheme 'ftp'"),
        (&["--to", "http://127.0.0.1/x"], 2, "has a path"),
        (&["--to", "127.0.0.1:80", "--upstream-insecure"], 2, "need an upstream with https://"),
        (&["--to", "127.0.0.1:80", "--health-timeout", "2s"], 2, "--health-path <PATH>"),
        (&["--to", "127.0.0.1:80", "--health-interval", "2s"], 2, "--health-path <PATH>"),
        (&["--to", "127.0.0.1:80", "--balance", "x"], 2, "not one of round-robin"),
        (&["--to", "127.0.0.1:80", "--body-buffer", "1x"], 2, "--body-buffer"),
        (&["--to", "127.0.0.1:80", "--client-slack", "0s"], 2, "it has to be more than 0"),
        (&["--to", "127.0.0.1:80", "-t", "0"], 2, "0 threads do nothing"),
        (&["--to", "127.0.0.1:80", "--workers", "0"], 2, "--threads"),
        (&["--to", "127.0.0.1:80", "--json", "--access-log", "-"], 2, "both go to stdout"),
        (&["--to", "127.0.0.1:80", "--tls-save", "-"], 2, "stdout says where"),
        (&["--to", "127.0.0.1:80", "--cert", "/none", "--key", "/none"], 1, "--cert /none"),
        (&["--to", "127.0.0.1:80", "--health-path", "a b"], 1, "of a health check starts with /"),
    ] {
        let finished = run(plimsoll(&["proxy", "--listen", "0"]).args(flags));
        assert_eq!(finished.code, Some(code), "{flags:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(line), "{flags:?}: {}", finished.stderr);
    }
}
