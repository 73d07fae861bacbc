//! Users whose iterations are more than a request: the shop says what they do, and the records are
//! compared with what it said and was told. Gates are judged by a result that is made of what the
//! workers recorded.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_conn::{Http1, Http1Settings, Setup};
use plimsoll_core::iterations::Iterations;
use plimsoll_core::metric::{GROUP_DURATION, Tags, Value};
use plimsoll_core::plan::{Draft, Endpoint, Request as PlannedRequest, Target};
use plimsoll_core::result::{RunResult, Tool};
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::{Histogram, Phase, gate};
use plimsoll_engine::Signals;
use plimsoll_engine::worker::Origin;
use plimsoll_io::Address;
use plimsoll_io::sim::{Peer, SimOptions};
use plimsoll_proto::http1::Limits;

use crate::seeds::{Dice, random_network};
use crate::shop::{ELSEWHERE, GROUPS, Said, Seen, Servers, Shop};
use crate::world::{MS, Ran, START_NS, World, plan};

const SEEDS: u64 = 1000;

fn random_plan(dice: &mut Dice) -> Draft {
    let connections = dice.between(1, 10) as u32;
    let duration_ns = dice.between(100, 1500) * MS;
    let target = |name: &str| Target {
        name: name.to_owned(),
        path: format!("/{name}").into(),
        request: PlannedRequest::get(),
        weight: 1,
        expect: Vec::new(),
    };
    let mut plan = Draft {
        connections,
        workers: dice.between(1, u64::from(connections.min(2)) + 1) as u32,
        duration_ns: Some(duration_ns),
        timeout_ns: 200 * MS,
        drain_ns: dice.between(0, 1000) * MS,
        targets: vec![target("one"), target("other")],
        ..plan()
    };
    if dice.chance(60) {
        let rate_uhz = dice.between(1_000_000, 400_000_000);
        plan.rate = Some(Profile::constant(rate_uhz, Some(duration_ns), Arrival::Uniform));
        plan.shed_after_ns = dice.chance(30).then(|| dice.between(1, 200) * MS);
    }
    if dice.chance(30) {
        let fits = plan.rate.as_ref().and_then(Profile::total).unwrap_or(100);
        plan.requests = Some(dice.between(1, fits.clamp(1, 99) + 1));
    }
    plan
}

struct Came {
    ran: Ran,
    said: Vec<Said>,
    seen: Vec<Seen>,
    iterations: Iterations,
}

fn run(seed: u64, plan: &Draft, sim: &SimOptions, hangs: u64) -> Came {
    run_told(seed, plan, sim, hangs, &Signals::default())
}

/// The same with orders given beforehand.
fn run_told(seed: u64, plan: &Draft, sim: &SimOptions, hangs: u64, signals: &Signals) -> Came {
    let mut logs = Vec::new();
    let redirects = plan.redirects > 0;
    let peer = |worker: u32| {
        let seen = Rc::new(RefCell::new(Seen::default()));
        logs.push(Rc::clone(&seen));
        let dice = Dice::new(seed ^ u64::from(worker) << 32);
        Box::new(Servers { dice, hangs, redirects, lines: BTreeMap::new(), seen }) as Box<dyn Peer>
    };
    let settings = Http1Settings { pipeline: 1, limits: Limits::default(), outlives_close: false };
    let world = World { plan, sim, settings: &settings, signals };
    let mut said = Vec::new();
    let mut shops = 0;
    let elsewhere: Address = Address::Tcp(ELSEWHERE.parse().unwrap());
    let ran = world.run::<Http1, _>(
        peer,
        |assignment| {
            shops += 1;
            let routes: Arc<[_]> = [elsewhere.clone().into()].into();
            let endpoint = Endpoint::http("elsewhere.example", 8080, "/");
            let origin = Origin { endpoint, routes, setup: Setup::default() };
            let (registry, basket) = Shop::metrics();
            let assignment = assignment.with_metrics(Arc::new(registry));
            (Shop::new(seed + (shops << 20), basket), assignment.with_origins(vec![origin]))
        },
        |shop| said.push(shop.said),
    );
    let mut iterations = Iterations::default();
    for record in &ran.records {
        iterations.merge(record.iterations.as_ref().expect("they are counted"));
    }
    Came { ran, said, seen: logs.iter().map(|log| log.take()).collect(), iterations }
}

