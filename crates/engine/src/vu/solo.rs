//! One thing that a throw-away virtual user does: `setup`, `teardown`, `handleSummary`.

use std::sync::Arc;

use plimsoll_core::schedule::Stripe;
use plimsoll_io::Driver;
use plimsoll_io::select::{Opened, open};
use plimsoll_script::js::{self, Ending, FunctionId, Program, Task};

use super::books::Actor;
use super::net::{Net, Terms};
use super::run::{VuError, broken, choice, driver_options, wall_base_ns};
use super::stage::Stage;
use super::tally::TaskEnded;
use super::user::{Doing, User};
use super::worker::Worker;
use super::{Cast, Controls, Network, Tally};

/// What a throw-away VU is to do.
#[derive(Debug, Clone)]
pub enum Errand {
    /// Calls a function, `setup` or `teardown`, with data that is JSON.
    Call(FunctionId, Option<Arc<str>>),
    /// Calls `handleSummary` with data that is JSON.
    Summarize(FunctionId, Arc<str>),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returned {
    /// What the function returned, as JSON; or which part of it JSON cannot hold.
    Value(Result<Option<String>, String>),
    /// What came of `handleSummary`.
    Summary(js::Summarized),
}

/// Has a VU that is made for it, with `__VU` as 0, do one thing on this thread, for `limit_ns` at
/// most. It may do so after the run was aborted; an order to abort that comes meanwhile ends it.
///
/// # Errors
/// An exception, a timeout, or that the run was aborted meanwhile.
pub fn call<T: Tally>(
    program: &Program,
    errand: Errand,
    network: &Network,
    controls: &Arc<Controls>,
    options_json: &Arc<str>,
    limit_ns: u64,
    tally: &mut T,
) -> Result<Returned, VuError> {
    let terms = Arc::new(Terms::new(network.clone())?);
    let cast = Cast {
        program: program.clone(),
        roles: Vec::new(),
        part: Stripe::default(),
        vus_planned: 0,
        vus_max: 1,
        network: network.clone(),
        workers: 1,
        options_json: Arc::clone(options_json),
        min_iteration_ns: 0,
    };
    // Orders to the run are not for it, but what it tells of the test is for all.
    let own = controls.beside();
    let stage = Arc::new(Stage::new(Vec::new(), (0, 1), 1, Arc::new(own)));
    let options = driver_options(1);
    let opened = open(choice(network.driver), &options);
    let (opened, _) = opened.map_err(|error| VuError::Host(error.to_string()))?;
    let (cast, sockets) = (Arc::new(cast), options.sockets);
    match opened {
        #[cfg(target_os = "linux")]
        Opened::Uring(driver) => {
            let net = Net::new(driver, sockets, terms);
            perform(worker(net, &cast, &stage, tally), errand, limit_ns, controls)
        }
        Opened::Epoll(driver) => {
            let net = Net::new(driver, sockets, terms);
            perform(worker(net, &cast, &stage, tally), errand, limit_ns, controls)
        }
    }
}

fn worker<D: Driver, T: Tally>(
    net: Net<D>,
    cast: &Arc<Cast>,
    stage: &Arc<Stage>,
    tally: T,
) -> Worker<D, T> {
    Worker::new(0, cast, stage, net, tally, wall_base_ns())
}

/// Has a worker without roles carry out an errand.
///
/// # Errors
/// As above.
pub(super) fn perform<D: Driver, T: Tally>(
    mut worker: Worker<D, T>,
    errand: Errand,
    limit_ns: u64,
    outer: &Controls,
) -> Result<Returned, VuError> {
    let was_aborted = outer.is_aborted();
    let deadline_ns = worker.now_ns.saturating_add(limit_ns);
    worker.spawn_alone()?;
    let (task, data) = match &errand {
        Errand::Call(function, data) => (Task::Call(*function), data.clone()),
        Errand::Summarize(function, data) => (Task::Summarize(*function, Arc::clone(data)), None),
    };
    outer.add_waker(worker.net.driver.waker());
    let mut tasks = [Task::Evaluate, task].into_iter();
    let mut data = Some(data);
    let mut ending = Some(Ending::Complete);
    loop {
        match ending {
            Some(Ending::Complete) => match tasks.next() {
                Some(task) => {
                    if matches!(task, Task::Evaluate) {
                        worker.users[0].vu.set_data(data.take().flatten());
                    }
                    worker.begin_alone(task);
                }
                None => break,
            },
            Some(_) => break,
            None => {}
        }
        let is_aborted = outer.is_aborted() && !was_aborted;
        if is_aborted || worker.now_ns >= deadline_ns {
            worker.cancel_alone();
            worker.tell_alone();
            return Err(if is_aborted { VuError::Aborted } else { VuError::Timeout });
        }
        worker.deadline_ns = deadline_ns;
        worker.turn().map_err(|error| broken(&error))?;
        ending = worker.alone.take();
    }
    worker.tell_alone();
    outer.add_wound_up(worker.net.wind_up());
    let vu = &mut worker.users[0].vu;
    if vu.has_failed_test() {
        outer.fail_test();
    }
    match ending {
        Some(Ending::Complete) => Ok(match errand {
            Errand::Call(..) => Returned::Value(vu.result()),
            Errand::Summarize(..) => Returned::Summary(vu.summarized()),
        }),
        Some(Ending::Failed) => {
            let unknown = || js::Failure { text: "it failed".to_owned(), stack: String::new() };
            Err(VuError::Script(vu.error().unwrap_or_else(unknown)))
        }
        _ => {
            let reason = vu.error().map(|failure| failure.text).unwrap_or_default();
            outer.abort(&reason);
            Err(VuError::Aborted)
        }
    }
}

impl<D: Driver, T: Tally> Worker<D, T> {
    /// Makes a user that belongs to no scenario.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn spawn_alone(&mut self) -> Result<(), VuError> {
        let spawned = self.cast.program.spawn(&self.books.names, 0).map_err(VuError::Script)?;
        let mut user = User::new(0, spawned);
        {
            let mut execution = user.vu.execution();
            execution.instance = Arc::clone(&self.stage.controls.facts);
            execution.options = Arc::clone(&self.cast.options_json);
            execution.test_started_ns = self.test_started_ns;
        }
        self.users.push(user);
        self.net.add_user(0);
        Ok(())
    }

    /// Has that user begin a task.
    fn begin_alone(&mut self, task: Task) {
        self.users[0].doing = Doing::Alone;
        self.begin_task(0, task);
    }

    /// Ends the task of that user.
    fn cancel_alone(&mut self) {
        let wall_ns = self.books.wall_ns(self.now_ns);
        self.users[0].vu.cancel(wall_ns);
        self.users[0].doing = Doing::Nothing;
        self.cut_off_alone();
    }

    /// Tells the tally of what that user has done.
    fn tell_alone(&mut self) {
        let (sent_bytes, received_bytes) = self.net.take_bytes(0);
        let requests_cut_off = self.requests_cut_off;
        let ended = TaskEnded { sent_bytes, received_bytes, requests_cut_off };
        let vu = &self.users[0].vu;
        let (tags, metadata) = (vu.tags(), vu.metadata());
        let actor = Actor { tags, metadata, ..Actor::default() };
        let (tally, place) = self.books.at(actor, self.now_ns);
        tally.task(&place, &ended);
    }

    /// Cuts off what that user has under way.
    pub(super) fn cut_off_alone(&mut self) {
        self.requests_cut_off += self.cut_off_requests(0);
        self.users[0].news.clear();
    }
}
