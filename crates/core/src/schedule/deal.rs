//! How a schedule's slots are dealt to workers: by connection, so that a worker has as many as its
//! connections carry.

/// Which slots of a schedule are a worker's: slot `i` is dealt to connection `i mod C`, and
/// connection `c` is worker `c mod W`'s. So a worker has slots as it has connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal {
    connections: u64,
    worker: u64,
    workers: u64,
}

impl Deal {
    /// The part of `worker`, of `workers`, in what is dealt to `connections` connections. With more
    /// workers than connections, the last workers have no part.
    #[must_use]
    pub fn new(connections: u32, worker: u32, workers: u32) -> Self {
        Self { connections: connections.into(), worker: worker.into(), workers: workers.into() }
    }

    /// The first of the worker's slots from `index` on.
    #[inline]
    #[must_use]
    pub fn next_from(&self, index: u64) -> Option<u64> {
        if self.worker >= self.connections {
            return None;
        }
        let connection = index % self.connections;
        let ahead = (self.worker + self.workers - connection % self.workers) % self.workers;
        if connection + ahead < self.connections {
            return index.checked_add(ahead);
        }
        index.checked_add(self.connections - connection + self.worker)
    }

    /// How many of the first `total` slots are the worker's.
    #[must_use]
    pub fn before(&self, total: u64) -> u64 {
        let of_first = |total| part(total, self.worker, self.workers);
        (total / self.connections).saturating_mul(of_first(self.connections))
            + of_first(total % self.connections)
    }

    /// The worker's slot that `count` slots of the worker lie before; for a worker that has a part.
    pub(super) fn nth(&self, count: u64) -> u64 {
        let of_round = part(self.connections, self.worker, self.workers);
        let connection = (count % of_round) * self.workers + self.worker;
        (count / of_round).saturating_mul(self.connections).saturating_add(connection)
    }
}

/// How many of `total` connections belong to `worker` of `workers`.
#[must_use]
pub fn share(total: u32, worker: u32, workers: u32) -> u32 {
    part(total.into(), worker.into(), workers.into()) as u32
}

/// How many of the numbers below `total` leave the remainder `worker` when divided by `workers`.
fn part(total: u64, worker: u64, workers: u64) -> u64 {
    total / workers + u64::from(worker < total % workers)
}
