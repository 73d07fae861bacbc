//! Requests of virtual users: from the step that asks for one to its answer.
//!
//! ```text
//!            rate limit        lookup        connection
//!  ask ──▶ Held ──────▶ Named ──────▶ Waiting ──────▶ OnWire ──▶ Ended ──▶ answer
//!            ▲                                           │
//!            └──────────── the next hop ─────────────────┘
//! ```
//!
//! What a request says, and what follows from a response, is the [`Flow`]'s business. Here it gets
//! a connection of its user's (`wires`), and its moments are taken.

mod call;
mod counts;
mod events;
mod fault;
mod grpc;
mod names;
mod sites;
mod sockets;
mod wires;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_conn::Scratch;
use plimsoll_io::{Driver, Event};
use plimsoll_script::js::http::{Fault, Next};
use plimsoll_script::js::{Answer, Level, Request};

use super::books::{Actor, Books};
use super::cast::HttpDebug;
use super::tally::{RequestBegun, Tally};
use super::user::User;
use crate::deadlines::Deadlines;
use call::{Call, Phase};
use events::End;
use fault::Owned as OwnedFault;
pub(super) use grpc::News;
use grpc::{Around, CHANNEL, Grpc};
pub(super) use sites::Terms;
use sites::{OF_SOCKET, Sites, Way};
use sockets::Sockets;
use wires::Wires;

/// How long a connect may take, as in k6, ns.
const DIAL_NS: u64 = 30_000_000_000;

/// What of the network belongs to one user.
#[derive(Debug, Default)]
struct Owned {
    /// Its number in the whole test, from 1; 0 for a throw-away user.
    id: u64,
    /// Its connections.
    wires: Vec<u32>,
    /// Its requests that are under way.
    calls: Vec<u32>,
    /// Its WebSockets.
    sockets: Vec<u32>,
    /// Those of them of which there is news.
    heard: VecDeque<u32>,
    sent_bytes: u64,
    received_bytes: u64,
}

/// See the head of this module.
pub(super) struct Net<D> {
    pub driver: D,
    terms: Arc<Terms>,
    sites: Sites,
    wires: Wires,
    sockets: Sockets,
    calls: Vec<Call>,
    free_calls: Vec<u32>,
    owned: Vec<Owned>,
    /// Requests that have ended, with their users.
    finished: VecDeque<(u32, u32)>,
    deadlines: Deadlines,
    scratch: Scratch,
    /// Requests that go on when what is being done now is done.
    pending: VecDeque<u32>,
    /// Requests that have ended on a connection, and how; empty between two events.
    ended: Vec<(u32, End)>,
    grpc: Grpc,
    /// For how long the worker had not looked when the events came that it takes now, if they were
    /// there already.
    pub unread_ns: u64,
}

impl<D: Driver> Net<D> {
    /// Over a driver with this number of sockets.
    pub(super) fn new(driver: D, sockets: u32, terms: Arc<Terms>) -> Self {
        let waker = driver.waker();
        Self {
            driver,
            sites: Sites::new(Arc::clone(&terms), waker),
            wires: Wires::new(sockets, terms.network.reuses_connections),
            sockets: Sockets::new(),
            terms,
            calls: Vec::new(),
            free_calls: Vec::new(),
            owned: Vec::new(),
            finished: VecDeque::new(),
            deadlines: Deadlines::new(0),
            scratch: Scratch::new(0),
            pending: VecDeque::new(),
            ended: Vec::new(),
            grpc: Grpc::default(),
            unread_ns: 0,
        }
    }

    /// A user begins to exist, whose number in the whole test is `id`.
    pub(super) fn add_user(&mut self, id: u64) {
        self.owned.push(Owned { id, ..Owned::default() });
        self.grpc.add_user();
    }

    /// Begins a request of a user.
    pub(super) fn ask<T: Tally>(
        &mut self,
        (user, number): (u32, u32),
        actor: Actor,
        now_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let id = self.free_calls.pop().unwrap_or_else(|| {
            self.calls.push(Call::default());
            self.deadlines.grow(self.calls.len());
            self.calls.len() as u32 - 1
        });
        let call = &mut self.calls[id as usize];
        let request = users[user as usize].vu.request(number);
        call.reset((user, number), actor, now_ns, &request);
        self.owned[user as usize].calls.push(id);
        match call.flow.begin(&request, &self.terms.network.http, books.wall_ns(now_ns)) {
            Next::Done => {
                drop(request);
                // Without a URL nothing was asked for.
                if self.calls[id as usize].flow.counts() {
                    self.end_hop(id, now_ns, users, books);
                } else {
                    self.finish(id);
                }
            }
            Next::Send => {
                self.deadlines.watch(id, call.deadline_ns);
                self.begin_hop(id, now_ns, users, books);
                self.go_on(now_ns, users, books);
            }
        }
    }

