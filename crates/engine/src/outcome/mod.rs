//! Makes the result document, with its verdict, from the workers' records.

mod evidence;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::SystemTime;

use plimsoll_core::confidence::conclude;
use plimsoll_core::iterations::Iterations;
use plimsoll_core::part::{Part, Parts};
use plimsoll_core::phase::Phases;
use plimsoll_core::plan::Draft;
use plimsoll_core::recorder::GRPC_STATUSES;
use plimsoll_core::result::{
    ConnectionsChange, DriverUsed, Loader, Rate, RateChange, RunResult, StageResult, Tool, Warmup,
};
use plimsoll_core::schedule::Profile;
use plimsoll_core::series::Series;
use plimsoll_core::throughput::Demand;
use plimsoll_core::verdict::{Cause, Evidence, NO_RESPONSES, Verdict, covered_ns, judge};
use plimsoll_core::{Histogram, Phase, Plan};
use plimsoll_io::clock;
use plimsoll_io::host::{HostEnvironment, rss_peak_bytes};

use crate::error::RunError;
use crate::record::Record;
use crate::slots::counted_window_ns;
use crate::watch::Watch;

pub(crate) use evidence::{CpuShares, evidence};

/// What the workers and the start brought together.
pub(crate) struct Gathered {
    pub records: Vec<Record>,
    pub series: Series,
    pub dns: Histogram,
    pub driver: DriverUsed,
    pub started_at: SystemTime,
    /// What was changed while the run went on.
    pub changes: Changes,
    /// Whether a script did not end by itself and was stopped.
    pub script_stopped: bool,
    /// Addresses of the server's name that no connection was opened to.
    pub left_out: Vec<String>,
}

impl Gathered {
    /// Of no worker.
    pub(crate) fn nothing(started_at: SystemTime) -> Self {
        Self {
            records: Vec::new(),
            series: Series::default(),
            dns: Histogram::new(),
            driver: DriverUsed::default(),
            started_at,
            changes: Changes::default(),
            script_stopped: false,
            left_out: Vec::new(),
        }
    }
}

/// What was changed while a run went on.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub rates: Vec<RateChange>,
    pub connections: Vec<ConnectionsChange>,
}

