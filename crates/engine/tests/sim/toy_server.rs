//! The server's side of the toy protocol: does anything that the protocol allows, and writes down
//! what it did.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use plimsoll_io::sim::{Peer, PeerActions, PeerConn};

use crate::seeds::Dice;
use crate::toy::{HEADER_BYTES, frame, kind, write_frame};
use crate::world::MS;

/// What the server did, over all connections.
#[derive(Debug, Default)]
pub(crate) struct Did {
    pub connections: u64,
    /// Requests received whole.
    pub requests: u64,
    pub answered: u64,
    /// Answers that were not as expected.
    pub answered_badly: u64,
    /// Refused, each by name or by a goodbye.
    pub refused: u64,
    pub reset: u64,
    /// Never answered.
    pub hung: u64,
    /// Bodies of requests.
    pub bodies: u64,
    /// Streams that the client gave up.
    pub cancelled: u64,
    pub goodbyes: u64,
    pub pings: u64,
    pub pongs: u64,
    /// What the client did against the rules.
    pub violations: Vec<String>,
}

/// How often it does what, in percent of the requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    pub refuses: u64,
    pub resets: u64,
    pub hangs: u64,
    pub says_goodbye: u64,
    pub fails: u64,
    /// Asks for the body that a client holds back.
    pub continues: u64,
    /// Allows a stream more.
    pub grows: u64,
    /// How many streams it allows at first.
    pub streams: u64,
    /// When it says so, ns after the connect.
    pub hello_ns: u64,
}

#[derive(Debug, Default)]
struct Line {
    received: Vec<u8>,
    limit: u64,
    /// When the hello is sent.
    greets_ns: u64,
    last_stream: u32,
    /// The paths of all requests.
    paths: Vec<Vec<u8>>,
    /// The streams under way, and when each will have been answered.
    open: BTreeMap<u32, u64>,
    has_said_goodbye: bool,
}

/// A server with manners.
pub(crate) struct ToyServer {
    dice: Dice,
    manners: Manners,
    lines: BTreeMap<PeerConn, Line>,
    did: Rc<RefCell<Did>>,
}

impl ToyServer {
    pub(crate) fn new(seed: u64, manners: Manners) -> (Self, Rc<RefCell<Did>>) {
        let did = Rc::new(RefCell::new(Did::default()));
        let (dice, lines) = (Dice::new(seed), BTreeMap::new());
        (Self { dice, manners, lines, did: Rc::clone(&did) }, did)
    }
}

fn send(out: &mut PeerActions, after_ns: u64, kind: u8, stream: u32, payload: &[u8]) {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, kind, stream, payload);
    out.send(after_ns, bytes);
}

impl Peer for ToyServer {
    fn connected(&mut self, now_ns: u64, conn: PeerConn, out: &mut PeerActions) {
        self.did.borrow_mut().connections += 1;
        let Manners { streams, hello_ns, .. } = self.manners;
        let line = Line { limit: streams, greets_ns: now_ns + hello_ns, ..Line::default() };
        self.lines.insert(conn, line);
        send(out, hello_ns, kind::HELLO, streams as u32, b"");
    }

    fn received(&mut self, now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        let Some(line) = self.lines.get_mut(&conn) else { return };
        line.received.extend_from_slice(bytes);
        let mut did = self.did.borrow_mut();
        while let Some((kind, stream, payload)) = frame(&line.received) {
            let len = HEADER_BYTES + payload.len();
            match kind {
                kind::HELLO => {}
                kind::PONG => did.pongs += 1,
                kind::RESET => {
                    did.cancelled += 1;
                    line.open.remove(&stream);
                }
                kind::REQUEST => {
                    did.requests += 1;
                    line.open.retain(|_, end_ns| *end_ns > now_ns);
                    line.check(now_ns, stream, payload, &mut did);
                    line.last_stream = stream;
                    line.paths.push(payload.to_vec());
                    if line.has_said_goodbye {
                        did.refused += 1;
                    } else {
                        let end_ns = answer(&mut self.dice, self.manners, stream, out, &mut did);
                        line.open.insert(stream, now_ns.saturating_add(end_ns));
                        line.change(&mut self.dice, self.manners, stream, out, &mut did);
                    }
                }
                kind::DATA => {
                    did.bodies += 1;
                    line.check_body(stream, payload, &mut did);
                }
                _ => did.violations.push(format!("a frame of kind {kind}")),
            }
            line.received.drain(..len);
        }
    }

