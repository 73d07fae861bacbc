//! Floods of pings, and replies longer than what is looked at.

use plimsoll_core::random::Stream;
use regex::bytes::Regex;

use super::*;

/// A socket whose handshake is over.
fn open(replies: Replies) -> WebSocket {
    let mut websocket = WebSocket::new(&WebSocketSettings {
        handshake: Handshake::none(),
        subprotocol: None,
        kind: Kind::Text,
        replies,
        in_flight: 1,
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
