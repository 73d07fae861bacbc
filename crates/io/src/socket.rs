//! Opens and ends sockets the way the drivers over a real kernel want them: close-on-exec, without
//! Nagle's delay, with reused ports.
//!
//! The caller says whether a socket blocks: io_uring waits by itself, and would fail at once on a
//! non-blocking one.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use crate::driver::DriverOptions;
use crate::route::{Address, Route};
use crate::stamps;

/// Whether calls on a socket wait for what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    Yes,
    No,
}

impl Waits {
    fn of(self, kind: Type) -> Type {
        match self {
            Self::Yes => kind,
            Self::No => kind.nonblocking(),
        }
    }
}

/// A socket to connect along `route` with, bound to the source address, if there is one.
///
/// # Errors
/// What `socket` and `bind` return; `EAFNOSUPPORT` for a source address of another family.
pub(crate) fn for_connecting(
    route: &Route,
    options: &DriverOptions,
    waits: Waits,
) -> io::Result<Socket> {
    let (to, kind) = match (&route.to, route.from) {
        (Address::Tcp(to), _) => (to, Type::STREAM),
        (Address::Udp(to), _) => (to, Type::DGRAM),
        (Address::Unix(_), None) => {
            return Socket::new(Domain::UNIX, waits.of(Type::STREAM), None);
        }
        (Address::Unix(_), Some(_)) => return Err(errno(libc::EAFNOSUPPORT)),
    };
    let socket = Socket::new(Domain::for_address(*to), waits.of(kind), None)?;
    if kind == Type::STREAM {
        socket.set_tcp_nodelay(true)?;
    }
    if options.receive_timestamps {
        stamps::request(&socket)?;
    }
    if let Some(from) = route.from {
        let from = match (from, to) {
            (IpAddr::V4(_), SocketAddr::V4(_)) => SocketAddr::new(from, 0),
            // A link-local address is one of the interface that leads to the destination.
            (IpAddr::V6(from), SocketAddr::V6(to)) => {
                SocketAddrV6::new(from, 0, 0, to.scope_id()).into()
            }
            _ => return Err(errno(libc::EAFNOSUPPORT)),
        };
        #[cfg(target_os = "linux")]
        choose_port_at_connect(&socket)?;
        socket.bind(&from.into())?;
    }
    Ok(socket)
}

/// Without this, a bound address takes a port of its own from the whole host instead of one per
/// destination. The option is one of IPv4's level for both families.
#[cfg(target_os = "linux")]
fn choose_port_at_connect(socket: &Socket) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
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

/// An address in the kernel's form.
///
/// # Errors
/// `ENAMETOOLONG` for a path that does not fit, `EINVAL` for one with a zero byte inside.
pub(crate) fn raw_address(address: &Address) -> io::Result<SockAddr> {
    match address {
        Address::Tcp(address) | Address::Udp(address) => Ok((*address).into()),
        Address::Unix(path) if is_cut_short(path) => Err(errno(libc::EINVAL)),
        Address::Unix(path) => SockAddr::unix(path).map_err(|_| errno(libc::ENAMETOOLONG)),
    }
}

/// Whether the kernel would read another path than this one: it stops at a zero byte.
fn is_cut_short(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.first() != Some(&0) && bytes.contains(&0)
}

fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

/// A listening socket, and where it listens. Connections taken from it inherit its options.
///
/// # Errors
/// What `socket`, `bind` and `listen` return.
pub(crate) fn for_listening(
    at: SocketAddr,
    options: &DriverOptions,
    waits: Waits,
) -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(at), waits.of(Type::STREAM), None)?;
    socket.set_reuse_address(true)?;
    if options.socket.reuse_port {
        socket.set_reuse_port(true)?;
    }
    socket.set_tcp_nodelay(true)?;
    if options.receive_timestamps {
        stamps::request(&socket)?;
    }
    socket.bind(&at.into())?;
    socket.listen(match options.socket.listen_backlog {
        0 => i32::MAX, // cut to net.core.somaxconn
        some => i32::try_from(some).unwrap_or(i32::MAX),
    })?;
    let bound = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok((socket, bound))
}

/// The address at this end; `None` on a Unix socket.
pub(crate) fn local_address(socket: &impl AsFd) -> Option<SocketAddr> {
    SockRef::from(socket).local_addr().ok()?.as_socket()
}

/// The address at the other end.
#[cfg(target_os = "linux")]
pub(crate) fn peer(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let address = SockRef::from(socket).peer_addr()?;
    Ok(address.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?)
}

/// Ends listening while the descriptor is still open.
#[cfg(target_os = "linux")]
pub(crate) fn stop_listening(listener: &OwnedFd) {
    // It fails only on what does not listen.
    let _ = SockRef::from(listener).shutdown(Shutdown::Both);
}

/// Ends the sending direction of a connection.
pub(crate) fn finish(socket: &impl AsFd) {
    // It fails only on a connection that is gone, which is reported otherwise.
    let _ = SockRef::from(socket).shutdown(Shutdown::Write);
}

/// Makes the coming close a reset.
pub(crate) fn reset_on_close(socket: &impl AsFd) {
    // It fails only on a file that is not a socket, and the close still happens.
    let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{SocketOptions, Spin};

    const OPTIONS: DriverOptions = DriverOptions {
        sockets: 1,
        reserved: 1,
        receivers: 1,
        receive_buffer_bytes: 4096,
        long_lived: true,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: SocketOptions { reuse_port: false, listen_backlog: 0 },
    };

    #[test]
    fn paths_the_kernel_would_cut_are_refused() {
        let long = "x".repeat(200);
        for (path, error) in [
            ("/run/server.sock", None),
            ("\0abstract", None),
            ("\0abstract\0too", None),
            ("/run/server\0.sock", Some(libc::EINVAL)),
            (&*long, Some(libc::ENAMETOOLONG)),
        ] {
            let address = Address::Unix(Path::new(path).into());
            let refused = raw_address(&address).err().and_then(|error| error.raw_os_error());
            assert_eq!(refused, error, "{path:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_port_of_a_source_address_is_left_to_the_connect() {
        for ip in [IpAddr::from([127, 0, 0, 1]), std::net::Ipv6Addr::LOCALHOST.into()] {
            let route = Route { to: SocketAddr::new(ip, 80).into(), from: Some(ip) };
            let Ok(socket) = for_connecting(&route, &OPTIONS, Waits::Yes) else {
                assert!(ip.is_ipv6(), "every host has 127.0.0.1");
                continue;
            };
            let bound = socket.local_addr().expect("it is bound").as_socket();
            assert_eq!(bound, Some(SocketAddr::new(ip, 0)));
        }
    }

    #[test]
    fn a_source_of_another_family_is_refused() {
        let [v4, v6]: [IpAddr; 2] = [[127, 0, 0, 1].into(), [0, 0, 0, 0, 0, 0, 0, 1].into()];
        let unix = Address::Unix(Path::new("/run/server.sock").into());
        for (to, from) in
            [(SocketAddr::new(v4, 80).into(), v6), (SocketAddr::new(v6, 80).into(), v4), (unix, v4)]
        {
            let route = Route { to, from: Some(from) };
            let refused = for_connecting(&route, &OPTIONS, Waits::Yes).expect_err("it is refused");
            assert_eq!(refused.raw_os_error(), Some(libc::EAFNOSUPPORT), "{route:?}");
        }
    }
}
