//! The client's side: what it asks for, and what must stand in the answer (RFC 6455 4.1).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

use super::{accept, extensions, fields};
use crate::http1::{ResponseHead, write_header};
use crate::websocket::DeflateParameters;

/// What a client asks for.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// Drawn at random for each connection (RFC 6455 4.1, item 7).
    pub nonce: [u8; 16],
    /// The subprotocols that it speaks, the preferred one first.
    pub subprotocols: &'a [&'a str],
    /// Whether to offer compression of messages.
    pub deflate: bool,
}

/// What a server agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// Which of the offered subprotocols; `None` when the server chose none.
    pub subprotocol: Option<usize>,
    /// The parameters of compression; `None` without it.
    pub deflate: Option<DeflateParameters>,
}

/// Why an answer does not open a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum HandshakeError {
    /// Another status than 101.
    #[error("the server answered {0} instead of upgrading to WebSocket")]
    Status(u16),
    /// No Upgrade field that says `websocket`.
    #[error("the answer upgrades to something other than WebSocket")]
    Upgrade,
    /// No Connection field that says `Upgrade`.
    #[error("the answer has no Connection: Upgrade")]
    Connection,
    /// No Sec-WebSocket-Accept, or not that of our key.
    #[error("the answer's Sec-WebSocket-Accept is not that of the key")]
    Accept,
    /// A subprotocol that was not offered, or more than one.
    #[error("the server chose a subprotocol that was not offered")]
    Subprotocol,
    /// An extension that was not offered, or one with wrong parameters.
    #[error("the server chose an extension that was not offered, or with wrong parameters")]
    Extension,
}

impl HandshakeError {
    /// The error's name in results: snake case, stable.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Status(_) => "not_upgraded",
            Self::Upgrade => "bad_upgrade",
            Self::Connection => "bad_connection",
            Self::Accept => "bad_accept",
            Self::Subprotocol => "bad_subprotocol",
            Self::Extension => "bad_extension",
        }
    }
}

impl Offer<'_> {
    /// Writes the fields of the request, which is a GET of HTTP/1.1 with a Host. Names of
    /// subprotocols are the caller's to check: tokens (RFC 9110 5.6.2).
    pub fn write_fields(&self, out: &mut Vec<u8>) {
        write_header(out, "Upgrade", b"websocket");
        write_header(out, "Connection", b"Upgrade");
        write_header(out, "Sec-WebSocket-Version", super::VERSION);
        write_header(out, "Sec-WebSocket-Key", self.key().as_bytes());
        if !self.subprotocols.is_empty() {
            let names = self.subprotocols.join(", ");
            write_header(out, "Sec-WebSocket-Protocol", names.as_bytes());
        }
        if self.deflate {
            write_header(out, extensions::FIELD, extensions::OFFER.as_bytes());
        }
    }

    /// Checks the answer to the request.
    ///
    /// # Errors
    /// When the connection is not a WebSocket, or one with what was not offered.
    pub fn check(&self, head: &ResponseHead<'_>) -> Result<Agreed, HandshakeError> {
        if head.status != 101 {
            return Err(HandshakeError::Status(head.status));
        }
        let upgrade = fields::only(head.headers(), "Upgrade");
        if !upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case(b"websocket")) {
            return Err(HandshakeError::Upgrade);
        }
        if !fields::has(head.headers(), "Connection", "upgrade") {
            return Err(HandshakeError::Connection);
        }
        let accepted = fields::only(head.headers(), "Sec-WebSocket-Accept");
        if accepted != Some(accept(self.key().as_bytes()).as_bytes()) {
            return Err(HandshakeError::Accept);
        }
        let subprotocol = self.subprotocol(head)?;
        let deflate = extensions::agreed(head.headers()).map_err(|()| HandshakeError::Extension)?;
        if deflate.is_some() && !self.deflate {
            return Err(HandshakeError::Extension);
        }
        Ok(Agreed { subprotocol, deflate })
    }

    fn key(&self) -> String {
        STANDARD.encode(self.nonce)
    }

    fn subprotocol(&self, head: &ResponseHead<'_>) -> Result<Option<usize>, HandshakeError> {
        const NAME: &str = "Sec-WebSocket-Protocol";
        if fields::values(head.headers(), NAME).next().is_none() {
            return Ok(None);
        }
        let chosen = fields::only(head.headers(), NAME).ok_or(HandshakeError::Subprotocol)?;
        let offered = self.subprotocols.iter().position(|offered| offered.as_bytes() == chosen);
        offered.map(Some).ok_or(HandshakeError::Subprotocol)
    }
}
