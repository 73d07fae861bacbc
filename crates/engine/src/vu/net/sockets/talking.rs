//! What a script does with a socket that is open: send, close, leave.

use plimsoll_conn::Say;
use plimsoll_io::Driver;
use plimsoll_script::js::Sends;

use super::{CLOSING_NS, Phase};
use crate::vu::books::Books;
use crate::vu::net::Net;
use crate::vu::tally::{SocketEvent, Tally};
use crate::vu::user::User;

/// The most pings that wait for their pongs; of more the oldest are forgotten.
const PINGS_MAX: usize = 1000;

impl<D: Driver> Net<D> {
    /// Sends what a user has put up for a socket, if that is open. Gives the bytes of messages that
    /// wait to be sent on it.
    pub(in crate::vu) fn transmit<T: Tally>(
        &mut self,
        (user, number): (u32, u32),
        now_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) -> u64 {
        let Some(id) = self.socket_of(user, number) else { return 0 };
        let socket = &mut self.sockets.all[id as usize];
        let Some(connection) = &mut socket.connection else { return 0 };
        if socket.phase != Phase::Open {
            return 0;
        }
        let outgoing = users[user as usize].vu.outgoing();
        let ping;
        let say = match &outgoing.sends {
            Sends::Text => Say::Text(&outgoing.payload),
            Sends::Binary => Say::Binary(&outgoing.payload),
            Sends::Ping => {
                socket.last_ping = socket.last_ping.wrapping_add(1);
                ping = socket.last_ping.to_string();
                Say::Ping(ping.as_bytes())
            }
            Sends::Close(code, reason) => Say::Close(*code, reason),
        };
        let (compressor, scratch) = (&mut self.sockets.compressor, &mut self.scratch);
        let is_sent = connection.say(say, outgoing.key, compressor, scratch);
        let bytes = connection.flush(&mut self.driver, scratch);
        self.owned[user as usize].sent_bytes += bytes as u64;
        if !is_sent {
            return socket.queued_bytes;
        }
        // With `k6/websockets` what is not a message counts as sent too, as in k6.
        let mut is_told = !socket.is_blocking;
        match say {
            Say::Text(payload) | Say::Binary(payload) => {
                socket.queued_bytes += payload.len() as u64;
                is_told = true;
            }
            Say::Ping(_) => {
                if socket.pings.len() == PINGS_MAX {
                    socket.pings.pop_front();
                }
                socket.pings.push_back((socket.last_ping, now_ns));
            }
            Say::Close(..) => {
                socket.deadline_ns = now_ns.saturating_add(CLOSING_NS);
                self.sockets.deadlines.watch(id, socket.deadline_ns);
            }
        }
        if is_told {
            self.tell_socket(id, SocketEvent::Sent, now_ns, books);
        }
        self.queued(user, number)
    }

    /// Bytes of messages that wait to be sent on a socket.
    pub(in crate::vu) fn queued(&self, user: u32, number: u32) -> u64 {
        let id = self.socket_of(user, number);
        id.map_or(0, |id| self.sockets.all[id as usize].queued_bytes)
    }

    /// The script needs a socket no more.
    pub(in crate::vu) fn release<T: Tally>(
        &mut self,
        (user, number): (u32, u32),
        now_ns: u64,
        books: &mut Books<T>,
    ) {
        let Some(id) = self.socket_of(user, number) else { return };
        if self.sockets.all[id as usize].phase == Phase::Open {
            self.tell_end(id, now_ns, books);
        }
        self.abandon(id, now_ns);
    }

    /// Ends all sockets of a user without telling of them.
    pub(in crate::vu::net) fn cut_off_sockets(&mut self, user: u32) {
        let now_ns = self.driver.clock_ns();
        while let Some(id) = self.owned[user as usize].sockets.last().copied() {
            self.abandon(id, now_ns);
        }
        self.owned[user as usize].heard.clear();
    }

    /// Ends a socket, wherever it stands.
    fn abandon(&mut self, id: u32, now_ns: u64) {
        match self.sockets.all[id as usize].phase {
            Phase::Open => self.leave(id, now_ns),
            Phase::Named => self.forget_lookup(id),
            Phase::Opening => self.drop_connection(id),
            Phase::Over | Phase::Free => {}
        }
        self.forget_socket(id);
    }
}
