//! The driver over a readiness API (mio: epoll, or kqueue): completions, emulated.
//!
//! Sockets are registered once, edge-triggered, for both directions, so a request costs one `send`,
//! one `recv` and its share of one poll. `send` writes at once and queues only what the kernel
//! refuses. A poll merely marks sockets as ready; `next` then serves them round robin, one receive
//! or one accept at a time, and reads the clock for each, so that an event carries the time it was
//! really seen. A write carries the time at which the kernel had taken the bytes (see `taken`).
//!
//! A receive that does not fill its buffer has drained a stream (epoll(7), "edge-triggered"), so
//! the `recv` that would return `EAGAIN` is left out, unless the poll said that the stream ends.
//!
//! Absent on purpose: interest changes (no `epoll_ctl` after registration) and any allocation for a
//! request; only a send that the kernel cannot take in full may allocate.

mod parts;
mod queue;
mod serve;
mod slot;
mod timer;

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use mio::net::TcpListener;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll};

use crate::caught_up::CaughtUp;
use crate::clock;
use crate::driver::{
    Close, Driver, DriverKind, DriverOptions, Event, Operation, OsError, Payload, PayloadId,
    Received, SocketId, Spin, Standstill, Waker,
};
use crate::route::{Address, Route};
use crate::socket::{self, Waits};
use crate::spin::Spinning;
use crate::stamps::Stamps;
use crate::standstill::{SLICE_NS, Watch};
use crate::taken::taken_ns;
use crate::tcp_info::{self, TcpInfo};
use parts::{Agenda, Buffers, Clock, Kernel, MioWaker, Pending, PendingKind, Rest};
use queue::Registered;
use slot::{Handle, Slot};
use timer::Timer;

/// Receive buffers: how many [`Received`] can be out at once.
const RECEIVE_BUFFERS: u32 = 8;
/// Readiness events taken from the kernel in one poll.
const POLL_EVENTS: usize = 1024;
/// How often each ready socket is served before the kernel is asked again.
const ROUNDS_PER_TURN: usize = 16;
/// How long a listener rests after `accept` failed for want of descriptors or memory.
const ACCEPT_REST_NS: u64 = 10_000_000;

const WAKER: mio::Token = mio::Token(usize::MAX);
const TIMER: mio::Token = mio::Token(usize::MAX - 1);

/// [`Driver`] over epoll or kqueue, through mio.
#[derive(Debug)]
pub struct EpollDriver {
    options: DriverOptions,
    clock: Clock,
    kernel: Kernel,
    timer: Timer,
    slots: Box<[Slot]>,
    /// Free numbers for accepted connections.
    spare: Vec<SocketId>,
    agenda: Agenda,
    rest: Rest,
    buffers: Buffers,
    registered: Registered,
    /// Only with [`DriverOptions::receive_timestamps`].
    stamps: Option<Stamps>,
    spinning: Spinning,
    caught_up: CaughtUp,
    /// What that said before the last poll.
    caught_up_before_ns: u64,
    /// Only once it is asked for.
    watch: Option<Watch>,
}

