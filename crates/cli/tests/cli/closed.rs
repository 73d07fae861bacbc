//! A port that refuses every connection.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use socket2::{Domain, Socket, Type};

/// A port on which nobody listens, and nobody else can while this is there: a socket holds it
/// without listening.
pub(crate) struct ClosedPort {
    address: SocketAddr,
    socket: Socket,
}

impl ClosedPort {
    pub(crate) fn new() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        socket.bind(&any.into()).expect("a free port");
        let address = socket.local_addr().expect("a bound address").as_socket();
        Self { address: address.expect("an IP address"), socket }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Opens it.
    pub(crate) fn listen(self) -> TcpListener {
        self.socket.listen(128).expect("a bound socket");
        self.socket.into()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}
