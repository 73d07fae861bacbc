//! A driver over a simulated kernel, network and clock: the same seed and the same calls give the
//! same events at the same times, to the nanosecond, on any machine.
//!
//! The clock moves only in [`Driver::wait`], with each look at it where work takes time
//! ([`SimOptions::work_ns`]), with each call that sends or connects where that does
//! ([`SimOptions::call_ns`]), and with each event where [`SimOptions::readiness`] is set.
//! Everything else done between two waits takes no time. At the other end of a connection is a
//! listener of the same driver or a scripted [`Peer`], and [`SimOptions`] says what goes wrong on
//! the way.
//!
//! Absent on purpose: real files, real time and threads. A wait that nothing could ever end is an
//! error here, since it would be a hang with a real kernel.

mod network;
mod script;
mod slot;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::driver::{
    Close, Driver, DriverKind, DriverOptions, Event, Operation, OsError, Payload, PayloadId,
    Received, SocketId, Spin, Standstill, Wake, Waker,
};
use crate::route::Route;
use crate::taken::taken_ns;
use crate::tcp_info::TcpInfo;
use network::{Network, Notice, START_NS};
pub use script::{Peer, PeerActions, PeerConn, SimOptions, Window};
use slot::{Slot, Use};

/// Receive buffers: how many [`Received`] can be out at once.
const RECEIVE_BUFFERS: u32 = 8;
/// What a wait takes that does not sleep, so that a loop that only polls gets somewhere.
const POLL_NS: u64 = 1_000;
/// What taking in an event takes, where it takes time.
const TAKING_NS: Range<u64> = 500..5_000;
/// A shorter pause does not count as a standstill.
const STANDSTILL_NS: u64 = 9_000_000;

#[derive(Debug)]
enum Queued {
    Connected,
    Accepted {
        listener: SocketId,
        peer: SocketAddr,
    },
    Sent,
    SentPart,
    /// Bytes, an end or a reset, in this order.
    Readable,
    Failed(Operation, OsError),
    Woken,
}

#[derive(Debug, Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// [`Driver`] over a simulated kernel.
pub struct SimDriver {
    now_ns: u64,
    waits: u64,
    queued_bytes_max: usize,
    network: Network,
    /// The standstill that is still to come, and the one that has been.
    pause: Option<Window>,
    stood_still: Option<Standstill>,
    readiness: bool,
    work_ns: Range<u64>,
    call_ns: Range<u64>,
    /// Until when what happened has been taken in.
    caught_up_ns: u64,
    slots: Box<[Slot]>,
    reserved: u32,
    /// Socket, generation, and what to report.
    events: VecDeque<(SocketId, u32, Queued)>,
    buffers: Vec<Vec<u8>>,
    free_buffers: Vec<u32>,
    buffer_bytes: usize,
    receive_timestamps: bool,
    registered: Vec<Arc<[u8]>>,
    woken: Arc<Flag>,
}

impl std::fmt::Debug for SimDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimDriver").field("now_ns", &self.now_ns).finish_non_exhaustive()
    }
}

impl SimDriver {
    /// A driver with this network. Without a peer, a connect to an address that nobody listens on
    /// is refused.
    #[must_use]
    pub fn new(options: &DriverOptions, sim: SimOptions, peer: Option<Box<dyn Peer>>) -> Self {
        let spare = (options.reserved..options.sockets).rev().map(SocketId).collect();
        Self {
            now_ns: START_NS,
            waits: 0,
            queued_bytes_max: 0,
            pause: sim.pause,
            stood_still: None,
            readiness: sim.readiness,
            work_ns: sim.work_ns.clone(),
            call_ns: sim.call_ns.clone(),
            caught_up_ns: START_NS,
            network: Network::new(sim, peer, spare),
            slots: (0..options.sockets).map(|_| Slot::free()).collect(),
            reserved: options.reserved,
            events: VecDeque::new(),
            buffers: vec![Vec::new(); RECEIVE_BUFFERS as usize],
            free_buffers: (0..RECEIVE_BUFFERS).collect(),
            buffer_bytes: options.receive_buffer_bytes.max(1) as usize,
            receive_timestamps: options.receive_timestamps,
            registered: Vec::new(),
            woken: Arc::default(),
        }
    }

    /// How often [`Driver::wait`] was called: a loop that polls instead of sleeping shows here.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// The most bytes that were ever queued on a socket.
    #[must_use]
    pub fn queued_bytes_max(&self) -> usize {
        self.queued_bytes_max
    }

    fn push(&mut self, socket: SocketId, what: Queued) {
        self.events.push_back((socket, self.slots[socket.index()].generation, what));
    }

