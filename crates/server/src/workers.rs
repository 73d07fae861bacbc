//! Workers on threads of their own, for servers and proxies alike: starting them, where they
//! listen, what they count, and stopping them. Each has its own driver; they share only the ports,
//! by `SO_REUSEPORT`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use plimsoll_io::select::{self, DriverChoice, Opened, Selection};
use plimsoll_io::{
    Driver, DriverOptions, EpollDriver, SocketId, SocketOptions, Spin, Waker, clock,
};

use crate::options::ServeError;

/// What workers run: everything about a server, or about a proxy.
pub trait Service: Sized + Send + Sync + 'static {
    /// Where a worker listens, and what for.
    type Address: Copy + Send + 'static;
    /// What a worker counts.
    type Counters: Default + Send + 'static;

    /// The first word of the threads' names.
    const NAME: &'static str;

    /// Checks that the options make sense.
    ///
    /// # Errors
    /// What is wrong with them.
    fn check(&self) -> Result<(), &'static str>;

    /// The threads it asks for.
    fn threads(&self) -> Threads<'_>;

    /// Where to listen; port 0 stands for a free one.
    fn addresses(&self) -> &[Self::Address];

    /// The address of a socket to listen on.
    fn socket(address: &Self::Address) -> SocketAddr;

    /// Runs a worker on its thread: listens, and serves until told to stop.
    ///
    /// # Errors
    /// If it cannot listen on an address, or the driver broke.
    fn work<D: Driver>(
        &self,
        driver: D,
        seat: &Seat<'_, Self>,
    ) -> Result<Self::Counters, ServeError>;

    /// Adds another worker's counts.
    fn add(sum: &mut Self::Counters, more: &Self::Counters);
}

/// The threads that a service asks for.
#[derive(Debug, Clone, Copy)]
pub struct Threads<'a> {
    /// How many; at least 1.
    pub workers: usize,
    /// Which driver each runs on.
    pub driver: DriverChoice,
    /// CPUs to tie them to, taken in turn.
    pub pin: Option<&'a [usize]>,
    /// Sockets that a worker opens itself: listeners and connections to others.
    pub reserved: u32,
    /// Connections that a worker takes at once.
    pub accepted: u32,
    /// Bytes of a receive buffer.
    pub receive_buffer_bytes: u32,
}

impl Threads<'_> {
    fn driver_options(&self) -> DriverOptions {
        let sockets = self.reserved.saturating_add(self.accepted);
        DriverOptions {
            sockets,
            reserved: self.reserved,
            receivers: sockets,
            receive_buffer_bytes: self.receive_buffer_bytes,
            long_lived: true,
            spin: Spin::Off,
            receive_timestamps: false,
            socket: SocketOptions { reuse_port: self.workers > 1, listen_backlog: 0 },
        }
    }
}

/// State that the workers share with the thread that started them.
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

/// The message of a worker that listens.
struct Listening<S: Service> {
    addresses: Vec<S::Address>,
    selection: Selection,
    waker: Waker,
}

/// Everything a worker is given.
struct Assignment<S: Service> {
    number: usize,
    service: Arc<S>,
    addresses: Vec<S::Address>,
    start_ns: u64,
    shared: Arc<Shared>,
    listening: Sender<Listening<S>>,
}

type Handle<S> = JoinHandle<Result<<S as Service>::Counters, ServeError>>;

/// Workers that run until stopped. Dropping this stops them too.
pub struct Running<S: Service> {
    addresses: Vec<S::Address>,
    selection: Selection,
    shared: Arc<Shared>,
    workers: Vec<(Waker, Handle<S>)>,
}

/// The counts of workers, from start to stop.
#[derive(Debug)]
pub struct Report<C> {
    /// The sum over all workers that ended in order.
    pub counters: C,
    /// Why a worker ended before it was told to.
    pub failure: Option<ServeError>,
}

/// Starts workers; returns once every one listens.
///
/// # Errors
/// When the options make no sense, an address can't be listened on, or no driver can be opened.
/// Workers that had started are stopped again.
pub fn start<S: Service>(service: S) -> Result<Running<S>, ServeError> {
    service.check().map_err(ServeError::Options)?;
    let count = service.threads().workers;
    let mut addresses = service.addresses().to_vec();
    if count > 1 {
        addresses.iter().try_for_each(|address| probe(S::socket(address)))?;
    }
    let service = Arc::new(service);
    let published = (0..count).map(|_| Published::default()).collect();
    let shared = Arc::new(Shared { stop: AtomicBool::new(false), published });
    let start_ns = clock::now_ns();
    let mut running: Option<Running<S>> = None;
    for number in 0..count {
        let (listening, told) = channel();
        let assignment = Assignment {
            number,
            service: Arc::clone(&service),
            addresses: addresses.clone(),
            start_ns,
            shared: Arc::clone(&shared),
            listening,
        };
        let thread = spawn(assignment)?;
        // On an error, what runs already is stopped by being dropped.
        let Ok(listening) = told.recv() else {
            return Err(join::<S>(thread).err().unwrap_or_else(ended_early));
        };
        addresses.clone_from(&listening.addresses);
        let running = running.get_or_insert_with(|| Running {
            addresses: listening.addresses,
            selection: listening.selection,
            shared: Arc::clone(&shared),
            workers: Vec::new(),
        });
        running.workers.push((listening.waker, thread));
    }
    running.ok_or(ServeError::Options("at least one worker is needed"))
}

