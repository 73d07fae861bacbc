//! The whole engine over a multiplexed protocol: requests of one connection are answered in any
//! order, refused, reset and given up one by one, and connections end with a goodbye.

use plimsoll_core::plan::{Body, Draft};
use plimsoll_core::protocol::ProtocolCounts;
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::{Histogram, Phase};
use plimsoll_engine::Signals;
use plimsoll_io::sim::SimOptions;

use crate::manners::{Did, Fates, Manners};
use crate::seeds::{Dice, check, random_network};
use crate::toy::Toy;
use crate::toy_server::ToyServer;
use crate::world::{MS, Ran, plan, run_over};

const SEEDS: u64 = 1000;
/// Streams that the client wants on a connection.
pub(crate) const STREAMS: usize = 8;

pub(crate) fn random_plan(dice: &mut Dice) -> Draft {
    let connections = dice.between(1, 6) as u32;
    // Some are longer than a body is held back for.
    let duration_ns = dice.between(50, 1500) * MS;
    let mut plan = Draft {
        connections,
        workers: dice.between(1, u64::from(connections.min(2)) + 1) as u32,
        duration_ns: Some(duration_ns),
        // Longer than any answer takes, so that only what hangs times out.
        timeout_ns: 300 * MS,
        drain_ns: 1000 * MS,
        requests_per_connection: dice.chance(20).then(|| dice.between(1, 40)),
        seed: dice.between(0, 1 << 40),
        resends: dice.chance(50),
        ..plan()
    };
    if dice.chance(60) {
        let rate_uhz = dice.between(10_000_000, 2_000_000_000);
        let arrival = if dice.chance(30) { Arrival::Poisson } else { Arrival::Uniform };
        plan.rate = Some(Profile::constant(rate_uhz, Some(duration_ns), arrival));
    }
    if dice.chance(30) {
        let fits = plan.rate.as_ref().and_then(Profile::total).unwrap_or(200);
        plan.requests = Some(dice.between(1, fits.clamp(1, 199) + 1));
    }
    if dice.chance(30) {
        plan.expect = vec!["body*=hello".parse().unwrap(), "header:server=toy".parse().unwrap()];
    }
    plan.endpoint.path = "/{{seq}}".into();
    if dice.chance(40) {
        plan.request.method = "POST".to_owned();
        plan.request.body = Some(Body::new(b"{{seq}}".to_vec()));
        plan.request.expect_continue = dice.chance(50);
    }
    plan
}

pub(crate) fn random_manners(dice: &mut Dice, plan: &Draft) -> Manners {
    let mut share = |most: u64| if dice.chance(50) { dice.between(0, most) } else { 0 };
    let [refuses, resets, hangs, says_goodbye, fails] = [30, 30, 10, 10, 30].map(&mut share);
    let has_window = plan.request.body.is_some() && dice.chance(50);
    Manners {
        refuses,
        resets,
        hangs,
        says_goodbye,
        fails,
        continues: if has_window || dice.chance(50) { 0 } else { dice.between(0, 100) },
        grows: 5,
        streams: dice.between(1, 12),
        hello_ns: dice.between(0, 20) * MS,
        window: has_window.then(|| dice.between(0, 4)),
    }
}

fn run(seed: u64, plan: &Draft, sim: &SimOptions, manners: Manners) -> (Ran, Vec<Did>) {
    let mut dids = Vec::new();
    let peer = |worker: u32| {
        let (server, did) = ToyServer::new(seed ^ u64::from(worker) << 32, manners);
        dids.push(did);
        Box::new(server) as Box<dyn plimsoll_io::sim::Peer>
    };
    let ran = run_over::<Toy>(plan, sim, &STREAMS, peer, &Signals::default(), Vec::new());
    (ran, dids.iter().map(|did| did.take()).collect())
}

/// A network without faults, but for pieces of any size.
pub(crate) fn calm(dice: &mut Dice, seed: u64) -> SimOptions {
    SimOptions {
        seed,
        latency_ns: 10_000..10_001 + dice.between(0, MS),
        split: dice.between(0, 700) as f64 / 1000.0,
        partial_write: dice.between(0, 300) as f64 / 1000.0,
        readiness: dice.chance(40),
        ..SimOptions::default()
    }
}