impl EpollDriver {
    /// Opens a driver of this size.
    ///
    /// # Errors
    /// When the kernel gives no epoll instance, event or timer descriptor.
    pub fn new(options: &DriverOptions) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(MioWaker(mio::Waker::new(poll.registry(), WAKER)?));
        let timer = Timer::new(poll.registry(), TIMER)?;
        let buffer_bytes = options.receive_buffer_bytes.max(1) as usize;
        let sockets = options.sockets as usize;
        let mut clock = Clock { read_ns: 0 };
        let caught_up = CaughtUp::new(clock.now_ns(), options.sockets, POLL_EVENTS as u32);
        Ok(Self {
            clock,
            kernel: Kernel {
                poll,
                events: Events::with_capacity(POLL_EVENTS),
                waker,
                woken: false,
            },
            timer,
            slots: (0..options.sockets).map(|_| Slot::free()).collect(),
            spare: (options.reserved..options.sockets).rev().map(SocketId).collect(),
            agenda: Agenda {
                ready: VecDeque::with_capacity(sockets),
                turn_left: 0,
                pending: VecDeque::with_capacity(sockets + 1),
                poll_skipped: false,
            },
            rest: Rest { listeners: Vec::new(), until_ns: u64::MAX },
            buffers: Buffers {
                bytes: vec![0; buffer_bytes * RECEIVE_BUFFERS as usize].into_boxed_slice(),
                free: (0..RECEIVE_BUFFERS).collect(),
            },
            registered: Vec::new(),
            stamps: if options.receive_timestamps { Some(Stamps::new()?) } else { None },
            spinning: Spinning::new(options.spin),
            caught_up,
            caught_up_before_ns: 0,
            watch: None,
            options: options.clone(),
        })
    }

    fn buffer_bytes(&self) -> usize {
        self.buffers.bytes.len() / RECEIVE_BUFFERS as usize
    }

    fn push_pending(&mut self, at_ns: u64, id: SocketId, what: PendingKind) {
        let generation = self.slots[id.index()].generation;
        self.agenda.pending.push_back(Pending { at_ns, id, generation, what });
    }

    /// Puts a slot on the ready ring if it is not there.
    fn list(&mut self, id: SocketId) {
        let slot = &mut self.slots[id.index()];
        if !slot.listed {
            slot.listed = true;
            self.agenda.ready.push_back(id);
        }
    }

    /// Polls once, from `now_ns` on, and marks what is ready.
    fn collect(&mut self, now_ns: u64, timeout: Option<Duration>) -> io::Result<()> {
        match self.kernel.poll.poll(&mut self.kernel.events, timeout) {
            // Whatever came meanwhile, as to a process that was stopped, has not been looked at.
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            result => result?,
        }
        let mut events = 0;
        for event in &self.kernel.events {
            events += 1;
            let token = event.token();
            if token == WAKER {
                self.kernel.woken = true;
                continue;
            }
            if token == TIMER {
                self.timer.fired();
                continue;
            }
            let (id, generation) = unpack(token);
            let slot = &mut self.slots[id.index()];
            if slot.generation != generation {
                continue;
            }
            let closed = event.is_read_closed() || event.is_error();
            let waits_to_write = slot.connecting || !slot.queue.is_empty();
            slot.to_end |= closed;
            slot.readable |= (event.is_readable() || closed) && !slot.ended;
            slot.writable |= (event.is_writable() || closed) && waits_to_write;
            if slot.has_work() && !slot.listed {
                slot.listed = true;
                self.agenda.ready.push_back(id);
            }
        }
        self.caught_up_before_ns = self.caught_up.at_ns();
        self.caught_up.looked(now_ns, events < POLL_EVENTS);
        Ok(())
    }

    /// How long the next poll may sleep. Arms the timer where a timeout in ms would be too coarse.
    fn timeout(&mut self, now_ns: u64, sleep_until_ns: u64) -> io::Result<Option<Duration>> {
        if !self.agenda.ready.is_empty()
            || !self.agenda.pending.is_empty()
            || now_ns >= sleep_until_ns
        {
            return Ok(Some(Duration::ZERO));
        }
        if self.watch.is_some() && sleep_until_ns - now_ns >= 2 * SLICE_NS {
            return Ok(Some(Duration::from_nanos(SLICE_NS)));
        }
        if sleep_until_ns == u64::MAX {
            return Ok(None);
        }
        self.timer.timeout(now_ns, sleep_until_ns)
    }

    /// Lets resting listeners try again once their time has come.
    fn wake_listeners(&mut self, now_ns: u64) {
        if now_ns < self.rest.until_ns {
            return;
        }
        self.rest.until_ns = u64::MAX;
        for id in std::mem::take(&mut self.rest.listeners) {
            let slot = &mut self.slots[id.index()];
            if matches!(slot.handle, Handle::Listener(_)) {
                slot.readable = true;
                self.list(id);
            }
        }
    }

    /// Whether an event that was noted is no longer true, or of an old use of its number.
    fn is_stale(&self, pending: &Pending) -> bool {
        let slot = &self.slots[pending.id.index()];
        match pending.what {
            PendingKind::Woken => false,
            PendingKind::ConnectFailed(_) => slot.generation != pending.generation,
            // More may have been queued since; its own completion follows.
            PendingKind::Sent => {
                slot.generation != pending.generation
                    || !slot.sent_pending
                    || !slot.queue.is_empty()
            }
        }
    }

    /// Drops what would end a wait for nothing: events and readiness of sockets closed since.
    fn prune(&mut self) {
        while self.agenda.pending.front().is_some_and(|pending| self.is_stale(pending)) {
            self.take_pending();
        }
        while let Some(&id) = self.agenda.ready.front()
            && !self.slots[id.index()].has_work()
        {
            self.slots[id.index()].listed = false;
            self.agenda.ready.pop_front();
        }
    }

    fn take_pending(&mut self) -> Option<(u64, Event)> {
        while let Some(pending) = self.agenda.pending.pop_front() {
            let stale = self.is_stale(&pending);
            let Pending { at_ns, id, generation, what } = pending;
            let slot = &mut self.slots[id.index()];
            if matches!(what, PendingKind::Sent) && slot.generation == generation {
                slot.sent_pending = false;
            }
            if stale {
                continue;
            }
            let event = match what {
                // More may have been taken since it was noted.
                PendingKind::Sent => return Some((slot.taken_ns, Event::Sent(id))),
                PendingKind::ConnectFailed(error) => failed(id, Operation::Connect, error),
                PendingKind::Woken => Event::Woken,
            };
            return Some((at_ns, event));
        }
        None
    }

    /// Registers a stream under a free number.
    fn adopt(&mut self, id: SocketId, stream: OwnedFd) -> io::Result<()> {
        let slot = &mut self.slots[id.index()];
        debug_assert!(matches!(slot.handle, Handle::Free), "socket {} is in use", id.0);
        let interest = Interest::READABLE | Interest::WRITABLE;
        let token = pack(id, slot.generation);
        self.kernel.poll.registry().register(
            &mut SourceFd(&stream.as_raw_fd()),
            token,
            interest,
        )?;
        slot.handle = Handle::Stream(stream);
        Ok(())
    }

    /// Ends what a number can report. Its socket stays, to be asked about, until it is closed.
    fn fail(&mut self, id: SocketId, operation: Operation, error: OsError) -> (u64, Event) {
        let slot = &mut self.slots[id.index()];
        if let Handle::Stream(stream) = slot.vacate(Handle::Failed(None)) {
            // It fails only on what is not registered.
            let _ = self.kernel.poll.registry().deregister(&mut SourceFd(&stream.as_raw_fd()));
            slot.handle = Handle::Failed(Some(stream));
        }
        (self.clock.now_ns(), failed(id, operation, error))
    }

    /// Looks whether the thread stood still, if it is time to.
    #[inline]
    fn look(&mut self, now_ns: u64) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.is_due(now_ns)) {
            watch.look(now_ns, clock::thread_cpu_ns());
        }
    }

    /// Ends a `wait` at `now_ns`.
    fn begin_turn(&mut self, now_ns: u64) -> u64 {
        self.look(now_ns);
        self.agenda.turn_left = self.agenda.ready.len() * ROUNDS_PER_TURN;
        if let Some(stamps) = &mut self.stamps {
            stamps.measure();
        }
        now_ns
    }
}

