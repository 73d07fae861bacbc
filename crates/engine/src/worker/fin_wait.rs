//! How long a worker waits for the FIN of a server that said it would close.
//!
//! A server that closes first keeps the port's TIME-WAIT on its side, where it costs no local port.
//! But a user that waits sends nothing, and some servers leave the close to the client. So waits in
//! vain may take only a small share of the users' time. Beyond that share a worker closes at once.
//! A FIN that is lost or late now and then stays within it, so such a server's closes still cost no
//! local ports.

/// The longest wait for one FIN. It comes with the response, or as soon as the server closes.
const WAIT_NS: u64 = 50_000_000;

/// One in this many ns of the users' time may be spent waiting in vain.
const TIME_PER_WAIT: u64 = 200;

/// A worker's waits.
#[derive(Debug, Default)]
pub(super) struct FinWait {
    /// How long users have waited in vain, all together.
    in_vain_ns: u64,
}

impl FinWait {
    /// Until when to wait for a FIN from now on; `None`: not at all. `users_ns` is the time of all
    /// users since the load began, added up.
    pub(super) fn until_ns(&self, now_ns: u64, users_ns: u64) -> Option<u64> {
        (self.in_vain_ns <= users_ns / TIME_PER_WAIT).then_some(now_ns + WAIT_NS)
    }

    /// The FIN did not come in time.
    pub(super) fn was_in_vain(&mut self) {
        self.in_vain_ns += WAIT_NS;
    }
}

#[cfg(test)]
mod tests {
    use super::{FinWait, WAIT_NS};

    /// How many of these waits are made by ten users, of which one in `vain_every` is in vain, and
    /// the share of the users' time that they lose.
    fn waits(per_s: u64, vain_every: u64) -> (u64, f64) {
        let mut fin_wait = FinWait::default();
        let (seconds, mut made, mut in_vain) = (100, 0, 0);
        for number in 1..=per_s * seconds {
            let now_ns = number * 1_000_000_000 / per_s;
            if fin_wait.until_ns(now_ns, 10 * now_ns).is_some() {
                made += 1;
                if number.is_multiple_of(vain_every) {
                    in_vain += 1;
                    fin_wait.was_in_vain();
                }
            }
        }
        let users_ns = 10 * seconds * 1_000_000_000;
        (made, (in_vain * WAIT_NS) as f64 / users_ns as f64)
    }

    #[test]
    fn waits_in_vain_are_bounded_and_rare_ones_change_nothing() {
        for (per_s, vain_every) in [(1000, 1001), (1000, 2000), (10, 11), (100, 200)] {
            let (made, lost) = waits(per_s, vain_every);
            assert_eq!(made, per_s * 100, "{per_s}/s, 1 in {vain_every}, {lost}");
        }
        for (per_s, vain_every) in [(1000, 1), (10_000, 1), (1000, 7), (50, 2)] {
            let (made, lost) = waits(per_s, vain_every);
            assert!((0.004..0.0052).contains(&lost), "{per_s}/s, 1 in {vain_every}: {lost}");
            assert!(made < per_s * 100, "{per_s}/s, 1 in {vain_every}");
        }
    }
}
