//! Every way we know to break WebSocket: answers to the request for one, and frames that a relay
//! changes or adds on their way, in both directions.

use super::http::Fault;
use super::relay::{Act, Mutation, Side};
use super::server::{Dice, Step};
use Step::{Drip, Fin, Flood, Read, Reset, Say, Stall};

/// An answer to the request for a WebSocket.
fn answer(bytes: impl AsRef<[u8]>) -> Vec<Step> {
    vec![Read, Say(bytes.as_ref().to_vec()), Stall]
}

/// A 101 with these fields.
fn upgrade(fields: &str) -> Vec<Step> {
    answer(format!("HTTP/1.1 101 Switching Protocols\r\n{fields}\r\n\r\n"))
}

/// What a server says that does not open a WebSocket.
pub(crate) const STRANGERS: &[Fault] = &[
    ("ws never answers", |_| vec![Read, Stall]),
    ("ws end after the request", |_| vec![Read, Fin]),
    ("ws reset after the request", |_| vec![Read, Reset]),
    ("ws garbage", |dice| {
        let count = 1 + dice.below(3000);
        answer(dice.bytes(count))
    }),
    ("ws is a page", |_| answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")),
    ("ws page of its own time", |_| answer("HTTP/1.1 404 Not Found\r\n\r\n")),
    ("ws 101 of nothing", |_| upgrade("A: b")),
    ("ws 101 of another protocol", |_| upgrade("Upgrade: h2c\r\nConnection: upgrade")),
    ("ws 101 without a key", |_| upgrade("Upgrade: websocket\r\nConnection: Upgrade")),
    ("ws 101 of another key", |_| {
        upgrade(
            "Upgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        )
    }),
    ("ws slow 101", |_| vec![Read, Drip(b"HTTP/1.1 101 Switching Protocols\r\n".to_vec()), Fin]),
    ("ws endless head", |_| {
        let first = Say(b"HTTP/1.1 101 Switching Protocols\r\n".to_vec());
        vec![Read, first, Flood(b"Abc: def\r\n".repeat(1000), 400)]
    }),
    ("ws interim flood", |_| vec![Read, Flood(b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100), 400)]),
];

/// A frame without a mask.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    [&[first, payload.len() as u8], payload].concat()
}

/// A frame with a mask.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let key = [1, 2, 3, 4];
    let length = 0x80 | payload.len() as u8;
    let payload = payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
    [first, length].into_iter().chain(key).chain(payload).collect()
}

/// First byte and payload of any frame of up to 125 bytes.
fn any(dice: &mut Dice) -> (u8, Vec<u8>) {
    let count = *dice.pick(&[0, 1, 2, 3, 50, 125]);
    (dice.next() as u8, dice.bytes(count))
}

/// First byte and payload of a Close of any code.
fn close(dice: &mut Dice) -> (u8, Vec<u8>) {
    let code = *dice.pick(&[0, 999, 1000, 1001, 1002, 1005, 1006, 1011, 1015, 3000, 4999, 65_535]);
    (0x88, [&u16::to_be_bytes(code)[..], b"why"].concat())
}

/// What happens to frames of a real connection, the client's and the server's.
pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation::of("message of another kind", Side::Server, Act::Change(rekind)),
    Mutation::of("message of another length", Side::Server, Act::Change(relength)),
    Mutation::of("message of an enormous length", Side::Server, Act::Insert(enormous)),
    Mutation::of(
        "any message between",
        Side::Server,
        Act::Insert(|dice| {
            let (first, payload) = any(dice);
            frame(first, &payload)
        }),
    ),
    Mutation::of(
        "close between",
        Side::Server,
        Act::Insert(|dice| {
            let (first, payload) = close(dice);
            frame(first, &payload)
        }),
    ),
    Mutation::of("masked message between", Side::Server, Act::Insert(|_| masked(0x82, b"abc"))),
    Mutation::of("text of no UTF-8", Side::Server, Act::Insert(|_| frame(0x81, b"\xff\xfe"))),
    Mutation::of("flood of pings", Side::Server, Act::Insert(|_| frame(0x89, b"x").repeat(20_000))),
    Mutation::of("flood of pongs", Side::Server, Act::Insert(|_| frame(0x8a, b"x").repeat(20_000))),
    Mutation::of(
        "flood of messages",
        Side::Server,
        Act::Insert(|_| frame(0x82, &[7; 100]).repeat(20_000)),
    ),
    Mutation::of(
        "endless fragments",
        Side::Server,
        Act::Insert(|_| [frame(0x02, b"x"), frame(0x00, &[]).repeat(100_000)].concat()),
    ),
    Mutation::of("client's message of another kind", Side::Client, Act::Change(rekind)),
    Mutation::of("client's message of another length", Side::Client, Act::Change(relength)),
    Mutation::of("client's enormous length", Side::Client, Act::Insert(enormous)),
    Mutation::of(
        "client's any message between",
        Side::Client,
        Act::Insert(|dice| {
            let (first, payload) = any(dice);
            masked(first, &payload)
        }),
    ),
    Mutation::of(
        "client's close between",
        Side::Client,
        Act::Insert(|dice| {
            let (first, payload) = close(dice);
            masked(first, &payload)
        }),
    ),
    Mutation::of(
        "client's message without a mask",
        Side::Client,
        Act::Insert(|_| frame(0x82, b"abc")),
    ),
    Mutation::of(
        "client's flood of pings",
        Side::Client,
        Act::Insert(|_| masked(0x89, b"x").repeat(20_000)),
    ),
    Mutation::of(
        "client's endless fragments",
        Side::Client,
        Act::Insert(|_| [masked(0x02, b"x"), masked(0x00, &[]).repeat(100_000)].concat()),
    ),
];

fn rekind(frame: &mut [u8], dice: &mut Dice) {
    frame[0] = dice.next() as u8;
}

fn relength(frame: &mut [u8], dice: &mut Dice) {
    frame[1] = dice.next() as u8;
}

/// The start of a message of 2^63 - 1 bytes, or of some that are too many.
fn enormous(dice: &mut Dice) -> Vec<u8> {
    let length = *dice.pick(&[1 << 25, 1 << 40, i64::MAX as u64, u64::MAX]);
    [&[0x82, 127 | dice.next() as u8 & 0x80][..], &length.to_be_bytes()].concat()
}
