//! The whole engine over WebSocket, against a server that echoes in its own time, pushes, sends
//! fragments with pings between them, and closes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_conn::{Replies, WebSocket, WebSocketRequest, WebSocketSettings};
use plimsoll_core::Phase;
use plimsoll_core::compression::{Compression, Sizes};
use plimsoll_core::plan::{Body, Draft, Endpoint, Request};
use plimsoll_core::pushed::Pushed;
use plimsoll_core::random::Stream;
use plimsoll_core::recorder::Recorder;
use plimsoll_engine::Signals;
use plimsoll_engine::source::Prepared;
use plimsoll_io::sim::{Peer, PeerActions, PeerConn, SimOptions};
use plimsoll_proto::http1::{Limits, RequestDecoder, RequestEvent};
use plimsoll_proto::websocket::handshake::{Answer, Upgrade};
use plimsoll_proto::websocket::{
    self, CloseCode, DeflateParameters, Deflater, Event, Kind, Options, Outgoing, Role, Socket,
};
use regex::bytes::Regex;

use crate::seeds::Dice;
use crate::world::{MS, Ran, S, at_rate, plan, run_over};

const NO_KEY: [u8; 4] = [0; 4];
/// The way of a delivery.
const WAY_NS: u64 = 10_000;

/// How the server behaves.
#[derive(Debug, Clone, Copy)]
struct Manners {
    /// Between a message and the first byte of its echo.
    delay_ns: u64,
    /// Between two fragments of an echo, of which there are three where this is not 0. A ping goes
    /// before the last.
    pause_ns: u64,
    /// This many messages are pushed, at once after the handshake and then after each this long.
    pushes: u64,
    push_ns: u64,
    /// A message that no expression for echoes matches goes before each echo.
    chatters: bool,
    /// Closes a connection at this message, unanswered, instead of answering the ones before it.
    closes_at: Option<u64>,
    /// Never answers.
    hangs: bool,
    /// Agrees to compression on this many connections, if it is offered, and declines on later
    /// ones.
    agrees_on: u64,
}

const ECHO: Manners = Manners {
    delay_ns: 5 * MS,
    pause_ns: 0,
    pushes: 0,
    push_ns: 0,
    chatters: false,
    closes_at: None,
    hangs: false,
    agrees_on: 0,
};

/// What the server did.
#[derive(Debug, Default)]
struct Did {
    handshakes: u64,
    heads: Vec<String>,
    messages: Vec<Vec<u8>>,
    echoes: u64,
    pushed: Pushed,
    pongs: u64,
    closes: u64,
    /// As the client has it: what it sent came here.
    compression: Compression,
}

struct Line {
    decoder: Option<RequestDecoder>,
    socket: Socket,
    deflate: Option<DeflateParameters>,
    messages: u64,
}

struct Server {
    manners: Manners,
    lines: BTreeMap<PeerConn, Line>,
    did: Rc<RefCell<Did>>,
}

fn frame(line: &mut Line, what: &Outgoing<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    line.socket.send(what, NO_KEY, &mut bytes);
    bytes
}

impl Line {
    /// Sends the echo of a message by the server's manners.
    fn echo(&mut self, manners: Manners, payload: &[u8], did: &mut Did, out: &mut PeerActions) {
        let Manners { delay_ns, pause_ns, chatters, .. } = manners;
        if chatters {
            did.pushed.message(6);
            out.send(0, frame(self, &Outgoing::whole(Kind::Text, b"chatter".get(..6).unwrap())));
        }
        did.echoes += 1;
        if let Some(parameters) = self.deflate {
            let mut deflater = Deflater::new();
            let compressed = deflater.message(payload, parameters).expect("a message");
            let [bytes, compressed_bytes] = [payload, compressed].map(|it| it.len() as u64);
            did.compression.received.message(Sizes { bytes, compressed_bytes });
            let whole = Outgoing::whole(Kind::Text, compressed);
            out.send(delay_ns, frame(self, &Outgoing { is_compressed: true, ..whole }));
            return;
        }
        if pause_ns == 0 {
            out.send(delay_ns, frame(self, &Outgoing::whole(Kind::Text, payload)));
            return;
        }
        let (first, rest) = payload.split_at(payload.len() / 2);
        let pieces = [(first, false), (rest, false), (&[][..], true)];
        for (number, (payload, is_last)) in (0..).zip(pieces) {
            if is_last {
                let mut ping = Vec::new();
                self.socket.ping(b"there?", NO_KEY, &mut ping);
                did.pushed.pings += 1;
                out.send(pause_ns, ping);
            }
            let piece = Outgoing { kind: Kind::Text, payload, is_compressed: false, is_last };
            let after_ns = delay_ns + number * pause_ns;
            out.send(after_ns, frame(self, &piece));
        }
    }
}

