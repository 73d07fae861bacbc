//! A run of virtual users from outside: threads are started, VUs initialised, and the tallies
//! handed back.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::UNIX_EPOCH;

use plimsoll_core::plan::DriverPlan;
use plimsoll_core::result::DriverUsed;
use plimsoll_io::host::run_delay_ns;
use plimsoll_io::select::{DriverChoice, Opened, Selection, open};
use plimsoll_io::{Driver, DriverOptions, SocketOptions, Spin, clock};
use plimsoll_script::js::Failure;

use super::net::{Net, Terms};
use super::pace::Pace;
use super::scene::NEVER_NS;
use super::stage::Stage;
use super::worker::Worker;
use super::{Cast, Controls, Tally};

/// A receive buffer: some responses of usual size, or a part of a large one.
const RECEIVE_BUFFER_BYTES: u32 = 16 * 1024;

/// Connections that there is room for, for each VU: as many as k6 opens to a host for a batch, and
/// some to others. A VU that needs more closes idle ones.
const SOCKETS_PER_VU: u64 = 8;

/// Room for connections, at least and at most, unless there are more VUs.
const SOCKETS_LEAST: u64 = 256;
const SOCKETS_MOST: u64 = 16_384;

/// Sockets that receive at a time, at most: users have turns in between, and few pages are touched.
const RECEIVERS_MOST: u64 = 512;

/// Why a run cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum VuError {
    /// The script threw an exception: while a VU was initialised, or in its task.
    #[error("{0}")]
    Script(Failure),
    /// The host, or the options of the network.
    #[error("{0}")]
    Host(String),
    /// A task took longer than it may.
    #[error("it took longer than it may")]
    Timeout,
    /// The run was aborted.
    #[error("the run was aborted")]
    Aborted,
}

/// What a run brings back.
#[derive(Debug)]
pub struct Ended<T> {
    /// The tally of each worker.
    pub tallies: Vec<T>,
    /// When the scenarios started, ns on the driver's clock.
    pub started_ns: u64,
    /// When the last VU was done.
    pub ended_ns: u64,
    /// What each worker could do with its time.
    pub paces: Vec<Pace>,
    /// The driver of the workers.
    pub driver: DriverUsed,
}

/// What a worker's thread brings back.
struct Done<T> {
    tally: T,
    /// When its last VU was done.
    ended_ns: u64,
    /// What it could do with its time.
    pace: Pace,
    driver: Selection,
}

/// A run whose VUs are initialised. Dropped, it ends its threads.
pub struct Prepared<T> {
    stage: Arc<Stage>,
    threads: Vec<JoinHandle<Result<Done<T>, VuError>>>,
    /// When the scenarios started, for the threads.
    started_ns: Arc<AtomicU64>,
}

/// Starts the threads, and initialises the planned VUs. Tallies tick meanwhile.
///
/// # Errors
/// When a VU cannot be initialised, the run is aborted meanwhile, or the host has too little of
/// something.
pub fn prepare<T: Tally + 'static>(
    mut cast: Cast,
    controls: &Arc<Controls>,
    make_tally: impl Fn(u32) -> T,
) -> Result<Prepared<T>, VuError> {
    cast.workers = cast.workers.max(1);
    let terms = Arc::new(Terms::new(cast.network.clone())?);
    let vus = (cast.vus_planned, cast.vus_max);
    let stage = Stage::new(cast.roles.clone(), vus, cast.workers, Arc::clone(controls));
    let (cast, stage) = (Arc::new(cast), Arc::new(stage));
    let started_ns = Arc::new(AtomicU64::new(NEVER_NS));
    let threads = Vec::new();
    let mut prepared = Prepared { stage, threads, started_ns };
    for index in 0..cast.workers {
        let (cast, terms) = (Arc::clone(&cast), Arc::clone(&terms));
        let stage = Arc::clone(&prepared.stage);
        let started_ns = Arc::clone(&prepared.started_ns);
        let tally = make_tally(index);
        let work = move || {
            let index = index as usize;
            let done = work(index, &cast, &stage, &terms, tally, &started_ns);
            if done.is_err() {
                stage.fail(VuError::Aborted);
            }
            done
        };
        let spawned = thread::Builder::new().name(format!("worker {index}")).spawn(work);
        let thread = spawned.map_err(|error| {
            VuError::Host(format!("cannot start a thread: {error}: raise ulimit -u"))
        })?;
        prepared.threads.push(thread);
    }
    prepared.stage.await_ready();
    if let Some(error) = prepared.stage.take_failure() {
        // A thread that could not begin knows better why.
        let threads = std::mem::take(&mut prepared.threads);
        return Err(join(threads).err().unwrap_or(error));
    }
    if controls.is_aborted() { Err(VuError::Aborted) } else { Ok(prepared) }
}

