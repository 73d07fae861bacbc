//! The driver on io_uring (Linux 6.1 or later).
//!
//! Each connection has one multishot receive, all of them into one ring of provided buffers, and
//! at most one send outstanding. Completions name the number and its generation, so what belongs to
//! an earlier use of a number is dropped (and its buffer or descriptor given back). Operations are
//! batched: a loop that keeps up makes one system call for all that is due.
//!
//! Memory the kernel reads or writes (receive buffers, bytes being sent, addresses) outlives the
//! operation: a send cut off by a close leaves its bytes with the orphans until it completes, and
//! the ring is emptied and closed before anything is freed.
//!
//! Absent on purpose: a kernel thread that polls the queue (it burns a core that the run should
//! measure), zero-copy sends (slower than a copy for requests' sizes), and reading clocks per
//! event: a batch of completions carries the time of the wait that brought it. Sends that the
//! kernel took at once carry an earlier one, because the call that submits them may come back late
//! (see `taken`).

mod addresses;
mod buffers;
mod complete;
mod operate;
mod outbox;
mod parts;
mod ring;
mod slot;
mod stamping;
mod tag;
#[cfg(test)]
mod tests;
mod waker;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use io_uring::{opcode, squeue};

use crate::caught_up::CaughtUp;
use crate::clock::{now_ns, thread_cpu_ns};
use crate::driver::{
    Close, Driver, DriverKind, DriverOptions, Event, Operation, OsError, Payload, PayloadId,
    Received, SocketId, Spin, Standstill, Waker,
};
use crate::route::Route;
use crate::socket::{self, Waits};
use crate::spin::Spinning;
use crate::standstill::Watch;
use crate::tcp_info::{self, TcpInfo};

use self::addresses::Addresses;
use self::buffers::Buffers;
use self::outbox::Spare;
use self::parts::{Incoming, Outgoing, Rest, Turn};
use self::ring::{Ring, explain};
use self::slot::{Phase, Socket};
use self::stamping::{HEADER_BYTES, Stamping};
use self::tag::{Op, Tag};
use self::waker::EventWaker;

/// How long a listener rests that ran into a limit (descriptors, memory), ns.
const ACCEPT_REST_NS: u64 = 10_000_000;
/// Completions that the kernel makes in one enter, if that many are due: newer ones (Linux 6.14)
/// leave the rest for the next.
const COMPLETED_AT_LEAST: u32 = 16;

/// An event that no completion stands for, and the use of the number it belongs to.
struct Ready {
    id: SocketId,
    generation: u32,
    event: Event,
}

/// The bytes of a send that was cut off by a close, until the kernel lets go of them.
struct Orphan {
    tag: Tag,
    _bytes: Vec<u8>,
}

/// A [`Driver`] on io_uring. It belongs to the thread that made it.
pub struct UringDriver {
    // Dropped first: nothing below may be freed while the ring is open.
    ring: Ring,
    incoming: Incoming,
    outgoing: Outgoing,
    sockets: Box<[Socket]>,
    orphans: Vec<Orphan>,
    addresses: Addresses,
    waker: Arc<EventWaker>,
    ready: VecDeque<Ready>,
    /// Tokens for accepted connections, the next one last.
    free: Vec<SocketId>,
    /// Connections whose receive ended because no buffer was free.
    starved: Vec<Tag>,
    rest: Rest,
    turn: Turn,
    /// Whether sockets are registered as files.
    register_files: bool,
    options: DriverOptions,
}

impl UringDriver {
    /// Sets up a ring for `options` and proves it: bytes go through a socket pair into a provided
    /// buffer, and a wait with a deadline ends.
    ///
    /// # Errors
    /// When the kernel does not offer what the driver needs. The text says what was refused and
    /// where to look.
    pub fn new(options: &DriverOptions) -> io::Result<Self> {
        let ring = Ring::new(options.sockets)?;
        let count = options.receivers.clamp(64, 1024).next_power_of_two();
        let stamping = if options.receive_timestamps { Some(Stamping::new()?) } else { None };
        let header_bytes = if stamping.is_some() { HEADER_BYTES } else { 0 };
        let buffers = Buffers::new(&ring, count, header_bytes, options.receive_buffer_bytes)?;
        let reserved = options.reserved.min(options.sockets);
        let register_files =
            options.long_lived && ring.submitter().register_files_sparse(options.sockets).is_ok();
        let mut driver = Self {
            ring,
            incoming: Incoming { buffers, stamping },
            outgoing: Outgoing { spare: Spare::default(), registered: Vec::new() },
            sockets: (0..options.sockets).map(|_| Socket::new()).collect(),
            orphans: Vec::new(),
            addresses: Addresses::default(),
            waker: Arc::new(EventWaker::new()?),
            ready: VecDeque::new(),
            free: (reserved..options.sockets).rev().map(SocketId).collect(),
            starved: Vec::new(),
            rest: Rest { listeners: Vec::new(), until_ns: u64::MAX },
            turn: Turn {
                left: 0,
                now_ns: now_ns(),
                taken_ns: 0,
                spinning: Spinning::new(options.spin),
                caught_up: CaughtUp::new(now_ns(), options.sockets, COMPLETED_AT_LEAST),
                watch: None,
            },
            register_files,
            options: options.clone(),
        };
        driver.prove().map_err(|error| explain("io_uring self-test", &error))?;
        driver.arm_waker();
        Ok(driver)
    }

