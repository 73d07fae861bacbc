//! Measures a condition: the value of its metric in a result, or why the result has no such value.

use std::collections::BTreeMap;

use super::custom::Subject;
use super::measured::Measured;
use super::metric::{Metric, Statistic, Tally, Timing};
use super::scope::{Scope, not_among};
use super::stretch::Stretch;
use super::{Condition, stretch_words};
use crate::clock::Clock;
use crate::confidence;
use crate::doubt::{Bounds, Doubts, Figure};
use crate::histogram::Histogram;
use crate::ledger::Ledger;
use crate::part::Part;
use crate::phase::Phase;
use crate::result::{RunResult, StageResult, Unit, verdict_value};

/// Measures a condition's metric in its part of a result.
pub(super) fn measure(condition: &Condition, result: &RunResult) -> Measured {
    let (subject, unit) = (&condition.subject, condition.limit.unit);
    let result = match &condition.scope {
        Scope::Scenario(name) => match result.scenario(name) {
            Some(scenario) => &scenario.result,
            None => {
                let names = result.scenarios.iter().map(|scenario| scenario.name.as_str());
                return Measured::nothing(not_among("scenario", name, names));
            }
        },
        _ => result,
    };
    if let Scope::Between(from_ns, to_ns) = condition.scope {
        return between(subject, unit, (from_ns, to_ns), result);
    }
    let doubts = confidence::doubts(&result.loader.causes);
    let metric = match subject {
        Subject::BuiltIn(metric) => *metric,
        Subject::Custom(custom) => {
            return custom.measure(&result.metrics, result.elapsed_ns, &doubts);
        }
    };
    match &condition.scope {
        Scope::Run | Scope::Scenario(_) => of_run(metric, unit, result, &doubts),
        Scope::Endpoint(name) => {
            named("endpoint", name, &result.endpoints, |part| of_part(metric, unit, part, result))
        }
        Scope::Address(name) => {
            named("address", name, &result.addresses, |part| of_part(metric, unit, part, result))
        }
        Scope::Group(name) => {
            named("group", name, &result.groups, |part| of_part(metric, unit, part, result))
        }
        Scope::Stage(number) => match result.stages.get(number - 1) {
            Some(stage) => of_stage(metric, unit, stage, result),
            None => Measured::none(format!("no stage {number}; there are {}", result.stages.len())),
        },
        Scope::StageNamed(name) => {
            match result.stages.iter().find(|stage| stage.part.name == *name) {
                Some(stage) => of_stage(metric, unit, stage, result),
                None => {
                    let names = result.stages.iter().map(|stage| stage.part.name.as_str());
                    Measured::nothing(not_among("stage", name, names))
                }
            }
        }
        Scope::Between(..) | Scope::Last(_) => {
            Measured::none("@last is known while a run goes on only")
        }
    }
}

fn named(
    kind: &str,
    name: &str,
    parts: &[Part],
    measure: impl FnOnce(&Part) -> Measured,
) -> Measured {
    match parts.iter().find(|part| part.name == name) {
        Some(part) => measure(part),
        None => {
            let names = parts.iter().map(|part| part.name.as_str());
            Measured::nothing(not_among(kind, name, names))
        }
    }
}

fn of_run(metric: Metric, unit: Unit, result: &RunResult, doubts: &Doubts<'_>) -> Measured {
    let Metric::Time(timing, figure) = metric else {
        return doubted(whole(metric, unit, result), metric, doubts);
    };
    let bounds = match times(timing, result) {
        Ok(bounds) => bounds,
        Err(why) => return Measured::none(why),
    };
    let measured = statistic(bounds.all(), figure);
    match figure_of(timing) {
        Some(doubtful) => measured.of_times(figure, &bounds, (doubts, doubtful)),
        None => measured,
    }
}

