//! A run of several scenarios: each is a run on threads of its own. They begin together, and what
//! they tell is told as one.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use plimsoll_core::gate::LastRequest;
use plimsoll_core::result::{RunResult, ScenarioResult};
use plimsoll_core::scenario::{Scenario, Scenarios};
use plimsoll_core::series::{INTERVAL_NS, Point};
use plimsoll_io::clock;
use plimsoll_io::host::HostEnvironment;
use plimsoll_script::lua::Thread;

use super::{Company, carry_out, run_scripted};
use crate::assignment::Member;
use crate::control::Control;
use crate::crew::{Progress, no_thread};
use crate::error::RunError;
use crate::joint::Joint;
use crate::muster::Muster;
use crate::outcome::{Gathered, empty};
use crate::preflight::files_needed;

/// What a scenario tells, with its number.
enum Told {
    /// Its load is about to begin, with this many connections.
    Started(u32),
    /// An interval of its own is over.
    Interval(usize, Box<Point>),
    Ended(usize, Result<Box<RunResult>, RunError>),
}

/// Carries out the scenarios of a run. A plain run may have scripts, as [`run_scripted`] has them.
///
/// # Errors
/// Those of [`run_scripted`]. Where there are several scenarios, the error names the one that could
/// not be carried out, and the others end.
pub fn run_scenarios(
    scenarios: &Scenarios,
    scripts: Vec<Thread>,
    control: &Control,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(RunResult, Vec<Thread>), RunError> {
    if let Some(plan) = scenarios.plain() {
        return run_scripted(plan, scripts, control, on_progress);
    }
    let list = scenarios.list();
    let muster = Muster::new(list.len() as u32, scenarios.run().warmup_ns);
    let mut course = Course::new(list);
    let result = thread::scope(|scope| {
        let (sender, told) = channel();
        let mut posts: Vec<_> = list.iter().map(|_| muster.post()).collect();
        for (number, own) in control.of_scenarios(list.len()).into_iter().enumerate() {
            let company = Company {
                member: Member {
                    number: number as u32,
                    count: list.len() as u32,
                    start_ns: list[number].start_ns,
                },
                post: posts.remove(0),
                files: files_beside(list, number),
            };
            let (plan, sender) = (&list[number].plan, sender.clone());
            let work = move || {
                let tell = &mut |progress: Progress<'_>| tell(&sender, number, &progress);
                let ran = carry_out(plan, Vec::new(), company, &own, tell);
                let ran = ran.map(|(result, _)| Box::new(result));
                // The receiver waits for every scenario.
                let _ = sender.send(Told::Ended(number, ran));
            };
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, work) {
                course.failed(number, no_thread(error));
                break;
            }
        }
        // A scenario that was not started does not arrive.
        drop((posts, sender));
        course.follow(&told, &muster, control, on_progress);
        course.finish()
    })?;
    let started_at = muster.zero().map_or_else(clock::wall_time, |zero| zero.at);
    let empty = empty(scenarios.run(), &HostEnvironment::read(), &Gathered::nothing(started_at));
    Ok((RunResult::of_scenarios(empty, result), scripts))
}

/// The file descriptors that the other scenarios need.
fn files_beside(list: &[Scenario], number: usize) -> u64 {
    let others = list.iter().enumerate().filter(|(other, _)| *other != number);
    others.map(|(_, scenario)| files_needed(&scenario.plan, scenario.plan.workers.max(1))).sum()
}

fn tell(sender: &Sender<Told>, number: usize, progress: &Progress<'_>) {
    let told = match progress {
        Progress::Started { open } => Told::Started(*open),
        // The run's own measured part begins for all at once.
        Progress::Measuring | Progress::Over => return,
        Progress::Interval(point) => Told::Interval(number, Box::new((*point).clone())),
    };
    // The receiver waits for every scenario.
    let _ = sender.send(told);
}

