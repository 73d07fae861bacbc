//! Servers that are gone for a while, and what the result says about that time.

use plimsoll_core::gate::{AbortWatch, Condition};
use plimsoll_core::outage::Outage;
use plimsoll_core::plan::{Draft, HttpVersion};
use plimsoll_engine::Signals;
use plimsoll_io::sim::{SimOptions, Window};

use crate::http2::run_http2;
use crate::http2_script::{Asked, Change, Fate, Hello, Reply};
use crate::lockstep::run_with_faults;
use crate::peer::Answer;
use crate::world::{MS, Ran, S, START_NS, at_rate, plan, run};

fn dead(at_ns: u64, for_ns: u64) -> SimOptions {
    SimOptions { peer_dead: Some(Window { at_ns: START_NS + at_ns, for_ns }), ..Default::default() }
}

fn outage(ran: &Ran) -> Outage {
    let mut sum = Outage::default();
    for record in &ran.records {
        sum.merge(&record.outage);
    }
    sum
}

#[track_caller]
fn assert_near(found: f64, want: f64, what: &str) {
    assert!((found - want).abs() <= 0.02, "{what}: {found}, should be {want}");
}

/// Ten users of a server that dies 1.2 s into a run of 4 s, however they are connected.
#[test]
fn a_server_that_is_gone_is_an_outage_of_that_length() {
    let closed = Draft { connections: 10, duration_ns: Some(4 * S), ..plan() };
    let open = Draft { connections: 10, ..at_rate(200_000_000, 4 * S) };
    let one = Some(1);
    let plans = [
        ("closed", closed.clone(), 10),
        ("on two workers", Draft { workers: 2, ..closed.clone() }, 10),
        ("after a warm-up", Draft { warmup_ns: 500 * MS, ..closed.clone() }, 10),
        ("no keep-alive", Draft { requests_per_connection: one, ..closed }, 0),
        ("at a rate", open.clone(), 10),
        ("no keep-alive at a rate", Draft { requests_per_connection: one, ..open }, 0),
    ];
    for (what, plan, attempts) in plans {
        let sim = dead(1200 * MS + plan.warmup_ns, 100 * S);
        let ran = run(&plan, &sim, |_| |_, _| Answer::Status(200, MS));
        let outage = outage(&ran);
        assert_near(outage.share, 0.7, what);
        assert_near(outage.longest_ns as f64 / 1e9, 2.8, what);
        assert_eq!(outage.failed_attempts, attempts, "{what}");
        let by_second: Vec<f64> = ran.series.points().iter().take(4).map(second).collect();
        for (found, want) in by_second.into_iter().zip([0.0, 0.8, 1.0, 1.0]) {
            assert_near(found, want, what);
        }
    }
}

fn second(point: &plimsoll_core::series::Point) -> f64 {
    plimsoll_core::outage::share(point.cut_off_ns, point.users_ns)
}

#[test]
fn a_server_that_comes_back_ends_the_outage() {
    let plan = Draft { connections: 10, duration_ns: Some(10 * S), ..plan() };
    let ran = run(&plan, &dead(2 * S, 3 * S), |_| |_, _| Answer::Status(200, MS));
    let outage = outage(&ran);
    // Users look again after up to a second.
    assert!((0.3..0.41).contains(&outage.share), "{}", outage.share);
    assert_eq!(outage.failed_attempts, 10);
}

/// A run of a number of requests goes on after an outage, however long after the last progress the
/// next connect comes.
#[test]
fn a_server_that_comes_back_gets_the_rest_of_the_requests() {
    for (timeout_ms, down_ms) in [(100, 800), (200, 1_200), (1_000, 1_500), (1_200, 2_100)] {
        let plan = Draft {
            connections: 1,
            requests: Some(300),
            duration_ns: None,
            timeout_ns: timeout_ms * MS,
            ..plan()
        };
        let ran = run(&plan, &dead(100 * MS, down_ms * MS), |_| |_, _| Answer::Status(200, MS));
        let ledger = ran.sum().ledger;
        // One is lost with its connection.
        assert_eq!((ledger.sent, ledger.completed), (300, 299), "{timeout_ms} ms, {down_ms} ms");
    }
}

/// One that never comes back ends such a run, soon after a connect that began late has failed.
#[test]
fn a_server_that_is_gone_ends_a_run_of_a_number_of_requests() {
    let plan = Draft { requests: Some(300), duration_ns: None, timeout_ns: S, ..plan() };
    let ran = run(&plan, &dead(10 * MS, 1_000 * S), |_| |_, _| Answer::Status(200, MS));
    let took_ns = ran.records[0].window_ns;
    assert!((2 * S..3 * S + 100 * MS).contains(&took_ns), "{took_ns}");
    assert!(ran.sum().ledger.sent < 300);
}

