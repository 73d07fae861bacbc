//! What names an entry of the pool, for all that speak of one.

use plimsoll_io::SocketId;

/// An entry of the pool: the connection of one user to one origin, open or not. Which entry is
/// whose, the pool knows. Its socket has the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId(u32);

impl ConnectionId {
    /// The entry in this place.
    #[inline]
    pub(crate) const fn nth(place: u32) -> Self {
        Self(place)
    }

    /// Its place among all entries.
    #[inline]
    pub(crate) const fn place(self) -> u32 {
        self.0
    }

    /// The entry whose socket it is.
    #[inline]
    pub(crate) const fn of(socket: SocketId) -> Self {
        Self(socket.0)
    }

    /// The socket of its connection.
    #[inline]
    pub(crate) const fn socket(self) -> SocketId {
        SocketId(self.0)
    }
}

impl From<ConnectionId> for u32 {
    #[inline]
    fn from(id: ConnectionId) -> Self {
        id.0
    }
}
