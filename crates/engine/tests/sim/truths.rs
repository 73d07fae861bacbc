//! Runs whose outcome can be worked out on paper.

use std::collections::BTreeMap;

use plimsoll_core::Phase;
use plimsoll_core::histogram::Histogram;
use plimsoll_core::plan::Draft;
use plimsoll_core::schedule::{Arrival, Profile, parse_stages};
use plimsoll_io::sim::{SimOptions, Window};

use crate::peer::Answer;
use crate::world::{MS, S, assert_quantile, at_rate, plan, run};

/// A delivery takes 10 µs each way by default.
const ROUND_TRIP: u64 = 20_000;

fn always(answer: Answer) -> impl Fn(u32) -> Box<dyn FnMut(u64, u64) -> Answer> {
    move |_| Box::new(move |_, _| answer)
}

#[test]
fn requests_arrive_when_the_schedule_says() {
    for (rate_uhz, duration_ns, connections, want) in [
        (1_000_000_000, S, 7, 1000),
        (997_000_000, 2 * S, 64, 1994),
        (7_000_000, 3 * S, 1, 21),
        (500_000, 10 * S, 64, 5),
        (100_003_000_000, S / 10, 64, 10_001),
    ] {
        let plan = Draft { connections, ..at_rate(rate_uhz, duration_ns) };
        let ran = run(&plan, &SimOptions::default(), always(Answer::Status(200, 1000)));
        let log = ran.logs[0].borrow();
        assert_eq!(log.arrivals_ns.len(), want, "{rate_uhz}");
        let profile = plan.rate.as_ref().unwrap();
        for (index, arrival_ns) in (0..).zip(&log.arrivals_ns) {
            let due_ns = ran.starts_ns[0] + profile.due_ns(index);
            assert_eq!(*arrival_ns, due_ns + ROUND_TRIP / 2, "slot {index} at {rate_uhz}");
        }
        let sum = ran.sum();
        assert_eq!(sum.delays.lateness.max_ns(), Some(0));
        assert_eq!(sum.by_outcome.ok.min_ns(), sum.by_outcome.ok.max_ns());
        assert_eq!(sum.by_outcome.ok.max_ns(), Some(ROUND_TRIP + 1000));
    }
}

/// The response time of those who came into a stall of `S` in a run of `T`:
/// P(L > x) = (S - x) / T.
#[test]
fn a_stall_of_a_second_stands_in_the_response_time_and_not_in_the_service_time() {
    let sim = SimOptions {
        peer_stalled: Some(Window { at_ns: 2 * S + 4 * S, for_ns: S }),
        ..SimOptions::default()
    };
    let open = Draft { connections: 100, ..at_rate(1_000_000_000, 10 * S) };
    let ran = run(&open, &sim, always(Answer::Status(200, 1000)));
    let sum = ran.sum();
    let response = sum.response();
    assert_eq!(sum.ledger.completed, 10_000);
    assert_quantile(&response, 0.5, ROUND_TRIP + 1000, 0);
    assert_quantile(&response, 0.95, S / 2, 3 * MS);
    assert_quantile(&response, 0.99, 9 * S / 10, 3 * MS);
    assert_quantile(&response, 1.0, S, 3 * MS);
    // A hundred connections were caught in it; the backlog went out when it was over.
    assert!(sum.service.quantile_ns(0.98).unwrap() < MS);
    assert_eq!(sum.service.count() - sum.service.count_at_most(MS), 100);

    let closed = Draft { connections: 10, duration_ns: Some(10 * S), ..plan() };
    let ran = run(&closed, &sim, always(Answer::Status(200, 100_000)));
    let sum = ran.sum();
    let slow = sum.service.count() - sum.service.count_at_most(500 * MS);
    assert_eq!(slow, 10, "a closed loop sees one slow request for each connection");
    assert!(sum.service.quantile_ns(0.9999).unwrap() < MS);
}

/// Half of the requests take longer than what is left of the run: all of them count.
#[test]
fn slow_requests_open_at_the_end_count() {
    let plan = Draft { connections: 400, drain_ns: 10 * S, ..at_rate(100_000_000, 2 * S) };
    let ran = run(&plan, &SimOptions::default(), |_| {
        |number, _| Answer::Status(200, if number % 2 == 0 { 5 * S } else { MS })
    });
    let sum = ran.sum();
    assert_eq!((sum.ledger.sent, sum.ledger.completed), (200, 200));
    let slow = sum.response().count() - sum.response().count_at_most(4 * S);
    assert_eq!(slow, 100);
    assert_quantile(&sum.response(), 0.75, 5 * S + ROUND_TRIP, MS);
}

