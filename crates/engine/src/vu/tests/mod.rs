//! Runs of virtual users under the simulated driver: workers, scripts, and a ledger.

mod calls;
mod executors;
mod real;
mod recorded;
mod requests;
mod seeds;
mod sockets;
mod solo;
mod tls;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use plimsoll_core::executor::Executor;
use plimsoll_core::metric::Registry;
use plimsoll_core::schedule::Stripe;
use plimsoll_io::sim::{Peer, SimDriver, SimOptions};
use plimsoll_io::{DriverOptions, SocketOptions, Spin};
use plimsoll_script::js::{Failure, Level, Notice, Program, Sample, Settings, Source};

use super::net::{Net, Terms};
use super::stage::Stage;
use super::worker::Worker;
use super::{
    CallEvent, CallTold, Cast, Controls, IterationEnded, Network, Outcome, Place, RequestEnded,
    Role, SocketEvent, SocketTold, Tally, TaskEnded,
};

/// The wall clock at 0 of the simulated one.
const WALL_NS: u64 = 1_700_000_000_000_000_000;

pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1_000 * MS;

/// An iteration as it was told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Iteration {
    pub scenario: u32,
    pub vu: u64,
    pub ended: IterationEnded,
}

/// Keeps what it is told.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub iterations: Vec<Iteration>,
    pub dropped: BTreeMap<u32, u64>,
    pub lines: Vec<String>,
    pub failures: Vec<String>,
    pub samples: Vec<f64>,
    pub groups: Vec<(String, u64)>,
    pub requests: Vec<Request>,
    pub calls: Vec<String>,
    /// What was told of WebSockets: the URL, the status of the opening, and what has happened.
    pub sockets: Vec<(String, u16, SocketEvent)>,
    pub ticks: Vec<Option<[u64; 2]>>,
}

/// A request as it was told.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub url: String,
    pub status: u16,
    pub proto: String,
    pub error_code: u16,
    pub intended_ns: u64,
    pub started_ns: u64,
    pub ended_ns: u64,
    pub timings: plimsoll_script::js::Timings,
}

impl Tally for Kept {
    fn request(&mut self, _: &Place<'_>, ended: &RequestEnded<'_>) {
        self.requests.push(Request {
            url: ended.url.to_owned(),
            status: ended.status,
            proto: ended.proto.to_owned(),
            error_code: ended.error_code,
            intended_ns: ended.intended_ns,
            started_ns: ended.started_ns,
            ended_ns: ended.ended_ns,
            timings: ended.timings,
        });
    }

    fn call(&mut self, _: &Place<'_>, told: &CallTold<'_>) {
        let what = match told.event {
            CallEvent::Ended { code, started_ns, ended_ns, .. } => {
                assert!(started_ns <= ended_ns);
                format!("ended {code}")
            }
            event => format!("{event:?}"),
        };
        self.calls.push(format!("{what} {}", told.path));
    }

    fn socket(&mut self, _: &Place<'_>, told: &SocketTold<'_>) {
        self.sockets.push((told.url.to_owned(), told.status, told.what));
    }

    fn sample(&mut self, _: &Place<'_>, sample: &Sample) {
        self.samples.push(sample.value);
    }

    fn group(&mut self, place: &Place<'_>, duration_ns: u64) {
        let name = place.group.map(|group| place.names.group(group)).unwrap_or_default();
        self.groups.push((name, duration_ns));
    }

    fn iteration(&mut self, place: &Place<'_>, ended: &IterationEnded) {
        self.iterations.push(Iteration {
            scenario: place.scenario.expect("an iteration has a scenario"),
            vu: place.vu,
            ended: *ended,
        });
    }

