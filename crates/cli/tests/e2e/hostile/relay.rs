//! Passes connections on to a real server, and breaks what either side says, unit by unit: a
//! record of TLS, a frame of HTTP/2, a frame of WebSocket.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use super::server::{Dice, Step, finish, play, reset};

/// Units of a stream that a mutation may hit, counted from its start.
const SPAN: usize = 12;
/// A server that is quiet for longer has nothing more to say.
const QUIET: Duration = Duration::from_millis(1600);
/// Longest unit that is passed on; a longer one ends the stream.
const UNIT_BYTES_MAX: usize = 32 << 20;

/// Where a stream is cut into units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Tls,
    Http2,
    WebSocket,
}

/// Whose stream is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What happens to a stream at one of its units.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    Nothing,
    /// The unit is cut, and the stream ends in order.
    CutFin,
    /// The unit is cut, and the stream is reset.
    CutReset,
    /// The unit is cut, and nothing more comes.
    Stall,
    Flip,
    Drop,
    Twice,
    /// The unit comes after the one that follows it.
    Swap,
    /// Every unit comes in pieces.
    Split,
    Change(fn(&mut [u8], &mut Dice)),
    /// These bytes come before the unit.
    Insert(fn(&mut Dice) -> Vec<u8>),
}

/// A way to break a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mutation {
    pub(crate) name: &'static str,
    side: Side,
    act: Act,
}

impl Mutation {
    pub(crate) const fn of(name: &'static str, side: Side, act: Act) -> Self {
        Self { name, side, act }
    }
}

/// What any stream of units may suffer.
pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation::of("real server", Side::Server, Act::Nothing),
    Mutation::of("cut by an end", Side::Server, Act::CutFin),
    Mutation::of("cut by a reset", Side::Server, Act::CutReset),
    Mutation::of("stalled", Side::Server, Act::Stall),
    Mutation::of("flipped bit", Side::Server, Act::Flip),
    Mutation::of("unit dropped", Side::Server, Act::Drop),
    Mutation::of("unit twice", Side::Server, Act::Twice),
    Mutation::of("units swapped", Side::Server, Act::Swap),
    Mutation::of("noise", Side::Server, Act::Insert(noise)),
    Mutation::of("split at every byte", Side::Server, Act::Split),
    Mutation::of("client cut by an end", Side::Client, Act::CutFin),
    Mutation::of("client cut by a reset", Side::Client, Act::CutReset),
    Mutation::of("client stalled", Side::Client, Act::Stall),
    Mutation::of("client's flipped bit", Side::Client, Act::Flip),
    Mutation::of("client's unit dropped", Side::Client, Act::Drop),
    Mutation::of("client's unit twice", Side::Client, Act::Twice),
    Mutation::of("client's units swapped", Side::Client, Act::Swap),
    Mutation::of("client's noise", Side::Client, Act::Insert(noise)),
    Mutation::of("client split at every byte", Side::Client, Act::Split),
];

fn noise(dice: &mut Dice) -> Vec<u8> {
    let count = 1 + dice.below(100);
    dice.bytes(count)
}

/// Passes a connection on to a real server, and breaks one of its streams.
pub(crate) fn relay(
    client: TcpStream,
    server: SocketAddr,
    framing: Framing,
    mutation: Mutation,
    dice: &mut Dice,
) {
    let Ok(upstream) = TcpStream::connect(server) else { return };
    let limited = upstream.set_read_timeout(Some(QUIET)).and_then(|()| upstream.set_nodelay(true));
    let (Ok(()), Ok(from), Ok(to)) = (limited, client.try_clone(), upstream.try_clone()) else {
        return;
    };
    let mut stream = |side| Broken {
        units: Units { framing, is_first: true, side },
        act: if side == mutation.side { mutation.act } else { Act::Nothing },
        at: dice.below(SPAN),
        dice: Dice::new(dice.next()),
    };
    let (from_client, from_server) = (stream(Side::Client), stream(Side::Server));
    let pump = thread::spawn(move || from_client.pass(from, to));
    if let (Ok(from), Ok(to)) = (upstream.try_clone(), client.try_clone()) {
        from_server.pass(from, to);
    }
    let _ = upstream.shutdown(Shutdown::Both);
    let _ = pump.join();
}

