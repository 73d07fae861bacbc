//! When a run's workers last made progress. A worker whose server is gone does not end while
//! another goes on: its users would vanish from the load, and nothing would tell.

use std::sync::atomic::{AtomicU64, Ordering};

/// How much later progress has to be to be told to the others. They look for a second at least.
const STEP_NS: u64 = 50_000_000;

/// The latest progress of any worker, ns on the drivers' clock.
#[derive(Debug, Default)]
pub(crate) struct Progress(AtomicU64);

impl Progress {
    /// A worker made progress at `at_ns`; it told of `told_ns` before.
    #[inline]
    pub(crate) fn note(&self, at_ns: u64, told_ns: &mut u64) {
        if at_ns >= told_ns.saturating_add(STEP_NS) {
            *told_ns = at_ns;
            self.0.fetch_max(at_ns, Ordering::Relaxed);
        }
    }

    /// When any of them last said so.
    pub(crate) fn latest_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
