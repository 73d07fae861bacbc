//! A control socket's answers about a run, and its command to stop.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

use crate::support::{Report, Running, Server, check_schema, plimsoll, run};

fn connect(path: &Path, running: &mut Running) -> UnixStream {
    loop {
        if let Ok(stream) = UnixStream::connect(path) {
            return stream;
        }
        assert!(running.ended().is_none(), "the run ended without a socket");
        std::thread::yield_now();
    }
}

fn ask(stream: &mut UnixStream, line: &str) -> Value {
    stream.write_all(format!("{line}\n").as_bytes()).expect("a command sent");
    let mut answer = String::new();
    BufReader::new(&*stream).read_line(&mut answer).expect("an answer");
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn a_run_tells_how_it_goes_and_stops_when_told() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("run.sock");
    let url = server.url("/");
    let arguments = ["-r", "200", "-d", "80s", "-c", "4", "--format", "json", "--control"];
    let mut running = Running::start(plimsoll(&arguments).arg(&path).arg(&url));
    let mut client = connect(&path, &mut running);
    let status = loop {
        let status = ask(&mut client, r#"{"command":"status"}"#);
        assert!(status.get("error").is_none(), "{status}");
        if status["last_second"].is_object() {
            break status;
        }
        assert!(running.ended().is_none(), "{status}");
        std::thread::yield_now();
    };
    assert_eq!(status["phase"], "measuring", "{status}");
    assert_eq!(status["target_rps"], 200.0, "{status}");
    assert_eq!((&status["connections"], &status["opened"]), (&4.into(), &4.into()), "{status}");
    assert!(status["ledger"]["completed"].as_u64() > Some(0), "{status}");
    assert!(status["last_second"]["response"]["p99_us"].is_f64(), "{status}");
    assert!(ask(&mut client, "{}")["error"].is_string());
    assert_eq!(ask(&mut client, r#"{"command":"rate","rps":"0.3k"}"#)["rps"], 300.0);
    assert_eq!(ask(&mut client, r#"{"command":"connections","count":2}"#)["connections"], 2);
    let too_many = ask(&mut client, r#"{"command":"connections","count":5}"#);
    assert!(too_many["error"].as_str().is_some_and(|text| text.contains("1 to 4")), "{too_many}");
    let changed = ask(&mut client, r#"{"command":"status"}"#);
    assert_eq!((&changed["target_rps"], &changed["connections"]), (&300.0.into(), &2.into()));
    assert_eq!(ask(&mut client, r#"{"command":"stop"}"#)["stopping"], true);
    let finished = running.finish();
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    let report = Report::read(&finished.stdout);
    assert_eq!(report.at("/interrupted"), true);
    assert_eq!(report.number("/rate/changes/0/rps"), 300.0);
    assert_eq!(report.count("/connections/changes/0/connections"), 2);
    check_schema(report.at(""), "result");
    assert!(!path.exists());
}

#[test]
fn a_path_that_is_taken_is_refused_before_the_load() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("run.sock");
    let url = server.url("/");
    let mut command = plimsoll(&["-d", "80s", "-r", "10", "-q", "--control"]);
    let mut first = Running::start(command.arg(&path).arg(&url));
    let mut client = connect(&path, &mut first);
    let second = run(plimsoll(&["-n", "1", "--control"]).arg(&path).arg(&url));
    assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""), "{second:?}");
    assert!(second.stderr.contains("listens there already"), "{second:?}");
    ask(&mut client, r#"{"command":"stop"}"#);
    assert_eq!(first.finish().code, Some(0));
}

#[test]
fn a_run_that_is_stopped_before_it_has_connections_has_not_failed() {
    // A server that takes connections late: the backlog is full.
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().expect("an address");
    listener.bind(&any.into()).expect("a free port");
    listener.listen(0).expect("a listener");
    let address = listener.local_addr().expect("bound").as_socket().expect("an address");
    let _full: Vec<_> = (0..4)
        .map(|_| {
            let limit = std::time::Duration::from_millis(100);
            std::net::TcpStream::connect_timeout(&address, limit)
        })
        .collect();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("run.sock");
    let url = format!("http://{address}/");
    let mut command = plimsoll(&["-d", "80s", "-r", "10", "-q", "--control"]);
    let mut running = Running::start(command.arg(&path).arg(&url));
    let mut client = connect(&path, &mut running);
    ask(&mut client, r#"{"command":"stop"}"#);
    let finished = running.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
}
