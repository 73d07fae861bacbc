//! Every way we know to break TLS as a server: bytes that were never TLS, and what a real server
//! says, mutated on its way record by record.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use super::server::{Dice, Step, finish, play, reset};

/// A fault before there is any TLS: its name, and what a server does for it.
pub(crate) type Fault = (&'static str, fn(&mut Dice) -> Vec<Step>);

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    Nothing,
    CutFin,
    CutReset,
    Stall,
    Flip,
    Retype,
    Length,
    Drop,
    Twice,
    Swap,
    InsertAlert,
    InsertCloseNotify,
    InsertChangeCipherSpec,
    InsertHelloRequest,
    InsertNoise,
    InsertData,
    SplitBytes,
    FlipUpstream,
}

/// Each with its name.
pub(crate) const MUTATIONS: &[(&str, Mutation)] = &[
    ("real server", Mutation::Nothing),
    ("record cut by an end", Mutation::CutFin),
    ("record cut by a reset", Mutation::CutReset),
    ("record stalled", Mutation::Stall),
    ("record with a flipped bit", Mutation::Flip),
    ("record of another type", Mutation::Retype),
    ("record of another length", Mutation::Length),
    ("record dropped", Mutation::Drop),
    ("record twice", Mutation::Twice),
    ("records swapped", Mutation::Swap),
    ("alert between records", Mutation::InsertAlert),
    ("close_notify between records", Mutation::InsertCloseNotify),
    ("CCS between records", Mutation::InsertChangeCipherSpec),
    ("HelloRequest between records", Mutation::InsertHelloRequest),
    ("noise between records", Mutation::InsertNoise),
    ("plain data between records", Mutation::InsertData),
    ("records split at every byte", Mutation::SplitBytes),
    ("client's record with a flipped bit", Mutation::FlipUpstream),
];

/// Passes a connection on to a real server, and breaks what that says.
pub(crate) fn relay(client: TcpStream, server: SocketAddr, mutation: Mutation, dice: &mut Dice) {
    let Ok(upstream) = TcpStream::connect(server) else { return };
    let limited = upstream.set_read_timeout(Some(Duration::from_millis(1600)));
    let (Ok(()), Ok(from), Ok(to)) = (limited, client.try_clone(), upstream.try_clone()) else {
        return;
    };
    let at = dice.below(10);
    let flip = (mutation == Mutation::FlipUpstream).then(|| dice.below(5));
    let mut pump_dice = dice.clone();
    let pump = thread::spawn(move || {
        pump(from, to, |number, record| {
            if Some(number) == flip {
                flip_bit(record, &mut pump_dice);
            }
        });
    });
    break_records(client, &upstream, mutation, at, dice);
    let _ = upstream.shutdown(Shutdown::Both);
    let _ = pump.join();
}

/// Passes the client's records on.
fn pump(mut from: TcpStream, mut to: TcpStream, mut change: impl FnMut(usize, &mut Vec<u8>)) {
    let mut number = 0;
    while let Some(mut record) = next_record(&mut from) {
        change(number, &mut record);
        number += 1;
        if to.write_all(&record).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn break_records(
    mut client: TcpStream,
    mut upstream: &TcpStream,
    mutation: Mutation,
    at: usize,
    dice: &mut Dice,
) {
    let mut number = 0;
    let mut kept = Vec::new();
    while let Some(mut record) = next_record(&mut upstream) {
        let is_it = number == at;
        number += 1;
        if mutation == Mutation::SplitBytes {
            if !record.chunks(1 + at / 3).all(|piece| client.write_all(piece).is_ok()) {
                break;
            }
            continue;
        }
        if is_it {
            match mutation {
                Mutation::CutFin | Mutation::CutReset | Mutation::Stall => {
                    let _ = client.write_all(&record[..dice.below(record.len())]);
                    cut(client, mutation);
                    return;
                }
                Mutation::Drop => continue,
                Mutation::Swap => {
                    kept = record;
                    continue;
                }
                _ => change(&mut record, mutation, dice),
            }
        }
        record.append(&mut kept);
        if client.write_all(&record).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

fn cut(mut client: TcpStream, mutation: Mutation) {
    match mutation {
        Mutation::CutFin => {
            finish(&mut client);
        }
        Mutation::CutReset => reset(&client),
        _ => return play(client, &[Step::Stall]),
    }
    // The other direction has a handle of its own, and goes with this one; no FIN is sent for it.
    let _ = client.shutdown(Shutdown::Read);
}

fn change(record: &mut Vec<u8>, mutation: Mutation, dice: &mut Dice) {
    let mut inserted = match mutation {
        Mutation::Flip => {
            flip_bit(record, dice);
            return;
        }
        Mutation::Retype => {
            record[0] = dice.next() as u8;
            return;
        }
        Mutation::Length => {
            let length = dice.next() as u16;
            record[3..5].copy_from_slice(&length.to_be_bytes());
            return;
        }
        Mutation::Twice => record.clone(),
        Mutation::InsertAlert => self::record(ALERT, &[2, dice.below(121) as u8]),
        Mutation::InsertCloseNotify => self::record(ALERT, &[1, 0]),
        Mutation::InsertChangeCipherSpec => self::record(CHANGE_CIPHER_SPEC, &[1]),
        Mutation::InsertHelloRequest => self::record(HANDSHAKE, &[0, 0, 0, 0]),
        Mutation::InsertNoise => {
            let count = 1 + dice.below(100);
            dice.bytes(count)
        }
        Mutation::InsertData => self::record(DATA, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        _ => return,
    };
    inserted.append(record);
    *record = inserted;
}

fn flip_bit(record: &mut [u8], dice: &mut Dice) {
    let at = dice.below(record.len());
    record[at] ^= 1 << dice.below(8);
}

fn next_record(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut record = vec![0; 5];
    from.read_exact(&mut record).ok()?;
    let length = u16::from_be_bytes([record[3], record[4]]) as usize;
    record.resize(5 + length, 0);
    from.read_exact(&mut record[5..]).ok()?;
    Some(record)
}
