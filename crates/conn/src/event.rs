//! What goes into a connection and what comes out of it, in words that fit any protocol.
//!
//! An event names its exchange, since a protocol may answer in any order.

use plimsoll_proto::http1::{DecodeError, Headers};
use plimsoll_proto::http2::ConnectionError;
use plimsoll_proto::tls::TlsError;

/// One exchange: a request and its answer. The caller numbers them, and may use a number again once
/// the exchange has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExchangeId(pub u32);

/// The head of a response.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// Its status.
    pub status: u16,
    lines: &'a [u8],
}

impl<'a> Head<'a> {
    /// A head whose `lines` are a first line, which is not looked at, and one line for each field.
    #[must_use]
    pub fn new(status: u16, lines: &'a [u8]) -> Self {
        Self { status, lines }
    }

    /// The fields in order: the name as it was sent, and the value without the white space around
    /// it.
    #[must_use]
    pub fn fields(&self) -> Headers<'a> {
        fields(self.lines)
    }

    /// The first line and one line for each field, which [`fields`] reads.
    #[must_use]
    pub fn lines(&self) -> &'a [u8] {
        self.lines
    }
}

/// The fields in the [`lines`](Head::lines) of a head.
#[must_use]
pub fn fields(lines: &[u8]) -> Headers<'_> {
    Headers::of_head(lines)
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
pub enum Progress<'a> {
    /// The way to the server stands: the proxy has opened the tunnel.
    Tunnelled,
    /// The TLS handshake is done.
    Secured,
    /// The peer has said what a client must know before its first request.
    Greeted,
    /// The peer allows more exchanges at a time than before.
    Room,
    /// The peer has room for the rest of a request that it held back: that goes out now.
    Resumed(ExchangeId),
    /// The first byte of a response is here.
    FirstByte(ExchangeId),
    /// An interim response, 1xx. The first byte of the final one is yet to come.
    Interim(ExchangeId, u16),
    /// The head of a response.
    Head(ExchangeId, &'a Head<'a>),
    /// A piece of its body.
    Body(ExchangeId, &'a [u8]),
    /// The fields behind its body.
    Trailers(ExchangeId, Headers<'a>),
    /// The response is complete: the exchange has ended.
    Complete(ExchangeId, Response),
    /// The server says that it has not processed the request: the exchange has ended.
    Refused(ExchangeId),
    /// The server gave this exchange up, and it alone: it has ended, with an error of this kind.
    Reset(ExchangeId, &'static str),
}

/// The [kind](Failure::kind) of [`Failure::OtherProtocol`].
pub const OTHER_PROTOCOL: &str = "other_protocol";

/// Why a connection can't be used any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The bytes are not what the protocol allows.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The frames are not what HTTP/2 allows.
    #[error(transparent)]
    Http2(#[from] ConnectionError),
    /// TLS agreed on another protocol than the run's, or on none.
    #[error("{}", other_protocol(.agreed.as_deref(), wanted))]
    OtherProtocol {
        /// What the server chose of what it was offered (RFC 7301).
        agreed: Option<String>,
        /// What is spoken in this run.
        wanted: &'static str,
    },
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
    /// The server said that it closes after a response, with requests open behind it.
    #[error("the server closed with later requests unanswered")]
    ClosedEarly,
}

impl Failure {
    /// A stable name for results.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Decode(error) => error.kind(),
            Self::Http2(error) => error.kind(),
            Self::OtherProtocol { .. } => OTHER_PROTOCOL,
            Self::Tls(error) => error.kind().name(),
            Self::Tunnel(_) => "tunnel_refused",
            Self::Unsolicited => "unsolicited",
            Self::Closed | Self::ClosedEarly => "closed",
        }
    }

    /// Whether it is no more than the end of the connection: no error if no exchange was open.
    #[must_use]
    pub fn is_close(&self) -> bool {
        matches!(self, Self::Closed | Self::ClosedEarly)
    }
}

fn other_protocol(agreed: Option<&str>, wanted: &str) -> String {
    match agreed {
        None => format!("the server does not offer {wanted} in TLS (ALPN)"),
        Some(agreed) => format!("the server chose {agreed} in TLS (ALPN), and not {wanted}"),
    }
}
