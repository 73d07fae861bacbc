//! A run from plan to result: resolve names, check the host, start the workers together, collect
//! their records, and judge them.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plimsoll_conn::{Http1, Http1Request};
use plimsoll_core::plan::{DriverPlan, PlanError, Spin};
use plimsoll_core::plan_check;
use plimsoll_core::recorder::Interval;
use plimsoll_core::result::{ConnectionsChange, DriverUsed, RateChange, RunResult};
use plimsoll_core::series::{Point, Series};
use plimsoll_core::{Histogram, Plan};
use plimsoll_io::clock;
use plimsoll_io::host::{HostEnvironment, cpu_limit};
use plimsoll_io::select::{DriverChoice, Opened, Selection, open};
use plimsoll_io::{Address, Driver, Route, Waker};
use plimsoll_script::lua::{Interrupter, Thread};

use crate::error::RunError;
use crate::judge::Judge;
use crate::lookup::Lookup;
use crate::outcome::{Changes, Gathered, assemble};
use crate::preflight;
use crate::scripted;
use crate::setup::setup;
use crate::signals::{Signals, TooManyOrders};
use crate::source::Prepared;
use crate::watch::Watch;
use crate::worker::{Assignment, CpuUse, INTERRUPT_DRAIN_NS, Record, Worker};

/// How long the opening of connections may take before the run starts with what is open.
const OPENING_LIMIT_NS: u64 = 10_000_000_000;

/// How far ahead the common start lies, so that every worker is there in time.
const START_AHEAD_NS: u64 = 1_000_000;

/// How far ahead a change of the rate lies, so that every worker knows of it in time.
const CHANGE_AHEAD_NS: u64 = 2_000_000;

/// How long a script may go on after the run should have been over, with the drain of one that was
/// stopped, and between looks at that.
const SCRIPT_GRACE_NS: u64 = INTERRUPT_DRAIN_NS + 500_000_000;
const SCRIPT_LOOK: Duration = Duration::from_millis(50);

/// Why a run does not do what it was told while it went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// A closed loop has no rate.
    #[error("the run is a closed loop: start it with a rate to change it")]
    ClosedLoop,
    /// The load has not begun.
    #[error("the load has not begun")]
    NotStarted,
    /// A rate that no schedule can have.
    #[error("a rate is above 0 and at most 1G/s")]
    Rate,
    /// More connections than there is room for.
    #[error(
        "this run holds {0} to {1} connections: start it with -c MIN..MAX to have room for more"
    )]
    Connections(u32, u32),
    /// The run follows a list of times, which has its own end and no rate to change.
    #[error("the run follows a list of times: start it with a rate to change it")]
    Trace,
    /// Orders are kept to the end of a run, and have a limit.
    #[error(transparent)]
    Orders(#[from] TooManyOrders),
}

/// A hand on a run from another thread.
#[derive(Default)]
pub struct Control {
    signals: Arc<Signals>,
    state: Mutex<ControlState>,
}

#[derive(Default)]
struct ControlState {
    wakers: Vec<Waker>,
    plan: Option<Arc<Plan>>,
    measured_ns: u64,
    changes: Changes,
}

impl Control {
    /// Ends the run soon; its result is marked as interrupted.
    pub fn stop(&self) {
        self.signals.stop();
        self.wake();
    }

    /// Goes on at another rate, µHz, to the end of the run. Every worker changes at the same time.
    ///
    /// # Errors
    /// Before the load has begun, in a closed loop, and for a rate that no schedule can have.
    pub fn set_rate(&self, rate_uhz: u64) -> Result<(), ControlError> {
        let mut state = self.lock();
        let plan = state.plan.as_ref().ok_or(ControlError::NotStarted)?;
        if !plan.is_open_loop() {
            return Err(ControlError::ClosedLoop);
        }
        if plan.trace.is_some() {
            return Err(ControlError::Trace);
        }
        if rate_uhz == 0 || rate_uhz > plimsoll_core::schedule::RATE_LIMIT_UHZ {
            return Err(ControlError::Rate);
        }
        let at_ns = (clock::now_ns() + CHANGE_AHEAD_NS).max(state.measured_ns);
        self.signals.set_rate(at_ns, rate_uhz)?;
        let since_ns = at_ns - state.measured_ns;
        state.changes.rates.push(RateChange { at_ns: since_ns, rps: rate_uhz as f64 / 1e6 });
        drop(state);
        self.wake();
        Ok(())
    }

