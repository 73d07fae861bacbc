//! Runs over HTTP/2 whose outcome can be worked out on paper: the ways in which testers of HTTP/2
//! measure wrong, each as an experiment.

use std::collections::BTreeMap;

use plimsoll_core::Phase;
use plimsoll_core::plan::{Body, Draft, HttpVersion};
use plimsoll_core::protocol::{AllowedRange, allowed_range};
use plimsoll_core::recorder::Recorder;
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_io::sim::{SimOptions, Window};
use plimsoll_proto::http2::ErrorCode;

use crate::http2::{OUTPUT_BYTES_MAX, run_http2};
use crate::http2_script::{Asked, Change, Fate, Grant, Hello, Log, Reply};
use crate::manners::Fates;
use crate::world::{MS, Ran, S, assert_quantile, plan};

/// A delivery takes 10 µs each way by default.
const ROUND_TRIP: u64 = 20_000;
const KIB: u32 = 1024;

/// A closed loop over one connection for a second, with as many streams.
fn closed(streams: u32) -> Draft {
    let mut plan = Draft { connections: 1, http_version: HttpVersion::Http2, ..plan() };
    plan.http2.streams = streams;
    plan
}

/// The same at a rate, in requests per second.
pub(crate) fn at_rate(streams: u32, per_second: u64, duration_ns: u64) -> Draft {
    let rate = Profile::constant(per_second * 1_000_000, Some(duration_ns), Arrival::Uniform);
    Draft { rate: Some(rate), duration_ns: Some(duration_ns), ..closed(streams) }
}

/// As many requests as these, however long they take.
pub(crate) fn counted(streams: u32, requests: u64) -> Draft {
    Draft { requests: Some(requests), duration_ns: None, ..closed(streams) }
}

fn uploading(plan: Draft, bytes: u32) -> Draft {
    let mut plan = plan;
    plan.request.method = "POST".to_owned();
    plan.request.body = Some(Body::new(vec![b'x'; bytes as usize]));
    plan
}

/// Runs a plan with one worker over a network without faults; the client keeps all rules.
pub(crate) fn run(
    plan: &Draft,
    hello: Hello,
    script: impl Fn(&Asked) -> Reply + Clone + 'static,
) -> (Ran, Log) {
    run_over(plan, &SimOptions::default(), hello, script)
}

fn run_over(
    plan: &Draft,
    sim: &SimOptions,
    hello: Hello,
    script: impl Fn(&Asked) -> Reply + Clone + 'static,
) -> (Ran, Log) {
    let (ran, mut logs) = run_http2(plan, sim, hello, |_| script.clone());
    assert_eq!(logs.len(), 1);
    let log = logs.remove(0);
    assert_eq!(log.did.violations, Vec::<String>::new());
    assert_eq!(ran.sum().ledger.check(), Ok(()));
    (ran, log)
}

pub(crate) fn allowing(streams: u32) -> Hello {
    Hello { streams, ..Hello::default() }
}

/// What went wrong, by kind.
pub(crate) fn errors(sum: &Recorder) -> BTreeMap<&str, u64> {
    sum.errors.iter().map(|error| (&*error.kind, error.count)).collect()
}

/// The response is there when the call that sent the request comes back.
#[test]
fn what_the_server_does_during_the_call_that_sends_is_waiting() {
    let sim = SimOptions { call_ns: 6 * MS..6 * MS + 1, ..SimOptions::default() };
    let (ran, _) = run_over(&counted(1, 20), &sim, allowing(100), |_| Reply::ok(5 * MS));
    let sum = ran.sum();
    assert_eq!(sum.ledger.ok, 20);
    assert!(sum.phases[Phase::Sending].max_ns() <= Some(11_000));
    assert!(sum.phases[Phase::Waiting].min_ns() >= Some(5 * MS));
}

