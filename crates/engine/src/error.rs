//! Why a run cannot start, and the names of errors during a run.

use std::io;

use plimsoll_core::Phase;
use plimsoll_core::plan::Field;
use plimsoll_io::OsError;

/// Why a run could not be made at all. What goes wrong once it runs is counted in its result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The request cannot be written.
    #[error(transparent)]
    Request(#[from] crate::source::SourceError),
    /// The request for a tunnel cannot be written.
    #[error("the request for a tunnel cannot be written: {0}")]
    Tunnel(#[from] plimsoll_conn::EncodeError),
    /// An expectation that cannot be checked.
    #[error("expectation '{expectation}': {reason}")]
    Expectation {
        /// As it was given.
        expectation: String,
        /// Why not.
        reason: String,
    },
    /// Replies of a WebSocket cannot be told by the expression that was given.
    #[error("the replies to match cannot be told: '{pattern}' is no regular expression: {reason}")]
    WebSocketReply {
        /// As it was given.
        pattern: String,
        /// Why not.
        reason: String,
    },
    /// TLS cannot be set up: what is wrong, and what.
    #[error("{1}")]
    Tls(Field, String),
    /// The name has no address.
    #[error("{0}")]
    Resolve(io::Error),
    /// This host does not allow what the plan needs.
    #[error("{0}")]
    Limit(String),
    /// No driver could be set up.
    #[error("driver: {0}")]
    Driver(io::Error),
    /// Not one connection could be opened.
    #[error("no connection to {address} could be opened: {reason}")]
    Unreachable {
        /// Where to.
        address: String,
        /// In which phase the first attempt failed.
        phase: Phase,
        /// What the first attempt met.
        reason: String,
    },
    /// A connection's first request failed, and the plan lets none of them fail.
    #[error("the first request on a connection failed: {}", .0.reason)]
    FirstRequest(FirstFailure),
    /// The server does not say what services it has.
    #[error("the schema of {address} cannot be learned by reflection: {reason}")]
    Reflection {
        /// Where to.
        address: String,
        /// What went wrong, and what to do.
        reason: String,
    },
    /// The server did not answer a single request whole.
    #[error("{address} did not answer: {reason}")]
    Unanswered {
        /// Where to.
        address: String,
        /// What went wrong.
        reason: String,
    },
    /// The ledger does not balance: a bug.
    #[error("please report this bug: {0}")]
    Ledger(#[from] plimsoll_core::ledger::Imbalance),
    /// The script broke while running: file, line and what.
    #[error("{0}")]
    Script(#[from] plimsoll_script::lua::ScriptError),
    /// A worker's driver broke while running.
    #[error("a worker stopped: {0}")]
    Worker(String),
    /// Of several scenarios another one could not be started.
    #[error("another scenario could not be started")]
    GivenUp,
    /// What happened to one of several scenarios.
    #[error("scenario '{name}': {error}")]
    Scenario {
        /// Its name.
        name: String,
        /// What happened.
        error: Box<Self>,
    },
}

/// Why a connection could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpeningError {
    /// In which phase it failed.
    pub phase: Phase,
    /// The name of what went wrong, as errors are counted by it.
    pub kind: &'static str,
    /// What went wrong, in one line.
    pub reason: String,
}

/// What went wrong with the first requests on connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstFailure {
    /// The statuses of their responses, the good ones too.
    pub statuses: Vec<u16>,
    /// How long a response was on average, head and all, bytes; 0 without one.
    pub bytes: u64,
    /// What one of them met, in one line.
    pub reason: String,
}

impl RunError {
    /// What happened, whichever scenario it happened to.
    #[must_use]
    pub fn cause(&self) -> &Self {
        match self {
            Self::Scenario { error, .. } => error.cause(),
            other => other,
        }
    }

    /// The field of the plan that is wrong, where it is one.
    #[must_use]
    pub fn field(&self) -> Option<Field> {
        match self {
            Self::Request(error) => error.field(),
            Self::Tunnel(_) => Some(Field::Proxy),
            Self::Expectation { .. } => Some(Field::Expect),
            Self::WebSocketReply { .. } => Some(Field::WsReply),
            Self::Tls(field, _) => Some(*field),
            Self::Scenario { error, .. } => error.field(),
            _ => None,
        }
    }
}

/// The stable names of the operating system's errors.
const KINDS: [(io::ErrorKind, &str); 9] = [
    (io::ErrorKind::ConnectionRefused, "refused"),
    (io::ErrorKind::ConnectionReset, "reset"),
    (io::ErrorKind::ConnectionAborted, "aborted"),
    (io::ErrorKind::BrokenPipe, "broken_pipe"),
    (io::ErrorKind::TimedOut, "timed_out"),
    (io::ErrorKind::HostUnreachable, "unreachable"),
    (io::ErrorKind::NetworkUnreachable, "unreachable"),
    (io::ErrorKind::AddrNotAvailable, NO_PORTS),
    // A client that is bound to an address of its own is told this where the ports have run out.
    (io::ErrorKind::AddrInUse, NO_PORTS),
];

/// The stable name of an operating system error, for results.
#[must_use]
pub(crate) fn kind(error: OsError) -> &'static str {
    // EMFILE and ENFILE have no kind of their own in std.
    if matches!(error.0, 24 | 23) {
        return NO_FILES;
    }
    let kind = io::Error::from_raw_os_error(error.0).kind();
    KINDS.iter().find(|(known, _)| *known == kind).map_or(OTHER, |(_, name)| name)
}

