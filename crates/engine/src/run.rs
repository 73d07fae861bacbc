//! A run from plan to result: resolve, check the host, start the workers together, gather what
//! they wrote down, and judge it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use plimsoll_core::plan::DriverPlan;
use plimsoll_core::recorder::Interval;
use plimsoll_core::result::{DriverUsed, RunResult};
use plimsoll_core::series::{Point, Series};
use plimsoll_core::{Histogram, Plan};
use plimsoll_io::clock;
use plimsoll_io::host::{Environment, first_reachable, resolve};
use plimsoll_io::select::{DriverChoice, Opened, Selection, open};
use plimsoll_io::{Driver, Waker};

use crate::error::RunError;
use crate::outcome::{Gathered, Watch, assemble};
use crate::preflight;
use crate::render::render;
use crate::worker::{Assignment, CpuUse, Record, Worker};

/// How long the opening of connections may take before the run starts with what is open.
const OPENING_LIMIT_NS: u64 = 10_000_000_000;

/// How far ahead the common start lies, so that every worker is there in time.
const START_AHEAD_NS: u64 = 1_000_000;

/// Stops a run from another thread.
#[derive(Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
    wakers: Mutex<Vec<Waker>>,
}

impl Control {
    /// Ends the run soon; its result is marked as interrupted.
    ///
    /// # Panics
    /// When a thread panicked while it held the lock.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        for waker in self.wakers.lock().expect("no panic under the lock").iter() {
            waker.wake();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The connections are open (or were tried) and the load begins.
    Started {
        /// Connections open; 0 when each request opens its own.
        open: u32,
    },
    /// A second of the measured part is over.
    Interval(&'a Point),
}

enum Message {
    /// The driver, how to wake it, and how many connections are open.
    Ready(Selection, Waker, u32),
    /// A worker's second is over.
    Interval(u32, Box<Interval>),
    Done(u32, Box<Record>),
    Failed(RunError),
}

/// A worker's line to the thread that started it.
struct Line {
    worker: u32,
    messages: Sender<Message>,
    started: Receiver<u64>,
    spares: Receiver<Box<Interval>>,
}

struct Crew {
    threads: Vec<JoinHandle<()>>,
    starts: Vec<Sender<u64>>,
    /// To give intervals back to each worker, emptied.
    spares: Vec<Sender<Box<Interval>>>,
    messages: Receiver<Message>,
}

/// Carries out a plan.
///
/// # Errors
/// When nothing could be run, or when the ledger does not balance at the end: a bug, and no result
/// is better than a wrong one. What goes wrong within a run stands in its result.
pub fn run(
    plan: &Plan,
    control: &Control,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<RunResult, RunError> {
    plan.check()?;
    let rendered = Arc::new(render(plan)?);
    let (addresses, dns) = lookup(plan)?;
    let environment = Environment::read();
    let cpus_allowed = environment.cpus_allowed.len() as u32;
    let workers = preflight::workers(plan, &addresses, cpus_allowed);
    preflight::check_limits(plan, workers)?;
    let spin_ns = preflight::spin_ns(plan, workers, cpus_allowed, environment.cores_online);
    let plan = Arc::new(Plan { workers, ..plan.clone() });
    // A server may count connections: one is spent on a choice only where there is one.
    let address = match addresses[..] {
        [address] => address,
        _ => reach(&plan, &addresses)?,
    };
    let assignment = Assignment::new(Arc::clone(&plan), rendered, address, spin_ns);

    let crew = hire(&assignment, workers, control)?;
    let (driver, opened) = await_ready(&crew, workers, control)?;
    if opened == 0 && !plan.connects_per_request() && !control.is_stopped() {
        reach(&plan, &addresses)?;
    }
    let watch = Watch::begin();
    let started_at = clock::wall_time();
    let start_ns = clock::now_ns() + START_AHEAD_NS;
    for start in &crew.starts {
        // A worker that is gone has said why; that is read below.
        let _ = start.send(start_ns);
    }
    on_progress(Progress::Started { open: opened });
    let (records, series) = gather(&crew, workers, on_progress)?;
    for thread in crew.threads {
        thread.join().map_err(|_| RunError::Worker("a worker thread panicked".to_owned()))?;
    }
    let gathered = Gathered { records, series, dns, driver, started_at };
    assemble(&plan, &environment, gathered, &watch)
}

/// Resolves the name and takes its time.
fn lookup(plan: &Plan) -> Result<(Vec<SocketAddr>, Histogram), RunError> {
    let before_ns = clock::now_ns();
    let endpoint = &plan.endpoint;
    let addresses = resolve(&endpoint.host, endpoint.port).map_err(RunError::Resolve)?;
    let mut dns = Histogram::new();
    dns.record(clock::now_ns() - before_ns);
    Ok((addresses, dns))
}

/// Picks the address that answers.
fn reach(plan: &Plan, addresses: &[SocketAddr]) -> Result<SocketAddr, RunError> {
    let limit_ns = plan.timeout_ns.min(OPENING_LIMIT_NS);
    first_reachable(addresses, limit_ns).map_err(|error| RunError::Unreachable {
        address: plan.endpoint.authority(),
        reason: error.to_string(),
    })
}

fn hire(assignment: &Assignment, workers: u32, control: &Control) -> Result<Crew, RunError> {
    let (sender, messages) = channel();
    let mut crew = Crew { threads: Vec::new(), starts: Vec::new(), spares: Vec::new(), messages };
    for worker in 0..workers {
        let (start, started) = channel();
        let (spare, spares) = channel();
        let assignment = assignment.for_worker(worker);
        let line = Line { worker, messages: sender.clone(), started, spares };
        let stop = Arc::clone(&control.stop);
        let thread = thread::Builder::new()
            .name(format!("worker {worker}"))
            .spawn(move || work(&assignment, &line, &stop))
            .map_err(RunError::Driver)?;
        crew.threads.push(thread);
        crew.starts.push(start);
        crew.spares.push(spare);
    }
    Ok(crew)
}

/// A worker thread, on the driver it gets.
fn work(assignment: &Assignment, line: &Line, stop: &AtomicBool) {
    let message = match work_on_any(assignment, line, stop) {
        Ok(None) => return,
        Ok(Some(record)) => Message::Done(line.worker, Box::new(record)),
        Err(error) => Message::Failed(error),
    };
    // The receiver is gone when the run was given up; nobody wants the record then.
    let _ = line.messages.send(message);
}

fn work_on_any(
    assignment: &Assignment,
    line: &Line,
    stop: &AtomicBool,
) -> Result<Option<Record>, RunError> {
    // Without it timers are some 50 µs late; the verdict sees that.
    let _ = clock::set_timer_slack_ns(1);
    if let Some(cpu) = assignment.pinned_to() {
        clock::pin_to_cpu(cpu).map_err(|error| {
            RunError::Limit(format!("cannot tie a worker to CPU {cpu}: {error}"))
        })?;
    }
    let choice = match assignment.plan().driver {
        DriverPlan::Auto => DriverChoice::Auto,
        DriverPlan::Uring => DriverChoice::Uring,
        DriverPlan::Epoll => DriverChoice::Epoll,
    };
    let (opened, selection) =
        open(choice, &assignment.driver_options()).map_err(RunError::Driver)?;
    match opened {
        Opened::Uring(driver) => work_on(driver, selection, assignment, line, stop),
        Opened::Epoll(driver) => work_on(driver, selection, assignment, line, stop),
    }
}

/// The worker's life; `None` when the run was given up before its start.
fn work_on<D: Driver>(
    driver: D,
    selection: Selection,
    assignment: &Assignment,
    line: &Line,
    stop: &AtomicBool,
) -> Result<Option<Record>, RunError> {
    let broken = |error: std::io::Error| RunError::Worker(error.to_string());
    let mut worker = Worker::new(driver, assignment, CpuUse::of_thread);
    let opened = worker.open(clock::now_ns() + OPENING_LIMIT_NS, stop).map_err(broken)?;
    let waker = worker.driver().waker();
    let _ = line.messages.send(Message::Ready(selection, waker, opened));
    let Ok(start_ns) = line.started.recv() else {
        return Ok(None);
    };
    let mut on_interval = |interval| {
        let _ = line.messages.send(Message::Interval(line.worker, interval));
        line.spares.try_recv().ok()
    };
    worker.run(start_ns, stop, &mut on_interval).map_err(broken)?;
    Ok(Some(worker.into_record()))
}

/// Waits until every worker has opened its connections. Returns the driver and how many are open.
fn await_ready(
    crew: &Crew,
    workers: u32,
    control: &Control,
) -> Result<(DriverUsed, u32), RunError> {
    let mut driver = DriverUsed::default();
    let mut opened = 0;
    for _ in 0..workers {
        match crew.messages.recv() {
            Ok(Message::Ready(selection, waker, open)) => {
                let kind = selection.kind.name().to_owned();
                driver = DriverUsed { kind, reason: selection.reason };
                control.wakers.lock().expect("no panic under the lock").push(waker);
                opened += open;
            }
            Ok(Message::Failed(error)) => return Err(error),
            Ok(_) | Err(_) => return Err(RunError::Worker("it ended before the start".to_owned())),
        }
    }
    Ok((driver, opened))
}

/// Takes what the workers send until all are done. An interval is complete once no worker can add
/// to it any more.
fn gather(
    crew: &Crew,
    workers: u32,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(Vec<Record>, Series), RunError> {
    let mut records = Vec::new();
    let mut series = Series::default();
    let mut partial: BTreeMap<u64, Point> = BTreeMap::new();
    // For each worker, the first interval it may still tell of.
    let mut expected_ns = vec![0; workers as usize];
    while records.len() < workers as usize {
        match crew.messages.recv() {
            Ok(Message::Interval(worker, mut interval)) => {
                let point = interval.pack();
                // The worker may have ended; then nobody needs the spare.
                let _ = crew.spares[worker as usize].send(interval);
                expected_ns[worker as usize] = point.t_ns + point.interval_ns;
                let entry = partial.entry(point.t_ns);
                entry.and_modify(|sum| sum.merge(&point)).or_insert(point);
            }
            Ok(Message::Done(worker, record)) => {
                expected_ns[worker as usize] = u64::MAX;
                records.push(*record);
            }
            Ok(Message::Failed(error)) => return Err(error),
            Ok(Message::Ready(..)) | Err(_) => {
                return Err(RunError::Worker("it ended without a record".to_owned()));
            }
        }
        let open_ns = expected_ns.iter().copied().min().unwrap_or(u64::MAX);
        while let Some(entry) = partial.first_entry().filter(|entry| *entry.key() < open_ns) {
            let whole = entry.remove();
            on_progress(Progress::Interval(&whole));
            series.add(&whole);
        }
    }
    Ok((records, series))
}
