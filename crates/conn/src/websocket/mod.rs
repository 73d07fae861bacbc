//! A client's WebSocket on a connection: a request is a message, and its answer is a message too.
//!
//! ```text
//!   Closed ── begin ──▶ Opening ── the checked 101 ──▶ Open ── the server's Close, or a fault ──▶
//!                       (greeting)                     messages, in order                 Failure
//! ```
//!
//! Nothing in a message says which other it answers. So the plan says it: the next one that comes,
//! the next that an expression matches, or none. What answers nothing was pushed, and is told of as
//! such. Messages have no status.
//!
//! Where the plan offers compression and the server agrees, each message goes out compressed,
//! without those before it. So those that never vary were compressed before the run, and the
//! connections of a worker share a compressor for the others.
//!
//! Absent on purpose: frames of several. Each message goes out whole.

mod duplex;
mod opening;
mod request;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use plimsoll_core::compression::Sizes;
use plimsoll_core::random::Stream;
use plimsoll_proto::websocket::{
    CloseCode, DeflateParameters, Deflater, Event, Kind, Limits, MaskKey, Options, Outgoing, Role,
    Socket, handshake::Offer,
};
use regex::bytes::Regex;

use crate::event::{ExchangeId, Failure, PINGS_MAX, PeerClose, Progress, Response};
use crate::protocol::{Protocol, Wire};
use crate::request::{Message, WrittenError};
use opening::Opening;

pub use duplex::{Compressor, Duplex, Heard, Say, Upgrade, UpgradeAnswer};
pub use request::{Handshake, WebSocketRequest};

/// Expressions look at this many bytes of a message.
const MATCHED_BYTES_MAX: usize = 1 << 20;
/// Memory for them that is kept for the next message.
const KEPT_BYTES: usize = 16 << 10;

/// A message of the server's is this long at most, decompressed.
const LIMITS: Limits = Limits { message_bytes: 64 << 20 };

/// What answers a message that was sent.
#[derive(Debug, Clone)]
pub enum Replies {
    /// The next message that comes.
    Next,
    /// The next that this matches; of a longer one it sees the first MiB.
    Matching(Regex),
    /// None: it is complete when the kernel has taken it.
    None,
}

/// What the WebSocket connections of a worker have in common.
#[derive(Debug, Clone)]
pub struct WebSocketSettings {
    /// What each of them begins with.
    pub handshake: Handshake,
    /// The subprotocol that is asked for.
    pub subprotocol: Option<String>,
    /// Whether messages are text or binary.
    pub kind: Kind,
    /// What answers them.
    pub replies: Replies,
    /// How many may be in flight on a connection at a time.
    pub in_flight: usize,
    /// What compresses them; `None`: compression is not offered.
    pub deflater: Option<Rc<RefCell<Deflater>>>,
    /// What the nonces of the handshakes are drawn from.
    pub nonces: Stream,
    /// What the keys of messages are drawn from, by their number in the run.
    pub keys: Stream,
    /// How many connections have been begun: the number of the next one's nonce.
    pub begun: Arc<AtomicU32>,
}

/// A WebSocket, and the messages open on it.
#[derive(Debug)]
pub struct WebSocket {
    settings: WebSocketSettings,
    /// The handshake under way.
    opening: Option<Box<Opening>>,
    is_greeted: bool,
    socket: Socket,
    /// This side has sent its Close first, and waits for the server's.
    is_parting: bool,
    /// What was agreed on compression; `None` without it.
    deflate: Option<DeflateParameters>,
    /// How long the message was that was sent last, if it was compressed.
    compressed: Option<Sizes>,
    /// Messages that were sent and are not answered yet.
    open: VecDeque<ExchangeId>,
    reading: Reading,
    /// What frames that belong to no message are masked with.
    own_key: MaskKey,
    /// The message that is being sent, where it is filled in.
    filled: Vec<u8>,
    /// Pings that came since the kernel had taken all that was sent.
    pings: u32,
}

/// The message that is coming in.
#[derive(Debug, Default)]
struct Reading {
    /// The oldest open message when it began.
    oldest: Option<ExchangeId>,
    /// Its beginning, where an expression has to match it.
    kept: Vec<u8>,
}

