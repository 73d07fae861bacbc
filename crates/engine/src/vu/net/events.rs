//! What connections report, and what that means for the requests on them.

use plimsoll_conn::{ExchangeId, Failure, Progress, State};
use plimsoll_io::{Driver, Received};
use plimsoll_script::js::http::{HttpOptions, Next};

use super::Net;
use super::call::{Call, Phase};
use super::fault::{self, Owned};
use crate::vu::books::Books;
use crate::vu::tally::Tally;
use crate::vu::user::User;

/// Whether TLS resumes sessions. k6 does not: each new connection is a whole handshake.
pub(super) const RESUMES: bool = false;

/// How a request on the wire has ended.
pub(super) enum End {
    /// With a response.
    Complete,
    /// The server has not processed it.
    Refused(&'static str),
    /// Without a response.
    Failed(Owned),
}

/// What is noted while a connection reads.
struct Noted<'a> {
    at_ns: u64,
    wall_ns: u64,
    calls: &'a mut Vec<Call>,
    users: &'a [User],
    options: &'a HttpOptions,
    ended: &'a mut Vec<(u32, End)>,
    is_secured: bool,
}

impl<'a> Noted<'a> {
    fn new(
        (at_ns, wall_ns): (u64, u64),
        calls: &'a mut Vec<Call>,
        users: &'a [User],
        options: &'a HttpOptions,
        ended: &'a mut Vec<(u32, End)>,
    ) -> Self {
        Self { at_ns, wall_ns, calls, users, options, ended, is_secured: false }
    }

    fn note(&mut self, progress: Progress<'_>) {
        let mut end = |exchange: ExchangeId, end| self.ended.push((exchange.0, end));
        match progress {
            Progress::Secured => self.is_secured = true,
            Progress::FirstByte(ExchangeId(id)) => {
                self.calls[id as usize].moments.first_ns = Some(self.at_ns);
            }
            Progress::Head(ExchangeId(id), head) => {
                let call = &mut self.calls[id as usize];
                let request = self.users[call.user as usize].vu.request(call.number);
                let (status, lines) = (head.status, head.lines());
                call.flow.head(&request, self.options, status, lines, self.wall_ns);
            }
            Progress::Body(ExchangeId(id), bytes) => {
                self.calls[id as usize].flow.body(self.options, bytes);
            }
            Progress::Complete(exchange, _) => end(exchange, End::Complete),
            Progress::Refused(exchange, kind) => end(exchange, End::Refused(kind)),
            Progress::Reset(exchange, kind) => end(exchange, End::Failed(Owned::Stream(kind))),
            Progress::Broken(exchange, _) => {
                end(exchange, End::Failed(Owned::Stream("PROTOCOL_ERROR")));
            }
            Progress::Tunnelled
            | Progress::Greeted
            | Progress::Room
            | Progress::Resumed { .. }
            | Progress::Interim(..)
            | Progress::Message(_)
            | Progress::Trailers(..)
            | Progress::Pushed { .. }
            | Progress::Decompressed(_)
            | Progress::Ping => {}
        }
    }
}

impl<D: Driver> Net<D> {
    pub(super) fn connected<T: Tally>(
        &mut self,
        wire: u32,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        self.wires.note_connected(wire, at_ns);
        let Some(route) = self.wires.route(wire) else { return };
        let (user, site) = (self.wires.user(wire), self.wires.site(wire));
        let setup = self.sites.setup(site);
        let connection = self.wires.connection(wire);
        let begun =
            connection.connected(&mut self.driver, setup, &route, RESUMES, &mut self.scratch);
        match begun {
            Ok(bytes) => {
                self.owned[user as usize].sent_bytes += bytes as u64;
                self.opened(wire);
            }
            Err(failure) => {
                let fault = fault::of_connection(&failure, false);
                self.broken((wire, true), &fault, at_ns, users, books);
            }
        }
    }

