//! HTTP/1.1 or HTTP/2, as TLS agrees: what a client speaks that learns only on a connection what
//! its server has.
//!
//! ```text
//!                  ALPN says h2                       Http2: many requests at a time
//!   begin ────────────┤
//!                  anything else, or no TLS           Http1: one request at a time
//! ```
//!
//! Without TLS it may be known beforehand that the server speaks HTTP/2 (RFC 9113 section 3.3).
//!
//! Requests come in the form of HTTP/1, since they are written before it is known what carries
//! them. HTTP/2 puts them into its own words.
//!
//! Each user of a run has connections of its own, so there are many, and most are idle. One is
//! cheap to make: HTTP/2 has no memory before a server chooses it, and none for streams that were
//! never open.
//!
//! Absent on purpose: requests that were compiled before the run, which need a form for one
//! protocol; and requests of HTTP/1 that are sent before the response to the one before.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use plimsoll_core::protocol::AllowedRange;
use plimsoll_proto::http1::Limits;
use plimsoll_proto::http2::ClientOptions;

use crate::event::{ExchangeId, Failure, Progress};
use crate::http1::{Http1, Http1Settings};
use crate::http2::{Http2, Http2Settings};
use crate::protocol::{Protocol, Wire};
use crate::request::{CompiledRequest, EncodeError, Encoding, Filling, Message, WrittenError};

/// What the connections of a run have in common.
#[derive(Debug, Clone)]
pub struct NegotiatedSettings {
    /// How long the parts of a response over HTTP/1.1 may be.
    pub http1_limits: Limits,
    /// How HTTP/2 is used where it is chosen.
    pub http2: ClientOptions,
    /// Whether servers without TLS are known to speak HTTP/2.
    pub knows_http2: bool,
}

impl Default for NegotiatedSettings {
    /// As many streams as the server allows, and as much of its responses on their way as there can
    /// be.
    fn default() -> Self {
        let (streams, prepared_streams) = (u32::MAX, 0);
        let http2 = ClientOptions { streams, prepared_streams, ..ClientOptions::default() };
        Self { http1_limits: Limits::default(), http2, knows_http2: false }
    }
}

/// HTTP, in the version that TLS agreed on.
#[derive(Debug)]
pub struct Negotiated {
    settings: NegotiatedSettings,
    spoken: Spoken,
}

/// What is spoken on the connection, or was on the last one.
#[derive(Debug)]
enum Spoken {
    Http1(Http1),
    Http2(Box<Http2>),
}

/// Calls the same of whichever is spoken.
macro_rules! spoken {
    ($spoken:expr, $http:ident => $call:expr) => {
        match $spoken {
            Spoken::Http1($http) => $call,
            Spoken::Http2($http) => $call,
        }
    };
}

impl Spoken {
    fn http1(settings: &NegotiatedSettings) -> Self {
        let limits = settings.http1_limits;
        Self::Http1(Http1::new(&Http1Settings { pipeline: 1, limits, outlives_close: false }))
    }

    fn http2(settings: &NegotiatedSettings) -> Self {
        Self::Http2(Box::new(Http2::new(&Http2Settings { options: settings.http2 })))
    }
}

impl Negotiated {
    /// What TLS has to offer (RFC 7301), the preferred first: both versions, or HTTP/1.1 alone.
    #[must_use]
    pub fn offered(with_http2: bool) -> Vec<Vec<u8>> {
        let http2 = with_http2.then_some("h2");
        http2.into_iter().chain(["http/1.1"]).map(|name| name.as_bytes().to_vec()).collect()
    }
}

impl Protocol for Negotiated {
    type Settings = NegotiatedSettings;
    type Encoding = Uncompiled;

    /// Users send few requests together, and what HTTP/1 sends need not be copied.
    const GATHERS: bool = false;

