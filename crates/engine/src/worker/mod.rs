//! One worker: a thread's loop over one driver.
//!
//! The loop does what is due, waits, and takes events. Everything it needs was allocated at the
//! start; a request costs a slot of the schedule, one send, one receive and its record.
//!
//! The worker joins four parts that know nothing of each other: the slots say what is due, the pool
//! has the connections, the users what outlives a request, and the accounts what is written down.
//! `start` brings a slot to a user, `iterate` asks the source what that does, `send` puts it on a
//! connection; `events` and `deadlines` bring what comes back to the accounts.

mod deadlines;
mod events;
mod iterate;
mod opening;
mod orders;
mod send;
mod settle;
mod start;
mod waiting;

use std::io;
use std::sync::Arc;

use plimsoll_conn::{Encoding as _, ExchangeId, Protocol};
use plimsoll_core::Plan;
use plimsoll_core::part::Part;
use plimsoll_core::recorder::Interval;
use plimsoll_io::{Driver, PayloadId};

use crate::accounts::Accounts;
use crate::observer::Observer;
use crate::pool::Pool;
use crate::signals::{Seen, Signals};
use crate::slots::{Slots, planned_window_ns};
use crate::source::{Prepared, Source};
use crate::user::Users;

pub use crate::assignment::{Assignment, Origin};
pub use crate::observer::CpuUse;
pub use crate::record::Record;

/// How long the drain may last after an interrupt.
pub(crate) const INTERRUPT_DRAIN_NS: u64 = 1_000_000_000;

/// How often a worker without a connection looks whether the last request was taken.
const LAST_REQUEST_NS: u64 = 1_000_000;

/// However long there is nothing to do, a worker looks this often whether it was told something.
const TICK_NS: u64 = 50_000_000;

/// Takes an interval that is over, and may give back one that was emptied.
pub type OnInterval<'a> = dyn FnMut(Box<Interval>) -> Option<Box<Interval>> + 'a;

/// One thread's share of a run.
pub struct Worker<D: Driver, P: Protocol, S: Source> {
    plan: Arc<Plan>,
    worker: u32,
    prepared: Arc<Prepared<P::Encoding>>,
    /// For each target, its request's bytes as the driver knows them, where they never change.
    payloads: Vec<Option<PayloadId>>,
    tracks_addresses: bool,
    slots: Slots,
    pool: Pool<D, P>,
    users: Users,
    accounts: Accounts,
    source: S,
    /// The exchanges that are being sent at once, as the source has written them.
    written_ids: Vec<ExchangeId>,
    /// The orders that were carried out.
    orders_seen: Seen,
    times: Times,
}

/// How far a worker's run has come; ns on the driver's clock.
#[derive(Debug)]
struct Times {
    running: bool,
    interrupted: bool,
    /// The latest moment that anything has happened at: the clock of the last wait, of an event
    /// since then, or as it was read since then. No event and no request is ahead of it.
    now_ns: u64,
    /// When the last request was started, received something, or was settled.
    progress_ns: u64,
    /// When the last response was complete.
    answered_ns: u64,
    /// When starting requests ended.
    stopped_ns: Option<u64>,
    /// How long is waited for responses from then on.
    drain_ns: u64,
    /// When the run was over, drain and all.
    ended_ns: u64,
}

impl<D: Driver, P: Protocol, S: Source> Worker<D, P, S> {
    /// A worker on its driver, which must have room for its connections' tokens (from 0 on).
    /// `protocol` is what is spoken, `cpu` tells what the thread has used of the CPU, and `source`
    /// decides what users do.
    pub fn new(
        driver: D,
        assignment: &Assignment<P::Encoding>,
        protocol: &P::Settings,
        cpu: fn() -> CpuUse,
        source: S,
    ) -> Self {
        let plan = Arc::clone(&assignment.plan);
        let mut pool = Pool::new(driver, assignment, protocol, S::COUNTS_ITERATIONS);
        let exchanges_max = pool.len() as usize * P::exchanges_max(protocol);
        let observer = Observer::new(plan.warmup_ns > 0, cpu);
        let mut worker = Self {
            worker: assignment.worker,
            payloads: register(&mut pool, &assignment.prepared),
            prepared: Arc::clone(&assignment.prepared),
            tracks_addresses: assignment.tracks_addresses,
            slots: Slots::new(&plan, assignment.worker, Arc::clone(&assignment.tickets)),
            users: Users::new(pool.users()),
            accounts: Accounts::new(&plan, exchanges_max, &assignment.judge, observer, S::RESUMES),
            pool,
            source,
            written_ids: Vec::new(),
            orders_seen: Seen::default(),
            times: Times {
                running: false,
                interrupted: false,
                now_ns: 0,
                progress_ns: 0,
                answered_ns: 0,
                stopped_ns: None,
                drain_ns: plan.drain_ns,
                ended_ns: 0,
            },
            plan,
        };
        worker.accounts.wants = worker.accounts.wants.with(worker.source.interest());
        worker.accounts.iterations = S::COUNTS_ITERATIONS.then(Box::default);
        worker.add_parts();
        worker
    }

