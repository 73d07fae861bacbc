//! A driver, with optional TLS on top. The server above sends and receives plaintext and does not
//! know the difference.
//!
//! Without TLS the only cost is a branch. With TLS, registered bytes are encrypted for each
//! connection again, so this module keeps a copy of them.

use std::sync::Arc;

use plimsoll_io::{Driver, Payload, PayloadId, Received, SocketId};
use plimsoll_proto::tls::{ServerConfig, Tls};

/// The state of a connection after bytes were received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// It goes on.
    Open,
    /// The client will send no more.
    Ended,
    /// TLS failed; the alert for the client is on its way.
    Failed,
}

/// A driver and the TLS over it.
#[derive(Debug)]
pub(crate) struct Wire<D> {
    pub(crate) driver: D,
    secure: Option<Secure>,
    /// Bytes handed to the driver.
    pub(crate) bytes_sent: u64,
}

#[derive(Debug)]
struct Secure {
    config: ServerConfig,
    /// By socket; boxed, because most sockets are not in use.
    sessions: Vec<Option<Box<Tls>>>,
    registered: Vec<(PayloadId, Arc<[u8]>)>,
    /// Scratch memory for records on their way to the driver.
    out: Vec<u8>,
}

impl Secure {
    fn session(&mut self, socket: SocketId) -> Option<(&mut Tls, &mut Vec<u8>)> {
        self.out.clear();
        let session = self.sessions.get_mut(socket.index())?.as_deref_mut()?;
        Some((session, &mut self.out))
    }
}

impl<D: Driver> Wire<D> {
    /// A driver, with TLS if there is a configuration for it.
    pub(crate) fn new(driver: D, config: Option<ServerConfig>) -> Self {
        let secure = config.map(|config| Secure {
            config,
            sessions: Vec::new(),
            registered: Vec::new(),
            out: Vec::new(),
        });
        Self { driver, secure, bytes_sent: 0 }
    }

    #[inline]
    pub(crate) fn is_secure(&self) -> bool {
        self.secure.is_some()
    }

    /// Keeps bytes that are sent often.
    pub(crate) fn register(&mut self, bytes: Arc<[u8]>) -> PayloadId {
        let id = self.driver.register(Arc::clone(&bytes));
        if let Some(secure) = &mut self.secure {
            secure.registered.push((id, bytes));
        }
        id
    }

    /// Takes an accepted client. False if it cannot be served because there is no entropy.
    pub(crate) fn accept(&mut self, socket: SocketId) -> bool {
        let Some(secure) = &mut self.secure else { return true };
        let Ok(session) = Tls::server(&secure.config) else { return false };
        let slots = secure.sessions.len().max(socket.index() + 1);
        secure.sessions.resize_with(slots, || None);
        secure.sessions[socket.index()] = Some(Box::new(session));
        true
    }

    /// Decrypts what was received, appends it to `plain`, and sends what TLS replies.
    pub(crate) fn decrypt(&mut self, received: &Received, plain: &mut Vec<u8>) -> Stream {
        let Some(secure) = &mut self.secure else { return Stream::Open };
        let Some((session, out)) = secure.session(received.socket) else { return Stream::Failed };
        let outcome = session.receive(self.driver.bytes(received), plain, out);
        let ended = session.is_closed_by_peer();
        self.pass_on(received.socket);
        match outcome {
            Err(_) => Stream::Failed,
            Ok(()) if ended => Stream::Ended,
            Ok(()) => Stream::Open,
        }
    }

    /// Whether the handshake is over and has chosen this protocol; `None` before its end, and if it
    /// chose none.
    pub(crate) fn has_chosen(&self, socket: SocketId, protocol: &[u8]) -> Option<bool> {
        let sessions = &self.secure.as_ref()?.sessions;
        let session = sessions.get(socket.index())?.as_deref()?;
        Some(session.alpn().filter(|_| !session.is_handshaking())? == protocol)
    }

    /// Sends, encrypted if need be.
    #[inline]
    pub(crate) fn send(&mut self, socket: SocketId, payload: Payload<'_>) {
        if self.secure.is_some() {
            return self.encrypt(socket, payload);
        }
        self.bytes_sent += payload.len() as u64;
        self.driver.send(socket, payload);
    }

    fn encrypt(&mut self, socket: SocketId, payload: Payload<'_>) {
        let Some(secure) = &mut self.secure else { return };
        let registered;
        let plain = match payload {
            Payload::Copied(bytes) => bytes,
            Payload::Registered { id, offset, len } => {
                let found = secure.registered.iter().find(|(known, _)| *known == id);
                registered = Arc::clone(&found.expect("registered through this").1);
                &registered[offset as usize..][..len as usize]
            }
        };
        let Some((session, out)) = secure.session(socket) else { return };
        // After a failure there is nobody to answer; the connection is being closed.
        let _ = session.send(plain, out);
        self.pass_on(socket);
    }

    /// Tells the client that no more will be sent, as TLS requires. Further calls do nothing.
    pub(crate) fn say_closed(&mut self, socket: SocketId) {
        let Some(secure) = &mut self.secure else { return };
        let Some((session, out)) = secure.session(socket) else { return };
        session.close(out);
        self.pass_on(socket);
    }

    /// The connection is closed.
    pub(crate) fn forget(&mut self, socket: SocketId) {
        if let Some(secure) = &mut self.secure
            && let Some(session) = secure.sessions.get_mut(socket.index())
        {
            *session = None;
        }
    }

    /// Hands the records to the driver.
    fn pass_on(&mut self, socket: SocketId) {
        let Some(secure) = &self.secure else { return };
        if !secure.out.is_empty() {
            self.bytes_sent += secure.out.len() as u64;
            self.driver.send(socket, Payload::Copied(&secure.out));
        }
    }
}
