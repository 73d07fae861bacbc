//! `/ws`: a WebSocket that echoes, by the rules in the target's query, and what a connection keeps
//! for it.
//!
//! Messages are answered in order, one at a time. While one waits for its time or its fragments
//! for theirs, what comes is held, pings included. Messages are pushed until the first fragment of
//! an answer is sent; after that they wait for its last.
//!
//! Pure: it has no driver and no clock; `server` moves the bytes.

mod script;

use plimsoll_proto::http1::RequestHead;
use plimsoll_proto::websocket::handshake::{Answer, Upgrade, UpgradeError};
use plimsoll_proto::websocket::{
    CloseCode, DeflateParameters, Deflater, Event, Kind, Limits, Options, Outgoing, Role, Socket,
};

use crate::pool::{Pool, Work};
use crate::route::Refusal;
pub(crate) use script::Script;

/// A server's frames are not masked.
const NO_KEY: [u8; 4] = [0; 4];

/// What a browser gets at `/ws`: a page that opens the socket to the same target.
pub(crate) const PAGE: &[u8] = include_bytes!("page.html");

/// Where reading a stretch of input stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// At its end.
    More,
    /// At the end of a message.
    Message,
    /// The client has closed, and its Close is answered.
    Closed,
    /// The client broke the protocol or a limit; the Close that says so is written.
    Failed,
}

/// The WebSocket of a connection.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: Socket,
    pub(crate) script: Script,
    deflate: Option<DeflateParameters>,
    /// The 101, until it is sent.
    response: Vec<u8>,
    /// Whether that is done: all that comes are frames.
    pub(crate) is_open: bool,
    /// What the message under way or being answered contains.
    kind: Kind,
    /// Whether its answer goes out compressed.
    is_compressed: bool,
    /// Fragments of the answer sent so far.
    fragments: u32,
    /// Messages answered so far.
    answers: u32,
    /// When the answer to the message last read is due.
    pub(crate) answer_due_ns: u64,
    /// When the next message is to be pushed; `u64::MAX` for never.
    pub(crate) push_due_ns: u64,
}

/// The channel that a request asks for. `None` when it does not ask for a WebSocket.
pub(crate) fn open(
    head: &RequestHead<'_>,
    message_bytes: u64,
) -> Result<Option<Box<Channel>>, Refusal> {
    let Some(upgrade) = Upgrade::read(head).map_err(refusal)? else { return Ok(None) };
    let query = head.target.split_once('?').map_or("", |(_, query)| query);
    let (script, chosen) = script::parse(query)?;
    // Without a choice of ours, the client's first.
    let subprotocol = upgrade.subprotocols().find(|name| chosen.is_none_or(|it| it == *name));
    let deflate = upgrade.deflate();
    let mut response = Vec::new();
    upgrade.write_response(&Answer { subprotocol, deflate }, &mut response);
    let deflate = deflate.map(|answer| answer.parameters());
    let limits = Limits { message_bytes };
    Ok(Some(Box::new(Channel {
        socket: Socket::new(Options { role: Role::Server, limits, deflate }),
        script,
        deflate,
        response,
        is_open: false,
        kind: Kind::Text,
        is_compressed: false,
        fragments: 0,
        answers: 0,
        answer_due_ns: 0,
        push_due_ns: u64::MAX,
    })))
}

fn refusal(error: UpgradeError) -> Refusal {
    let line = match error {
        UpgradeError::Method => "a WebSocket is asked for with GET (RFC 6455 section 4.1)",
        UpgradeError::Body => "a request for a WebSocket has no body",
        UpgradeError::Connection => "a request for a WebSocket has Connection: Upgrade",
        UpgradeError::Version => "only version 13 of WebSocket is spoken here",
        UpgradeError::Key => "Sec-WebSocket-Key is 16 bytes in base64",
    };
    Refusal { status: error.status(), line }
}