/// This host has no free local port.
pub(crate) const NO_PORTS: &str = "no_ports";
/// This process has no free file descriptor.
pub(crate) const NO_FILES: &str = "no_files";
/// The plan's timeout passed.
pub(crate) const TIMEOUT: &str = "timeout";
/// The server did not say that it has read all.
pub(crate) const CLOSE_UNANSWERED: &str = "close_unanswered";
/// What was open on a connection that was closed because another request on it timed out.
pub(crate) const ABANDONED: &str = "abandoned";
/// What a report says of requests that the server has not processed.
pub(crate) const NOT_PROCESSED: &str = "the server said that it did not process the request";
/// Any other error of the operating system.
pub(crate) const OTHER: &str = "other";

#[cfg(test)]
mod tests {
    use plimsoll_conn::DecodeError;
    use plimsoll_conn::Failure;
    use plimsoll_conn::grpc::CallFault;
    use plimsoll_core::errors::ERROR_KINDS;
    use plimsoll_proto::tls::TlsErrorKind;
    use plimsoll_proto::websocket;
    use plimsoll_proto::websocket::handshake::HandshakeError;

    use super::*;

    #[test]
    fn every_kind_is_listed() {
        let of_system = KINDS.into_iter().map(|(_, name)| name);
        let own = [NO_FILES, OTHER, TIMEOUT, ABANDONED, plimsoll_conn::REFUSED];
        let failures = [
            Failure::Tunnel(403),
            Failure::Unsolicited,
            Failure::NotEchoed,
            Failure::CutShort,
            Failure::Closed,
            Failure::ClosedEarly,
        ];
        let refusals = [
            HandshakeError::Status(200),
            HandshakeError::Upgrade,
            HandshakeError::Connection,
            HandshakeError::Accept,
            HandshakeError::Subprotocol,
            HandshakeError::Extension,
        ];
        let kinds = of_system
            .chain(refusals.map(HandshakeError::kind))
            .chain(websocket::Error::ALL.map(websocket::Error::kind))
            .chain(own)
            .chain(failures.iter().map(Failure::kind))
            .chain(DecodeError::ALL.iter().map(DecodeError::kind))
            .chain(CallFault::ALL.into_iter().map(CallFault::kind))
            .chain(["grpc_status"])
            .chain(TlsErrorKind::ALL.into_iter().map(TlsErrorKind::name));
        for kind in kinds {
            assert!(ERROR_KINDS.contains(&kind), "{kind}");
        }
    }

    #[test]
    fn errors_of_the_system_have_names() {
        for (number, want) in
            [(111, "refused"), (99, NO_PORTS), (98, NO_PORTS), (24, NO_FILES), (5, OTHER)]
        {
            assert_eq!(kind(OsError(number)), want, "{number}");
        }
    }
}
