//! How a worker handles what its driver reports.

use plimsoll_conn::{Failure, Protocol, State};
use plimsoll_core::outcome::Outcome;
use plimsoll_io::{Close, Driver, Event, Operation, OsError, Received};

use super::Traffic;
use crate::accounts::{After, Reading};
use crate::error::kind;
use crate::id::ConnectionId;

impl<D: Driver, P: Protocol> Traffic<D, P> {
    #[inline]
    pub(crate) fn handle(&mut self, at_ns: u64, event: Event) {
        match event {
            Event::Received(received) => self.received(at_ns, received),
            Event::Sent(socket) => {
                let entry = ConnectionId::of(socket);
                // Some of its requests may not be with the driver yet; their turn comes.
                if self.lines.pool.is_holding(entry) {
                    return;
                }
                let client = &mut self.lines.pool[entry];
                let at_ns = client.moment(at_ns);
                self.lines.accounts.written(client.connection.exchanges().rev(), at_ns);
                if self.lines.accounts.sends_in_pieces() {
                    self.lines.accounts.release_sent(client.connection.exchanges());
                    // What follows is done now, and not when the kernel had taken the last.
                    self.send_released(entry, self.lines.times.now_ns);
                }
                if P::ENDS_WHEN_TAKEN && !self.lines.pool.has_queued_bytes(entry) {
                    self.taken(entry, at_ns);
                }
                self.make_room(entry);
            }
            Event::SentPart(socket) => {
                let entry = ConnectionId::of(socket);
                let taken_bytes = self.lines.pool.taken_bytes(entry);
                let client = &mut self.lines.pool[entry];
                let at_ns = client.moment(at_ns);
                let open = client.connection.exchanges();
                self.lines.accounts.written_until(open, taken_bytes, at_ns);
                self.make_room(entry);
            }
            Event::Connected(socket) => {
                let entry = ConnectionId::of(socket);
                let at_ns = self.lines.pool[entry].moment(at_ns);
                if self.lines.connected(entry, at_ns) {
                    self.ready(entry, at_ns);
                }
            }
            Event::Ended(socket) => self.ended(ConnectionId::of(socket), at_ns),
            Event::Failed { socket, operation, error } => {
                self.failed(ConnectionId::of(socket), at_ns, operation, error);
            }
            // The stop flag is looked at in every turn.
            Event::Woken | Event::Accepted { .. } => {}
        }
    }

    #[inline]
    fn received(&mut self, at_ns: u64, received: Received) {
        let entry = ConnectionId::of(received.socket);
        self.lines.accounts.observer.recorder_at(at_ns).received_bytes += received.len() as u64;
        let client = &mut self.lines.pool[entry];
        let at_ns = client.moment(at_ns);
        let stamp_ns = received.kernel_ns().map_or(at_ns, |kernel_ns| {
            let open = client.connection.exchanges();
            self.lines.accounts.stamp(kernel_ns, at_ns, client.opening.reached_ns, open)
        });
        // What comes while a connection is being opened, or lies idle, brings no request further.
        if client.connection.open_exchanges() > 0 {
            self.lines.times.progress_ns = at_ns;
        }
        let user = self.lines.pool.entries.user(entry);
        let output_bytes = self.lines.pool.turn_to(entry);
        let reading = Reading::new(&mut self.lines.accounts, &mut self.users, user, stamp_ns);
        let mut reading = Reading { read_ns: at_ns, output_bytes, ..reading };
        let was_full = self.lines.pool[entry].connection.is_full();
        let (sent_bytes, taken) =
            self.lines.pool.receive(received, |progress| reading.step(progress));
        let after = reading.after;
        if P::GATHERS && !was_full && self.lines.pool[entry].connection.is_full() {
            self.lines.turn_held(entry, at_ns);
        }
        if after.responded {
            self.lines.pool[entry].usage.response_ns = at_ns;
        }
        if sent_bytes > 0 {
            self.lines.accounts.sent_at(at_ns, sent_bytes);
        }
        self.settle(entry, at_ns, after, taken);
    }

    /// The kernel has taken all that was sent on a connection.
    fn taken(&mut self, entry: ConnectionId, at_ns: u64) {
        let user = self.lines.pool.entries.user(entry);
        let mut reading = Reading::new(&mut self.lines.accounts, &mut self.users, user, at_ns);
        self.lines.pool[entry].connection.taken(|progress| reading.step(progress));
        let after = reading.after;
        if after.ended > 0 {
            self.settle(entry, at_ns, after, Ok(()));
        }
    }