impl<T: Tally> Prepared<T> {
    /// Starts the scenarios, with the data of the [`Controls`], and waits until they are over.
    ///
    /// # Errors
    /// When a worker cannot go on.
    pub fn run(mut self) -> Result<Ended<T>, VuError> {
        let started_ns = clock::now_ns();
        self.started_ns.store(started_ns, Ordering::Release);
        self.stage.begin(started_ns);
        let joined = join(std::mem::take(&mut self.threads));
        if let Some(error) = self.stage.take_failure() {
            return Err(joined.err().unwrap_or(error));
        }
        let (mut tallies, mut paces, mut driver) = (Vec::new(), Vec::new(), None);
        let mut last_ns = started_ns;
        for Done { tally, ended_ns, pace, driver: selection } in joined? {
            tallies.push(tally);
            paces.push(pace);
            last_ns = last_ns.max(ended_ns);
            driver.get_or_insert(selection);
        }
        let used =
            |it: Selection| DriverUsed { kind: it.kind.name().to_owned(), reason: it.reason };
        let driver = driver.map(used).unwrap_or_default();
        Ok(Ended { tallies, started_ns, ended_ns: last_ns, paces, driver })
    }
}

impl<T> Drop for Prepared<T> {
    fn drop(&mut self) {
        self.stage.finish();
        for thread in self.threads.drain(..) {
            // What it brings back is of no use any more.
            drop(thread.join());
        }
    }
}

/// Waits for the threads. The first that could not go on says why.
fn join<T>(threads: Vec<JoinHandle<Result<Done<T>, VuError>>>) -> Result<Vec<Done<T>>, VuError> {
    let joined: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
        .collect();
    joined.into_iter().collect()
}

/// The options of a driver for as many users.
pub(super) fn driver_options(users: u64) -> DriverOptions {
    let sockets = (users * SOCKETS_PER_VU).clamp(SOCKETS_LEAST, SOCKETS_MOST.max(users + 64));
    let sockets = u32::try_from(sockets).unwrap_or(u32::MAX);
    DriverOptions {
        sockets,
        reserved: sockets,
        receivers: u32::try_from(users.min(RECEIVERS_MOST)).unwrap_or(u32::MAX),
        receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
        long_lived: true,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: SocketOptions::default(),
    }
}

/// What the wall clock showed at 0 of the drivers', ns since 1970.
pub(super) fn wall_base_ns() -> u64 {
    let since = clock::wall_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    wall_ns.saturating_sub(clock::now_ns())
}

pub(super) fn choice(plan: DriverPlan) -> DriverChoice {
    match plan {
        DriverPlan::Auto => DriverChoice::Auto,
        DriverPlan::Uring => DriverChoice::Uring,
        DriverPlan::Epoll => DriverChoice::Epoll,
    }
}

pub(super) fn broken(error: &std::io::Error) -> VuError {
    VuError::Host(format!("the driver cannot go on: {error}"))
}

/// A worker thread, on the driver it gets.
fn work<T: Tally>(
    index: usize,
    cast: &Arc<Cast>,
    stage: &Arc<Stage>,
    terms: &Arc<Terms>,
    tally: T,
    started_ns: &AtomicU64,
) -> Result<Done<T>, VuError> {
    // Without it timers are some 50 µs late.
    let _ = clock::set_timer_slack_ns(1);
    let options = driver_options(stage.share(index, cast.vus_max.max(cast.vus_planned)) as u64);
    let opened = open(choice(cast.network.driver), &options);
    let (opened, selection) = opened.map_err(|error| VuError::Host(error.to_string()))?;
    let sockets = options.sockets;
    let ((tally, ended_ns), pace) = match opened {
        #[cfg(target_os = "linux")]
        Opened::Uring(driver) => {
            let net = Net::new(driver, sockets, Arc::clone(terms));
            work_on(Worker::new(index, cast, stage, net, tally, wall_base_ns()), started_ns)
        }
        Opened::Epoll(driver) => {
            let net = Net::new(driver, sockets, Arc::clone(terms));
            work_on(Worker::new(index, cast, stage, net, tally, wall_base_ns()), started_ns)
        }
    }?;
    Ok(Done { tally, ended_ns, pace, driver: selection })
}

fn work_on<D: Driver, T: Tally>(
    mut worker: Worker<D, T>,
    started_ns: &AtomicU64,
) -> Result<((T, u64), Pace), VuError> {
    worker.initialize_planned();
    let mut before_ns = None;
    while worker.turn().map_err(|error| broken(&error))? {
        if before_ns.is_none() && started_ns.load(Ordering::Relaxed) != NEVER_NS {
            before_ns = Some((worker.busy_ns(), run_delay_ns().unwrap_or(0)));
        }
    }
    let mut pace = std::mem::take(&mut worker.pace);
    if let Some((busy_ns, delay_ns)) = before_ns {
        pace.busy_ns = worker.busy_ns().saturating_sub(busy_ns);
        pace.run_delay_ns = run_delay_ns().unwrap_or(0).saturating_sub(delay_ns);
    }
    Ok((worker.end(), pace))
}