/// Experiment 1: 50 streams are asked for and 1 is allowed.
#[test]
fn one_stream_is_one_request_at_a_time_and_no_wait_is_service() {
    let (ran, log) = run(&closed(50), allowing(1), |_| Reply::ok(10 * MS));
    let sum = ran.sum();
    let each_ns = 10 * MS + ROUND_TRIP;
    assert_eq!(log.open_max.values().max(), Some(&1));
    assert_eq!(sum.ledger.completed, S.div_ceil(each_ns));
    assert_eq!([sum.service.min_ns(), sum.service.max_ns()], [Some(each_ns); 2]);
    assert_eq!(sum.protocols[0].allowed.and_then(|allowed| allowed.streams), Some(1));
}

/// A server that allows 50 streams, 2 for the next ten requests, and 50 again: what it allowed in
/// between is told, and how much of the load that took.
#[test]
fn a_limit_that_is_lowered_for_a_time_is_told() {
    // The limit falls when the fifth batch of 50 is under way.
    let script = |asked: &Asked| Reply {
        change: match asked.number {
            249 => Some(Change::Limit(2)),
            259 => Some(Change::Limit(50)),
            _ => None,
        },
        ..Reply::ok(50 * MS - ROUND_TRIP)
    };
    let (ran, log) = run(&closed(50), allowing(50), script);
    let sum = ran.sum();
    assert_eq!(log.open_max.values().max(), Some(&50));
    let AllowedRange { least, most } = allowed_range(&sum.protocols).expect("it has said so");
    assert_eq!([least.streams, most.streams], [Some(2), Some(50)]);
    // Two are open from when the fifth batch has ended, at 250 ms, until the tenth request after it
    // comes, at 450 ms.
    let idle_ns = ran.records[0].connections.lowered_idle_ns;
    let want_ns = 48 * (200 * MS);
    assert!(idle_ns.abs_diff(want_ns) < 48 * MS, "{idle_ns}, should be {want_ns}");
    // What is the same all along is no change, however few streams it allows.
    let (ran, _) = run(&closed(50), allowing(2), script);
    assert_eq!(ran.records[0].connections.lowered_idle_ns, 0);
}

/// Experiment 2: at a rate, the wait for the stream is `blocked` and stands in the response time.
#[test]
fn at_a_rate_the_wait_for_a_stream_is_blocked() {
    let (ran, log) = run(&at_rate(50, 200, S), allowing(1), |_| Reply::ok(10 * MS));
    let sum = ran.sum();
    let each_ns = 10 * MS + ROUND_TRIP;
    assert_eq!(log.open_max.values().max(), Some(&1));
    assert_eq!([sum.service.min_ns(), sum.service.max_ns()], [Some(each_ns); 2]);
    assert_eq!(sum.delays.lateness.max_ns(), Some(0));
    let sent = S.div_ceil(each_ns);
    assert_eq!((sum.ledger.completed, sum.ledger.unsent), (sent, 200 - sent));
    // The request i is due at 5 ms * i and goes when those before it have been answered.
    let more_ns = each_ns - 5 * MS;
    let blocked = &sum.phases[Phase::Blocked];
    assert_eq!(blocked.count(), sent);
    assert_eq!(blocked.sum_ns(), more_ns * (0..sent).sum::<u64>());
    assert_eq!(blocked.max_ns(), Some(more_ns * (sent - 1)));
    assert_eq!(sum.by_outcome.ok.max_ns(), Some(more_ns * (sent - 1) + each_ns));
}

/// Experiment 3: no request goes before the server has said how many it takes.
#[test]
fn nothing_is_refused_by_a_server_whose_settings_come_late() {
    let hello = Hello { after_ns: 50 * MS, ..allowing(10) };
    let plan = Draft { requests_per_connection: Some(40), ..counted(100, 400) };
    let (ran, log) = run(&plan, hello, |_| Reply::ok(MS));
    let sum = ran.sum();
    assert_eq!((sum.ledger.completed, sum.ledger.refused), (400, 0));
    assert_eq!((log.did.connections, sum.ledger.reconnects), (10, 9));
    assert_eq!(log.open_max.values().min(), Some(&10));
    let greeting = &sum.phases[Phase::Greeting];
    // From the connect on, which the server hears of first: half a round trip less than both ways.
    let took_ns = [greeting.min_ns(), greeting.max_ns()];
    assert_eq!(took_ns, [Some(50 * MS); 2]);
}

