//! Requests that a worker of a closed loop took and could not send, for any worker to take.
//!
//! They keep their numbers, so that those of the run have no gap.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a place that say how many requests there are; those above are the first one's number.
const COUNT_BITS: u32 = 5;

/// The most requests in one place.
pub(super) const RETURNED_MAX: u64 = (1 << COUNT_BITS) - 1;

/// Blocks of requests that were given back.
#[derive(Debug)]
pub(super) struct Returned {
    /// 0: free. One for each worker is enough: none takes a block while it sees one here.
    places: Box<[AtomicU64]>,
}

impl Returned {
    pub(super) fn new(workers: u32) -> Self {
        Self { places: (0..workers).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Puts requests here, [`RETURNED_MAX`] at most. `false`: there is no room.
    pub(super) fn put(&self, numbers: &Range<u64>) -> bool {
        let count = numbers.end - numbers.start;
        debug_assert!((1..=RETURNED_MAX).contains(&count));
        let packed = numbers.start << COUNT_BITS | count;
        let put = |place: &AtomicU64| {
            place.compare_exchange(0, packed, Ordering::Release, Ordering::Relaxed).is_ok()
        };
        self.places.iter().any(put)
    }

    /// Takes one request: its number.
    pub(super) fn take(&self) -> Option<u64> {
        self.places.iter().find_map(|place| {
            let rest = |packed: u64| match packed & RETURNED_MAX {
                0 => None,
                1 => Some(0),
                _ => Some(packed + (1 << COUNT_BITS) - 1),
            };
            let taken = place.fetch_update(Ordering::AcqRel, Ordering::Relaxed, rest);
            taken.ok().map(|packed| packed >> COUNT_BITS)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.iter().all(|place| place.load(Ordering::Acquire) == 0)
    }
}
