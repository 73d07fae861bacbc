//! The loop of one worker: a driver, its connections, and what each event does.
//!
//! The driver supplies the time, and functions take it as an argument, so the whole server runs
//! under the simulated kernel. A hello takes one event, one decode and one send of registered
//! bytes, without allocation, formatting or a clock. Hellos that arrive together leave together.
//!
//! Absent on purpose: idle timeouts. A load tester may hold connections open for as long as it
//! likes; their number and the memory of each are bounded.

mod channel;
mod multiplexed;
mod programs;
mod reply;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_io::{
    Close, Driver, DriverKind, Event, Operation, Payload, Received, SocketId, Waker,
};
use plimsoll_proto::http2;

use plimsoll_proto::websocket::Deflater;

use crate::answer::http1::{CONTINUE, HELLO_BATCH, PreparedAnswers, Rest};
use crate::answer::http2::Blocks;
use crate::connection::{Connection, Next, Spoken, State, Step};
use crate::faults::{Fate, Fates, Outcome};
use crate::http2::Http2;
use crate::options::{Counters, ServerOptions};
use crate::pool::Pool;
use crate::route::{Role, Route};
use crate::site::{Mailbox, Shaper};
use crate::timers::Timers;
use crate::wire::{Stream, Wire};
use multiplexed::Cause;
use programs::Tickets;

/// One worker's server. Give it a driver, let it listen, then call [`step`](Self::step) for as
/// long as it is to run.
#[derive(Debug)]
pub struct Server<D> {
    wire: Wire<D>,
    options: ServerOptions,
    prepared: PreparedAnswers,
    fates: Fates,
    /// By the listener's socket.
    roles: Vec<Role>,
    /// By socket; those of listeners stay free.
    connections: Vec<Connection>,
    open: u32,
    timers: Timers<SocketId>,
    pool: Pool,
    /// What HTTP/2 connections share, and those without a client.
    blocks: Blocks,
    http2_options: http2::ServerOptions,
    #[expect(clippy::vec_box, reason = "a connection holds the box, allocated once")]
    spare: Vec<Box<Http2>>,
    /// Scratch memory for answers.
    scratch: Vec<u8>,
    /// Compresses WebSockets' messages; made when a client wants that.
    deflater: Option<Box<Deflater>>,
    /// Scratch memory for decrypted bytes.
    decrypted: Vec<u8>,
    counters: Counters,
    /// Answers to requests with wishes, and those of the program.
    shaper: Shaper,
    mailbox: Arc<Mailbox>,
    tickets: Tickets,
    /// Whether hellos can go out as they are: there are no faults, and no stop is under way.
    plain: bool,
    /// When connections still open are closed; `None` until told to stop.
    deadline_ns: Option<u64>,
}

/// Received bytes, or bytes that were held or decrypted.
pub(crate) enum Input<'a> {
    Received(&'a Received),
    Held(&'a [u8]),
}

impl Input<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Received(received) => received.len(),
            Self::Held(bytes) => bytes.len(),
        }
    }

    pub(crate) fn bytes<'a, D: Driver>(&'a self, driver: &'a D) -> &'a [u8] {
        match self {
            Self::Received(received) => driver.bytes(received),
            Self::Held(bytes) => bytes,
        }
    }
}

impl<D: Driver> Server<D> {
    /// A server on `driver`, whose options reserve at least as many sockets as
    /// [`listen`](Self::listen) will be called. `worker` numbers the servers that share a seed,
    /// `start_ns` is when stalls are counted from, on the driver's clock.
    pub fn new(
        driver: D,
        options: ServerOptions,
        connections_max: u32,
        worker: usize,
        start_ns: u64,
    ) -> Self {
        let mut wire = Wire::new(driver, options.tls.clone());
        let prepared = PreparedAnswers::register(&mut wire);
        let fates = Fates::new(options.faults.clone(), worker, start_ns);
        let blocks = Blocks::new();
        let http2_options = http2_options(&options, &blocks);
        let shaper = Shaper::new(options.site.clone(), options.base_unix_ns, worker);
        let mailbox = Arc::new(Mailbox::new(wire.driver.waker()));
        Self {
            wire,
            prepared,
            plain: !fates.is_active(),
            fates,
            roles: Vec::new(),
            connections: Vec::new(),
            open: 0,
            timers: Timers::new(connections_max),
            pool: Pool::new(options.limits.echo_total_bytes),
            blocks,
            http2_options,
            spare: Vec::new(),
            scratch: Vec::new(),
            deflater: None,
            decrypted: Vec::new(),
            counters: Counters::default(),
            shaper,
            mailbox,
            tickets: Tickets::default(),
            deadline_ns: None,
            options,
        }
    }