/// A figure that is not a time, with its doubt.
pub(super) fn doubted(measured: Measured, metric: Metric, doubts: &Doubts<'_>) -> Measured {
    let figure = match metric {
        Metric::Requests(_)
        | Metric::Status(..)
        | Metric::GrpcStatus(_)
        | Metric::ConnectErrors
        | Metric::SentMessages
        | Metric::ReceivedMessages
        | Metric::CutCalls => Figure::Counts,
        Metric::Achieved => Figure::Achieved,
        Metric::Offered => Figure::Offered,
        Metric::TargetCpu | Metric::TargetMemory => Figure::Server,
        _ => return measured,
    };
    measured.doubted(doubts, figure)
}

/// What doubt calls the figures of a time; `None` for times of the tester itself.
fn figure_of(timing: Timing) -> Option<Figure> {
    match timing {
        Timing::Response | Timing::Ok | Timing::Failed | Timing::Incomplete => {
            Some(Figure::Response)
        }
        Timing::Phase(Phase::Dns | Phase::Connect | Phase::Tls | Phase::Greeting) => {
            Some(Figure::Connections)
        }
        Timing::Phase(_) => Some(Figure::Phases),
        Timing::Service
        | Timing::Iteration
        | Timing::FirstMessage
        | Timing::MessageGap
        | Timing::RoundTrip => Some(Figure::Service),
        Timing::Lag | Timing::Lateness | Timing::ReceiveDelay => None,
    }
}

fn whole(metric: Metric, unit: Unit, result: &RunResult) -> Measured {
    let (ledger, loader) = (&result.ledger, &result.loader);
    let size = |bytes: u64| {
        let known = (bytes > 0).then_some(bytes as f64);
        Measured::of(known, "not known")
    };
    let target = result.target.as_ref();
    match metric {
        // The caller has measured it.
        Metric::Time(..) => Measured::none("not known"),
        Metric::Requests(Tally::Errors) => errors(unit, result),
        Metric::Requests(tally) => requests(tally, unit, ledger),
        Metric::Status(from, to) => statuses((from, to), unit, ledger, &result.status),
        Metric::GrpcStatus(name) => grpc_status(name, unit, result),
        Metric::Outage => {
            let share = result.outage.filter(|outage| outage.users_ns > 0).map(|it| it.share);
            Measured::of(share, "whether the server could be reached is not known")
        }
        Metric::ConnectErrors => {
            let failed = result.errors.iter().filter(|error| error.phase.is_opening());
            Measured::some(failed.map(|error| error.count).sum::<u64>() as f64)
        }
        Metric::Achieved | Metric::Offered => {
            let rate = &result.rate;
            let is_achieved = metric == Metric::Achieved;
            let rps = if is_achieved { rate.achieved_rps } else { rate.offered_rps };
            let rps = (ledger.scheduled > 0 && rate.window_ns > 0).then_some(rps);
            of_target(Measured::of(rps, "no request was due"), unit, rate.target_rps)
        }
        Metric::Iterations => match &result.iterations {
            Some(iterations) => Measured::some(iterations.completed as f64),
            None => Measured::none(NO_ITERATIONS),
        },
        Metric::Reconnects => Measured::some(ledger.reconnects as f64),
        Metric::Retransmits => {
            let connections = &result.connections;
            let known = (connections.opened > 0).then_some(connections.retransmits as f64);
            Measured::of(known, "no connection was opened")
        }
        Metric::SentBytes => Measured::some(result.bytes.sent as f64),
        Metric::ReceivedBytes => Measured::some(result.bytes.received as f64),
        Metric::SentMessages | Metric::ReceivedMessages | Metric::CutCalls => {
            let Some(streams) = result.grpc_streams.as_deref() else {
                return Measured::none(NO_STREAMS);
            };
            let count = match metric {
                Metric::SentMessages => streams.sent.messages,
                Metric::ReceivedMessages => streams.received.messages,
                _ => streams.cut_calls,
            };
            Measured::some(count as f64)
        }
        Metric::Pushed | Metric::Pings => {
            let is_pings = metric == Metric::Pings;
            let count = result.pushed.map(|it| if is_pings { it.pings } else { it.messages });
            Measured::of(count.map(|count| count as f64), "this run loads no WebSocket")
        }
        Metric::Cpu => {
            let cpu_ns = loader.cpu_user_ns.saturating_add(loader.cpu_system_ns);
            cores(cpu_ns.saturating_sub(loader.spin_ns), result.elapsed_ns)
        }
        Metric::Memory => size(loader.rss_peak_bytes),
        Metric::TargetCpu => match target {
            Some(usage) => match (&usage.cpu_unknown, usage.known_cpu_ns()) {
                (_, Some(cpu_ns)) => cores(cpu_ns, result.elapsed_ns),
                (why, None) => Measured::none(why.as_deref().unwrap_or("it is not known")),
            },
            None => Measured::none("the server's process was not watched"),
        },
        Metric::TargetMemory => match target {
            Some(usage) => size(usage.rss_peak_bytes),
            None => Measured::none("the server's process was not watched"),
        },
        Metric::Verdict => {
            let codes: Vec<&str> = loader.causes.iter().map(|cause| cause.code.as_str()).collect();
            let note = (!codes.is_empty()).then(|| codes.join(", "));
            Measured { note, ..Measured::some(verdict_value(loader.verdict)) }
        }
    }
}

