//! Makes the result of a run of virtual users: that of each scenario, as if it had been a run by
//! itself, and the run's of theirs. The workers are those of all scenarios; what was seen of them
//! counts for each, and once for the run.

use std::time::SystemTime;

use plimsoll_core::Histogram;
use plimsoll_core::beside::Beside;
use plimsoll_core::confidence::conclude;
use plimsoll_core::iterations::Iterations;
use plimsoll_core::part::{self, Spread};
use plimsoll_core::plan::Draft;
use plimsoll_core::result::{RunResult, ScenarioResult};
use plimsoll_core::schedule::Profile;
use plimsoll_core::verdict::{
    Cause, Evidence, Pause, Quoted, VuFacts, connections_needed, covered_ns, judge,
};
use plimsoll_io::clock;
use plimsoll_io::host::{Happened, HostEnvironment};

use super::role::RoleBook;
use super::{Recording, Seconds};
use crate::error::RunError;
use crate::observer::CpuUse;
use crate::outcome::{self, CpuShares, Gathered};
use crate::record::Record;
use crate::vu::controls::{Controls, RoleProgress};
use crate::vu::pace::Pace;
use crate::vu::run::Ended;
use crate::watch::Watch;

/// Watches the host while the scenarios run.
pub struct Witness {
    watch: Watch,
    started_at: SystemTime,
}

impl Witness {
    /// Begins, shortly before the scenarios start.
    #[must_use]
    pub fn begin() -> Self {
        let now_ns = clock::now_ns();
        Self { watch: Watch::begin(now_ns, now_ns, None), started_at: clock::wall_time() }
    }

    /// What has happened by now, when the scenarios are over.
    #[must_use]
    pub fn end(self) -> Testimony {
        Testimony { host: self.watch.happened(), started_at: self.started_at }
    }
}

/// What was seen of the host while the scenarios ran.
#[derive(Debug)]
pub struct Testimony {
    host: Happened,
    started_at: SystemTime,
}

/// What a run of virtual users brings together.
pub struct Recorded<'a> {
    /// The run as a whole: its plan has all scenarios.
    pub run: &'a Draft,
    /// The plan of each scenario, in the order of the cast's roles.
    pub scenarios: &'a [Draft],
    /// What the workers bring back.
    pub ended: Ended<Recording>,
    /// The seconds, after all were taken.
    pub seconds: &'a Seconds,
    /// What was seen of the host.
    pub testimony: Testimony,
    /// The counts of the executors.
    pub controls: &'a Controls,
    /// Whether the run was ended before its scenarios were over.
    pub interrupted: bool,
}

/// Makes the result.
///
/// # Errors
/// When a ledger does not balance.
pub fn result(mut recorded: Recorded<'_>) -> Result<RunResult, RunError> {
    let workers = Workers::of(&mut recorded);
    let roles = transposed(std::mem::take(&mut recorded.ended.tallies));
    let environment = HostEnvironment::read();
    let mut results = Vec::with_capacity(roles.len());
    for (at, (books, plan)) in roles.into_iter().zip(recorded.scenarios).enumerate() {
        let role = OneRole { at, plan, recorded: &recorded, workers: &workers };
        results.push(role.result(books, &environment)?);
    }
    if let [_] = results.as_slice() {
        let mut result = results.remove(0).result;
        result.plan = recorded.run.record();
        return Ok(result);
    }
    let empty = outcome::empty(recorded.run, &environment, &gathered(&recorded));
    let mut run = RunResult::of_scenarios(empty, results);
    workers.settle(&mut run, &recorded);
    Ok(run)
}

fn gathered(recorded: &Recorded<'_>) -> Gathered {
    Gathered {
        driver: recorded.ended.driver.clone(),
        ..Gathered::nothing(recorded.testimony.started_at)
    }
}

/// The books of each scenario, of all workers.
fn transposed(recordings: Vec<Recording>) -> Vec<Vec<RoleBook>> {
    let count = recordings.first().map_or(0, |recording| recording.roles.len());
    let mut roles: Vec<Vec<RoleBook>> = (0..count).map(|_| Vec::new()).collect();
    for recording in recordings {
        for (role, book) in roles.iter_mut().zip(recording.roles) {
            role.push(book);
        }
    }
    roles
}

