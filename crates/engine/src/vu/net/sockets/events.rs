//! What the connections of sockets report.

use plimsoll_conn::{Failure, Heard, State, UpgradeAnswer};
use plimsoll_io::{Driver, Event, Received, SocketId};

use super::super::events::RESUMES;
use super::super::fault::{self, Owned as OwnedFault};
use super::{Holder, Occurrence, Phase, WAITING_BYTES_MAX};
use crate::vu::books::Books;
use crate::vu::net::Net;
use crate::vu::tally::{SocketEvent, Tally};
use crate::vu::user::User;

impl<D: Driver> Net<D> {
    /// Takes an event of a WebSocket's connection.
    pub(in crate::vu::net) fn handle_socket<T: Tally>(
        &mut self,
        (wire, event): (u32, Event),
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let Holder::Socket(id) = self.sockets.by_wire[wire as usize] else {
            self.handle_leaving(wire, event);
            return;
        };
        match event {
            Event::Connected(_) => self.socket_connected(id, at_ns, books),
            Event::Sent(_) => {
                let socket = &mut self.sockets.all[id as usize];
                socket.queued_bytes = 0;
                if let Some(connection) = &mut socket.connection {
                    connection.taken(|_| {});
                }
            }
            Event::Received(received) => self.socket_received(id, received, at_ns, users, books),
            Event::Ended(_) => {
                let socket = &mut self.sockets.all[id as usize];
                let Some(connection) = &mut socket.connection else { return };
                let failure = connection.ended(|_| {}).err().unwrap_or(Failure::Closed);
                self.socket_failed(id, &failure, at_ns, users, books);
                self.part_now(wire);
            }
            Event::Failed { operation, error, .. } => {
                let fault = fault::of_system(operation, error);
                self.fail_socket(id, &fault, at_ns, books);
                self.part_now(wire);
            }
            Event::SentPart(_) | Event::Accepted { .. } | Event::Woken => {}
        }
    }

    fn socket_connected<T: Tally>(&mut self, id: u32, at_ns: u64, books: &mut Books<T>) {
        let socket = &mut self.sockets.all[id as usize];
        let (Some(connection), Some(route)) = (&mut socket.connection, &socket.route) else {
            return;
        };
        if let plimsoll_io::Address::Tcp(to) = &route.to {
            socket.remote_ip = to.ip().to_string();
        }
        let setup = self.sites.setup(socket.site);
        let begun =
            connection.connected(&mut self.driver, setup, route, RESUMES, &mut self.scratch);
        match begun {
            Ok(bytes) => self.owned[socket.user as usize].sent_bytes += bytes as u64,
            Err(failure) => {
                let fault = fault::of_connection(&failure, false);
                self.fail_socket(id, &fault, at_ns, books);
            }
        }
    }

    fn socket_received<T: Tally>(
        &mut self,
        id: u32,
        received: Received,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let socket = &mut self.sockets.all[id as usize];
        let owned = &mut self.owned[socket.user as usize];
        owned.received_bytes += received.len() as u64;
        let (tally, place) = books.at(users[socket.user as usize].actor(), at_ns);
        tally.received(&place, received.len() as u64);
        let Some(connection) = &mut socket.connection else {
            self.driver.release(received);
            return;
        };
        let (setup, scratch) = (self.sites.setup(socket.site), &mut self.scratch);
        let bytes = self.driver.bytes(&received);
        let read = connection.receive(setup, RESUMES, scratch, bytes, |_| {});
        self.driver.release(received);
        owned.sent_bytes += connection.flush(&mut self.driver, scratch) as u64;
        while let Some(connection) = &mut self.sockets.all[id as usize].connection
            && let Some(heard) = connection.hear()
        {
            self.take_heard(id, heard, at_ns, users, books);
        }
        if let Err(failure) = read {
            self.socket_failed(id, &failure, at_ns, users, books);
        }
        self.restrain(id);
    }

    /// Stops reading if the script has much to listen to.
    fn restrain(&mut self, id: u32) {
        let socket = &mut self.sockets.all[id as usize];
        let is_open = socket.phase == Phase::Open;
        if is_open && !socket.is_paused && socket.waiting_bytes > WAITING_BYTES_MAX {
            socket.is_paused = true;
            self.driver.pause_receiving(SocketId(socket.wire));
        }
    }