fn cores(cpu_ns: u64, elapsed_ns: u64) -> Measured {
    let cores = (elapsed_ns > 0).then(|| cpu_ns as f64 / elapsed_ns as f64);
    Measured::of(cores, "no time passed")
}

/// Why there is nothing to measure of iterations.
const NO_ITERATIONS: &str = "in this run an iteration is a request";

/// Why there is nothing to measure of messages.
const NO_STREAMS: &str = "in this run no call streams";
const NO_ROUND_TRIPS: &str = "in this run no message waits for the answer to the one before";

/// The clock of whole requests that a time is of; `None` for other times.
fn clock(timing: Timing) -> Option<Clock> {
    match timing {
        Timing::Response => Some(Clock::Response),
        Timing::Service => Some(Clock::Service),
        _ => None,
    }
}

/// What a time is measured from, or why there is nothing of that kind in the run.
fn times(timing: Timing, result: &RunResult) -> Result<Bounds<'_>, &'static str> {
    let streams = || result.grpc_streams.as_deref().ok_or(NO_STREAMS);
    let by = &result.by_outcome;
    let histogram = match timing {
        Timing::Response => return Ok(Clock::Response.bounds(result)),
        Timing::Service => return Ok(Clock::Service.bounds(result)),
        Timing::FirstMessage => return Ok(streams()?.first_message_bounds()),
        Timing::MessageGap => return Ok(streams()?.gap_bounds()),
        Timing::RoundTrip => return streams()?.round_trip_bounds().ok_or(NO_ROUND_TRIPS),
        Timing::Ok => &by.ok,
        Timing::Failed => &by.failed,
        Timing::Incomplete => &by.incomplete,
        Timing::Lag => &result.lag,
        Timing::Lateness => result.lateness(),
        Timing::Phase(phase) => &result.phases[phase],
        Timing::ReceiveDelay => &result.loader.receive_delay,
        Timing::Iteration => &result.iterations.as_ref().ok_or(NO_ITERATIONS)?.duration,
    };
    Ok(Bounds::new(histogram, 0, 0))
}

/// A figure of a distribution, in µs.
pub(super) fn statistic(histogram: &Histogram, figure: Statistic) -> Measured {
    let us = |value_ns: u64| value_ns as f64 / 1e3;
    let value = match figure {
        Statistic::Min => histogram.min_ns().map(us),
        Statistic::Mean => histogram.mean_ns().map(|mean_ns| mean_ns / 1e3),
        Statistic::Stdev => histogram.stdev_ns().map(|stdev_ns| stdev_ns / 1e3),
        Statistic::Max => histogram.max_ns().map(us),
        Statistic::Quantile(q) => {
            return Measured::quantile(histogram.quantile_ns(q).map(us), q, histogram.count());
        }
    };
    Measured::of(value, "no samples")
}

/// A count, or its share of the requests there were.
pub(super) fn share_of(count: u64, whole: u64, unit: Unit) -> Measured {
    if unit == Unit::Count {
        return Measured::some(count as f64);
    }
    let share = (whole > 0).then(|| count as f64 / whole as f64);
    Measured::of(share, "no requests")
}

