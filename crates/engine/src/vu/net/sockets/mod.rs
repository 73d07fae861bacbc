//! WebSockets of virtual users: from the step that asks for one to its end.
//!
//! ```text
//!            lookup       dial, TLS, handshake       Close of the server, or a failure
//!  connect ──▶ Named ──▶ Opening ───────────▶ Open ─────────────▶ Over ──▶ told, free
//!                                               │
//!                     release or the iteration's end: a Close goes out
//!                                               ▼
//!                                            leaving ──▶ the server has closed, or 1 s later
//! ```
//!
//! What comes waits here until the script listens. When much waits, nothing more is read, so that
//! the server has to wait too.

mod events;
mod leaving;
mod talking;

use std::collections::VecDeque;

use plimsoll_conn::{Compressor, Connection, Duplex, Upgrade};
use plimsoll_io::{Address, Driver, Route, SocketId};
use plimsoll_script::js::http::{Fault, Flow, Next, Via};
use plimsoll_script::js::{News, Timings};

use super::Net;
use super::fault::Owned as OwnedFault;
use super::sites::{OF_SOCKET, Way};
use crate::deadlines::Deadlines;
use crate::vu::books::{Actor, Books};
use crate::vu::tally::{Shortage, SocketEvent, SocketTold, Tally};
use crate::vu::user::User;
use leaving::Leaving;

/// How long the opening of a socket may take, ns.
const OPENING_NS: u64 = 60_000_000_000;

/// How long the server may take to answer a Close, ns.
const CLOSING_NS: u64 = 30_000_000_000;

/// How many bytes of what has come may wait for the script before nothing more is read.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// What an event takes beside its message, bytes.
const EVENT_BYTES: usize = 64;

/// Where a socket stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// The slot holds no socket.
    #[default]
    Free,
    /// The server's name is being looked up.
    Named,
    /// It is being opened.
    Opening,
    /// Messages go both ways.
    Open,
    /// It has ended; the script has yet to be told.
    Over,
}

/// What the script has yet to be told.
#[derive(Debug)]
enum Occurrence {
    Open,
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Ping,
    Pong,
    Over { code: Option<u16>, reason: String, error: String },
}

impl Occurrence {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => EVENT_BYTES + bytes.len(),
            _ => EVENT_BYTES,
        }
    }
}

/// A WebSocket of a script.
#[derive(Default)]
struct Socket {
    user: u32,
    /// Its number at its user.
    number: u32,
    actor: Actor,
    phase: Phase,
    site: u32,
    wire: u32,
    connection: Option<Box<Connection<Duplex>>>,
    route: Option<Route>,
    /// The request that opens it, and the answer.
    flow: Flow,
    began_ns: u64,
    deadline_ns: u64,
    /// What is told of it.
    url: String,
    name: String,
    status: u16,
    subprotocol: String,
    remote_ip: String,
    tags: Option<u32>,
    /// Whether a session that was never open has a duration too, as with `k6/ws`.
    is_blocking: bool,
    waiting: VecDeque<Occurrence>,
    waiting_bytes: usize,
    /// What the script is being told.
    current: Option<Occurrence>,
    /// Whether it is in the list of sockets with events for the script.
    is_heard: bool,
    is_paused: bool,
    /// Bytes of messages that the kernel has not taken.
    queued_bytes: u64,
    /// The pings without a pong, by number, with when they were sent.
    pings: VecDeque<(u32, u64)>,
    last_ping: u32,
}

/// Who has a socket of the driver.
#[derive(Default)]
enum Holder {
    /// No WebSocket.
    #[default]
    Nobody,
    Socket(u32),
    Leaving(Leaving),
}

/// See the head of this module.
pub(super) struct Sockets {
    all: Vec<Socket>,
    free: Vec<u32>,
    by_wire: Vec<Holder>,
    deadlines: Deadlines,
    /// Those that leave, with when they are given up.
    leaving: VecDeque<(u64, u32)>,
    compressor: Compressor,
    /// Users who have news to listen to.
    woken: VecDeque<u32>,
}

