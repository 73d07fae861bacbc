//! A client's connection: a driver's socket, what is set up on it before the first request, and the
//! protocol that is spoken then.
//!
//! ```text
//!   Closed ── open ──▶ Connecting ──▶ Tunnelling ──▶ Handshaking ──▶ Open ──▶ Spent
//!     ▲                    │     if there is a proxy    if TLS         │         │
//!     └────── close ───────┴───────────────────────────────────────────┴─────────┘
//! ```
//!
//! Spent: a response without keep-alive came. The caller names each request with an `R` of its own,
//! by which events tell of it. No request waits here: one is sent only while there is
//! [`room`](Connection::room). And none is ever sent again: whether to retry is the caller's to
//! decide.
//!
//! Absent on purpose: TLS's own goodbye (close_notify). HTTP says by itself where a message ends,
//! and servers do not wait for it.

use plimsoll_io::{Address, Close, Driver, Payload, Route, Token};
use plimsoll_proto::http1::{Limits, RequestKind, ResponseDecoder, ResponseEvent};
use plimsoll_proto::tls::Tls;

use crate::event::{Failure, Outgoing, Progress};
use crate::http1::Http1;
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

/// A client's connection.
#[derive(Debug)]
pub struct Connection<R> {
    token: Token,
    /// Where it stands, as far as the protocol has no say.
    state: State,
    http1: Http1<R>,
    limits: Limits,
    /// Reads the proxy's answer.
    tunnel: Option<Box<ResponseDecoder>>,
    tls: Option<Box<Tls>>,
}

impl<R: Copy> Connection<R> {
    /// A closed connection on a token of the caller's, with room for `pipeline` open requests.
    #[must_use]
    pub fn new(token: Token, pipeline: usize, limits: Limits) -> Self {
        Self {
            token,
            state: State::Closed,
            http1: Http1::new(pipeline, limits),
            limits,
            tunnel: None,
            tls: None,
        }
    }

    /// Where it stands.
    #[inline]
    #[must_use]
    pub fn state(&self) -> State {
        if self.state == State::Open && self.http1.is_spent() { State::Spent } else { self.state }
    }

    /// How many more requests can be sent now; none unless it is open.
    #[inline]
    #[must_use]
    pub fn room(&self) -> usize {
        if self.state == State::Open { self.http1.room() } else { 0 }
    }

    /// How many requests are open.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.http1.len()
    }

    /// The request that will be answered next.
    #[must_use]
    pub fn oldest(&self) -> Option<R> {
        self.requests().next()
    }

    /// All open requests, oldest first.
    pub fn requests(&self) -> impl Iterator<Item = R> {
        self.http1.requests()
    }

    /// Whether the first byte of the oldest request's response has come.
    #[must_use]
    pub fn has_first_byte(&self) -> bool {
        self.http1.has_first_byte()
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
        self.http1.reset();
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
            self.tunnel = Some(Box::new(ResponseDecoder::new(self.limits)));
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
        debug_assert_eq!(self.state(), State::Open);
        self.http1.start(request, kind);
        self.send_more(driver, outgoing, scratch)
    }

    /// A request that was sent with the bytes of the one before it.
    #[inline]
    pub fn sent_with(&mut self, kind: RequestKind, request: R) {
        self.http1.start(request, kind);
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
        if self.tunnel.is_some() {
            return self.receive_tunnel(setup, resume, scratch, bytes, &mut progress);
        }
        self.http1.read(bytes, &mut progress)
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
        self.http1.read(&scratch.plain, progress)?;
        taken?;
        if has_ended { self.ended(progress) } else { Ok(()) }
    }

    /// Reads the proxy's answer, and what follows it.
    fn receive_tunnel(
        &mut self,
        setup: &Setup,
        resume: bool,
        scratch: &mut Scratch,
        bytes: &[u8],
        progress: &mut impl FnMut(Progress<'_, R>),
    ) -> Result<(), Failure> {
        let Some(after) = self.tunnelled(bytes)? else {
            return Ok(());
        };
        self.tunnel = None;
        progress(Progress::Tunnelled);
        self.begin_tls(setup, resume, scratch)?;
        match self.tls {
            Some(_) => self.receive_tls(scratch, after, progress),
            None => self.http1.read(after, progress),
        }
    }

    /// What follows the proxy's answer, once that is complete and opens the tunnel.
    fn tunnelled<'b>(&mut self, mut bytes: &'b [u8]) -> Result<Option<&'b [u8]>, Failure> {
        let Some(decoder) = &mut self.tunnel else {
            return Ok(Some(bytes));
        };
        while !bytes.is_empty() {
            let decoded = decoder.decode(RequestKind::Connect, bytes)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                Some(ResponseEvent::Head(head)) if !(200..300).contains(&head.status) => {
                    return Err(Failure::Tunnel(head.status));
                }
                Some(ResponseEvent::End(_)) => return Ok(Some(bytes)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// The server will send no more. A response that only the close could end is complete, unless
    /// TLS says that another party may have closed.
    ///
    /// # Errors
    /// When requests are left open or the response was cut short; they are still in it.
    pub fn ended(&mut self, mut progress: impl FnMut(Progress<'_, R>)) -> Result<(), Failure> {
        match self.state() {
            State::Open => {}
            State::Tunnelling => return Err(Failure::Closed),
            State::Handshaking => return Err(self.tls_end().err().unwrap_or(Failure::Closed)),
            State::Closed | State::Connecting | State::Spent => return Ok(()),
        }
        if self.http1.ends_with_connection() {
            self.tls_end()?;
        }
        self.http1.ended(&mut progress)
    }

    fn tls_end(&self) -> Result<(), Failure> {
        self.tls.as_ref().map_or(Ok(()), |tls| Ok(tls.end()?))
    }

    /// Closes and hands back the requests that were open, oldest first.
    pub fn close<D: Driver>(&mut self, driver: &mut D, how: Close) -> impl Iterator<Item = R> {
        if self.state != State::Closed {
            driver.close(self.token, how);
            self.state = State::Closed;
            self.tunnel = None;
            self.tls = None;
        }
        self.http1.drain()
    }
}
