//! A control socket with a fake run that records its orders, and the status alone.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use plimsoll_core::Histogram;
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::schedule::{Arrival, Profile, Stage};
use plimsoll_core::series::Point;
use plimsoll_engine::Progress;
use serde_json::{Value, json};

use super::server::{CLIENTS_LIMIT, LINE_LIMIT};
use super::status::Status;
use super::{ControlSocket, Steer};

const SECOND_NS: u64 = 1_000_000_000;

/// Writes down what it is told.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Told {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

impl Steer for Told {
    fn stop(&self) {
        self.note("stop".to_owned());
    }

    fn set_rate(&self, rate_uhz: u64) -> Result<(), String> {
        self.note(format!("rate {rate_uhz}"));
        Ok(())
    }

    fn set_connections(&self, count: u32) -> Result<(), String> {
        match count {
            9999 => Err("too many for this host".to_owned()),
            _ => {
                self.note(format!("connections {count}"));
                Ok(())
            }
        }
    }
}

/// A socket in a directory of its own.
struct Scratch {
    _directory: tempfile::TempDir,
    path: PathBuf,
    told: Arc<Told>,
    socket: Option<ControlSocket>,
}

fn start(path: &Path, told: &Arc<Told>) -> std::io::Result<ControlSocket> {
    let plan = Draft::new(Endpoint::http("::1", 80, "/")).check().unwrap();
    ControlSocket::start(path, Arc::new(Status::new(&plan)), Arc::clone(told) as Arc<dyn Steer>)
}

impl Scratch {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.sock");
        let told = Arc::default();
        let socket = Some(start(&path, &told).unwrap());
        Self { _directory: directory, path, told, socket }
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.path).unwrap()
    }
}

