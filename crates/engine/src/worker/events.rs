//! How a worker handles completions and expired deadlines.

use plimsoll_conn::{ExchangeId, Failure, Progress, Protocol, State};
use plimsoll_core::Phase;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::units::format_duration;
use plimsoll_io::{Close, Driver, Event, Operation, OsError, Received, Token};

use super::Worker;
use super::reading::{After, Reading};
use crate::error::{ABANDONED, TIMEOUT, kind};
use crate::exchanges::Exchange;
use crate::scripted::Scripted;

impl<D: Driver, P: Protocol> Worker<D, P> {
    #[inline]
    pub(super) fn handle(&mut self, at_ns: u64, event: Event) {
        match event {
            Event::Received(received) => self.received(at_ns, received),
            Event::Sent(token) => self.written(at_ns, token),
            Event::Connected(token) => self.connected(token.0, at_ns),
            Event::Ended(token) => self.ended(token.0, at_ns),
            Event::Failed { token, operation, error } => {
                self.failed(token.0, at_ns, operation, error);
            }
            // The stop flag is looked at in every turn.
            Event::Woken | Event::Accepted { .. } => {}
        }
    }

    #[inline]
    fn written(&mut self, at_ns: u64, token: Token) {
        let client = &mut self.clients[token.index()];
        let at_ns = client.moment(at_ns);
        // What was sent earlier has been taken earlier.
        for id in client.connection.exchanges().rev() {
            let moments = &mut self.exchanges[id].moments;
            if moments.written_ns != 0 {
                break;
            }
            moments.written_ns = at_ns;
        }
    }

    #[inline]
    fn received(&mut self, at_ns: u64, received: Received) {
        let index = received.token.0;
        self.observer.recorder_at(at_ns).received_bytes += received.len() as u64;
        let at_ns = self.clients[index as usize].moment(at_ns);
        let stamp_ns = self.stamp(at_ns, &received);
        let mut after = After::default();
        let taken = {
            let client = &mut self.clients[index as usize];
            let mut reading = Reading {
                exchanges: &mut self.exchanges,
                observer: &mut self.observer,
                judge: &self.judge,
                user: &mut self.users[index as usize],
                released: &mut self.released,
                wants: self.wants,
                notes: self.notes.as_deref_mut(),
                script: told(&mut self.script),
                at_ns: stamp_ns,
                after,
            };
            let bytes = self.driver.bytes(&received);
            let (connection, scratch) = (&mut client.connection, &mut self.scratch);
            let step = |progress: Progress<'_>| reading.step(progress);
            let taken = connection.receive(&self.setup, client.resumes, scratch, bytes, step);
            after = reading.after;
            taken
        };
        self.driver.release(received);
        if !(self.setup.is_plain() && self.scratch.is_empty()) {
            let connection = &mut self.clients[index as usize].connection;
            let sent_bytes = connection.flush(&mut self.driver, &mut self.scratch);
            self.observer.recorder_at(at_ns).sent_bytes += sent_bytes as u64;
        }
        self.progress_ns = at_ns;
        self.settle(index, at_ns, after, taken);
    }

    /// The time to record for received bytes: the kernel's own where the plan asks for it. Two
    /// clocks are compared for that, so it is kept from being before what it must come after.
    #[inline]
    fn stamp(&mut self, at_ns: u64, received: &Received) -> u64 {
        let Some(kernel_ns) = received.kernel_ns() else {
            return at_ns;
        };
        let client = &self.clients[received.token.index()];
        let reached_ns = client.reached_ns;
        let moments = client.connection.exchanges().map(|id| &self.exchanges[id].moments);
        let after_ns = moments.map(|m| m.sent_ns.max(m.first_byte_ns)).max().unwrap_or(0);
        let stamp_ns = kernel_ns.max(after_ns).max(reached_ns).min(at_ns);
        let recorder = self.observer.recorder_at(at_ns);
        let delay_ns = recorder.gap_ns(stamp_ns, at_ns);
        recorder.receive_delay.record(delay_ns);
        stamp_ns
    }

