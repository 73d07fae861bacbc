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
                let client = &mut self.lines.pool[token.0];
                let at_ns = client.moment(at_ns);
                self.lines.accounts.written(client.connection.exchanges().rev(), at_ns);
            }
            Event::Connected(token) => {
                let at_ns = self.lines.pool[token.0].moment(at_ns);
                if self.lines.connected(token.0, at_ns) {
                    self.ready(token.0, at_ns);
                }
            }
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
        self.lines.accounts.observer.recorder_at(at_ns).received_bytes += received.len() as u64;
        let client = &mut self.lines.pool[index];
        let at_ns = client.moment(at_ns);
        let stamp_ns = received.kernel_ns().map_or(at_ns, |kernel_ns| {
            let open = client.connection.exchanges();
            self.lines.accounts.stamp(kernel_ns, at_ns, client.opening.reached_ns, open)
        });
        let user = self.lines.pool.entries.user(index);
        let mut reading = Reading {
            accounts: &mut self.lines.accounts,
            users: &mut self.users,
            user,
            at_ns: stamp_ns,
            read_ns: at_ns,
            after: After::default(),
        };
        let (sent_bytes, taken) =
            self.lines.pool.receive(received, |progress| reading.step(progress));
        let after = reading.after;
        if sent_bytes > 0 {
            self.lines.accounts.sent_at(at_ns, sent_bytes);
        }
        self.lines.times.progress_ns = at_ns;
        self.settle(index, at_ns, after, taken);
    }

    /// A connection is open: the request that waited for it goes.
    fn ready(&mut self, index: u32, at_ns: u64) {
        if let Some(id) = self.lines.ready(index, at_ns) {
            self.send(index, id);
        }
    }

    /// The server will send no more.
    fn ended(&mut self, index: u32, at_ns: u64) {
        let user = self.lines.pool.entries.user(index);
        let client = &mut self.lines.pool[index];
        let at_ns = client.moment(at_ns);
        let mut reading = Reading {
            accounts: &mut self.lines.accounts,
            users: &mut self.users,
            user,
            at_ns,
            read_ns: at_ns,
            after: After::default(),
        };
        let taken = client.connection.ended(|progress| reading.step(progress));
        let after = reading.after;
        self.lines.accounts.released.clear();
        self.lines.count(index, at_ns, &after);
        match taken {
            Err(failure) => self.lines.lost(index, at_ns, &failure),
            Ok(()) => self.lines.close(index, at_ns, Close::Graceful),
        }
    }

    fn failed(&mut self, index: u32, at_ns: u64, operation: Operation, error: OsError) {
        let client = &mut self.lines.pool[index];
        let at_ns = client.moment(at_ns);
        if operation == Operation::Connect || client.connection.is_opening() {
            self.lines
                .setup_failed(index, at_ns, kind(error), Outcome::Broken, || error.to_string());
        } else {
            self.lines.broken(index, at_ns, kind(error), false, || error.to_string());
        }
    }

    /// Goes on after a connection has read.
    #[inline]
    fn settle(&mut self, index: u32, at_ns: u64, after: After, taken: Result<(), Failure>) {
        self.lines.count(index, at_ns, &after);
        if (after.tunnelled || after.secured || after.greeted)
            && self.lines.opened_further(index, at_ns, &after)
        {
            self.ready(index, at_ns);
        }
        if let Err(failure) = taken {
            self.lines.accounts.released.clear();
            self.lines.lost(index, at_ns, &failure);
            return;
        }
        if !self.lines.accounts.released.is_empty() {
            self.send_released(index);
        }
        let is_spent = self.lines.pool[index].connection.state() == State::Spent;
        if after.ended > 0 || after.room || is_spent {
            self.lines.go_on(index, at_ns, &after);
        }
    }
}
