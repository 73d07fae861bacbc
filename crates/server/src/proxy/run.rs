//! Proxies on their own threads. Each has its own driver; they share only the ports, by
//! `SO_REUSEPORT`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use plimsoll_io::select::{self, Opened, Selection};
use plimsoll_io::{Driver, DriverOptions, SocketOptions, Spin, Waker, clock};

use super::counters::ProxyCounters;
use super::options::{ProxyOptions, UPSTREAMS_MAX};
use super::worker::Proxy;
use crate::options::ServeError;
use crate::run::{ended_early, probe};

/// Bytes in a receive buffer: heads and small bodies fit, and large ones take few receipts.
const RECEIVE_BUFFER_BYTES: u32 = 16 * 1024;

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
    addresses: Vec<SocketAddr>,
    selection: Selection,
    waker: Waker,
}

/// Everything a worker is given.
struct Assignment {
    worker: usize,
    options: Arc<ProxyOptions>,
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    ready: Sender<Ready>,
}

struct Worker {
    waker: Waker,
    thread: JoinHandle<Result<ProxyCounters, ServeError>>,
}

/// A proxy that runs until stopped. Dropping this stops it too.
pub struct RunningProxy {
    addresses: Vec<SocketAddr>,
    selection: Selection,
    shared: Arc<Shared>,
    workers: Vec<Worker>,
}

/// What a proxy did, from start to stop.
#[derive(Debug)]
pub struct ProxyReport {
    /// What all workers did together, as far as they lived to tell.
    pub counters: ProxyCounters,
    /// Why a worker ended before it was told to.
    pub failure: Option<ServeError>,
}

/// Starts proxying; returns once every worker listens.
///
/// # Errors
/// When the options make no sense, an address can't be listened on, or a driver can't be had. What
/// had been started is stopped again.
pub fn start(options: ProxyOptions) -> Result<RunningProxy, ServeError> {
    check(&options)?;
    let mut addresses = options.listen.clone();
    if options.workers > 1 {
        addresses.iter().try_for_each(|&address| probe(address))?;
    }
    let options = Arc::new(options);
    let published = (0..options.workers).map(|_| Published::default()).collect();
    let shared = Arc::new(Shared { stop: AtomicBool::new(false), published });
    let mut running: Option<RunningProxy> = None;
    for worker in 0..options.workers {
        // On an error, what runs already is stopped by being dropped.
        let (ready, started) = start_worker(worker, &options, &addresses, &shared)?;
        addresses.clone_from(&ready.addresses);
        let running = running.get_or_insert_with(|| RunningProxy {
            addresses: ready.addresses,
            selection: ready.selection,
            shared: Arc::clone(&shared),
            workers: Vec::new(),
        });
        running.workers.push(started);
    }
    running.ok_or(ServeError::Options("at least one worker is needed"))
}

fn check(options: &ProxyOptions) -> Result<(), ServeError> {
    let rules = &options.rules;
    let complaint = match options {
        ProxyOptions { workers: 0, .. } => "at least one worker is needed",
        ProxyOptions { connections_max: 0, .. } => "at least one client must be allowed",
        ProxyOptions { connections_max, .. } if *connections_max > 1 << 20 => {
            "there can be at most 1048576 clients of a worker"
        }
        ProxyOptions { listen, .. } if listen.is_empty() => "there is no address to listen on",
        ProxyOptions { pin: Some(cpus), .. } if cpus.is_empty() => "there is no CPU to pin to",
        _ if rules.upstreams.is_empty() => "there is no upstream to forward to",
        _ if rules.upstreams.len() > UPSTREAMS_MAX => "there can be at most 64 upstreams",
        _ if rules.limits.upstream_connections == 0 => {
            "at least one connection to each upstream must be allowed"
        }
        _ if rules.upstream_tokens() > 1 << 20 => {
            "there can be at most 1048576 connections to all upstreams together"
        }
        _ if !rules.upstreams.iter().all(|it| is_graphic(&it.authority)) => {
            "an upstream's name cannot be a Host field"
        }
        _ if rules.health.check.as_ref().is_some_and(|it| !is_path(&it.path)) => {
            "the path of a health check starts with / and has no spaces"
        }
        _ => return Ok(()),
    };
    Err(ServeError::Options(complaint))
}

fn is_graphic(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') && is_graphic(text)
}

