//! A client's HTTP/1 connection: requests out, responses in, matched in order.
//!
//! ```text
//!   Closed ── open ──▶ Connecting ──▶ Tunnelling ──▶ Handshaking ──▶ Open ──▶ Spent
//!     ▲                    │     if there is a proxy    if TLS         │         │
//!     └────── close ───────┴───────────────────────────────────────────┴─────────┘
//! ```
//!
//! Spent: a response without keep-alive came. The caller attaches its own `R` to each request and
//! gets it back with the response. No request is ever sent again by this crate: whether to retry is
//! the caller's to decide.
//!
//! Absent on purpose: TLS's own goodbye (close_notify). HTTP says by itself where a message ends,
//! and servers do not wait for it.

use std::collections::VecDeque;

use plimsoll_io::{Address, Close, Driver, Payload, PayloadId, Route, Token};
use plimsoll_proto::http1::{
    BodyLength, DecodeError, Limits, RequestKind, ResponseDecoder, ResponseEvent, ResponseHead,
};
use plimsoll_proto::tls::{Tls, TlsError};

use crate::setup::{Scratch, Setup};

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No socket.
    Closed,
    /// The TCP connect is under way.
    Connecting,
    /// A proxy was asked for a tunnel.
    Tunnelling,
    /// The TLS handshake is under way.
    Handshaking,
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

/// What received bytes meant.
#[derive(Debug)]
pub enum Progress<'a, R> {
    /// The way to the server stands: the proxy has opened the tunnel.
    Tunnelled,
    /// The TLS handshake is done: requests can be sent.
    Secured,
    /// The first byte of the oldest request's response is here.
    FirstByte(&'a mut R),
    /// An interim response to the oldest request, 1xx.
    Interim(&'a mut R, u16),
    /// The head of the oldest request's response.
    Head(&'a mut R, &'a ResponseHead<'a>),
    /// A piece of its body.
    Body(&'a mut R, &'a [u8]),
    /// The oldest request's response is complete.
    Complete(R, Response),
}

/// Why a connection can't be used any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The bytes are not a response.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// TLS failed.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The proxy did not open a tunnel.
    #[error("the proxy answered CONNECT with {0}")]
    Tunnel(u16),
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
            Self::Tls(error) => error.kind().name(),
            Self::Tunnel(_) => "tunnel_refused",
            Self::Unsolicited => "unsolicited",
            Self::Closed => "closed",
        }
    }
}

