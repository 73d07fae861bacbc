//! The interface beside runs that are paused, over, and ended through it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};

use plimsoll_dialect::k6::{ExitCode, Refused};

use super::super::tests::load;
use super::super::{Handle, Lines, LogLine, Ran};
use super::Rest;

/// A run, and the interface to it.
struct World {
    rest: Rest,
    run: JoinHandle<Result<Ran, Refused>>,
    lines: Receiver<Box<LogLine>>,
}

impl World {
    fn start(script: &str, prepare: impl FnOnce(&Handle)) -> Self {
        let test = Arc::new(load(script).expect("a test"));
        let (lines, lines_out) = Lines::new();
        let handle = test.handle();
        prepare(&handle);
        let rest = Rest::start("127.0.0.1:0", &test, &handle, &lines, None).expect("a port");
        let run = thread::spawn(move || test.run(&handle, &lines, None));
        Self { rest, run, lines: lines_out }
    }

    /// Sends bytes, and gives all that comes until the connection is closed.
    fn send(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.rest.address()).expect("it listens");
        stream.write_all(bytes.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers and closes");
        answer
    }

    /// The status and the body of an answer.
    fn ask(&self, line: &str, body: &str) -> (u16, String) {
        let length = body.len();
        let answer = self.send(&format!(
            "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head[9..12].parse().expect("a status"), body.to_owned())
    }

    /// Asks until the run is somewhere, by k6's number for it.
    fn await_stage(&self, stage: u8) {
        while !self.ask("GET /v1/status", "").1.contains(&format!("\"status\":{stage},")) {}
    }
}

const SCRIPT: &str = "
    import { check, group } from 'k6';
    export const options = { thresholds: { iterations: ['count>5'] } };
    export function setup() { console.log('setup'); return { a: 1 }; }
    export default function (data) {
        console.log(JSON.stringify(data));
        group('shop', () => check(1, { one: (value) => value === 1 }));
    }
    export function teardown(data) { console.log('teardown ' + JSON.stringify(data)); }";

#[test]
fn a_paused_run_is_looked_at_and_resumed() {
    let world = World::start(SCRIPT, Handle::pause);
    world.await_stage(4);
    for (line, body, status, says) in [
        ("GET /v1/status", "", 200, "\"paused\":true"),
        ("GET /v1/setup", "", 200, "\"attributes\":{}"),
        ("PUT /v1/setup", "{\"b\":2}", 200, "\"data\":{\"b\":2}"),
        ("PUT /v1/setup", "{bad", 400, "Error parsing request body"),
        ("POST /v1/teardown", "", 200, ""),
        ("POST /v1/setup", "", 200, "\"data\":{\"a\":1}"),
        ("GET /v1/metrics/nope", "", 404, "No metric with that ID was found"),
        ("GET /v1/groups/nope", "", 404, "No group with that ID was found"),
        ("GET /v1/groups", "", 200, "d41d8cd98f00b204e9800998ecf8427e"),
        ("GET /v1/nope", "", 404, "404 page not found"),
        ("GET /ping", "", 200, "ok"),
        ("DELETE /v1/status", "", 405, ""),
        ("PATCH /v1/status", "{bad", 400, "Invalid data"),
        ("PATCH /v1/status", r#"{"data":{"attributes":{"vus":5}}}"#, 500, "cannot be changed"),
        ("PATCH /v1/status", r#"{"data":{"attributes":{"paused":true}}}"#, 500, "already paused"),
        ("PATCH /v1/status", r#"{"data":{"attributes":{"paused":false}}}"#, 200, "false"),
    ] {
        let (found, answer) = world.ask(line, body);
        assert_eq!((found, answer.contains(says)), (status, true), "{line}: {answer}");
    }
    let World { rest, run, lines } = world;
    let ran = run.join().expect("it does not panic").expect("it runs");
    assert_eq!(ran.code(), ExitCode::Thresholds);
    assert!(ran.account.balances());
    let said: Vec<String> = lines.try_iter().map(|line| line.message).collect();
    let want = ["teardown {\"b\":2}", "setup", "setup", "{\"a\":1}", "teardown {\"a\":1}"];
    assert_eq!(said, want);
    let world = World { rest, run: thread::spawn(|| Ok(ran)), lines };
    for (line, status, says) in [
        ("GET /v1/status", 200, "\"status\":9"),
        ("GET /v1/status", 200, "\"tainted\":true"),
        ("GET /v1/metrics/iterations", 200, "\"count\":1"),
        ("GET /v1/metrics/%69terations?x", 200, "\"tainted\":true"),
        ("GET /v1/metrics", 200, "\"id\":\"checks\""),
        ("GET /v1/groups", 200, "\"path\":\"::shop::one\""),
        ("PATCH /v1/status", 400, "Invalid data"),
    ] {
        let (found, answer) = world.ask(line, "");
        assert_eq!((found, answer.contains(says)), (status, true), "{line}: {answer}");
    }
}

#[test]
fn a_run_is_stopped() {
    let script = "
        import { sleep } from 'k6';
        export const options = { vus: 2, duration: '1h' };
        export default function () { sleep(0.001); }
        export function teardown() { console.log('teardown'); }";
    let world = World::start(script, |_| {});
    world.await_stage(7);
    let paused = world.ask("PATCH /v1/status", r#"{"data":{"attributes":{"paused":true}}}"#);
    assert_eq!(paused.0, 500, "{}", paused.1);
    let stopped = world.ask("PATCH /v1/status", r#"{"data":{"attributes":{"stopped":true}}}"#);
    assert!(stopped.0 == 200 && stopped.1.contains("\"stopped\":true"), "{}", stopped.1);
    let ran = world.run.join().expect("it does not panic").expect("it runs");
    assert_eq!(ran.code(), ExitCode::StoppedByRest);
    assert!(ran.account.balances());
    assert!(world.lines.try_iter().any(|line| line.message == "teardown"));
}

#[test]
fn clients_are_not_trusted() {
    let world = World::start(SCRIPT, Handle::pause);
    let get = "GET /v1/status HTTP/1.1\r\nHost: x\r\n";
    let long = "x".repeat(20_000);
    for (bytes, answers, says) in [
        ("nonsense\r\n\r\n".to_owned(), 1, "400 Bad Request"),
        (format!("GET /{long} HTTP/1.1\r\n\r\n"), 1, "400 Bad Request"),
        ("PUT /v1/setup HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n".to_owned(), 1, "400 Bad"),
        (format!("{get}\r\n{get}\r\n{get}Connection: close\r\n\r\n"), 3, "200 OK"),
        (
            "PUT /v1/setup HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\n\
             Transfer-Encoding: chunked\r\n\r\n1\r\n7\r\n0\r\n\r\n"
                .to_owned(),
            2,
            "\"data\":7",
        ),
    ] {
        let answer = world.send(&bytes);
        assert_eq!(answer.matches("HTTP/1.1 ").count(), answers, "{answer}");
        assert!(answer.contains(says), "{answer}");
    }
    world.await_stage(4);
    world.ask("PATCH /v1/status", r#"{"data":{"attributes":{"stopped":true}}}"#);
    let ran = world.run.join().expect("it does not panic").expect("it runs");
    assert_eq!((ran.code(), ran.account.started), (ExitCode::StoppedByRest, 0));
}

#[test]
fn an_address_that_cannot_be_had_is_refused() {
    let world = World::start("export default function () {}", |_| {});
    let taken = world.rest.address().to_string();
    let test = Arc::new(load("export default function () {}").expect("a test"));
    for (address, says) in [(taken.as_str(), "in use"), ("bogus", "bogus"), ("", "''")] {
        let (lines, _out) = Lines::new();
        let refused = Rest::start(address, &test, &test.handle(), &lines, None);
        let refused = refused.err().expect("it is refused");
        assert_eq!(refused.code, ExitCode::RestAddress);
        assert!(refused.what.contains(says), "{}", refused.what);
    }
}
