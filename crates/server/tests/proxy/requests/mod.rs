//! What clients may send, and what must come of it: each case whole, split at every byte, and byte
//! by byte.

mod codings;
mod hops;
mod lengths;
mod lines;
mod pipelines;
mod targets;

use std::time::Duration;

use crate::client::{Client, Ended};
use crate::strict::{Request, Response};
use crate::subject::{Kind, Subject};
use crate::table::{self, Row};
use crate::upstream::{Record, Upstream};

/// A request in the body or behind the end of another, which no upstream may ever see as one.
pub(crate) const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: abcd\r\n\r\n";

/// A request that an upstream has to see.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    method: &'static str,
    target: &'static str,
    body: Vec<u8>,
    with: Vec<(&'static str, &'static str)>,
    without: Vec<&'static str>,
}

/// A request with that method and target and no body.
pub(crate) fn sent(method: &'static str, target: &'static str) -> Sent {
    Sent { method, target, body: Vec::new(), with: Vec::new(), without: Vec::new() }
}

impl Sent {
    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// It has this field once, with this value.
    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.with.push((name, value));
        self
    }

    /// It has no such field.
    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.without.push(name);
        self
    }

    fn compare(&self, seen: &Request) -> Result<(), String> {
        let (method, target) = (&*seen.method, &*seen.target);
        if (method, target) != (self.method, self.target) {
            return Err(format!("seen was {method} {target}"));
        }
        if seen.body != self.body {
            return Err(format!("the body seen was {}", seen.body.escape_ascii()));
        }
        for &(name, value) in &self.with {
            let values: Vec<&str> = seen.head.all(name).collect();
            if values != [value] {
                return Err(format!("{name} was {values:?}"));
            }
        }
        match self.without.iter().find(|name| seen.head.get(name).is_some()) {
            Some(name) => Err(format!("{name} was passed on")),
            None => Ok(()),
        }
    }
}

