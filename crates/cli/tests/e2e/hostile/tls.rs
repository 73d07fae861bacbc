//! Every way we know to break TLS as a server: bytes that were never TLS, and what a real server
//! says, mutated on its way record by record.

use super::http::Fault;
use super::relay::{Act, Mutation, Side};
use super::server::Step;

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, 3, 3];
    bytes.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Answers the ClientHello with these bytes.
fn answer(bytes: impl Into<Vec<u8>>) -> Vec<Step> {
    vec![Step::Read, Step::Say(bytes.into()), Step::Stall]
}

fn flood(bytes: &[u8]) -> Vec<Step> {
    vec![Step::Read, Step::Flood(bytes.repeat(500), 200), Step::Stall]
}

/// What a server says that does not speak TLS, or no further than a record.
pub(crate) const STRANGERS: &[Fault] = &[
    ("tls garbage", |dice| {
        let count = 1 + dice.below(3000);
        answer(dice.bytes(count))
    }),
    ("tls garbage in a record", |dice| {
        let (kind, count) = (*dice.pick(&[20, 21, 22, 23, 24, 0, 255]), 1 + dice.below(300));
        answer(record(kind, &dice.bytes(count)))
    }),
    ("plain http", |_| answer("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")),
    ("fatal alert", |dice| answer(record(ALERT, &[2, dice.below(121) as u8]))),
    ("alert of any level", |dice| answer(record(ALERT, &dice.bytes(2)))),
    ("warning, then the end", |dice| {
        vec![Step::Read, Step::Say(record(ALERT, &[1, dice.below(121) as u8])), Step::Fin]
    }),
    ("close_notify at once", |_| answer(record(ALERT, &[1, 0]))),
    ("alert of one byte", |_| answer(record(ALERT, &[2]))),
    ("flood of warnings", |_| flood(&record(ALERT, &[1, 90]))),
    ("flood of CCS", |_| flood(&record(CHANGE_CIPHER_SPEC, &[1]))),
    ("flood of HelloRequests", |_| flood(&record(HANDSHAKE, &[0, 0, 0, 0]))),
    ("flood of empty records", |dice| flood(&record(*dice.pick(&[HANDSHAKE, DATA, ALERT]), &[]))),
    ("data before the handshake", |_| answer(record(DATA, b"HTTP/1.1 200 OK\r\n\r\n"))),
    ("huge record", |_| {
        let mut bytes = vec![HANDSHAKE, 3, 3, 0xff, 0xff];
        bytes.resize(70_000, b'a');
        answer(bytes)
    }),
    ("endless message", |_| {
        let mut first = vec![2, 0xff, 0xff, 0xff];
        first.resize(16_384, 0);
        let more = record(HANDSHAKE, &[0; 16_384]);
        vec![Step::Read, Step::Say(record(HANDSHAKE, &first)), Step::Flood(more, 1100)]
    }),
    ("message a byte a record", |_| {
        let hello: Vec<u8> = [2, 0, 0, 70, 3, 3].into_iter().chain([7; 68]).collect();
        answer(hello.iter().flat_map(|byte| record(HANDSHAKE, &[*byte])).collect::<Vec<_>>())
    }),
    ("hello of SSL 2", |_| answer([0x80, 0x0b, 4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0])),
    ("hello that was made up", |dice| {
        let mut body = vec![3, *dice.pick(&[0, 1, 2, 3, 4, 9])];
        body.extend_from_slice(&dice.bytes(32));
        body.extend_from_slice(&[0, 0x13, 1 + dice.below(4) as u8, 0]);
        let extensions = dice.below(40);
        body.extend_from_slice(&(extensions as u16).to_be_bytes());
        body.extend_from_slice(&dice.bytes(extensions));
        let mut message = vec![2, 0, 0, body.len() as u8];
        message.extend_from_slice(&body);
        answer(record(HANDSHAKE, &message))
    }),
    ("tls end before the hello", |_| vec![Step::Fin]),
    ("tls end after the hello", |_| vec![Step::Read, Step::Fin]),
    ("tls reset before the hello", |_| vec![Step::Reset]),
    ("tls reset after the hello", |_| vec![Step::Read, Step::Reset]),
    ("tls never reads", |_| vec![Step::Stall]),
    ("tls never answers", |_| vec![Step::Read, Step::Stall]),
    ("tls header, slowly", |_| vec![Step::Read, Step::Drip(record(HANDSHAKE, &[0; 60]))]),
];

/// What happens to the stream of a real server at one of its records.
pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation::of(
        "record of another type",
        Side::Server,
        Act::Change(|record, dice| {
            record[0] = dice.next() as u8;
        }),
    ),
    Mutation::of(
        "record of another length",
        Side::Server,
        Act::Change(|record, dice| {
            let length = dice.next() as u16;
            record[3..5].copy_from_slice(&length.to_be_bytes());
        }),
    ),
    Mutation::of(
        "alert between records",
        Side::Server,
        Act::Insert(|dice| record(ALERT, &[2, dice.below(121) as u8])),
    ),
    Mutation::of(
        "close_notify between records",
        Side::Server,
        Act::Insert(|_| record(ALERT, &[1, 0])),
    ),
    Mutation::of(
        "CCS between records",
        Side::Server,
        Act::Insert(|_| record(CHANGE_CIPHER_SPEC, &[1])),
    ),
    Mutation::of(
        "HelloRequest between records",
        Side::Server,
        Act::Insert(|_| record(HANDSHAKE, &[0, 0, 0, 0])),
    ),
    Mutation::of(
        "plain data between records",
        Side::Server,
        Act::Insert(|_| record(DATA, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")),
    ),
];