/// What was seen of the workers, over the whole run.
struct Workers {
    count: u32,
    /// When the scenarios started, on the driver's clock.
    started_ns: u64,
    elapsed_ns: u64,
    cpu: CpuUse,
    shares: Vec<CpuShares>,
    pauses: Vec<Pause>,
    /// The longest that one of them stood still in all, ns.
    paused_ns: u64,
    /// The most connections that each had open at once, added up.
    open_max: u64,
}

impl Workers {
    fn of(recorded: &mut Recorded<'_>) -> Self {
        let Ended { tallies, started_ns, ended_ns, paces, .. } = &recorded.ended;
        let mut workers = Self {
            count: tallies.len() as u32,
            started_ns: *started_ns,
            elapsed_ns: ended_ns.saturating_sub(*started_ns),
            cpu: CpuUse::default(),
            shares: Vec::new(),
            pauses: paces.iter().flat_map(Pace::pauses).collect(),
            paused_ns: paces.iter().map(|pace| pace.stood_still_ns).max().unwrap_or(0),
            open_max: tallies.iter().map(|recording| recording.open_max).sum(),
        };
        for recording in tallies {
            let Some((from_ns, _)) = recording.began else { continue };
            let lasted_ns = recording.ended_ns.saturating_sub(from_ns);
            workers.shares.push(CpuShares::over(&recording.used, lasted_ns));
            workers.cpu.user_ns += recording.used.user_ns;
            workers.cpu.system_ns += recording.used.system_ns;
        }
        workers
    }

    /// The pauses within a time on the driver's clock, from its start on.
    fn pauses_within(&self, from_ns: u64, to_ns: u64) -> Vec<Pause> {
        let within = self.pauses.iter().filter_map(|pause| {
            let at_ns = pause.at_ns.max(from_ns);
            let end_ns = (pause.at_ns + pause.for_ns).min(to_ns);
            let for_ns = end_ns.checked_sub(at_ns).filter(|for_ns| *for_ns > 0)?;
            Some(Pause { at_ns: at_ns - from_ns, for_ns })
        });
        let mut pauses: Vec<Pause> = within.collect();
        pauses.sort_unstable();
        pauses
    }

    /// Puts right what the sum of scenarios counts several times: the workers are the same ones.
    fn settle(&self, run: &mut RunResult, recorded: &Recorded<'_>) {
        run.connections.open_max = self.open_max;
        let loader = &mut run.loader;
        loader.workers = self.count;
        (loader.cpu_user_ns, loader.cpu_system_ns) = (self.cpu.user_ns, self.cpu.system_ns);
        loader.pauses = self.pauses_within(self.started_ns, u64::MAX);
        loader.paused_ns = self.paused_ns.max(covered_ns(&loader.pauses));
        let names: Vec<&str> = run.scenarios.iter().map(|it| it.name.as_str()).collect();
        let evidence = Evidence {
            elapsed_ns: self.elapsed_ns,
            worker_busy: self.shares.iter().map(|share| share.busy).collect(),
            worker_run_delay: self.shares.iter().map(|share| share.run_delay).collect(),
            pauses: loader.pauses.clone(),
            paused_ns: loader.paused_ns,
            throttled_ns: recorded.testimony.host.throttling.throttled_ns,
            steal_share: recorded.testimony.host.steal_share,
            clock_step_ns: recorded.testimony.host.clock_step_ns,
            sent: run.ledger.sent,
            cycle_ns: run.latency.service.mean_ns().unwrap_or(0.0),
            // What came of requests is judged by scenario.
            completed: 1,
            ..Evidence::default()
        };
        loader.lost_share = Some(evidence.lost_share());
        let (verdict, causes) = conclude(judge(&evidence), run);
        let loader = &mut run.loader;
        loader.causes = once(&loader.causes, causes, &names);
        loader.verdict = loader.verdict.max(verdict);
        loader.causes.sort_by_key(|cause| std::cmp::Reverse(cause.verdict));
        // One script names the endpoints of all.
        for scenario in &run.scenarios {
            part::merge_parts(&mut run.endpoints, &scenario.result.endpoints);
        }
    }
}

/// The causes of scenarios, but for those that the run has itself.
fn once(of_scenarios: &[Cause], own: Vec<Cause>, names: &[&str]) -> Vec<Cause> {
    let is_own = |cause: &Cause| {
        let is_of_one = names.iter().any(|name| cause.text.contains(&format!("scenario {name}: ")));
        is_of_one && own.iter().any(|it| it.code == cause.code && it.verdict >= cause.verdict)
    };
    let rest: Vec<Cause> = of_scenarios.iter().filter(|cause| !is_own(cause)).cloned().collect();
    own.into_iter().chain(rest).collect()
}

