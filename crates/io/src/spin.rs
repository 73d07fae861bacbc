//! When a driver that waits for a deadline spins instead of sleeping. A sleeping CPU needs time to
//! wake up, and a request that is due meanwhile is late by that time.
//!
//! The time depends on the host and, on a virtual machine, on its neighbours. So it is learned: the
//! margin before a deadline follows how late earlier sleeps ended. Only the arithmetic is here;
//! each driver sleeps and polls by itself.

use crate::driver::Spin;

/// The least that is spun before a deadline, ns.
const MARGIN_MIN_NS: u64 = 50_000;
/// The most: what wakes up later than this was taken away, and spinning does not hold it.
const MARGIN_MAX_NS: u64 = 500_000;
/// How much of the margin is given up with each sleep that ends in time.
const MARGIN_DECAY: u64 = 128;
/// How long the driver goes on polling after work, ns: the answer of a fast server is on its way.
const LINGER_NS: u64 = 100_000;

/// The longest time between two looks at the clock of a thread that polls: system calls and
/// interrupts take less, being without a CPU takes more.
const LOOK_NS_MAX: u64 = 50_000;

/// How a driver spins, and how long it has.
#[derive(Debug)]
pub(crate) struct Spinning {
    spin: Spin,
    margin_ns: u64,
    spun_ns: u64,
}

impl Spinning {
    pub(crate) fn new(spin: Spin) -> Self {
        Self { spin, margin_ns: MARGIN_MIN_NS, spun_ns: 0 }
    }

    pub(crate) fn set(&mut self, spin: Spin) {
        self.spin = spin;
    }

    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.spin == Spin::Off
    }

    /// For a wait that begins now: until when to poll, and until when to sleep after that. What is
    /// left to the deadline is polled through.
    #[inline]
    pub(crate) fn split(&self, now_ns: u64, until_ns: u64) -> (u64, u64) {
        match self.spin {
            _ if until_ns == u64::MAX => (now_ns, until_ns),
            Spin::Off => (now_ns, until_ns),
            Spin::On => (until_ns, until_ns),
            Spin::Auto => {
                let sleep_until_ns = until_ns.saturating_sub(self.margin_ns);
                ((now_ns + LINGER_NS).min(until_ns), sleep_until_ns)
            }
        }
    }

    /// A sleep that was to end at `until_ns` ended at `now_ns`, and not for an event.
    pub(crate) fn slept(&mut self, until_ns: u64, now_ns: u64) {
        let late_ns = now_ns.saturating_sub(until_ns);
        // With a quarter more than it took, the next one as late as this is in time.
        let needed_ns = late_ns + late_ns / 4;
        let kept_ns = self.margin_ns - self.margin_ns / MARGIN_DECAY;
        self.margin_ns = needed_ns.max(kept_ns).clamp(MARGIN_MIN_NS, MARGIN_MAX_NS);
    }

    /// While polling, the clock was looked at twice in a row. A thread that only polls looks again
    /// at once: if it did not, it had lost the CPU, and was not spinning.
    #[inline]
    pub(crate) fn looked(&mut self, before_ns: u64, now_ns: u64) {
        let for_ns = now_ns - before_ns;
        if for_ns <= LOOK_NS_MAX {
            self.spun_ns += for_ns;
        }
    }

    pub(crate) fn spun_ns(&self) -> u64 {
        self.spun_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_split_into_polling_sleeping_and_polling() {
        let until_ns = 10_000_000;
        for (spin, polled_ns, slept_ns) in [
            (Spin::Off, 1000, until_ns),
            (Spin::On, until_ns, until_ns),
            (Spin::Auto, 1000 + LINGER_NS, until_ns - MARGIN_MIN_NS),
        ] {
            assert_eq!(Spinning::new(spin).split(1000, until_ns), (polled_ns, slept_ns));
            assert_eq!(Spinning::new(spin).split(1000, u64::MAX), (1000, u64::MAX));
        }
        let (polled_ns, slept_ns) = Spinning::new(Spin::Auto).split(1000, 2000);
        assert_eq!((polled_ns, slept_ns), (2000, 0), "nothing left to sleep");
    }

    #[test]
    fn the_margin_follows_how_late_sleeps_end() {
        let mut spinning = Spinning::new(Spin::Auto);
        let margin_ns = |spinning: &Spinning| 10_000_000 - spinning.split(0, 10_000_000).1;
        spinning.slept(1000, 1000 + 20_000);
        assert_eq!(margin_ns(&spinning), MARGIN_MIN_NS);
        spinning.slept(1000, 1000 + 320_000);
        assert_eq!(margin_ns(&spinning), 400_000);
        (0..100).for_each(|_| spinning.slept(1000, 1001));
        assert!((150_000..200_000).contains(&margin_ns(&spinning)), "half a life later");
        (0..1000).for_each(|_| spinning.slept(1000, 1001));
        assert_eq!(margin_ns(&spinning), MARGIN_MIN_NS);
        spinning.slept(1000, 900_000_000);
        assert_eq!(margin_ns(&spinning), MARGIN_MAX_NS);
    }
    #[test]
    fn time_without_a_cpu_is_no_spinning() {
        let mut spinning = Spinning::new(Spin::On);
        let looks_ns = [0, 40, 80, 80 + LOOK_NS_MAX, 5_000_000, 5_000_030];
        for pair in looks_ns.windows(2) {
            spinning.looked(pair[0], pair[1]);
        }
        assert_eq!(spinning.spun_ns(), 80 + LOOK_NS_MAX + 30);
    }
}
