//! The connections of a worker's users, each of which belongs to one user and one server.

use plimsoll_conn::{Connection, ExchangeId, Message, Negotiated, NegotiatedSettings};
use plimsoll_conn::{Scratch, State, WrittenError};
use plimsoll_io::{Address, Close, Driver, Event, Route, SocketId};
use plimsoll_proto::tls::Version;

use super::call::{Call, Phase};
use super::counts::{Counted, Counts};

/// A connection.
struct Wire {
    connection: Connection<Negotiated>,
    user: u32,
    site: u32,
    /// The channel of gRPC that it belongs to, if it carries calls.
    channel: Option<u32>,
    route: Option<Route>,
    /// The server's address as text, and its port.
    remote: (String, u16),
    opened_ns: u64,
    connected_ns: u64,
    secured_ns: u64,
    /// Whether it has carried a request.
    is_used: bool,
    counted: Counted,
}

/// See the head of this module.
pub(super) struct Wires {
    all: Vec<Wire>,
    free: Vec<u32>,
    sockets: u32,
    settings: NegotiatedSettings,
    /// Those of connections that carry calls.
    call_settings: NegotiatedSettings,
    counts: Counts,
    /// Whether the kernel is asked about connections that are closed. Not with a connection for
    /// each request: there it would cost a system call for each.
    asks_kernel: bool,
}

/// How long the head of a response may be, bytes: as in k6.
const HEAD_BYTES_MAX: usize = 10 << 20;

/// How many fields it may have. k6 has no limit but the one above.
const HEAD_FIELDS_MAX: usize = 1 << 20;

/// How many frames an HTTP/2 head may have: enough for its bytes in frames of the usual length.
const HEAD_FRAMES_MAX: u32 = 1 << 10;

/// How much of a call's messages a server may send before the script has seen them, bytes.
const CALL_WINDOW_BYTES: u32 = 1 << 20;

impl Wires {
    pub(super) fn new(sockets: u32, asks_kernel: bool) -> Self {
        let mut settings = NegotiatedSettings::default();
        settings.http1_limits.head_bytes = HEAD_BYTES_MAX;
        settings.http1_limits.headers = HEAD_FIELDS_MAX;
        let limits = &mut settings.http2.receiving.limits;
        (limits.block_bytes, limits.list_bytes) = (HEAD_BYTES_MAX, HEAD_BYTES_MAX as u32);
        limits.continuations = HEAD_FRAMES_MAX;
        let mut call_settings = NegotiatedSettings { knows_http2: true, ..settings.clone() };
        call_settings.http2.holds_windows = true;
        call_settings.http2.receiving.window_bytes = CALL_WINDOW_BYTES;
        let (all, free, counts) = (Vec::new(), Vec::new(), Counts::default());
        Self { all, free, sockets, settings, call_settings, counts, asks_kernel }
    }

    /// The connection of a socket.
    pub(super) fn connection(&mut self, wire: u32) -> &mut Connection<Negotiated> {
        &mut self.all[wire as usize].connection
    }

    pub(super) fn user(&self, wire: u32) -> u32 {
        self.all[wire as usize].user
    }

    /// The channel of gRPC that a connection belongs to, if it carries calls.
    pub(super) fn channel(&self, wire: u32) -> Option<u32> {
        self.all.get(wire as usize)?.channel
    }

    /// The channel of gRPC that an event is about.
    pub(super) fn channel_of(&self, event: &Event) -> Option<u32> {
        let socket = match event {
            Event::Connected(socket)
            | Event::Sent(socket)
            | Event::SentPart(socket)
            | Event::Ended(socket)
            | Event::Failed { socket, .. } => *socket,
            Event::Received(received) => received.socket,
            Event::Woken | Event::Accepted { .. } => return None,
        };
        self.channel(socket.0)
    }

    pub(super) fn site(&self, wire: u32) -> u32 {
        self.all[wire as usize].site
    }

    pub(super) fn route(&self, wire: u32) -> Option<Route> {
        self.all[wire as usize].route.clone()
    }

    /// One of a user's connections that has room for a request to a server.
    pub(super) fn with_room(&self, owned: &[u32], site: u32) -> Option<u32> {
        owned.iter().copied().find(|wire| {
            let wire = &self.all[*wire as usize];
            wire.site == site && wire.connection.room() > 0
        })
    }

    /// How many of a user's connections to a server are being opened.
    pub(super) fn opening(&self, owned: &[u32], site: u32) -> usize {
        owned.iter().filter(|wire| self.is_opening(**wire, site)).count()
    }