    /// Goes on after a connection has read.
    #[inline]
    fn settle(&mut self, index: u32, at_ns: u64, after: After, taken: Result<(), Failure>) {
        self.count(index, at_ns, &after);
        if after.tunnelled || after.secured || after.greeted {
            self.opened_further(index, at_ns, &after);
        }
        if let Err(failure) = taken {
            self.released.clear();
            self.lost(index, at_ns, &failure);
            return;
        }
        if !self.released.is_empty() {
            self.send_released(index);
        }
        let is_spent = self.clients[index as usize].connection.state() == State::Spent;
        if after.ended > 0 || after.room || is_spent {
            self.answered(index, at_ns, &after);
        }
    }

    /// Counts the responses that became complete.
    #[inline]
    fn count(&mut self, index: u32, at_ns: u64, after: &After) {
        self.follows += after.follows;
        if after.completed == 0 {
            return;
        }
        self.reach.answered(index);
        let client = &mut self.clients[index as usize];
        client.answered += after.completed;
        if let Some(notes) = &mut self.notes
            && client.connection.state() == State::Open
        {
            notes.kept_alive(after.measured);
        }
        client.served += after.measured;
        if after.measured > 0 {
            self.answered_ns = at_ns;
        }
    }

    /// Goes on with a connection after it received something.
    #[inline]
    fn answered(&mut self, index: u32, at_ns: u64, after: &After) {
        let client = &mut self.clients[index as usize];
        let is_idle = client.connection.open_exchanges() == 0;
        if client.connection.state() == State::Spent {
            if !is_idle {
                return;
            }
            // The first answer of this kind starts the wait; what a server sends after it is noise.
            if client.fin_awaited_ns != u64::MAX {
                return;
            }
            let since_ns = at_ns.saturating_sub(self.timetable.start_ns);
            match self.fin_wait.begin(at_ns, since_ns.saturating_mul(self.active.into())) {
                Some(until_ns) => {
                    client.fin_awaited_ns = at_ns;
                    client.due_ns = client.due_ns.min(until_ns);
                    self.deadlines.watch(index, client.due_ns);
                }
                None => self.close(index, at_ns, Close::Graceful),
            }
        } else if is_idle
            && !client.connection.survives_early_response()
            && (after.early || self.driver.queued_bytes(Token(index)) > 0)
        {
            // Answered before it was sent whole.
            self.close(index, at_ns, Close::Reset);
        } else {
            self.freed(index, at_ns);
        }
    }

    fn is_opening(&self, index: u32) -> bool {
        self.clients[index as usize].connection.is_opening()
    }

    /// The TCP connection stands; there may be more to do before it is open.
    fn connected(&mut self, index: u32, at_ns: u64) {
        let resumes = self.setup.tls.is_some() && self.next_resumes();
        let Self { clients, driver, scratch, setup, routes, .. } = self;
        let client = &mut clients[index as usize];
        let at_ns = client.moment(at_ns);
        client.resumes = resumes;
        let route = routes.get(client.route);
        let begun = client.connection.connected(driver, setup, route, resumes, scratch);
        if client.connection.state() != State::Tunnelling {
            self.reached(index, at_ns);
        }
        match begun {
            Ok(bytes) => self.observer.recorder_at(at_ns).sent_bytes += bytes as u64,
            Err(failure) => {
                self.lost(index, at_ns, &failure);
                return;
            }
        }
        if self.clients[index as usize].connection.state() == State::Open {
            self.ready(index, at_ns);
        }
    }

    /// A tunnel or TLS came about.
    #[cold]
    fn opened_further(&mut self, index: u32, at_ns: u64, after: &After) {
        if after.tunnelled {
            self.reached(index, at_ns);
        }
        if after.secured {
            self.secured(index, at_ns);
        }
        if after.greeted {
            self.greeted(index, at_ns);
        }
        if self.clients[index as usize].connection.state() == State::Open {
            self.ready(index, at_ns);
        }
    }

