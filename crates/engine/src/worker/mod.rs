//! One worker: a thread's loop over one driver.
//!
//! The loop does what is due, waits, and takes events. Everything it needs was allocated at the
//! start; a request costs a slot of the schedule, one send, one receive and its record.
//!
//! A connection's life is in `pool`, what events mean is in `events`.

mod assignment;
mod events;
mod fin_wait;
mod orders;
mod pool;
mod reading;
mod record;
mod scripts;
mod send;
mod settle;
#[cfg(test)]
pub(crate) mod tests;
mod waiting;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use plimsoll_conn::{Encoding as _, ExchangeId, Protocol, Scratch, Setup};
use plimsoll_core::Plan;
use plimsoll_core::part::{Part, Place};
use plimsoll_core::recorder::Interval;
use plimsoll_core::result::Connections;
use plimsoll_core::schedule::share;
use plimsoll_io::{Driver, PayloadId};
use plimsoll_script::lua::{ScriptError, Thread};

use crate::admission::{Admission, Tickets, Timetable};
use crate::client::Client;
use crate::deadlines::Deadlines;
use crate::exchanges::Exchanges;
use crate::inspection::Wants;
use crate::judge::Judge;
use crate::notes::Notes;
use crate::observer::Observer;
use crate::outcome::planned_window_ns;
use crate::reach::Reach;
use crate::routes::Routes;
use crate::scripted::Scripted;
use crate::signals::{Seen, Signals};
use crate::source::Prepared;
use crate::user::User;
use fin_wait::FinWait;
use pool::{Idle, Opener};

pub use crate::observer::CpuUse;
pub use assignment::Assignment;
pub use record::Record;

/// How long the drain may last after an interrupt.
pub(crate) const INTERRUPT_DRAIN_NS: u64 = 1_000_000_000;

/// How often a worker without a connection looks whether the last request was taken.
const LAST_REQUEST_NS: u64 = 1_000_000;

/// However long there is nothing to do, a worker looks this often whether it was told something.
const TICK_NS: u64 = 50_000_000;

/// Takes an interval that is over, and may give back one that was emptied.
pub type OnInterval<'a> = dyn FnMut(Box<Interval>) -> Option<Box<Interval>> + 'a;

