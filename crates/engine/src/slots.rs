//! What a worker has to start and when: the slots of its schedule or, in a closed loop, the
//! requests that are left.
//!
//! A slot that is due and finds no free connection waits, and its intended time stays what it is.
//! Nothing is kept of those that wait: slots are taken in order, so they are all from the next one
//! on.

use std::sync::Arc;

use plimsoll_core::plan::Draft;
use plimsoll_core::schedule::Arrival;
use plimsoll_core::{Histogram, Plan};

use crate::admission::{Admission, Due, Tickets, Timetable};
use crate::signals::Order;

/// A worker's slots.
#[derive(Debug)]
pub(crate) struct Slots {
    admission: Admission,
    pub timetable: Timetable,
    plan: Arc<Plan>,
}

/// How many slots at once count in the same bucket of a histogram, as the same thing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alike {
    /// The first of them.
    pub due: Due,
    pub slots: u64,
    /// How long they waited on average, ns.
    pub waited_ns: u64,
}

impl Slots {
    pub(crate) fn new(plan: &Arc<Plan>, worker: u32, tickets: Arc<Tickets>) -> Self {
        Self {
            admission: Admission::new(plan, worker, tickets),
            timetable: Timetable { start_ns: u64::MAX, measured_ns: u64::MAX, stop_ns: u64::MAX },
            plan: Arc::clone(plan),
        }
    }

    /// The run begins at `start_ns`.
    pub(crate) fn start(&mut self, start_ns: u64) {
        self.timetable = Timetable::new(&self.plan, start_ns);
    }

    /// From `now_ns` on nothing is started.
    pub(crate) fn stop(&mut self, now_ns: u64) {
        self.timetable.stop_ns = self.timetable.stop_ns.min(now_ns);
    }

