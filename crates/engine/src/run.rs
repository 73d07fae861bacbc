//! A run from plan to result: resolve, check the host, start the workers together, gather what
//! they wrote down, and judge it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use plimsoll_core::plan::DriverPlan;
use plimsoll_core::result::{DriverUsed, RunResult};
use plimsoll_core::series::{Point, Series};
use plimsoll_core::{Histogram, Plan};
use plimsoll_io::clock;
use plimsoll_io::host::{Environment, resolve};
use plimsoll_io::select::{DriverChoice, Opened, Selection, open};
use plimsoll_io::{Driver, Waker};

use crate::error::RunError;
use crate::outcome::{Gathered, Watch, assemble};
use crate::preflight;
use crate::worker::{Assignment, CpuUse, Opening, Record, Worker};

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
    Ready(Selection, Waker, Opening),
    Interval(Box<Point>),
    Done(Box<Record>),
    Failed(RunError),
}

struct Crew {
    threads: Vec<JoinHandle<()>>,
    starts: Vec<Sender<u64>>,
    messages: Receiver<Message>,
}

/// Carries out a plan.
///
/// # Errors
/// When nothing could be run. What goes wrong within a run stands in its result.
///
/// # Panics
/// When the ledger does not balance: a bug that would make the result wrong.
pub fn run(
    plan: &Plan,
    control: &Control,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<RunResult, RunError> {
    plan.check()?;
    let (addresses, dns) = lookup(plan)?;
    let environment = Environment::read();
    let cpus_allowed = environment.cpus_allowed.len() as u32;
    let workers = preflight::workers(plan, &addresses, cpus_allowed);
    preflight::check_limits(plan, &addresses, workers)?;
    let spin_ns = preflight::spin_ns(plan, workers, cpus_allowed, environment.cores_online);
    let plan = Arc::new(Plan { workers, ..plan.clone() });
    let assignment = Assignment::new(Arc::clone(&plan), addresses.into(), workers, spin_ns)?;

    let crew = hire(&assignment, workers, control)?;
    let (driver, opened) = await_ready(&plan, &crew, workers, control)?;
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
    Ok(assemble(&plan, &environment, gathered, &watch))
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

fn hire(assignment: &Assignment, workers: u32, control: &Control) -> Result<Crew, RunError> {
    let (sender, messages) = channel();
    let mut crew = Crew { threads: Vec::new(), starts: Vec::new(), messages };
    for worker in 0..workers {
        let (start, started) = channel();
        let assignment = assignment.for_worker(worker);
        let (sender, stop) = (sender.clone(), Arc::clone(&control.stop));
        let thread = thread::Builder::new()
            .name(format!("worker {worker}"))
            .spawn(move || work(&assignment, &sender, &started, &stop))
            .map_err(RunError::Driver)?;
        crew.threads.push(thread);
        crew.starts.push(start);
    }
    Ok(crew)
}

/// A worker thread, on the driver it gets.
fn work(
    assignment: &Assignment,
    sender: &Sender<Message>,
    started: &Receiver<u64>,
    stop: &AtomicBool,
) {
    // Without it timers are some 50 µs late; the verdict sees that.
    let _ = clock::set_timer_slack_ns(1);
    if let Some(cpu) = assignment.pinned_to()
        && let Err(error) = clock::pin_to_cpu(cpu)
    {
        let text = format!("cannot tie a worker to CPU {cpu}: {error}");
        let _ = sender.send(Message::Failed(RunError::Limit(text)));
        return;
    }
    let choice = match assignment.plan().driver {
        DriverPlan::Auto => DriverChoice::Auto,
        DriverPlan::Uring => DriverChoice::Uring,
        DriverPlan::Epoll => DriverChoice::Epoll,
    };
    let outcome = match open(choice, &assignment.driver_options()) {
        Err(error) => Err(RunError::Driver(error)),
        Ok((Opened::Uring(driver), selection)) => {
            work_on(driver, selection, assignment, sender, started, stop)
        }
        Ok((Opened::Epoll(driver), selection)) => {
            work_on(driver, selection, assignment, sender, started, stop)
        }
    };
    let message = match outcome {
        Ok(None) => return,
        Ok(Some(record)) => Message::Done(Box::new(record)),
        Err(error) => Message::Failed(error),
    };
    // The receiver is gone when the run was given up; nobody wants the record then.
    let _ = sender.send(message);
}

/// The worker's life; `None` when the run was given up before its start.
fn work_on<D: Driver>(
    driver: D,
    selection: Selection,
    assignment: &Assignment,
    sender: &Sender<Message>,
    started: &Receiver<u64>,
    stop: &AtomicBool,
) -> Result<Option<Record>, RunError> {
    let broken = |error: std::io::Error| RunError::Worker(error.to_string());
    let mut worker = Worker::new(driver, assignment, CpuUse::of_thread);
    let opening = worker.open(clock::now_ns() + OPENING_LIMIT_NS, stop).map_err(broken)?;
    let waker = worker.driver().waker();
    let _ = sender.send(Message::Ready(selection, waker, opening));
    let Ok(start_ns) = started.recv() else {
        return Ok(None);
    };
    let mut on_interval = |point| {
        let _ = sender.send(Message::Interval(Box::new(point)));
    };
    worker.run(start_ns, stop, &mut on_interval).map_err(broken)?;
    Ok(Some(worker.into_record()))
}

/// Waits until every worker has opened its connections. Returns the driver and how many are open.
fn await_ready(
    plan: &Plan,
    crew: &Crew,
    workers: u32,
    control: &Control,
) -> Result<(DriverUsed, u32), RunError> {
    let mut driver = DriverUsed::default();
    let (mut opened, mut failure) = (0, None);
    for _ in 0..workers {
        match crew.messages.recv() {
            Ok(Message::Ready(selection, waker, opening)) => {
                let kind = selection.kind.name().to_owned();
                driver = DriverUsed { kind, reason: selection.reason };
                control.wakers.lock().expect("no panic under the lock").push(waker);
                opened += opening.open;
                failure = failure.or(opening.failure);
            }
            Ok(Message::Failed(error)) => return Err(error),
            Ok(_) | Err(_) => return Err(RunError::Worker("it ended before the start".to_owned())),
        }
    }
    if opened == 0 && !plan.connects_per_request() {
        let address = plan.endpoint.authority();
        let reason = failure.unwrap_or_else(|| "no answer in time".to_owned());
        return Err(RunError::Unreachable { address, reason });
    }
    Ok((driver, opened))
}

/// Takes what the workers send until all are done.
fn gather(
    crew: &Crew,
    workers: u32,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(Vec<Record>, Series), RunError> {
    let mut records = Vec::new();
    let mut series = Series::default();
    // Intervals that not all workers have told of yet.
    let mut partial: BTreeMap<u64, (Point, u32)> = BTreeMap::new();
    while records.len() < workers as usize {
        match crew.messages.recv() {
            Ok(Message::Interval(point)) => {
                series.add(&point);
                let t_ns = point.t_ns;
                let entry = partial.entry(t_ns).or_insert_with(|| {
                    let interval_ns = point.interval_ns;
                    (Point { t_ns, interval_ns, ..Point::default() }, 0)
                });
                entry.0.merge(&point);
                entry.1 += 1;
                if entry.1 == workers {
                    let (whole, _) = partial.remove(&t_ns).expect("it was just there");
                    on_progress(Progress::Interval(&whole));
                }
            }
            Ok(Message::Done(record)) => records.push(*record),
            Ok(Message::Failed(error)) => return Err(error),
            Ok(Message::Ready(..)) | Err(_) => {
                return Err(RunError::Worker("it ended without a record".to_owned()));
            }
        }
    }
    for (point, _) in partial.values() {
        on_progress(Progress::Interval(point));
    }
    Ok((records, series))
}