/// Experiment 4: a server that says goodbye after every hundredth request is asked again at once.
#[test]
fn goodbyes_cost_a_reconnect_each_and_nothing_else() {
    let script = |asked: &Asked| Reply {
        change: (asked.number % 100 == 99).then_some(Change::Goodbye(MS / 2)),
        ..Reply::ok(MS)
    };
    let hello = Hello { closes: true, ..allowing(100) };
    let (ran, log) = run(&counted(10, 10_000), hello, script);
    let sum = ran.sum();
    assert_eq!((sum.ledger.completed, sum.ledger.refused), (10_000, 0));
    assert_eq!(errors(&sum), BTreeMap::new());
    assert_eq!(log.did.goodbyes, 100);
    assert!((99..=100).contains(&sum.ledger.reconnects), "{}", sum.ledger.reconnects);
    // Each takes what is open, a handshake and a greeting.
    let each_ns = MS + ROUND_TRIP;
    let ideal_ns = 1000 * each_ns + 100 * (each_ns + 4 * ROUND_TRIP);
    let took_ns = log.arrivals_ns[9999] - log.arrivals_ns[0] + each_ns;
    assert!(took_ns <= ideal_ns, "{took_ns} ns, should be {ideal_ns}");

    let (ran, _) = run(&at_rate(10, 1000, 10 * S), hello, script);
    let sum = ran.sum();
    assert_eq!((sum.ledger.completed, sum.ledger.unsent), (10_000, 0));
    let most_ns = sum.response().max_ns().unwrap();
    assert!(most_ns <= 2 * each_ns + 4 * ROUND_TRIP, "{most_ns}");
    assert_quantile(&sum.response(), 0.95, each_ns, 0);
}

/// A connection is replaced when its last request has ended, and how long its other streams had
/// nothing to do until then is told.
#[test]
fn streams_that_idle_while_their_connection_ends_are_told() {
    let plan = Draft { requests_per_connection: Some(10), ..counted(10, 100) };
    let script = |asked: &Asked| Reply::ok(if asked.number % 10 == 9 { 100 * MS } else { 10 * MS });
    let (ran, log) = run(&plan, allowing(10), script);
    assert_eq!((ran.sum().ledger.ok, log.did.connections), (100, 10));
    let idle_ns = |ran: &Ran| ran.records[0].connections.draining_idle_ns;
    assert_eq!(idle_ns(&ran), 10 * 9 * 90 * MS);
    let (ran, _) = run(&counted(10, 100), allowing(10), script);
    assert_eq!(idle_ns(&ran), 0);
}

/// Experiment 5: what the server says that it did not process is refused, where it is not sent
/// again.
#[test]
fn what_was_not_processed_is_refused_as_often_as_the_server_says() {
    let script = |asked: &Asked| Reply {
        fate: if asked.number % 50 == 49 { Fate::Refused } else { Fate::Answered },
        change: (asked.number % 500 == 444)
            .then_some(Change::Abrupt(asked.stream.saturating_sub(8).max(1))),
        ..Reply::ok(MS)
    };
    let plan = Draft { resends: false, ..counted(10, 10_000) };
    let (ran, log) = run(&plan, allowing(100), script);
    let sum = ran.sum();
    let dids = [log.did];
    assert_eq!(Fates::told(&sum.ledger), Fates::truth(&dids));
    assert_eq!((dids[0].requests, dids[0].goodbyes), (10_000, 20));
    // Four streams at least with each goodbye.
    assert!(sum.ledger.refused >= 200 + 20 * 4 - 20, "{:?}", sum.ledger);
    assert_eq!(errors(&sum), BTreeMap::from([("request_refused", sum.ledger.refused)]));
}

