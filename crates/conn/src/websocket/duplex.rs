//! A client's WebSocket whose messages answer nothing: either side sends when it likes. Scripts
//! have such sockets; a plain load has exchanges ([`WebSocket`](super::WebSocket)).
//!
//! ```text
//!   Closed ── prepare, open ──▶ Greeting ── 101 (Answer) ──▶ Open ── Message, Ping, Pong, Close
//!                                  └── another answer: Failure::Handshake, `declined` has it
//! ```
//!
//! What comes is kept until the caller [hears](Connection::hear) it. The caller stops reading where
//! that becomes much: one receive adds no more than its bytes stand for.
//!
//! Absent on purpose: the request of the handshake, which the caller writes, and messages in
//! several frames. Each goes out whole.

use std::collections::VecDeque;
use std::mem;

use plimsoll_proto::http1::{Limits as HeadLimits, RequestKind, ResponseDecoder, ResponseEvent};
use plimsoll_proto::websocket::handshake::{Agreed, HandshakeError, Offer};
use plimsoll_proto::websocket::{
    CloseCode, DeflateParameters, Deflater, Event, Kind, MaskKey, Outgoing, Socket,
};

use super::request::WebSocketRequest;
use super::socket;
use crate::connection::Connection;
use crate::event::{ExchangeId, Failure, PINGS_MAX, Progress};
use crate::protocol::{Protocol, Wire};
use crate::request::{Message, WrittenError};
use crate::setup::Scratch;

/// The most bytes that are kept of the body of an answer that opens no socket; as many as in k6.
const DECLINED_BYTES_MAX: usize = 1024;

/// What a socket is opened with.
#[derive(Debug, Clone, Default)]
pub struct Upgrade {
    /// The request, as HTTP/1.1: its head, with all of WebSocket's fields.
    pub head: Vec<u8>,
    /// The key in it, before it was encoded.
    pub nonce: [u8; 16],
    /// The subprotocols in it.
    pub subprotocols: Vec<String>,
    /// Whether it offers compression.
    pub offers_deflate: bool,
    /// What frames that answer the server's are masked with.
    pub key: MaskKey,
}

/// The answer to the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpgradeAnswer {
    /// Its status; 101 if the socket is open.
    pub status: u16,
    /// The first line and one line for each field.
    pub lines: Vec<u8>,
    /// The beginning of its body, where it opens no socket.
    pub body: Vec<u8>,
}

/// What came from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// The socket is open.
    Open(UpgradeAnswer),
    /// A message of text.
    Text(Vec<u8>),
    /// A message of bytes.
    Binary(Vec<u8>),
    /// A ping, which was answered.
    Ping,
    /// A pong with its payload.
    Pong(Vec<u8>),
    /// The server closes: it sends no more.
    Close {
        /// Why; 1005 if it does not say.
        code: u16,
        /// The reason in words; often empty.
        reason: String,
    },
}

