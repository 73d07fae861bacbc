//! A scenario as all workers see it: counts that they share, and what a VU that is free does next.
//!
//! There is one count of iterations for each scenario, and whichever worker has a free VU takes the
//! next of it. So an iteration is late or dropped only if no VU of any worker was free for it.
//!
//! Workers that wait for an iteration do not all wake up for it: they take turns. If the one whose
//! turn it is has other work, the next ones come a little later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plimsoll_core::executor::{Executor, VuPool};
use plimsoll_core::schedule::Arrivals;
use plimsoll_script::js::Course;

use super::cast::Role;

/// A time that does not come.
pub(super) const NEVER_NS: u64 = u64::MAX;

/// How much later than the worker before it a worker looks at an iteration that is still free.
const HELP_NS: u64 = 100_000;

/// See the head of this module. Times are on the driver's clock, ns.
pub(super) struct Scene {
    pub role: Role,
    /// When it began; [`NEVER_NS`] before.
    begin_ns: AtomicU64,
    /// Iterations that were taken of its count, to be started or dropped.
    taken: AtomicU64,
    /// VUs that wait for an iteration to be due.
    free: AtomicU64,
    /// For each worker, whether it has such a VU, as it last said.
    waiting: Box<[AtomicBool]>,
    /// Whether another VU would have been of use.
    wants_vu: AtomicBool,
}

/// What a VU that is free does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Starts an iteration.
    Start,
    /// Waits for one to be due.
    Wait,
    /// Leaves the scenario.
    Leave,
}

impl Scene {
    pub(super) fn new(role: Role, workers: u32) -> Self {
        Self {
            role,
            begin_ns: AtomicU64::new(NEVER_NS),
            taken: AtomicU64::new(0),
            free: AtomicU64::new(0),
            waiting: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            wants_vu: AtomicBool::new(false),
        }
    }

    /// VUs that it begins with; those of a ramp come with its steps.
    pub(super) fn vus(&self) -> u64 {
        let vus = match &self.role.executor {
            Executor::SharedIterations { vus, .. }
            | Executor::PerVuIterations { vus, .. }
            | Executor::ConstantVus { vus, .. } => *vus,
            Executor::RampingVus { .. } => 0,
            Executor::ConstantArrivalRate { pool, .. }
            | Executor::RampingArrivalRate { pool, .. } => pool.pre_allocated_vus,
        };
        self.role.users.count_below(vus)
    }

    /// VUs that it may have, where more can be initialised on the way.
    pub(super) fn vus_max(&self) -> u64 {
        match &self.role.executor {
            Executor::ConstantArrivalRate { pool, .. }
            | Executor::RampingArrivalRate { pool, .. } => {
                let VuPool { max_vus, pre_allocated_vus } = *pool;
                self.role.users.count_below(max_vus.max(pre_allocated_vus))
            }
            _ => self.vus(),
        }
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        match &self.role.executor {
            Executor::ConstantArrivalRate { arrivals, .. }
            | Executor::RampingArrivalRate { arrivals, .. } => Some(arrivals),
            _ => None,
        }
    }

    /// Whether iterations start at a rate.
    pub(super) fn is_of_arrivals(&self) -> bool {
        self.arrivals().is_some()
    }

    pub(super) fn begin(&self, at_ns: u64) {
        self.begin_ns.store(at_ns, Ordering::Release);
    }

    /// When it began; [`NEVER_NS`] before.
    pub(super) fn begin_ns(&self) -> u64 {
        self.begin_ns.load(Ordering::Acquire)
    }

    /// When the last iterations start, unless they are stopped before.
    pub(super) fn end_ns(&self, stop_ns: u64) -> u64 {
        let regular_ns = self.role.executor.regular_duration_ns();
        self.begin_ns().saturating_add(regular_ns).min(stop_ns)
    }

    /// When iterations are interrupted.
    pub(super) fn hard_end_ns(&self, stop_ns: u64) -> u64 {
        self.end_ns(stop_ns).saturating_add(self.role.graceful_stop_ns)
    }

    /// What a VU does that is free. `begun` is how many iterations it has begun here, and
    /// `is_leaving` whether a ramp has taken it back.
    pub(super) fn next(&self, begun: u64, is_leaving: bool, now_ns: u64, stop_ns: u64) -> Next {
        if now_ns >= self.end_ns(stop_ns) && !self.is_of_arrivals() {
            return Next::Leave;
        }
        let start = |is_wanted| if is_wanted { Next::Start } else { Next::Leave };
        match &self.role.executor {
            Executor::SharedIterations { iterations, .. } => {
                let total = self.role.iterations.count_below(*iterations);
                let next = |taken: u64| (taken < total).then_some(taken + 1);
                let order = Ordering::Relaxed;
                start(self.taken.fetch_update(order, order, next).is_ok())
            }
            Executor::PerVuIterations { iterations, .. } => start(begun < *iterations),
            Executor::ConstantVus { .. } => Next::Start,
            Executor::RampingVus { .. } => start(!is_leaving),
            Executor::ConstantArrivalRate { .. } => {
                let is_over = now_ns >= self.end_ns(stop_ns) && self.due_ns(stop_ns).is_none();
                if is_over { Next::Leave } else { Next::Wait }
            }
            Executor::RampingArrivalRate { .. } => {
                if self.due_ns(stop_ns).is_none() {
                    Next::Leave
                } else {
                    Next::Wait
                }
            }
        }
    }

