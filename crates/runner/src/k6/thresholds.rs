//! Thresholds while a run goes on: workers hand over what they have counted each second, and it is
//! judged every two. A threshold that ends the run ends it from here.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use plimsoll_dialect::k6::ExitCode;
use plimsoll_dialect::k6::defaults::THRESHOLDS_PERIOD;
use plimsoll_dialect::k6::metrics::Book;
use plimsoll_dialect::k6::threshold::Thresholds;
use plimsoll_io::clock;

use super::handle::Handle;

/// Adds up what workers hand over until the last has ended, and judges it meanwhile. Gives back
/// the sum and the thresholds, and the names of the metrics whose thresholds ended the run.
pub(super) fn watch(
    mut whole: Book,
    mut thresholds: Thresholds,
    parts: &Receiver<Book>,
    handle: &Handle,
) -> (Book, Thresholds, Vec<String>) {
    let period_ns = THRESHOLDS_PERIOD.unsigned();
    let mut next_ns = clock::now_ns() + period_ns;
    let mut ended_by = Vec::new();
    loop {
        let wait_ns = next_ns.saturating_sub(clock::now_ns());
        match parts.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(part) => whole.merge(&part),
            Err(RecvTimeoutError::Disconnected) => return (whole, thresholds, ended_by),
            Err(RecvTimeoutError::Timeout) => {
                next_ns = clock::now_ns() + period_ns;
                let run_ns = handle.run_ns(clock::now_ns());
                if run_ns == 0 || !ended_by.is_empty() {
                    continue;
                }
                if thresholds.evaluate(&whole, run_ns, false).aborts {
                    let failed = thresholds.failed(whole.registry());
                    ended_by = failed.into_iter().map(str::to_owned).collect();
                    handle.end(ExitCode::Thresholds, "a threshold ended the run");
                }
            }
        }
    }
}