impl Sockets {
    pub(super) fn new() -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
            by_wire: Vec::new(),
            deadlines: Deadlines::new(0),
            leaving: VecDeque::new(),
            compressor: Compressor::default(),
            woken: VecDeque::new(),
        }
    }

    /// When something is due.
    pub(super) fn next_ns(&self) -> u64 {
        let leaving_ns = self.leaving.front().map_or(u64::MAX, |(until_ns, _)| *until_ns);
        self.deadlines.next_ns().min(leaving_ns)
    }

    /// Whether a socket of the driver is a WebSocket's.
    pub(super) fn has(&self, wire: u32) -> bool {
        let holder = self.by_wire.get(wire as usize);
        holder.is_some_and(|holder| !matches!(holder, Holder::Nobody))
    }

    fn hold(&mut self, wire: u32, holder: Holder) {
        if self.by_wire.len() <= wire as usize {
            self.by_wire.resize_with(wire as usize + 1, Holder::default);
        }
        self.by_wire[wire as usize] = holder;
    }
}

/// How a socket is told of.
fn told(socket: &Socket, what: SocketEvent) -> SocketTold<'_> {
    SocketTold {
        url: &socket.url,
        name: &socket.name,
        status: socket.status,
        subprotocol: &socket.subprotocol,
        remote_ip: &socket.remote_ip,
        tags: socket.tags,
        what,
    }
}

/// The words of k6 for what has gone wrong with a socket.
fn words(fault: &OwnedFault, route: Option<&Route>, host: &str) -> String {
    let to = match route.map(|route| &route.to) {
        Some(Address::Tcp(to)) => to.to_string(),
        _ => String::new(),
    };
    match fault {
        OwnedFault::Refused => format!("dial tcp {to}: connect: connection refused"),
        OwnedFault::ConnectTimedOut => format!("dial tcp {to}: i/o timeout"),
        OwnedFault::NoSuchHost => format!("lookup {host}: no such host"),
        OwnedFault::Closed | OwnedFault::ClosedWithin => "unexpected EOF".to_owned(),
        fault => fault.as_fault().to_string(),
    }
}

impl<D: Driver> Net<D> {
    /// Begins to open a socket of a user.
    pub(in crate::vu) fn connect<T: Tally>(
        &mut self,
        (user, number): (u32, u32),
        actor: Actor,
        now_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let sockets = &mut self.sockets;
        let id = sockets.free.pop().unwrap_or_else(|| {
            sockets.all.push(Socket::default());
            sockets.deadlines.grow(sockets.all.len());
            sockets.all.len() as u32 - 1
        });
        let socket = &mut sockets.all[id as usize];
        let dial = users[user as usize].vu.dial(number);
        let shown = if dial.request.name.is_empty() { &dial.url } else { &dial.request.name };
        *socket = Socket {
            user,
            number,
            actor,
            phase: Phase::Opening,
            flow: std::mem::take(&mut socket.flow),
            wire: u32::MAX,
            began_ns: now_ns,
            deadline_ns: now_ns.saturating_add(OPENING_NS),
            url: if dial.is_blocking { &dial.url } else { shown }.clone(),
            name: if dial.is_blocking { String::new() } else { shown.clone() },
            tags: dial.request.tags,
            is_blocking: dial.is_blocking,
            ..Socket::default()
        };
        self.owned[user as usize].sockets.push(id);
        let begun =
            socket.flow.begin(&dial.request, &self.terms.network.http, books.wall_ns(now_ns));
        if !dial.fault.is_empty() {
            let _done = socket.flow.fail(&Fault::Other(&dial.fault));
            self.fail_opening(id, now_ns, books);
        } else if begun == Next::Done {
            self.fail_opening(id, now_ns, books);
        } else {
            socket.site = self.sites.of_socket(socket.flow.origin());
            self.sockets.deadlines.watch(id, now_ns.saturating_add(OPENING_NS));
            self.find_socket_way(id, now_ns, users, books);
        }
    }

    /// Finds out where a socket is connected to.
    fn find_socket_way<T: Tally>(
        &mut self,
        id: u32,
        now_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let socket = &mut self.sockets.all[id as usize];
        match self.sites.way(socket.site, id | OF_SOCKET, now_ns) {
            Way::Asked => socket.phase = Phase::Named,
            Way::Open => match self.dial_socket(id, now_ns, users, books) {
                Ok(()) => {}
                Err(fault) => self.fail_socket(id, &fault, now_ns, books),
            },
            Way::Closed(fault) => self.fail_socket(id, &fault, now_ns, books),
        }
    }

