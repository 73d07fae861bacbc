//! What goes into a connection and what comes out of it, in words that fit any protocol.
//!
//! An event names its exchange, since a protocol may answer in any order.

use plimsoll_core::compression::Sizes;
use plimsoll_proto::http1::{DecodeError, Headers};
use plimsoll_proto::http2::{ConnectionError, StreamError};
use plimsoll_proto::tls::TlsError;
use plimsoll_proto::websocket::handshake::HandshakeError;
use plimsoll_proto::websocket::{self, Close, CloseCode};

/// Pings whose answers may wait for the server to read them: some MiB of them.
pub(crate) const PINGS_MAX: u32 = 10_000;

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
    /// Its status; 0 where the protocol has none.
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
    /// The connection has room for the rest of a request that was held back, and has written it.
    Resumed {
        /// The request's exchange.
        exchange: ExchangeId,
        /// Where the request ends in the bytes that are to be sent next.
        waiting_bytes: usize,
    },
    /// The first byte of a response is here.
    FirstByte(ExchangeId),
    /// An interim response, 1xx. The first byte of the final one is yet to come.
    Interim(ExchangeId, u16),
    /// The head of a response.
    Head(ExchangeId, &'a Head<'a>),
    /// A response without a head begins.
    Message(ExchangeId),
    /// A piece of its body.
    Body(ExchangeId, &'a [u8]),
    /// The fields behind its body.
    Trailers(ExchangeId, Headers<'a>),
    /// The response is complete: the exchange has ended.
    Complete(ExchangeId, Response),
    /// The server says that it has not processed the request: the exchange has ended, with an error
    /// of this kind.
    Refused(ExchangeId, &'static str),
    /// The server gave this exchange up, and it alone: it has ended, with an error of this kind.
    Reset(ExchangeId, &'static str),
    /// The response broke the rules, and this exchange alone was given up: it has ended.
    Broken(ExchangeId, StreamError),
    /// The server sent a message that answers nothing.
    Pushed {
        /// Its length.
        bytes: u64,
        /// The exchange whose response it might have been: the first byte of that is yet to come.
        beside: Option<ExchangeId>,
    },
    /// A message came compressed, and was as long as this.
    Decompressed(Sizes),
    /// The server asked for a sign of life, and was answered.
    Ping,
}

impl Progress<'_> {
    /// Whether the server answers a request, in part or in whole, or ends it without an answer.
    /// Events that concern the connection alone do not count, nor does room for more of a request.
    #[inline]
    #[must_use]
    pub fn is_of_response(&self) -> bool {
        match self {
            Self::Tunnelled
            | Self::Secured
            | Self::Greeted
            | Self::Room
            | Self::Resumed { .. }
            | Self::Pushed { .. }
            | Self::Decompressed(_)
            | Self::Ping => false,
            Self::FirstByte(_)
            | Self::Interim(..)
            | Self::Head(..)
            | Self::Message(_)
            | Self::Body(..)
            | Self::Trailers(..)
            | Self::Complete(..)
            | Self::Refused(..)
            | Self::Reset(..)
            | Self::Broken(..) => true,
        }
    }
}

/// The kind of a request that the server has not processed, where it does not say why.
pub const REFUSED: &str = "request_refused";

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
    /// The server does not open a WebSocket.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// The frames are not what WebSocket allows.
    #[error(transparent)]
    WebSocket(#[from] websocket::Error),
    /// The server closed the WebSocket.
    #[error(transparent)]
    PeerClose(#[from] PeerClose),
    /// The server pings and does not take the answers.
    #[error("the server sent {PINGS_MAX} pings and took no answer to them")]
    PingFlood,
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
    /// The answer is not what was sent, where that is what comes back.
    #[error("the server sent back other bytes than it got")]
    NotEchoed,
    /// The datagram that came back is shorter than the one that was sent.
    #[error("the server sent back a shorter datagram than it got")]
    CutShort,
    /// The server closed with requests open.
    #[error("the server closed the connection before the response")]
    Closed,
    /// The server closed before a request could be sent, without a word of this protocol, by its
    /// name in ALPN.
    #[error("the server closed the connection without a word of {0}: does it speak that here?")]
    Ungreeted(&'static str),
    /// The server closed with requests open that it had not refused, after a GOAWAY that says why:
    /// the kind that names its code.
    #[error("the server closed the connection with {0} before the response")]
    Goodbye(&'static str),
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
            Self::Handshake(error) => error.kind(),
            Self::WebSocket(error) => error.kind(),
            Self::PeerClose(close) => close.kind(),
            Self::PingFlood => "ping_flood",
            Self::OtherProtocol { .. } => OTHER_PROTOCOL,
            Self::Tls(error) => error.kind().name(),
            Self::Goodbye(kind) => kind,
            Self::Tunnel(_) => "tunnel_refused",
            Self::Unsolicited => "unsolicited",
            Self::NotEchoed => "not_echoed",
            Self::CutShort => "cut_short",
            Self::Closed | Self::ClosedEarly | Self::Ungreeted(_) => "closed",
        }
    }

    /// Whether it is no more than the end of the connection: no error if no exchange was open.
    #[must_use]
    pub fn is_close(&self) -> bool {
        match self {
            Self::PeerClose(close) => close.is_ordinary(),
            failure => {
                matches!(failure, Self::Closed | Self::ClosedEarly | Self::Ungreeted(_))
            }
        }
    }
}

/// The Close frame with which a server ended a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the server closed the WebSocket with {code}{}", said(.reason))]
pub struct PeerClose {
    code: CloseCode,
    reason: String,
}

impl PeerClose {
    pub(crate) fn of(close: Close<'_>) -> Self {
        Self { code: close.code, reason: close.reason.to_owned() }
    }

    /// A stable name for results.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.code.number() {
            1000 => "close:1000",
            1001 => "close:1001",
            1002 => "close:1002",
            1003 => "close:1003",
            1007 => "close:1007",
            1008 => "close:1008",
            1009 => "close:1009",
            1010 => "close:1010",
            1011 => "close:1011",
            1012 => "close:1012",
            1013 => "close:1013",
            1014 => "close:1014",
            3000..=3999 => "close:3xxx",
            4000..=4999 => "close:4xxx",
            _ => "close:1005",
        }
    }

    /// Whether servers close like this where nothing is wrong: its work is done, the server goes
    /// away, or it does not say why.
    fn is_ordinary(&self) -> bool {
        [CloseCode::NORMAL, CloseCode::GOING_AWAY, CloseCode::NO_STATUS].contains(&self.code)
    }
}

/// The reason that a server gave, which it chose.
fn said(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason:?}") }
}

fn other_protocol(agreed: Option<&str>, wanted: &str) -> String {
    match agreed {
        None => format!("the server does not offer {wanted} in TLS (ALPN)"),
        Some(agreed) => format!("the server chose {agreed} in TLS (ALPN), and not {wanted}"),
    }
}