    /// Where a connection is open now, requests that wait for it go on.
    fn opened(&mut self, wire: u32) {
        let (user, site) = (self.wires.user(wire), self.wires.site(wire));
        let connection = self.wires.connection(wire);
        if connection.state() != State::Open {
            return;
        }
        let is_http2 = connection.protocol_name() == "h2";
        self.wires.note_open(wire);
        self.sites.note_protocol(site, is_http2);
        self.serve(user, site);
    }

    /// Has the requests of a user go on that wait for a connection to a server.
    pub(super) fn serve(&mut self, user: u32, site: u32) {
        for id in &self.owned[user as usize].calls {
            let call = &self.calls[*id as usize];
            if call.phase == Phase::Waiting && call.site == site {
                self.pending.push_back(*id);
            }
        }
    }

    /// Takes received bytes; gives the time at which that was done, if it took work.
    pub(super) fn received<T: Tally>(
        &mut self,
        received: Received,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) -> u64 {
        let wire = received.socket.0;
        let (user, site) = (self.wires.user(wire), self.wires.site(wire));
        self.owned[user as usize].received_bytes += received.len() as u64;
        let (tally, place) = books.at(users[user as usize].actor(), at_ns);
        tally.received(&place, received.len() as u64);
        let mut ended = std::mem::take(&mut self.ended);
        let (times, options) = ((at_ns, books.wall_ns(at_ns)), &self.terms.network.http);
        let mut noted = Noted::new(times, &mut self.calls, users, options, &mut ended);
        let connection = self.wires.connection(wire);
        let was_opening = connection.is_opening();
        let bytes = self.driver.bytes(&received);
        let (setup, scratch) = (self.sites.setup(site), &mut self.scratch);
        let read =
            connection.receive(setup, RESUMES, scratch, bytes, |progress| noted.note(progress));
        let is_secured = noted.is_secured;
        self.driver.release(received);
        let sent = connection.flush(&mut self.driver, scratch);
        self.owned[user as usize].sent_bytes += sent as u64;
        let at_ns = if is_secured { at_ns.max(self.driver.clock_ns()) } else { at_ns };
        if is_secured {
            self.wires.note_secured(wire, at_ns);
        }
        if was_opening && read.is_ok() {
            self.opened(wire);
        }
        self.settle(wire, &mut ended, at_ns, users, books);
        self.ended = ended;
        match read {
            Ok(()) => self.tidy(wire),
            Err(failure) => self.fail_wire((wire, was_opening), &failure, at_ns, users, books),
        }
        at_ns
    }

    pub(super) fn ended<T: Tally>(
        &mut self,
        wire: u32,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let mut ended = std::mem::take(&mut self.ended);
        let (times, options) = ((at_ns, books.wall_ns(at_ns)), &self.terms.network.http);
        let mut noted = Noted::new(times, &mut self.calls, users, options, &mut ended);
        let connection = self.wires.connection(wire);
        let read = connection.ended(|progress| noted.note(progress));
        self.settle(wire, &mut ended, at_ns, users, books);
        self.ended = ended;
        let connection = self.wires.connection(wire);
        let was_opening = connection.is_opening();
        if !was_opening && connection.open_exchanges() == 0 {
            // Nobody misses it.
            let (user, site) = (self.wires.user(wire), self.wires.site(wire));
            self.close(wire);
            self.serve(user, site);
            return;
        }
        let failure = read.err().unwrap_or(Failure::Closed);
        self.fail_wire((wire, was_opening), &failure, at_ns, users, books);
    }

    /// A connection is of no use any more.
    fn fail_wire<T: Tally>(
        &mut self,
        (wire, was_opening): (u32, bool),
        failure: &Failure,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let has_begun = self
            .wires
            .exchanges(wire)
            .any(|exchange| self.calls[exchange.0 as usize].moments.first_ns.is_some());
        let fault = fault::of_connection(failure, has_begun);
        self.broken((wire, was_opening), &fault, at_ns, users, books);
    }

