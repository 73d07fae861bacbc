//! What k6 does not count: how late iterations started, how long they and their requests took from
//! when they were due, and what became of each.

use plimsoll_core::times::Times;
use plimsoll_core::verdict::Cause;
use plimsoll_engine::vu::Shortage;

/// The account of a run, or of a worker.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// From when an iteration was due to its start.
    pub lateness: Times,
    /// From when an iteration was due to its end; without those that were interrupted.
    pub iterations: Times,
    /// From when the script asked for a request to its end, the wait for a connection included.
    pub requests: Times,
    /// Iterations that ended as they should.
    pub completed: u64,
    /// Iterations that ended with an exception.
    pub failed: u64,
    /// Iterations that were cut off.
    pub interrupted: u64,
    /// Iterations that were to start and did not.
    pub dropped: u64,
    /// Requests with a whole response.
    pub responses: u64,
    /// Requests without one.
    pub errors: u64,
    /// Requests that the end of their iteration, of `setup` or of `teardown` cut off.
    pub cut_off: u64,
    /// Requests, calls and WebSockets that failed because this process had no file left.
    pub no_files: u64,
    /// Those that failed because this host had no local port left.
    pub no_ports: u64,
    /// How much of the time that the scenarios took the busiest worker was busy: it did not wait
    /// for events.
    pub busiest_share: f64,
    /// The share of the time in which the CPUs of the host were busy, with anybody's work, while
    /// the scenarios ran; `None` where the system does not tell.
    pub host_share: Option<f64>,
    /// What kept the tester from its work while the scenarios ran, worst first.
    pub causes: Vec<Cause>,
    /// How many workers there were.
    pub workers: u32,
    /// Iterations that the executors say they started.
    pub started: u64,
}

impl Account {
    /// That of a worker, with all of its memory.
    pub(super) fn ready() -> Self {
        let [lateness, iterations, requests] = [(); 3].map(|()| Times::ready());
        Self { lateness, iterations, requests, ..Self::default() }
    }

    /// Adds another worker's.
    pub(super) fn merge(&mut self, other: &Self) {
        self.lateness.merge(&other.lateness);
        self.iterations.merge(&other.iterations);
        self.requests.merge(&other.requests);
        self.completed += other.completed;
        self.failed += other.failed;
        self.interrupted += other.interrupted;
        self.dropped += other.dropped;
        self.responses += other.responses;
        self.errors += other.errors;
        self.cut_off += other.cut_off;
        self.no_files += other.no_files;
        self.no_ports += other.no_ports;
    }

    /// This host had nothing left for something.
    pub(super) fn short(&mut self, shortage: Shortage) {
        match shortage {
            Shortage::Files => self.no_files += 1,
            Shortage::Ports => self.no_ports += 1,
        }
    }

    /// Whether each iteration that was started has ended exactly once.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.started == self.completed + self.failed + self.interrupted
    }
}