impl Driver for EpollDriver {
    fn kind(&self) -> DriverKind {
        DriverKind::Epoll
    }

    fn clock_ns(&mut self) -> u64 {
        self.clock.now_ns()
    }

    fn register(&mut self, bytes: Arc<[u8]>) -> PayloadId {
        self.registered.push(bytes);
        PayloadId(self.registered.len() as u32 - 1)
    }

    fn connect(&mut self, id: SocketId, route: &Route) {
        match start_connect(route, &self.options).and_then(|stream| self.adopt(id, stream)) {
            Ok(()) => {
                let slot = &mut self.slots[id.index()];
                slot.connecting = true;
                slot.takes_datagrams = matches!(route.to, Address::Udp(_));
            }
            Err(error) => {
                self.slots[id.index()].handle = Handle::Failed(None);
                let failed = PendingKind::ConnectFailed(os_error(&error));
                let at_ns = self.clock.now_ns();
                self.push_pending(at_ns, id, failed);
            }
        }
    }

    fn listen(&mut self, id: SocketId, at: SocketAddr) -> io::Result<SocketAddr> {
        let (listener, bound) = socket::for_listening(at, &self.options, Waits::No)?;
        let mut listener = TcpListener::from_std(listener.into());
        let slot = &mut self.slots[id.index()];
        debug_assert!(matches!(slot.handle, Handle::Free), "socket {} is in use", id.0);
        let key = pack(id, slot.generation);
        self.kernel.poll.registry().register(&mut listener, key, Interest::READABLE)?;
        slot.handle = Handle::Listener(listener);
        Ok(bound)
    }

