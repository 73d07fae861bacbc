//! What each version makes of the same requests, and what a connection makes of what comes back,
//! however the bytes are cut. The server of HTTP/2 is `proto`'s.

use plimsoll_proto::http2::{
    Body, ClientOptions, ErrorCode, Receiving, Server, ServerEvent, ServerOptions,
};

use super::{Negotiated, NegotiatedSettings};
use crate::event::{ExchangeId, Progress};
use crate::protocol::{Protocol as _, Wire};
use crate::request::{Message, WrittenError};

const H2: Option<&[u8]> = Some(b"h2");

fn negotiated() -> Negotiated {
    Negotiated::new(&NegotiatedSettings::default())
}

fn written(bytes: &[u8]) -> Message<'_, super::Uncompiled> {
    Message::Written { bytes, is_head: bytes.starts_with(b"HEAD ") }
}

/// A client that speaks HTTP/2, and its server.
struct Pair {
    client: Negotiated,
    server: Server,
}

/// What a server reads of one request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    stream: u32,
    lines: Vec<String>,
    body: String,
    has_ended: bool,
}

impl Pair {
    fn new(receiving: Receiving, alpn: Option<&[u8]>) -> Self {
        let options = ServerOptions { receiving, holds_windows: true, ..ServerOptions::default() };
        let (mut client, mut server) = (negotiated(), Server::new(options));
        client.begin(Some(b"h2"), &mut Vec::new());
        let (mut up, mut down) = (Vec::new(), Vec::new());
        client.begin(alpn, &mut up);
        server.begin(&mut down);
        client.receive(&down, &mut up, &mut |_| {}).expect("settings");
        let mut pair = Self { client, server };
        pair.reads(&up);
        pair
    }

    fn secure() -> Self {
        Self::new(ServerOptions::default().receiving, H2)
    }

    fn starts(&mut self, number: u32, request: &[u8]) -> Result<Read, WrittenError> {
        let mut out = Vec::new();
        let started = self.client.start(ExchangeId(number), &written(request), &mut out);
        assert_eq!(started.is_err(), out.is_empty());
        assert_eq!(started?, Wire::Framed);
        Ok(self.reads(&out))
    }

    fn reads(&mut self, mut bytes: &[u8]) -> Read {
        let mut read = Read::default();
        loop {
            let decoded = self.server.receive(bytes, &mut Vec::new()).expect("sound frames");
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                None => return read,
                Some(ServerEvent::Request(stream, head)) => {
                    let pseudo = [
                        (":method", Some(head.method())),
                        (":scheme", head.scheme()),
                        (":authority", head.authority()),
                        (":path", head.path()),
                    ];
                    let pseudo = pseudo.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
                    let pseudo = pseudo.map(|(name, value)| format!("{name}: {value}"));
                    let fields = head
                        .headers()
                        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)));
                    read.lines = pseudo.chain(fields).collect();
                    read.stream = stream;
                }
                Some(ServerEvent::Body(stream, piece)) => {
                    read.stream = stream;
                    read.body += &String::from_utf8_lossy(piece);
                }
                Some(ServerEvent::End(_)) => read.has_ended = true,
                Some(ServerEvent::Greeted | ServerEvent::Reset(..)) => {}
                Some(event) => panic!("{event:?}"),
            }
        }
    }
}

