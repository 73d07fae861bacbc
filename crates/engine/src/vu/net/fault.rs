//! What goes wrong below, in k6's words.

use std::io;

use plimsoll_conn::{DecodeError, Failure};
use plimsoll_io::{Operation, OsError};
use plimsoll_proto::tls::{TlsCause, TlsError, TlsErrorKind};
use plimsoll_script::js::http::{self, Fault};

/// A fault that owns its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owned {
    NoSuchHost,
    Lookup(String, Option<i32>),
    BlockedAddress,
    BlockedName,
    ConnectTimedOut,
    Refused,
    Connect(i32, String),
    NoSocket,
    ConnectOther(String),
    Reset(http::Operation),
    BrokenPipe(http::Operation),
    System(http::Operation, i32, String),
    Closed,
    ClosedWithin,
    NotTls,
    UnknownAuthority,
    WrongName,
    Tls(String),
    GoAway(&'static str),
    Stream(&'static str),
    Http2Connection(&'static str),
    Other(String),
}

impl Owned {
    pub(super) fn as_fault(&self) -> Fault<'_> {
        match self {
            Self::NoSuchHost => Fault::NoSuchHost,
            Self::Lookup(text, errno) => Fault::Lookup { text, errno: *errno },
            Self::BlockedAddress => Fault::BlockedAddress,
            Self::BlockedName => Fault::BlockedName,
            Self::ConnectTimedOut => Fault::ConnectTimedOut,
            Self::Refused => Fault::Refused,
            Self::Connect(errno, text) => Fault::Connect { errno: *errno, text },
            Self::NoSocket => Fault::NoSocket,
            Self::ConnectOther(text) => Fault::ConnectOther(text),
            Self::Reset(operation) => Fault::Reset(*operation),
            Self::BrokenPipe(operation) => Fault::BrokenPipe(*operation),
            Self::System(operation, errno, text) => {
                Fault::System { operation: *operation, errno: *errno, text }
            }
            Self::Closed => Fault::Closed,
            Self::ClosedWithin => Fault::ClosedWithin,
            Self::NotTls => Fault::NotTls,
            Self::UnknownAuthority => Fault::UnknownAuthority,
            Self::WrongName => Fault::WrongName,
            Self::Tls(text) => Fault::Tls(text),
            Self::GoAway(kind) => Fault::GoAway(kind),
            Self::Stream(kind) => Fault::Stream(kind),
            Self::Http2Connection(kind) => Fault::Http2Connection(kind),
            Self::Other(text) => Fault::Other(text),
        }
    }

    /// Whether a connection that was used before may have been closed before the request came, so
    /// that another connection may take it.
    pub(super) fn may_be_stale(&self) -> bool {
        matches!(self, Self::Closed | Self::Reset(_) | Self::BrokenPipe(_) | Self::GoAway(_))
    }
}

/// What the system says.
pub(super) fn of_system(operation: Operation, error: OsError) -> Owned {
    let kind = io::Error::from_raw_os_error(error.0).kind();
    let text = || {
        // The number stands beside it.
        let text = error.to_string();
        let end = text.find(" (os error").unwrap_or(text.len());
        text[..end].to_lowercase()
    };
    let direction = match operation {
        Operation::Connect | Operation::Accept => {
            return match kind {
                io::ErrorKind::ConnectionRefused => Owned::Refused,
                io::ErrorKind::TimedOut => Owned::ConnectTimedOut,
                _ => Owned::Connect(error.0, text()),
            };
        }
        Operation::Send => http::Operation::Write,
        Operation::Receive => http::Operation::Read,
    };
    match kind {
        io::ErrorKind::ConnectionReset => Owned::Reset(direction),
        io::ErrorKind::BrokenPipe => Owned::BrokenPipe(direction),
        _ => Owned::System(direction, error.0, text()),
    }
}

/// Why a connection is of no use any more. `has_begun` is whether a response had begun.
pub(super) fn of_connection(failure: &Failure, has_begun: bool) -> Owned {
    match failure {
        Failure::Closed | Failure::ClosedEarly | Failure::Ungreeted(_) => {
            if has_begun {
                Owned::ClosedWithin
            } else {
                Owned::Closed
            }
        }
        Failure::Decode(DecodeError::TruncatedBody | DecodeError::TruncatedHead) => {
            Owned::ClosedWithin
        }
        Failure::Goodbye(kind) => Owned::GoAway(kind),
        Failure::Http2(error) => Owned::Http2Connection(error.kind()),
        Failure::Tls(error) => of_tls(error),
        failure => Owned::Other(failure.to_string()),
    }
}

fn of_tls(error: &TlsError) -> Owned {
    match (error.cause(), error.kind()) {
        (TlsCause::UnknownAuthority, _) => Owned::UnknownAuthority,
        (TlsCause::WrongName, _) => Owned::WrongName,
        (TlsCause::NotTls, _) => Owned::NotTls,
        (TlsCause::Other, TlsErrorKind::Truncated) => Owned::Closed,
        // Scripts do not have the flags that the advice names.
        (TlsCause::Other, _) => Owned::Tls(error.what().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_has_a_number_in_k6() {
        for (operation, errno, number) in [
            (Operation::Connect, 111, 1212),
            (Operation::Connect, 110, 1211),
            (Operation::Connect, 113, 1213),
            (Operation::Receive, 104, 1220),
            (Operation::Send, 32, 1201),
            (Operation::Send, 105, 1202),
        ] {
            let fault = of_system(operation, OsError(errno));
            assert_eq!(fault.as_fault().number(), number, "{operation:?} {errno}");
        }
    }
}
