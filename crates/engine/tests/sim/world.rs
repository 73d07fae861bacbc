//! Runs a plan's workers, one after the other, each on a simulated kernel of its own.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_conn::{Http1, Http1Settings, Protocol, Setup};
use plimsoll_core::Histogram;
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::recorder::{Interval, Recorder};
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::series::{Point, Series};
use plimsoll_engine::Signals;
use plimsoll_engine::scripted::Scripted;
use plimsoll_engine::source::Source;
use plimsoll_engine::worker::{Assignment, Connected, CpuUse, Record, Worker};
use plimsoll_io::sim::{Peer, SimOptions};
use plimsoll_io::{SimDriver, Spin};
use plimsoll_proto::http1::Limits;
use plimsoll_script::lua::Thread;

use crate::peer::{Answer, Log, Server};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = SECOND_NS;
const SECOND_NS: u64 = 1_000_000_000;
/// When the load begins.
pub(crate) const START_NS: u64 = 2 * S;

/// A closed loop over 4 connections for a second, to vary.
pub(crate) fn plan() -> Draft {
    Draft {
        connections: 4,
        workers: 1,
        duration_ns: Some(S),
        ..Draft::new(Endpoint::http("192.0.2.1", 80, "/"))
    }
}

/// The same at a rate.
pub(crate) fn at_rate(rate_uhz: u64, duration_ns: u64) -> Draft {
    let rate = Profile::constant(rate_uhz, Some(duration_ns), Arrival::Uniform);
    Draft { rate: Some(rate), duration_ns: Some(duration_ns), ..plan() }
}

/// What came of a run.
pub(crate) struct Ran {
    pub records: Vec<Record>,
    pub logs: Vec<Rc<RefCell<Log>>>,
    pub series: Series,
    /// The workers' seconds as they were told.
    pub points: Vec<Point>,
    /// How often the workers went to wait.
    pub waits: u64,
    /// The most bytes that were queued on a connection because the kernel had not taken them.
    pub queued_bytes_max: usize,
    /// The workers' scripts, as they have become.
    pub scripts: Vec<Thread>,
    pub script_errors: Vec<String>,
    /// What came of opening the workers' connections.
    pub opened: Vec<Connected>,
    /// When the load began, by worker.
    pub starts_ns: Vec<u64>,
}

impl Ran {
    /// All workers' records as one.
    pub(crate) fn sum(&self) -> Recorder {
        let mut sum = Recorder::new();
        for record in &self.records {
            sum.merge(&record.measured);
        }
        sum
    }

    pub(crate) fn arrivals(&self) -> usize {
        self.logs.iter().map(|log| log.borrow().arrivals_ns.len()).sum()
    }
}

/// Runs `plan` against servers that follow `script` over a network with these faults.
pub(crate) fn run<F>(plan: &Draft, sim: &SimOptions, script: impl Fn(u32) -> F) -> Ran
where
    F: FnMut(u64, u64) -> Answer + 'static,
{
    run_told(plan, sim, script, &Signals::default())
}

/// The same with orders given beforehand.
pub(crate) fn run_told<F>(
    plan: &Draft,
    sim: &SimOptions,
    script: impl Fn(u32) -> F,
    signals: &Signals,
) -> Ran
where
    F: FnMut(u64, u64) -> Answer + 'static,
{
    run_scripted(plan, sim, script, signals, Vec::new())
}

/// The same with a Lua script's state for each worker.
pub(crate) fn run_scripted<F>(
    plan: &Draft,
    sim: &SimOptions,
    script: impl Fn(u32) -> F,
    signals: &Signals,
    threads: Vec<Thread>,
) -> Ran
where
    F: FnMut(u64, u64) -> Answer + 'static,
{
    let mut logs = Vec::new();
    let peer = |worker| {
        let (server, log) = Server::new(script(worker));
        logs.push(log);
        Box::new(server) as Box<dyn Peer>
    };
    let settings = Http1Settings {
        pipeline: plan.pipeline as usize,
        limits: Limits::default(),
        outlives_close: false,
    };
    let ran = run_over::<Http1>(plan, sim, &settings, peer, signals, threads);
    Ran { logs, ..ran }
}