/// A request to send.
#[derive(Debug, Clone, Copy)]
pub enum Outgoing<'a> {
    /// Bytes the driver knows, as they are.
    Registered(PayloadId, &'a [u8]),
    /// Bytes made for this request.
    Built(&'a [u8]),
}

impl<'a> Outgoing<'a> {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Registered(_, bytes) | Self::Built(bytes) => bytes,
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
    /// Whether only the end of the connection ends it.
    until_close: bool,
}

/// A client's HTTP/1 connection.
#[derive(Debug)]
pub struct Connection<R> {
    token: Token,
    state: State,
    decoder: ResponseDecoder,
    flights: VecDeque<Flight<R>>,
    reading: Reading,
    tls: Option<Box<Tls>>,
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
            tls: None,
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

    /// Whether it is on the way from closed to open.
    #[must_use]
    pub fn is_opening(&self) -> bool {
        matches!(self.state, State::Connecting | State::Tunnelling | State::Handshaking)
    }

    /// The TLS session, where there is one.
    #[must_use]
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_deref()
    }

    /// Starts to connect.
    pub fn open<D: Driver>(&mut self, driver: &mut D, route: &Route) {
        debug_assert_eq!(self.state, State::Closed);
        self.decoder.reset();
        self.reading = Reading::default();
        self.tls = None;
        self.state = State::Connecting;
        driver.connect(self.token, route);
    }

    /// The driver says that the connect along `route` succeeded: goes on with the setup. With
    /// `resume` TLS may resume a session. Gives the number of bytes sent; the caller looks at
    /// [`state`](Self::state) then.
    ///
    /// # Errors
    /// When TLS can't begin.
    pub fn connected<D: Driver>(
        &mut self,
        driver: &mut D,
        setup: &Setup,
        route: &Route,
        resume: bool,
        scratch: &mut Scratch,
    ) -> Result<usize, Failure> {
        if let Some(header) = setup.proxy_header {
            let to = match &route.to {
                Address::Tcp(address) => Some(*address),
                Address::Unix(_) => None,
            };
            header.write(&mut scratch.out, driver.local_address(self.token), to);
        }
        if let Some(tunnel) = &setup.tunnel {
            scratch.out.extend_from_slice(tunnel);
            self.state = State::Tunnelling;
        } else if let Err(failure) = self.begin_tls(setup, resume, scratch) {
            scratch.trim();
            return Err(failure);
        }
        Ok(self.flush(driver, scratch))
    }

    /// Begins the handshake, or is open without one.
    fn begin_tls(
        &mut self,
        setup: &Setup,
        resume: bool,
        scratch: &mut Scratch,
    ) -> Result<(), Failure> {
        self.state = State::Open;
        if let Some(tls) = &setup.tls {
            self.state = State::Handshaking;
            let session = Tls::client(&tls.config, &tls.name, resume, &mut scratch.out)?;
            self.tls = Some(Box::new(session));
        }
        Ok(())
    }

    /// Sends what a call has left in `scratch`; gives the number of bytes.
    #[inline]
    pub fn flush<D: Driver>(&mut self, driver: &mut D, scratch: &mut Scratch) -> usize {
        let bytes = scratch.out.len();
        if bytes > 0 {
            driver.send(self.token, Payload::Copied(&scratch.out));
        }
        scratch.trim();
        bytes
    }

    /// Sends a request; gives the number of bytes that takes. The connection must be open.
    #[inline]
    pub fn send<D: Driver>(
        &mut self,
        driver: &mut D,
        outgoing: Outgoing<'_>,
        kind: RequestKind,
        request: R,
        scratch: &mut Scratch,
    ) -> usize {
        debug_assert_eq!(self.state, State::Open);
        self.flights.push_back(Flight { request, kind });
        self.send_more(driver, outgoing, scratch)
    }

    /// A request that was sent with the bytes of the one before it.
    #[inline]
    pub fn sent_with(&mut self, kind: RequestKind, request: R) {
        self.flights.push_back(Flight { request, kind });
    }

    /// Sends more of the newest request; gives the number of bytes that takes.
    #[inline]
    pub fn send_more<D: Driver>(
        &mut self,
        driver: &mut D,
        outgoing: Outgoing<'_>,
        scratch: &mut Scratch,
    ) -> usize {
        if let Some(tls) = &mut self.tls {
            // It fails only after a failure that receiving has reported, or the peer's goodbye,
            // whose end of stream is on its way: then there is nobody to send it to.
            let _ = tls.send(outgoing.bytes(), &mut scratch.out);
            return self.flush(driver, scratch);
        }
        match outgoing {
            Outgoing::Built(bytes) => driver.send(self.token, Payload::Copied(bytes)),
            Outgoing::Registered(id, bytes) => {
                let len = bytes.len() as u32;
                driver.send(self.token, Payload::Registered { id, offset: 0, len });
            }
        }
        outgoing.bytes().len()
    }

    /// Takes received bytes. `progress` is called for each step of each response in them. What is
    /// to be sent in turn stands in `scratch`: [`flush`](Self::flush) sends it.
    ///
    /// # Errors
    /// When the connection can't be used any further; the open requests are still in it.
    #[inline]
    pub fn receive(
        &mut self,
        setup: &Setup,
        resume: bool,
        scratch: &mut Scratch,
        bytes: &[u8],
        mut progress: impl FnMut(Progress<'_, R>),
    ) -> Result<(), Failure> {
        if self.tls.is_some() {
            return self.receive_tls(scratch, bytes, &mut progress);
        }
        if self.state == State::Tunnelling {
            return self.receive_tunnel(setup, resume, scratch, bytes, &mut progress);
        }
        self.read(bytes, &mut progress)
    }

    #[inline]
    fn receive_tls(
        &mut self,
        scratch: &mut Scratch,
        bytes: &[u8],
        progress: &mut impl FnMut(Progress<'_, R>),
    ) -> Result<(), Failure> {
        let Some(mut tls) = self.tls.take() else {
            return Ok(());
        };
        scratch.plain.clear();
        let taken = tls.receive(bytes, &mut scratch.plain, &mut scratch.out);
        let (is_secured, has_ended) = (!tls.is_handshaking(), tls.is_closed_by_peer());
        self.tls = Some(tls);
        if self.state == State::Handshaking && has_ended {
            // A goodbye in the same breath: it was never of use.
            return Err(taken.err().map_or(Failure::Closed, Failure::Tls));
        }
        if self.state == State::Handshaking && is_secured {
            self.state = State::Open;
            progress(Progress::Secured);
        }
        // What came before a failure has come.
        self.read(&scratch.plain, progress)?;
        taken?;
        if has_ended { self.ended(progress) } else { Ok(()) }
    }

    fn receive_tunnel(
        &mut self,
        setup: &Setup,
        resume: bool,
        scratch: &mut Scratch,
        mut bytes: &[u8],
        progress: &mut impl FnMut(Progress<'_, R>),
    ) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let decoded = self.decoder.decode(RequestKind::Connect, bytes)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                Some(ResponseEvent::Head(head)) if !(200..300).contains(&head.status) => {
                    return Err(Failure::Tunnel(head.status));
                }
                Some(ResponseEvent::End(_)) => {
                    self.decoder.reset();
                    progress(Progress::Tunnelled);
                    self.begin_tls(setup, resume, scratch)?;
                    return match self.tls {
                        Some(_) => self.receive_tls(scratch, bytes, progress),
                        None => self.read(bytes, progress),
                    };
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads responses.
    #[inline]
    fn read(
        &mut self,
        mut bytes: &[u8],
        progress: &mut impl FnMut(Progress<'_, R>),
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
                Some(ResponseEvent::Interim(head)) => {
                    let status = head.status;
                    self.reading.begun = false;
                    progress(Progress::Interim(&mut flight.request, status));
                }
                Some(ResponseEvent::Head(head)) => {
                    self.reading.status = head.status;
                    self.reading.until_close = head.body == BodyLength::UntilClose;
                    progress(Progress::Head(&mut flight.request, &head));
                }
                Some(ResponseEvent::Body(piece)) => {
                    self.reading.body_bytes += piece.len() as u64;
                    progress(Progress::Body(&mut flight.request, piece));
                }
                Some(ResponseEvent::End(end)) => self.complete(end.keep_alive, progress),
            }
        }
        Ok(())
    }

    /// The server will send no more. A response that only the close could end is complete, unless
    /// TLS says that somebody else may have closed.
    ///
    /// # Errors
    /// When requests are left open or the response was cut short; they are still in it.
    pub fn ended(&mut self, mut progress: impl FnMut(Progress<'_, R>)) -> Result<(), Failure> {
        match self.state {
            State::Open => {}
            State::Tunnelling => return Err(Failure::Closed),
            State::Handshaking => return Err(self.tls_end().err().unwrap_or(Failure::Closed)),
            State::Closed | State::Connecting | State::Spent => return Ok(()),
        }
        if self.reading.until_close {
            self.tls_end()?;
        }
        if self.decoder.end()?.is_some() && !self.flights.is_empty() {
            self.complete(false, &mut progress);
        }
        self.state = State::Spent;
        if self.flights.is_empty() { Ok(()) } else { Err(Failure::Closed) }
    }

    fn tls_end(&self) -> Result<(), Failure> {
        self.tls.as_ref().map_or(Ok(()), |tls| Ok(tls.end()?))
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
            self.tls = None;
        }
        self.flights.drain(..).map(|flight| flight.request)
    }
}
