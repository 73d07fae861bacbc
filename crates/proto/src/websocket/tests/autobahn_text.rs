//! The cases of Autobahn's test suite, section 6: text that is UTF-8 and text that is not. The
//! suite sends each in one frame; here it also comes in a fragment for each byte.

use super::autobahn::check;
use super::bytes::{Bytes, FIN, TEXT};

const KOSME: &[u8] = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5";
const HELLO: &[u8] = "Hello-\u{b5}@\u{df}\u{f6}\u{e4}\u{fc}\u{e0}\u{e1}-UTF-8!!".as_bytes();

/// A message in fragments.
fn fragments(peer: Bytes, pieces: &[&[u8]]) -> Bytes {
    let mut peer = peer;
    for (index, piece) in pieces.iter().enumerate() {
        let opcode = if index == 0 { TEXT } else { 0 };
        let last = if index + 1 == pieces.len() { FIN } else { 0 };
        peer = peer.frame(opcode | last, piece);
    }
    peer
}

/// Whole, and with a fragment for each byte.
fn check_text(name: &str, payload: &[u8], is_valid: bool) {
    let echo = format!("text {}", payload.escape_ascii());
    let want: &[&str] = if is_valid { &[&echo, "close 1000"] } else { &["close 1007"] };
    check(name, |peer| peer.text(payload).close(1000, b""), want);
    let pieces: Vec<&[u8]> = payload.chunks(1).collect();
    if !pieces.is_empty() {
        check(name, |peer| fragments(peer, &pieces).close(1000, b""), want);
    }
}

#[test]
fn empty_fragments() {
    check("6.1.1", |peer| peer.text(b"").close(1000, b""), &["text ", "close 1000"]);
    let none: &[&[u8]] = &[b"", b"", b""];
    check("6.1.2", |peer| fragments(peer, none).close(1000, b""), &["text ", "close 1000"]);
    let middle: &[&[u8]] = &[b"", b"middle frame payload", b""];
    check(
        "6.1.3",
        |peer| fragments(peer, middle).close(1000, b""),
        &["text middle frame payload", "close 1000"],
    );
}

#[test]
fn fragments_end_anywhere() {
    check_text("6.2.1, 6.2.3", HELLO, true);
    let echo = format!("text {}", HELLO.escape_ascii());
    for at in 0..=HELLO.len() {
        let (start, end) = HELLO.split_at(at);
        check(
            "6.2.2",
            |peer| fragments(peer, &[start, end]).close(1000, b""),
            &[&echo, "close 1000"],
        );
    }
    check_text("6.2.4", KOSME, true);
    check_text("6.3.1, 6.3.2", &[KOSME, b"\xed\xa0\x80edited"].concat(), false);
}

/// The connection fails at the first byte that is wrong: what follows it has not come.
#[test]
fn fails_at_once() {
    let start = |peer: Bytes| peer.frame(TEXT, KOSME);
    check("6.4.1", |peer| start(peer).frame(0, b"\xf4\x90\x80\x80"), &["close 1007"]);
    check("6.4.2", |peer| start(peer).frame(0, b"\xf4").frame(0, b"\x90"), &["close 1007"]);
    // The frame says that it is longer than what comes of it.
    for (name, pieces) in [("6.4.3", &b"\xf4\x90\x80\x80"[..]), ("6.4.4", b"\xf4\x90")] {
        let whole = [KOSME, pieces].concat();
        check(
            name,
            |peer| {
                let frame =
                    Bytes::clone(&peer).frame(FIN | TEXT, &[&whole[..], b"edited"].concat());
                peer.raw(&frame.as_slice()[..frame.as_slice().len() - 6])
            },
            &["close 1007"],
        );
    }
}

