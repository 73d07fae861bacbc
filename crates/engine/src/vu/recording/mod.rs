//! A run of virtual users recorded as a plain run is: what a tally on each worker writes down, and
//! the result that is made of all of them.
//!
//! Each scenario has a record of its own on each worker ([`role`]). Seconds go to the caller who
//! watches the run through [`Seconds`]. [`result`](fn@result) makes a run's result of the
//! scenarios' and of what was seen of the tester meanwhile.
//!
//! Absent on purpose: k6's metrics and thresholds, which are counted beside this. Calls of gRPC and
//! WebSockets are only counted, so that the verdict can say that the figures leave them out.

mod fault;
mod outcome;
mod role;
mod seconds;

use std::sync::Arc;

use plimsoll_core::executor::Executor;
use plimsoll_core::metric::{GROUP_DURATION, Kind, MetricId, Registry};
use plimsoll_core::result::Connections;
use plimsoll_core::secret::Masks;
use plimsoll_io::Address;
use plimsoll_script::js::{Failure, Level, Sample};

use super::cast::Cast;
use super::tally::{
    CallTold, IterationEnded, Place, RequestBegun, RequestEnded, Shortage, SocketTold, Tally,
    TaskEnded,
};
use crate::observer::CpuUse;
use crate::told_apart::{Most, Names, ToldApart};
use role::{RoleBook, RoleTerms};
use seconds::Line;

pub use outcome::{Recorded, Testimony, Witness, result};
pub use seconds::Seconds;

/// What all recordings of a run have in common.
#[derive(Debug)]
struct Shared {
    pub metrics: Arc<Registry>,
    pub group_duration: Option<MetricId>,
    pub masks: Masks,
    pub endpoints: Arc<Names>,
    pub told_apart: ToldApart,
    pub roles: Vec<RoleTerms>,
}

/// Makes the recordings of a run, one for each worker.
#[derive(Debug)]
pub struct Recorders {
    shared: Arc<Shared>,
    sender: seconds::Sender,
}

impl Recorders {
    /// For this run. `masks` say what of names is not shown, and `notes_waiting` whether seconds
    /// tell of the requests that wait when they end, for conditions. The seconds come out at the
    /// other end until all recordings are gone.
    #[must_use]
    pub fn new(cast: &Cast, masks: Masks, notes_waiting: bool) -> (Self, Seconds) {
        let mut metrics = cast.program.registry();
        // A script cannot have declared it otherwise: k6 has it.
        let group_duration = metrics.declare(GROUP_DURATION, Kind::TimeTrend).ok();
        let roles: Vec<RoleTerms> = cast
            .roles
            .iter()
            .map(|role| RoleTerms {
                start_ns: role.start_ns,
                window_ns: window_ns(&role.executor),
                is_of_arrivals: is_of_arrivals(&role.executor),
                notes_waiting,
            })
            .collect();
        let starts_ns: Vec<u64> = roles.iter().map(|role| role.start_ns).collect();
        let (sender, seconds) = seconds::channel(&starts_ns, cast.workers.max(1));
        let names = |most| Arc::new(Names::new(most, cast.workers as usize, roles.len()));
        let told_apart = ToldApart { groups: names(Most::PARTS), tags: names(Most::TAGS) };
        let endpoints = names(Most::PARTS);
        let shared = Shared {
            metrics: Arc::new(metrics),
            group_duration,
            masks,
            endpoints,
            told_apart,
            roles,
        };
        (Self { shared: Arc::new(shared), sender }, seconds)
    }

    /// That of a worker.
    #[must_use]
    pub fn of(&self, worker: u32) -> Recording {
        let shared = Arc::clone(&self.shared);
        let roles = shared.roles.iter().map(|terms| RoleBook::new(&shared, *terms)).collect();
        Recording {
            roles,
            line: self.sender.line(worker),
            shared,
            began: None,
            used: CpuUse::default(),
            open_max: 0,
            ended_ns: 0,
        }
    }
}

/// For how long a scenario's rate is counted: for the time that it has. One that ends with its
/// iterations is counted to the last of them.
fn window_ns(executor: &Executor) -> Option<u64> {
    match executor {
        Executor::SharedIterations { .. } | Executor::PerVuIterations { .. } => None,
        executor => Some(executor.regular_duration_ns()),
    }
}

fn is_of_arrivals(executor: &Executor) -> bool {
    let is_constant = matches!(executor, Executor::ConstantArrivalRate { .. });
    is_constant || matches!(executor, Executor::RampingArrivalRate { .. })
}

/// What one worker records of all scenarios.
pub struct Recording {
    shared: Arc<Shared>,
    roles: Vec<RoleBook>,
    line: Line,
    /// When the scenarios started, and what the thread had used of the CPU by then.
    began: Option<(u64, CpuUse)>,
    /// What it has used since.
    used: CpuUse,
    /// The most connections that all scenarios had open at once.
    open_max: u64,
    ended_ns: u64,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").field("roles", &self.roles.len()).finish_non_exhaustive()
    }
}

