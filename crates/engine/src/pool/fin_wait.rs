//! How long a worker waits for the FIN of a server that said it would close.
//!
//! A server that closes first keeps the port's TIME-WAIT on its side, where it costs no local port.
//! But a user that waits sends nothing, and some servers close late or leave the close to the
//! client. So waits may take only a small share of the users' time, apart from those that end at
//! once. Beyond that share a worker closes itself. A FIN that is lost or late now and then stays
//! within it, so such a server's closes still cost no local ports.

/// The longest wait for one FIN. It comes with the response, or as soon as the server closes.
const WAIT_NS: u64 = 10_000_000;

/// A FIN that comes within this time has come at once: that is what a close costs.
const AT_ONCE_NS: u64 = 500_000;

/// One in this many ns of the users' time may be spent waiting.
const TIME_PER_WAIT: u64 = 200;

/// A worker's waits.
#[derive(Debug, Default)]
pub(super) struct FinWait {
    /// How long users have waited, all together. A wait under way counts as if no FIN came.
    waited_ns: u64,
}

impl FinWait {
    /// Begins a wait and gives its end; `None`: there is to be none. `users_ns` is the time of all
    /// users since the load began, added up.
    pub(super) fn begin(&mut self, now_ns: u64, users_ns: u64) -> Option<u64> {
        let is_due = self.waited_ns <= users_ns / TIME_PER_WAIT;
        self.waited_ns += if is_due { WAIT_NS } else { 0 };
        is_due.then_some(now_ns + WAIT_NS)
    }

    /// A wait ended after `for_ns`, with a FIN or without.
    pub(super) fn ended(&mut self, for_ns: u64) {
        let cost_ns = if for_ns <= AT_ONCE_NS { 0 } else { for_ns.min(WAIT_NS) };
        self.waited_ns -= WAIT_NS - cost_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::{FinWait, WAIT_NS};

    /// How many of these waits are made by ten users, of which one in `late_every` lasts `late_ns`
    /// and the others no time, and the share of the users' time that they lose.
    fn waits(per_s: u64, late_every: u64, late_ns: u64) -> (u64, f64) {
        let mut fin_wait = FinWait::default();
        let (seconds, mut made, mut lost_ns) = (100, 0, 0);
        for number in 1..=per_s * seconds {
            let now_ns = number * 1_000_000_000 / per_s;
            if fin_wait.begin(now_ns, 10 * now_ns).is_some() {
                made += 1;
                let for_ns = if number.is_multiple_of(late_every) { late_ns } else { 100_000 };
                lost_ns += if for_ns > 100_000 { for_ns } else { 0 };
                fin_wait.ended(for_ns);
            }
        }
        let users_ns = 10 * seconds * 1_000_000_000;
        (made, lost_ns as f64 / users_ns as f64)
    }

    #[test]
    fn waits_are_bounded_and_rare_ones_change_nothing() {
        for (per_s, late_every, late_ns) in [
            (1000, 1001, WAIT_NS),
            (1000, 2000, WAIT_NS),
            (10, 11, WAIT_NS),
            (100, 200, WAIT_NS),
            (1000, 1001, 3_000_000),
            (50, 2, 2_000_000),
        ] {
            let (made, lost) = waits(per_s, late_every, late_ns);
            assert_eq!(made, per_s * 100, "{per_s}/s, 1 in {late_every}, {late_ns} ns: {lost}");
        }
        for (per_s, late_every, late_ns) in [
            (1000, 1, WAIT_NS),
            (10_000, 1, WAIT_NS),
            (1000, 7, WAIT_NS),
            (1000, 1, 9_000_000),
            (10_000, 1, 1_000_000),
        ] {
            let (made, lost) = waits(per_s, late_every, late_ns);
            let what = format!("{per_s}/s, 1 in {late_every}, {late_ns} ns: {lost}");
            assert!((0.0045..0.0052).contains(&lost), "{what}");
            assert!(made < per_s * 100, "{what}");
        }
    }

    #[test]
    fn waits_under_way_count_before_they_end() {
        let mut fin_wait = FinWait::default();
        let begun = (0..50).filter(|_| fin_wait.begin(1_000_000, 50_000_000).is_some()).count();
        assert_eq!(begun, 1, "users who are answered at once do not all wait at once");
    }
}
