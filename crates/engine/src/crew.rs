//! The worker threads of a run: started together, told when to begin, and listened to until they
//! are done.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plimsoll_conn::Protocol;
use plimsoll_core::plan::DriverPlan;
use plimsoll_core::recorder::Interval;
use plimsoll_core::result::DriverUsed;
use plimsoll_core::series::{Point, Series};
use plimsoll_io::clock;
use plimsoll_io::select::{DriverChoice, Opened, Selection, open};
use plimsoll_io::{Driver, Waker};
use plimsoll_script::lua::Thread;

use crate::control::Control;
use crate::error::{FirstFailure, OpeningError, RunError};
use crate::joint::Joint;
use crate::record::Record;
use crate::scripted::{self, Scripted};
use crate::setup::setup;
use crate::signals::Signals;
use crate::source::Source;
use crate::spoken::Spoken;
use crate::watch::Watch;
use crate::worker::{Assignment, Connected, CpuUse, Worker};

/// How long the opening of connections may take before the run starts with what is open.
const OPENING_LIMIT_NS: u64 = 10_000_000_000;

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The connections are open (or were tried) and the load begins.
    Started {
        /// Connections open; 0 when each request opens its own.
        open: u32,
    },
    /// The measured part begins.
    Measuring,
    /// A second of the measured part is over.
    Interval(&'a Point),
    /// Every scenario of several has started its last request. Of a plain run, its plan says when
    /// that is.
    Over,
}

/// What a worker says.
enum Message {
    /// The driver, how to wake it, and what came of opening the connections.
    Ready(Selection, Waker, Connected),
    /// A worker's second is over.
    Interval(u32, Box<Interval>),
    Done(u32, Box<Done>),
    Failed(RunError),
}

/// What a worker brings back, and its script as that has become.
pub(crate) type Done = (Record, Option<Thread>);

/// A worker's line to the thread that started it.
struct Line {
    worker: u32,
    messages: Sender<Message>,
    started: Receiver<u64>,
    spares: Receiver<Box<Interval>>,
}

/// The workers of a run.
pub(crate) struct Crew {
    threads: Vec<JoinHandle<()>>,
    starts: Vec<Sender<u64>>,
    /// To give intervals back to each worker, emptied.
    spares: Vec<Sender<Box<Interval>>>,
    messages: Receiver<Message>,
    /// When the measured part begins, after that of all runs that go on, ns.
    offset_ns: u64,
}

/// Workers that spin of themselves, until others need the CPUs.
#[derive(Clone, Copy)]
pub(crate) struct Spinning<'a> {
    /// The CPUs they may use.
    pub cpus: &'a [u32],
    /// How many spin, those of other runs in this process too.
    pub workers: u32,
    pub signals: &'a Signals,
}

impl Crew {
    /// Starts a worker for each part of the plan, with a script of its own if there are any. Where
    /// that fails those that were started are left; [`dismiss`](Self::dismiss) ends them.
    pub(crate) fn hire<P: Spoken>(
        assignment: &Assignment<P::Encoding>,
        scripts: Vec<Thread>,
        control: &Control,
    ) -> (Self, Result<(), RunError>) {
        let (sender, messages) = channel();
        let offset_ns = assignment.member.start_ns;
        let (threads, starts, spares) = (Vec::new(), Vec::new(), Vec::new());
        let mut crew = Self { threads, starts, spares, messages, offset_ns };
        let hired = crew.start_threads::<P>(assignment, scripts, control, &sender);
        (crew, hired)
    }

    fn start_threads<P: Spoken>(
        &mut self,
        assignment: &Assignment<P::Encoding>,
        scripts: Vec<Thread>,
        control: &Control,
        sender: &Sender<Message>,
    ) -> Result<(), RunError> {
        let mut scripts = scripts.into_iter();
        for worker in 0..assignment.plan().workers {
            let script = scripts.next();
            let (start, started) = channel();
            let (spare, spares) = channel();
            let mut assignment = assignment.for_worker(worker, setup(assignment.plan())?);
            if let Some(script) = &script {
                assignment = assignment.with_script(script);
            }
            let line = Line { worker, messages: sender.clone(), started, spares };
            let signals = Arc::clone(&control.signals);
            let thread = thread::Builder::new()
                .name(format!("worker {worker}"))
                .spawn(move || work::<P>(&assignment, &line, script, &signals))
                .map_err(no_thread)?;
            self.threads.push(thread);
            self.starts.push(start);
            self.spares.push(spare);
        }
        Ok(())
    }