impl Reading {
    #[inline]
    fn begin(
        &mut self,
        oldest: Option<ExchangeId>,
        replies: &Replies,
        progress: &mut impl FnMut(Progress<'_>),
    ) {
        self.oldest = oldest.filter(|_| !matches!(replies, Replies::None));
        self.kept.clear();
        let Some(id) = self.oldest else { return };
        progress(Progress::FirstByte(id));
        if let Replies::Next = replies {
            progress(Progress::Message(id));
        }
    }

    #[inline]
    fn piece(&mut self, piece: &[u8], replies: &Replies, progress: &mut impl FnMut(Progress<'_>)) {
        let Some(id) = self.oldest else { return };
        if let Replies::Matching(_) = replies {
            // One byte more tells those who look at the body that it goes on.
            let room = MATCHED_BYTES_MAX + 1 - self.kept.len();
            self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
        } else {
            progress(Progress::Body(id, piece));
        }
    }

    /// The message is whole; says which one it answers.
    #[inline]
    fn end(
        &mut self,
        body_bytes: u64,
        replies: &Replies,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Option<ExchangeId> {
        let answered = match replies {
            Replies::Matching(expression) => {
                let seen = &self.kept[..self.kept.len().min(MATCHED_BYTES_MAX)];
                self.oldest.filter(|_| expression.is_match(seen))
            }
            Replies::Next | Replies::None => self.oldest,
        };
        match answered {
            Some(id) => {
                if let Replies::Matching(_) = replies {
                    progress(Progress::Message(id));
                    progress(Progress::Body(id, &self.kept));
                }
                // Messages have no status.
                progress(Progress::Complete(id, Response { status: 0, body_bytes }));
            }
            None => progress(Progress::Pushed { bytes: body_bytes, beside: self.oldest }),
        }
        self.oldest = None;
        self.kept.clear();
        self.kept.shrink_to(KEPT_BYTES);
        answered
    }
}

impl WebSocket {
    /// What follows the handshake, with what was agreed on compression.
    fn open_socket(&mut self, deflate: Option<DeflateParameters>) {
        self.deflate = deflate;
        self.socket = socket(deflate);
    }

    /// Whether a message is complete when the kernel has taken it.
    fn awaits_none(&self) -> bool {
        matches!(self.settings.replies, Replies::None)
    }

    /// Reads what follows the handshake.
    #[inline]
    fn read(
        &mut self,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        let Self { settings, socket, open, reading, own_key, pings, is_parting, .. } = self;
        let replies = &settings.replies;
        loop {
            let decoded = socket.receive(bytes, *own_key, out)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                None => return Ok(()),
                Some(Event::Begin(_)) => reading.begin(open.front().copied(), replies, progress),
                Some(Event::Data(piece)) => reading.piece(piece, replies, progress),
                Some(Event::End(message)) => {
                    if message.is_compressed {
                        let (bytes, compressed_bytes) = (message.bytes, message.payload_bytes);
                        progress(Progress::Decompressed(Sizes { bytes, compressed_bytes }));
                    }
                    if reading.end(message.bytes, replies, progress).is_some() {
                        open.pop_front();
                    }
                }
                Some(Event::Ping(_)) => {
                    progress(Progress::Ping);
                    *pings += 1;
                    if *pings > PINGS_MAX {
                        return Err(Failure::PingFlood);
                    }
                }
                Some(Event::Pong(_)) => {}
                Some(Event::Close(_)) if *is_parting => return Ok(()),
                Some(Event::Close(close)) => return Err(PeerClose::of(close).into()),
            }
        }
    }
}

impl Protocol for WebSocket {
    type Settings = WebSocketSettings;
    type Encoding = WebSocketRequest;

    const GATHERS: bool = true;
    const ENDS_WHEN_TAKEN: bool = true;

    fn name(&self) -> &'static str {
        "websocket"
    }

    /// The handshake is HTTP/1.1, which servers without ALPN speak.
    fn is_agreed(alpn: Option<&[u8]>) -> bool {
        alpn != Some(b"h2")
    }

    fn new(settings: &WebSocketSettings) -> Self {
        Self {
            settings: settings.clone(),
            opening: None,
            is_greeted: false,
            socket: socket(None),
            is_parting: false,
            deflate: None,
            compressed: None,
            open: VecDeque::with_capacity(settings.in_flight),
            reading: Reading::default(),
            pings: 0,
            own_key: MaskKey::default(),
            filled: Vec::new(),
        }
    }

    fn exchanges_max(settings: &WebSocketSettings) -> usize {
        settings.in_flight
    }

    fn begin(&mut self, _alpn: Option<&[u8]>, out: &mut Vec<u8>) {
        let WebSocketSettings { handshake, subprotocol, nonces, begun, deflater, .. } =
            &self.settings;
        let number = u64::from(begun.fetch_add(1, Ordering::Relaxed));
        let [first, second] = [2 * number, 2 * number + 1].map(|place| nonces.word(place));
        let nonce = (u128::from(first) << 64 | u128::from(second)).to_be_bytes();
        self.own_key = key(first ^ second);
        let subprotocols = subprotocol.as_deref();
        let deflate = deflater.is_some();
        let offer = Offer { nonce, subprotocols: subprotocols.as_slice(), deflate };
        handshake.write(&offer, out);
        self.opening = Some(Box::new(Opening::new(nonce, subprotocol.clone(), deflate)));
        self.is_greeted = false;
        self.is_parting = false;
        self.pings = 0;
        self.open_socket(None);
        self.reading.oldest = None;
    }

    fn is_greeted(&self) -> bool {
        self.is_greeted
    }

    fn is_compressed(&self) -> Option<bool> {
        self.settings.deflater.as_ref().map(|_| self.deflate.is_some())
    }

    #[inline]
    fn room(&self) -> usize {
        if self.socket.is_closing() {
            return 0;
        }
        self.settings.in_flight.saturating_sub(self.open.len())
    }

    #[inline]
    fn is_spent(&self) -> bool {
        self.socket.is_closing()
    }

    fn has_said_goodbye(&self) -> bool {
        self.socket.is_closing()
    }

    #[inline]
    fn open_exchanges(&self) -> usize {
        self.open.len()
    }

    #[inline]
    fn exchanges(&self) -> impl DoubleEndedIterator<Item = ExchangeId> {
        self.open.iter().copied()
    }

    #[inline]
    fn start<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, WebSocketRequest>,
        out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError> {
        let Message::Compiled { encoding, filling, .. } = message else {
            unreachable!("scripts write HTTP/1, and a plan with one speaks it");
        };
        let WebSocketSettings { kind, keys, deflater, .. } = &self.settings;
        let (kind, key) = (*kind, key(keys.word(filling.number)));
        let payload = encoding.payload(filling.number, &mut self.filled);
        self.open.push_back(exchange);
        self.compressed = None;
        if let (Some(parameters), Some(deflater)) = (self.deflate, deflater) {
            let deflater = &mut *deflater.borrow_mut();
            if let Some(compressed) = encoding.compressed(payload, parameters, deflater) {
                let (bytes, compressed_bytes) = (payload.len() as u64, compressed.len() as u64);
                self.compressed = Some(Sizes { bytes, compressed_bytes });
                let whole = Outgoing { is_compressed: true, ..Outgoing::whole(kind, compressed) };
                self.socket.send(&whole, key, out);
                return Ok(Wire::Framed);
            }
        }
        self.socket.send(&Outgoing::whole(kind, payload), key, out);
        Ok(Wire::Framed)
    }

    #[inline]
    fn compressed(&self) -> Option<Sizes> {
        self.compressed
    }

    #[inline]
    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        let Some(opening) = &mut self.opening else {
            return self.read(bytes, out, progress);
        };
        let Some((rest, agreed)) = opening.receive(bytes)? else { return Ok(()) };
        self.opening = None;
        self.is_greeted = true;
        self.open_socket(agreed.deflate);
        self.read(rest, out, progress)
    }

