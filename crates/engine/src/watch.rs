//! Watches the host during a run: what it did to the tester, and whether the tester's spinning
//! takes a CPU that other processes need.
//!
//! A worker that spins is never late because it had to be woken, but it occupies a CPU. As long as
//! other processes make do with the other CPUs, spinning costs nothing, and the workers spin for
//! the whole run. Once the others need more for two seconds in a row, the workers sleep until the
//! end. They don't start to spin again: the two kinds of waiting give figures that cannot be
//! compared.

use plimsoll_io::host::{CpuTicks, Happened, Rusage, Snapshot};

/// Between two looks at who uses the CPUs, ns.
const LOOK_NS: u64 = 1_000_000_000;
/// How many looks in a row have to find too little left.
const LOOKS: u32 = 2;
/// Of one CPU: what the others may use beyond what spinning leaves them. Every system has some
/// work of its own, and a server that keeps one CPU busy needs no second one.
const BESIDES_CPUS: f64 = 0.15;

/// Watches from when it begins, at the start of the measured part.
pub(crate) struct Watch {
    start: Snapshot,
    /// Where workers spin of themselves.
    crowd: Option<Crowd>,
    measured_ns: u64,
    gave_way_ns: Option<u64>,
}

impl Watch {
    /// Begins. With the CPUs that the workers may use and their number if they spin of themselves.
    pub(crate) fn begin(measured_ns: u64, now_ns: u64, spinning: Option<(&[u32], u32)>) -> Self {
        let crowd = spinning.and_then(|(cpus, workers)| Crowd::new(cpus, workers, now_ns));
        Self { start: Snapshot::read(), crowd, measured_ns, gave_way_ns: None }
    }

    /// Looks who uses the CPUs, once a second at most. True when the workers are to stop spinning,
    /// once.
    pub(crate) fn look(&mut self, now_ns: u64) -> bool {
        if !self.crowd.as_mut().is_some_and(|crowd| crowd.look(now_ns)) {
            return false;
        }
        self.crowd = None;
        self.gave_way_ns = Some(now_ns.saturating_sub(self.measured_ns));
        true
    }

    /// When the workers were told to stop spinning, ns from the start of the measured part.
    pub(crate) fn gave_way_ns(&self) -> Option<u64> {
        self.gave_way_ns
    }

    /// What happened up to now.
    pub(crate) fn happened(&self) -> Happened {
        Snapshot::read().since(&self.start)
    }
}

/// Who uses the CPUs that the workers may use.
struct Crowd {
    cpus: Vec<u32>,
    workers: u32,
    looked_ns: u64,
    ticks: CpuTicks,
    own_us: u64,
    /// Looks in a row that found too little left.
    crowded: u32,
}

impl Crowd {
    /// `None` where the system does not tell who uses the CPUs.
    fn new(cpus: &[u32], workers: u32, now_ns: u64) -> Option<Self> {
        Some(Self {
            ticks: CpuTicks::of(cpus)?,
            cpus: cpus.to_vec(),
            workers,
            looked_ns: now_ns,
            own_us: Rusage::of_process().cpu_us(),
            crowded: 0,
        })
    }

    /// Whether others have needed more than spinning leaves them for some looks.
    fn look(&mut self, now_ns: u64) -> bool {
        let elapsed_ns = now_ns.saturating_sub(self.looked_ns);
        if elapsed_ns < LOOK_NS {
            return false;
        }
        let Some(ticks) = CpuTicks::of(&self.cpus) else { return false };
        let own_us = Rusage::of_process().cpu_us();
        let cpus = self.cpus.len() as f64;
        let busy_cpus = ticks.busy_share_since(&self.ticks) * cpus;
        let own_cpus = (own_us - self.own_us) as f64 * 1e3 / elapsed_ns as f64;
        (self.looked_ns, self.ticks, self.own_us) = (now_ns, ticks, own_us);
        let is_crowded = need_more(busy_cpus - own_cpus, cpus, f64::from(self.workers));
        self.crowded = if is_crowded { self.crowded + 1 } else { 0 };
        self.crowded >= LOOKS
    }
}

/// Whether others that use so much need more than spinning workers leave them. All in CPUs.
fn need_more(others: f64, cpus: f64, workers: f64) -> bool {
    others > (cpus - workers).max(0.0) + BESIDES_CPUS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_need_more_when_they_use_more_than_is_left() {
        for (others, cpus, workers, want) in [
            // A server on the other CPU, idle, busy, and kept from a second one.
            (0.05, 2.0, 1.0, false),
            (1.05, 2.0, 1.0, false),
            (1.5, 2.0, 1.0, true),
            // The tester is tied to one CPU, and has it or shares it.
            (0.02, 1.0, 1.0, false),
            (0.5, 1.0, 1.0, true),
            (3.0, 8.0, 4.0, false),
            (5.0, 8.0, 4.0, true),
            // Ticks are coarse: others cannot have used less than nothing.
            (-0.02, 1.0, 1.0, false),
        ] {
            assert_eq!(need_more(others, cpus, workers), want, "{others} {cpus} {workers}");
        }
    }

    #[test]
    fn a_look_needs_a_second_and_an_idle_watch_never_gives_way() {
        let mut watch = Watch::begin(500, 500, None);
        assert!(!watch.look(5 * LOOK_NS));
        assert_eq!(watch.gave_way_ns(), None);
        let ticks = CpuTicks { idle: 0, steal: 0, total: 0 };
        let mut crowd =
            Crowd { cpus: vec![], workers: 1, looked_ns: 7, ticks, own_us: 0, crowded: LOOKS };
        assert!(!crowd.look(7 + LOOK_NS - 1), "too soon to look again");
    }
}