/// The server of one worker of two is gone for three seconds. Its users come back: the other does
/// not finish the run without them.
#[test]
fn a_worker_without_its_server_waits_as_long_as_others_go_on() {
    let plan =
        Draft { workers: 2, requests: Some(8_000), duration_ns: None, timeout_ns: S, ..plan() };
    let faults = |worker| match worker {
        0 => SimOptions::default(),
        _ => dead(S, 3 * S),
    };
    let answer = |_, _, _| Answer::Status(200, 2 * MS);
    let ran = run_with_faults(&plan, faults, answer, &Signals::default());
    assert_eq!(ran.sum.ledger.sent, 8_000);
    // Two connections send for a second, the other two for all of the time: some five seconds.
    assert!(ran.sent[1] > 1_500, "{:?}", ran.sent);
}

#[test]
fn connections_that_are_closed_and_opened_again_are_no_outage() {
    for answer in [Answer::Status(200, MS), Answer::LastOne(MS), Answer::UntilClose(MS)] {
        for per_connection in [None, Some(1), Some(3)] {
            for load in [plan(), at_rate(200_000_000, S)] {
                let plan = Draft { requests_per_connection: per_connection, ..load };
                let ran = run(&plan, &SimOptions::default(), |_| move |_, _| answer);
                let outage = outage(&ran);
                assert_eq!((outage.cut_off_ns, outage.failed_attempts), (0, 0), "{answer:?}");
                assert!(outage.users_ns > 0);
            }
        }
    }
}

/// A balancer whose servers are gone accepts connections, and closes them.
#[test]
fn connections_that_are_lost_before_any_answer_are_an_outage() {
    let closed = Draft { connections: 10, duration_ns: Some(4 * S), ..plan() };
    let open = Draft { connections: 10, ..at_rate(200_000_000, 4 * S) };
    let one = Some(1);
    let plans = [
        ("closed", closed.clone()),
        ("on two workers", Draft { workers: 2, ..closed.clone() }),
        ("no keep-alive", Draft { requests_per_connection: one, ..closed }),
        ("at a rate", open.clone()),
        ("no keep-alive at a rate", Draft { requests_per_connection: one, ..open }),
    ];
    for answer in [Answer::Close, Answer::Reset, Answer::Garbage(MS)] {
        for (what, plan) in &plans {
            let script = move |_, now_ns| match now_ns < START_NS + 1200 * MS {
                true => Answer::Status(200, MS),
                false => answer,
            };
            let outage = outage(&run(plan, &SimOptions::default(), |_| script));
            let what = format!("{what}, {answer:?}");
            // At a rate a connection has its next request, and its second loss, a while later.
            assert!((0.63..0.71).contains(&outage.share), "{what}: {outage:?}");
            let longest_s = outage.longest_ns as f64 / 1e9;
            assert!((2.6..2.81).contains(&longest_s), "{what}: {outage:?}");
            assert_eq!(outage.failed_attempts, 0, "{what}: its requests are in the ledger");
        }
    }
}

#[test]
fn a_connection_that_is_lost_now_and_then_is_no_outage() {
    for per_connection in [None, Some(1)] {
        for load in [plan(), at_rate(200_000_000, S)] {
            let plan = Draft { requests_per_connection: per_connection, ..load };
            let script = |number, _| match number % 7 {
                0 => Answer::Reset,
                _ => Answer::Status(200, MS),
            };
            // One user's requests follow one another.
            let plan = Draft { connections: 1, ..plan };
            let outage = outage(&run(&plan, &SimOptions::default(), |_| script));
            assert_eq!((outage.cut_off_ns, outage.failed_attempts), (0, 0));
        }
    }
}

/// Each has as many requests in flight as the other has connections, one after the other.
fn over_http2(connections: u32, streams: u32, plan: Draft) -> Draft {
    let mut plan = Draft { connections, http_version: HttpVersion::Http2, ..plan };
    plan.http2.streams = streams;
    plan
}