fn driver_options(options: &ProxyOptions) -> DriverOptions {
    let reserved = options.listen.len() as u32 + options.rules.upstream_tokens();
    DriverOptions {
        sockets: reserved.saturating_add(options.connections_max),
        reserved,
        receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
        long_lived: true,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: SocketOptions { reuse_port: options.workers > 1, listen_backlog: 0 },
    }
}

/// Starts a thread and waits until it listens.
fn start_worker(
    worker: usize,
    options: &Arc<ProxyOptions>,
    addresses: &[SocketAddr],
    shared: &Arc<Shared>,
) -> Result<(Ready, Worker), ServeError> {
    let (ready, told) = channel();
    let assignment = Assignment {
        worker,
        options: Arc::clone(options),
        addresses: addresses.to_vec(),
        shared: Arc::clone(shared),
        ready,
    };
    let thread = Builder::new()
        .name(format!("proxy-{worker}"))
        .spawn(move || work(&assignment))
        .map_err(|source| ServeError::Worker { action: "start a thread", source })?;
    match told.recv() {
        Ok(ready) => {
            let worker = Worker { waker: Arc::clone(&ready.waker), thread };
            Ok((ready, worker))
        }
        Err(_) => Err(join(thread).err().unwrap_or_else(ended_early)),
    }
}

fn join(
    thread: JoinHandle<Result<ProxyCounters, ServeError>>,
) -> Result<ProxyCounters, ServeError> {
    thread.join().unwrap_or_else(|_| {
        let source = std::io::Error::other("it panicked");
        Err(ServeError::Worker { action: "run a worker", source })
    })
}

/// A worker's thread.
fn work(assignment: &Assignment) -> Result<ProxyCounters, ServeError> {
    let failed = |action| move |source| ServeError::Worker { action, source };
    let options = &assignment.options;
    if let Some(cpus) = &options.pin {
        let cpu = cpus[assignment.worker % cpus.len()];
        clock::pin_to_cpu(cpu).map_err(failed("pin a worker to its CPU"))?;
    }
    let (opened, selection) =
        select::open(options.driver, &driver_options(options)).map_err(failed("open a driver"))?;
    match opened {
        #[cfg(target_os = "linux")]
        Opened::Uring(driver) => proxy(driver, selection, assignment),
        Opened::Epoll(driver) => proxy(driver, selection, assignment),
    }
}

/// Listens, says so, and forwards until told to stop.
fn proxy<D: Driver>(
    driver: D,
    selection: Selection,
    assignment: &Assignment,
) -> Result<ProxyCounters, ServeError> {
    let Assignment { worker, options, shared, .. } = assignment;
    let listeners = assignment.addresses.len() as u32;
    let mut proxy = Proxy::new(driver, options.rules.clone(), listeners, options.connections_max);
    let mut addresses = Vec::with_capacity(assignment.addresses.len());
    for &address in &assignment.addresses {
        let bound =
            proxy.listen(address).map_err(|source| ServeError::Listen { address, source })?;
        addresses.push(bound);
    }
    let ready = Ready { addresses, selection, waker: proxy.waker() };
    if assignment.ready.send(ready).is_err() {
        return Ok(proxy.counters());
    }
    while !proxy.is_finished() {
        let now_ns = proxy
            .step(u64::MAX)
            .map_err(|source| ServeError::Worker { action: "go on forwarding", source })?;
        shared.published[*worker].requests.store(proxy.requests(), Relaxed);
        if shared.stop.load(Relaxed) {
            proxy.stop(now_ns);
        }
    }
    Ok(proxy.counters())
}

impl RunningProxy {
    /// Where clients connect, with the ports that were found.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Which driver it runs on, and why.
    #[must_use]
    pub fn driver(&self) -> &Selection {
        &self.selection
    }

    /// Requests admitted so far, as of the last time each worker went to wait.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.published.iter().map(|worker| worker.requests.load(Relaxed)).sum()
    }

    /// Whether all workers are alive.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.workers.iter().all(|worker| !worker.thread.is_finished())
    }

    /// Stops accepting, lets requests under way finish within the drain time, closes.
    #[must_use]
    pub fn stop(mut self) -> ProxyReport {
        self.halt()
    }

    fn halt(&mut self) -> ProxyReport {
        self.shared.stop.store(true, Relaxed);
        self.workers.iter().for_each(|worker| worker.waker.wake());
        let mut report = ProxyReport { counters: ProxyCounters::default(), failure: None };
        for worker in self.workers.drain(..) {
            match join(worker.thread) {
                Ok(counters) => report.counters.merge(&counters),
                Err(error) => report.failure = Some(error),
            }
        }
        report
    }
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        self.halt();
    }
}
