//! A driver with a record of what it reported, which checks on every event what must always hold.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

use plimsoll_io::{
    Close, Driver, DriverKind, DriverOptions, Event, Operation, Payload, Route, SocketId,
    SocketOptions, Spin,
};

/// Longer than anything here takes, so that what never happens ends in a failure.
pub(crate) const PATIENCE_NS: u64 = 60_000_000_000;

/// Any free port of the loopback interface.
pub(crate) fn anywhere() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

pub(crate) fn options(reserved: u32, accepted: u32) -> DriverOptions {
    DriverOptions {
        sockets: reserved + accepted,
        reserved,
        receivers: reserved + accepted,
        receive_buffer_bytes: 4096,
        long_lived: true,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: SocketOptions::default(),
    }
}

/// What was seen of one use of a socket.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    in_use: bool,
    pub(crate) open: bool,
    pub(crate) received: Vec<u8>,
    /// For each receive: when the kernel took it in, and when it was reported.
    pub(crate) taken_in: Vec<(Option<u64>, u64)>,
    pub(crate) sent: u32,
    /// When the kernel had taken what was sent, so far.
    pub(crate) taken_ns: u64,
    /// When something was last handed over.
    handed_over_ns: u64,
    pub(crate) ended: bool,
    pub(crate) failed: Option<(Operation, i32)>,
}

#[derive(Debug)]
pub(crate) struct World<D> {
    pub(crate) driver: D,
    pub(crate) seen: Vec<Seen>,
    /// Accepted and not yet asked for: listener, socket, peer.
    pub(crate) accepted: VecDeque<(SocketId, SocketId, SocketAddr)>,
    /// Failures of listeners.
    pub(crate) refused: Vec<(SocketId, Operation, i32)>,
    pub(crate) woken: u32,
    last_ns: u64,
}

impl<D: Driver> World<D> {
    pub(crate) fn new(driver: D, sockets: u32) -> Self {
        let seen = (0..sockets).map(|_| Seen::default()).collect();
        let (accepted, refused) = (VecDeque::new(), Vec::new());
        Self { driver, seen, accepted, refused, woken: 0, last_ns: 0 }
    }

    pub(crate) fn of(&self, socket: SocketId) -> &Seen {
        &self.seen[socket.index()]
    }

    fn begin_use(&mut self, socket: SocketId) {
        assert!(!self.of(socket).in_use, "{socket:?} is in use");
        self.seen[socket.index()] = Seen { in_use: true, ..Seen::default() };
    }

    pub(crate) fn connect(&mut self, socket: SocketId, route: impl Into<Route>) {
        self.begin_use(socket);
        self.driver.connect(socket, &route.into());
    }

    pub(crate) fn listen(&mut self, socket: SocketId) -> SocketAddr {
        self.begin_use(socket);
        let at = self.driver.listen(socket, anywhere()).expect("a free port");
        assert_ne!(at.port(), 0);
        at
    }

