//! Fuzz bodies: they feed arbitrary bytes, whole and in pieces, and check what must hold.
//!
//! Not part of the API. A fuzzer calls [`fuzz_response`] and [`fuzz_request`]; a plain test
//! replays them over the corpus; the tables of the tests use the same traces.

use super::{
    BodyLength, DecodeError, Headers, Limits, RequestDecoder, RequestEvent, RequestKind,
    ResponseDecoder, ResponseEvent,
};
use crate::cuts::{check_cuts, inputs};

/// Feeds `data` to a response decoder in many ways and panics if they differ.
pub fn fuzz_response(data: &[u8]) {
    for limits in [Limits::default(), tight_limits()] {
        for kind in [RequestKind::Plain, RequestKind::Head, RequestKind::Connect] {
            check_cuts(data, |cuts| trace_response(limits, kind, data, cuts));
        }
    }
}

/// Feeds `data` to a request decoder in many ways and panics if they differ.
pub fn fuzz_request(data: &[u8]) {
    for limits in [Limits::default(), tight_limits()] {
        check_cuts(data, |cuts| trace_request(limits, data, cuts));
    }
}

/// Limits that ordinary messages run into.
fn tight_limits() -> Limits {
    Limits { head_bytes: 64, headers: 2, chunk_line_bytes: 8, trailer_bytes: 12, body_bytes: 10 }
}

/// What became of a response stream and its close, one line per event.
pub(super) fn trace_response(
    limits: Limits,
    kind: RequestKind,
    data: &[u8],
    cuts: &[usize],
) -> Vec<String> {
    let mut decoder = ResponseDecoder::new(limits);
    let mut trace = Trace::default();
    for mut input in inputs(data, cuts) {
        while !input.is_empty() {
            let decoded = match decoder.decode(kind, input) {
                Ok(decoded) => decoded,
                Err(error) => {
                    assert_eq!(decoder.decode(kind, b"x").err(), Some(error), "stays failed");
                    assert_eq!(decoder.end().err(), Some(error), "stays failed");
                    return trace.failed(error);
                }
            };
            trace.progress(decoded.consumed, decoded.event.is_some(), input);
            input = &input[decoded.consumed..];
            match decoded.event {
                None => {}
                Some(ResponseEvent::Interim(head)) => {
                    assert!(head.head_bytes().ends_with(b"\n"), "the whole head");
                    trace.line(format!("interim {}", head.status));
                }
                Some(ResponseEvent::Head(head)) => {
                    let text = format!("head {} 1.{}", head.status, head.minor_version);
                    trace.head(text, head.body, head.head_bytes(), head.headers());
                }
                Some(ResponseEvent::Body(piece)) => trace.body(piece),
                Some(ResponseEvent::End(end)) => trace.end(end.keep_alive),
            }
        }
        let nothing = decoder.decode(kind, b"");
        assert!(nothing.is_ok_and(|nothing| nothing.consumed == 0 && nothing.event.is_none()));
    }
    let idle = decoder.is_idle();
    match decoder.end() {
        Ok(Some(end)) => trace.end(end.keep_alive),
        Ok(None) => trace.line(if idle { "idle" } else { "done" }.to_owned()),
        Err(error) => return trace.failed(error),
    }
    trace.finish()
}

/// What became of a request stream and its close, one line per event.
pub(super) fn trace_request(limits: Limits, data: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut decoder = RequestDecoder::new(limits);
    let mut trace = Trace::default();
    for mut input in inputs(data, cuts) {
        while !input.is_empty() {
            let decoded = match decoder.decode(input) {
                Ok(decoded) => decoded,
                Err(error) => {
                    assert_eq!(decoder.decode(b"x").err(), Some(error), "stays failed");
                    assert_eq!(decoder.end().err(), Some(error), "stays failed");
                    return trace.failed(error);
                }
            };
            trace.progress(decoded.consumed, decoded.event.is_some(), input);
            input = &input[decoded.consumed..];
            match decoded.event {
                None => {}
                Some(RequestEvent::Head(head)) => {
                    let expect = if head.expect_continue { " expects" } else { "" };
                    let text = format!(
                        "head {} {} 1.{} {}{expect}",
                        head.method,
                        head.target,
                        head.minor_version,
                        persistence(head.keep_alive),
                    );
                    trace.head(text, head.body, head.head_bytes(), head.headers());
                }
                Some(RequestEvent::Body(piece)) => trace.body(piece),
                Some(RequestEvent::End(end)) => trace.end(end.keep_alive),
            }
        }
        let nothing = decoder.decode(b"");
        assert!(nothing.is_ok_and(|nothing| nothing.consumed == 0 && nothing.event.is_none()));
    }
    let idle = decoder.is_idle();
    match decoder.end() {
        Ok(()) => trace.line(if idle { "idle" } else { "done" }.to_owned()),
        Err(error) => return trace.failed(error),
    }
    trace.finish()
}

