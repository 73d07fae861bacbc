//! A client's HTTP/1 connection: requests out, responses in, matched in order.
//!
//! ```text
//!   Closed ── open ──▶ Opening ── opened ──▶ Open ── response without keep-alive ──▶ Spent
//!     ▲                   │                   │                                        │
//!     └────── close ──────┴───────────────────┴────────────────────────────────────────┘
//! ```
//!
//! The caller attaches its own `R` to each request and gets it back with the response. No request
//! is ever sent again by this crate: whether to retry is the caller's to decide.

use std::collections::VecDeque;

use plimsoll_io::{Close, Driver, Payload, Route, Token};
use plimsoll_proto::http1::{DecodeError, Limits, RequestKind, ResponseDecoder, ResponseEvent};

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No socket.
    Closed,
    /// The connect is under way.
    Opening,
    /// Requests can be sent.
    Open,
    /// The last response said that there will be no other.
    Spent,
}

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Bytes of its body, framing left out.
    pub body_bytes: u64,
}

/// What received bytes meant for a request.
#[derive(Debug)]
pub enum Progress<'a, R> {
    /// The first byte of the oldest request's response is here.
    FirstByte(&'a mut R),
    /// The oldest request's response is complete.
    Complete(R, Response),
}

/// Why a connection can't be used any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The bytes are not a response.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Bytes came though no request was open.
    #[error("the server sent bytes that answer no request")]
    Unsolicited,
    /// The server closed with requests open.
    #[error("the server closed the connection before the response")]
    Closed,
}

impl Failure {
    /// A stable name for results.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Decode(error) => error.kind(),
            Self::Unsolicited => "unsolicited",
            Self::Closed => "closed",
        }
    }
}

#[derive(Debug)]
struct Flight<R> {
    request: R,
    kind: RequestKind,
}

/// The response being read.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    begun: bool,
    status: u16,
    body_bytes: u64,
}

/// A client's HTTP/1 connection.
#[derive(Debug)]
pub struct Connection<R> {
    token: Token,
    state: State,
    decoder: ResponseDecoder,
    flights: VecDeque<Flight<R>>,
    reading: Reading,
}

impl<R> Connection<R> {
    /// A closed connection on a token of the caller's, with room for `pipeline` open requests.
    #[must_use]
    pub fn new(token: Token, pipeline: usize, limits: Limits) -> Self {
        Self {
            token,
            state: State::Closed,
            decoder: ResponseDecoder::new(limits),
            flights: VecDeque::with_capacity(pipeline),
            reading: Reading::default(),
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// How many requests are open.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.flights.len()
    }

    /// The request that will be answered next.
    #[must_use]
    pub fn oldest(&self) -> Option<&R> {
        self.flights.front().map(|flight| &flight.request)
    }

    /// All open requests, oldest first.
    pub fn requests_mut(&mut self) -> impl Iterator<Item = &mut R> {
        self.flights.iter_mut().map(|flight| &mut flight.request)
    }

    /// Whether the first byte of the oldest request's response has come.
    #[must_use]
    pub fn has_first_byte(&self) -> bool {
        self.reading.begun
    }

    /// Starts to connect.
    pub fn open<D: Driver>(&mut self, driver: &mut D, route: &Route) {
        debug_assert_eq!(self.state, State::Closed);
        self.decoder.reset();
        self.reading = Reading::default();
        self.state = State::Opening;
        driver.connect(self.token, route);
    }

    /// The driver says that the connect succeeded.
    pub fn opened(&mut self) {
        self.state = State::Open;
    }

    /// Sends a request. The connection must be open.
    #[inline]
    pub fn send<D: Driver>(
        &mut self,
        driver: &mut D,
        payload: Payload<'_>,
        kind: RequestKind,
        request: R,
    ) {
        debug_assert_eq!(self.state, State::Open);
        self.flights.push_back(Flight { request, kind });
        driver.send(self.token, payload);
    }

    /// Takes received bytes. `progress` is called for each step of each response in them.
    ///
    /// # Errors
    /// When the connection can't be used any further; the open requests are still in it.
    #[inline]
    pub fn receive(
        &mut self,
        mut bytes: &[u8],
        mut progress: impl FnMut(Progress<'_, R>),
    ) -> Result<(), Failure> {
        while !bytes.is_empty() && self.state == State::Open {
            let Some(flight) = self.flights.front_mut() else {
                return Err(Failure::Unsolicited);
            };
            if !self.reading.begun {
                self.reading.begun = true;
                progress(Progress::FirstByte(&mut flight.request));
            }
            let decoded = self.decoder.decode(flight.kind, bytes)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                None => break,
                Some(ResponseEvent::Interim(_)) => {}
                Some(ResponseEvent::Head(head)) => self.reading.status = head.status,
                Some(ResponseEvent::Body(piece)) => self.reading.body_bytes += piece.len() as u64,
                Some(ResponseEvent::End(end)) => self.complete(end.keep_alive, &mut progress),
            }
        }
        Ok(())
    }

    /// The server will send no more. A response that only the close could end is complete.
    ///
    /// # Errors
    /// When requests are left open or the response was cut short; they are still in it.
    pub fn ended(&mut self, mut progress: impl FnMut(Progress<'_, R>)) -> Result<(), Failure> {
        if self.state != State::Open {
            return Ok(());
        }
        if self.decoder.end()?.is_some() && !self.flights.is_empty() {
            self.complete(false, &mut progress);
        }
        self.state = State::Spent;
        if self.flights.is_empty() { Ok(()) } else { Err(Failure::Closed) }
    }

    #[inline]
    fn complete(&mut self, keep_alive: bool, progress: &mut impl FnMut(Progress<'_, R>)) {
        let reading = std::mem::take(&mut self.reading);
        if !keep_alive {
            self.state = State::Spent;
        }
        if let Some(flight) = self.flights.pop_front() {
            let response = Response { status: reading.status, body_bytes: reading.body_bytes };
            progress(Progress::Complete(flight.request, response));
        }
    }

    /// Closes and hands back the requests that were open, oldest first.
    pub fn close<D: Driver>(&mut self, driver: &mut D, how: Close) -> impl Iterator<Item = R> {
        if self.state != State::Closed {
            driver.close(self.token, how);
            self.state = State::Closed;
        }
        self.flights.drain(..).map(|flight| flight.request)
    }
}
