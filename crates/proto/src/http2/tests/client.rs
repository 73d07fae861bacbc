//! What a client makes of what servers send. The client has GET (number 10, stream 1), HEAD (11,
//! stream 3) and POST (12, stream 5) open, and the first window holds back a part of the POST.
//!
//! The cases follow the sections of RFC 9113; h2spec's list served to find missing ones.

use super::super::flow::WINDOW_MAX;
use super::super::frame::{flag, kind};
use super::super::fuzz::trace_client;
use super::super::{Client, ClientOptions, ErrorCode, Event, Limits, Receiving};
use super::Bytes;
use super::frames::{block, names};

/// What the client says before any of these: its greeting, an acknowledgement and the requests.
const SENT_BEFORE: usize = 10;

/// Compares what bytes mean, and what the client answers, whole and cut at every byte.
pub(super) fn check(why: &str, bytes: &Bytes, lines: &str, sent: &str) {
    let whole = trace_client(Limits::default(), &bytes.0, &[]);
    assert_eq!(whole.lines.join(", "), lines, "{why}");
    let frames = names(&whole.sent);
    assert_eq!(frames[SENT_BEFORE.min(frames.len())..].join(", "), sent, "{why}: sent");
    let every_byte: Vec<usize> = (1..bytes.0.len()).collect();
    assert_eq!(trace_client(Limits::default(), &bytes.0, &every_byte), whole, "{why}: in bytes");
    for cut in 1..bytes.0.len() {
        let trace = trace_client(Limits::default(), &bytes.0, &[cut]);
        assert_eq!(trace, whole, "{why}: cut at {cut}");
    }
}

pub(super) fn server() -> Bytes {
    Bytes::of_server()
}

#[test]
fn greeting() {
    let frames = names(&trace_client(Limits::default(), &server().0, &[]).sent);
    let want = [
        "SETTINGS",
        "WINDOW 0 2147418112",
        "SETTINGS ack",
        "HEADERS 1 end",
        "HEADERS 3 end",
        "HEADERS 5",
        "DATA 5 16384",
        "DATA 5 16384",
        "DATA 5 16384",
        "DATA 5 16383",
    ];
    assert_eq!(frames, want);
    assert_eq!(frames.len(), SENT_BEFORE);
    for (bytes, error) in [
        (Bytes::default().raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "http1_peer"),
        (Bytes::default().raw(b"SSH-2.0-OpenSSH_9.2"), "no_settings"),
        (Bytes::default().frame(kind::SETTINGS, flag::ACK, 0, b""), "no_settings"),
        (Bytes::default().frame(kind::PING, 0, 0, &[0; 8]), "no_settings"),
        (Bytes::default().settings(&[(99, 1)]).raw(b"\0\0"), "truncated_frame"),
        (Bytes::default(), "truncated_frame"),
    ] {
        let trace = trace_client(Limits::default(), &bytes.0, &[]);
        let lines: Vec<&String> = trace.lines.iter().filter(|line| *line != "greeted").collect();
        assert_eq!(lines, [&format!("error {error}")]);
    }
}