/// Experiment 6: a stream that is reset is one request, and the others go on.
#[test]
fn a_reset_costs_its_own_request() {
    let script = |asked: &Asked| Reply {
        fate: match asked.number % 100 {
            99 => Fate::Reset(ErrorCode::CANCEL),
            _ => Fate::Answered,
        },
        ..Reply::ok(10 * MS)
    };
    let (ran, log) = run(&counted(100, 10_000), allowing(100), script);
    let sum = ran.sum();
    let ledger = sum.ledger;
    assert_eq!((ledger.completed, ledger.broken, ledger.reconnects), (9900, 100, 0));
    assert_eq!(errors(&sum), BTreeMap::from([("reset:CANCEL", 100)]));
    assert_eq!(log.open_max.values().max(), Some(&100));
    // With a hundred open all the time, the last hundred go when 99 rounds have been answered.
    let took_ns = log.arrivals_ns[9999] - log.arrivals_ns[0];
    assert_eq!(took_ns, 99 * (10 * MS + ROUND_TRIP));
}

/// A response that breaks a rule costs its own request, and the error says which rule.
#[test]
fn a_malformed_response_says_what_is_wrong_with_it() {
    let script = |asked: &Asked| match asked.number {
        7 => Reply {
            has_length: false,
            fields: vec![("content-length", "many".to_owned())],
            ..Reply::ok(MS)
        },
        _ => Reply::ok(MS),
    };
    let (ran, _) = run(&counted(10, 100), allowing(100), script);
    let sum = ran.sum();
    assert_eq!((sum.ledger.completed, sum.ledger.broken, sum.ledger.reconnects), (99, 1, 0));
    assert_eq!(errors(&sum), BTreeMap::from([("bad_content_length", 1)]));
    assert_eq!(sum.errors[0].sample, "malformed message: bad Content-Length");
}

/// A connection that stays silent is closed a whole timeout after the first one that passed on it,
/// and with it the requests that have not waited that long.
#[test]
fn what_a_timeout_closes_with_it_says_so() {
    let plan = Draft { timeout_ns: 50 * MS, ..at_rate(10, 50, 200 * MS) };
    let (ran, _) = run(&plan, allowing(10), |_| Reply { fate: Fate::Hangs, ..Reply::ok(MS) });
    let sum = ran.sum();
    let error = sum.errors.iter().find(|error| error.kind == "abandoned").expect("some are");
    assert_eq!(error.sample, "its connection was closed as another request on it timed out");
}

/// Experiment 7: 256 KiB through a window of 64 KiB that opens anew every 50 ms. `is_for_all`: the
/// window is the connection's.
#[test]
fn waiting_for_a_window_is_stalled_and_not_the_servers_time() {
    for is_for_all in [false, true] {
        let window_bytes = 64 * KIB;
        let hello = match is_for_all {
            true => Hello { connection_window_bytes: window_bytes, ..Hello::default() },
            false => Hello { window_bytes, ..Hello::default() },
        };
        let script = move |_: &Asked| {
            let grant = |(after_ms, windows)| Grant {
                after_ns: after_ms * MS,
                bytes: windows * window_bytes,
                is_for_all,
            };
            // What the connection has in the end is the next request's.
            let grants = [(50, 1), (100, 1), (150, 2)].map(grant).to_vec();
            Reply { grants, ..Reply::ok(10 * MS) }
        };
        let (ran, log) = run(&uploading(counted(1, 5), 256 * KIB), hello, script);
        let sum = ran.sum();
        assert_eq!((sum.ledger.completed, log.did.bodies), (5, 5));
        for (phase, want_ns) in [
            (Phase::Stalled, 150 * MS + ROUND_TRIP),
            (Phase::Sending, 150 * MS + ROUND_TRIP),
            (Phase::Waiting, 10 * MS + ROUND_TRIP),
        ] {
            let of = &sum.phases[phase];
            let got_ns = (of.count(), of.min_ns(), of.max_ns());
            assert_eq!(got_ns, (5, Some(want_ns), Some(want_ns)), "{phase:?}, {is_for_all}");
        }
    }
}

