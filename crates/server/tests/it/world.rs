//! A simulated world with one server and scripted clients in it.
//!
//! `World` is the simulated driver with the clients' side of it taken out: the server sees its own
//! events only, the script does the rest at its times.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_io::sim::SimOptions;
use plimsoll_io::{
    Close, Driver, DriverKind, DriverOptions, Event, Operation, OsError, Payload, PayloadId,
    Received, Route, SimDriver, SocketId, SocketOptions, Spin, Standstill, TcpInfo, Waker,
};
use plimsoll_proto::tls::{ClientConfig, ServerName, Tls, TlsErrorKind};
use plimsoll_server::{Counters, Role, Server, ServerOptions};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000 * MS;

/// What a client does. It connects at the start.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Send(Vec<u8>),
    /// Past TLS, if there is any.
    Raw(Vec<u8>),
    Close,
    Reset,
    /// Sends no more, but goes on reading.
    Finish,
    /// Reads no more until it resumes.
    Pause,
    Resume,
}

/// What a client saw.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// All bytes, decrypted if need be.
    pub(crate) bytes: Vec<u8>,
    /// When how many bytes were there in all.
    pub(crate) arrivals: Vec<(u64, usize)>,
    /// When the server closed.
    pub(crate) ended_ns: Option<u64>,
    /// When the connection was reset.
    pub(crate) reset_ns: Option<u64>,
    /// Whether TLS was ended as it should be.
    pub(crate) tls_closed: bool,
    /// What went wrong with TLS.
    pub(crate) tls_failure: Option<TlsErrorKind>,
}

/// A client's TLS.
struct Session {
    tls: Tls,
    /// The first flight, to be sent once connected.
    hello: Vec<u8>,
    /// What the script sent before the handshake was over.
    waiting: Vec<u8>,
}

impl Session {
    fn new(config: &ClientConfig) -> Self {
        let mut hello = Vec::new();
        let name = ServerName::parse("localhost").expect("a name");
        let tls = Tls::client(config, &name, true, &mut hello).expect("a client");
        Self { tls, hello, waiting: Vec::new() }
    }

    /// Encrypts what waits, once that is possible.
    fn write(&mut self, out: &mut Vec<u8>) {
        if !self.tls.is_handshaking() && !self.waiting.is_empty() {
            // A client that failed has nothing more to say.
            let _ = self.tls.send(&self.waiting, out);
            self.waiting.clear();
        }
    }
}

impl Seen {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// When the first `len` bytes were there.
    pub(crate) fn at_ns(&self, len: usize) -> u64 {
        let arrival = self.arrivals.iter().find(|(_, total)| *total >= len);
        arrival.unwrap_or_else(|| panic!("{len} bytes never came: {self:?}")).0
    }
}

pub(crate) struct World {
    sim: SimDriver,
    first_client: u32,
    seen: Vec<Seen>,
    gone: Vec<bool>,
    sessions: Vec<Option<Session>>,
    /// Latest first.
    script: Vec<(u64, usize, Act)>,
    /// In place of what the simulated kernel says of a connect that fails.
    pub(crate) connect_error: Option<OsError>,
}

impl World {
    /// Clients on the sockets from `first_client` on, who act by `script`.
    pub(crate) fn new(
        sim: SimDriver,
        first_client: u32,
        mut script: Vec<(u64, usize, Act)>,
        tls: Option<&ClientConfig>,
    ) -> Self {
        let clients = clients_of(&script);
        // What is done at the same time is done in the order it was written.
        script.sort_by_key(|(at_ns, ..)| *at_ns);
        script.reverse();
        Self {
            sim,
            first_client,
            seen: vec![Seen::default(); clients],
            gone: vec![false; clients],
            sessions: (0..clients).map(|_| tls.map(Session::new)).collect(),
            script,
            connect_error: None,
        }
    }

    /// What the clients saw.
    pub(crate) fn take_seen(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }

    fn act(&mut self, client: usize, act: Act) {
        let socket = SocketId(self.first_client + client as u32);
        if self.gone[client] {
            return;
        }
        match act {
            Act::Send(mut bytes) => {
                if let Some(session) = &mut self.sessions[client] {
                    session.waiting.append(&mut bytes);
                    session.write(&mut bytes);
                }
                self.send_as(client, &bytes);
            }
            Act::Raw(bytes) => self.send_as(client, &bytes),
            Act::Close => {
                self.sim.close(socket, Close::Graceful);
                self.gone[client] = true;
            }
            Act::Reset => {
                self.sim.close(socket, Close::Reset);
                self.gone[client] = true;
            }
            Act::Finish => self.sim.shutdown(socket),
            Act::Pause => self.sim.pause_receiving(socket),
            Act::Resume => self.sim.resume_receiving(socket),
        }
    }

