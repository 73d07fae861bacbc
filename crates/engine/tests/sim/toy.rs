//! A multiplexed protocol that exists for these tests alone: several requests at a time on a
//! connection, answered in any order, refused, reset or given up one by one. It shows that the
//! engine needs no more than the seam between connection and protocol.
//!
//! A frame is a kind (one byte), a stream and a length (four bytes each, big-endian), and as many
//! bytes.

use std::sync::Arc;

use plimsoll_conn::{
    CompiledRequest, EncodeError, Encoding, ExchangeId, Failure, Filling, Head, Message, Progress,
    Protocol, REFUSED, RequestBody, Response, Wire, WrittenError,
};
use plimsoll_core::template::Template;

pub(crate) const HEADER_BYTES: usize = 9;

/// Kinds of frames, and what stands in their stream field if it is not the stream.
pub(crate) mod kind {
    /// The server's first: how many streams it allows; and as its payload, if there is any, how
    /// many bytes of each body.
    pub(crate) const HELLO: u8 = 1;
    /// The same, later.
    pub(crate) const LIMIT: u8 = 2;
    pub(crate) const REQUEST: u8 = 3;
    /// Begins an answer: the status, and lines of fields.
    pub(crate) const HEAD: u8 = 4;
    pub(crate) const DATA: u8 = 5;
    pub(crate) const END: u8 = 6;
    /// The server did not process the request.
    pub(crate) const REFUSE: u8 = 7;
    /// Either side gives a stream up.
    pub(crate) const RESET: u8 = 8;
    /// The server takes no stream after this one.
    pub(crate) const GOODBYE: u8 = 9;
    /// To be sent back as `PONG`.
    pub(crate) const PING: u8 = 10;
    pub(crate) const PONG: u8 = 11;
    /// The server wants the body that was held back.
    pub(crate) const CONTINUE: u8 = 12;
    /// How many more bytes of a body the server has room for, in four bytes.
    pub(crate) const WINDOW: u8 = 13;
}

pub(crate) fn write_frame(out: &mut Vec<u8>, kind: u8, stream: u32, payload: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    out.extend_from_slice(payload);
}

/// The number of bytes that a payload says.
fn bytes_of(payload: &[u8]) -> Option<usize> {
    Some(u32::from_be_bytes(payload.try_into().ok()?) as usize)
}

/// A whole frame at the start of `bytes`: its kind, stream and payload.
pub(crate) fn frame(bytes: &[u8]) -> Option<(u8, u32, &[u8])> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (stream, len) = (number(1)?, number(5)?);
    let payload = bytes.get(HEADER_BYTES..HEADER_BYTES + len as usize)?;
    Some((bytes[0], stream, payload))
}

/// A request: its path in one frame, its body, if any, in another.
#[derive(Debug)]
pub(crate) struct ToyRequest {
    path: Template,
    body: Template,
}

impl Encoding for ToyRequest {
    type Shared = ();

    fn of(request: CompiledRequest, _shared: &mut ()) -> Result<Self, EncodeError> {
        let RequestBody::Template(body) = request.body else {
            return Err(EncodeError::MessageNeedsHttp2);
        };
        Ok(Self { path: request.path, body })
    }

    fn of_written(bytes: &[u8]) -> Self {
        let mut path = Template::default();
        path.push_bytes(bytes);
        Self { path, body: Template::default() }
    }

    /// The number of its stream tells each from the others.
    fn fixed(&self) -> Option<&Arc<[u8]>> {
        None
    }

    fn bytes_max(&self) -> usize {
        2 * HEADER_BYTES + self.path.bytes_max() + self.body.bytes_max()
    }

    fn has_body(&self, filling: &Filling<'_>) -> bool {
        self.body.bytes(filling.number) > 0
    }

    fn write_text(&self, filling: &Filling<'_>, out: &mut Vec<u8>) -> usize {
        self.path.fill(filling.number, out);
        out.extend_from_slice(b"\n");
        let head_bytes = self.path.bytes(filling.number) + 1;
        self.body.fill(filling.number, out);
        head_bytes
    }
}