/// Requests that queue behind one another on their way into the kernel: each is sent when its own
/// last byte is taken, and not when that of the last one is.
#[test]
fn a_request_is_sent_when_its_own_bytes_are() {
    let plan = uploading(counted(4, 40), 1024 * KIB);
    let (ran, log) = run(&plan, allowing(4), |_| Reply::ok(MS / 2));
    let sum = ran.sum();
    assert_eq!((sum.ledger.completed, log.did.bodies), (40, 40));
    let waiting = &sum.phases[Phase::Waiting];
    assert_eq!((waiting.count(), waiting.min_ns()), (40, Some(MS / 2 + ROUND_TRIP)));
}

/// Experiment 10: 25 streams on each of 4 connections, and no more connections than that.
#[test]
fn each_connection_has_as_many_streams_as_asked_for() {
    let plan = Draft { connections: 4, ..closed(25) };
    let (ran, log) = run(&plan, allowing(100), |_| Reply::ok(10 * MS));
    assert_eq!(log.open_max.values().collect::<Vec<_>>(), [&25; 4]);
    assert_eq!(log.did.connections, 4);
    assert_eq!(ran.sum().ledger.completed, 100 * S.div_ceil(10 * MS + ROUND_TRIP));
}

/// A connection that was opened for a request, and on which the server allows none at first.
#[test]
fn a_request_waits_until_its_connection_may_carry_it() {
    let plan = Draft { requests_per_connection: Some(1), ..counted(1, 5) };
    let hello = Hello { then: Some((30 * MS, Change::Limit(1))), ..allowing(0) };
    let (ran, log) = run(&plan, hello, |_| Reply::ok(MS));
    let sum = ran.sum();
    assert_eq!((sum.ledger.ok, sum.ledger.sent, log.did.connections), (5, 5, 5));
    assert_eq!(errors(&sum), BTreeMap::new());
    assert!(sum.by_outcome.ok.min_ns() >= Some(30 * MS));
}

#[test]
fn a_request_that_no_connection_may_carry_times_out() {
    let plan = Draft { requests_per_connection: Some(1), timeout_ns: 50 * MS, ..counted(1, 5) };
    let (ran, log) = run(&plan, allowing(0), |_| Reply::ok(MS));
    let sum = ran.sum();
    let timed_out = sum.ledger.timed_out;
    assert!(timed_out > 1, "{:?}", sum.ledger);
    assert_eq!((sum.ledger.scheduled, log.did.requests), (timed_out, 0));
    assert_eq!(errors(&sum), BTreeMap::from([("timeout", timed_out)]));
}

/// The server allows none, and then leaves.
#[test]
fn a_request_whose_connection_takes_none_any_more_is_refused() {
    let plan = Draft { requests_per_connection: Some(1), resends: false, ..counted(1, 5) };
    let hello = Hello { then: Some((30 * MS, Change::Abrupt(0))), ..allowing(0) };
    let (ran, log) = run(&plan, hello, |_| Reply::ok(MS));
    let sum = ran.sum();
    assert_eq!((sum.ledger.refused, log.did.requests), (5, 0));
    assert_eq!(errors(&sum), BTreeMap::from([("request_refused", 5)]));
}

/// Experiment 12: those who came into a stall of a second waited for the rest of it.
#[test]
fn a_stall_stands_in_the_response_time_of_all_who_came_into_it() {
    let stalled = Window { at_ns: 2 * S + 4 * S, for_ns: S };
    let sim = SimOptions { peer_stalled: Some(stalled), ..SimOptions::default() };
    let plan = at_rate(100, 1000, 10 * S);
    let (ran, _) = run_over(&plan, &sim, allowing(100), |_| Reply::ok(1000));
    let sum = ran.sum();
    let response = sum.response();
    assert_eq!(sum.ledger.completed, 10_000);
    assert_quantile(&response, 0.5, ROUND_TRIP + 1000, 0);
    assert_quantile(&response, 0.95, S / 2, 3 * MS);
    assert_quantile(&response, 0.99, 9 * S / 10, 3 * MS);
    assert_quantile(&response, 1.0, S, 3 * MS);
    // A hundred streams were caught in it.
    assert_eq!(sum.service.count() - sum.service.count_at_most(MS), 100);
}