/// Requests by what became of them. Where none could have become that, there is nothing to
/// measure: no failure among no responses is no success.
fn requests(tally: Tally, unit: Unit, ledger: &Ledger) -> Measured {
    let scheduled = ledger.scheduled;
    let (count, among, why_not) = match tally {
        Tally::Scheduled => return share_of(scheduled, scheduled, unit),
        Tally::Sent => return share_of(ledger.sent, scheduled, unit),
        Tally::Completed => return share_of(ledger.completed, scheduled, unit),
        Tally::Ok => return share_of(ledger.ok, scheduled, unit),
        Tally::Redirects => return share_of(ledger.redirects, scheduled, unit),
        Tally::Resent => return share_of(ledger.resent, ledger.sent, unit),
        Tally::Errors => (scheduled.saturating_sub(ledger.ok), scheduled, "no request was due"),
        Tally::Shed => (ledger.shed, scheduled, "no request was due"),
        Tally::Unsent => (ledger.unsent, scheduled, "no request was due"),
        Tally::Refused => (ledger.refused, ledger.sent, "no request was sent"),
        Tally::TimedOut => (ledger.timed_out, ledger.sent, "no request was sent"),
        Tally::Broken => (ledger.broken, ledger.sent, "no request was sent"),
        Tally::Unfinished => (ledger.unfinished, ledger.sent, "no request was sent"),
        Tally::Failed => (ledger.failed, ledger.completed, "no response arrived"),
    };
    if among == 0 {
        return Measured::none(why_not);
    }
    share_of(count, scheduled, unit)
}

/// All that went wrong for users: requests that are not ok, and in a closed loop users that could
/// send none. As a share it is no less than the share of their time in which users were cut off: in
/// that time nothing was sent that could have failed.
fn errors(unit: Unit, result: &RunResult) -> Measured {
    let outage = result.outage.unwrap_or_default();
    let (count, scheduled) = result.failures();
    if scheduled == 0 {
        return Measured::none("no request was due");
    }
    let of_requests = share_of(count, scheduled, unit);
    if unit == Unit::Count || of_requests.value.is_none_or(|share| share >= outage.share) {
        return of_requests;
    }
    let note = "the share of the users' time in which the server could not be reached";
    Measured { note: Some(note.to_owned()), ..Measured::some(outage.share) }
}

fn statuses(
    (from, to): (u16, u16),
    unit: Unit,
    ledger: &Ledger,
    statuses: &BTreeMap<u16, u64>,
) -> Measured {
    if ledger.completed == 0 {
        return Measured::none("no response arrived");
    }
    let count = statuses.range(from..=to).map(|(_, count)| *count).sum();
    share_of(count, ledger.scheduled, unit)
}

fn grpc_status(name: &str, unit: Unit, result: &RunResult) -> Measured {
    if result.plan.grpc.is_none() {
        return Measured::none("in this run there are no calls of gRPC");
    }
    if result.grpc_status.is_empty() {
        return Measured::none("no call was ended by the server");
    }
    let count = result.grpc_status.get(name).copied().unwrap_or(0);
    share_of(count, result.ledger.scheduled, unit)
}

/// A rate as a share of the target, where the limit is one.
fn of_target(rate: Measured, unit: Unit, target_rps: Option<f64>) -> Measured {
    if unit != Unit::Share {
        return rate;
    }
    match (rate.value, target_rps) {
        (Some(rps), Some(target_rps)) if target_rps > 0.0 => Measured::some(rps / target_rps),
        (Some(_), _) => Measured::none("there is no target rate"),
        (None, _) => rate,
    }
}

/// The part's own clocks and counts; `None` for what has to do with time.
fn of_requests(metric: Metric, unit: Unit, part: &Part, doubts: &Doubts<'_>) -> Option<Measured> {
    let measured = match metric {
        Metric::Time(timing, figure) => {
            let clock = clock(timing).unwrap_or(Clock::Service);
            let bounds = clock.bounds_of_part(part);
            let of = (doubts, clock.figure());
            return Some(statistic(bounds.all(), figure).of_times(figure, &bounds, of));
        }
        Metric::Requests(tally) => requests(tally, unit, &part.ledger),
        Metric::Status(from, to) => statuses((from, to), unit, &part.ledger, &part.status),
        _ => return None,
    };
    Some(doubted(measured, metric, doubts))
}