    /// Holds another number of connections from now on. Every worker deals the schedule out anew at
    /// the same time.
    ///
    /// # Errors
    /// Before the load has begun, and for a number that the run has no room for.
    pub fn set_connections(&self, connections: u32) -> Result<(), ControlError> {
        let mut state = self.lock();
        let plan = state.plan.as_ref().ok_or(ControlError::NotStarted)?;
        // With fewer, some workers would have nothing to do.
        let (least, most) = (plan.workers, plan.connections_limit());
        if connections < least || connections > most {
            return Err(ControlError::Connections(least, most));
        }
        let at_ns = clock::now_ns() + CHANGE_AHEAD_NS;
        self.signals.set_connections(at_ns, connections)?;
        let at_ns = at_ns.saturating_sub(state.measured_ns);
        state.changes.connections.push(ConnectionsChange { at_ns, connections });
        drop(state);
        self.wake();
        Ok(())
    }

    fn set_routes(&self, routes: Vec<Route>) {
        self.signals.set_routes(routes);
        self.wake();
    }

    fn begin(&self, plan: &Arc<Plan>, start_ns: u64) {
        let mut state = self.lock();
        state.plan = Some(Arc::clone(plan));
        state.measured_ns = start_ns + plan.warmup_ns;
    }

    fn wake(&self) {
        for waker in &self.lock().wakers {
            waker.wake();
        }
    }

