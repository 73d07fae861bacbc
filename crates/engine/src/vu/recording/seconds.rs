//! The seconds of a run of virtual users on their way from the workers to the caller: packed, and
//! joined to those of each scenario and of the run.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};

use plimsoll_core::recorder::Interval;
use plimsoll_core::series::{INTERVAL_NS, Point, Series};

use crate::crew::Progress;
use crate::joint::Joint;

/// What a worker tells.
enum Told {
    /// The scenarios have started.
    Begun,
    /// A second of a scenario is over there.
    Interval(u32, usize, Box<Interval>),
    /// It has nothing more to tell.
    Ended(u32),
}

/// An interval that was emptied, and the scenario that it is for.
type Spare = (usize, Box<Interval>);

/// Where intervals go in, and where each worker gets them back.
#[derive(Debug)]
pub(super) struct Sender {
    told: mpsc::Sender<Told>,
    roles: usize,
    spares: Mutex<Vec<Option<Receiver<Spare>>>>,
}

/// A worker's line to the caller.
pub(super) struct Line {
    worker: u32,
    /// `None` once the worker has ended: who follows waits until all are gone.
    told: Option<mpsc::Sender<Told>>,
    given_back: Option<Receiver<Spare>>,
    /// Emptied intervals, by scenario.
    spares: Vec<Option<Box<Interval>>>,
}

/// The seconds of a run, as they become whole.
#[derive(Debug)]
pub struct Seconds {
    told: Receiver<Told>,
    give_back: Vec<mpsc::Sender<Spare>>,
    roles: Vec<RoleSeconds>,
    run: Joint,
    has_begun: bool,
}

/// Those of a scenario.
#[derive(Debug)]
struct RoleSeconds {
    start_ns: u64,
    joint: Joint,
    series: Series,
    /// Seconds in which nothing happened: they are of the series if something does after them.
    idle: Vec<Point>,
    ended: usize,
}

/// A channel for scenarios that start at these times.
pub(super) fn channel(starts_ns: &[u64], workers: u32) -> (Sender, Seconds) {
    let (told, receiver) = mpsc::channel();
    let lines = (0..workers).map(|_| mpsc::channel());
    let (give_back, given_back): (Vec<_>, Vec<_>) = lines.unzip();
    let roles = starts_ns.iter().map(|start_ns| RoleSeconds {
        start_ns: *start_ns,
        joint: Joint::new((0..workers).map(|_| 0)),
        series: Series::starting_at(*start_ns),
        idle: Vec::new(),
        ended: 0,
    });
    let begins_ns = starts_ns.iter().map(|start_ns| start_ns - start_ns % INTERVAL_NS);
    let run = Joint::new(begins_ns);
    let roles = roles.collect();
    let seconds = Seconds { told: receiver, give_back, roles, run, has_begun: false };
    let spares = given_back.into_iter().map(Some).collect::<Vec<_>>().into();
    (Sender { told, roles: starts_ns.len(), spares }, seconds)
}

impl Sender {
    /// The line of a worker.
    pub(super) fn line(&self, worker: u32) -> Line {
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        Line {
            worker,
            told: Some(self.told.clone()),
            given_back: spares.get_mut(worker as usize).and_then(Option::take),
            spares: (0..self.roles).map(|_| None).collect(),
        }
    }
}

impl Line {
    pub(super) fn hand_on(&mut self, role: usize, interval: Box<Interval>) {
        self.tell(Told::Interval(self.worker, role, interval));
    }

    /// An emptied interval for a scenario.
    pub(super) fn spare(&mut self, role: usize) -> Option<Box<Interval>> {
        for (of, interval) in self.given_back.iter().flat_map(Receiver::try_iter) {
            self.spares[of] = Some(interval);
        }
        self.spares[role].take()
    }

    pub(super) fn begin(&mut self) {
        self.tell(Told::Begun);
    }

    pub(super) fn end(&mut self) {
        self.tell(Told::Ended(self.worker));
        self.told = None;
    }

    fn tell(&self, told: Told) {
        if let Some(sender) = &self.told {
            // Nobody may be watching any more.
            let _ = sender.send(told);
        }
    }
}

impl Seconds {
    /// Takes what the workers tell until all are gone, and passes it on as what the whole run does.
    pub fn follow(&mut self, on_progress: &mut dyn FnMut(Progress<'_>)) {
        while let Ok(told) = self.told.recv() {
            match told {
                Told::Begun if self.has_begun => {}
                Told::Begun => {
                    self.has_begun = true;
                    on_progress(Progress::Measuring);
                }
                Told::Interval(worker, at, mut interval) => {
                    let point = interval.pack();
                    // The worker may have ended, and needs no spare then.
                    let _ = self.give_back[worker as usize].send((at, interval));
                    self.roles[at].joint.add(worker as usize, point);
                    self.join(at);
                }
                Told::Ended(worker) => {
                    for at in 0..self.roles.len() {
                        self.roles[at].joint.end(worker as usize);
                        self.roles[at].ended += 1;
                        self.join(at);
                        if self.roles[at].ended == self.give_back.len() {
                            self.run.end(at);
                        }
                    }
                }
            }
            while let Some(whole) = self.run.take_whole() {
                on_progress(Progress::Interval(&whole));
            }
        }
    }

    /// Passes on the seconds of a scenario that are whole.
    fn join(&mut self, at: usize) {
        let RoleSeconds { start_ns, joint, series, idle, .. } = &mut self.roles[at];
        while let Some(whole) = joint.take_whole() {
            self.run.add(at, on_grid(&whole, *start_ns));
            if is_idle(&whole) {
                idle.push(whole);
            } else {
                idle.drain(..).for_each(|point| series.add(&point));
                series.add(&whole);
            }
        }
    }

    /// The series of a scenario that took `elapsed_ns`.
    pub(super) fn series(&self, at: usize, elapsed_ns: u64) -> Series {
        let Some(role) = self.roles.get(at) else { return Series::default() };
        let mut series = role.series.clone();
        let own = role.idle.iter().filter(|point| point.t_ns < elapsed_ns);
        own.for_each(|point| series.add(point));
        series
    }
}

/// Whether nothing was sent, received or recorded in it.
fn is_idle(point: &Point) -> bool {
    let Point { sent, completed, shed, errors, received_bytes, .. } = *point;
    [sent, completed, shed, errors, received_bytes] == [0; 5] && point.metrics.is_empty()
}

/// A scenario's interval as one of the run's.
fn on_grid(point: &Point, start_ns: u64) -> Point {
    let point = point.shifted(start_ns);
    Point { t_ns: point.t_ns - point.t_ns % INTERVAL_NS, interval_ns: INTERVAL_NS, ..point }
}
