//! Which request is next, and whether it belongs to the measured part.
//!
//! The backlog needs no memory: slots are taken strictly in order, so the slots that are due but
//! not yet sent are exactly those from the cursor on.

use plimsoll_core::Plan;
use plimsoll_core::schedule::{Cursor, Profile, share};

/// The next request of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub at_ns: u64,
    pub measured: bool,
}

/// The moments of a run, ns on the driver's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timetable {
    /// When the first request may go.
    pub start_ns: u64,
    /// When the measured part begins.
    pub measured_ns: u64,
    /// From when on nothing is started; `u64::MAX` without a duration.
    pub stop_ns: u64,
}

impl Timetable {
    pub(crate) fn new(plan: &Plan, start_ns: u64) -> Self {
        let measured_ns = start_ns + plan.warmup_ns;
        let stop_ns = plan.duration_ns.map_or(u64::MAX, |duration_ns| measured_ns + duration_ns);
        Self { start_ns, measured_ns, stop_ns }
    }
}

/// Decides what may start.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each worker")]
pub(crate) enum Admission {
    /// A free connection sends.
    Closed { remaining: u64 },
    /// A schedule says when.
    Open { warmup: Option<Cursor>, measured: Cursor },
}

impl Admission {
    pub(crate) fn new(plan: &Plan, worker: u32) -> Self {
        let workers = plan.workers;
        let Some(profile) = &plan.rate else {
            let remaining = plan.requests.map_or(u64::MAX, |n| share(n, worker, workers));
            return Self::Closed { remaining };
        };
        let cursor =
            |profile: &Profile, limit, seed| Cursor::new(profile, worker, workers, limit, seed);
        let warmup = (plan.warmup_ns > 0).then(|| {
            let before =
                Profile::constant(profile.initial_uhz(), Some(plan.warmup_ns), profile.arrival);
            cursor(&before, None, !plan.seed)
        });
        Self::Open { warmup, measured: cursor(profile, plan.requests, plan.seed) }
    }

    /// The next slot of the schedule, due or not; `None` in a closed loop or after the last.
    #[inline]
    pub(crate) fn peek(&self, timetable: &Timetable) -> Option<Due> {
        let Self::Open { warmup, measured } = self else {
            return None;
        };
        if let Some(slot) = warmup.as_ref().and_then(Cursor::peek) {
            return Some(Due { at_ns: timetable.start_ns + slot.due_ns, measured: false });
        }
        let slot = measured.peek()?;
        let at_ns = timetable.measured_ns + slot.due_ns;
        (at_ns < timetable.stop_ns).then_some(Due { at_ns, measured: true })
    }

    /// Takes the slot that [`peek`](Self::peek) showed.
    #[inline]
    pub(crate) fn take(&mut self) {
        let Self::Open { warmup, measured } = self else {
            return;
        };
        match warmup {
            Some(cursor) if cursor.peek().is_some() => cursor.advance(),
            _ => measured.advance(),
        }
    }

    /// In a closed loop: may a free connection send now, and is that request measured?
    #[inline]
    pub(crate) fn take_closed(&mut self, timetable: &Timetable, now_ns: u64) -> Option<bool> {
        let Self::Closed { remaining } = self else {
            return None;
        };
        if now_ns < timetable.measured_ns {
            return Some(false);
        }
        if now_ns >= timetable.stop_ns || *remaining == 0 {
            return None;
        }
        *remaining -= 1;
        Some(true)
    }

    /// Whether every request has been taken.
    pub(crate) fn is_over(&self, timetable: &Timetable) -> bool {
        match self {
            Self::Closed { remaining } => *remaining == 0,
            Self::Open { .. } => self.peek(timetable).is_none(),
        }
    }
}