fn persistence(keep_alive: bool) -> &'static str {
    if keep_alive { "keep-alive" } else { "close" }
}

/// Events as lines, the pieces of a body joined, with the checks that hold for both roles.
#[derive(Default)]
struct Trace {
    lines: Vec<String>,
    body: Vec<u8>,
    /// The message under way: what its head said of its body.
    length: Option<BodyLength>,
    /// Events in a row that consumed nothing.
    idle_events: u32,
}

impl Trace {
    fn progress(&mut self, consumed: usize, event: bool, input: &[u8]) {
        assert!(consumed <= input.len(), "consumed more than there was");
        assert!(event || consumed == input.len(), "no event, yet input is left");
        self.idle_events = if consumed == 0 { self.idle_events + 1 } else { 0 };
        assert!(self.idle_events <= 1, "no progress");
    }

    fn line(&mut self, line: String) {
        self.flush();
        self.lines.push(line);
    }

    fn head(&mut self, start: String, length: BodyLength, head: &[u8], headers: Headers<'_>) {
        assert_eq!(self.length, None, "a head within a message");
        self.length = Some(length);
        check_headers(head, headers.clone());
        let mut line = format!("{start} {length:?}");
        for (name, value) in headers {
            line.push_str(&format!(" [{name}={}]", value.escape_ascii()));
        }
        self.line(line);
    }

    fn body(&mut self, piece: &[u8]) {
        assert!(!piece.is_empty(), "an empty piece");
        let allowed = !matches!(self.length, None | Some(BodyLength::None));
        assert!(allowed, "a body where none is allowed");
        self.body.extend_from_slice(piece);
    }

    fn end(&mut self, keep_alive: bool) {
        match self.length.take().expect("an end follows a head") {
            BodyLength::None => assert!(self.body.is_empty()),
            BodyLength::Known(length) => assert_eq!(self.body.len() as u64, length),
            BodyLength::UntilClose => assert!(!keep_alive),
            BodyLength::Chunked => {}
        }
        self.line(format!("end {}", persistence(keep_alive)));
    }

    fn flush(&mut self) {
        if !self.body.is_empty() {
            self.lines.push(format!("body {}", self.body.escape_ascii()));
            self.body.clear();
        }
    }

    fn failed(mut self, error: DecodeError) -> Vec<String> {
        self.line(format!("error {}", error.kind()));
        self.lines
    }

    fn finish(mut self) -> Vec<String> {
        self.flush();
        self.lines
    }
}

/// Our scan of an accepted head finds what the parser finds.
fn check_headers(head: &[u8], headers: Headers<'_>) {
    let start_line_end = head.iter().position(|&byte| byte == b'\n').expect("a start line");
    let lines = head.iter().filter(|&&byte| byte == b'\n').count();
    let mut parsed = vec![httparse::EMPTY_HEADER; lines];
    let parsed = httparse::parse_headers(&head[start_line_end + 1..], &mut parsed);
    let Ok(httparse::Status::Complete((_, parsed))) = parsed else {
        panic!("a head that was accepted");
    };
    let ours: Vec<(&str, &[u8])> = headers.collect();
    let theirs: Vec<(&str, &[u8])> = parsed.iter().map(|it| (it.name, it.value)).collect();
    assert_eq!(ours, theirs);
}