    fn send(&mut self, id: SocketId, payload: Payload<'_>) {
        let slot = &mut self.slots[id.index()];
        let Handle::Stream(stream) = &mut slot.handle else { return };
        if slot.send_error.is_some() || slot.finishing {
            return;
        }
        let mut taken = 0;
        if !slot.connecting && slot.queue.is_empty() {
            let began_ns = self.clock.now_ns();
            match queue::write(stream, queue::bytes_of(&payload, &self.registered)) {
                Ok(len) => taken = len,
                Err(error) => {
                    slot.send_failed(&error);
                    self.list(id);
                    return;
                }
            }
            if taken == payload.len() {
                let returned_ns = self.clock.now_ns();
                slot.taken_ns = taken_ns(began_ns, returned_ns, taken);
                if !slot.sent_pending {
                    slot.sent_pending = true;
                    self.push_pending(returned_ns, id, PendingKind::Sent);
                }
                return;
            }
        }
        slot.queue.push(payload, taken);
    }

    fn queued_bytes(&self, id: SocketId) -> usize {
        self.slots[id.index()].queue.len()
    }

    fn shutdown(&mut self, id: SocketId) {
        let slot = &mut self.slots[id.index()];
        if !slot.connecting && slot.send_error.is_none() {
            slot.finishing = true;
            slot.finish_if_sent();
        }
    }

    fn pause_receiving(&mut self, id: SocketId) {
        let slot = &mut self.slots[id.index()];
        slot.paused = matches!(slot.handle, Handle::Stream(_));
    }

    fn resume_receiving(&mut self, id: SocketId) {
        let slot = &mut self.slots[id.index()];
        slot.paused = false;
        if slot.has_work() {
            self.list(id);
        }
    }

    fn tcp_info(&self, id: SocketId) -> Option<TcpInfo> {
        tcp_info::read(self.slots[id.index()].stream()?.as_fd())
    }

    fn local_address(&self, id: SocketId) -> Option<SocketAddr> {
        let slot = &self.slots[id.index()];
        match &slot.handle {
            Handle::Listener(listener) => listener.local_addr().ok(),
            _ => slot.stream().and_then(socket::local_address),
        }
    }

    fn close(&mut self, id: SocketId, how: Close) {
        let slot = &mut self.slots[id.index()];
        let handle = slot.vacate(Handle::Free);
        slot.generation = slot.generation.wrapping_add(1);
        if id.0 >= self.options.reserved && !matches!(handle, Handle::Free) {
            self.spare.push(id);
        }
        if let (Handle::Stream(stream), Close::Reset) = (handle, how) {
            socket::reset_on_close(&stream);
        }
    }

