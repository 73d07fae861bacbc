//! `--wait`: a server that starts late is waited for, and one that never comes is given up.

use rustix::process::Signal;

use crate::closed::ClosedPort;
use crate::peer::{Answer, OK, Peer};
use crate::support::{Report, Running, Server, Stream, plimsoll, run};

#[test]
fn a_server_that_starts_late_is_waited_for() {
    let closed = ClosedPort::new();
    let arguments = ["--wait", "60s", "-n", "10", "-c", "2", "--format", "json", &closed.url()];
    let mut running = Running::start(&mut plimsoll(&arguments));
    let line = running.next_line(Stream::Err);
    assert!(line.starts_with("plimsoll: waiting up to 1m for the server: "), "{line}");
    let peer = Peer::answering_on(closed.listen(), |_| Answer::Say(OK));
    let finished = running.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(Report::read(&finished.stdout).ledger(["completed"]), [10]);
    assert_eq!(peer.requests().len(), 10, "to wait takes no request");
    let last = finished.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("plimsoll: waited ") && last.ends_with(" for the server"), "{last}");
}

#[test]
fn a_server_that_is_there_is_loaded_at_once() {
    let server = Server::start(&[]);
    let finished = run(&mut plimsoll(&["--wait", "60s", "-n", "10", &server.url("/")]));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_server_that_never_comes_is_given_up() {
    let closed = ClosedPort::new();
    let url = closed.url();
    let refused = "Connection refused";
    let nobody = format!("no connection to 127.0.0.1:{} could be opened", closed.port());
    let waiting = format!("plimsoll: waiting up to 150ms for the server: {nobody}: {refused}\n");
    let over = format!("plimsoll: {nobody} in 150ms (--wait): {refused}\n");
    let hint = "if the server is still starting, wait for it with --wait 10s";
    for (arguments, want) in [
        (&["--wait", "150ms", &url][..], format!("{waiting}{over}")),
        (&["-q", "--wait", "150ms", &url], over),
        (&[&url], format!("plimsoll: {nobody}: {refused}: {hint}\n")),
    ] {
        let finished = run(&mut plimsoll(arguments));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{finished:?}");
        assert_eq!(finished.stderr, want, "{arguments:?}");
    }
}

#[test]
fn a_plan_file_may_ask_for_it() {
    let closed = ClosedPort::new();
    let directory = tempfile::tempdir().expect("a directory");
    let plan = directory.path().join("plan.toml");
    let text = format!("url = '{}'\nwait = '150ms'\n", closed.url());
    std::fs::write(&plan, text).expect("a file");
    let finished = run(plimsoll(&["run", "-q"]).arg(&plan));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("in 150ms (--wait): "), "{finished:?}");
}

#[test]
fn a_signal_ends_the_wait() {
    let closed = ClosedPort::new();
    let arguments = ["--wait", "80s", "--format", "json", &closed.url()];
    let mut running = Running::start(&mut plimsoll(&arguments));
    running.next_line(Stream::Err);
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert_eq!(Report::read(&finished.stdout).at("/interrupted"), &true);
}
