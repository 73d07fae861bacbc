//! What a server makes of what clients send. It allows two streams, and answers each request, once
//! that has ended, with 70 000 bytes, of which the client's first window holds back a part.
//!
//! The cases follow the sections of RFC 9113 and RFC 7541; h2spec's list served to find missing
//! ones.

use super::super::frame::{flag, kind};
use super::super::fuzz::trace_server;
use super::super::{
    Body, ErrorCode, LastStream, Limits, Receiving, Server, ServerEvent, ServerOptions,
};
use super::Bytes;
use super::frames::{GET, POST, block, names};

/// The server's greeting, and its acknowledgement of the client's.
const SENT_BEFORE: usize = 3;

/// Compares what bytes mean, and what the server answers, whole and cut at every byte.
pub(super) fn check(why: &str, bytes: &Bytes, lines: &str, sent: &str) {
    let whole = trace_server(Limits::default(), &bytes.0, &[]);
    assert_eq!(whole.lines.join(", "), lines, "{why}");
    let frames = names(&whole.sent);
    assert_eq!(frames[SENT_BEFORE.min(frames.len())..].join(", "), sent, "{why}: sent");
    let every_byte: Vec<usize> = (1..bytes.0.len()).collect();
    assert_eq!(trace_server(Limits::default(), &bytes.0, &every_byte), whole, "{why}: in bytes");
    for cut in 1..bytes.0.len() {
        let trace = trace_server(Limits::default(), &bytes.0, &[cut]);
        assert_eq!(trace, whole, "{why}: cut at {cut}");
    }
}

pub(super) fn client() -> Bytes {
    Bytes::of_client()
}

#[test]
fn greeting() {
    let frames = names(&trace_server(Limits::default(), &client().0, &[]).sent);
    assert_eq!(frames, ["SETTINGS", "WINDOW 0 16711681", "SETTINGS ack"]);
    for (bytes, error) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "bad_preface"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", "bad_preface"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r", "truncated_frame"),
        (b"", "truncated_frame"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x08\x06\0\0\0\0\0", "no_settings"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nHTTP/1.1 ", "no_settings"),
    ] {
        let trace = trace_server(Limits::default(), bytes, &[]);
        assert_eq!(trace.lines, [format!("error {error}")], "{}", bytes.escape_ascii());
    }
}

#[test]
fn requests() {
    let answered = "HEADERS 1, DATA 1 16384, DATA 1 16384, DATA 1 16384, DATA 1 16383";
    let connect = [(":method", "CONNECT"), (":authority", "a:1")];
    let options = [(":method", "OPTIONS"), (":scheme", "http"), (":path", "*")];
    let length = [&POST[..], &[("content-length", "3"), ("te", "trailers")]].concat();
    let head = block(&GET);
    let padded = [&[2][..], &[0, 0, 0, 9, 1], &head, &[0; 2]].concat();
    let all = flag::PADDED | flag::PRIORITY | flag::END_HEADERS | flag::END_STREAM;
    for (why, bytes, lines, sent) in [
        (
            "no body, and windows for the response",
            client().get(1).window(1, 4000).window(0, 4465).window(1, 465),
            "greeted, request 1 GET http a /, end 1, resumed 1, closed, 0 open",
            &format!("{answered}, DATA 1 4000, DATA 1 465 end")[..],
        ),
        (
            "a body, padding and trailers",
            client()
                .headers(1, false, &length)
                .frame(kind::DATA, flag::PADDED, 1, b"\x02abc\0\0")
                .headers(1, true, &[("x", "y")]),
            "greeted, request 1 POST http a / [content-length=3] [te=trailers], body 1 abc, \
             trailers 1 [x=y], end 1, closed, 1 open",
            answered,
        ),
        (
            "CONNECT, and OPTIONS of the server",
            client().headers(1, false, &connect).headers(3, false, &options),
            "greeted, request 1 CONNECT - a:1 -, request 3 OPTIONS http - *, closed, 2 open",
            "",
        ),
        (
            "a head in many forms: padded, with a priority, in pieces",
            client().frame(kind::HEADERS, all, 1, &padded).frame(99, 1, 0, b"x"),
            "greeted, request 1 GET http a /, end 1, closed, 1 open",
            answered,
        ),
        (
            "more streams than allowed, whose blocks and frames still count",
            client()
                .post(1)
                .post(3)
                .frame(
                    kind::HEADERS,
                    flag::END_HEADERS,
                    5,
                    &[&head[..], b"\x40\x01a\x01b"].concat(),
                )
                .data(5, true, b"x")
                .rst(1, ErrorCode::CANCEL)
                .frame(kind::HEADERS, flag::END_HEADERS, 7, &[&head[..], b"\xbe"].concat()),
            "greeted, request 1 POST http a /, request 3 POST http a /, reset 1 CANCEL, \
             request 7 GET http a / [a=b], closed, 2 open",
            "RST 5 REFUSED_STREAM",
        ),
        (
            "a stream given up, and its window",
            client().post(1).rst(1, ErrorCode::NO_ERROR).window(1, 1).rst(1, ErrorCode::CANCEL),
            "greeted, request 1 POST http a /, reset 1 NO_ERROR, closed, 0 open",
            "",
        ),
        (
            "a client that leaves",
            client().goaway(0, ErrorCode::NO_ERROR).post(1),
            "greeted, draining NO_ERROR, request 1 POST http a /, closed, 1 open",
            "",
        ),
        (
            "Host that says the same as :authority",
            client().headers(1, false, &[&POST[..], &[("host", "A")]].concat()),
            "greeted, request 1 POST http a / [host=A], closed, 1 open",
            "",
        ),
    ] {
        check(why, &bytes, lines, sent);
    }
}