    /// When the next iteration that is still free is due; `None` after the last.
    pub(super) fn due_ns(&self, stop_ns: u64) -> Option<u64> {
        self.due_of(self.taken.load(Ordering::Acquire), stop_ns)
    }

    /// Notes whether a worker has a VU that waits.
    pub(super) fn note_waiting(&self, worker: usize, is_waiting: bool) {
        self.waiting[worker].store(is_waiting, Ordering::Relaxed);
    }

    /// When a worker with a VU that waits has to look next; `None` after the last iteration.
    pub(super) fn look_ns(&self, worker: usize, stop_ns: u64) -> Option<u64> {
        let taken = self.taken.load(Ordering::Acquire);
        let due_ns = self.due_of(taken, stop_ns)?;
        let ahead = self.workers_ahead(worker, taken);
        let own_ns = if ahead == 0 { Some(due_ns) } else { self.due_of(taken + ahead, stop_ns) };
        Some(own_ns.unwrap_or(NEVER_NS).min(due_ns.saturating_add(ahead * HELP_NS)))
    }

    /// How many workers that wait have their turn before a worker, from this iteration on.
    fn workers_ahead(&self, worker: usize, index: u64) -> u64 {
        let workers = self.waiting.len();
        let first = (index % workers as u64) as usize;
        let order = (first..workers).chain(0..first).take_while(|other| *other != worker);
        order.filter(|other| self.waiting[*other].load(Ordering::Relaxed)).count() as u64
    }

    fn due_of(&self, index: u64, stop_ns: u64) -> Option<u64> {
        let begin_ns = self.begin_ns();
        if begin_ns == NEVER_NS {
            return None;
        }
        let due_ns = self.arrivals()?.due_ns(self.role.iterations.nth(index)?)?;
        Some(begin_ns.saturating_add(due_ns)).filter(|due_ns| *due_ns < stop_ns)
    }

    /// Takes the next iteration if it is due, and says when it was.
    pub(super) fn take_due(&self, now_ns: u64, stop_ns: u64) -> Option<u64> {
        let mut taken = self.taken.load(Ordering::Acquire);
        loop {
            let due_ns = self.due_of(taken, stop_ns).filter(|due_ns| *due_ns <= now_ns)?;
            let (ours, theirs) = (Ordering::AcqRel, Ordering::Acquire);
            match self.taken.compare_exchange(taken, taken + 1, ours, theirs) {
                Ok(_) => return Some(due_ns),
                Err(now) => taken = now,
            }
        }
    }

    /// Takes what is due and finds no free VU of any worker; gives how many those are.
    pub(super) fn drop_due(&self, now_ns: u64, stop_ns: u64) -> u64 {
        let mut dropped = 0;
        while self.free() == 0 && self.take_due(now_ns, stop_ns).is_some() {
            dropped += 1;
        }
        dropped
    }

    /// Iterations that nobody has started by its end, of those that are one count.
    pub(super) fn take_rest(&self, stop_ns: u64) -> u64 {
        match &self.role.executor {
            Executor::SharedIterations { iterations, .. } => {
                let total = self.role.iterations.count_below(*iterations);
                total - self.taken.swap(total, Ordering::AcqRel).min(total)
            }
            _ if self.is_of_arrivals() => {
                let mut dropped = 0;
                while self.take_due(self.end_ns(stop_ns), stop_ns).is_some() {
                    dropped += 1;
                }
                dropped
            }
            _ => 0,
        }
    }

    /// A VU has become free for an iteration.
    pub(super) fn add_free(&self) {
        self.free.fetch_add(1, Ordering::AcqRel);
    }

    /// A VU is no longer free.
    pub(super) fn remove_free(&self) {
        self.free.fetch_sub(1, Ordering::AcqRel);
    }

    /// VUs that are free.
    pub(super) fn free(&self) -> u64 {
        self.free.load(Ordering::Acquire)
    }

    /// Says that another VU would be of use; `true` if nobody has said so before.
    pub(super) fn want_vu(&self) -> bool {
        !self.wants_vu.swap(true, Ordering::AcqRel)
    }

    /// Another VU may be wanted again.
    pub(super) fn forget_want(&self) {
        self.wants_vu.store(false, Ordering::Release);
    }

    /// What its progress is measured by; `ended` counts its iterations that have ended.
    pub(super) fn course(&self, ended: &Arc<AtomicU64>) -> Course {
        let total = match &self.role.executor {
            Executor::SharedIterations { iterations, .. } => {
                self.role.iterations.count_below(*iterations)
            }
            Executor::PerVuIterations { iterations, .. } => self.vus().saturating_mul(*iterations),
            executor => return Course::Time { duration_ns: executor.regular_duration_ns() },
        };
        Course::Iterations { ended: Arc::clone(ended), total }
    }
}
