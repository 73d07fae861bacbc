//! A server of gRPC in the simulation that streams: it answers with messages at known times, ends
//! calls where it is told to, and writes down what came.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use plimsoll_io::sim::{Peer, PeerActions, PeerConn};
use plimsoll_proto::grpc::{MessageEvent, MessageReader, message_prefix};
use plimsoll_proto::http2::{Body, ErrorCode, HeadWriter, Server, ServerEvent, ServerOptions};

/// How calls are answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    pub answers: Answers,
    /// How a call ends.
    pub end: End,
    /// Bytes of each message.
    pub bytes: usize,
    /// What the server lets a client send on a stream before it has read it, and on all of a
    /// connection.
    pub window_bytes: u32,
    /// How long the server takes to read what came, as far as windows tell.
    pub reads_after_ns: u64,
}

impl Manners {
    pub(crate) fn new(answers: Answers) -> Self {
        let window_bytes = 1 << 20;
        Self { answers, end: End::Status(0), bytes: 10, window_bytes, reads_after_ns: 0 }
    }
}

/// With what calls are answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answers {
    /// This many messages when the call is whole, the first at once, each this long after the one
    /// before, and longer before the one of this number.
    Stream { messages: u64, gap_ns: u64, stall: (u64, u64) },
    /// Each message with one, after this long.
    Each { after_ns: u64 },
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With this status behind the last message.
    Status(u32),
    /// With this status after this many messages, whatever the client still sends.
    EarlyStatus(u32, u64),
    /// With RST_STREAM after this many messages.
    Reset(u64),
    /// With the connection after this many messages.
    Cut(u64),
    /// Never.
    Open,
}

/// What the server saw and did, over all connections.
#[derive(Debug, Default)]
pub(crate) struct Did {
    /// Messages that came whole, and the bytes in them.
    pub came: (u64, u64),
    /// Messages that were sent, and the bytes in them.
    pub sent: (u64, u64),
    /// The first bytes of the messages that came, as each call had them.
    pub calls: Vec<Vec<u64>>,
    /// Calls whose end the client has sent.
    pub whole: u64,
    /// The most messages that were unanswered in a call when one came.
    pub unanswered_max: u64,
    /// Streams that the client gave up.
    pub given_up: Vec<ErrorCode>,
}

struct Call {
    messages: MessageReader,
    message: Vec<u8>,
    came: u64,
    answered: u64,
    /// Its place among the calls.
    place: usize,
    has_head: bool,
    has_ended: bool,
}

struct Line {
    machine: Server,
    received: Vec<u8>,
    calls: BTreeMap<u32, Call>,
}

pub(crate) struct StreamServer {
    manners: Manners,
    lines: BTreeMap<PeerConn, Line>,
    did: Rc<RefCell<Did>>,
}

impl StreamServer {
    pub(crate) fn new(manners: Manners) -> (Self, Rc<RefCell<Did>>) {
        let did = Rc::default();
        (Self { manners, lines: BTreeMap::new(), did: Rc::clone(&did) }, did)
    }
}

/// What a client said.
enum Said {
    Head(u32),
    Body(u32, Vec<u8>),
    End(u32),
    Reset(u32, ErrorCode),
    Other,
}

fn next(line: &mut Line, out: &mut Vec<u8>) -> Option<Said> {
    let decoded = line.machine.receive(&line.received, out).expect("a sound client");
    let said = decoded.event.map(|event| match event {
        ServerEvent::Request(stream, _) => Said::Head(stream),
        ServerEvent::Body(stream, piece) => Said::Body(stream, piece.to_vec()),
        ServerEvent::End(stream) => Said::End(stream),
        ServerEvent::Reset(stream, code) => Said::Reset(stream, code),
        _ => Said::Other,
    });
    let consumed = decoded.consumed;
    line.received.drain(..consumed);
    said
}

/// Answers on one connection.
struct Answering<'a> {
    manners: Manners,
    line: &'a mut Line,
    did: &'a mut Did,
    actions: &'a mut PeerActions,
}