/// What is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Say<'a> {
    /// A message of text, which is UTF-8.
    Text(&'a [u8]),
    /// A message of bytes.
    Binary(&'a [u8]),
    /// A ping with a payload of at most 125 bytes.
    Ping(&'a [u8]),
    /// A Close, the last that is sent. It has neither code nor reason if the code may not be sent.
    Close(u16, &'a str),
}

/// Compresses the messages of any number of sockets.
#[derive(Debug, Default)]
pub struct Compressor(Option<Deflater>);

/// See the head of this module.
#[derive(Debug)]
pub struct Duplex {
    upgrade: Upgrade,
    /// The answer that is coming in; `None` once the socket is open.
    opening: Option<Box<Opening>>,
    is_greeted: bool,
    socket: Socket,
    deflate: Option<DeflateParameters>,
    /// The message that is coming in.
    message: Vec<u8>,
    heard: VecDeque<Heard>,
    /// Pings that came since the kernel had taken all that was sent.
    pings: u32,
}

#[derive(Debug)]
struct Opening {
    decoder: ResponseDecoder,
    answer: UpgradeAnswer,
    /// What the head agrees to, or why it does not.
    outcome: Option<Result<Agreed, HandshakeError>>,
}

impl Opening {
    fn new() -> Self {
        let decoder = ResponseDecoder::new(HeadLimits::default());
        Self { decoder, answer: UpgradeAnswer::default(), outcome: None }
    }

    /// Gives what follows the answer, once that opens the socket.
    fn receive<'b>(
        &mut self,
        mut bytes: &'b [u8],
        offer: &Offer<'_>,
    ) -> Result<Option<(&'b [u8], Agreed)>, Failure> {
        while !bytes.is_empty() {
            let decoded = self.decoder.decode(RequestKind::Plain, bytes)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                Some(ResponseEvent::Head(head)) => {
                    self.answer.status = head.status;
                    self.answer.lines.clear();
                    self.answer.lines.extend_from_slice(head.head_bytes());
                    self.outcome = Some(offer.check(&head));
                }
                Some(ResponseEvent::Body(piece)) => {
                    let room = DECLINED_BYTES_MAX - self.answer.body.len();
                    self.answer.body.extend_from_slice(&piece[..piece.len().min(room)]);
                }
                Some(ResponseEvent::End(_)) => match self.outcome {
                    Some(Ok(agreed)) => return Ok(Some((bytes, agreed))),
                    Some(Err(error)) => return Err(error.into()),
                    None => {}
                },
                _ => {}
            }
            if let Some(Err(error)) = self.outcome
                && self.answer.body.len() == DECLINED_BYTES_MAX
            {
                return Err(error.into());
            }
        }
        Ok(None)
    }
}

impl Duplex {
    fn read(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        loop {
            let decoded = self.socket.receive(bytes, self.upgrade.key, out)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                None => return Ok(()),
                Some(Event::Begin(_)) => self.message.clear(),
                Some(Event::Data(piece)) => self.message.extend_from_slice(piece),
                Some(Event::End(message)) => {
                    let bytes = mem::take(&mut self.message);
                    self.heard.push_back(match message.kind {
                        Kind::Text => Heard::Text(bytes),
                        Kind::Binary => Heard::Binary(bytes),
                    });
                }
                Some(Event::Ping(_)) => {
                    self.heard.push_back(Heard::Ping);
                    self.pings += 1;
                    if self.pings > PINGS_MAX {
                        return Err(Failure::PingFlood);
                    }
                }
                Some(Event::Pong(payload)) => self.heard.push_back(Heard::Pong(payload.to_vec())),
                Some(Event::Close(close)) => {
                    let (code, reason) = (close.code.number(), close.reason.to_owned());
                    self.heard.push_back(Heard::Close { code, reason });
                    return Ok(());
                }
            }
        }
    }
}

impl Connection<Duplex> {
    /// Says what the next opening sends. To be called before [`open`](Self::open).
    pub fn prepare(&mut self, upgrade: Upgrade) {
        self.protocol_mut().upgrade = upgrade;
    }

    /// The next of what has come.
    pub fn hear(&mut self) -> Option<Heard> {
        self.protocol_mut().heard.pop_front()
    }

    /// The answer that has opened no socket, as far as it has come. It is taken.
    pub fn declined(&mut self) -> Option<UpgradeAnswer> {
        let opening = *self.protocol_mut().opening.take()?;
        opening.outcome.map(|_| opening.answer)
    }

    /// Whether a Close was sent.
    pub fn is_closing(&mut self) -> bool {
        self.protocol_mut().socket.is_closing()
    }

