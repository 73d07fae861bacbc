//! What a worker's thread could do with its time: how long it was busy, and how long it was kept
//! from running.
//!
//! Only sums and stretches are here. What they say of the figures is judged where the run ends.

use plimsoll_core::verdict::Pause;
use plimsoll_io::Standstill;

/// How many standstills are kept one by one. Those after them are in the sum.
const STANDSTILLS_KEPT: usize = 1000;

/// Of one worker, since the scenarios started.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    /// How long it worked or wanted to, and did not wait for events, ns.
    pub busy_ns: u64,
    /// How long it was ready to run and had no CPU, ns.
    pub run_delay_ns: u64,
    /// The first stretches in which it did not run.
    standstills: Vec<Standstill>,
    /// How long it did not run in all of them, ns.
    pub stood_still_ns: u64,
}

impl Pace {
    /// The stretches that are kept, on the driver's clock.
    pub fn pauses(&self) -> impl Iterator<Item = Pause> {
        let pause = |it: &Standstill| Pause { at_ns: it.at_ns, for_ns: it.for_ns };
        self.standstills.iter().map(pause)
    }

    /// It did not run for a stretch.
    #[cold]
    pub(super) fn note(&mut self, standstill: Standstill) {
        self.stood_still_ns = self.stood_still_ns.saturating_add(standstill.for_ns);
        if self.standstills.len() < STANDSTILLS_KEPT {
            self.standstills.push(standstill);
        }
    }
}
