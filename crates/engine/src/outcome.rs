//! Makes the result document, with its verdict, from the workers' records.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::SystemTime;

use plimsoll_core::iterations::Iterations;
use plimsoll_core::part::{Part, Parts};
use plimsoll_core::phase::Phases;
use plimsoll_core::plan::websocket::Reply;
use plimsoll_core::plan::{Draft, Spin};
use plimsoll_core::protocol::{AllowedRange, allowed_range};
use plimsoll_core::recorder::GRPC_STATUSES;
use plimsoll_core::result::{
    ConnectionsChange, DriverUsed, Loader, Rate, RateChange, RunResult, StageResult, Tool, Warmup,
};
use plimsoll_core::schedule::Profile;
use plimsoll_core::series::Series;
use plimsoll_core::throughput::Demand;
use plimsoll_core::verdict::{
    AckDelays, AddressFacts, Cause, Evidence, MessageFacts, NO_RESPONSES, Outcomes, Peaks, Quoted,
    StreamLimit, TcpFacts, Verdict, VuFacts, connections_needed, connects_retried, covered_ns,
    judge, settling,
};
use plimsoll_core::{Histogram, Phase, Plan};
use plimsoll_io::clock;
use plimsoll_io::host::{Happened, HostEnvironment, rss_peak_bytes};

use crate::error::{NO_FILES, NO_PORTS, RunError};
use crate::observer::CpuUse;
use crate::record::Record;
use crate::slots::counted_window_ns;
use crate::watch::Watch;

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
    let seen = Evidence { script_stopped, ..evidence };
    let (verdict, causes) = judge(&seen);
    result.loader.verdict = verdict;
    result.loader.causes = causes;
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

/// In less time than this CPU time, which the kernel counts in ticks or so, says nothing.
const SHARES_WINDOW_NS: u64 = 100_000_000;

/// Shares of the time in which requests were started.
pub(crate) struct CpuShares {
    pub busy: f64,
    pub run_delay: f64,
}

impl CpuShares {
    fn of(record: &Record) -> Self {
        let (cpu, spun_ns) = &record.in_window;
        let without_spinning =
            CpuUse { user_ns: cpu.total_ns().saturating_sub(*spun_ns), system_ns: 0, ..*cpu };
        Self::over(&without_spinning, record.window_ns)
    }