    /// The way to the server stands.
    fn reached(&mut self, index: u32, at_ns: u64) {
        let client = &mut self.clients[index as usize];
        client.reached_ns = at_ns;
        let recorder = self.observer.recorder_at(at_ns);
        let connect_ns = recorder.gap_ns(client.opening_ns, at_ns);
        recorder.phases[Phase::Connect].record(connect_ns);
    }

    fn secured(&mut self, index: u32, at_ns: u64) {
        let client = &mut self.clients[index as usize];
        client.secured_ns = at_ns;
        let Some(tls) = client.connection.tls() else {
            return;
        };
        if tls.is_resumed() {
            self.connections.tls_resumed += 1;
        } else {
            self.connections.tls_full += 1;
        }
        if self.connections.tls.is_none() {
            let version = tls.version().map_or("TLS", |version| version.name());
            let cipher = tls.cipher().unwrap_or_default();
            self.connections.tls = Some(format!("{version} {cipher}").trim_end().to_owned());
        }
        let recorder = self.observer.recorder_at(at_ns);
        let handshake_ns = recorder.gap_ns(client.reached_ns, at_ns);
        recorder.phases[Phase::Tls].record(handshake_ns);
    }

    /// The server has said what a client must know before its first request.
    fn greeted(&mut self, index: u32, at_ns: u64) {
        let client = &self.clients[index as usize];
        let since_ns = client.secured_ns.max(client.reached_ns);
        let recorder = self.observer.recorder_at(at_ns);
        let greeting_ns = recorder.gap_ns(since_ns, at_ns);
        recorder.phases[Phase::Greeting].record(greeting_ns);
    }

    /// A connection is open: requests can be sent.
    fn ready(&mut self, index: u32, at_ns: u64) {
        let client = &mut self.clients[index as usize];
        client.counted = true;
        self.reach.reached(index, at_ns);
        self.open_now += 1;
        self.connections.opened += 1;
        self.connections.open_max = self.connections.open_max.max(self.open_now);
        let again = std::mem::replace(&mut client.ever_opened, true);
        self.observer.recorder_at(at_ns).ledger.reconnects += u64::from(again);
        if let Some(lifetime_ns) = self.plan.connection_lifetime_ns {
            client.retire_ns = at_ns.saturating_add(lifetime_ns);
            self.deadlines.watch(index, client.retire_ns);
        }
        match client.pending.take() {
            Some(id) => {
                self.exchanges[id].moments.sent_ns = at_ns;
                self.send_any(index, id);
            }
            None => {
                self.opener.succeeded();
                self.freed(index, at_ns);
            }
        }
    }

    fn ended(&mut self, index: u32, at_ns: u64) {
        let client = &mut self.clients[index as usize];
        let at_ns = client.moment(at_ns);
        let mut reading = Reading {
            exchanges: &mut self.exchanges,
            observer: &mut self.observer,
            judge: &self.judge,
            user: &mut self.users[index as usize],
            released: &mut self.released,
            wants: self.wants,
            notes: self.notes.as_deref_mut(),
            script: told(&mut self.script),
            at_ns,
            after: After::default(),
        };
        let taken = client.connection.ended(|progress| reading.step(progress));
        let after = reading.after;
        self.released.clear();
        self.count(index, at_ns, &after);
        match taken {
            Err(failure) => self.lost(index, at_ns, &failure),
            Ok(()) => self.close(index, at_ns, Close::Graceful),
        }
    }

    fn failed(&mut self, index: u32, at_ns: u64, operation: Operation, error: OsError) {
        let at_ns = self.clients[index as usize].moment(at_ns);
        if operation == Operation::Connect || self.is_opening(index) {
            self.setup_failed(index, at_ns, kind(error), Outcome::Broken, || error.to_string());
        } else {
            self.broken(index, at_ns, kind(error), false, || error.to_string());
        }
    }