    fn send_as(&mut self, client: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.sim.send(SocketId(self.first_client + client as u32), Payload::Copied(bytes));
        }
    }

    /// Takes in what a client received, and sends what it says to it.
    fn receive_as(&mut self, client: usize, received: &Received) {
        let seen = &mut self.seen[client];
        let bytes = self.sim.bytes(received);
        let Some(session) = &mut self.sessions[client] else {
            return seen.bytes.extend_from_slice(bytes);
        };
        let mut out = Vec::new();
        if let Err(error) = session.tls.receive(bytes, &mut seen.bytes, &mut out) {
            seen.tls_failure = Some(error.kind());
        }
        seen.tls_closed = session.tls.is_closed_by_peer();
        session.write(&mut out);
        self.send_as(client, &out);
    }

    fn client_of(&self, event: &Event) -> Option<usize> {
        let socket = match event {
            Event::Connected(socket)
            | Event::Sent(socket)
            | Event::SentPart(socket)
            | Event::Ended(socket) => *socket,
            Event::Failed { socket, .. } => *socket,
            Event::Received(received) => received.socket,
            Event::Accepted { .. } | Event::Woken => return None,
        };
        let client = socket.0.checked_sub(self.first_client)? as usize;
        (client < self.seen.len()).then_some(client)
    }

    fn note(&mut self, at_ns: u64, client: usize, event: Event) {
        let socket = SocketId(self.first_client + client as u32);
        match event {
            Event::Received(received) => {
                self.receive_as(client, &received);
                self.sim.release(received);
                let seen = &mut self.seen[client];
                seen.arrivals.push((at_ns, seen.bytes.len()));
            }
            Event::Connected(_) => {
                let hello = self.sessions[client].as_mut().map(|it| std::mem::take(&mut it.hello));
                self.send_as(client, &hello.unwrap_or_default());
            }
            Event::Ended(_) => {
                self.seen[client].ended_ns = Some(at_ns);
                self.gone[client] = true;
                self.sim.close(socket, Close::Graceful);
            }
            Event::Failed { .. } => {
                self.seen[client].reset_ns = Some(at_ns);
                self.gone[client] = true;
                self.sim.close(socket, Close::Reset);
            }
            _ => {}
        }
    }
}

impl Driver for World {
    fn kind(&self) -> DriverKind {
        self.sim.kind()
    }
    fn clock_ns(&mut self) -> u64 {
        self.sim.clock_ns()
    }
    fn register(&mut self, bytes: Arc<[u8]>) -> PayloadId {
        self.sim.register(bytes)
    }
    fn connect(&mut self, socket: SocketId, route: &Route) {
        self.sim.connect(socket, route);
    }
    fn listen(&mut self, socket: SocketId, at: SocketAddr) -> io::Result<SocketAddr> {
        self.sim.listen(socket, at)
    }
    fn send(&mut self, socket: SocketId, payload: Payload<'_>) {
        self.sim.send(socket, payload);
    }
    fn queued_bytes(&self, socket: SocketId) -> usize {
        self.sim.queued_bytes(socket)
    }
    fn shutdown(&mut self, socket: SocketId) {
        self.sim.shutdown(socket);
    }
    fn pause_receiving(&mut self, socket: SocketId) {
        self.sim.pause_receiving(socket);
    }
    fn resume_receiving(&mut self, socket: SocketId) {
        self.sim.resume_receiving(socket);
    }
    fn tcp_info(&self, socket: SocketId) -> Option<TcpInfo> {
        self.sim.tcp_info(socket)
    }
    fn local_address(&self, socket: SocketId) -> Option<SocketAddr> {
        self.sim.local_address(socket)
    }
    fn close(&mut self, socket: SocketId, how: Close) {
        self.sim.close(socket, how);
    }
    fn wait(&mut self, until_ns: u64) -> io::Result<u64> {
        let next_ns = self.script.last().map_or(u64::MAX, |(at_ns, ..)| *at_ns);
        let now_ns = self.sim.wait(until_ns.min(next_ns))?;
        while self.script.last().is_some_and(|(at_ns, ..)| *at_ns <= now_ns) {
            let (_, client, act) = self.script.pop().expect("just seen");
            self.act(client, act);
        }
        Ok(now_ns)
    }
    fn set_spin(&mut self, spin: Spin) {
        self.sim.set_spin(spin);
    }
    fn spun_ns(&self) -> u64 {
        self.sim.spun_ns()
    }
    fn caught_up_ns(&self) -> u64 {
        self.sim.caught_up_ns()
    }
    fn watch_standstills(&mut self) {
        self.sim.watch_standstills();
    }
    fn take_standstill(&mut self) -> Option<Standstill> {
        self.sim.take_standstill()
    }
    fn next(&mut self) -> Option<(u64, Event)> {
        loop {
            let (at_ns, mut event) = self.sim.next()?;
            if let Event::Failed { operation: Operation::Connect, error, .. } = &mut event {
                *error = self.connect_error.unwrap_or(*error);
            }
            match self.client_of(&event) {
                Some(client) => self.note(at_ns, client, event),
                None => return Some((at_ns, event)),
            }
        }
    }
    fn bytes(&self, received: &Received) -> &[u8] {
        self.sim.bytes(received)
    }
    fn release(&mut self, received: Received) {
        self.sim.release(received);
    }
    fn waker(&self) -> Waker {
        self.sim.waker()
    }
}

