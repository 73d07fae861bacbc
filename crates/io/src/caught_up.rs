//! The moment up to which every arrival has been delivered. Deadlines are compared with this moment
//! and not with the clock, because after a pause the clock is far ahead of the events that still
//! wait in the kernel.
//!
//! One look at the kernel shows everything that came before it, unless the look hit its limit.
//! Later looks then show the rest, oldest first, so after enough of them everything from before the
//! first look has been seen. Without this rule a driver that is never idle would never let a
//! deadline pass.

/// Follows the looks of one driver.
#[derive(Debug)]
pub(crate) struct CaughtUp {
    at_ns: u64,
    /// The looks since then that did not show everything, and when the first of them began.
    partial: u32,
    partial_since_ns: u64,
    /// After this many limited looks in a row, all that came before the first has been seen.
    partial_max: u32,
}

impl CaughtUp {
    /// A look shows `batch` of `sockets` at least.
    pub(crate) fn new(now_ns: u64, sockets: u32, batch: u32) -> Self {
        Self { at_ns: now_ns, partial: 0, partial_since_ns: 0, partial_max: sockets / batch + 2 }
    }

    pub(crate) fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// A look that began at `began_ns` showed everything, or as much as goes in one.
    #[inline]
    pub(crate) fn looked(&mut self, began_ns: u64, saw_all: bool) {
        if saw_all {
            self.at_ns = began_ns;
            self.partial = 0;
            return;
        }
        if self.partial == 0 {
            self.partial_since_ns = began_ns;
        }
        self.partial += 1;
        if self.partial >= self.partial_max {
            self.at_ns = self.partial_since_ns;
            self.partial = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_last_look_that_showed_everything_or_the_first_of_enough_that_did_not() {
        let mut caught_up = CaughtUp::new(5, 100, 50);
        for (began_ns, saw_all, want_ns) in [
            (10, true, 10),
            (20, false, 10),
            (30, false, 10),
            (40, true, 40),
            (50, false, 40),
            (60, false, 40),
            (70, false, 40),
            (80, false, 50),
            (90, false, 50),
        ] {
            caught_up.looked(began_ns, saw_all);
            assert_eq!(caught_up.at_ns(), want_ns, "after the look at {began_ns}");
        }
    }
}
