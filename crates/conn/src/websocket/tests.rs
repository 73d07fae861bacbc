//! Floods of pings, replies longer than what is looked at, and compression that was agreed on or
//! not.

use plimsoll_core::random::Stream;
use plimsoll_core::template::Template;
use plimsoll_proto::websocket::handshake::accept;
use regex::bytes::Regex;

use crate::request::{CompiledRequest, Encoding as _, Filling, Framing, RequestBody, literal};

use super::*;

/// A socket whose handshake is over.
fn open(replies: Replies) -> WebSocket {
    let mut websocket = WebSocket::new(&WebSocketSettings {
        handshake: Handshake::none(),
        subprotocol: None,
        kind: Kind::Text,
        replies,
        in_flight: 1,
        deflater: None,
        nonces: Stream::new(1, 1),
        keys: Stream::new(1, 2),
        begun: Arc::default(),
    });
    websocket.is_greeted = true;
    websocket
}

#[test]
fn a_server_that_pings_and_does_not_read_is_given_up() {
    let mut websocket = open(Replies::Next);
    let pings = |count: u32| b"\x89\x00".repeat(count as usize);
    let mut seen = 0;
    let mut count = |progress: Progress<'_>| seen += u32::from(matches!(progress, Progress::Ping));
    let mut out = Vec::new();
    for _ in 0..3 {
        assert!(websocket.receive(&pings(PINGS_MAX), &mut out, &mut count).is_ok());
        // It has read them all.
        websocket.taken(&mut |_| {});
    }
    assert!(websocket.receive(&pings(PINGS_MAX), &mut out, &mut count).is_ok());
    let failure = websocket.receive(&pings(1), &mut out, &mut count).expect_err("too many");
    assert_eq!(failure.kind(), "ping_flood");
    assert_eq!(seen, 4 * PINGS_MAX + 1);
}

/// Expectations have to know that the body goes on behind what they see.
#[test]
fn a_reply_beyond_what_an_expression_sees_is_not_told_as_whole() {
    let replies = Replies::Matching(Regex::new("^a+$").expect("an expression"));
    for (bytes, want) in [(5, 5), (MATCHED_BYTES_MAX, MATCHED_BYTES_MAX)]
        .into_iter()
        .chain([1, 2, 100].map(|more| (MATCHED_BYTES_MAX + more, MATCHED_BYTES_MAX + 1)))
    {
        let mut reading = Reading { oldest: Some(ExchangeId(7)), kept: Vec::new() };
        let mut told = 0;
        let mut progress = |progress: Progress<'_>| {
            if let Progress::Body(ExchangeId(7), body) = progress {
                told += body.len();
            }
        };
        let message = vec![b'a'; bytes];
        for piece in message.chunks(300_000) {
            reading.piece(piece, &replies, &mut progress);
        }
        assert_eq!(reading.end(bytes as u64, &replies, &mut progress), Some(ExchangeId(7)));
        assert_eq!(told, want);
    }
}

/// A socket that offers compression, and its handshake.
fn offering() -> (WebSocket, Vec<u8>) {
    let mut websocket = open(Replies::Next);
    websocket.is_greeted = false;
    websocket.settings.deflater = Some(Rc::default());
    let mut request = Vec::new();
    websocket.begin(None, &mut request);
    (websocket, request)
}

/// The answer to a handshake, with these lines more.
fn answer(request: &[u8], extensions: &str) -> Vec<u8> {
    let text = std::str::from_utf8(request).expect("text");
    let (_, rest) = text.split_once("Sec-WebSocket-Key: ").expect("a key");
    let accept = accept(rest.lines().next().expect("a line").as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{extensions}\r\n"
    )
    .into_bytes()
}

/// What a socket that has sent a message tells of bytes that come in pieces.
fn told(websocket: &mut WebSocket, bytes: &[u8], cuts: &[usize]) -> (String, Option<Failure>) {
    let (mut text, mut from) = (String::new(), 0);
    for to in cuts.iter().copied().chain([bytes.len()]) {
        let mut tell = |progress: Progress<'_>| match progress {
            Progress::Body(_, piece) => text += std::str::from_utf8(piece).expect("text"),
            Progress::Decompressed(Sizes { bytes, compressed_bytes }) => {
                text += &format!(" ({bytes} as {compressed_bytes})");
            }
            Progress::Complete(_, response) => text += &format!(" [{}]", response.body_bytes),
            _ => {}
        };
        let read = websocket.receive(&bytes[from..to], &mut Vec::new(), &mut tell);
        if let Err(failure) = read {
            return (text, Some(failure));
        }
        from = to;
    }
    (text, None)
}

