//! What upstreams may answer, and what must come of it: each case whole, split at every byte, and
//! where the answer is a good one also cut off at every byte, by a close and by a reset.

mod bodies;
mod early;
mod framing;
mod heads;

use std::time::Duration;

use crate::client::{Client, Ended, Trouble};
use crate::strict::{self, Framing, Response};
use crate::subject::{Kind, Subject};
use crate::table::{self, Row};
use crate::upstream::{PATIENCE, Pieces, Record, Script, Then, Upstream, When};

/// A response that nobody asked for, which no client may ever see.
const POISON: &str = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";

/// What a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    Get,
    /// In HTTP/1.0.
    GetOld,
    Head,
    /// With a body of 35 bytes.
    Post,
    /// A body that waits for the response: it looks like requests, and is sent once the response is
    /// there.
    PostLate,
    /// The same with `Expect: 100-continue`.
    PostExpecting,
}

/// The body of [`Ask::PostLate`].
const LATE: &str =
    "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

impl Ask {
    fn method(self) -> &'static str {
        match self {
            Self::Get | Self::GetOld => "GET",
            Self::Head => "HEAD",
            Self::Post | Self::PostLate | Self::PostExpecting => "POST",
        }
    }

    /// What is sent before the response, and after it.
    fn bytes(self) -> (String, &'static str) {
        let head =
            |fields: &str| format!("{} /case HTTP/1.1\r\nHost: a\r\n{fields}\r\n", self.method());
        match self {
            Self::Get | Self::Head => (head(""), ""),
            Self::GetOld => ("GET /case HTTP/1.0\r\nHost: a\r\n\r\n".into(), ""),
            Self::Post => (head("Content-Length: 35\r\n") + &LATE[..35], ""),
            Self::PostLate => (head("Content-Length: 70\r\n"), LATE),
            Self::PostExpecting => (head("Content-Length: 70\r\nExpect: 100-continue\r\n"), LATE),
        }
    }
}

/// What must hold. After each, other requests get their own responses and nothing else.
#[derive(Debug, Clone)]
enum Want {
    /// The client gets this, whole.
    Passed(Passed),
    /// The client gets 502 and nothing of what the upstream said.
    Gateway,
    /// Either of both.
    PassedOrGateway(Passed),
    /// 502, or a response that is visibly cut off.
    Unusable,
}

#[derive(Debug, Clone)]
struct Passed {
    status: u16,
    body: Vec<u8>,
    interim: Option<&'static [u16]>,
    without: &'static [&'static str],
}

/// A response with that status and body.
fn passed(status: u16, body: impl AsRef<[u8]>) -> Passed {
    Passed { status, body: body.as_ref().to_vec(), interim: None, without: &[] }
}

impl Passed {
    fn compare(&self, seen: &Response) -> Result<(), String> {
        if seen.status != self.status || seen.body != self.body {
            let from = seen.body.len().saturating_sub(200);
            let body = seen.body[from..].escape_ascii();
            return Err(format!("the client got {} with {body}", seen.status));
        }
        if self.interim.is_some_and(|interim| seen.interim != interim) {
            return Err(format!("the interim responses were {:?}", seen.interim));
        }
        match self.without.iter().find(|name| seen.head.get(name).is_some()) {
            Some(name) => Err(format!("{name} was passed on")),
            None => Ok(()),
        }
    }
}

/// A case.
#[derive(Debug, Clone)]
struct Case {
    name: &'static str,
    source: &'static str,
    ask: Ask,
    bytes: Vec<u8>,
    when: When,
    then: Then,
    /// Whether the answer may also come cut off.
    is_good: bool,
    want: Want,
}

/// A case of GET whose answer leaves the connection open.
fn case(name: &'static str, source: &'static str, bytes: impl AsRef<[u8]>, want: Want) -> Case {
    let (bytes, when, then) = (bytes.as_ref().to_vec(), When::Whole, Then::Keep);
    Case { name, source, ask: Ask::Get, bytes, when, then, is_good: true, want }
}

impl Case {
    fn to(self, ask: Ask) -> Self {
        Self { ask, ..self }
    }

    /// The answer is not examined cut off: there is more in it than a good one.
    fn whole(self) -> Self {
        Self { is_good: false, ..self }
    }

    /// The upstream closes behind the answer.
    fn closing(self) -> Self {
        Self { then: Then::Close, ..self }
    }

    /// The upstream answers before the body is there.
    fn early(self) -> Self {
        Self { when: When::Head, ..self }
    }
}

