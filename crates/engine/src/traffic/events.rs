//! How a worker handles what its driver reports.

use plimsoll_conn::{Failure, Protocol, State};
use plimsoll_core::outcome::Outcome;
use plimsoll_io::{Close, Driver, Event, Operation, OsError, Received};

use super::Traffic;
use crate::accounts::{After, Reading};
use crate::error::kind;

impl<D: Driver, P: Protocol> Traffic<D, P> {
    #[inline]
    pub(crate) fn handle(&mut self, at_ns: u64, event: Event) {
        match event {
            Event::Received(received) => self.received(at_ns, received),
            Event::Sent(token) => {
                let client = &mut self.pool[token.0];
                let at_ns = client.moment(at_ns);
                self.accounts.written(client.connection.exchanges().rev(), at_ns);
            }
            Event::Connected(token) => self.connected(token.0, at_ns),
            Event::Ended(token) => self.ended(token.0, at_ns),
            Event::Failed { token, operation, error } => {
                self.failed(token.0, at_ns, operation, error);
            }
            // The stop flag is looked at in every turn.
            Event::Woken | Event::Accepted { .. } => {}
        }
    }

    #[inline]
    fn received(&mut self, at_ns: u64, received: Received) {
        let index = received.token.0;
        self.accounts.observer.recorder_at(at_ns).received_bytes += received.len() as u64;
        let client = &mut self.pool[index];
        let at_ns = client.moment(at_ns);
        let stamp_ns = received.kernel_ns().map_or(at_ns, |kernel_ns| {
            let open = client.connection.exchanges();
            self.accounts.stamp(kernel_ns, at_ns, client.opening.reached_ns, open)
        });
        let user = self.pool.entries.user(index);
        let mut reading = Reading {
            accounts: &mut self.accounts,
            users: &mut self.users,
            user,
            at_ns: stamp_ns,
            after: After::default(),
        };
        let (sent_bytes, taken) = self.pool.receive(received, |progress| reading.step(progress));
        let after = reading.after;
        if sent_bytes > 0 {
            self.accounts.sent_at(at_ns, sent_bytes);
        }
        self.times.progress_ns = at_ns;
        self.settle(index, at_ns, after, taken);
    }

    /// The server will send no more.
    fn ended(&mut self, index: u32, at_ns: u64) {
        let user = self.pool.entries.user(index);
        let client = &mut self.pool[index];
        let at_ns = client.moment(at_ns);
        let mut reading = Reading {
            accounts: &mut self.accounts,
            users: &mut self.users,
            user,
            at_ns,
            after: After::default(),
        };
        let taken = client.connection.ended(|progress| reading.step(progress));
        let after = reading.after;
        self.accounts.released.clear();
        self.count(index, at_ns, &after);
        match taken {
            Err(failure) => self.lost(index, at_ns, &failure),
            Ok(()) => self.close(index, at_ns, Close::Graceful),
        }
    }

    fn failed(&mut self, index: u32, at_ns: u64, operation: Operation, error: OsError) {
        let client = &mut self.pool[index];
        let at_ns = client.moment(at_ns);
        if operation == Operation::Connect || client.connection.is_opening() {
            self.setup_failed(index, at_ns, kind(error), Outcome::Broken, || error.to_string());
        } else {
            self.broken(index, at_ns, kind(error), false, || error.to_string());
        }
    }

    /// Goes on after a connection has read.
    #[inline]
    fn settle(&mut self, index: u32, at_ns: u64, after: After, taken: Result<(), Failure>) {
        self.count(index, at_ns, &after);
        if after.tunnelled || after.secured || after.greeted {
            self.opened_further(index, at_ns, &after);
        }
        if let Err(failure) = taken {
            self.accounts.released.clear();
            self.lost(index, at_ns, &failure);
            return;
        }
        if !self.accounts.released.is_empty() {
            self.send_released(index);
        }
        let is_spent = self.pool[index].connection.state() == State::Spent;
        if after.ended > 0 || after.room || is_spent {
            self.go_on(index, at_ns, &after);
        }
    }

    /// Counts the responses that became complete.
    #[inline]
    fn count(&mut self, index: u32, at_ns: u64, after: &After) {
        if after.completed == 0 {
            return;
        }
        self.pool.reach.answered(index);
        let client = &mut self.pool[index];
        client.usage.answered += after.completed;
        client.usage.served += after.measured;
        if let Some(notes) = &mut self.accounts.notes
            && client.connection.state() == State::Open
        {
            notes.kept_alive(after.measured);
        }
        if after.measured > 0 {
            self.times.answered_ns = at_ns;
        }
    }

    /// Goes on with a connection on which an exchange has ended, or whose server has changed what
    /// it allows.
    #[inline]
    pub(super) fn go_on(&mut self, index: u32, at_ns: u64, after: &After) {
        let connection = &self.pool[index].connection;
        let is_idle = connection.open_exchanges() == 0;
        if connection.state() == State::Spent {
            let since_ns = at_ns.saturating_sub(self.times.start_ns);
            if is_idle && !self.pool.await_fin(index, at_ns, since_ns) {
                self.close(index, at_ns, Close::Graceful);
            }
        } else if is_idle
            && !connection.survives_early_response()
            && (after.early || self.pool.has_queued_bytes(index))
        {
            // Answered before it was sent whole.
            self.close(index, at_ns, Close::Reset);
        } else {
            self.freed.push_back((index, at_ns));
        }
    }
}