    /// The kernel has taken output of a connection: more of its bodies may wait for it.
    #[inline]
    fn make_room(&mut self, entry: ConnectionId) {
        if P::GATHERS && self.lines.pool.output_taken(entry) {
            self.resume(entry);
        }
    }

    /// Goes on with the requests of a connection that the kernel has held back.
    #[cold]
    fn resume(&mut self, entry: ConnectionId) {
        // They continue now, and not at the time when the kernel took the others.
        let at_ns = self.lines.moment_now(entry);
        let user = self.lines.pool.entries.user(entry);
        let output_bytes = self.lines.pool.turn_to(entry);
        let reading = Reading::new(&mut self.lines.accounts, &mut self.users, user, at_ns);
        let mut reading = Reading { output_bytes, ..reading };
        let taken = self.lines.pool.resume(entry, |progress| reading.step(progress));
        let after = reading.after;
        self.lines.turn_held(entry, at_ns);
        self.settle(entry, at_ns, after, taken);
    }

    /// A connection is open: the request that waited for it goes.
    fn ready(&mut self, entry: ConnectionId, at_ns: u64) {
        self.lines.ready(entry, at_ns);
        self.send_pending(entry, at_ns);
    }

    /// Sends the request that a connection was opened for, if it may carry one.
    fn send_pending(&mut self, entry: ConnectionId, at_ns: u64) {
        if let Some(id) = self.lines.take_pending(entry, at_ns) {
            self.send(entry, id);
        }
    }

    /// The server takes no request on a connection any more: the one that it was opened for goes on
    /// the next.
    #[cold]
    fn send_pending_again(&mut self, entry: ConnectionId) {
        let Some(id) = self.lines.pool[entry].pending else { return };
        if let Some(waiting) = self.lines.accounts.again(id) {
            self.lines.pool[entry].pending = None;
            self.users.wait(self.lines.pool.entries.user(entry), waiting);
        }
    }

    /// The server will send no more.
    fn ended(&mut self, entry: ConnectionId, at_ns: u64) {
        let user = self.lines.pool.entries.user(entry);
        let client = &mut self.lines.pool[entry];
        let at_ns = client.moment(at_ns);
        let mut reading = Reading::new(&mut self.lines.accounts, &mut self.users, user, at_ns);
        let taken = client.connection.ended(|progress| reading.step(progress));
        let after = reading.after;
        self.lines.accounts.released.clear();
        self.lines.count(entry, at_ns, &after);
        match taken {
            Err(failure) => self.lines.lost(entry, at_ns, &failure),
            Ok(()) => self.lines.close(entry, at_ns, Close::Graceful),
        }
    }

    fn failed(&mut self, entry: ConnectionId, at_ns: u64, operation: Operation, error: OsError) {
        let client = &mut self.lines.pool[entry];
        let at_ns = client.moment(at_ns);
        if operation == Operation::Connect || client.connection.is_opening() {
            self.lines
                .setup_failed(entry, at_ns, kind(error), Outcome::Broken, || error.to_string());
        } else {
            self.lines.broken(entry, at_ns, kind(error), false, || error.to_string());
        }
    }

    /// Goes on after a connection has read.
    #[inline]
    fn settle(
        &mut self,
        entry: ConnectionId,
        at_ns: u64,
        after: After,
        taken: Result<(), Failure>,
    ) {
        self.lines.count(entry, at_ns, &after);
        // The last part of a handshake is work of this thread, after that of other connections.
        let at_ns = if after.secured { self.lines.moment_now(entry) } else { at_ns };
        let opens = (after.tunnelled || after.secured || after.greeted)
            && self.lines.opened_further(entry, at_ns, &after);
        if opens {
            self.lines.ready(entry, at_ns);
        }
        if let Err(failure) = taken {
            self.lines.accounts.released.clear();
            self.lines.lost(entry, at_ns, &failure);
            return;
        }
        if opens || after.room {
            self.send_pending(entry, at_ns);
        }
        if !self.lines.accounts.released.is_empty() {
            self.send_released(entry, at_ns);
        }
        self.lines.note_reach(entry, at_ns, &after);
        let is_spent = self.lines.pool[entry].connection.state() == State::Spent;
        if is_spent {
            self.send_pending_again(entry);
        }
        if after.ended > 0 || after.room || is_spent {
            self.lines.go_on(entry, at_ns, &after);
        }
        if self.users.has_movable() {
            self.start_resent_on_idle(at_ns);
        }
    }
}