/// One direction of a connection.
struct Broken {
    units: Units,
    act: Act,
    /// The number of the unit that suffers.
    at: usize,
    dice: Dice,
}

impl Broken {
    fn pass(mut self, mut from: TcpStream, mut to: TcpStream) {
        let mut kept = Vec::new();
        for number in 0.. {
            let Some(mut unit) = self.units.next(&mut from) else { break };
            if matches!(self.act, Act::Split) {
                if !unit.chunks(1 + self.at / 3).all(|piece| to.write_all(piece).is_ok()) {
                    break;
                }
                continue;
            }
            if number == self.at {
                match self.act {
                    Act::CutFin | Act::CutReset | Act::Stall => {
                        let _ = to.write_all(&unit[..self.dice.below(unit.len())]);
                        return self.cut(to);
                    }
                    Act::Drop => continue,
                    Act::Swap => {
                        kept = unit;
                        continue;
                    }
                    Act::Flip => {
                        let at = self.dice.below(unit.len());
                        unit[at] ^= 1 << self.dice.below(8);
                    }
                    Act::Twice => unit.extend_from_within(..),
                    Act::Change(change) => change(&mut unit, &mut self.dice),
                    Act::Insert(make) => unit = [make(&mut self.dice), unit].concat(),
                    Act::Nothing | Act::Split => {}
                }
            }
            unit.append(&mut kept);
            if to.write_all(&unit).is_err() {
                break;
            }
        }
        let end = if self.units.side == Side::Client { Shutdown::Write } else { Shutdown::Both };
        let _ = to.shutdown(end);
    }

    fn cut(&self, mut to: TcpStream) {
        match self.act {
            Act::CutFin if self.units.side == Side::Client => {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            Act::CutFin => {
                finish(&mut to);
            }
            Act::CutReset => reset(&to),
            _ => return play(to, &[Step::Stall]),
        }
        // The other direction has a handle of its own, and goes with this one; no FIN is sent.
        let _ = to.shutdown(Shutdown::Read);
    }
}

/// Cuts a stream into units.
struct Units {
    framing: Framing,
    is_first: bool,
    side: Side,
}

impl Units {
    fn next(&mut self, from: &mut impl Read) -> Option<Vec<u8>> {
        let is_first = std::mem::take(&mut self.is_first);
        match self.framing {
            Framing::Tls => unit(from, 5, |head| big_endian(&head[3..5])),
            Framing::Http2 if is_first && self.side == Side::Client => unit(from, 24, |_| 0),
            Framing::Http2 => unit(from, 9, |head| big_endian(&head[..3])),
            Framing::WebSocket if is_first => head(from),
            Framing::WebSocket => websocket_frame(from),
        }
    }
}

fn big_endian(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

/// A head of fixed length and what it says follows.
fn unit(
    from: &mut impl Read,
    head_bytes: usize,
    rest_bytes: impl Fn(&[u8]) -> usize,
) -> Option<Vec<u8>> {
    let mut unit = vec![0; head_bytes];
    from.read_exact(&mut unit).ok()?;
    more(from, &mut unit, rest_bytes)
}

/// Reads what follows the head that is there.
fn more(
    from: &mut impl Read,
    unit: &mut Vec<u8>,
    rest_bytes: impl Fn(&[u8]) -> usize,
) -> Option<Vec<u8>> {
    let rest_bytes = rest_bytes(unit);
    if rest_bytes > UNIT_BYTES_MAX {
        return None;
    }
    let head_bytes = unit.len();
    unit.resize(head_bytes + rest_bytes, 0);
    from.read_exact(&mut unit[head_bytes..]).ok()?;
    Some(std::mem::take(unit))
}

/// A head of HTTP/1, byte by byte so that nothing behind it is taken.
fn head(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        from.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(head)
}

fn websocket_frame(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut frame = vec![0; 2];
    from.read_exact(&mut frame).ok()?;
    let length_bytes = match frame[1] & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let mask_bytes = if frame[1] & 0x80 > 0 { 4 } else { 0 };
    let mut frame = more(from, &mut frame, |_| length_bytes + mask_bytes)?;
    let short = usize::from(frame[1] & 0x7f);
    more(from, &mut frame, |head| match length_bytes {
        0 => short,
        _ => big_endian(&head[2..2 + length_bytes]),
    })
}
