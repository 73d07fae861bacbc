//! One worker: a driver, its clients, its upstream connections, and what each event does.
//!
//! Time comes from the driver and goes in as an argument, so the whole proxy runs under the
//! simulated kernel. The path of a request: an event, a decode, a head written anew, one send, and
//! the same for the response; no allocation, no formatting, no clock.
//!
//! Sockets: listeners first, then upstream connections, then health checks, then clients.

mod answer;
mod check;
mod dispatch;
mod pace;
mod request;
mod response;

use std::io;
use std::net::SocketAddr;

use plimsoll_io::{Close, Driver, Event, Operation, Route, SocketId, Waker};

use self::check::Check;
use super::client::{self, Client};
use super::counters::ProxyCounters;
use super::head::Rewriting;
use super::link::{self, Link};
use super::options::Rules;
use super::upstreams::Pools;
use super::wire::Wire;
use crate::timers::Timers;

/// How many buffers are kept for later requests.
const BUFFERS_MAX: usize = 256;
/// A buffer that grew beyond this is not kept.
const BUFFER_BYTES_MAX: usize = 64 << 10;

/// One worker's proxy. Give it a driver, let it listen, then call [`step`](Self::step) for as long
/// as it is to run.
#[derive(Debug)]
pub struct ProxyWorker<D> {
    wire: Wire<D>,
    rules: Rules,
    rewriting: Rewriting,
    routes: Vec<Route>,
    pools: Pools,
    links: Vec<Link>,
    checks: Vec<Check>,
    clients: Vec<Client>,
    listeners: u32,
    first_link: u32,
    first_check: u32,
    first_client: u32,
    timers: Timers<SocketId>,
    /// Requests in queues.
    waiting: usize,
    /// Memory of the requests that are, or were, collected.
    buffered_bytes: usize,
    /// Buffers for later requests, the one used last at the end.
    buffers: Vec<Vec<u8>>,
    /// Scratch memory for outgoing bytes.
    scratch: Vec<u8>,
    /// Scratch memory for decrypted bytes.
    plain: Vec<u8>,
    counters: ProxyCounters,
    open: u32,
    /// When connections still open are closed; `None` until told to stop.
    deadline_ns: Option<u64>,
}

/// What a socket belongs to.
enum Owner {
    Client(usize),
    Link(usize),
    Check(usize),
}

impl<D: Driver> ProxyWorker<D> {
    /// A proxy on `driver`, whose options reserve `listeners` sockets for
    /// [`listen`](Self::listen), then [`Rules::upstream_tokens`], and which takes `clients_max`
    /// more. The caller's own sockets, if it has any, come behind those reserved.
    pub fn new(mut driver: D, rules: Rules, listeners: u32, clients_max: u32) -> Self {
        let (count, slots) = (rules.upstreams.len(), rules.limits.upstream_connections);
        let first_check = listeners + slots * count as u32;
        let links = (0..count as u8)
            .flat_map(|upstream| (0..slots).map(move |_| upstream))
            .map(|upstream| Link::free(upstream, rules.limits.response));
        let now_ns = driver.clock_ns();
        let mut proxy = Self {
            wire: Wire::new(driver, rules.tls.clone()),
            rewriting: Rewriting {
                forwarded: rules.forwarded,
                host: rules.host,
                via: rules.via,
                answers_expect: rules.limits.body_buffer_bytes > 0,
                is_secure: rules.tls.is_some(),
            },
            routes: rules.upstreams.iter().map(|it| it.address.clone().into()).collect(),
            pools: Pools::new(count, slots, 0, rules.balance.clone(), rules.health.clone()),
            links: links.collect(),
            checks: Check::of(&rules),
            clients: Vec::new(),
            listeners: 0,
            first_link: listeners,
            first_check,
            first_client: first_check + count as u32,
            timers: Timers::new(clients_max.saturating_add(rules.upstream_tokens())),
            waiting: 0,
            buffered_bytes: 0,
            buffers: Vec::new(),
            scratch: Vec::new(),
            plain: Vec::new(),
            counters: ProxyCounters::default(),
            open: 0,
            deadline_ns: None,
            rules,
        };
        (0..proxy.checks.len()).for_each(|index| proxy.set_check_deadline(index, now_ns));
        proxy
    }

    /// Listens for clients at an address. Returns the address, with the port that the system chose
    /// if it was 0.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// # Panics
    /// When called more often than `listeners` allows.
    pub fn listen(&mut self, at: SocketAddr) -> io::Result<SocketAddr> {
        assert!(self.listeners < self.first_link, "more listeners than were reserved");
        let bound = self.wire.driver.listen(SocketId(self.listeners), at)?;
        self.listeners += 1;
        Ok(bound)
    }

