//! A control socket with a fake run that records its orders, and the status alone.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use plimsoll_core::Histogram;
use plimsoll_core::live::{LiveFigures, RunPart};
use plimsoll_core::series::Point;
use serde_json::{Value, json};

use super::server::{CLIENTS_LIMIT, LINE_LIMIT};
use super::status::status;
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
    fn figures(&self) -> LiveFigures {
        LiveFigures { connections: 200, ..LiveFigures::default() }
    }

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
    ControlSocket::start(path, Arc::clone(told) as Arc<dyn Steer>)
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
fn status_is_the_figures_in_its_own_words() {
    let mut times = Histogram::new();
    times.record_n(1_000_000, 10);
    let mut figures = LiveFigures {
        part: RunPart::WarmUp,
        elapsed_ns: 1_500_000_000,
        target_rps: Some(7.0),
        connections: 50,
        ..LiveFigures::default()
    };
    let before = status(&figures);
    assert_eq!((&before["phase"], &before["elapsed_s"]), (&json!("warm_up"), &json!(1.5)));
    assert_eq!((&before["target_rps"], &before["connections"]), (&json!(7.0), &json!(50)));
    assert_eq!((&before["opened"], &before["last_second"]), (&Value::Null, &Value::Null));
    figures.opened = Some(49);
    for t_s in 0..2 {
        figures.add(&Point {
            t_ns: t_s * SECOND_NS,
            interval_ns: SECOND_NS,
            sent: 10,
            completed: 10,
            ok: 10,
            errors: 1,
            status: [(0, 1), (200, 9)].into(),
            response: times.pack(),
            ..Point::default()
        });
    }
    let after = status(&figures);
    assert_eq!((&after["opened"], &after["errors"]), (&json!(49), &json!(2)));
    assert_eq!(after["status"], json!({"0": 2, "200": 18}));
    assert_eq!((&after["ledger"]["completed"], &after["ledger"]["ok"]), (&json!(20), &json!(20)));
    let last = &after["last_second"];
    assert_eq!((&last["completed"], &last["t_s"]), (&json!(10), &json!(1.0)));
    assert_eq!(last["response"]["count"], json!(10));
    let p99 = last["response"]["p99_us"].as_f64().unwrap();
    assert!((999.0..=1001.0).contains(&p99), "{p99}");
    assert_eq!(last["service"]["p50_us"], Value::Null);
}
