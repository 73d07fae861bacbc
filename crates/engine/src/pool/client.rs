//! One entry of the pool: a connection and what the pool knows about it.

use plimsoll_conn::{Connection, ExchangeId, Protocol, State};
use plimsoll_core::Plan;
use plimsoll_core::random::{REUSE, Stream, below};

use super::idling::{Idling, Lowered};
use super::uptake::Uptake;
use crate::id::ConnectionId;

/// One of the plan's connections, open or not.
#[derive(Debug)]
pub(crate) struct Client<P> {
    pub connection: Connection<P>,
    /// The entry that it is.
    id: ConnectionId,
    /// A request that waits for this connection to open; it was started when the connect was.
    pub pending: Option<ExchangeId>,
    /// The way it takes to the server, and the one it is to take the next time.
    pub route: u16,
    pub next_route: u16,
    /// Counts the connections opened here, so that an entry of the idle queue can be told stale.
    pub epoch: u32,
    /// Whether an entry of the idle queue stands for this connection.
    pub queued: bool,
    /// Whether the connection is to be closed once nothing is open on it.
    pub retiring: bool,
    pub opening: Opening,
    pub usage: Usage,
    /// Connects failed, or connections lost before a response, one after the other.
    pub failures: u32,
    /// The latest moment of anything here.
    moment_ns: u64,
    /// When to do something about it whatever happens: reopen, stop waiting for the FIN, send the
    /// body that was withheld.
    pub due_ns: u64,
    /// Since when it waits for the server's FIN; `u64::MAX`: it does not.
    pub fin_awaited_ns: u64,
    /// Whether it waits for the server to say that it has read all.
    pub is_parting: bool,
    /// When the open connection has reached its age.
    pub retire_ns: u64,
}

/// How its connection was opened.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// Whether TLS may resume a session.
    pub resumes: bool,
    /// Whether a connect has been tried.
    pub tried: bool,
    pub ever_opened: bool,
    /// Whether it is open and counted as such.
    pub counted: bool,
    /// When the connect under way began.
    pub began_ns: u64,
    /// When the way to the server stood.
    pub reached_ns: u64,
    /// When its TLS handshake was done.
    pub secured_ns: u64,
}

/// What its connection was used for.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// When the open connection fell silent last: a request timed out, and no response had come
    /// since it was sent. 0: it has not.
    pub silent_ns: u64,
    /// When a response came here last, or a part of one; 0: none has.
    pub response_ns: u64,
    /// Requests sent and responses received until it fell silent.
    pub told: Carried,
    /// How far the kernel takes what is sent on it.
    pub uptake: Uptake,
    /// Requests sent on the open connection.
    pub sent: u64,
    /// Measured requests it may still serve, where connections are opened by that.
    pub room: u64,
    /// Responses received on the open connection.
    pub answered: u64,
    /// Requests of the measured part sent on the open connection, and responses received on it.
    pub measured: Carried,
    /// Responses of the measured part received on the connections that this entry had before.
    pub served: u64,
    /// Its streams that idle because the open connection is to end.
    pub draining: Idling,
    /// Those that the server no longer allows on it.
    pub lowered: Lowered,
}

/// What a connection has carried.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    pub sent: u64,
    pub answered: u64,
}

/// Backoff after the first failure; doubled with each further one.
const BACKOFF_NS: u64 = 10_000_000;
/// The longest one.
pub(crate) const BACKOFF_LIMIT_NS: u64 = 1_000_000_000;

impl<P: Protocol> Client<P> {
    pub(super) fn new(id: ConnectionId, settings: &P::Settings) -> Self {
        Self {
            connection: Connection::new(id.socket(), settings),
            id,
            pending: None,
            route: 0,
            next_route: 0,
            epoch: 0,
            queued: false,
            retiring: false,
            opening: Opening::default(),
            usage: Usage::default(),
            failures: 0,
            moment_ns: 0,
            due_ns: u64::MAX,
            fin_awaited_ns: u64::MAX,
            is_parting: false,
            retire_ns: u64::MAX,
        }
    }