    /// Drops from the front what is no longer true; says whether anything is left.
    fn has_events(&mut self) -> bool {
        while let Some((socket, generation, what)) = self.events.front() {
            let slot = &mut self.slots[socket.index()];
            let stale = match what {
                Queued::Woken => false,
                _ if slot.generation != *generation => true,
                // More may have been queued since; its own completion follows.
                Queued::Sent => !slot.sent_pending || !slot.outbox.is_empty() || slot.reset,
                Queued::SentPart => slot.outbox.is_empty() || slot.reset,
                Queued::Readable => slot.paused,
                _ => false,
            };
            if !stale {
                return true;
            }
            if slot.generation == *generation {
                match what {
                    Queued::Readable => slot.listed = false,
                    Queued::SentPart => {}
                    _ => slot.sent_pending = false,
                }
            }
            self.events.pop_front();
        }
        false
    }

    fn take_notices(&mut self) {
        self.caught_up_ns = self.network.ran_to_ns;
        if self.woken.0.swap(false, Ordering::Acquire) {
            self.events.push_back((SocketId(0), 0, Queued::Woken));
        }
        let mut notices = std::mem::take(&mut self.network.notices);
        for notice in notices.drain(..) {
            self.take_notice(notice);
        }
        // What these notices led to is among the events; the network tells no more meanwhile.
        self.network.notices = notices;
    }

    fn take_notice(&mut self, notice: Notice) {
        match notice {
            Notice::Connected(socket) => self.push(socket, Queued::Connected),
            Notice::Refused(socket) => {
                let error = OsError(libc::ECONNREFUSED);
                self.push(socket, Queued::Failed(Operation::Connect, error));
            }
            Notice::Accepted { listener, socket, end, peer } => {
                self.slots[socket.index()].now = Use::Open(end);
                self.push(socket, Queued::Accepted { listener, peer });
            }
            Notice::NoSocket(listener) => {
                self.push(listener, Queued::Failed(Operation::Accept, OsError(libc::EMFILE)));
            }
            Notice::Room(socket) => self.flush(socket, self.network.now_ns.max(self.now_ns)),
            Notice::Data { socket, at_ns, bytes } => self.readable(socket, |slot| {
                slot.inbox.extend(bytes);
                slot.arrived_ns = at_ns;
            }),
            Notice::Ended(socket) => self.readable(socket, |slot| slot.ended = true),
            Notice::Reset(socket) => {
                let slot = &mut self.slots[socket.index()];
                let cut_off = slot.paused && !slot.outbox.is_empty();
                self.readable(socket, |slot| {
                    slot.reset = true;
                    slot.outbox.clear();
                });
                if cut_off {
                    self.fail_send(socket);
                }
            }
        }
    }

    /// Changes what there is to read, and puts the socket on the queue if it is not there for it.
    fn readable(&mut self, socket: SocketId, change: impl FnOnce(&mut Slot)) {
        change(&mut self.slots[socket.index()]);
        self.list(socket);
    }

    /// Puts a socket on the queue if there is something to read, and it is not there for that.
    fn list(&mut self, socket: SocketId) {
        let slot = &mut self.slots[socket.index()];
        if slot.has_input() && !slot.paused && !slot.listed {
            slot.listed = true;
            self.push(socket, Queued::Readable);
        }
    }

    /// Gives the network what it takes, by `at_ns`.
    fn flush(&mut self, socket: SocketId, at_ns: u64) {
        let slot = &mut self.slots[socket.index()];
        let Use::Open(end) = slot.now else { return };
        slot.taken_ns = at_ns;
        while !slot.outbox.is_empty() {
            let (bytes, _) = slot.outbox.as_slices();
            let wanted = bytes.len();
            let taken = self.network.send(end, bytes);
            slot.outbox.drain(..taken);
            if taken < wanted {
                if taken > 0 {
                    self.push(socket, Queued::SentPart);
                }
                return;
            }
        }
        if slot.finishing {
            self.network.finish(end);
        }
        if !slot.sent_pending {
            slot.sent_pending = true;
            self.push(socket, Queued::Sent);
        }
    }

    /// Sends what is queued on a socket, which the network takes at the beginning of the call.
    fn call_to_send(&mut self, socket: SocketId) {
        let returned_ns = self.now_ns + self.network.draw(&self.call_ns);
        let bytes = self.slots[socket.index()].outbox.len();
        self.flush(socket, taken_ns(self.now_ns, returned_ns, bytes));
        self.return_at(returned_ns);
    }

    /// A call comes back. The network has gone on meanwhile.
    fn return_at(&mut self, at_ns: u64) {
        if at_ns > self.now_ns {
            self.now_ns = at_ns;
            self.network.run(at_ns, false);
        }
    }

