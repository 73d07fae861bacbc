//! What is still to be delivered to one receiver, in order, with a limit.

use std::collections::VecDeque;

use crate::batch::Batch;

/// The most batches that wait: ten minutes at one a second.
const BATCHES_MAX: usize = 600;

/// The most bytes that wait.
const BYTES_MAX: usize = 64 << 20;

/// Batches that wait for their delivery, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    batches: VecDeque<Batch>,
    bytes: usize,
}

impl Backlog {
    /// Adds a batch. Drops the oldest while there are too many; gives how many.
    pub(crate) fn push(&mut self, batch: Batch) -> u64 {
        self.bytes += batch.bytes.len();
        self.batches.push_back(batch);
        let mut dropped = 0;
        while self.batches.len() > BATCHES_MAX || self.bytes > BYTES_MAX {
            self.pop();
            dropped += 1;
        }
        dropped
    }

    /// The batch that is next.
    pub(crate) fn first(&self) -> Option<&Batch> {
        self.batches.front()
    }

    /// The batch that is next was dealt with.
    pub(crate) fn pop(&mut self) {
        let batch = self.batches.pop_front();
        self.bytes -= batch.map_or(0, |batch| batch.bytes.len());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.batches.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_dropped_when_there_are_too_many_or_they_are_too_large() {
        let mut backlog = Backlog::default();
        let dropped: u64 = (0..=BATCHES_MAX).map(|at| backlog.push(vec![at as u8].into())).sum();
        let first = backlog.first().map(|batch| batch.bytes.as_slice());
        assert_eq!((dropped, backlog.len(), first), (1, BATCHES_MAX, Some(&[1][..])));
        assert_eq!(backlog.push(vec![0; BYTES_MAX - 1].into()), BATCHES_MAX as u64 - 1);
        assert_eq!((backlog.len(), backlog.bytes), (2, BYTES_MAX));
        backlog.pop();
        backlog.pop();
        assert_eq!((backlog.is_empty(), backlog.bytes), (true, 0));
    }
}