/// An endpoint's or an address's share of the run.
fn of_part(metric: Metric, unit: Unit, part: &Part, result: &RunResult) -> Measured {
    let doubts = doubts_of_part(part, result);
    if let Some(measured) = of_requests(metric, unit, part, &doubts) {
        return measured;
    }
    let rate = &result.rate;
    let (count, time_ns) = match (metric, part.responses) {
        (Metric::Achieved, Some(responses)) => (responses, rate.window_ns),
        (Metric::Achieved, None) => (part.ledger.completed, rate.window_ns.max(rate.answered_ns)),
        _ => (part.ledger.scheduled, rate.window_ns),
    };
    let is_known = part.ledger.scheduled > 0 && time_ns > 0;
    let rps = is_known.then(|| count as f64 * 1e9 / time_ns as f64);
    doubted(Measured::of(rps, "no request was due"), metric, &doubts)
}

/// Whatever befell some of a run's requests may have befallen those of one part.
fn doubts_of_part<'a>(part: &Part, result: &'a RunResult) -> Doubts<'a> {
    let doubts = confidence::doubts(&result.loader.causes);
    doubts.of_part(part.ledger.scheduled, result.ledger.scheduled)
}

fn of_stage(metric: Metric, unit: Unit, stage: &StageResult, result: &RunResult) -> Measured {
    let doubts = doubts_of_part(&stage.part, result);
    if let Some(measured) = of_requests(metric, unit, &stage.part, &doubts) {
        return measured;
    }
    let rate = match metric {
        Metric::Achieved => {
            Measured::of(stage_rate_rps(stage, result), "no whole second lies in the stage")
        }
        _ => {
            let lasted_ns = stage_end_ns(stage, result).saturating_sub(stage.start_ns);
            let is_known = stage.part.ledger.scheduled > 0 && lasted_ns > 0;
            let rps = is_known.then(|| stage.part.ledger.scheduled as f64 * 1e9 / lasted_ns as f64);
            Measured::of(rps, "no request was due")
        }
    };
    doubted(of_target(rate, unit, Some(stage.target_rps)), metric, &doubts)
}

/// Where a stage ended: where the plan says, or where the run was cut short.
fn stage_end_ns(stage: &StageResult, result: &RunResult) -> u64 {
    stage.start_ns.saturating_add(stage.duration_ns).min(result.rate.window_ns)
}

/// Responses per second while a stage lasted, whenever they were due; from whole intervals of the
/// series, so `None` of a stage that holds none.
#[must_use]
pub fn stage_rate_rps(stage: &StageResult, result: &RunResult) -> Option<f64> {
    let points = result.series.points();
    let end_ns = stage_end_ns(stage, result);
    Stretch::within(points, stage.start_ns, end_ns, result.elapsed_ns)?.completed_rps()
}

/// A stretch of time. A long run's intervals are longer than a second, so it may be a little less
/// than what was asked for; then the note says so.
fn between(
    subject: &Subject,
    unit: Unit,
    (from_ns, to_ns): (u64, u64),
    result: &RunResult,
) -> Measured {
    let points = result.series.points();
    let Some(mut stretch) = Stretch::within(points, from_ns, to_ns, result.elapsed_ns) else {
        return Measured::none(format!("nothing was kept of {}", stretch_words(from_ns, to_ns)));
    };
    // What comes after the load are the responses to it.
    if to_ns >= result.rate.window_ns.min(result.elapsed_ns) {
        stretch.reach_end(&result.ledger);
    }
    let doubts = confidence::doubts(&result.loader.causes);
    let doubts = doubts.of_part(stretch.requests_timed(), result.ledger.scheduled);
    let mut measured = stretch.measure(subject, unit, &doubts);
    if measured.note.is_none() && (stretch.from_ns, stretch.to_ns) != (from_ns, to_ns) {
        measured.note = Some(format!("from {}", stretch_words(stretch.from_ns, stretch.to_ns)));
    }
    measured
}
