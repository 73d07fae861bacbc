//! How long streams idle on connections that are to end: such a connection takes no further request
//! and is opened again when the last one on it has ended. A closed loop has fewer requests in
//! flight meanwhile than it was asked to have.

/// The idle streams of one connection.
#[derive(Debug, Default)]
pub(crate) struct Draining {
    since_ns: u64,
    idle: u64,
}

impl Draining {
    /// Notes that `idle` streams idle from `at_ns` on. Gives how long those before them did, summed
    /// up over the streams, as far as that is after `from_ns`.
    pub(crate) fn note(&mut self, at_ns: u64, idle: u64, from_ns: u64) -> u64 {
        let before = std::mem::replace(self, Self { since_ns: at_ns, idle });
        at_ns.saturating_sub(before.since_ns.max(from_ns)).saturating_mul(before.idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_each_idle_stream_counts_from_the_measured_part_on() {
        let mut draining = Draining::default();
        // The number of idle streams from each moment on, and what it adds if the measured part
        // begins at 15.
        for (at_ns, idle, added) in [(10, 0, 0), (12, 3, 0), (20, 5, 15), (21, 7, 5), (31, 0, 70)] {
            assert_eq!(draining.note(at_ns, idle, 15), added, "{at_ns}");
        }
        assert_eq!(draining.note(1000, 0, 15), 0);
    }
}