/// Slots behind connections that hang are settled a bucket at a time, as if one by one.
#[test]
fn slots_that_found_no_connection_count_one_by_one() {
    for (workers, connections, warmup_ns, stages) in
        [(1, 1, 0, "2s@100k"), (3, 7, 0, "2s@30k"), (2, 2, S, "2s@10k"), (1, 3, 0, "1s@0..5k")]
    {
        let profile = Profile { stages: parse_stages(stages).unwrap(), arrival: Arrival::Uniform };
        let window_ns = profile.duration_ns().unwrap();
        let slots = profile.total().unwrap();
        let plan = Draft {
            workers,
            connections,
            warmup_ns,
            duration_ns: Some(window_ns),
            rate: Some(profile.clone()),
            timeout_ns: 60 * S,
            drain_ns: 0,
            ..plan()
        };
        let ran = run(&plan, &SimOptions::default(), always(Answer::Hang));
        let sum = ran.sum();
        let sent = if warmup_ns > 0 { 0 } else { u64::from(connections) };
        assert_eq!((sum.ledger.unsent, sum.ledger.sent), (slots - sent, sent), "{stages}");
        let mut want = Histogram::new();
        for index in sent..slots {
            want.record(window_ns - profile.due_ns(index));
        }
        let mut found: BTreeMap<u64, u64> = sum.by_outcome.incomplete.buckets().collect();
        for (value_ns, count) in want.buckets() {
            let found = found.entry(value_ns).or_default();
            *found = found.checked_sub(count).expect(stages);
        }
        assert_eq!(found.values().sum::<u64>(), sent, "{stages}");
        assert_eq!(sum.by_outcome.incomplete.min_ns(), want.min_ns(), "{stages}");
        if sent == 0 {
            assert_eq!(sum.by_outcome.incomplete.max_ns(), want.max_ns(), "{stages}");
            let mean_ns = sum.by_outcome.incomplete.mean_ns().unwrap();
            assert!((mean_ns - want.mean_ns().unwrap()).abs() < 1.0, "{stages}: {mean_ns}");
        }
    }
}

#[test]
fn ten_thousand_million_slots_without_a_connection_cost_no_time() {
    let plan = Draft {
        connections: 1,
        timeout_ns: 60 * S,
        drain_ns: 0,
        ..at_rate(1_000_000_000_000_000, 10 * S)
    };
    let ran = run(&plan, &SimOptions::default(), always(Answer::Hang));
    let sum = ran.sum();
    assert_eq!((sum.ledger.sent, sum.ledger.unsent), (1, 9_999_999_999));
    assert_eq!(sum.by_outcome.incomplete.min_ns(), Some(1));
    assert_quantile(&sum.by_outcome.incomplete, 0.5, 5 * S, 10 * MS);
    assert_quantile(&sum.by_outcome.incomplete, 0.999, 9_990 * MS, 10 * MS);
}

#[test]
fn requests_hung_at_the_end_count_as_at_least_the_time_they_waited() {
    let plan = Draft { connections: 400, drain_ns: S, ..at_rate(100_000_000, 2 * S) };
    let ran = run(&plan, &SimOptions::default(), |_| {
        |number, _| if number % 2 == 0 { Answer::Hang } else { Answer::Status(200, MS) }
    });
    let sum = ran.sum();
    assert_eq!((sum.ledger.completed, sum.ledger.unfinished), (100, 100));
    // The first was sent at 0, the last at 1.98 s; the drain ended at 3 s.
    assert_quantile(&sum.by_outcome.incomplete, 1.0, 3 * S, MS);
    assert_quantile(&sum.by_outcome.incomplete, 0.0, 3 * S - 1_980 * MS, MS);
    assert_eq!(sum.response().count(), 200);
    assert_quantile(&sum.response(), 0.75, 2 * S, 25 * MS);
}

