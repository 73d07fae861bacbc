//! A thousand seeds, each a random plan over a random network against a random server: whatever
//! happens, every request is accounted for and the schedule is kept.

use plimsoll_core::plan::{Body, Draft, Order, Request, Target};
use plimsoll_core::protocol::ProtocolCounts;
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_engine::Signals;
use plimsoll_io::sim::{SimOptions, Window};
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::peer::Answer;
use crate::world::{MS, Ran, START_NS, plan, run, run_told};

const SEEDS: u64 = 1000;

pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number from `from` up to, not including, `to`.
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.0.next_u64() % (to - from)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.between(0, 100) < percent
    }
}

fn random_plan(dice: &mut Dice) -> Draft {
    let connections = dice.between(1, 20) as u32;
    let duration_ns = dice.between(100, 3000) * MS;
    let mut plan = Draft {
        connections,
        workers: dice.between(1, u64::from(connections.min(3)) + 1) as u32,
        duration_ns: Some(duration_ns),
        warmup_ns: if dice.chance(20) { dice.between(1, 500) * MS } else { 0 },
        drain_ns: dice.between(0, 2000) * MS,
        timeout_ns: dice.between(20, 2000) * MS,
        requests_per_connection: if dice.chance(30) { Some(dice.between(1, 5)) } else { None },
        pipeline: if dice.chance(20) { dice.between(2, 5) as u32 } else { 1 },
        seed: dice.between(0, 1 << 40),
        ..plan()
    };
    if dice.chance(60) {
        let rate_uhz = dice.between(1, 500_000_000);
        let arrival = if dice.chance(30) { Arrival::Poisson } else { Arrival::Uniform };
        plan.rate = Some(Profile::constant(rate_uhz, Some(duration_ns), arrival));
    }
    if dice.chance(30) {
        let fits = plan.rate.as_ref().and_then(Profile::total).unwrap_or(400).max(1);
        plan.requests = Some(dice.between(1, fits.min(400) + 1));
        if plan.rate.is_none() && dice.chance(50) {
            plan.duration_ns = None;
        }
    }
    random_surface(dice, &mut plan);
    plan
}

/// What else a run can be asked for.
fn random_surface(dice: &mut Dice, plan: &mut Draft) {
    if plan.rate.is_some() {
        let room = plan.connections + dice.between(0, 10) as u32;
        plan.connections_max = dice.chance(20).then_some(room);
        plan.shed_after_ns = dice.chance(20).then(|| dice.between(1, 500) * MS);
    }
    plan.connection_lifetime_ns = dice.chance(20).then(|| dice.between(1, 500) * MS);
    if dice.chance(20) {
        plan.expect = vec!["body*=hello".parse().unwrap(), "header:x!=1".parse().unwrap()];
    }
    if dice.chance(30) {
        let target = |name: &str| Target {
            name: name.to_owned(),
            path: format!("/{name}?{{{{seq}}}}").into(),
            request: Request::get(),
            weight: 1,
            expect: Vec::new(),
        };
        plan.targets = vec![target("a"), target("b")];
        plan.order = Order::Random;
    }
    if plan.pipeline > 1 {
        return;
    }
    plan.redirects = if dice.chance(20) { dice.between(1, 4) as u32 } else { 0 };
    plan.cookies = dice.chance(20);
    if dice.chance(10) {
        plan.request.body = Some(Body::new(vec![b'x'; 100]));
        plan.request.expect_continue = true;
    }
    plan.joins_redirects = dice.chance(50);
}

/// Orders that come in the middle of some runs, and whether the rate was among them.
fn random_orders(dice: &mut Dice, plan: &Draft) -> (Signals, bool) {
    let signals = Signals::default();
    let changes_rate = plan.rate.is_some() && dice.chance(20);
    if changes_rate {
        let at_ns = START_NS + dice.between(0, 3000) * MS;
        signals.set_rate(at_ns, dice.between(1, 500_000_000)).unwrap();
    }
    if dice.chance(20) {
        let connections = dice.between(1, u64::from(plan.connections_limit()) + 1) as u32;
        let at_ns = START_NS + dice.between(0, 3000) * MS;
        signals.set_connections(at_ns, connections).unwrap();
    }
    (signals, changes_rate)
}

pub(crate) fn random_network(dice: &mut Dice, seed: u64) -> SimOptions {
    let window = |dice: &mut Dice, percent| {
        dice.chance(percent).then(|| Window {
            at_ns: dice.between(0, 5000) * MS,
            for_ns: dice.between(1, 1500) * MS,
        })
    };
    let calm = dice.chance(30);
    let share = |dice: &mut Dice, most: u64| {
        if calm { 0.0 } else { dice.between(0, most) as f64 / 1000.0 }
    };
    SimOptions {
        seed,
        latency_ns: 10_000..10_001 + dice.between(0, 5 * MS),
        split: share(dice, 700),
        partial_write: share(dice, 300),
        reset: share(dice, 30),
        refuse: share(dice, 300),
        accept_delay_ns: 0..1 + dice.between(0, MS),
        wait_jitter_ns: 0..1 + dice.between(0, MS),
        pause: if calm { None } else { window(dice, 20) },
        readiness: dice.chance(40),
        peer_dead: if calm { None } else { window(dice, 20) },
        peer_stalled: if calm { None } else { window(dice, 20) },
        work_ns: if dice.chance(40) { 0..1 + dice.between(0, MS / 10) } else { 0..1 },
        ..SimOptions::default()
    }
}

