//! One worker: a thread's loop over its virtual users and its driver.
//!
//! The loop does what is due, has those virtual users go on whose turn it is, waits, and takes
//! events. What a script asks for is carried out in `steps`, requests in `net`, and what scenarios
//! have to do with users is in `lending`.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_io::Driver;
use plimsoll_script::js::{self, Ending, ScenarioFacts, Task};

use super::books::{Actor, Books};
use super::cast::Cast;
use super::director::Order;
use super::net::Net;
use super::pace::Pace;
use super::run::VuError;
use super::scene::NEVER_NS;
use super::stage::Stage;
use super::tally::Tally;
use super::user::{Doing, User, Waits};
use crate::deadlines::Deadlines;

/// However long there is nothing to do, a worker looks this often whether it was told something.
const TICK_NS: u64 = 50_000_000;

/// How often it looks for iterations that are due while no VU is free for them.
const DROP_NS: u64 = 1_000_000;

/// A wait that ends sooner than this has not waited: what it brings was there before.
const AT_ONCE_NS: u64 = 20_000;

/// How many turns users have, at least and at most, before the worker looks for events.
const TURNS_LEAST: usize = 32;
const TURNS_MOST: usize = 256;

const SECOND_NS: u64 = 1_000_000_000;

/// See the head of this module.
pub(super) struct Worker<D: Driver, T> {
    pub(super) index: usize,
    pub(super) cast: Arc<Cast>,
    pub(super) stage: Arc<Stage>,
    pub(super) books: Books<T>,
    pub(super) net: Net<D>,
    pub(super) users: Vec<User>,
    deadlines: Deadlines,
    /// Those whose turn it is.
    pub(super) queue: VecDeque<u32>,
    /// For each scenario, those that wait for an iteration to be due.
    pub(super) free: Vec<VecDeque<u32>>,
    pub(super) facts: Vec<Option<Rc<ScenarioFacts>>>,
    orders: Vec<Order>,
    pub(super) now_ns: u64,
    next_tick_ns: u64,
    made_ns: u64,
    /// How long it has waited for events since then.
    waited_ns: u64,
    /// What kept it from running, as far as that is watched.
    pub(super) pace: Pace,
    /// When it last looked for events.
    looked_ns: u64,
    /// Whether its tally knows that the scenarios have started.
    has_begun: bool,
    is_stopping: bool,
    /// When the scenarios started, ns since 1970.
    pub(super) test_started_ns: u64,
    /// How the task of a throw-away user has ended.
    pub(super) alone: Option<Ending>,
    /// Requests that its end has cut off.
    pub(super) requests_cut_off: u64,
    /// When the caller wants to look, whatever happens.
    pub(super) deadline_ns: u64,
}

impl<D: Driver, T: Tally> Worker<D, T> {
    pub(super) fn new(
        index: usize,
        cast: &Arc<Cast>,
        stage: &Arc<Stage>,
        mut net: Net<D>,
        tally: T,
        wall_base_ns: u64,
    ) -> Self {
        let users_max = stage.share(index, cast.vus_max.max(cast.vus_planned));
        let now_ns = net.driver.clock_ns();
        let scenes = stage.scenes.len();
        stage.controls.add_waker(net.driver.waker());
        Self {
            index,
            books: Books { tally, names: Rc::new(js::Worker::new()), wall_base_ns },
            net,
            users: Vec::new(),
            deadlines: Deadlines::new(users_max),
            queue: VecDeque::new(),
            free: (0..scenes).map(|_| VecDeque::new()).collect(),
            facts: vec![None; scenes],
            orders: Vec::new(),
            now_ns,
            next_tick_ns: now_ns + SECOND_NS,
            made_ns: now_ns,
            waited_ns: 0,
            pace: Pace::default(),
            looked_ns: now_ns,
            has_begun: false,
            is_stopping: false,
            test_started_ns: wall_base_ns.saturating_add(now_ns),
            alone: None,
            requests_cut_off: 0,
            deadline_ns: NEVER_NS,
            cast: Arc::clone(cast),
            stage: Arc::clone(stage),
        }
    }