    /// Receives a byte, then the end, through everything a connection uses.
    fn prove(&mut self) -> io::Result<()> {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
        let (near, far) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::io::write(&far, b"x")?;
        drop(far);
        self.push_receive(near.as_raw_fd(), squeue::Flags::empty(), 0, Tag::UNWATCHED);
        let deadline_ns = now_ns() + 100_000_000;
        let mut received = false;
        loop {
            let now = self.ring.wait(deadline_ns, &mut Spinning::new(Spin::Off), &mut None)?;
            while let Some(completion) = self.ring.pop() {
                let buffer = io_uring::cqueue::buffer_select(completion.flags()).map(u32::from);
                let (len, _) = self.open_received(completion.result(), buffer);
                match (len, buffer) {
                    (1, Some(buffer)) if self.incoming.buffers.bytes(buffer, 1) == b"x" => {
                        received = io_uring::cqueue::more(completion.flags());
                        self.incoming.buffers.give_back(buffer);
                    }
                    (0, buffer) if received => {
                        buffer
                            .into_iter()
                            .for_each(|buffer| self.incoming.buffers.give_back(buffer));
                        return Ok(());
                    }
                    (error, _) if error < 0 => return Err(io::Error::from_raw_os_error(-error)),
                    _ => return Err(io::Error::other("multishot receive misbehaves")),
                }
            }
            if now >= deadline_ns {
                return Err(io::Error::other("no completion within 100 ms"));
            }
        }
    }

    fn make_ready(&mut self, id: SocketId, event: Event) {
        let generation = self.sockets[id.index()].generation;
        self.ready.push_back(Ready { id, generation, event });
    }

    /// Ends what a number can report, and says why.
    fn fail(&mut self, id: SocketId, operation: Operation, error: i32) -> Event {
        let socket = &mut self.sockets[id.index()];
        socket.phase = Phase::Failed;
        Event::Failed { socket: id, operation, error: OsError(error) }
    }
}

impl Driver for UringDriver {
    fn kind(&self) -> DriverKind {
        DriverKind::Uring
    }

    #[inline]
    fn clock_ns(&mut self) -> u64 {
        now_ns()
    }

    fn register(&mut self, bytes: Arc<[u8]>) -> PayloadId {
        self.outgoing.registered.push(bytes);
        PayloadId(self.outgoing.registered.len() as u32 - 1)
    }

    fn connect(&mut self, id: SocketId, route: &Route) {
        if let Err(error) = self.start_connect(id, route) {
            let error = error.raw_os_error().unwrap_or(libc::EIO);
            let event = self.fail(id, Operation::Connect, error);
            self.make_ready(id, event);
        }
    }

    fn listen(&mut self, id: SocketId, at: SocketAddr) -> io::Result<SocketAddr> {
        let (fd, bound) = socket::for_listening(at, &self.options, Waits::Yes)?;
        self.adopt(id, fd.into(), Phase::Listening);
        self.arm_accept(id);
        Ok(bound)
    }

    #[inline]
    fn send(&mut self, id: SocketId, payload: Payload<'_>) {
        let socket = &mut self.sockets[id.index()];
        if socket.phase != Phase::Open || socket.send_error != 0 || socket.finishing {
            return; // its failure is on the way, or has been reported; or the caller ended it
        }
        if payload.is_empty() {
            if !socket.outbox.is_sending() {
                self.make_ready(id, Event::Sent(id));
            }
            return;
        }
        let start_now = match payload {
            Payload::Copied(bytes) => socket.outbox.push_copied(bytes, &mut self.outgoing.spare),
            Payload::Registered { id, offset, len } => {
                let range = offset as usize..offset as usize + len as usize;
                socket.outbox.push_registered(&self.outgoing.registered[id.0 as usize][range])
            }
        };
        if start_now {
            self.start_send(id);
        }
    }

    fn queued_bytes(&self, id: SocketId) -> usize {
        self.sockets[id.index()].outbox.queued_bytes()
    }