    pub(crate) fn send(&mut self, socket: SocketId, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.seen[socket.index()].handed_over_ns = self.driver.clock_ns();
        }
        self.driver.send(socket, Payload::Copied(bytes));
    }

    pub(crate) fn close(&mut self, socket: SocketId, how: Close) {
        self.driver.close(socket, how);
        self.seen[socket.index()].in_use = false;
    }

    /// Waits until `until_ns` at most and takes all events; returns how many.
    pub(crate) fn turn(&mut self, until_ns: u64) -> usize {
        let before_ns = self.driver.clock_ns();
        let now_ns = self.driver.wait(until_ns).expect("the driver works");
        assert!(now_ns >= before_ns, "the clock went back");
        let mut count = 0;
        while let Some((at_ns, event)) = self.driver.next() {
            count += 1;
            self.note(at_ns, event);
        }
        count
    }

    fn note(&mut self, at_ns: u64, event: Event) {
        match event {
            Event::Sent(socket) => self.note_taken(socket, at_ns, true),
            Event::SentPart(socket) => self.note_taken(socket, at_ns, false),
            _ => {
                assert!(at_ns >= self.last_ns, "event times went back: {event:?}");
                self.last_ns = at_ns;
            }
        }
        match event {
            Event::Woken => self.woken += 1,
            Event::Accepted { listener, socket, peer } => {
                assert!(self.of(listener).in_use, "accepted by a closed listener");
                self.begin_use(socket);
                self.seen[socket.index()].open = true;
                self.accepted.push_back((listener, socket, peer));
            }
            Event::Connected(socket) => {
                let seen = self.live(socket);
                assert!(!seen.open, "connected twice");
                seen.open = true;
            }
            Event::Sent(socket) => {
                assert_eq!(self.driver.queued_bytes(socket), 0, "sent, but bytes are queued");
                self.open(socket).sent += 1;
            }
            Event::SentPart(socket) => {
                self.open(socket);
                assert!(self.driver.queued_bytes(socket) > 0, "a part, but nothing is queued");
            }
            Event::Received(received) => {
                let seen = &mut self.seen[received.socket.index()];
                assert!(seen.in_use && seen.open && seen.failed.is_none() && !seen.ended);
                assert!(received.len() > 0);
                assert!(received.kernel_ns().is_none_or(|kernel_ns| kernel_ns <= at_ns));
                seen.taken_in.push((received.kernel_ns(), at_ns));
                seen.received.extend_from_slice(self.driver.bytes(&received));
                self.driver.release(received);
            }
            Event::Ended(socket) => {
                let seen = self.open(socket);
                assert!(!std::mem::replace(&mut seen.ended, true), "ended twice");
            }
            Event::Failed { socket, operation: Operation::Accept, error } => {
                assert!(self.of(socket).in_use);
                self.refused.push((socket, Operation::Accept, error.0));
            }
            Event::Failed { socket, operation, error } => {
                self.live(socket).failed = Some((operation, error.0));
            }
        }
    }

    /// The kernel takes what it was given after it was given that, in order, and not in the future.
    fn note_taken(&mut self, socket: SocketId, at_ns: u64, is_all: bool) {
        assert!(at_ns <= self.driver.clock_ns(), "taken in the future");
        let seen = &mut self.seen[socket.index()];
        assert!(at_ns >= seen.taken_ns, "times of sends went back");
        assert!(!is_all || at_ns >= seen.handed_over_ns, "taken before it was handed over");
        seen.taken_ns = at_ns;
    }

    fn live(&mut self, socket: SocketId) -> &mut Seen {
        let seen = &mut self.seen[socket.index()];
        assert!(seen.in_use, "an event for a socket that is free");
        assert_eq!(seen.failed, None, "an event after Failed");
        seen
    }

    fn open(&mut self, socket: SocketId) -> &mut Seen {
        let seen = self.live(socket);
        assert!(seen.open, "an event before the connection is there");
        seen
    }

    /// Runs until `done`.
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let limit_ns = self.driver.clock_ns() + PATIENCE_NS;
        while !done(self) {
            assert!(self.driver.clock_ns() < limit_ns, "never happened: {what}");
            self.turn(limit_ns);
        }
    }

    /// Runs for a while in which nothing more should happen.
    pub(crate) fn settle(&mut self) {
        let until_ns = self.driver.clock_ns() + 5_000_000;
        while self.driver.clock_ns() < until_ns {
            self.turn(until_ns);
        }
    }

    /// Waits for the next accepted connection.
    pub(crate) fn accept(&mut self) -> (SocketId, SocketId, SocketAddr) {
        self.until("accepted", |world| !world.accepted.is_empty());
        self.accepted.pop_front().expect("just seen")
    }

    /// Connects `client` and returns the socket at the other end.
    pub(crate) fn pair(&mut self, client: SocketId, to: impl Into<Route>) -> SocketId {
        self.connect(client, to);
        let (_, server, _) = self.accept();
        self.until("connected", |world| world.of(client).open);
        server
    }

    /// Whether this is the simulation, which has no threads and no real time.
    pub(crate) fn is_simulated(&self) -> bool {
        self.driver.kind() == DriverKind::Sim
    }
}

/// Bytes whose value depends on their place, so that lost, doubled and swapped ones show.
pub(crate) fn pattern(len: usize, salt: u8) -> Vec<u8> {
    (0..len).map(|at| (at ^ at >> 8 ^ at >> 16) as u8 ^ salt).collect()
}

/// Compares without printing megabytes.
#[track_caller]
pub(crate) fn assert_same(got: &[u8], expected: &[u8]) {
    let differs = got.iter().zip(expected).position(|(got, expected)| got != expected);
    assert_eq!(differs, None, "the first byte that differs");
    assert_eq!(got.len(), expected.len());
}
