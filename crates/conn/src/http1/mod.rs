//! A client's HTTP/1 on a connection: responses are matched with requests in the order of sending.
//!
//! Absent on purpose: sockets and TLS. Bytes come in, and what they meant goes out.

mod request;

use std::collections::VecDeque;

use plimsoll_proto::http1::{
    BodyLength, Limits, RequestKind, ResponseDecoder, ResponseEvent, ends_connection,
};

use crate::event::{ExchangeId, Failure, Head, Progress, Response};
use crate::protocol::{Protocol, Wire};
use crate::request::{Encoding, Message, WrittenError};

pub use request::Http1Request;

/// What the HTTP/1 connections of a run have in common.
#[derive(Debug, Clone)]
pub struct Http1Settings {
    /// How many requests may be open on a connection at a time.
    pub pipeline: usize,
    /// How long the parts of a response may be.
    pub limits: Limits,
    /// Whether requests go on on a connection on which one has said that it ends, until the server
    /// closes it, as some testers do. RFC 9112 section 9.6 forbids that.
    pub outlives_close: bool,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    exchange: ExchangeId,
    kind: RequestKind,
}

/// The response being read.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    begun: bool,
    status: u16,
    body_bytes: u64,
    /// Whether only the end of the connection ends it.
    until_close: bool,
}

/// The open requests of a connection, and the response to the oldest of them.
#[derive(Debug)]
pub struct Http1 {
    decoder: ResponseDecoder,
    sent: VecDeque<Sent>,
    reading: Reading,
    pipeline: usize,
    outlives_close: bool,
    /// A request has said that the connection ends with its response.
    is_ending: bool,
    /// The last response said that there will be no other, or a request did that was the last.
    is_spent: bool,
}

impl Http1 {
    #[inline]
    fn complete(&mut self, keep_alive: bool, progress: &mut impl FnMut(Progress<'_>)) {
        let reading = std::mem::take(&mut self.reading);
        let answered = self.sent.pop_front();
        self.is_spent |= !keep_alive || (self.is_ending && self.sent.is_empty());
        if let Some(sent) = answered {
            let response = Response { status: reading.status, body_bytes: reading.body_bytes };
            progress(Progress::Complete(sent.exchange, response));
        }
    }
}

impl Protocol for Http1 {
    type Settings = Http1Settings;
    type Encoding = Http1Request;

    const GATHERS: bool = false;

    fn new(settings: &Http1Settings) -> Self {
        Self {
            decoder: ResponseDecoder::new(settings.limits),
            sent: VecDeque::with_capacity(settings.pipeline),
            reading: Reading::default(),
            pipeline: settings.pipeline,
            outlives_close: settings.outlives_close,
            is_ending: false,
            is_spent: false,
        }
    }

    fn name(&self) -> &'static str {
        "http/1.1"
    }

    /// Servers without ALPN speak it.
    fn is_agreed(alpn: Option<&[u8]>) -> bool {
        alpn != Some(b"h2")
    }

    fn exchanges_max(settings: &Http1Settings) -> usize {
        settings.pipeline
    }

    fn begin(&mut self, _alpn: Option<&[u8]>, _out: &mut Vec<u8>) {
        self.decoder.reset();
        self.reading = Reading::default();
        self.is_ending = false;
        self.is_spent = false;
    }

    fn is_greeted(&self) -> bool {
        true
    }

    #[inline]
    fn room(&self) -> usize {
        let is_over = self.is_spent || self.is_ending;
        if is_over { 0 } else { self.pipeline.saturating_sub(self.sent.len()) }
    }

    #[inline]
    fn is_spent(&self) -> bool {
        self.is_spent
    }

    #[inline]
    fn open_exchanges(&self) -> usize {
        self.sent.len()
    }

    #[inline]
    fn exchanges(&self) -> impl DoubleEndedIterator<Item = ExchangeId> {
        self.sent.iter().map(|sent| sent.exchange)
    }