/// What a client tells of received bytes: the pieces of each body stand together, at its end.
fn told(client: &mut Negotiated, bytes: &[u8], cuts: &[usize]) -> Vec<String> {
    let (mut told, mut bodies, mut from) = (Vec::new(), [String::new(), String::new()], 0);
    for to in cuts.iter().copied().chain([bytes.len()]) {
        let mut tell = |progress: Progress<'_>| match progress {
            Progress::Body(ExchangeId(number), piece) => {
                bodies[number as usize] += std::str::from_utf8(piece).expect("text");
            }
            Progress::Head(ExchangeId(number), head) => {
                let fields: Vec<String> = head
                    .fields()
                    .map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value)))
                    .collect();
                told.push(format!("{number} is {} {}", head.status, fields.join(" ")));
            }
            Progress::Complete(ExchangeId(number), response) => {
                let body = std::mem::take(&mut bodies[number as usize]);
                assert_eq!(response.body_bytes, body.len() as u64);
                told.push(format!("{number} has {:?} {body}", response.status));
            }
            progress => told.push(format!("{progress:?}")),
        };
        if let Err(failure) = client.receive(&bytes[from..to], &mut Vec::new(), &mut tell) {
            told.push(failure.kind().to_owned());
            return told;
        }
        from = to;
    }
    told
}

#[test]
fn tls_decides_what_is_spoken_each_time_anew() {
    let mut client = negotiated();
    for (alpn, name, is_greeted, room) in [
        (None, "http/1.1", true, 1),
        (H2, "h2", false, 0),
        (H2, "h2", false, 0),
        (Some(&b"http/1.1"[..]), "http/1.1", true, 1),
        (H2, "h2", false, 0),
        (None, "http/1.1", true, 1),
    ] {
        let mut out = Vec::new();
        client.begin(alpn, &mut out);
        let state = (client.name(), client.is_greeted(), client.room(), client.open_exchanges());
        assert_eq!(state, (name, is_greeted, room, 0), "{alpn:?}");
        assert_eq!(out.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), name == "h2");
        assert!(Negotiated::is_agreed(alpn) && !client.is_spent());
        assert_eq!((client.exchanges_allowed(), client.allowed_range()), (None, None));
    }
    let names = |with_http2| Negotiated::offered(with_http2);
    assert_eq!(names(true), [&b"h2"[..], b"http/1.1"]);
    assert_eq!(names(false), [b"http/1.1"]);
}

#[test]
fn http1_sends_what_was_written_and_reads_one_response_after_another() {
    let mut client = negotiated();
    client.begin(None, &mut Vec::new());
    for (request, answer, want) in [
        (
            "HEAD / HTTP/1.1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
            &["FirstByte(ExchangeId(0))", "0 is 200 Content-Length=9", "0 has 200 "][..],
        ),
        (
            "POST /a HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
            "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n\
             HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            &[
                "FirstByte(ExchangeId(0))",
                "Interim(ExchangeId(0), 103)",
                "FirstByte(ExchangeId(0))",
                "0 is 404 Transfer-Encoding=chunked",
                "0 has 404 abcde",
            ],
        ),
        (
            "GET / HTTP/1.1\r\n\r\n",
            "HTTP 200\r\n\r\n",
            &["FirstByte(ExchangeId(0))", "malformed_head"],
        ),
    ] {
        let answer = answer.as_bytes();
        for cut in 0..answer.len() {
            let mut out = Vec::new();
            client.begin(None, &mut out);
            let started = client.start(ExchangeId(0), &written(request.as_bytes()), &mut out);
            assert_eq!(started, Ok(Wire::Bytes(request.as_bytes())));
            assert_eq!((out.len(), client.room(), client.open_exchanges()), (0, 0, 1));
            let told = told(&mut client, answer, &[cut]);
            // What is wrong with a head may be found at once or when its line is there.
            let (of, want) = (told.last(), want.last().copied());
            assert_eq!(of.map(String::as_str), want, "cut at {cut}");
            client.drain().for_each(drop);
        }
        let every_byte: Vec<usize> = (1..answer.len()).collect();
        client.begin(None, &mut Vec::new());
        client.start(ExchangeId(0), &written(request.as_bytes()), &mut Vec::new()).expect("fits");
        assert_eq!(told(&mut client, answer, &every_byte), want);
        assert!(!client.cancel(ExchangeId(0), &mut Vec::new()));
        client.drain().for_each(drop);
    }
}

