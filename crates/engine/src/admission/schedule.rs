//! A worker's slots at a rate, from the warm-up to the end, through every change that was ordered.
//!
//! The run is a list of courses: the warm-up, the plan's schedule, and one more for each order. A
//! course ends where the next begins. The plan and the list of orders alone determine when that is,
//! which slots lie before it, and which worker owns them; what was taken so far does not matter. So
//! all workers agree, and a worker that is behind loses no slot.

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_core::Plan;
use plimsoll_core::part::Place;
use plimsoll_core::schedule::{Arrival, Cursor, Deal, Profile};

use super::{Due, Timetable};
use crate::signals::{Change, Order};

/// A worker's part of the schedule.
#[derive(Debug)]
pub(crate) struct Schedule {
    plan: Arc<Plan>,
    worker: u32,
    /// The connections that slots are dealt to, all workers together.
    connections: u32,
    course: Course,
    cursor: Cursor,
    /// What follows the course, in the order of time.
    turns: VecDeque<Turn>,
    /// How many of the plan's requests are the measured course's and those after it.
    left: Option<u64>,
    /// How many orders there were.
    orders: u64,
}

/// Where a cursor's slots stand in the run.
#[derive(Debug, Clone, Copy)]
struct Course {
    /// When its first slot could be due, ns after the start of the run.
    origin_ns: u64,
    /// The number of its first slot in the whole run.
    first_number: u64,
    measured: bool,
    has_stages: bool,
}

/// A course ends and another begins.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// Ns after the start of the run.
    at_ns: u64,
    next: Next,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    /// The measured part, after the warm-up.
    Measured,
    /// Another rate, µHz; the seed of its arrivals.
    Rate(u64, u64),
    /// The same slots, dealt to this number of connections.
    Connections(u32),
}

impl Schedule {
    /// Whether no order has changed it.
    pub(crate) fn is_as_planned(&self) -> bool {
        self.orders == 0
    }

    pub(crate) fn new(plan: Arc<Plan>, worker: u32) -> Self {
        // Connections that may be opened take slots too: a slot that needs one opens it.
        let connections = plan.connections_limit();
        let deal = Deal::new(connections, worker, plan.workers);
        let origin_ns = plan.warmup_ns;
        let warmup = plan.rate.as_ref().filter(|_| origin_ns > 0).map(|profile| {
            Profile::constant(profile.initial_uhz(), Some(origin_ns), profile.arrival)
        });
        let mut schedule = Self {
            worker,
            connections,
            course: Course { origin_ns, first_number: 0, measured: true, has_stages: false },
            cursor: planned(&plan, deal),
            turns: VecDeque::new(),
            left: plan.requests,
            orders: 0,
            plan,
        };
        schedule.course.has_stages = schedule.has_stages();
        if let Some(profile) = warmup {
            schedule.cursor = Cursor::new(&profile, deal, None, !schedule.plan.seed);
            schedule.course =
                Course { origin_ns: 0, first_number: 0, measured: false, has_stages: false };
            schedule.follow(Turn { at_ns: origin_ns, next: Next::Measured });
        }
        schedule
    }

    fn has_stages(&self) -> bool {
        self.plan.rate.as_ref().is_some_and(|profile| profile.stages.len() > 1)
    }

    #[inline]
    pub(crate) fn peek(&self, timetable: &Timetable) -> Option<Due> {
        let slot = self.cursor.peek()?;
        let Course { origin_ns, first_number, measured, has_stages } = self.course;
        let at_ns = timetable.start_ns + origin_ns + slot.due_ns;
        let stage = if has_stages { slot.stage } else { Place::NONE };
        let number = first_number + slot.index;
        (at_ns < timetable.stop_ns).then_some(Due { at_ns, number, stage, measured })
    }

    #[inline]
    pub(crate) fn take(&mut self) {
        self.cursor.advance();
        self.turn_at_end();
    }

    pub(crate) fn skip(&mut self, count: u64) {
        self.cursor.skip(count);
        self.turn_at_end();
    }

    #[inline]
    fn turn_at_end(&mut self) {
        if self.cursor.peek().is_none() {
            self.turn();
        }
    }

    pub(crate) fn behind(&self, timetable: &Timetable, now_ns: u64) -> u64 {
        let since_ns = now_ns.checked_sub(timetable.start_ns + self.course.origin_ns);
        since_ns.map_or(0, |since_ns| self.cursor.behind(since_ns))
    }

    /// Carries out an order, from its time on. The warm-up stays as it was: an order that is given
    /// in it holds from the start of the measured part.
    pub(crate) fn obey(&mut self, timetable: &Timetable, order: Order) {
        self.orders += 1;
        let since_ns = order.at_ns.saturating_sub(timetable.start_ns);
        let next = match order.change {
            Change::Rate(rate_uhz) => {
                Next::Rate(rate_uhz, self.plan.seed.wrapping_add(self.orders))
            }
            Change::Connections(connections) => Next::Connections(connections),
        };
        self.follow(Turn { at_ns: since_ns.max(self.plan.warmup_ns), next });
    }

    /// Puts a turn behind those that are still to come; orders come in the order of their times.
    fn follow(&mut self, turn: Turn) {
        if self.turns.is_empty() {
            self.end_course(turn.at_ns);
        }
        self.turns.push_back(turn);
        self.turn();
    }

    fn end_course(&mut self, at_ns: u64) {
        self.cursor.end_at(at_ns.saturating_sub(self.course.origin_ns));
    }

    /// Goes on to the next course that has a slot for this worker, once the current has none.
    #[cold]
    fn turn(&mut self) {
        while self.cursor.peek().is_none()
            && let Some(turn) = self.turns.pop_front()
        {
            self.begin(turn);
            if let Some(next) = self.turns.front() {
                self.end_course(next.at_ns);
            }
        }
    }

    fn begin(&mut self, turn: Turn) {
        if let Next::Connections(connections) = turn.next {
            self.connections = connections;
            self.cursor = self.cursor.clone().dealt(self.deal());
            return;
        }
        let before = self.cursor.count_all();
        let carry = self.cursor.carry();
        if self.course.measured {
            self.left = self.left.map(|left| left.saturating_sub(before));
        }
        self.course = Course {
            origin_ns: turn.at_ns,
            first_number: self.course.first_number + before,
            measured: true,
            has_stages: self.has_stages() && matches!(turn.next, Next::Measured),
        };
        self.cursor = match turn.next {
            Next::Rate(rate_uhz, seed) => {
                let arrival = self.plan.rate.as_ref().map_or(Arrival::Uniform, |it| it.arrival);
                let profile = Profile::constant(rate_uhz, None, arrival);
                Cursor::new(&profile, self.deal(), self.left, seed).carrying(carry)
            }
            _ => planned(&self.plan, self.deal()),
        };
    }

    fn deal(&self) -> Deal {
        Deal::new(self.connections, self.worker, self.plan.workers)
    }
}

/// The slots of the plan's own schedule.
fn planned(plan: &Plan, deal: Deal) -> Cursor {
    match (&plan.rate, &plan.trace) {
        (Some(profile), _) => Cursor::new(profile, deal, plan.requests, plan.seed),
        (None, trace) => {
            let offsets_ns = trace.as_ref().map_or(&[][..], |trace| &trace.offsets_ns);
            Cursor::of_trace(offsets_ns.into(), deal, plan.requests)
        }
    }
}
