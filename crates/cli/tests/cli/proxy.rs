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
        (&["--to", "127.0.0.1:80", "--balance", "x"], 2, "none of round-robin"),
        (&["--to", "127.0.0.1:80", "--workers", "0"], 1, "at least one worker is needed"),
        (&["--to", "127.0.0.1:80", "--cert", "/none", "--key", "/none"], 1, "--cert /none"),
        (&["--to", "127.0.0.1:80", "--health-path", "a b"], 1, "of a health check starts with /"),
    ] {
        let finished = run(plimsoll(&["proxy", "--listen", "0"]).args(flags));
        assert_eq!(finished.code, Some(code), "{flags:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(line), "{flags:?}: {}", finished.stderr);
    }
}
