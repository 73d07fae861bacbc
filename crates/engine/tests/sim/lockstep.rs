//! Runs a plan's workers side by side in one simulated time. Each is a thread on a simulated kernel
//! of its own, and only the one whose clock is furthest behind may continue. So they take what they
//! share in the order of time, the same in each run.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use plimsoll_conn::{Http1, Http1Request, Setup};
use plimsoll_core::plan::Draft;
use plimsoll_core::recorder::Recorder;
use plimsoll_engine::worker::{Assignment, CpuUse, Record, Worker};
use plimsoll_engine::{Signals, Spoken as _};
use plimsoll_io::sim::SimOptions;
use plimsoll_io::{
    Close, Driver, DriverKind, Event, Payload, PayloadId, Received, Route, SimDriver, SocketId,
    Spin, Standstill, TcpInfo, Waker,
};

use crate::peer::{Answer, Server};
use crate::world::{S, START_NS};

/// Where each worker's clock stands, ns.
struct Clocks {
    now_ns: Mutex<Vec<u64>>,
    changed: Condvar,
}

impl Clocks {
    /// Says that a worker's clock stands at `now_ns`, and waits until no other is behind it.
    fn reach(&self, worker: usize, now_ns: u64) {
        let mut all = self.now_ns.lock().unwrap_or_else(PoisonError::into_inner);
        all[worker] = now_ns;
        self.changed.notify_all();
        let is_first =
            |all: &[u64]| (0..).zip(all).min_by_key(|(index, ns)| (**ns, *index)).unwrap().0;
        while is_first(&all) != worker && now_ns != u64::MAX {
            all = self.changed.wait(all).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A simulated kernel whose clock waits for the others'.
struct Lockstep {
    inner: SimDriver,
    worker: usize,
    clocks: Arc<Clocks>,
}

impl Drop for Lockstep {
    /// However a worker ends, the others go on without it.
    fn drop(&mut self) {
        self.clocks.reach(self.worker, u64::MAX);
    }
}

impl Driver for Lockstep {
    fn wait(&mut self, until_ns: u64) -> io::Result<u64> {
        let now_ns = self.inner.wait(until_ns)?;
        self.clocks.reach(self.worker, now_ns);
        Ok(now_ns)
    }

    fn kind(&self) -> DriverKind {
        self.inner.kind()
    }
    fn clock_ns(&mut self) -> u64 {
        self.inner.clock_ns()
    }
    fn register(&mut self, bytes: Arc<[u8]>) -> PayloadId {
        self.inner.register(bytes)
    }
    fn connect(&mut self, socket: SocketId, route: &Route) {
        self.inner.connect(socket, route);
    }
    fn listen(&mut self, socket: SocketId, at: SocketAddr) -> io::Result<SocketAddr> {
        self.inner.listen(socket, at)
    }
    fn send(&mut self, socket: SocketId, payload: Payload<'_>) {
        self.inner.send(socket, payload);
    }
    fn queued_bytes(&self, socket: SocketId) -> usize {
        self.inner.queued_bytes(socket)
    }
    fn shutdown(&mut self, socket: SocketId) {
        self.inner.shutdown(socket);
    }
    fn pause_receiving(&mut self, socket: SocketId) {
        self.inner.pause_receiving(socket);
    }
    fn resume_receiving(&mut self, socket: SocketId) {
        self.inner.resume_receiving(socket);
    }
    fn tcp_info(&self, socket: SocketId) -> Option<TcpInfo> {
        self.inner.tcp_info(socket)
    }
    fn local_address(&self, socket: SocketId) -> Option<SocketAddr> {
        self.inner.local_address(socket)
    }
    fn close(&mut self, socket: SocketId, how: Close) {
        self.inner.close(socket, how);
    }
    fn set_spin(&mut self, spin: Spin) {
        self.inner.set_spin(spin);
    }
    fn spun_ns(&self) -> u64 {
        self.inner.spun_ns()
    }
    fn caught_up_ns(&self) -> u64 {
        self.inner.caught_up_ns()
    }
    fn watch_standstills(&mut self) {
        self.inner.watch_standstills();
    }
    fn take_standstill(&mut self) -> Option<Standstill> {
        self.inner.take_standstill()
    }
    fn next(&mut self) -> Option<(u64, Event)> {
        self.inner.next()
    }
    fn bytes(&self, received: &Received) -> &[u8] {
        self.inner.bytes(received)
    }
    fn release(&mut self, received: Received) {
        self.inner.release(received);
    }
    fn waker(&self) -> Waker {
        self.inner.waker()
    }
}

/// What one worker brings back: its record, when requests arrived at its server, and how many
/// connections that saw.
struct Part {
    record: Record,
    arrivals_ns: Vec<u64>,
    paths: Vec<String>,
    connections: u64,
}

/// What came of a run, all workers together.
pub(crate) struct Together {
    pub sum: Recorder,
    /// When the last response was complete, ns after the start of the measured part.
    pub answered_ns: u64,
    /// When requests arrived, ns on the common clock, in order.
    pub arrivals_ns: Vec<u64>,
    /// What was asked for, in the order of the alphabet.
    pub paths: Vec<String>,
    /// Connections that servers saw.
    pub connections: u64,
    /// Requests sent in the measured part, by worker.
    pub sent: Vec<u64>,
}

/// Runs a plan's workers in lockstep against servers that answer as `script` says, which is told
/// whose server it is, the number of the request there, and the time.
pub(crate) fn run_together<F>(plan: &Draft, script: F, signals: &Signals) -> Together
where
    F: Fn(u32, u64, u64) -> Answer + Copy + Send + 'static,
{
    run_with_faults(plan, |_| SimOptions::default(), script, signals)
}

/// The same over networks with faults, each worker's its own.
pub(crate) fn run_with_faults<F>(
    plan: &Draft,
    faults: impl Fn(u32) -> SimOptions,
    script: F,
    signals: &Signals,
) -> Together
where
    F: Fn(u32, u64, u64) -> Answer + Copy + Send + 'static,
{
    let workers = plan.workers;
    let address: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let plan = Arc::new(plan.clone().check().expect("a plan"));
    let first = Assignment::new(plan, [address.into()].into(), false, Spin::Off).unwrap();
    let clocks = Clocks { now_ns: Mutex::new(vec![0; workers as usize]), changed: Condvar::new() };
    let clocks = Arc::new(clocks);
    let parts: Vec<Part> = thread::scope(|scope| {
        let spawned: Vec<_> = (0..workers)
            .map(|index| {
                let assignment = first.for_worker(index, Setup::default());
                let (clocks, sim) = (Arc::clone(&clocks), faults(index));
                scope.spawn(move || part(&assignment, sim, clocks, script, signals))
            })
            .collect();
        spawned.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut together = Together {
        sum: Recorder::new(),
        answered_ns: 0,
        arrivals_ns: Vec::new(),
        paths: Vec::new(),
        connections: 0,
        sent: Vec::new(),
    };
    for part in parts {
        together.sum.merge(&part.record.measured);
        together.answered_ns = together.answered_ns.max(part.record.answered_ns);
        together.arrivals_ns.extend(part.arrivals_ns);
        together.paths.extend(part.paths);
        together.connections += part.connections;
        together.sent.push(part.record.measured.ledger.sent);
    }
    together.arrivals_ns.sort_unstable();
    together.paths.sort_unstable();
    together
}

fn part<F>(
    assignment: &Assignment<Http1Request>,
    sim: SimOptions,
    clocks: Arc<Clocks>,
    script: F,
    signals: &Signals,
) -> Part
where
    F: Fn(u32, u64, u64) -> Answer + Copy + 'static,
{
    let index = assignment.worker();
    let (server, log) = Server::new(move |number, now_ns| script(index, number, now_ns));
    let options = assignment.driver_options();
    let inner = SimDriver::new(&options, sim, Some(Box::new(server)));
    let driver = Lockstep { inner, worker: index as usize, clocks };
    let (settings, source) = (Http1::settings(assignment), assignment.source());
    let mut worker =
        Worker::<_, Http1, _>::new(driver, assignment, &settings, CpuUse::default, source);
    worker.open(S, signals).unwrap();
    worker.run(START_NS, signals, &mut |_| None).unwrap();
    let (record, _) = worker.into_record();
    let log = log.borrow();
    let path = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
    Part {
        record,
        arrivals_ns: log.arrivals_ns.clone(),
        paths: log.heads.iter().map(path).collect(),
        connections: log.connections,
    }
}
