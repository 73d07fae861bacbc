//! A driver with TLS on some of its connections: those of clients, of upstreams, of both or of
//! neither. The proxy above sends and receives plaintext.

use plimsoll_io::{Close, Driver, Payload, Received, SocketId};
use plimsoll_proto::tls::{ServerConfig, Tls};

use super::options::UpstreamTls;

/// Scratch memory that grew beyond this is given back after use.
const KEEP_BYTES: usize = 256 * 1024;

/// The state of a connection after bytes were received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// It goes on.
    Open,
    /// The peer will send no more.
    Ended,
    /// TLS failed; the alert for the peer is on its way.
    Failed,
}

/// A driver and the TLS over it.
#[derive(Debug)]
pub(super) struct Wire<D> {
    pub(super) driver: D,
    /// How TLS is spoken with clients.
    front: Option<ServerConfig>,
    /// By socket; boxed, because most sockets are not in use. Empty while nobody speaks TLS.
    sessions: Vec<Option<Box<Tls>>>,
    /// Scratch memory for records on their way to the driver.
    out: Vec<u8>,
}

impl<D: Driver> Wire<D> {
    pub(super) fn new(driver: D, front: Option<ServerConfig>) -> Self {
        Self { driver, front, sessions: Vec::new(), out: Vec::new() }
    }

    /// Whether TLS is spoken on a connection.
    #[inline]
    pub(super) fn is_secure(&self, socket: SocketId) -> bool {
        self.sessions.get(socket.index()).is_some_and(Option::is_some)
    }

    /// Whether a connection's handshake goes on.
    pub(super) fn is_handshaking(&self, socket: SocketId) -> bool {
        self.session(socket).is_some_and(Tls::is_handshaking)
    }

    /// Whether the handshake is over and has chosen this protocol; `None` before its end, and if it
    /// chose none.
    pub(super) fn has_chosen(&self, socket: SocketId, protocol: &[u8]) -> Option<bool> {
        let session = self.session(socket)?;
        Some(session.alpn().filter(|_| !session.is_handshaking())? == protocol)
    }

    fn session(&self, socket: SocketId) -> Option<&Tls> {
        self.sessions.get(socket.index())?.as_deref()
    }

    fn put(&mut self, socket: SocketId, session: Tls) {
        let slots = self.sessions.len().max(socket.index() + 1);
        self.sessions.resize_with(slots, || None);
        self.sessions[socket.index()] = Some(Box::new(session));
    }

    /// Takes an accepted client. False if it cannot be served because there is no entropy.
    pub(super) fn accept(&mut self, socket: SocketId) -> bool {
        let Some(config) = &self.front else { return true };
        let Ok(session) = Tls::server(config) else { return false };
        self.put(socket, session);
        true
    }

    /// A connection to an upstream is open: begins the handshake. False if it cannot, because there
    /// is no entropy.
    pub(super) fn secure(&mut self, socket: SocketId, tls: &UpstreamTls) -> bool {
        self.out.clear();
        let Ok(session) = Tls::client(&tls.config, &tls.name, true, &mut self.out) else {
            return false;
        };
        self.put(socket, session);
        self.pass_on(socket);
        true
    }

    /// Decrypts what was received, appends it to `plain`, and sends what TLS replies.
    pub(super) fn decrypt(&mut self, received: &Received, plain: &mut Vec<u8>) -> Stream {
        self.out.clear();
        let slot = self.sessions.get_mut(received.socket.index());
        let Some(session) = slot.and_then(Option::as_deref_mut) else { return Stream::Failed };
        let outcome = session.receive(self.driver.bytes(received), plain, &mut self.out);
        let ended = session.is_closed_by_peer();
        self.pass_on(received.socket);
        match outcome {
            Err(_) => Stream::Failed,
            Ok(()) if ended => Stream::Ended,
            Ok(()) => Stream::Open,
        }
    }

    /// Whether the peer meant to end where the transport ended.
    pub(super) fn ended_well(&self, socket: SocketId) -> bool {
        self.session(socket).is_none_or(|session| session.end().is_ok())
    }

    /// Sends, encrypted if need be. Returns how many bytes the driver was given.
    #[inline]
    pub(super) fn send(&mut self, socket: SocketId, bytes: &[u8]) -> usize {
        if !self.sessions.is_empty() && self.is_secure(socket) {
            return self.encrypt(socket, bytes);
        }
        self.driver.send(socket, Payload::Copied(bytes));
        bytes.len()
    }

    fn encrypt(&mut self, socket: SocketId, bytes: &[u8]) -> usize {
        self.out.clear();
        let slot = self.sessions.get_mut(socket.index());
        let Some(session) = slot.and_then(Option::as_deref_mut) else { return 0 };
        // It fails only after a failure that receiving has reported, or after a goodbye: then there
        // is nobody to send it to.
        let _ = session.send(bytes, &mut self.out);
        self.pass_on(socket)
    }

    /// Tells the peer that no more will be sent, if TLS is spoken.
    pub(super) fn say_closed(&mut self, socket: SocketId) {
        self.out.clear();
        let slot = self.sessions.get_mut(socket.index());
        if let Some(session) = slot.and_then(Option::as_deref_mut) {
            session.close(&mut self.out);
            self.pass_on(socket);
        }
    }

    /// Ends a connection.
    pub(super) fn close(&mut self, socket: SocketId, how: Close) {
        self.driver.close(socket, how);
        if let Some(session) = self.sessions.get_mut(socket.index()) {
            *session = None;
        }
    }

    /// Hands the records to the driver.
    fn pass_on(&mut self, socket: SocketId) -> usize {
        let len = self.out.len();
        if len > 0 {
            self.driver.send(socket, Payload::Copied(&self.out));
        }
        self.out.clear();
        self.out.shrink_to(KEEP_BYTES);
        len
    }
}
