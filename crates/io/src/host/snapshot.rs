//! Every counter of the host that can explain a bad measurement, read at once. The difference of a
//! reading at the start of the measured part and one at its end says what happened in between.

use rustix::time::{ClockId, clock_gettime};

use super::{CpuTicks, TcpCounters, Throttling};

/// A reading. Takes some 100 µs: not for the path of a request.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    ticks: Option<CpuTicks>,
    throttling: Option<Throttling>,
    tcp: Option<TcpCounters>,
    wall_ahead_ns: i128,
}

/// What happened between two readings. What the host does not count is nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Happened {
    /// Share of the CPUs' time that a hypervisor took, 0 to 1.
    pub steal_share: f64,
    /// How CPU quotas stopped this process.
    pub throttling: Throttling,
    /// What TCP did in this network namespace.
    pub tcp: TcpCounters,
    /// How far the wall clock was moved against the monotonic one, ns; negative: back.
    pub clock_step_ns: i64,
}

impl Snapshot {
    /// Reads it all.
    #[must_use]
    pub fn read() -> Self {
        Self {
            ticks: CpuTicks::read(),
            throttling: Throttling::read(),
            tcp: TcpCounters::read(),
            wall_ahead_ns: ns(ClockId::Realtime) - ns(ClockId::Monotonic),
        }
    }

    /// What happened since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Happened {
        let both = |of: fn(&Self) -> Option<TcpCounters>| of(self).zip(of(earlier));
        let stepped_ns = self.wall_ahead_ns - earlier.wall_ahead_ns;
        Happened {
            steal_share: self
                .ticks
                .zip(earlier.ticks)
                .map_or(0.0, |(now, before)| now.steal_share_since(&before)),
            throttling: self
                .throttling
                .zip(earlier.throttling)
                .map_or_else(Throttling::default, |(now, before)| now.since(&before)),
            tcp: both(|snapshot| snapshot.tcp)
                .map_or_else(TcpCounters::default, |(now, before)| now.since(&before)),
            clock_step_ns: i64::try_from(stepped_ns).unwrap_or(i64::MAX),
        }
    }
}

fn ns(clock: ClockId) -> i128 {
    let time = clock_gettime(clock);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_happened() {
        let before = Snapshot {
            ticks: Some(CpuTicks { steal: 1, idle: 0, total: 100 }),
            throttling: None,
            tcp: Some(TcpCounters { resent: 4, ..TcpCounters::default() }),
            wall_ahead_ns: 1_000,
        };
        assert_eq!(before.since(&before), Happened::default());
        let after = Snapshot {
            ticks: Some(CpuTicks { steal: 26, idle: 0, total: 200 }),
            // Not told before, so nothing can be said of the time between.
            throttling: Some(Throttling { periods: 3, throttled_ns: 7 }),
            tcp: Some(TcpCounters { resent: 6, ..TcpCounters::default() }),
            wall_ahead_ns: -4_999_999_000,
        };
        let want = Happened {
            steal_share: 0.25,
            throttling: Throttling::default(),
            tcp: TcpCounters { resent: 2, ..TcpCounters::default() },
            clock_step_ns: -5_000_000_000,
        };
        assert_eq!(after.since(&before), want);
    }
}