/// A server with its caller, event by event.
struct Desk {
    server: Server,
    sent: Vec<u8>,
}

impl Desk {
    fn new(options: ServerOptions) -> Self {
        let mut desk = Self { server: Server::new(options), sent: Vec::new() };
        desk.server.begin(&mut desk.sent);
        desk
    }

    /// What comes of bytes, and the frames that were sent for them.
    fn receive(&mut self, bytes: Bytes) -> (Vec<String>, Vec<String>) {
        let mut input = bytes.0.as_slice();
        let mut lines = Vec::new();
        loop {
            let decoded = self.server.receive(input, &mut self.sent).expect("no error");
            input = &input[decoded.consumed..];
            match decoded.event {
                None => break,
                Some(ServerEvent::Request(stream, _)) => lines.push(format!("request {stream}")),
                Some(event) => lines.push(format!("{event:?}")),
            }
        }
        (lines, self.sent())
    }

    fn sent(&mut self) -> Vec<String> {
        names(&std::mem::take(&mut self.sent))
    }
}

#[test]
fn responses_in_parts() {
    let mut desk = Desk::new(ServerOptions::default());
    desk.receive(client().settings(&[(4, 10)]).get(1));
    let Desk { server, sent } = &mut desk;
    server.send_head(1, false, sent, |head| head.status(103));
    server.send_head(1, false, sent, |head| {
        head.status(299);
        head.field("Content-Type", b"a/b").expect("a valid field");
        assert!(head.field("connection", b"x").is_err());
    });
    server.send(1, Body::Bytes(b"0123456789"), false, sent);
    assert!(!server.is_stalled(1));
    server.send(1, Body::Bytes(b"ab"), false, sent);
    server.send(1, Body::Shared(&b"cd"[..].into()), false, sent);
    assert!(server.is_stalled(1));
    assert!(!server.send_trailers(1, sent, |_| panic!("not yet")));
    assert_eq!(desk.sent(), ["HEADERS 1", "HEADERS 1", "DATA 1 10"]);
    let (lines, frames) = desk.receive(Bytes::default().window(1, 3));
    assert_eq!((lines, frames), (vec![], vec!["DATA 1 3".to_owned()]));
    let (lines, frames) = desk.receive(Bytes::default().window(1, 3));
    assert_eq!((lines, frames), (vec!["Resumed(1)".to_owned()], vec!["DATA 1 1".to_owned()]));
    let Desk { server, sent } = &mut desk;
    let trailers = server.send_trailers(1, sent, |head| head.field("a", b"b").expect("valid"));
    assert!(trailers);
    assert_eq!(server.open(), 0);
    // What is sent on a closed stream goes nowhere.
    server.send(1, Body::Bytes(b"x"), true, sent);
    server.reset(1, ErrorCode::CANCEL, sent);
    assert_eq!(desk.sent(), ["HEADERS 1 end"]);
}

#[test]
fn early_responses_and_refusals() {
    let mut desk = Desk::new(ServerOptions::default());
    desk.receive(client().post(1).post(3));
    let Desk { server, sent } = &mut desk;
    server.send_head(1, true, sent, |head| head.status(413));
    assert!(server.is_open(1), "the request has not ended");
    server.reset(1, ErrorCode::NO_ERROR, sent);
    server.reset(3, ErrorCode::REFUSED_STREAM, sent);
    assert_eq!(desk.sent(), ["HEADERS 1 end", "RST 1 NO_ERROR", "RST 3 REFUSED_STREAM"]);
    let late = Bytes::default().data(1, false, b"x").data(1, true, b"y").data(3, true, b"z").get(5);
    let (lines, _) = desk.receive(late);
    assert_eq!(lines, ["request 5", "End(5)"]);
}

