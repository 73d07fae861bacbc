//! The least a client and a server can do with epoll: one thread, edge-triggered readiness, one
//! `recv` and one `send` per request and no other system call but `epoll_wait`.
//!
//! The client counts bytes: a response is over when as many have come as the first one had. The
//! server answers whenever what it received ends in an empty line; it reads no heads and no bodies.
//! Nothing is recorded but the count (see the crate `bare` for what else is left out).

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::process::ExitCode;

use bare::{Measured, Meter, Options, check};

mod arrivals;

use arrivals::Arrivals;

/// Events taken in one wait.
const BATCH: usize = 256;
/// What to hear of a connection. The end of the stream has a flag of its own, because the bytes
/// before it and the end may come as one edge.
const STREAM: libc::c_int = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET;
/// The key of the descriptor that says when to stop, and of the listener.
const STOP: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

fn main() -> ExitCode {
    bare::main(client, server)
}

fn client(options: &Options) -> io::Result<Measured> {
    let response_bytes = options.learn_response_bytes()?;
    let request = options.request();
    let epoll = Epoll::new()?;
    if options.close {
        return client_closing(options, &epoll, &request, response_bytes);
    }
    let sockets = options.connect()?;
    for (key, socket) in sockets.iter().enumerate() {
        socket.set_nonblocking(true)?;
        epoll.add(socket.as_raw_fd(), STREAM, key as u64)?;
    }
    let stop = bare::stop_after(options.seconds)?;
    epoll.add(stop.as_raw_fd(), libc::EPOLLIN, STOP)?;
    let fds: Vec<RawFd> = sockets.iter().map(|socket| socket.as_raw_fd()).collect();
    let mut missing = vec![response_bytes; fds.len()];
    let mut buffer = vec![0; 64 * 1024];
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
    let mut requests = 0;
    let meter = Meter::start();
    for &fd in &fds {
        send(fd, &request)?;
    }
    loop {
        for event in epoll.wait(&mut events)? {
            if event.u64 == STOP {
                return Ok(meter.finish(requests));
            }
            let key = event.u64 as usize;
            let got = drain(fds[key], event, &mut buffer)?;
            if got.ended {
                return Err(io::Error::other("the server closed a connection"));
            }
            missing[key] = missing[key].checked_sub(got.bytes).ok_or_else(not_the_same_size)?;
            if missing[key] == 0 {
                requests += 1;
                missing[key] = response_bytes;
                send(fds[key], &request)?;
            }
        }
    }
}

/// One request per connection: connect, send when connected, receive until the server closes.
fn client_closing(
    options: &Options,
    epoll: &Epoll,
    request: &[u8],
    response_bytes: usize,
) -> io::Result<Measured> {
    let stop = bare::stop_after(options.seconds)?;
    epoll.add(stop.as_raw_fd(), libc::EPOLLIN, STOP)?;
    let mut sent = vec![false; options.connections];
    let mut received = vec![0; options.connections];
    let mut fds = Vec::with_capacity(options.connections);
    let mut buffer = vec![0; 64 * 1024];
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
    let mut requests = 0;
    let meter = Meter::start();
    for key in 0..options.connections {
        fds.push(start_connect(options.address, epoll, key as u64)?);
    }
    loop {
        for event in epoll.wait(&mut events)? {
            if event.u64 == STOP {
                return Ok(meter.finish(requests));
            }
            let key = event.u64 as usize;
            if !sent[key] {
                send(fds[key], request)?;
                sent[key] = true;
            }
            let got = drain(fds[key], event, &mut buffer)?;
            received[key] += got.bytes;
            if got.ended {
                if received[key] != response_bytes {
                    return Err(not_the_same_size());
                }
                requests += 1;
                close(fds[key]);
                fds[key] = start_connect(options.address, epoll, key as u64)?;
                (sent[key], received[key]) = (false, 0);
            }
        }
    }
}

fn server(options: &Options) -> io::Result<Measured> {
    let response = options.response();
    let stop = bare::stop_on_signal()?;
    let epoll = Epoll::new()?;
    let listener = options.listen()?;
    listener.set_nonblocking(true)?;
    epoll.add(stop.as_raw_fd(), libc::EPOLLIN, STOP)?;
    epoll.add(listener.as_raw_fd(), libc::EPOLLIN, LISTENER)?;
    let mut arrivals = options.log_arrivals.then(Arrivals::new);
    let mut buffer = vec![0; 64 * 1024];
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
    let mut requests = 0;
    let meter = Meter::start();
    loop {
        for event in epoll.wait(&mut events)? {
            match event.u64 {
                STOP => {
                    let mut measured = meter.finish(requests);
                    if let Some(arrivals) = arrivals {
                        arrivals.report(&mut measured);
                    }
                    return Ok(measured);
                }
                LISTENER => accept(listener.as_raw_fd(), &epoll)?,
                fd => {
                    let fd = fd as RawFd;
                    let got = drain(fd, event, &mut buffer)?;
                    let asked = buffer[..got.last_bytes].ends_with(b"\r\n\r\n");
                    if asked {
                        requests += 1;
                        if let Some(arrivals) = &mut arrivals {
                            arrivals.count();
                        }
                        send(fd, &response)?;
                    }
                    if got.ended || (asked && options.close) {
                        close(fd);
                    }
                }
            }
        }
    }
}

