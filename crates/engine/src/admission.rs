//! Which request is next, and whether it belongs to the measured part.
//!
//! The backlog needs no memory: slots are taken strictly in order, so the slots that are due but
//! not yet sent are exactly those from the cursor on.

use plimsoll_core::Plan;
use plimsoll_core::part::Place;
use plimsoll_core::schedule::{Arrival, Cursor, Profile, share};

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
    Closed { taken: u64, worker: u64, workers: u64, remaining: u64 },
    /// A schedule says when.
    Open(Schedule),
}

/// A worker's part of the schedule, before and in the measured part.
#[derive(Debug)]
pub(crate) struct Schedule {
    warmup: Option<Cursor>,
    measured: Course,
    /// What follows at a changed rate.
    next: Option<Course>,
    has_stages: bool,
    worker: u32,
    workers: u32,
    seed: u64,
}

/// A cursor and where it stands in the run.
#[derive(Debug)]
struct Course {
    cursor: Cursor,
    /// The rate it follows; a trace has none.
    profile: Option<Profile>,
    /// When it begins, ns after the start of the measured part.
    from_ns: u64,
    /// The number of its first slot in the whole run.
    first_number: u64,
}

impl Course {
    /// A number that is behind all of this course's if it ends at `end_ns`, ns after the start of
    /// the measured part; the same for all workers.
    fn numbers_before(&self, end_ns: u64, workers: u32) -> u64 {
        let slots = match &self.profile {
            Some(profile) => bound(profile, end_ns.saturating_sub(self.from_ns)),
            None => u32::MAX.into(),
        };
        (self.first_number + slots).next_multiple_of(u64::from(workers))
    }
}

/// No fewer slots than a profile has before a time.
fn bound(profile: &Profile, time_ns: u64) -> u64 {
    let expected = profile.total_before(time_ns);
    match profile.arrival {
        Arrival::Uniform => expected,
        // Twice and a thousand more is beyond any chance.
        Arrival::Poisson => 2 * expected + 1000,
    }
}

impl Admission {
    pub(crate) fn new(plan: &Plan, worker: u32) -> Self {
        let workers = plan.workers;
        if !plan.is_open_loop() {
            return Self::Closed {
                taken: 0,
                worker: worker.into(),
                workers: workers.into(),
                remaining: plan.requests.map_or(u64::MAX, |n| share(n, worker, workers)),
            };
        }
        Self::Open(Schedule::new(plan, worker))
    }

    /// The next slot of the schedule, due or not; `None` in a closed loop or after the last.
    #[inline]
    pub(crate) fn peek(&self, timetable: &Timetable) -> Option<Due> {
        match self {
            Self::Closed { .. } => None,
            Self::Open(schedule) => schedule.peek(timetable),
        }
    }

    /// Takes the slot that [`peek`](Self::peek) showed.
    #[inline]
    pub(crate) fn take(&mut self, timetable: &Timetable) {
        if let Self::Open(schedule) = self {
            schedule.take(timetable);
        }
    }

    /// In a closed loop: may a free connection send now? Gives the request's number and whether it
    /// is measured.
    #[inline]
    pub(crate) fn take_closed(
        &mut self,
        timetable: &Timetable,
        now_ns: u64,
    ) -> Option<(u64, bool)> {
        let Self::Closed { taken, worker, workers, remaining } = self else {
            return None;
        };
        let measured = now_ns >= timetable.measured_ns;
        if measured {
            if now_ns >= timetable.stop_ns || *remaining == 0 {
                return None;
            }
            *remaining -= 1;
        }
        let number = *taken * *workers + *worker;
        *taken += 1;
        Some((number, measured))
    }

    /// Whether every request has been taken.
    pub(crate) fn is_over(&self, timetable: &Timetable) -> bool {
        match self {
            Self::Closed { remaining, .. } => *remaining == 0,
            Self::Open(_) => self.peek(timetable).is_none(),
        }
    }

    /// How many slots are due and not taken.
    pub(crate) fn behind(&self, timetable: &Timetable, now_ns: u64) -> u64 {
        match self {
            Self::Closed { .. } => 0,
            Self::Open(schedule) => schedule.behind(timetable, now_ns),
        }
    }

    /// Goes on at another rate from `at_ns` on, to the end of the run.
    pub(crate) fn change_rate(&mut self, timetable: &Timetable, at_ns: u64, rate_uhz: u64) {
        if let Self::Open(schedule) = self {
            schedule.change_rate(timetable, at_ns, rate_uhz);
        }
    }
}

