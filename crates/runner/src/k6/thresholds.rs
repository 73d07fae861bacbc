//! Thresholds while a run goes on: workers hand over what they have counted each second, and it is
//! judged every two. A threshold that ends the run ends it from here.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use plimsoll_dialect::k6::ExitCode;
use plimsoll_dialect::k6::defaults::THRESHOLDS_PERIOD;
use plimsoll_dialect::k6::metrics::Book;
use plimsoll_io::clock;

use super::handle::Handle;

/// Adds what workers hand over to the figures of the run until the last has ended, and judges them
/// meanwhile. Gives the names of the metrics whose thresholds ended the run.
pub(super) fn watch(parts: &Receiver<Book>, handle: &Handle) -> Vec<String> {
    let period_ns = THRESHOLDS_PERIOD.unsigned();
    let mut next_ns = clock::now_ns() + period_ns;
    let mut ended_by = Vec::new();
    loop {
        let wait_ns = next_ns.saturating_sub(clock::now_ns());
        match parts.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(part) => {
                if let Some(figures) = &mut *handle.figures() {
                    figures.book.merge(&part);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return ended_by,
            Err(RecvTimeoutError::Timeout) => {
                next_ns = clock::now_ns() + period_ns;
                if ended_by.is_empty() {
                    ended_by = judge(handle);
                }
            }
        }
    }
}

/// Judges the figures, and ends the run if a threshold wants that; gives the names of the metrics.
fn judge(handle: &Handle) -> Vec<String> {
    let run_ns = handle.run_ns(clock::now_ns());
    let mut figures = handle.figures();
    let Some(figures) = figures.as_mut().filter(|_| run_ns > 0) else { return Vec::new() };
    if !figures.thresholds.evaluate(&figures.book, run_ns, false).aborts {
        return Vec::new();
    }
    handle.end(ExitCode::Thresholds, "a threshold ended the run");
    let failed = figures.thresholds.failed(figures.book.registry());
    failed.into_iter().map(str::to_owned).collect()
}