fn read_line(stream: &UnixStream) -> Value {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn ask(stream: &mut UnixStream, line: &str) -> Value {
    stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    read_line(stream)
}

#[test]
fn commands_are_carried_out() {
    let scratch = Scratch::new();
    let mut client = scratch.connect();
    for (line, answer) in [
        (r#"{"command":"rate","rps":5000}"#, json!({"rps": 5000.0})),
        (r#"{"command":"rate","rps":"5k"}"#, json!({"rps": 5000.0})),
        (r#"{"command":"rate","rps":0.5}"#, json!({"rps": 0.5})),
        (r#"{"command":"connections","count":200}"#, json!({"connections": 200})),
        ("\r\n  \n {\"command\":\"stop\"} \r", json!({"stopping": true})),
    ] {
        assert_eq!(ask(&mut client, line), answer, "{line}");
    }
    let status = ask(&mut client, r#"{"command":"status"}"#);
    assert_eq!((&status["phase"], &status["connections"]), (&json!("opening"), &json!(200)));
    let told = scratch.told.0.lock().unwrap().join(", ");
    assert_eq!(told, "rate 5000000000, rate 5000000000, rate 500000, connections 200, stop");
}

#[test]
fn what_cannot_be_done_is_an_answer() {
    let scratch = Scratch::new();
    let mut client = scratch.connect();
    for (line, says) in [
        ("hello", "JSON"),
        ("[]", "JSON"),
        ("\u{0}\u{1}", "JSON"),
        ("{}", "say what to do"),
        (r#"{"command":7}"#, "say what to do"),
        (r#"{"command":"go"}"#, "'go' is not a command"),
        (r#"{"command":"status","x":1}"#, "'x' means nothing"),
        (r#"{"command":"rate"}"#, "'rps' is missing"),
        (r#"{"command":"rate","rps":null}"#, "'rps' is missing"),
        (r#"{"command":"rate","rps":-1}"#, "is not a rate"),
        (r#"{"command":"rate","rps":1e300}"#, "is not a rate"),
        (r#"{"command":"rate","rps":0}"#, "above 0"),
        (r#"{"command":"rate","rps":"2G"}"#, "not above 1G/s"),
        (r#"{"command":"connections","count":1.5}"#, "is not a count"),
        (r#"{"command":"connections","count":0}"#, "0 connections"),
        (r#"{"command":"connections","count":"5G"}"#, "too many"),
        (r#"{"command":"connections","count":9999}"#, "too many for this host"),
    ] {
        let answer = ask(&mut client, line);
        let text = answer["error"].as_str().unwrap_or_else(|| panic!("{line}: {answer}"));
        assert!(text.contains(says), "{line}: {text}");
    }
    assert!(scratch.told.0.lock().unwrap().is_empty());
}

#[test]
fn a_line_at_the_end_needs_no_end_of_line() {
    let scratch = Scratch::new();
    let mut client = scratch.connect();
    client.write_all(br#"{"command":"stop"}"#).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = String::new();
    client.read_to_string(&mut answers).unwrap();
    assert_eq!(answers, "{\"stopping\":true}\n");
}

#[test]
fn lines_have_a_limit() {
    let scratch = Scratch::new();
    let mut client = scratch.connect();
    client.write_all(&vec![b' '; LINE_LIMIT + 1]).unwrap();
    assert!(read_line(&client)["error"].as_str().unwrap().contains("4096 bytes"));
    let mut rest = Vec::new();
    // It is hung up on, and may find its own bytes unread.
    let _ = client.read_to_end(&mut rest);
    assert_eq!(rest, b"");
}

#[test]
fn clients_have_a_limit_and_hold_up_nobody() {
    let scratch = Scratch::new();
    let mut clients: Vec<UnixStream> = (0..CLIENTS_LIMIT).map(|_| scratch.connect()).collect();
    for client in &mut clients {
        ask(client, r#"{"command":"status"}"#);
    }
    let refused = scratch.connect();
    assert!(read_line(&refused)["error"].as_str().unwrap().contains("others"));
    // One that asks and does not listen is not read from any more, and the others are served.
    let deaf = clients.pop().unwrap();
    deaf.set_nonblocking(true).unwrap();
    while (&deaf).write_all(b"{\"command\":\"status\"}\n").is_ok() {}
    for client in &mut clients {
        assert!(ask(client, r#"{"command":"status"}"#)["phase"].is_string());
    }
    // The end of the run waits for none of them.
    drop(scratch);
}

#[test]
fn the_file_is_its_owners_and_goes_with_the_run() {
    let mut scratch = Scratch::new();
    let mode = fs::symlink_metadata(&scratch.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = start(&scratch.path, &scratch.told).unwrap_err().to_string();
    assert!(error.contains("listens there already"), "{error}");
    let mut client = scratch.connect();
    scratch.socket = None;
    assert!(!scratch.path.exists());
    assert!(!matches!(client.read(&mut [0]), Ok(1)));
}

#[test]
fn what_is_in_the_way_stays_unless_it_is_dead() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.sock");
    let told = Arc::default();
    fs::write(&path, "precious").unwrap();
    let error = start(&path, &told).unwrap_err().to_string();
    assert!(error.contains("not a socket"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    fs::remove_file(&path).unwrap();
    drop(UnixListener::bind(&path).unwrap());
    let socket = start(&path, &told).unwrap();
    // Another program's file in its place is not removed.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "new").unwrap();
    drop(socket);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn status_follows_the_run() {
    let stage = |seconds, from_uhz, to_uhz| Stage {
        duration_ns: Some(seconds * SECOND_NS),
        from_uhz,
        to_uhz,
    };
    let stages = vec![stage(10, 100_000_000, 200_000_000), stage(10, 50_000_000, 50_000_000)];
    let plan = Draft {
        warmup_ns: 5 * SECOND_NS,
        duration_ns: Some(20 * SECOND_NS),
        rate: Some(Profile { stages, arrival: Arrival::Uniform }),
        ..Draft::new(Endpoint::http("::1", 80, "/"))
    };
    let status = Status::new(&plan.check().unwrap());
    status.note(&Progress::Started { open: 49 }, 7 * SECOND_NS);
    let mut times = Histogram::new();
    times.record_n(1_000_000, 10);
    for t_s in 0..2 {
        let point = Point {
            t_ns: t_s * SECOND_NS,
            interval_ns: SECOND_NS,
            sent: 10,
            completed: 10,
            ok: 10,
            response: times.pack(),
            ..Point::default()
        };
        status.note(&Progress::Interval(&point), 14 * SECOND_NS);
    }
    for (time_s, phase, target) in [
        (8, "warm_up", 100.0),
        (12, "measuring", 100.0),
        (17, "measuring", 150.0),
        (22, "measuring", 50.0),
        (33, "draining", 0.0),
    ] {
        let report = status.report(time_s * SECOND_NS);
        assert_eq!((&report["phase"], &report["target_rps"]), (&json!(phase), &json!(target)));
        assert_eq!(report["elapsed_s"], json!((time_s - 7) as f64));
    }
    status.set_rate(7_000_000);
    let report = status.report(18 * SECOND_NS);
    assert_eq!(report["target_rps"], json!(7.0));
    assert_eq!(report["opened"], json!(49));
    assert_eq!(report["ledger"]["completed"], json!(20));
    let last = &report["last_second"];
    assert_eq!((&last["completed"], &last["t_s"]), (&json!(10), &json!(1.0)));
    assert_eq!(last["response"]["count"], json!(10));
    let p99 = last["response"]["p99_us"].as_f64().unwrap();
    assert!((999.0..=1001.0).contains(&p99), "{p99}");
    assert_eq!(last["service"]["p50_us"], Value::Null);
}