    /// Sends something, masked with `key`; it stands in `scratch`, and [`flush`](Self::flush) sends
    /// it. The socket has to be open. `false`, and nothing is sent, once a Close was.
    pub fn say(
        &mut self,
        what: Say<'_>,
        key: MaskKey,
        compressor: &mut Compressor,
        scratch: &mut Scratch,
    ) -> bool {
        let Duplex { socket, deflate, .. } = self.protocol_mut();
        let out = &mut scratch.frames;
        let (kind, payload) = match what {
            Say::Text(payload) => (Kind::Text, payload),
            Say::Binary(payload) => (Kind::Binary, payload),
            Say::Ping(payload) => return socket.ping(payload, key, out),
            Say::Close(code, reason) => {
                return socket.close(CloseCode::new(code), reason, key, out);
            }
        };
        if let Some(parameters) = *deflate {
            let deflater = compressor.0.get_or_insert_with(Deflater::new);
            if let Some(compressed) = deflater.message(payload, parameters) {
                let whole = Outgoing { is_compressed: true, ..Outgoing::whole(kind, compressed) };
                return socket.send(&whole, key, out);
            }
        }
        socket.send(&Outgoing::whole(kind, payload), key, out)
    }
}

/// There are no exchanges: all that concerns them has nothing to do.
impl Protocol for Duplex {
    type Settings = ();
    type Encoding = WebSocketRequest;

    const GATHERS: bool = true;
    const ENDS_WHEN_TAKEN: bool = true;

    fn name(&self) -> &'static str {
        "websocket"
    }

    fn is_agreed(alpn: Option<&[u8]>) -> bool {
        alpn != Some(b"h2")
    }

    fn new((): &()) -> Self {
        Self {
            upgrade: Upgrade::default(),
            opening: None,
            is_greeted: false,
            socket: socket(None),
            deflate: None,
            message: Vec::new(),
            heard: VecDeque::new(),
            pings: 0,
        }
    }

    fn exchanges_max((): &()) -> usize {
        0
    }

    fn begin(&mut self, _alpn: Option<&[u8]>, out: &mut Vec<u8>) {
        out.extend_from_slice(&mem::take(&mut self.upgrade.head));
        self.opening = Some(Box::new(Opening::new()));
        self.is_greeted = false;
        (self.socket, self.deflate) = (socket(None), None);
        self.heard.clear();
        self.pings = 0;
    }

    fn is_greeted(&self) -> bool {
        self.is_greeted
    }

    fn room(&self) -> usize {
        0
    }

    /// Never: the caller hears of the server's Close.
    fn is_spent(&self) -> bool {
        false
    }

    fn has_said_goodbye(&self) -> bool {
        self.socket.is_closing()
    }

    fn open_exchanges(&self) -> usize {
        0
    }

    fn exchanges(&self) -> impl DoubleEndedIterator<Item = ExchangeId> {
        std::iter::empty()
    }

    fn start<'m>(
        &mut self,
        _exchange: ExchangeId,
        _message: &Message<'m, WebSocketRequest>,
        _out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError> {
        unreachable!("there is never room for an exchange")
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        _progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        let Some(opening) = &mut self.opening else {
            return self.read(bytes, out);
        };
        let Upgrade { nonce, subprotocols, offers_deflate, .. } = &self.upgrade;
        let subprotocols: Vec<&str> = subprotocols.iter().map(String::as_str).collect();
        let offer = Offer { nonce: *nonce, subprotocols: &subprotocols, deflate: *offers_deflate };
        let Some((rest, agreed)) = opening.receive(bytes, &offer)? else { return Ok(()) };
        let answer = mem::take(&mut opening.answer);
        self.opening = None;
        self.is_greeted = true;
        (self.socket, self.deflate) = (socket(agreed.deflate), agreed.deflate);
        self.heard.push_back(Heard::Open(answer));
        self.read(rest, out)
    }

    fn taken(&mut self, _progress: &mut impl FnMut(Progress<'_>)) {
        self.pings = 0;
    }

    fn ended(&mut self, _progress: &mut impl FnMut(Progress<'_>)) -> Result<(), Failure> {
        self.socket.end().map_err(|_| Failure::Closed)
    }

    fn cancel(&mut self, _exchange: ExchangeId, _out: &mut Vec<u8>) -> bool {
        false
    }

    fn survives_early_response(&self) -> bool {
        true
    }

    fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        std::iter::empty()
    }
}

#[cfg(test)]
mod tests;
