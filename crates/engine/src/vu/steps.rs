//! What a script asks for, carried out; and iterations from their start to their end.

use std::sync::atomic::Ordering;

use plimsoll_io::Driver;
use plimsoll_script::js::{Ending, Level, Reply, Step, Task};

use super::books::Actor;
use super::run::VuError;
use super::scene::NEVER_NS;
use super::tally::{IterationEnded, Outcome, Tally};
use super::user::{Doing, User, Waits};
use super::worker::Worker;

/// How many steps that take no time a user takes before others have their turn.
const STEPS_PER_TURN: u32 = 256;

impl User {
    /// Who it is, for the tally.
    pub(super) fn actor(&self) -> Actor {
        Actor {
            scenario: self.engaged.as_ref().map(|engaged| engaged.role),
            vu: self.number,
            iteration: self.iterations,
            group: self.groups.last().map(|(group, _)| *group),
            tags: self.vu.tags(),
            metadata: self.vu.metadata(),
        }
    }
}

impl<D: Driver, T: Tally> Worker<D, T> {
    /// Has a user whose last task is done begin one when its turn comes.
    pub(super) fn begin_task(&mut self, user: u32, task: Task) {
        let known = &mut self.users[user as usize];
        known.waits = Waits::Turn;
        known.task = Some(task);
        self.enqueue(user);
    }

    /// Starts an iteration that was due at `due_ns`.
    pub(super) fn start_iteration(&mut self, user: u32, due_ns: u64) {
        let known = &mut self.users[user as usize];
        let Some(engaged) = &mut known.engaged else { return };
        let role = engaged.role;
        let scene = &self.stage.scenes[role as usize];
        let progress = &self.stage.controls.progress[role as usize];
        let number = progress.started.fetch_add(1, Ordering::Relaxed);
        (known.due_ns, known.started_ns) = (due_ns, self.now_ns);
        known.doing = Doing::Iterating;
        {
            let mut execution = known.vu.execution();
            execution.iteration = known.iterations;
            execution.iteration_in_scenario = engaged.begun;
            execution.scenario_iteration = number;
            execution.scenario_iteration_in_test =
                scene.role.iterations.nth(number).unwrap_or(number);
            execution.test_started_ns = self.test_started_ns;
            execution.scenario = Some(std::rc::Rc::clone(&engaged.facts));
        }
        engaged.begun += 1;
        let function = scene.role.function;
        if scene.is_of_arrivals() {
            self.count_active(role, 1);
        }
        self.begin_task(user, Task::Iterate(function));
        self.watch(user);
    }

    /// Has a user go on until it waits, has had its turn, or is done.
    pub(super) fn go_on(&mut self, user: u32) {
        for _ in 0..STEPS_PER_TURN {
            let Some(step) = self.resume(user) else {
                self.watch(user);
                return;
            };
            if !self.carry_out(user, step) {
                return;
            }
        }
        self.enqueue(user);
    }

    /// Resumes a user with what it waits for, if that is there.
    fn resume(&mut self, user: u32) -> Option<Step> {
        self.now_ns = self.now_ns.max(self.net.driver.clock_ns());
        let wall_ns = self.books.wall_ns(self.now_ns);
        let known = &mut self.users[user as usize];
        if matches!(known.doing, Doing::Nothing | Doing::Resting(_)) {
            return None;
        }
        if let Some(task) = known.task.take() {
            known.started_ns = self.now_ns;
            return Some(known.vu.begin(task, wall_ns));
        }
        let step = match known.waits {
            Waits::Turn => known.vu.resume(Reply::Taken, wall_ns),
            Waits::Until(at_ns) if at_ns <= self.now_ns => known.vu.resume(Reply::Woken, wall_ns),
            Waits::Until(_) => return None,
            Waits::Queued(bytes) => known.vu.resume(Reply::Queued(bytes), wall_ns),
            Waits::Answer(until_ns) => return self.answer(user, None, until_ns, wall_ns),
            Waits::News { of, until_ns } => {
                return self.answer(user, Some(of), until_ns, wall_ns);
            }
        };
        Some(step)
    }

