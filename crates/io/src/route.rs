//! Where to connect to, and from where.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

/// What to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// An address and a port, over TCP.
    Tcp(SocketAddr),
    /// An address and a port, over UDP: each send is a datagram, and each receive takes one. An
    /// empty datagram counts as the end.
    Udp(SocketAddr),
    /// A Unix stream socket's path. One that starts with a zero byte is a name of Linux's own
    /// (`unix(7)`, "abstract").
    Unix(Arc<Path>),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) | Self::Udp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A way to a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Route {
    /// What to connect to.
    pub to: Address,
    /// The source address; the kernel's choice without. Its port is always the kernel's choice,
    /// made for each destination, so that two destinations can share a port. It must be of the same
    /// family as `to`; Unix sockets have none.
    pub from: Option<IpAddr>,
}

impl From<Address> for Route {
    fn from(to: Address) -> Self {
        Self { to, from: None }
    }
}

impl From<SocketAddr> for Route {
    fn from(to: SocketAddr) -> Self {
        Self { to: to.into(), from: None }
    }
}