/// Counts of calls by the names of their codes.
fn by_name(counts: &[u64]) -> BTreeMap<String, u64> {
    let named = GRPC_STATUSES.iter().zip(counts).filter(|(_, count)| **count > 0);
    named.map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// Puts the result together.
///
/// # Errors
/// When the ledger does not balance.
pub(crate) fn assemble(
    plan: &Plan,
    environment: &HostEnvironment,
    mut gathered: Gathered,
    watch: &Watch,
) -> Result<RunResult, RunError> {
    let mut records = std::mem::take(&mut gathered.records).into_iter();
    let mut sum = records.next().expect("there is at least one worker");
    let mut shares = vec![CpuShares::of(&sum)];
    for record in records {
        shares.push(CpuShares::of(&record));
        add(&mut sum, &record);
    }
    sum.measured.ledger.check()?;
    let mut result = empty(plan, environment, &gathered);
    result.elapsed_ns = sum.elapsed_ns;
    result.interrupted = sum.interrupted;
    result.rate = rate(plan, &sum, gathered.changes.rates);
    settle_parts(&mut sum, result.rate.responses.unwrap_or(0));
    result.stages = stages(plan, sum.iterations.is_some());
    result.connections = std::mem::take(&mut sum.connections);
    result.connections.changes = gathered.changes.connections;
    result.outage = Some(sum.outage);
    result.record(&sum.measured);
    result.grpc_status = by_name(&sum.measured.grpc_status);
    result.iterations = iterations(plan, &mut sum)?;
    result.details = std::mem::take(&mut sum.details);
    result.warmup = sum.warmup.as_ref().map(|warmup| Warmup {
        duration_ns: plan.warmup_ns,
        ledger: warmup.ledger,
        response: warmup.response(),
    });
    result.loader.cpu_user_ns = sum.cpu.user_ns;
    result.loader.cpu_system_ns = sum.cpu.system_ns;
    result.loader.spin_ns = sum.spun_ns;
    result.loader.pauses.clone_from(&sum.pauses);
    result.loader.pauses.sort_unstable();
    result.loader.paused_ns = sum.paused_ns.max(covered_ns(&sum.pauses));
    result.loader.disordered += sum.warmup.as_ref().map_or(0, |warmup| warmup.disordered);
    let script_stopped = gathered.script_stopped;
    let (host, gave_way_ns) = (watch.happened(), watch.gave_way_ns());
    let evidence = evidence(plan, &result, &shares, &host, gave_way_ns);
    let addresses_left_out = gathered.left_out;
    let seen = Evidence { script_stopped, addresses_left_out, ..evidence };
    result.loader.lost_share = Some(seen.lost_share());
    (result.loader.verdict, result.loader.causes) = conclude(judge(&seen), &result);
    Ok(result)
}

pub(crate) fn add(sum: &mut Record, record: &Record) {
    sum.measured.merge(&record.measured);
    if let (Some(mine), Some(theirs)) = (&mut sum.warmup, &record.warmup) {
        mine.merge(theirs);
    }
    sum.pauses.extend_from_slice(&record.pauses);
    sum.paused_ns = sum.paused_ns.max(record.paused_ns);
    sum.cpu.user_ns += record.cpu.user_ns;
    sum.cpu.system_ns += record.cpu.system_ns;
    sum.spun_ns += record.spun_ns;
    sum.elapsed_ns = sum.elapsed_ns.max(record.elapsed_ns);
    sum.window_ns = sum.window_ns.max(record.window_ns);
    sum.answered_ns = sum.answered_ns.max(record.answered_ns);
    sum.answers.merge(&record.answers);
    sum.outage.merge(&record.outage);
    sum.interrupted |= record.interrupted;
    sum.connections.merge(&record.connections);
    sum.details.merge(&record.details);
    if let (Some(mine), Some(theirs)) = (&mut sum.iterations, &record.iterations) {
        mine.merge(theirs);
    }
}

/// The rates.
pub(crate) fn rate(plan: &Draft, sum: &Record, changes: Vec<RateChange>) -> Rate {
    let counts_iterations = sum.iterations.is_some();
    let is_as_planned = !sum.interrupted && changes.is_empty() && !counts_iterations;
    let planned_ns = counted_window_ns(plan).filter(|_| is_as_planned);
    let mut window_ns = planned_ns.unwrap_or(sum.window_ns);
    let asked = Asked::of(plan, &changes);
    let due = |at_ns| asked.due(at_ns);
    let demand = Demand { due: &due, starts_ns: &asked.starts_ns() };
    let mut counted = sum.answers.counted(window_ns, &demand);
    // Few requests on many connections, or a run shorter than an answer takes: hardly one was
    // answered when the last was started, so that time says nothing of the rate.
    let is_brief = !plan.is_open_loop() && plan.requests.is_some();
    let total = sum.answers.total().all;
    if (is_brief && 2 * counted.all < total) || (counted.all == 0 && total > 0) {
        window_ns = sum.answered_ns;
        counted = sum.answers.total();
    }
    Rate {
        // A schedule of iterations asks for no rate of requests.
        target_rps: plan.rate.as_ref().filter(|_| !counts_iterations).map(Profile::mean_rps),
        window_ns,
        answered_ns: sum.answered_ns,
        responses: Some(counted.all),
        good: Some(counted.ok),
        changes,
        ..Rate::default()
    }
}

/// What a run was asked for in the end: the plan's schedule up to the first rate that was set by
/// hand, and those.
struct Asked<'a> {
    profile: Option<&'a Profile>,
    offsets_ns: &'a [u64],
    changes: Vec<(u64, f64)>,
}

impl<'a> Asked<'a> {
    fn of(plan: &'a Draft, changes: &[RateChange]) -> Self {
        let offsets_ns = plan.trace.as_ref().map_or(&[][..], |trace| &trace.offsets_ns);
        let changes = changes.iter().map(|change| (change.at_ns, change.rps)).collect();
        Self { profile: plan.rate.as_ref(), offsets_ns, changes }
    }