/// What is known of the scenarios.
struct Course<'s> {
    list: &'s [Scenario],
    intervals: Joint,
    started: usize,
    open: u32,
    is_measuring: bool,
    last: Vec<LastRequest>,
    is_over: bool,
    results: Vec<Option<RunResult>>,
    /// The first that says why the run failed.
    error: Option<RunError>,
}

impl<'s> Course<'s> {
    fn new(list: &'s [Scenario]) -> Self {
        let begins_ns =
            list.iter().map(|scenario| scenario.start_ns - scenario.start_ns % INTERVAL_NS);
        Self {
            list,
            intervals: Joint::new(begins_ns),
            started: 0,
            open: 0,
            is_measuring: false,
            last: list.iter().map(|scenario| LastRequest::of(&scenario.plan)).collect(),
            is_over: false,
            results: list.iter().map(|_| None).collect(),
            error: None,
        }
    }

    /// Takes what the scenarios tell until all have ended.
    fn follow(
        &mut self,
        told: &Receiver<Told>,
        muster: &Muster,
        control: &Control,
        on_progress: &mut dyn FnMut(Progress<'_>),
    ) {
        loop {
            match self.next(told, muster) {
                Ok(Told::Started(open)) => self.has_started(open, on_progress),
                Ok(Told::Interval(number, point)) => {
                    self.last[number].add(&point);
                    let point = on_grid(&point, self.list[number].start_ns);
                    self.intervals.add(number, point);
                }
                Ok(Told::Ended(number, ran)) => {
                    self.intervals.end(number);
                    self.last[number].end();
                    match ran {
                        Ok(result) => self.results[number] = Some(*result),
                        Err(error) => {
                            self.failed(number, error);
                            control.stop();
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.is_measuring = true;
                    on_progress(Progress::Measuring);
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let has_begun = self.started == self.list.len();
            if has_begun && !self.is_over && self.last.iter().all(LastRequest::is_over) {
                self.is_over = true;
                on_progress(Progress::Over);
            }
            while let Some(whole) = self.intervals.take_whole() {
                on_progress(Progress::Interval(&whole));
            }
        }
    }

    /// What is told next; a timeout when the measured part begins.
    fn next(&self, told: &Receiver<Told>, muster: &Muster) -> Result<Told, RecvTimeoutError> {
        let is_awaited = !self.is_measuring && self.started == self.list.len();
        match muster.zero().filter(|_| is_awaited) {
            Some(zero) => {
                let left_ns = zero.at_ns.saturating_sub(clock::now_ns());
                told.recv_timeout(Duration::from_nanos(left_ns))
            }
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    fn has_started(&mut self, open: u32, on_progress: &mut dyn FnMut(Progress<'_>)) {
        self.started += 1;
        self.open += open;
        if self.started == self.list.len() {
            on_progress(Progress::Started { open: self.open });
        }
    }

    /// A scenario could not be carried out. That it had to wait for another says nothing.
    fn failed(&mut self, number: usize, error: RunError) {
        if self.error.is_none() && !matches!(error, RunError::GivenUp) {
            let name = self.list[number].name.clone();
            self.error = Some(RunError::Scenario { name, error: Box::new(error) });
        }
    }

    /// The results of all.
    fn finish(self) -> Result<Vec<ScenarioResult>, RunError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let all = self.list.iter().zip(self.results).map(|(scenario, result)| {
            let (name, start_ns) = (scenario.name.clone(), scenario.start_ns);
            Ok(ScenarioResult { name, start_ns, result: result.ok_or(RunError::GivenUp)? })
        });
        all.collect()
    }
}

/// A scenario's interval as one of the run's.
fn on_grid(point: &Point, start_ns: u64) -> Point {
    let point = point.shifted(start_ns);
    Point { t_ns: point.t_ns - point.t_ns % INTERVAL_NS, interval_ns: INTERVAL_NS, ..point }
}

#[cfg(test)]
mod tests;
