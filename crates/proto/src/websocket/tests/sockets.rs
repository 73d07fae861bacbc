//! What Autobahn's suite does not ask: masks, limits, our own Close, ends without one.

use super::bytes::{BINARY, Bytes, CLOSE, FIN, PING, TEXT, frames_of};
use crate::websocket::fuzz::trace;
use crate::websocket::{CloseCode, Error, Event, Kind, Limits, Options, Outgoing, Role, Socket};

const KEY: [u8; 4] = [1, 2, 3, 4];

fn options(role: Role) -> Options {
    Options { role, limits: Limits { message_bytes: 10 }, deflate: None }
}

/// Both roles; what the peer sends, the events, and what is sent back.
#[test]
fn events() {
    type Frames = fn(Bytes) -> Bytes;
    let cases: [(Frames, &[&str], &[&str]); 14] = [
        (
            |peer| peer.text(b"").frame(FIN | BINARY, b"\0"),
            &["Text in 1: ", "Binary in 1: \\x00", "error no_close"],
            &["text ", "binary \\x00"],
        ),
        (
            |peer| peer.frame(TEXT, b"a").frame(0, b"").frame(FIN, b"b").close(1001, b"x"),
            &["Text in 3: ab", "close 1001 \"x\"", "closed"],
            &["text ab", "close 1001"],
        ),
        (|peer| peer.frame(FIN | CLOSE, b""), &["close 1005 \"\"", "closed"], &["close"]),
        (
            |peer| peer.frame(FIN | BINARY, b"0123456789"),
            &["Binary in 1: 0123456789", "error no_close"],
            &["binary 0123456789"],
        ),
        // A message that is too long is refused before it has come.
        (
            |peer| peer.frame(FIN | BINARY, b"0123456789a"),
            &["error message_too_long"],
            &["close 1009"],
        ),
        (
            |peer| peer.frame(BINARY, b"0123456789").frame(FIN, b"a"),
            &["part of Binary: 0123456789", "error message_too_long"],
            &["close 1009"],
        ),
        (
            |peer| peer.frame(BINARY, b"0123456789").frame(FIN, b""),
            &["Binary in 2: 0123456789", "error no_close"],
            &["binary 0123456789"],
        ),
        (
            |peer| peer.frame(TEXT, b"\xe2\x82").frame(FIN, b"\xac"),
            &["Text in 2: \\xe2\\x82\\xac", "error no_close"],
            &["text \\xe2\\x82\\xac"],
        ),
        (
            |peer| peer.text(b"ab\xe2\x82"),
            &["part of Text: ab\\xe2\\x82", "error invalid_utf8"],
            &["close 1007"],
        ),
        (|peer| peer.text(b"ab\xff"), &["part of Text: ab", "error invalid_utf8"], &["close 1007"]),
        (|peer| peer.raw(b"\x89"), &["error truncated"], &[]),
        (|peer| peer.frame(TEXT, b"a"), &["part of Text: a", "error truncated"], &[]),
        (
            |peer| peer.frame(FIN | PING, b"p").raw(b"\x83\xff"),
            &["ping p", "error reserved_opcode"],
            &["pong p", "close 1002"],
        ),
        (|peer| peer, &["error no_close"], &[]),
    ];
    for role in [Role::Client, Role::Server] {
        for (number, (frames, lines, sent)) in cases.iter().enumerate() {
            let bytes = frames(Bytes::to(role));
            let trace = trace(options(role), bytes.as_slice(), &[]);
            assert_eq!(trace.lines, *lines, "case {number} to a {role:?}");
            assert_eq!(frames_of(role, &trace.sent), *sent, "case {number} to a {role:?}");
        }
    }
}

