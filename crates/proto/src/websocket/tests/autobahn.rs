//! The cases of Autobahn's test suite, sections 1 to 5, 7 and 10: what a peer sends to a side that
//! echoes, and what must come back. The numbers are the suite's. Its expectation of "a clean close
//! with a code, or a drop" is the close here.

use super::bytes::{BINARY, Bytes, CLOSE, FIN, PING, PONG, TEXT};
use crate::websocket::fuzz::trace;
use crate::websocket::{Limits, Options, Role};

/// What comes back, in the order in which it is sent; and the peer's Close after it, if the
/// connection still stands, is answered.
pub(super) fn check(name: &str, frames: impl Fn(Bytes) -> Bytes, want: &[&str]) {
    for role in [Role::Client, Role::Server] {
        let bytes = frames(Bytes::to(role));
        let data = bytes.as_slice();
        let options = Options { role, limits: Limits::default(), deflate: None };
        let whole = trace(options, data, &[]);
        assert_eq!(super::bytes::frames_of(role, &whole.sent), want, "{name} to a {role:?}");
        let lengths = [1, 2, 7, 997, 65_536];
        let mut ways: Vec<Vec<usize>> =
            lengths.iter().map(|&length| (1..data.len()).step_by(length).collect()).collect();
        if data.len() < 300 {
            ways.extend((1..data.len()).map(|cut| vec![cut]));
        }
        for cuts in ways {
            assert_eq!(trace(options, data, &cuts), whole, "{name} to a {role:?}");
        }
    }
}

#[test]
fn section_1_framing() {
    for (number, length) in [
        (1, 0),
        (2, 125),
        (3, 126),
        (4, 127),
        (5, 128),
        (6, 65_535),
        (7, 65_536),
        // 8 is 7 in pieces of 997 bytes, which `check` cuts every case into.
    ] {
        let payload = vec![b'*'; length];
        let shown = "*".repeat(length);
        let (text, binary) = (format!("text {shown}"), format!("binary {shown}"));
        check(
            &format!("1.1.{number}"),
            |peer| peer.text(&payload).close(1000, b""),
            &[&text, "close 1000"],
        );
        check(
            &format!("1.2.{number}"),
            |peer| peer.frame(FIN | BINARY, &payload).close(1000, b""),
            &[&binary, "close 1000"],
        );
    }
}

#[test]
fn section_2_pings_and_pongs() {
    let long = [0xfe; 125];
    let long_pong = format!("pong {}", long.escape_ascii());
    let done = "close 1000";
    check("2.1", |peer| peer.ping(b"").close(1000, b""), &["pong ", done]);
    check(
        "2.2",
        |peer| peer.ping(b"Hello, world!").close(1000, b""),
        &["pong Hello, world!", done],
    );
    check(
        "2.3",
        |peer| peer.ping(b"\0\xff\xfe\xfd\xfc\xfb\0\xff").close(1000, b""),
        &["pong \\x00\\xff\\xfe\\xfd\\xfc\\xfb\\x00\\xff", done],
    );
    check("2.4, 2.6", |peer| peer.ping(&long).close(1000, b""), &[&long_pong, done]);
    check("2.5", |peer| peer.ping(&[0xfe; 126]), &["close 1002"]);
    check("2.7", |peer| peer.frame(FIN | PONG, b"").close(1000, b""), &[done]);
    check("2.8", |peer| peer.frame(FIN | PONG, b"unsolicited pong").close(1000, b""), &[done]);
    check(
        "2.9",
        |peer| peer.frame(FIN | PONG, b"unsolicited").ping(b"ping").close(1000, b""),
        &["pong ping", done],
    );
    let ten = |mut peer: Bytes| {
        for number in 0..10 {
            peer = peer.ping(format!("payload-{number}").as_bytes());
        }
        peer.close(1000, b"")
    };
    let pongs: Vec<String> = (0..10).map(|number| format!("pong payload-{number}")).collect();
    let mut want: Vec<&str> = pongs.iter().map(String::as_str).collect();
    want.push(done);
    check("2.10, 2.11", ten, &want);
}

#[test]
fn section_3_reserved_bits() {
    let failed = "close 1002";
    check("3.1", |peer| peer.frame(FIN | 0x40 | TEXT, b"Hello"), &[failed]);
    for (name, bits) in [("3.2", 0x20), ("3.3", 0x30), ("3.4", 0x40)] {
        check(
            name,
            |peer| peer.text(b"Hello").frame(FIN | bits | TEXT, b"Hello").ping(b""),
            &["text Hello", failed],
        );
    }
    check("3.5", |peer| peer.frame(FIN | 0x50 | BINARY, b"\0\xff\xfe"), &[failed]);
    check("3.6", |peer| peer.frame(FIN | 0x60 | PING, b"Hello"), &[failed]);
    check("3.7", |peer| peer.frame(FIN | 0x70 | CLOSE, b"\x03\xe8"), &[failed]);
}