/// Finds out whether an address is free. Workers that share ports would also share them with
/// another server that does so, and no error would say so.
fn probe(address: SocketAddr) -> Result<(), ServeError> {
    let one = Threads {
        workers: 1,
        driver: DriverChoice::Epoll,
        pin: None,
        reserved: 1,
        accepted: 1,
        receive_buffer_bytes: 4096,
    };
    let mut driver = EpollDriver::new(&one.driver_options())
        .map_err(|source| ServeError::Worker { action: "open a driver", source })?;
    let bound = driver.listen(SocketId(0), address);
    bound.map(drop).map_err(|source| ServeError::Listen { address, source })
}

fn spawn<S: Service>(assignment: Assignment<S>) -> Result<Handle<S>, ServeError> {
    Builder::new()
        .name(format!("{}-{}", S::NAME, assignment.number))
        .spawn(move || work(&assignment))
        .map_err(|source| ServeError::Worker { action: "start a thread", source })
}

fn ended_early() -> ServeError {
    let source = io::Error::other("it ended before it began");
    ServeError::Worker { action: "run a worker", source }
}

fn join<S: Service>(thread: Handle<S>) -> Result<S::Counters, ServeError> {
    thread.join().unwrap_or_else(|_| {
        let source = io::Error::other("it panicked");
        Err(ServeError::Worker { action: "run a worker", source })
    })
}

/// A worker's thread.
fn work<S: Service>(assignment: &Assignment<S>) -> Result<S::Counters, ServeError> {
    let failed = |action| move |source| ServeError::Worker { action, source };
    let service = &assignment.service;
    let threads = service.threads();
    if let Some(cpus) = threads.pin {
        let cpu = cpus[assignment.number % cpus.len()];
        clock::pin_to_cpu(cpu).map_err(failed("pin a worker to its CPU"))?;
    }
    let (opened, selection) =
        select::open(threads.driver, &threads.driver_options()).map_err(failed("open a driver"))?;
    let seat = Seat { assignment, selection };
    match opened {
        #[cfg(target_os = "linux")]
        Opened::Uring(driver) => service.work(driver, &seat),
        Opened::Epoll(driver) => service.work(driver, &seat),
    }
}

/// A worker's link to the thread that started it.
pub struct Seat<'a, S: Service> {
    assignment: &'a Assignment<S>,
    selection: Selection,
}

impl<S: Service> Seat<'_, S> {
    /// Which of the workers it is, from 0.
    #[must_use]
    pub fn number(&self) -> usize {
        self.assignment.number
    }

    /// When the workers began, on the drivers' clock.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        self.assignment.start_ns
    }

    /// Listens at each address, and reports that. `listen` returns the address with the port that
    /// the system chose; `waker` ends a step of the worker from another thread.
    ///
    /// # Errors
    /// The first address on which it cannot listen.
    pub fn listen(
        &self,
        waker: Waker,
        mut listen: impl FnMut(S::Address) -> io::Result<S::Address>,
    ) -> Result<(), ServeError> {
        let bound = self.assignment.addresses.iter().map(|at| {
            let address = S::socket(at);
            listen(*at).map_err(|source| ServeError::Listen { address, source })
        });
        let addresses = bound.collect::<Result<_, _>>()?;
        let listening = Listening { addresses, selection: self.selection.clone(), waker };
        self.assignment.listening.send(listening).map_err(|_| ended_early())
    }

    /// Tells how many requests the worker has read, and returns whether it has to stop.
    #[must_use]
    pub fn told_to_stop(&self, requests: u64) -> bool {
        let shared = &self.assignment.shared;
        shared.published[self.assignment.number].requests.store(requests, Relaxed);
        shared.stop.load(Relaxed)
    }
}

impl<S: Service> Running<S> {
    /// Where they listen, with the ports that the system chose.
    #[must_use]
    pub fn addresses(&self) -> &[S::Address] {
        &self.addresses
    }

    /// Which driver they run on, and why.
    #[must_use]
    pub fn driver(&self) -> &Selection {
        &self.selection
    }

    /// Requests so far, as of the last time each worker went to wait.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.published.iter().map(|worker| worker.requests.load(Relaxed)).sum()
    }

    /// Whether all workers are alive.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.workers.iter().all(|(_, thread)| !thread.is_finished())
    }

    /// Stops accepting, lets requests under way finish within the drain time, closes.
    #[must_use]
    pub fn stop(mut self) -> Report<S::Counters> {
        self.halt()
    }

    fn halt(&mut self) -> Report<S::Counters> {
        self.shared.stop.store(true, Relaxed);
        self.workers.iter().for_each(|(waker, _)| waker.wake());
        let mut report = Report { counters: S::Counters::default(), failure: None };
        for (_, thread) in self.workers.drain(..) {
            match join::<S>(thread) {
                Ok(counters) => S::add(&mut report.counters, &counters),
                Err(error) => report.failure = Some(error),
            }
        }
        report
    }
}

impl<S: Service> Drop for Running<S> {
    fn drop(&mut self) {
        self.halt();
    }
}
