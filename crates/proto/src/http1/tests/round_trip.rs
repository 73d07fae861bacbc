//! What the writers write, the decoders read back, however it is cut. The random stream is seeded,
//! so that a failure is the same on every machine.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::http1::fuzz::{trace_request, trace_response};
use crate::http1::{
    Limits, RequestKind, write_chunk, write_content_length, write_head_end, write_header,
    write_last_chunk, write_request_head, write_status_line,
};

/// How a body is framed, and the pieces it is written in.
#[derive(Debug, Clone)]
enum Body {
    None,
    Length(Vec<u8>),
    Chunks(Vec<Vec<u8>>),
}

#[derive(Debug, Clone)]
struct Message {
    method: String,
    target: String,
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

fn body() -> impl Strategy<Value = Body> {
    let bytes = || vec(any::<u8>(), 0..40);
    prop_oneof![
        Just(Body::None),
        bytes().prop_map(Body::Length),
        vec(bytes(), 0..4).prop_map(Body::Chunks),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let header = ("X-[a-zA-Z0-9!#$%&'*+.^_`|~-]{0,8}", "([!-~]([ -~\\t]{0,12}[!-~])?)?");
    ("[A-Z]{1,7}", "/[!-~]{0,12}", 200..=999u16, vec(header, 0..5), body()).prop_map(
        |(method, target, status, headers, body)| {
            // These have no body, whatever is written behind them.
            let status = if matches!(status, 204 | 304) { 200 } else { status };
            Message { method, target, status, headers, body }
        },
    )
}

fn messages() -> impl Strategy<Value = (Vec<Message>, Vec<prop::sample::Index>)> {
    (vec(message(), 1..4), vec(any::<prop::sample::Index>(), 0..6))
}

/// The fields of the message, with those of its framing.
fn fields(message: &Message, response: bool) -> Vec<(String, String)> {
    let mut fields = message.headers.clone();
    match &message.body {
        Body::None if response => fields.push(("Content-Length".into(), "0".into())),
        Body::None => {}
        Body::Length(data) => fields.push(("Content-Length".into(), data.len().to_string())),
        Body::Chunks(_) => fields.push(("Transfer-Encoding".into(), "chunked".into())),
    }
    fields
}

fn write_body(out: &mut Vec<u8>, body: &Body) {
    match body {
        Body::None => {}
        Body::Length(data) => out.extend_from_slice(data),
        Body::Chunks(chunks) => {
            chunks.iter().for_each(|chunk| write_chunk(out, chunk));
            write_last_chunk(out);
        }
    }
}

/// The trace that a message should give, from its head's start on.
fn expected(start: &str, message: &Message, response: bool) -> Vec<String> {
    let (length, data) = match &message.body {
        Body::None if response => ("Known(0)".to_owned(), Vec::new()),
        Body::None => ("None".to_owned(), Vec::new()),
        Body::Length(data) => (format!("Known({})", data.len()), data.clone()),
        Body::Chunks(chunks) => ("Chunked".to_owned(), chunks.concat()),
    };
    let mut head = format!("{start} {length}");
    for (name, value) in fields(message, response) {
        head.push_str(&format!(" [{name}={}]", value.as_bytes().escape_ascii()));
    }
    let mut lines = vec![head];
    if !data.is_empty() {
        lines.push(format!("body {}", data.escape_ascii()));
    }
    lines.push("end keep-alive".to_owned());
    lines
}

fn cuts(data: &[u8], at: &[prop::sample::Index]) -> Vec<usize> {
    let mut cuts: Vec<usize> = at.iter().map(|index| index.index(data.len())).collect();
    cuts.sort_unstable();
    cuts
}

fn runner() -> TestRunner {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn responses() {
    let outcome = runner().run(&messages(), |(messages, at)| {
        let mut out = Vec::new();
        let mut lines = Vec::new();
        for message in &messages {
            write_status_line(&mut out, 1, message.status);
            for (name, value) in &message.headers {
                write_header(&mut out, name, value.as_bytes());
            }
            match &message.body {
                Body::None => write_content_length(&mut out, 0),
                Body::Length(data) => write_content_length(&mut out, data.len() as u64),
                Body::Chunks(_) => write_header(&mut out, "Transfer-Encoding", b"chunked"),
            }
            write_head_end(&mut out);
            write_body(&mut out, &message.body);
            lines.extend(expected(&format!("head {} 1.1", message.status), message, true));
        }
        lines.push("idle".to_owned());
        let cuts = cuts(&out, &at);
        let trace = trace_response(Limits::default(), RequestKind::Plain, &out, &cuts);
        prop_assert_eq!(trace, lines);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn requests() {
    let outcome = runner().run(&messages(), |(messages, at)| {
        let mut out = Vec::new();
        let mut lines = Vec::new();
        for message in &messages {
            let fields = fields(message, false);
            let headers = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let written =
                write_request_head(&mut out, &message.method, &message.target, 1, headers);
            prop_assert_eq!(written, Ok(()));
            write_body(&mut out, &message.body);
            let start = format!("head {} {} 1.1 keep-alive", message.method, message.target);
            lines.extend(expected(&start, message, false));
        }
        lines.push("idle".to_owned());
        let cuts = cuts(&out, &at);
        prop_assert_eq!(trace_request(Limits::default(), &out, &cuts), lines);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
