//! The table of causes and figures: what each cause can have done to which figures of a report, as
//! far as the evidence says. `docs/verdict.md` shows it with the reasons.
//!
//! Three facts carry most of it.
//! - At a rate a request is due at a time that the server does not influence. A tester that is late
//!   sends and reads later, so times can only be too long, and counts hold. A queue never answers
//!   earlier because requests come later. Rates hold but for the responses that came too late for
//!   the end of the window. (If connections are too few for the pace at which
//!   the tester reads, requests wait for one, and some are never sent: then rates and counts do not
//!   hold.) The lateness of sending is measured. Responses are
//!   read by the same threads under the same conditions, so reading is taken to be as late, for up
//!   to twice as many requests ([`READ_SHARE`]). If the kernel's clock times the responses, how
//!   late they are read is in no time.
//! - In a closed loop a tester that stands still sends less. The true rate can only be higher, and
//!   the server, which had less to do, may have been faster than it is under the whole load. By the
//!   interactive response time law (Denning and Buzen 1978, section 5) the mean cannot be longer
//!   than the cycle of a connection. The measured times contain how late responses were read, so
//!   they make up most of the cycle. How long the users of a script think is not told from that.
//! - A request needs the tester when its response arrives. If the tester does not run for a share
//!   of the time, that share of the responses arrives meanwhile, and those that were in flight with
//!   them wait as well. No request waits longer for the tester than the tester stood still while it
//!   was in flight. So the mean wait is at most that share of the cycle, and by Markov's inequality
//!   few requests waited much longer than the mean.
//!
//! Each touch grows with its evidence: more evidence never narrows a doubt.

use super::lateness::{QUOTED, Quoted};
use super::{Evidence, Pause, covered_ns, share};
use crate::doubt::Figure::{self, Achieved, Connections, Counts, Load, Phases, Response, Service};
use crate::doubt::{Figure::Series, Off, Reach, Touch};

/// The shortest time for which a scheduler lets another process run.
const TURN_NS: f64 = 500_000.0;
/// The shortest time for which a control group is throttled.
const THROTTLED_NS: f64 = 10_000_000.0;

/// What a cause can have done, by its code.
pub(super) fn of(code: &str, e: &Evidence) -> Vec<Touch> {
    match code {
        "no_responses" => unmeasured(),
        "none_ok" => on_times(|figure| Touch::either(figure, Reach::Any))
            .chain([Touch::either(Achieved, Reach::Any)])
            .collect(),
        "time_order" => on_times(|figure| Touch::either(figure, Reach::Any)).collect(),
        "script" => on_times(|figure| Touch::either(figure, Reach::Any))
            .chain([Touch::either(Counts, Reach::Any), Touch::above(Achieved, Reach::Any)])
            .collect(),
        "late" | "late_tail" => late(e),
        "read_late" => read_late(e),
        "cpu" => limited(e),
        "cpu_shared" => {
            let worst = e.worker_run_delay.iter().copied().fold(0.0, f64::max);
            interrupted(e, worst, TURN_NS)
        }
        // Of all CPUs. Those of the tester may have lost twice as much.
        "steal" => interrupted(e, 2.0 * e.steal_share, TURN_NS),
        "throttled" => interrupted(e, share(e.throttled_ns, e.elapsed_ns), THROTTLED_NS),
        "paused" => paused(e),
        "short" | "connections" | "vus" | "left_out" | "skew_connections" | "skew_addresses"
        | "nonstationary" => vec![another_load()],
        "draining" => fewer_in_flight(e.draining_share),
        "lowered_limit" => fewer_in_flight(e.lowered_share),
        "cut_off" => missing(share(e.vus.cut_off, e.vus.requests)),
        "outage" if e.open_loop => vec![another_load()],
        "outage" => missing(e.outage.share),
        "ports" | "files" => on_times(|figure| Touch::either(figure, Reach::Any))
            .chain([Counts, Connections].map(|figure| Touch::either(figure, Reach::Any)))
            .chain([Touch::above(Achieved, Reach::Any)])
            .collect(),
        "retransmits" => {
            let struck = share(e.tcp.resent.max(e.tcp.host_resent), e.sent);
            on_times(|figure| Touch::below(figure, Reach::requests(struck))).collect()
        }
        "connect_retries" => {
            let struck = e.tcp.connects_retried.max(e.tcp.host_syns_resent);
            slow_connects(e, share(struck, e.tcp.connects.max(1)))
        }
        "listen_drops" => slow_connects(e, share(e.tcp.host_listen_drops, e.tcp.connects.max(1))),
        "beyond_hour" => {
            let clamped = share(e.beyond_hour, e.sent.max(e.beyond_hour));
            on_times(|figure| Touch::above(figure, Reach::requests(clamped))).collect()
        }
        "unconfirmed" => {
            vec![Touch::either(Counts, Reach::Any), Touch::below(Achieved, Reach::Any)]
        }
        // What came of its own accord counts as an answer.
        "pushed_replies" | "extra_answers" => on_times(|figure| Touch::above(figure, Reach::Any))
            .chain([Touch::either(Counts, Reach::Any), Touch::below(Achieved, Reach::Any)])
            .collect(),
        _ => Vec::new(),
    }
}

