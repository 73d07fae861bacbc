//! What a run tells while it goes on. The caller decides what is shown and what is written.

use plimsoll_core::live::LiveFigures;
use plimsoll_core::series::Point;
use plimsoll_engine::RunError;

/// What a run tells while it goes on, in this order. The caller takes it on the run's own thread,
/// which the load does not wait for.
#[derive(Debug)]
pub enum News<'a> {
    /// The first attempt to reach the server failed: the run waits for it.
    Waiting {
        /// How long at most, ns.
        limit_ns: u64,
        /// What the attempt met.
        reason: &'a RunError,
    },
    /// The server was waited for and is there.
    Waited {
        /// How long it took, ns.
        waited_ns: u64,
    },
    /// The connections are open (or were tried) and the load begins.
    Started(&'a LiveFigures),
    /// The measured part begins.
    Measuring(&'a LiveFigures),
    /// An interval of the measured part is over: the figures to its end, and the next point of the
    /// series with all that is known of it.
    Interval(&'a LiveFigures, &'a Point),
}
