//! Servers on their own threads. Each has its own driver; they share only the ports, by
//! `SO_REUSEPORT`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use plimsoll_io::select::{self, DriverChoice, Opened, Selection};
use plimsoll_io::{Driver, DriverOptions, EpollDriver, SocketOptions, Spin, Token, Waker, clock};

use crate::options::{Counters, ServeError, ServerOptions};
use crate::route::Role;
use crate::server::Server;

/// What to serve, where, and with what.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// What is served at which address; port 0 stands for a free one.
    pub roles: Vec<(Role, SocketAddr)>,
    /// Threads, each with a driver of its own; at least 1.
    pub workers: usize,
    /// Faults, limits, and how long stopping may take.
    pub server: ServerOptions,
    /// Which driver to run on.
    pub driver: DriverChoice,
    /// CPUs to tie the workers to, taken in turn.
    pub pin: Option<Vec<usize>>,
    /// Connections that one worker takes at once; at least 1.
    pub connections_max: u32,
}

impl Default for ServeOptions {
    /// Every route on a free port of 127.0.0.1, by one worker on the best driver there is.
    fn default() -> Self {
        Self {
            roles: vec![(Role::All, SocketAddr::from(([127, 0, 0, 1], 0)))],
            workers: 1,
            server: ServerOptions::default(),
            driver: DriverChoice::Auto,
            pin: None,
            connections_max: 16_384,
        }
    }
}

/// Bytes in a receive buffer: requests are small, and small buffers stay in the cache.
const RECEIVE_BUFFER_BYTES: u32 = 4096;

/// What the workers and the thread that started them tell each other while they run.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    published: Box<[Published]>,
}

/// A worker's count, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Published {
    requests: AtomicU64,
}

/// What a worker tells once it listens.
struct Ready {
    addresses: Vec<(Role, SocketAddr)>,
    selection: Selection,
    waker: Waker,
}

/// Everything a worker is given.
struct Assignment {
    worker: usize,
    options: Arc<ServeOptions>,
    addresses: Vec<(Role, SocketAddr)>,
    start_ns: u64,
    shared: Arc<Shared>,
    ready: Sender<Ready>,
}

struct Worker {
    waker: Waker,
    thread: JoinHandle<Result<Counters, ServeError>>,
}

/// Servers that run until stopped. Dropping this stops them too.
pub struct Running {
    addresses: Vec<(Role, SocketAddr)>,
    selection: Selection,
    shared: Arc<Shared>,
    workers: Vec<Worker>,
}

/// What servers did, from start to stop.
#[derive(Debug)]
pub struct ServeReport {
    /// What all workers did together, as far as they lived to tell.
    pub counters: Counters,
    /// Why a worker ended before it was told to.
    pub failure: Option<ServeError>,
}

/// Starts serving; returns once every worker listens.
///
/// # Errors
/// When the options make no sense, an address can't be listened on, or a driver can't be had. What
/// had been started is stopped again.
pub fn start(options: ServeOptions) -> Result<Running, ServeError> {
    check(&options)?;
    let workers = options.workers;
    let mut addresses = options.roles.clone();
    if workers > 1 {
        addresses.iter().try_for_each(|&(_, address)| probe(address))?;
    }
    let options = Arc::new(options);
    let published = (0..workers).map(|_| Published::default()).collect();
    let shared = Arc::new(Shared { stop: AtomicBool::new(false), published });
    let start_ns = clock::now_ns();
    let mut running: Option<Running> = None;
    for worker in 0..workers {
        let assignment = (worker, &options, &addresses, start_ns, &shared);
        // On an error, what runs already is stopped by being dropped.
        let (ready, started) = start_worker(assignment)?;
        addresses.clone_from(&ready.addresses);
        let running = running.get_or_insert_with(|| Running {
            addresses: ready.addresses,
            selection: ready.selection,
            shared: Arc::clone(&shared),
            workers: Vec::new(),
        });
        running.workers.push(started);
    }
    running.ok_or(ServeError::Options("at least one worker is needed"))
}

fn check(options: &ServeOptions) -> Result<(), ServeError> {
    let complaint = match options {
        ServeOptions { workers: 0, .. } => "at least one worker is needed",
        ServeOptions { connections_max: 0, .. } => "at least one connection must be allowed",
        ServeOptions { roles, .. } if roles.is_empty() => "there is no address to serve",
        ServeOptions { pin: Some(cpus), .. } if cpus.is_empty() => "there is no CPU to pin to",
        _ => return Ok(()),
    };
    Err(ServeError::Options(complaint))
}

fn driver_options(options: &ServeOptions, reuse_port: bool) -> DriverOptions {
    let reserved = options.roles.len() as u32;
    DriverOptions {
        sockets: reserved.saturating_add(options.connections_max),
        reserved,
        receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
        long_lived: true,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: SocketOptions { reuse_port, listen_backlog: 0 },
    }
}