    /// The address of a socket's server is there, or cannot be found.
    pub(super) fn find_named_socket<T: Tally>(
        &mut self,
        id: u32,
        now_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        if self.sockets.all[id as usize].phase == Phase::Named {
            self.find_socket_way(id, now_ns, users, books);
        }
    }

    fn dial_socket<T: Tally>(
        &mut self,
        id: u32,
        now_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) -> Result<(), OwnedFault> {
        let socket = &mut self.sockets.all[id as usize];
        let owned = &mut self.owned[socket.user as usize];
        let route = self.sites.route(socket.site, owned.id)?;
        let wire = self.wires.lend(&mut self.driver, &mut owned.wires);
        let wire = wire.ok_or(OwnedFault::NoSocket)?;
        let (tally, place) = books.at(socket.actor.clone(), now_ns);
        tally.dialled(&place, &route.to);
        let mut connection = Box::new(Connection::<Duplex>::new(SocketId(wire), &()));
        let dial = users[socket.user as usize].vu.dial(socket.number);
        connection.prepare(Upgrade {
            head: socket.flow.wire().to_vec(),
            nonce: dial.nonce,
            subprotocols: dial.subprotocols.clone(),
            offers_deflate: dial.offers_deflate,
            key: dial.key,
        });
        connection.open(&mut self.driver, &route);
        (socket.phase, socket.wire) = (Phase::Opening, wire);
        (socket.connection, socket.route) = (Some(connection), Some(route));
        self.sockets.hold(wire, Holder::Socket(id));
        Ok(())
    }

    /// A socket cannot be opened, or has failed.
    fn fail_socket<T: Tally>(
        &mut self,
        id: u32,
        fault: &OwnedFault,
        now_ns: u64,
        books: &mut Books<T>,
    ) {
        let socket = &mut self.sockets.all[id as usize];
        if let Some(shortage) = Shortage::of(fault.as_fault().errno()) {
            let (tally, place) = books.at(socket.actor.clone(), now_ns);
            tally.short(&place, shortage);
        }
        let text = words(fault, socket.route.as_ref(), socket.flow.origin().host);
        if socket.phase == Phase::Open {
            // The end of the stream has k6's words among the closes.
            let is_end = matches!(fault, OwnedFault::Closed | OwnedFault::ClosedWithin);
            let (reason, error) =
                if is_end { ("unexpected EOF", String::new()) } else { ("", text) };
            self.end_socket(id, (1006, reason.to_owned(), error), now_ns, books);
        } else {
            let _done = socket.flow.fail(&Fault::Other(&text));
            self.fail_opening(id, now_ns, books);
        }
    }

    /// A socket was never open; the flow has the answer or the error.
    fn fail_opening<T: Tally>(&mut self, id: u32, now_ns: u64, books: &mut Books<T>) {
        self.drop_connection(id);
        self.tell_session(id, now_ns, books);
        if self.sockets.all[id as usize].is_blocking {
            self.tell_end(id, now_ns, books);
        }
        self.sockets.all[id as usize].phase = Phase::Over;
        let over = Occurrence::Over { code: None, reason: String::new(), error: String::new() };
        self.push(id, over);
    }

    /// A socket that was open is over.
    fn end_socket<T: Tally>(
        &mut self,
        id: u32,
        (code, reason, error): (u16, String, String),
        now_ns: u64,
        books: &mut Books<T>,
    ) {
        self.leave(id, now_ns);
        self.tell_end(id, now_ns, books);
        self.sockets.all[id as usize].phase = Phase::Over;
        self.push(id, Occurrence::Over { code: Some(code), reason, error });
    }

    fn tell_socket<T: Tally>(&self, id: u32, what: SocketEvent, at_ns: u64, books: &mut Books<T>) {
        let socket = &self.sockets.all[id as usize];
        let (tally, place) = books.at(socket.actor.clone(), at_ns);
        tally.socket(&place, &told(socket, what));
    }

    fn tell_session<T: Tally>(&self, id: u32, now_ns: u64, books: &mut Books<T>) {
        let connecting_ns = now_ns.saturating_sub(self.sockets.all[id as usize].began_ns);
        self.tell_socket(id, SocketEvent::Session { connecting_ns }, now_ns, books);
    }

