//! The queue of `/queue/`: one worker that takes a fixed time for each request, in the order of
//! arrival. What it carries follows from that time alone, so searches for a load line have a known
//! answer (with Poisson arrivals, an M/D/1 queue).
//!
//! The worker is virtual: it uses no CPU, and a request that is answered late by the server does
//! not hold up the next one. All workers of a server share it.

use std::sync::atomic::{AtomicU64, Ordering};

/// A queue before a virtual worker.
#[derive(Debug, Default)]
pub struct Queue {
    /// When the worker has served all that came, by the drivers' clock.
    free_ns: AtomicU64,
}

impl Queue {
    /// Takes in a request that needs this much of the worker's time. Gives when it is served.
    pub(crate) fn enter(&self, now_ns: u64, service_ns: u64) -> u64 {
        let served_ns = |free_ns: u64| now_ns.max(free_ns).saturating_add(service_ns);
        let order = Ordering::Relaxed;
        let before = self.free_ns.fetch_update(order, order, |free_ns| Some(served_ns(free_ns)));
        served_ns(before.unwrap_or_else(|free_ns| free_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_served_one_after_another() {
        let queue = Queue::default();
        for (now_ns, service_ns, want_ns) in [
            (100, 10, 110),
            (100, 10, 120),
            (105, 1, 121),
            (200, 10, 210),
            (200, u64::MAX, u64::MAX),
        ] {
            assert_eq!(queue.enter(now_ns, service_ns), want_ns, "at {now_ns}");
        }
    }
}