    fn shutdown(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.index()];
        if socket.phase == Phase::Open {
            socket.finishing = true;
            socket.finish_if_sent();
        }
    }

    fn pause_receiving(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.index()];
        if socket.phase != Phase::Open || socket.paused {
            return;
        }
        socket.paused = true;
        if socket.send_error != 0 {
            // It waited for what the peer had said before.
            let error = socket.send_error;
            let event = self.fail(id, Operation::Send, error);
            self.make_ready(id, event);
        } else if socket.receiving {
            let tag = socket.tag(Op::Receive, id);
            self.push_unwatched(opcode::AsyncCancel::new(tag.0).build());
        }
    }

    fn resume_receiving(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.index()];
        socket.paused = false;
        // One whose cancelling is still under way goes on when that completes.
        if socket.phase == Phase::Open && !socket.receiving && !socket.ended {
            self.arm_receive(id, 0);
        }
    }

    fn tcp_info(&self, id: SocketId) -> Option<TcpInfo> {
        let socket = &self.sockets[id.index()];
        let fd = socket.fd.as_ref().filter(|_| socket.phase != Phase::Listening)?;
        tcp_info::read(fd.as_fd())
    }

    fn local_address(&self, id: SocketId) -> Option<SocketAddr> {
        self.sockets[id.index()].fd.as_ref().and_then(socket::local_address)
    }

    fn close(&mut self, id: SocketId, how: Close) {
        let socket = &self.sockets[id.index()];
        if socket.phase == Phase::Free {
            return;
        }
        match &socket.fd {
            // At once, and not when the accept lets go of the socket: a connect that is started
            // after this is not to find the listener.
            Some(fd) if socket.phase == Phase::Listening => socket::stop_listening(fd),
            Some(fd) if how == Close::Reset => socket::reset_on_close(fd),
            _ => {}
        }
        self.release_socket(id);
        if id.0 >= self.options.reserved {
            self.free.push(id);
        }
        if !self.rest.listeners.is_empty() {
            self.rest.until_ns = 0; // there may be room again
        }
    }

    #[inline]
    fn wait(&mut self, until_ns: u64) -> io::Result<u64> {
        let mut until_ns = until_ns;
        if !self.starved.is_empty() || !self.rest.listeners.is_empty() {
            self.resume();
            until_ns = until_ns.min(self.rest.until_ns);
        }
        if !self.ready.is_empty() {
            until_ns = 0;
        }
        self.turn.now_ns =
            self.ring.wait(until_ns, &mut self.turn.spinning, &mut self.turn.watch)?;
        self.turn.taken_ns = self.ring.looked_ns();
        self.turn.caught_up.looked(self.turn.now_ns, !self.ring.holds_back());
        self.turn.left = self.ring.completions();
        if let Some(stamping) = &mut self.incoming.stamping {
            stamping.stamps.measure();
        }
        Ok(self.turn.now_ns)
    }

    fn set_spin(&mut self, spin: Spin) {
        self.turn.spinning.set(spin);
    }

    fn spun_ns(&self) -> u64 {
        self.turn.spinning.spun_ns()
    }

    fn caught_up_ns(&self) -> u64 {
        self.turn.caught_up.at_ns()
    }

    fn watch_standstills(&mut self) {
        self.turn.watch = Some(Watch::new(now_ns(), thread_cpu_ns()));
    }

    fn take_standstill(&mut self) -> Option<Standstill> {
        self.turn.watch.as_mut().and_then(Watch::take)
    }

    #[inline]
    fn next(&mut self) -> Option<(u64, Event)> {
        while let Some(ready) = self.ready.pop_front() {
            if self.sockets[ready.id.index()].generation == ready.generation {
                return Some((self.turn.now_ns, ready.event));
            }
        }
        while self.turn.left > 0 {
            self.turn.left -= 1;
            let completion = self.ring.pop()?;
            if let Some(event) = self.complete(&completion) {
                let is_send = matches!(event, Event::Sent(_) | Event::SentPart(_));
                return Some((if is_send { self.turn.taken_ns } else { self.turn.now_ns }, event));
            }
        }
        None
    }

    #[inline]
    fn bytes(&self, received: &Received) -> &[u8] {
        self.incoming.buffers.bytes(received.buffer, received.len)
    }

    #[inline]
    fn release(&mut self, received: Received) {
        self.incoming.buffers.give_back(received.buffer);
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}

impl Drop for UringDriver {
    fn drop(&mut self) {
        for id in (0..self.sockets.len() as u32).map(SocketId) {
            if self.sockets[id.index()].phase != Phase::Free {
                self.release_socket(id);
            }
        }
        self.ring.cancel_all();
        loop {
            while let Some(completion) = self.ring.pop() {
                complete::discard(&completion);
            }
            if !self.ring.run_rest() {
                break;
            }
        }
    }
}

/// Owns a descriptor the kernel has just made.
fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: a descriptor fresh out of an accept has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