    /// Bytes are about to be handed over, with this many queued before them.
    #[inline]
    pub(super) fn note_uptake(&mut self, queued_bytes: usize) {
        self.usage.uptake.look(queued_bytes, self.moment_ns);
    }

    /// The moment of something that happens here at `at_ns`, which is not before what happened
    /// earlier. All events of a turn may have the time at which it began, though what one of them
    /// led to took place later.
    #[inline]
    pub(crate) fn moment(&mut self, at_ns: u64) -> u64 {
        self.moment_ns = self.moment_ns.max(at_ns);
        self.moment_ns
    }

    /// Whether a request can be sent on the open connection.
    #[inline]
    pub(crate) fn can_send(&self, plan: &Plan) -> bool {
        self.connection.room() > 0 && !self.retiring && !self.is_used_up(plan)
    }

    /// Whether its connection is closed, and may be opened now.
    pub(crate) fn can_connect(&self) -> bool {
        self.connection.state() == State::Closed && self.due_ns == u64::MAX
    }

    /// Whether its connection is closed, and is opened again after a while.
    pub(super) fn is_put_off(&self) -> bool {
        self.connection.state() == State::Closed && self.due_ns != u64::MAX
    }

    /// Whether its connection has been sent as many requests as one may be.
    #[inline]
    pub(crate) fn is_used_up(&self, plan: &Plan) -> bool {
        self.usage.sent >= self.requests_max(plan)
    }

    /// How many requests its connection may be sent.
    #[inline]
    fn requests_max(&self, plan: &Plan) -> u64 {
        let most = plan.requests_per_connection.unwrap_or(u64::MAX);
        match plan.requests_per_connection_min {
            Some(least) => self.draw_requests_max(plan, least, most),
            None => most,
        }
    }

    /// The same number for as long as the connection is this one.
    fn draw_requests_max(&self, plan: &Plan, least: u64, most: u64) -> u64 {
        let place = u64::from(self.id.place()) << 32 | u64::from(self.epoch);
        let word = Stream::new(plan.seed, REUSE).word(place);
        least + below(word, u128::from(most.saturating_sub(least)) + 1)
    }

    /// Whether its connection ends when the last request on it has: its server has said goodbye, or
    /// it has served or lived as long as the plan lets it.
    pub(crate) fn is_ending(&self, plan: &Plan) -> bool {
        self.connection.state() == State::Spent || self.retiring || self.is_used_up(plan)
    }

    /// How many more requests may be sent on its connection before that is closed.
    pub(crate) fn room(&self, plan: &Plan) -> u64 {
        self.requests_max(plan).saturating_sub(self.usage.sent)
    }

    /// Whether it is open, or on the way to be.
    pub(crate) fn is_in_use(&self) -> bool {
        self.connection.state() != State::Closed
    }

    /// A request of the closed loop is sent on it.
    #[inline]
    pub(crate) fn draw(&mut self, measured: bool) {
        self.usage.room = self.usage.room.saturating_sub(u64::from(measured));
    }

    /// When the connect under way times out.
    pub(crate) fn timeout_at_ns(&self, timeout_ns: u64) -> u64 {
        if self.connection.is_opening() {
            self.opening.began_ns.saturating_add(timeout_ns)
        } else {
            u64::MAX
        }
    }

    /// When to look at it next.
    pub(crate) fn look_at_ns(&self, timeout_ns: u64) -> u64 {
        let retire_ns = if self.retiring { u64::MAX } else { self.retire_ns };
        self.due_ns.min(self.timeout_at_ns(timeout_ns)).min(retire_ns)
    }

    /// How long to wait before the next connect.
    pub(super) fn backoff_ns(&self) -> u64 {
        if self.failures == 0 {
            return 0;
        }
        (BACKOFF_NS << (self.failures - 1).min(10)).min(BACKOFF_LIMIT_NS)
    }
}