#[test]
fn responses() {
    let trailers = block(&[("grpc-status", "0")]);
    let padded = [&[3][..], b"body", &[0; 3]].concat();
    let prioritised = [&[2][..], &[0, 0, 0, 9, 1], &block(&[(":status", "200")]), &[0; 2]].concat();
    let all = flag::PADDED | flag::PRIORITY | flag::END_HEADERS;
    let head = block(&[(":status", "200"), ("content-length", "4"), ("x-a", "b c")]);
    for (why, bytes, lines, sent) in [
        (
            "a body of a known length",
            server()
                .frame(kind::HEADERS, flag::END_HEADERS, 1, &head)
                .data(1, false, b"bo")
                .data(1, true, b"dy"),
            "greeted, first byte 10, head 10 200 [content-length=4] [x-a=b c], body 10 body, \
             complete 10 4 bytes, closed, 2 open",
            "",
        ),
        (
            "no body",
            server().headers(1, true, &[(":status", "404")]),
            "greeted, first byte 10, head 10 404, complete 10 0 bytes, closed, 2 open",
            "",
        ),
        (
            "the end on its own",
            server().ok(1).data(1, false, b"x").data(1, true, b""),
            "greeted, first byte 10, head 10 200, body 10 x, complete 10 1 bytes, closed, 2 open",
            "",
        ),
        (
            "interim responses",
            server()
                .headers(1, false, &[(":status", "103"), ("link", "a")])
                .headers(1, false, &[(":status", "100")])
                .headers(1, true, &[(":status", "204"), ("content-length", "9")]),
            "greeted, first byte 10, interim 10 103 [link=a], first byte 10, interim 10 100, \
             first byte 10, head 10 204 [content-length=9], complete 10 0 bytes, closed, 2 open",
            "",
        ),
        (
            "trailers",
            server().ok(1).data(1, false, b"x").frame(kind::HEADERS, 5, 1, &trailers),
            "greeted, first byte 10, head 10 200, body 10 x, trailers 10 [grpc-status=0], \
             complete 10 1 bytes, closed, 2 open",
            "",
        ),
        (
            "padding, a priority, a PRIORITY frame and unknown frames",
            server()
                .frame(kind::HEADERS, all, 1, &prioritised)
                .frame(kind::PRIORITY, 0, 77, &[0, 0, 0, 1, 1])
                .frame(99, 0xff, 3, b"anything")
                .frame(kind::DATA, flag::PADDED, 1, &padded)
                .frame(kind::DATA, flag::PADDED | flag::END_STREAM, 1, &[0]),
            "greeted, first byte 10, head 10 200, body 10 body, complete 10 4 bytes, \
             closed, 2 open",
            "",
        ),
        (
            "a head in three frames",
            server()
                .frame(kind::HEADERS, flag::END_STREAM, 1, &head[..5])
                .frame(kind::CONTINUATION, 0, 1, &head[5..9])
                .frame(kind::CONTINUATION, flag::END_HEADERS, 1, &head[9..]),
            "greeted, first byte 10, head 10 200 [content-length=4] [x-a=b c], \
             broken 10 body_length, closed, 2 open",
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a HEAD response with the length of what is not there",
            server().headers(3, true, &[(":status", "200"), ("content-length", "9")]),
            "greeted, first byte 11, head 11 200 [content-length=9], complete 11 0 bytes, \
             closed, 2 open",
            "",
        ),
        (
            "a whole response before the end of the request, and what the server sends then",
            server()
                .headers(5, true, &[(":status", "413")])
                .rst(5, ErrorCode::NO_ERROR)
                .window(5, 100),
            "greeted, first byte 12, head 12 413, complete 12 0 bytes, closed, 2 open",
            "RST 5 NO_ERROR",
        ),
        (
            "responses in another order, in pieces between each other",
            server()
                .ok(3)
                .ok(1)
                .data(1, false, b"a")
                .headers(3, true, &[("t", "1")])
                .data(1, true, b"b"),
            "greeted, first byte 11, head 11 200, first byte 10, head 10 200, body 10 a, \
             trailers 11 [t=1], complete 11 0 bytes, body 10 b, complete 10 2 bytes, \
             closed, 1 open",
            "",
        ),
    ] {
        check(why, &bytes, lines, sent);
    }
}

#[test]
fn ends_that_servers_choose() {
    for (why, bytes, lines, sent) in [
        (
            "REFUSED_STREAM before a response",
            server().rst(1, ErrorCode::REFUSED_STREAM),
            "greeted, refused 10, closed, 2 open",
            "",
        ),
        (
            "REFUSED_STREAM after the head",
            server().ok(1).rst(1, ErrorCode::REFUSED_STREAM),
            "greeted, first byte 10, head 10 200, reset 10 REFUSED_STREAM, closed, 2 open",
            "",
        ),
        (
            "other codes, known and unknown, and a second RST_STREAM",
            server().rst(1, ErrorCode::CANCEL).rst(3, ErrorCode(0x77)).rst(1, ErrorCode::CANCEL),
            "greeted, reset 10 CANCEL, reset 11 code 0x77, closed, 1 open",
            "",
        ),
        (
            "NO_ERROR before the end of the response",
            server().ok(5).rst(5, ErrorCode::NO_ERROR),
            "greeted, first byte 12, head 12 200, reset 12 NO_ERROR, closed, 2 open",
            "",
        ),
        (
            "GOAWAY in two steps",
            server()
                .goaway(0x7fff_ffff, ErrorCode::NO_ERROR)
                .goaway(3, ErrorCode::NO_ERROR)
                .ok(3)
                .data(3, true, b""),
            "greeted, draining NO_ERROR, draining NO_ERROR, refused 12, first byte 11, \
             head 11 200, complete 11 0 bytes, closed, 1 open",
            "",
        ),
        (
            "GOAWAY with an error, and debug data",
            server().frame(kind::GOAWAY, 0, 0, b"\0\0\0\0\0\0\0\x0bcalm"),
            "greeted, draining ENHANCE_YOUR_CALM, refused 12, refused 11, refused 10, \
             closed, 0 open",
            "",
        ),
        (
            "a GOAWAY that takes back an earlier one",
            server().goaway(3, ErrorCode::NO_ERROR).goaway(5, ErrorCode::NO_ERROR),
            "greeted, draining NO_ERROR, refused 12, error bad_goaway",
            "GOAWAY 0 PROTOCOL_ERROR",
        ),
    ] {
        check(why, &bytes, lines, sent);
    }
}