    /// The one of them that was begun first, and when.
    pub(super) fn oldest_opening(&self, owned: &[u32], site: u32) -> Option<(u32, u64)> {
        let opening = owned.iter().copied().filter(|wire| self.is_opening(*wire, site));
        let begun = opening.map(|wire| (wire, self.all[wire as usize].opened_ns));
        begun.min_by_key(|(_, opened_ns)| *opened_ns)
    }

    fn is_opening(&self, wire: u32, site: u32) -> bool {
        let wire = &self.all[wire as usize];
        wire.site == site && wire.connection.is_opening()
    }

    pub(super) fn is_in_use(&self, wire: u32) -> bool {
        self.all[wire as usize].connection.state() != State::Closed
    }

    /// Begins to open a connection; `None` when there is no socket for it.
    pub(super) fn open<D: Driver>(
        &mut self,
        driver: &mut D,
        (user, site, scenario): (u32, u32, Option<u32>),
        route: Route,
        owned: &mut Vec<u32>,
        now_ns: u64,
    ) -> Option<u32> {
        let number = self.lend(driver, owned)?;
        let wire = &mut self.all[number as usize];
        (wire.user, wire.site, wire.is_used) = (user, site, false);
        wire.counted = Counted { scenario, ..Counted::default() };
        (wire.opened_ns, wire.connected_ns, wire.secured_ns) = (now_ns, 0, 0);
        if let Address::Tcp(address) = &route.to {
            wire.remote = (address.ip().to_string(), address.port());
        }
        wire.connection.open(driver, &route);
        wire.route = Some(route);
        owned.push(number);
        Some(number)
    }

    /// Begins to open a connection of a channel of gRPC; `None` when there is no socket for it.
    pub(super) fn open_channel<D: Driver>(
        &mut self,
        driver: &mut D,
        (user, site, channel): (u32, u32, u32),
        route: Route,
        owned: &mut Vec<u32>,
        now_ns: u64,
    ) -> Option<u32> {
        let number = self.lend(driver, &mut Vec::new())?;
        let wire = &mut self.all[number as usize];
        wire.connection = Connection::new(SocketId(number), &self.call_settings);
        (wire.user, wire.site, wire.channel) = (user, site, Some(channel));
        wire.opened_ns = now_ns;
        wire.connection.open(driver, &route);
        wire.route = Some(route);
        owned.push(number);
        Some(number)
    }

    /// A number for a connection, of requests or of something else; `None` when there is no socket
    /// for it.
    pub(super) fn lend<D: Driver>(&mut self, driver: &mut D, owned: &mut Vec<u32>) -> Option<u32> {
        let number = self.free.pop().or_else(|| self.take_over(driver, owned))?;
        let wire = &mut self.all[number as usize];
        // Events of a number that carried calls would go on to their channel.
        if wire.channel.take().is_some() {
            wire.connection = Connection::new(SocketId(number), &self.settings);
        }
        Some(number)
    }

    /// Takes a number back that was lent.
    pub(super) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// A new number or, if there is none, that of a connection on which the user has nothing open.
    fn take_over<D: Driver>(&mut self, driver: &mut D, owned: &mut Vec<u32>) -> Option<u32> {
        if self.all.len() < self.sockets as usize {
            let number = self.all.len() as u32;
            self.all.push(Wire {
                connection: Connection::new(SocketId(number), &self.settings),
                user: 0,
                site: 0,
                channel: None,
                route: None,
                remote: (String::new(), 0),
                opened_ns: 0,
                connected_ns: 0,
                secured_ns: 0,
                is_used: false,
                counted: Counted::default(),
            });
            return Some(number);
        }
        let is_idle = |wire: &u32| {
            let connection = &self.all[*wire as usize].connection;
            connection.open_exchanges() == 0 && !connection.is_opening()
        };
        let idle = owned.iter().copied().find(is_idle)?;
        owned.retain(|wire| *wire != idle);
        self.close(driver, idle);
        self.free.pop()
    }

    /// The connect has succeeded.
    pub(super) fn note_connected(&mut self, wire: u32, at_ns: u64) {
        self.all[wire as usize].connected_ns = at_ns;
    }

    /// It is open.
    pub(super) fn note_open(&mut self, wire: u32) {
        let Wire { user, connection, counted, .. } = &mut self.all[wire as usize];
        self.counts.opened(*user, counted, connection.tls());
    }

    /// A response has come over it.
    pub(super) fn note_answer(&mut self, wire: u32) {
        self.all[wire as usize].counted.answered += 1;
    }

