//! The server's side of the toy protocol: does anything that the protocol allows, and writes down
//! what it did.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use plimsoll_io::sim::{Peer, PeerActions, PeerConn};

use crate::manners::{Did, Manners};
use crate::seeds::Dice;
use crate::toy::{HEADER_BYTES, frame, kind, write_frame};
use crate::world::MS;

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
    /// By stream.
    bodies: BTreeMap<u32, Body>,
    has_said_goodbye: bool,
}

/// What has come of a body, and what there is room for from when on.
#[derive(Debug, Default)]
struct Body {
    received: Vec<u8>,
    room: Vec<(u64, u64)>,
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
        let Manners { streams, hello_ns, window, .. } = self.manners;
        let line = Line { limit: streams, greets_ns: now_ns + hello_ns, ..Line::default() };
        self.lines.insert(conn, line);
        let window = window.map(|bytes| (bytes as u32).to_be_bytes());
        let payload = window.as_ref().map_or(&[][..], |bytes| &bytes[..]);
        send(out, hello_ns, kind::HELLO, streams as u32, payload);
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
                    } else if self.manners.window.is_some() {
                        // Answered with the beginning of its body.
                        send(out, 0, kind::CONTINUE, stream, b"");
                        line.open.insert(stream, u64::MAX);
                        line.change(&mut self.dice, self.manners, stream, out, &mut did);
                    } else {
                        let end_ns =
                            answer(&mut self.dice, self.manners, stream, 0, out, &mut did).end_ns;
                        line.open.insert(stream, now_ns.saturating_add(end_ns));
                        line.change(&mut self.dice, self.manners, stream, out, &mut did);
                    }
                }
                kind::DATA => {
                    let is_first = !line.bodies.contains_key(&stream);
                    did.bodies += u64::from(is_first);
                    let window = self.manners.window.unwrap_or(u64::MAX);
                    let body = line.bodies.entry(stream).or_default();
                    if is_first {
                        body.room.push((0, window));
                    }
                    body.received.extend_from_slice(payload);
                    let missing = line.check_body(now_ns, stream, &mut did);
                    if is_first && self.manners.window.is_some() && line.open.contains_key(&stream)
                    {
                        let end_ns = line.hold(
                            &mut self.dice,
                            self.manners,
                            now_ns,
                            (stream, missing),
                            out,
                            &mut did,
                        );
                        line.open.insert(stream, now_ns.saturating_add(end_ns));
                    }
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

    /// A body is what follows the slash of its request's path. Without a window it comes at once,
    /// with one never more than there is room for. Gives how many bytes are missing.
    fn check_body(&self, now_ns: u64, stream: u32, did: &mut Did) -> u64 {
        let path = self.paths.get(stream as usize - 1);
        let whole = path.and_then(|path| path.strip_prefix(b"/")).unwrap_or_default();
        let Body { received, room } = &self.bodies[&stream];
        let given = room.iter().filter(|(at_ns, _)| *at_ns <= now_ns);
        let room = given.fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
        let missing = (whole.len() - received.len().min(whole.len())) as u64;
        let is_cut_short = missing > 0 && room == u64::MAX;
        if !whole.starts_with(received) || received.len() as u64 > room || is_cut_short {
            did.violations.push(format!("a body {received:?} for {path:?}, with room for {room}"));
        }
        missing
    }

    /// Makes room for the bytes of a body that are `missing`, sooner or later, and answers its
    /// request, mostly after that. Gives the time until its stream has ended.
    fn hold(
        &mut self,
        dice: &mut Dice,
        manners: Manners,
        now_ns: u64,
        (stream, missing): (u32, u64),
        out: &mut PeerActions,
        did: &mut Did,
    ) -> u64 {
        let (mut after_ns, mut left) = (0, missing);
        while left > 0 {
            after_ns += dice.between(0, 20 * MS);
            let bytes = dice.between(1, left + 1);
            left -= bytes;
            send(out, after_ns, kind::WINDOW, stream, &(bytes as u32).to_be_bytes());
            if let Some(body) = self.bodies.get_mut(&stream) {
                body.room.push((now_ns + after_ns, bytes));
            }
        }
        let from_ns = if dice.chance(30) { 0 } else { after_ns };
        let Answer { head_ns, end_ns } = answer(dice, manners, stream, from_ns, out, did);
        if missing > 0
            && let Some(head_ns) = head_ns
        {
            did.held_ns.push(after_ns.min(head_ns));
        }
        end_ns
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

/// How a request is answered.
struct Answer {
    /// When its response begins, if it is to be whole.
    head_ns: Option<u64>,
    /// When its stream has ended.
    end_ns: u64,
}

impl Answer {
    fn none(end_ns: u64) -> Self {
        Self { head_ns: None, end_ns }
    }
}

/// Answers a request `from_ns` on from now, or not.
fn answer(
    dice: &mut Dice,
    manners: Manners,
    stream: u32,
    from_ns: u64,
    out: &mut PeerActions,
    did: &mut Did,
) -> Answer {
    let after_ns = from_ns + dice.between(0, 20 * MS);
    let Manners { refuses, resets, hangs, fails, continues, .. } = manners;
    if dice.chance(continues) {
        send(out, after_ns / 2, kind::CONTINUE, stream, b"");
    }
    if dice.chance(refuses) {
        did.refused += 1;
        send(out, after_ns, kind::REFUSE, stream, b"");
        return Answer::none(after_ns);
    }
    if dice.chance(hangs) {
        did.hung += 1;
        return Answer::none(u64::MAX);
    }
    let resets = dice.chance(resets);
    if resets && dice.chance(50) {
        did.reset += 1;
        send(out, after_ns, kind::RESET, stream, b"");
        return Answer::none(after_ns);
    }
    let is_bad = dice.chance(fails);
    let status: u16 = if is_bad { 500 } else { 200 };
    let head = [&status.to_be_bytes()[..], b"toy\r\nServer: toy\r\n\r\n"].concat();
    send(out, after_ns, kind::HEAD, stream, &head);
    let end_ns = after_ns + dice.between(0, 5 * MS);
    if resets {
        did.reset += 1;
        send(out, end_ns, kind::RESET, stream, b"");
        return Answer::none(end_ns);
    }
    send(out, end_ns, kind::DATA, stream, b"hello");
    send(out, end_ns, kind::END, stream, b"");
    did.answered += 1;
    did.answered_badly += u64::from(is_bad);
    Answer { head_ns: Some(after_ns), end_ns }
}