    /// A send met a reset that receiving, which is paused, does not see.
    fn fail_send(&mut self, socket: SocketId) {
        self.slots[socket.index()].vacate(Use::Failed);
        self.push(socket, Queued::Failed(Operation::Send, OsError(libc::ECONNRESET)));
    }

    fn read(&mut self, socket: SocketId) -> Option<Event> {
        let slot = &mut self.slots[socket.index()];
        let Use::Open(end) = slot.now else { return None };
        if slot.inbox.is_empty() {
            if slot.reset {
                slot.vacate(Use::Failed);
                let (operation, error) = (Operation::Receive, OsError(libc::ECONNRESET));
                return Some(Event::Failed { socket, operation, error });
            }
            slot.ended = false;
            return Some(Event::Ended(socket));
        }
        let Some(buffer) = self.free_buffers.pop() else {
            // Its turn comes after a release.
            self.list(socket);
            return None;
        };
        // Two receives where the ring of bytes wraps round.
        let (bytes, _) = slot.inbox.as_slices();
        let len = bytes.len().min(self.buffer_bytes);
        self.buffers[buffer as usize].clear();
        self.buffers[buffer as usize].extend_from_slice(&bytes[..len]);
        slot.inbox.drain(..len);
        let kernel_ns = NonZeroU64::new(slot.arrived_ns).filter(|_| self.receive_timestamps);
        self.network.consumed(end, len);
        self.list(socket);
        let len = len as u32;
        Some(Event::Received(Received { socket, buffer, len, kernel_ns }))
    }

    /// Resets what this listener accepted and nobody was told of yet.
    fn reset_unseen(&mut self, of: SocketId) {
        let unseen = |(accepted, _, what): &(SocketId, u32, Queued)| match what {
            Queued::Accepted { listener, .. } if *listener == of => Some(*accepted),
            _ => None,
        };
        let unseen: Vec<SocketId> = self.events.iter().filter_map(unseen).collect();
        for socket in unseen {
            self.close(socket, Close::Reset);
        }
    }

    /// Moves the clock to `at_ns` and lets happen what is due by then.
    fn advance(&mut self, at_ns: u64) {
        self.now_ns = at_ns;
        let pause = self.pause.take_if(|pause| at_ns >= pause.at_ns);
        if let Some(pause) = pause {
            self.now_ns = at_ns.max(pause.end_ns());
            let for_ns = self.now_ns - at_ns;
            let stood_still = Standstill { at_ns, for_ns };
            self.stood_still = (for_ns >= STANDSTILL_NS).then_some(stood_still);
        }
        self.network.run(self.now_ns, false);
        if pause.is_none() || !self.readiness {
            self.take_notices();
        }
    }
}

impl Driver for SimDriver {
    fn kind(&self) -> DriverKind {
        DriverKind::Sim
    }

    fn clock_ns(&mut self) -> u64 {
        if self.work_ns.end > 1 {
            self.now_ns += self.network.take_time(&self.work_ns);
        }
        self.now_ns
    }

    fn register(&mut self, bytes: Arc<[u8]>) -> PayloadId {
        self.registered.push(bytes);
        PayloadId(self.registered.len() as u32 - 1)
    }

    fn connect(&mut self, socket: SocketId, route: &Route) {
        debug_assert_eq!(
            self.slots[socket.index()].now,
            Use::Free,
            "socket {} is in use",
            socket.0
        );
        let end = self.network.connect(socket, route);
        self.slots[socket.index()].now = Use::Open(end);
        let returned_ns = self.now_ns + self.network.draw(&self.call_ns);
        self.return_at(returned_ns);
    }

    fn listen(&mut self, socket: SocketId, at: SocketAddr) -> io::Result<SocketAddr> {
        debug_assert_eq!(
            self.slots[socket.index()].now,
            Use::Free,
            "socket {} is in use",
            socket.0
        );
        let taken = || io::Error::from_raw_os_error(libc::EADDRINUSE);
        let at = self.network.listen(socket, at).ok_or_else(taken)?;
        self.slots[socket.index()].now = Use::Listening;
        Ok(at)
    }

    fn send(&mut self, socket: SocketId, payload: Payload<'_>) {
        let slot = &mut self.slots[socket.index()];
        let Use::Open(_) = slot.now else { return };
        if slot.reset && slot.paused {
            self.fail_send(socket);
            return;
        }
        if slot.reset || slot.finishing {
            return;
        }
        let waiting = !slot.outbox.is_empty();
        match payload {
            Payload::Copied(bytes) => slot.outbox.extend(bytes),
            Payload::Registered { id, offset, len } => {
                let range = offset as usize..offset as usize + len as usize;
                slot.outbox.extend(&self.registered[id.0 as usize][range]);
            }
        }
        if !waiting {
            self.call_to_send(socket);
        }
        self.queued_bytes_max = self.queued_bytes_max.max(self.queued_bytes(socket));
    }

