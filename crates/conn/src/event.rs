//! What goes into a connection and what comes out of it, in words that fit any protocol.
//!
//! An event names its request by the caller's `R`, since a protocol may answer in any order.

use plimsoll_io::PayloadId;
use plimsoll_proto::http1::{DecodeError, ResponseHead};
use plimsoll_proto::tls::TlsError;

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
    FirstByte(R),
    /// An interim response to the oldest request, 1xx.
    Interim(R, u16),
    /// The head of the oldest request's response.
    Head(R, &'a ResponseHead<'a>),
    /// A piece of its body.
    Body(R, &'a [u8]),
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