#[test]
fn timed_out_requests_count_as_the_timeout_and_their_connection_is_replaced() {
    let plan = Draft { connections: 50, timeout_ns: S, ..at_rate(100_000_000, 10 * S) };
    let ran = run(&plan, &SimOptions::default(), |_| {
        |number, _| if number % 50 == 7 { Answer::Hang } else { Answer::Status(200, MS) }
    });
    let sum = ran.sum();
    assert_eq!((sum.ledger.sent, sum.ledger.timed_out), (1000, 20));
    // The last two ran out after the end, when nothing is opened any more.
    assert_eq!(sum.ledger.reconnects, 18);
    assert_eq!(
        (sum.by_outcome.incomplete.min_ns(), sum.by_outcome.incomplete.max_ns()),
        (Some(S), Some(S))
    );
    assert_quantile(&sum.response(), 0.97, MS + ROUND_TRIP, 0);
    assert_quantile(&sum.response(), 0.985, S, 0);
    let errors: Vec<_> = sum.errors.iter().map(|e| (e.phase, e.kind.as_str(), e.count)).collect();
    assert_eq!(errors, [(Phase::Waiting, "timeout", 20)]);
}

#[test]
fn what_finds_no_connection_is_unsent_and_counted_with_its_wait() {
    let plan = Draft { connections: 1, drain_ns: 10 * S, ..at_rate(10_000_000, S) };
    let ran = run(&plan, &SimOptions::default(), always(Answer::Status(200, 400 * MS)));
    let sum = ran.sum();
    let ledger = sum.ledger;
    assert_eq!((ledger.scheduled, ledger.sent, ledger.unsent), (10, 3, 7));
    assert_eq!(sum.response().count(), 10);
    // The fourth slot was due at 300 ms and had waited 700 ms at the end.
    assert_quantile(&sum.by_outcome.incomplete, 1.0, 700 * MS, 0);
}

#[test]
fn the_phases_of_one_connection_per_request_sum_to_the_response_time() {
    let plan =
        Draft { requests_per_connection: Some(1), connections: 3, ..at_rate(100_000_000, S) };
    let sim = SimOptions { latency_ns: 1_000_000..1_000_001, ..SimOptions::default() };
    let ran = run(&plan, &sim, always(Answer::LastOne(5 * MS)));
    let sum = ran.sum();
    assert_eq!(sum.ledger.completed, 100);
    assert_eq!(ran.logs[0].borrow().connections, 100);
    let phases = [
        &sum.phases[Phase::Blocked],
        &sum.delays.lateness,
        &sum.phases[Phase::Connect],
        &sum.phases[Phase::Sending],
        &sum.phases[Phase::Waiting],
        &sum.phases[Phase::Receiving],
    ];
    let total: u64 = phases.iter().map(|phase| phase.sum_ns()).sum();
    assert_eq!(total, sum.response().sum_ns());
    assert!(sum.phases[Phase::Connect].min_ns().unwrap() >= MS, "a connect takes a round trip");
}

#[test]
fn a_server_that_dies_is_not_hammered_and_the_run_resumes_when_it_is_back() {
    let dead = Window { at_ns: 2 * S + 3 * S, for_ns: 2 * S };
    let sim = SimOptions { peer_dead: Some(dead), ..SimOptions::default() };
    let plan = Draft { connections: 20, ..at_rate(1_000_000_000, 10 * S) };
    let ran = run(&plan, &sim, always(Answer::Status(200, 100_000)));
    let sum = ran.sum();
    assert_eq!((sum.ledger.scheduled, sum.ledger.unsent), (10_000, 0));
    let refused: u64 =
        sum.errors.iter().filter(|error| error.kind == "refused").map(|error| error.count).sum();
    // 10, 20, 40 ms … up to a second: about 8 attempts for each connection in two seconds.
    assert!((20..=20 * 10).contains(&refused), "{refused} connects refused");
    assert_eq!(sum.ledger.reconnects, 20);
    assert!(sum.ledger.broken <= 20);
    // Those who came at the beginning of the outage waited for all of it and the backoff.
    let worst_ns = sum.response().max_ns().unwrap();
    assert!((2 * S..4 * S).contains(&worst_ns), "{worst_ns}");
    let down = &ran.series.points()[4];
    assert_eq!(down.completed, 0, "the outage shows in the series");
}

#[test]
fn exactly_n_also_over_workers_and_connections_that_end() {
    for (requests, workers, per_connection) in [(1, 1, None), (12_345, 3, None), (1000, 2, Some(7))]
    {
        let plan = Draft {
            requests: Some(requests),
            duration_ns: None,
            workers,
            requests_per_connection: per_connection,
            ..plan()
        };
        let ran = run(&plan, &SimOptions::default(), always(Answer::Status(200, 1000)));
        let ledger = ran.sum().ledger;
        assert_eq!((ledger.scheduled, ledger.completed), (requests, requests));
        assert_eq!(ran.arrivals() as u64, requests);
    }
}