/// What holds whatever the network does.
fn check(seed: u64, plan: &Draft, came: &Came) {
    let Came { ran, said, seen, iterations } = came;
    let ledger = ran.sum().ledger;
    let context =
        || format!("seed {seed}: {ledger:?}\n{iterations:?}\n{said:?}\n{seen:?}\n{plan:?}");
    ledger.check().unwrap_or_else(|error| panic!("{error}, {}", context()));
    iterations.check().unwrap_or_else(|error| panic!("{error}, {}", context()));
    let total = |of: fn(&Said) -> u64| said.iter().map(of).sum::<u64>();
    let wrong = said.iter().flat_map(|it| &it.wrong).chain(seen.iter().flat_map(|it| &it.wrong));
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0], "{}", context());
    assert_eq!(iterations.started, total(|it| it.begun), "{}", context());
    assert_eq!(ledger.scheduled, total(|it| it.asked[0] + it.asked[1]), "{}", context());
    // No user learns of those that end with the run.
    let ended = ledger.completed + ledger.timed_out + ledger.broken;
    let (told, left) = (total(|it| it.ended), total(|it| it.left));
    assert!((told..=told + left).contains(&ended), "{}", context());
    let completed = total(|it| it.completed);
    assert!((completed..=completed + left).contains(&ledger.completed), "{}", context());
    // One whose last request is still open has said that it is done.
    assert!(iterations.completed <= total(|it| it.done), "{}", context());
    let slept_on = total(|it| it.slept) - total(|it| it.woken);
    assert!(iterations.unfinished >= slept_on, "{}", context());
    let arrived: u64 = seen.iter().map(|it| it.requests[0] + it.requests[1]).sum();
    assert!(arrived <= ledger.sent, "{}", context());
    if let (Some(profile), None) = (&plan.rate, plan.requests) {
        assert_eq!(iterations.scheduled, profile.total().unwrap(), "{}", context());
    }
    if let (None, Some(requests)) = (&plan.rate, plan.requests) {
        assert!(iterations.scheduled <= requests, "{}", context());
    }
}

/// The result that the workers' records make.
fn came_of(ran: &Ran, plan: &Draft, iterations: &Iterations) -> RunResult {
    let tool = Tool { name: String::new(), version: String::new() };
    let mut result = RunResult::empty(tool, plan);
    result.record(&ran.sum());
    result.iterations = Some(iterations.clone());
    result
}

/// Where all iterations came to their end: requests by group, times in groups, and the values of
/// the source's own metric, as figures and as gates see them.
fn check_groups_and_metrics(result: &RunResult, said: &[Said], context: &dyn Fn() -> String) {
    let both = |of: fn(&Said) -> [u64; 2]| {
        said.iter().map(of).fold([0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]])
    };
    let (grouped, entered) = (both(|it| it.grouped), both(|it| it.entered));
    let left = both(|it| it.left_groups);
    for (at, name) in GROUPS.iter().enumerate() {
        let group = result.groups.iter().find(|part| part.name == *name);
        assert_eq!(group.is_some(), entered[at] > 0, "{name}, {}", context());
        assert_eq!(group.map_or(0, |part| part.ledger.scheduled), grouped[at], "{}", context());
        group.inspect(|part| part.ledger.check().unwrap());
    }
    // A group lasts as long as its users sleep and wait for answers in it.
    let slept_ns = both(|it| it.slept_in_ns);
    let longest_ns = result.latency.response.max_ns().unwrap_or(0);
    for (at, requests) in [grouped[0] + grouped[1], grouped[1]].into_iter().enumerate() {
        let most_ns = slept_ns[at] + requests * longest_ns;
        let took_ns = group_durations(result, GROUPS[at]).map_or(0, |times| times.sum_ns());
        assert!((slept_ns[at]..=most_ns).contains(&took_ns), "{took_ns} ns, {}", context());
    }
    let mut recorded: BTreeMap<u64, u64> = BTreeMap::new();
    for (value, count) in said.iter().flat_map(|it| &it.recorded) {
        *recorded.entry(*value).or_default() += count;
    }
    let count: u64 = recorded.values().sum();
    let sum: u64 = recorded.iter().map(|(value, count)| value * count).sum();
    let basket = result.metrics.named("basket").next().expect("it is declared");
    let Value::Trend(numbers) = &basket.value else { panic!("{basket:?}") };
    assert_eq!((numbers.count(), numbers.total().value()), (count, sum as f64), "{}", context());
    for (value, count) in &recorded {
        let tags: Tags = [("answered", value.to_string())].into_iter().collect();
        let tagged = basket.tagged.iter().find(|tagged| tagged.tags == tags);
        let Some(Value::Trend(numbers)) = tagged.map(|it| &it.value) else { panic!("{value}") };
        assert_eq!((numbers.count(), numbers.min()), (*count, Some(*value as f64)));
    }
    let completed = result.iterations.as_ref().unwrap().completed;
    let mut gates = vec![
        (format!("iterations=={completed}"), true),
        (format!("iterations>{completed}"), false),
        // Without a value there is no data.
        (format!("basket.count=={count}"), count > 0),
        (format!("{GROUP_DURATION}.count=={}", left[0] + left[1]), left[0] > 0),
        ("iteration.max<10s".to_owned(), completed > 0),
    ];
    for (at, name) in GROUPS.iter().enumerate().filter(|(at, _)| left[*at] > 0) {
        let of_group = format!("{GROUP_DURATION}{{group:\"{name}\"}}.count");
        gates.push((format!("{of_group}=={}", left[at]), true));
        gates.push((format!("{of_group}>{}", left[at]), false));
        gates.push((format!("scheduled@group:{name}=={}", grouped[at]), true));
    }
    let conditions: Vec<String> = gates.iter().map(|(text, _)| text.clone()).collect();
    let judged = gate::judge(&conditions, result).unwrap();
    for (judged, (text, holds)) in judged.iter().zip(&gates) {
        assert_eq!(judged.pass, *holds, "{text}: {judged:?}, {}", context());
    }
}