/// Takes all waiting connections. Their key is the descriptor: the server keeps no table.
fn accept(listener: RawFd, epoll: &Epoll) -> io::Result<()> {
    loop {
        let null = std::ptr::null_mut();
        // SAFETY: null asks for no peer address.
        let fd = unsafe { libc::accept4(listener, null, null.cast(), libc::SOCK_NONBLOCK) };
        match check(fd) {
            Ok(fd) => epoll.add(fd, STREAM, fd as u64)?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn start_connect(to: SocketAddrV4, epoll: &Epoll, key: u64) -> io::Result<RawFd> {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: to.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
        sin_zero: [0; 8],
    };
    // SAFETY: the address is a whole sockaddr_in that outlives the call; the descriptor is ours.
    let (fd, connected) = unsafe {
        let fd = check(libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0))?;
        let size = size_of_val(&address) as libc::socklen_t;
        (fd, check(libc::connect(fd, (&raw const address).cast(), size)))
    };
    match connected {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
        _ => epoll.add(fd, STREAM | libc::EPOLLOUT, key)?,
    }
    Ok(fd)
}

/// What a socket had to give.
struct Drained {
    bytes: usize,
    /// How many of the buffer's bytes the last `recv` filled in.
    last_bytes: usize,
    /// Whether the peer has closed or reset the connection.
    ended: bool,
}

/// Receives all there is after an event. A receive that doesn't fill the buffer has emptied the
/// socket; what comes later is a new edge. So no second call has to learn that nothing is left.
fn drain(fd: RawFd, event: &libc::epoll_event, buffer: &mut [u8]) -> io::Result<Drained> {
    let ended = event.events & libc::EPOLLRDHUP as u32 != 0;
    let mut drained = Drained { bytes: 0, last_bytes: 0, ended };
    if event.events & libc::EPOLLIN as u32 == 0 {
        return Ok(drained);
    }
    loop {
        // SAFETY: the kernel writes at most the buffer's length into it.
        let n = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let Ok(n) = usize::try_from(n) else {
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock => return Ok(drained),
                io::ErrorKind::ConnectionReset => {
                    drained.ended = true;
                    return Ok(drained);
                }
                _ => return Err(error),
            }
        };
        drained.ended |= n == 0;
        drained.bytes += n;
        drained.last_bytes = n;
        if n < buffer.len() {
            return Ok(drained);
        }
    }
}

/// Sends a whole message; it always fits the empty send buffer of a socket that awaits a response.
/// A peer that is gone is not an error here: the socket's next event tells.
fn send(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads the slice only.
    let n = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    if n == bytes.len() as isize {
        return Ok(());
    }
    if n >= 0 {
        return Err(io::Error::other("a message did not fit the send buffer"));
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
        _ => Err(error),
    }
}

fn close(fd: RawFd) {
    // SAFETY: the caller owns the descriptor and forgets it; closing also ends its epoll entry.
    unsafe { libc::close(fd) };
}

fn not_the_same_size() -> io::Error {
    io::Error::other("a response is not the size of the first one")
}

struct Epoll(OwnedFd);

impl Epoll {
    fn new() -> io::Result<Self> {
        // SAFETY: the descriptor just made belongs to no one else.
        unsafe { Ok(Self(OwnedFd::from_raw_fd(check(libc::epoll_create1(0))?))) }
    }

    fn add(&self, fd: RawFd, interest: libc::c_int, key: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest as u32, u64: key };
        // SAFETY: the event outlives the call.
        let added =
            unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        check(added).map(drop)
    }

    fn wait<'a>(
        &self,
        events: &'a mut [libc::epoll_event; BATCH],
    ) -> io::Result<&'a [libc::epoll_event]> {
        let (first, most) = (events.as_mut_ptr(), BATCH as libc::c_int);
        // SAFETY: the kernel writes at most BATCH events.
        let n = check(unsafe { libc::epoll_wait(self.0.as_raw_fd(), first, most, -1) })?;
        Ok(&events[..n as usize])
    }
}