#[test]
fn http2_says_it_in_its_own_words() {
    let long = format!("x-long: {}", "v ".repeat(20_000).trim_end());
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let all = [
        "Host: a.example:8080",
        "User-Agent: Grafana k6/1.0",
        "Connection: close",
        "Host: b",
        "Keep-Alive: timeout=5",
        "Proxy-Connection: keep-alive",
        "TE: trailers",
        "Cookie: a=b; c=d",
        "X-Empty:",
        "X-Odd: \u{e4}\t;",
        &long,
        "x-again: 1",
        "X-Again: 2",
    ];
    let want = [
        ":method: GET",
        ":scheme: https",
        ":authority: a.example:8080",
        ":path: /a?b=c",
        "user-agent: Grafana k6/1.0",
        "te: trailers",
        "cookie: a=b; c=d",
        "x-empty: ",
        "x-odd: \u{e4}\t;",
        &long,
        "x-again: 1",
        "x-again: 2",
    ];
    let start = |method: &str, path: &str| {
        lines(&[&format!(":method: {method}"), ":scheme: https", &format!(":path: {path}")])
    };
    let with = |mut lines: Vec<String>, more: &[&str]| {
        lines.extend(more.iter().map(|line| (*line).to_owned()));
        lines
    };
    for (request, want, body) in [
        (format!("GET /a?b=c HTTP/1.1\r\n{}\r\n\r\n", all.join("\r\n")), lines(&want), ""),
        ("HEAD / HTTP/1.1\r\n\r\n".to_owned(), start("HEAD", "/"), ""),
        ("OPTIONS * HTTP/1.1\r\n\r\n".to_owned(), start("OPTIONS", "*"), ""),
        ("brew /\u{e4} HTTP/1.0\r\n\r\n".to_owned(), start("brew", "/\u{e4}"), ""),
        (
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Type: a/b\r\n\r\nabc".to_owned(),
            with(start("POST", "/"), &["content-length: 3", "content-type: a/b"]),
            "abc",
        ),
        (
            "PUT / HTTP/1.1\r\ncontent-length: 0,0\r\nContent-Length: 0\r\nHost:\r\n\r\n"
                .to_owned(),
            with(start("PUT", "/"), &["content-length: 0"]),
            "",
        ),
        (
            "GET / HTTP/1.1\r\nContent-Length: 4\r\n\r\n\r\n\r\n".to_owned(),
            with(start("GET", "/"), &["content-length: 4"]),
            "\r\n\r\n",
        ),
    ] {
        let mut pair = Pair::secure();
        for number in 0..2 {
            let read = pair.starts(number, request.as_bytes()).expect("fits");
            assert_eq!((read.lines, &*read.body, read.has_ended), (want.clone(), body, true));
            assert_eq!(pair.client.body_bytes(), body.len());
        }
        assert_eq!(pair.client.open_exchanges(), 2);
    }
}

#[test]
fn what_http2_cannot_say_is_refused_and_harms_nothing() {
    let mut pair = Pair::secure();
    let many: String = (0..200).map(|number| format!("X{number}: 1\r\n")).collect();
    for (request, want) in [
        ("", "no blank line ends its head"),
        ("\r\n\r\n", "no blank line ends its head"),
        ("GET / HTTP/1.1\r\nHost: a\r\n", "no blank line ends its head"),
        ("GET / HTTP/1.1\r\nA B: c\r\n\r\n", "malformed message head"),
        ("GET / HTTP/1.1\r\nA: b\0\r\n\r\n", "malformed message head"),
        ("GET /a b HTTP/1.1\r\n\r\n", "malformed message head"),
        ("GET / HTTP/2.0\r\n\r\n", "unsupported HTTP version"),
        (&format!("GET / HTTP/1.1\r\n{many}\r\n"), "too many header fields"),
        ("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "bad Content-Length"),
        (
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab",
            "its body has another length than it says",
        ),
        (
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcd",
            "its body has another length than it says",
        ),
        ("POST / HTTP/1.1\r\n\r\nabc", "its body has another length than it says"),
        ("\r\nPOST / HTTP/1.1\r\n\r\n", "its body has another length than it says"),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "its body is in chunks; give Content-Length",
        ),
        ("CONNECT a:1 HTTP/1.1\r\n\r\n", "CONNECT asks for a tunnel"),
        ("GET http://a/ HTTP/1.1\r\n\r\n", "its target is not a path"),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "its Host is not a host and port"),
        ("GET / HTTP/1.1\r\nUpgrade: x\r\n\r\n", "leave out the headers Upgrade and TE"),
        ("GET / HTTP/1.1\r\nTE: gzip\r\n\r\n", "leave out the headers Upgrade and TE"),
    ] {
        let refused = pair.starts(0, request.as_bytes()).expect_err(request).to_string();
        assert_eq!(refused, format!("the request cannot be sent over HTTP/2: {want}"), "{request}");
        assert_eq!(pair.client.open_exchanges(), 0);
    }
    assert!(pair.starts(0, b"GET / HTTP/1.1\r\n\r\n").is_ok_and(|read| read.has_ended));
}