impl Server {
    fn greet(&mut self, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) -> usize {
        let line = self.lines.get_mut(&conn).expect("accepted");
        let Some(decoder) = &mut line.decoder else { return 0 };
        let decoded = decoder.decode(bytes).expect("a request");
        let Some(RequestEvent::Head(head)) = decoded.event else { return decoded.consumed };
        let mut did = self.did.borrow_mut();
        did.handshakes += 1;
        did.heads.push(String::from_utf8_lossy(head.head_bytes()).into_owned());
        let upgrade = Upgrade::read(&head).expect("a sound handshake").expect("an upgrade");
        let is_offered = upgrade.deflate().is_some();
        let agreed = upgrade.deflate().filter(|_| did.handshakes <= self.manners.agrees_on);
        if is_offered {
            did.compression.opened(agreed.is_some());
        }
        let mut answer = Vec::new();
        upgrade.write_response(&Answer { deflate: agreed, ..Answer::default() }, &mut answer);
        out.send(0, answer);
        line.deflate = agreed.map(|agreed| agreed.parameters());
        line.socket = socket(line.deflate);
        let mut consumed = decoded.consumed;
        while let Some(decoder) = &mut line.decoder {
            let decoded = decoder.decode(&bytes[consumed..]).expect("a request");
            consumed += decoded.consumed;
            if let Some(RequestEvent::End(_)) = decoded.event {
                line.decoder = None;
            }
        }
        for number in 0..self.manners.pushes {
            let push = frame(line, &Outgoing::whole(Kind::Binary, b"push"));
            did.pushed.message(4);
            out.send(number * self.manners.push_ns, push);
        }
        consumed
    }
}

impl Peer for Server {
    fn connected(&mut self, _now_ns: u64, conn: PeerConn, _out: &mut PeerActions) {
        let decoder = Some(RequestDecoder::new(Limits::default()));
        let line = Line { decoder, socket: socket(None), deflate: None, messages: 0 };
        self.lines.insert(conn, line);
    }

    fn received(&mut self, _now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        let consumed = self.greet(conn, bytes, out);
        let mut bytes = &bytes[consumed..];
        let line = self.lines.get_mut(&conn).expect("accepted");
        let mut did = self.did.borrow_mut();
        let (mut payload, mut written) = (Vec::new(), Vec::new());
        while line.decoder.is_none() {
            let decoded = line.socket.receive(bytes, NO_KEY, &mut written).expect("sound frames");
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                None => break,
                Some(Event::Begin(_)) => payload.clear(),
                Some(Event::Data(piece)) => payload.extend_from_slice(piece),
                Some(Event::Pong(_)) => did.pongs += 1,
                Some(Event::Ping(_)) => {}
                Some(Event::Close(_)) => did.closes += 1,
                Some(Event::End(message)) => {
                    line.messages += 1;
                    if message.is_compressed {
                        let (bytes, compressed_bytes) = (message.bytes, message.payload_bytes);
                        did.compression.sent.message(Sizes { bytes, compressed_bytes });
                    }
                    did.messages.push(payload.clone());
                    match self.manners.closes_at {
                        Some(at) if did.handshakes == 1 && line.messages == at => {
                            let code = Some(CloseCode::GOING_AWAY);
                            line.socket.close(code, "restart", NO_KEY, &mut written);
                        }
                        Some(_) if did.handshakes == 1 => {}
                        _ if self.manners.hangs => {}
                        _ => line.echo(self.manners, &payload, &mut did, out),
                    }
                }
            }
        }
        if !written.is_empty() {
            out.send(0, written);
        }
    }

    fn closed(&mut self, _now_ns: u64, _conn: PeerConn) {}
}

fn socket(deflate: Option<DeflateParameters>) -> Socket {
    Socket::new(Options { role: Role::Server, limits: websocket::Limits::default(), deflate })
}

