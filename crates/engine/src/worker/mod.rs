//! One worker: a thread's loop over one driver.
//!
//! The loop does what is due, waits, and takes events. Everything it needs was allocated at the
//! start; a request costs a slot of the schedule, one send, one receive and its record.
//!
//! The worker joins three parts that know nothing of each other: the slots say what is due, the
//! source says what users do, and the traffic carries it out. `start` brings a slot to a user,
//! `iterate` asks the source and carries out its steps.

mod iterate;
mod opening;
mod orders;
mod start;

use std::io;
use std::sync::Arc;

use plimsoll_conn::{ExchangeId, Protocol};
use plimsoll_core::Plan;
use plimsoll_core::recorder::Interval;
use plimsoll_io::Driver;

use crate::accounts::Accounts;
use crate::activity::Activities;
use crate::lines::{Lines, Times};
use crate::pool::BACKOFF_LIMIT_NS;
use crate::progress::Progress;
use crate::signals::{Seen, Signals};
use crate::slots::{Alike, Slots, planned_window_ns};
use crate::source::Source;
use crate::traffic::Traffic;
use crate::waiting::note_waiting;

pub use crate::assignment::{Assignment, Member, Origin};
pub use crate::observer::CpuUse;
pub use crate::record::Record;
pub use opening::Connected;

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
    /// Whether other runs go on beside this one: its start may lie far ahead.
    has_company: bool,
    slots: Slots,
    source: S,
    activities: Activities,
    traffic: Traffic<D, P>,
    /// The exchanges that are being sent at once, as the source has written them.
    written_ids: Vec<ExchangeId>,
    /// When the run's workers made progress, and of what this one has told.
    progress: Arc<Progress>,
    told_ns: u64,
    /// The orders that were carried out.
    orders_seen: Seen,
    stage: Stage,
}

