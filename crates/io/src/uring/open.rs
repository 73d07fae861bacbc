//! Sockets as a driver wants them: close-on-exec, blocking (io_uring waits by itself, and would
//! fail at once on a non-blocking one), without Nagle's delay.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use crate::driver::SocketOptions;

/// A socket to connect to `to` with.
pub(super) fn for_connecting(to: &SocketAddr, options: &SocketOptions) -> io::Result<OwnedFd> {
    let socket = Socket::new(Domain::for_address(*to), Type::STREAM, None)?;
    socket.set_tcp_nodelay(true)?;
    if let Some(from) = options.bind {
        if from.port() == 0 {
            choose_port_at_connect(&socket)?;
        }
        socket.bind(&from.into())?;
    }
    Ok(socket.into())
}

/// Without this, a bound address takes a port of its own from the whole host instead of one per
/// destination.
fn choose_port_at_connect(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option takes an int, which lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A listening socket, and where it listens.
pub(super) fn for_listening(
    at: SocketAddr,
    options: &SocketOptions,
) -> io::Result<(OwnedFd, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if options.reuse_port {
        socket.set_reuse_port(true)?;
    }
    socket.set_tcp_nodelay(true)?; // connections taken from it inherit this
    socket.bind(&at.into())?;
    let backlog = match options.listen_backlog {
        0 => i32::MAX, // cut to net.core.somaxconn
        some => i32::try_from(some).unwrap_or(i32::MAX),
    };
    socket.listen(backlog)?;
    let bound = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok((socket.into(), bound))
}

/// The address at the other end.
pub(super) fn peer(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let address = SockRef::from(socket).peer_addr()?;
    Ok(address.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?)
}

/// Ends listening while the descriptor is still open.
pub(super) fn stop_listening(listener: &OwnedFd) {
    // It fails only on what does not listen.
    let _ = SockRef::from(listener).shutdown(Shutdown::Both);
}

/// Makes the coming close a reset.
pub(super) fn reset_on_close(socket: &OwnedFd) {
    // It fails only on what is no socket, and the close still happens.
    let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
}

/// Addresses connected to, each kept where the kernel can read it until the driver is dropped.
/// There are as many as a run has targets.
#[derive(Default)]
pub(super) struct Addresses {
    known: Vec<(SocketAddr, Box<SockAddr>)>,
    last: usize,
}

impl Addresses {
    /// The address in the kernel's form.
    pub(super) fn intern(&mut self, address: SocketAddr) -> &SockAddr {
        let is_last = self.known.get(self.last).is_some_and(|(known, _)| *known == address);
        if !is_last {
            let found = self.known.iter().position(|(known, _)| *known == address);
            self.last = found.unwrap_or_else(|| {
                self.known.push((address, Box::new(address.into())));
                self.known.len() - 1
            });
        }
        &self.known[self.last].1
    }
}