/// A plan of messages with their number in them.
fn messages(draft: Draft) -> Draft {
    let endpoint = Endpoint { scheme: "ws".to_owned(), ..Endpoint::http("192.0.2.1", 80, "/ws") };
    let body = Some(Body::Text("echo {{seq}}".into()));
    Draft { endpoint, request: Request { body, ..Request::get() }, ..draft }
}

fn run(draft: &Draft, sim: &SimOptions, replies: Replies, manners: Manners) -> (Ran, Did) {
    let checked = draft.clone().check().expect("a plan");
    let prepared = Prepared::<WebSocketRequest>::new(&checked).expect("messages");
    let settings = WebSocketSettings {
        handshake: prepared.shared().clone(),
        subprotocol: None,
        kind: Kind::Text,
        replies,
        in_flight: draft.websocket.in_flight as usize,
        nonces: Stream::new(draft.seed, 1),
        keys: Stream::new(draft.seed, 2),
        begun: Arc::default(),
        deflater: draft.websocket.compress.then(Rc::default),
    };
    let did = Rc::new(RefCell::new(Did::default()));
    let peer = |_| {
        let (lines, did) = (BTreeMap::new(), Rc::clone(&did));
        Box::new(Server { manners, lines, did }) as Box<dyn Peer>
    };
    let ran = run_over::<WebSocket>(draft, sim, &settings, peer, &Signals::default(), Vec::new());
    (ran, did.take())
}

/// Runs it over a network on which every delivery takes as long.
fn calm(draft: &Draft, replies: Replies, manners: Manners) -> (Recorder, Did) {
    let sim = SimOptions { latency_ns: WAY_NS..WAY_NS + 1, ..SimOptions::default() };
    let (ran, did) = run(draft, &sim, replies, manners);
    let sum = ran.sum();
    sum.ledger.check().expect("a ledger");
    (sum, did)
}

#[track_caller]
fn assert_is(what: &plimsoll_core::Histogram, want_ns: u64) {
    let (min_ns, max_ns) = (what.min_ns().unwrap(), what.max_ns().unwrap());
    let is_near = |ns: u64| ns.abs_diff(want_ns) <= want_ns / 500;
    assert!(is_near(min_ns) && is_near(max_ns), "{min_ns} to {max_ns} ns, and not {want_ns} ns");
}

fn of(requests: u64) -> Draft {
    messages(Draft { requests: Some(requests), duration_ns: None, ..plan() })
}

#[test]
fn a_message_takes_what_its_echo_takes_and_has_no_status() {
    let (sum, did) = calm(&messages(plan()), Replies::Next, ECHO);
    assert_eq!((did.handshakes, did.echoes), (4, sum.ledger.sent));
    assert!(sum.ledger.completed > 700 && sum.ledger.completed == sum.ledger.ok);
    assert_is(&sum.service, 5 * MS + 2 * WAY_NS);
    assert_eq!(sum.phases[Phase::Greeting].count(), 4);
    assert_is(&sum.phases[Phase::Greeting], 2 * WAY_NS);
    assert!(sum.status[1..].iter().all(|count| *count == 0), "a message has no status");
    assert_eq!(sum.pushed, Pushed::default());
    let mut numbers = did.messages.clone();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), did.messages.len(), "each has its own number");
    assert!(did.heads.iter().all(|head| head.starts_with("GET /ws HTTP/1.1\r\nHost: 192.0.2.1")));
    let keys = did.heads.iter().map(|head| head.split("Sec-WebSocket-Key").nth(1));
    assert_eq!(keys.collect::<std::collections::BTreeSet<_>>().len(), 4, "a nonce for each");
}

/// The echo is there when the call that sent the message comes back.
#[test]
fn what_the_server_does_during_the_call_that_sends_is_waiting() {
    let sim = SimOptions { call_ns: 6 * MS..6 * MS + 1, ..SimOptions::default() };
    let draft = Draft { connections: 1, ..of(20) };
    let (ran, did) = run(&draft, &sim, Replies::Next, ECHO);
    let sum = ran.sum();
    assert_eq!((sum.ledger.ok, did.echoes), (20, 20));
    assert_is(&sum.service, 6 * MS);
    assert!(sum.phases[Phase::Sending].max_ns() <= Some(11_000));
    assert!(sum.phases[Phase::Waiting].min_ns() >= Some(5 * MS));
}