/// One thread's share of a run.
pub struct Worker<D: Driver, P: Protocol> {
    driver: D,
    plan: Arc<Plan>,
    prepared: Arc<Prepared<P::Encoding>>,
    judge: Arc<Judge>,
    /// For each target, its request's bytes as the driver knows them, where they never change.
    payloads: Vec<Option<PayloadId>>,
    setup: Setup,
    scratch: Scratch,
    routes: Routes,
    tracks_addresses: bool,
    wants: Wants,
    worker: u32,
    /// How many of the connections are in use, and whether more are taken when those don't suffice.
    active: u32,
    grows: bool,
    open_now: u64,
    connections: Connections,
    /// Redirected requests that wait for their connection.
    follows: usize,
    /// TLS handshakes begun.
    handshakes: u64,
    notes: Option<Box<Notes>>,
    script: Option<Box<Scripted>>,
    /// The first thing that went wrong with a connection before it was open.
    opening_error: Option<String>,
    /// The orders that were carried out.
    orders_seen: Seen,
    clients: Vec<Client<P>>,
    /// The user that each of them plays.
    users: Vec<User>,
    exchanges: Exchanges,
    /// Exchanges of the connection read last whose bodies may go.
    released: Vec<ExchangeId>,
    idle: VecDeque<Idle>,
    opener: Opener,
    deadlines: Deadlines,
    fin_wait: FinWait,
    /// What all workers of a closed loop take from.
    tickets: Arc<Tickets>,
    admission: Admission,
    timetable: Timetable,
    observer: Observer,
    reach: Reach,
    running: bool,
    /// The latest moment that anything has happened at: the clock of the last wait, of an event
    /// since then, or as it was read since then. No event and no request is ahead of it.
    now_ns: u64,
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

impl<D: Driver, P: Protocol> Worker<D, P> {
    /// A worker on its driver, which must have room for its connections' tokens (from 0 on).
    /// `protocol` is what is spoken, `cpu` tells what the thread has used of the CPU, and `script`
    /// decides what is sent, if there is one.
    pub fn new(
        mut driver: D,
        assignment: &Assignment<P::Encoding>,
        protocol: &P::Settings,
        cpu: fn() -> CpuUse,
        script: Option<Thread>,
    ) -> Self {
        let plan = Arc::clone(&assignment.plan);
        let prepared = Arc::clone(&assignment.prepared);
        let setup = assignment.setup.clone();
        let room = assignment.share(plan.connections_limit());
        // With TLS every request is different bytes.
        let payloads = prepared.targets().iter().map(|target| {
            let fixed = target.encoding.fixed().filter(|_| setup.tls.is_none());
            fixed.map(|bytes| driver.register(Arc::clone(bytes)))
        });
        let payloads = payloads.collect();
        let script = script.map(|thread| Box::new(Scripted::new(thread)));
        let told = script.as_ref().map(|script| script.wants()).unwrap_or_default();
        let wants = Wants::of(&plan).with_script(told);
        let inspects = wants.any() || told.response;
        let exchanges = room as usize * P::exchanges_max(protocol);
        let mut worker = Self {
            driver,
            payloads,
            setup,
            scratch: Scratch::new(prepared.request_bytes_max()),
            routes: Routes::new(&assignment.routes),
            tracks_addresses: assignment.tracks_addresses,
            wants,
            worker: assignment.worker,
            active: assignment.share(plan.connections),
            grows: plan.is_open_loop(),
            open_now: 0,
            connections: Connections::default(),
            follows: 0,
            handshakes: 0,
            notes: Notes::of(&plan),
            script,
            opening_error: None,
            orders_seen: Seen::default(),
            clients: (0..room).map(|n| Client::new(n, protocol)).collect(),
            users: (0..room).map(|_| User::default()).collect(),
            exchanges: Exchanges::new(exchanges, inspects),
            released: Vec::new(),
            idle: VecDeque::with_capacity(2 * room as usize),
            opener: Opener::new(room),
            deadlines: Deadlines::new(room as usize),
            fin_wait: FinWait::default(),
            admission: Admission::new(&plan, assignment.worker, Arc::clone(&assignment.tickets)),
            tickets: Arc::clone(&assignment.tickets),
            timetable: Timetable { start_ns: u64::MAX, measured_ns: u64::MAX, stop_ns: u64::MAX },
            observer: Observer::new(plan.warmup_ns > 0, cpu),
            reach: Reach::new(room as usize, plan.connects_per_request() && plan.is_open_loop()),
            running: false,
            now_ns: 0,
            progress_ns: 0,
            answered_ns: 0,
            ended_ns: 0,
            stopped_ns: None,
            drain_ns: plan.drain_ns,
            interrupted: false,
            plan,
            prepared,
            judge: Arc::clone(&assignment.judge),
        };
        worker.assign_routes();
        worker.add_parts();
        worker
    }