    /// A connection failed by what was received on it.
    fn lost(&mut self, index: u32, at_ns: u64, failure: &Failure) {
        let (kind, sample) = (failure.kind(), || failure.to_string());
        if self.is_opening(index) {
            self.setup_failed(index, at_ns, kind, Outcome::Broken, sample);
        } else {
            let is_wrong = !failure.is_close();
            self.broken(index, at_ns, kind, is_wrong, sample);
        }
    }

    /// A connection could not be opened.
    fn setup_failed(
        &mut self,
        index: u32,
        at_ns: u64,
        kind: &'static str,
        outcome: Outcome,
        sample: impl Fn() -> String,
    ) {
        let phase = self.phase(index);
        self.observer.recorder_at(at_ns).error(phase, kind, 1, &sample);
        if self.opening_error.is_none() {
            self.opening_error = Some(sample());
        }
        let client = &self.clients[index as usize];
        self.reach.failed(index, client.opening_ns, client.pending.is_some());
        if client.pending.is_none() {
            self.opener.failed();
        }
        self.abandon(index, at_ns, |_| outcome);
        self.close(index, at_ns, Close::Reset);
    }

    /// A connection cannot be used any further: its open requests are broken. A server may close an
    /// idle one, which harms no request; what `is_wrong` is an error even then.
    fn broken(
        &mut self,
        index: u32,
        at_ns: u64,
        kind: &'static str,
        is_wrong: bool,
        sample: impl FnOnce() -> String,
    ) {
        let phase = self.phase(index);
        let settled = self.abandon(index, at_ns, |_| Outcome::Broken);
        if settled > 0 || is_wrong {
            self.observer.recorder_at(at_ns).error(phase, kind, settled.max(1), sample);
        }
        self.close(index, at_ns, Close::Reset);
    }

    /// Where a connection stands: in its opening, or where its oldest exchange does.
    fn phase(&self, index: u32) -> Phase {
        let connection = &self.clients[index as usize].connection;
        match connection.state() {
            State::Connecting | State::Tunnelling => Phase::Connect,
            State::Handshaking => Phase::Tls,
            State::Greeting => Phase::Greeting,
            State::Closed | State::Open | State::Spent => {
                let oldest = connection.exchanges().next();
                oldest.map_or(Phase::Waiting, |id| self.exchanges[id].phase())
            }
        }
    }

    /// Looks at the connections and exchanges whose deadline has come, compared with the time up
    /// to which everything received has been taken: after a pause the clock is far ahead of that,
    /// and what came in time has yet to be told.
    pub(super) fn look_at_deadlines(&mut self) {
        let by_ns = self.driver.caught_up_ns();
        let now_ns = self.now_ns;
        let timeout_ns = self.plan.timeout_ns;
        while let Some(index) = self.deadlines.pop(by_ns) {
            let client = &self.clients[index as usize];
            if client.due_ns <= by_ns {
                self.due(index, now_ns);
            } else if client.timeout_at_ns(timeout_ns) <= by_ns {
                self.connect_timed_out(index, now_ns);
            } else if client.retire_ns <= by_ns {
                self.retire(index, now_ns);
            } else if self.users[index as usize].pause_until_ns <= by_ns {
                self.paused(index, now_ns);
            }
            let pause_until_ns = self.users[index as usize].pause_until_ns;
            let next_ns = self.clients[index as usize].look_at_ns(timeout_ns).min(pause_until_ns);
            if next_ns != u64::MAX {
                self.deadlines.watch(index, next_ns);
            }
        }
        while self.next_timeout_ns() <= by_ns {
            self.oldest_timed_out(by_ns, now_ns);
        }
    }

    /// When there is a deadline to look at; `u64::MAX` without one.
    #[inline]
    pub(super) fn next_deadline_ns(&self) -> u64 {
        self.deadlines.next_ns().min(self.next_timeout_ns())
    }

    /// When the oldest exchange times out; `u64::MAX` without one.
    #[inline]
    fn next_timeout_ns(&self) -> u64 {
        let started_ns = self.exchanges.oldest().map(|id| self.exchanges[id].moments.started_ns);
        started_ns.map_or(u64::MAX, |at_ns| at_ns.saturating_add(self.plan.timeout_ns))
    }

