//! A client's HTTP/2 on a connection: each exchange is a stream.
//!
//! Absent on purpose: sockets, TLS and the agreement on the protocol. What HTTP/2 is, [`Client`]
//! knows; here stands what it means in the words of a connection.

mod request;
#[cfg(test)]
mod tests;
mod written;

use plimsoll_core::protocol::{Allowed, AllowedRange};
use plimsoll_proto::http2::{
    Body, Client, ClientOptions, ErrorCode, Event, Outgoing, Response as Http2Response, Settings,
};

use crate::event::{ExchangeId, Failure, Head, Progress, REFUSED, Response};
use crate::protocol::{Protocol, Wire};
use crate::request::{Message, WrittenError};
use written::Written;

pub use request::Http2Request;

/// What the HTTP/2 connections of a run have in common.
#[derive(Debug, Clone)]
pub struct Http2Settings {
    /// How many streams there may be, what is announced to the server, and how many fields the
    /// run's requests share.
    pub options: ClientOptions,
}

/// The streams of a connection.
#[derive(Debug)]
pub struct Http2 {
    client: Client,
    /// Whether TLS lies beneath: the scheme of a request that was written during the run says it.
    is_secure: bool,
    /// The body of the request that is being started, where it is filled in; or the name of its
    /// field that is being written.
    filled: Vec<u8>,
    /// How long the body was that was handed over last.
    body_bytes: usize,
}

impl Protocol for Http2 {
    type Settings = Http2Settings;
    type Encoding = Http2Request;

    const GATHERS: bool = true;

    fn new(settings: &Http2Settings) -> Self {
        let client = Client::new(settings.options);
        Self { client, is_secure: false, filled: Vec::new(), body_bytes: 0 }
    }

