//! Timers: what is due next, and when: of the connections of a worker, and of the exchanges of a
//! connection.
//!
//! What has a timer stores its time itself. An entry here with another time is stale and ignored.
//! Stale entries are swept out when the queue is full, so its size is bounded by the number of
//! timers that can be live.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Timers, earliest first.
#[derive(Debug)]
pub(crate) struct Timers<K> {
    heap: BinaryHeap<Reverse<(u64, K)>>,
    entries_max: usize,
}

impl<K: Copy + Ord> Timers<K> {
    /// For up to as many timers that are live at once.
    pub(crate) fn new(live_max: u32) -> Self {
        let entries_max = (live_max as usize).saturating_mul(2).saturating_add(16);
        Self { heap: BinaryHeap::new(), entries_max }
    }

    /// Adds a timer. `is_live` tells whether an entry still is its connection's timer.
    pub(crate) fn set(&mut self, due_ns: u64, of: K, is_live: impl Fn(u64, K) -> bool) {
        if self.heap.len() >= self.entries_max {
            self.heap.retain(|&Reverse((due_ns, of))| is_live(due_ns, of));
        }
        self.heap.push(Reverse((due_ns, of)));
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.heap.clear();
    }

    /// When the first entry is due; `u64::MAX` without entries.
    pub(crate) fn next_ns(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |&Reverse((due_ns, _))| due_ns)
    }

    /// Takes the first entry out if it is due.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Option<(u64, K)> {
        if self.next_ns() > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_io::SocketId;

    use super::*;

    #[test]
    fn earliest_first_and_only_when_due() {
        let mut timers = Timers::new(4);
        assert_eq!(timers.next_ns(), u64::MAX);
        for (due_ns, socket) in [(30, 1), (10, 2), (20, 3)] {
            timers.set(due_ns, SocketId(socket), |_, _| true);
        }
        assert_eq!(timers.next_ns(), 10);
        assert_eq!(timers.take_due(9), None);
        assert_eq!(timers.take_due(20), Some((10, SocketId(2))));
        assert_eq!(timers.take_due(20), Some((20, SocketId(3))));
        assert_eq!(timers.take_due(20), None);
        assert_eq!(timers.take_due(u64::MAX), Some((30, SocketId(1))));
        assert_eq!(timers.take_due(u64::MAX), None);
    }

    #[test]
    fn stale_entries_do_not_pile_up() {
        let mut timers = Timers::new(4);
        // Connections come, are given an hour and go: only the newest timer of each is live.
        for round in 0..10_000u64 {
            let socket = SocketId((round % 4) as u32);
            timers.set(round, socket, |due_ns, _| due_ns + 4 >= round);
            assert!(timers.heap.len() <= 24);
        }
        assert!((0..4).all(|i| timers.heap.iter().any(|e| e.0.0 == 9_999 - i)));
    }
}
