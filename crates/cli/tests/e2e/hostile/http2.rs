//! Every way we know to break HTTP/2: servers that play frames, and frames that a relay changes
//! or adds on their way, in both directions.

use super::http::Fault;
use super::relay::{Act, Mutation, Side};
use super::server::{Dice, Step};
use Step::{Drip, Fin, Flood, Read, Reset, Say, Split, Stall};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200` by its number in the static table.
const OK: &[u8] = &[0x88];

/// A client's preface and empty SETTINGS.
pub(super) const CLIENT_GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A frame, whatever its length may be called.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn setting(id: u16, value: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// A greeting and these bytes once the client has said something; then nothing.
fn greet(bytes: impl AsRef<[u8]>) -> Vec<Step> {
    vec![Read, Say([&greeting(), bytes.as_ref()].concat()), Stall]
}

fn greeting() -> Vec<u8> {
    [frame(SETTINGS, 0, 0, &[]), frame(SETTINGS, ACK, 0, &[])].concat()
}

fn flood(bytes: Vec<u8>) -> Vec<Step> {
    let times = 1 + (4 << 20) / (500 * bytes.len());
    vec![Read, Say(greeting()), Flood(bytes.repeat(500), times), Stall]
}

/// The first request's response begins with this head; then these bytes come.
fn respond(block: &[u8], flags: u8, rest: &[u8]) -> Vec<Step> {
    greet([&frame(HEADERS, END_HEADERS | flags, 1, block), rest].concat())
}

/// A field that is not to be kept in a table, without Huffman.
fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [&[0][..], &text(name), &text(value)].concat()
}

fn any_frame(dice: &mut Dice) -> Vec<u8> {
    let (kind, flags) = (dice.below(12) as u8, dice.next() as u8);
    let stream = *dice.pick(&[0, 1, 2, 3, 5, 7, 99, 0x7fff_ffff, 0xffff_ffff]);
    let count = *dice.pick(&[0, 1, 4, 5, 6, 8, 12, 100, 16_384, 16_385]);
    let payload = dice.bytes(count);
    frame(kind, flags, stream, &payload)
}

/// What a server says that does not keep to HTTP/2.
pub(crate) const STRANGERS: &[Fault] = &[
    ("h2 without settings", |_| vec![Read, Stall]),
    ("h2 settings alone", |_| vec![Read, Say(frame(SETTINGS, 0, 0, &[])), Stall]),
    ("h2 end at once", |_| vec![Fin]),
    ("h2 end after the preface", |_| vec![Read, Fin]),
    ("h2 reset after the preface", |_| vec![Read, Reset]),
    ("h2 end after settings", |_| vec![Read, Say(greeting()), Fin]),
    ("h2 end within a frame", |_| vec![Read, Say(greeting()[..12].to_vec()), Fin]),
    ("h2 slow settings", |_| vec![Read, Drip(greeting()), Stall]),
    ("h2 split settings", |_| vec![Read, Split(greeting()), Stall]),
    ("h2 is http/1", |_| {
        vec![Read, Say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec()), Fin]
    }),
    ("h2 garbage", |dice| {
        let count = 1 + dice.below(3000);
        vec![Read, Say(dice.bytes(count)), Stall]
    }),
    ("h2 garbage after settings", |dice| {
        let count = 1 + dice.below(3000);
        greet(dice.bytes(count))
    }),
    ("h2 frames of any kind", |dice| {
        let frames: Vec<_> = (0..20).flat_map(|_| any_frame(dice)).collect();
        greet(frames)
    }),
    ("h2 frame without settings first", |dice| {
        let first = any_frame(dice);
        vec![Read, Say(first), Stall]
    }),
    ("h2 frame too long", |_| greet([0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1])),
    ("h2 flood of pings", |_| flood(frame(PING, 0, 0, &[7; 8]))),
    ("h2 flood of answers to pings", |_| flood(frame(PING, ACK, 0, &[7; 8]))),
    ("h2 flood of settings", |_| flood(setting(4, 65_535))),
    ("h2 flood of empty settings", |_| flood(frame(SETTINGS, 0, 0, &[]))),
    ("h2 flood of acknowledgements", |_| flood(frame(SETTINGS, ACK, 0, &[]))),
    ("h2 flood of tables", |dice| flood(setting(1, dice.next() as u32))),
    ("h2 flood of priorities", |_| flood(frame(PRIORITY, 0, 9, &[0, 0, 0, 0, 1]))),
    ("h2 flood of unknown frames", |_| flood(frame(0xfe, 0xff, 1, &[1; 100]))),
    ("h2 flood of resets", |_| flood(frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]))),
    ("h2 flood of updates", |_| flood(frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]))),
    ("h2 flood of goodbyes", |_| flood(goaway(0x7fff_ffff, 0))),
    ("h2 flood of interim heads", |_| {
        flood(frame(HEADERS, END_HEADERS, 1, &field(":status", "103")))
    }),
    ("h2 flood of empty data", |_| {
        let mut steps = respond(OK, 0, &[]);
        steps.insert(2, Flood(frame(DATA, 0, 1, &[]).repeat(500), 500));
        steps
    }),
    ("h2 flood of data", |_| {
        let mut steps = respond(OK, 0, &[]);
        steps.insert(2, Flood(frame(DATA, 0, 1, &[b'x'; 16_384]), 4000));
        steps
    }),
    ("h2 flood of padding", |_| {
        let mut steps = respond(OK, 0, &[]);
        let padded = [&[255][..], &[0; 255]].concat();
        steps.insert(2, Flood(frame(DATA, 8, 1, &padded).repeat(100), 400));
        steps
    }),
    ("h2 endless head", |_| {
        let mut steps = greet(frame(HEADERS, 0, 1, OK));
        steps.insert(2, Flood(frame(CONTINUATION, 0, 1, &field("a", "b").repeat(100)), 20_000));
        steps
    }),
    ("h2 endless head of nothing", |_| {
        let mut steps = greet(frame(HEADERS, 0, 1, OK));
        steps.insert(2, Flood(frame(CONTINUATION, 0, 1, &[]).repeat(500), 1000));
        steps
    }),
    ("h2 head interrupted", |_| {
        greet([frame(HEADERS, 0, 1, OK), frame(PING, 0, 0, &[0; 8])].concat())
    }),
    ("h2 continuation of nothing", |_| greet(frame(CONTINUATION, END_HEADERS, 1, OK))),
    ("h2 head from a bomb", |_| {
        // A long field that is kept, and then its number as often as a frame holds it.
        let kept = [&[0x40, 1, b'a', 0x7f, 0x80, 0x1d][..], &[b'x'; 3839]].concat();
        respond(&[OK, &kept, &[0xbe; 12_000]].concat(), END_STREAM, &[])
    }),
    ("h2 head of noise", |dice| {
        let count = 1 + dice.below(300);
        respond(&dice.bytes(count), END_STREAM, &[])
    }),
    ("h2 table beyond its limit", |_| {
        respond(&[0x3f, 0xff, 0xff, 0xff, 0x7f, 0x88], END_STREAM, &[])
    }),
    ("h2 number without end", |_| respond(&[0xff; 5000], END_STREAM, &[])),
    ("h2 status of letters", |_| respond(&field(":status", "abc"), END_STREAM, &[])),
    ("h2 status beyond any", |_| respond(&field(":status", "1000"), END_STREAM, &[])),
    ("h2 no status", |_| respond(&field("a", "b"), END_STREAM, &[])),
    ("h2 upper case", |_| respond(&[OK, &field("Abc", "b")].concat(), END_STREAM, &[])),
    ("h2 connection field", |_| {
        respond(&[OK, &field("connection", "close")].concat(), END_STREAM, &[])
    }),
    ("h2 body too short", |_| {
        let data = frame(DATA, END_STREAM, 1, b"abc");
        respond(&[OK, &field("content-length", "5")].concat(), 0, &data)
    }),
    ("h2 body too long", |_| {
        let data = frame(DATA, END_STREAM, 1, b"abcdef");
        respond(&[OK, &field("content-length", "5")].concat(), 0, &data)
    }),
    ("h2 body without a head", |_| greet(frame(DATA, END_STREAM, 1, b"abc"))),
    ("h2 two heads", |_| respond(OK, 0, &frame(HEADERS, END_HEADERS, 1, OK))),
    ("h2 trailers with a status", |_| {
        respond(OK, 0, &frame(HEADERS, END_HEADERS | END_STREAM, 1, OK))
    }),
    ("h2 data after the end", |_| respond(OK, END_STREAM, &frame(DATA, 0, 1, b"abc"))),
    ("h2 answer nobody asked for", |_| greet(frame(HEADERS, END_HEADERS, 99, OK))),
    ("h2 stream of the server's", |_| greet(frame(HEADERS, END_HEADERS, 2, OK))),
    ("h2 push", |_| greet(frame(PUSH_PROMISE, END_HEADERS, 1, &[&[0, 0, 0, 2][..], OK].concat()))),
    ("h2 reset of any code", |dice| {
        let code = (dice.below(20) as u32).to_be_bytes();
        greet(frame(RST_STREAM, 0, 1, &code))
    }),
    ("h2 goodbye of any code", |dice| {
        let (last, code) = (*dice.pick(&[0, 1, 3, 0x7fff_ffff]), dice.below(20) as u32);
        greet(goaway(last, code))
    }),
    ("h2 goodbye that grows", |_| greet([goaway(1, 0), goaway(9, 0)].concat())),
    ("h2 goodbye too short", |_| greet(frame(GOAWAY, 0, 0, &[0; 5]))),
    ("h2 window beyond 31 bits", |_| greet(frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]))),
    ("h2 window of a stream beyond 31 bits", |_| {
        greet(frame(WINDOW_UPDATE, 0, 1, &[0x7f, 0xff, 0xff, 0xff]))
    }),
    ("h2 update of nothing", |dice| greet(frame(WINDOW_UPDATE, 0, dice.below(2) as u32, &[0; 4]))),
    ("h2 setting of any value", |dice| {
        let id = dice.below(10) as u16;
        greet(setting(id, *dice.pick(&[0, 1, 2, 100, 16_383, 0xff_ffff, 0x100_0000, u32::MAX])))
    }),
    ("h2 settings of a length that cannot be", |_| greet(frame(SETTINGS, 0, 0, &[0; 7]))),
    ("h2 acknowledgement with settings", |_| greet(frame(SETTINGS, ACK, 0, &[0; 6]))),
    ("h2 no streams", |_| greet(setting(3, 0))),
    ("h2 no window", |_| greet(setting(4, 0))),
];

/// What happens to frames of a real connection, the client's and the server's.
pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation::of("frame of another type", Side::Server, Act::Change(retype)),
    Mutation::of("frame of other flags", Side::Server, Act::Change(reflag)),
    Mutation::of("frame of another stream", Side::Server, Act::Change(restream)),
    Mutation::of("frame of another length", Side::Server, Act::Change(relength)),
    Mutation::of("any frame between", Side::Server, Act::Insert(any_frame)),
    Mutation::of("reset between", Side::Server, Act::Insert(any_reset)),
    Mutation::of("goodbye between", Side::Server, Act::Insert(any_goodbye)),
    Mutation::of("setting between", Side::Server, Act::Insert(any_setting)),
    Mutation::of("update between", Side::Server, Act::Insert(any_update)),
    Mutation::of("client's frame of another type", Side::Client, Act::Change(retype)),
    Mutation::of("client's frame of other flags", Side::Client, Act::Change(reflag)),
    Mutation::of("client's frame of another stream", Side::Client, Act::Change(restream)),
    Mutation::of("client's frame of another length", Side::Client, Act::Change(relength)),
    Mutation::of("client's any frame between", Side::Client, Act::Insert(any_frame)),
    Mutation::of("client's reset between", Side::Client, Act::Insert(any_reset)),
    Mutation::of("client's goodbye between", Side::Client, Act::Insert(any_goodbye)),
    Mutation::of("client's setting between", Side::Client, Act::Insert(any_setting)),
    Mutation::of("client's update between", Side::Client, Act::Insert(any_update)),
];

fn retype(frame: &mut [u8], dice: &mut Dice) {
    frame[3] = dice.below(12) as u8;
}

fn reflag(frame: &mut [u8], dice: &mut Dice) {
    frame[4] = dice.next() as u8;
}

fn restream(frame: &mut [u8], dice: &mut Dice) {
    frame[8] = dice.below(16) as u8;
}

fn relength(frame: &mut [u8], dice: &mut Dice) {
    frame[2] = dice.next() as u8;
}

fn any_reset(dice: &mut Dice) -> Vec<u8> {
    let (stream, code) = (dice.below(32) as u32, dice.below(20) as u32);
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

fn any_goodbye(dice: &mut Dice) -> Vec<u8> {
    goaway(dice.below(32) as u32, dice.below(20) as u32)
}

fn any_setting(dice: &mut Dice) -> Vec<u8> {
    let id = 1 + dice.below(8) as u16;
    setting(id, *dice.pick(&[0, 1, 100, 65_535, 0xff_ffff, 0x7fff_ffff, u32::MAX]))
}

fn any_update(dice: &mut Dice) -> Vec<u8> {
    let increment = *dice.pick(&[0, 1, 65_535, 0x7fff_ffff, 0xffff_ffff_u32]);
    frame(WINDOW_UPDATE, 0, dice.below(12) as u32, &increment.to_be_bytes())
}
