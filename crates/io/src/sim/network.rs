//! The simulated network: connections, faults and the scripted peer, moved along by one queue of
//! events ordered by time.
//!
//! A connection has two sides: 0 opened it; 1 took it and is either a socket of the same driver or
//! the [`Peer`]. What arrives for a socket becomes a [`Notice`] that the driver turns into events.
//! Connections are never numbered twice, so an event can't reach a later one by mistake.
//!
//! Absent on purpose: packets, losses and congestion. A kernel hides them, and what it lets through
//! (lateness, pieces, resets, refusals, full buffers) is all here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::driver::SocketId;
use crate::route::{Address, Route};
use crate::tcp_info::TcpInfo;

use super::script::{Action, Peer, PeerActions, PeerConn, SimOptions};

/// Bytes under way to one side, or there and not yet read, before the sender has to wait.
const WINDOW_BYTES: usize = 256 * 1024;

/// Where simulated time starts; 0 stands for "do not wait".
pub(super) const START_NS: u64 = 1;

/// One side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) conn: u32,
    pub(super) side: u8,
}

impl End {
    fn other(self) -> Self {
        Self { conn: self.conn, side: 1 - self.side }
    }
}

/// What the driver is told.
#[derive(Debug)]
pub(super) enum Notice {
    Connected(SocketId),
    Refused(SocketId),
    Accepted {
        listener: SocketId,
        socket: SocketId,
        end: End,
        peer: SocketAddr,
    },
    /// A connection was reset because no socket was free for it.
    NoSocket(SocketId),
    Data {
        socket: SocketId,
        at_ns: u64,
        bytes: Vec<u8>,
    },
    Ended(SocketId),
    Reset(SocketId),
    Room(SocketId),
}

#[derive(Debug)]
enum What {
    /// The connect reaches the address.
    Knock,
    /// The answer to the connect is back.
    Connected,
    Refused,
    /// The listener or the peer takes the connection.
    Accept,
    Data(Vec<u8>),
    /// The other side sends no more, and reads no more.
    Ended,
    /// The other side sends no more.
    Finished,
    Reset,
    /// The sender's kernel takes bytes again.
    Room,
    /// Something the peer does is due.
    Act(Action),
    /// The peer dies.
    Death,
}

#[derive(Debug)]
struct Scheduled {
    /// Time, and the number of the event where times are equal.
    key: (u64, u64),
    end: End,
    what: What,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// Nobody yet, or nobody any more.
    None,
    Socket(SocketId),
    Peer,
}

#[derive(Debug)]
struct Conn {
    route: Route,
    holders: [Holder; 2],
    /// Each side has said that it sends no more.
    finished: [bool; 2],
    /// The connect was answered, so that the other side hears of an end.
    answered: bool,
    /// The listener or the peer has taken it.
    accepted: bool,
    /// The last arrival at each side so far, which keeps the order.
    arrival_ns: [u64; 2],
    /// Bytes taken from the other side and not yet read at this one.
    unread: [usize; 2],
    /// This side's sender waits for room at the other side.
    blocked: [bool; 2],
}

/// The state of the network, and what it has to tell the driver.
pub(super) struct Network {
    options: SimOptions,
    random: Xoshiro256PlusPlus,
    /// How far the network has come.
    pub(super) now_ns: u64,
    /// Until when everything has happened.
    pub(super) ran_to_ns: u64,
    queue: BinaryHeap<Reverse<Scheduled>>,
    scheduled: u64,
    conns: Vec<Conn>,
    listeners: Vec<(SocketAddr, SocketId)>,
    last_port: u16,
    /// Free sockets for accepted connections.
    pub(super) spare: Vec<SocketId>,
    peer: Option<Box<dyn Peer>>,
    actions: PeerActions,
    /// For the driver to take.
    pub(super) notices: Vec<Notice>,
}

impl Network {
    pub(super) fn new(
        options: SimOptions,
        peer: Option<Box<dyn Peer>>,
        spare: Vec<SocketId>,
    ) -> Self {
        let mut network = Self {
            random: Xoshiro256PlusPlus::seed_from_u64(options.seed),
            now_ns: START_NS,
            ran_to_ns: START_NS,
            queue: BinaryHeap::new(),
            scheduled: 0,
            conns: Vec::new(),
            listeners: Vec::new(),
            last_port: 10_000,
            spare,
            peer,
            actions: PeerActions::default(),
            notices: Vec::new(),
            options,
        };
        if let Some(dead) = network.options.peer_dead {
            network.at(dead.at_ns, End { conn: 0, side: 1 }, What::Death);
        }
        network
    }