#[test]
fn each_request_is_told_of_as_what_the_server_did_with_it() {
    let mut seen = Did::default();
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let plan = random_plan(&mut dice);
        let manners = random_manners(&mut dice, &plan);
        let (ran, dids) = run(seed, &plan, &calm(&mut dice, seed), manners);
        let sum = ran.sum();
        let ledger = sum.ledger;
        let total = |of: fn(&Did) -> u64| dids.iter().map(of).sum::<u64>();
        let context = || format!("seed {seed}: {ledger:?}\n{manners:?}\n{dids:?}\n{plan:?}");
        for did in &dids {
            assert!(did.violations.is_empty(), "{}", context());
        }
        ledger.check().unwrap_or_else(|error| panic!("{error}, {}", context()));
        let truth = Fates::truth(&dids);
        if plan.resends {
            assert!(Fates::told(&ledger).fits_resent(truth, &ledger), "{truth:?} {}", context());
        } else {
            assert_eq!(Fates::told(&ledger), truth, "{}", context());
        }
        // The run may end before the server hears of the last one.
        assert!(total(|did| did.cancelled) <= ledger.timed_out, "{}", context());
        if manners.says_goodbye == 0 && plan.requests_per_connection.is_none() {
            assert_eq!(
                ledger.reconnects,
                0,
                "a connection was closed for no reason, {}",
                context()
            );
        }
        let bodies = total(|did| did.bodies);
        if plan.request.body.is_none() {
            assert_eq!(bodies, 0, "{}", context());
        } else if !plan.request.expect_continue {
            assert_eq!(bodies, ledger.sent + ledger.resent, "{}", context());
        }
        assert_eq!(sum.response().count(), ledger.scheduled, "{}", context());
        assert_eq!(sum.service.count(), ledger.sent, "{}", context());
        let greetings = &sum.phases[Phase::Greeting];
        let opened = ran.records.iter().map(|record| record.connections.opened).sum::<u64>();
        assert_eq!(greetings.count(), opened, "{}", context());
        assert!(opened <= total(|did| did.connections), "{}", context());
        let carried = ProtocolCounts {
            name: "toy".to_owned(),
            connections: opened,
            sent: ledger.sent + ledger.resent,
            completed: ledger.completed,
            ..ProtocolCounts::default()
        };
        assert_eq!(sum.protocols, [carried], "{}", context());
        let held_ns = || dids.iter().flat_map(|did| &did.held_ns);
        let stalled = &sum.phases[Phase::Stalled];
        assert_eq!(stalled.count(), held_ns().count() as u64, "{}", context());
        assert!(stalled.sum_ns() >= held_ns().sum(), "{}", context());
        // The way there and back takes no longer than 2 ms.
        let greeting_ns = greetings.min_ns().map(|ns| ns + 2 * MS);
        assert!(greeting_ns.is_none_or(|ns| ns >= manners.hello_ns), "{}", context());
        for phase in [Phase::Sending, Phase::Waiting, Phase::Receiving] {
            assert_eq!(sum.phases[phase].count(), ledger.completed, "{phase:?}, {}", context());
        }
        assert!(sum.by_outcome.ok.min_ns().is_none_or(|ns| ns >= 20_000), "{}", context());
        seen.bodies += if plan.request.expect_continue { bodies } else { 0 };
        seen.answered += total(|did| did.answered);
        seen.refused += total(|did| did.refused);
        seen.reset += total(|did| did.reset);
        seen.cancelled += total(|did| did.cancelled);
        seen.goodbyes += total(|did| did.goodbyes);
        seen.pongs += total(|did| did.pongs);
    }
    let Did { answered, refused, reset, cancelled, goodbyes, pongs, bodies, .. } = seen;
    let all = [answered, refused, reset, cancelled, goodbyes, pongs, bodies];
    assert!(all.iter().all(|count| *count > 1000), "too little happened: {all:?}");
}