/// How far a worker's run has come; ns on the driver's clock.
#[derive(Debug)]
struct Stage {
    running: bool,
    interrupted: bool,
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
        let mut traffic = Traffic::new::<S>(driver, assignment, protocol, cpu);
        traffic.lines.accounts.take_interest(source.interest());
        Self {
            worker: assignment.worker,
            has_company: assignment.member.count > 1,
            slots: Slots::new(&plan, assignment.worker, Arc::clone(&assignment.tickets)),
            source,
            activities: Activities::new(traffic.lines.pool.entries.users()),
            traffic,
            written_ids: Vec::new(),
            progress: Arc::clone(&assignment.progress),
            told_ns: 0,
            orders_seen: Seen::default(),
            stage: Stage {
                running: false,
                interrupted: false,
                stopped_ns: None,
                drain_ns: plan.drain_ns,
                ended_ns: 0,
            },
            plan,
        }
    }

    /// The driver, to wake or watch it.
    pub fn driver(&self) -> &D {
        &self.traffic.lines.pool.driver
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
        // Requests of iterations are due when users come to them.
        let planned_ns = planned_window_ns(&self.plan).filter(|_| !S::COUNTS_ITERATIONS);
        self.traffic.lines.start_at(self.slots.timetable, planned_ns);
        self.await_start(start_ns, signals)?;
        self.begin();
        loop {
            self.traffic.look_at_deadlines();
            self.go_on_with_users();
            let now_ns = self.traffic.lines.times.now_ns;
            self.traffic.lines.begin_measuring(now_ns);
            self.obey(signals, now_ns);
            // What starts now is in the next interval.
            self.end_interval(now_ns, false, on_interval);
            self.admit(signals, now_ns);
            self.traffic.open_queued(self.stage.stopped_ns.is_none());
            self.look_around(now_ns);
            self.share_requests(now_ns);
            if self.is_finished(now_ns) {
                break;
            }
            self.wait(self.until_ns(now_ns))?;
        }
        // Another worker may have time for them.
        self.slots.give_back();
        self.settle_rest();
        let ended_ns = self.traffic.lines.times.now_ns;
        self.part()?;
        self.end_interval(ended_ns, true, on_interval);
        Ok(())
    }

    /// Waits for servers to read what was sent, where nothing else tells that they have: a
    /// connection that is closed with bytes of the server unread is reset, and what the server has
    /// not read is lost. It is no part of the run's time.
    fn part(&mut self) -> io::Result<()> {
        let now_ns = self.traffic.lines.times.now_ns;
        self.traffic.lines.part_from_all(now_ns, self.stage.drain_ns);
        while self.traffic.lines.is_parting() {
            let now_ns = self.traffic.lines.times.now_ns;
            self.wait(self.traffic.next_deadline_ns().min(now_ns + TICK_NS))?;
            self.traffic.look_at_deadlines();
        }
        Ok(())
    }

    /// Waits for the start, and keeps the connections up meanwhile. A run that is stopped before it
    /// starts no request.
    fn await_start(&mut self, start_ns: u64, signals: &Signals) -> io::Result<()> {
        while self.has_company && self.traffic.lines.times.now_ns + TICK_NS < start_ns {
            let now_ns = self.traffic.lines.times.now_ns;
            if signals.is_stopped() {
                self.obey(signals, now_ns);
                return Ok(());
            }
            self.traffic.look_at_deadlines();
            self.traffic.open_queued(true);
            self.wait((now_ns + TICK_NS).min(self.traffic.next_deadline_ns()))?;
        }
        while self.traffic.lines.times.now_ns < start_ns {
            self.wait(start_ns)?;
        }
        Ok(())
    }

    fn begin(&mut self) {
        let now_ns = self.traffic.lines.times.now_ns;
        self.stage.running = true;
        self.traffic.lines.times.progress_ns = now_ns;
        // A connection has been free all along: what is late from here on is the tester.
        let start_ns = self.slots.timetable.start_ns.min(now_ns);
        let free_ns = if self.plan.is_open_loop() { start_ns } else { now_ns };
        for index in self.traffic.lines.pool.entries.active_ids() {
            if self.traffic.lines.pool.entries.can_take(index) {
                self.traffic.lines.freed.push_back((index, free_ns));
            }
        }
        self.serve_freed();
    }

    /// Waits for events and takes them.
    fn wait(&mut self, until_ns: u64) -> io::Result<()> {
        self.traffic.flush();
        let traffic = &mut self.traffic;
        let returned_ns = traffic.lines.pool.driver.wait(until_ns)?;
        traffic.lines.times.now_ns = traffic.lines.times.now_ns.max(returned_ns);
        while let Some(standstill) = traffic.lines.pool.driver.take_standstill() {
            traffic.lines.accounts.observer.note_pause(standstill);
        }
        while let Some((at_ns, event)) = self.traffic.lines.pool.driver.next() {
            self.traffic.lines.times.now_ns = self.traffic.lines.times.now_ns.max(at_ns);
            self.traffic.handle(at_ns, event);
            self.serve_freed();
            if S::RESUMES {
                self.tell_users();
            }
        }
        self.traffic.flush();
        Ok(())
    }

    /// Looks at what is not looked at with each event: rates, and whether the source is over.
    #[inline]
    fn look_around(&mut self, now_ns: u64) {
        if self.stage.stopped_ns.is_none() {
            self.traffic.lines.accounts.take_rate(now_ns);
        }
        if S::RESUMES {
            self.traffic.lines.accounts.take_interest(self.source.interest());
        }
        if self.source.is_over() {
            self.slots.stop(now_ns);
        }
    }

    /// Until when there is nothing to do but wait for events.
    fn until_ns(&self, now_ns: u64) -> u64 {
        if S::RESUMES && !self.activities.done.is_empty() {
            return now_ns;
        }
        let Lines { pool, accounts, .. } = &self.traffic.lines;
        let deadline_ns = self.traffic.next_deadline_ns().min(self.activities.naps.next_ns());
        let interval_end_ns = accounts.observer.interval_end_ns();
        let until_ns = (now_ns + TICK_NS).min(deadline_ns).min(interval_end_ns);
        if let Some(stopped_ns) = self.stage.stopped_ns {
            return until_ns.min(stopped_ns + self.stage.drain_ns);
        }
        let act_ns = self.slots.act_ns(now_ns, pool.entries.has_idle(), pool.entries.can_grow());
        // Other workers may take the last request or give some back, and nothing would tell this
        // one.
        let is_counted = self.plan.requests.is_some() && !self.plan.is_open_loop();
        let may_end = is_counted && (pool.counts.open_now == 0 || self.slots.awaits_others(now_ns));
        let look_ns = if may_end { now_ns + LAST_REQUEST_NS } else { u64::MAX };
        let rate_ns = accounts.next_rate_ns();
        let until_ns = until_ns.min(self.slots.keep_until_ns());
        until_ns.min(act_ns).min(look_ns).min(rate_ns).min(self.slots.timetable.stop_ns)
    }

    fn end_interval(&mut self, now_ns: u64, finished: bool, on_interval: &mut OnInterval<'_>) {
        // After a pause several intervals may be over at once.
        loop {
            let Lines { pool, accounts, .. } = &mut self.traffic.lines;
            let end_ns = accounts.observer.interval_end_ns().min(now_ns);
            let spun_ns = pool.driver.spun_ns();
            let taken = accounts.observer.take_interval(now_ns, spun_ns, finished);
            let Some(mut interval) = taken else { return };
            if !(finished && interval.is_empty()) {
                // Once requests are no longer started nobody tries to connect.
                if self.stage.stopped_ns.is_none() {
                    pool.note_outage(&mut interval, end_ns);
                    if self.plan.notes_waiting() {
                        note_waiting(&mut interval, end_ns, &accounts.exchanges, &self.slots);
                    }
                }
                accounts.observer.keep_spare(on_interval(interval));
            }
            if finished {
                break;
            }
        }
    }

    /// Whether the run is over: nothing more starts, and nothing is open or the drain has passed.
    fn is_finished(&mut self, now_ns: u64) -> bool {
        if self.stage.stopped_ns.is_none() {
            let is_time = now_ns >= self.slots.timetable.stop_ns;
            if is_time || self.is_stuck(now_ns) || self.slots.are_all_taken(now_ns) {
                let Lines { pool, accounts, .. } = &mut self.traffic.lines;
                self.stage.stopped_ns = Some(now_ns);
                let end_ns = self.slots.window_end_ns(now_ns, self.stage.interrupted);
                accounts.observer.end_window(pool.driver.spun_ns(), end_ns);
            }
        }
        let Some(stopped_ns) = self.stage.stopped_ns else { return false };
        let Traffic { lines: Lines { pool, accounts, .. }, users, .. } = &self.traffic;
        let is_idle = accounts.exchanges.len() == 0
            && users.waiting() == 0
            && !(S::COUNTS_ITERATIONS && self.activities.busy() > 0);
        // What had come by then may still have to be taken.
        is_idle || pool.driver.caught_up_ns() >= stopped_ns + self.stage.drain_ns
    }

    /// Whether a run without a duration can go no further. What keeps it alive is progress, that of
    /// any worker, and a connect that may succeed. It ends once one has failed that began after a
    /// timeout and the longest wait between connects had passed without progress.
    fn is_stuck(&mut self, now_ns: u64) -> bool {
        if self.plan.duration_ns.is_some() {
            return false;
        }
        let own_ns = self.traffic.lines.times.progress_ns;
        self.progress.note(own_ns, &mut self.told_ns);
        let patience_ns = self.plan.timeout_ns.saturating_add(BACKOFF_LIMIT_NS);
        if own_ns.saturating_add(patience_ns) >= now_ns {
            return false;
        }
        let latest_ns = own_ns.max(self.progress.latest_ns());
        let until_ns = latest_ns.saturating_add(patience_ns);
        until_ns < now_ns
            && self.slots.is_due(now_ns)
            && self.traffic.lines.pool.has_no_hope(until_ns)
    }

    /// Writes down what is still open, and the slots that found no connection. No request and no
    /// slot of the schedule is left out.
    fn settle_rest(&mut self) {
        let now_ns = self.traffic.settle_rest();
        let Self { slots, traffic, plan, .. } = self;
        let Traffic { lines, prepared, .. } = traffic;
        let accounts = &mut lines.accounts;
        let has_stages = !accounts.observer.measured.parts.stages.is_empty();
        let is_one = prepared.targets().len() <= 1 && !has_stages;
        let end_ns = slots.timetable.stop_ns.min(now_ns);
        slots.settle(end_ns, is_one, |alike| {
            let Alike { due, waited_ns, .. } = alike;
            let place = prepared.place(prepared.choose(due.number), due.stage);
            let is_shed = plan.shed_after_ns.is_some_and(|after_ns| waited_ns >= after_ns);
            accounts.not_started(&alike, place, is_shed);
        });
        for iteration in self.activities.drain() {
            if let Some(iterations) = accounts.iterations_of(&iteration.due) {
                iterations.unfinished += 1;
            }
        }
        self.stage.ended_ns = now_ns;
    }

    /// What was written down, and the source as it has become. Call after [`run`](Self::run).
    pub fn into_record(self) -> (Record, S) {
        let Stage { ended_ns, interrupted, stopped_ns, .. } = self.stage;
        let Traffic { prepared, lines, .. } = self.traffic;
        let Lines { mut pool, accounts, times, .. } = lines;
        let Times { answered_ns, .. } = times;
        let timetable = self.slots.timetable;
        let since = |at_ns: u64| at_ns.saturating_sub(timetable.measured_ns);
        let window_ns = since(stopped_ns.unwrap_or(ended_ns).min(timetable.stop_ns));
        let Accounts { observer, mut notes, witness, iterations, .. } = accounts;
        if let Some(notes) = &mut notes {
            notes.take_addresses(pool.origins.address_names());
        }
        let mut details = notes.map(|notes| notes.into_details()).unwrap_or_default();
        let address = |place| pool.origins.address_of(place);
        details.transcripts = witness.transcripts(&prepared, &self.plan.masks, address);
        let (cpu, spun_ns) = observer.used(pool.driver.spun_ns());
        let record = Record {
            outage: pool.outage(window_ns),
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
            connections: pool.counts.connections,
            interrupted,
            details,
            iterations,
        };
        (record, self.source)
    }
}