impl Schedule {
    fn new(plan: &Plan, worker: u32) -> Self {
        let (workers, seed) = (plan.workers, plan.seed);
        let before = plan.rate.as_ref().filter(|_| plan.warmup_ns > 0).map(|profile| {
            Profile::constant(profile.initial_uhz(), Some(plan.warmup_ns), profile.arrival)
        });
        let first_number = before.as_ref().map_or(0, |profile| {
            bound(profile, plan.warmup_ns).next_multiple_of(u64::from(workers))
        });
        let cursor = match (&plan.rate, &plan.trace) {
            (Some(profile), _) => Cursor::new(profile, worker, workers, plan.requests, seed),
            (None, trace) => {
                let offsets_ns = trace.as_ref().map_or(&[][..], |trace| &trace.offsets_ns);
                Cursor::of_trace(offsets_ns.into(), worker, workers, plan.requests)
            }
        };
        let profile = plan.rate.clone();
        Self {
            warmup: before.map(|before| Cursor::new(&before, worker, workers, None, !seed)),
            has_stages: profile.as_ref().is_some_and(|profile| profile.stages.len() > 1),
            measured: Course { cursor, profile, from_ns: 0, first_number },
            next: None,
            worker,
            workers,
            seed,
        }
    }

    #[inline]
    fn peek(&self, timetable: &Timetable) -> Option<Due> {
        if let Some(slot) = self.warmup.as_ref().and_then(Cursor::peek) {
            let at_ns = timetable.start_ns + slot.due_ns;
            let number = slot.index;
            return Some(Due { at_ns, number, stage: Place::NONE, measured: false });
        }
        let course = self.current();
        let slot = course.cursor.peek()?;
        let at_ns = timetable.measured_ns + course.from_ns + slot.due_ns;
        let stage = if self.has_stages { slot.stage } else { Place::NONE };
        let number = course.first_number + slot.index;
        (at_ns < timetable.stop_ns).then_some(Due { at_ns, number, stage, measured: true })
    }

    /// The course of the next slot: the changed one, once the first has nothing before it.
    #[inline]
    fn current(&self) -> &Course {
        match &self.next {
            Some(next) if self.is_next(next) => next,
            _ => &self.measured,
        }
    }

    fn is_next(&self, next: &Course) -> bool {
        let last = &self.measured;
        let slot = last.cursor.peek();
        last.cursor.remaining() > 0
            && slot.is_none_or(|slot| last.from_ns + slot.due_ns >= next.from_ns)
    }

    #[inline]
    fn take(&mut self, timetable: &Timetable) {
        if let Some(warmup) = self.warmup.as_mut().filter(|warmup| warmup.peek().is_some()) {
            warmup.advance();
            return;
        }
        if self.next.as_ref().is_some_and(|next| self.is_next(next))
            && let Some(mut next) = self.next.take()
        {
            next.cursor.limit(self.measured.cursor.remaining());
            self.measured = next;
            self.has_stages = false;
        }
        debug_assert!(self.peek(timetable).is_some());
        self.measured.cursor.advance();
    }

    fn behind(&self, timetable: &Timetable, now_ns: u64) -> u64 {
        let behind = |cursor: &Cursor, start_ns| {
            now_ns.checked_sub(start_ns).map_or(0, |since_ns| cursor.behind(since_ns))
        };
        let course = self.current();
        let before = self.warmup.as_ref();
        before.map_or(0, |warmup| behind(warmup, timetable.start_ns))
            + behind(&course.cursor, timetable.measured_ns + course.from_ns)
    }

    fn change_rate(&mut self, timetable: &Timetable, at_ns: u64, rate_uhz: u64) {
        let from_ns = at_ns.saturating_sub(timetable.measured_ns);
        let left_ns =
            timetable.stop_ns.checked_sub(at_ns).filter(|_| timetable.stop_ns != u64::MAX);
        let arrival =
            self.measured.profile.as_ref().map_or(Arrival::Uniform, |profile| profile.arrival);
        let profile = Profile::constant(rate_uhz, left_ns, arrival);
        let first_number = self.measured.numbers_before(from_ns, self.workers);
        let seed = self.seed.wrapping_add(first_number);
        let cursor = Cursor::new(&profile, self.worker, self.workers, None, seed);
        self.next = Some(Course { cursor, profile: Some(profile), from_ns, first_number });
    }
}
