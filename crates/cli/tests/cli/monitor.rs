//! `run --monitor`: whose processes are watched, and the message when no process is found.

use crate::closed::ClosedPort;
use crate::support::{Server, measure, plimsoll, run};

#[test]
fn a_server_is_watched_by_number_and_by_port() {
    let server = Server::start(&[]);
    let url = server.url("/");
    let (pid, port) = (server.id(), server.addresses()[0].port());
    for monitor in [pid.to_string(), format!(":{port}")] {
        let report = measure(&["--monitor", &monitor, "--warmup", "300ms", "-d", "500ms", &url]);
        assert_eq!(report.at("/target/watched/0/pids"), &serde_json::json!([pid]), "{monitor}");
        assert_eq!(report.text("/target/watched/0/name"), "plimsoll");
        assert_eq!(report.number("/target/samples/0/t_s"), 0.0);
        assert_eq!(report.number("/target/samples/0/cpu_user_s"), 0.0);
        assert!(report.number("/target/cpu_s") > 0.0, "{monitor}");
        assert!(report.count("/target/rss_peak_bytes") > 1 << 20);
        assert_eq!(report.at("/target/ended_at_s"), &serde_json::Value::Null);
    }
    let finished = run(plimsoll(&["--monitor", &pid.to_string(), "-n", "100", &url])
        .args(["-q", "--format", "text"]));
    assert!(finished.stdout.contains("\nServer    "), "{finished:?}");
}

#[test]
fn nobody_to_watch_is_said_before_the_load() {
    let server = Server::start(&[]);
    let url = server.url("/");
    let closed = ClosedPort::new();
    let port = closed.port();
    for (monitor, code, says) in [
        ("999999999", 1, "--monitor: there is no process 999999999 here"),
        ("no-such-server", 1, "--monitor: no process here is called 'no-such-server'"),
        (&format!(":{port}"), 1, &format!("--monitor: nobody listens on TCP port {port} here")),
        (":web", 2, "':web' is not a process"),
    ] {
        let finished =
            run(plimsoll(&["--monitor", monitor, "-n", "100", &url]).args(["--gate", "p99<1s"]));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(code), ""), "{finished:?}");
        assert!(finished.stderr.contains(says), "{monitor}: {}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "{monitor}: {}", finished.stderr);
    }
}
