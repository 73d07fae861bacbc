//! What can go wrong with a request, and the text and the number that k6 has for it.
//!
//! Scripts compare both, and thresholds and dashboards select by the number, so they are k6's.

use std::env::consts::OS;

use thiserror::Error;

/// The system's number for "too many open files in this process".
const EMFILE: i32 = 24;

/// What failed on an open connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Receiving.
    Read,
    /// Sending.
    Write,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// Why a request has no response, or none that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Fault<'a> {
    /// It took longer than it may, its redirects included.
    #[error("request timeout")]
    TimedOut,
    /// No server has the name.
    #[error("lookup: no such host")]
    NoSuchHost,
    /// The name cannot be looked up.
    #[error("lookup: {text}")]
    Lookup {
        /// Why.
        text: &'a str,
        /// The number of the system's error, where it is one of this host.
        errno: Option<i32>,
    },
    /// The server's address is one that the options forbid.
    #[error("ip is blacklisted")]
    BlockedAddress,
    /// The server's name is one that the options forbid.
    #[error("hostname is blocked")]
    BlockedName,
    /// The connection was not there in time.
    #[error("dial: i/o timeout")]
    ConnectTimedOut,
    /// No process listens at the port.
    #[error("dial: connection refused")]
    Refused,
    /// The system has refused to connect.
    #[error("dial: unknown errno {errno} error with msg `{text}`")]
    Connect {
        /// The number of the error.
        errno: i32,
        /// What the system says about it.
        text: &'a str,
    },
    /// This process has no socket left for a connection.
    #[error("dial: no socket is free in this process: use fewer VUs or connections")]
    NoSocket,
    /// A connection cannot be made, for another reason.
    #[error("dial: {0}")]
    ConnectOther(&'a str),
    /// The server has broken the connection off.
    #[error("{0}: connection reset by peer")]
    Reset(Operation),
    /// The connection is closed.
    #[error("{0}: broken pipe")]
    BrokenPipe(Operation),
    /// The system has refused to send or to receive.
    #[error("{operation}: unknown errno `{errno}` on {OS} with message `{text}`")]
    System {
        /// What failed.
        operation: Operation,
        /// The number of the error.
        errno: i32,
        /// What the system says about it.
        text: &'a str,
    },
    /// The server has closed the connection before the response.
    #[error("EOF")]
    Closed,
    /// The server has closed the connection within the response.
    #[error("unexpected EOF")]
    ClosedWithin,
    /// The answer to the TLS handshake is not TLS.
    #[error("tls: first record does not look like a TLS handshake")]
    NotTls,
    /// The certificate comes from an authority that is not trusted.
    #[error("x509: unknown authority")]
    UnknownAuthority,
    /// The certificate is for another name.
    #[error("x509: certificate doesn't match hostname")]
    WrongName,
    /// TLS has failed for another reason.
    #[error("{0}")]
    Tls(&'a str),
    /// The server has ended the connection with a GOAWAY. The name of the code as RFC 9113 has it,
    /// after any prefix that ends with a colon; so in the two that follow.
    #[error("http2: received GoAway with http2 ErrCode {}", name_of(.0))]
    GoAway(&'a str),
    /// One of the two sides has reset the stream.
    #[error("http2: stream error with http2 ErrCode {}", name_of(.0))]
    Stream(&'a str),
    /// The frames are not what HTTP/2 allows.
    #[error("http2: connection error with http2 ErrCode {}", name_of(.0))]
    Http2Connection(&'a str),
    /// HTTP/2 has failed for another reason.
    #[error("{0}")]
    Http2(&'a str),
    /// The body cannot be decompressed.
    #[error("{0}")]
    Decode(&'a str),
    /// The request cannot be sent, or the response cannot be used, for another reason.
    #[error("{0}")]
    Other(&'a str),
}

/// The error codes of HTTP/2 in their order (RFC 9113 7).
const HTTP2_CODES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

fn name_of(kind: &str) -> &str {
    kind.rsplit_once(':').map_or(kind, |(_, name)| name)
}

/// The number for a code of HTTP/2: `unknown` is that of the group, the others follow it.
fn http2_number(unknown: u16, kind: &str) -> u16 {
    let place = HTTP2_CODES.iter().position(|known| *known == name_of(kind));
    place.map_or(unknown, |place| unknown + 1 + place as u16)
}

impl Fault<'_> {
    /// The number in k6.
    #[must_use]
    pub fn number(&self) -> u16 {
        match self {
            Self::Other(_) | Self::Closed | Self::ClosedWithin => 1000,
            Self::TimedOut => 1050,
            Self::Lookup { .. } => 1100,
            Self::NoSuchHost => 1101,
            Self::BlockedAddress => 1110,
            Self::BlockedName => 1111,
            Self::BrokenPipe(_) => 1201,
            Self::System { .. } => 1202,
            Self::NoSocket | Self::ConnectOther(_) => 1210,
            Self::ConnectTimedOut => 1211,
            Self::Refused => 1212,
            Self::Connect { .. } => 1213,
            Self::Reset(_) => 1220,
            Self::Tls(_) => 1300,
            Self::NotTls => 1301,
            Self::UnknownAuthority => 1310,
            Self::WrongName => 1311,
            Self::Http2(_) => 1600,
            Self::GoAway(kind) => http2_number(1610, kind),
            Self::Stream(kind) => http2_number(1630, kind),
            Self::Http2Connection(kind) => http2_number(1650, kind),
            Self::Decode(_) => 1701,
        }
    }

    /// The number of the system's error, where the system has refused something. Texts are for
    /// people, and k6's: who counts goes by this.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Lookup { errno, .. } => *errno,
            Self::Connect { errno, .. } | Self::System { errno, .. } => Some(*errno),
            Self::NoSocket => Some(EMFILE),
            _ => None,
        }
    }
}

/// The number of a status that stands for an error; 0 for others.
pub(super) fn number_of_status(status: u16) -> u16 {
    if status >= 400 { 1000 + status } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_the_texts_and_numbers_of_k6() {
        let misbehaving = Fault::Lookup { text: "server misbehaving", errno: None };
        let unreachable = Fault::Connect { errno: 113, text: "no route to host" };
        for (fault, number, text) in [
            (Fault::TimedOut, 1050, "request timeout"),
            (Fault::NoSuchHost, 1101, "lookup: no such host"),
            (misbehaving, 1100, "lookup: server misbehaving"),
            (Fault::BlockedAddress, 1110, "ip is blacklisted"),
            (Fault::BlockedName, 1111, "hostname is blocked"),
            (Fault::ConnectTimedOut, 1211, "dial: i/o timeout"),
            (Fault::Refused, 1212, "dial: connection refused"),
            (Fault::Reset(Operation::Read), 1220, "read: connection reset by peer"),
            (Fault::BrokenPipe(Operation::Write), 1201, "write: broken pipe"),
            (Fault::Closed, 1000, "EOF"),
            (Fault::UnknownAuthority, 1310, "x509: unknown authority"),
            (Fault::WrongName, 1311, "x509: certificate doesn't match hostname"),
            (
                Fault::GoAway("goaway:NO_ERROR"),
                1611,
                "http2: received GoAway with http2 ErrCode NO_ERROR",
            ),
            (Fault::GoAway("UNKNOWN"), 1610, "http2: received GoAway with http2 ErrCode UNKNOWN"),
            (
                Fault::Stream("reset:HTTP_1_1_REQUIRED"),
                1644,
                "http2: stream error with http2 ErrCode HTTP_1_1_REQUIRED",
            ),
            (
                Fault::Http2Connection("PROTOCOL_ERROR"),
                1652,
                "http2: connection error with http2 ErrCode PROTOCOL_ERROR",
            ),
        ] {
            assert_eq!((fault.number(), fault.to_string().as_str()), (number, text));
        }
        assert_eq!(unreachable.number(), 1213);
        let errnos = [unreachable, misbehaving, Fault::NoSocket, Fault::Refused];
        assert_eq!(errnos.map(|fault| fault.errno()), [Some(113), None, Some(EMFILE), None]);
        let text = "dial: unknown errno 113 error with msg `no route to host`";
        assert_eq!(unreachable.to_string(), text);
        let numbers = [0, 101, 200, 399, 400, 404, 599, 600].map(number_of_status);
        assert_eq!(numbers, [0, 0, 0, 0, 1400, 1404, 1599, 1600]);
    }
}
