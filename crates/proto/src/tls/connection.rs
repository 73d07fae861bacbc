//! One TLS connection, of either role: how bytes move through rustls.
//!
//! ```text
//!   client(), server() ──▶ handshaking ──▶ open ──▶ closed by the peer, by us, or both
//!                               │            │
//!                               └────────────┴──▶ failed: the same error from then on
//! ```

use std::io::{BufRead as _, Write as _};

use rustls::{ClientConnection, Connection, HandshakeKind, ProtocolVersion, ServerConnection};

use super::config::{ClientConfig, ServerConfig};
use super::error::TlsError;
use super::options::{ServerName, Version};

/// The most plaintext in one record (RFC 8446 section 5.1).
const RECORD_BYTES_MAX: usize = 1 << 14;

/// One TLS connection. Bytes to be sent are always appended to an `out`; send them, in that order,
/// whatever else the call returned: with an error comes the alert that tells the peer.
#[derive(Debug)]
pub struct Tls {
    connection: Connection,
    is_closed: bool,
    is_closed_by_peer: bool,
    failure: Option<TlsError>,
}

impl Tls {
    /// A client's side; its first bytes are appended to `out`. With `resume` it resumes a session
    /// if the configuration has one for `name`, and keeps those it is given; without, it makes a
    /// full handshake and keeps nothing.
    ///
    /// # Errors
    /// When the system gives no entropy.
    pub fn client(
        config: &ClientConfig,
        name: &ServerName,
        resume: bool,
        out: &mut Vec<u8>,
    ) -> Result<Self, TlsError> {
        let config = if resume { &config.resuming } else { &config.full };
        let connection = ClientConnection::new(config.clone(), name.0.clone());
        let mut tls = Self::new(Connection::Client(connection.map_err(TlsError::ours)?));
        tls.drain(out);
        Ok(tls)
    }

    /// A server's side.
    ///
    /// # Errors
    /// When the system gives no entropy.
    pub fn server(config: &ServerConfig) -> Result<Self, TlsError> {
        let connection = ServerConnection::new(config.0.clone());
        Ok(Self::new(Connection::Server(connection.map_err(TlsError::ours)?)))
    }

    fn new(connection: Connection) -> Self {
        Self { connection, is_closed: false, is_closed_by_peer: false, failure: None }
    }

    /// Takes in what the peer sent: plaintext is appended to `plain`, no longer than `input`. What
    /// follows the peer's close is ignored.
    ///
    /// # Errors
    /// When the peer breaks the protocol, is not trusted, or reports a failure. Plaintext that came
    /// before is in `plain`. The connection stays failed.
    pub fn receive(
        &mut self,
        mut input: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        while !input.is_empty() && !self.is_closed_by_peer {
            // An error here is a message that does not end within its limit.
            let taken = self.connection.read_tls(&mut input);
            let processed = match taken {
                Ok(_) => self.connection.process_new_packets().map_err(|error| self.told(error)),
                Err(_) => Err(TlsError::endless_message()),
            };
            self.take_plain(plain);
            match processed {
                Ok(state) => self.is_closed_by_peer = state.peer_has_closed(),
                Err(error) => {
                    self.drain(out);
                    self.failure = Some(error.clone());
                    return Err(error);
                }
            }
        }
        self.drain(out);
        Ok(())
    }

    /// Encrypts. May be called once [`is_handshaking`](Self::is_handshaking) is false.
    ///
    /// # Errors
    /// During the handshake, after [`close`](Self::close) and after a failure: nothing is appended.
    pub fn send(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), TlsError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if self.is_closed || self.is_handshaking() {
            return Err(TlsError::not_open());
        }
        for piece in plain.chunks(RECORD_BYTES_MAX) {
            match self.connection.writer().write(piece) {
                Ok(written) if written == piece.len() => self.drain(out),
                _ => return Err(TlsError::not_open()),
            }
        }
        Ok(())
    }

    /// Says that no more will be sent (close_notify, RFC 8446 section 6.1).
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.is_closed = true;
        self.connection.send_close_notify();
        self.drain(out);
    }

    /// For when the transport has ended: checks that TLS had ended before.
    ///
    /// # Errors
    /// When the peer did not say that it was done. That may be fine if the message states its own
    /// length (RFC 9112 section 9.8), which the caller knows.
    pub fn end(&self) -> Result<(), TlsError> {
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None if self.is_closed_by_peer => Ok(()),
            None => Err(TlsError::truncated(self.is_handshaking(), self.is_client())),
        }
    }

    /// Whether the handshake is still going on.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether the peer said that it will send no more.
    #[must_use]
    pub fn is_closed_by_peer(&self) -> bool {
        self.is_closed_by_peer
    }

    /// Whether the handshake resumed an earlier session; false until it has been agreed.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The version agreed on.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_2 => Some(Version::Tls12),
            ProtocolVersion::TLSv1_3 => Some(Version::Tls13),
            _ => None,
        }
    }

    /// The cipher suite agreed on, by its registered name.
    #[must_use]
    pub fn cipher(&self) -> Option<&'static str> {
        self.connection.negotiated_cipher_suite()?.suite().as_str()
    }

    /// The protocol agreed on by ALPN.
    #[must_use]
    pub fn alpn(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The name a client asked a server for (SNI).
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        match &self.connection {
            Connection::Server(connection) => connection.server_name(),
            Connection::Client(_) => None,
        }
    }

    fn is_client(&self) -> bool {
        matches!(self.connection, Connection::Client(_))
    }

    fn told(&self, error: rustls::Error) -> TlsError {
        TlsError::new(&error, self.is_client(), self.is_handshaking())
    }

    /// Hands out all plaintext, so that none is ever held.
    fn take_plain(&mut self, plain: &mut Vec<u8>) {
        let mut reader = self.connection.reader();
        while let Ok(bytes @ [_, ..]) = reader.fill_buf() {
            let len = bytes.len();
            plain.extend_from_slice(bytes);
            reader.consume(len);
        }
    }

    /// Hands out all bytes to send, so that none are ever held.
    fn drain(&mut self, out: &mut Vec<u8>) {
        while self.connection.wants_write() {
            self.connection.write_tls(out).expect("a Vec takes everything");
        }
    }
}