    /// Begins to initialise the VUs that are planned.
    pub(super) fn initialize_planned(&mut self) {
        let workers = u64::from(self.cast.workers.max(1));
        let first = self.index as u64 + 1;
        for vu in (first..=self.cast.vus_planned).step_by(workers as usize) {
            self.initialize(vu as u32, None);
        }
    }

    /// One turn: does what is due, waits, and takes events. `false`: the run is over.
    ///
    /// # Errors
    /// When the driver breaks.
    pub(super) fn turn(&mut self) -> io::Result<bool> {
        self.now_ns = self.net.driver.clock_ns();
        self.begin();
        if self.stage.controls.is_aborted() {
            self.interrupt_all();
            // Who waits for VUs to be initialised waits no longer.
            self.stage.finish();
            return Ok(false);
        }
        if self.stage.controls.is_stopped() {
            self.stop();
        }
        if self.stage.next_ns() <= self.now_ns {
            let news = self.stage.direct(self.now_ns, |_, _| {});
            self.tell(news);
        }
        self.obey();
        self.start_due();
        self.look_at_deadlines();
        self.net.look(self.now_ns, &self.users, &mut self.books);
        self.hand_out_answers();
        for _ in 0..self.queue.len().clamp(TURNS_LEAST, TURNS_MOST) {
            let Some(user) = self.queue.pop_front() else { break };
            self.users[user as usize].is_queued = false;
            self.go_on(user);
            self.hand_out_answers();
        }
        self.tick(false);
        if self.stage.is_over() && !self.stage.has_orders(self.index) {
            // Another worker may have seen an abort within this turn and ended the run.
            if self.stage.controls.is_aborted() {
                self.interrupt_all();
            }
            return Ok(false);
        }
        self.wait()?;
        while let Some((at_ns, event)) = self.net.driver.next() {
            self.now_ns = self.now_ns.max(at_ns);
            self.net.handle(at_ns, event, &self.users, &mut self.books);
        }
        self.net.unread_ns = 0;
        self.hand_out_answers();
        Ok(true)
    }

    /// Tells the tally that the scenarios have started, once they have.
    pub(super) fn begin(&mut self) {
        if !self.has_begun && self.stage.begin_ns() != NEVER_NS {
            self.has_begun = true;
            self.net.driver.watch_standstills();
            self.books.tally.begin(self.stage.begin_ns());
        }
    }

    /// Tells the tally that it is over, and when it was: what follows is no part of the run.
    pub(super) fn end(mut self) -> (T, u64) {
        self.now_ns = self.net.driver.clock_ns();
        self.tick(true);
        self.net.tell_connections(self.now_ns, &mut self.books);
        self.stage.controls.add_wound_up(self.net.wind_up());
        self.books.tally.end(self.now_ns);
        (self.books.tally, self.now_ns)
    }

    /// Waits for events.
    fn wait(&mut self) -> io::Result<()> {
        let until_ns = self.until_ns();
        let is_idle = until_ns > self.now_ns;
        if is_idle {
            // The turn took time.
            self.now_ns = self.net.driver.clock_ns();
        }
        let began_ns = self.now_ns;
        self.now_ns = self.now_ns.max(self.net.driver.wait(until_ns)?);
        self.waited_ns += if is_idle { self.now_ns - began_ns } else { 0 };
        let is_at_once = !is_idle || self.now_ns - began_ns < AT_ONCE_NS;
        self.net.unread_ns = if is_at_once { self.now_ns - self.looked_ns } else { 0 };
        self.looked_ns = self.now_ns;
        while let Some(standstill) = self.net.driver.take_standstill() {
            self.pace.note(standstill);
        }
        Ok(())
    }

    /// How long it did not wait for events, ns.
    pub(super) fn busy_ns(&self) -> u64 {
        (self.now_ns - self.made_ns).saturating_sub(self.waited_ns)
    }

