//! Answers that open a socket and that do not, messages cut anywhere, and what goes out.

use plimsoll_proto::websocket::handshake::accept;

use super::*;

const NONCE: [u8; 16] = [7; 16];

/// A socket that waits for the answer to its request.
fn opening(offers_deflate: bool) -> Duplex {
    let mut duplex = Duplex::new(&());
    duplex.upgrade = Upgrade {
        head: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        nonce: NONCE,
        subprotocols: vec!["a".to_owned(), "b".to_owned()],
        offers_deflate,
        key: [1, 2, 3, 4],
    };
    let mut out = Vec::new();
    duplex.begin(None, &mut out);
    assert_eq!(out, b"GET / HTTP/1.1\r\n\r\n");
    duplex
}

fn switching(fields: &str) -> Vec<u8> {
    // The key of `NONCE`.
    let accept = accept(b"BwcHBwcHBwcHBwcHBwcHBw==");
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{fields}\r\n"
    )
    .into_bytes()
}

/// What is heard of bytes that come in pieces, what was answered, and the failure.
fn hear(bytes: &[u8], cuts: &[usize]) -> (Vec<Heard>, Vec<u8>, Option<Failure>) {
    let (mut duplex, mut out, mut from) = (opening(true), Vec::new(), 0);
    let mut failure = None;
    for to in cuts.iter().copied().chain([bytes.len()]) {
        if let Err(why) = duplex.receive(&bytes[from..to], &mut out, &mut |_| {}) {
            failure = Some(why);
            break;
        }
        from = to;
    }
    (duplex.heard.into_iter().collect(), out, failure)
}

fn text(text: &str) -> Heard {
    Heard::Text(text.as_bytes().to_vec())
}

#[test]
fn what_comes_is_heard_whole_however_it_was_cut() {
    let frames =
        b"\x01\x02he\x00\x01l\x89\x01p\x80\x02lo\x82\x02\x00\xff\x8a\x011\x88\x05\x0f\xa0bye";
    let bytes = [&switching("Sec-WebSocket-Protocol: b\r\n")[..], frames].concat();
    let (heard, out, failure) = hear(&bytes, &[]);
    let Some((Heard::Open(answer), rest)) = heard.split_first() else { panic!("{heard:?}") };
    assert_eq!((answer.status, answer.body.len()), (101, 0));
    assert!(answer.lines.starts_with(b"HTTP/1.1 101 "));
    let close = Heard::Close { code: 4000, reason: "bye".to_owned() };
    let want = [
        Heard::Ping,
        text("hello"),
        Heard::Binary(vec![0, 0xff]),
        Heard::Pong(b"1".to_vec()),
        close,
    ];
    assert_eq!((rest, &failure), (&want[..], &None));
    // A pong and a Close, both masked.
    assert_eq!((out[0], out[1], out[7], out[8]), (0x8a, 0x81, 0x88, 0x82));
    for cut in 1..bytes.len() {
        assert_eq!(hear(&bytes, &[cut]).0, heard, "cut at {cut}");
    }
    let all: Vec<usize> = (1..bytes.len()).collect();
    assert_eq!(hear(&bytes, &all), (heard, out, failure), "byte by byte");
}

#[test]
fn an_answer_that_opens_nothing_is_kept() {
    let ok = switching("");
    let other = switching("Sec-WebSocket-Protocol: c\r\n");
    for (bytes, kind, status, body) in [
        (
            &b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope"[..],
            "not_upgraded",
            404,
            "nope",
        ),
        (
            b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
            "not_upgraded",
            302,
            "",
        ),
        (b"HTTP/1.1 101 Yes\r\n\r\n", "bad_upgrade", 101, ""),
        (&other, "bad_subprotocol", 101, ""),
    ] {
        for cut in 1..bytes.len() {
            let mut duplex = opening(false);
            let mut receive = |bytes| duplex.receive(bytes, &mut Vec::new(), &mut |_| {});
            let read = receive(&bytes[..cut]).and_then(|()| receive(&bytes[cut..]));
            assert_eq!(read.expect_err("no socket").kind(), kind);
            let opening = duplex.opening.expect("it is not open");
            assert_eq!(
                (opening.answer.status, &opening.answer.body[..]),
                (status, body.as_bytes())
            );
            assert!(duplex.heard.is_empty());
        }
    }
    // A body without an end is cut, and of one that the connection ends the beginning is there.
    let mut duplex = opening(false);
    let mut receive = |bytes: &[u8]| duplex.receive(bytes, &mut Vec::new(), &mut |_| {});
    assert!(receive(b"HTTP/1.1 500 No\r\n\r\nboom").is_ok());
    let mut read = Ok(());
    for _ in 0..3 {
        read = read.and_then(|()| receive(&[b'x'; 1000]));
    }
    assert!(read.is_err());
    assert_eq!(duplex.opening.expect("it is not open").answer.body.len(), DECLINED_BYTES_MAX);
    assert!(hear(&ok, &[]).2.is_none());
}

#[test]
fn messages_are_compressed_where_that_was_agreed_on() {
    let both = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; \
                client_no_context_takeover\r\n";
    for (fields, is_compressed) in [("", false), (both, true)] {
        let socket = plimsoll_io::SocketId(0);
        let mut connection = Connection::<Duplex>::new(socket, &());
        *connection.protocol_mut() = opening(true);
        let bytes = switching(fields);
        let duplex = connection.protocol_mut();
        assert!(duplex.receive(&bytes, &mut Vec::new(), &mut |_| {}).is_ok());
        let (mut compressor, mut scratch) = (Compressor::default(), Scratch::new(0));
        let long = "x".repeat(1000);
        let mut say = |what| {
            scratch.frames.clear();
            let is_sent = connection.say(what, [0; 4], &mut compressor, &mut scratch);
            (is_sent, scratch.frames.clone())
        };
        let (is_sent, frame) = say(Say::Text(long.as_bytes()));
        assert!(is_sent);
        assert_eq!(frame[0], if is_compressed { 0xc1 } else { 0x81 });
        assert_eq!(frame.len() < 100, is_compressed);
        assert_eq!(say(Say::Ping(b"1")), (true, b"\x89\x81\x00\x00\x00\x001".to_vec()));
        assert_eq!(say(Say::Close(1000, "")).1, b"\x88\x82\x00\x00\x00\x00\x03\xe8");
        // Nothing goes out after it.
        for what in [Say::Binary(b"x"), Say::Ping(b""), Say::Close(1000, "")] {
            assert_eq!(say(what), (false, Vec::new()));
        }
    }
}

#[test]
fn a_server_that_pings_and_does_not_read_is_given_up() {
    let mut duplex = opening(false);
    assert!(duplex.receive(&switching(""), &mut Vec::new(), &mut |_| {}).is_ok());
    let pings = b"\x89\x00".repeat(PINGS_MAX as usize);
    let mut receive = |bytes: &[u8]| duplex.receive(bytes, &mut Vec::new(), &mut |_| {});
    assert!(receive(&pings).is_ok());
    assert_eq!(receive(b"\x89\x00"), Err(Failure::PingFlood));
}
