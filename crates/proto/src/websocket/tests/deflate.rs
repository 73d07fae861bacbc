//! Compressed messages through sockets.

use super::bytes::{Bytes, FIN, PING, TEXT, frames_of};
use crate::websocket::fuzz::{TAKEOVER, trace};
use crate::websocket::{DeflateParameters, Deflater, Limits, Options, Role};

/// RSV1, which marks a compressed message.
const RSV1: u8 = 0x40;
const HELLO: &[u8] = b"\xf2\x48\xcd\xc9\xc9\x07\x00";
/// The same with the window of the message before.
const AGAIN: &[u8] = b"\xf2\x00\x11\x00\x00";

const ALONE: DeflateParameters =
    DeflateParameters { window_bits: 15, peer_no_context_takeover: true };

fn check(
    deflate: Option<DeflateParameters>,
    frames: impl Fn(Bytes) -> Bytes,
    lines: &[&str],
    sent: &[&str],
) {
    for role in [Role::Client, Role::Server] {
        let bytes = frames(Bytes::to(role));
        let data = bytes.as_slice();
        let options = Options { role, limits: Limits { message_bytes: 100 }, deflate };
        let whole = trace(options, data, &[]);
        assert_eq!(whole.lines, lines, "to a {role:?}");
        assert_eq!(frames_of(role, &whole.sent), sent, "to a {role:?}");
        for cut in 1..data.len() {
            assert_eq!(trace(options, data, &[cut]), whole, "cut at {cut}, to a {role:?}");
        }
        let every_byte: Vec<usize> = (1..data.len()).collect();
        assert_eq!(trace(options, data, &every_byte), whole, "byte by byte, to a {role:?}");
    }
}

/// A message whose end fills the decompressor's buffer, and then one that is not compressed.
#[test]
fn pieces_that_fill_the_buffer() {
    let plain = vec![b'a'; 2 * crate::websocket::PIECE_BYTES];
    let long = Deflater::new().message(&plain, TAKEOVER).expect("a message").to_vec();
    let limits = Limits::default();
    for role in [Role::Client, Role::Server] {
        let bytes = Bytes::to(role).frame(FIN | RSV1 | TEXT, &long).text(b"short");
        let data = bytes.as_slice();
        let options = Options { role, limits, deflate: Some(TAKEOVER) };
        for cut in 1..data.len() {
            let trace = trace(options, data, &[cut]);
            assert_eq!(trace.lines.len(), 3);
            assert_eq!(trace.lines[1..], ["Text in 1: short", "error no_close"]);
        }
    }
}

