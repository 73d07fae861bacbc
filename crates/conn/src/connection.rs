//! A client's connection: a driver's socket, what is set up on it before the first request, and the
//! protocol that is spoken then.
//!
//! ```text
//!   Closed ─ open ─▶ Connecting ─▶ Tunnelling ─▶ Handshaking ─▶ Greeting ─▶ Open ─▶ Spent
//!     ▲                  │          if proxied      if TLS     if needed      │       │
//!     └───── close ──────┴────────────────────────────────────────────────────┴───────┘
//! ```
//!
//! Spent: the server has said that it takes no more requests on this connection. No request waits
//! here: one is sent only while there is [`room`](Connection::room). And none is ever sent again:
//! whether to retry is the caller's to decide.
//!
//! Absent on purpose: TLS's own goodbye (close_notify). HTTP says by itself where a message ends,
//! and servers do not wait for it.

use plimsoll_core::compression::Sizes;
use plimsoll_core::protocol::AllowedRange;
use plimsoll_io::{Address, Close, Driver, Payload, Route, SocketId};
use plimsoll_proto::http1::{Limits, RequestKind, ResponseDecoder, ResponseEvent};
use plimsoll_proto::tls::Tls;

use crate::event::{ExchangeId, Failure, Progress};
use crate::protocol::{Protocol, Wire};
use crate::request::{Message, WrittenError};
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
    /// The protocol waits for what the server must say before the first request.
    Greeting,
    /// Requests can be sent.
    Open,
    /// The server takes no more requests. Those that are open may still be answered.
    Spent,
}

/// A client's connection, over which `P` is spoken.
#[derive(Debug)]
pub struct Connection<P> {
    socket: SocketId,
    /// Where it stands, as far as the protocol has no say.
    state: State,
    protocol: P,
    /// Reads the proxy's answer.
    tunnel: Option<Box<ResponseDecoder>>,
    tls: Option<Box<Tls>>,
}

impl<P: Protocol> Connection<P> {
    /// A closed connection on a socket of the caller's.
    #[must_use]
    pub fn new(socket: SocketId, settings: &P::Settings) -> Self {
        let protocol = P::new(settings);
        Self { socket, state: State::Closed, protocol, tunnel: None, tls: None }
    }

    /// Where it stands.
    #[inline]
    #[must_use]
    pub fn state(&self) -> State {
        if self.state == State::Open && self.protocol.is_spent() {
            State::Spent
        } else {
            self.state
        }
    }

