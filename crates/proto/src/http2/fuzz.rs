//! Fuzz bodies: they feed arbitrary bytes, whole and in pieces, and check what must hold.
//!
//! Not part of the API. A fuzzer calls [`fuzz_client`] and [`fuzz_server`]; a plain test replays
//! them over a corpus; the tables of the tests use the same traces.

use super::{
    Body, Client, ClientOptions, ConnectionError, Event, Headers, Limits, Outgoing, Receiving,
    Server, ServerEvent, ServerOptions,
};
use crate::cuts::{check_cuts, inputs};

/// Feeds `data` to a client with open requests in many ways and panics if they differ.
pub fn fuzz_client(data: &[u8]) {
    for limits in [Limits::default(), tight_limits()] {
        check_cuts(data, |cuts| trace_client(limits, data, cuts));
    }
}

/// Feeds `data` to a server that answers requests in many ways and panics if they differ.
pub fn fuzz_server(data: &[u8]) {
    for limits in [Limits::default(), tight_limits()] {
        check_cuts(data, |cuts| trace_server(limits, data, cuts));
    }
}

/// Limits that ordinary messages run into.
fn tight_limits() -> Limits {
    Limits { block_bytes: 64, continuations: 1, list_bytes: 150, resets: 1, futile_frames: 3 }
}

/// What became of a stream of bytes and its close: a line for each event, pieces of a body joined,
/// and the bytes that were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) lines: Vec<String>,
    pub(super) sent: Vec<u8>,
}

impl Trace {
    fn body(&mut self, number: u32, piece: &[u8]) {
        assert!(!piece.is_empty(), "an empty piece");
        let start = format!("body {number} ");
        let text = piece.escape_ascii().to_string();
        match self.lines.last_mut() {
            Some(last) if last.starts_with(&start) => last.push_str(&text),
            _ => self.lines.push(start + &text),
        }
    }

    fn fields(&mut self, start: String, headers: Headers<'_>) {
        let mut line = start;
        for (name, value) in headers {
            line.push_str(&format!(" [{name}={}]", value.escape_ascii()));
        }
        self.lines.push(line);
    }

    fn failed(&mut self, error: ConnectionError) {
        self.lines.push(format!("error {}", error.kind()));
    }

    fn line(&mut self, line: String) {
        self.lines.push(line);
    }
}

/// Memory that a peer may take, whatever it sends: a frame, a block, and what blocks decode to.
const KEPT_BYTES_MAX: usize = 512 * 1024;

/// The requests that the client of a trace has open, from 10 on: GET, HEAD, and a POST with a body
/// of which the peer's first window holds back a part.
pub(super) fn start_requests(client: &mut Client, out: &mut Vec<u8>) {
    let body = vec![b'x'; 70_000];
    let empty = Outgoing { is_head: false, body: Body::Empty, ends: true };
    let whole = Outgoing { is_head: false, body: Body::Bytes(&body), ends: true };
    for (number, method, outgoing) in
        [(10, "GET", empty), (11, "HEAD", Outgoing { is_head: true, ..empty }), (12, "POST", whole)]
    {
        if client.room() == 0 {
            return;
        }
        client.start(number, &outgoing, out, |head| {
            for (name, value) in [(":method", method), (":scheme", "http"), (":path", "/")] {
                head.field(name, value.as_bytes()).expect("a valid field");
            }
        });
    }
}

/// What a client with open requests makes of what a server sends.
pub(super) fn trace_client(limits: Limits, data: &[u8], cuts: &[usize]) -> Trace {
    let mut client = Client::new(ClientOptions {
        streams: 3,
        receiving: Receiving { limits, ..ClientOptions::default().receiving },
        ..ClientOptions::default()
    });
    let mut trace = Trace::default();
    let mut sent = Vec::new();
    client.begin(&mut sent);
    for mut input in inputs(data, cuts) {
        loop {
            let decoded = match client.receive(input, &mut sent) {
                Ok(decoded) => decoded,
                Err(error) => {
                    let again = client.receive(b"x", &mut Vec::new());
                    assert_eq!(again.err(), Some(error), "stays failed");
                    assert_eq!(client.end(), Err(error), "stays failed");
                    assert_eq!(client.room(), 0);
                    trace.failed(error);
                    trace.sent = sent;
                    return trace;
                }
            };
            input = &input[decoded.consumed..];
            let Some(event) = decoded.event else {
                assert!(input.is_empty(), "no event, yet input is left");
                break;
            };
            let greeted = matches!(event, Event::Greeted);
            trace.client_event(event);
            if greeted {
                start_requests(&mut client, &mut sent);
            }
        }
        assert!(client.kept_bytes() <= KEPT_BYTES_MAX, "{} bytes", client.kept_bytes());
    }
    match client.end() {
        Ok(()) => trace.line(format!("closed, {} open", client.drain().count())),
        Err(error) => trace.failed(error),
    }
    trace.sent = sent;
    trace
}