    fn task(&mut self, _: &Place<'_>, _: &TaskEnded) {}

    fn dropped(&mut self, place: &Place<'_>, count: u64) {
        *self.dropped.entry(place.scenario.expect("a scenario")).or_default() += count;
    }

    fn log(&mut self, _: &Place<'_>, _: Level, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn note(&mut self, _: &Place<'_>, _: Level, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn failure(&mut self, _: &Place<'_>, failure: &Failure) {
        self.failures.push(failure.text.clone());
    }

    fn tick(&mut self, _: &Place<'_>, vus: Option<[u64; 2]>) {
        self.ticks.push(vus);
    }
}

impl Kept {
    /// Adds another worker's.
    fn add(&mut self, other: Self) {
        self.iterations.extend(other.iterations);
        for (scenario, count) in other.dropped {
            *self.dropped.entry(scenario).or_default() += count;
        }
        self.lines.extend(other.lines);
        self.failures.extend(other.failures);
        self.samples.extend(other.samples);
        self.groups.extend(other.groups);
        self.requests.extend(other.requests);
        self.calls.extend(other.calls);
        self.ticks.extend(other.ticks);
    }

    /// How many iterations of a scenario ended in each way: completed, failed, interrupted.
    pub(super) fn counts(&self, scenario: u32) -> [usize; 3] {
        [Outcome::Completed, Outcome::Failed, Outcome::Interrupted].map(|outcome| {
            let is_meant = |iteration: &&Iteration| {
                iteration.scenario == scenario && iteration.ended.outcome == outcome
            };
            self.iterations.iter().filter(is_meant).count()
        })
    }
}

pub(super) fn program(text: &str) -> Program {
    program_with(text, Settings::default())
}

pub(super) fn program_with(text: &str, settings: Settings) -> Program {
    let source = Source {
        path: "/script.js".to_owned(),
        text: text.as_bytes().to_vec(),
        read: Box::new(|_| Err("there is no other file".to_owned())),
        registry: Registry::default(),
    };
    let settings = Settings { memory_bytes_max: 16 << 20, ..settings };
    Program::load(source, settings, WALL_NS, &mut |_: Notice<'_>| ControlFlow::Continue(WALL_NS))
        .unwrap_or_else(|failure| panic!("{failure}"))
}

/// A scenario that starts at once, and stops without grace.
pub(super) fn role(program: &Program, executor: Executor) -> Role {
    Role {
        name: "s".to_owned(),
        function: program.function("default").expect("a default function"),
        executor,
        users: Stripe::default(),
        iterations: Stripe::default(),
        start_ns: 0,
        graceful_stop_ns: 0,
        env: Vec::new(),
        tags: Vec::new(),
        tags_group: false,
    }
}

pub(super) fn cast(program: &Program, roles: Vec<Role>, vus: u64) -> Cast {
    Cast {
        program: program.clone(),
        roles,
        part: Stripe::default(),
        vus_planned: vus,
        vus_max: vus,
        network: Network::default(),
        workers: 1,
        options_json: "{}".into(),
        min_iteration_ns: 0,
    }
}

/// What a run has come to.
pub(super) struct Run {
    pub kept: Kept,
    pub controls: Arc<Controls>,
    /// When the scenarios began, on the simulated clock.
    pub begin_ns: u64,
    pub end_ns: u64,
    /// When everything was stopped; `u64::MAX` if it was not.
    pub stop_ns: u64,
}

/// The simulated kernel of a worker, and the server at its other end.
pub(super) type Kernel = (SimOptions, Option<Box<dyn Peer>>);

/// Carries out a run on one worker, and calls `meanwhile` with the time since its start each turn.
pub(super) fn run_with(
    cast: Cast,
    sim: SimOptions,
    peer: Option<Box<dyn Peer>>,
    meanwhile: impl FnMut(u64, &Controls),
) -> Run {
    run_on(cast, vec![(sim, peer)], meanwhile)
}

/// The same with a worker on each of these kernels.
pub(super) fn run_on(
    cast: Cast,
    kernels: Vec<Kernel>,
    meanwhile: impl FnMut(u64, &Controls),
) -> Run {
    let played = play(cast, kernels, meanwhile, |_| Kept::default());
    let Played { tallies, controls, begin_ns, end_ns, stop_ns } = played;
    let mut kept = Kept::default();
    tallies.into_iter().for_each(|tally| kept.add(tally));
    balance(&kept, &controls);
    Run { kept, controls, begin_ns, end_ns, stop_ns }
}

/// A run that was carried out, with the tallies of its workers.
pub(super) struct Played<T> {
    pub tallies: Vec<T>,
    pub controls: Arc<Controls>,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub stop_ns: u64,
}

/// The same with any tally. Each kernel has a clock of its own, and the worker whose clock is
/// behind takes its turn first.
pub(super) fn play<T: Tally>(
    mut cast: Cast,
    kernels: Vec<Kernel>,
    mut meanwhile: impl FnMut(u64, &Controls),
    tally: impl Fn(u32) -> T,
) -> Played<T> {
    cast.workers = kernels.len() as u32;
    let controls = Arc::new(Controls::new(cast.roles.len()));
    let vus = (cast.vus_planned, cast.vus_max);
    let stage = Stage::new(cast.roles.clone(), vus, cast.workers, Arc::clone(&controls));
    let (cast, stage) = (Arc::new(cast), Arc::new(stage));
    let kernels = (0..).zip(kernels);
    let mut workers: Vec<_> = kernels
        .map(|(index, kernel)| worker((index, kernel), &cast, &stage, tally(index)))
        .collect();
    while !stage.is_ready() {
        let at = hindmost(&workers, &[]);
        assert!(workers[at].turn().expect("the driver works"), "it ended before it began");
    }
    let begin_ns = workers.iter().map(|worker| worker.now_ns).max().expect("a worker");
    stage.begin(begin_ns);
    let (limit_ns, mut done) = (begin_ns + 1000 * S, Vec::new());
    while done.len() < workers.len() {
        let at = hindmost(&workers, &done);
        meanwhile(workers[at].now_ns.saturating_sub(begin_ns), &controls);
        if !workers[at].turn().expect("the driver works") {
            done.push(at);
        }
        assert!(workers[at].now_ns < limit_ns, "the run does not end");
    }
    let end_ns = workers.iter().map(|worker| worker.now_ns).max().expect("a worker");
    let tallies = workers.into_iter().map(|worker| worker.end().0).collect();
    Played { tallies, controls, begin_ns, end_ns, stop_ns: stage.stop_ns() }
}

fn worker<T: Tally>(
    (index, (sim, peer)): (u32, Kernel),
    cast: &Arc<Cast>,
    stage: &Arc<Stage>,
    tally: T,
) -> Worker<SimDriver, T> {
    let options = DriverOptions {
        sockets: 64,
        reserved: 64,
        receivers: 64,
        receive_buffer_bytes: 16 << 10,
        long_lived: true,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: SocketOptions::default(),
    };
    let driver = SimDriver::new(&options, sim, peer);
    let terms = Arc::new(Terms::new(cast.network.clone()).expect("TLS can be set up"));
    let net = Net::new(driver, 64, terms);
    let mut worker = Worker::new(index as usize, cast, stage, net, tally, WALL_NS);
    worker.initialize_planned();
    worker
}

/// The worker whose clock is behind those of the others that are not done.
fn hindmost<T: Tally>(workers: &[Worker<SimDriver, T>], done: &[usize]) -> usize {
    let going = (0..workers.len()).filter(|at| !done.contains(at));
    going.min_by_key(|at| workers[*at].now_ns).expect("one goes on")
}

pub(super) fn run(cast: Cast) -> Run {
    run_with(cast, SimOptions::default(), None, |_, _| {})
}

/// Every iteration that was started has ended, once, and is told once.
fn balance(kept: &Kept, controls: &Controls) {
    for (role, progress) in controls.progress.iter().enumerate() {
        let load = |count: &std::sync::atomic::AtomicU64| {
            count.load(std::sync::atomic::Ordering::Relaxed) as usize
        };
        let counts = kept.counts(role as u32);
        assert_eq!(load(&progress.started), counts.iter().sum::<usize>(), "scenario {role}");
        assert_eq!(load(&progress.ended), load(&progress.started), "scenario {role}");
        assert_eq!(load(&progress.interrupted), counts[2], "scenario {role}");
        assert_eq!(load(&progress.active_vus), 0, "scenario {role}");
        let dropped = kept.dropped.get(&(role as u32)).copied().unwrap_or(0);
        assert_eq!(load(&progress.dropped) as u64, dropped, "scenario {role}");
    }
    // No VU does two things at a time.
    let mut of_vu: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for iteration in &kept.iterations {
        let (from, to) = (iteration.ended.started_ns, iteration.ended.ended_ns);
        assert!(iteration.ended.due_ns <= from && from <= to, "{iteration:?}");
        of_vu.entry(iteration.vu).or_default().push((from, to));
    }
    for (vu, mut stretches) in of_vu {
        stretches.sort_unstable();
        for pair in stretches.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "VU {vu}: {pair:?}");
        }
    }
}