    fn name(&self) -> &'static str {
        spoken!(&self.spoken, http => http.name())
    }

    /// TLS fails by itself where a server chooses what was not offered.
    fn is_agreed(_alpn: Option<&[u8]>) -> bool {
        true
    }

    fn new(settings: &NegotiatedSettings) -> Self {
        Self { settings: settings.clone(), spoken: Spoken::http1(settings) }
    }

    fn exchanges_max(settings: &NegotiatedSettings) -> usize {
        settings.http2.streams as usize
    }

    fn begin(&mut self, alpn: Option<&[u8]>, out: &mut Vec<u8>) {
        let is_known = alpn.is_none() && self.settings.knows_http2;
        match (&self.spoken, is_known || Http2::is_agreed(alpn)) {
            (Spoken::Http1(_), false) | (Spoken::Http2(_), true) => {}
            (Spoken::Http2(_), false) => {
                self.spoken = Spoken::http1(&self.settings);
            }
            (Spoken::Http1(_), true) => self.spoken = Spoken::http2(&self.settings),
        }
        spoken!(&mut self.spoken, http => http.begin(alpn, out));
    }

    fn is_greeted(&self) -> bool {
        spoken!(&self.spoken, http => http.is_greeted())
    }

    fn exchanges_allowed(&self) -> Option<u32> {
        spoken!(&self.spoken, http => http.exchanges_allowed())
    }

    fn allowed_range(&self) -> Option<AllowedRange> {
        spoken!(&self.spoken, http => http.allowed_range())
    }

    fn room(&self) -> usize {
        spoken!(&self.spoken, http => http.room())
    }

    fn is_spent(&self) -> bool {
        spoken!(&self.spoken, http => http.is_spent())
    }

    fn has_said_goodbye(&self) -> bool {
        spoken!(&self.spoken, http => http.has_said_goodbye())
    }

    fn open_exchanges(&self) -> usize {
        spoken!(&self.spoken, http => http.open_exchanges())
    }

    fn exchanges(&self) -> impl DoubleEndedIterator<Item = ExchangeId> {
        let (http1, http2) = match &self.spoken {
            Spoken::Http1(http) => (Some(http.exchanges()), None),
            Spoken::Http2(http) => (None, Some(http.exchanges())),
        };
        http1.into_iter().flatten().chain(http2.into_iter().flatten())
    }

    fn start<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, Uncompiled>,
        out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError> {
        let (bytes, is_head) = match *message {
            Message::Written { bytes, is_head } => (bytes, is_head),
            Message::Streamed { head, body, ends } => {
                let Spoken::Http2(http) = &mut self.spoken else {
                    return Err(WrittenError::Streamed);
                };
                return http.start_streamed(exchange, head, (body, ends), out);
            }
            Message::Compiled { encoding, .. } => match *encoding {},
        };
        match &mut self.spoken {
            Spoken::Http1(http) => http.start(exchange, &Message::Written { bytes, is_head }, out),
            Spoken::Http2(http) => http.start_written(exchange, bytes, is_head, out),
        }
    }

    /// Nothing of a written request is ever held back by the caller.
    fn send_rest<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, Uncompiled>,
        out: &mut Vec<u8>,
    ) -> Wire<'m> {
        if let (Spoken::Http2(http), Message::Streamed { body, ends, .. }) =
            (&mut self.spoken, message)
        {
            http.send_piece(exchange, body, *ends, out);
        }
        Wire::Framed
    }

    fn body_bytes(&self) -> usize {
        spoken!(&self.spoken, http => http.body_bytes())
    }

    fn is_held_back(&self, exchange: ExchangeId) -> bool {
        spoken!(&self.spoken, http => http.is_held_back(exchange))
    }

    fn is_full(&self) -> bool {
        spoken!(&self.spoken, http => http.is_full())
    }

    fn output_taken(&mut self, queued_bytes: usize) -> bool {
        spoken!(&mut self.spoken, http => http.output_taken(queued_bytes))
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        spoken!(&mut self.spoken, http => http.receive(bytes, out, progress))
    }

    fn ends_with_connection(&self) -> bool {
        spoken!(&self.spoken, http => http.ends_with_connection())
    }

    fn ended(&mut self, progress: &mut impl FnMut(Progress<'_>)) -> Result<(), Failure> {
        spoken!(&mut self.spoken, http => http.ended(progress))
    }

    fn release(&mut self, exchange: ExchangeId, bytes: u32, out: &mut Vec<u8>) {
        spoken!(&mut self.spoken, http => http.release(exchange, bytes, out));
    }

    fn cancel(&mut self, exchange: ExchangeId, out: &mut Vec<u8>) -> bool {
        spoken!(&mut self.spoken, http => http.cancel(exchange, out))
    }

    fn survives_early_response(&self) -> bool {
        spoken!(&self.spoken, http => http.survives_early_response())
    }

    fn drain(&mut self) -> impl Iterator<Item = ExchangeId> {
        let (http1, http2) = match &mut self.spoken {
            Spoken::Http1(http) => (Some(http.drain()), None),
            Spoken::Http2(http) => (None, Some(http.drain())),
        };
        http1.into_iter().flatten().chain(http2.into_iter().flatten())
    }
}

/// A request that was compiled before the run. This protocol takes no such requests.
#[derive(Debug)]
pub enum Uncompiled {}

impl Encoding for Uncompiled {
    type Shared = ();

    fn of(_request: CompiledRequest, _shared: &mut ()) -> Result<Self, EncodeError> {
        unreachable!("its requests are written during the run, and no plan asks for it")
    }

    fn of_written(_bytes: &[u8]) -> Self {
        unreachable!("its requests are written during the run, and no plan asks for it")
    }

    fn fixed(&self) -> Option<&Arc<[u8]>> {
        match *self {}
    }

    fn bytes_max(&self) -> usize {
        match *self {}
    }

    fn has_body(&self, _filling: &Filling<'_>) -> bool {
        match *self {}
    }

    fn write_text(&self, _filling: &Filling<'_>, _out: &mut Vec<u8>) -> usize {
        match *self {}
    }
}