    /// The backoff is over, the FIN did not come, or `100 Continue` did not.
    fn due(&mut self, index: u32, now_ns: u64) {
        let client = &mut self.clients[index as usize];
        client.due_ns = u64::MAX;
        if client.connection.state() == State::Closed {
            self.come_back(index, now_ns);
        } else if client.fin_awaited_ns != u64::MAX {
            self.close(index, now_ns, Close::Graceful);
        } else {
            self.send_withheld(index, now_ns);
        }
    }

    fn connect_timed_out(&mut self, index: u32, now_ns: u64) {
        let timeout_ns = self.plan.timeout_ns;
        let sample = || nothing_within(timeout_ns);
        self.setup_failed(index, now_ns, TIMEOUT, Outcome::TimedOut, sample);
    }

    /// The exchange started first had not been answered by `by_ns`; it ends now, and its connection
    /// with it where the protocol can't cancel a single exchange.
    fn oldest_timed_out(&mut self, by_ns: u64, now_ns: u64) {
        let Some(id) = self.exchanges.oldest() else { return };
        let index = self.exchanges[id].client;
        if self.is_opening(index) {
            self.connect_timed_out(index, now_ns);
            return;
        }
        let phase = self.exchanges[id].phase();
        let Self { clients, driver, scratch, .. } = self;
        let cancelled = clients[index as usize].connection.cancel(driver, id, scratch);
        match cancelled {
            Some(bytes) => self.cancelled(id, phase, bytes, now_ns),
            None => self.closed_by_timeout(index, phase, by_ns, now_ns),
        }
    }

    /// One exchange timed out; the others of its connection go on.
    fn cancelled(&mut self, id: ExchangeId, phase: Phase, bytes: usize, now_ns: u64) {
        let exchange = self.exchanges.end(id);
        let client = &mut self.clients[exchange.client as usize];
        let now_ns = client.moment(now_ns);
        self.progress_ns = now_ns;
        let timeout_ns = self.plan.timeout_ns;
        let recorder = self.observer.recorder(exchange.measured);
        recorder.sent_bytes += bytes as u64;
        recorder.error(phase, TIMEOUT, 1, || nothing_within(timeout_ns));
        recorder.ended(&exchange.moments, now_ns, Outcome::TimedOut, exchange.place);
        self.answered(exchange.client, now_ns, &After::default());
    }

    /// The oldest exchange of a connection timed out, and the connection can't go on without it.
    fn closed_by_timeout(&mut self, index: u32, phase: Phase, by_ns: u64, now_ns: u64) {
        let timeout_ns = self.plan.timeout_ns;
        // Requests pipelined behind the late one have not waited that long: their connection broke.
        let is_late = |exchange: &Exchange| exchange.moments.started_ns + timeout_ns <= by_ns;
        let requests = self.clients[index as usize].connection.exchanges();
        let late = requests.filter(|id| is_late(&self.exchanges[*id])).count() as u64;
        let settled = self.abandon(index, now_ns, |exchange| {
            if is_late(exchange) { Outcome::TimedOut } else { Outcome::Broken }
        });
        let recorder = self.observer.recorder_at(now_ns);
        recorder.error(phase, TIMEOUT, late, || nothing_within(timeout_ns));
        if settled > late {
            let sample = || "pipelined behind a request that timed out".to_owned();
            recorder.error(Phase::Waiting, ABANDONED, settled - late, sample);
        }
        self.close(index, now_ns, Close::Reset);
    }
}

fn nothing_within(timeout_ns: u64) -> String {
    format!("nothing within {}", format_duration(timeout_ns))
}

/// The script, if it is to be told of responses.
#[inline]
fn told(script: &mut Option<Box<Scripted>>) -> Option<&mut Scripted> {
    script.as_deref_mut().filter(|script| script.wants().response)
}