    /// Waits until every worker has opened its connections.
    pub(crate) fn await_ready(&self, control: &Control) -> Result<Ready, RunError> {
        let mut ready = Ready::default();
        for _ in &self.threads {
            match self.messages.recv() {
                Ok(Message::Ready(selection, waker, connected)) => {
                    let Connected { open, error, first_failure } = connected;
                    let kind = selection.kind.name().to_owned();
                    ready.driver = DriverUsed { kind, reason: selection.reason };
                    ready.opens |= open.is_some();
                    ready.open += open.unwrap_or(0);
                    ready.error = ready.error.or(error);
                    ready.first_failure = ready.first_failure.or(first_failure);
                    control.add_waker(waker);
                }
                Ok(Message::Failed(error)) => return Err(error),
                Ok(_) | Err(_) => {
                    return Err(RunError::Worker("it ended before the start".to_owned()));
                }
            }
        }
        Ok(ready)
    }

    /// Takes what the workers send until all are done, and watches the host from the start of the
    /// measured part on.
    pub(crate) fn gather(
        &self,
        measured_ns: u64,
        spinning: Option<Spinning<'_>>,
        on_progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(BTreeMap<u32, Done>, Series, Watch), RunError> {
        let until_ns = measured_ns.saturating_sub(clock::now_ns());
        let first = self.messages.recv_timeout(Duration::from_nanos(until_ns)).ok();
        on_progress(Progress::Measuring);
        let spins_on = spinning.map(|spinning| (spinning.cpus, spinning.workers));
        let mut watch = Watch::begin(measured_ns, clock::now_ns(), spins_on);
        let mut first = first.into_iter();
        let mut returned = BTreeMap::new();
        let mut series = Series::starting_at(self.offset_ns);
        let mut intervals = Joint::new(self.threads.iter().map(|_| 0));
        while returned.len() < self.threads.len() {
            match first.next().map_or_else(|| self.messages.recv(), Ok) {
                Ok(Message::Interval(worker, mut interval)) => {
                    let point = interval.pack();
                    // The worker may have ended; then nobody needs the spare.
                    let _ = self.spares[worker as usize].send(interval);
                    intervals.add(worker as usize, point);
                    if let Some(spinning) = spinning
                        && watch.look(clock::now_ns())
                    {
                        spinning.signals.give_way();
                    }
                }
                Ok(Message::Done(worker, done)) => {
                    intervals.end(worker as usize);
                    returned.insert(worker, *done);
                }
                Ok(Message::Failed(error)) => return Err(error),
                Ok(Message::Ready(..)) | Err(_) => {
                    return Err(RunError::Worker("it ended without a record".to_owned()));
                }
            }
            while let Some(whole) = intervals.take_whole() {
                on_progress(Progress::Interval(&whole));
                series.add(&whole);
            }
        }
        Ok((returned, series, watch))
    }

    /// Has all workers begin at `start_ns`.
    pub(crate) fn start(&self, start_ns: u64) {
        for start in &self.starts {
            // A worker that is gone has said why; that is read later.
            let _ = start.send(start_ns);
        }
    }

    /// Waits until every worker is gone. One that was never started goes when it learns so.
    pub(crate) fn dismiss(&mut self) -> Result<(), RunError> {
        self.starts.clear();
        let mut panicked = false;
        for thread in self.threads.drain(..) {
            panicked |= thread.join().is_err();
        }
        if panicked { Err(RunError::Worker("a worker thread panicked".to_owned())) } else { Ok(()) }
    }
}

/// A worker thread, on the driver it gets.
fn work<P: Spoken>(
    assignment: &Assignment<P::Encoding>,
    line: &Line,
    script: Option<Thread>,
    signals: &Signals,
) {
    let message = match work_on_any::<P>(assignment, line, script, signals) {
        Ok(None) => return,
        Ok(Some(done)) => Message::Done(line.worker, Box::new(done)),
        Err(error) => Message::Failed(error),
    };
    // The receiver is gone when the run was given up; nobody wants the record then.
    let _ = line.messages.send(message);
}

fn work_on_any<P: Spoken>(
    assignment: &Assignment<P::Encoding>,
    line: &Line,
    script: Option<Thread>,
    signals: &Signals,
) -> Result<Option<Done>, RunError> {
    // Without it timers are some 50 µs late; the verdict sees that.
    let _ = clock::set_timer_slack_ns(1);
    if let Some(cpu) = assignment.pinned_to() {
        clock::pin_to_cpu(cpu).map_err(|error| cannot_pin(cpu, &error))?;
    }
    let choice = match assignment.plan().driver {
        DriverPlan::Auto => DriverChoice::Auto,
        DriverPlan::Uring => DriverChoice::Uring,
        DriverPlan::Epoll => DriverChoice::Epoll,
    };
    let (opened, selection) =
        open(choice, &assignment.driver_options()).map_err(RunError::Driver)?;
    match opened {
        Opened::Uring(driver) => {
            work_on::<_, P>(driver, selection, assignment, line, script, signals)
        }
        Opened::Epoll(driver) => {
            work_on::<_, P>(driver, selection, assignment, line, script, signals)
        }
    }
}

/// The worker's life; `None` when the run was given up before its start.
fn work_on<D: Driver, P: Spoken>(
    driver: D,
    selection: Selection,
    assignment: &Assignment<P::Encoding>,
    line: &Line,
    script: Option<Thread>,
    signals: &Signals,
) -> Result<Option<Done>, RunError> {
    let settings = P::settings(assignment);
    match script {
        Some(thread) if scripted::takes_part(&thread) => {
            let source = Scripted::new(thread);
            let worker =
                Worker::<_, P, _>::new(driver, assignment, &settings, CpuUse::of_thread, source);
            let Some((record, mut source)) = carry_out(worker, selection, line, signals)? else {
                return Ok(None);
            };
            if let Some(error) = source.error() {
                signals.stop();
                return Err(error.into());
            }
            Ok(Some((record, Some(source.into_thread()))))
        }
        script => {
            let source = assignment.source();
            let worker =
                Worker::<_, P, _>::new(driver, assignment, &settings, CpuUse::of_thread, source);
            let done = carry_out(worker, selection, line, signals)?;
            Ok(done.map(|(record, _)| (record, script)))
        }
    }
}

/// Opens a worker's connections, waits for the common start, and runs.
fn carry_out<D: Driver, P: Protocol, S: Source>(
    mut worker: Worker<D, P, S>,
    selection: Selection,
    line: &Line,
    signals: &Signals,
) -> Result<Option<(Record, S)>, RunError> {
    let broken = |error: io::Error| RunError::Worker(error.to_string());
    let connected = worker.open(clock::now_ns() + OPENING_LIMIT_NS, signals).map_err(broken)?;
    let waker = worker.driver().waker();
    let _ = line.messages.send(Message::Ready(selection, waker, connected));
    let Ok(start_ns) = line.started.recv() else {
        return Ok(None);
    };
    let mut on_interval = |interval| {
        let _ = line.messages.send(Message::Interval(line.worker, interval));
        line.spares.try_recv().ok()
    };
    worker.run(start_ns, signals, &mut on_interval).map_err(broken)?;
    Ok(Some(worker.into_record()))
}

/// What the workers say once they have tried to open their connections.
#[derive(Default)]
pub(crate) struct Ready {
    pub driver: DriverUsed,
    /// Whether connections are opened before a request needs them.
    pub opens: bool,
    /// How many connections are open.
    pub open: u32,
    /// The first thing that went wrong with a connection.
    pub error: Option<OpeningError>,
    /// What went wrong with the first requests on them.
    pub first_failure: Option<FirstFailure>,
}

/// A worker cannot be tied to this CPU, nearly always because this process may not use it.
fn cannot_pin(cpu: usize, error: &io::Error) -> RunError {
    let allowed = clock::allowed_cpus();
    if allowed.contains(&cpu) {
        return RunError::Limit(format!("cannot tie a worker to CPU {cpu}: {error}"));
    }
    let allowed: Vec<String> = allowed.iter().map(usize::to_string).collect();
    RunError::Limit(format!(
        "cannot tie a worker to CPU {cpu}: this process may use {}",
        allowed.join(", ")
    ))
}

/// The system has no thread left for this process.
pub(crate) fn no_thread(error: io::Error) -> RunError {
    RunError::Limit(format!(
        "cannot start a thread: {error}: raise ulimit -u or the container's pids.max, or \
         lower -t"
    ))
}
