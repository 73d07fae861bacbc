//! The rest of requests that is held back, and how long the peer's flow control did that.
//!
//! It stands beside the exchanges and not in them: only protocols with windows ever come here, and
//! with them only requests that are larger than a window, or than what may wait for the kernel.

use plimsoll_conn::ExchangeId;

use crate::exchanges::Exchange;

/// What holds back the rest of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The kernel has yet to take what was sent before.
    Kernel,
    /// The peer's flow control.
    Peer,
}

impl Holder {
    /// What holds requests back on a connection whose output is full, or is not.
    pub(crate) fn of(is_full: bool) -> Self {
        if is_full { Self::Kernel } else { Self::Peer }
    }
}

/// The stalls of a worker's exchanges.
#[derive(Debug)]
pub(super) struct Stalls {
    /// By the number of the exchange; empty until one is held back.
    stalls: Vec<Stall>,
    /// How many exchanges there may be.
    exchanges_max: usize,
}

/// The stalls of one exchange.
#[derive(Debug, Clone, Copy, Default)]
struct Stall {
    /// What holds its request back, if anything does, and since when.
    holder: Option<Holder>,
    since_ns: u64,
    /// How long the peer did before that; `None`: never.
    for_ns: Option<u64>,
}

impl Stall {
    /// From `at_ns` on this holds the request back, if anything does.
    fn turn(&mut self, holder: Option<Holder>, at_ns: u64) {
        if self.holder == Some(Holder::Peer) {
            let for_ns = self.for_ns.get_or_insert(0);
            *for_ns += at_ns.saturating_sub(self.since_ns);
        }
        (self.holder, self.since_ns) = (holder, at_ns);
    }
}

impl Stalls {
    /// Of up to `exchanges_max` exchanges at a time; more than that allocate.
    pub(super) fn new(exchanges_max: usize) -> Self {
        Self { stalls: Vec::new(), exchanges_max }
    }

    /// Whether none was ever held back.
    #[inline]
    pub(super) fn are_none(&self) -> bool {
        self.stalls.is_empty()
    }

    /// Whether a request is being held back. To be asked of an exchange that was.
    pub(super) fn is_held_back(&self, id: ExchangeId) -> bool {
        self.stalls[id.0 as usize].holder.is_some()
    }

    /// A request is held back from `at_ns` on. `again`: it was before.
    pub(super) fn begin(&mut self, id: ExchangeId, holder: Holder, at_ns: u64, again: bool) {
        let place = id.0 as usize;
        if place >= self.stalls.len() {
            self.stalls.resize(self.exchanges_max.max(place + 1), Stall::default());
        }
        let stall = &mut self.stalls[place];
        if !again {
            *stall = Stall::default();
        }
        stall.turn(Some(holder), at_ns);
    }

    /// From `at_ns` on something else may hold a request back that is.
    fn turn(&mut self, id: ExchangeId, holder: Holder, at_ns: u64) {
        let stall = &mut self.stalls[id.0 as usize];
        if stall.holder.is_some_and(|before| before != holder) {
            stall.turn(Some(holder), at_ns);
        }
    }

    /// A request is held back no longer, at `at_ns`. Gives for how long the peer did in all, if it
    /// ever did.
    pub(super) fn end(&mut self, id: ExchangeId, at_ns: u64) -> Option<u64> {
        let stall = &mut self.stalls[id.0 as usize];
        stall.turn(None, at_ns);
        stall.for_ns
    }
}

impl super::Accounts {
    /// The rest of a request, which was handed over at `at_ns`, is held back.
    #[cold]
    pub(crate) fn held_back(&mut self, id: ExchangeId, holder: Holder, at_ns: u64) {
        let exchange = &mut self.exchanges[id];
        exchange.end_bytes = i64::MAX;
        let again = std::mem::replace(&mut exchange.was_held_back, true);
        self.stalls.begin(id, holder, at_ns, again);
    }

    /// From `at_ns` on this holds back the requests of the `open` exchanges of a connection that
    /// are held back.
    #[cold]
    pub(crate) fn turn_held(
        &mut self,
        open: impl Iterator<Item = ExchangeId>,
        holder: Holder,
        at_ns: u64,
    ) {
        for id in open {
            let exchange = &self.exchanges[id];
            if exchange.was_held_back {
                self.stalls.turn(id, holder, until_ns(exchange, at_ns));
            }
        }
    }

    /// There was room for the rest of it at `at_ns`. The request ends at `end_bytes` in the output
    /// of its connection.
    #[cold]
    pub(super) fn resumed(&mut self, id: ExchangeId, end_bytes: i64, at_ns: u64) {
        let exchange = &mut self.exchanges[id];
        if !exchange.was_held_back {
            return;
        }
        exchange.end_bytes = end_bytes;
        let until_ns = until_ns(exchange, at_ns);
        if exchange.moments.first_byte_ns == 0 {
            // Written is what the kernel has taken whole.
            exchange.moments.written_ns = 0;
        }
        self.stalls.end(id, until_ns);
        self.release_resumed(id);
    }
}

/// The moment to record for something that befalls a held request at `at_ns`: the first byte of the
/// response ends its sending, if that came earlier.
fn until_ns(exchange: &Exchange, at_ns: u64) -> u64 {
    match exchange.moments.first_byte_ns {
        0 => at_ns,
        first_byte_ns => first_byte_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::Holder::{Kernel, Peer};
    use super::*;

    #[test]
    fn stalls_of_an_exchange_add_up_and_those_of_the_one_before_it_are_forgotten() {
        let (mut stalls, id) = (Stalls::new(2), ExchangeId(3));
        assert!(stalls.are_none());
        stalls.begin(id, Peer, 100, false);
        assert!(stalls.is_held_back(id));
        assert_eq!(stalls.end(id, 130), Some(30));
        assert!(!stalls.is_held_back(id));
        stalls.begin(id, Peer, 200, true);
        assert_eq!(stalls.end(id, 205), Some(35));
        assert_eq!(stalls.end(id, 999), Some(35));
        stalls.begin(id, Peer, 300, false);
        // The response had begun before the request was held back.
        assert_eq!(stalls.end(id, 290), Some(0));
    }

    #[test]
    fn what_the_kernel_holds_back_is_no_stall_of_the_peer() {
        let (mut stalls, id) = (Stalls::new(1), ExchangeId(0));
        stalls.begin(id, Kernel, 100, false);
        assert!(stalls.is_held_back(id));
        stalls.turn(id, Kernel, 150);
        assert_eq!(stalls.end(id, 200), None);
        stalls.turn(id, Peer, 250);
        assert!(!stalls.is_held_back(id), "what has gone is not held back");
        stalls.begin(id, Kernel, 300, false);
        for (holder, at_ns) in [(Peer, 310), (Peer, 320), (Kernel, 330), (Peer, 400)] {
            stalls.turn(id, holder, at_ns);
        }
        assert_eq!(stalls.end(id, 407), Some(20 + 7));
    }
}
