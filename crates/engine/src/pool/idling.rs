//! How long streams idle that a closed loop was asked to keep busy: because their connection is to
//! end and takes no further request, or because the server has lowered its limit. The loop has
//! fewer requests in flight meanwhile.

/// The idle streams of one connection.
#[derive(Debug, Default)]
pub(crate) struct Idling {
    since_ns: u64,
    idle: u64,
}

impl Idling {
    /// Notes that `idle` streams idle from `at_ns` on. Gives how long those before them did, summed
    /// up over the streams, as far as that is after `from_ns`.
    pub(crate) fn note(&mut self, at_ns: u64, idle: u64, from_ns: u64) -> u64 {
        let before = std::mem::replace(self, Self { since_ns: at_ns, idle });
        at_ns.saturating_sub(before.since_ns.max(from_ns)).saturating_mul(before.idle)
    }
}

/// The streams of a user's connection that may not be used any more, on it or on one before it.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    idling: Idling,
    /// The most that could be used at a time since `from_ns`.
    slots_most: u64,
}

impl Lowered {
    /// Notes that from `at_ns` on `slots` streams can be used, and that `open` are. Gives how long
    /// those idled that could be used before, summed up over the streams. What was allowed before
    /// `from_ns` is not compared: a warm-up is there for things to settle.
    #[inline]
    pub(crate) fn note(&mut self, at_ns: u64, slots: u64, open: u64, from_ns: u64) -> u64 {
        let is_first = self.idling.since_ns <= from_ns;
        self.slots_most = if is_first { slots } else { self.slots_most.max(slots) };
        let is_lower = slots < self.slots_most;
        let idle = if is_lower { self.slots_most.saturating_sub(slots.max(open)) } else { 0 };
        self.idling.note(at_ns, idle, from_ns)
    }

    /// The connection is closed at `at_ns`. What the next one is allowed is compared with what this
    /// one was; until then no stream counts as idle.
    pub(crate) fn close(&mut self, at_ns: u64) {
        self.idling = Idling { since_ns: at_ns, idle: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_each_idle_stream_counts_from_the_measured_part_on() {
        let mut idling = Idling::default();
        // The number of idle streams from each moment on, and what it adds if the measured part
        // begins at 15.
        for (at_ns, idle, added) in [(10, 0, 0), (12, 3, 0), (20, 5, 15), (21, 7, 5), (31, 0, 70)] {
            assert_eq!(idling.note(at_ns, idle, 15), added, "{at_ns}");
        }
        assert_eq!(idling.note(1000, 0, 15), 0);
    }

    #[test]
    fn a_lower_limit_is_compared_with_the_highest_of_the_measured_part() {
        let mut lowered = Lowered::default();
        for (why, at_ns, slots, open, added) in [
            ("the measured part begins at 10", 5, 50, 50, 0),
            ("lowered in the warm-up", 9, 20, 20, 0),
            ("and in force since", 12, 20, 20, 0),
            ("lowered with all open", 14, 5, 20, 0),
            ("some have ended", 16, 5, 8, 0),
            ("all that were too many have ended", 20, 5, 3, 4 * 12),
            ("raised", 30, 20, 5, 10 * 15),
            ("raised above all before", 40, 30, 20, 0),
            ("none allowed", 50, 0, 0, 0),
            ("some again", 60, 10, 0, 10 * 30),
            ("the last", 70, 10, 10, 10 * 20),
        ] {
            assert_eq!(lowered.note(at_ns, slots, open, 10), added, "{why}");
        }
        lowered.close(80);
        assert_eq!(
            lowered.note(90, 10, 10, 10),
            0,
            "the next connection, with fewer than the first"
        );
        assert_eq!(lowered.note(91, 10, 10, 10), 20, "which counts from its first response on");
    }
}
