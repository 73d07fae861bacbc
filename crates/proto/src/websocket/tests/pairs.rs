//! A client and a server that talk to each other, by a seed: what one sends, the other reads, in
//! whatever fragments and pieces it comes.

use crate::websocket::{
    CloseCode, DeflateParameters, Deflater, Event, Kind, Limits, Options, Outgoing, Role, Socket,
};
use proptest::prelude::*;

/// What one side sends.
#[derive(Debug, Clone)]
enum Act {
    Message { kind: Kind, payload: Vec<u8>, fragments: usize, is_compressed: bool },
    Ping(Vec<u8>),
    Pong(Vec<u8>),
}

fn text() -> impl Strategy<Value = Act> {
    ("\\PC{0,300}", 1..5_usize, any::<bool>()).prop_map(|(text, fragments, is_compressed)| {
        Act::Message { kind: Kind::Text, payload: text.into_bytes(), fragments, is_compressed }
    })
}

fn binary() -> impl Strategy<Value = Act> {
    let lengths = prop_oneof![0..300_usize, 65_530..65_545_usize];
    (lengths, any::<u8>(), 1..5_usize, any::<bool>()).prop_map(
        |(length, start, fragments, is_compressed)| {
            let payload = (0..length).map(|index| (index as u8).wrapping_mul(start)).collect();
            Act::Message { kind: Kind::Binary, payload, fragments, is_compressed }
        },
    )
}

fn control() -> impl Strategy<Value = Act> {
    let payload = prop::collection::vec(any::<u8>(), 0..=125);
    (payload, any::<bool>()).prop_map(
        |(payload, is_ping)| if is_ping { Act::Ping(payload) } else { Act::Pong(payload) },
    )
}

/// Writes what one side sends, and how the other is to see it.
fn write(
    socket: &mut Socket,
    parameters: DeflateParameters,
    acts: &[Act],
    key: [u8; 4],
) -> (Vec<u8>, Vec<String>) {
    let (mut out, mut lines) = (Vec::new(), Vec::new());
    let mut deflater = Deflater::new();
    for act in acts {
        match act {
            Act::Ping(payload) => {
                assert!(socket.ping(payload, key, &mut out));
                lines.push(format!("ping {payload:?}"));
            }
            Act::Pong(payload) => {
                assert!(socket.pong(payload, key, &mut out));
                lines.push(format!("pong {payload:?}"));
            }
            Act::Message { kind, payload, fragments, is_compressed } => {
                let deflated =
                    is_compressed.then(|| deflater.message(payload, parameters)).flatten();
                let is_compressed = deflated.is_some();
                let bytes = deflated.unwrap_or(payload);
                let step = (bytes.len() / fragments).max(1);
                let mut pieces: Vec<&[u8]> = bytes.chunks(step).collect();
                if pieces.is_empty() {
                    pieces.push(&[]);
                }
                let count = pieces.len();
                for (index, payload) in pieces.into_iter().enumerate() {
                    let is_last = index + 1 == count;
                    let what = Outgoing { kind: *kind, payload, is_compressed, is_last };
                    assert!(socket.send(&what, key, &mut out));
                }
                let came = bytes.len();
                lines.push(format!("{kind:?} {is_compressed} {came} in {count}: {payload:?}"));
            }
        }
    }
    assert!(socket.close(Some(CloseCode::NORMAL), "done", key, &mut out));
    lines.push("close 1000 done".to_owned());
    (out, lines)
}

/// Reads all of `bytes` in pieces of a length.
fn read(socket: &mut Socket, bytes: &[u8], piece_bytes: usize, out: &mut Vec<u8>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut payload = Vec::new();
    for mut input in bytes.chunks(piece_bytes) {
        loop {
            let decoded = socket.receive(input, [7; 4], out).expect("what we send is right");
            input = &input[decoded.consumed..];
            match decoded.event {
                None => break,
                Some(Event::Begin(_)) => payload.clear(),
                Some(Event::Data(piece)) => payload.extend_from_slice(piece),
                Some(Event::End(message)) => lines.push(format!(
                    "{:?} {} {} in {}: {payload:?}",
                    message.kind, message.is_compressed, message.payload_bytes, message.fragments
                )),
                Some(Event::Ping(payload)) => lines.push(format!("ping {payload:?}")),
                Some(Event::Pong(payload)) => lines.push(format!("pong {payload:?}")),
                Some(Event::Close(close)) => {
                    lines.push(format!("close {} {}", close.code, close.reason));
                }
            }
        }
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_sent_is_read(
        acts in prop::collection::vec(prop_oneof![text(), binary(), control()], 0..8),
        piece_bytes in prop_oneof![1..40_usize, 1..100_000_usize],
        key in any::<[u8; 4]>(),
        window_bits in 8..=15_u8,
        to_server in any::<bool>(),
    ) {
        let parameters = DeflateParameters { window_bits, peer_no_context_takeover: true };
        let side = |role| {
            Socket::new(Options { role, limits: Limits::default(), deflate: Some(parameters) })
        };
        let (mut from, mut to) = (side(Role::Client), side(Role::Server));
        if !to_server {
            std::mem::swap(&mut from, &mut to);
        }
        let (bytes, want) = write(&mut from, parameters, &acts, key);
        let mut answers = Vec::new();
        prop_assert_eq!(read(&mut to, &bytes, piece_bytes, &mut answers), want);
        // Each ping has its pong, and the Close its echo.
        let mut want: Vec<String> = acts
            .iter()
            .filter_map(|act| match act {
                Act::Ping(payload) => Some(format!("pong {payload:?}")),
                _ => None,
            })
            .collect();
        want.push("close 1000 ".to_owned());
        let mut none = Vec::new();
        prop_assert_eq!(read(&mut from, &answers, piece_bytes, &mut none), want);
        prop_assert!(from.is_closed() && to.is_closed() && none.is_empty());
    }
}