    /// Begins a request on the wire.
    fn begin_hop<T: Tally>(&mut self, id: u32, now_ns: u64, users: &[User], books: &mut Books<T>) {
        let call = &mut self.calls[id as usize];
        call.begin_hop(now_ns);
        if let Some(step_ns) = 1_000_000_000_u64.checked_div(self.terms.network.rps) {
            let next = |sends_ns: u64| Some(sends_ns.max(now_ns).saturating_add(step_ns));
            let order = Ordering::Relaxed;
            let before = self.terms.sends_ns.fetch_update(order, order, next);
            let send_ns = before.unwrap_or_else(|same| same).max(now_ns);
            if send_ns > now_ns {
                call.phase = Phase::Held(send_ns);
                self.deadlines.watch(id, send_ns);
                return;
            }
        }
        self.start_hop(id, now_ns, users, books);
    }

    /// Starts a request on the wire that nothing holds back.
    fn start_hop<T: Tally>(&mut self, id: u32, now_ns: u64, users: &[User], books: &mut Books<T>) {
        let call = &mut self.calls[id as usize];
        if let Phase::Held(until_ns) = call.phase {
            // The wait for the rate is in none of the request's times.
            (call.intended_ns, call.started_ns) = (until_ns, now_ns);
        }
        call.begun = Some(id);
        let is_redirected = call.flow.unfinished_hop().is_redirected;
        let begun = RequestBegun { number: id, intended_ns: call.intended_ns, is_redirected };
        let (tally, place) = books.at(call.actor.clone(), now_ns);
        tally.began(&place, &begun);
        self.find_way(id, now_ns, users, books);
    }

    /// Finds out where a request goes.
    fn find_way<T: Tally>(&mut self, id: u32, now_ns: u64, users: &[User], books: &mut Books<T>) {
        let call = &mut self.calls[id as usize];
        call.site = self.sites.of(call.flow.origin());
        match self.sites.way(call.site, id, now_ns) {
            Way::Open => {
                call.phase = Phase::Waiting;
                self.pending.push_back(id);
            }
            Way::Asked => call.phase = Phase::Named,
            Way::Closed(fault) => {
                let fault = fault.as_fault();
                let _done = call.flow.fail(&fault);
                self.end_hop(id, now_ns, users, books);
            }
        }
    }

    /// Gives requests that wait for a connection one, or has one opened.
    fn go_on<T: Tally>(&mut self, now_ns: u64, users: &[User], books: &mut Books<T>) {
        while let Some(id) = self.pending.pop_front() {
            if self.calls[id as usize].phase != Phase::Waiting {
                continue;
            }
            let user = self.calls[id as usize].user;
            let site = self.calls[id as usize].site;
            if let Some(wire) = self.wires.with_room(&self.owned[user as usize].wires, site) {
                self.send(id, wire, now_ns, users, books);
                continue;
            }
            // Whether TLS agrees on HTTP/2, which takes all of them, is soon known.
            let opening = self.wires.opening(&self.owned[user as usize].wires, site);
            let waiting = self.waiting(user, site);
            let may_share = self.sites.may_share(site) && opening > 0;
            let is_full = self.wires.has_full(&self.owned[user as usize].wires, site);
            if may_share || is_full || opening >= waiting {
                continue;
            }
            self.open(id, now_ns, users, books);
        }
    }

    /// How many requests of a user wait for a connection to a site.
    fn waiting(&self, user: u32, site: u32) -> usize {
        let calls = self.owned[user as usize].calls.iter();
        let is_waiting = |id: &&u32| {
            let call = &self.calls[**id as usize];
            call.phase == Phase::Waiting && call.site == site
        };
        calls.filter(is_waiting).count()
    }