/// What must hold.
#[derive(Debug, Clone)]
pub(crate) enum Want {
    /// One of these statuses, a close, and not a byte forwarded.
    Refused(&'static [u16]),
    /// The upstream sees exactly these, and each is answered.
    Forwarded(Vec<Sent>),
    /// These are forwarded and answered; the rest is refused, and not a byte of it forwarded.
    ThenRefused(Vec<Sent>, &'static [u16]),
    /// What is wrong comes after a head that may have been forwarded by then: the upstream never
    /// sees the end, the client gets one of these statuses or nothing, and a close.
    Broken(&'static [u16]),
    /// The client says that nothing more comes before the request is whole: the upstream never sees
    /// the end, and the connection is closed.
    Unfinished,
    /// The same behind a whole request, which is answered.
    ThenUnfinished(Sent),
    /// The proxy answers by itself, and not a byte is forwarded.
    Answered(&'static [u16]),
}

/// A case.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The section, advisory or paper it comes from.
    pub(crate) source: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) want: Want,
}

pub(crate) fn case(
    name: &'static str,
    source: &'static str,
    bytes: impl AsRef<[u8]>,
    want: Want,
) -> Case {
    Case { name, source, bytes: bytes.as_ref().to_vec(), want }
}

pub(crate) fn refused(statuses: &'static [u16]) -> Want {
    Want::Refused(statuses)
}

pub(crate) fn forwarded<const N: usize>(requests: [Sent; N]) -> Want {
    Want::Forwarded(requests.to_vec())
}

/// Every case, by topic.
pub(crate) fn topics() -> [(&'static str, Vec<Case>); 6] {
    [
        ("Lengths", lengths::cases()),
        ("Codings and chunks", codings::cases()),
        ("Lines and fields", lines::cases()),
        ("Methods, targets, hosts, versions", targets::cases()),
        ("Hop by hop, and what the proxy adds", hops::cases()),
        ("Requests one after another", pipelines::cases()),
    ]
}

impl Case {
    fn expected(&self) -> (&[Sent], Option<&'static [u16]>) {
        match &self.want {
            Want::Refused(statuses) | Want::Broken(statuses) | Want::Answered(statuses) => {
                (&[], Some(statuses))
            }
            Want::Unfinished => (&[], Some(&[400, 408])),
            Want::ThenUnfinished(sent) => (std::slice::from_ref(sent), Some(&[400, 408])),
            Want::Forwarded(sent) => (sent, None),
            Want::ThenRefused(sent, statuses) => (sent, Some(statuses)),
        }
    }

    /// Where the bytes are cut, in each way of sending them.
    fn ways(&self) -> Vec<Vec<usize>> {
        let length = self.bytes.len();
        let mut ways = vec![Vec::new()];
        // Of what is long, all of the beginning and the end, and some of the middle.
        let stride = |at: &usize| *at < 300 || length - at < 60 || at.is_multiple_of(997);
        ways.extend((1..length).filter(stride).map(|at| vec![at]));
        if length <= 300 {
            ways.push((1..length).collect());
        }
        ways
    }

    /// Sends the bytes and reads what has to come.
    fn ask(&self, subject: &Subject, upstream: &Upstream, cuts: &[usize]) -> Result<(), String> {
        let mut client = Client::connect(subject.address);
        let mut from = 0;
        for &cut in cuts {
            client.send(&self.bytes[from..cut]);
            // Byte by byte, waiting for each would show no more than waiting for some.
            if cuts.len() == 1 || cut % 8 == 0 {
                upstream.pace().wait()?;
            }
            from = cut;
        }
        client.send(&self.bytes[from..]);
        if matches!(self.want, Want::Unfinished | Want::ThenUnfinished(_)) {
            client.finish();
        }
        let (requests, statuses) = self.expected();
        for request in requests {
            let response = client.response(request.method)?;
            let echo = format!("{} {} {}", request.method, request.target, request.body.len());
            let body = if request.method == "HEAD" { "" } else { &echo };
            if response.status != 200 || response.body != body.as_bytes() {
                let body = response.body.escape_ascii();
                return Err(format!("the response was {}, {body}", response.status));
            }
        }
        match statuses {
            None => quiet(client),
            Some(statuses) => self.refusal(client, statuses),
        }
    }

    /// Whether what is wrong may be found only once a part was forwarded.
    fn is_late(&self) -> bool {
        matches!(self.want, Want::Broken(_) | Want::Unfinished | Want::ThenUnfinished(_))
    }

    fn refusal(&self, mut client: Client, statuses: &[u16]) -> Result<(), String> {
        if matches!(self.want, Want::Answered(_)) {
            client.finish();
        }
        let ended = client.end();
        let is_mute = client.rest.is_empty() && self.is_late();
        if !is_mute {
            // The method is not known where none could be read.
            let Response { status, head, .. } = client.response("GET")?;
            let stays = matches!(self.want, Want::Answered(_));
            if !statuses.contains(&status) || !(head.closes() || stays) {
                return Err(format!("the refusal was {status}, {:?}", head.fields));
            }
        }
        if ended == Ended::Open || !client.rest.is_empty() {
            let rest = client.rest.escape_ascii();
            return Err(format!("after the refusal: {ended:?}, \"{rest}\""));
        }
        Ok(())
    }

    /// Compares what an upstream has seen, sent in `ways` ways, with the case.
    fn judge(&self, record: &Record, ways: usize) -> Result<(), String> {
        if let Some(wrong) = record.wrong.first() {
            return Err(format!("the upstream got {wrong}"));
        }
        let (sent, _) = self.expected();
        for (index, seen) in record.requests.iter().enumerate() {
            match sent.get(index % sent.len().max(1)) {
                Some(sent) => sent.compare(seen)?,
                None => return Err(format!("{} {} was forwarded", seen.method, seen.target)),
            }
        }
        if record.requests.len() != sent.len() * ways {
            return Err(format!("{} requests were seen, in {ways} ways", record.requests.len()));
        }
        match record.cut.first() {
            Some(cut) if !self.is_late() => {
                Err(format!("part of a request was forwarded: \"{cut}\""))
            }
            _ => Ok(()),
        }
    }

    /// Sends it to another proxy, once. Returns what that proxy does and ours must not.
    fn explore(&self, kind: &Kind) -> Result<(), String> {
        let upstream = Upstream::start();
        let subject = Subject::start(kind, &[upstream.address], |_| ());
        let mut client = Client::connect(subject.address);
        client.be_patient_for(Duration::from_secs(1));
        client.send(&self.bytes);
        let ended = client.end();
        let status = client.response("GET").map_or(0, |response| response.status);
        drop(client);
        subject.stop();
        let record = upstream.finish();
        if let Some(wrong) = record.wrong.first() {
            return Err(format!("passes on {wrong}"));
        }
        if record.requests.iter().any(|seen| seen.target.starts_with("/smuggled")) {
            return Err("passes on /smuggled".into());
        }
        let refuses = status >= 400 && record.cut.is_empty();
        match self.expected() {
            (_, None) | ([_, ..], _) => self.judge(&record, 1),
            _ if record.requests.is_empty() && (refuses || self.is_late()) => Ok(()),
            _ => Err(format!(
                "answers {status}, {ended:?}; forwards {}, and {} in part",
                record.requests.len(),
                record.cut.len()
            )),
        }
    }

    /// Sends it to a proxy, in all ways; an error says what does not hold.
    fn examine(&self, kind: &Kind) -> Result<(), String> {
        let upstream = Upstream::start();
        let subject = Subject::start(kind, &[upstream.address], |_| ());
        upstream.pace().through(subject.address);
        let ways = if subject.is_double(kind) { Vec::new() } else { self.ways() };
        let asked = ways.iter().try_for_each(|cuts| {
            let asked = self.ask(&subject, &upstream, cuts);
            asked.map_err(|why| format!("{why} (cut at {cuts:?})"))
        });
        upstream.pace().close();
        subject.stop();
        // What an upstream saw says more than what a client missed.
        self.judge(&upstream.finish(), ways.len()).and_then(|()| asked.clone()).map_err(|judged| {
            asked
                .err()
                .filter(|asked| *asked != judged)
                .map_or_else(|| judged.clone(), |asked| format!("{judged}; {asked}"))
        })
    }
}

/// Nothing more comes, and the connection ends in order once the client is done.
fn quiet(mut client: Client) -> Result<(), String> {
    client.finish();
    let ended = client.end();
    match (ended, &client.rest[..]) {
        (Ended::Closed, []) => Ok(()),
        (ended, rest) => Err(format!("at the end: {ended:?}, \"{}\"", rest.escape_ascii())),
    }
}

/// Every case as a row of the table, examined.
pub(crate) fn rows(kind: &Kind) -> Vec<Row> {
    let mut rows = Vec::new();
    for (topic, cases) in topics() {
        for case in cases.into_iter().filter(|case| table::is_wanted(case.name)) {
            let result = if kind.is_ours() { case.examine(kind) } else { case.explore(kind) };
            let want = case.want.words();
            rows.push(Row { topic, name: case.name, source: case.source, want, result });
        }
    }
    rows
}

impl Want {
    fn words(&self) -> String {
        let list = |statuses: &[u16]| {
            let words: Vec<String> = statuses.iter().map(ToString::to_string).collect();
            words.join(" or ")
        };
        match self {
            Self::Refused(statuses) => format!("{}, close, nothing forwarded", list(statuses)),
            Self::Unfinished => "close, never whole at the upstream".into(),
            Self::ThenUnfinished(_) => {
                "1 forwarded, then close, never whole at the upstream".into()
            }
            Self::Answered(statuses) => format!("{}, nothing forwarded", list(statuses)),
            Self::Forwarded(sent) if sent.len() == 1 => "forwarded, framed anew".into(),
            Self::Forwarded(sent) => format!("{} requests forwarded in order", sent.len()),
            Self::ThenRefused(sent, statuses) => {
                format!("{} forwarded, then {} and close", sent.len(), list(statuses))
            }
            Self::Broken(statuses) => {
                format!("{} or close, never whole at the upstream", list(statuses))
            }
        }
    }
}

#[test]
fn no_request_is_smuggled() {
    for kind in Kind::all() {
        table::hold(&kind, "requests", &rows(&kind));
    }
}

#[test]
fn there_are_enough_cases_and_no_two_the_same() {
    let cases: Vec<Case> = topics().into_iter().flat_map(|(_, cases)| cases).collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    table::hold_documented(cases.iter().map(|case| (case.name, case.source)));
    for (index, case) in cases.iter().enumerate() {
        let same = |it: &&Case| it.name == case.name || it.bytes == case.bytes;
        assert!(cases[..index].iter().find(same).is_none(), "{} is there twice", case.name);
    }
}
