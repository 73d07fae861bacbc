//! What a run's result and its host say about the tester, for the verdict.

use std::net::IpAddr;

use plimsoll_core::plan::websocket::Reply;
use plimsoll_core::plan::{Draft, Spin, Timestamps};
use plimsoll_core::protocol::{AllowedRange, allowed_range};
use plimsoll_core::result::RunResult;
use plimsoll_core::schedule::Profile;
use plimsoll_core::verdict::{
    AckDelays, AddressFacts, Evidence, MessageFacts, Outcomes, Peaks, Quoted, StreamLimit,
    TcpFacts, VuFacts, connections_needed, connects_retried, settling,
};
use plimsoll_core::{Histogram, Phase};
use plimsoll_io::host::Happened;

use crate::error::{NO_FILES, NO_PORTS};
use crate::observer::CpuUse;
use crate::record::Record;

/// In less time than this CPU time, which the kernel counts in ticks or so, says nothing.
const SHARES_WINDOW_NS: u64 = 100_000_000;

/// Shares of the time in which requests were started.
pub(crate) struct CpuShares {
    pub busy: f64,
    pub run_delay: f64,
}

impl CpuShares {
    pub(crate) fn of(record: &Record) -> Self {
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
    let (cycle_ns, cycle_excess) = cycle(plan, result, in_flight);
    Evidence {
        open_loop: plan.is_open_loop(),
        elapsed_ns: result.elapsed_ns,
        worker_busy: shares.iter().map(|share| share.busy).collect(),
        worker_run_delay: shares.iter().map(|share| share.run_delay).collect(),
        quoted: Quoted::of(&result.loader.lateness, &result.latency.response),
        lateness_max_ns: result.loader.lateness.max_ns().unwrap_or(0),
        blocked: Quoted::of(&result.phases[Phase::Blocked], &result.latency.response),
        blocked_max_ns: result.phases[Phase::Blocked].max_ns().unwrap_or(0),
        in_flight: requests_in_flight(plan, result, in_flight),
        cycle_ns,
        cycle_excess,
        kernel_stamps: is_stamped(plan, result),
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
        after_window: after_window(result),
        timed_out: result.ledger.timed_out,
        unfinished: result.ledger.unfinished,
        timeout_ns: plan.timeout_ns,
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
        // The caller that started the scripts, and looked the name up, knows.
        script_stopped: false,
        addresses_left_out: Vec::new(),
        outcomes: outcomes(result),
        draining_share: idle_share(plan, result, in_flight, connections.draining_idle_ns),
        lowered_share: idle_share(plan, result, most, connections.lowered_idle_ns),
        stream_limit,
        messages: messages(plan, result),
        vus: VuFacts::default(),
    }
}

/// How many responses came after the end of the window.
fn after_window(result: &RunResult) -> u64 {
    let within = result.rate.responses.unwrap_or(result.ledger.completed);
    result.ledger.completed.saturating_sub(within)
}

/// A response up to this length arrives whether or not the tester reads it, because the kernel's
/// default buffer of a socket holds it (`net.ipv4.tcp_rmem`), bytes.
const ARRIVES_UNREAD_BYTES: u64 = 64 << 10;

/// Whether the kernel's clock told of every response when it arrived, and none waited for the
/// tester to read.
fn is_stamped(plan: &Draft, result: &RunResult) -> bool {
    let completed = result.ledger.completed;
    plan.timestamps == Timestamps::Kernel
        && result.loader.receive_delay.count() >= completed
        && result.bytes.received <= completed.saturating_mul(ARRIVES_UNREAD_BYTES)
}

/// How many requests were in flight, `streams` on each connection: in a closed loop as many as
/// there may be, at a rate on average (Little's law).
fn requests_in_flight(plan: &Draft, result: &RunResult, streams: u32) -> f64 {
    let busy_ns = result.latency.service.sum_ns() as f64;
    let mean = if result.elapsed_ns == 0 { 0.0 } else { busy_ns / result.elapsed_ns as f64 };
    let most = f64::from(plan.connections) * f64::from(streams);
    if plan.is_open_loop() { mean } else { mean.max(most) }
}

/// In a closed loop, the time from one request of a connection to the next, ns, and by which share
/// it is longer than the mean service time.
fn cycle(plan: &Draft, result: &RunResult, in_flight: u32) -> (f64, f64) {
    let mean_ns = result.latency.service.mean_ns().unwrap_or(0.0);
    let (completed, window_ns) = (result.ledger.completed as f64, result.rate.window_ns as f64);
    if plan.is_open_loop() || completed == 0.0 || mean_ns == 0.0 {
        return (0.0, 0.0);
    }
    let users = f64::from(plan.connections) * f64::from(in_flight);
    let cycle_ns = users * window_ns / completed;
    (cycle_ns, (cycle_ns / mean_ns - 1.0).max(0.0))
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

/// What was seen of messages, in the light of what the plan takes for a reply.
fn messages(plan: &Draft, result: &RunResult) -> MessageFacts {
    let reply = plan.endpoint.is_websocket().then_some(&plan.websocket.reply);
    // However an open connection ended, what was on its way is not known to have arrived.
    let closes = result.errors.iter().filter(|error| !error.phase.is_opening());
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