#[derive(Debug)]
struct Open {
    stream: u32,
    exchange: ExchangeId,
    response: Response,
    /// How many bytes of the body the server has room for.
    window: usize,
    /// What of the body it has no room for.
    rest: Vec<u8>,
}

impl Open {
    /// Sends what of the body the server has room for. A first piece goes in any case, so that the
    /// server knows that there is a body.
    fn send_body(&mut self, out: &mut Vec<u8>) {
        let piece: Vec<u8> = self.rest.drain(..self.window.min(self.rest.len())).collect();
        self.window -= piece.len();
        write_frame(out, kind::DATA, self.stream, &piece);
    }
}

/// The client's side.
#[derive(Debug)]
pub(crate) struct Toy {
    received: Vec<u8>,
    open: Vec<Open>,
    next_stream: u32,
    /// What the client wants, and what the server allows once it has said so.
    wanted: usize,
    allowed: Option<usize>,
    /// How many bytes of each body the server has room for at first.
    window: usize,
    is_spent: bool,
}

impl Toy {
    fn take(&mut self, at: usize) -> ExchangeId {
        self.open.remove(at).exchange
    }

    /// Carries out one frame of the server's.
    fn obey(
        &mut self,
        (kind, stream, payload): (u8, u32, &[u8]),
        out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        match kind {
            kind::HELLO => {
                self.allowed = Some(stream as usize);
                self.window = bytes_of(payload).unwrap_or(usize::MAX);
            }
            kind::WINDOW => self.widen(stream, bytes_of(payload).unwrap_or(0), out, progress),
            kind::LIMIT => {
                let before = self.allowed.replace(stream as usize);
                if before < self.allowed {
                    progress(Progress::Room);
                }
            }
            kind::PING => write_frame(out, kind::PONG, stream, payload),
            kind::GOODBYE => {
                self.is_spent = true;
                while let Some(at) = self.open.iter().position(|open| open.stream > stream) {
                    progress(Progress::Refused(self.take(at), REFUSED));
                }
            }
            kind::HEAD | kind::DATA | kind::END | kind::REFUSE | kind::RESET | kind::CONTINUE => {
                // What was given up may still be answered.
                if let Some(at) = self.open.iter().position(|open| open.stream == stream) {
                    self.answer(at, kind, payload, progress);
                }
            }
            _ => return Err(Failure::Unsolicited),
        }
        Ok(())
    }

    /// The server has room for more bytes of a body.
    fn widen(
        &mut self,
        stream: u32,
        bytes: usize,
        out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) {
        let Some(open) = self.open.iter_mut().find(|open| open.stream == stream) else { return };
        open.window = open.window.saturating_add(bytes);
        if !open.rest.is_empty() {
            open.send_body(out);
            if open.rest.is_empty() {
                let (exchange, waiting_bytes) = (open.exchange, out.len());
                progress(Progress::Resumed { exchange, waiting_bytes });
            }
        }
    }

    fn answer(
        &mut self,
        at: usize,
        kind: u8,
        payload: &[u8],
        progress: &mut impl FnMut(Progress<'_>),
    ) {
        let open = &mut self.open[at];
        match kind {
            kind::HEAD => {
                open.response.status = u16::from_be_bytes([payload[0], payload[1]]);
                progress(Progress::FirstByte(open.exchange));
                let head = Head::new(open.response.status, &payload[2..]);
                progress(Progress::Head(open.exchange, &head));
            }
            kind::CONTINUE => {
                progress(Progress::FirstByte(open.exchange));
                progress(Progress::Interim(open.exchange, 100));
            }
            kind::DATA => {
                open.response.body_bytes += payload.len() as u64;
                progress(Progress::Body(open.exchange, payload));
            }
            kind::END => {
                let response = open.response;
                progress(Progress::Complete(self.take(at), response));
            }
            kind::REFUSE => progress(Progress::Refused(self.take(at), REFUSED)),
            _ => progress(Progress::Reset(self.take(at), "reset")),
        }
    }
}

impl Protocol for Toy {
    /// How many streams the client wants at a time.
    type Settings = usize;
    type Encoding = ToyRequest;

