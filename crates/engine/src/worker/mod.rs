//! One worker: a thread's loop over one driver.
//!
//! The loop does what is due, waits, and takes events. Everything it needs was allocated at the
//! start; a request costs a slot of the schedule, one send, one receive and its record.
//!
//! A connection's life is in `pool`, what events mean is in `events`.

mod events;
mod pool;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_core::Plan;
use plimsoll_core::part::Place;
use plimsoll_core::plan::Spin;
use plimsoll_core::recorder::{Interval, Outcome, Recorder};
use plimsoll_core::schedule::share;
use plimsoll_core::verdict::Pause;
use plimsoll_io::{Driver, DriverOptions, Payload, PayloadId, Route, SocketOptions};
use plimsoll_proto::http1::RequestKind;

use crate::admission::{Admission, Timetable};
use crate::client::Client;
use crate::deadlines::Deadlines;
use crate::observer::{Observer, PAUSE_NS};
use crate::render::Rendered;
use pool::{Idle, Opener};

pub use crate::observer::CpuUse;

/// How long the drain may last after an interrupt.
const INTERRUPT_DRAIN_NS: u64 = 1_000_000_000;

/// More than this in a second, and spinning takes the CPU from somebody who needs it.
const SPIN_SWITCHES_LIMIT: u64 = 200;

/// One receive takes this much at most.
const RECEIVE_BUFFER_BYTES: u32 = 8192;

/// How long before a request is due the worker stops sleeping and spins.
pub(crate) const SPIN_NS: u64 = 50_000;

/// Takes an interval that is over, and may give back one that was emptied.
pub type OnInterval<'a> = dyn FnMut(Box<Interval>) -> Option<Box<Interval>> + 'a;

/// What a worker is told.
#[derive(Debug, Clone)]
pub struct Assignment {
    plan: Arc<Plan>,
    rendered: Arc<Rendered>,
    address: SocketAddr,
    spin_ns: u64,
    worker: u32,
}

impl Assignment {
    /// The first worker's part of the plan, which says how many workers there are. Before a request
    /// is due the driver spins for `spin_ns`.
    #[must_use]
    pub fn new(
        plan: Arc<Plan>,
        rendered: Arc<Rendered>,
        address: SocketAddr,
        spin_ns: u64,
    ) -> Self {
        Self { plan, rendered, address, spin_ns, worker: 0 }
    }

    /// The same run, another worker's part.
    #[must_use]
    pub fn for_worker(&self, worker: u32) -> Self {
        Self { worker, ..self.clone() }
    }

    /// The plan it is part of.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The CPU it is to be tied to, if the plan says so.
    #[must_use]
    pub fn pinned_to(&self) -> Option<usize> {
        let pin = &self.plan.pin;
        (!pin.is_empty()).then(|| pin[self.worker as usize % pin.len()] as usize)
    }

    /// What its driver has to be set up for.
    #[must_use]
    pub fn driver_options(&self) -> DriverOptions {
        DriverOptions {
            sockets: self.connections(),
            reserved: self.connections(),
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
            long_lived: !self.plan.connects_per_request(),
            spin_ns: self.spin_ns,
            socket: SocketOptions::default(),
        }
    }

    /// How many connections this worker holds.
    #[must_use]
    pub fn connections(&self) -> u32 {
        let connections = share(self.plan.connections.into(), self.worker, self.plan.workers);
        u32::try_from(connections).expect("no more than all of them")
    }
}

/// What a worker brings back.
#[derive(Debug)]
pub struct Record {
    /// The measured part.
    pub measured: Recorder,
    /// The warm-up, if the plan has one.
    pub warmup: Option<Box<Recorder>>,
    /// Stretches in which the worker did not run.
    pub pauses: Vec<Pause>,
    /// CPU used in the measured part.
    pub cpu: CpuUse,
    /// Of it, spent spinning, ns.
    pub spun_ns: u64,
    /// CPU used and time spent spinning while requests were started, without the drain.
    pub in_window: (CpuUse, u64),
    /// How long the measured part took, ns, with its drain.
    pub elapsed_ns: u64,
    /// How long requests were started, ns.
    pub window_ns: u64,
    /// When the last response was complete, ns after the start of the measured part.
    pub answered_ns: u64,
    /// Whether it was cut short from outside.
    pub interrupted: bool,
}

/// One thread's share of a run.
pub struct Worker<D: Driver> {
    driver: D,
    plan: Arc<Plan>,
    route: Route,
    payload: PayloadId,
    payload_bytes: u32,
    request_kind: RequestKind,
    clients: Vec<Client>,
    idle: VecDeque<Idle>,
    opener: Opener,
    deadlines: Deadlines,
    admission: Admission,
    timetable: Timetable,
    observer: Observer,
    open_requests: usize,
    running: bool,
    /// When the last request was started, received something, or was settled.
    progress_ns: u64,
    /// When the last response was complete.
    answered_ns: u64,
    /// When the run was over, drain and all.
    ended_ns: u64,
    /// When starting requests ended.
    stopped_ns: Option<u64>,
    drain_ns: u64,
    interrupted: bool,
}