    /// Prepares the parts that requests are told apart by.
    fn add_parts(&mut self) {
        let names = self.prepared.endpoint_names();
        let stages = self.plan.rate.as_ref().map_or(&[][..], |profile| &profile.stages);
        let recorder = &mut self.observer.measured;
        recorder.endpoints = names.iter().map(|name| Part::new(name)).collect();
        if stages.len() > 1 {
            recorder.stages = stages.iter().map(|stage| Part::new(&stage.to_string())).collect();
        }
        if self.tracks_addresses {
            self.routes.add_parts(&mut recorder.addresses);
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
    pub fn open(&mut self, limit_ns: u64, signals: &Signals) -> io::Result<u32> {
        if !self.plan.connects_per_request() {
            self.read_clock();
            self.opener.queue.extend(0..self.active);
            let is_trying = |client: &Client<P>| !client.tried || client.connection.is_opening();
            while self.clients[..self.active as usize].iter().any(is_trying)
                && self.now_ns < limit_ns
                && !signals.is_stopped()
            {
                self.open_queued(self.now_ns);
                let tick_ns = self.now_ns + TICK_NS;
                self.wait(tick_ns.min(limit_ns).min(self.deadlines.next_ns()))?;
                self.look_at_deadlines();
            }
        }
        let open = self.clients.iter().filter(|client| client.can_send(&self.plan)).count();
        Ok(open as u32)
    }

    /// The first thing that went wrong with a connection before it was open.
    pub fn opening_error(&self) -> Option<&str> {
        self.opening_error.as_deref()
    }

    /// Runs the plan from `start_ns` on the driver's clock. `on_interval` gets each second of the
    /// measured part.
    ///
    /// # Errors
    /// When the driver breaks.
    pub fn run(
        &mut self,
        start_ns: u64,
        signals: &Signals,
        on_interval: &mut OnInterval<'_>,
    ) -> io::Result<()> {
        self.timetable = Timetable::new(&self.plan, start_ns);
        self.observer.start(self.timetable, planned_window_ns(&self.plan));
        self.reach.start(self.timetable.measured_ns);
        if let Some(notes) = &mut self.notes {
            notes.start(self.timetable.measured_ns);
        }
        self.driver.watch_standstills();
        self.read_clock();
        while self.now_ns < start_ns {
            self.wait(start_ns)?;
        }
        self.begin(self.now_ns);
        loop {
            self.look_at_deadlines();
            let now_ns = self.now_ns;
            self.observer.begin_measuring(now_ns, self.driver.spun_ns());
            self.obey(signals, now_ns);
            self.admit(signals, now_ns);
            self.open_queued(now_ns);
            self.end_interval(now_ns, false, on_interval);
            self.take_notes(now_ns);
            if self.is_finished(now_ns) {
                break;
            }
            self.wait(self.until_ns(now_ns))?;
        }
        self.settle_rest();
        self.end_interval(self.now_ns, true, on_interval);
        Ok(())
    }

    fn begin(&mut self, now_ns: u64) {
        self.running = true;
        self.progress_ns = now_ns;
        for index in 0..self.active {
            let client = &self.clients[index as usize];
            if client.can_send(&self.plan) || self.plan.connects_per_request() {
                // It has been free all along: what is late from here on is the tester.
                let free_ns =
                    if self.plan.is_open_loop() { self.timetable.start_ns } else { now_ns };
                self.freed(index, free_ns);
            }
        }
    }

    /// Waits for events and takes them.
    fn wait(&mut self, until_ns: u64) -> io::Result<()> {
        let returned_ns = self.driver.wait(until_ns)?;
        self.now_ns = self.now_ns.max(returned_ns);
        while let Some(standstill) = self.driver.take_standstill() {
            self.observer.note_pause(standstill);
        }
        while let Some((at_ns, event)) = self.driver.next() {
            self.now_ns = self.now_ns.max(at_ns);
            self.handle(at_ns, event);
        }
        Ok(())
    }

    /// Reads the clock.
    #[inline]
    fn read_clock(&mut self) -> u64 {
        self.now_ns = self.now_ns.max(self.driver.clock_ns());
        self.now_ns
    }

    /// Looks at what is not looked at with each event: rates, and whether the script is over.
    #[inline]
    fn take_notes(&mut self, now_ns: u64) {
        if let Some(notes) = &mut self.notes
            && self.stopped_ns.is_none()
        {
            notes.turn(now_ns, self.observer.measured.ledger.completed);
        }
        if let Some(script) = &self.script {
            self.wants = self.wants.with_script(script.wants());
        }
        if self.script_is_over() {
            self.timetable.stop_ns = self.timetable.stop_ns.min(now_ns);
        }
    }

    /// What went wrong in the script. Call after [`run`](Self::run).
    pub fn script_error(&mut self) -> Option<ScriptError> {
        self.script.as_mut().and_then(|script| script.error())
    }

    /// Until when there is nothing to do but wait for events.
    fn until_ns(&self, now_ns: u64) -> u64 {
        let mut until_ns =
            (now_ns + TICK_NS).min(self.next_deadline_ns()).min(self.observer.interval_end_ns());
        if let Some(stopped_ns) = self.stopped_ns {
            return until_ns.min(stopped_ns + self.drain_ns);
        }
        if self.open_now == 0 && self.plan.requests.is_some() && !self.plan.is_open_loop() {
            // Other workers may take the last request, and nothing would tell this one.
            until_ns = until_ns.min(now_ns + LAST_REQUEST_NS);
        }
        if let Some(due) = self.admission.peek(&self.timetable) {
            // Without a free connection a slot can only grow too old.
            let act_ns = match self.plan.shed_after_ns {
                _ if !self.idle.is_empty() => due.at_ns,
                // A slot that is not due yet may ask for another connection then.
                _ if self.can_grow() && due.at_ns > now_ns => due.at_ns,
                Some(shed_after_ns) => due.at_ns.saturating_add(shed_after_ns),
                None => u64::MAX,
            };
            until_ns = until_ns.min(act_ns);
        }
        let notes_ns = self.notes.as_ref().map_or(u64::MAX, |notes| notes.window_end_ns());
        until_ns.min(notes_ns).min(self.timetable.stop_ns)
    }

    fn end_interval(&mut self, now_ns: u64, finished: bool, on_interval: &mut OnInterval<'_>) {
        // After a pause several intervals may be over at once.
        loop {
            let end_ns = self.observer.interval_end_ns().min(now_ns);
            let spun_ns = self.driver.spun_ns();
            let Some(interval) = self.observer.take_interval(now_ns, spun_ns, finished) else {
                return;
            };
            if !(finished && interval.is_empty()) {
                let interval = self.complete(interval, end_ns);
                let spare = on_interval(interval);
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
            let all_taken = (self.plan.requests.is_some() || self.plan.trace.is_some())
                && now_ns >= self.timetable.measured_ns
                && self.admission.is_over(&self.timetable);
            // Without a duration only progress keeps a run alive.
            let stuck = self.plan.duration_ns.is_none()
                && self.progress_ns.saturating_add(self.plan.timeout_ns) < now_ns
                && self.admission.peek(&self.timetable).is_none_or(|due| due.at_ns <= now_ns);
            if now_ns >= self.timetable.stop_ns || all_taken || stuck {
                self.stopped_ns = Some(now_ns);
                let end_ns = self.window_end_ns(now_ns);
                self.observer.end_window(self.driver.spun_ns(), end_ns);
            }
        }
        self.stopped_ns.is_some_and(|stopped_ns| {
            let is_idle = self.exchanges.len() == 0 && self.follows == 0;
            // What had come by then may still have to be taken.
            is_idle || self.driver.caught_up_ns() >= stopped_ns + self.drain_ns
        })
    }

    /// When the window ends that stops now. That of a schedule of `n` requests ends where slot `n`
    /// would be due.
    fn window_end_ns(&self, now_ns: u64) -> u64 {
        let is_as_planned = !self.interrupted && self.admission.is_as_planned();
        let is_counted = self.plan.rate.is_some() && self.plan.requests.is_some();
        let planned_ns = planned_window_ns(&self.plan).filter(|_| is_counted && is_as_planned);
        let end_ns = planned_ns.map(|window_ns| self.timetable.measured_ns + window_ns);
        end_ns.unwrap_or_else(|| now_ns.min(self.timetable.stop_ns))
    }

    /// What was written down. Call after [`run`](Self::run).
    pub fn into_record(mut self) -> Record {
        let (cpu, spun_ns) = self.observer.used(self.driver.spun_ns());
        let measured_ns = self.timetable.measured_ns;
        let stopped_ns = self.stopped_ns.unwrap_or(self.ended_ns);
        let window_ns = stopped_ns.min(self.timetable.stop_ns).saturating_sub(measured_ns);
        let tried = self.clients.iter().filter(|client| client.tried).count() as u64;
        Record {
            outage: self.reach.outage(window_ns, tried),
            in_window: self.observer.used_in_window(),
            measured: self.observer.measured,
            warmup: self.observer.warmup,
            answers: self.observer.answers,
            pauses: self.observer.pauses,
            paused_ns: self.observer.paused_ns,
            cpu,
            spun_ns,
            elapsed_ns: self.ended_ns.saturating_sub(measured_ns),
            window_ns,
            answered_ns: self.answered_ns.saturating_sub(measured_ns),
            connections: self.connections,
            interrupted: self.interrupted,
            details: self.notes.map(|notes| notes.into_details()).unwrap_or_default(),
            script: self.script.map(|script| (self.worker, script.into_thread())),
        }
    }

    /// This worker's share of `connections`.
    fn share_of(&self, connections: u32) -> u32 {
        share(connections, self.worker, self.plan.workers)
    }

    /// The parts a request belongs to, before it has a connection.
    fn place_of(&self, target: u32, stage: u16) -> Place {
        let endpoint = self.prepared.target(target).endpoint;
        Place { endpoint, stage, address: Place::NONE }
    }
}