#[test]
fn messages() {
    let compressed = FIN | RSV1 | TEXT;
    let hello = "Text in 1: Hello";
    let bomb = Deflater::new().message(&[b'a'; 101], TAKEOVER).expect("a message").to_vec();
    let fits = Deflater::new().message(&[b'a'; 100], TAKEOVER).expect("a message").to_vec();
    let bad_text = Deflater::new().message(b"ab\xff", TAKEOVER).expect("a message").to_vec();
    let (a, full) = ("a".repeat(100), format!("Text in 1: {}", "a".repeat(100)));
    check(
        Some(TAKEOVER),
        |peer| peer.frame(compressed, HELLO).frame(compressed, AGAIN).text(b"plain"),
        &[hello, hello, "Text in 1: plain", "error no_close"],
        &["text Hello", "text Hello", "text plain"],
    );
    check(
        Some(ALONE),
        |peer| peer.frame(compressed, HELLO).frame(compressed, AGAIN),
        // What the message refers to is gone: the decompressor takes it for zeros.
        &[hello, "Text in 1: H\\x00\\x00\\x00\\x00", "error no_close"],
        &["text Hello", "text H\\x00\\x00\\x00\\x00"],
    );
    check(
        Some(ALONE),
        |peer| {
            peer.frame(RSV1 | TEXT, &HELLO[..3])
                .frame(FIN | PING, b"p")
                .frame(0, b"")
                .frame(FIN, &HELLO[3..])
        },
        &["ping p", "Text in 3: Hello", "error no_close"],
        &["pong p", "text Hello"],
    );
    // Without agreement the bit is reserved; on a continuation or a control frame it always is.
    check(None, |peer| peer.frame(compressed, HELLO), &["error reserved_bits"], &["close 1002"]);
    check(
        Some(ALONE),
        |peer| peer.frame(RSV1 | TEXT, &HELLO[..3]).frame(FIN | RSV1, &HELLO[3..]),
        // How much of it is made before the rest has come is the decompressor's business.
        &["part of Text: He", "error reserved_bits"],
        &["close 1002"],
    );
    check(
        Some(ALONE),
        |peer| peer.frame(FIN | RSV1 | PING, b""),
        &["error reserved_bits"],
        &["close 1002"],
    );
    check(
        Some(ALONE),
        |peer| peer.frame(compressed, &fits),
        &[&full, "error no_close"],
        &[&format!("text {a}")],
    );
    check(
        Some(ALONE),
        |peer| peer.frame(compressed, &bomb),
        &[&format!("part of Text: {a}"), "error message_too_long"],
        &["close 1009"],
    );
    check(
        Some(ALONE),
        |peer| peer.frame(compressed, &bad_text),
        &["part of Text: ab", "error invalid_utf8"],
        &["close 1007"],
    );
    check(
        Some(ALONE),
        |peer| peer.frame(compressed, b"\xff\xff\xff"),
        &["part of a message", "error bad_deflate"],
        &["close 1007"],
    );
    // The last block is cut, and what ends a message would be taken for its data.
    check(
        Some(ALONE),
        |peer| peer.frame(compressed, b"\x00\x05\x00\xfa\xff\x48\x65"),
        &["part of a message", "error bad_deflate"],
        &["close 1007"],
    );
}

/// Whether a part of a message is a message, too: where the tail follows that its pieces end in,
/// and behind it and the first byte of the next block, if that is zero.
fn ends_a_block(made: &[u8], length: usize) -> bool {
    const TAIL: &[u8] = &[0, 0, 0xff, 0xff];
    let (part, rest) = made.split_at(length);
    let next = part.strip_suffix(&[0]);
    rest.starts_with(TAIL) || next.is_some_and(|before| before.ends_with(TAIL))
}

/// A message of which the end is missing is an error wherever it was cut.
#[test]
fn a_message_that_is_cut_is_an_error() {
    let words: String = (0..400).map(|at| format!("{} {:x}, ", at * at, at * 7)).collect();
    let noise: Vec<u8> =
        (0..600_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let messages = [&b"Hello"[..], b"", b"a", &[b'a'; 5000], words.as_bytes(), &noise];
    let frame = FIN | RSV1 | super::bytes::BINARY;
    for role in [Role::Client, Role::Server] {
        for deflate in [ALONE, TAKEOVER, DeflateParameters { window_bits: 9, ..TAKEOVER }] {
            let options = Options { role, limits: Limits::default(), deflate: Some(deflate) };
            for message in messages {
                let made = Deflater::new().message(message, deflate).expect("a message").to_vec();
                let whole = trace(options, Bytes::to(role).frame(frame, &made).as_slice(), &[]);
                assert_eq!(whole.lines.len(), 2, "{} bytes, whole", message.len());
                for length in 0..made.len() {
                    let bytes = Bytes::to(role).frame(frame, &made[..length]);
                    let trace = trace(options, bytes.as_slice(), &[]);
                    let last = trace.lines.last().map(String::as_str);
                    let why = format!("{length} of {} bytes, to a {role:?}", made.len());
                    let is_valid = ends_a_block(&made, length);
                    let want = if is_valid { "error no_close" } else { "error bad_deflate" };
                    assert_eq!(last, Some(want), "{why}");
                }
            }
        }
    }
}
