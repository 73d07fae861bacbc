//! The oracle's loop: one thread, epoll, and a heap of what is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::net::sockopt::{set_socket_linger, set_socket_reuseaddr};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::time::Timespec;

use super::answer;
use super::connection::{Input, Output, Peer, Pending};
use super::log::{Connection, End, Entry, Log};
use super::mode::{Act, Mode};
use super::{Answer, clock_ns};

/// Names of what is not a connection, among epoll's.
const STOP: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

const EVENTS: usize = 256;
/// Below this a sleep is too coarse: epoll's are of whole milliseconds.
const SLEEP_MIN_NS: u64 = 1_200_000;

/// A server that does what its mode says.
pub struct Oracle {
    listener: TcpListener,
    mode: Mode,
}

impl Oracle {
    /// Listens, without taking connections yet.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn bind(address: SocketAddr, mode: Mode) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, mode.backlog)?;
        Ok(Self { listener: TcpListener::from(socket), mode })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` has been closed at its other end. Writes a line to `announce` when the
    /// first request arrives.
    ///
    /// # Errors
    /// Those of epoll; what happens on a connection is no error.
    pub fn serve(self, stop: BorrowedFd<'_>, announce: &mut dyn Write) -> io::Result<Log> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        epoll::add(&poll, &self.listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let mut server = Server {
            oracle: self,
            poll,
            peers: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
            log: Log::with_room(),
            buffer: vec![0; 64 << 10],
            first_ns: None,
            first_connect_ns: None,
            busy_until_ns: 0,
            slowed: 0,
        };
        server.run(announce)?;
        Ok(server.log)
    }
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// Taking connections again.
    Accept,
    /// Going on with a connection: its slot and its number.
    Peer(usize, usize),
}

struct Server {
    oracle: Oracle,
    poll: OwnedFd,
    peers: Vec<Option<Peer>>,
    free: Vec<usize>,
    due: BinaryHeap<Reverse<(u64, Due)>>,
    log: Log,
    buffer: Vec<u8>,
    first_ns: Option<u64>,
    first_connect_ns: Option<u64>,
    busy_until_ns: u64,
    slowed: u32,
}

impl Server {
    fn run(&mut self, announce: &mut dyn Write) -> io::Result<()> {
        let mut announced = false;
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            self.fire(clock_ns());
            events.clear();
            let timeout = self.timeout(clock_ns());
            let spare = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.poll, spare, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for Event { data, flags } in events.iter().copied() {
                match data.u64() {
                    STOP => return Ok(()),
                    LISTENER => self.accept()?,
                    slot => self.ready(slot as usize, flags),
                }
            }
            if !announced && self.first_ns.is_some() {
                announced = true;
                writeln!(announce, "first")?;
                announce.flush()?;
            }
        }
    }

    /// How long to sleep; `None`: until something happens.
    fn timeout(&self, now_ns: u64) -> Option<Timespec> {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        if self.oracle.mode.spin {
            return Some(zero);
        }
        let Reverse((due_ns, _)) = self.due.peek()?;
        let left_ns = due_ns.saturating_sub(now_ns);
        if left_ns < SLEEP_MIN_NS {
            return Some(zero);
        }
        let sleep = Duration::from_millis((left_ns - SLEEP_MIN_NS / 2) / 1_000_000);
        Timespec::try_from(sleep).ok()
    }

    fn fire(&mut self, now_ns: u64) {
        while let Some(Reverse((due_ns, what))) = self.due.peek().copied() {
            if due_ns > now_ns {
                return;
            }
            self.due.pop();
            match what {
                Due::Accept => {
                    let data = EventData::new_u64(LISTENER);
                    // Failing, it takes none any more, which the experiment will see.
                    let _ = epoll::add(&self.poll, &self.oracle.listener, data, EventFlags::IN);
                }
                Due::Peer(slot, id) if self.is(slot, id) => self.go_on(slot),
                Due::Peer(..) => {}
            }
        }
    }

    fn is(&self, slot: usize, id: usize) -> bool {
        self.peers.get(slot).and_then(Option::as_ref).is_some_and(|peer| peer.id == id)
    }

    fn accept(&mut self) -> io::Result<()> {
        let now_ns = clock_ns();
        let pause_ns = self.oracle.mode.accept_pause_ns;
        if self.first_connect_ns.is_none() && pause_ns > 0 {
            self.first_connect_ns = Some(now_ns);
            self.due.push(Reverse((now_ns + pause_ns, Due::Accept)));
            epoll::delete(&self.poll, &self.oracle.listener)?;
            return Ok(());
        }
        // As many as came together; one that failed meanwhile is the tester's to notice.
        while let Ok((stream, peer)) = self.oracle.listener.accept() {
            let prepared = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
            let address = match stream.local_addr() {
                Ok(SocketAddr::V4(address)) => address.ip().octets()[3],
                Ok(SocketAddr::V6(address)) => address.ip().octets()[15],
                Err(_) => 0,
            };
            let connection = Connection {
                accepted_ns: clock_ns(),
                port: peer.port(),
                address,
                ..Connection::default()
            };
            let Some(id) = self.log.connect(connection).filter(|_| prepared.is_ok()) else {
                continue;
            };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.peers.push(None);
                self.peers.len() - 1
            });
            let data = EventData::new_u64(slot as u64);
            if epoll::add(&self.poll, &stream, data, EventFlags::IN).is_ok() {
                self.peers[slot] = Some(Peer::new(stream, id));
            } else {
                self.free.push(slot);
            }
        }
        Ok(())
    }

    fn ready(&mut self, slot: usize, flags: EventFlags) {
        let Some(peer) = self.peers.get_mut(slot).and_then(Option::as_mut) else { return };
        if peer.blocked && flags.contains(EventFlags::OUT) {
            peer.blocked = false;
            self.want(slot, EventFlags::IN);
            self.write(slot);
        }
        let Some(peer) = self.peers[slot].as_mut() else { return };
        if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            return;
        }
        match peer.read(&mut self.buffer) {
            Input::Open => self.next_request(slot),
            Input::Ended => {
                // What came before the end still counts.
                self.next_request(slot);
                self.close(slot, End::Tester);
            }
            Input::Failed => self.close(slot, End::Reset),
        }
    }

    fn want(&self, slot: usize, flags: EventFlags) {
        if let Some(peer) = &self.peers[slot] {
            // Failing, the connection stands still, which the experiment will see.
            let data = EventData::new_u64(slot as u64);
            let _ = epoll::modify(&self.poll, &peer.stream, data, flags);
        }
    }

    /// Takes up the next request of a connection that has none at hand.
    fn next_request(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        let Some((request, reads)) = peer.take_request() else { return };
        let now_ns = clock_ns();
        let first_ns = *self.first_ns.get_or_insert(now_ns);
        let sequence = self.log.entries.len() as u64;
        let entry = Entry {
            received_ns: now_ns,
            connection: peer.id as u32,
            bytes_in: request.bytes as u32,
            path: hash(&request.path),
            reads,
            ..Entry::default()
        };
        self.log.connections[peer.id].requests += 1;
        let Some(entry) = self.log.push(entry) else { return };
        let mut answer = self.oracle.mode.answer(sequence);
        answer.delay_ns += self.oracle.mode.slow_connections_ns * (peer.id as u64 % 2);
        let mode = &self.oracle.mode;
        if mode.hang_after > 0 && peer.answers >= mode.hang_after {
            answer.act = Act::Hang;
        }
        let due_ns = due(mode, answer, now_ns, first_ns, &mut self.busy_until_ns, &mut self.slowed);
        peer.pending = Some(Pending { entry, request, act: answer.act });
        if answer.act == Act::Hang {
            return;
        }
        if due_ns <= now_ns {
            self.go_on(slot);
        } else {
            self.due.push(Reverse((due_ns, Due::Peer(slot, peer.id))));
        }
    }

    /// Does what is due on a connection: begins the answer, or goes on writing it.
    fn go_on(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        let Some(pending) = peer.pending.as_ref().filter(|_| !peer.is_writing()) else {
            return self.write(slot);
        };
        let Act::Status(status) = pending.act else {
            // Failing, it is an orderly end, which the experiment will see.
            let _ = set_socket_linger(&peer.stream, Some(Duration::ZERO));
            return self.close(slot, End::Oracle);
        };
        let every = self.oracle.mode.close_every;
        let close = every > 0 && peer.answers + 1 >= every;
        let bytes = answer::bytes(&self.oracle.mode, &pending.request, status, close);
        let entry = pending.entry;
        let length = peer.answer(bytes);
        self.log.entries[entry].status = status;
        self.log.entries[entry].bytes_out = length as u32;
        self.write(slot);
    }

    fn write(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        match peer.write() {
            Output::Done(at_ns) => {
                peer.answers += 1;
                if let Some(pending) = peer.pending.take() {
                    self.log.entries[pending.entry].sent_ns = at_ns;
                }
                if peer.close {
                    return self.close(slot, End::Oracle);
                }
                self.next_request(slot);
            }
            Output::Pause(pause_ns) => {
                let id = peer.id;
                self.due.push(Reverse((clock_ns() + pause_ns, Due::Peer(slot, id))));
            }
            Output::Blocked => {
                peer.blocked = true;
                self.want(slot, EventFlags::IN | EventFlags::OUT);
            }
            Output::Failed => self.close(slot, End::Reset),
        }
    }

    fn close(&mut self, slot: usize, end: End) {
        let Some(peer) = self.peers[slot].take() else { return };
        let connection = &mut self.log.connections[peer.id];
        connection.closed_ns = clock_ns();
        connection.end = end;
        // Also takes it out of epoll: no other descriptor refers to it.
        drop(peer);
        self.free.push(slot);
    }
}

/// When an answer is due. `busy_until_ns`: when the answer before it is given; `slowed`: how many
/// got the delay of a stretch of time.
pub(crate) fn due(
    mode: &Mode,
    answer: Answer,
    now_ns: u64,
    first_ns: u64,
    busy_until_ns: &mut u64,
    slowed: &mut u32,
) -> u64 {
    let since_ns = now_ns - first_ns;
    let may_slow = mode.slow_most == 0 || *slowed < mode.slow_most;
    let delay_ns = match mode.slow {
        Some((span, delay_ns)) if span.holds(since_ns) && may_slow => {
            *slowed += 1;
            delay_ns
        }
        _ => answer.delay_ns,
    };
    let mut due_ns = now_ns + delay_ns;
    if mode.service_ns > 0 {
        due_ns = due_ns.max(*busy_until_ns) + mode.service_ns;
        *busy_until_ns = due_ns;
    }
    match mode.stall {
        Some(stall) if stall.holds(due_ns - first_ns) => first_ns + stall.end_ns(),
        _ => due_ns,
    }
}

/// What a log has of a path: FNV-1a, 32 bits.
#[must_use]
pub fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

impl std::fmt::Debug for Oracle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Oracle").field("mode", &self.mode).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::TimeSpan;

    #[test]
    fn answers_are_due_when_the_mode_says() {
        let plain = Answer { count: 1, delay_ns: 10, act: Act::Status(200) };
        let span = TimeSpan { from_ns: 100, for_ns: 50 };
        let stall = Mode { stall: Some(span), ..Mode::default() };
        let slow = Mode { slow: Some((span, 30)), ..Mode::default() };
        for (mode, now_ns, want_ns) in [
            (Mode::default(), 1000, 1010),
            (stall.clone(), 1080, 1090),
            (stall.clone(), 1090, 1150),
            (stall.clone(), 1149, 1159),
            (slow.clone(), 1100, 1130),
            (slow, 1150, 1160),
        ] {
            let due_ns = due(&mode, plain, now_ns, 1000, &mut 0, &mut 0);
            assert_eq!(due_ns, want_ns, "{mode:?} {now_ns}");
        }
        let two_slow = Mode { slow: Some((span, 30)), slow_most: 2, ..Mode::default() };
        let mut slowed = 0;
        let times = [1100, 1101, 1102];
        let dues = times.map(|now_ns| due(&two_slow, plain, now_ns, 1000, &mut 0, &mut slowed));
        assert_eq!(dues, [1130, 1131, 1112]);
        let one_at_a_time = Mode { service_ns: 7, ..Mode::default() };
        let mut busy_until_ns = 0;
        let mut next = |now_ns| due(&one_at_a_time, plain, now_ns, 0, &mut busy_until_ns, &mut 0);
        assert_eq!([next(0), next(0), next(100)], [17, 24, 117]);
    }
}
