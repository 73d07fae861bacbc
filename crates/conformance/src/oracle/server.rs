//! The oracle's loop: one thread, epoll, and a heap of what is due.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::net::sockopt::{set_socket_linger, set_socket_reuseaddr};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::time::Timespec;

use super::answer;
use super::clock_ns;
use super::connection::{Input, Output, Peer, Pending};
use super::http2::{self, Start};
use super::log::{Connection, End, Entry, Log};
use super::mode::{Act, Mode, TlsMode};
use super::session::{Next, Session, Timer};
use super::shared::{Due, Shared};
use super::tls::Tls;
use super::websocket;
use super::wire::Wire;

/// Names of what is not a connection, among epoll's.
const STOP: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

const EVENTS: usize = 256;
/// Below this a sleep is too coarse: epoll's are of whole milliseconds.
const SLEEP_MIN_NS: u64 = 1_200_000;

/// A server that does what its mode says.
pub struct Oracle {
    listener: TcpListener,
    tls: Option<Tls>,
    mode: Mode,
}

impl Oracle {
    /// Listens, without taking connections yet.
    ///
    /// # Errors
    /// Those of the socket; no entropy for a certificate.
    pub fn bind(address: SocketAddr, mode: Mode) -> io::Result<Self> {
        let tls = mode.tls.as_ref().map(Tls::new).transpose()?;
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, mode.backlog)?;
        Ok(Self { listener: TcpListener::from(socket), tls, mode })
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
            listener: self.listener,
            tls: self.tls,
            poll,
            peers: Vec::new(),
            free: Vec::new(),
            shared: Shared::new(self.mode),
            buffer: vec![0; 64 << 10],
            first_connect_ns: None,
        };
        server.run(announce)?;
        Ok(server.shared.log)
    }
}

struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    poll: OwnedFd,
    peers: Vec<Option<Peer>>,
    free: Vec<usize>,
    shared: Shared,
    buffer: Vec<u8>,
    first_connect_ns: Option<u64>,
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
            if !announced && self.shared.first_ns.is_some() {
                announced = true;
                writeln!(announce, "first")?;
                announce.flush()?;
            }
        }
    }

    /// How long to sleep; `None`: until something happens.
    fn timeout(&self, now_ns: u64) -> Option<Timespec> {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        if self.shared.mode.spin {
            return Some(zero);
        }
        let Reverse((due_ns, _)) = self.shared.due.peek()?;
        let left_ns = due_ns.saturating_sub(now_ns);
        if left_ns < SLEEP_MIN_NS {
            return Some(zero);
        }
        let sleep = Duration::from_millis((left_ns - SLEEP_MIN_NS / 2) / 1_000_000);
        Timespec::try_from(sleep).ok()
    }

    fn fire(&mut self, now_ns: u64) {
        while let Some(Reverse((due_ns, what))) = self.shared.due.peek().copied() {
            if due_ns > now_ns {
                return;
            }
            self.shared.due.pop();
            match what {
                Due::Accept => {
                    let data = EventData::new_u64(LISTENER);
                    // Failing, it takes none any more, which the experiment will see.
                    let _ = epoll::add(&self.poll, &self.listener, data, EventFlags::IN);
                }
                Due::Handshake(slot, id) if self.is(slot, id) => self.shake_hands(slot),
                Due::Peer(slot, id) if self.is(slot, id) => self.go_on(slot),
                Due::Session(slot, id, timer) if self.is(slot, id) => self.timer(slot, timer),
                Due::Handshake(..) | Due::Peer(..) | Due::Session(..) => {}
            }
        }
    }

    fn is(&self, slot: usize, id: usize) -> bool {
        self.peers.get(slot).and_then(Option::as_ref).is_some_and(|peer| peer.id == id)
    }

    fn accept(&mut self) -> io::Result<()> {
        let now_ns = clock_ns();
        let pause_ns = self.shared.mode.accept_pause_ns;
        if self.first_connect_ns.is_none() && pause_ns > 0 {
            self.first_connect_ns = Some(now_ns);
            self.shared.remind(now_ns + pause_ns, Due::Accept);
            epoll::delete(&self.poll, &self.listener)?;
            return Ok(());
        }
        // As many as came together; one that failed meanwhile is the tester's to notice.
        while let Ok((stream, peer)) = self.listener.accept() {
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
            let Some(id) = self.shared.log.connect(connection).filter(|_| prepared.is_ok()) else {
                continue;
            };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.peers.push(None);
                self.peers.len() - 1
            });
            let data = EventData::new_u64(slot as u64);
            match Wire::new(stream, self.tls.as_ref()) {
                Ok(wire) if epoll::add(&self.poll, &wire, data, EventFlags::IN).is_ok() => {
                    self.peers[slot] = Some(Peer::new(wire, id));
                }
                _ => self.free.push(slot),
            }
            if let Some(TlsMode { handshake_delay_ns: delay_ns @ 1.., .. }) = self.shared.mode.tls {
                self.shared.remind(clock_ns() + delay_ns, Due::Handshake(slot, id));
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
        let input = peer.read(&mut self.buffer);
        peer.note_handshake(&mut self.shared.log);
        match input {
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

    /// Takes up what was read: the next request of a connection that has none at hand, or all the
    /// frames of one that has a session.
    fn next_request(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        if peer.session.is_none() {
            match peer.start() {
                Start::Preface(_) if self.shared.mode.http2.is_refused => {
                    peer.answer(answer::not_http2());
                    return self.write(slot);
                }
                Start::Preface(bytes) => {
                    let session = http2::Session::new(slot, peer.id, &mut self.shared);
                    peer.begin(bytes, Session::Http2(session));
                }
                Start::Partial => return,
                Start::Other => return self.http1_request(slot),
            }
        }
        let Some(peer) = self.peers[slot].as_mut() else { return };
        let next = peer.receive_frames(&mut self.shared);
        self.take_up(slot, next);
    }

    fn timer(&mut self, slot: usize, timer: Timer) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        let Some(session) = &mut peer.session else { return };
        let next = session.timer(timer, &mut self.shared);
        self.take_up(slot, next);
    }

    fn take_up(&mut self, slot: usize, next: Next) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        match next {
            Next::Open => self.write(slot),
            Next::Close => {
                peer.close = true;
                self.write(slot);
            }
            Next::Reset => self.reset(slot),
        }
    }

    fn http1_request(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        let Some((request, reads)) = peer.take_request() else { return };
        if let Some(key) = &request.websocket_key {
            let place = (slot, peer.id);
            let session = websocket::Session::new(place, &request.path, key, &mut self.shared);
            peer.begin(0, Session::Socket(session));
            return self.next_request(slot);
        }
        let now_ns = clock_ns();
        let entry = Entry {
            opened_ns: now_ns,
            received_ns: now_ns,
            connection: peer.id as u32,
            bytes_in: request.bytes as u32,
            path: hash(&request.path),
            reads,
            ..Entry::default()
        };
        let Some((entry, answer)) = self.shared.request(entry, peer.answers) else { return };
        let due_ns = self.shared.due_ns(answer, now_ns);
        peer.pending = Some(Pending { entry, request, act: answer.act });
        if answer.act == Act::Hang {
            return;
        }
        if due_ns <= now_ns {
            self.go_on(slot);
        } else {
            self.shared.remind(due_ns, Due::Peer(slot, peer.id));
        }
    }

    /// Does what is due on a connection: begins the answer, or goes on writing it.
    fn go_on(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        let Some(pending) = peer.pending.as_ref().filter(|_| !peer.is_writing()) else {
            return self.write(slot);
        };
        let status = match pending.act {
            Act::Status(status) => status,
            Act::Early | Act::Trailers(_) | Act::TrailersOnly(_) | Act::NoTrailers => 200,
            Act::Hang | Act::Reset | Act::ResetStream(_) => return self.reset(slot),
        };
        let mode = &self.shared.mode;
        let close = mode.close_every > 0 && peer.answers + 1 >= mode.close_every;
        let bytes = answer::bytes(mode, &pending.request, status, close);
        let entry = pending.entry;
        let length = peer.answer(bytes);
        self.shared.log.entries[entry].status = status;
        self.shared.log.entries[entry].bytes_out = length as u32;
        self.write(slot);
    }

    fn shake_hands(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        // Failing, the connection stands still, which the experiment will see.
        let _ = peer.stream.release();
    }

    fn reset(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        // Failing, it is an orderly end, which the experiment will see.
        let _ = set_socket_linger(&peer.stream, Some(Duration::ZERO));
        self.close(slot, End::Oracle);
    }

    fn write(&mut self, slot: usize) {
        let Some(peer) = self.peers[slot].as_mut() else { return };
        match peer.write(&mut self.shared.log) {
            Output::Done(at_ns) => {
                if let Some(pending) = peer.pending.take() {
                    peer.answers += 1;
                    self.shared.log.entries[pending.entry].sent_ns = at_ns;
                }
                if peer.close {
                    peer.stream.say_goodbye();
                    return self.close(slot, End::Oracle);
                }
                if peer.session.is_none() {
                    self.next_request(slot);
                }
            }
            Output::Pause(pause_ns) => {
                let id = peer.id;
                self.shared.remind(clock_ns() + pause_ns, Due::Peer(slot, id));
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
        let connection = &mut self.shared.log.connections[peer.id];
        connection.closed_ns = clock_ns();
        connection.end = end;
        // Also takes it out of epoll: no other descriptor refers to it.
        drop(peer);
        self.free.push(slot);
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
