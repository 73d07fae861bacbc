//! The server's side: what must stand in a request (RFC 6455 4.2.1), and the answer (4.2.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

use super::extensions::{self, DeflateAnswer};
use super::{accept, fields};
use crate::http1::{
    BodyLength, Headers, RequestHead, write_head_end, write_header, write_status_line,
};

/// The version of the protocol, the only one that there is.
pub const VERSION: &[u8] = b"13";

/// A request for a WebSocket that can be granted.
#[derive(Debug, Clone)]
pub struct Upgrade<'a> {
    key: &'a [u8],
    headers: Headers<'a>,
}

/// Why a request for a WebSocket is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum UpgradeError {
    /// Another method than GET.
    #[error("a WebSocket is asked for with GET")]
    Method,
    /// A request with a body, whose end the first frame would follow.
    #[error("a request for a WebSocket has no body")]
    Body,
    /// No Connection field that says `Upgrade`.
    #[error("Connection: Upgrade is missing")]
    Connection,
    /// No Sec-WebSocket-Version, or another one than 13.
    #[error("the version of WebSocket that is spoken here is 13")]
    Version,
    /// No Sec-WebSocket-Key, more than one, or one that is not 16 bytes in base64.
    #[error("Sec-WebSocket-Key is not 16 bytes in base64")]
    Key,
}

impl UpgradeError {
    /// The status that says so. A 426 names the version in Sec-WebSocket-Version (RFC 6455 4.4).
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Version => 426,
            _ => 400,
        }
    }
}

/// What a server grants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answer<'a> {
    /// One of the subprotocols that the client offered.
    pub subprotocol: Option<&'a str>,
    /// Compression, if the client offered it.
    pub deflate: Option<DeflateAnswer>,
}

impl<'a> Upgrade<'a> {
    /// Reads a request whose Host was checked. `None` when it does not ask for a WebSocket; that
    /// of HTTP/1.0 cannot (RFC 9110 7.8).
    ///
    /// # Errors
    /// When it asks for one in a wrong way.
    pub fn read(head: &RequestHead<'a>) -> Result<Option<Self>, UpgradeError> {
        let headers = head.headers();
        if head.minor_version == 0 || !fields::has(headers.clone(), "Upgrade", "websocket") {
            return Ok(None);
        }
        require(head.method == "GET", UpgradeError::Method)?;
        let has_body = !matches!(head.body, BodyLength::None | BodyLength::Known(0));
        require(!has_body, UpgradeError::Body)?;
        require(fields::has(headers.clone(), "Connection", "upgrade"), UpgradeError::Connection)?;
        let version = fields::only(headers.clone(), "Sec-WebSocket-Version");
        require(version == Some(VERSION), UpgradeError::Version)?;
        let key = fields::only(headers.clone(), "Sec-WebSocket-Key").ok_or(UpgradeError::Key)?;
        let mut nonce = [0; 18];
        let decoded = STANDARD.decode_slice(key, &mut nonce);
        require(decoded == Ok(16), UpgradeError::Key)?;
        Ok(Some(Self { key, headers }))
    }

    /// The subprotocols that the client offers, the preferred one first.
    pub fn subprotocols(&self) -> impl Iterator<Item = &'a str> {
        fields::elements(self.headers.clone(), "Sec-WebSocket-Protocol")
    }

    /// How to accept the compression that the client offers; `None` when it offers none that can
    /// be accepted.
    #[must_use]
    pub fn deflate(&self) -> Option<DeflateAnswer> {
        extensions::answer(self.headers.clone())
    }

    /// Writes the 101, whose blank line the first frame follows.
    pub fn write_response(&self, answer: &Answer<'_>, out: &mut Vec<u8>) {
        write_status_line(out, 1, 101);
        write_header(out, "Upgrade", b"websocket");
        write_header(out, "Connection", b"Upgrade");
        write_header(out, "Sec-WebSocket-Accept", accept(self.key).as_bytes());
        if let Some(subprotocol) = answer.subprotocol {
            write_header(out, "Sec-WebSocket-Protocol", subprotocol.as_bytes());
        }
        if let Some(deflate) = answer.deflate {
            write_header(out, extensions::FIELD, deflate.value().as_bytes());
        }
        write_head_end(out);
    }
}

fn require(holds: bool, error: UpgradeError) -> Result<(), UpgradeError> {
    if holds { Ok(()) } else { Err(error) }
}