    fn wait(&mut self, until_ns: u64) -> io::Result<u64> {
        self.prune();
        // Pending completions need no poll, but the poll may not be put off for ever.
        self.agenda.poll_skipped = !self.agenda.pending.is_empty() && !self.agenda.poll_skipped;
        if self.agenda.poll_skipped {
            // The clock was read when they were sent: again would be 1 % of a short request.
            return Ok(self.begin_turn(self.clock.read_ns));
        }
        let mut now_ns = self.clock.now_ns();
        let start_ns = now_ns;
        loop {
            let wake_ns = until_ns.min(self.rest.until_ns);
            let (poll_until_ns, sleep_until_ns) = self.spinning.split(start_ns, wake_ns);
            let polling = now_ns < poll_until_ns || (sleep_until_ns..wake_ns).contains(&now_ns);
            let timeout = self.timeout(now_ns, if polling { now_ns } else { sleep_until_ns })?;
            let slept = timeout != Some(Duration::ZERO);
            self.collect(now_ns, timeout)?;
            let before_ns = std::mem::replace(&mut now_ns, self.clock.now_ns());
            if slept && let Some(watch) = &mut self.watch {
                let slice_ns = timeout.map(|slice| before_ns + slice.as_nanos() as u64);
                watch.slept(before_ns, slice_ns.unwrap_or(sleep_until_ns), now_ns);
            }
            self.wake_listeners(now_ns);
            if std::mem::take(&mut self.kernel.woken) {
                let what = PendingKind::Woken;
                self.agenda.pending.push_back(Pending {
                    at_ns: now_ns,
                    id: SocketId(0),
                    generation: 0,
                    what,
                });
            }
            let has_events = !self.agenda.ready.is_empty() || !self.agenda.pending.is_empty();
            if polling {
                self.spinning.looked(before_ns, now_ns);
            } else if slept && !has_events && now_ns >= sleep_until_ns {
                self.spinning.slept(sleep_until_ns, now_ns);
            }
            if has_events || now_ns >= until_ns {
                return Ok(self.begin_turn(now_ns));
            }
            self.look(now_ns);
        }
    }

    fn set_spin(&mut self, spin: Spin) {
        self.spinning.set(spin);
    }

    fn spun_ns(&self) -> u64 {
        self.spinning.spun_ns()
    }

    fn caught_up_ns(&self) -> u64 {
        // What is left to serve has been served before, so nothing in it is older than one poll.
        if self.agenda.ready.is_empty() { self.caught_up.at_ns() } else { self.caught_up_before_ns }
    }

    fn watch_standstills(&mut self) {
        self.watch = Some(Watch::new(self.clock.now_ns(), clock::thread_cpu_ns()));
    }

    fn take_standstill(&mut self) -> Option<Standstill> {
        self.watch.as_mut().and_then(Watch::take)
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        if !self.agenda.pending.is_empty()
            && let Some(event) = self.take_pending()
        {
            return Some(event);
        }
        while self.agenda.turn_left > 0 {
            let id = self.agenda.ready.pop_front()?;
            self.agenda.turn_left -= 1;
            let event = self.serve(id);
            let slot = &mut self.slots[id.index()];
            slot.listed = slot.has_work();
            if slot.listed {
                self.agenda.ready.push_back(id);
            }
            if event.is_some() {
                return event;
            }
        }
        None
    }

    fn bytes(&self, received: &Received) -> &[u8] {
        let start = received.buffer as usize * self.buffer_bytes();
        &self.buffers.bytes[start..start + received.len as usize]
    }

    fn release(&mut self, received: Received) {
        self.buffers.free.push(received.buffer);
    }

    fn waker(&self) -> Waker {
        self.kernel.waker.clone()
    }
}

/// Starts to connect.
fn start_connect(route: &Route, options: &DriverOptions) -> io::Result<OwnedFd> {
    let to = socket::raw_address(&route.to)?;
    let socket = socket::for_connecting(route, options, Waits::No)?;
    match socket.connect(&to) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// A slot and the use of it, as the poll's key.
fn pack(id: SocketId, generation: u32) -> mio::Token {
    mio::Token((generation as usize) << 32 | id.index())
}

fn unpack(token: mio::Token) -> (SocketId, u32) {
    (SocketId(token.0 as u32), (token.0 >> 32) as u32)
}

fn failed(id: SocketId, operation: Operation, error: OsError) -> Event {
    Event::Failed { socket: id, operation, error }
}

fn os_error(error: &io::Error) -> OsError {
    OsError(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Runs a system call again for as long as a signal interrupts it.
fn retrying<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