/// The times that users were in a group.
fn group_durations(result: &RunResult, name: &str) -> Option<Histogram> {
    let durations = result.metrics.named(GROUP_DURATION).next()?;
    let tags: Tags = [("group", name)].into_iter().collect();
    match &durations.tagged.iter().find(|tagged| tagged.tags == tags)?.value {
        Value::TimeTrend(times) => Some(times.unpack()),
        _ => None,
    }
}

#[test]
fn iterations_and_requests_are_each_accounted_for() {
    let mut all = Said::default();
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let mut plan = random_plan(&mut dice);
        // Long enough for any iteration to end.
        plan.drain_ns = 1000 * MS;
        let hangs = if dice.chance(30) { 10 } else { 0 };
        let sim = SimOptions { seed, ..SimOptions::default() };
        // Users whose connections are taken away end the iteration that they are in.
        let signals = Signals::default();
        if dice.chance(30) {
            let connections = dice.between(1, u64::from(plan.connections) + 1) as u32;
            let connections = connections.max(plan.workers);
            signals.set_connections(START_NS + dice.between(0, 800) * MS, connections).unwrap();
        }
        let came = run_told(seed, &plan, &sim, hangs, &signals);
        check(seed, &plan, &came);
        let Came { ran, said, seen, iterations } = came;
        let context = || format!("seed {seed}: {iterations:?}\n{said:?}\n{seen:?}\n{plan:?}");
        let ledger = ran.sum().ledger;
        let total = |of: fn(&Said) -> u64| said.iter().map(of).sum::<u64>();
        let arrived = |at: usize| seen.iter().map(|it| it.requests[at]).sum::<u64>();
        assert_eq!(iterations.unfinished, 0, "{}", context());
        assert_eq!(iterations.completed, total(|it| it.done), "{}", context());
        assert_eq!(total(|it| it.slept), total(|it| it.woken), "{}", context());
        assert_eq!([arrived(0), arrived(1)], [total(|it| it.asked[0]), total(|it| it.asked[1])]);
        assert_eq!(ledger.sent, ledger.scheduled, "{}", context());
        let ended = ledger.completed + ledger.timed_out + ledger.broken;
        assert_eq!(ended, total(|it| it.ended + it.left), "{}", context());
        if hangs == 0 {
            assert_eq!(ledger.completed, ledger.scheduled, "{}", context());
        }
        check_groups_and_metrics(&came_of(&ran, &plan, &iterations), &said, &context);
        all.done += total(|it| it.done);
        all.slept += total(|it| it.slept);
        all.left += total(|it| it.left);
        all.asked[1] += total(|it| it.asked[1]);
    }
    let counts = [all.done, all.slept, all.asked[1], all.left];
    assert!(counts.iter().all(|count| *count > 10_000), "too little happened: {counts:?}");
}

#[test]
fn over_a_bad_network_iterations_and_requests_are_accounted_for() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let plan = random_plan(&mut dice);
        let network = random_network(&mut dice, seed);
        check(seed, &plan, &run(seed, &plan, &network, 5));
    }
}

