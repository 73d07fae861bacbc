//! Requests that a program answers, and bytes that come back as they are.

use std::collections::HashMap;

use plimsoll_io::{Close, Driver, Payload, SocketId};

use super::{Input, Server};
use crate::connection::{Next, State};
use crate::route::Refusal;
use crate::site::{Asked, Client, Reply, Response};

/// The requests that a program has and has not answered.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    last: u64,
    open: HashMap<u64, (SocketId, Client)>,
}

impl Tickets {
    /// The client of a request has closed its connection, or its side of it.
    pub(super) fn leave(&self, ticket: u64) {
        if let Some((_, client)) = self.open.get(&ticket) {
            client.leave();
        }
    }
}

impl<D: Driver> Server<D> {
    /// Decides on the answer to a request with wishes; gives the delay before it, ns.
    pub(super) fn shape(&mut self, socket: SocketId) -> Result<u64, Refusal> {
        match &mut self.connections[socket.index()].work {
            Some(work) => {
                let delay_ns = self.shaper.shape(&mut work.site, &mut work.body);
                self.pool.charge(work)?;
                Ok(delay_ns)
            }
            None => Ok(0),
        }
    }

    /// Gives a request to the program. Its connection waits without a limit of time.
    pub(super) fn hand_over(&mut self, socket: SocketId) {
        let connection = &mut self.connections[socket.index()];
        let (Some(handler), Some(work)) = (&self.shaper.options.handler, &mut connection.work)
        else {
            return self.close(socket, Close::Reset);
        };
        self.tickets.last += 1;
        let ticket = self.tickets.last;
        let client = Client::default();
        self.tickets.open.insert(ticket, (socket, client.clone()));
        connection.ticket = ticket;
        connection.state = State::Waiting(Next::Handled);
        let head = std::mem::take(&mut work.head);
        let line = String::from_utf8_lossy(&head).into_owned();
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (method, target) = (word(), word());
        let asked = Asked {
            method,
            target,
            body: std::mem::take(&mut work.body),
            peer: connection.peer,
            is_secure: self.wire.is_secure(),
            client,
            head,
        };
        handler.handle(asked, Reply::new(&self.mailbox, ticket));
    }

    /// Sends what the program has answered.
    pub(super) fn take_replies(&mut self, now_ns: u64) {
        for (ticket, response) in self.mailbox.take() {
            let Some((socket, _)) = self.tickets.open.remove(&ticket) else { continue };
            let connection = &mut self.connections[socket.index()];
            if connection.ticket != ticket || connection.state != State::Waiting(Next::Handled) {
                continue;
            }
            connection.ticket = 0;
            let (Some(Response { status, fields, body }), Some(work)) =
                (response, &mut connection.work)
            else {
                self.close(socket, Close::Reset);
                continue;
            };
            work.site.set(status.clamp(200, 999), fields);
            work.body = body;
            connection.state = State::Open;
            self.reply(now_ns, socket, None);
            self.resume(now_ns, socket);
        }
    }

    /// Sends bytes back as they came. A client that does not read is not read from either.
    pub(super) fn send_back(&mut self, socket: SocketId, input: &Input<'_>) {
        if self.connections[socket.index()].state != State::Open {
            return;
        }
        self.counters.requests += 1;
        self.scratch.clear();
        self.scratch.extend_from_slice(input.bytes(&self.wire.driver));
        self.wire.send(socket, Payload::Copied(&self.scratch));
        let is_slow = self.wire.driver.queued_bytes(socket) > self.options.limits.queued_bytes;
        let connection = &mut self.connections[socket.index()];
        if is_slow && !std::mem::replace(&mut connection.is_paused, true) {
            self.wire.driver.pause_receiving(socket);
        }
    }
}