    /// Resumes a user with what it is to be told next, if that is there or its time is over.
    /// `listens`: to which WebSocket, of one or any, where it listens to them.
    fn answer(
        &mut self,
        user: u32,
        listens: Option<Option<u32>>,
        until_ns: u64,
        wall_ns: u64,
    ) -> Option<Step> {
        let known = &mut self.users[user as usize];
        if let Some(call) = known.answered.pop_front() {
            let step = known.vu.resume(Reply::Ended(self.net.answer(call)), wall_ns);
            self.net.forget(call);
            return Some(step);
        }
        if let Some(news) = known.news.pop_front() {
            let step = known.vu.resume(Reply::Grpc(self.net.told(news)), wall_ns);
            self.net.was_told(news);
            return Some(step);
        }
        if let Some(of) = listens
            && let Some(id) = self.net.heard(user, of)
        {
            let (socket, news) = self.net.news(id, self.now_ns, &mut self.books);
            let step = known.vu.resume(Reply::News(socket, news), wall_ns);
            self.net.forget_news(id);
            return Some(step);
        }
        (until_ns <= self.now_ns).then(|| known.vu.resume(Reply::Woken, wall_ns))
    }

    /// Carries out a step. `true`: the user goes on as far as it can.
    fn carry_out(&mut self, user: u32, step: Step) -> bool {
        let known = &mut self.users[user as usize];
        known.waits = Waits::Turn;
        match step {
            Step::Send(request) | Step::Begin(request) => {
                if matches!(step, Step::Send(_)) {
                    known.waits = Waits::Answer(NEVER_NS);
                }
                let actor = known.actor();
                self.net.ask((user, request), actor, self.now_ns, &self.users, &mut self.books);
                while let Some((owner, call)) = self.net.take_finished() {
                    self.users[owner as usize].answered.push_back(call);
                    if owner != user {
                        self.enqueue(owner);
                    }
                }
            }
            Step::Grpc(order) => {
                let actor = known.actor();
                self.net.obey((user, order), actor, self.now_ns, &self.users, &mut self.books);
                self.hand_out_news();
            }
            Step::Wait(wait_ns) => {
                let until_ns = wait_ns.map_or(NEVER_NS, |ns| self.now_ns.saturating_add(ns));
                known.waits = Waits::Answer(until_ns);
            }
            Step::Connect(socket) => {
                let actor = known.actor();
                let (now_ns, users, books) = (self.now_ns, &self.users, &mut self.books);
                self.net.connect((user, socket), actor, now_ns, users, books);
            }
            Step::Transmit(socket) => {
                let (now_ns, users, books) = (self.now_ns, &self.users, &mut self.books);
                let queued = self.net.transmit((user, socket), now_ns, users, books);
                self.users[user as usize].waits = Waits::Queued(queued);
            }
            Step::Queued(socket) => known.waits = Waits::Queued(self.net.queued(user, socket)),
            Step::Release(socket) => {
                self.net.release((user, socket), self.now_ns, &mut self.books);
            }
            Step::Listen(of, wait_ns) => {
                let until_ns = wait_ns.map_or(NEVER_NS, |ns| self.now_ns.saturating_add(ns));
                known.waits = Waits::News { of, until_ns };
            }
            Step::Sleep(sleep_ns) => {
                known.waits = Waits::Until(self.now_ns.saturating_add(sleep_ns));
            }
            Step::Pause => {
                self.enqueue(user);
                return false;
            }
            Step::Record(sample) => {
                let (tally, place) = self.books.at(known.actor(), self.now_ns);
                tally.sample(&place, &sample);
            }
            Step::Enter(group) => known.groups.push((group, self.now_ns)),
            Step::Leave => {
                let actor = known.actor();
                if let Some((_, entered_ns)) = known.groups.pop() {
                    let (tally, place) = self.books.at(actor, self.now_ns);
                    tally.group(&place, self.now_ns.saturating_sub(entered_ns));
                }
            }
            Step::Log(level) => {
                let (tally, place) = self.books.at(known.actor(), self.now_ns);
                tally.log(&place, level, &known.vu.line());
            }
            Step::Note(level) => {
                let (tally, place) = self.books.at(known.actor(), self.now_ns);
                tally.note(&place, level, &known.vu.line());
            }
            Step::Done(ending) => {
                self.done(user, ending);
                return false;
            }
        }
        true
    }

    fn done(&mut self, user: u32, ending: Ending) {
        self.now_ns = self.now_ns.max(self.net.driver.clock_ns());
        match self.users[user as usize].doing {
            Doing::Initializing(role) => self.initialized(user, role, ending),
            Doing::Iterating => self.end_iteration(user, ending),
            Doing::Alone => {
                self.users[user as usize].doing = Doing::Nothing;
                self.cut_off_alone();
                self.users[user as usize].groups.clear();
                self.alone = Some(ending);
            }
            Doing::Nothing | Doing::Resting(_) => {}
        }
    }

