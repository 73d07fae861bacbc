//! Which socket is whose: listeners come first, then upstream connections, then health checks, then
//! clients.

use plimsoll_io::SocketId;

use super::deadline::Owner;

/// The first socket of each kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sockets {
    pub(super) first_link: u32,
    pub(super) first_check: u32,
    pub(super) first_client: u32,
}

impl Sockets {
    #[inline]
    pub(super) fn owner(self, socket: SocketId) -> Owner {
        if let Some(index) = socket.0.checked_sub(self.first_client) {
            return Owner::Client(index as usize);
        }
        match socket.0.checked_sub(self.first_check) {
            Some(index) => Owner::Check(index as usize),
            None => Owner::Link(self.link_of(socket)),
        }
    }

    #[inline]
    pub(super) fn client(self, index: usize) -> SocketId {
        SocketId(self.first_client + index as u32)
    }

    #[inline]
    pub(super) fn link(self, index: usize) -> SocketId {
        SocketId(self.first_link + index as u32)
    }

    /// The upstream connection on a socket that has one.
    #[inline]
    pub(super) fn link_of(self, socket: SocketId) -> usize {
        socket.0.saturating_sub(self.first_link) as usize
    }

    pub(super) fn check(self, index: usize) -> SocketId {
        SocketId(self.first_check + index as u32)
    }
}
