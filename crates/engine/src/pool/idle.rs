//! Which connection the next request takes: the one that has been free longest, so that all of them
//! work.

use plimsoll_conn::Protocol;
use plimsoll_io::Driver;

use super::Pool;

/// A connection that a request could take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    pub index: u32,
    epoch: u32,
    /// Since when it is free.
    pub since_ns: u64,
}

impl<D: Driver, P: Protocol> Pool<D, P> {
    /// Whether any may be free.
    #[inline]
    pub(crate) fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// A connection is free since `since_ns`, if it can take a request and is not waiting already.
    #[inline]
    pub(crate) fn push_idle(&mut self, index: u32, since_ns: u64) {
        if !self[index].queued && self.can_take(index) {
            let client = &mut self.clients[index as usize];
            client.queued = true;
            self.idle.push_back(Idle { index, epoch: client.epoch, since_ns });
        }
    }

    /// Gives a connection back that was taken and is not needed.
    pub(crate) fn put_back(&mut self, idle: Idle) {
        self[idle.index].queued = true;
        self.idle.push_front(idle);
    }

    /// The connection that has been free longest.
    #[inline]
    pub(crate) fn take_idle(&mut self) -> Option<Idle> {
        while let Some(idle) = self.idle.pop_front() {
            let client = &mut self.clients[idle.index as usize];
            // An entry of a connection that was closed meanwhile is stale.
            if idle.epoch != client.epoch {
                continue;
            }
            client.queued = false;
            // Nor is one of use that is to be let go, or whose server has said that it will close.
            if idle.index < self.active && self.can_take(idle.index) {
                return Some(idle);
            }
        }
        None
    }
}