fn on_times(touch: impl Fn(Figure) -> Touch) -> impl Iterator<Item = Touch> {
    [Response, Service, Phases].into_iter().map(touch)
}

fn another_load() -> Touch {
    Touch::either(Load, Reach::Any)
}

fn unmeasured() -> Vec<Touch> {
    on_times(|figure| Touch::above(figure, Reach::Any))
        .chain([Touch::above(Achieved, Reach::Any)])
        .collect()
}

/// How many times as large the share of the responses is that are read later than some time as the
/// share of the requests that are sent later. By the kernel's receive times, on a host of two CPUs
/// with up to ten busy processes, it was 0 to 1 in three quarters of 60 comparisons, and up to 1.7
/// below p99. Beyond, single pauses decide, which touch by themselves.
const READ_SHARE: f64 = 2.0;

/// Sending was late, and reading as late. A response time contains both, a service time the second.
/// With the kernel's receive times, reading is in neither.
fn late(e: &Evidence) -> Vec<Touch> {
    let off_by = |times: u64, share: f64| {
        let offs = curve(&e.quoted, e.lateness_max_ns)
            .map(|(late_ns, beyond)| Off::new(late_ns.saturating_mul(times), beyond * share));
        Reach::Requests(offs.collect())
    };
    let times = if e.kernel_stamps {
        vec![Touch::below(Response, off_by(1, 1.0))]
    } else {
        vec![
            Touch::below(Response, off_by(2, 1.0 + READ_SHARE)),
            Touch::below(Service, off_by(1, READ_SHARE)),
            Touch::below(Phases, off_by(1, READ_SHARE)),
        ]
    };
    times.into_iter().chain(after_the_end(e)).collect()
}

/// At a rate, responses that a late tester got after the end of the window are in no rate: at most
/// those to what was due in as long a time before the end as it was late, sending and reading.
fn after_the_end(e: &Evidence) -> Option<Touch> {
    let latest_ns = curve(&e.quoted, e.lateness_max_ns).map(|(late_ns, _)| late_ns).max();
    let cut = share(latest_ns.unwrap_or(0).saturating_mul(2), e.elapsed_ns);
    let due = if cut < 1.0 { cut / (1.0 - cut) } else { f64::INFINITY };
    let came = match e.completed.saturating_sub(e.after_window) {
        0 => f64::INFINITY,
        within => share(e.after_window, within),
    };
    let more = due.min(came);
    (e.open_loop && more > 0.0).then(|| Touch::above(Achieved, Reach::share(more)))
}

/// What is known of the read delays of scripts is an upper bound of them.
fn read_late(e: &Evidence) -> Vec<Touch> {
    let longest_ns = e.vus.read.iter().map(|quoted| quoted.lateness_ns).max().unwrap_or(0);
    let offs: Vec<Off> = curve(&e.vus.read, longest_ns)
        .filter(|(_, beyond)| *beyond > 0.0)
        .map(|(late_ns, beyond)| Off::new(late_ns, beyond))
        .collect();
    on_times(|figure| Touch::below(figure, Reach::Requests(offs.clone()))).collect()
}

/// Times and the share of requests beyond them, as the quoted quantiles and the maximum say.
fn curve(quoted: &[Quoted; QUOTED.len()], max_ns: u64) -> impl Iterator<Item = (u64, f64)> {
    let known = QUOTED.iter().zip(quoted).map(|(at, quoted)| (quoted.lateness_ns, 1.0 - at.q));
    let max_ns = quoted.iter().map(|quoted| quoted.lateness_ns).chain([max_ns]).max().unwrap_or(0);
    known.chain([(max_ns, 0.0)])
}