#[test]
fn shutdown_in_two_steps() {
    let mut desk = Desk::new(ServerOptions::default());
    desk.receive(client().get(1));
    desk.server.go_away(LastStream::Announced, ErrorCode::NO_ERROR, &mut desk.sent);
    let (lines, frames) = desk.receive(Bytes::default().get(3));
    assert_eq!(lines, ["request 3", "End(3)"]);
    assert_eq!(frames, ["GOAWAY 2147483647 NO_ERROR"]);
    desk.server.go_away(LastStream::Opened, ErrorCode::NO_ERROR, &mut desk.sent);
    let (lines, frames) = desk.receive(Bytes::default().post(5).data(5, true, b"x"));
    assert_eq!(lines, Vec::<String>::new());
    assert_eq!(frames, ["GOAWAY 3 NO_ERROR"]);
    assert_eq!(desk.server.open(), 2);
}

/// Open requests above the last are given up, and what still comes for them is read over.
#[test]
fn shutdown_below_what_is_open() {
    let mut desk = Desk::new(ServerOptions::default());
    desk.receive(client().get(1).post(3).get(5));
    desk.server.go_away(LastStream::Number(1), ErrorCode::NO_ERROR, &mut desk.sent);
    let open = [1, 3, 5].map(|stream| desk.server.is_open(stream));
    assert_eq!(open, [true, false, false]);
    let (lines, frames) = desk.receive(Bytes::default().data(3, true, b"x").get(7));
    assert_eq!((lines, frames), (Vec::new(), vec!["GOAWAY 1 NO_ERROR".to_owned()]));
    // A later one takes nothing back.
    desk.server.go_away(LastStream::Opened, ErrorCode::NO_ERROR, &mut desk.sent);
    assert_eq!(desk.sent(), ["GOAWAY 1 NO_ERROR"]);
}

/// The caller says when bytes of bodies are done with; padding is done with at once.
#[test]
fn windows_held_by_the_caller() {
    let options = ServerOptions {
        receiving: Receiving::with_windows(20_000, 65_535),
        holds_windows: true,
        ..ServerOptions::default()
    };
    let mut desk = Desk::new(options);
    desk.receive(client().post(1));
    let padded = [&[100][..], &[0; 15_000], &[0; 100]].concat();
    let (lines, frames) =
        desk.receive(Bytes::default().frame(kind::DATA, flag::PADDED, 1, &padded));
    assert_eq!(lines.len(), 1);
    assert_eq!(frames, Vec::<String>::new());
    desk.server.release(1, 15_000, &mut desk.sent);
    assert_eq!(desk.sent(), ["WINDOW 1 15101"]);
    let (_, frames) =
        desk.receive(Bytes::default().data(1, false, &[0; 16_384]).data(1, false, b"x"));
    assert_eq!(frames, Vec::<String>::new());
    desk.server.reset(1, ErrorCode::CANCEL, &mut desk.sent);
    desk.server.release(1, 16_385, &mut desk.sent);
    assert_eq!(desk.sent(), ["RST 1 CANCEL"]);
    desk.receive(Bytes::default().post(3).data(3, false, &[0; 3000]));
    desk.server.release(3, 3000, &mut desk.sent);
    assert_eq!(desk.sent(), ["WINDOW 0 34486"]);
}

/// Until the client has acknowledged a smaller window, it may use the default.
#[test]
fn windows_before_acknowledgement() {
    let small = ServerOptions {
        receiving: Receiving::with_windows(10, 1 << 24),
        ..ServerOptions::default()
    };
    let greeting = || Bytes(super::super::client::PREFACE.to_vec()).settings(&[]);
    let acknowledged = |bytes: Bytes| bytes.frame(kind::SETTINGS, flag::ACK, 0, b"");
    for (why, bytes, want) in [
        ("before", greeting().post(1).data(1, false, &[0; 11]), "Body"),
        ("after", acknowledged(greeting()).post(1).data(1, false, &[0; 11]), "Broken"),
        (
            "after, with some left",
            acknowledged(greeting()).post(1).data(1, false, &[0; 10]),
            "Body",
        ),
        (
            "opened before, sent after",
            acknowledged(greeting().post(1)).data(1, false, &[0; 11]),
            "Broken",
        ),
        (
            "sent before, more after",
            acknowledged(greeting().post(1).data(1, false, &[0; 4])).data(1, false, &[0; 11]),
            "Broken",
        ),
    ] {
        let (lines, _) = Desk::new(small).receive(bytes);
        let last = lines.last().expect("an event");
        assert!(last.starts_with(want), "{why}: {last}");
    }
}