    /// Sleeps until something is to be done or the [`waker`](Self::waker) is called, `until_ns` at
    /// the latest, and does it. Returns the driver's clock.
    ///
    /// # Errors
    /// When the driver is broken.
    pub fn step(&mut self, until_ns: u64) -> io::Result<u64> {
        let deadline_ns = self.deadline_ns.unwrap_or(u64::MAX);
        let until_ns = until_ns.min(self.timers.next_ns()).min(deadline_ns);
        let now_ns = self.wire.driver.wait(until_ns)?;
        while let Some((_, event)) = self.wire.driver.next() {
            self.handle(now_ns, event);
        }
        while let Some((due_ns, socket)) = self.timers.take_due(now_ns) {
            self.on_timer(now_ns, due_ns, socket);
        }
        if now_ns >= deadline_ns {
            self.close_all(now_ns);
        }
        Ok(now_ns)
    }

    /// Stops accepting and closes what is idle; requests under way have until the drain time to
    /// finish.
    pub fn stop(&mut self, now_ns: u64) {
        if self.deadline_ns.is_some() {
            return;
        }
        self.deadline_ns = Some(now_ns.saturating_add(self.rules.timeouts.drain_ns));
        for listener in 0..self.listeners {
            self.wire.driver.close(SocketId(listener), Close::Graceful);
        }
        for index in 0..self.clients.len() {
            let client = &self.clients[index];
            if client.is_idle() || client.state == client::State::Lingering {
                self.close_when_sent(now_ns, index);
            }
        }
        for index in 0..self.links.len() {
            if self.links[index].state == link::State::Idle {
                self.close_idle(index);
            }
        }
        self.close_checks();
    }

