//! What a run tells while it goes on: lines of its log, and samples for outputs. Both go through
//! bounded channels to the caller's threads. A worker never waits for them: what does not fit is
//! counted as lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use plimsoll_dialect::k6::metrics::{MetricId, TagSet};
use plimsoll_dialect::k6::output::Level;

/// The most lines that wait to be written.
const LINES_MAX: usize = 10_000;

/// The most batches of samples that wait to be written, each of up to [`BATCH_POINTS`].
const BATCHES_MAX: usize = 2_000;

/// How many samples go on together.
pub(super) const BATCH_POINTS: usize = 512;

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When, ns since 1970.
    pub wall_ns: u64,
    /// How urgent it is.
    pub level: Level,
    /// What it says.
    pub message: String,
    /// Names and values beside it.
    pub fields: Vec<(&'static str, String)>,
    /// Whether the script has written it with `console`.
    pub is_console: bool,
}

/// Takes lines of the log.
#[derive(Debug, Clone)]
pub struct Lines {
    /// Of places for all that may wait, which are made at once: small ones.
    sender: SyncSender<Box<LogLine>>,
    lost: Arc<AtomicU64>,
}

impl Lines {
    /// Lines, and where they come out.
    #[must_use]
    pub fn new() -> (Self, Receiver<Box<LogLine>>) {
        let (sender, receiver) = sync_channel(LINES_MAX);
        (Self { sender, lost: Arc::default() }, receiver)
    }

    /// Takes a line if there is room.
    pub fn offer(&self, line: LogLine) {
        if self.sender.try_send(Box::new(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a line, and waits for room. Not for workers.
    pub fn put(&self, line: LogLine) {
        // A reader that has gone away has read enough.
        let _ = self.sender.send(Box::new(line));
    }

    /// How many lines there was no room for.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// A sample for outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The metric, by its number in the test's registry.
    pub metric: MetricId,
    /// When, ns since 1970.
    pub wall_ns: u64,
    /// Its value, in k6's unit.
    pub value: f64,
    /// Its tags.
    pub tags: TagSet,
    /// The VU, from 1; `None` if it is not one of a scenario.
    pub vu: Option<u64>,
    /// The iteration of a VU; 0 in `setup` and `teardown`.
    pub iteration: Option<u64>,
}

/// Takes samples.
#[derive(Debug, Clone)]
pub struct Points {
    sender: SyncSender<Vec<Point>>,
    lost: Arc<AtomicU64>,
}

impl Points {
    /// Samples, and where they come out.
    #[must_use]
    pub fn new() -> (Self, Receiver<Vec<Point>>) {
        let (sender, receiver) = sync_channel(BATCHES_MAX);
        (Self { sender, lost: Arc::default() }, receiver)
    }

    /// Takes a batch if there is room.
    pub(super) fn offer(&self, batch: Vec<Point>) {
        let count = batch.len() as u64;
        if self.sender.try_send(batch).is_err() {
            self.lost.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// How many samples there was no room for.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