    /// The next slot of the schedule, due or not; `None` in a closed loop or after the last.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Due> {
        self.admission.peek(&self.timetable)
    }

    /// Whether a slot is due at `now_ns`, or none is left.
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        self.peek().is_none_or(|due| due.at_ns <= now_ns)
    }

    /// Takes the slot that [`peek`](Self::peek) showed.
    #[inline]
    pub(crate) fn take(&mut self) {
        self.admission.take();
    }

    /// In a closed loop: what a free connection may send now, due at once.
    #[inline]
    pub(crate) fn take_closed(&mut self, now_ns: u64) -> Option<Due> {
        self.admission.take_closed(&self.timetable, now_ns)
    }

    /// Until when requests that were taken and not begun are kept; `u64::MAX` without any.
    #[inline]
    pub(crate) fn keep_until_ns(&self) -> u64 {
        self.admission.keep_until_ns()
    }

    /// In a closed loop: gives back what was taken and not begun, for other workers.
    pub(crate) fn give_back(&mut self) {
        self.admission.give_back();
    }

    /// Whether there is nothing to take by `now_ns` but what other workers may give back.
    pub(crate) fn awaits_others(&self, now_ns: u64) -> bool {
        self.plan.requests.is_some()
            && now_ns >= self.timetable.measured_ns
            && self.admission.awaits_others()
    }

    /// Whether other workers gave requests back.
    pub(crate) fn has_returned(&self) -> bool {
        self.admission.has_returned()
    }

    /// How many slots are due and not taken.
    pub(crate) fn behind(&self, now_ns: u64) -> u64 {
        self.admission.behind(&self.timetable, now_ns)
    }

    /// Carries out an order that bears on the schedule.
    pub(crate) fn obey(&mut self, order: Order) {
        self.admission.obey(&self.timetable, order);
    }

    /// Whether the plan's requests have all been taken by `now_ns`.
    pub(crate) fn are_all_taken(&self, now_ns: u64) -> bool {
        let is_counted = self.plan.requests.is_some() || self.plan.trace.is_some();
        is_counted
            && now_ns >= self.timetable.measured_ns
            && self.admission.is_over(&self.timetable)
    }

    /// Whether a slot had waited too long at `at_ns`.
    #[inline]
    pub(crate) fn is_too_old(&self, due: &Due, at_ns: u64) -> bool {
        let shed_after_ns = self.plan.shed_after_ns;
        shed_after_ns.is_some_and(|after_ns| at_ns.saturating_sub(due.at_ns) >= after_ns)
    }

    /// When to act on the next slot: when it is due or, without a free connection, when it has
    /// waited too long or (`can_grow`) asks for another connection. `u64::MAX` without one.
    pub(crate) fn act_ns(&self, now_ns: u64, has_idle: bool, can_grow: bool) -> u64 {
        let Some(due) = self.peek() else { return u64::MAX };
        match self.plan.shed_after_ns {
            _ if has_idle => due.at_ns,
            // A slot that is not due yet may ask for another connection then.
            _ if can_grow && due.at_ns > now_ns => due.at_ns,
            Some(shed_after_ns) => due.at_ns.saturating_add(shed_after_ns),
            None => u64::MAX,
        }
    }

    /// When the window ends that stops at `now_ns`. That of a schedule of `n` requests ends where
    /// slot `n` would be due, if nothing `interrupted` it.
    pub(crate) fn window_end_ns(&self, now_ns: u64, interrupted: bool) -> u64 {
        let is_as_planned = !interrupted && self.admission.is_as_planned();
        let planned_ns = counted_window_ns(&self.plan).filter(|_| is_as_planned);
        let end_ns = planned_ns.map(|window_ns| self.timetable.measured_ns + window_ns);
        end_ns.unwrap_or_else(|| now_ns.min(self.timetable.stop_ns))
    }

    /// Takes the slots that were due before `end_ns` and found no connection.
    ///
    /// A rate far beyond what can be sent leaves hundreds of millions of them. So the slots of one
    /// bucket of the histogram are taken at once where all belong to the same parts (`is_one`),
    /// apart from the first and the last, which keep the extremes exact.
    pub(crate) fn settle(&mut self, end_ns: u64, is_one: bool, mut each: impl FnMut(Alike)) {
        let buckets = Histogram::new();
        while let Some(due) = self.peek().filter(|due| due.at_ns < end_ns) {
            let alike = if is_one { self.count_alike(&due, end_ns, &buckets) } else { 1 };
            self.take();
            each(Alike { due, slots: 1, waited_ns: end_ns - due.at_ns });
            let between = alike.saturating_sub(2);
            if between > 0
                && let Some(second) = self.peek()
            {
                self.admission.skip(between);
                let last = self.peek().unwrap_or(second);
                // Evenly apart, so their mean is halfway to the one before the last.
                let reach_ns = last.at_ns.min(end_ns) - second.at_ns;
                let mean_ns = second.at_ns + (reach_ns - reach_ns / between) / 2;
                each(Alike { due: second, slots: between, waited_ns: end_ns - mean_ns });
            }
        }
    }

    /// How many slots from `due` on count in the same bucket, as the same thing.
    fn count_alike(&self, due: &Due, end_ns: u64, buckets: &Histogram) -> u64 {
        let profile = self.plan.rate.as_ref();
        if profile.is_none_or(|profile| profile.arrival != Arrival::Uniform) {
            return 1;
        }
        let mut least_ns = buckets.bucket_start_ns(end_ns - due.at_ns);
        if self.is_too_old(due, end_ns) {
            least_ns = least_ns.max(self.plan.shed_after_ns.unwrap_or(0));
        }
        self.behind(end_ns - least_ns)
    }
}

/// How long a schedule's requests are due, ns, if the plan has one and says.
pub(crate) fn planned_window_ns(plan: &Draft) -> Option<u64> {
    let duration_ns = plan.duration_ns.filter(|_| plan.is_open_loop());
    counted_window_ns(plan).or(duration_ns)
}

/// How long the requests of a schedule of `n` requests are due, ns; `None` where the plan gives no
/// number. It ends where slot `n` would be due, so that ten requests at 1/s are 1/s, or with the
/// plan's duration.
pub(crate) fn counted_window_ns(plan: &Draft) -> Option<u64> {
    let window_ns = match (&plan.rate, &plan.trace) {
        (Some(profile), _) => profile.due_ns(plan.requests?),
        (None, Some(trace)) => trace.window_ns(plan.requests),
        (None, None) => return None,
    };
    Some(plan.duration_ns.map_or(window_ns, |duration_ns| duration_ns.min(window_ns)))
}