/// The same over any protocol, against a peer of each worker's own. Says nothing of what the peers
/// saw.
pub(crate) fn run_over<P: Protocol>(
    plan: &Draft,
    sim: &SimOptions,
    settings: &P::Settings,
    peer: impl FnMut(u32) -> Box<dyn Peer>,
    signals: &Signals,
    threads: Vec<Thread>,
) -> Ran {
    let (mut errors, mut scripts) = (Vec::new(), Vec::new());
    let world = World { plan, sim, settings, signals };
    let ran = if threads.is_empty() {
        world.run::<P, _>(peer, |assignment| (assignment.source(), assignment), |_| {})
    } else {
        let mut threads = threads.into_iter();
        let source = |assignment: Assignment<P::Encoding>| {
            let thread = threads.next().unwrap();
            let assignment = assignment.with_script(&thread);
            (Scripted::new(thread), assignment)
        };
        let mut keep = |mut source: Scripted| {
            errors.extend(source.error().map(|error| error.to_string()));
            scripts.push(source.into_thread());
        };
        world.run::<P, _>(peer, source, &mut keep)
    };
    Ran { script_errors: errors, scripts, ..ran }
}

/// What all workers of a run have in common.
pub(crate) struct World<'a, Settings> {
    pub plan: &'a Draft,
    pub sim: &'a SimOptions,
    pub settings: &'a Settings,
    pub signals: &'a Signals,
}

impl<Settings> World<'_, Settings> {
    /// Runs a worker after the other, each with a source of its own, which `keep` gets in the end.
    pub(crate) fn run<P: Protocol<Settings = Settings>, S: Source>(
        &self,
        mut peer: impl FnMut(u32) -> Box<dyn Peer>,
        mut source: impl FnMut(Assignment<P::Encoding>) -> (S, Assignment<P::Encoding>),
        mut keep: impl FnMut(S),
    ) -> Ran {
        let plan = Arc::new(self.plan.clone().check().expect("a plan"));
        let address: SocketAddr = "192.0.2.1:80".parse().unwrap();
        let routes = [address.into()].into();
        let first = Assignment::new(Arc::clone(&plan), routes, false, Spin::Off).unwrap();
        let mut ran = Ran {
            records: Vec::new(),
            logs: Vec::new(),
            series: Series::default(),
            points: Vec::new(),
            waits: 0,
            queued_bytes_max: 0,
            scripts: Vec::new(),
            script_errors: Vec::new(),
            opened: Vec::new(),
            starts_ns: Vec::new(),
        };
        for index in 0..plan.workers {
            let (source, assignment) = source(first.for_worker(index, Setup::default()));
            let sim = SimOptions { seed: self.sim.seed + u64::from(index), ..self.sim.clone() };
            let driver = SimDriver::new(&assignment.driver_options(), sim, Some(peer(index)));
            let cpu = CpuUse::default;
            let mut worker =
                Worker::<_, P, S>::new(driver, &assignment, self.settings, cpu, source);
            ran.opened.push(worker.open(SECOND_NS, self.signals).unwrap());
            let mut on_interval = |mut interval: Box<Interval>| {
                let point = interval.pack();
                ran.series.add(&point);
                ran.points.push(point);
                Some(interval)
            };
            worker.run(START_NS, self.signals, &mut on_interval).unwrap();
            ran.waits += worker.driver().waits();
            ran.queued_bytes_max = ran.queued_bytes_max.max(worker.driver().queued_bytes_max());
            ran.starts_ns.push(START_NS);
            let (record, source) = worker.into_record();
            ran.records.push(record);
            keep(source);
        }
        ran
    }
}

/// Asserts that a quantile is what it must be, within `tolerance_ns` and a bucket's width.
#[track_caller]
pub(crate) fn assert_quantile(histogram: &Histogram, q: f64, want_ns: u64, tolerance_ns: u64) {
    let found_ns = histogram.quantile_ns(q).unwrap();
    let slack_ns = tolerance_ns + want_ns / 1000;
    assert!(
        found_ns.abs_diff(want_ns) <= slack_ns,
        "quantile {q}: {found_ns} ns, should be {want_ns} ns within {slack_ns} ns"
    );
}