    /// Prepares the parts that requests are told apart by.
    fn add_parts(&mut self) {
        let names = self.prepared.endpoint_names();
        let stages = self.plan.rate.as_ref().map_or(&[][..], |profile| &profile.stages);
        let recorder = &mut self.accounts.observer.measured;
        recorder.endpoints = names.iter().map(|name| Part::new(name)).collect();
        if stages.len() > 1 {
            recorder.stages = stages.iter().map(|stage| Part::new(&stage.to_string())).collect();
        }
        if self.tracks_addresses {
            self.pool.add_address_parts(&mut recorder.addresses);
        }
    }

    /// The driver, to wake or watch it.
    pub fn driver(&self) -> &D {
        &self.pool.driver
    }

    /// Opens the connections. Returns how many are open when each was tried once, or at `limit_ns`.
    /// Where connections are opened when a request needs them there is nothing to open.
    ///
    /// # Errors
    /// When the driver breaks.
    pub fn open(&mut self, limit_ns: u64, signals: &Signals) -> io::Result<u32> {
        if !self.pool.opens_on_demand() {
            self.read_clock();
            self.pool.queue_all();
            while self.pool.is_opening_any()
                && self.times.now_ns < limit_ns
                && !signals.is_stopped()
            {
                self.pool.open_queued(self.times.now_ns, true);
                let tick_ns = self.times.now_ns + TICK_NS;
                self.wait(tick_ns.min(limit_ns).min(self.pool.deadlines.next_ns()))?;
                self.look_at_deadlines();
            }
        }
        let open = self.pool.clients().iter().filter(|client| client.can_send(&self.plan)).count();
        Ok(open as u32)
    }

    /// The first thing that went wrong with a connection before it was open.
    pub fn opening_error(&self) -> Option<&str> {
        self.pool.opening_error()
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
        self.slots.start(start_ns);
        let timetable = self.slots.timetable;
        self.accounts.start(timetable, planned_window_ns(&self.plan));
        self.pool.reach.start(timetable.measured_ns);
        self.pool.driver.watch_standstills();
        self.read_clock();
        while self.times.now_ns < start_ns {
            self.wait(start_ns)?;
        }
        self.begin();
        loop {
            self.look_at_deadlines();
            let now_ns = self.times.now_ns;
            self.accounts.observer.begin_measuring(now_ns, self.pool.driver.spun_ns());
            self.obey(signals, now_ns);
            self.admit(signals, now_ns);
            self.open_queued(now_ns);
            self.end_interval(now_ns, false, on_interval);
            self.look_around(now_ns);
            if self.is_finished(now_ns) {
                break;
            }
            self.wait(self.until_ns(now_ns))?;
        }
        self.settle_rest();
        self.end_interval(self.times.now_ns, true, on_interval);
        Ok(())
    }

    fn begin(&mut self) {
        let now_ns = self.times.now_ns;
        self.times.running = true;
        self.times.progress_ns = now_ns;
        // A connection has been free all along: what is late from here on is the tester.
        let free_ns = if self.plan.is_open_loop() { self.slots.timetable.start_ns } else { now_ns };
        for index in 0..self.pool.active() {
            if self.pool.can_take(index) {
                self.freed(index, free_ns);
            }
        }
    }

    /// Waits for events and takes them.
    fn wait(&mut self, until_ns: u64) -> io::Result<()> {
        let returned_ns = self.pool.driver.wait(until_ns)?;
        self.times.now_ns = self.times.now_ns.max(returned_ns);
        while let Some(standstill) = self.pool.driver.take_standstill() {
            self.accounts.observer.note_pause(standstill);
        }
        while let Some((at_ns, event)) = self.pool.driver.next() {
            self.times.now_ns = self.times.now_ns.max(at_ns);
            self.handle(at_ns, event);
        }
        Ok(())
    }

    /// Reads the clock.
    #[inline]
    fn read_clock(&mut self) -> u64 {
        self.times.now_ns = self.times.now_ns.max(self.pool.driver.clock_ns());
        self.times.now_ns
    }

    /// Looks at what is not looked at with each event: rates, and whether the source is over.
    #[inline]
    fn look_around(&mut self, now_ns: u64) {
        if self.times.stopped_ns.is_none() {
            self.accounts.take_rate(now_ns);
        }
        if S::RESUMES {
            self.accounts.wants = self.accounts.wants.with(self.source.interest());
        }
        if self.source.is_over() {
            self.slots.stop(now_ns);
        }
    }

