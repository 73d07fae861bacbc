//! `--out`: what receivers get is what the report says, and a receiver that takes nothing changes
//! nothing but a line on stderr.

use std::fs;
use std::net::UdpSocket;
use std::time::Duration;

use rustix::process::Signal;

use crate::peer::{Answer, OK, Peer};
use crate::support::{Report, Running, Server, Stream, plimsoll, run, without_options_of_k6};

const TAKEN: &str = "HTTP/1.1 204 No Content\r\n\r\n";
const REFUSED: &str = "HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\n\r\nbad point";

/// The sum of a field over all points.
fn sum(requests: &[String], field: &str) -> u64 {
    let lines = requests.iter().flat_map(|request| request.lines());
    let points = lines.filter(|line| line.starts_with("plimsoll,"));
    let fields = points.flat_map(|line| line.split(' ').nth(1).expect("fields").split(','));
    let values = fields.filter_map(|pair| pair.strip_prefix(field)?.strip_prefix('='));
    values.map(|value| value.trim_end_matches('i').parse::<u64>().expect("a count")).sum()
}

#[test]
fn points_of_influx_add_up_to_the_ledger_of_the_report() {
    // Every fifth request fails.
    let server = Peer::answering(|number| match number % 5 {
        4 => Answer::Say("HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"),
        _ => Answer::Say(OK),
    });
    let receiver = Peer::answering(|_| Answer::Say(TAKEN));
    let out = format!("influx={}", receiver.url("/load"));
    let arguments = ["-n", "200", "-r", "150", "-c", "2", "--out", &out, "--out-label", "run=a"];
    let finished = run(plimsoll(&arguments).args(["--format", "json", &server.url("/")]));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    let report = Report::read(&finished.stdout);
    let requests = receiver.requests();
    let names = ["scheduled", "sent", "completed", "ok", "failed", "timed_out", "broken", "unsent"];
    for (name, want) in names.iter().zip(report.ledger(names)) {
        assert_eq!(sum(&requests, name), want, "{name}: {requests:?}");
    }
    assert!(report.ledger(["failed"]) > [0]);
    assert!(requests[0].starts_with("POST /write?db=load&precision=ns HTTP/1.1\r\n"));
    assert!(requests[0].contains("plimsoll_events,run=a,target=127.0.0.1:"), "{requests:?}");
}

#[test]
fn counts_of_statsd_add_up_to_the_ledger_of_the_report() {
    let server = Server::start(&[]);
    let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = receiver.local_addr().expect("an address");
    let out = format!("statsd={address}");
    let arguments = ["-n", "100", "-c", "2", "--format", "json", "--out", &out];
    let finished = run(plimsoll(&arguments).arg(server.url("/")));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    // All of it is there by now.
    receiver.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
    let mut sent = 0;
    let mut datagram = [0; 2048];
    while let Ok(length) = receiver.recv(&mut datagram) {
        let text = std::str::from_utf8(&datagram[..length]).expect("text");
        let counts = text.lines().filter_map(|line| line.strip_prefix("plimsoll.sent:"));
        sent += counts
            .map(|value| value.strip_suffix("|c").expect("a count").parse::<u64>().expect("digits"))
            .sum::<u64>();
    }
    assert_eq!([sent], Report::read(&finished.stdout).ledger(["sent"]));
}

#[test]
fn a_receiver_that_refuses_changes_nothing_but_a_line() {
    let server = Server::start(&[]);
    let receiver = Peer::answering(|_| Answer::Say(REFUSED));
    let outs = [format!("influx={}", receiver.url("/a")), format!("otlp={}", receiver.url(""))];
    let mut command = plimsoll(&["-n", "20", "-c", "2", "--format", "json", "--out", &outs[0]]);
    let finished = run(command.args(["--out", &outs[1], "--repeat", "2"]).arg(server.url("/")));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, kind) in lines.iter().zip(["influx at http://127.0.0.1:", "otlp at http://127."]) {
        assert!(line.starts_with(&format!("plimsoll: output {kind}")), "{line}");
        assert!(line.ends_with(" batches were not delivered: HTTP 400: bad point"), "{line}");
    }
}