    /// What is spoken on it once it is open, as ALPN names it.
    #[must_use]
    pub fn protocol_name(&self) -> &'static str {
        self.protocol.name()
    }

    /// What is spoken on it, for what only one protocol can do.
    pub(crate) fn protocol_mut(&mut self) -> &mut P {
        &mut self.protocol
    }

    /// How many exchanges the server allows at a time, once it has said so; `u32::MAX`: no limit.
    #[inline]
    #[must_use]
    pub fn exchanges_allowed(&self) -> Option<u32> {
        self.protocol.exchanges_allowed()
    }

    /// What the server has allowed on this connection, once it has said so.
    #[must_use]
    pub fn allowed_range(&self) -> Option<AllowedRange> {
        self.protocol.allowed_range()
    }

    /// Whether the server agreed to messages being compressed; `None` where that was not offered.
    #[must_use]
    pub fn is_compressed(&self) -> Option<bool> {
        self.protocol.is_compressed()
    }

    /// How many more requests can be sent now; none unless it is open.
    #[inline]
    #[must_use]
    pub fn room(&self) -> usize {
        if self.state == State::Open { self.protocol.room() } else { 0 }
    }

    /// Whether it is open and takes no request, although none is on it: the server allows none.
    #[inline]
    #[must_use]
    pub fn is_shut(&self) -> bool {
        self.state() == State::Open
            && self.protocol.open_exchanges() == 0
            && self.protocol.room() == 0
    }

    /// How many exchanges are open.
    #[inline]
    #[must_use]
    pub fn open_exchanges(&self) -> usize {
        self.protocol.open_exchanges()
    }

    /// All open exchanges, in the order in which they were started.
    #[inline]
    pub fn exchanges(&self) -> impl DoubleEndedIterator<Item = ExchangeId> {
        self.protocol.exchanges()
    }

    /// Whether it is of use after a response to a request that was not sent whole.
    #[must_use]
    pub fn survives_early_response(&self) -> bool {
        self.protocol.survives_early_response()
    }

    /// Whether it is on the way from closed to open.
    #[must_use]
    pub fn is_opening(&self) -> bool {
        matches!(
            self.state,
            State::Connecting | State::Tunnelling | State::Handshaking | State::Greeting
        )
    }

    /// The TLS session, where there is one.
    #[must_use]
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_deref()
    }

    /// Starts to connect.
    pub fn open<D: Driver>(&mut self, driver: &mut D, route: &Route) {
        debug_assert_eq!(self.state, State::Closed);
        self.tls = None;
        self.state = State::Connecting;
        driver.connect(self.socket, route);
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
                // Neither carries a PROXY protocol header with addresses in it.
                Address::Udp(_) | Address::Unix(_) => None,
            };
            header.write(&mut scratch.out, driver.local_address(self.socket), to);
        }
        if let Some(tunnel) = &setup.tunnel {
            scratch.out.extend_from_slice(tunnel);
            self.tunnel = Some(Box::new(ResponseDecoder::new(Limits::default())));
            self.state = State::Tunnelling;
        } else if let Err(failure) = self.begin_tls(setup, resume, scratch) {
            scratch.trim();
            return Err(failure);
        }
        Ok(self.flush(driver, scratch))
    }

    /// Begins the handshake, or the protocol without one.
    fn begin_tls(
        &mut self,
        setup: &Setup,
        resume: bool,
        scratch: &mut Scratch,
    ) -> Result<(), Failure> {
        match &setup.tls {
            None => self.begin_protocol(None, &mut scratch.frames),
            Some(tls) => {
                self.state = State::Handshaking;
                let session = Tls::client(&tls.config, &tls.name, resume, &mut scratch.out)?;
                self.tls = Some(Box::new(session));
            }
        }
        Ok(())
    }

    fn begin_protocol(&mut self, alpn: Option<&[u8]>, out: &mut Vec<u8>) {
        self.protocol.begin(alpn, out);
        self.state = if self.protocol.is_greeted() { State::Open } else { State::Greeting };
    }

    /// Sends what a call has left in `scratch`; gives the number of bytes.
    #[inline]
    pub fn flush<D: Driver>(&mut self, driver: &mut D, scratch: &mut Scratch) -> usize {
        let Scratch { frames, out, .. } = scratch;
        match &mut self.tls {
            // It fails only after a failure that receiving has reported, or the peer's goodbye,
            // whose end of stream is on its way: then there is nobody to send it to.
            Some(tls) if !frames.is_empty() => _ = tls.send(frames, out),
            None if out.is_empty() => std::mem::swap(frames, out),
            None => out.extend_from_slice(frames),
            Some(_) => {}
        }
        let bytes = out.len();
        if bytes > 0 {
            driver.send(self.socket, Payload::Copied(out));
        }
        scratch.trim();
        bytes
    }

    /// Starts an exchange: sends its request. Gives the number of bytes that takes. There must be
    /// room, but for a message without bytes, which was sent with the one before it.
    ///
    /// Where the protocol [gathers](Protocol::GATHERS) the request stands in `scratch`, and
    /// [`flush`](Self::flush) sends it.
    ///
    /// # Errors
    /// When a request that was written during the run does not fit the protocol: nothing was
    /// started. One that was compiled fits.
    #[inline]
    pub fn send<D: Driver>(
        &mut self,
        driver: &mut D,
        exchange: ExchangeId,
        message: &Message<'_, P::Encoding>,
        scratch: &mut Scratch,
    ) -> Result<usize, WrittenError> {
        debug_assert_eq!(self.state(), State::Open);
        let wire = self.protocol.start(exchange, message, &mut scratch.frames)?;
        Ok(if P::GATHERS { 0 } else { self.transmit(driver, wire, scratch) })
    }

    /// Sends the body of a request that was started without it, or further messages of a call;
    /// `message` is the same, but for the messages. Gives the number of bytes that takes.
    pub fn send_rest<D: Driver>(
        &mut self,
        driver: &mut D,
        exchange: ExchangeId,
        message: &Message<'_, P::Encoding>,
        scratch: &mut Scratch,
    ) -> usize {
        let wire = self.protocol.send_rest(exchange, message, &mut scratch.frames);
        if P::GATHERS { 0 } else { self.transmit(driver, wire, scratch) }
    }

    /// How long the body was that was handed over last, where the protocol says so.
    #[inline]
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.protocol.body_bytes()
    }

    /// How long the message was that was sent last, where it was compressed.
    #[inline]
    #[must_use]
    pub fn compressed(&self) -> Option<Sizes> {
        self.protocol.compressed()
    }

    /// Whether a part of the request that was just sent for this exchange is held back: by the
    /// kernel if the output [is full](Self::is_full), else by the peer's flow control.
    #[inline]
    #[must_use]
    pub fn is_held_back(&self, exchange: ExchangeId) -> bool {
        self.protocol.is_held_back(exchange)
    }

    /// Whether as many bytes of bodies wait for the kernel as the limit allows.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.protocol.is_full()
    }

    /// The kernel has taken output and has yet to take `queued_bytes`. Whether requests that it
    /// held back can [go on](Self::resume).
    #[inline]
    pub fn output_taken(&mut self, queued_bytes: usize) -> bool {
        self.protocol.output_taken(queued_bytes)
    }

    /// Goes on with requests that the kernel held back; what is to be sent for them stands in
    /// `scratch`.
    ///
    /// # Errors
    /// As those of [`receive`](Self::receive).
    pub fn resume(
        &mut self,
        scratch: &mut Scratch,
        mut progress: impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        self.protocol.receive(&[], &mut scratch.frames, &mut progress)
    }

    /// The caller is done with bytes of a response, where the protocol's settings say that it waits
    /// for that; what is to be sent for that stands in `scratch`.
    pub fn release(&mut self, exchange: ExchangeId, bytes: u32, scratch: &mut Scratch) {
        self.protocol.release(exchange, bytes, &mut scratch.frames);
    }

    /// Gives up on one exchange and goes on with the others; what is to be sent for that stands in
    /// `scratch`. `false`: this protocol can't, and the connection has to be closed.
    pub fn cancel(&mut self, exchange: ExchangeId, scratch: &mut Scratch) -> bool {
        self.protocol.cancel(exchange, &mut scratch.frames)
    }

    /// Begins to part from the server, which answers when it has read all that was sent; what is to
    /// be sent for that stands in `scratch`. `false`: there is no answer to wait for, and the
    /// connection can be closed.
    pub fn part(&mut self, scratch: &mut Scratch) -> bool {
        self.state() == State::Open && self.protocol.part(&mut scratch.frames)
    }

    /// Whether the server has answered that.
    #[must_use]
    pub fn has_parted(&self) -> bool {
        self.protocol.has_parted()
    }

    /// Sends what is to go on the wire; gives its length before TLS or, with TLS, behind it.
    #[inline]
    fn transmit<D: Driver>(
        &mut self,
        driver: &mut D,
        wire: Wire<'_>,
        scratch: &mut Scratch,
    ) -> usize {
        let bytes = match wire {
            Wire::Registered(id, len) => {
                driver.send(self.socket, Payload::Registered { id, offset: 0, len: len as u32 });
                return len;
            }
            Wire::Framed => return self.flush(driver, scratch),
            Wire::Bytes([]) => return 0,
            Wire::Bytes(bytes) => bytes,
        };
        let Some(tls) = &mut self.tls else {
            driver.send(self.socket, Payload::Copied(bytes));
            return bytes.len();
        };
        // As in `flush`.
        let _ = tls.send(bytes, &mut scratch.out);
        self.flush(driver, scratch)
    }

    /// Takes received bytes. `progress` is called for each step of each response in them. What is
    /// to be sent in turn stands in `scratch`: [`flush`](Self::flush) sends it.
    ///
    /// # Errors
    /// When the connection can't be used any further; the open exchanges are still in it.
    #[inline]
    pub fn receive(
        &mut self,
        setup: &Setup,
        resume: bool,
        scratch: &mut Scratch,
        bytes: &[u8],
        mut progress: impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        if self.tls.is_some() {
            return self.receive_tls(scratch, bytes, &mut progress);
        }
        if self.tunnel.is_some() {
            return self.receive_tunnel(setup, resume, scratch, bytes, &mut progress);
        }
        self.read(bytes, &mut scratch.frames, &mut progress)
    }

    /// Has the protocol read, and looks whether it has been greeted.
    #[inline]
    fn read(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        self.protocol.receive(bytes, out, progress)?;
        if self.state == State::Greeting {
            // A goodbye in the same breath: it was never of use.
            if self.protocol.is_spent() {
                return Err(Failure::Closed);
            }
            if self.protocol.is_greeted() {
                self.state = State::Open;
                progress(Progress::Greeted);
            }
        }
        Ok(())
    }

    #[inline]
    fn receive_tls(
        &mut self,
        scratch: &mut Scratch,
        bytes: &[u8],
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        let Some(mut tls) = self.tls.take() else {
            return Ok(());
        };
        let Scratch { plain, frames, out, .. } = scratch;
        plain.clear();
        let taken = tls.receive(bytes, plain, out);
        let (is_secured, has_ended) = (!tls.is_handshaking(), tls.is_closed_by_peer());
        if self.state == State::Handshaking && has_ended {
            // A goodbye in the same breath: it was never of use.
            self.tls = Some(tls);
            return Err(taken.err().map_or(Failure::Closed, Failure::Tls));
        }
        if self.state == State::Handshaking && is_secured {
            if !P::is_agreed(tls.alpn()) {
                let agreed = tls.alpn().map(|name| String::from_utf8_lossy(name).into_owned());
                self.tls = Some(tls);
                return Err(Failure::OtherProtocol { agreed, wanted: self.protocol.name() });
            }
            self.begin_protocol(tls.alpn(), frames);
            progress(Progress::Secured);
        }
        // What came before a failure has come.
        let read = self.read(plain, frames, progress);
        self.tls = Some(tls);
        read?;
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
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        let Some(after) = self.tunnelled(bytes)? else {
            return Ok(());
        };
        self.tunnel = None;
        progress(Progress::Tunnelled);
        self.begin_tls(setup, resume, scratch)?;
        match self.tls {
            Some(_) => self.receive_tls(scratch, after, progress),
            None => self.read(after, &mut scratch.frames, progress),
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

    /// The kernel has taken all that was sent.
    pub fn taken(&mut self, mut progress: impl FnMut(Progress<'_>)) {
        self.protocol.taken(&mut progress);
    }

    /// The server will send no more. A response that only the close could end is complete, unless
    /// TLS says that another party may have closed.
    ///
    /// # Errors
    /// When requests are left open or the response was cut short; they are still in it.
    pub fn ended(&mut self, mut progress: impl FnMut(Progress<'_>)) -> Result<(), Failure> {
        match self.state() {
            State::Spent if self.open_exchanges() == 0 => return Ok(()),
            State::Open | State::Spent => {}
            State::Tunnelling => return Err(Failure::Closed),
            State::Greeting => return Err(Failure::Ungreeted(self.protocol.name())),
            State::Handshaking => return Err(self.tls_end().err().unwrap_or(Failure::Closed)),
            State::Closed | State::Connecting => return Ok(()),
        }
        if self.protocol.ends_with_connection() {
            self.tls_end()?;
        }
        self.protocol.ended(&mut progress)
    }

    fn tls_end(&self) -> Result<(), Failure> {
        self.tls.as_ref().map_or(Ok(()), |tls| Ok(tls.end()?))
    }

    /// Closes as one does a connection that failed, and hands back the exchanges that were open: at
    /// once, unless the peer is to read why.
    pub fn give_up<D: Driver>(&mut self, driver: &mut D) -> impl Iterator<Item = ExchangeId> {
        let said_goodbye = self.protocol.has_said_goodbye();
        self.close(driver, if said_goodbye { Close::Graceful } else { Close::Reset })
    }

    /// Closes and hands back the exchanges that were open, in the order in which they were started.
    pub fn close<D: Driver>(
        &mut self,
        driver: &mut D,
        how: Close,
    ) -> impl Iterator<Item = ExchangeId> {
        if self.state != State::Closed {
            driver.close(self.socket, how);
            self.state = State::Closed;
            self.tunnel = None;
            self.tls = None;
        }
        self.protocol.drain()
    }
}
