//! Opens and ends TCP sockets the way a driver wants them: non-blocking, without Nagle's delay.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::driver::SocketOptions;

/// Starts a connect.
///
/// # Errors
/// What `socket`, `bind` and `connect` return, but for `EINPROGRESS`.
pub(super) fn connect(to: SocketAddr, options: &SocketOptions) -> io::Result<TcpStream> {
    let socket = open(to)?;
    if let Some(from) = options.bind {
        #[cfg(target_os = "linux")]
        if from.port() == 0 {
            choose_port_at_connect(&socket);
        }
        socket.bind(&from.into())?;
    }
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

/// Starts listening.
///
/// # Errors
/// What `socket`, `bind` and `listen` return.
pub(super) fn listen(at: SocketAddr, options: &SocketOptions) -> io::Result<TcpListener> {
    // Accepted sockets inherit the options set on the listener, which saves a call for each.
    let socket = open(at)?;
    socket.set_reuse_address(true)?;
    if options.reuse_port {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&at.into())?;
    socket.listen(match options.listen_backlog {
        0 => i32::MAX,
        length => i32::try_from(length).unwrap_or(i32::MAX),
    })?;
    Ok(TcpListener::from_std(socket.into()))
}

/// Closes with a reset instead of a FIN.
pub(super) fn reset(stream: TcpStream) {
    // It fails only where there is no socket left to reset.
    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
}

fn open(address: SocketAddr) -> io::Result<Socket> {
    let kind = Type::STREAM.nonblocking();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}

/// Leaves the choice of a port to `connect`, which may use one port for several destinations.
#[cfg(target_os = "linux")]
fn choose_port_at_connect(socket: &Socket) {
    use std::os::fd::AsRawFd;
    let on: libc::c_int = 1;
    // SAFETY: the pointer and the length are those of `on`, which outlives the call; the kernel
    // only reads it. Failing is harmless: then `bind` chooses, from fewer ports.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}