    fn initialized(&mut self, user: u32, role: Option<u32>, ending: Ending) {
        let known = &mut self.users[user as usize];
        known.doing = Doing::Nothing;
        let is_usable = ending == Ending::Complete;
        if is_usable {
            let facts = &self.stage.controls.facts;
            facts.vus_initialized.fetch_add(1, Ordering::Relaxed);
        } else if let Some(failure) = known.vu.error() {
            if ending == Ending::Aborted {
                self.stage.controls.abort(&failure.text);
            } else if role.is_none() {
                self.stage.fail(VuError::Script(failure));
            } else {
                let (tally, place) = self.books.at(known.actor(), self.now_ns);
                tally.failure(&place, &failure);
            }
        }
        let (vu, now_ns) = (self.users[user as usize].number as u32, self.now_ns);
        let news = self.stage.direct(now_ns, |director, decided| {
            director.initialized(vu, role, is_usable, now_ns, decided);
        });
        self.tell(news);
    }

    fn end_iteration(&mut self, user: u32, ending: Ending) {
        let known = &mut self.users[user as usize];
        let failure = known.vu.error();
        let outcome = match ending {
            Ending::Complete => Outcome::Completed,
            Ending::Failed => Outcome::Failed,
            Ending::Cancelled | Ending::Aborted => Outcome::Interrupted,
        };
        if let Some(failure) = failure {
            if ending == Ending::Aborted {
                self.stage.controls.abort(&failure.text);
            } else {
                let (tally, place) = self.books.at(known.actor(), self.now_ns);
                tally.failure(&place, &failure);
            }
        }
        self.conclude(user, outcome);
        if self.stage.controls.is_aborted() {
            return;
        }
        let known = &mut self.users[user as usize];
        let least_ns = self.cast.min_iteration_ns;
        let until_ns = known.started_ns.saturating_add(least_ns);
        if least_ns > 0 && until_ns > self.now_ns && outcome != Outcome::Interrupted {
            known.doing = Doing::Resting(until_ns);
            self.watch(user);
        } else {
            self.go_free(user);
        }
    }

    /// Ends the iteration of a user from without. Nothing of the script runs any more.
    pub(super) fn cut_off(&mut self, user: u32) {
        let wall_ns = self.books.wall_ns(self.now_ns);
        let known = &mut self.users[user as usize];
        known.task = None;
        if let Some(line) = known.vu.farewell_to_timers() {
            let (tally, place) = self.books.at(known.actor(), self.now_ns);
            tally.note(&place, Level::Warn, &line);
        }
        known.vu.cancel(wall_ns);
        drop(known.vu.error());
        self.conclude(user, Outcome::Interrupted);
    }

    /// Ends what a user has asked for and not got, and says how many requests those are.
    pub(super) fn cut_off_requests(&mut self, user: u32) -> u64 {
        let (now_ns, known, books) = (self.now_ns, &mut self.users[user as usize], &mut self.books);
        let (unsent, actor) = (known.vu.unsent(), known.actor());
        self.net.cut_off(user, now_ns, books)
            + self.net.cut_off_calls(user)
            + self.net.tell_unsent((&unsent, actor), now_ns, books)
    }

    /// Counts an iteration that has ended, and clears up after it.
    fn conclude(&mut self, user: u32, outcome: Outcome) {
        let now_ns = self.now_ns;
        let requests_cut_off = self.cut_off_requests(user);
        let known = &mut self.users[user as usize];
        known.news.clear();
        for call in known.answered.drain(..) {
            self.net.forget(call);
        }
        known.groups.clear();
        if known.vu.has_failed_test() {
            self.stage.controls.fail_test();
        }
        let (sent_bytes, received_bytes) = self.net.take_bytes(user);
        let ended = IterationEnded {
            outcome,
            due_ns: known.due_ns,
            started_ns: known.started_ns,
            ended_ns: now_ns,
            sent_bytes,
            received_bytes,
            requests_cut_off,
        };
        let actor = known.actor();
        let role = actor.scenario;
        known.iterations += 1;
        known.doing = Doing::Nothing;
        let (tally, place) = self.books.at(actor, now_ns);
        tally.iteration(&place, &ended);
        let facts = &self.stage.controls.facts;
        let is_cut_off = outcome == Outcome::Interrupted;
        let count =
            if is_cut_off { &facts.iterations_interrupted } else { &facts.iterations_completed };
        count.fetch_add(1, Ordering::Relaxed);
        if !self.cast.network.keeps_connections {
            self.net.close_all(user);
        }
        let Some(role) = role else { return };
        let progress = &self.stage.controls.progress[role as usize];
        progress.ended.fetch_add(1, Ordering::Relaxed);
        if is_cut_off {
            progress.interrupted.fetch_add(1, Ordering::Relaxed);
        }
        if self.stage.scenes[role as usize].is_of_arrivals() {
            self.count_active(role, -1);
        }
    }
}
