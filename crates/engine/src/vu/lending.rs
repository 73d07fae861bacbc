//! A worker's users in scenarios: how they come, what they do when they are free, and how they
//! leave.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use plimsoll_core::executor::Executor;
use plimsoll_io::Driver;
use plimsoll_script::js::{Level, ScenarioFacts};

use super::books::Actor;
use super::director::News;
use super::scene::{NEVER_NS, Next};
use super::tally::Tally;
use super::user::{Doing, Engaged};
use super::worker::Worker;

impl<D: Driver, T: Tally> Worker<D, T> {
    /// A user belongs to a scenario from now on.
    pub(super) fn join(&mut self, user: u32, role: u32, slot: u32) {
        self.begin();
        let scene = &self.stage.scenes[role as usize];
        let facts = self.facts[role as usize].get_or_insert_with(|| {
            Rc::new(ScenarioFacts {
                name: scene.role.name.clone(),
                executor: scene.role.executor.kind().name().to_owned(),
                started_ns: self.books.wall_base_ns.saturating_add(scene.begin_ns()),
                course: scene.course(&self.stage.controls.progress[role as usize].ended),
                tags: scene.role.tags.clone(),
                tags_group: scene.role.tags_group,
            })
        });
        let facts = Rc::clone(facts);
        let known = &mut self.users[user as usize];
        if known.iterations == 0 {
            known.vu.set_data(self.stage.controls.setup_data());
        }
        known.vu.set_environment(&scene.role.env);
        known.vu.forget_labels();
        known.engaged = Some(Engaged { role, slot, begun: 0, leaves_by_ns: None, facts });
        let progress = &self.stage.controls.progress[role as usize];
        progress.vus.fetch_add(1, Ordering::Relaxed);
        if scene.is_of_arrivals() {
            self.users[user as usize].is_free = true;
            self.free[role as usize].push_back(user);
        } else {
            self.count_active(role, 1);
            self.go_free(user);
        }
    }

    /// A user has nothing to do: takes its next iteration, waits for one, or leaves.
    pub(super) fn go_free(&mut self, user: u32) {
        let known = &mut self.users[user as usize];
        known.doing = Doing::Nothing;
        let Some(engaged) = &known.engaged else { return };
        let scene = &self.stage.scenes[engaged.role as usize];
        let (begun, is_leaving) = (engaged.begun, engaged.leaves_by_ns.is_some());
        match scene.next(begun, is_leaving, self.now_ns, self.stage.stop_ns()) {
            Next::Start => self.start_iteration(user, self.now_ns),
            Next::Leave => self.leave(user),
            Next::Wait => {
                // What came due while nobody was free is dropped before this one counts as free.
                let role = engaged.role as usize;
                self.drop_due(role);
                self.users[user as usize].is_free = true;
                self.stage.scenes[role].add_free();
                self.free[role].push_back(user);
            }
        }
    }

    /// A user goes back to the pool.
    fn leave(&mut self, user: u32) {
        let known = &mut self.users[user as usize];
        let Some(engaged) = known.engaged.take() else { return };
        let (vu, role) = (known.number as u32, engaged.role);
        let actor = Actor { scenario: Some(role), vu: known.number, ..Actor::default() };
        let scene = &self.stage.scenes[role as usize];
        if let Executor::PerVuIterations { iterations, .. } = &scene.role.executor {
            let rest = iterations.saturating_sub(engaged.begun);
            self.count_dropped(actor, rest);
        }
        if !self.stage.scenes[role as usize].is_of_arrivals() {
            self.stage.controls.progress[role as usize].vus.fetch_sub(1, Ordering::Relaxed);
            self.count_active(role, -1);
        }
        let now_ns = self.now_ns;
        let news = self.stage.direct(now_ns, |director, decided| {
            director.returned(vu, role, engaged.slot, now_ns, decided);
        });
        self.tell(news);
    }