    fn taken(&mut self, progress: &mut impl FnMut(Progress<'_>)) {
        self.pings = 0;
        if self.awaits_none() {
            for id in self.open.drain(..) {
                progress(Progress::FirstByte(id));
                progress(Progress::Complete(id, Response { status: 0, body_bytes: 0 }));
            }
        }
    }

    fn ended(&mut self, _progress: &mut impl FnMut(Progress<'_>)) -> Result<(), Failure> {
        match self.socket.end() {
            Ok(()) if self.is_parting => Ok(()),
            Err(error) if !self.socket.is_idle() => Err(error.into()),
            // Messages that await no reply may be lost.
            _ if self.open.is_empty() && !self.awaits_none() => Ok(()),
            _ => Err(Failure::Closed),
        }
    }

    /// Frames are read in their order, so a server that answers a Close has read what came before
    /// it. A reply tells as much of the messages that await one.
    fn part(&mut self, out: &mut Vec<u8>) -> bool {
        self.is_parting = self.awaits_none()
            && self.is_greeted
            && self.socket.close(Some(CloseCode::NORMAL), "", self.own_key, out);
        self.is_parting
    }

    fn has_parted(&self) -> bool {
        self.is_parting && self.socket.is_closed()
    }

    /// A late reply would be taken for that of the next message.
    fn cancel(&mut self, _exchange: ExchangeId, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// A message leaves whole, whatever comes.
    fn survives_early_response(&self) -> bool {
        true
    }

    fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        self.open.drain(..)
    }
}

fn socket(deflate: Option<DeflateParameters>) -> Socket {
    Socket::new(Options { role: Role::Client, limits: LIMITS, deflate })
}

#[inline]
fn key(word: u64) -> MaskKey {
    ((word >> 32) as u32).to_be_bytes()
}

#[cfg(test)]
mod tests;
