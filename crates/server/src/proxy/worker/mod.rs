//! One worker: a driver, its clients, its upstream connections, and what each event does.
//!
//! Time comes from the driver and goes in as an argument, so the whole proxy runs under the
//! simulated kernel. The path of a request: an event, a decode, a head written anew, one send, and
//! the same for the response; no allocation, no formatting, no clock.
//!
//! The upstream side (`dispatch`, `response`) deals with exchanges and does not know which protocol
//! their clients speak. `request` reads those of HTTP/1, and `http2` those of HTTP/2. `answer` ends
//! exchanges.

mod answer;
mod check;
mod dispatch;
mod http2;
mod pace;
mod request;
mod response;

use std::io;
use std::net::SocketAddr;

use plimsoll_io::{Close, Driver, Event, Operation, Route, SocketId, Waker};

use self::answer::Why;
use self::check::Check;
use super::client::{self, Clients};
use super::counters::ProxyCounters;
use super::deadline::{Deadline, Owner};
use super::exchange::Exchanges;
use super::head::Rewriting;
use super::link::{self, Link};
use super::options::Rules;
use super::sockets::Sockets;
use super::upstreams::Pools;
use super::wire::Wire;
use crate::timers::Timers;

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
    clients: Clients,
    exchanges: Exchanges,
    listeners: u32,
    sockets: Sockets,
    timers: Timers<Owner>,
    /// Requests in queues.
    waiting: usize,
    /// Scratch memory for outgoing bytes.
    scratch: Vec<u8>,
    /// Scratch memory for decrypted bytes.
    plain: Vec<u8>,
    counters: ProxyCounters,
    open: u32,
    /// When connections still open are closed; `None` until told to stop.
    deadline_ns: Option<u64>,
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
            clients: Clients::new(rules.limits.request),
            exchanges: Exchanges::default(),
            listeners: 0,
            sockets: Sockets {
                first_link: listeners,
                first_check,
                first_client: first_check + count as u32,
            },
            timers: Timers::new(clients_max.saturating_add(rules.upstream_tokens())),
            waiting: 0,
            scratch: Vec::new(),
            plain: Vec::new(),
            counters: ProxyCounters::default(),
            open: 0,
            deadline_ns: None,
            rules,
        };
        (0..proxy.checks.len()).for_each(|index| proxy.set_deadline(Owner::Check(index), now_ns));
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
        assert!(self.listeners < self.sockets.first_link, "more listeners than were reserved");
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
        while let Some((due_ns, owner)) = self.timers.take_due(now_ns) {
            self.on_timer(now_ns, due_ns, owner);
        }
        self.send_touched(now_ns);
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
        for index in 0..self.clients.slots() {
            let client = &self.clients[index];
            if client.is_idle() || client.state == client::State::Lingering {
                self.close_when_sent(now_ns, index);
            } else if client.state == client::State::Multiplexed {
                self.turn(now_ns, index).announce_end();
            }
        }
        for index in 0..self.links.len() {
            if self.links[index].state == link::State::Idle {
                self.close_idle(index);
            }
        }
        self.close_checks();
        self.send_touched(now_ns);
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
    fn handle(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::Received(received) => match self.sockets.owner(received.socket) {
                Owner::Client(index) => self.on_client_received(now_ns, index, received),
                Owner::Link(index) => self.on_link_received(now_ns, index, received),
                Owner::Check(index) => {
                    let Self { checks, wire, plain, .. } = self;
                    let is_well = checks[index].received(wire, received, plain);
                    self.end_check(now_ns, index, is_well);
                }
                Owner::Exchange(_) => {}
            },
            Event::Sent(socket) => match self.sockets.owner(socket) {
                Owner::Client(index) => self.on_client_sent(now_ns, index),
                Owner::Link(index) => self.on_link_sent(now_ns, index),
                Owner::Check(_) | Owner::Exchange(_) => {}
            },
            Event::Accepted { socket, peer, .. } => self.on_accepted(now_ns, socket, peer),
            Event::Connected(socket) => match self.sockets.owner(socket) {
                Owner::Link(index) => self.on_link_connected(now_ns, index),
                Owner::Check(index) => {
                    let tls = self.rules.upstreams[index].tls.as_ref();
                    let is_well = self.checks[index].connected(&mut self.wire, socket, tls);
                    self.end_check(now_ns, index, is_well);
                }
                Owner::Client(_) | Owner::Exchange(_) => {}
            },
            Event::Ended(socket) => match self.sockets.owner(socket) {
                Owner::Client(index) => self.on_client_ended(now_ns, index),
                Owner::Link(index) => self.on_link_ended(now_ns, index),
                Owner::Check(index) => {
                    let is_well = self.checks[index].ended();
                    self.end_check(now_ns, index, Some(is_well));
                }
                Owner::Exchange(_) => {}
            },
            Event::Failed { operation: Operation::Accept, .. } => {
                self.counters.accept_failures += 1;
            }
            Event::Failed { socket, error, .. } => match self.sockets.owner(socket) {
                Owner::Client(index) => self.drop_client(now_ns, index),
                Owner::Link(index) if error.is_shortage() => self.on_shortage(now_ns, index),
                Owner::Link(index) => self.on_link_failed(now_ns, index),
                Owner::Check(index) => self.end_check(now_ns, index, Some(false)),
                Owner::Exchange(_) => {}
            },
            Event::Woken | Event::SentPart(_) => {}
        }
    }

    fn on_accepted(&mut self, now_ns: u64, socket: SocketId, peer: SocketAddr) {
        let Owner::Client(index) = self.sockets.owner(socket) else { return };
        self.clients.open(index, peer.ip());
        self.open += 1;
        self.counters.connections += 1;
        let timeouts = &self.rules.timeouts;
        let is_secure = self.rules.tls.is_some();
        let wait_ns = if is_secure { timeouts.head_ns } else { timeouts.keep_alive_ns };
        self.set_deadline(Owner::Client(index), now_ns.saturating_add(wait_ns));
        if !self.wire.accept(socket) {
            self.close_client(index, Close::Reset);
        }
    }

    fn on_timer(&mut self, now_ns: u64, due_ns: u64, owner: Owner) {
        let due = self.deadline(owner);
        if due.timer_ns != due_ns {
            return;
        }
        due.timer_ns = u64::MAX;
        let at_ns = due.at_ns;
        if at_ns > now_ns {
            // It has been put off since.
            return self.set_timer(owner, at_ns);
        }
        match owner {
            Owner::Client(index) => self.client_expired(now_ns, index),
            Owner::Exchange(index) => self.exchange_expired(now_ns, index),
            Owner::Link(index) => self.link_expired(now_ns, index),
            Owner::Check(index) => self.check_expired(now_ns, index),
        }
    }

    #[inline]
    fn deadline(&mut self, owner: Owner) -> &mut Deadline {
        match owner {
            Owner::Client(index) => &mut self.clients[index].due,
            Owner::Exchange(index) => &mut self.exchanges[index].due,
            Owner::Link(index) => &mut self.links[index].due,
            Owner::Check(index) => &mut self.checks[index].due,
        }
    }

    #[inline]
    fn set_deadline(&mut self, owner: Owner, at_ns: u64) {
        if self.deadline(owner).set(at_ns) {
            self.set_timer(owner, at_ns);
        }
    }

    /// Sets a timer that is due before the present one.
    fn set_timer(&mut self, owner: Owner, at_ns: u64) {
        if at_ns == u64::MAX {
            return;
        }
        self.deadline(owner).timer_ns = at_ns;
        let Self { timers, clients, exchanges, links, checks, .. } = self;
        timers.set(at_ns, owner, |due_ns, owner| {
            let due = match owner {
                Owner::Client(index) => clients.get(index).map(|it| it.due),
                Owner::Exchange(index) => exchanges.get(index).map(|it| it.due),
                Owner::Link(index) => links.get(index).map(|it| it.due),
                Owner::Check(index) => checks.get(index).map(|it| it.due),
            };
            due.is_some_and(|due| due.timer_ns == due_ns)
        });
    }

    fn close_client(&mut self, index: usize, how: Close) {
        self.wire.close(self.sockets.client(index), how);
        self.clients.close(index);
        self.open -= 1;
    }

    /// The drain time is over.
    fn close_all(&mut self, now_ns: u64) {
        // So that no place that becomes free is given to one of them.
        for index in 0..self.exchanges.slots() {
            self.leave_queue(now_ns, index);
        }
        for index in 0..self.clients.slots() {
            if self.clients[index].state != client::State::Free {
                self.end_exchanges(now_ns, index, Why::Drained);
                self.close_client(index, Close::Reset);
            }
        }
    }
}
