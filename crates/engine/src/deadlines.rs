//! Deadlines of connections or users: when to look at each of them again, because a connect or a
//! wait has lasted long enough. There is one entry for each that waits for something.
//!
//! Absent on purpose: the timeouts of exchanges, whose order is that of their starts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When to look at which connection, or user: `Id` names it, and as a number counts from 0.
#[derive(Debug, Default)]
pub(crate) struct Deadlines<Id = u32> {
    heap: BinaryHeap<Reverse<(u64, Id)>>,
    /// For each of them, the earliest entry in the heap that stands for it.
    watched_ns: Vec<u64>,
}

impl<Id: Copy + Ord + Into<u32>> Deadlines<Id> {
    /// Of as many as `count`.
    pub(crate) fn new(count: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(2 * count), watched_ns: vec![u64::MAX; count] }
    }

    /// Makes room for as many as `count`.
    pub(crate) fn grow(&mut self, count: usize) {
        if self.watched_ns.len() < count {
            self.watched_ns.resize(count, u64::MAX);
        }
    }

    /// Looks at it at `at_ns` at the latest.
    #[inline]
    pub(crate) fn watch(&mut self, id: Id, at_ns: u64) {
        let watched_ns = &mut self.watched_ns[id.into() as usize];
        if at_ns < *watched_ns {
            *watched_ns = at_ns;
            self.heap.push(Reverse((at_ns, id)));
        }
    }

    /// When the next look is due; `u64::MAX` without one.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
    }

    /// One to look at now. The caller watches it again if it has another deadline.
    #[inline]
    pub(crate) fn pop(&mut self, now_ns: u64) -> Option<Id> {
        while self.next_ns() <= now_ns {
            let Reverse((at_ns, id)) = self.heap.pop()?;
            let watched_ns = &mut self.watched_ns[id.into() as usize];
            // An entry that was overtaken by an earlier one is stale.
            if at_ns == *watched_ns {
                *watched_ns = u64::MAX;
                return Some(id);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_deadline_of_each_connection_counts_once() {
        let mut deadlines = Deadlines::<u32>::new(3);
        deadlines.watch(0, 50);
        deadlines.watch(0, 30);
        deadlines.watch(0, 40);
        deadlines.watch(2, 20);
        assert_eq!(deadlines.next_ns(), 20);
        assert_eq!(deadlines.pop(19), None);
        assert_eq!(deadlines.pop(100), Some(2));
        assert_eq!(deadlines.pop(100), Some(0));
        assert_eq!(deadlines.pop(100), None);
        assert_eq!(deadlines.next_ns(), u64::MAX);
        deadlines.watch(0, 60);
        assert_eq!(deadlines.pop(60), Some(0));
    }
}
