//! When something is due to be checked. It may be put off without touching its timer: a timer that
//! fires too early is set again.

/// A deadline and its timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    /// When it is due; `u64::MAX` for never.
    pub(super) at_ns: u64,
    /// When its timer fires; `u64::MAX` if none is set.
    pub(super) timer_ns: u64,
}

impl Deadline {
    pub(super) const NONE: Self = Self { at_ns: u64::MAX, timer_ns: u64::MAX };

    /// Sets it. Whether it needs an earlier timer than it has.
    #[inline]
    pub(super) fn set(&mut self, at_ns: u64) -> bool {
        self.at_ns = at_ns;
        at_ns < self.timer_ns
    }
}

/// What has a deadline, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Client(usize),
    Exchange(usize),
    Link(usize),
    Check(usize),
}