/// Before the load, nothing that comes can be a reply.
#[test]
fn what_comes_while_nothing_is_open_was_pushed() {
    let manners = Manners { pushes: 50, push_ns: 10 * MS, ..ECHO };
    let (sum, did) = calm(&messages(at_rate(20_000_000, S)), Replies::Next, manners);
    assert_eq!((sum.ledger.completed, sum.ledger.ok), (20, 20));
    assert_eq!(sum.pushed, did.pushed);
    assert_eq!(sum.pushed.messages, 200);
}

/// The first bytes of what is no reply are not those of the reply.
#[test]
fn what_does_not_match_was_pushed_also_while_a_message_is_open() {
    let manners = Manners { chatters: true, ..ECHO };
    let replies = Replies::Matching(Regex::new("^echo").expect("an expression"));
    let (sum, did) = calm(&of(40), replies, manners);
    assert_eq!((sum.ledger.ok, sum.pushed.messages, sum.pushed), (40, 40, did.pushed));
    assert_is(&sum.service, 5 * MS + 2 * WAY_NS);
    assert_is(&sum.phases[Phase::Waiting], 5 * MS + WAY_NS);
    // With the next one it would have been the chatter.
    let (sum, _) = calm(&of(40), Replies::Next, manners);
    assert!(sum.service.min_ns().unwrap() < MS);
}

#[test]
fn a_reply_in_fragments_ends_with_the_last_and_pings_are_answered() {
    let manners = Manners { pause_ns: 100 * MS, ..ECHO };
    let expect = vec!["body~=^echo [0-9]+$".parse().expect("an expectation")];
    let draft = Draft { expect, ..of(12) };
    let (sum, did) = calm(&draft, Replies::Next, manners);
    assert_eq!((sum.ledger.ok, sum.pushed.pings, did.pongs), (12, 12, 12));
    assert_is(&sum.service, 205 * MS + 2 * WAY_NS);
    assert_is(&sum.phases[Phase::Receiving], 200 * MS);
}

#[test]
fn expectations_are_held_against_each_reply() {
    let expect = vec!["body*=echo 1".parse().expect("an expectation")];
    let (sum, _) = calm(&Draft { expect, ..of(12) }, Replies::Next, ECHO);
    // 1, 10 and 11.
    assert_eq!((sum.ledger.completed, sum.ledger.ok), (12, 3));
    assert_eq!(sum.errors[0].kind, "expect_body");
    let expect = vec!["bytes=7".parse().expect("an expectation")];
    let (sum, _) = calm(&Draft { expect, ..of(12) }, Replies::Next, ECHO);
    assert_eq!(sum.ledger.ok, 2, "echo 10 and echo 11");
}

#[test]
fn a_close_breaks_what_is_open_and_the_connection_comes_back() {
    let mut draft = Draft { connections: 1, ..of(20) };
    draft.websocket.in_flight = 5;
    let manners = Manners { closes_at: Some(5), ..ECHO };
    let (sum, did) = calm(&draft, Replies::Next, manners);
    assert_eq!((sum.ledger.broken, sum.ledger.ok, sum.ledger.reconnects), (5, 15, 1));
    assert_eq!((did.handshakes, did.closes), (2, 1), "our Close answers theirs");
    let [error] = &sum.errors[..] else { panic!("{:?}", sum.errors) };
    assert_eq!((error.kind.as_str(), error.count), ("close:1001", 5));
    assert_eq!(error.sample, "the server closed the WebSocket with 1001: \"restart\"");
}

/// Of four connections the server agrees on some; messages that vary, and one that does not.
#[test]
fn compressed_messages_are_counted_alike_on_both_sides() {
    for (agrees_on, body) in [(4, "echo {{seq}}"), (4, "always"), (2, "echo {{seq}}"), (0, "x")] {
        let mut draft = of(100);
        draft.websocket.compress = true;
        draft.request.body = Some(Body::Text(body.into()));
        let (sum, did) = calm(&draft, Replies::Next, Manners { agrees_on, ..ECHO });
        assert_eq!((sum.ledger.ok, did.echoes), (100, 100), "{agrees_on}");
        assert_eq!(sum.compression, did.compression, "{agrees_on}");
        let Compression { agreed, declined, sent, received } = sum.compression;
        assert_eq!((agreed, declined), (agrees_on, 4 - agrees_on));
        assert_eq!(sent, received, "an echo is compressed as the message was");
        let share = if agrees_on == 4 { 100..=100 } else { 0..=99 };
        assert!(share.contains(&sent.messages), "{agrees_on}: {}", sent.messages);
        assert_eq!(sent.messages > 0, agrees_on > 0);
        let mut numbers = did.messages.clone();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), if body.contains("seq") { 100 } else { 1 });
    }
    // What is not offered is not agreed on.
    let (sum, did) = calm(&of(10), Replies::Next, Manners { agrees_on: 9, ..ECHO });
    assert_eq!(
        (sum.compression, did.compression),
        (Compression::default(), Compression::default())
    );
    assert!(did.heads.iter().all(|head| !head.contains("Extensions")));
}

