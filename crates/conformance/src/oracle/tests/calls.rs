//! Every way to answer a call of gRPC, seen by the blocking client of HTTP/2.

use super::http2::{Client, DATA, Frame, GOAWAY, HEADERS, RST_STREAM};
use super::{Running, start};
use crate::oracle::{Act, CallEntry, CallMode, Log, Mode, Side, code};

/// POST / with these fields, each literal and shorter than 127 bytes.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = vec![0x83, 0x84, 0x86];
    for (name, value) in fields {
        block.extend([0, name.len() as u8]);
        block.extend_from_slice(name.as_bytes());
        block.push(value.len() as u8);
        block.extend_from_slice(value.as_bytes());
    }
    block
}

const HELLO: &[u8] = b"\0\0\0\0\x05hello";

/// A call whose body comes in these pieces.
fn call(oracle: &Running, fields: &[(&str, &str)], pieces: &[&[u8]]) -> Client {
    let mut client = Client::new(oracle, &[]);
    client.send(HEADERS, 4, 1, &block(fields));
    for (at, piece) in pieces.iter().enumerate() {
        client.send(DATA, u8::from(at + 1 == pieces.len()), 1, piece);
    }
    client
}

const GRPC: (&str, &str) = ("content-type", "application/grpc+proto");

fn logged(log: &Log) -> CallEntry {
    log.entries[0].call.expect("a call")
}

/// What an answer has: the bytes of its DATA frames, and its last frame.
fn answer(client: &mut Client) -> (Vec<u8>, Frame) {
    let mut body = Vec::new();
    loop {
        let frame = client.next(|frame| matches!(frame.kind, DATA | HEADERS));
        if frame.kind == DATA {
            body.extend_from_slice(&frame.payload);
        }
        if frame.is_end() {
            return (body, frame);
        }
    }
}

#[test]
fn a_call_is_answered_with_its_message_and_a_status() {
    let head = b"\x88\x00\x0ccontent-type\x10application/grpc";
    let status = |code: &str| [b"\0\x0bgrpc-status\x02", code.as_bytes()].concat();
    for (act, body, last, said) in [
        (Act::Trailers(14), HELLO, status("14"), Some(14)),
        (Act::TrailersOnly(14), b"", [&head[..], &status("14")].concat(), Some(14)),
        (Act::NoTrailers, HELLO, HELLO.to_vec(), None),
    ] {
        let oracle = start(Mode::mixed(&[(1, 0, act)]));
        let mut client = call(&oracle, &[GRPC, ("grpc-timeout", "100m")], &[HELLO]);
        let (got, end) = answer(&mut client);
        assert_eq!((got.as_slice(), &end.payload), (body, &last), "{act:?}");
        let log = client.leave(oracle);
        assert_eq!((log.answered(), log.entries[0].status), (1, 200), "{act:?}");
        let CallEntry { messages_in, messages_out, first_ns, timeout_ns, status } = logged(&log);
        assert_eq!((messages_in, timeout_ns, status), (1, 100_000_000, said), "{act:?}");
        assert_eq!((messages_out > 0, first_ns > 0), (!body.is_empty(), !body.is_empty()));
    }
}

#[test]
fn messages_are_found_wherever_the_frames_end() {
    for cut in 0..=HELLO.len() {
        let oracle = start(Mode::mixed(&[(1, 0, Act::Trailers(0))]));
        let mut client = call(&oracle, &[GRPC], &[&HELLO[..cut], &HELLO[cut..], HELLO]);
        assert_eq!(answer(&mut client).0, HELLO, "{cut}");
        let log = client.leave(oracle);
        assert_eq!((logged(&log).messages_in, logged(&log).timeout_ns), (2, 0), "{cut}");
    }
}

#[test]
fn messages_of_a_stream_leave_one_by_one() {
    let call_mode = CallMode { messages: 3, gap_ns: 20_000_000 };
    let oracle = start(Mode { call: call_mode, ..Mode::mixed(&[(1, 0, Act::Trailers(0))]) });
    let mut client = call(&oracle, &[GRPC], &[HELLO]);
    let mut frames = 0;
    while !client.next(|frame| matches!(frame.kind, DATA | HEADERS)).is_end() {
        frames += 1;
    }
    assert_eq!(frames, 4, "a head and three messages");
    let log = client.leave(oracle);
    let (entry, call) = (log.entries[0], logged(&log));
    assert_eq!((call.messages_out, call.status), (3, Some(0)));
    assert!(call.first_ns >= entry.received_ns);
    assert!(entry.sent_ns >= entry.received_ns + 40_000_000, "{entry:?}");
}

#[test]
fn a_call_that_is_given_up_is_logged_with_its_code() {
    let oracle = start(Mode::mixed(&[(1, 0, Act::Hang)]));
    let mut client = call(&oracle, &[GRPC], &[HELLO]);
    client.send(RST_STREAM, 0, 1, &code::CANCEL.to_be_bytes());
    let log = client.leave(oracle);
    assert!(log.entries[0].is_reset(Side::Tester, code::CANCEL));
    assert_eq!((log.answered(), logged(&log).status), (0, None));
}

#[test]
fn what_is_no_message_breaks_the_protocol() {
    for body in [&b"\x01\0\0\0\0"[..], b"\0\x7f\0\0\0", b"\0\0\0", b"\0\0\0\0\x05hel"] {
        let oracle = start(Mode::mixed(&[(1, 0, Act::Trailers(0))]));
        let mut client = call(&oracle, &[GRPC], &[body]);
        let goodbye = client.next(|frame| frame.kind == GOAWAY);
        assert_eq!(goodbye.number(), code::PROTOCOL, "{body:?}");
        assert_eq!(client.leave(oracle).connections[0].broke, code::PROTOCOL, "{body:?}");
    }
}

#[test]
fn other_bodies_are_not_read_as_messages() {
    let oracle = start(Mode::default());
    let mut client = call(&oracle, &[("content-type", "text/plain")], &[b"\x01\x01\x01\x01\x01"]);
    assert_eq!(client.end_of(1), None);
    let log = client.leave(oracle);
    assert_eq!((log.answered(), log.entries[0].call), (1, None));
}