/// The server takes whatever the client sends on, and each prefix of a request lacks something.
#[test]
fn no_bytes_make_the_client_panic_or_break_the_rules() {
    let request =
        b"POST /a HTTP/1.1\r\nHost: b\r\nX: y\r\nContent-Length: 4\r\nTE: trailers\r\n\r\nabcd";
    let mut pair = Pair::secure();
    for end in 0..request.len() {
        assert!(pair.starts(0, &request[..end]).is_err(), "{end}");
    }
    let mut number = 0;
    for at in 0..request.len() {
        for byte in *b"\0\t\r\n :,/0z\x7f\xff" {
            let mut request = request.to_vec();
            request[at] = byte;
            if let Ok(read) = pair.starts(number, &request) {
                assert!(read.has_ended, "{}", request.escape_ascii());
                assert!(!read.body.is_empty());
                number += 1;
            }
            // The server allows no more at a time than this.
            if pair.client.room() == 0 {
                pair = Pair::secure();
            }
        }
    }
    assert!(number > 100, "{number}");
}

#[test]
fn a_body_waits_for_the_windows_of_the_server() {
    let receiving = Receiving { window_bytes: 10, ..ServerOptions::default().receiving };
    let mut pair = Pair::new(receiving, H2);
    let body: String = (0..100).map(|number| char::from(b'a' + number % 26)).collect();
    let request = format!("POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n{body}");
    let mut read = pair.starts(0, request.as_bytes()).expect("fits");
    assert!(pair.client.is_held_back(ExchangeId(0)) && !read.has_ended);
    let mut resumed = Vec::new();
    while !read.has_ended {
        let (mut down, mut up) = (Vec::new(), Vec::new());
        pair.server.release(1, 10, &mut down);
        let mut tell = |progress: Progress<'_>| resumed.push(format!("{progress:?}"));
        pair.client.receive(&down, &mut up, &mut tell).expect("windows");
        let more = pair.reads(&up);
        assert!(more.body.len() <= 10);
        read.body += &more.body;
        read.has_ended = more.has_ended;
    }
    assert_eq!((read.body, pair.client.is_held_back(ExchangeId(0))), (body, false));
    // The head of a frame, and the last ten bytes.
    assert_eq!(resumed, ["Resumed { exchange: ExchangeId(0), waiting_bytes: 19 }"]);
}

/// Two open requests, and what a server sends to end them.
fn two_answers() -> Vec<u8> {
    let mut pair = Pair::secure();
    for number in 0..2 {
        pair.starts(number, b"GET / HTTP/1.1\r\n\r\n").expect("fits");
    }
    let mut down = Vec::new();
    for (stream, status) in [(3, 200), (1, 404)] {
        pair.server.send_head(stream, false, &mut down, |head| {
            head.status(status);
            head.field("content-type", b"a/b").expect("a sound field");
        });
    }
    for (stream, piece, ends) in
        [(1, "a", false), (3, "bcd", false), (1, "e", true), (3, "f", true)]
    {
        pair.server.send(stream, Body::Bytes(piece.as_bytes()), ends, &mut down);
    }
    down
}

