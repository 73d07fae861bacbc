//! Which request is next, and whether it belongs to the measured part.
//!
//! The backlog needs no memory: slots are taken strictly in order, so the slots that are due but
//! not yet sent are exactly those from the cursor on.

mod closed;
mod returned;
mod schedule;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use plimsoll_core::Plan;
use plimsoll_core::part::Place;

use crate::signals::Order;
pub(crate) use closed::{Closed, Tickets};
use schedule::Schedule;

/// The next request of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub at_ns: u64,
    /// Its number in the whole run, warm-up included: no two requests have the same.
    pub number: u64,
    /// Its stage, where the schedule has several.
    pub stage: u16,
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
    Closed(Closed),
    /// A schedule says when.
    Open(Schedule),
}

impl Admission {
    /// What a worker starts; in a closed loop it takes from the run's `tickets`.
    pub(crate) fn new(plan: &Arc<Plan>, worker: u32, tickets: Arc<Tickets>) -> Self {
        if plan.is_open_loop() {
            Self::Open(Schedule::new(Arc::clone(plan), worker))
        } else {
            Self::Closed(Closed::new(tickets))
        }
    }

    /// The next slot of the schedule, due or not; `None` in a closed loop or after the last.
    #[inline]
    pub(crate) fn peek(&self, timetable: &Timetable) -> Option<Due> {
        match self {
            Self::Closed(_) => None,
            Self::Open(schedule) => schedule.peek(timetable),
        }
    }

    /// Takes the slot that [`peek`](Self::peek) showed.
    #[inline]
    pub(crate) fn take(&mut self) {
        if let Self::Open(schedule) = self {
            schedule.take();
        }
    }

    /// Takes `count` slots at once; no more than [`behind`](Self::behind) counts.
    pub(crate) fn skip(&mut self, count: u64) {
        if let Self::Open(schedule) = self {
            schedule.skip(count);
        }
    }

    /// In a closed loop: what a free connection may send now, due at once.
    #[inline]
    pub(crate) fn take_closed(&mut self, timetable: &Timetable, now_ns: u64) -> Option<Due> {
        let Self::Closed(closed) = self else {
            return None;
        };
        if now_ns >= timetable.stop_ns {
            return None;
        }
        let measured = now_ns >= timetable.measured_ns;
        let number = closed.take(measured, now_ns)?;
        Some(Due { at_ns: now_ns, number, stage: Place::NONE, measured })
    }

    /// In a closed loop: until when requests that were taken and not begun are kept; `u64::MAX`
    /// without any.
    #[inline]
    pub(crate) fn keep_until_ns(&self) -> u64 {
        match self {
            Self::Closed(closed) => closed.keep_until_ns(),
            Self::Open(_) => u64::MAX,
        }
    }

    /// Gives back what was taken and not begun, for other workers.
    pub(crate) fn give_back(&mut self) {
        if let Self::Closed(closed) = self {
            closed.give_back();
        }
    }

    /// In a closed loop: whether there is nothing to take but what other workers may give back.
    pub(crate) fn awaits_others(&self) -> bool {
        matches!(self, Self::Closed(closed) if closed.awaits_others())
    }

    /// In a closed loop: whether requests were given back.
    pub(crate) fn has_returned(&self) -> bool {
        matches!(self, Self::Closed(closed) if closed.has_returned())
    }

    /// Whether every request has been taken.
    pub(crate) fn is_over(&self, timetable: &Timetable) -> bool {
        match self {
            Self::Closed(closed) => closed.is_over(),
            Self::Open(_) => self.peek(timetable).is_none(),
        }
    }

    /// How many slots are due and not taken. Behind a change of the schedule they count once those
    /// before it are taken.
    pub(crate) fn behind(&self, timetable: &Timetable, now_ns: u64) -> u64 {
        match self {
            Self::Closed(_) => 0,
            Self::Open(schedule) => schedule.behind(timetable, now_ns),
        }
    }

    /// Whether no order has changed the schedule.
    pub(crate) fn is_as_planned(&self) -> bool {
        match self {
            Self::Closed(_) => true,
            Self::Open(schedule) => schedule.is_as_planned(),
        }
    }

    /// Carries out an order that bears on the schedule.
    pub(crate) fn obey(&mut self, timetable: &Timetable, order: Order) {
        if let Self::Open(schedule) = self {
            schedule.obey(timetable, order);
        }
    }
}