/// The tester's CPU was the limit. In a closed loop the true rate is higher, and responses waited
/// for the tester.
fn limited(e: &Evidence) -> Vec<Touch> {
    if e.open_loop {
        return held_up(e, f64::INFINITY);
    }
    let longer = Reach::share(e.cycle_excess);
    on_times(|figure| Touch { figure, below: Reach::Any, above: longer.clone() })
        .chain([Touch::above(Achieved, Reach::Any)])
        .collect()
}

/// From here on the load was not the one that was asked for.
const UNSENT_SEEN: f64 = 0.01;

/// At a rate, a tester that reads late holds its connections for longer, and requests wait for one:
/// that is no lateness of the tester's. A tester that stood still for `lost_ns` in all delayed none
/// of them by more than that: interrupted work is later by that time.
fn held_up(e: &Evidence, lost_ns: f64) -> Vec<Touch> {
    let unsent = share(e.unsent, e.scheduled);
    let waited = curve(&e.blocked, e.blocked_max_ns);
    let offs = waited.map(|(blocked_ns, beyond)| Off::new(blocked_ns, beyond + unsent));
    let mut offs: Vec<Off> = offs.collect();
    if lost_ns.is_finite() {
        offs.push(Off::new(lost_ns.ceil() as u64, 0.0));
    }
    let mut touches: Vec<Touch> = after_the_end(e).into_iter().collect();
    if unsent > 0.0 || e.blocked_max_ns > 0 {
        touches.push(Touch::below(Response, Reach::Requests(offs)));
    }
    if unsent >= UNSENT_SEEN {
        let more = if unsent < 1.0 { unsent / (1.0 - unsent) } else { f64::INFINITY };
        touches.push(Touch::above(Achieved, Reach::share(more)));
        touches.push(Touch::either(Counts, Reach::Any));
    }
    touches
}

/// The tester did not run for a share of the time, in turns of at least `turn_ns`. At a rate its
/// lateness says what came of it.
fn interrupted(e: &Evidence, lost: f64, turn_ns: f64) -> Vec<Touch> {
    let lost_ns = lost * e.elapsed_ns as f64;
    let timed_out = if can_time_out(e, lost_ns) { e.timed_out } else { 0 };
    if e.open_loop {
        return held_up(e, lost_ns).into_iter().chain(failed_by_tester(e, timed_out)).collect();
    }
    let struck = lost * (1.0 + e.cycle_ns / turn_ns);
    let mean_ns = lost * e.cycle_ns;
    let any = [Off::new(0, struck)].into_iter();
    let offs = any.chain(MEANS.map(|means| Off::new((means * mean_ns).ceil() as u64, 1.0 / means)));
    let mut touches = slowed_loop(e, lost, &Reach::Requests(offs.collect()));
    touches.extend(failed_by_tester(e, timed_out));
    touches
}

/// Whether requests can have timed out because the tester stood still for so long: for less than
/// half of the timeout, the server took the larger part of it.
fn can_time_out(e: &Evidence, still_ns: f64) -> bool {
    e.timeout_ns > 0 && 2.0 * still_ns >= e.timeout_ns as f64
}

/// Some requests may have failed only because the tester stood still, so others than counted may
/// have been completed.
fn failed_by_tester(e: &Evidence, failed: u64) -> Vec<Touch> {
    if failed == 0 {
        return Vec::new();
    }
    let more = if e.completed > 0 { share(failed, e.completed) } else { f64::INFINITY };
    vec![Touch::either(Counts, Reach::Any), Touch::above(Achieved, Reach::share(more))]
}

/// Requests that a pause can have made fail: those that timed out while it was long, and those that
/// were open when the run ended with it.
fn failed_by_pauses(e: &Evidence) -> u64 {
    let longest_ns = e.pauses.iter().map(|pause| pause.for_ns).max().unwrap_or(0);
    let timed_out = if can_time_out(e, longest_ns as f64) { e.timed_out } else { 0 };
    // A thread that wakes up at the end has a moment left to read what came meanwhile.
    let is_at_end = |pause: &Pause| {
        let end_ns = pause.at_ns.saturating_add(pause.for_ns);
        end_ns.saturating_add(pause.for_ns / 10) >= e.elapsed_ns
    };
    let unfinished = if e.pauses.iter().any(is_at_end) { e.unfinished } else { 0 };
    timed_out + unfinished
}

