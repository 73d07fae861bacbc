//! What a run tells while it goes on: lines of its log, and samples for outputs. Both go through
//! bounded channels to the caller's threads. Nothing is left out: a worker waits while a channel is
//! full, and how long it did is counted, since load that waits is not the load that was asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use plimsoll_dialect::k6::metrics::{MetricId, TagSet};
use plimsoll_dialect::k6::output::Level;
use plimsoll_io::clock;
use plimsoll_script::js::Metadata;

/// The most lines that wait to be written.
const LINES_MAX: usize = 10_000;

/// The most batches of samples that wait to be written, each of up to [`BATCH_POINTS`].
const BATCHES_MAX: usize = 2_000;

/// How many samples go on together.
pub(super) const BATCH_POINTS: usize = 512;

/// The end of a bounded channel that things go into.
#[derive(Debug)]
struct Inlet<T> {
    sender: SyncSender<T>,
    /// How long threads have waited for room, added up, ns.
    waited_ns: Arc<AtomicU64>,
}

impl<T> Clone for Inlet<T> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), waited_ns: Arc::clone(&self.waited_ns) }
    }
}

impl<T> Inlet<T> {
    fn new(room: usize) -> (Self, Receiver<T>) {
        let (sender, receiver) = sync_channel(room);
        (Self { sender, waited_ns: Arc::default() }, receiver)
    }

    /// Waits for room, and counts the wait. A receiver that is gone has failed, and says so itself.
    fn put(&self, it: T) {
        if let Err(TrySendError::Full(it)) = self.sender.try_send(it) {
            let began_ns = clock::now_ns();
            let _ = self.sender.send(it);
            let waited_ns = clock::now_ns().saturating_sub(began_ns);
            self.waited_ns.fetch_add(waited_ns, Ordering::Relaxed);
        }
    }

    fn waited_ns(&self) -> u64 {
        self.waited_ns.load(Ordering::Relaxed)
    }
}

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

/// Takes lines of the log. They are boxed: the channel has room for all of them from the start.
#[derive(Debug, Clone)]
pub struct Lines(Inlet<Box<LogLine>>);

impl Lines {
    /// Lines, and where they come out.
    #[must_use]
    pub fn new() -> (Self, Receiver<Box<LogLine>>) {
        let (lines, receiver) = Inlet::new(LINES_MAX);
        (Self(lines), receiver)
    }

    /// Takes a line, and waits for room.
    pub fn put(&self, line: LogLine) {
        self.0.put(Box::new(line));
    }

    /// How long threads have waited for room, added up, ns.
    #[must_use]
    pub fn waited_ns(&self) -> u64 {
        self.0.waited_ns()
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
    /// What the script says of it; `None` for nothing.
    pub metadata: Option<Metadata>,
    /// The VU, from 1; `None` if it is not one of a scenario.
    pub vu: Option<u64>,
    /// The iteration of a VU; 0 in `setup` and `teardown`.
    pub iteration: Option<u64>,
}

/// Takes samples.
#[derive(Debug, Clone)]
pub struct Points(Inlet<Vec<Point>>);

impl Points {
    /// Samples, and where they come out.
    #[must_use]
    pub fn new() -> (Self, Receiver<Vec<Point>>) {
        let (points, receiver) = Inlet::new(BATCHES_MAX);
        (Self(points), receiver)
    }

    /// Takes a batch, and waits for room.
    pub(super) fn put(&self, batch: Vec<Point>) {
        self.0.put(batch);
    }

    /// How long threads have waited for room, added up, ns.
    #[must_use]
    pub fn waited_ns(&self) -> u64 {
        self.0.waited_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize) -> LogLine {
        let (message, fields) = (number.to_string(), Vec::new());
        LogLine { wall_ns: 0, level: Level::Info, message, fields, is_console: true }
    }

    #[test]
    fn lines_wait_for_room() {
        let (lines, receiver) = Lines::new();
        (0..LINES_MAX).for_each(|number| lines.put(line(number)));
        assert_eq!(lines.waited_ns(), 0);
        let writer = lines.clone();
        let writer = std::thread::spawn(move || writer.put(line(LINES_MAX)));
        let taken: Vec<Box<LogLine>> = receiver.iter().take(LINES_MAX + 1).collect();
        writer.join().expect("it ends");
        assert!(taken.iter().enumerate().all(|(number, taken)| **taken == line(number)));
    }

    #[test]
    fn a_reader_that_has_gone_holds_up_nobody() {
        let (lines, receiver) = Lines::new();
        drop(receiver);
        (0..LINES_MAX * 2).for_each(|number| lines.put(line(number)));
        assert_eq!(lines.waited_ns(), 0);
    }
}