    fn until_ns(&self) -> u64 {
        let has_ended_alone = self.alone.is_some();
        if !self.queue.is_empty() || self.stage.has_orders(self.index) || has_ended_alone {
            return 0;
        }
        let stop_ns = self.stage.stop_ns();
        let mut until_ns = (self.now_ns + TICK_NS).min(self.next_tick_ns);
        until_ns = until_ns.min(self.deadlines.next_ns()).min(self.net.next_ns());
        until_ns = until_ns.min(self.stage.next_ns()).min(self.deadline_ns);
        for (role, scene) in self.stage.scenes.iter().enumerate() {
            if !scene.is_of_arrivals() || scene.begin_ns() == NEVER_NS {
                continue;
            }
            let is_waiting = !self.free[role].is_empty();
            scene.note_waiting(self.index, is_waiting);
            if is_waiting {
                let look_ns = scene.look_ns(self.index, stop_ns).unwrap_or(NEVER_NS);
                until_ns = until_ns.min(look_ns.min(scene.end_ns(stop_ns).max(self.now_ns + 1)));
            } else if scene.free() == 0 {
                let due_ns = scene.due_ns(stop_ns).unwrap_or(NEVER_NS);
                until_ns = until_ns.min(due_ns.max(self.now_ns + DROP_NS));
            }
        }
        until_ns.max(1)
    }

    /// Queues a user whose turn it is.
    pub(super) fn enqueue(&mut self, user: u32) {
        let known = &mut self.users[user as usize];
        if !known.is_queued {
            known.is_queued = true;
            self.queue.push_back(user);
        }
    }

    fn hand_out_answers(&mut self) {
        while let Some((user, call)) = self.net.take_finished() {
            let known = &mut self.users[user as usize];
            known.answered.push_back(call);
            if matches!(known.waits, Waits::Answer(_) | Waits::News { .. }) {
                self.enqueue(user);
            }
        }
        while let Some(user) = self.net.take_woken() {
            if matches!(self.users[user as usize].waits, Waits::News { .. }) {
                self.enqueue(user);
            }
        }
        self.hand_out_news();
    }

    /// Hands out what has come of channels and calls of gRPC.
    pub(super) fn hand_out_news(&mut self) {
        while let Some((user, news)) = self.net.take_news() {
            let known = &mut self.users[user as usize];
            known.news.push_back(news);
            if matches!(known.waits, Waits::Answer(_) | Waits::News { .. }) {
                self.enqueue(user);
            }
        }
    }

    fn obey(&mut self) {
        if !self.stage.has_orders(self.index) {
            return;
        }
        let mut orders = std::mem::take(&mut self.orders);
        self.stage.take_orders(self.index, &mut orders);
        for order in orders.drain(..) {
            let user = self.stage.place(order.vu()).1;
            match order {
                Order::Initialize { vu, role } => self.initialize(vu, role),
                Order::Join { role, slot, .. } => self.join(user, role, slot),
                Order::Lower { by_ns, .. } => {
                    if let Some(engaged) = &mut self.users[user as usize].engaged {
                        engaged.leaves_by_ns = Some(by_ns);
                        self.watch(user);
                    }
                }
                Order::Raise { .. } => {
                    if let Some(engaged) = &mut self.users[user as usize].engaged {
                        engaged.leaves_by_ns = None;
                    }
                }
            }
        }
        self.orders = orders;
    }

    fn initialize(&mut self, vu: u32, role: Option<u32>) {
        let user = self.users.len() as u32;
        debug_assert_eq!(self.stage.place(vu), (self.index, user));
        match self.cast.program.spawn(&self.books.names, vu) {
            Ok(spawned) => {
                let mut fresh = User::new(u64::from(vu), spawned);
                fresh.doing = Doing::Initializing(role);
                self.describe(&mut fresh);
                self.users.push(fresh);
                self.net.add_user(self.cast.part.nth(u64::from(vu) - 1).unwrap_or(0) + 1);
                self.begin_task(user, Task::Evaluate);
            }
            Err(failure) => self.stage.fail(VuError::Script(failure)),
        }
    }

    /// The facts of a VU that never change.
    fn describe(&self, user: &mut User) {
        let id = self.cast.part.nth(user.number.saturating_sub(1)).unwrap_or(0) + 1;
        let mut execution = user.vu.execution();
        execution.id_in_test = id;
        execution.instance = Arc::clone(&self.stage.controls.facts);
        execution.options = Arc::clone(&self.cast.options_json);
        execution.test_started_ns = self.test_started_ns;
    }