#[test]
fn without_replies_a_message_ends_when_the_kernel_has_taken_it() {
    let (sum, did) = calm(&messages(at_rate(100_000_000, S)), Replies::None, ECHO);
    assert_eq!(sum.ledger.ok, 100);
    // The run may end before the server hears of the last one.
    assert!((99..=100).contains(&did.messages.len()), "{}", did.messages.len());
    assert_eq!(sum.phases[Phase::Waiting].max_ns(), Some(0));
    assert!(sum.service.max_ns().unwrap() < MS);
    assert!(sum.pushed.messages > 90 && sum.pushed.messages <= did.echoes);
}

#[test]
fn a_message_without_a_reply_times_out_with_its_connection() {
    let draft = Draft { timeout_ns: 50 * MS, connections: 1, ..of(3) };
    let (sum, did) = calm(&draft, Replies::Next, Manners { hangs: true, ..ECHO });
    assert_eq!((sum.ledger.timed_out, sum.ledger.completed), (3, 0));
    assert_eq!(did.messages.len(), 3);
    assert!(did.handshakes >= 3, "a late reply must not be taken for the next");
}

/// Over networks that cut what is sent anywhere, nothing is lost and nothing is counted twice.
#[test]
fn each_message_is_told_of_as_what_came_of_it() {
    let mut completed = 0;
    for seed in 0..500 {
        let mut dice = Dice::new(seed);
        let mut draft = Draft { connections: dice.between(1, 6) as u32, seed, ..messages(plan()) };
        draft.duration_ns = Some(dice.between(20, 200) * MS);
        draft.websocket.in_flight = dice.between(1, 5) as u32;
        let in_flight = u64::from(draft.websocket.in_flight);
        let closes_at = dice.chance(30).then(|| dice.between(1, in_flight + 1));
        let has_limit = closes_at.is_none() && dice.chance(20);
        draft.requests_per_connection = has_limit.then(|| dice.between(1, 20));
        let pushes = dice.between(0, 20);
        draft.websocket.compress = dice.chance(40);
        let agrees_on = dice.between(0, 8);
        let manners = Manners { delay_ns: 0, pushes, closes_at, agrees_on, ..ECHO };
        let sim = SimOptions {
            seed,
            latency_ns: 10_000..10_001 + dice.between(0, MS),
            split: dice.between(0, 700) as f64 / 1000.0,
            partial_write: dice.between(0, 300) as f64 / 1000.0,
            readiness: dice.chance(40),
            ..SimOptions::default()
        };
        let (ran, did) = run(&draft, &sim, Replies::Next, manners);
        let sum = ran.sum();
        let ledger = sum.ledger;
        ledger.check().unwrap_or_else(|error| panic!("{error}, seed {seed}"));
        let context = format!("seed {seed}: {ledger:?} {did:?}");
        assert_eq!(ledger.completed, ledger.ok, "{context}");
        assert_eq!(ledger.timed_out + ledger.unfinished, 0, "{context}");
        if manners.pushes == 0 {
            assert_eq!(ledger.completed, did.echoes, "{context}");
        }
        // A push that comes while a message is open is its reply, and its echo a push then.
        if manners.closes_at.is_none() && draft.requests_per_connection.is_none() {
            let answers = ledger.completed + sum.pushed.messages;
            assert!(answers <= did.echoes + did.pushed.messages, "{context}");
            assert_eq!(ledger.completed, ledger.sent, "{context}");
            assert_eq!(sum.compression.sent, did.compression.sent, "{context}");
            if manners.pushes == 0 {
                assert_eq!(sum.compression, did.compression, "{context}");
            }
        }
        completed += ledger.completed;
    }
    assert!(completed > 50_000, "too little happened: {completed}");
}