/// Finds out whether an address is free: workers that share ports would also share with another
/// server that does so, and no error would say it.
pub(crate) fn probe(address: SocketAddr) -> Result<(), ServeError> {
    let options = ServeOptions { connections_max: 1, ..ServeOptions::default() };
    let mut driver = EpollDriver::new(&driver_options(&options, false))
        .map_err(|source| ServeError::Worker { action: "open a driver", source })?;
    let bound = driver.listen(Token(0), address);
    bound.map(drop).map_err(|source| ServeError::Listen { address, source })
}

type Start<'a> = (usize, &'a Arc<ServeOptions>, &'a Vec<(Role, SocketAddr)>, u64, &'a Arc<Shared>);

/// Starts a thread and waits until it listens.
fn start_worker(start: Start<'_>) -> Result<(Ready, Worker), ServeError> {
    let (worker, options, addresses, start_ns, shared) = start;
    let (ready, told) = channel();
    let assignment = Assignment {
        worker,
        options: Arc::clone(options),
        addresses: addresses.clone(),
        start_ns,
        shared: Arc::clone(shared),
        ready,
    };
    let thread = Builder::new()
        .name(format!("serve-{worker}"))
        .spawn(move || work(assignment))
        .map_err(|source| ServeError::Worker { action: "start a thread", source })?;
    match told.recv() {
        Ok(ready) => {
            let worker = Worker { waker: Arc::clone(&ready.waker), thread };
            Ok((ready, worker))
        }
        Err(_) => Err(join(thread).err().unwrap_or_else(ended_early)),
    }
}

pub(crate) fn ended_early() -> ServeError {
    let source = io::Error::other("it ended before it began");
    ServeError::Worker { action: "run a worker", source }
}

fn join(thread: JoinHandle<Result<Counters, ServeError>>) -> Result<Counters, ServeError> {
    thread.join().unwrap_or_else(|_| {
        let source = io::Error::other("it panicked");
        Err(ServeError::Worker { action: "run a worker", source })
    })
}

/// A worker's thread.
fn work(assignment: Assignment) -> Result<Counters, ServeError> {
    let failed = |action| move |source| ServeError::Worker { action, source };
    let options = &assignment.options;
    if let Some(cpus) = &options.pin {
        let cpu = cpus[assignment.worker % cpus.len()];
        clock::pin_to_cpu(cpu).map_err(failed("pin a worker to its CPU"))?;
    }
    // Without it timers are 50 µs late, which is no reason not to serve.
    let _ = clock::set_timer_slack_ns(1);
    let driver_options = driver_options(options, options.workers > 1);
    let (opened, selection) =
        select::open(options.driver, &driver_options).map_err(failed("open a driver"))?;
    match opened {
        #[cfg(target_os = "linux")]
        Opened::Uring(driver) => serve(driver, selection, &assignment),
        Opened::Epoll(driver) => serve(driver, selection, &assignment),
    }
}

/// Listens, says so, and serves until told to stop.
fn serve<D: Driver>(
    driver: D,
    selection: Selection,
    assignment: &Assignment,
) -> Result<Counters, ServeError> {
    let Assignment { worker, options, start_ns, shared, .. } = assignment;
    let connections_max = options.connections_max;
    let mut server =
        Server::new(driver, options.server.clone(), connections_max, *worker, *start_ns);
    let mut addresses = Vec::with_capacity(assignment.addresses.len());
    for &(role, address) in &assignment.addresses {
        let bound = server
            .listen(role, address)
            .map_err(|source| ServeError::Listen { address, source })?;
        addresses.push((role, bound));
    }
    let ready = Ready { addresses, selection, waker: server.waker() };
    if assignment.ready.send(ready).is_err() {
        return Ok(server.counters());
    }
    while !server.is_finished() {
        let now_ns = server
            .step(u64::MAX)
            .map_err(|source| ServeError::Worker { action: "go on serving", source })?;
        shared.published[*worker].requests.store(server.counters().requests, Relaxed);
        if shared.stop.load(Relaxed) {
            server.stop(now_ns);
        }
    }
    Ok(server.counters())
}

impl Running {
    /// What is served where, with the ports that were found.
    #[must_use]
    pub fn addresses(&self) -> &[(Role, SocketAddr)] {
        &self.addresses
    }

    /// Which driver the servers run on, and why.
    #[must_use]
    pub fn driver(&self) -> &Selection {
        &self.selection
    }

    /// Requests read so far, as of the last time each worker went to wait.
    #[must_use]
    pub fn requests_served(&self) -> u64 {
        self.shared.published.iter().map(|worker| worker.requests.load(Relaxed)).sum()
    }

    /// Whether all workers are alive.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.workers.iter().all(|worker| !worker.thread.is_finished())
    }

    /// Stops accepting, lets requests under way finish within the drain time, closes.
    #[must_use]
    pub fn stop(mut self) -> ServeReport {
        self.halt()
    }

    fn halt(&mut self) -> ServeReport {
        self.shared.stop.store(true, Relaxed);
        self.workers.iter().for_each(|worker| worker.waker.wake());
        let mut report = ServeReport { counters: Counters::default(), failure: None };
        for worker in self.workers.drain(..) {
            match join(worker.thread) {
                Ok(counters) => report.counters.merge(&counters),
                Err(error) => report.failure = Some(error),
            }
        }
        report
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.halt();
    }
}
