//! Bytes that a server sends back as they are, on a connection that carries nothing else: a request
//! is some bytes, and its answer the same bytes again.
//!
//! ```text
//!   idle ── start ──▶ open ── the last byte is back ──▶ idle
//!                      └── another byte, or the end ──▶ Failure
//! ```
//!
//! One request is open at a time, because nothing but their number tells where an answer ends. An
//! answer that differs ends its connection: what follows on it could belong to any request.
//!
//! Over UDP a request is a datagram, and the next datagram that comes is its answer.
//!
//! Absent on purpose: a status, a head, and framing of any kind.

use std::sync::Arc;

use plimsoll_core::template::Template;

use crate::event::{ExchangeId, Failure, Progress, Response};
use crate::protocol::{Protocol, Wire};
use crate::request::{
    CompiledRequest, EncodeError, Encoding, Filling, Message, RequestBody, WrittenError,
};

/// What the connections of a run have in common.
#[derive(Debug, Clone)]
pub struct EchoSettings {
    /// What each request says, where none differs from another.
    pub fixed: Option<Arc<[u8]>>,
    /// Whether a request is a datagram, and what is received at once its answer.
    pub is_datagram: bool,
}

/// A connection whose server sends back what it gets.
#[derive(Debug)]
pub struct Echo {
    settings: EchoSettings,
    open: Option<ExchangeId>,
    /// What the open request says, where requests differ.
    filled: Vec<u8>,
    /// How many of its bytes are back.
    returned: usize,
    has_ended: bool,
}

/// One of the requests of a run: its body.
#[derive(Debug)]
pub struct EchoRequest {
    body: Template,
    fixed: Option<Arc<[u8]>>,
}

impl Encoding for EchoRequest {
    type Shared = ();

    fn of(request: CompiledRequest, (): &mut ()) -> Result<Self, EncodeError> {
        let RequestBody::Template(body) = request.body else {
            return Err(EncodeError::MessageNeedsHttp2);
        };
        let fixed = body.fixed().map(Arc::from);
        Ok(Self { body, fixed })
    }

    fn of_written(_bytes: &[u8]) -> Self {
        unreachable!("scripts write HTTP/1, and a plan with one speaks it")
    }

    fn fixed(&self) -> Option<&Arc<[u8]>> {
        self.fixed.as_ref()
    }

    fn bytes_max(&self) -> usize {
        self.body.bytes_max()
    }

    /// Nothing is held back.
    fn has_body(&self, _filling: &Filling<'_>) -> bool {
        false
    }

    fn write_text(&self, filling: &Filling<'_>, out: &mut Vec<u8>) -> usize {
        self.body.fill(filling.number, out);
        0
    }
}

impl Protocol for Echo {
    type Settings = EchoSettings;
    type Encoding = EchoRequest;

    const GATHERS: bool = false;

    fn name(&self) -> &'static str {
        "echo"
    }

    /// No TLS is spoken beneath it.
    fn is_agreed(alpn: Option<&[u8]>) -> bool {
        alpn.is_none()
    }

    fn new(settings: &EchoSettings) -> Self {
        Self {
            settings: settings.clone(),
            open: None,
            filled: Vec::new(),
            returned: 0,
            has_ended: false,
        }
    }

    fn exchanges_max(_settings: &EchoSettings) -> usize {
        1
    }

    fn begin(&mut self, _alpn: Option<&[u8]>, _out: &mut Vec<u8>) {
        self.has_ended = false;
    }

    fn is_greeted(&self) -> bool {
        true
    }

    #[inline]
    fn room(&self) -> usize {
        usize::from(!self.has_ended && self.open.is_none())
    }

    #[inline]
    fn is_spent(&self) -> bool {
        self.has_ended
    }

    #[inline]
    fn open_exchanges(&self) -> usize {
        usize::from(self.open.is_some())
    }

    #[inline]
    fn exchanges(&self) -> impl DoubleEndedIterator<Item = ExchangeId> {
        self.open.into_iter()
    }

    #[inline]
    fn start<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, EchoRequest>,
        out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError> {
        let Message::Compiled { encoding, payload, filling, .. } = *message else {
            unreachable!("scripts write HTTP/1, and a plan with one speaks it");
        };
        self.open = Some(exchange);
        self.returned = 0;
        Ok(match (encoding.fixed(), payload) {
            (Some(bytes), Some(payload)) => Wire::Registered(payload, bytes.len()),
            (Some(bytes), None) => Wire::Bytes(bytes),
            (None, _) => {
                self.filled.clear();
                encoding.body.fill(filling.number, &mut self.filled);
                out.extend_from_slice(&self.filled);
                Wire::Framed
            }
        })
    }

    #[inline]
    fn receive(
        &mut self,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        let Some(exchange) = self.open else { return Err(Failure::Unsolicited) };
        let sent = self.settings.fixed.as_deref().unwrap_or(&self.filled);
        let missing = &sent[self.returned..];
        if self.settings.is_datagram && bytes.len() < sent.len() {
            return Err(Failure::CutShort);
        }
        if self.settings.is_datagram && bytes.len() > sent.len() {
            return Err(Failure::NotEchoed);
        }
        let (answer, beyond) = bytes.split_at(bytes.len().min(missing.len()));
        if self.returned == 0 {
            progress(Progress::FirstByte(exchange));
            progress(Progress::Message(exchange));
        }
        if answer != &missing[..answer.len()] {
            return Err(Failure::NotEchoed);
        }
        progress(Progress::Body(exchange, answer));
        self.returned += answer.len();
        if self.returned == sent.len() {
            self.open = None;
            let body_bytes = self.returned as u64;
            // There is no status.
            progress(Progress::Complete(exchange, Response { status: 0, body_bytes }));
        }
        if beyond.is_empty() { Ok(()) } else { Err(Failure::Unsolicited) }
    }

    fn ended(&mut self, _progress: &mut impl FnMut(Progress<'_>)) -> Result<(), Failure> {
        self.has_ended = true;
        if self.open.is_none() { Ok(()) } else { Err(Failure::Closed) }
    }

    /// A late answer would be taken for that of the next request.
    fn cancel(&mut self, _exchange: ExchangeId, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Bytes can come back before the last ones are sent.
    fn survives_early_response(&self) -> bool {
        true
    }

    fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        self.open.take().into_iter()
    }
}

#[cfg(test)]
mod tests;