impl<D: Driver> Worker<D> {
    /// A worker on its driver, which must have room for its connections' tokens (from 0 on).
    /// `cpu` tells what the thread has used of the CPU.
    pub fn new(mut driver: D, assignment: &Assignment, cpu: fn() -> CpuUse) -> Self {
        let plan = Arc::clone(&assignment.plan);
        let rendered = &assignment.rendered;
        let connections = assignment.connections();
        let payload = driver.register(rendered.bytes.clone().into());
        let pipeline = plan.pipeline as usize;
        Self {
            driver,
            route: assignment.address.into(),
            payload,
            payload_bytes: u32::try_from(rendered.bytes.len()).expect("preflight limits it"),
            request_kind: rendered.kind,
            clients: (0..connections).map(|index| Client::new(index, pipeline)).collect(),
            idle: VecDeque::with_capacity(2 * connections as usize),
            opener: Opener::new(connections),
            deadlines: Deadlines::new(connections as usize),
            admission: Admission::new(&plan, assignment.worker),
            timetable: Timetable { start_ns: u64::MAX, measured_ns: u64::MAX, stop_ns: u64::MAX },
            observer: Observer::new(plan.warmup_ns > 0, cpu),
            open_requests: 0,
            running: false,
            progress_ns: 0,
            answered_ns: 0,
            ended_ns: 0,
            stopped_ns: None,
            drain_ns: plan.drain_ns,
            interrupted: false,
            plan,
        }
    }

    /// The driver, to wake or watch it.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// Opens the connections, paced so that a server's queue of new connections does not overflow:
    /// the window of connects under way starts small and doubles with each round that succeeds.
    /// Returns how many are open when each was tried once, or at `limit_ns`. With a connection for
    /// each request there is nothing to open.
    ///
    /// # Errors
    /// When the driver breaks.
    pub fn open(&mut self, limit_ns: u64, stop: &AtomicBool) -> io::Result<u32> {
        if !self.plan.connects_per_request() {
            let mut now_ns = self.driver.clock_ns();
            self.opener.queue.extend(0..self.clients.len() as u32);
            while self.clients.iter().any(|client| !client.tried || client.is_opening())
                && now_ns < limit_ns
                && !stop.load(Ordering::Relaxed)
            {
                self.open_queued(now_ns);
                let until_ns = (now_ns + PAUSE_NS).min(limit_ns).min(self.deadlines.next_ns());
                now_ns = self.driver.wait(until_ns)?;
                self.take_events();
                self.look_at_deadlines(now_ns);
            }
        }
        let open = self.clients.iter().filter(|client| client.can_send(&self.plan)).count();
        Ok(open as u32)
    }

    /// Runs the plan from `start_ns` on the driver's clock. `on_interval` gets each second of the
    /// measured part.
    ///
    /// # Errors
    /// When the driver breaks.
    pub fn run(
        &mut self,
        start_ns: u64,
        stop: &AtomicBool,
        on_interval: &mut OnInterval<'_>,
    ) -> io::Result<()> {
        self.timetable = Timetable::new(&self.plan, start_ns);
        self.observer.start(self.timetable);
        let mut now_ns = self.driver.clock_ns();
        while now_ns < start_ns {
            now_ns = self.driver.wait(start_ns)?;
            self.take_events();
        }
        self.begin(now_ns);
        loop {
            self.observer.begin_measuring(now_ns, self.driver.spun_ns());
            self.look_at_deadlines(now_ns);
            self.admit(now_ns);
            self.open_queued(now_ns);
            self.end_interval(now_ns, false, on_interval);
            if stop.load(Ordering::Relaxed) {
                self.interrupt(now_ns);
            }
            if self.is_finished(now_ns) {
                break;
            }
            let until_ns = self.until_ns(now_ns);
            let returned_ns = self.driver.wait(until_ns)?;
            if self.stopped_ns.is_none() {
                self.observer.note_return(until_ns.max(now_ns), returned_ns);
            }
            now_ns = returned_ns;
            self.take_events();
        }
        self.settle_rest();
        self.end_interval(now_ns, true, on_interval);
        Ok(())
    }

    fn begin(&mut self, now_ns: u64) {
        self.running = true;
        self.progress_ns = now_ns;
        for index in 0..self.clients.len() as u32 {
            let client = &self.clients[index as usize];
            if client.can_send(&self.plan) || self.plan.connects_per_request() {
                self.freed(index, now_ns);
            }
        }
    }