    fn open<T: Tally>(&mut self, id: u32, now_ns: u64, users: &[User], books: &mut Books<T>) {
        let call = &self.calls[id as usize];
        let (user, site, actor) = (call.user, call.site, call.actor.clone());
        let owned = &mut self.owned[user as usize];
        let route = self.sites.route(site, owned.id);
        let wire = match route {
            Ok(route) => {
                let scenario = actor.scenario;
                let (tally, place) = books.at(actor, now_ns);
                tally.dialled(&place, &route.to);
                let place = (user, site, scenario);
                self.wires.open(&mut self.driver, place, route, &mut owned.wires, now_ns)
            }
            Err(fault) => {
                let _done = self.calls[id as usize].flow.fail(&fault.as_fault());
                self.end_hop(id, now_ns, users, books);
                return;
            }
        };
        if wire.is_none() {
            let _done = self.calls[id as usize].flow.fail(&Fault::NoSocket);
            self.end_hop(id, now_ns, users, books);
            return;
        }
        self.deadlines.watch(id, now_ns.saturating_add(DIAL_NS));
    }

    /// Sends a request on a connection that has room for it.
    fn send<T: Tally>(
        &mut self,
        id: u32,
        wire: u32,
        now_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let call = &mut self.calls[id as usize];
        let sent = self.wires.send(&mut self.driver, wire, id, call, now_ns, &mut self.scratch);
        match sent {
            Ok(bytes) => self.owned[call.user as usize].sent_bytes += bytes as u64,
            Err(error) => {
                let _done = call.flow.fail(&Fault::Other(&error.to_string()));
                self.end_hop(id, now_ns, users, books);
            }
        }
    }

    /// A request on the wire has ended: it is told, and the next one begins or the answer is there.
    fn end_hop<T: Tally>(&mut self, id: u32, now_ns: u64, users: &[User], books: &mut Books<T>) {
        let call = &mut self.calls[id as usize];
        call.end_hop(now_ns);
        let request = users[call.user as usize].vu.request(call.number);
        let ended = call.ended(&call.flow.hop(&request), now_ns, self.unread_ns);
        let (tally, place) = books.at(call.actor.clone(), now_ns);
        let debug = self.terms.network.http_debug;
        if debug != HttpDebug::Off && call.moments.got_ns.is_some() {
            let texts = call.flow.exchange(ended.proto, debug == HttpDebug::Whole);
            tally.exchange(&place, &texts);
        }
        tally.request(&place, &ended);
        if let Some(warning) = call.flow.warning() {
            let (tally, place) = books.at(call.actor.clone(), now_ns);
            tally.note(&place, Level::Warn, &warning);
        }
        if call.leads_on {
            call.leads_on = false;
            let next = call.flow.advance(&request, &self.terms.network.http, books.wall_ns(now_ns));
            call.intended_ns = now_ns;
            drop(request);
            if next == Next::Send {
                self.begin_hop(id, now_ns, users, books);
            } else {
                call.begin_hop(now_ns);
                self.end_hop(id, now_ns, users, books);
            }
        } else {
            drop(request);
            self.finish(id);
        }
    }

    fn finish(&mut self, id: u32) {
        let call = &mut self.calls[id as usize];
        call.phase = Phase::Ended;
        let user = call.user;
        self.owned[user as usize].calls.retain(|open| *open != id);
        self.finished.push_back((user, id));
    }

    /// A request that has ended, with its user.
    pub(super) fn take_finished(&mut self) -> Option<(u32, u32)> {
        self.finished.pop_front()
    }

