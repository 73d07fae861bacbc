//! One entry of the pool: a connection and what the pool knows of it.

use plimsoll_conn::Connection;
use plimsoll_conn::http1::State;
use plimsoll_core::recorder::Moments;
use plimsoll_io::Token;
use plimsoll_proto::http1::Limits;

/// A request on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub moments: Moments,
    pub measured: bool,
}

/// One of the plan's connections, open or not.
#[derive(Debug)]
pub(crate) struct Client {
    pub connection: Connection<Flight>,
    /// A request that waits for this connection to open; it was started when the connect was.
    pub pending: Option<Flight>,
    /// Counts the connections opened here, so that an entry of the idle queue can be told stale.
    pub epoch: u32,
    /// Whether an entry of the idle queue stands for this connection.
    pub queued: bool,
    /// Requests sent on the open connection.
    pub sent: u64,
    /// Responses received on the open connection.
    pub answered: u64,
    /// Connects failed, or connections lost before a response, one after the other.
    pub failures: u32,
    /// When the connect under way began.
    pub opening_ns: u64,
    /// When to do something about it whatever happens: reopen, or stop waiting for the FIN.
    pub due_ns: u64,
    pub ever_opened: bool,
    /// Whether a connect has been tried.
    pub tried: bool,
}

/// Backoff after the first failure; doubled with each further one.
const BACKOFF_NS: u64 = 10_000_000;
const BACKOFF_LIMIT_NS: u64 = 1_000_000_000;

impl Client {
    pub(crate) fn new(index: u32, pipeline: usize) -> Self {
        Self {
            connection: Connection::new(Token(index), pipeline, Limits::default()),
            pending: None,
            epoch: 0,
            queued: false,
            sent: 0,
            answered: 0,
            failures: 0,
            opening_ns: 0,
            due_ns: u64::MAX,
            ever_opened: false,
            tried: false,
        }
    }

    /// When the oldest open request, or the connect under way, times out.
    pub(crate) fn timeout_at_ns(&self, timeout_ns: u64) -> u64 {
        let since_ns = match self.connection.state() {
            State::Opening => self.opening_ns,
            _ => match self.connection.oldest() {
                Some(flight) => flight.moments.started_ns,
                None => return u64::MAX,
            },
        };
        since_ns.saturating_add(timeout_ns)
    }

    /// How long to wait before the next connect.
    pub(crate) fn backoff_ns(&self) -> u64 {
        if self.failures == 0 {
            return 0;
        }
        (BACKOFF_NS << (self.failures - 1).min(10)).min(BACKOFF_LIMIT_NS)
    }
}
