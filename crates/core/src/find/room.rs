//! The room that a budget leaves for a probe. A hold is made shorter rather than left out. Until a
//! hold has shown something, time for another is kept. Closed searches and those for a rate share
//! these rules.

const SECOND_NS: u64 = 1_000_000_000;

/// What a probe takes beside its load: opening connections, the last responses, the figures.
pub(super) const BESIDE_NS: u64 = 2 * SECOND_NS;

/// What a cool-down takes at least.
pub(super) const COOL_DOWN_NS: u64 = 2 * SECOND_NS;

/// A shorter hold decides too little.
pub(super) const HOLD_NS_LEAST: u64 = 20 * SECOND_NS;

/// A shorter quick probe guides too little.
pub(super) const QUICK_NS_LEAST: u64 = 2 * SECOND_NS;

/// Holds that begin without the last quick probes begin this much lower: there may be time for one.
pub(super) const FURTHER_BELOW: f64 = 1.15;

/// With time for fewer of the shortest holds than this, the first begins lower.
const HOLDS_FEW: u64 = 3;

/// The time that is left, and what a probe takes of it beside its measuring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) left_ns: u64,
    pub(super) beside_ns: u64,
    /// Time to keep for another hold if there is any.
    pub(super) kept_ns: u64,
}

impl Room {
    /// How long a probe is measured, in whole seconds: up to `most_ns`, and `None` if there is no
    /// room for `least_ns`.
    pub(super) fn measure_ns(self, least_ns: u64, most_ns: u64) -> Option<u64> {
        let fitting_ns = self.left_ns.saturating_sub(self.beside_ns);
        let has_both = fitting_ns >= HOLD_NS_LEAST.saturating_add(self.kept_ns);
        let kept_ns = if has_both { self.kept_ns } else { 0 };
        let measure_ns = (fitting_ns - kept_ns) / SECOND_NS * SECOND_NS;
        Some(measure_ns.min(most_ns)).filter(|measure_ns| *measure_ns >= least_ns)
    }
}

/// Whether there is time for few holds, the shortest of which takes this long.
pub(super) fn is_short(left_ns: Option<u64>, hold_ns_least: u64) -> bool {
    left_ns.is_some_and(|left_ns| left_ns < hold_ns_least.saturating_mul(HOLDS_FEW))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_made_shorter_and_keep_time_for_another() {
        // Seconds that are left, beside it, kept, at least, at most; and how long it is measured.
        for (left_s, beside_s, kept_s, least_s, most_s, want) in [
            (100, 5, 0, 20, 60, Some(60)),
            (50, 5, 0, 20, 60, Some(45)),
            (25, 5, 0, 20, 60, Some(20)),
            (24, 5, 0, 20, 60, None),
            (70, 5, 27, 20, 60, Some(38)),
            // There is no time for another.
            (50, 5, 27, 20, 60, Some(45)),
            (0, 5, 0, 2, 60, None),
        ] {
            let [left_ns, beside_ns, kept_ns, least_ns, most_ns] =
                [left_s, beside_s, kept_s, least_s, most_s].map(|it: u64| it * SECOND_NS);
            let room = Room { left_ns, beside_ns, kept_ns };
            let found = room.measure_ns(least_ns, most_ns);
            assert_eq!(found, want.map(|it: u64| it * SECOND_NS), "{room:?}");
        }
    }
}