    /// Ends what is open on a connection that has failed. One that was being opened takes with it
    /// the request that it was opened for, and those that meant to share it.
    pub(super) fn broken<T: Tally>(
        &mut self,
        (wire, was_opening): (u32, bool),
        fault: &Owned,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        if !self.wires.is_in_use(wire) {
            return;
        }
        let (user, site) = (self.wires.user(wire), self.wires.site(wire));
        let mut open = Vec::new();
        self.wires.give_up(&mut self.driver, wire, &mut open);
        self.owned[user as usize].wires.retain(|owned| *owned != wire);
        if was_opening {
            let calls = self.owned[user as usize].calls.iter().copied();
            let waiting = calls.filter(|id| {
                let call = &self.calls[*id as usize];
                call.phase == Phase::Waiting && call.site == site
            });
            let most = if self.sites.may_share(site) { usize::MAX } else { 1 };
            open.extend(waiting.take(most));
        }
        for id in open {
            self.fail_call(id, fault.clone(), at_ns, users, books);
        }
        self.serve(user, site);
    }

    /// A request on the wire has failed. If its connection may have been closed before the request
    /// came, it goes out once more, on another one, as long as that does no harm.
    fn fail_call<T: Tally>(
        &mut self,
        id: u32,
        fault: Owned,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let call = &mut self.calls[id as usize];
        let is_harmless = matches!(call.flow.method(), "GET" | "HEAD" | "OPTIONS" | "TRACE");
        let has_begun = call.moments.first_ns.is_some();
        if call.is_reused && !call.is_repeated && !has_begun && is_harmless && fault.may_be_stale()
        {
            self.repeat(id);
            return;
        }
        call.leads_on = false;
        let _done = call.flow.fail(&fault.as_fault());
        self.end_hop(id, at_ns, users, books);
    }

    /// Has a request wait for another connection.
    fn repeat(&mut self, id: u32) {
        let call = &mut self.calls[id as usize];
        call.repeat();
        self.pending.push_back(id);
    }

    /// Goes on with the requests that have ended on a connection.
    fn settle<T: Tally>(
        &mut self,
        wire: u32,
        ended: &mut Vec<(u32, End)>,
        at_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        for (id, end) in ended.drain(..) {
            let call = &mut self.calls[id as usize];
            match end {
                End::Complete => {
                    self.wires.note_answer(wire);
                    self.retire(wire);
                    let call = &mut self.calls[id as usize];
                    let options = &self.terms.network.http;
                    call.leads_on = call.flow.complete(options) == Next::Send;
                    self.end_hop(id, at_ns, users, books);
                }
                End::Refused(_) if !call.is_repeated => self.repeat(id),
                End::Refused(kind) => {
                    let is_goaway = kind.starts_with("goaway");
                    let refused = Owned::Stream("REFUSED_STREAM");
                    let fault = if is_goaway { Owned::GoAway(kind) } else { refused };
                    self.fail_call(id, fault, at_ns, users, books);
                }
                End::Failed(fault) => self.fail_call(id, fault, at_ns, users, books),
            }
        }
    }

    /// Closes a connection after a response if it is of no use for another request.
    fn retire(&mut self, wire: u32) {
        let queued = self.driver.queued_bytes(plimsoll_io::SocketId(wire));
        let reuses = self.terms.network.reuses_connections;
        let connection = self.wires.connection(wire);
        let is_early = queued > 0 && !connection.survives_early_response();
        if connection.open_exchanges() == 0 && (!reuses || is_early) {
            self.close(wire);
        }
    }

    /// Closes a connection that takes no more requests and has none; else those that wait go on.
    fn tidy(&mut self, wire: u32) {
        if !self.wires.is_in_use(wire) {
            return;
        }
        let (user, site) = (self.wires.user(wire), self.wires.site(wire));
        let connection = self.wires.connection(wire);
        if connection.state() == State::Spent && connection.open_exchanges() == 0 {
            self.close(wire);
            self.serve(user, site);
        } else if connection.room() > 0 {
            self.serve(user, site);
        }
    }
}