#[test]
fn section_4_reserved_opcodes() {
    let failed = "close 1002";
    for (section, first) in [(1, 3), (2, 11)] {
        let opcode = |number: u8| FIN | (first + number - 1);
        check(&format!("4.{section}.1"), |peer| peer.frame(opcode(1), b""), &[failed]);
        check(&format!("4.{section}.2"), |peer| peer.frame(opcode(2), b"reserved"), &[failed]);
        for (number, payload) in [(3, &b""[..]), (4, b"reserved"), (5, b"reserved")] {
            check(
                &format!("4.{section}.{number}"),
                |peer| peer.text(b"Hello").frame(opcode(number), payload).ping(b""),
                &["text Hello", failed],
            );
        }
    }
}

#[test]
fn section_5_fragments() {
    let (failed, done) = ("close 1002", "close 1000");
    let both = "text fragment1fragment2";
    check("5.1", |peer| peer.frame(PING, b"fragment1").frame(FIN, b"fragment2"), &[failed]);
    check("5.2", |peer| peer.frame(PONG, b"fragment1").frame(FIN, b"fragment2"), &[failed]);
    check(
        "5.3, 5.4, 5.5",
        |peer| peer.frame(TEXT, b"fragment1").frame(FIN, b"fragment2").close(1000, b""),
        &[both, done],
    );
    check(
        "5.6, 5.7, 5.8",
        |peer| {
            peer.frame(TEXT, b"fragment1").ping(b"ping").frame(FIN, b"fragment2").close(1000, b"")
        },
        &["pong ping", both, done],
    );
    for (name, first) in [("5.9, 5.10, 5.11", FIN), ("5.12, 5.13, 5.14", 0)] {
        check(name, |peer| peer.frame(first, b"nothing to continue").text(b"Hello"), &[failed]);
    }
    check(
        "5.15",
        |peer| {
            peer.frame(TEXT, b"fragment1")
                .frame(FIN, b"fragment2")
                .frame(0, b"fragment3")
                .frame(TEXT, b"fragment4")
                .frame(FIN, b"fragment5")
        },
        &[both, failed],
    );
    for (name, first) in [("5.16", 0), ("5.17", FIN)] {
        check(name, |peer| peer.frame(first, b"1").frame(TEXT, b"2").frame(FIN, b"3"), &[failed]);
    }
    check("5.18", |peer| peer.frame(TEXT, b"fragment1").text(b"fragment2"), &[failed]);
    check(
        "5.19, 5.20",
        |peer| {
            peer.frame(TEXT, b"f1")
                .frame(0, b"f2")
                .ping(b"one")
                .frame(0, b"f3")
                .frame(0, b"f4")
                .ping(b"two")
                .frame(FIN, b"f5")
                .close(1000, b"")
        },
        &["pong one", "pong two", "text f1f2f3f4f5", done],
    );
}

#[test]
fn section_7_closing() {
    let done = "close 1000";
    check("7.1.1", |peer| peer.text(b"Hello").close(1000, b""), &["text Hello", done]);
    check("7.1.2", |peer| peer.close(1000, b"").close(1000, b""), &[done]);
    check("7.1.3", |peer| peer.close(1000, b"").ping(b""), &[done]);
    check("7.1.4", |peer| peer.close(1000, b"").text(b"Hello"), &[done]);
    check(
        "7.1.5",
        |peer| peer.frame(TEXT, b"fragment1").close(1000, b"").frame(FIN, b"fragment2"),
        &[done],
    );
    let long = vec![b'*'; 256 * 1024];
    let echo = format!("text {}", "*".repeat(long.len()));
    check("7.1.6", |peer| peer.text(&long).close(1000, b"").ping(b""), &[&echo, done]);

    check("7.3.1", |peer| peer.frame(FIN | CLOSE, b""), &["close"]);
    check("7.3.2", |peer| peer.frame(FIN | CLOSE, b"a"), &["close 1002"]);
    check("7.3.3", |peer| peer.close(1000, b""), &[done]);
    check("7.3.4", |peer| peer.close(1000, b"Hello"), &[done]);
    check("7.3.5", |peer| peer.close(1000, &[b'*'; 123]), &[done]);
    check("7.3.6", |peer| peer.close(1000, &[b'*'; 124]), &["close 1002"]);

    let bad = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80\x65\x64\x69\x74\x65\x64";
    check("7.5.1", |peer| peer.close(1000, bad), &["close 1007"]);
    let valid = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999];
    // The last three are in the registry, but not in the suite.
    for code in valid.into_iter().chain([1012, 1013, 1014]) {
        check("7.7", |peer| peer.close(code, b""), &[&format!("close {code}")]);
    }
    // 1015 is never sent, as 1005 and 1006; those from 5000 on are 7.13.1 and 7.13.2, which the
    // suite does not judge.
    let invalid = [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999];
    for code in invalid.into_iter().chain([1015, 5000, 65_535]) {
        check("7.9", |peer| peer.close(code, b""), &["close 1002"]);
    }
}

#[test]
fn section_10_fragments_of_1300_bytes() {
    let payload = vec![b'*'; 65_536];
    let echo = format!("text {}", "*".repeat(payload.len()));
    let fragments = |mut peer: Bytes| {
        let count = payload.len().div_ceil(1300);
        for (index, piece) in payload.chunks(1300).enumerate() {
            let opcode = if index == 0 { TEXT } else { 0 };
            let last = if index + 1 == count { FIN } else { 0 };
            peer = peer.frame(opcode | last, piece);
        }
        peer.close(1000, b"")
    };
    check("10.1.1", fragments, &[&echo, "close 1000"]);
}