#[test]
fn pings_settings_and_windows() {
    for (why, bytes, lines, sent) in [
        (
            "a PING, and an answer to none",
            server().frame(kind::PING, 0, 0, b"12345678").frame(
                kind::PING,
                flag::ACK,
                0,
                b"87654321",
            ),
            "greeted, closed, 3 open",
            "PING ack 12345678",
        ),
        (
            "more streams, fewer, and as many as before",
            server().settings(&[(3, 7)]).settings(&[(3, 2)]).settings(&[(3, 8), (3, 7)]),
            "greeted, room, closed, 3 open",
            "SETTINGS ack, SETTINGS ack, SETTINGS ack",
        ),
        (
            "windows for the rest of the POST: the connection's alone is not enough",
            server().window(0, 5000).window(5, 4000).window(5, 1000),
            "greeted, resumed 12, closed, 3 open",
            "DATA 5 4000, DATA 5 465 end",
        ),
        (
            "the stream's alone is not enough",
            server().window(5, 5000).window(0, 10).window(0, 5000),
            "greeted, resumed 12, closed, 3 open",
            "DATA 5 10, DATA 5 4455 end",
        ),
        (
            "a larger initial window, while the stream is open",
            server().window(0, 5000).settings(&[(4, 65_635)]).settings(&[(4, 75_535)]),
            "greeted, resumed 12, closed, 3 open",
            "SETTINGS ack, DATA 5 100, SETTINGS ack, DATA 5 4365 end",
        ),
        (
            "a smaller one, which makes the window negative",
            server().window(0, 5000).settings(&[(4, 0)]).window(5, 65_535).window(5, 65_535),
            "greeted, resumed 12, closed, 3 open",
            "SETTINGS ack, DATA 5 4465 end",
        ),
        (
            "an increase by 0",
            server().window(5, 0),
            "greeted, broken 12 stream_zero_increment, closed, 2 open",
            "RST 5 PROTOCOL_ERROR",
        ),
        (
            "a stream's window that is too large",
            server().window(1, 0x7fff_ffff),
            "greeted, broken 10 stream_window_overflow, closed, 2 open",
            "RST 1 FLOW_CONTROL_ERROR",
        ),
        (
            "a closed stream's window, and one that the client gave up",
            server().headers(1, true, &[(":status", "200")]).window(1, 5).window(1, 0),
            "greeted, first byte 10, head 10 200, complete 10 0 bytes, closed, 2 open",
            "",
        ),
    ] {
        check(why, &bytes, lines, sent);
    }
}

/// How many requests can be started follows the server's limit, also while it is lowered.
#[test]
fn room() {
    let mut client = Client::new(ClientOptions { streams: 5, ..ClientOptions::default() });
    let mut out = Vec::new();
    client.begin(&mut out);
    let mut rooms = vec![client.room()];
    for bytes in [
        server().settings(&[(3, 4)]),
        Bytes::default().settings(&[(3, 100)]),
        Bytes::default().settings(&[(3, 2)]),
        Bytes::default().rst(1, ErrorCode::CANCEL).rst(3, ErrorCode::CANCEL),
        Bytes::default().settings(&[(3, 3)]),
        Bytes::default().goaway(0x7fff_ffff, ErrorCode::NO_ERROR),
    ] {
        let mut input = bytes.0.as_slice();
        loop {
            let decoded = client.receive(input, &mut out).expect("no error");
            input = &input[decoded.consumed..];
            if decoded.event.is_none() {
                break;
            }
        }
        if rooms.len() == 1 {
            super::super::fuzz::start_requests(&mut client, &mut out);
        }
        rooms.push(client.room());
    }
    assert_eq!(rooms, [0, 1, 2, 0, 1, 2, 0]);
    assert!(client.is_spent());
    assert_eq!(client.drain().collect::<Vec<_>>(), [12]);
}