    fn name(&self) -> &'static str {
        "h2"
    }

    fn is_agreed(alpn: Option<&[u8]>) -> bool {
        alpn == Some(b"h2")
    }

    fn exchanges_max(settings: &Http2Settings) -> usize {
        settings.options.streams as usize
    }

    /// Without TLS it is spoken because the client knows beforehand (RFC 9113 section 3.3).
    fn begin(&mut self, alpn: Option<&[u8]>, out: &mut Vec<u8>) {
        self.is_secure = alpn.is_some();
        self.client.begin(out);
    }

    fn is_greeted(&self) -> bool {
        self.client.is_greeted()
    }

    #[inline]
    fn exchanges_allowed(&self) -> Option<u32> {
        self.client.is_greeted().then(|| self.client.allowed().streams)
    }

    fn allowed_range(&self) -> Option<AllowedRange> {
        let [least, most] = self.client.allowed_range().each_ref().map(allowed);
        self.client.is_greeted().then_some(AllowedRange { least, most })
    }

    #[inline]
    fn room(&self) -> usize {
        self.client.room()
    }

    #[inline]
    fn is_spent(&self) -> bool {
        self.client.is_spent()
    }

    fn has_said_goodbye(&self) -> bool {
        self.client.has_failed()
    }

    #[inline]
    fn open_exchanges(&self) -> usize {
        self.client.open()
    }

    #[inline]
    fn exchanges(&self) -> impl DoubleEndedIterator<Item = ExchangeId> {
        self.client.requests().map(ExchangeId)
    }

    #[inline]
    fn start<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, Http2Request>,
        out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError> {
        let (encoding, filling, withholds_body) = match message {
            Message::Compiled { encoding, filling, withholds_body, .. } => {
                (encoding, filling, withholds_body)
            }
            Message::Written { bytes, is_head } => {
                return self.start_written(exchange, bytes, *is_head, out);
            }
            Message::Streamed { head, body, ends } => {
                return self.start_streamed(exchange, head, (body, *ends), out);
            }
        };
        let mut outgoing = Outgoing {
            is_head: encoding.is_head(filling),
            body: encoding.body(filling, &mut self.filled),
            ends: !withholds_body && encoding.is_last(filling),
        };
        if *withholds_body {
            outgoing.body = Body::Empty;
        }
        self.body_bytes = outgoing.body.bytes().len();
        self.client.start(exchange.0, &outgoing, out, |head| encoding.write_head(filling, head));
        Ok(Wire::Framed)
    }

    fn send_rest<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, Http2Request>,
        out: &mut Vec<u8>,
    ) -> Wire<'m> {
        if let Message::Compiled { encoding, filling, .. } = message {
            let body = encoding.body(filling, &mut self.filled);
            self.body_bytes = body.bytes().len();
            self.client.send(exchange.0, body, encoding.is_last(filling), out);
        }
        if let Message::Streamed { body, ends, .. } = message {
            self.send_piece(exchange, body, *ends, out);
        }
        Wire::Framed
    }

    #[inline]
    fn body_bytes(&self) -> usize {
        self.body_bytes
    }

    #[inline]
    fn is_held_back(&self, exchange: ExchangeId) -> bool {
        self.client.is_held_back(exchange.0)
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.client.is_full()
    }

    #[inline]
    fn output_taken(&mut self, queued_bytes: usize) -> bool {
        self.client.output_taken(queued_bytes)
    }

    #[inline]
    fn receive(
        &mut self,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        loop {
            let decoded = self.client.receive(bytes, out)?;
            bytes = &bytes[decoded.consumed..];
            let Some(event) = decoded.event else { return Ok(()) };
            match event {
                // The connection asks for these itself.
                Event::Greeted | Event::Draining(_) => {}
                Event::Trailers(number, fields) => {
                    progress(Progress::Trailers(ExchangeId(number), fields));
                }
                Event::Room => progress(Progress::Room),
                Event::Resumed(number) => {
                    let (exchange, waiting_bytes) = (ExchangeId(number), out.len());
                    progress(Progress::Resumed { exchange, waiting_bytes });
                }
                Event::FirstByte(number) => progress(Progress::FirstByte(ExchangeId(number))),
                Event::Interim(number, head) => {
                    progress(Progress::Interim(ExchangeId(number), head.status));
                }
                Event::Head(number, head) => {
                    let head = Head::new(head.status, head.lines());
                    progress(Progress::Head(ExchangeId(number), &head));
                }
                Event::Body(number, piece) => progress(Progress::Body(ExchangeId(number), piece)),
                Event::Complete(number, response) => {
                    let Http2Response { status, body_bytes } = response;
                    let response = Response { status, body_bytes };
                    progress(Progress::Complete(ExchangeId(number), response));
                }
                Event::Refused(number) => {
                    let kind = self.goodbye().unwrap_or(REFUSED);
                    progress(Progress::Refused(ExchangeId(number), kind));
                }
                Event::Reset(number, code) => {
                    progress(Progress::Reset(ExchangeId(number), reset_kind(code)));
                }
                Event::Broken(number, error) => {
                    progress(Progress::Broken(ExchangeId(number), error));
                }
            }
        }
    }

    fn ended(&mut self, _progress: &mut impl FnMut(Progress<'_>)) -> Result<(), Failure> {
        self.client.end()?;
        if self.client.open() == 0 {
            return Ok(());
        }
        Err(self.goodbye().map_or(Failure::Closed, Failure::Goodbye))
    }

    fn release(&mut self, exchange: ExchangeId, bytes: u32, out: &mut Vec<u8>) {
        self.client.release(exchange.0, bytes, out);
    }

    fn cancel(&mut self, exchange: ExchangeId, out: &mut Vec<u8>) -> bool {
        self.client.cancel(exchange.0, out)
    }

    /// The stream alone is closed.
    fn survives_early_response(&self) -> bool {
        true
    }

    fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        self.client.drain().map(ExchangeId)
    }
}

fn allowed(settings: &Settings) -> Allowed {
    Allowed {
        streams: (settings.streams != u32::MAX).then_some(settings.streams),
        window_bytes: settings.window_bytes,
        header_table_bytes: settings.header_table_bytes,
        frame_bytes: settings.frame_bytes,
    }
}