/// A server that does anything, mostly answers.
fn random_server(seed: u64) -> impl FnMut(u64, u64) -> Answer {
    let mut dice = Dice::new(seed);
    let hostile = dice.chance(60);
    move |_, _| {
        let after_ns = dice.between(0, 30) * MS / 10;
        if !hostile || dice.chance(85) {
            return Answer::Status(
                [200, 200, 200, 404, 503, 204][dice.between(0, 6) as usize],
                after_ns,
            );
        }
        match dice.between(0, 13) {
            8 => Answer::With(302, "Location: /elsewhere", after_ns),
            9 => Answer::With(303, "Location: //other.example/", after_ns),
            10 => Answer::With(200, "Set-Cookie: a=b", after_ns),
            11 => Answer::Continue(after_ns),
            12 => Answer::LastOneSlowly(after_ns, 3 * after_ns),
            0 => Answer::Chunked(after_ns),
            1 => Answer::UntilClose(after_ns),
            2 => Answer::LastOne(after_ns),
            3 => Answer::Hang,
            4 => Answer::Garbage(after_ns),
            5 => Answer::Truncated(after_ns),
            6 => Answer::Close,
            _ => Answer::Reset,
        }
    }
}

/// `changed`: the rate was changed while it went on.
pub(crate) fn check(seed: u64, plan: &Draft, ran: &Ran, changed: bool) {
    let sum = ran.sum();
    let ledger = sum.ledger;
    let context = || format!("seed {seed}: {ledger:?}\n{plan:?}");
    ledger.check().unwrap_or_else(|error| panic!("{error}, {}", context()));
    assert_eq!(sum.response().count(), ledger.scheduled, "{}", context());
    assert_eq!(sum.service.count(), ledger.sent, "{}", context());
    assert_eq!(sum.delays.lag.count(), ledger.sent, "{}", context());
    assert_eq!(sum.status.iter().sum::<u64>(), ledger.completed, "{}", context());
    assert_eq!(sum.by_outcome.ok.count(), ledger.ok, "{}", context());
    assert_eq!(sum.by_outcome.failed.count(), ledger.failed, "{}", context());
    let in_series: u64 = ran.series.points().iter().map(|point| point.sent).sum();
    assert_eq!(in_series, ledger.sent, "{}", context());
    let warmup_sent: u64 =
        ran.records.iter().filter_map(|r| r.warmup.as_ref()).map(|w| w.ledger.sent).sum();
    for warmup in ran.records.iter().filter_map(|record| record.warmup.as_ref()) {
        warmup.ledger.check().unwrap_or_else(|error| panic!("warm-up: {error}, {}", context()));
    }
    // Requests that were redirected arrive again, and belong to the same call.
    let joins = plan.redirects > 0 && plan.joins_redirects;
    let sent = ledger.sent + ledger.resent;
    assert!(joins || ran.arrivals() as u64 <= sent + warmup_sent, "{}", context());
    assert!(plan.resends || ledger.resent == 0, "{}", context());
    assert!(!joins || ledger.redirects == 0, "{}", context());
    let slots = ledger.scheduled - ledger.redirects;
    if let Some(requests) = plan.requests {
        assert!(slots <= requests, "{}", context());
    }
    if !plan.targets.is_empty() {
        let parts: u64 = sum.parts.endpoints.iter().map(|part| part.ledger.scheduled).sum();
        assert_eq!(parts, ledger.scheduled, "{}", context());
    }
    for part in &sum.parts.endpoints {
        part.ledger.check().unwrap_or_else(|error| panic!("{}: {error}, {}", part.name, context()));
        assert_eq!(part.response.count(), part.ledger.scheduled, "{}", context());
    }
    let served: u64 = ran.records.iter().map(|record| record.connections.served.sum()).sum();
    assert_eq!(served, ledger.completed, "{}", context());
    let total = |of: fn(&ProtocolCounts) -> u64| sum.protocols.iter().map(of).sum::<u64>();
    let opened: u64 = ran.records.iter().map(|record| record.connections.opened).sum();
    assert_eq!(total(|protocol| protocol.completed), ledger.completed, "{}", context());
    assert_eq!(total(|protocol| protocol.connections), opened, "{}", context());
    // A request whose connection could not be opened was never sent on one.
    assert!(joins || total(|protocol| protocol.sent) <= sent, "{}", context());
    if changed {
        return;
    }
    let uniform = plan.rate.as_ref().filter(|profile| profile.arrival == Arrival::Uniform);
    if let (Some(profile), Some(_)) = (uniform, plan.duration_ns) {
        let total = profile.total().unwrap();
        let want = plan.requests.map_or(total, |requests| requests.min(total));
        assert_eq!(slots, want, "the schedule is exact, {}", context());
    }
}

#[test]
fn whatever_happens_every_request_is_accounted_for() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let plan = random_plan(&mut dice);
        if plan.clone().check().is_err() {
            continue;
        }
        let network = random_network(&mut dice, seed);
        let (orders, changes_rate) = random_orders(&mut dice, &plan);
        let server = |worker| random_server(seed ^ u64::from(worker) << 32);
        let ran = run_told(&plan, &network, server, &orders);
        check(seed, &plan, &ran, changes_rate);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..20 {
        let once = |seed| {
            let mut dice = Dice::new(seed);
            let plan = random_plan(&mut dice);
            let network = random_network(&mut dice, seed);
            let ran = run(&plan, &network, |worker| random_server(seed ^ u64::from(worker) << 32));
            let sum = ran.sum();
            (sum.ledger, sum.response().sum_ns(), sum.service.sum_ns(), sum.errors)
        };
        assert_eq!(once(seed), once(seed), "seed {seed}");
    }
}