/// Replies of a server, two of them, cut at every byte of the handshake's answer and theirs.
#[test]
fn compression_is_what_the_server_agreed_to() {
    const HELLO: &[u8] = b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00";
    // It refers to the message before.
    const AGAIN: &[u8] = b"\xc1\x05\xf2\x00\x11\x00\x00";
    const PLAIN: &[u8] = b"\x81\x05Hello";
    const FIELD: &str = "Sec-WebSocket-Extensions: permessage-deflate";
    let agreed = |more: &str| format!("{FIELD}{more}\r\n");
    for (extensions, frames, want, kind) in [
        (agreed(""), [HELLO, AGAIN], "Hello (5 as 7) [5]Hello (5 as 5) [5]", None),
        (
            agreed("; server_no_context_takeover; client_no_context_takeover"),
            [HELLO, HELLO],
            "Hello (5 as 7) [5]Hello (5 as 7) [5]",
            None,
        ),
        (agreed("; client_max_window_bits=9"), [HELLO, PLAIN], "Hello (5 as 7) [5]Hello [5]", None),
        (String::new(), [PLAIN, PLAIN], "Hello [5]Hello [5]", None),
        (String::new(), [PLAIN, HELLO], "Hello [5]", Some("reserved_bits")),
        (agreed("; strange"), [PLAIN, PLAIN], "", Some("bad_extension")),
        (agreed(", permessage-deflate"), [PLAIN, PLAIN], "", Some("bad_extension")),
    ] {
        let tell = |cuts: &[usize]| {
            let (mut websocket, request) = offering();
            websocket.open.extend([ExchangeId(1), ExchangeId(2)]);
            let bytes = [&answer(&request, &extensions)[..], frames[0], frames[1]].concat();
            let (text, failure) = told(&mut websocket, &bytes, cuts);
            let is_agreed = failure.is_none().then(|| websocket.is_compressed()).flatten();
            (text, failure.map(|failure| failure.kind()), is_agreed, bytes.len())
        };
        let (text, failure, is_agreed, length) = tell(&[]);
        assert_eq!((text.as_str(), failure), (want, kind), "{extensions}");
        let is_offered = kind.is_none().then_some(!extensions.is_empty());
        assert_eq!(is_agreed, is_offered, "{extensions}");
        for cut in 1..length {
            assert_eq!(tell(&[cut]).0, want, "{extensions} cut at {cut}");
        }
        let all: Vec<usize> = (1..length).collect();
        assert_eq!(tell(&all), tell(&[]), "{extensions} byte by byte");
    }
}

fn request(message: Template) -> WebSocketRequest {
    let request = CompiledRequest {
        method: "GET".to_owned(),
        scheme: "ws".to_owned(),
        prefix: String::new(),
        path: literal(b"/ws"),
        http_minor: 1,
        fields: Vec::new(),
        framing: Framing::AsGiven,
        body: RequestBody::Template(message),
        takes_cookies: false,
        follows_redirects: false,
        is_compressed: true,
    };
    WebSocketRequest::of(request, &mut Handshake::default()).expect("a message")
}

/// Short ones and one longer than the window, in whatever order.
#[test]
fn messages_go_out_compressed_for_the_window_that_the_server_allows() {
    for bits in [8, 12, 15] {
        let (mut websocket, asked) = offering();
        websocket.settings.in_flight = 10;
        let field = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=";
        let answer = answer(&asked, &format!("{field}{bits}\r\n"));
        assert_eq!(told(&mut websocket, &answer, &[]), (String::new(), None));
        let mut server = Socket::new(Options {
            role: Role::Server,
            limits: LIMITS,
            deflate: Some(DeflateParameters { window_bits: bits, peer_no_context_takeover: true }),
        });
        for (number, length) in [(0, 5), (1, 0), (2, 40_000), (3, 300), (4, 5)] {
            let text = "echo ".repeat(length / 5 + 1)[..length].to_owned();
            let request = request(literal(text.as_bytes()));
            let filling = Filling { number, ..Filling::default() };
            let message = Message::Compiled {
                encoding: &request,
                payload: None,
                filling,
                withholds_body: false,
            };
            let mut frames = Vec::new();
            websocket.start(ExchangeId(1), &message, &mut frames).expect("compiled");
            let sizes = websocket.compressed().expect("a compressed message");
            let (mut came, mut input) = (Vec::new(), &frames[..]);
            loop {
                let decoded = server.receive(input, [0; 4], &mut Vec::new()).expect("a message");
                input = &input[decoded.consumed..];
                match decoded.event {
                    Some(Event::Data(piece)) => came.extend_from_slice(piece),
                    Some(Event::End(message)) => {
                        let Sizes { bytes, compressed_bytes } = sizes;
                        assert_eq!(
                            (message.bytes, message.payload_bytes),
                            (bytes, compressed_bytes)
                        );
                        assert!(message.is_compressed);
                    }
                    _ if input.is_empty() => break,
                    _ => {}
                }
            }
            assert_eq!(came, text.as_bytes(), "{bits} bits, {length} bytes");
            assert!(length < 300 || sizes.compressed_bytes * 3 < sizes.bytes, "{bits}: {sizes:?}");
        }
    }
}