    fn take_events(&mut self) {
        while let Some((at_ns, event)) = self.driver.next() {
            self.handle(at_ns, event);
        }
    }

    /// Until when there is nothing to do but wait for events.
    fn until_ns(&self, now_ns: u64) -> u64 {
        let mut until_ns =
            (now_ns + PAUSE_NS).min(self.deadlines.next_ns()).min(self.observer.interval_end_ns());
        if let Some(stopped_ns) = self.stopped_ns {
            return until_ns.min(stopped_ns + self.drain_ns);
        }
        if !self.idle.is_empty()
            && let Some(due) = self.admission.peek(&self.timetable)
        {
            until_ns = until_ns.min(due.at_ns);
        }
        until_ns.min(self.timetable.stop_ns)
    }

    fn end_interval(&mut self, now_ns: u64, finished: bool, on_interval: &mut OnInterval<'_>) {
        // After a pause several intervals may be over at once.
        while let Some(end) = self.observer.take_interval(now_ns, self.driver.spun_ns(), finished) {
            // Spinning that takes the CPU from somebody who needs it does more harm than good.
            if self.plan.spin == Spin::Auto && end.involuntary_switches > SPIN_SWITCHES_LIMIT {
                self.driver.set_spin_ns(0);
            }
            if !(finished && end.interval.is_empty()) {
                let spare = on_interval(end.interval);
                self.observer.keep_spare(spare);
            }
            if finished {
                break;
            }
        }
    }

    fn interrupt(&mut self, now_ns: u64) {
        if !self.interrupted {
            self.interrupted = true;
            self.timetable.stop_ns = self.timetable.stop_ns.min(now_ns);
            self.drain_ns = self.drain_ns.min(INTERRUPT_DRAIN_NS);
        }
    }

    /// Whether the run is over: nothing more starts, and nothing is open or the drain has passed.
    fn is_finished(&mut self, now_ns: u64) -> bool {
        if self.stopped_ns.is_none() {
            let all_taken = self.plan.requests.is_some()
                && now_ns >= self.timetable.measured_ns
                && self.admission.is_over(&self.timetable);
            // Without a duration only progress keeps a run alive.
            let stuck = self.plan.duration_ns.is_none()
                && self.progress_ns.saturating_add(self.plan.timeout_ns) < now_ns
                && self.admission.peek(&self.timetable).is_none_or(|due| due.at_ns <= now_ns);
            if now_ns >= self.timetable.stop_ns || all_taken || stuck {
                self.stopped_ns = Some(now_ns);
                self.observer.end_window(self.driver.spun_ns());
            }
        }
        self.stopped_ns.is_some_and(|stopped_ns| {
            self.open_requests == 0 || now_ns >= stopped_ns + self.drain_ns
        })
    }

    /// Writes down what is still open, and the slots that found no connection.
    fn settle_rest(&mut self) {
        // Requests may have been started after the turn's own time.
        let now_ns = self.driver.clock_ns();
        for index in 0..self.clients.len() as u32 {
            let client = &self.clients[index as usize];
            if client.pending.is_some() || client.connection.open_requests() > 0 {
                self.abandon(index, now_ns, |_| Outcome::Unfinished);
            }
        }
        let end_ns = self.timetable.stop_ns.min(now_ns);
        while let Some(due) = self.admission.peek(&self.timetable).filter(|due| due.at_ns < end_ns)
        {
            self.admission.take();
            self.observer.recorder(due.measured).unsent(end_ns - due.at_ns, Place::NOWHERE);
        }
        if self.plan.rate.is_none() {
            self.observer.settle_closed_loop();
        }
        self.ended_ns = now_ns;
    }

    /// What was written down. Call after [`run`](Self::run).
    pub fn into_record(self) -> Record {
        let (cpu, spun_ns) = self.observer.used(self.driver.spun_ns());
        let measured_ns = self.timetable.measured_ns;
        let stopped_ns = self.stopped_ns.unwrap_or(self.ended_ns);
        Record {
            in_window: self.observer.used_in_window(),
            measured: self.observer.measured,
            warmup: self.observer.warmup,
            pauses: self.observer.pauses,
            cpu,
            spun_ns,
            elapsed_ns: self.ended_ns.saturating_sub(measured_ns),
            window_ns: stopped_ns.min(self.timetable.stop_ns).saturating_sub(measured_ns),
            answered_ns: self.answered_ns.saturating_sub(measured_ns),
            interrupted: self.interrupted,
        }
    }

    fn request(&self) -> Payload<'static> {
        Payload::Registered { id: self.payload, offset: 0, len: self.payload_bytes }
    }
}
