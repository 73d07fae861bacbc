//! Short Lua scripts, and what has to come of them: states, requests and errors.

mod done;
mod errors;
mod examples;
mod interrupts;
mod requests;
mod responses;
mod setup;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::mpsc::Sender;

use super::*;

/// What a script gets of the system: two addresses of which the second cannot be reached, and a
/// clock that tells the test when it was looked at. Remembers what was looked up.
#[derive(Default)]
struct Fake {
    looked: Mutex<Option<Sender<()>>>,
    names: Mutex<Vec<String>>,
}

impl System for Fake {
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<SocketAddr>, String> {
        if host == "nowhere" {
            return Err(format!("unable to resolve {host}:{service}"));
        }
        self.names.lock().unwrap().push(host.to_owned());
        let port = service.parse().unwrap_or(80);
        Ok(vec![([127, 0, 0, 1], port).into(), ([127, 0, 0, 2], port).into()])
    }

    fn connect(&self, address: SocketAddr) -> bool {
        address.ip().to_string() != "127.0.0.2"
    }

    fn time_us(&self) -> u64 {
        if let Some(sender) = &*self.looked.lock().unwrap() {
            sender.send(()).unwrap();
        }
        1_234_567
    }
}

fn plain(text: &str) -> ScriptStart<'_> {
    ScriptStart {
        api: Api::Wrk,
        path: "s.lua",
        text,
        scheme: "http",
        host: "example.org",
        port: Some(8080),
        target: "/a?b=c",
        headers: Vec::new(),
        arguments: vec!["one".to_owned(), "two".to_owned()],
        url: "http://example.org:8080/a?b=c",
        threads: 1,
        addresses: vec!["127.0.0.1:8080".parse().unwrap(), "[::1]:8080".parse().unwrap()],
        system: Arc::new(Fake::default()),
        interrupter: Interrupter::new(),
    }
}

fn loaded(text: &str) -> (Main, Vec<Thread>) {
    load(&plain(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn one(text: &str) -> Thread {
    loaded(text).1.remove(0)
}

fn next(thread: &mut Thread) -> String {
    let mut bytes = Vec::new();
    thread.next(&mut bytes).unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(bytes).unwrap()
}

/// The first line, and the others in order of the alphabet: Lua's tables have none.
fn sorted(request: &str) -> (String, BTreeSet<String>, String) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n").map(str::to_owned);
    (lines.next().unwrap(), lines.collect(), body.to_owned())
}

fn same(request: &str, line: &str, headers: &[&str], body: &str) {
    let headers = headers.iter().map(|&header| header.to_owned()).collect();
    assert_eq!(sorted(request), (line.to_owned(), headers, body.to_owned()));
}

/// A global variable of a state, as text.
fn variable(state: &State, name: &str) -> String {
    state.evaluate(&format!("return tostring({name})"))
}

fn no_headers() -> impl Iterator<Item = (&'static [u8], &'static [u8])> {
    std::iter::empty()
}