impl Channel {
    /// Takes the 101; frames follow it.
    pub(crate) fn start(&mut self, now_ns: u64) -> Vec<u8> {
        self.is_open = true;
        if let Some(push_ns) = self.script.push_ns {
            self.push_due_ns = now_ns.saturating_add(push_ns);
        }
        std::mem::take(&mut self.response)
    }

    /// Reads up to the next step that is due, and appends what the protocol answers to `out`.
    /// Returns the bytes used up and that step.
    pub(crate) fn step(
        &mut self,
        input: &[u8],
        work: &mut Option<Box<Work>>,
        pool: &mut Pool,
        out: &mut Vec<u8>,
    ) -> (usize, Step) {
        let mut at = 0;
        loop {
            let Ok(decoded) = self.socket.receive(&input[at..], NO_KEY, out) else {
                return (input.len(), Step::Failed);
            };
            at += decoded.consumed;
            match decoded.event {
                None => return (at, Step::More),
                Some(Event::Begin(kind)) => {
                    self.kind = kind;
                    work.get_or_insert_with(|| pool.take());
                }
                Some(Event::Data(piece)) => {
                    let body = work.get_or_insert_with(|| pool.take());
                    // The socket's own limit is that of one message, this one is of all together.
                    if pool.extend(body, piece, u64::MAX).is_err() {
                        let code = Some(CloseCode::TRY_AGAIN_LATER);
                        self.socket.close(code, "too much is being echoed at once", NO_KEY, out);
                        return (input.len(), Step::Failed);
                    }
                }
                Some(Event::End(_)) => return (at, Step::Message),
                Some(Event::Ping(_) | Event::Pong(_)) => {}
                Some(Event::Close(_)) => return (input.len(), Step::Closed),
            }
        }
    }

    /// Makes the message in `work` ready to be sent back when the script says.
    pub(crate) fn begin_answer(
        &mut self,
        now_ns: u64,
        work: &mut Work,
        deflater: &mut Option<Box<Deflater>>,
    ) {
        self.answer_due_ns = now_ns.saturating_add(self.script.delay_ns);
        self.fragments = 0;
        self.is_compressed = false;
        let Some(parameters) = self.deflate else { return };
        let deflater = deflater.get_or_insert_with(Box::default);
        if let Some(compressed) = deflater.message(&work.body, parameters) {
            let compressed = compressed.to_vec();
            work.body = compressed;
            self.is_compressed = true;
        }
    }

    /// Writes the next fragment of the answer. True when it was the last.
    pub(crate) fn write_fragment(&mut self, body: &[u8], out: &mut Vec<u8>) -> bool {
        let count = self.script.fragments;
        let piece_bytes = body.len().div_ceil(count as usize);
        let start = (piece_bytes * self.fragments as usize).min(body.len());
        let end = (start + piece_bytes).min(body.len());
        self.fragments += 1;
        let is_last = self.fragments == count;
        let what = Outgoing {
            kind: self.kind,
            payload: &body[start..end],
            is_compressed: self.is_compressed,
            is_last,
        };
        self.socket.send(&what, NO_KEY, out);
        if is_last {
            self.answers = self.answers.saturating_add(1);
            if self.script.close_after == Some(self.answers) {
                self.socket.close(Some(self.script.close_code), "", NO_KEY, out);
            }
        }
        is_last
    }

    /// Writes a message that nobody asked for, of letters, as binary.
    pub(crate) fn write_push(&mut self, out: &mut Vec<u8>) {
        let payload = vec![b'p'; self.script.push_bytes];
        self.socket.send(&Outgoing::whole(Kind::Binary, &payload), NO_KEY, out);
    }

    /// Writes a Close that says that the server stops.
    pub(crate) fn write_going_away(&mut self, out: &mut Vec<u8>) {
        self.socket.close(Some(CloseCode::GOING_AWAY), "", NO_KEY, out);
    }

    /// Whether an answer has begun and has fragments left.
    pub(crate) fn is_between_fragments(&self) -> bool {
        self.fragments > 0
    }

    /// Whether our Close was sent.
    pub(crate) fn is_closing(&self) -> bool {
        self.socket.is_closing()
    }
}