    /// Until when there is nothing to do but wait for events.
    fn until_ns(&self, now_ns: u64) -> u64 {
        if S::RESUMES && !self.users.free.is_empty() {
            return now_ns;
        }
        let observer = &self.accounts.observer;
        let deadline_ns = self.next_deadline_ns();
        let until_ns = (now_ns + TICK_NS).min(deadline_ns).min(observer.interval_end_ns());
        if let Some(stopped_ns) = self.times.stopped_ns {
            return until_ns.min(stopped_ns + self.times.drain_ns);
        }
        let act_ns = self.slots.act_ns(now_ns, self.pool.has_idle(), self.pool.can_grow());
        let has_connection = self.pool.counts.open_now > 0;
        // Other workers may take the last request, and nothing would tell this one.
        let may_end = !has_connection && self.plan.requests.is_some() && !self.plan.is_open_loop();
        let look_ns = if may_end { now_ns + LAST_REQUEST_NS } else { u64::MAX };
        let rate_ns = self.accounts.next_rate_ns();
        until_ns.min(act_ns).min(look_ns).min(rate_ns).min(self.slots.timetable.stop_ns)
    }

    fn end_interval(&mut self, now_ns: u64, finished: bool, on_interval: &mut OnInterval<'_>) {
        // After a pause several intervals may be over at once.
        loop {
            let observer = &mut self.accounts.observer;
            let end_ns = observer.interval_end_ns().min(now_ns);
            let spun_ns = self.pool.driver.spun_ns();
            let Some(interval) = observer.take_interval(now_ns, spun_ns, finished) else {
                return;
            };
            if !(finished && interval.is_empty()) {
                let interval = self.complete(interval, end_ns);
                let spare = on_interval(interval);
                self.accounts.observer.keep_spare(spare);
            }
            if finished {
                break;
            }
        }
    }

    /// Whether the run is over: nothing more starts, and nothing is open or the drain has passed.
    fn is_finished(&mut self, now_ns: u64) -> bool {
        if self.times.stopped_ns.is_none() {
            // Without a duration only progress keeps a run alive.
            let stuck = self.plan.duration_ns.is_none()
                && self.times.progress_ns.saturating_add(self.plan.timeout_ns) < now_ns
                && self.slots.is_due(now_ns);
            let is_time = now_ns >= self.slots.timetable.stop_ns;
            if is_time || stuck || self.slots.are_all_taken(now_ns) {
                self.times.stopped_ns = Some(now_ns);
                let end_ns = self.slots.window_end_ns(now_ns, self.times.interrupted);
                self.accounts.observer.end_window(self.pool.driver.spun_ns(), end_ns);
            }
        }
        self.times.stopped_ns.is_some_and(|stopped_ns| {
            let is_idle = self.accounts.exchanges.len() == 0 && self.users.waiting() == 0;
            let is_idle = is_idle && !(S::COUNTS_ITERATIONS && self.users.busy() > 0);
            // What had come by then may still have to be taken.
            is_idle || self.pool.driver.caught_up_ns() >= stopped_ns + self.times.drain_ns
        })
    }

    /// What was written down, and the source as it has become. Call after [`run`](Self::run).
    pub fn into_record(mut self) -> (Record, S) {
        let Times { ended_ns, answered_ns, interrupted, stopped_ns, .. } = self.times;
        let timetable = self.slots.timetable;
        let since = |at_ns: u64| at_ns.saturating_sub(timetable.measured_ns);
        let window_ns = since(stopped_ns.unwrap_or(ended_ns).min(timetable.stop_ns));
        let tried = self.pool.clients().iter().filter(|client| client.opening.tried).count();
        let Accounts { observer, notes, iterations, .. } = self.accounts;
        let (cpu, spun_ns) = observer.used(self.pool.driver.spun_ns());
        let record = Record {
            outage: self.pool.reach.outage(window_ns, tried as u64),
            in_window: observer.used_in_window(),
            measured: observer.measured,
            warmup: observer.warmup,
            answers: observer.answers,
            pauses: observer.pauses,
            paused_ns: observer.paused_ns,
            cpu,
            spun_ns,
            elapsed_ns: since(ended_ns),
            window_ns,
            answered_ns: since(answered_ns),
            connections: self.pool.counts.connections,
            interrupted,
            details: notes.map(|notes| notes.into_details()).unwrap_or_default(),
            iterations,
        };
        (record, self.source)
    }
}

/// Tells the driver of the requests that are the same each time. With TLS none is.
fn register<D: Driver, P: Protocol>(
    pool: &mut Pool<D, P>,
    prepared: &Prepared<P::Encoding>,
) -> Vec<Option<PayloadId>> {
    let is_plain_text = pool.is_plain_text();
    let payloads = prepared.targets().iter().map(|target| {
        let fixed = target.encoding.fixed().filter(|_| is_plain_text);
        fixed.map(|bytes| pool.driver.register(Arc::clone(bytes)))
    });
    payloads.collect()
}