/// A connection that begins anew knows nothing of the one before.
#[test]
fn begins_anew() {
    let mut client = Client::new(ClientOptions { streams: 3, ..ClientOptions::default() });
    let response = |block: &[u8]| server().frame(kind::HEADERS, 5, 1, block);
    let mut run = |bytes: &Bytes| {
        let mut out = Vec::new();
        client.begin(&mut out);
        let mut input = bytes.0.as_slice();
        let mut last = String::new();
        loop {
            match client.receive(input, &mut out) {
                Err(error) => return (error.kind().to_owned(), out),
                Ok(decoded) => {
                    input = &input[decoded.consumed..];
                    let Some(event) = decoded.event else { return (last, out) };
                    last = format!("{event:?}");
                }
            }
            if last == "Greeted" {
                super::super::fuzz::start_requests(&mut client, &mut out);
            }
        }
    };
    let complete = "Complete(10, Response { status: 200, body_bytes: 0 })";
    let inserts = response(&[0x88, 0x40, 1, b'a', 1, b'b']);
    let (last, first) = run(&inserts);
    assert_eq!(last, complete);
    let noise = inserts.settings(&[(1, 0), (3, 1), (4, 7)]).frame(kind::HEADERS, 0, 3, b"x");
    assert_eq!(run(&noise.clone().raw(b"\0\0")).0, run(&noise).0);
    assert_eq!(run(&noise.ok(3)).0, "broken_header_block");
    let (last, again) = run(&response(&[0x88]));
    assert_eq!((last.as_str(), again), (complete, first));
    assert_eq!(run(&response(&[0x88, 0xbe])).0, "compression");
}

/// What the client itself ends: frames of those streams that were on their way are no error, their
/// blocks still change the table, and their bytes are given back to the connection's window.
#[test]
fn cancelled_requests() {
    let options = ClientOptions {
        receiving: Receiving::with_windows(WINDOW_MAX, 65_535),
        ..ClientOptions::default()
    };
    let mut client = Client::new(ClientOptions { streams: 2, ..options });
    let mut out = Vec::new();
    client.begin(&mut out);
    let run = |client: &mut Client, bytes: &Bytes, out: &mut Vec<u8>| {
        let mut input = bytes.0.as_slice();
        let mut lines = Vec::new();
        loop {
            let decoded = client.receive(input, out).expect("no error");
            input = &input[decoded.consumed..];
            match decoded.event {
                None => return lines,
                Some(Event::Head(number, head)) => {
                    let fields: Vec<_> = head.headers().map(|it| it.0.to_owned()).collect();
                    lines.push(format!("head {number} {}", fields.join(" ")));
                }
                Some(event) => lines.push(format!("{event:?}")),
            }
        }
    };
    assert_eq!(client.room(), 0);
    assert_eq!(run(&mut client, &server(), &mut out), ["Greeted"]);
    assert_eq!(client.room(), 2);
    super::super::fuzz::start_requests(&mut client, &mut out);
    assert_eq!(client.room(), 0);
    assert_eq!(client.requests().collect::<Vec<_>>(), [10, 11]);
    assert!(client.cancel(10, &mut out));
    assert!(!client.cancel(10, &mut out));
    assert_eq!(names(&out).last().map(String::as_str), Some("RST 1 CANCEL"));
    assert_eq!(client.room(), 1);

    out.clear();
    let late = Bytes::default()
        .frame(kind::HEADERS, flag::END_HEADERS, 1, &[0x88, 0x40, 1, b'a', 1, b'b'])
        .data(1, false, &[0; 16_384])
        .data(1, true, &[0; 16_384])
        .frame(kind::HEADERS, 5, 3, &[0x88, 0xbe]);
    let lines = run(&mut client, &late, &mut out);
    let response = "Complete(11, Response { status: 200, body_bytes: 0 })";
    assert_eq!(lines, ["FirstByte(11)", "head 11 a", response]);
    assert_eq!(names(&out), ["WINDOW 0 32768"]);
}