    const GATHERS: bool = true;

    fn new(settings: &usize) -> Self {
        Self {
            received: Vec::new(),
            open: Vec::new(),
            next_stream: 1,
            wanted: *settings,
            allowed: None,
            window: usize::MAX,
            is_spent: false,
        }
    }

    fn name(&self) -> &'static str {
        "toy"
    }

    fn is_agreed(_alpn: Option<&[u8]>) -> bool {
        true
    }

    fn exchanges_max(settings: &usize) -> usize {
        *settings
    }

    fn begin(&mut self, _alpn: Option<&[u8]>, out: &mut Vec<u8>) {
        *self = Self::new(&self.wanted);
        write_frame(out, kind::HELLO, 0, b"");
    }

    fn is_greeted(&self) -> bool {
        self.allowed.is_some()
    }

    fn room(&self) -> usize {
        let most = self.allowed.unwrap_or(0).min(self.wanted);
        if self.is_spent { 0 } else { most.saturating_sub(self.open.len()) }
    }

    fn is_spent(&self) -> bool {
        self.is_spent
    }

    fn open_exchanges(&self) -> usize {
        self.open.len()
    }

    fn exchanges(&self) -> impl DoubleEndedIterator<Item = ExchangeId> {
        self.open.iter().map(|open| open.exchange)
    }

    fn start<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, ToyRequest>,
        out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError> {
        let stream = self.next_stream;
        self.next_stream += 1;
        let response = Response { status: 0, body_bytes: 0 };
        self.open.push(Open { stream, exchange, response, window: self.window, rest: Vec::new() });
        let mut path = Vec::new();
        let mut withholds = false;
        match message {
            Message::Written { bytes, .. } => path.extend_from_slice(bytes),
            Message::Streamed { .. } => return Err(WrittenError::Streamed),
            Message::Compiled { encoding, filling, withholds_body, .. } => {
                encoding.path.fill(filling.number, &mut path);
                withholds = *withholds_body;
            }
        }
        write_frame(out, kind::REQUEST, stream, &path);
        if !withholds {
            self.send_rest(exchange, message, out);
        }
        Ok(Wire::Framed)
    }

    fn send_rest<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, ToyRequest>,
        out: &mut Vec<u8>,
    ) -> Wire<'m> {
        let open = self.open.iter_mut().find(|open| open.exchange == exchange);
        if let Some(open) = open
            && let Message::Compiled { encoding, filling, .. } = message
            && encoding.has_body(filling)
        {
            encoding.body.fill(filling.number, &mut open.rest);
            open.send_body(out);
        }
        Wire::Framed
    }

    fn is_held_back(&self, exchange: ExchangeId) -> bool {
        self.open.iter().any(|open| open.exchange == exchange && !open.rest.is_empty())
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        let mut received = std::mem::take(&mut self.received);
        received.extend_from_slice(bytes);
        let mut at = 0;
        while let Some((kind, stream, payload)) = frame(&received[at..]) {
            at += HEADER_BYTES + payload.len();
            self.obey((kind, stream, payload), out, progress)?;
        }
        received.drain(..at);
        self.received = received;
        Ok(())
    }

    fn ended(&mut self, _progress: &mut impl FnMut(Progress<'_>)) -> Result<(), Failure> {
        self.is_spent = true;
        if self.open.is_empty() { Ok(()) } else { Err(Failure::Closed) }
    }

    fn cancel(&mut self, exchange: ExchangeId, out: &mut Vec<u8>) -> bool {
        if let Some(at) = self.open.iter().position(|open| open.exchange == exchange) {
            write_frame(out, kind::RESET, self.open[at].stream, b"");
            self.open.remove(at);
        }
        true
    }

    fn survives_early_response(&self) -> bool {
        true
    }

    fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        self.open.drain(..).map(|open| open.exchange)
    }
}