    #[inline]
    fn start<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, Http1Request>,
        out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError> {
        let (kind, wire) = match *message {
            Message::Written { bytes, is_head } => {
                let kind = if is_head { RequestKind::Head } else { RequestKind::Plain };
                self.is_ending |= !self.outlives_close && ends_connection(bytes);
                (kind, Wire::Bytes(bytes))
            }
            Message::Streamed { .. } => return Err(WrittenError::Streamed),
            Message::Compiled { encoding, payload, filling, withholds_body } => {
                self.is_ending |= encoding.ends_connection() && !self.outlives_close;
                let wire = match (encoding.fixed(), payload) {
                    (Some(bytes), _) if withholds_body && filling.hop.is_none() => {
                        Wire::Bytes(&bytes[..encoding.fixed_head_bytes()])
                    }
                    (Some(bytes), Some(payload)) if filling.hop.is_none() => {
                        Wire::Registered(payload, bytes.len())
                    }
                    (Some(bytes), None) if filling.hop.is_none() => Wire::Bytes(bytes),
                    _ => {
                        let start = out.len();
                        let head_bytes = encoding.write(&filling, out);
                        if encoding.may_end_connection() && !self.outlives_close {
                            self.is_ending |= ends_connection(&out[start..start + head_bytes]);
                        }
                        if withholds_body {
                            out.truncate(start + head_bytes);
                        }
                        Wire::Framed
                    }
                };
                (encoding.kind(), wire)
            }
        };
        self.sent.push_back(Sent { exchange, kind });
        Ok(wire)
    }

    /// The same number makes the same bytes, so what follows the head is what was held back.
    fn send_rest<'m>(
        &mut self,
        _exchange: ExchangeId,
        message: &Message<'m, Http1Request>,
        out: &mut Vec<u8>,
    ) -> Wire<'m> {
        if let Message::Compiled { encoding, filling, .. } = message {
            let start = out.len();
            let head_bytes = encoding.write(filling, out);
            out.drain(start..start + head_bytes);
        }
        Wire::Framed
    }

    #[inline]
    fn receive(
        &mut self,
        mut bytes: &[u8],
        _out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        while !bytes.is_empty() && !self.is_spent {
            let Some(Sent { exchange, kind }) = self.sent.front().copied() else {
                return Err(Failure::Unsolicited);
            };
            if !self.reading.begun {
                self.reading.begun = true;
                progress(Progress::FirstByte(exchange));
            }
            let decoded = self.decoder.decode(kind, bytes)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                None => break,
                Some(ResponseEvent::Interim(head)) => {
                    let status = head.status;
                    self.reading.begun = false;
                    progress(Progress::Interim(exchange, status));
                }
                Some(ResponseEvent::Head(head)) => {
                    self.reading.status = head.status;
                    self.reading.until_close = head.body == BodyLength::UntilClose;
                    let head = Head::new(head.status, head.head_bytes());
                    progress(Progress::Head(exchange, &head));
                }
                Some(ResponseEvent::Body(piece)) => {
                    self.reading.body_bytes += piece.len() as u64;
                    progress(Progress::Body(exchange, piece));
                }
                Some(ResponseEvent::End(end)) => self.complete(end.keep_alive, progress),
            }
        }
        if self.is_spent && !self.sent.is_empty() { Err(Failure::ClosedEarly) } else { Ok(()) }
    }

    fn ends_with_connection(&self) -> bool {
        self.reading.until_close
    }

    fn ended(&mut self, progress: &mut impl FnMut(Progress<'_>)) -> Result<(), Failure> {
        if self.decoder.end()?.is_some() && !self.sent.is_empty() {
            self.complete(false, progress);
        }
        self.is_spent = true;
        if self.sent.is_empty() { Ok(()) } else { Err(Failure::Closed) }
    }

    /// What followed on the connection would be the rest of the answer that nobody waits for.
    fn cancel(&mut self, _exchange: ExchangeId, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// What followed on the connection would be the rest of the request.
    fn survives_early_response(&self) -> bool {
        false
    }

    fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        self.sent.drain(..).map(|sent| sent.exchange)
    }
}