/// Experiment 13: requests of all streams leave when they are due, not in bursts.
#[test]
fn requests_arrive_when_the_schedule_says() {
    let plan = Draft { connections: 3, ..at_rate(10, 2000, S) };
    let (ran, log) = run(&plan, allowing(100), |_| Reply::ok(10 * MS));
    let due_ns = (0..2000).map(|slot| ran.starts_ns[0] + slot * MS / 2 + ROUND_TRIP / 2);
    assert_eq!(log.arrivals_ns, due_ns.collect::<Vec<_>>());
    // Twenty of 10 ms each are open at a time.
    assert_eq!(log.open_max.values().collect::<Vec<_>>(), [&7; 3]);
}

/// Experiment 14: what is open at the end is unfinished.
#[test]
fn requests_open_at_the_end_are_unfinished() {
    let plan = Draft { connections: 2, duration_ns: Some(5 * S), drain_ns: 0, ..closed(10) };
    let (ran, _) = run(&plan, allowing(100), |_| Reply::ok(2 * S));
    let ledger = ran.sum().ledger;
    assert_eq!((ledger.sent, ledger.completed, ledger.unfinished), (60, 40, 20));
}

/// Experiment 16: a request that times out is given up alone.
#[test]
fn a_timeout_ends_one_stream() {
    let script = |asked: &Asked| Reply {
        fate: if asked.number == 7 { Fate::Hangs } else { Fate::Answered },
        ..Reply::ok(10 * MS)
    };
    let plan = Draft { timeout_ns: 200 * MS, ..counted(50, 5000) };
    let (ran, log) = run(&plan, allowing(100), script);
    let sum = ran.sum();
    let ledger = sum.ledger;
    assert_eq!((ledger.completed, ledger.timed_out, ledger.reconnects), (4999, 1, 0));
    assert_eq!((log.did.connections, log.did.cancelled), (1, 1));
    assert_eq!(errors(&sum), BTreeMap::from([("timeout", 1)]));
    assert_eq!(sum.service.max_ns(), Some(200 * MS));
}

/// The third request and those after it hang on the first connection, which is silent from then on.
#[test]
fn a_connection_that_stays_silent_after_a_timeout_is_replaced() {
    let plan = Draft { timeout_ns: 50 * MS, ..counted(1, 20) };
    let (ran, log) = run(&plan, allowing(10), |asked| match asked.number {
        2 | 3 => Reply { fate: Fate::Hangs, ..Reply::ok(MS) },
        _ => Reply::ok(MS),
    });
    let sum = ran.sum();
    assert_eq!((sum.ledger.ok, sum.ledger.timed_out, sum.ledger.reconnects), (18, 2, 1));
    assert_eq!(log.did.connections, 2);
    // One that answers in between is kept.
    let (ran, log) = run(&plan, allowing(10), |asked| match asked.number {
        2 | 4 | 6 => Reply { fate: Fate::Hangs, ..Reply::ok(MS) },
        _ => Reply::ok(MS),
    });
    assert_eq!((ran.sum().ledger.timed_out, log.did.connections), (3, 1));
}

/// A server that has stopped to read: the kernel takes what fits into its buffers, and the rest
/// stays in the tester until the connection is closed. The first request of each round still fills
/// the buffers, so a request alone is followed by another.
#[test]
fn requests_to_a_server_that_does_not_read_do_not_pile_up() {
    const BODY_BYTES: u32 = 1 << 20;
    let stalled = Window { at_ns: 2 * S, for_ns: 100 * S };
    let sim = SimOptions { peer_stalled: Some(stalled), ..SimOptions::default() };
    for (streams, sent) in [(1, 2), (2, 2), (10, 10)] {
        let plan = Draft { timeout_ns: 200 * MS, ..closed(streams) };
        let plan = uploading(plan, BODY_BYTES);
        let (ran, log) = run_over(&plan, &sim, allowing(100), |_| Reply::ok(MS));
        let ledger = ran.sum().ledger;
        assert_eq!((ledger.sent, ledger.timed_out), (sent, sent), "{streams} streams");
        assert_eq!((log.did.connections, log.did.requests), (1, 0), "{streams} streams");
        let queued_bytes_max = sent as usize * (BODY_BYTES + KIB) as usize;
        assert!(ran.queued_bytes_max <= queued_bytes_max, "{} bytes", ran.queued_bytes_max);
    }
}