    /// Serves `role` at an address. Returns the address, with the port that the system chose if it
    /// was 0.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn listen(&mut self, role: Role, at: SocketAddr) -> io::Result<SocketAddr> {
        let socket = SocketId(self.roles.len() as u32);
        let bound = self.wire.driver.listen(socket, at)?;
        self.roles.push(role);
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
        while let Some((at_ns, event)) = self.wire.driver.next() {
            // A send has the time at which the kernel had taken it, but what follows is done now.
            self.handle(at_ns.max(now_ns), event);
        }
        while let Some((due_ns, socket)) = self.timers.take_due(now_ns) {
            self.on_timer(now_ns, due_ns, socket);
        }
        if now_ns >= deadline_ns {
            self.close_all();
        }
        Ok(now_ns)
    }

    /// Stops accepting and closes what is idle; requests under way have until the drain time to
    /// finish.
    pub fn stop(&mut self, now_ns: u64) {
        if self.deadline_ns.is_some() {
            return;
        }
        self.deadline_ns = Some(now_ns.saturating_add(self.options.drain_ns));
        self.plain = false;
        for listener in 0..self.roles.len() {
            self.wire.driver.close(SocketId(listener as u32), Close::Graceful);
        }
        for index in 0..self.connections.len() {
            let socket = SocketId(index as u32);
            if self.connections[index].state == State::Open
                && self.connections[index].spoken == Spoken::Http2
            {
                self.turn(now_ns, socket, &Cause::Stop);
            } else if self.connections[index].is_idle()
                || self.connections[index].state == State::Lingering
            {
                self.say_going_away(socket);
                self.close_when_sent(socket);
            }
        }
    }

    /// Whether it was told to stop and every connection is closed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.deadline_ns.is_some() && self.open == 0
    }

    /// Its counts so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters { bytes_sent: self.wire.bytes_sent, ..self.counters }
    }

    /// Connections open now.
    #[must_use]
    pub fn connections_open(&self) -> u32 {
        self.open
    }

    /// Which driver it runs on.
    #[must_use]
    pub fn driver_kind(&self) -> DriverKind {
        self.wire.driver.kind()
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

    fn handle(&mut self, at_ns: u64, event: Event) {
        match event {
            Event::Received(received) => self.on_received(at_ns, received),
            Event::Sent(socket) => self.on_sent(at_ns, socket),
            Event::Accepted { listener, socket, peer } => self.on_accepted(listener, socket, peer),
            Event::Ended(socket) => self.on_ended(at_ns, socket),
            Event::Failed { operation: Operation::Accept, .. } => {
                self.counters.accept_failures += 1;
            }
            Event::Failed { socket, .. } => self.close(socket, Close::Reset),
            Event::Woken => self.take_replies(at_ns),
            Event::Connected(_) | Event::SentPart(_) => {}
        }
    }

    fn on_accepted(&mut self, listener: SocketId, socket: SocketId, peer: SocketAddr) {
        let http1 = self.options.limits.http1;
        while self.connections.len() <= socket.index() {
            self.connections.push(Connection::free(http1));
        }
        self.connections[socket.index()].open(self.roles[listener.index()], peer);
        self.open += 1;
        self.counters.connections += 1;
        if !self.wire.accept(socket) {
            self.close(socket, Close::Reset);
        }
    }

    #[inline]
    fn on_received(&mut self, now_ns: u64, received: Received) {
        self.counters.bytes_received += received.len() as u64;
        if self.wire.is_secure() {
            return self.on_sealed(now_ns, received);
        }
        self.take(now_ns, received.socket, &Input::Received(&received));
        self.wire.driver.release(received);
    }

    /// What arrived over TLS.
    fn on_sealed(&mut self, now_ns: u64, received: Received) {
        let socket = received.socket;
        if self.connections[socket.index()].state == State::Closing {
            return self.wire.driver.release(received);
        }
        let mut plain = std::mem::take(&mut self.decrypted);
        plain.clear();
        let stream = self.wire.decrypt(&received, &mut plain);
        self.wire.driver.release(received);
        if let Spoken::Unknown(0) = self.connections[socket.index()].spoken {
            match self.wire.has_chosen(socket, b"h2") {
                Some(true) => self.begin_http2(now_ns, socket),
                Some(false) => self.connections[socket.index()].spoken = Spoken::Http1,
                None => {}
            }
        }
        if !plain.is_empty() {
            self.take(now_ns, socket, &Input::Held(&plain));
        }
        self.decrypted = plain;
        match stream {
            _ if self.connections[socket.index()].state == State::Free => {}
            Stream::Open => {}
            Stream::Ended => self.on_ended(now_ns, socket),
            Stream::Failed => {
                self.counters.tls_failures += 1;
                self.close_when_sent(socket);
            }
        }
    }

    /// Reads what arrived, and holds what is not to be read yet.
    #[inline]
    fn take(&mut self, now_ns: u64, socket: SocketId, input: &Input<'_>) {
        let Connection { spoken, role, .. } = &self.connections[socket.index()];
        let (spoken, role) = (*spoken, *role);
        if role == Role::Bytes {
            return self.send_back(socket, input);
        }
        if let Spoken::Unknown(_) = spoken
            && self.find_out(now_ns, socket, input)
        {
            return;
        }
        if self.connections[socket.index()].spoken == Spoken::Http2 {
            return self.take_http2(now_ns, socket, input);
        }
        let mut at = 0;
        if self.connections[socket.index()].state == State::Open {
            at = self.read(now_ns, socket, input);
        }
        let connection = &self.connections[socket.index()];
        if at < input.len() && matches!(connection.state, State::Waiting(_) | State::Sending) {
            if self.has_channel(socket) {
                return self.hold_frames(socket, input, at);
            }
            self.hold(socket, input, at);
        }
    }

    /// Holds what is not to be read yet, from `at` on.
    fn hold(&mut self, socket: SocketId, input: &Input<'_>, at: usize) {
        let bytes = &input.bytes(&self.wire.driver)[at..];
        let connection = &mut self.connections[socket.index()];
        if !connection.hold(bytes, self.options.limits.held_bytes) {
            self.reset(socket);
        }
    }

    fn on_sent(&mut self, now_ns: u64, socket: SocketId) {
        let connection = &mut self.connections[socket.index()];
        let is_http2 = connection.spoken == Spoken::Http2 && connection.state == State::Open;
        let is_bytes = connection.role == Role::Bytes && connection.state == State::Open;
        let waits =
            is_http2 || is_bytes || matches!(connection.state, State::Sending | State::Closing);
        // The event may be that of an earlier send, with another one queued since.
        if !waits || self.wire.driver.queued_bytes(socket) > 0 {
            return;
        }
        if is_http2 {
            return self.on_http2_sent(now_ns, socket);
        }
        if is_bytes {
            return self.receive_again(socket);
        }
        if connection.state == State::Closing {
            return self.close(socket, Close::Graceful);
        }
        connection.state = State::Open;
        if connection.rest != Rest::Nothing {
            let due_ns = self.fates.stalled_until_ns(now_ns);
            self.perform_at(now_ns, socket, due_ns, Next::Send);
        }
        self.resume(now_ns, socket);
    }

    fn on_ended(&mut self, now_ns: u64, socket: SocketId) {
        let connection = &mut self.connections[socket.index()];
        connection.ended = true;
        if connection.http2.is_some() && connection.state == State::Open {
            return self.turn(now_ns, socket, &Cause::Due);
        }
        match connection.state {
            State::Open | State::Lingering => self.close_when_sent(socket),
            State::Waiting(Next::Handled) => self.tickets.leave(connection.ticket),
            _ => {}
        }
    }

    fn on_timer(&mut self, now_ns: u64, due_ns: u64, socket: SocketId) {
        let connection = &mut self.connections[socket.index()];
        if connection.timer_ns != due_ns {
            return;
        }
        connection.timer_ns = u64::MAX;
        match connection.state {
            State::Waiting(next) => {
                connection.state = State::Open;
                self.perform(now_ns, socket, next);
                self.resume(now_ns, socket);
            }
            State::Lingering => self.close(socket, Close::Graceful),
            State::Open if connection.spoken == Spoken::Http2 => {
                self.turn(now_ns, socket, &Cause::Due);
            }
            State::Open | State::Sending => self.on_channel_timer(now_ns, socket),
            State::Free | State::Closing => {}
        }
    }

    /// Reads requests and answers them until the input is used up or one is not to be answered at
    /// once. Returns how much was used up.
    #[inline]
    fn read(&mut self, now_ns: u64, socket: SocketId, input: &Input<'_>) -> usize {
        if self.has_channel(socket) {
            return self.read_frames(now_ns, socket, input, 0);
        }
        let echo_bytes_max = self.options.limits.echo_bytes;
        let mut at = 0;
        let mut hellos = 0;
        while at < input.len() {
            let bytes = input.bytes(&self.wire.driver);
            let connection = &mut self.connections[socket.index()];
            let site = &self.shaper.options;
            let (used, step) =
                connection.step(&bytes[at..], self.plain, echo_bytes_max, site, &mut self.pool);
            at += used;
            if step == Step::Hello {
                hellos += 1;
                continue;
            }
            self.send_hellos(socket, std::mem::take(&mut hellos));
            self.take_step(now_ns, socket, step);
            if self.connections[socket.index()].state != State::Open {
                return at;
            }
            if self.has_channel(socket) {
                return self.read_frames(now_ns, socket, input, at);
            }
        }
        self.send_hellos(socket, hellos);
        if self.wire.driver.queued_bytes(socket) > self.options.limits.queued_bytes {
            self.connections[socket.index()].state = State::Sending;
        }
        at
    }

    #[inline]
    fn send_hellos(&mut self, socket: SocketId, mut count: u32) {
        self.counters.requests += u64::from(count);
        self.counters.responses[1] += u64::from(count);
        while count > 0 {
            let batch = count.min(HELLO_BATCH);
            self.wire.send(socket, self.prepared.hellos(batch));
            count -= batch;
        }
    }

    /// Reads on in what was held, once the connection is open again.
    fn resume(&mut self, now_ns: u64, socket: SocketId) {
        let connection = &mut self.connections[socket.index()];
        if connection.state != State::Open {
            return;
        }
        let (held, from) = connection.take_held();
        if connection.spoken == Spoken::Http2 {
            return self.take_http2(now_ns, socket, &Input::Held(&held[from..]));
        }
        let at = from + self.read(now_ns, socket, &Input::Held(&held[from..]));
        let connection = &mut self.connections[socket.index()];
        match connection.state {
            State::Waiting(_) | State::Sending if at < held.len() => connection.put_held(held, at),
            State::Open if connection.ended => self.close_when_sent(socket),
            State::Open => self.receive_again(socket),
            _ => {}
        }
    }

    fn take_step(&mut self, now_ns: u64, socket: SocketId, step: Step) {
        match step {
            Step::More | Step::Hello => {}
            Step::Answer => self.answer(now_ns, socket),
            Step::Continue => {
                self.perform_at(
                    now_ns,
                    socket,
                    self.fates.stalled_until_ns(now_ns),
                    Next::Continue,
                );
            }
            Step::Refuse(refusal) => {
                self.counters.refused += 1;
                let due_ns = self.fates.stalled_until_ns(now_ns);
                self.perform_at(now_ns, socket, due_ns, Next::Refuse(refusal));
            }
        }
    }

    /// Answers the request just read: now, or when its route and the faults say.
    fn answer(&mut self, now_ns: u64, socket: SocketId) {
        self.counters.requests += 1;
        let delay_ns = match self.connections[socket.index()].request.route {
            Route::Delay(delay_ns) => delay_ns,
            Route::Queue(service_ns) => {
                self.options.queue.enter(now_ns, service_ns).saturating_sub(now_ns)
            }
            Route::Site => match self.shape(socket) {
                Ok(delay_ns) => delay_ns,
                Err(refusal) => return self.refuse(now_ns, socket, refusal),
            },
            Route::Handled => return self.hand_over(socket),
            _ => 0,
        };
        let ready_ns = now_ns.saturating_add(delay_ns);
        let fate = if self.fates.is_active() {
            self.fates.draw(ready_ns)
        } else {
            Fate { due_ns: ready_ns, outcome: Outcome::Answer }
        };
        self.perform_at(now_ns, socket, fate.due_ns, Next::Answer(fate.outcome));
    }

    fn perform_at(&mut self, now_ns: u64, socket: SocketId, due_ns: u64, next: Next) {
        if due_ns <= now_ns {
            return self.perform(now_ns, socket, next);
        }
        self.connections[socket.index()].state = State::Waiting(next);
        self.set_timer(socket, due_ns);
    }

    fn set_timer(&mut self, socket: SocketId, due_ns: u64) {
        self.connections[socket.index()].timer_ns = due_ns;
        let connections = &self.connections;
        self.timers
            .set(due_ns, socket, |due_ns, socket| connections[socket.index()].timer_ns == due_ns);
    }

    fn perform(&mut self, now_ns: u64, socket: SocketId, next: Next) {
        match next {
            Next::Answer(Outcome::Reset) => self.reset(socket),
            Next::Answer(Outcome::Error(status)) => self.reply(now_ns, socket, Some(status)),
            Next::Handled => {}
            Next::Answer(Outcome::Answer)
                if self.connections[socket.index()].request.route == Route::WebSocket =>
            {
                self.open_channel(now_ns, socket);
            }
            Next::Answer(Outcome::Answer) => self.reply(now_ns, socket, None),
            Next::Fragment => self.answer_or_push(now_ns, socket),
            Next::Continue => {
                self.counters.responses[0] += 1;
                self.wire.send(socket, Payload::Copied(CONTINUE));
            }
            Next::Refuse(refusal) => self.refuse(now_ns, socket, refusal),
            Next::Send => self.send_rest(socket),
            Next::Greet => self.greet(now_ns, socket),
        }
    }

    fn close_when_sent(&mut self, socket: SocketId) {
        self.wire.say_closed(socket);
        if self.wire.driver.queued_bytes(socket) == 0 {
            return self.close(socket, Close::Graceful);
        }
        self.connections[socket.index()].state = State::Closing;
    }

    fn reset(&mut self, socket: SocketId) {
        self.counters.resets += 1;
        self.close(socket, Close::Reset);
    }

    fn close(&mut self, socket: SocketId, how: Close) {
        self.wire.driver.close(socket, how);
        self.wire.forget(socket);
        if let Some(http2) = self.connections[socket.index()].http2.take() {
            self.keep_http2(http2);
        }
        let connection = &mut self.connections[socket.index()];
        if connection.ticket != 0 {
            self.tickets.leave(connection.ticket);
        }
        connection.clear(&mut self.pool);
        self.open -= 1;
    }

    fn close_all(&mut self) {
        for index in 0..self.connections.len() {
            if self.connections[index].state != State::Free {
                self.close(SocketId(index as u32), Close::Graceful);
            }
        }
    }
}

/// What HTTP/2 connections announce and take, faults included.
fn http2_options(options: &ServerOptions, blocks: &Blocks) -> http2::ServerOptions {
    let (faults, mut http2) = (&options.faults.http2, options.limits.http2);
    http2.shared_fields = blocks.shared_fields;
    http2.streams = faults.streams.unwrap_or(http2.streams);
    http2.receiving.window_bytes = faults.window_bytes.unwrap_or(http2.receiving.window_bytes);
    http2
}
