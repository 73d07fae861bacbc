//! The sampling thread, and how it is told to start and to end. It sleeps until a reading is due or
//! a message comes, so it ends at once, and it never outlives its owner.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plimsoll_core::usage::Usage;
use plimsoll_io::clock;
use plimsoll_io::host::CgroupCounter;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::find::Root;
use super::record::UsageRecord;
use super::watch::Watch;

/// How to sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplerOptions {
    /// Between samples, ns; at least a millisecond.
    pub interval_ns: u64,
    /// Between looks for peaks of memory, ns; at least a millisecond. Where there are many
    /// processes they are rarer.
    pub look_interval_ns: u64,
    /// CPUs the sampler keeps off, where it may run on others.
    pub avoid_cpus: Vec<u32>,
    /// A control group with nothing in it but what is watched: its CPU time is that of all of them,
    /// and its processes belong.
    pub group: Option<CgroupCounter>,
}

impl Default for SamplerOptions {
    fn default() -> Self {
        Self {
            interval_ns: 1_000_000_000,
            look_interval_ns: 100_000_000,
            avoid_cpus: Vec::new(),
            group: None,
        }
    }
}

/// Processes being sampled.
#[derive(Debug)]
pub struct Sampler {
    /// Taken when it ends; without a sender the thread ends too.
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<UsageRecord>>,
}

#[derive(Debug)]
enum Order {
    /// The measured part begins; who says so waits until the first sample is taken.
    Begin(Sender<()>),
}

impl Sampler {
    /// Starts to sample these and what belongs to them. The measured part begins when this returns,
    /// or later, by [`Sampler::begin`].
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn start(roots: Vec<Root>, options: SamplerOptions) -> io::Result<Self> {
        let (orders, received) = channel();
        let builder = thread::Builder::new().name("sampler".to_owned());
        let thread = builder.spawn(move || sample(&roots, &options, &received))?;
        let sampler = Self { orders: Some(orders), thread: Some(thread) };
        sampler.begin();
        Ok(sampler)
    }

    /// The measured part begins now: what was sampled until here is left out. Returns once the
    /// first sample is taken, about a millisecond later.
    pub fn begin(&self) {
        let (done, is_done) = channel();
        let sent =
            self.orders.as_ref().is_some_and(|orders| orders.send(Order::Begin(done)).is_ok());
        if sent {
            // A thread that is gone is told of by `finish`.
            let _ = is_done.recv();
        }
    }

    /// The measured part is over: takes a last sample and returns what was used. `None` if the
    /// thread panicked.
    #[must_use]
    pub fn finish(self) -> Option<Usage> {
        self.finish_record().map(UsageRecord::whole)
    }

    /// The same for who will say later which stretch is the measured part.
    #[must_use]
    pub fn finish_record(mut self) -> Option<UsageRecord> {
        self.end()
    }

    fn end(&mut self) -> Option<UsageRecord> {
        drop(self.orders.take());
        self.thread.take()?.join().ok()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn sample(roots: &[Root], options: &SamplerOptions, orders: &Receiver<Order>) -> UsageRecord {
    keep_off(&options.avoid_cpus);
    let mut watch = Watch::new(roots, options);
    let mut cpu_began_ns = clock::thread_cpu_ns();
    loop {
        let wait_ns = watch.due_ns().saturating_sub(clock::now_ns());
        match orders.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(Order::Begin(done)) => {
                watch.begin();
                cpu_began_ns = clock::thread_cpu_ns();
                // The caller waits, so it has not gone away.
                let _ = done.send(());
            }
            Err(RecvTimeoutError::Timeout) => watch.turn(),
            Err(RecvTimeoutError::Disconnected) => {
                let mut record = watch.finish();
                record.usage.sampling_cpu_ns = clock::thread_cpu_ns() - cpu_began_ns;
                return record;
            }
        }
    }
}

/// Where nothing else is allowed, it stays where it is.
fn keep_off(cpus: &[u32]) {
    let allowed = clock::allowed_cpus();
    let others = allowed.into_iter().filter(|cpu| !cpus.contains(&(*cpu as u32)));
    let mut set = CpuSet::new();
    others.filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
    if !cpus.is_empty() && set.count() > 0 {
        // It samples as well elsewhere.
        let _ = sched_setaffinity(None, &set);
    }
}