impl Trace {
    fn client_event(&mut self, event: Event<'_>) {
        match event {
            Event::Interim(number, head) => {
                self.fields(format!("interim {number} {}", head.status), head.headers());
            }
            Event::Head(number, head) => {
                self.fields(format!("head {number} {}", head.status), head.headers());
            }
            Event::Body(number, piece) => self.body(number, piece),
            Event::Trailers(number, headers) => {
                self.fields(format!("trailers {number}"), headers);
            }
            Event::Complete(number, response) => {
                self.line(format!("complete {number} {} bytes", response.body_bytes));
            }
            Event::Broken(number, error) => self.line(format!("broken {number} {}", error.kind())),
            Event::Reset(number, code) => self.line(format!("reset {number} {code}")),
            Event::Draining(code) => self.line(format!("draining {code}")),
            Event::Greeted => self.line("greeted".to_owned()),
            Event::Room => self.line("room".to_owned()),
            Event::Resumed(number) => self.line(format!("resumed {number}")),
            Event::FirstByte(number) => self.line(format!("first byte {number}")),
            Event::Refused(number) => self.line(format!("refused {number}")),
        }
    }
}

/// What a server that answers each request makes of what a client sends.
pub(super) fn trace_server(limits: Limits, data: &[u8], cuts: &[usize]) -> Trace {
    let options = ServerOptions {
        streams: 2,
        receiving: Receiving { limits, ..ServerOptions::default().receiving },
        ..ServerOptions::default()
    };
    let mut server = Server::new(options);
    let mut trace = Trace::default();
    let mut sent = Vec::new();
    server.begin(&mut sent);
    for mut input in inputs(data, cuts) {
        loop {
            let decoded = match server.receive(input, &mut sent) {
                Ok(decoded) => decoded,
                Err(error) => {
                    let again = server.receive(b"x", &mut Vec::new());
                    assert_eq!(again.err(), Some(error), "stays failed");
                    assert_eq!(server.end(), Err(error), "stays failed");
                    trace.failed(error);
                    trace.sent = sent;
                    return trace;
                }
            };
            input = &input[decoded.consumed..];
            let Some(event) = decoded.event else {
                assert!(input.is_empty(), "no event, yet input is left");
                break;
            };
            if let Some(stream) = trace.server_event(event) {
                let status = |head: &mut super::HeadWriter<'_>| head.status(200);
                server.send_head(stream, false, &mut sent, status);
                server.send(stream, Body::Bytes(&[b'y'; 70_000]), true, &mut sent);
            }
        }
        assert!(server.kept_bytes() <= KEPT_BYTES_MAX, "{} bytes", server.kept_bytes());
    }
    match server.end() {
        Ok(()) => trace.line(format!("closed, {} open", server.open())),
        Err(error) => trace.failed(error),
    }
    trace.sent = sent;
    trace
}

impl Trace {
    /// Gives the stream of a request that has ended.
    fn server_event(&mut self, event: ServerEvent<'_, '_>) -> Option<u32> {
        match event {
            ServerEvent::Request(stream, head) => {
                let parts = [Some(head.method()), head.scheme(), head.authority(), head.path()];
                let parts: Vec<&str> = parts.iter().map(|part| part.unwrap_or("-")).collect();
                self.fields(format!("request {stream} {}", parts.join(" ")), head.headers());
            }
            ServerEvent::Body(stream, piece) => self.body(stream, piece),
            ServerEvent::Trailers(stream, headers) => {
                self.fields(format!("trailers {stream}"), headers);
            }
            ServerEvent::Broken(stream, error) => {
                self.line(format!("broken {stream} {}", error.kind()));
            }
            ServerEvent::Reset(stream, code) => self.line(format!("reset {stream} {code}")),
            ServerEvent::Draining(code) => self.line(format!("draining {code}")),
            ServerEvent::Greeted => self.line("greeted".to_owned()),
            ServerEvent::Resumed(stream) => self.line(format!("resumed {stream}")),
            ServerEvent::End(stream) => {
                self.line(format!("end {stream}"));
                return Some(stream);
            }
        }
        None
    }
}