#[test]
fn warm_up_is_kept_apart_and_nothing_is_lost_between() {
    let plan = Draft { warmup_ns: 2 * S, ..at_rate(100_000_000, S) };
    let ran = run(&plan, &SimOptions::default(), |_| {
        |_, now_ns| Answer::Status(200, if now_ns < 4 * S { 20 * MS } else { MS })
    });
    let record = &ran.records[0];
    let warmup = record.warmup.as_ref().unwrap();
    assert_eq!((warmup.ledger.scheduled, warmup.ledger.completed), (200, 200));
    assert_eq!((record.measured.ledger.scheduled, record.measured.ledger.completed), (100, 100));
    assert_eq!(record.measured.by_outcome.ok.max_ns(), Some(MS + ROUND_TRIP));
    assert_eq!(ran.arrivals(), 300);
}

/// Little's law: with one connection, throughput times mean latency is one.
#[test]
fn a_closed_loop_of_one_obeys_littles_law() {
    let plan = Draft { connections: 1, ..plan() };
    let ran = run(&plan, &SimOptions::default(), always(Answer::Status(200, 480_000)));
    let sum = ran.sum();
    let concurrency = sum.ledger.completed as f64 * sum.service.mean_ns().unwrap()
        / ran.records[0].elapsed_ns as f64;
    assert!((0.97..=1.0).contains(&concurrency), "{concurrency}");
}

#[test]
fn a_pause_of_the_tester_is_noticed() {
    let pause = Window { at_ns: 2 * S + 500 * MS, for_ns: 500 * MS };
    let sim = SimOptions { pause: Some(pause), ..SimOptions::default() };
    let ran = run(&at_rate(100_000_000, 2 * S), &sim, always(Answer::Status(200, MS)));
    let pauses = &ran.records[0].pauses;
    assert_eq!(pauses.len(), 1, "{pauses:?}");
    assert!(pauses[0].for_ns.abs_diff(500 * MS) < 60 * MS, "{pauses:?}");
    assert!(pauses[0].at_ns.abs_diff(500 * MS) < 60 * MS, "{pauses:?}");
    let quiet =
        run(&at_rate(100_000_000, 2 * S), &SimOptions::default(), always(Answer::Status(200, MS)));
    assert!(quiet.records[0].pauses.is_empty());
}

#[test]
fn poisson_arrivals_have_the_spread_of_poisson_and_even_ones_none() {
    let dispersion = |arrival| {
        let rate = Profile::constant(10_000_000_000, Some(2 * S), arrival);
        let plan = Draft { connections: 256, rate: Some(rate), duration_ns: Some(2 * S), ..plan() };
        let ran = run(&plan, &SimOptions::default(), always(Answer::Status(200, 1000)));
        let mut bins = vec![0f64; 2000];
        for arrival_ns in &ran.logs[0].borrow().arrivals_ns {
            let bin = (arrival_ns - ran.starts_ns[0] - ROUND_TRIP / 2) / MS;
            bins[bin as usize] += 1.0;
        }
        let mean = bins.iter().sum::<f64>() / 2000.0;
        bins.iter().map(|bin| (bin - mean).powi(2)).sum::<f64>() / 2000.0 / mean
    };
    assert!(dispersion(Arrival::Uniform) < 0.01);
    assert!((dispersion(Arrival::Poisson) - 1.0).abs() < 0.15);
}

/// A server may say that it closes and take its time to do so. Nothing more is sent meanwhile.
#[test]
fn a_connection_that_will_be_closed_is_not_used_again() {
    let plan = Draft { connections: 1, pipeline: 4, ..at_rate(100_000_000, 10 * S) };
    let ran = run(&plan, &SimOptions::default(), |_| {
        |number, _| {
            if number % 10 == 9 {
                Answer::LastOneSlowly(MS, 300 * MS)
            } else {
                Answer::Status(200, MS)
            }
        }
    });
    let ledger = ran.sum().ledger;
    assert_eq!(ledger.check(), Ok(()));
    assert_eq!(ledger.scheduled, 1000);
    assert!(ledger.reconnects > 10, "{ledger:?}");
}