/// One scenario on its way to its result.
struct OneRole<'a> {
    at: usize,
    plan: &'a Draft,
    recorded: &'a Recorded<'a>,
    workers: &'a Workers,
}

impl OneRole<'_> {
    fn progress(&self) -> Option<&RoleProgress> {
        self.recorded.controls.progress.get(self.at)
    }

    fn result(
        &self,
        books: Vec<RoleBook>,
        environment: &HostEnvironment,
    ) -> Result<ScenarioResult, RunError> {
        let run_ns = self.workers.started_ns;
        let terms = books.first().map(|book| book.terms);
        let start_ns = terms.map_or(0, |terms| terms.start_ns);
        let is_of_arrivals = terms.is_some_and(|terms| terms.is_of_arrivals);
        let dials_elsewhere = books.iter().any(|book| book.dials_elsewhere);
        let due_after = books.iter().map(|book| book.due_after).sum();
        let mut beside = Beside::default();
        books.iter().for_each(|book| beside.merge(&book.beside));
        let shares: Vec<CpuShares> = books.iter().map(of_window).collect();
        let mut iterations = Iterations::default();
        books.iter().for_each(|book| iterations.merge(&book.iterations));
        let end_ns = self.end_ns(&books);
        let begin_ns = run_ns.saturating_add(start_ns);
        let mut sum = self.sum(books, begin_ns, end_ns);
        sum.measured.ledger.check()?;
        let mut result = outcome::empty(self.plan, environment, &gathered(self.recorded));
        result.elapsed_ns = sum.elapsed_ns;
        result.interrupted = self.recorded.interrupted;
        sum.iterations = Some(Box::default());
        result.rate = outcome::rate(self.plan, &sum, Vec::new());
        if result.rate.window_ns == sum.window_ns {
            result.rate.due_after = due_after;
        }
        outcome::settle_parts(&mut sum, result.rate.responses.unwrap_or(0));
        result.series = self.recorded.seconds.series(self.at, result.elapsed_ns);
        result.stages = outcome::stages(self.plan, true);
        result.record(&sum.measured);
        // The verdict alone gets how long a thread may have left bytes unread: it is a bound, and
        // no delay that time stamps of the kernel's tell.
        let unread = std::mem::take(&mut result.loader.receive_delay);
        result.connections = std::mem::take(&mut sum.connections);
        result.iterations = Some(self.iterations(iterations)?);
        result.beside = Some(beside).filter(|beside| !beside.is_empty());
        result.loader.workers = self.workers.count;
        result.loader.cpu_user_ns = sum.cpu.user_ns;
        result.loader.cpu_system_ns = sum.cpu.system_ns;
        result.loader.pauses = self.workers.pauses_within(begin_ns, end_ns);
        let covered_ns = covered_ns(&result.loader.pauses);
        // What is not listed is in the sum of the whole run alone.
        let is_whole = self.recorded.scenarios.len() == 1;
        let paused_ns = if is_whole { self.workers.paused_ns } else { 0 };
        result.loader.paused_ns = covered_ns.max(paused_ns);
        let host = &self.recorded.testimony.host;
        let mut seen = outcome::evidence(self.plan, &result, &shares, host, None);
        seen.open_loop = is_of_arrivals;
        // Iterations are due, and requests follow from them.
        if let Some(iterations) = &result.iterations {
            seen.quoted = Quoted::of(&iterations.lateness, &result.latency.response);
            seen.lateness_max_ns = iterations.lateness.max_ns().unwrap_or(0);
            seen.sent = iterations.started;
        }
        seen.tcp.server_here = !dials_elsewhere;
        seen.tcp.connects_delay_requests = seen.tcp.connects > 0;
        (seen.scheduled, seen.unsent, seen.requests) = (0, 0, None);
        // The script decides how much each of its connections has to do.
        seen.served = Spread::default();
        if !is_steady(self.plan) {
            seen.settling = None;
        }
        // How long users think is the script's business.
        seen.cycle_ns = result.latency.service.mean_ns().unwrap_or(0.0);
        seen.cycle_excess = 0.0;
        seen.vus = self.vus(&result, &beside, &unread);
        result.loader.lost_share = Some(seen.lost_share());
        (result.loader.verdict, result.loader.causes) = conclude(judge(&seen), &result);
        let name = self.name().to_owned();
        Ok(ScenarioResult { name, start_ns, result })
    }

    fn name(&self) -> &str {
        let scenario = self.plan.vus.as_ref().and_then(|vus| vus.scenarios.first());
        scenario.map_or("", |scenario| scenario.name.as_str())
    }

    /// When the scenario was over, on the driver's clock.
    fn end_ns(&self, books: &[RoleBook]) -> u64 {
        let last = |of: fn(&RoleBook) -> u64| books.iter().map(of).max().unwrap_or(0);
        let told_ns = self
            .progress()
            .map_or(0, |progress| progress.ended_ns.load(std::sync::atomic::Ordering::Relaxed));
        told_ns.max(last(|book| book.answered_ns)).max(last(|book| book.ended_ns))
    }

    /// The records of all workers, added up.
    fn sum(&self, books: Vec<RoleBook>, begin_ns: u64, end_ns: u64) -> Record {
        let elapsed_ns = end_ns.saturating_sub(begin_ns);
        let mut sum: Option<Record> = None;
        for book in books {
            let window_ns = book.terms.window_ns.unwrap_or(elapsed_ns).min(elapsed_ns);
            let (cpu, _) = book.observer.used_in_window();
            let observer = book.observer;
            let record = Record {
                measured: observer.measured,
                warmup: None,
                pauses: Vec::new(),
                paused_ns: 0,
                cpu,
                spun_ns: 0,
                in_window: (cpu, 0),
                elapsed_ns,
                window_ns,
                answered_ns: book.answered_ns.saturating_sub(begin_ns),
                answers: observer.answers,
                outage: Default::default(),
                connections: book.connections,
                interrupted: self.recorded.interrupted,
                details: Default::default(),
                iterations: None,
            };
            match &mut sum {
                Some(sum) => outcome::add(sum, &record),
                None => sum = Some(record),
            }
        }
        sum.expect("there is at least one worker")
    }

    /// The iterations, checked against what the executors have counted.
    fn iterations(&self, seen: Iterations) -> Result<Iterations, RunError> {
        let started = self.progress().map_or(seen.started, |progress| {
            progress.started.load(std::sync::atomic::Ordering::Relaxed)
        });
        let iterations = Iterations {
            started,
            scheduled: started + seen.shed + seen.unsent,
            target_per_second: self.plan.rate.as_ref().map(Profile::mean_rps),
            ..seen
        };
        iterations.check()?;
        Ok(iterations)
    }

    fn vus(&self, result: &RunResult, beside: &Beside, unread: &Histogram) -> VuFacts {
        let Some(scenario) = self.plan.vus.as_ref().and_then(|vus| vus.scenarios.first()) else {
            return VuFacts::default();
        };
        let iterations = result.iterations.clone().unwrap_or_default();
        let rate_uhz = self.plan.rate.as_ref().map_or(0, |rate| (rate.mean_rps() * 1e6) as u64);
        let took_ns = iterations.duration.mean_ns().unwrap_or(0.0);
        let wanted = scenario.iterations.filter(|_| !self.recorded.interrupted);
        VuFacts {
            scheduled: iterations.scheduled,
            dropped: iterations.shed,
            vus_max: scenario.vus_max,
            vus_needed: connections_needed(rate_uhz, took_ns),
            wanted: wanted.unwrap_or(0),
            unsent: iterations.unsent,
            read: Quoted::of(unread, &result.latency.response),
            responses: result.ledger.completed,
            requests: result.ledger.scheduled,
            cut_off: result.ledger.unfinished + result.ledger.unsent,
            calls: beside.calls.ok + beside.calls.failed,
            sockets: beside.websockets.opened + beside.websockets.failed,
            answered_beside: beside.answered(),
        }
    }
}

/// The CPU shares of a worker in the window of a scenario.
fn of_window(book: &RoleBook) -> CpuShares {
    let to_ns = book.cpu_to_ns.unwrap_or(book.cpu_from_ns);
    CpuShares::over(&book.observer.used_in_window().0, to_ns.saturating_sub(book.cpu_from_ns))
}

/// Whether the load is the same all along.
fn is_steady(plan: &Draft) -> bool {
    let scenarios = plan.vus.as_ref().map_or(&[][..], |vus| &vus.scenarios);
    scenarios.iter().all(|scenario| !scenario.executor.starts_with("ramping"))
}