    /// Of what was used in `window_ns`.
    pub(crate) fn over(cpu: &CpuUse, window_ns: u64) -> Self {
        if window_ns < SHARES_WINDOW_NS {
            return Self { busy: 0.0, run_delay: 0.0 };
        }
        let share = |part_ns: u64| part_ns as f64 / window_ns as f64;
        Self { busy: share(cpu.total_ns()), run_delay: share(cpu.run_delay_ns) }
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

pub(crate) fn evidence(
    plan: &Draft,
    result: &RunResult,
    shares: &[CpuShares],
    host: &Happened,
    gave_way_ns: Option<u64>,
) -> Evidence {
    // The last look may come after the last request.
    let is_under_load = |at_ns: &u64| plan.duration_ns.is_none_or(|end_ns| *at_ns < end_ns);
    let failures = |kind: &str| {
        result.errors.iter().filter(|error| error.kind == kind).map(|error| error.count).sum()
    };
    let target_uhz = plan.rate.as_ref().map_or(0, |profile| (profile.mean_rps() * 1e6) as u64);
    let slots = Slots::of(result);
    let steady = plan.trace.is_none() && plan.rate.as_ref().is_none_or(is_constant);
    let in_flight = plan.in_flight_per_connection();
    let stream_limit = stream_limit(in_flight, result);
    let usable = stream_limit.map_or(in_flight, StreamLimit::usable);
    let most = stream_limit.and_then(|limit| limit.most).map_or(in_flight, |it| it.min(in_flight));
    let connections = &result.connections;
    Evidence {
        open_loop: plan.is_open_loop(),
        elapsed_ns: result.elapsed_ns,
        worker_busy: shares.iter().map(|share| share.busy).collect(),
        worker_run_delay: shares.iter().map(|share| share.run_delay).collect(),
        quoted: Quoted::of(&result.loader.lateness, &result.latency.response),
        spins_always: plan.spin == Spin::On,
        gave_way_ns: gave_way_ns.filter(is_under_load),
        pauses: result.loader.pauses.clone(),
        paused_ns: result.loader.paused_ns,
        disordered: result.loader.disordered,
        throttled_ns: host.throttling.throttled_ns,
        steal_share: host.steal_share,
        clock_step_ns: host.clock_step_ns,
        warmup_ns: plan.warmup_ns,
        requests: plan.requests.filter(|_| !result.interrupted),
        started: slots.started,
        sent: result.ledger.sent.saturating_sub(result.ledger.redirects),
        scheduled: slots.scheduled,
        unsent: slots.not_started,
        completed: result.ledger.completed,
        outage: result.outage.unwrap_or_default(),
        connections: plan.connections_limit(),
        connections_needed: connections_needed(target_uhz, slots.taken_ns)
            .div_ceil(u64::from(usable.min(in_flight)).max(1)),
        no_ports: failures(NO_PORTS),
        no_files: failures(NO_FILES),
        beyond_hour: result.latency.response.beyond_hour(),
        tcp: tcp(plan, result, host),
        settling: steady.then(|| settling(&result.series)).flatten(),
        served: result.connections.served.clone(),
        addresses: result.addresses.iter().map(AddressFacts::of).collect(),
        ack_delays: ack_delays(result, host),
        // The caller that started the scripts knows.
        script_stopped: false,
        outcomes: outcomes(result),
        draining_share: idle_share(plan, result, in_flight, connections.draining_idle_ns),
        lowered_share: idle_share(plan, result, most, connections.lowered_idle_ns),
        stream_limit,
        messages: messages(plan, result),
        vus: VuFacts::default(),
    }
}

/// What became of the slots of a schedule: they are iterations where those are counted, and
/// requests otherwise.
struct Slots {
    scheduled: u64,
    started: u64,
    not_started: u64,
    /// How long each took a connection, on average, ns.
    taken_ns: f64,
}

impl Slots {
    fn of(result: &RunResult) -> Self {
        let ledger = &result.ledger;
        match &result.iterations {
            Some(iterations) => Self {
                scheduled: iterations.scheduled,
                started: iterations.started,
                not_started: iterations.unsent + iterations.shed,
                taken_ns: iterations.duration.mean_ns().unwrap_or(0.0),
            },
            None => Self {
                scheduled: ledger.scheduled,
                started: ledger.sent.saturating_sub(ledger.redirects),
                not_started: ledger.unsent + ledger.shed,
                taken_ns: result.latency.service.mean_ns().unwrap_or(0.0),
            },
        }
    }
}

fn ack_delays(result: &RunResult, host: &Happened) -> AckDelays {
    let kinds = result.endpoints.iter().map(|part| Peaks::of(&part.service));
    let all = || vec![Peaks::of(&result.latency.service)];
    AckDelays {
        service: if result.endpoints.len() > 1 { kinds.collect() } else { all() },
        receiving: Peaks::of(&result.phases[Phase::Receiving]),
        host_delayed: host.tcp.delayed_acks,
    }
}

fn outcomes(result: &RunResult) -> Outcomes {
    let p50_ns = |histogram: &Histogram| histogram.quantile_ns(0.5).unwrap_or(0);
    Outcomes {
        ok: result.ledger.ok,
        failed: result.ledger.failed,
        ok_p50_ns: p50_ns(&result.by_outcome.ok),
        failed_p50_ns: p50_ns(&result.by_outcome.failed),
    }
}

/// `idle_ns` as a share of the time of all streams, `streams` on each connection.
fn idle_share(plan: &Draft, result: &RunResult, streams: u32, idle_ns: u64) -> f64 {
    let streams = u64::from(plan.connections) * u64::from(streams);
    let stream_ns = streams as f64 * result.elapsed_ns as f64;
    if stream_ns == 0.0 { 0.0 } else { idle_ns as f64 / stream_ns }
}

/// What the server allows on a connection, if it is at times fewer requests than the plan gives.
fn stream_limit(in_flight: u32, result: &RunResult) -> Option<StreamLimit> {
    let AllowedRange { least, most } = allowed_range(&result.protocols)?;
    let least = least.streams.filter(|streams| *streams < in_flight)?;
    Some(StreamLimit { least, most: most.streams })
}

/// How the operating system says that the peer ended a connection.
const OS_ENDS: [&str; 3] = ["reset", "aborted", "broken_pipe"];

/// What was seen of messages, in the light of what the plan takes for a reply.
fn messages(plan: &Draft, result: &RunResult) -> MessageFacts {
    let reply = plan.endpoint.is_websocket().then_some(&plan.websocket.reply);
    let is_end = |kind: &str| kind.starts_with("close") || OS_ENDS.contains(&kind);
    let closes = result.errors.iter().filter(|error| is_end(&error.kind));
    let pushed = result.pushed.map_or(0, |pushed| pushed.messages);
    let mut facts = MessageFacts::default();
    match reply {
        Some(Reply::None) => facts.unconfirmed_closes = closes.map(|error| error.count).sum(),
        Some(Reply::Next) => facts.pushed_beside_next = pushed,
        Some(Reply::Match(_)) | None => {}
    }
    if let Some(compression) = result.compression {
        facts.compression_offered = compression.agreed + compression.declined;
        facts.compression_declined = compression.declined;
    }
    if let Some(streams) = result.grpc_streams.as_deref() {
        facts.cut_calls = streams.cut_calls;
        if streams.round_trips.is_some() {
            let answers = streams.received.messages;
            facts.extra_answers = answers.saturating_sub(streams.sent.messages);
        }
    }
    facts
}

/// Whether a server of this name shares our network namespace for certain: it is at a loopback
/// address.
fn is_here(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn is_constant(profile: &Profile) -> bool {
    let rate_uhz = profile.initial_uhz();
    profile.stages.iter().all(|stage| stage.from_uhz == rate_uhz && stage.to_uhz == rate_uhz)
}

fn tcp(plan: &Draft, result: &RunResult, host: &Happened) -> TcpFacts {
    let connect = &result.phases[Phase::Connect];
    TcpFacts {
        resent: result.connections.retransmits,
        host_segments: host.tcp.segments,
        host_resent: host.tcp.resent.saturating_sub(host.tcp.syns_resent),
        host_opened: host.tcp.opened,
        host_syns_resent: host.tcp.syns_resent,
        host_listen_drops: host.tcp.listen_drops.max(host.tcp.listen_overflows),
        server_here: is_here(&plan.endpoint.host),
        connects: connect.count(),
        connects_retried: connects_retried(connect),
        connects_delay_requests: plan.requests_per_connection.is_some()
            || result.ledger.reconnects > 0,
    }
}

/// The result of a run that could not be carried out: invalid, for this reason. It has no load and
/// takes the place of the reports of an earlier run.
#[must_use]
pub fn not_carried_out(plan: &Draft, reason: &str) -> RunResult {
    let gathered = Gathered::nothing(clock::wall_time());
    let mut result = empty(plan, &HostEnvironment::read(), &gathered);
    let text = reason.to_owned();
    let cause = Cause { verdict: Verdict::Invalid, code: NO_RESPONSES.to_owned(), text };
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

#[cfg(test)]
mod tests {
    use plimsoll_core::outage::Outage;
    use plimsoll_core::plan::{HttpVersion, Trace};
    use plimsoll_core::protocol::{Allowed, ProtocolCounts};
    use plimsoll_core::recorder::Recorder;
    use plimsoll_core::result::Connections;
    use plimsoll_core::schedule::Arrival;
    use plimsoll_core::throughput::{Answers, per_second};

    use super::*;
    use crate::slots::planned_window_ns;
    use crate::tests::{checked, plan};

    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;

    /// A worker that started requests for `started_ns` and had responses at these times.
    fn record(plan: &Plan, started_ns: u64, times_ns: &[u64]) -> Record {
        let planned_ns = planned_window_ns(plan);
        let mut answers = planned_ns.map_or_else(Answers::closed, Answers::scheduled);
        for at_ns in times_ns {
            answers.answered(*at_ns, planned_ns.unwrap_or(started_ns), true);
        }
        let answered_ns = times_ns.iter().copied().max().unwrap_or(0);
        Record {
            measured: Recorder::new(),
            warmup: None,
            pauses: Vec::new(),
            paused_ns: 0,
            cpu: CpuUse::default(),
            spun_ns: 0,
            in_window: (CpuUse::default(), 0),
            elapsed_ns: answered_ns,
            window_ns: started_ns,
            answered_ns,
            answers,
            outage: Outage::default(),
            connections: Connections::default(),
            interrupted: false,
            details: plimsoll_core::details::Details::default(),
            iterations: None,
        }
    }

    fn at_rate(rps: u64, duration_ns: Option<u64>) -> Draft {
        let rate = Some(Profile::constant(rps * 1_000_000, duration_ns, Arrival::Uniform));
        Draft { rate, duration_ns, ..plan() }
    }

    /// 100 requests a second of 500 ms each are 50 at a time.
    #[test]
    fn connections_carry_as_many_streams_as_the_server_allows() {
        let mut draft = at_rate(100, Some(4 * S));
        draft.http_version = HttpVersion::Http2;
        draft.http2.streams = 100;
        let plan = checked(&draft);
        for (least, most, needed) in [
            (Some(1), Some(1), 50),
            (Some(10), Some(10), 5),
            (Some(100), Some(100), 1),
            (Some(250), Some(250), 1),
            (None, None, 1),
            // At its worst.
            (Some(2), Some(50), 25),
            // None at times, which no number of connections makes up for.
            (Some(0), Some(10), 5),
            (Some(0), None, 1),
        ] {
            let environment = HostEnvironment::read();
            let mut result = empty(&plan, &environment, &Gathered::nothing(clock::wall_time()));
            result.latency.service.record(500 * MS);
            let allowed = |streams| Allowed {
                streams,
                window_bytes: 65_535,
                header_table_bytes: 4096,
                frame_bytes: 16_384,
            };
            result.protocols = vec![ProtocolCounts {
                allowed: Some(allowed(least)),
                allowed_most: Some(allowed(most)),
                ..ProtocolCounts::default()
            }];
            let host = Watch::begin(0, 0, None).happened();
            let evidence = evidence(&plan, &result, &[], &host, None);
            assert_eq!(evidence.connections_needed, needed, "{least:?} to {most:?}");
        }
    }

    #[test]
    fn the_window_is_what_the_plan_means_and_stragglers_are_not_in_it() {
        let closed = Draft { duration_ns: Some(2 * S), ..plan() };
        let of_requests = |requests, plan: Draft| Draft { requests: Some(requests), ..plan };
        let of_times = |offsets_ns| {
            let trace = Some(Trace { path: String::new(), offsets_ns });
            Draft { trace, duration_ns: None, ..plan() }
        };
        let every = |step_ns: u64, count: u64, late_ns: u64| {
            (0..count).map(|i| i * step_ns + late_ns).collect::<Vec<_>>()
        };
        let stragglers = [every(2 * MS, 1000, MS), vec![8 * S; 3]].concat();
        let counted = || of_requests(4, Draft { duration_ns: None, ..plan() });
        for (name, plan, started_ns, times_ns, window_ns, rps) in [
            ("stragglers of a closed loop", closed, 2 * S, stragglers, 2 * S, 500.0),
            (
                "200 ms at a rate",
                at_rate(100, Some(4 * S)),
                4 * S,
                every(10 * MS, 400, 200 * MS),
                4 * S,
                100.0,
            ),
            (
                "half of what is asked for, and a long drain",
                at_rate(100, Some(4 * S)),
                4 * S,
                every(20 * MS, 400, MS),
                4 * S,
                50.0,
            ),
            (
                "a number at a rate ends where the next one would be due",
                of_requests(10, at_rate(1, None)),
                9 * S + MS,
                every(S, 10, MS),
                10 * S,
                1.0,
            ),
            (
                "a number in a closed loop ends with the last one that was started",
                of_requests(1000, Draft { duration_ns: None, ..plan() }),
                2 * S,
                every(2 * MS, 1000, 2 * MS),
                2 * S,
                500.0,
            ),
            (
                "a list of times ends where the next one would be due",
                of_times((0..10).map(|i| i * S).collect()),
                9 * S,
                every(S, 10, MS),
                10 * S,
                1.0,
            ),
            ("one on each connection", counted(), 0, vec![S; 4], S, 4.0),
        ] {
            let plan = checked(&plan);
            let found = rate(&plan, &record(&plan, started_ns, &times_ns), Vec::new());
            assert_eq!(found.window_ns, window_ns, "{name}");
            let found_rps = per_second(found.responses.unwrap_or(0), found.window_ns);
            assert!((found_rps / rps - 1.0).abs() <= 0.01, "{name}: {found_rps}, should be {rps}");
        }
    }

    #[test]
    fn a_schedule_that_was_changed_or_cut_has_the_window_of_what_it_became() {
        let plan = checked(&Draft { requests: Some(10), ..at_rate(1, None) });
        let times_ns: Vec<u64> = (0..5).map(|i| i * S + MS).collect();
        let mut sum = record(&plan, 5 * S, &times_ns);
        let change = RateChange { at_ns: S, rps: 7.0 };
        assert_eq!(rate(&plan, &sum, vec![change]).window_ns, 5 * S);
        sum.interrupted = true;
        assert_eq!(rate(&plan, &sum, Vec::new()).window_ns, 5 * S);
    }

    #[test]
    fn parts_of_all_requests_have_all_responses_that_count() {
        // Nine in the window, five after it, on two endpoints.
        let times_ns = [[S / 2; 9].as_slice(), &[3 * S; 5]].concat();
        for responses in 9..=14 {
            let mut sum = record(&checked(&at_rate(9, Some(S))), S, &times_ns);
            let mut parts = [Part::new("a"), Part::new("b")];
            for (index, at_ns) in times_ns.iter().enumerate() {
                parts[index % 2].answered(*at_ns < S);
            }
            sum.measured.parts.endpoints = parts.to_vec();
            settle_parts(&mut sum, responses);
            let counts =
                sum.measured.parts.endpoints.iter().map(|part| part.responses.unwrap_or(0));
            assert_eq!(counts.sum::<u64>(), responses);
        }
    }
}
