//! Sockets that the script has given up. The Close has to reach the server, so a connection stays
//! until the server has closed it, or for a second.

use plimsoll_conn::{Connection, Duplex, Say};
use plimsoll_io::{Close, Driver, Event, SocketId};

use super::{Holder, Sockets};
use crate::vu::net::sites::OF_SOCKET;
use crate::vu::net::{Net, socket_of};

/// How long a connection stays at most, ns.
const LEAVING_NS: u64 = 1_000_000_000;

/// The code that sockets are left with which the script has not closed: it goes away.
const GOING_AWAY: u16 = 1001;

/// A connection that is to be closed.
pub(super) struct Leaving {
    connection: Box<Connection<Duplex>>,
    until_ns: u64,
}

impl<D: Driver> Net<D> {
    /// Takes the connection from a socket that is open, and says goodbye on it.
    pub(super) fn leave(&mut self, id: u32, now_ns: u64) {
        let Sockets { all, compressor, leaving, .. } = &mut self.sockets;
        let socket = &mut all[id as usize];
        let Some(mut connection) = socket.connection.take() else { return };
        let wire = socket.wire;
        // A second Close is not sent.
        let key = socket.last_ping.to_be_bytes();
        connection.say(Say::Close(GOING_AWAY, ""), key, compressor, &mut self.scratch);
        let bytes = connection.flush(&mut self.driver, &mut self.scratch);
        self.owned[socket.user as usize].sent_bytes += bytes as u64;
        if std::mem::take(&mut socket.is_paused) {
            self.driver.resume_receiving(SocketId(wire));
        }
        let until_ns = now_ns.saturating_add(LEAVING_NS);
        leaving.push_back((until_ns, wire));
        self.sockets.hold(wire, Holder::Leaving(Leaving { connection, until_ns }));
    }

    /// Closes the connection of a socket that is being opened.
    pub(super) fn drop_connection(&mut self, id: u32) {
        let socket = &mut self.sockets.all[id as usize];
        let Some(mut connection) = socket.connection.take() else { return };
        drop(connection.close(&mut self.driver, Close::Reset));
        let wire = socket.wire;
        self.give_back(wire);
    }

    fn give_back(&mut self, wire: u32) {
        self.sockets.hold(wire, Holder::Nobody);
        self.wires.give_back(wire);
    }

    pub(super) fn forget_lookup(&mut self, id: u32) {
        let site = self.sockets.all[id as usize].site;
        self.sites.forget(site, id | OF_SOCKET);
    }

    /// Takes an event of a connection that leaves.
    pub(super) fn handle_leaving(&mut self, wire: u32, event: Event) {
        match event {
            Event::Received(received) => self.driver.release(received),
            Event::Ended(_) | Event::Failed { .. } => self.part(wire),
            _ => {}
        }
    }

    /// Closes a connection that leaves, if it is one, whose other side has ended already: nothing
    /// comes that could be waited for.
    pub(super) fn part_now(&mut self, wire: u32) {
        if matches!(self.sockets.by_wire[wire as usize], Holder::Leaving(_)) {
            self.part(wire);
        }
    }

    /// Closes a connection that leaves.
    fn part(&mut self, wire: u32) {
        let holder = std::mem::take(&mut self.sockets.by_wire[wire as usize]);
        if let Holder::Leaving(mut leaving) = holder {
            drop(leaving.connection.close(&mut self.driver, Close::Graceful));
            self.give_back(wire);
        }
    }

    /// Closes the connections that have stayed for long enough.
    pub(super) fn part_due(&mut self, now_ns: u64) {
        while let Some((until_ns, wire)) = self.sockets.leaving.front().copied() {
            let is_it = |leaving: &Leaving| leaving.until_ns == until_ns;
            let holder = &self.sockets.by_wire[wire as usize];
            let is_there = matches!(holder, Holder::Leaving(leaving) if is_it(leaving));
            if is_there && until_ns > now_ns {
                return;
            }
            self.sockets.leaving.pop_front();
            if is_there {
                self.part(wire);
            }
        }
    }

    /// Waits until no connection is left that leaves, and gives for how long, ns. It ends in a
    /// second.
    pub(in crate::vu) fn wind_up(&mut self) -> u64 {
        let mut waited_ns = 0;
        loop {
            let now_ns = self.driver.clock_ns();
            self.part_due(now_ns);
            let Some((until_ns, _)) = self.sockets.leaving.front().copied() else {
                return waited_ns;
            };
            if self.driver.wait(until_ns).is_err() {
                return waited_ns;
            }
            waited_ns += self.driver.clock_ns().saturating_sub(now_ns);
            while let Some((_, event)) = self.driver.next() {
                match socket_of(&event) {
                    Some(wire) if self.sockets.has(wire) => self.handle_leaving(wire, event),
                    _ => {
                        if let Event::Received(received) = event {
                            self.driver.release(received);
                        }
                    }
                }
            }
        }
    }
}