/// One user, an iteration every second: what it waits for itself is no latency, and its requests
/// are timed one by one.
#[test]
fn sleeps_are_in_iterations_and_not_in_requests() {
    let duration_ns = 20_000 * MS;
    let rate = Profile::constant(1_000_000, Some(duration_ns), Arrival::Uniform);
    let plan = Draft {
        connections: 1,
        rate: Some(rate),
        duration_ns: Some(duration_ns),
        ..random_plan(&mut Dice::new(1))
    };
    let plan = Draft { requests: None, shed_after_ns: None, workers: 1, ..plan };
    let Came { ran, iterations, .. } = run(3, &plan, &SimOptions::default(), 0);
    let sum = ran.sum();
    assert!(sum.service.max_ns().unwrap() < 12 * MS, "{:?}", sum.service.max_ns());
    assert!(sum.response().max_ns().unwrap() < 25 * MS, "a connect and an answer");
    assert!(sum.delays.lateness.max_ns().unwrap() < MS, "{:?}", sum.delays.lateness.max_ns());
    assert!(iterations.duration.max_ns().unwrap() > 30 * MS);
    assert_eq!(iterations.response.max_ns(), iterations.duration.max_ns(), "none had to wait");
    assert_eq!(iterations.completed, 20);
}

/// One user with more to do than it has time for: slots that wait too long are dropped as
/// iterations, and none of their requests is ever asked for.
#[test]
fn slots_that_find_no_free_user_are_shed_as_iterations() {
    let duration_ns = 2_000 * MS;
    let rate = Profile::constant(200_000_000, Some(duration_ns), Arrival::Uniform);
    let plan = Draft {
        connections: 1,
        workers: 1,
        rate: Some(rate),
        duration_ns: Some(duration_ns),
        requests: None,
        drain_ns: 1000 * MS,
        shed_after_ns: Some(100 * MS),
        ..random_plan(&mut Dice::new(1))
    };
    let Came { ran, iterations, said, .. } = run(3, &plan, &SimOptions::default(), 0);
    assert_eq!(iterations.check(), Ok(()));
    assert_eq!(iterations.scheduled, 400);
    // At the end the slots of the last 100 ms still wait.
    assert!((19..=20).contains(&iterations.unsent), "{iterations:?}");
    assert_eq!(iterations.shed, 400 - iterations.started - iterations.unsent);
    let ledger = ran.sum().ledger;
    assert_eq!((ledger.shed, ledger.unsent), (0, 0));
    assert_eq!(ledger.scheduled, said[0].asked[0] + said[0].asked[1]);
    let late_ns = iterations.response.max_ns().unwrap() - iterations.duration.max_ns().unwrap();
    assert!((50 * MS..=100 * MS).contains(&late_ns), "{late_ns}");
}

/// In a closed loop too a request can have to wait within an iteration: two at once to one origin,
/// whose connection takes one.
#[test]
fn a_request_that_waits_for_its_connection_in_an_iteration_is_blocked() {
    let plan = Draft {
        connections: 1,
        workers: 1,
        rate: None,
        duration_ns: Some(5_000 * MS),
        requests: None,
        shed_after_ns: None,
        ..random_plan(&mut Dice::new(1))
    };
    let Came { ran, said, .. } = run(3, &plan, &SimOptions::default(), 0);
    let sum = ran.sum();
    let blocked = &sum.phases[Phase::Blocked];
    assert_eq!(blocked.count(), said[0].asked[0] + said[0].asked[1]);
    let longest_ns = blocked.max_ns().unwrap();
    assert!((5 * MS..=sum.service.max_ns().unwrap()).contains(&longest_ns), "{longest_ns} ns");
    assert_eq!(sum.delays.lag.sum_ns(), blocked.sum_ns(), "the tester itself was never late");
}

/// A server may redirect to itself by its full name, also one that is not the plan's own.
#[test]
fn redirects_are_followed_at_the_origin_that_sent_them() {
    let plan = Draft {
        rate: None,
        duration_ns: Some(2_000 * MS),
        requests: None,
        shed_after_ns: None,
        redirects: 1,
        drain_ns: 1000 * MS,
        ..random_plan(&mut Dice::new(1))
    };
    let Came { ran, said, seen, .. } = run(3, &plan, &SimOptions::default(), 0);
    let ledger = ran.sum().ledger;
    let sum = |of: fn(&Seen) -> [u64; 2]| seen.iter().map(of).map(|[a, b]| a + b).sum::<u64>();
    assert_eq!(sum(|it| it.again), sum(|it| it.requests));
    assert!(seen[0].again[1] > 10, "{seen:?}");
    assert_eq!((ledger.redirects, ledger.failed), (sum(|it| it.again), 0), "{ledger:?}");
    let wrong = said.iter().flat_map(|it| &it.wrong).chain(seen.iter().flat_map(|it| &it.wrong));
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
}