impl Answering<'_> {
    /// A message, `after_ns` from now, and the end behind it where it is due.
    fn message(&mut self, stream: u32, after_ns: u64, is_last: bool) {
        let (bytes, end) = (self.manners.bytes, self.manners.end);
        let Line { machine, calls, .. } = &mut *self.line;
        let call = calls.get_mut(&stream).expect("it is open");
        if call.has_ended {
            return;
        }
        let mut out = Vec::new();
        if !std::mem::replace(&mut call.has_head, true) {
            machine.send_head(stream, false, &mut out, |head: &mut HeadWriter<'_>| {
                head.status(200);
                head.passed_on(b"content-type", b"application/grpc");
            });
        }
        let message = [&message_prefix(bytes as u32)[..], &vec![7; bytes]].concat();
        machine.send(stream, Body::Bytes(&message), false, &mut out);
        call.answered += 1;
        self.did.sent.0 += 1;
        self.did.sent.1 += bytes as u64;
        let answered = call.answered;
        let status = match end {
            End::Status(status) if is_last => Some(status),
            End::EarlyStatus(status, after) if answered == after => Some(status),
            _ => None,
        };
        if let Some(status) = status {
            call.has_ended = true;
            let status = status.to_string();
            let is_sent = machine.send_trailers(stream, &mut out, |head| {
                head.passed_on(b"grpc-status", status.as_bytes());
            });
            assert!(is_sent, "the client's windows are large");
        }
        if end == End::Reset(answered) {
            call.has_ended = true;
            machine.reset(stream, ErrorCode::INTERNAL_ERROR, &mut out);
        }
        self.actions.send(after_ns, out);
        if end == End::Cut(answered) {
            call.has_ended = true;
            self.actions.close(after_ns);
        }
    }

    fn body(&mut self, stream: u32, piece: &[u8]) {
        let Some(call) = self.line.calls.get_mut(&stream) else { return };
        let (mut rest, mut whole) = (piece, 0);
        while let Some(event) = call.messages.next(&mut rest).expect("sound messages") {
            match event {
                MessageEvent::Started { .. } => call.message.clear(),
                MessageEvent::Piece(piece) => call.message.extend_from_slice(piece),
                MessageEvent::Ended => {
                    whole += 1;
                    call.came += 1;
                    self.did.came.0 += 1;
                    self.did.came.1 += call.message.len() as u64;
                    self.did.calls[call.place].push(seq(&call.message));
                    let unanswered = call.came - call.answered;
                    self.did.unanswered_max = self.did.unanswered_max.max(unanswered);
                }
            }
        }
        let mut out = Vec::new();
        self.line.machine.release(stream, piece.len() as u32, &mut out);
        if !out.is_empty() {
            self.actions.send(self.manners.reads_after_ns, out);
        }
        if let Answers::Each { after_ns } = self.manners.answers {
            // The end is seen with the last message, or after it.
            (0..whole).for_each(|_| self.message(stream, after_ns, false));
        }
    }

    fn end(&mut self, stream: u32) {
        self.did.whole += 1;
        match self.manners.answers {
            Answers::Stream { messages, gap_ns, stall: (at, for_ns) } => {
                for number in 0..messages {
                    let stalled_ns = if number >= at { for_ns } else { 0 };
                    let is_last = number + 1 == messages;
                    self.message(stream, number * gap_ns + stalled_ns, is_last);
                }
            }
            Answers::Each { after_ns } => self.status(stream, after_ns),
        }
    }

    /// Ends a call whose messages are all answered.
    fn status(&mut self, stream: u32, after_ns: u64) {
        let End::Status(status) = self.manners.end else { return };
        let Line { machine, calls, .. } = &mut *self.line;
        let call = calls.get_mut(&stream).expect("it is open");
        let (mut out, is_first, status) = (Vec::new(), !call.has_head, status.to_string());
        let fields = |head: &mut HeadWriter<'_>| {
            head.passed_on(b"grpc-status", status.as_bytes());
        };
        match is_first {
            true => machine.send_head(stream, true, &mut out, |head| {
                head.status(200);
                head.passed_on(b"content-type", b"application/grpc");
                fields(head);
            }),
            false => assert!(machine.send_trailers(stream, &mut out, fields)),
        }
        self.actions.send(after_ns, out);
    }
}

/// The number in a message, its field 1.
fn seq(message: &[u8]) -> u64 {
    let [8, digits @ ..] = message else { return 0 };
    let mut number = 0;
    for (place, byte) in digits.iter().enumerate() {
        number |= u64::from(byte & 127) << (7 * place);
        if byte & 128 == 0 {
            break;
        }
    }
    number
}

impl Peer for StreamServer {
    fn connected(&mut self, _now_ns: u64, conn: PeerConn, actions: &mut PeerActions) {
        let mut options = ServerOptions::default();
        options.receiving.window_bytes = self.manners.window_bytes;
        options.receiving.connection_window_bytes = self.manners.window_bytes.max(65_535);
        let mut machine = Server::new(options);
        let mut out = Vec::new();
        machine.begin(&mut out);
        let line = Line { machine, received: Vec::new(), calls: BTreeMap::new() };
        self.lines.insert(conn, line);
        actions.send(0, out);
    }

    fn received(&mut self, _now_ns: u64, conn: PeerConn, bytes: &[u8], actions: &mut PeerActions) {
        let line = self.lines.get_mut(&conn).expect("it was connected");
        line.received.extend(bytes);
        let (manners, did) = (self.manners, &mut *self.did.borrow_mut());
        let mut answering = Answering { manners, line, did, actions };
        loop {
            let mut out = Vec::new();
            let said = next(answering.line, &mut out);
            if !out.is_empty() {
                answering.actions.send(0, out);
            }
            match said {
                None => return,
                Some(Said::Head(stream)) => {
                    let place = answering.did.calls.len();
                    answering.did.calls.push(Vec::new());
                    let call = Call {
                        messages: MessageReader::new(1 << 20, false),
                        message: Vec::new(),
                        came: 0,
                        answered: 0,
                        place,
                        has_head: false,
                        has_ended: false,
                    };
                    answering.line.calls.insert(stream, call);
                }
                Some(Said::Body(stream, piece)) => answering.body(stream, &piece),
                Some(Said::End(stream)) => answering.end(stream),
                Some(Said::Reset(stream, code)) => {
                    answering.line.calls.remove(&stream);
                    answering.did.given_up.push(code);
                }
                Some(Said::Other) => {}
            }
        }
    }

    fn closed(&mut self, _now_ns: u64, conn: PeerConn) {
        self.lines.remove(&conn);
    }
}
