//! What is done about deadlines: connects and requests that time out, waits that are over.

use plimsoll_conn::{ExchangeId, Protocol, State};
use plimsoll_core::Phase;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::units::format_duration;
use plimsoll_io::{Close, Driver};

use super::Lines;
use crate::accounts::After;
use crate::error::TIMEOUT;
use crate::exchanges::Exchange;
use crate::id::ConnectionId;
use crate::pool::Silence;

impl<D: Driver, P: Protocol> Lines<D, P> {
    /// Looks at an entry of the pool one of whose deadlines has come by `by_ns`. `true`: a body
    /// that it withholds may be due.
    pub(crate) fn look_at(&mut self, entry: ConnectionId, by_ns: u64, now_ns: u64) -> bool {
        let client = &mut self.pool[entry];
        if client.due_ns <= by_ns {
            client.due_ns = u64::MAX;
            if client.connection.state() == State::Closed {
                self.bring_in(entry, now_ns);
            } else if client.fin_awaited_ns != u64::MAX || client.is_parting {
                self.close(entry, now_ns, Close::Graceful);
            } else {
                return true;
            }
        } else if client.timeout_at_ns(self.plan.timeout_ns) <= by_ns {
            self.connect_timed_out(entry, now_ns);
        } else if client.retire_ns <= by_ns {
            self.retire(entry, now_ns);
        }
        false
    }

    /// Has an entry looked at again when its next deadline comes.
    pub(crate) fn watch_on(&mut self, entry: ConnectionId) {
        let next_ns = self.pool[entry].look_at_ns(self.plan.timeout_ns);
        if next_ns != u64::MAX {
            self.pool.deadlines.watch(entry, next_ns);
        }
    }

    /// Ends the exchanges that had not been answered by `by_ns`, the end of their time.
    #[inline]
    pub(crate) fn end_late(&mut self, by_ns: u64, now_ns: u64) {
        while self.accounts.next_timeout_ns(self.plan.timeout_ns) <= by_ns {
            self.oldest_timed_out(by_ns, now_ns);
        }
    }

    /// When there is a deadline to look at; `u64::MAX` without one.
    #[inline]
    pub(crate) fn next_deadline_ns(&self) -> u64 {
        let timeout_ns = self.accounts.next_timeout_ns(self.plan.timeout_ns);
        self.pool.deadlines.next_ns().min(timeout_ns)
    }

    fn connect_timed_out(&mut self, entry: ConnectionId, now_ns: u64) {
        let timeout_ns = self.plan.timeout_ns;
        let sample = || nothing_within(timeout_ns);
        self.setup_failed(entry, now_ns, TIMEOUT, Outcome::TimedOut, sample);
    }

    /// The exchange started first had not been answered by `by_ns`; it ends now, and its connection
    /// with it where the protocol can't cancel a single exchange.
    fn oldest_timed_out(&mut self, by_ns: u64, now_ns: u64) {
        let Some(id) = self.accounts.exchanges.oldest() else { return };
        let entry = self.accounts.exchanges[id].client;
        if self.pool[entry].connection.is_opening() || self.pool[entry].pending == Some(id) {
            self.connect_timed_out(entry, now_ns);
            return;
        }
        let started_ns = self.accounts.exchanges[id].moments.started_ns;
        let silence = self.pool[entry].usage.silence(started_ns);
        if !self.is_given_up(entry, silence, started_ns) && self.pool.cancel(entry, id) {
            self.cancelled(entry, id, silence, now_ns);
        } else {
            self.closed_by_timeout(entry, id, by_ns, now_ns);
        }
    }

    /// An exchange that was to go on still waited for its connection when its time was over.
    #[cold]
    pub(crate) fn waited_in_vain(&mut self, exchange: &Exchange, now_ns: u64) {
        let now_ns = self.pool[exchange.client].moment(now_ns);
        self.times.progress_ns = now_ns;
        let timeout_ns = self.plan.timeout_ns;
        let sample = || format!("no connection within {}", format_duration(timeout_ns));
        self.accounts.waited_in_vain(exchange, now_ns, sample);
    }

    /// Whether a connection that could go on without the request that timed out is closed: nothing
    /// has come for another timeout, or its server does not read. It would be kept for ever though
    /// its server is gone, and what is sent on it would pile up.
    fn is_given_up(&self, entry: ConnectionId, silence: Silence, started_ns: u64) -> bool {
        match silence {
            Silence::None => false,
            Silence::Known | Silence::New => P::GATHERS && self.pool.is_stuck(entry, started_ns),
            Silence::Lasting => true,
        }
    }

    /// One exchange timed out; the others of its connection go on.
    fn cancelled(&mut self, entry: ConnectionId, id: ExchangeId, silence: Silence, now_ns: u64) {
        let now_ns = self.pool[entry].moment(now_ns);
        if silence == Silence::New {
            self.pool.fell_silent(entry, now_ns);
        }
        self.times.progress_ns = now_ns;
        let phase = self.accounts.exchanges[id].phase();
        let timeout_ns = self.plan.timeout_ns;
        self.accounts.timed_out(id, now_ns, || not_within(phase, timeout_ns));
        self.go_on(entry, now_ns, &After::default());
    }

    /// The oldest exchange of a connection timed out, and the connection can't go on without it.
    fn closed_by_timeout(&mut self, entry: ConnectionId, id: ExchangeId, by_ns: u64, now_ns: u64) {
        let timeout_ns = self.plan.timeout_ns;
        let phase = self.accounts.exchanges[id].phase();
        // Requests pipelined behind the late one have not waited that long: their connection broke.
        let is_late = |exchange: &Exchange| exchange.moments.started_ns + timeout_ns <= by_ns;
        let open = self.pool[entry].connection.exchanges();
        let late = open.filter(|id| is_late(&self.accounts.exchanges[*id])).count() as u64;
        let settled = self.abandon(entry, now_ns, |exchange| {
            if is_late(exchange) { Outcome::TimedOut } else { Outcome::Broken }
        });
        let counts = [late, settled - late];
        self.accounts.closed_by_timeout(now_ns, phase, counts, || not_within(phase, timeout_ns));
        self.close(entry, now_ns, Close::Reset);
    }
}

/// What did not come in time for a request in this phase.
fn not_within(phase: Phase, timeout_ns: u64) -> String {
    match phase {
        Phase::Receiving => format!("no whole response within {}", format_duration(timeout_ns)),
        _ => nothing_within(timeout_ns),
    }
}

fn nothing_within(timeout_ns: u64) -> String {
    format!("nothing within {}", format_duration(timeout_ns))
}