#[test]
fn responses_of_http2_mean_the_same_however_they_are_cut() {
    let answers = two_answers();
    let read = |bytes: &[u8], cuts: &[usize]| {
        let mut pair = Pair::secure();
        for number in 0..2 {
            pair.starts(number, b"GET / HTTP/1.1\r\n\r\n").expect("fits");
        }
        told(&mut pair.client, bytes, cuts)
    };
    let want = [
        "FirstByte(ExchangeId(1))",
        "1 is 200 content-type=a/b",
        "FirstByte(ExchangeId(0))",
        "0 is 404 content-type=a/b",
        "0 has 404 ae",
        "1 has 200 bcdf",
    ];
    assert_eq!(read(&answers, &[]), want);
    assert_eq!(read(&answers, &(1..answers.len()).collect::<Vec<_>>()), want);
    for cut in 1..answers.len() {
        assert_eq!(read(&answers, &[cut]), want, "cut at {cut}");
        assert!(
            want.starts_with(
                &read(&answers[..cut], &[]).iter().map(|it| &**it).collect::<Vec<_>>()
            )
        );
    }
}

#[test]
fn each_exchange_ends_once() {
    let mut pair = Pair::secure();
    for number in 0..4 {
        pair.starts(number, b"GET / HTTP/1.1\r\n\r\n").expect("fits");
    }
    let open = |client: &Negotiated| client.exchanges().map(|id| id.0).collect::<Vec<_>>();
    let mut out = Vec::new();
    assert!(pair.client.cancel(ExchangeId(1), &mut out) && !out.is_empty());
    assert_eq!(open(&pair.client), [0, 2, 3]);
    pair.reads(&out);
    let mut down = Vec::new();
    pair.server.reset(5, ErrorCode::REFUSED_STREAM, &mut down);
    assert_eq!(
        told(&mut pair.client, &down, &[]),
        [r#"Refused(ExchangeId(2), "request_refused")"#]
    );
    assert_eq!(open(&pair.client), [0, 3]);
    assert!(pair.client.ended(&mut |_| {}).is_err_and(|failure| failure.is_close()));
    let drained: Vec<ExchangeId> = pair.client.drain().collect();
    assert_eq!(drained, [ExchangeId(0), ExchangeId(3)]);
    assert_eq!(pair.client.open_exchanges(), 0);
    for alpn in [None, H2] {
        let mut pair = Pair::secure();
        if alpn.is_none() {
            pair.client.begin(None, &mut Vec::new());
        }
        let message = written(b"GET / HTTP/1.1\r\n\r\n");
        pair.client.start(ExchangeId(0), &message, &mut Vec::new()).expect("fits");
        // A caller that closes a connection need not ask what was open.
        drop(pair.client.drain());
        assert_eq!(open(&pair.client), [0; 0], "{alpn:?}");
    }
}

/// Streams get their memory when they are opened, as many as the server allows.
#[test]
fn as_many_streams_as_the_server_allows() {
    let options = ServerOptions { streams: 300, ..ServerOptions::default() };
    let mut pair = Pair::secure();
    pair.server = Server::new(options);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    pair.client.begin(H2, &mut up);
    pair.server.begin(&mut down);
    pair.client.receive(&down, &mut up, &mut |_| {}).expect("settings");
    pair.reads(&up);
    for number in 0..300 {
        assert_eq!(pair.client.room(), 300 - number as usize);
        let read = pair.starts(number, b"GET / HTTP/1.1\r\n\r\n").expect("fits");
        assert!(read.has_ended);
    }
    assert_eq!((pair.client.room(), pair.client.exchanges_allowed()), (0, Some(300)));
    let prepared = NegotiatedSettings::default().http2.prepared_streams;
    assert!(prepared < ClientOptions::default().prepared_streams);
}
