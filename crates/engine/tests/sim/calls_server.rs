//! A server of gRPC in the simulation: ends calls in any way that the protocol allows, and a few
//! that it does not, and writes down how often.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use plimsoll_grpc::builtin::Ping;
use plimsoll_io::sim::{Peer, PeerActions, PeerConn};
use plimsoll_proto::http2::{Body, ErrorCode, HeadWriter, Server, ServerEvent, ServerOptions};

use crate::seeds::Dice;
use crate::world::MS;

/// How a call is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Ok,
    /// UNAVAILABLE behind the message.
    Trailers,
    /// UNAVAILABLE in the head, and nothing else.
    TrailersOnly,
    /// A message, and no status.
    NoStatus,
    /// OK without a message.
    NoMessage,
    /// OK with two messages.
    TwoMessages,
    /// OK within a message.
    CutMessage,
    /// What a proxy says.
    Html503,
    /// RST_STREAM.
    Cancelled,
    /// RST_STREAM, not processed.
    Refused,
    /// A code that nobody has defined.
    Odd,
    /// Never.
    Hangs,
}

impl Ending {
    pub(crate) const ALL: [Self; 11] = [
        Self::Ok,
        Self::Trailers,
        Self::TrailersOnly,
        Self::NoStatus,
        Self::NoMessage,
        Self::TwoMessages,
        Self::CutMessage,
        Self::Html503,
        Self::Cancelled,
        Self::Refused,
        Self::Odd,
    ];

    /// The name under which results count it.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Ok | Self::NoMessage | Self::TwoMessages | Self::CutMessage => 0,
            Self::Trailers | Self::TrailersOnly | Self::Html503 | Self::Refused => 14,
            Self::NoStatus => 2,
            Self::Cancelled => 1,
            Self::Odd => 99,
            Self::Hangs => unreachable!("it has none"),
        }
    }
}

/// What the server did, over all connections.
#[derive(Debug, Default)]
pub(crate) struct Did {
    /// Calls by how they were ended.
    pub endings: BTreeMap<Ending, u64>,
    /// The numbers in the messages of the calls.
    pub numbers: Vec<i64>,
    /// The values of the `grpc-timeout` fields, each once.
    pub timeouts: Vec<String>,
    /// Streams that the client gave up with CANCEL.
    pub cancelled: u64,
    /// What was wrong with calls.
    pub wrong: Vec<String>,
}

/// The server's side of a connection.
struct Line {
    machine: Server,
    received: Vec<u8>,
    /// The bodies of the calls under way.
    bodies: BTreeMap<u32, Vec<u8>>,
}

pub(crate) struct CallServer {
    dice: Dice,
    /// How calls are ended, each with the same chance.
    endings: Vec<Ending>,
    lines: BTreeMap<PeerConn, Line>,
    did: Rc<RefCell<Did>>,
}

impl CallServer {
    pub(crate) fn new(seed: u64, endings: &[Ending]) -> (Self, Rc<RefCell<Did>>) {
        let did = Rc::default();
        let (dice, endings) = (Dice::new(seed), endings.to_vec());
        (Self { dice, endings, lines: BTreeMap::new(), did: Rc::clone(&did) }, did)
    }
}

/// What a client said.
enum Said {
    Head(u32, Vec<String>),
    Body(u32, Vec<u8>),
    End(u32),
    Reset(ErrorCode),
    Other,
}

impl Line {
    /// The next thing that the client said.
    fn next(&mut self, out: &mut Vec<u8>) -> Option<Said> {
        let decoded = self.machine.receive(&self.received, out).expect("a sound client");
        let said = decoded.event.map(|event| match event {
            ServerEvent::Request(stream, head) => {
                let mut lines = vec![format!("{} {}", head.method(), head.path().unwrap_or("?"))];
                lines.extend(
                    head.headers().map(|(name, value)| format!("{name}: {}", value.escape_ascii())),
                );
                Said::Head(stream, lines)
            }
            ServerEvent::Body(stream, piece) => Said::Body(stream, piece.to_vec()),
            ServerEvent::End(stream) => Said::End(stream),
            ServerEvent::Reset(_, code) => Said::Reset(code),
            _ => Said::Other,
        });
        let consumed = decoded.consumed;
        self.received.drain(..consumed);
        said
    }