    pub(super) fn draw(&mut self, range: &Range<u64>) -> u64 {
        match range.end.saturating_sub(range.start) {
            0 | 1 => range.start,
            width => range.start + self.random.next_u64() % width,
        }
    }

    /// Lets some time pass in which nothing is looked at; says how much.
    pub(super) fn take_time(&mut self, range: &Range<u64>) -> u64 {
        let for_ns = self.draw(range);
        self.now_ns += for_ns;
        for_ns
    }

    pub(super) fn wait_jitter_ns(&mut self) -> u64 {
        let range = self.options.wait_jitter_ns.clone();
        self.draw(&range)
    }

    fn chance(&mut self, probability: f64) -> bool {
        // 53 random bits, as many as a float between 0 and 1 tells apart.
        probability > 0.0
            && ((self.random.next_u64() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    fn at(&mut self, at_ns: u64, end: End, what: What) {
        self.scheduled += 1;
        self.queue.push(Reverse(Scheduled { key: (at_ns, self.scheduled), end, what }));
    }

    /// Schedules an arrival one latency from now, after everything that is already under way.
    fn deliver(&mut self, end: End, what: What) {
        let latency_ns = self.options.latency_ns.clone();
        let at_ns = self.now_ns + self.draw(&latency_ns);
        let last_ns = &mut self.conns[end.conn as usize].arrival_ns[usize::from(end.side)];
        *last_ns = at_ns.max(*last_ns);
        let at_ns = *last_ns;
        self.at(at_ns, end, what);
    }

    fn deliver_data(&mut self, end: End, mut bytes: Vec<u8>) {
        self.conns[end.conn as usize].unread[usize::from(end.side)] += bytes.len();
        while bytes.len() > 1 && self.chance(self.options.split) {
            let cut = self.draw(&(1..bytes.len() as u64)) as usize;
            let rest = bytes.split_off(cut);
            self.deliver(end, What::Data(std::mem::replace(&mut bytes, rest)));
        }
        self.deliver(end, What::Data(bytes));
    }

    /// Where a connection comes from.
    fn source(&self, conn: u32) -> SocketAddr {
        let from = self.conns[conn as usize].route.from;
        let port = 32_768 + (conn % 28_000) as u16;
        SocketAddr::new(from.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), port)
    }

    fn holder(&self, end: End) -> Holder {
        self.conns[end.conn as usize].holders[usize::from(end.side)]
    }

    fn leave(&mut self, end: End) -> Holder {
        let holder = &mut self.conns[end.conn as usize].holders[usize::from(end.side)];
        std::mem::replace(holder, Holder::None)
    }

    // What the driver asks for.

    /// When something happens next.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.queue.peek().map(|Reverse(next)| next.key.0)
    }

    pub(super) fn connect(&mut self, socket: SocketId, route: &Route) -> End {
        let end = End { conn: self.conns.len() as u32, side: 0 };
        self.conns.push(Conn {
            route: route.clone(),
            holders: [Holder::Socket(socket), Holder::None],
            finished: [false; 2],
            answered: false,
            accepted: false,
            arrival_ns: [0; 2],
            unread: [0; 2],
            blocked: [false; 2],
        });
        self.deliver(end.other(), What::Knock);
        end
    }

    /// Listens and returns the address with its port resolved; `None` when it is taken.
    pub(super) fn listen(&mut self, socket: SocketId, mut at: SocketAddr) -> Option<SocketAddr> {
        if at.port() == 0 {
            self.last_port += 1;
            at.set_port(self.last_port);
        }
        let free = self.listeners.iter().all(|&(taken, _)| taken != at);
        free.then(|| {
            self.listeners.push((at, socket));
            at
        })
    }

    pub(super) fn unlisten(&mut self, socket: SocketId) {
        self.listeners.retain(|&(_, listener)| listener != socket);
    }

    /// Where a listener listens.
    pub(super) fn listening_at(&self, socket: SocketId) -> Option<SocketAddr> {
        self.listeners.iter().find(|&&(_, listener)| listener == socket).map(|&(at, _)| at)
    }

    /// The address of this end of a TCP connection.
    pub(super) fn local_address(&self, end: End) -> Option<SocketAddr> {
        match self.conns[end.conn as usize].route.to {
            Address::Unix(_) => None,
            Address::Tcp(_) | Address::Udp(_) if end.side == 0 => Some(self.source(end.conn)),
            Address::Tcp(to) | Address::Udp(to) => Some(to),
        }
    }

    /// What the script says of every TCP connection.
    pub(super) fn tcp_info(&self, end: End) -> Option<TcpInfo> {
        let is_tcp = matches!(self.conns[end.conn as usize].route.to, Address::Tcp(_));
        self.options.tcp_info.filter(|_| is_tcp)
    }

    /// The listener a connection reaches; at a Unix socket there is only ever the peer.
    fn listener(&self, conn: u32) -> Option<SocketId> {
        let Address::Tcp(to) = self.conns[conn as usize].route.to else { return None };
        let hears = |at: SocketAddr| at == to || at.ip().is_unspecified() && at.port() == to.port();
        self.listeners.iter().find(|&&(at, _)| hears(at)).map(|&(_, socket)| socket)
    }

    /// Takes what the kernel would take of these bytes; returns how many.
    pub(super) fn send(&mut self, from: End, bytes: &[u8]) -> usize {
        let to = from.other();
        let room =
            WINDOW_BYTES.saturating_sub(self.conns[to.conn as usize].unread[usize::from(to.side)]);
        let mut taken = bytes.len().min(room);
        if taken < bytes.len() {
            self.conns[from.conn as usize].blocked[usize::from(from.side)] = true;
        } else if taken > 1 && self.chance(self.options.partial_write) {
            taken = self.draw(&(1..taken as u64)) as usize;
            let latency_ns = self.options.latency_ns.clone();
            let at_ns = self.now_ns + self.draw(&latency_ns);
            self.at(at_ns, from, What::Room);
        }
        if taken > 0 {
            self.deliver_data(to, bytes[..taken].to_vec());
        }
        taken
    }

    /// Bytes were read at this side, so that the other may send as many.
    pub(super) fn consumed(&mut self, at: End, len: usize) {
        let from = at.other();
        let conn = &mut self.conns[at.conn as usize];
        conn.unread[usize::from(at.side)] -= len;
        if std::mem::take(&mut conn.blocked[usize::from(from.side)]) {
            let latency_ns = self.options.latency_ns.clone();
            let at_ns = self.now_ns + self.draw(&latency_ns);
            self.at(at_ns, from, What::Room);
        }
    }

    /// This side sends no more, but still reads.
    pub(super) fn finish(&mut self, end: End) {
        let conn = &mut self.conns[end.conn as usize];
        let finished = &mut conn.finished[usize::from(end.side)];
        if conn.answered && !std::mem::replace(finished, true) {
            self.deliver(end.other(), What::Finished);
        }
    }

    pub(super) fn close(&mut self, end: End, reset: bool) {
        self.leave(end);
        let conn = &self.conns[end.conn as usize];
        // An end can be said once.
        if conn.answered && (reset || !conn.finished[usize::from(end.side)]) {
            self.deliver(end.other(), if reset { What::Reset } else { What::Ended });
        }
    }

    /// Lets everything happen that is due by `now_ns`; with `stop`, only until the driver has to
    /// be told something.
    pub(super) fn run(&mut self, now_ns: u64, stop: bool) {
        while let Some(Reverse(next)) = self.queue.peek()
            && next.key.0 <= now_ns
            && (!stop || self.notices.is_empty())
        {
            let Some(Reverse(next)) = self.queue.pop() else { break };
            self.now_ns = self.now_ns.max(next.key.0);
            self.happen(next);
        }
        if self.notices.is_empty() || !stop {
            self.now_ns = self.now_ns.max(now_ns);
            self.ran_to_ns = self.now_ns;
        }
    }

    fn happen(&mut self, event: Scheduled) {
        let end = event.end;
        if let Some(stalled) = self.options.peer_stalled
            && stalled.holds(self.now_ns)
            && self.concerns_peer(&event)
        {
            // It keeps its number, and so its place among what happens at the end of the window.
            let key = (stalled.end_ns(), event.key.1);
            self.queue.push(Reverse(Scheduled { key, ..event }));
            return;
        }
        match event.what {
            What::Knock => self.knock(end),
            What::Accept => self.accept(end),
            What::Data(bytes) => self.arrive(end, bytes),
            What::Act(action) => self.act(end, action),
            What::Death => self.die(),
            What::Reset => self.lose(end),
            What::Ended if self.holder(end) == Holder::Peer => self.lose(end),
            What::Finished if self.holder(end) == Holder::Peer => {
                self.with_peer(end, |peer, now_ns, conn, out| peer.ended(now_ns, conn, out));
            }
            What::Ended | What::Finished => self.tell(end, Notice::Ended),
            What::Connected => self.tell(end, Notice::Connected),
            What::Refused => self.tell(end, Notice::Refused),
            What::Room => self.tell(end, Notice::Room),
        }
    }

    fn tell(&mut self, end: End, notice: fn(SocketId) -> Notice) {
        if let Holder::Socket(socket) = self.holder(end) {
            self.notices.push(notice(socket));
        }
    }

    /// Whether the event needs the peer's process, not only its kernel.
    fn concerns_peer(&self, event: &Scheduled) -> bool {
        match event.what {
            What::Accept
            | What::Data(_)
            | What::Ended
            | What::Finished
            | What::Reset
            | What::Act(_) => self.holder(event.end) == Holder::Peer,
            _ => false,
        }
    }

    fn knock(&mut self, end: End) {
        let conn = &self.conns[end.conn as usize];
        if conn.holders[0] == Holder::None {
            return;
        }
        let listening = self.listener(end.conn).is_some();
        let dead = self.options.peer_dead.is_some_and(|dead| dead.holds(self.now_ns));
        let peer = !listening && self.peer.is_some() && !dead;
        let to = self.options.refused.map(Address::Tcp);
        let refused = to.is_some_and(|to| self.conns[end.conn as usize].route.to == to);
        if !(listening || peer) || refused || self.chance(self.options.refuse) {
            self.deliver(end.other(), What::Refused);
            return;
        }
        let delay_ns = self.options.accept_delay_ns.clone();
        let accept_ns = self.now_ns + self.draw(&delay_ns);
        let conn = &mut self.conns[end.conn as usize];
        conn.answered = true;
        conn.arrival_ns[1] = accept_ns;
        if peer {
            conn.holders[1] = Holder::Peer;
        }
        self.at(accept_ns, end, What::Accept);
        self.deliver(end.other(), What::Connected);
    }

    fn accept(&mut self, end: End) {
        let conn = &mut self.conns[end.conn as usize];
        conn.accepted = true;
        if conn.holders[1] == Holder::Peer {
            let to = conn.route.to.clone();
            self.with_peer(end, |peer, now_ns, conn, out| {
                peer.connecting(conn, &to);
                peer.connected(now_ns, conn, out);
            });
            return;
        }
        let Some(listener) = self.listener(end.conn) else {
            self.close(end, true);
            return;
        };
        let Some(socket) = self.spare.pop() else {
            self.close(end, true);
            self.notices.push(Notice::NoSocket(listener));
            return;
        };
        self.conns[end.conn as usize].holders[1] = Holder::Socket(socket);
        let peer = self.source(end.conn);
        self.notices.push(Notice::Accepted { listener, socket, end, peer });
    }

    fn arrive(&mut self, end: End, bytes: Vec<u8>) {
        let holder = self.holder(end);
        if holder == Holder::None || self.chance(self.options.reset) {
            // Also when nobody is there any more: that is how a kernel answers.
            self.lose(end);
            self.deliver(end.other(), What::Reset);
            return;
        }
        match holder {
            Holder::Socket(socket) => {
                self.notices.push(Notice::Data { socket, at_ns: self.now_ns, bytes });
            }
            Holder::Peer => {
                self.consumed(end, bytes.len());
                self.with_peer(end, |peer, now_ns, conn, out| {
                    peer.received(now_ns, conn, &bytes, out);
                });
            }
            Holder::None => {}
        }
    }

    /// The connection is gone, seen from this side.
    fn lose(&mut self, end: End) {
        match self.leave(end) {
            Holder::Socket(socket) => self.notices.push(Notice::Reset(socket)),
            Holder::Peer => {
                if let Some(peer) = &mut self.peer
                    && self.conns[end.conn as usize].accepted
                {
                    peer.closed(self.now_ns, PeerConn(end.conn));
                }
            }
            Holder::None => {}
        }
    }

    fn die(&mut self) {
        for conn in 0..self.conns.len() as u32 {
            let end = End { conn, side: 1 };
            if self.holder(end) == Holder::Peer {
                self.lose(end);
                self.deliver(end.other(), What::Reset);
            }
        }
    }

    fn with_peer(
        &mut self,
        end: End,
        call: impl FnOnce(&mut dyn Peer, u64, PeerConn, &mut PeerActions),
    ) {
        let Some(peer) = &mut self.peer else { return };
        let mut actions = std::mem::take(&mut self.actions);
        call(&mut **peer, self.now_ns, PeerConn(end.conn), &mut actions);
        for (after_ns, action) in actions.0.drain(..) {
            if after_ns == 0 {
                self.act(end, action);
            } else {
                self.at(self.now_ns + after_ns, end, What::Act(action));
            }
        }
        self.actions = actions;
    }

    fn act(&mut self, end: End, action: Action) {
        if self.holder(end) != Holder::Peer {
            return;
        }
        match action {
            Action::Send(bytes) if bytes.is_empty() => {}
            Action::Send(bytes) => self.deliver_data(end.other(), bytes),
            Action::Wake => {
                self.with_peer(end, |peer, now_ns, conn, out| peer.woken(now_ns, conn, out));
            }
            Action::Close => self.close(end, false),
            Action::Reset => self.close(end, true),
        }
    }
}