/// A server whose windows hold nothing back, and that reads nothing for a second: all that waits
/// in the tester is what one connection may, and it is the kernel that holds up requests.
#[test]
fn bodies_that_the_kernel_holds_back_are_bounded_and_no_stall() {
    const BODY_BYTES: u32 = 2 << 20;
    let stalled = Window { at_ns: 2 * S, for_ns: S };
    let sim = SimOptions { peer_stalled: Some(stalled), ..SimOptions::default() };
    for streams in [1, 20] {
        let plan = uploading(counted(streams, 2 * u64::from(streams)), BODY_BYTES);
        let (ran, log) = run_over(&plan, &sim, allowing(100), |_| Reply::ok(MS));
        let sum = ran.sum();
        assert_eq!((sum.ledger.ok, errors(&sum)), (2 * u64::from(streams), BTreeMap::new()));
        assert!(log.received_bytes > sum.ledger.ok * u64::from(BODY_BYTES));
        // Heads of requests and of frames come on top.
        let queued_bytes_max = OUTPUT_BYTES_MAX + 4 * KIB as usize;
        assert!(ran.queued_bytes_max <= queued_bytes_max, "{} bytes", ran.queued_bytes_max);
        let [stalled, sending] = [Phase::Stalled, Phase::Sending].map(|phase| &sum.phases[phase]);
        assert_eq!(stalled.count(), 0, "{streams} streams");
        let late = sending.count() - sending.count_at_most(S - MS);
        assert_eq!(late, u64::from(streams), "those that came into the standstill");
    }
}

/// Experiment 17: an answer that is whole before the upload ends it, with or without a reset.
#[test]
fn an_early_answer_completes_its_request() {
    for stops_upload in [true, false] {
        let script = move |asked: &Asked| {
            let is_early = asked.number % 10 == 5;
            let grant = Grant { after_ns: MS, bytes: 16 * KIB, is_for_all: false };
            let grants = if is_early { Vec::new() } else { vec![grant] };
            Reply { is_early, stops_upload, grants, ..Reply::ok(2 * MS) }
        };
        let hello = Hello { window_bytes: 16 * KIB, ..allowing(100) };
        let (ran, log) = run(&uploading(counted(10, 1000), 20 * KIB), hello, script);
        let sum = ran.sum();
        assert_eq!((sum.ledger.completed, sum.ledger.ok), (1000, 1000));
        assert_eq!((sum.ledger.reconnects, errors(&sum)), (0, BTreeMap::new()));
        assert_eq!(log.early, 100);
        assert_eq!(log.stopped, if stops_upload { 0 } else { 100 }, "{stops_upload}");
        let stalled = &sum.phases[Phase::Stalled];
        assert_eq!(stalled.count(), 1000);
        assert_eq!(stalled.max_ns(), Some(2 * MS + ROUND_TRIP));
    }
}

/// Experiment 27: bytes are counted as the server counts them, heads and frames and all.
#[test]
fn bytes_are_those_that_the_server_saw() {
    let mut plan = counted(10, 1000);
    plan.requests_per_connection = Some(100);
    plan.endpoint.path = "/{{seq}}".into();
    plan.request.headers.push(("X-Long".to_owned(), "v".repeat(100).into()));
    let (ran, log) = run(&plan, allowing(100), |_| Reply { has_trailers: true, ..Reply::ok(MS) });
    let sum = ran.sum();
    assert_eq!((sum.sent_bytes, sum.received_bytes), (log.received_bytes, log.sent_bytes));
    // The table of each connection has the fields that never vary after the first request.
    let each = sum.sent_bytes / 1000;
    assert!(each < 9 + 20, "{each} bytes for a request");
}