    fn queued_bytes(&self, socket: SocketId) -> usize {
        self.slots[socket.index()].outbox.len()
    }

    fn shutdown(&mut self, socket: SocketId) {
        let slot = &mut self.slots[socket.index()];
        let Use::Open(end) = slot.now else { return };
        slot.finishing = true;
        if slot.outbox.is_empty() {
            self.network.finish(end);
        }
    }

    fn pause_receiving(&mut self, socket: SocketId) {
        let slot = &mut self.slots[socket.index()];
        slot.paused = matches!(slot.now, Use::Open(_));
    }

    fn resume_receiving(&mut self, socket: SocketId) {
        self.slots[socket.index()].paused = false;
        self.list(socket);
    }

    fn tcp_info(&self, socket: SocketId) -> Option<TcpInfo> {
        match self.slots[socket.index()].now {
            Use::Open(end) => self.network.tcp_info(end),
            _ => None,
        }
    }

    fn local_address(&self, socket: SocketId) -> Option<SocketAddr> {
        match self.slots[socket.index()].now {
            Use::Open(end) => self.network.local_address(end),
            Use::Listening => self.network.listening_at(socket),
            Use::Free | Use::Failed => None,
        }
    }

    fn close(&mut self, socket: SocketId, how: Close) {
        let slot = &mut self.slots[socket.index()];
        let was = slot.now;
        slot.vacate(Use::Free);
        slot.generation = slot.generation.wrapping_add(1);
        match was {
            Use::Free => return,
            Use::Failed => {}
            Use::Open(end) => self.network.close(end, how == Close::Reset),
            Use::Listening => {
                self.network.unlisten(socket);
                self.reset_unseen(socket);
            }
        }
        if socket.0 >= self.reserved {
            self.network.spare.push(socket);
        }
    }

    fn wait(&mut self, until_ns: u64) -> io::Result<u64> {
        self.waits += 1;
        self.take_notices();
        if self.has_events() {
            return Ok(self.now_ns);
        }
        if until_ns <= self.now_ns {
            self.advance(self.now_ns + POLL_NS);
            return Ok(self.now_ns);
        }
        while !self.has_events() && self.network.now_ns < until_ns {
            if until_ns == u64::MAX && self.network.next_ns().is_none() {
                return Err(io::Error::other("simulated wait without end: nothing is under way"));
            }
            self.network.run(until_ns, true);
            self.take_notices();
        }
        let late_ns = self.network.wait_jitter_ns();
        self.advance(self.network.now_ns + late_ns);
        Ok(self.now_ns)
    }

    fn set_spin(&mut self, _: Spin) {}

    fn spun_ns(&self) -> u64 {
        0
    }

    fn caught_up_ns(&self) -> u64 {
        self.caught_up_ns
    }

    fn watch_standstills(&mut self) {
        self.stood_still = None;
    }

    fn take_standstill(&mut self) -> Option<Standstill> {
        self.stood_still.take()
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        if !self.has_events() {
            return None;
        }
        let (socket, _, what) = self.events.pop_front()?;
        let event = match what {
            Queued::Connected => Event::Connected(socket),
            Queued::Accepted { listener, peer } => Event::Accepted { listener, socket, peer },
            Queued::Sent => {
                self.slots[socket.index()].sent_pending = false;
                Event::Sent(socket)
            }
            Queued::SentPart => Event::SentPart(socket),
            Queued::Readable => {
                self.slots[socket.index()].listed = false;
                self.read(socket)?
            }
            Queued::Failed(operation, error) => {
                if operation == Operation::Connect {
                    self.slots[socket.index()].vacate(Use::Failed);
                }
                Event::Failed { socket, operation, error }
            }
            Queued::Woken => Event::Woken,
        };
        let taken_ns = self.slots[socket.index()].taken_ns;
        if self.readiness {
            self.now_ns += self.network.take_time(&TAKING_NS);
        }
        let is_send = matches!(event, Event::Sent(_) | Event::SentPart(_));
        Some((if is_send { taken_ns } else { self.now_ns }, event))
    }

    fn bytes(&self, received: &Received) -> &[u8] {
        &self.buffers[received.buffer as usize]
    }

    fn release(&mut self, received: Received) {
        self.free_buffers.push(received.buffer);
    }

    fn waker(&self) -> Waker {
        self.woken.clone()
    }
}