    fn tell_end<T: Tally>(&self, id: u32, now_ns: u64, books: &mut Books<T>) {
        let session_ns = now_ns.saturating_sub(self.sockets.all[id as usize].began_ns);
        self.tell_socket(id, SocketEvent::Ended { session_ns }, now_ns, books);
    }

    /// Keeps an event for the script.
    fn push(&mut self, id: u32, occurrence: Occurrence) {
        let socket = &mut self.sockets.all[id as usize];
        socket.waiting_bytes += occurrence.bytes();
        socket.waiting.push_back(occurrence);
        if !socket.is_heard {
            socket.is_heard = true;
            self.owned[socket.user as usize].heard.push_back(id);
            self.sockets.woken.push_back(socket.user);
        }
    }

    /// A user who has news to listen to.
    pub(in crate::vu) fn take_woken(&mut self) -> Option<u32> {
        self.sockets.woken.pop_front()
    }

    /// A socket of a user of which there is news: of one by its number, or of any.
    pub(in crate::vu) fn heard(&mut self, user: u32, of: Option<u32>) -> Option<u32> {
        let all = &self.sockets.all;
        let heard = &mut self.owned[user as usize].heard;
        let is_meant = |id: &u32| of.is_none_or(|of| all[*id as usize].number == of);
        let at = heard.iter().position(is_meant)?;
        heard.remove(at)
    }

    /// The next news of a socket, with its number.
    pub(in crate::vu) fn news<T: Tally>(
        &mut self,
        id: u32,
        now_ns: u64,
        books: &mut Books<T>,
    ) -> (u32, News<'_>) {
        let socket = &mut self.sockets.all[id as usize];
        socket.current = socket.waiting.pop_front();
        let bytes = socket.current.as_ref().map_or(0, Occurrence::bytes);
        socket.waiting_bytes -= bytes;
        if socket.is_paused && socket.waiting_bytes < WAITING_BYTES_MAX / 2 {
            socket.is_paused = false;
            self.driver.resume_receiving(SocketId(socket.wire));
        }
        if let Some(Occurrence::Text(_) | Occurrence::Binary(_)) = socket.current {
            self.tell_socket(id, SocketEvent::Received, now_ns, books);
        }
        let socket = &self.sockets.all[id as usize];
        let answer = || {
            let via = Via { remote_ip: &socket.remote_ip, ..Via::default() };
            socket.flow.answer(socket.number, &via, Timings::default())
        };
        let news = match &socket.current {
            Some(Occurrence::Open) => News::Open(answer()),
            Some(Occurrence::Text(bytes)) => News::Text(bytes),
            Some(Occurrence::Binary(bytes)) => News::Binary(bytes),
            None | Some(Occurrence::Ping) => News::Ping,
            Some(Occurrence::Pong) => News::Pong,
            Some(Occurrence::Over { code, reason, error }) => {
                News::Over { answer: answer(), code: *code, reason, error }
            }
        };
        (socket.number, news)
    }

    /// The script has been told.
    pub(in crate::vu) fn forget_news(&mut self, id: u32) {
        let socket = &mut self.sockets.all[id as usize];
        match socket.current.take() {
            Some(Occurrence::Over { .. }) => self.forget_socket(id),
            _ if socket.waiting.is_empty() => socket.is_heard = false,
            _ => self.owned[socket.user as usize].heard.push_back(id),
        }
    }

    /// A user needs a socket no more.
    fn forget_socket(&mut self, id: u32) {
        let socket = &mut self.sockets.all[id as usize];
        (socket.phase, socket.waiting) = (Phase::Free, VecDeque::new());
        let owned = &mut self.owned[socket.user as usize];
        owned.sockets.retain(|open| *open != id);
        owned.heard.retain(|heard| *heard != id);
        self.sockets.free.push(id);
    }

    /// The socket of a user by the user's number for it.
    fn socket_of(&self, user: u32, number: u32) -> Option<u32> {
        let mut owned = self.owned[user as usize].sockets.iter().copied();
        owned.find(|id| self.sockets.all[*id as usize].number == number)
    }
}