    /// It is open no longer, as far as it is counted. The kernel still knows it.
    fn note_closed<D: Driver>(&mut self, driver: &D, number: u32) {
        let Wire { user, counted, .. } = &mut self.all[number as usize];
        let asks = self.asks_kernel && counted.is_open;
        let info = asks.then(|| driver.tcp_info(SocketId(number))).flatten();
        self.counts.closed(*user, counted, info);
    }

    /// What has become of all connections, at the end of the load.
    pub(super) fn count<D: Driver>(&mut self, driver: &D) -> &Counts {
        for number in 0..self.all.len() as u32 {
            self.note_closed(driver, number);
        }
        &self.counts
    }

    /// The handshake is done.
    pub(super) fn note_secured(&mut self, wire: u32, at_ns: u64) {
        self.all[wire as usize].secured_ns = at_ns;
    }

    /// Sends a request on a connection that has room for it; gives how many bytes that takes.
    pub(super) fn send<D: Driver>(
        &mut self,
        driver: &mut D,
        number: u32,
        id: u32,
        call: &mut Call,
        now_ns: u64,
        scratch: &mut Scratch,
    ) -> Result<usize, WrittenError> {
        let wire = &mut self.all[number as usize];
        let message = Message::Written { bytes: call.flow.wire(), is_head: call.flow.is_head() };
        let sent = wire.connection.send(driver, ExchangeId(id), &message, scratch)?;
        call.phase = Phase::OnWire(number);
        call.is_reused = wire.is_used;
        call.moments.got_ns = Some(now_ns);
        if !wire.is_used {
            call.moments.connecting_ns = wire.connected_ns.saturating_sub(wire.opened_ns);
            call.moments.tls_ns = wire.secured_ns.saturating_sub(wire.connected_ns);
        }
        wire.is_used = true;
        call.via.protocol = match wire.connection.protocol_name() {
            "h2" => "HTTP/2.0",
            _ => "HTTP/1.1",
        };
        call.via.remote_ip.push_str(&wire.remote.0);
        call.via.remote_port = wire.remote.1;
        if let Some(tls) = wire.connection.tls() {
            call.via.tls_version = match tls.version() {
                Some(Version::Tls12) => "tls1.2",
                Some(Version::Tls13) => "tls1.3",
                None => "",
            };
            call.via.tls_cipher_suite = tls.cipher().unwrap_or_default();
        }
        Ok(sent)
    }

    /// The requests on a connection.
    pub(super) fn exchanges(&self, wire: u32) -> impl Iterator<Item = ExchangeId> {
        self.all[wire as usize].connection.exchanges()
    }

    /// The requests on a connection of which the peer holds back nothing.
    pub(super) fn sent_whole(&self, wire: u32) -> impl Iterator<Item = ExchangeId> {
        let connection = &self.all[wire as usize].connection;
        connection.exchanges().filter(|exchange| !connection.is_held_back(*exchange))
    }

    /// Whether a user has a connection to a server that will have room for more requests.
    pub(super) fn has_full(&self, owned: &[u32], site: u32) -> bool {
        owned.iter().any(|wire| {
            let Wire { connection, site: of, .. } = &self.all[*wire as usize];
            let is_shared = connection.protocol_name() == "h2";
            *of == site && is_shared && connection.state() == State::Open
        })
    }

    /// Gives up on a request, which takes some bytes; `None` when the connection has to be closed
    /// for that.
    pub(super) fn cancel<D: Driver>(
        &mut self,
        driver: &mut D,
        wire: u32,
        id: u32,
        scratch: &mut Scratch,
    ) -> Option<usize> {
        let connection = &mut self.all[wire as usize].connection;
        let survives = connection.cancel(ExchangeId(id), scratch);
        survives.then(|| connection.flush(driver, scratch))
    }

    /// Closes a connection. Whatever is open on it is forgotten here.
    pub(super) fn close<D: Driver>(&mut self, driver: &mut D, number: u32) {
        let connection = &mut self.all[number as usize].connection;
        if connection.state() == State::Closed {
            return;
        }
        self.note_closed(driver, number);
        let connection = &mut self.all[number as usize].connection;
        let how = if connection.open_exchanges() == 0 { Close::Graceful } else { Close::Reset };
        drop(connection.close(driver, how));
        self.free.push(number);
    }

    /// Closes a connection that has failed, and puts the requests that were open on it into `open`.
    pub(super) fn give_up<D: Driver>(&mut self, driver: &mut D, number: u32, open: &mut Vec<u32>) {
        let connection = &mut self.all[number as usize].connection;
        if connection.state() == State::Closed {
            return;
        }
        self.note_closed(driver, number);
        let connection = &mut self.all[number as usize].connection;
        open.extend(connection.give_up(driver).map(|exchange| exchange.0));
        self.free.push(number);
    }
}