    /// Has a user looked at when it next needs that.
    pub(super) fn watch(&mut self, user: u32) {
        let known = &self.users[user as usize];
        let at_ns = known.wake_ns().min(self.cut_off_ns(known));
        if at_ns != NEVER_NS {
            self.deadlines.watch(user, at_ns);
        }
    }

    /// When the iteration of a user is cut off.
    fn cut_off_ns(&self, user: &User) -> u64 {
        let Some(engaged) = &user.engaged else { return NEVER_NS };
        if user.doing == Doing::Nothing {
            return NEVER_NS;
        }
        let scene = &self.stage.scenes[engaged.role as usize];
        let hard_end_ns = scene.hard_end_ns(self.stage.stop_ns());
        hard_end_ns.min(engaged.leaves_by_ns.unwrap_or(NEVER_NS))
    }

    fn look_at_deadlines(&mut self) {
        // As with timeouts: what came before a pause has yet to be told.
        let by_ns = self.net.driver.caught_up_ns();
        while let Some(user) = self.deadlines.pop(by_ns) {
            let known = &self.users[user as usize];
            if self.cut_off_ns(known) <= by_ns {
                self.interrupt(user);
            } else if known.wake_ns() <= by_ns {
                match known.doing {
                    Doing::Resting(_) => self.go_free(user),
                    _ => self.enqueue(user),
                }
            } else {
                self.watch(user);
            }
        }
    }

    /// Cuts off what a user does, and lets it leave or go on.
    fn interrupt(&mut self, user: u32) {
        if self.users[user as usize].doing == Doing::Iterating {
            self.cut_off(user);
        }
        self.go_free(user);
    }

    /// Every iteration is cut off, and nobody goes on.
    fn interrupt_all(&mut self) {
        for user in 0..self.users.len() as u32 {
            match self.users[user as usize].doing {
                Doing::Iterating => self.cut_off(user),
                Doing::Initializing(_) => {
                    self.users[user as usize].vu.cancel(self.books.wall_ns(self.now_ns));
                }
                Doing::Nothing | Doing::Resting(_) | Doing::Alone => {}
            }
            let known = &mut self.users[user as usize];
            known.doing = Doing::Nothing;
            if let Some(engaged) = known.engaged.take()
                && !self.stage.scenes[engaged.role as usize].is_of_arrivals()
            {
                self.count_active(engaged.role, -1);
            }
        }
        for progress in &self.stage.controls.progress {
            if progress.status.load(Ordering::Relaxed) < 3 {
                progress.ended_ns.store(self.now_ns, Ordering::Relaxed);
                progress.status.store(4, Ordering::Release);
            }
        }
    }

    fn stop(&mut self) {
        if self.is_stopping {
            return;
        }
        self.is_stopping = true;
        self.stage.stop(self.now_ns);
        for user in 0..self.users.len() as u32 {
            self.watch(user);
        }
    }

    fn tick(&mut self, is_over: bool) {
        if self.now_ns < self.next_tick_ns && !is_over {
            return;
        }
        // After a pause several seconds may be over at once; they are one.
        while self.next_tick_ns <= self.now_ns {
            self.next_tick_ns += SECOND_NS;
        }
        let facts = &self.stage.controls.facts;
        let has_vus = !is_over && !self.stage.is_over();
        let vus = has_vus.then(|| {
            [&facts.vus_active, &facts.vus_initialized].map(|count| count.load(Ordering::Relaxed))
        });
        if self.index == 0 {
            self.note_ends();
        }
        let (tally, place) = self.books.at(Actor::default(), self.now_ns);
        tally.tick(&place, vus);
    }

    /// Notes which scenarios start no iterations any more.
    fn note_ends(&self) {
        for (scene, progress) in self.stage.scenes.iter().zip(&self.stage.controls.progress) {
            if scene.begin_ns() != NEVER_NS && self.now_ns >= scene.end_ns(self.stage.stop_ns()) {
                let (from, to) = (Ordering::AcqRel, Ordering::Relaxed);
                let _ = progress.status.compare_exchange(1, 2, from, to);
            }
        }
    }
}