/// How many clients a script has.
pub(crate) fn clients_of(script: &[(u64, usize, Act)]) -> usize {
    script.iter().map(|(_, client, _)| client + 1).max().unwrap_or(0)
}

/// A run: who does what, and for how long.
pub(crate) struct Scene {
    pub(crate) role: Role,
    pub(crate) options: ServerOptions,
    pub(crate) sim: SimOptions,
    /// Time, client, and what it does.
    pub(crate) script: Vec<(u64, usize, Act)>,
    /// How long everything lasts.
    pub(crate) until_ns: u64,
    /// When the server is told to stop.
    pub(crate) stop_ns: Option<u64>,
    /// How the clients speak TLS, if they do.
    pub(crate) tls: Option<ClientConfig>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            role: Role::All,
            options: ServerOptions::default(),
            sim: SimOptions::default(),
            script: Vec::new(),
            until_ns: 3 * S,
            stop_ns: None,
            tls: None,
        }
    }
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) clients: Vec<Seen>,
    pub(crate) counters: Counters,
    pub(crate) open: u32,
    pub(crate) finished: bool,
    /// When it was over.
    pub(crate) ended_ns: u64,
}

impl Scene {
    /// One client that sends `request`, 1 ms after the start.
    pub(crate) fn ask(request: impl AsRef<[u8]>) -> Self {
        Self { script: vec![(MS, 0, Act::Send(request.as_ref().to_vec()))], ..Self::default() }
    }

    pub(crate) fn run(self) -> Outcome {
        let clients = clients_of(&self.script);
        let connections_max = 64;
        let options = DriverOptions {
            sockets: 1 + clients as u32 + connections_max,
            reserved: 1 + clients as u32,
            receivers: 64,
            receive_buffer_bytes: 16 * 1024,
            long_lived: true,
            spin: Spin::Off,
            receive_timestamps: false,
            socket: SocketOptions::default(),
        };
        let sim = SimDriver::new(&options, self.sim, None);
        let world = World::new(sim, 1, self.script, self.tls.as_ref());
        let mut server = Server::new(world, self.options, connections_max, 0, 0);
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let at = server.listen(self.role, any).expect("a simulated address is free");
        for client in 0..clients {
            server.driver_mut().connect(SocketId(1 + client as u32), &at.into());
        }
        let mut now_ns = 0;
        while now_ns < self.until_ns && !server.is_finished() {
            let next_ns = self.stop_ns.filter(|stop_ns| now_ns < *stop_ns);
            now_ns = server.step(next_ns.unwrap_or(self.until_ns)).expect("the world goes on");
            if self.stop_ns.is_some_and(|stop_ns| now_ns >= stop_ns) {
                server.stop(now_ns);
            }
        }
        Outcome {
            counters: server.counters(),
            open: server.connections_open(),
            finished: server.is_finished(),
            ended_ns: now_ns,
            clients: server.driver_mut().take_seen(),
        }
    }
}
