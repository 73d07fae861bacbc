//! What is still to be delivered to one receiver, in order, with a limit.

use std::collections::VecDeque;

/// The most batches that wait: ten minutes at one a second.
pub(crate) const BATCHES_MAX: usize = 600;

/// Batches that wait for their delivery, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    batches: VecDeque<Vec<u8>>,
}

impl Backlog {
    /// Adds a batch. When there are too many, the oldest is dropped: whether one was.
    pub(crate) fn push(&mut self, batch: Vec<u8>) -> bool {
        self.batches.push_back(batch);
        let is_full = self.batches.len() > BATCHES_MAX;
        if is_full {
            self.batches.pop_front();
        }
        is_full
    }

    /// The batch that is next.
    pub(crate) fn first(&self) -> Option<&[u8]> {
        self.batches.front().map(Vec::as_slice)
    }

    /// The batch that is next was dealt with.
    pub(crate) fn pop(&mut self) {
        self.batches.pop_front();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.batches.len()
    }
}