    /// The state is valid even if a thread panicked with the lock.
    fn lock(&self) -> std::sync::MutexGuard<'_, ControlState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it was told to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.signals.is_stopped()
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
    /// The measured part begins.
    Measuring,
    /// A second of the measured part is over.
    Interval(&'a Point),
}

enum Message {
    /// The driver, how to wake it, how many connections are open, and the first thing that went
    /// wrong with one.
    Ready(Selection, Waker, u32, Option<String>),
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

/// Finds what [`run`] would refuse before it looks at the network.
///
/// # Errors
/// A plan, a request, an expectation, or a certificate that cannot be used.
pub fn check(plan: &Plan) -> Result<(), RunError> {
    plan_check::check(plan)?;
    if let Some(conflict) = scripted::conflict(plan) {
        return Err(PlanError(conflict).into());
    }
    Judge::new(plan, &Prepared::<Http1Request>::new(plan)?)?;
    setup(plan).map(drop)
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
    run_scripted(plan, Vec::new(), control, on_progress).map(|(result, _)| result)
}

/// Carries out a plan that scripts decide on, one for each worker; gives them back as they have
/// become. Without any it is [`run`].
///
/// # Errors
/// Those of [`run`], and what goes wrong in a script.
///
/// # Panics
/// When there are scripts, but not as many as the plan has workers.
pub fn run_scripted(
    plan: &Plan,
    scripts: Vec<Thread>,
    control: &Control,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(RunResult, Vec<Thread>), RunError> {
    assert!(scripts.is_empty() || scripts.len() == plan.workers as usize, "one for each worker");
    check(plan)?;
    let mut lookup = Lookup::of(plan);
    let (mut addresses, dns) = timed(&lookup)?;
    lookup.leave_out_dead(&mut addresses)?;
    if plan.transport.first_address_only {
        addresses.truncate(1);
    }
    let routes = lookup.routes(&addresses)?;
    let environment = HostEnvironment::read();
    let cpus_allowed = environment.cpus_allowed.len() as u32;
    let workers = preflight::workers(plan, &addresses, cpus_allowed);
    preflight::check_limits(plan, workers, routes.len())?;
    let spin = preflight::spin(plan, workers, cpus_allowed, environment.cores_online, cpu_limit());
    let spinning =
        (spin == Spin::Auto).then_some((&environment.cpus_allowed[..], &*control.signals));
    let plan = Arc::new(Plan { workers, ..plan.clone() });
    let refresh_ns = plan.transport.dns_refresh_ns.filter(|_| lookup.can_change());
    let ways = routes.clone().into();
    let assignment = Assignment::new(Arc::clone(&plan), ways, refresh_ns.is_some(), spin)?;

    let interrupters: Vec<Interrupter> = scripts.iter().map(Thread::interrupter).collect();
    let (sender, messages) = channel();
    let mut crew = Crew { threads: Vec::new(), starts: Vec::new(), spares: Vec::new(), messages };
    let hired = crew.hire(&assignment, workers, scripts, control, sender);
    let (ready, started_at, (mut records, series, watch)) = thread::scope(|scope| {
        // Dropped at the end of the scope, when no worker is left, which ends the watches.
        let (_going_on, over) = channel();
        let (_scripts_go_on, scripts_over) = channel();
        let led = hired.and_then(|()| {
            let ready = await_ready(&crew, workers, control)?;
            if ready.open == 0 && !plan.connects_per_request() && !control.is_stopped() {
                return Err(unreachable(&lookup, ready.error));
            }
            let ahead_ns = START_AHEAD_NS.saturating_add(plan.warmup_ns);
            let started_at = clock::wall_time() + Duration::from_nanos(ahead_ns);
            let start_ns = clock::now_ns() + START_AHEAD_NS;
            control.begin(&plan, start_ns);
            for start in &crew.starts {
                // A worker that is gone has said why; that is read below.
                let _ = start.send(start_ns);
            }
            on_progress(Progress::Started { open: ready.open });
            if !interrupters.is_empty() {
                let ends_ns = last_ns(&plan, start_ns);
                let scripts = &interrupters;
                let interrupt = move || interrupt_late(scripts, ends_ns, control, &scripts_over);
                thread::Builder::new().spawn_scoped(scope, interrupt).map_err(no_thread)?;
            }
            if let Some(every_ns) = refresh_ns {
                let lookup = &lookup;
                let tell = |routes| control.set_routes(routes);
                let watch = move || lookup.watch(every_ns, routes, &over, tell);
                thread::Builder::new().spawn_scoped(scope, watch).map_err(no_thread)?;
            }
            let measured_ns = start_ns + plan.warmup_ns;
            let gathered = gather(&crew, workers, measured_ns, spinning, on_progress)?;
            Ok((ready, started_at, gathered))
        });
        if led.is_err() {
            control.stop();
        }
        let dismissed = crew.dismiss();
        led.and_then(|led| dismissed.map(|()| led))
    })?;
    let mut scripts: Vec<_> = records.iter_mut().filter_map(|r| r.script.take()).collect();
    scripts.sort_by_key(|(worker, _)| *worker);
    let changes = std::mem::take(&mut control.lock().changes);
    let script_stopped = interrupters.iter().any(Interrupter::is_interrupted);
    let driver = ready.driver;
    let gathered = Gathered { records, series, dns, driver, started_at, changes, script_stopped };
    let result = assemble(&plan, &environment, gathered, &watch)?;
    Ok((result, scripts.into_iter().map(|(_, script)| script).collect()))
}

/// When a run should be over at the latest, drain and all; `u64::MAX` without a duration.
fn last_ns(plan: &Plan, start_ns: u64) -> u64 {
    let duration_ns = plan.duration_ns.unwrap_or(u64::MAX);
    [plan.warmup_ns, duration_ns, plan.drain_ns].iter().fold(start_ns, |t, d| t.saturating_add(*d))
}

/// Waits until the run is over. Scripts that still run a while after it should have been, or after
/// it was stopped, are interrupted: one that loops for ever never gives its worker back.
fn interrupt_late(
    interrupters: &[Interrupter],
    ends_ns: u64,
    control: &Control,
    over: &Receiver<()>,
) {
    let mut ends_ns = ends_ns.saturating_add(SCRIPT_GRACE_NS);
    while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(SCRIPT_LOOK) {
        let now_ns = clock::now_ns();
        if control.is_stopped() {
            ends_ns = ends_ns.min(now_ns + SCRIPT_GRACE_NS);
        }
        if now_ns >= ends_ns {
            interrupters.iter().for_each(Interrupter::interrupt);
        }
    }
}

/// Looks the server up and takes the time of it.
fn timed(lookup: &Lookup) -> Result<(Vec<Address>, Histogram), RunError> {
    let before_ns = clock::now_ns();
    let addresses = lookup.addresses()?;
    let mut dns = Histogram::new();
    if lookup.is_of_a_name() {
        dns.record(clock::now_ns() - before_ns);
    }
    Ok((addresses, dns))
}

fn unreachable(lookup: &Lookup, reason: Option<String>) -> RunError {
    let reason = reason.unwrap_or_else(|| "none was open when all had been tried".to_owned());
    RunError::Unreachable { address: lookup.place(), reason }
}

/// The system has no thread left for this process.
fn no_thread(error: io::Error) -> RunError {
    RunError::Limit(format!(
        "cannot start a thread: {error}: raise ulimit -u or the container's pids.max, or \
         lower -t"
    ))
}

impl Crew {
    /// Starts the workers, which say so to `sender`.
    fn hire(
        &mut self,
        assignment: &Assignment<Http1Request>,
        workers: u32,
        scripts: Vec<Thread>,
        control: &Control,
        sender: Sender<Message>,
    ) -> Result<(), RunError> {
        let mut scripts = scripts.into_iter();
        for worker in 0..workers {
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
                .spawn(move || work(&assignment, &line, script, &signals))
                .map_err(no_thread)?;
            self.threads.push(thread);
            self.starts.push(start);
            self.spares.push(spare);
        }
        Ok(())
    }

    /// Waits until every worker is gone. One that was never started goes when it learns so.
    fn dismiss(&mut self) -> Result<(), RunError> {
        self.starts.clear();
        let mut panicked = false;
        for thread in self.threads.drain(..) {
            panicked |= thread.join().is_err();
        }
        if panicked { Err(RunError::Worker("a worker thread panicked".to_owned())) } else { Ok(()) }
    }
}

/// A worker thread, on the driver it gets.
fn work(
    assignment: &Assignment<Http1Request>,
    line: &Line,
    script: Option<Thread>,
    signals: &Signals,
) {
    let message = match work_on_any(assignment, line, script, signals) {
        Ok(None) => return,
        Ok(Some(record)) => Message::Done(line.worker, Box::new(record)),
        Err(error) => Message::Failed(error),
    };
    // The receiver is gone when the run was given up; nobody wants the record then.
    let _ = line.messages.send(message);
}

fn work_on_any(
    assignment: &Assignment<Http1Request>,
    line: &Line,
    script: Option<Thread>,
    signals: &Signals,
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
        Opened::Uring(driver) => work_on(driver, selection, assignment, line, script, signals),
        Opened::Epoll(driver) => work_on(driver, selection, assignment, line, script, signals),
    }
}

/// The worker's life; `None` when the run was given up before its start.
fn work_on<D: Driver>(
    driver: D,
    selection: Selection,
    assignment: &Assignment<Http1Request>,
    line: &Line,
    script: Option<Thread>,
    signals: &Signals,
) -> Result<Option<Record>, RunError> {
    let broken = |error: io::Error| RunError::Worker(error.to_string());
    let mut worker =
        Worker::<_, Http1>::new(driver, assignment, &assignment.http1(), CpuUse::of_thread, script);
    let opened = worker.open(clock::now_ns() + OPENING_LIMIT_NS, signals).map_err(broken)?;
    let waker = worker.driver().waker();
    let error = worker.opening_error().map(str::to_owned);
    let _ = line.messages.send(Message::Ready(selection, waker, opened, error));
    let Ok(start_ns) = line.started.recv() else {
        return Ok(None);
    };
    let mut on_interval = |interval| {
        let _ = line.messages.send(Message::Interval(line.worker, interval));
        line.spares.try_recv().ok()
    };
    worker.run(start_ns, signals, &mut on_interval).map_err(broken)?;
    if let Some(error) = worker.script_error() {
        signals.stop();
        return Err(error.into());
    }
    Ok(Some(worker.into_record()))
}

/// What the workers say once they have tried to open their connections.
#[derive(Default)]
struct Ready {
    driver: DriverUsed,
    open: u32,
    /// The first thing that went wrong with a connection.
    error: Option<String>,
}

/// Waits until every worker has opened its connections.
fn await_ready(crew: &Crew, workers: u32, control: &Control) -> Result<Ready, RunError> {
    let mut ready = Ready::default();
    for _ in 0..workers {
        match crew.messages.recv() {
            Ok(Message::Ready(selection, waker, open, error)) => {
                let kind = selection.kind.name().to_owned();
                ready.driver = DriverUsed { kind, reason: selection.reason };
                ready.open += open;
                ready.error = ready.error.or(error);
                control.lock().wakers.push(waker);
            }
            Ok(Message::Failed(error)) => return Err(error),
            Ok(_) | Err(_) => return Err(RunError::Worker("it ended before the start".to_owned())),
        }
    }
    Ok(ready)
}

/// Takes what the workers send until all are done, and watches the host from the start of the
/// measured part on. An interval is complete once no worker can add
/// to it any more.
fn gather(
    crew: &Crew,
    workers: u32,
    measured_ns: u64,
    spinning: Option<(&[u32], &Signals)>,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(Vec<Record>, Series, Watch), RunError> {
    let until_ns = measured_ns.saturating_sub(clock::now_ns());
    let first = crew.messages.recv_timeout(Duration::from_nanos(until_ns)).ok();
    on_progress(Progress::Measuring);
    let spins_on = spinning.map(|(cpus, _)| (cpus, workers));
    let mut watch = Watch::begin(measured_ns, clock::now_ns(), spins_on);
    let mut first = first.into_iter();
    let mut records = Vec::new();
    let mut series = Series::default();
    let mut partial: BTreeMap<u64, Point> = BTreeMap::new();
    // For each worker, the first interval it may still tell of.
    let mut expected_ns = vec![0; workers as usize];
    while records.len() < workers as usize {
        match first.next().map_or_else(|| crew.messages.recv(), Ok) {
            Ok(Message::Interval(worker, mut interval)) => {
                let point = interval.pack();
                // The worker may have ended; then nobody needs the spare.
                let _ = crew.spares[worker as usize].send(interval);
                expected_ns[worker as usize] = point.t_ns + point.interval_ns;
                let entry = partial.entry(point.t_ns);
                entry.and_modify(|sum| sum.merge(&point)).or_insert(point);
                if let Some((_, signals)) = spinning
                    && watch.look(clock::now_ns())
                {
                    signals.give_way();
                }
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
    Ok((records, series, watch))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use plimsoll_core::plan::Endpoint;

    use super::*;

    /// The second worker cannot be tied to its CPU; the first has opened its connections by then,
    /// or is about to.
    #[test]
    fn when_a_worker_fails_the_others_are_gone_before_it_is_said() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for _ in 0..20 {
            let control = Control::default();
            let plan = Plan {
                connections: 4,
                workers: 2,
                pin: vec![0, 100_000],
                ..Plan::new(Endpoint::http("127.0.0.1", port, "/"))
            };
            let error = run(&plan, &control, &mut |_| {}).unwrap_err().to_string();
            assert!(error.contains("CPU 100000"), "{error}");
            assert_eq!(Arc::strong_count(&control.signals), 1, "a worker goes on");
        }
    }
}