    fn closed(&mut self, _now_ns: u64, conn: PeerConn) {
        self.lines.remove(&conn);
    }
}

impl Line {
    /// Whether the client may send this request now.
    fn check(&self, now_ns: u64, stream: u32, payload: &[u8], did: &mut Did) {
        if now_ns < self.greets_ns {
            did.violations.push("a request before the greeting".to_owned());
        }
        if stream != self.last_stream + 1 {
            did.violations.push(format!("stream {stream} after {}", self.last_stream));
        }
        if self.open.len() as u64 >= self.limit {
            did.violations.push(format!("more than {} streams", self.limit));
        }
        if !payload.starts_with(b"/") {
            did.violations.push(format!("a request of {payload:?}"));
        }
    }

    /// A body is what follows the slash of its request's path.
    fn check_body(&self, stream: u32, payload: &[u8], did: &mut Did) {
        let path = self.paths.get(stream as usize - 1);
        if path.and_then(|path| path.strip_prefix(b"/")) != Some(payload) {
            did.violations.push(format!("a body {payload:?} for {path:?}"));
        }
    }

    /// Now and then something changes for the whole connection.
    fn change(
        &mut self,
        dice: &mut Dice,
        manners: Manners,
        stream: u32,
        out: &mut PeerActions,
        did: &mut Did,
    ) {
        if dice.chance(manners.says_goodbye) {
            self.has_said_goodbye = true;
            did.goodbyes += 1;
            send(out, 0, kind::GOODBYE, stream, b"");
        } else if dice.chance(manners.grows) {
            self.limit += 1;
            send(out, 0, kind::LIMIT, self.limit as u32, b"");
        } else if dice.chance(5) {
            did.pings += 1;
            send(out, 0, kind::PING, stream, b"ping");
        }
    }
}

/// Answers a request, or not; gives the time until its stream has ended.
fn answer(
    dice: &mut Dice,
    manners: Manners,
    stream: u32,
    out: &mut PeerActions,
    did: &mut Did,
) -> u64 {
    let after_ns = dice.between(0, 20 * MS);
    let Manners { refuses, resets, hangs, fails, continues, .. } = manners;
    if dice.chance(continues) {
        send(out, after_ns / 2, kind::CONTINUE, stream, b"");
    }
    if dice.chance(refuses) {
        did.refused += 1;
        send(out, after_ns, kind::REFUSE, stream, b"");
        return after_ns;
    }
    if dice.chance(hangs) {
        did.hung += 1;
        return u64::MAX;
    }
    let resets = dice.chance(resets);
    if resets && dice.chance(50) {
        did.reset += 1;
        send(out, after_ns, kind::RESET, stream, b"");
        return after_ns;
    }
    let is_bad = dice.chance(fails);
    let status: u16 = if is_bad { 500 } else { 200 };
    let head = [&status.to_be_bytes()[..], b"toy\r\nServer: toy\r\n\r\n"].concat();
    send(out, after_ns, kind::HEAD, stream, &head);
    let end_ns = after_ns + dice.between(0, 5 * MS);
    if resets {
        did.reset += 1;
        send(out, end_ns, kind::RESET, stream, b"");
        return end_ns;
    }
    send(out, end_ns, kind::DATA, stream, b"hello");
    send(out, end_ns, kind::END, stream, b"");
    did.answered += 1;
    did.answered_badly += u64::from(is_bad);
    end_ns
}