/// Over a network on which each delivery takes the same time, a body that the server has no room
/// for is held back for as long as the server did that, the way there and the way back.
#[test]
fn a_body_is_stalled_for_as_long_as_the_server_holds_it_back() {
    let mut stalls = 0;
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let mut plan = random_plan(&mut dice);
        plan.resends = false;
        plan.request.method = "POST".to_owned();
        plan.request.body = Some(Body::new(b"{{seq}}".to_vec()));
        let window = Some(dice.between(0, 3));
        let manners = Manners { window, continues: 0, ..random_manners(&mut dice, &plan) };
        let way_ns = dice.between(10_000, MS);
        let sim = SimOptions {
            seed,
            latency_ns: way_ns..way_ns + 1,
            split: dice.between(0, 700) as f64 / 1000.0,
            ..SimOptions::default()
        };
        let (ran, dids) = run(seed, &plan, &sim, manners);
        let sum = ran.sum();
        let mut want = Histogram::new();
        let held_ns = || dids.iter().flat_map(|did| &did.held_ns).copied();
        held_ns().for_each(|held_ns| want.record(held_ns + 2 * way_ns));
        let [stalled, sending] = [Phase::Stalled, Phase::Sending].map(|phase| &sum.phases[phase]);
        let context = || format!("seed {seed}: {manners:?}\n{dids:?}\n{plan:?}");
        assert!(dids.iter().all(|did| did.violations.is_empty()), "{}", context());
        let figures = |histogram: &Histogram| {
            let ends_ns = [histogram.min_ns(), histogram.max_ns()];
            (histogram.sum_ns(), ends_ns, histogram.buckets().collect::<Vec<_>>())
        };
        assert_eq!(figures(stalled), figures(&want), "{}", context());
        // Each is a part of its own sending, and what was not held back was sent at once.
        assert_eq!(sum.disordered, 0, "{}", context());
        assert!(sending.sum_ns() >= stalled.sum_ns(), "{}", context());
        if !plan.request.expect_continue {
            assert_eq!(sending.sum_ns(), stalled.sum_ns(), "{}", context());
        }
        stalls += stalled.count();
    }
    assert!(stalls > 10_000, "{stalls} stalls");
}

#[test]
fn over_a_bad_network_every_request_is_accounted_for() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let plan = random_plan(&mut dice);
        let manners = random_manners(&mut dice, &plan);
        let network = random_network(&mut dice, seed);
        let (ran, dids) = run(seed, &plan, &network, manners);
        check(seed, &plan, &ran, false);
        let ledger = ran.sum().ledger;
        let total = |of: fn(&Did) -> u64| dids.iter().map(of).sum::<u64>();
        assert!(ledger.completed <= total(|did| did.answered), "seed {seed}: {ledger:?}");
        let sent = ledger.sent + ledger.resent;
        assert!(total(|did| did.requests) <= sent, "seed {seed}: {ledger:?}");
        let violations: Vec<&String> = dids.iter().flat_map(|did| &did.violations).collect();
        assert!(violations.is_empty(), "seed {seed}: {violations:?}");
    }
}

/// Answers all requests, as soon as it likes.
fn good_manners(streams: u64) -> Manners {
    Manners {
        refuses: 0,
        resets: 0,
        hangs: 0,
        says_goodbye: 0,
        fails: 0,
        continues: 0,
        grows: 5,
        streams,
        hello_ns: 0,
        window: None,
    }
}

/// A server that answers nothing and allows a stream more with each request is sent as many as the
/// client wants.
#[test]
fn more_room_is_used_at_once() {
    let manners = Manners { hangs: 100, grows: 100, ..good_manners(1) };
    let plan = Draft { connections: 1, duration_ns: Some(100 * MS), drain_ns: 0, ..plan() };
    let (ran, dids) = run(1, &plan, &SimOptions::default(), manners);
    assert_eq!((dids[0].requests, &dids[0].violations), (STREAMS as u64, &Vec::new()));
    assert_eq!(ran.sum().ledger.unfinished, STREAMS as u64);
}