    /// Whether it was told to stop and every client's connection is closed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.deadline_ns.is_some() && self.open == 0
    }

    /// Its counts so far.
    #[must_use]
    pub fn counters(&self) -> ProxyCounters {
        self.counters
    }

    /// Requests admitted so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.counters.requests
    }

    /// Clients connected now.
    #[must_use]
    pub fn clients(&self) -> u32 {
        self.open
    }

    /// The driver, for tests that act on it.
    pub fn driver_mut(&mut self) -> &mut D {
        &mut self.wire.driver
    }

    /// Ends the driver's sleep from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.wire.driver.waker()
    }

    #[inline]
    fn owner(&self, socket: SocketId) -> Owner {
        if let Some(index) = socket.0.checked_sub(self.first_client) {
            return Owner::Client(index as usize);
        }
        match socket.0.checked_sub(self.first_check) {
            Some(index) => Owner::Check(index as usize),
            None => Owner::Link(socket.0.saturating_sub(self.first_link) as usize),
        }
    }

    #[inline]
    fn client_socket(&self, index: usize) -> SocketId {
        SocketId(self.first_client + index as u32)
    }

    #[inline]
    fn link_socket(&self, index: usize) -> SocketId {
        SocketId(self.first_link + index as u32)
    }

    #[inline]
    fn handle(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::Received(received) => match self.owner(received.socket) {
                Owner::Client(index) => self.on_client_received(now_ns, index, received),
                Owner::Link(index) => self.on_link_received(now_ns, index, received),
                Owner::Check(index) => self.on_check_received(now_ns, index, received),
            },
            Event::Sent(socket) => match self.owner(socket) {
                Owner::Client(index) => self.on_client_sent(now_ns, index),
                Owner::Link(index) => self.on_link_sent(now_ns, index),
                Owner::Check(_) => {}
            },
            Event::Accepted { socket, peer, .. } => self.on_accepted(now_ns, socket, peer),
            Event::Connected(socket) => match self.owner(socket) {
                Owner::Link(index) => self.on_link_connected(now_ns, index),
                Owner::Check(index) => self.on_check_connected(now_ns, index),
                Owner::Client(_) => {}
            },
            Event::Ended(socket) => match self.owner(socket) {
                Owner::Client(index) => self.on_client_ended(now_ns, index),
                Owner::Link(index) => self.on_link_ended(now_ns, index),
                Owner::Check(index) => self.on_check_ended(now_ns, index),
            },
            Event::Failed { operation: Operation::Accept, .. } => {
                self.counters.accept_failures += 1;
            }
            Event::Failed { socket, error, .. } => match self.owner(socket) {
                Owner::Client(index) => self.drop_client(now_ns, index),
                Owner::Link(index) if error.is_shortage() => self.on_shortage(now_ns, index),
                Owner::Link(index) => self.on_link_failed(now_ns, index),
                Owner::Check(index) => self.check_failed(now_ns, index),
            },
            Event::Woken => {}
        }
    }

    fn on_accepted(&mut self, now_ns: u64, socket: SocketId, peer: SocketAddr) {
        let Owner::Client(index) = self.owner(socket) else { return };
        while self.clients.len() <= index {
            self.clients.push(Client::free(self.rules.limits.request));
        }
        let client = &mut self.clients[index];
        client.state = client::State::Reading;
        client.address = peer.ip();
        self.open += 1;
        self.counters.connections += 1;
        let timeouts = &self.rules.timeouts;
        let is_secure = self.rules.tls.is_some();
        let wait_ns = if is_secure { timeouts.head_ns } else { timeouts.keep_alive_ns };
        self.set_client_deadline(index, now_ns.saturating_add(wait_ns));
        if !self.wire.accept(socket) {
            self.close_client(index, Close::Reset);
        }
    }

    fn on_timer(&mut self, now_ns: u64, due_ns: u64, socket: SocketId) {
        let (deadline_ns, timer_ns) = match self.owner(socket) {
            Owner::Client(index) => self.clients[index].times(),
            Owner::Link(index) => self.links[index].times(),
            Owner::Check(index) => self.checks[index].times(),
        };
        if *timer_ns != due_ns {
            return;
        }
        *timer_ns = u64::MAX;
        if deadline_ns > now_ns {
            // It has been put off since.
            return self.set_timer(socket, deadline_ns);
        }
        match self.owner(socket) {
            Owner::Client(index) => self.client_expired(now_ns, index),
            Owner::Link(index) => self.link_expired(now_ns, index),
            Owner::Check(index) => self.check_expired(now_ns, index),
        }
    }

    #[inline]
    fn set_client_deadline(&mut self, index: usize, deadline_ns: u64) {
        let client = &mut self.clients[index];
        client.deadline_ns = deadline_ns;
        if deadline_ns < client.timer_ns {
            self.set_timer(self.client_socket(index), deadline_ns);
        }
    }

    #[inline]
    fn set_link_deadline(&mut self, index: usize, deadline_ns: u64) {
        let link = &mut self.links[index];
        link.deadline_ns = deadline_ns;
        if deadline_ns < link.timer_ns {
            self.set_timer(self.link_socket(index), deadline_ns);
        }
    }

    /// Sets a timer that is due before the present one.
    fn set_timer(&mut self, socket: SocketId, at_ns: u64) {
        if at_ns == u64::MAX {
            return;
        }
        match self.owner(socket) {
            Owner::Client(index) => self.clients[index].timer_ns = at_ns,
            Owner::Link(index) => self.links[index].timer_ns = at_ns,
            Owner::Check(index) => self.checks[index].timer_ns = at_ns,
        }
        let Self { timers, clients, links, checks, first_link, first_check, first_client, .. } =
            self;
        timers.set(at_ns, socket, |due_ns, socket| {
            let at = |first: u32| socket.0.checked_sub(first).map(|index| index as usize);
            let timer_ns = match (at(*first_client), at(*first_check), at(*first_link)) {
                (Some(index), ..) => clients.get(index).map(|it| it.timer_ns),
                (_, Some(index), _) => checks.get(index).map(|it| it.timer_ns),
                (.., index) => index.and_then(|index| links.get(index)).map(|it| it.timer_ns),
            };
            timer_ns == Some(due_ns)
        });
    }

    /// Takes back the memory of a client's request.
    #[inline]
    fn recycle_request(&mut self, index: usize) {
        let client = &mut self.clients[index];
        self.buffered_bytes -= std::mem::take(&mut client.charged_bytes);
        let mut buffer = std::mem::take(&mut client.request);
        let is_worth_it = (1..=BUFFER_BYTES_MAX).contains(&buffer.capacity());
        if is_worth_it && self.buffers.len() < BUFFERS_MAX {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }

    fn close_client(&mut self, index: usize, how: Close) {
        let socket = self.client_socket(index);
        self.recycle_request(index);
        self.wire.close(socket, how);
        self.clients[index].clear();
        self.open -= 1;
    }

    /// The drain time is over.
    fn close_all(&mut self, now_ns: u64) {
        // So that no place that becomes free is given to one of them.
        for index in 0..self.clients.len() {
            self.leave_queue(now_ns, index);
        }
        for index in 0..self.clients.len() {
            if self.clients[index].state != client::State::Free {
                self.cut(now_ns, index);
            }
        }
    }

    /// Ends a client's connection in the middle of whatever it does.
    fn cut(&mut self, now_ns: u64, index: usize) {
        if self.clients[index].is_busy() {
            self.counters.drained += 1;
            self.log_cut(now_ns, index);
            self.give_up(now_ns, index);
        }
        self.close_client(index, Close::Reset);
    }
}

impl Client {
    fn times(&mut self) -> (u64, &mut u64) {
        (self.deadline_ns, &mut self.timer_ns)
    }
}

impl Link {
    fn times(&mut self) -> (u64, &mut u64) {
        (self.deadline_ns, &mut self.timer_ns)
    }
}