/// A server takes connections and requests, and answers none of those that come from 1 s to 7 s.
#[test]
fn a_server_that_hangs_is_the_same_outage_over_both_protocols() {
    let hangs = |at_ns: u64| (S..7 * S).contains(&(at_ns - START_NS));
    let load = |plan: Draft| Draft { timeout_ns: S, duration_ns: Some(10 * S), ..plan };
    let closed = load(Draft { connections: 20, ..plan() });
    let open = load(Draft { connections: 20, ..at_rate(200_000_000, 10 * S) });
    for plan in [closed, open] {
        let script =
            move |_, at_ns| if hangs(at_ns) { Answer::Hang } else { Answer::Status(200, MS) };
        let want = outage(&run(&plan, &SimOptions::default(), |_| script));
        assert!((0.2..0.35).contains(&want.share), "{want:?}");
        for (connections, streams) in [(20, 1), (2, 10)] {
            // One that hangs may still send frames.
            for change in [None, Some(Change::Ping)] {
                let script = move |asked: &Asked| match hangs(asked.at_ns) {
                    true => Reply { fate: Fate::Hangs, change, ..Reply::ok(MS) },
                    false => Reply::ok(MS),
                };
                let plan = over_http2(connections, streams, plan.clone());
                let sim = SimOptions::default();
                let (ran, logs) = run_http2(&plan, &sim, Hello::default(), |_| script);
                let found = outage(&ran);
                let what = format!("{connections} connections, {change:?}: {found:?}, {want:?}");
                assert_near(found.share, want.share, &what);
                assert_near(found.longest_ns as f64 / 1e10, want.longest_ns as f64 / 1e10, &what);
                // A connection that stays silent is given up, whatever frames come.
                assert!(logs[0].did.connections > u64::from(connections), "{what}");
                assert_eq!(logs[0].did.violations, Vec::<String>::new());
            }
        }
    }
}

#[test]
fn requests_that_time_out_beside_others_that_are_answered_are_no_outage() {
    for (streams, every) in [(10, 20), (2, 7), (1, 2)] {
        for load in [plan(), at_rate(500_000_000, S)] {
            let load = Draft { timeout_ns: 50 * MS, duration_ns: Some(2 * S), ..load };
            let script = move |asked: &Asked| match asked.number % every {
                1 => Reply { fate: Fate::Hangs, ..Reply::ok(MS) },
                _ => Reply::ok(MS),
            };
            let plan = over_http2(1, streams, load);
            let sim = SimOptions::default();
            let (ran, _) = run_http2(&plan, &sim, Hello::default(), |_| script);
            let (ledger, outage) = (ran.sum().ledger, outage(&ran));
            assert!(ledger.timed_out > 5, "{ledger:?}");
            assert_eq!((outage.cut_off_ns, ledger.reconnects), (0, 0), "{streams}: {ledger:?}");
        }
    }
}

/// When a condition ends a run whose server dies at 3.5 s.
fn ended_after(plan: Draft, condition: &str) -> Option<u64> {
    let plan = Draft { abort_when: vec![condition.to_owned()], ..plan };
    let ran = run(&plan, &dead(3500 * MS, 100 * S), |_| |_, _| Answer::Status(200, 20 * MS));
    // The points of a series no longer have what waits, so the workers' own are looked at.
    let mut watch = AbortWatch::new(&[Condition::parse_abort(condition, &[]).unwrap()], &plan);
    ran.points.iter().find(|point| watch.add(point).is_some()).map(|point| point.t_ns / S + 1)
}

#[test]
fn conditions_see_what_waits() {
    let open = Draft { connections: 10, ..at_rate(100_000_000, 20 * S) };
    let closed = Draft { connections: 10, duration_ns: Some(20 * S), ..plan() };
    for (plan, condition, want) in [
        (&open, "errors>20%", Some(5)),
        (&open, "errors@last:2s>50%", Some(5)),
        (&open, "errors>90%", None),
        (&open, "p99>1s", Some(5)),
        (&open, "p99@last:2s>3s", Some(7)),
        (&open, "outage>20%", Some(5)),
        (&closed, "errors>20%", Some(5)),
        (&closed, "errors@last:1s>90%", Some(5)),
    ] {
        assert_eq!(ended_after(plan.clone(), condition), want, "{condition}");
    }
    // Nothing of the kind where the server is well, slow as it may be.
    for condition in ["errors>0.1%", "p99>2100ms", "outage>0.1%"] {
        let load = Draft { connections: 1000, ..at_rate(100_000_000, 10 * S) };
        let plan = Draft { abort_when: vec![condition.to_owned()], ..load };
        let ran = run(&plan, &SimOptions::default(), |_| |_, _| Answer::Status(200, 2 * S));
        let mut watch = AbortWatch::new(&[Condition::parse_abort(condition, &[]).unwrap()], &plan);
        assert!(ran.points.iter().all(|point| watch.add(point).is_none()), "{condition}");
    }
}