#[test]
fn masks() {
    for (role, bytes, error) in [
        (Role::Server, &b"\x81\x01a"[..], Error::MaskMissing),
        (Role::Client, b"\x81\x81\0\0\0\0a", Error::MaskUnexpected),
        (Role::Server, b"\x82\xff\x80\0\0\0\0\0\0\0", Error::LengthOverflow),
        (Role::Client, b"\x82\x7f\x80\0\0\0\0\0\0\0", Error::LengthOverflow),
    ] {
        let trace = trace(options(role), bytes, &[]);
        assert_eq!(trace.lines, [format!("error {}", error.kind())]);
        assert_eq!(frames_of(role, &trace.sent), ["close 1002"]);
    }
}

#[test]
fn our_own_close_is_the_last_that_is_sent() {
    for role in [Role::Client, Role::Server] {
        let mut socket = Socket::new(options(role));
        let mut out = Vec::new();
        assert!(socket.send(&Outgoing::whole(Kind::Text, b"a"), KEY, &mut out));
        assert!(socket.close(Some(CloseCode::GOING_AWAY), "bye", KEY, &mut out));
        assert!(socket.is_closing() && !socket.is_closed());
        assert!(!socket.send(&Outgoing::whole(Kind::Text, b"b"), KEY, &mut out));
        assert!(!socket.ping(b"", KEY, &mut out));
        assert!(!socket.pong(b"", KEY, &mut out));
        assert!(!socket.close(None, "", KEY, &mut out));
        // What the peer sent before it saw the Close is still read.
        let bytes = Bytes::to(role).text(b"late").ping(b"p").close(1001, b"bye");
        let mut input = bytes.as_slice();
        let mut events = Vec::new();
        loop {
            let decoded = socket.receive(input, KEY, &mut out).expect("no error");
            input = &input[decoded.consumed..];
            let Some(event) = decoded.event else { break };
            events.push(format!("{event:?}").chars().take(4).collect::<String>());
        }
        assert_eq!(events, ["Begi", "Data", "End(", "Ping", "Clos"]);
        assert!(socket.is_closed());
        assert_eq!(socket.end(), Ok(()));
        assert_eq!(frames_of(role, &out), ["text a", "close 1001"]);
    }
}

#[test]
fn what_is_never_sent() {
    for (code, want) in [
        (CloseCode::NO_STATUS, "close"),
        (CloseCode::ABNORMAL, "close"),
        (CloseCode::NORMAL, "close 1000"),
    ] {
        let mut socket = Socket::new(options(Role::Server));
        let mut out = Vec::new();
        // 123 bytes of the reason fit, and a character is not cut.
        socket.close(Some(code), &"\u{20ac}".repeat(50), KEY, &mut out);
        assert_eq!(frames_of(Role::Server, &out), [want]);
        assert!(out.len() <= 2 + 125);
        let reason = out.get(4..).unwrap_or_default();
        assert!(std::str::from_utf8(reason).is_ok_and(|it| it.len() == 123 || it.is_empty()));
    }
}

/// A message of any length passes through little memory.
#[test]
fn memory_does_not_depend_on_the_message() {
    let limits = Limits { message_bytes: u64::MAX };
    let mut socket = Socket::new(Options { role: Role::Server, limits, deflate: None });
    let head = [&b"\x82\xff"[..], &(1_u64 << 40).to_be_bytes(), &KEY].concat();
    let mut out = Vec::new();
    let decoded = socket.receive(&head, KEY, &mut out).expect("a head");
    assert_eq!(decoded.event, Some(Event::Begin(Kind::Binary)));
    let piece = vec![0; 1 << 20];
    for _ in 0..20 {
        let mut input = &piece[..];
        while !input.is_empty() {
            let decoded = socket.receive(input, KEY, &mut out).expect("a piece");
            input = &input[decoded.consumed..];
        }
    }
    assert!(socket.kept_bytes() <= 32 * 1024, "{} bytes", socket.kept_bytes());
}

#[test]
fn every_error_has_a_name_of_its_own() {
    let mut kinds: Vec<&str> = Error::ALL.iter().map(|error| error.kind()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), Error::ALL.len());
}