/// Users of a server that allows no stream can send nothing, so that nothing fails: they are cut
/// off, as behind a server that takes no connections.
#[test]
fn a_server_that_allows_no_stream_cuts_its_users_off() {
    let plan = Draft { connections: 2, duration_ns: Some(1000 * MS), drain_ns: 0, ..plan() };
    for (streams, want) in [(0, 1.0), (8, 0.0)] {
        let (ran, dids) = run(1, &plan, &SimOptions::default(), good_manners(streams));
        let sent = ran.sum().ledger.sent;
        assert_eq!((sent == 0, dids[0].requests), (streams == 0, sent));
        let outage = ran.records[0].outage;
        assert!((outage.share - want).abs() < 0.01, "{streams}: {outage:?}");
    }
}

/// A server that answers without the body leaves the connection as it is.
#[test]
fn a_body_that_nobody_asked_for_ends_no_connection() {
    let duration_ns = 5000 * MS;
    let rate = Profile::constant(700_000, Some(duration_ns), Arrival::Uniform);
    let mut plan =
        Draft { connections: 1, rate: Some(rate), duration_ns: Some(duration_ns), ..plan() };
    plan.request.method = "POST".to_owned();
    plan.request.body = Some(Body::new(b"{{seq}}".to_vec()));
    plan.endpoint.path = "/{{seq}}".into();
    plan.request.expect_continue = true;
    let (ran, dids) = run(1, &plan, &SimOptions::default(), good_manners(8));
    let ledger = ran.sum().ledger;
    assert_eq!((ledger.completed, ledger.reconnects), (4, 0));
    assert_eq!((dids[0].requests, dids[0].bodies, dids[0].connections), (4, 0, 1));
}

/// A body is held back for a second, each from the start of its own request.
#[test]
fn each_body_is_held_back_for_its_own_time() {
    let duration_ns = 1200 * MS;
    let rate = Profile::constant(2_000_000, Some(duration_ns), Arrival::Uniform);
    let mut plan = Draft {
        connections: 1,
        rate: Some(rate),
        duration_ns: Some(duration_ns),
        timeout_ns: 10_000 * MS,
        drain_ns: 0,
        ..plan()
    };
    plan.request.method = "POST".to_owned();
    plan.request.body = Some(Body::new(b"{{seq}}".to_vec()));
    plan.endpoint.path = "/{{seq}}".into();
    plan.request.expect_continue = true;
    let manners = Manners { hangs: 100, ..good_manners(8) };
    let (_, dids) = run(1, &plan, &SimOptions::default(), manners);
    assert_eq!((dids[0].requests, dids[0].bodies), (3, 1));
}

/// At a rate that one stream could not hold, a server that allows one stream at first makes
/// requests wait. That wait is `blocked`: neither the tester's lateness nor the server's time.
#[test]
fn waiting_for_a_stream_is_waiting_for_a_connection() {
    let duration_ns = 1000 * MS;
    let rate = Profile::constant(1_000_000_000, Some(duration_ns), Arrival::Uniform);
    let one = Draft {
        connections: 1,
        rate: Some(rate),
        duration_ns: Some(duration_ns),
        drain_ns: 1000 * MS,
        ..plan()
    };
    let blocked_p50 = |streams| {
        let (ran, _) = run(7, &one, &SimOptions::default(), good_manners(streams));
        let sum = ran.sum();
        assert!(sum.delays.lateness.max_ns().unwrap() < MS, "{:?}", sum.delays.lateness.max_ns());
        assert!(sum.service.max_ns().unwrap() < 40 * MS, "{:?}", sum.service.max_ns());
        sum.phases[Phase::Blocked].quantile_ns(0.5).unwrap()
    };
    // About eighty requests a second fit on a stream, and the limit grows slowly.
    assert!(blocked_p50(1) > 100 * MS);
    // With as many as the client wants, eight streams hold more than half of the rate.
    assert!(blocked_p50(8) < blocked_p50(1));
}