/// A server may say that it closes, and do it late or never: users don't wait for it long.
#[test]
fn a_server_that_says_it_closes_and_does_not_costs_its_users_little() {
    // How often the close comes later than the response that announces it, 1 in N, and how much.
    for (what, late_every, late_ns) in [
        ("closes", 0, 0),
        ("never closes", 1, 1000 * S),
        ("closes mostly", 50, 1000 * S),
        ("closes late", 1, 30 * MS),
        ("closes a little late", 1, 5 * MS),
    ] {
        let script = move |number: u64, _| match (number + 1).is_multiple_of(late_every) {
            true => Answer::LastOneSlowly(MS, late_ns),
            false => Answer::LastOne(MS),
        };
        for workers in [1, 2] {
            let plan = Draft { connections: 2, workers, duration_ns: Some(21 * S), ..plan() };
            let ran = run(&plan, &SimOptions::default(), |_| script);
            let ledger = ran.sum().ledger;
            assert_eq!(ledger.completed, ledger.scheduled, "{what}: {ledger:?}");
            let per_user_s = ledger.completed as f64 / 21.0 / 2.0;
            // A response takes two round trips: one to connect, one to answer.
            let ideal_per_s = S as f64 / (MS + 2 * ROUND_TRIP) as f64;
            let share = per_user_s / ideal_per_s;
            assert!((0.97..=1.01).contains(&share), "{what}, {workers} workers: {share:.3}");
        }
    }
}

/// A connect that fails took as long as it took, on both clocks.
#[test]
fn a_request_whose_connect_times_out_took_the_timeout() {
    let plan = Draft {
        connections: 2,
        requests_per_connection: Some(1),
        timeout_ns: 500 * MS,
        duration_ns: Some(2 * S),
        ..plan()
    };
    let sim = SimOptions { accept_delay_ns: 3600 * S..3600 * S + 1, ..SimOptions::default() };
    let sim = SimOptions { latency_ns: 900 * MS..900 * MS + 1, ..sim };
    let sum = run(&plan, &sim, always(Answer::Status(200, 0))).sum();
    assert!(sum.ledger.timed_out > 0, "{:?}", sum.ledger);
    assert_eq!(sum.service.min_ns(), Some(500 * MS));
}

/// One request that hangs until the drain ends does not change the rate of the others.
#[test]
fn a_hung_request_does_not_change_the_rate() {
    let plan = Draft { connections: 10, duration_ns: Some(S), ..plan() };
    let ran = run(&plan, &SimOptions::default(), |_| {
        |number, _| if number == 5 { Answer::Hang } else { Answer::Status(200, MS) }
    });
    let record = &ran.records[0];
    assert_eq!(record.measured.ledger.unfinished, 1);
    assert!(record.elapsed_ns >= 11 * S, "the drain was waited for");
    assert!(record.answered_ns < S + 10 * MS, "{}", record.answered_ns);
    assert_eq!(record.window_ns, S);
}

#[test]
fn when_the_server_stays_dead_a_run_of_n_requests_ends() {
    let dead = Window { at_ns: 2 * S + S, for_ns: 3600 * S };
    let sim = SimOptions { peer_dead: Some(dead), ..SimOptions::default() };
    let plan = Draft { requests: Some(1_000_000), duration_ns: None, timeout_ns: 5 * S, ..plan() };
    let ran = run(&plan, &sim, always(Answer::Status(200, MS)));
    let ledger = ran.sum().ledger;
    assert!(ledger.sent < 1_000_000 && ledger.completed > 1000, "{ledger:?}");
    assert!(ran.records[0].elapsed_ns < 10 * S);
}

/// One request hangs through the drain while another connection is free and slots are left over:
/// there is nothing to do but wait.
#[test]
fn a_drain_sleeps() {
    let plan = Draft { connections: 2, drain_ns: 10 * S, ..at_rate(10_000_000, S) };
    let ran = run(&plan, &SimOptions::default(), |_| {
        |number, _| if number == 0 { Answer::Hang } else { Answer::Status(200, 400 * MS) }
    });
    let ledger = ran.sum().ledger;
    assert_eq!((ledger.sent, ledger.unfinished, ledger.unsent), (4, 1, 6));
    // Twenty times a second it looks whether it was stopped itself.
    assert!(ran.waits < 500, "{} waits in 11 s", ran.waits);
}