    fn take_heard<T: Tally>(
        &mut self,
        id: u32,
        heard: Heard,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        match heard {
            Heard::Open(answer) => {
                self.take_answer(id, &answer, users, books.wall_ns(at_ns));
                let socket = &mut self.sockets.all[id as usize];
                (socket.phase, socket.deadline_ns) = (Phase::Open, u64::MAX);
                self.tell_session(id, at_ns, books);
                self.push(id, Occurrence::Open);
            }
            Heard::Text(bytes) => self.push(id, Occurrence::Text(bytes)),
            Heard::Binary(bytes) => self.push(id, Occurrence::Binary(bytes)),
            Heard::Ping => self.push(id, Occurrence::Ping),
            Heard::Pong(payload) => {
                self.take_pong(id, &payload, at_ns, books);
                self.push(id, Occurrence::Pong);
            }
            Heard::Close { code, reason } => {
                self.end_socket(id, (code, reason, String::new()), at_ns, books);
            }
        }
    }

    /// A pong answers the ping of its number; those before it are not answered any more.
    fn take_pong<T: Tally>(&mut self, id: u32, payload: &[u8], at_ns: u64, books: &mut Books<T>) {
        let socket = &mut self.sockets.all[id as usize];
        let number = std::str::from_utf8(payload).ok().and_then(|text| text.parse().ok());
        let is_it = |ping: &(u32, u64)| Some(ping.0) == number;
        let Some(at) = socket.pings.iter().position(is_it) else { return };
        let sent_ns = socket.pings[at].1;
        socket.pings.drain(..=at);
        let round_trip_ns = at_ns.saturating_sub(sent_ns);
        self.tell_socket(id, SocketEvent::Pong { round_trip_ns }, at_ns, books);
    }

    /// Takes what the server has answered to the request for a socket.
    fn take_answer(&mut self, id: u32, answer: &UpgradeAnswer, users: &[User], wall_ns: u64) {
        let socket = &mut self.sockets.all[id as usize];
        let dial = users[socket.user as usize].vu.dial(socket.number);
        let options = &self.terms.network.http;
        socket.status = answer.status;
        let of_protocol =
            |(name, _): &(&str, &[u8])| name.eq_ignore_ascii_case("sec-websocket-protocol");
        if let Some((_, value)) = plimsoll_conn::fields(&answer.lines).find(of_protocol) {
            socket.subprotocol = String::from_utf8_lossy(value).into_owned();
        }
        let (status, lines) = (answer.status, &answer.lines);
        socket.flow.head(&dial.request, options, status, lines, wall_ns);
        socket.flow.body(options, &answer.body);
    }

    /// The connection of a socket is of no use any more.
    fn socket_failed<T: Tally>(
        &mut self,
        id: u32,
        failure: &Failure,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let socket = &mut self.sockets.all[id as usize];
        let Some(connection) = &mut socket.connection else { return };
        debug_assert_ne!(connection.state(), State::Closed);
        if socket.phase == Phase::Opening
            && let Some(answer) = connection.declined()
        {
            let is_other = answer.status == 101;
            self.take_answer(id, &answer, users, books.wall_ns(at_ns));
            if is_other {
                let fault = OwnedFault::Other("websocket: bad handshake".to_owned());
                self.fail_socket(id, &fault, at_ns, books);
            } else {
                self.fail_opening(id, at_ns, books);
            }
            return;
        }
        let fault = match failure {
            Failure::WebSocket(error) => OwnedFault::Other(format!("websocket: {error}")),
            failure => fault::of_connection(failure, false),
        };
        self.fail_socket(id, &fault, at_ns, books);
    }

    /// Looks at what is due.
    pub(in crate::vu::net) fn look_at_sockets<T: Tally>(
        &mut self,
        (by_ns, now_ns): (u64, u64),
        books: &mut Books<T>,
    ) {
        self.part_due(now_ns);
        while let Some(id) = self.sockets.deadlines.pop(by_ns) {
            let socket = &self.sockets.all[id as usize];
            let (phase, deadline_ns) = (socket.phase, socket.deadline_ns);
            if matches!(phase, Phase::Free | Phase::Over) || deadline_ns == u64::MAX {
                continue;
            }
            if deadline_ns > by_ns {
                self.sockets.deadlines.watch(id, deadline_ns);
                continue;
            }
            if phase == Phase::Named {
                self.forget_lookup(id);
            }
            let fault = match phase {
                Phase::Open => OwnedFault::Other("the server did not answer the Close".to_owned()),
                _ => OwnedFault::ConnectTimedOut,
            };
            self.fail_socket(id, &fault, now_ns, books);
        }
    }
}
