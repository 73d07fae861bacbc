//! What peers send, as it is and with bytes changed by a seed, through the fuzz bodies: whole, in
//! pieces, and every prefix.

use super::bytes::{BINARY, Bytes, FIN, PONG, TEXT};
use crate::websocket::fuzz::{TAKEOVER, fuzz_client, fuzz_server, trace};
use crate::websocket::{Deflater, Limits, Options, Role};

fn corpus(role: Role) -> Vec<Bytes> {
    let peer = || Bytes::to(role);
    let mut deflater = Deflater::new();
    let mut compressed =
        |payload: &[u8]| deflater.message(payload, TAKEOVER).expect("the largest window").to_vec();
    let long = compressed(&[b'a'; 40_000]);
    let varied = compressed(&(0..400_u32).map(|it| ((it * it) >> 3) as u8).collect::<Vec<u8>>());
    let text = compressed("\u{3ba}\u{1f79}\u{3c3}\u{3bc}\u{3b5} and back".as_bytes());
    vec![
        peer(),
        peer().text(b"Hello").close(1000, b"bye"),
        peer().frame(TEXT, b"\xe2\x82").ping(b"p").frame(0, b"").frame(FIN, b"\xac"),
        peer().frame(FIN | BINARY, &[7; 300]).frame(FIN | PONG, b"x").close(4000, b""),
        peer().text("\u{3ba}\u{1f79}\u{3c3}\u{3bc}\u{3b5}".as_bytes()).text(b"\xed\xa0\x80"),
        peer().frame(FIN | 0x40 | TEXT, b"\xf2\x48\xcd\xc9\xc9\x07\x00").ping(b""),
        peer().frame(FIN | 0x40 | TEXT, &text).frame(FIN | 0x40 | BINARY, &varied),
        peer().frame(FIN | 0x40 | BINARY, &long).close(1001, b""),
        peer().frame(0x40 | TEXT, &text[..5]).ping(b"x").frame(FIN, &text[5..]).text(b"a"),
        peer().raw(b"GET /ws HTTP/1.1\r\n\r\n"),
    ]
}

/// A fuzz body.
type Fuzz = fn(&[u8]);

#[test]
fn replay() {
    for (role, fuzz) in [(Role::Client, fuzz_client as Fuzz), (Role::Server, fuzz_server as Fuzz)] {
        let mut messages = 0;
        for bytes in corpus(role) {
            let data = bytes.as_slice();
            fuzz(data);
            let options = Options { role, limits: Limits::default(), deflate: Some(TAKEOVER) };
            messages +=
                trace(options, data, &[]).lines.iter().filter(|it| it.contains(" in ")).count();
        }
        assert!(messages >= 8, "{messages} messages");
    }
}

#[test]
fn every_prefix() {
    for (role, fuzz) in [(Role::Client, fuzz_client as Fuzz), (Role::Server, fuzz_server as Fuzz)] {
        for bytes in corpus(role) {
            let data = bytes.as_slice();
            for length in (0..data.len()).step_by(1 + data.len() / 60) {
                fuzz(&data[..length]);
            }
        }
    }
}

#[test]
fn changed_bytes() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for (role, fuzz) in [(Role::Client, fuzz_client as Fuzz), (Role::Server, fuzz_server as Fuzz)] {
        for bytes in corpus(role) {
            let data = bytes.as_slice();
            for _ in 0..if data.is_empty() { 0 } else { 60 } {
                let mut changed = data.to_vec();
                for _ in 0..=draw(3) {
                    let at = draw(changed.len());
                    changed[at] = draw(256) as u8;
                }
                fuzz(&changed);
            }
        }
    }
}