    /// How many requests are due by `at_ns`.
    fn due(&self, at_ns: u64) -> f64 {
        let Some(profile) = self.profile else {
            return self.offsets_ns.partition_point(|offset_ns| *offset_ns < at_ns) as f64;
        };
        let first_ns = self.changes.first().map_or(at_ns, |(from_ns, _)| at_ns.min(*from_ns));
        let ends_ns = self.changes.iter().skip(1).map(|(from_ns, _)| *from_ns).chain([u64::MAX]);
        let set = self.changes.iter().zip(ends_ns).map(|((from_ns, rps), to_ns)| {
            at_ns.min(to_ns).saturating_sub(*from_ns) as f64 * rps / 1e9
        });
        profile.expected_before(first_ns) + set.sum::<f64>()
    }

    /// Where the rate may jump.
    fn starts_ns(&self) -> Vec<u64> {
        let stages = self.profile.map_or(&[][..], |profile| &profile.stages);
        let first_ns = self.changes.first().map_or(u64::MAX, |(at_ns, _)| *at_ns);
        let ends_ns = stages.iter().scan(0_u64, |end_ns, stage| {
            *end_ns = end_ns.saturating_add(stage.duration_ns.unwrap_or(u64::MAX));
            Some(*end_ns)
        });
        let planned = [0].into_iter().chain(ends_ns).filter(|at_ns| *at_ns < first_ns);
        planned.chain(self.changes.iter().map(|(at_ns, _)| *at_ns)).collect()
    }
}

/// Gives each part its share of the responses that came after the window and count. Shares are
/// rounded as they add up, so that parts of all requests have all of the responses.
pub(crate) fn settle_parts(sum: &mut Record, responses: u64) {
    let Parts { endpoints, stages, addresses, groups } = &mut sum.measured.parts;
    for parts in [endpoints, stages, addresses, groups] {
        let (mut late, mut counted) = (0, 0);
        for part in parts {
            late += std::mem::take(&mut part.late);
            let before = std::mem::replace(&mut counted, sum.answers.late_share(late, responses));
            *part.responses.get_or_insert_default() += counted - before;
        }
    }
}

/// What became of the iterations, where they are counted.
///
/// # Errors
/// When they do not balance.
fn iterations(plan: &Plan, sum: &mut Record) -> Result<Option<Iterations>, RunError> {
    let Some(iterations) = sum.iterations.take() else { return Ok(None) };
    iterations.check()?;
    let target_per_second = plan.rate.as_ref().map(Profile::mean_rps);
    Ok(Some(Iterations { target_per_second, ..*iterations }))
}

/// The stages of a schedule that has several, without requests yet. Where it asks for iterations,
/// there is no target for requests.
pub(crate) fn stages(plan: &Draft, counts_iterations: bool) -> Vec<StageResult> {
    let stages = plan.rate.as_ref().map_or(&[][..], |profile| &profile.stages);
    if stages.len() < 2 {
        return Vec::new();
    }
    let mut start_ns = 0;
    let placed = stages.iter().map(|stage| {
        let duration_ns = stage.duration_ns.unwrap_or(0);
        let part = Part::new(&stage.to_string());
        let target_rps = if counts_iterations { 0.0 } else { stage.mean_rps() };
        let result = StageResult { start_ns, duration_ns, target_rps, part };
        start_ns += duration_ns;
        result
    });
    placed.collect()
}

/// The result of a run that could not be carried out: invalid, for this reason. It has no load and
/// takes the place of the reports of an earlier run.
#[must_use]
pub fn not_carried_out(plan: &Draft, reason: &str) -> RunResult {
    let gathered = Gathered::nothing(clock::wall_time());
    let mut result = empty(plan, &HostEnvironment::read(), &gathered);
    let text = reason.to_owned();
    let cause = Cause::new(Verdict::Invalid, NO_RESPONSES, text);
    (result.loader.verdict, result.loader.causes) = (cause.verdict, vec![cause]);
    result
}

/// A result with everything that does not come from a record.
pub(crate) fn empty(plan: &Draft, environment: &HostEnvironment, gathered: &Gathered) -> RunResult {
    let tool = Tool { name: "plimsoll".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let mut phases = Phases::default();
    phases[Phase::Dns].clone_from(&gathered.dns);
    RunResult {
        environment: environment.document(),
        started_at: humantime::format_rfc3339_millis(gathered.started_at).to_string(),
        phases,
        loader: Loader {
            rss_peak_bytes: rss_peak_bytes(),
            workers: plan.workers,
            driver: gathered.driver.clone(),
            ..Loader::default()
        },
        series: gathered.series.clone(),
        ..RunResult::empty(tool, plan)
    }
}