/// A request in `n` waited `n` times the mean or longer, at most, for each of these numbers.
const MEANS: [f64; 12] = [1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 100.0, 1000.0];

/// The pauses are known one by one: each delays what was in flight, and at a rate what was due.
fn paused(e: &Evidence) -> Vec<Touch> {
    let paused_ns = e.paused_ns.max(covered_ns(&e.pauses));
    let mut sorted = e.pauses.clone();
    sorted.sort_by_key(|pause| std::cmp::Reverse(pause.for_ns));
    let per_ns = if e.open_loop { e.sent as f64 / e.elapsed_ns.max(1) as f64 } else { 0.0 };
    let requests = e.sent.max(1) as f64;
    let struck_by = |pauses: f64, for_ns: u64| {
        (pauses * e.in_flight.max(1.0) + per_ns * for_ns as f64) / requests
    };
    // Pauses that are not listed are shorter than the shortest that is.
    let listed_ns: u64 = sorted.iter().map(|pause| pause.for_ns).sum();
    let shortest_ns = sorted.last().map_or(1, |pause| pause.for_ns.max(1));
    let more = paused_ns.saturating_sub(listed_ns) as f64 / shortest_ns as f64;
    let mut longer_ns = 0;
    let mut offs = Vec::new();
    for (longer, pause) in sorted.iter().enumerate().take(OFFS_MAX) {
        offs.push(Off::new(pause.for_ns, struck_by(longer as f64, longer_ns)));
        longer_ns += pause.for_ns;
    }
    offs.push(Off::new(0, struck_by(sorted.len() as f64 + more, paused_ns)));
    offs.reverse();
    let mut touches = slowed_loop(e, share(paused_ns, e.elapsed_ns), &Reach::Requests(offs));
    if e.open_loop {
        touches.extend(held_up(e, paused_ns as f64));
    }
    touches.extend(failed_by_tester(e, failed_by_pauses(e)));
    touches.push(Touch::either(Series, Reach::Any));
    touches
}

/// With this many of the longest pauses, quantiles have the bounds that they need.
const OFFS_MAX: usize = 8;

/// The tester stood still for the share `lost` of the time, which can have made `late` requests too
/// slow. A closed loop has sent less meanwhile.
fn slowed_loop(e: &Evidence, lost: f64, late: &Reach) -> Vec<Touch> {
    if e.open_loop {
        return on_times(|figure| Touch::below(figure, late.clone())).collect();
    }
    let more = if lost < 1.0 { lost / (1.0 - lost) } else { f64::INFINITY };
    // A cycle is the time of a request and what the tester added after it.
    let is_known = e.connections > 0 && !e.vus.are_there();
    let longer = Reach::share(if is_known { e.cycle_excess } else { more.max(e.cycle_excess) });
    let late = if e.kernel_stamps { &Reach::Nothing } else { late };
    on_times(|figure| Touch { figure, below: late.clone(), above: longer.clone() })
        .chain([Touch::above(Achieved, Reach::share(more))])
        .collect()
}

/// A closed loop had fewer requests in flight for a share of the time.
fn fewer_in_flight(idle: f64) -> Vec<Touch> {
    let more = if idle < 1.0 { idle / (1.0 - idle) } else { f64::INFINITY };
    on_times(|figure| Touch::above(figure, Reach::share(more)))
        .chain([Touch::above(Achieved, Reach::share(more)), another_load()])
        .collect()
}

/// A share of the requests that there should have been is missing among the times, or was cut
/// short.
fn missing(share: f64) -> Vec<Touch> {
    on_times(|figure| Touch::above(figure, Reach::requests(share)))
        .chain([another_load()])
        .collect()
}

/// TCP's timers delayed a share of the connects, and requests that waited for them.
fn slow_connects(e: &Evidence, struck: f64) -> Vec<Touch> {
    let mut touches = vec![Touch::below(Connections, Reach::Any)];
    if e.tcp.connects_delay_requests || e.tcp.server_here {
        touches.push(Touch::below(Response, Reach::requests(struck)));
    }
    touches
}