#[test]
fn valid_and_invalid_sequences() {
    let mut cases: Vec<(&str, Vec<u8>, bool)> = Vec::new();
    let mut add = |name, sequences: &[&[u8]], is_valid| {
        cases.extend(sequences.iter().map(|it| (name, it.to_vec(), is_valid)));
    };
    let greetings: &[&[u8]] = &[
        b"hello\x24world",
        b"hello\xc2\xa2world",
        b"hello\xe2\x82\xacworld",
        b"hello\xf0\xa4\xad\xa2world",
        KOSME,
    ];
    add("6.5", greetings, true);
    for length in 1..=KOSME.len() {
        add("6.6", &[&KOSME[..length]], matches!(length, 2 | 5 | 7 | 9 | 11));
    }
    add("6.7", &[b"\0", b"\xc2\x80", b"\xe0\xa0\x80", b"\xf0\x90\x80\x80"], true);
    add("6.8", &[b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80"], false);
    add("6.9", &[b"\x7f", b"\xdf\xbf", b"\xef\xbf\xbf", b"\xf4\x8f\xbf\xbf"], true);
    let too_long: &[&[u8]] =
        &[b"\xf7\xbf\xbf\xbf", b"\xfb\xbf\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf\xbf"];
    add("6.10", too_long, false);
    let bounds: &[&[u8]] =
        &[b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbd", b"\xf4\x8f\xbf\xbf"];
    add("6.11", bounds, true);
    add("6.11", &[b"\xf4\x90\x80\x80"], false);
    for length in 1..=6 {
        add("6.12", &[&b"\x80\xbf\x80\xbf\x80\xbf"[..length]], false);
    }
    add("6.12", &[b"\xbf", &(0x80..0xbf).collect::<Vec<u8>>()], false);
    for starts in [0xc0..0xdf, 0xe0..0xef, 0xf0..0xf7, 0xf8..0xfb, 0xfc..0xfdu8] {
        add("6.13", &[&starts.flat_map(|start| [start, b' ']).collect::<Vec<u8>>()], false);
    }
    let cut: [&[u8]; 10] = [
        b"\xc0",
        b"\xe0\x80",
        b"\xf0\x80\x80",
        b"\xf8\x80\x80\x80",
        b"\xfc\x80\x80\x80\x80",
        b"\xdf",
        b"\xef\xbf",
        b"\xf7\xbf\xbf",
        b"\xfb\xbf\xbf\xbf",
        b"\xfd\xbf\xbf\xbf\xbf",
    ];
    add("6.14", &cut, false);
    add("6.15", &[&cut.concat()], false);
    add("6.16", &[b"\xfe", b"\xff", b"\xfe\xfe\xff\xff"], false);
    for (name, last) in [("6.17", 0xaf), ("6.19", 0x80)] {
        for start in [&b"\xc0"[..], b"\xe0\x80", b"\xf0\x80\x80", b"\xf8\x80\x80\x80"] {
            add(name, &[&[start, &[last]].concat()], false);
        }
        add(name, &[&[&b"\xfc\x80\x80\x80\x80"[..], &[last]].concat()], false);
    }
    let overlong: &[&[u8]] = &[
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xf0\x8f\xbf\xbf",
        b"\xf8\x87\xbf\xbf\xbf",
        b"\xfc\x83\xbf\xbf\xbf\xbf",
    ];
    add("6.18", overlong, false);
    let high: [&[u8]; 4] = [b"\xed\xa0\x80", b"\xed\xad\xbf", b"\xed\xae\x80", b"\xed\xaf\xbf"];
    let low: [&[u8]; 3] = [b"\xed\xb0\x80", b"\xed\xbe\x80", b"\xed\xbf\xbf"];
    add("6.20", &high, false);
    add("6.20", &low, false);
    for first in high {
        add("6.21", &[&[first, low[0]].concat(), &[first, low[2]].concat()], false);
    }
    // The two code points that end each plane are no characters, and valid.
    for plane in 0..=0x10_u32 {
        for end in [0xfffe, 0xffff] {
            let character = char::from_u32(plane << 16 | end).expect("a code point");
            add("6.22", &[character.to_string().as_bytes()], true);
        }
    }
    for special in '\u{fff9}'..='\u{ffff}' {
        add("6.23", &[special.to_string().as_bytes()], true);
    }
    assert!(cases.len() > 100);
    for (name, payload, is_valid) in cases {
        check_text(name, &payload, is_valid);
    }
}
