//! How long the peer's flow control has held back the rest of requests.
//!
//! It stands beside the exchanges and not in them: only protocols with windows ever come here, and
//! with them only requests that are larger than a window.

use plimsoll_conn::ExchangeId;

/// The stalls of a worker's exchanges.
#[derive(Debug)]
pub(super) struct Stalls {
    /// By the number of the exchange; empty until one is stalled.
    stalls: Vec<Stall>,
    /// How many exchanges there may be.
    exchanges_max: usize,
}

/// The stalls of one exchange.
#[derive(Debug, Clone, Copy, Default)]
struct Stall {
    /// Since when its request is held back, if it is.
    since_ns: Option<u64>,
    /// How long it was before that.
    for_ns: u64,
}

impl Stalls {
    /// Of up to `exchanges_max` exchanges at a time; more than that allocate.
    pub(super) fn new(exchanges_max: usize) -> Self {
        Self { stalls: Vec::new(), exchanges_max }
    }

    /// Whether none was ever stalled.
    #[inline]
    pub(super) fn are_none(&self) -> bool {
        self.stalls.is_empty()
    }

    /// Whether a request is being held back. To be asked of an exchange that was stalled.
    pub(super) fn is_stalled(&self, id: ExchangeId) -> bool {
        self.stalls[id.0 as usize].since_ns.is_some()
    }

    /// A request is held back from `at_ns` on. `again`: it was before.
    pub(super) fn begin(&mut self, id: ExchangeId, at_ns: u64, again: bool) {
        let place = id.0 as usize;
        if place >= self.stalls.len() {
            self.stalls.resize(self.exchanges_max.max(place + 1), Stall::default());
        }
        let stall = &mut self.stalls[place];
        let before_ns = if again { stall.for_ns } else { 0 };
        *stall = Stall { since_ns: Some(at_ns), for_ns: before_ns };
    }

    /// A request is held back no longer, at `at_ns`. Gives how long it was in all.
    pub(super) fn end(&mut self, id: ExchangeId, at_ns: u64) -> u64 {
        let stall = &mut self.stalls[id.0 as usize];
        if let Some(since_ns) = stall.since_ns.take() {
            stall.for_ns += at_ns.saturating_sub(since_ns);
        }
        stall.for_ns
    }
}

impl super::Accounts {
    /// The peer has no room for the rest of a request, which was handed over at `at_ns`.
    #[cold]
    pub(crate) fn stalled(&mut self, id: ExchangeId, at_ns: u64) {
        let exchange = &mut self.exchanges[id];
        exchange.end_bytes = i64::MAX;
        let again = std::mem::replace(&mut exchange.has_stalled, true);
        self.stalls.begin(id, at_ns, again);
    }

    /// The peer had room for it at `at_ns`.
    #[cold]
    pub(super) fn resumed(&mut self, id: ExchangeId, at_ns: u64) {
        let exchange = &mut self.exchanges[id];
        if !exchange.has_stalled {
            return;
        }
        let moments = &mut exchange.moments;
        // Once the response has begun, sending is over as far as it is recorded.
        let until_ns = if moments.first_byte_ns == 0 { at_ns } else { moments.first_byte_ns };
        if moments.first_byte_ns == 0 {
            // Written is what the kernel has taken whole.
            moments.written_ns = 0;
        }
        self.stalls.end(id, until_ns);
        self.release_resumed(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_of_an_exchange_add_up_and_those_of_the_one_before_it_are_forgotten() {
        let (mut stalls, id) = (Stalls::new(2), ExchangeId(3));
        assert!(stalls.are_none());
        stalls.begin(id, 100, false);
        assert!(stalls.is_stalled(id));
        assert_eq!(stalls.end(id, 130), 30);
        assert!(!stalls.is_stalled(id));
        stalls.begin(id, 200, true);
        assert_eq!(stalls.end(id, 205), 35);
        assert_eq!(stalls.end(id, 999), 35);
        stalls.begin(id, 300, false);
        // The response had begun before the request was held back.
        assert_eq!(stalls.end(id, 290), 0);
    }
}
