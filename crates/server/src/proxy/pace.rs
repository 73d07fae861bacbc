//! How slow a client may be, both when it sends a body and when it reads a response.
//!
//! Time is cut into windows, and a minimum of bytes has to move in each. A mean since the beginning
//! would help attackers: after a quick start they could stall for a long time and keep what the
//! proxy holds for them.
//!
//! Pure: counts and times are arguments.

/// The minimum that a client has to move in a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Floor {
    pub(super) bytes: u64,
    pub(super) window_ns: u64,
}

impl Floor {
    /// The floor of `bytes_per_s` over a window of `window_ns`: at least one byte.
    pub(super) fn of(bytes_per_s: u64, window_ns: u64) -> Self {
        let bytes = u128::from(bytes_per_s) * u128::from(window_ns) / 1_000_000_000;
        // Of counts that wrap only half can be told apart.
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).clamp(1, i64::MAX as u64);
        Self { bytes, window_ns }
    }
}

/// A window under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) ends_ns: u64,
    /// What had been moved when it began.
    from_bytes: u64,
}

impl Window {
    pub(super) const NONE: Self = Self { ends_ns: u64::MAX, from_bytes: 0 };

    /// Begins a window when `moved_bytes` have moved so far.
    pub(super) fn start(now_ns: u64, floor: Floor, moved_bytes: u64) -> Self {
        Self { ends_ns: now_ns.saturating_add(floor.window_ns), from_bytes: moved_bytes }
    }

    /// Puts off its end.
    pub(super) fn put_off(&mut self, by_ns: u64) {
        self.ends_ns = self.ends_ns.saturating_add(by_ns);
    }

    /// Whether enough has moved since it began. Counts may wrap.
    pub(super) fn is_met(&self, floor: Floor, moved_bytes: u64) -> bool {
        let moved_bytes = moved_bytes.wrapping_sub(self.from_bytes).cast_signed();
        moved_bytes >= floor.bytes.cast_signed()
    }
}

/// Until when a body has to go on, and to be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BodyTime {
    /// When the next piece has to be here.
    pub(super) idle_ends_ns: u64,
    /// When all of it has to be here.
    pub(super) ends_ns: u64,
    /// Since when the proxy does not read it; that time is not the client's.
    pub(super) held_since_ns: Option<u64>,
}

impl BodyTime {
    pub(super) const NONE: Self =
        Self { idle_ends_ns: u64::MAX, ends_ns: u64::MAX, held_since_ns: None };

    /// The client is not read from.
    pub(super) fn hold(&mut self, now_ns: u64) {
        self.held_since_ns.get_or_insert(now_ns);
    }

    /// The client is read from again. For how long it was not.
    pub(super) fn go_on(&mut self, now_ns: u64) -> u64 {
        let held_ns =
            self.held_since_ns.take().map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        self.ends_ns = self.ends_ns.saturating_add(held_ns);
        held_ns
    }

    /// Whether it took too long, whatever its rate.
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.idle_ends_ns.min(self.ends_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn so_much_in_so_long() {
        for (bytes_per_s, window_ns, want) in [
            (500, 20 * S, 10_000),
            (500, S / 10, 50),
            (500, 1, 1),
            (0, 20 * S, 1),
            (u64::MAX, u64::MAX, i64::MAX as u64),
        ] {
            assert_eq!(Floor::of(bytes_per_s, window_ns).bytes, want, "{bytes_per_s}, {window_ns}");
        }
    }

    #[test]
    fn a_window_is_met_by_what_moves_in_it() {
        let floor = Floor::of(500, 20 * S);
        for (from, to, want) in [
            (0, 9_999, false),
            (0, 10_000, true),
            (1_000_000, 1_009_999, false),
            (u64::MAX - 5_000, 4_999, true),
            (u64::MAX - 5_000, 4_998, false),
            (7, 6, false),
        ] {
            let window = Window::start(3, floor, from);
            assert_eq!((window.is_met(floor, to), window.ends_ns), (want, 20 * S + 3), "{from}");
        }
    }

    #[test]
    fn time_in_which_nobody_reads_is_not_the_clients() {
        let mut time = BodyTime { idle_ends_ns: u64::MAX, ends_ns: 100, held_since_ns: None };
        assert_eq!((time.go_on(5), time.ends_ns), (0, 100));
        time.hold(10);
        time.hold(30);
        assert_eq!((time.go_on(40), time.ends_ns), (30, 130));
        assert!(!time.is_over(129) && time.is_over(130));
        assert!(BodyTime { idle_ends_ns: 7, ..time }.is_over(7));
    }
}