impl Http2 {
    /// Starts a request that was written as HTTP/1 has it. Apart from what compiled requests take.
    #[inline(never)]
    pub(crate) fn start_written<'m>(
        &mut self,
        exchange: ExchangeId,
        bytes: &[u8],
        is_head: bool,
        out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError> {
        let mut decoder = written::decoder();
        let request = Written::read(&mut decoder, bytes)?;
        let outgoing = Outgoing { is_head, body: request.body(), ends: true };
        self.body_bytes = outgoing.body.bytes().len();
        let scheme = if self.is_secure { "https" } else { "http" };
        let Self { client, filled, .. } = self;
        client.start(exchange.0, &outgoing, out, |head| request.write_head(scheme, filled, head));
        Ok(Wire::Framed)
    }

    /// Starts a request whose body comes in pieces, with the first of them.
    #[inline(never)]
    pub(crate) fn start_streamed<'m>(
        &mut self,
        exchange: ExchangeId,
        head: &[u8],
        (body, ends): (&[u8], bool),
        out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError> {
        let mut decoder = written::decoder();
        let request = Written::read(&mut decoder, head)?;
        let body = if body.is_empty() { Body::Empty } else { Body::Bytes(body) };
        let outgoing = Outgoing { is_head: false, body, ends };
        let scheme = if self.is_secure { "https" } else { "http" };
        let Self { client, filled, .. } = self;
        client.start(exchange.0, &outgoing, out, |head| request.write_head(scheme, filled, head));
        Ok(Wire::Framed)
    }

    /// Sends a further piece of such a body.
    pub(crate) fn send_piece(
        &mut self,
        exchange: ExchangeId,
        body: &[u8],
        ends: bool,
        out: &mut Vec<u8>,
    ) {
        let body = if body.is_empty() { Body::Empty } else { Body::Bytes(body) };
        self.client.send(exchange.0, body, ends, out);
    }

    /// Why the server ends the connection, where it says that something is wrong: the kind of error
    /// that names its code.
    fn goodbye(&self) -> Option<&'static str> {
        self.client.goodbye().filter(|&code| code != ErrorCode::NO_ERROR).map(goodbye_kind)
    }
}

/// The name in results of what the server ended with each code: the prefix, and the code's name.
macro_rules! kinds {
    ($prefix:literal) => {
        [
            concat!($prefix, "NO_ERROR"),
            concat!($prefix, "PROTOCOL_ERROR"),
            concat!($prefix, "INTERNAL_ERROR"),
            concat!($prefix, "FLOW_CONTROL_ERROR"),
            concat!($prefix, "SETTINGS_TIMEOUT"),
            concat!($prefix, "STREAM_CLOSED"),
            concat!($prefix, "FRAME_SIZE_ERROR"),
            concat!($prefix, "REFUSED_STREAM"),
            concat!($prefix, "CANCEL"),
            concat!($prefix, "COMPRESSION_ERROR"),
            concat!($prefix, "CONNECT_ERROR"),
            concat!($prefix, "ENHANCE_YOUR_CALM"),
            concat!($prefix, "INADEQUATE_SECURITY"),
            concat!($prefix, "HTTP_1_1_REQUIRED"),
        ]
    };
}

/// The name in results of a connection that the server ended with GOAWAY.
fn goodbye_kind(code: ErrorCode) -> &'static str {
    const KINDS: [&str; 14] = kinds!("goaway:");
    KINDS.get(code.0 as usize).copied().unwrap_or("goaway:UNKNOWN")
}

/// The name in results of a stream that the server gave up.
fn reset_kind(code: ErrorCode) -> &'static str {
    const KINDS: [&str; 14] = kinds!("reset:");
    KINDS.get(code.0 as usize).copied().unwrap_or("reset:UNKNOWN")
}