#[test]
fn a_wait_for_a_last_scrape_is_announced_and_ends_at_a_signal() {
    let server = Server::start(&[]);
    let out = "prometheus=127.0.0.1:0,linger=10m";
    let mut command = plimsoll(&["-n", "1", "-c", "1", "--out", out]);
    let mut running = Running::start(command.arg(server.url("/")));
    let waits = "waiting up to 10m for a last scrape of http://127.0.0.1:";
    while !running.next_line(Stream::Err).contains(waits) {}
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(0), "the run itself was not interrupted: {finished:?}");
    assert!(finished.stdout.contains("200: 1"), "the report was there before: {finished:?}");
    assert!(finished.stderr.contains("because the wait was ended"), "{finished:?}");
}

#[test]
fn what_is_wrong_with_an_output_is_said_before_the_load() {
    let server = Server::start(&[]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = format!("prometheus={}", listener.local_addr().expect("an address"));
    for (arguments, code, want) in [
        (["--out", "graphite=a:1", "-n1"], 2, "'graphite' is not an output"),
        (["--out", "influx=http://u:p@a/d", "-n1"], 2, "has no user and password"),
        (["--out-label", "a=b", "-n1"], 2, "--out-label needs an output: give --out, or set"),
        (["--out=statsd=a:1", "--out-label=le=b", "-n1"], 2, "'le' is not a name of a label"),
        (["--out", &taken, "-n1"], 1, "cannot listen for the output prometheus at 127.0.0.1:"),
    ] {
        let finished = run(plimsoll(&arguments).arg(server.url("/")));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(code), ""), "{finished:?}");
        assert!(finished.stderr.contains(want), "{finished:?}");
    }
}

#[test]
fn command_lines_of_other_testers_send_to_what_the_environment_names() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let document = folder.path().join("result.json");
    for (arguments, flag) in [
        (&["run", "-n", "50", "-c", "2", "-q"][..], "--json"),
        (&["wrk", "-t1", "-c2", "-d1s"], "--json-result"),
        (&["wrk2", "-t1", "-c2", "-d1s", "-R50"], "--json-result"),
        (&["ab", "-n", "50", "-c", "2"], "--json-result"),
        (&["fortio", "load", "-c", "2", "-n", "50", "-qps", "500"], "-json-result"),
    ] {
        let receiver = Peer::answering(|_| Answer::Say(TAKEN));
        let out = format!("influx={}", receiver.url("/load"));
        let mut command = plimsoll(arguments);
        command.env("PLIMSOLL_OUT", &out).env("PLIMSOLL_OUT_LABELS", "run=a,team=web");
        let finished = run(command.arg(flag).arg(&document).arg(server.url("/")));
        assert_eq!(finished.code, Some(0), "{arguments:?}: {finished:?}");
        let report = Report::read(&fs::read_to_string(&document).expect("a document"));
        let requests = receiver.requests();
        let names = ["scheduled", "sent", "completed", "ok", "failed", "unfinished", "unsent"];
        for (name, want) in names.iter().zip(report.ledger(names)) {
            assert_eq!(sum(&requests, name), want, "{arguments:?}: {name}: {requests:?}");
        }
        assert!(report.ledger(["sent"]) > [0], "{arguments:?}");
        assert!(requests[0].contains("plimsoll_events,run=a,target=127.0.0.1:"), "{requests:?}");
        assert!(requests[0].contains(",team=web "), "{requests:?}");
    }
}

#[test]
fn the_command_line_of_k6_says_that_it_has_outputs_of_its_own() {
    let server = Server::start(&[]);
    let receiver = Peer::answering(|_| Answer::Say(TAKEN));
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script.js");
    let text = "import http from 'k6/http'; export default () => { http.get(__ENV.BASE); };";
    fs::write(&script, text).expect("a script");
    let mut command = plimsoll(&["k6", "run", "-q", "-i", "3"]);
    without_options_of_k6(&mut command);
    command.env("PLIMSOLL_OUT", format!("influx={}", receiver.url("/load")));
    let finished = run(command.arg("-e").arg(format!("BASE={}", server.url("/"))).arg(&script));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(
        finished.stderr.contains("PLIMSOLL_OUT is ignored: name outputs in -o"),
        "{finished:?}"
    );
    assert!(receiver.requests().is_empty());
}