    /// Starts the iterations of arrival rates that are due, and drops those that no VU is free for.
    pub(super) fn start_due(&mut self) {
        let stop_ns = self.stage.stop_ns();
        for role in 0..self.free.len() {
            let scene = &self.stage.scenes[role];
            if !scene.is_of_arrivals() || scene.begin_ns() == NEVER_NS {
                continue;
            }
            while !self.free[role].is_empty() {
                let Some(due_ns) = self.stage.scenes[role].take_due(self.now_ns, stop_ns) else {
                    break;
                };
                let Some(user) = self.free[role].pop_front() else { break };
                self.no_longer_free(role, user);
                self.start_iteration(user, due_ns);
            }
            self.drop_due(role);
            let is_over = |worker: &Self| {
                let next = worker.stage.scenes[role].next(0, false, worker.now_ns, stop_ns);
                next == Next::Leave
            };
            while !self.free[role].is_empty() && is_over(self) {
                let Some(user) = self.free[role].pop_front() else { break };
                self.no_longer_free(role, user);
                self.leave(user);
            }
        }
    }

    fn no_longer_free(&mut self, role: usize, user: u32) {
        self.users[user as usize].is_free = false;
        self.stage.scenes[role].remove_free();
    }

    fn drop_due(&mut self, role: usize) {
        let dropped = self.stage.scenes[role].drop_due(self.now_ns, self.stage.stop_ns());
        if dropped == 0 {
            return;
        }
        let actor = Actor { scenario: Some(role as u32), ..Actor::default() };
        self.count_dropped(actor, dropped);
        if self.stage.scenes[role].want_vu() {
            let now_ns = self.now_ns;
            let news = self.stage.direct(now_ns, |director, decided| {
                director.grow(role as u32, now_ns, decided);
            });
            self.tell(news);
        }
    }

    fn count_dropped(&mut self, actor: Actor, count: u64) {
        let Some(role) = actor.scenario.filter(|_| count > 0) else { return };
        self.begin();
        let progress = &self.stage.controls.progress[role as usize];
        progress.dropped.fetch_add(count, Ordering::Relaxed);
        let (tally, place) = self.books.at(actor, self.now_ns);
        tally.dropped(&place, count);
    }

    /// Counts a VU that becomes active, or is no longer.
    pub(super) fn count_active(&self, role: u32, change: i64) {
        let change = change.cast_unsigned();
        let controls = &self.stage.controls;
        controls.facts.vus_active.fetch_add(change, Ordering::Relaxed);
        controls.progress[role as usize].active_vus.fetch_add(change, Ordering::Relaxed);
    }

    /// Passes on what has become of scenarios.
    pub(super) fn tell(&mut self, news: Vec<News>) {
        for news in news {
            match news {
                News::Started(role) => {
                    let progress = &self.stage.controls.progress[role as usize];
                    let begin_ns = self.stage.scenes[role as usize].begin_ns();
                    progress.started_ns.store(begin_ns, Ordering::Relaxed);
                    progress.status.store(1, Ordering::Release);
                }
                News::Over(role, dropped) => {
                    let actor = Actor { scenario: Some(role), ..Actor::default() };
                    self.count_dropped(actor, dropped);
                    let progress = &self.stage.controls.progress[role as usize];
                    progress.ended_ns.store(self.now_ns, Ordering::Relaxed);
                    progress.status.store(3, Ordering::Release);
                }
                News::Exhausted(role) => {
                    let actor = Actor { scenario: Some(role), ..Actor::default() };
                    let scene = &self.stage.scenes[role as usize];
                    let line = format!(
                        "scenario '{}' has its maximum of {} VUs, all are busy, and iterations \
                         are dropped: raise maxVUs",
                        scene.role.name,
                        scene.vus_max()
                    );
                    let (tally, place) = self.books.at(actor, self.now_ns);
                    tally.note(&place, Level::Warn, &line);
                }
            }
        }
    }
}