/// The record of the scenario where something happens, with the intervals before handed on.
#[inline]
fn book<'a>(
    roles: &'a mut [RoleBook],
    line: &mut Line,
    place: &Place<'_>,
    at_ns: u64,
) -> Option<&'a mut RoleBook> {
    let at = place.scenario? as usize;
    let role = roles.get_mut(at)?;
    role.pass(at_ns, false, |interval| line.hand_on(at, interval));
    Some(role)
}

impl Recording {
    #[inline]
    fn role(&mut self, place: &Place<'_>, at_ns: u64) -> Option<&mut RoleBook> {
        book(&mut self.roles, &mut self.line, place, at_ns)
    }

    /// Whether connections were begun to other hosts, by scenario.
    #[cfg(test)]
    pub(super) fn dials_elsewhere(&self) -> Vec<bool> {
        self.roles.iter().map(|role| role.dials_elsewhere).collect()
    }

    fn pass(&mut self, at_ns: u64, is_end: bool) {
        let line = &mut self.line;
        for (at, role) in self.roles.iter_mut().enumerate() {
            if let Some(spare) = line.spare(at) {
                role.observer.keep_spare(Some(spare));
            }
            role.pass(at_ns, is_end, |interval| line.hand_on(at, interval));
        }
    }
}

impl Tally for Recording {
    fn request(&mut self, place: &Place<'_>, ended: &RequestEnded<'_>) {
        let Self { roles, line, shared, .. } = self;
        if let Some(role) = book(roles, line, place, ended.ended_ns) {
            role.request(place, ended, &shared.masks);
        }
    }

    fn call(&mut self, place: &Place<'_>, told: &CallTold<'_>) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.call(told.event);
        }
    }

    fn short(&mut self, place: &Place<'_>, shortage: Shortage) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.short(shortage);
        }
    }

    fn socket(&mut self, place: &Place<'_>, told: &SocketTold<'_>) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.socket(told);
        }
    }

    fn sample(&mut self, place: &Place<'_>, sample: &Sample) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.sample(place, sample);
        }
    }

    fn group(&mut self, place: &Place<'_>, duration_ns: u64) {
        let metric = self.shared.group_duration;
        if let Some(role) = self.role(place, place.at_ns) {
            role.group(place, duration_ns, metric);
        }
    }

    fn iteration(&mut self, place: &Place<'_>, ended: &IterationEnded) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.iteration(place, ended);
        }
    }

    fn task(&mut self, _place: &Place<'_>, _ended: &TaskEnded) {}

    fn dropped(&mut self, place: &Place<'_>, count: u64) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.dropped(count);
        }
    }

    fn log(&mut self, _place: &Place<'_>, _level: Level, _line: &str) {}

    fn note(&mut self, _place: &Place<'_>, _level: Level, _line: &str) {}

    fn failure(&mut self, _place: &Place<'_>, _failure: &Failure) {}

    fn tick(&mut self, place: &Place<'_>, _vus: Option<[u64; 2]>) {
        if self.began.is_some() {
            self.pass(place.at_ns, false);
        }
    }

    fn begin(&mut self, at_ns: u64) {
        self.began = Some((at_ns, CpuUse::of_thread()));
        self.roles.iter_mut().for_each(|role| role.begin(at_ns));
        self.line.begin();
    }

    fn began(&mut self, place: &Place<'_>, begun: &RequestBegun) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.began(begun);
        }
    }

    fn dialled(&mut self, place: &Place<'_>, to: &Address) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.dialled(to);
        }
    }

    fn received(&mut self, place: &Place<'_>, bytes: u64) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.observer.recorder(true).received_bytes += bytes;
        }
    }

    fn cut_off(&mut self, place: &Place<'_>, cut: &RequestEnded<'_>) {
        let Self { roles, line, shared, .. } = self;
        if let Some(role) = book(roles, line, place, place.at_ns) {
            role.cut_off(place, cut, &shared.masks);
        }
    }

    fn unsent(&mut self, place: &Place<'_>, asked: &RequestEnded<'_>) {
        let Self { roles, line, shared, .. } = self;
        if let Some(role) = book(roles, line, place, place.at_ns) {
            role.unsent(place, asked, &shared.masks);
        }
    }

    fn connections(&mut self, place: &Place<'_>, all: &Connections, reconnects: u64) {
        if let Some(role) = self.role(place, place.at_ns) {
            role.connections(all, reconnects);
        }
    }

    fn open_max(&mut self, connections: u64) {
        self.open_max = connections;
    }

    fn end(&mut self, at_ns: u64) {
        self.ended_ns = at_ns;
        if let Some((_, before)) = &self.began {
            self.used = CpuUse::of_thread().since(before);
            self.pass(at_ns, true);
        }
        self.line.end();
    }
}