fn topics() -> [(&'static str, Vec<Case>); 4] {
    [
        ("Responses that are good", bodies::cases()),
        ("Lengths and chunks of responses", framing::cases()),
        ("Heads of responses", heads::cases()),
        ("Responses too early, too many, or of the wrong kind", early::cases()),
    ]
}

impl Case {
    /// How the answer is cut into pieces, in each way, and what must come of it.
    fn ways(&self) -> Vec<(Pieces, Want)> {
        let length = self.bytes.len();
        let stride = |at: &usize| *at < 200 || length - at < 40 || at.is_multiple_of(9973);
        let mut ways = vec![(Pieces::One, self.want.clone())];
        if self.when == When::Whole {
            let whole = |at: &usize| {
                strict::response(&self.bytes[..*at], self.ask.method(), false)
                    .is_ok_and(|(_, bytes)| bytes == *at)
            };
            // What comes behind a response, and later, may be taken for the next one by any client.
            let cuts = (1..length).filter(stride).filter(|at| !whole(at));
            ways.extend(cuts.map(|at| (Pieces::At(at), self.want.clone())));
        }
        let Want::Passed(passed) = &self.want else { return ways };
        let is_plain = matches!(self.ask, Ask::Get | Ask::GetOld | Ask::Head | Ask::Post);
        if !is_plain || !self.is_good {
            return ways;
        }
        for at in (0..length).filter(stride) {
            let want = self.cut_at(at, passed);
            ways.push((Pieces::ResetAt(at), Want::Unusable));
            ways.push((Pieces::CloseAt(at), want));
        }
        ways
    }

    /// What must come of the first bytes of a good answer and a close.
    fn cut_at(&self, at: usize, passed: &Passed) -> Want {
        // The judge takes an end by close only where it is announced, which is up to a proxy.
        let line = self.bytes[..at].iter().position(|byte| *byte == b'\n').map_or(at, |it| it + 1);
        let (first, rest) = self.bytes[..at].split_at(line);
        let first = String::from_utf8_lossy(first).replace("HTTP/1.0", "HTTP/1.1");
        let announced = [first.as_bytes(), b"Connection: close\r\n", rest].concat();
        match strict::response(&announced, self.ask.method(), true) {
            Ok((Response { framing: Framing::Close, .. }, _)) => {
                let body = passed.body[..at + passed.body.len() - self.bytes.len()].to_vec();
                Want::Passed(Passed { body, ..passed.clone() })
            }
            Ok(_) => Want::Passed(passed.clone()),
            Err(_) => Want::Unusable,
        }
    }

    /// One request and its response, then others that must be untouched.
    fn ask(&self, subject: &Subject, patience: Duration, want: &Want) -> Result<(), String> {
        let mut client = Client::connect(subject.address);
        client.be_patient_for(patience);
        let (first, late) = self.ask.bytes();
        client.send(first.as_bytes());
        let response = client.response(self.ask.method());
        want.compare(&response)?;
        let stays = response.as_ref().is_ok_and(|it| !it.head.closes()) && self.ask != Ask::GetOld;
        // Where the proxy has said that it closes, it may have done so.
        client.send(late.as_bytes());
        if stays {
            ask_after(&mut client)?;
        }
        client.finish();
        let ended = client.end();
        let is_cut = matches!(want, Want::Unusable);
        if ended == Ended::Open || !(client.rest.is_empty() || is_cut) {
            return Err(format!("behind the response: {ended:?}, {}", client.rest.escape_ascii()));
        }
        (0..2).try_for_each(|_| ask_after(&mut Client::connect(subject.address)))
    }

    /// Examines it on a proxy, in all ways; an error says what does not hold.
    fn examine(&self, kind: &Kind) -> Result<(), String> {
        let upstream = Upstream::start();
        let subject = Subject::start(kind, &[upstream.address], |rules| {
            rules.health.failures = 0;
            if matches!(self.ask, Ask::PostLate | Ask::PostExpecting) {
                // The upstream is to see the head before the body is there.
                rules.limits.body_buffer_bytes = 0;
            }
        });
        upstream.pace().through(subject.address);
        let patience = if kind.is_ours() { PATIENCE } else { Duration::from_secs(2) };
        let mut ways = if subject.is_double(kind) { Vec::new() } else { self.ways() };
        if !kind.is_ours() {
            ways.truncate(1);
        }
        let asked = ways.into_iter().try_for_each(|(pieces, want)| {
            let bytes = self.bytes.clone();
            upstream.play(Script { when: self.when, bytes, pieces, then: self.then });
            let asked = self.ask(&subject, patience, &want);
            asked.map_err(|why| format!("{why} ({pieces:?}, want {})", want.words()))
        });
        upstream.pace().close();
        subject.stop();
        let judged = judge(&upstream.finish());
        asked.and(judged)
    }
}

/// What an upstream may have seen, whatever it answered.
fn judge(record: &Record) -> Result<(), String> {
    if let Some(wrong) = record.wrong.first() {
        return Err(format!("the upstream got {wrong}"));
    }
    match record.requests.iter().find(|it| !["/case", "/after"].contains(&&*it.target)) {
        Some(seen) => Err(format!("{} {} was forwarded", seen.method, seen.target)),
        None => Ok(()),
    }
}

/// A request that has its own response, and nothing before it.
fn ask_after(client: &mut Client) -> Result<(), String> {
    client.send(b"GET /after HTTP/1.1\r\nHost: a\r\n\r\n");
    let response =
        client.response("GET").map_err(|why| format!("after it: {}", String::from(why)))?;
    match (response.status, &response.body[..]) {
        (200, b"GET /after 0") => Ok(()),
        (status, body) => Err(format!("after it: {status} with {}", body.escape_ascii())),
    }
}

impl Want {
    fn compare(&self, response: &Result<Response, Trouble>) -> Result<(), String> {
        let is_gateway = response.as_ref().is_ok_and(|it| it.status == 502);
        match (self, response) {
            (Self::Gateway | Self::PassedOrGateway(_) | Self::Unusable, Ok(_)) if is_gateway => {
                Ok(())
            }
            (Self::Unusable, Err(Trouble::Ended(ended, _))) if *ended != Ended::Open => Ok(()),
            (Self::Passed(passed) | Self::PassedOrGateway(passed), Ok(response)) => {
                passed.compare(response)
            }
            (_, Ok(response)) => {
                let (status, body) = (response.status, response.body.escape_ascii());
                Err(format!("the client got {status} with {body}"))
            }
            (_, Err(trouble)) => Err(trouble.clone().into()),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Passed(passed) => format!("{} passed on", passed.status),
            Self::Gateway => "502".into(),
            Self::PassedOrGateway(passed) => format!("502, or {} put right", passed.status),
            Self::Unusable => "502, or visibly cut off".into(),
        }
    }
}

fn rows(kind: &Kind) -> Vec<Row> {
    let mut rows = Vec::new();
    for (topic, cases) in topics() {
        for case in cases.into_iter().filter(|case| table::is_wanted(case.name)) {
            let (result, want) = (case.examine(kind), case.want.words());
            rows.push(Row { topic, name: case.name, source: case.source, want, result });
        }
    }
    rows
}

#[test]
fn no_response_is_split_or_given_to_another() {
    for kind in Kind::all() {
        table::hold(&kind, "responses", &rows(&kind));
    }
}

#[test]
fn there_are_enough_cases_and_no_two_the_same() {
    let cases: Vec<Case> = topics().into_iter().flat_map(|(_, cases)| cases).collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    table::hold_documented(cases.iter().map(|case| (case.name, case.source)));
    for (index, case) in cases.iter().enumerate() {
        let key = |it: &Case| (it.bytes.clone(), it.ask, it.when, it.then);
        let same = |it: &&Case| it.name == case.name || key(it) == key(case);
        assert!(cases[..index].iter().find(same).is_none(), "{} is there twice", case.name);
    }
}

/// Bytes on a connection that waits in the pool: it is not used again.
#[test]
fn what_an_upstream_says_unasked_reaches_nobody() {
    for kind in Kind::all() {
        let upstream = Upstream::start();
        let subject = Subject::start(&kind, &[upstream.address], |_| ());
        upstream.pace().through(subject.address);
        for unasked in [POISON, "HTTP/1.1 408 Request Timeout\r\n\r\n", "x", "\r\n"] {
            ask_after(&mut Client::connect(subject.address)).expect("a good response");
            upstream.say_unasked(unasked.as_bytes());
            for _ in 0..4 {
                ask_after(&mut Client::connect(subject.address)).expect("its own response");
            }
        }
        upstream.pace().close();
        let counters = subject.stop();
        let record = upstream.finish();
        assert_eq!((record.wrong, record.requests.len()), (vec![], 20), "{counters:?}");
    }
}