    fn end(&mut self, stream: u32, ending: Ending, out: &mut Vec<u8>) {
        const ONE: &[u8] = b"\0\0\0\0\x02\x08\x01";
        let Self { machine, .. } = self;
        let head = |status: u16, content_type: &'static str| {
            move |head: &mut HeadWriter<'_>| {
                head.status(status);
                head.passed_on(b"content-type", content_type.as_bytes());
            }
        };
        let grpc = || head(200, "application/grpc");
        let body: Vec<u8> = match ending {
            Ending::Hangs => return,
            Ending::Cancelled => return machine.reset(stream, ErrorCode::CANCEL, out),
            Ending::Refused => return machine.reset(stream, ErrorCode::REFUSED_STREAM, out),
            Ending::TrailersOnly => {
                return machine.send_head(stream, true, out, |head| {
                    grpc()(head);
                    head.passed_on(b"grpc-status", b"14");
                    head.passed_on(b"grpc-message", b"later%21");
                });
            }
            Ending::Html503 => {
                machine.send_head(stream, false, out, head(503, "text/html"));
                return machine.send(stream, Body::Bytes(b"<p>no"), true, out);
            }
            Ending::NoMessage => Vec::new(),
            Ending::TwoMessages => [ONE, ONE].concat(),
            Ending::CutMessage => ONE[..6].to_vec(),
            _ => ONE.to_vec(),
        };
        machine.send_head(stream, false, out, grpc());
        machine.send(stream, Body::Bytes(&body), ending == Ending::NoStatus, out);
        let status: &[u8] = match ending {
            Ending::NoStatus => return,
            Ending::Trailers => b"14",
            Ending::Odd => b"99",
            _ => b"0",
        };
        let is_sent =
            machine.send_trailers(stream, out, |head| head.passed_on(b"grpc-status", status));
        assert!(is_sent, "the client's windows are large");
    }
}

impl CallServer {
    fn take(&mut self, said: Said, conn: PeerConn, out: &mut Vec<u8>) {
        let mut did = self.did.borrow_mut();
        let line = self.lines.get_mut(&conn).expect("it was connected");
        match said {
            Said::Head(stream, lines) => {
                line.bodies.insert(stream, Vec::new());
                let wanted = [
                    "POST /fgrpc.PingServer/Ping",
                    "te: trailers",
                    "content-type: application/grpc+proto",
                ];
                let missing = wanted.iter().filter(|it| !lines.iter().any(|line| line == *it));
                did.wrong.extend(missing.map(|it| format!("no '{it}' in {lines:?}")));
                let timeout = lines.iter().find_map(|it| it.strip_prefix("grpc-timeout: "));
                let timeout = timeout.unwrap_or("none").to_owned();
                if !did.timeouts.contains(&timeout) {
                    did.timeouts.push(timeout);
                }
            }
            Said::Body(stream, piece) => {
                line.bodies.get_mut(&stream).expect("it is open").extend(piece);
            }
            Said::End(stream) => {
                let body = line.bodies.remove(&stream).expect("it was open");
                let message = body.strip_prefix(&[0, 0, 0, 0, (body.len() - 5) as u8]);
                match message.and_then(|message| Ping::read(message).ok()) {
                    Some(ping) if ping.payload == "x" => did.numbers.push(ping.seq),
                    _ => did.wrong.push(format!("a body {}", body.escape_ascii())),
                }
                let number = self.dice.between(0, self.endings.len() as u64) as usize;
                let ending = self.endings[number];
                *did.endings.entry(ending).or_default() += 1;
                line.end(stream, ending, out);
            }
            Said::Reset(code) => did.cancelled += u64::from(code == ErrorCode::CANCEL),
            Said::Other => {}
        }
    }
}

impl Peer for CallServer {
    fn connected(&mut self, _now_ns: u64, conn: PeerConn, actions: &mut PeerActions) {
        let mut machine = Server::new(ServerOptions::default());
        let mut out = Vec::new();
        machine.begin(&mut out);
        let line = Line { machine, received: Vec::new(), bodies: BTreeMap::new() };
        self.lines.insert(conn, line);
        actions.send(0, out);
    }

    fn received(&mut self, _now_ns: u64, conn: PeerConn, bytes: &[u8], actions: &mut PeerActions) {
        self.lines.get_mut(&conn).expect("it was connected").received.extend(bytes);
        let mut out = Vec::new();
        while let Some(said) = self.lines.get_mut(&conn).and_then(|line| line.next(&mut out)) {
            self.take(said, conn, &mut out);
        }
        if !out.is_empty() {
            actions.send(MS, out);
        }
    }

    fn closed(&mut self, _now_ns: u64, conn: PeerConn) {
        self.lines.remove(&conn);
    }
}