    /// The answer to a request that has ended.
    pub(super) fn answer(&self, id: u32) -> Answer<'_> {
        self.calls[id as usize].answer()
    }

    /// The answer was handed over.
    pub(super) fn forget(&mut self, id: u32) {
        self.calls[id as usize].phase = Phase::Free;
        self.free_calls.push(id);
    }

    /// When something is due.
    pub(super) fn next_ns(&self) -> u64 {
        if !self.pending.is_empty() {
            return 0;
        }
        self.deadlines.next_ns().min(self.grpc.next_ns()).min(self.sockets.next_ns())
    }

    /// Looks at what is due: timeouts, and requests that were held back. Compared with the time up
    /// to which everything received has been taken: after a pause the clock is far ahead of that.
    pub(super) fn look<T: Tally>(&mut self, now_ns: u64, users: &[User], books: &mut Books<T>) {
        let by_ns = self.driver.caught_up_ns();
        while let Some(id) = self.deadlines.pop(by_ns) {
            let call = &self.calls[id as usize];
            let deadline_ns = call.deadline_ns;
            match call.phase {
                Phase::Free | Phase::Ended => continue,
                _ if deadline_ns <= by_ns => {
                    self.give_up(id, &Fault::TimedOut, now_ns, users, books);
                    continue;
                }
                Phase::Held(until_ns) if until_ns <= by_ns => {
                    self.start_hop(id, now_ns, users, books);
                }
                Phase::Held(until_ns) => self.deadlines.watch(id, until_ns),
                Phase::Waiting => {
                    let (user, site) = (call.user, call.site);
                    let owned = &self.owned[user as usize].wires;
                    match self.wires.oldest_opening(owned, site) {
                        Some((wire, since_ns)) if since_ns + DIAL_NS <= by_ns => {
                            let fault = OwnedFault::ConnectTimedOut;
                            self.broken((wire, true), &fault, now_ns, users, books);
                        }
                        Some((_, since_ns)) => self.deadlines.watch(id, since_ns + DIAL_NS),
                        None => self.pending.push_back(id),
                    }
                }
                Phase::Named | Phase::OnWire(_) => {}
            }
            if !matches!(self.calls[id as usize].phase, Phase::Free | Phase::Ended) {
                self.deadlines.watch(id, deadline_ns);
            }
        }
        self.look_at_sockets((by_ns, now_ns), books);
        self.go_on(now_ns, users, books);
        self.look_at_calls(by_ns, &mut Around { now_ns, users, books });
    }

    /// Ends a request without an answer from the server.
    fn give_up<T: Tally>(
        &mut self,
        id: u32,
        fault: &Fault<'_>,
        now_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        self.take_off(id);
        let call = &mut self.calls[id as usize];
        call.leads_on = false;
        let _done = call.flow.fail(fault);
        self.end_hop(id, now_ns, users, books);
    }

    /// Takes a request off its connection, which is closed where that does not go otherwise.
    fn take_off(&mut self, id: u32) {
        let call = &mut self.calls[id as usize];
        let (phase, user, site) = (call.phase, call.user, call.site);
        call.phase = Phase::Ended;
        match phase {
            Phase::OnWire(wire) => {
                match self.wires.cancel(&mut self.driver, wire, id, &mut self.scratch) {
                    Some(bytes) => {
                        self.owned[user as usize].sent_bytes += bytes as u64;
                        self.serve(user, site);
                    }
                    None => self.close(wire),
                }
            }
            Phase::Waiting if self.waiting(user, site) == 0 => {
                // Nobody would give up on it.
                let owned = &self.owned[user as usize].wires;
                if let Some((wire, _)) = self.wires.oldest_opening(owned, site) {
                    self.close(wire);
                }
            }
            Phase::Named => self.sites.forget(site, id),
            _ => {}
        }
    }

    /// Closes a connection on which nothing is open.
    fn close(&mut self, wire: u32) {
        let user = self.wires.user(wire);
        self.wires.close(&mut self.driver, wire);
        self.owned[user as usize].wires.retain(|open| *open != wire);
    }

    /// Cuts off all requests and WebSockets of a user, and says how many requests those are.
    pub(super) fn cut_off<T: Tally>(
        &mut self,
        user: u32,
        now_ns: u64,
        books: &mut Books<T>,
    ) -> u64 {
        self.cut_off_sockets(user);
        let calls = std::mem::take(&mut self.owned[user as usize].calls);
        for id in &calls {
            let call = &mut self.calls[*id as usize];
            if !matches!(call.phase, Phase::Held(_)) {
                call.end_hop(now_ns);
                let (tally, place) = books.at(call.actor.clone(), now_ns);
                tally.cut_off(&place, &call.ended(&call.flow.unfinished_hop(), now_ns, 0));
            }
            self.take_off(*id);
            self.forget(*id);
        }
        self.finished.retain(|(owner, id)| {
            if *owner == user {
                self.calls[*id as usize].phase = Phase::Free;
                self.free_calls.push(*id);
            }
            *owner != user
        });
        let count = calls.len() as u64;
        let mut calls = calls;
        calls.clear();
        self.owned[user as usize].calls = calls;
        count
    }

    /// Tells of requests that a user had yet to begin when its task ended, and says how many they
    /// are. Under a limit on the rate, when they were due is not known.
    pub(super) fn tell_unsent<T: Tally>(
        &mut self,
        (requests, actor): (&[Request], Actor),
        now_ns: u64,
        books: &mut Books<T>,
    ) -> u64 {
        let are_due = self.terms.network.rps == 0;
        for request in requests.iter().filter(|_| are_due) {
            let mut call = Call::default();
            call.reset((0, 0), actor.clone(), now_ns, request);
            let _next = call.flow.begin(request, &self.terms.network.http, books.wall_ns(now_ns));
            let (tally, place) = books.at(actor.clone(), now_ns);
            tally.unsent(&place, &call.ended(&call.flow.unfinished_hop(), now_ns, 0));
        }
        requests.len() as u64
    }

    /// Tells what has become of the connections, when the load is over.
    pub(super) fn tell_connections<T: Tally>(&mut self, now_ns: u64, books: &mut Books<T>) {
        let counts = self.wires.count(&self.driver);
        let (tally, _) = books.at(Actor::default(), now_ns);
        tally.open_max(counts.open_max());
        for (scenario, connections, reconnects) in counts.of_scenarios() {
            let actor = Actor { scenario: Some(scenario), ..Actor::default() };
            let (tally, place) = books.at(actor, now_ns);
            tally.connections(&place, connections, reconnects);
        }
    }

    /// Closes all connections of a user, which has no request under way.
    pub(super) fn close_all(&mut self, user: u32) {
        let mut wires = std::mem::take(&mut self.owned[user as usize].wires);
        for wire in wires.drain(..) {
            self.wires.close(&mut self.driver, wire);
        }
        self.owned[user as usize].wires = wires;
    }

    /// Bytes that a user's connections have sent and received since this was last asked.
    pub(super) fn take_bytes(&mut self, user: u32) -> (u64, u64) {
        let owned = &mut self.owned[user as usize];
        (std::mem::take(&mut owned.sent_bytes), std::mem::take(&mut owned.received_bytes))
    }

    /// Takes an event of the driver.
    pub(super) fn handle<T: Tally>(
        &mut self,
        at_ns: u64,
        event: Event,
        users: &[User],
        books: &mut Books<T>,
    ) {
        if let Some(channel) = self.wires.channel_of(&event) {
            return self.channel_event(channel, event, &mut Around { now_ns: at_ns, users, books });
        }
        if let Some(wire) = socket_of(&event)
            && self.sockets.has(wire)
        {
            self.handle_socket((wire, event), at_ns, users, books);
            return;
        }
        let mut at_ns = at_ns;
        match event {
            Event::Connected(socket) => self.connected(socket.0, at_ns, users, books),
            Event::Sent(socket) => {
                for exchange in self.wires.sent_whole(socket.0) {
                    let call = &mut self.calls[exchange.0 as usize];
                    call.moments.wrote_ns.get_or_insert(at_ns);
                }
            }
            Event::Received(received) => at_ns = self.received(received, at_ns, users, books),
            Event::Ended(socket) => self.ended(socket.0, at_ns, users, books),
            Event::Failed { socket, operation, error } => {
                let fault = fault::of_system(operation, error);
                let was_opening = self.wires.connection(socket.0).is_opening();
                self.broken((socket.0, was_opening), &fault, at_ns, users, books);
            }
            Event::Woken => {
                let mut answered = self.sites.take_answers(at_ns);
                for id in answered.drain(..) {
                    if id & CHANNEL != 0 {
                        let around = &mut Around { now_ns: at_ns, users, books };
                        self.find_channel_way(id & !CHANNEL, around);
                    } else if id & OF_SOCKET != 0 {
                        self.find_named_socket(id ^ OF_SOCKET, at_ns, users, books);
                    } else if self.calls[id as usize].phase == Phase::Named {
                        self.find_way(id, at_ns, users, books);
                    }
                }
                self.sites.give_back(answered);
            }
            Event::SentPart(_) | Event::Accepted { .. } => {}
        }
        self.go_on(at_ns, users, books);
    }
}

/// Which socket an event is about.
fn socket_of(event: &Event) -> Option<u32> {
    match event {
        Event::Connected(socket)
        | Event::Sent(socket)
        | Event::SentPart(socket)
        | Event::Ended(socket)
        | Event::Failed { socket, .. } => Some(socket.0),
        Event::Received(received) => Some(received.socket.0),
        Event::Accepted { .. } | Event::Woken => None,
    }
}
