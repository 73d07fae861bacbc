//! Recorded runs under the simulated driver: what becomes of every request and iteration of any
//! load is in the result once, compared with an independent tally.

use plimsoll_core::RunResult;
use plimsoll_core::executor::{Executor, VuPool};
use plimsoll_core::plan::{Draft, Endpoint, VuPlan, VuScenario};
use plimsoll_core::result::DriverUsed;
use plimsoll_core::schedule::Arrivals;
use plimsoll_core::secret::Masks;
use plimsoll_core::verdict::Verdict;
use plimsoll_io::sim::SimOptions;
use plimsoll_script::js::{Program, Settings};

use super::requests::Server;
use super::{Kept, MS, Played, S, cast, play, program, program_with, role};
use crate::vu::{Ended, Outcome, Recorded, Recorders, Role, Witness, result};

const SCRIPT: &str = "import http from 'k6/http'; import { group, sleep } from 'k6';
    const base = 'http://10.0.0.1:80'; let n = 0;
    export default () => {
      n += 1;
      group('g', () => http.get(base + '/' + (n % 3)));
      if (n % 4 === 0) http.get(base + '/never', { timeout: '30ms' });
      if (n % 5 === 0) http.asyncRequest('GET', base + '/never');
      if (n % 7 === 0) throw new Error('seven');
      http.get(base + (n % 2 ? '/to/x' : '/close'), { tags: { name: 'moved' } });
      sleep(0.01);
    };";

fn plan(executor: &Executor, name: &str) -> Draft {
    let endpoint = Endpoint {
        scheme: String::new(),
        host: String::new(),
        port: 0,
        path: String::new().into(),
    };
    let scenario = VuScenario {
        name: name.to_owned(),
        executor: executor.kind().name().to_owned(),
        load: String::new(),
        exec: "default".to_owned(),
        vus_max: 3,
        iterations: None,
    };
    let vus = VuPlan { scenarios: vec![scenario], ..VuPlan::default() };
    Draft { vus: Some(vus), duration_ns: None, ..Draft::new(endpoint) }
}

/// Carries scenarios out with a seed, recorded and told to a tally of the tests.
fn recorded(executors: &[Executor], seed: u64) -> (Kept, RunResult) {
    let program = program(SCRIPT);
    recorded_of(&program, roles(&program, executors), seed, 0)
}

/// Scenarios that begin together.
fn roles(program: &Program, executors: &[Executor]) -> Vec<Role> {
    executors.iter().map(|executor| role(program, executor.clone())).collect()
}

/// The same of any script, with a limit on the rate of requests.
fn recorded_of(program: &Program, roles: Vec<Role>, seed: u64, rps: u64) -> (Kept, RunResult) {
    let named = roles.iter().zip(["a", "b"]);
    let plans: Vec<Draft> = named.map(|(role, name)| plan(&role.executor, name)).collect();
    let mut cast = cast(program, roles, 3 * plans.len() as u64);
    cast.network.rps = rps;
    let (recorders, mut seconds) = Recorders::new(&cast, Masks::default());
    let witness = Witness::begin();
    let sim = SimOptions { seed, latency_ns: MS..3 * MS, ..SimOptions::default() };
    let kernels = vec![(sim, Server::boxed(MS))];
    let both = |worker| (Kept::default(), recorders.of(worker));
    let Played { mut tallies, controls, begin_ns, end_ns, .. } =
        play(cast, kernels, |_, _| {}, both);
    let (kept, recording) = tallies.pop().expect("there is one worker");
    drop(recorders);
    seconds.follow(&mut |_| {});
    let result = result(Recorded {
        run: &plans[0],
        scenarios: &plans,
        ended: Ended {
            tallies: vec![recording],
            started_ns: begin_ns,
            ended_ns: end_ns,
            paces: Vec::new(),
            driver: DriverUsed::default(),
        },
        seconds: &seconds,
        testimony: witness.end(),
        controls: &controls,
        interrupted: false,
    });
    (kept, result.expect("ledgers balance"))
}

fn looping() -> Executor {
    Executor::ConstantVus { vus: 3, duration_ns: 2 * S + S / 2 }
}

fn at_a_rate() -> Executor {
    Executor::ConstantArrivalRate {
        rate: 100,
        time_unit_ns: S,
        pool: VuPool { pre_allocated_vus: 2, max_vus: 2 },
        arrivals: Arrivals::constant(100, S, 2 * S).expect("a schedule"),
    }
}

#[test]
fn everything_stands_in_the_result_once() {
    for seed in 0..8 {
        for executors in [vec![looping()], vec![at_a_rate()], vec![looping(), at_a_rate()]] {
            let (kept, result) = recorded(&executors, seed);
            let ledger = &result.ledger;
            let cut_off: u64 = kept.iterations.iter().map(|it| it.ended.requests_cut_off).sum();
            assert_eq!(ledger.check(), Ok(()), "{seed}");
            assert_eq!(ledger.sent, kept.requests.len() as u64 + cut_off, "{seed}");
            assert_eq!(ledger.unfinished, cut_off, "{seed}");
            let answered = kept.requests.iter().filter(|request| request.status > 0).count();
            assert_eq!(ledger.completed, answered as u64, "{seed}");
            // Each is followed.
            let redirects = kept.requests.iter().filter(|request| request.status == 302);
            assert_eq!(ledger.redirects, redirects.count() as u64, "{seed}");
            assert!(ledger.redirects > 0, "{seed}");
            let connections = &result.connections;
            assert_eq!(connections.served.connections(), connections.opened, "{seed}");
            assert_eq!(connections.served.sum(), ledger.completed, "{seed}");
            // Each of three users has a request and one beside it at most.
            let most = 2 * 3 * executors.len() as u64;
            assert!((1..=most).contains(&connections.open_max), "{seed}: {connections:?}");
            assert!(connections.opened - ledger.reconnects <= most, "{seed}: {connections:?}");
            assert!(ledger.reconnects > 0, "the server closes some: {seed}");
            for histogram in [
                &result.latency.response,
                &result.latency.service,
                &result.lag,
                &result.loader.lateness,
            ] {
                assert_eq!(histogram.count(), ledger.sent, "{seed}");
            }
            let of_parts: u64 = result.endpoints.iter().map(|part| part.ledger.sent).sum();
            assert_eq!(of_parts, ledger.sent, "{seed}");
            let cut_off_of_parts: u64 =
                result.endpoints.iter().map(|part| part.ledger.unfinished).sum();
            assert_eq!(cut_off_of_parts, cut_off, "{seed}");
            let in_series: u64 = result.series.points().iter().map(|point| point.sent).sum();
            assert_eq!(in_series, ledger.sent, "{seed}");
            let iterations = result.iterations.as_ref().expect("they are counted");
            let ended = |outcome| {
                let all = kept.iterations.iter();
                all.filter(|it| it.ended.outcome == outcome).count() as u64
            };
            assert_eq!(iterations.check(), Ok(()));
            assert_eq!(iterations.failed, ended(Outcome::Failed), "{seed}");
            assert_eq!(iterations.unfinished, ended(Outcome::Interrupted), "{seed}");
            assert_eq!(iterations.shed, kept.dropped.values().sum::<u64>(), "{seed}");
            assert_eq!(result.loader.disordered, 0, "{seed}");
            assert_eq!(result.groups.len(), 1, "{seed}");
            assert!(result.endpoints.iter().any(|part| part.name == "moved"), "{seed}");
        }
    }
}

#[test]
fn a_limit_on_the_rate_delays_no_request() {
    let program = program(SCRIPT);
    let (kept, result) = recorded_of(&program, roles(&program, &[looping()]), 1, 4);
    let cut_off: u64 = kept.iterations.iter().map(|it| it.ended.requests_cut_off).sum();
    assert!(cut_off > 0, "the load ends while users wait for their turn");
    assert_eq!((result.ledger.scheduled, result.ledger.unfinished), (10, 0));
    assert!(result.latency.response.max_ns() < Some(50 * MS), "{:?}", result.latency.response);
}

#[test]
fn requests_that_wait_for_their_turn_in_a_batch_are_unsent_when_they_are_cut_off() {
    let text = "import http from 'k6/http'; import { group } from 'k6';
        export default () => group('g', () => http.batch(
          Array.from({ length: 7 }, () => ['GET', 'http://10.0.0.1:80/never', null,
            { tags: { name: 'slow' } }])));";
    let settings = Settings { batch_per_host_max: 2, ..Settings::default() };
    let program = program_with(text, settings);
    let (kept, result) = recorded_of(&program, roles(&program, &[looping()]), 1, 0);
    let ledger = &result.ledger;
    assert_eq!(ledger.check(), Ok(()));
    // Each of three users asks for seven, and two of them are on the wire.
    assert_eq!((ledger.scheduled, ledger.unfinished, ledger.unsent), (21, 6, 15));
    let cut_off: u64 = kept.iterations.iter().map(|it| it.ended.requests_cut_off).sum();
    assert_eq!(cut_off, 21);
    let response = &result.latency.response;
    assert_eq!(response.count(), 21);
    assert!(response.min_ns() > Some(2 * S), "all were due at once: {response:?}");
    for part in [&result.endpoints[0], &result.groups[0]] {
        assert_eq!((part.ledger.scheduled, part.ledger.unsent), (21, 15), "{}", part.name);
    }
    assert_eq!(result.endpoints[0].name, "slow");
    let is_cut_off = |text: &str| text.starts_with("21 of 21 requests (100.0 %) were cut off");
    let causes = &result.loader.causes;
    assert!(causes.iter().any(|cause| is_cut_off(&cause.text)), "{causes:?}");
    assert!(!causes.iter().any(|cause| cause.code == "unsent"), "{causes:?}");
}

#[test]
fn scenarios_after_each_other_have_no_more_connections_at_once_than_one_of_them() {
    let program = program(
        "import http from 'k6/http'; import { sleep } from 'k6';
        export default () => { http.get('http://10.0.0.1:80/close'); sleep(0.1); };",
    );
    let mut roles = roles(&program, &[looping(), looping()]);
    roles[1].start_ns = 3 * S;
    let (_, result) = recorded_of(&program, roles, 1, 0);
    let of_each = result.scenarios.iter().map(|it| it.result.connections.open_max);
    let (most, sum) = (of_each.clone().max(), of_each.sum::<u64>());
    assert_eq!(Some(result.connections.open_max), most);
    assert!(sum > result.connections.open_max, "{sum}");
}

#[test]
fn response_times_begin_when_the_script_asks() {
    let (kept, result) = recorded(&[looping()], 1);
    let first = kept.requests.first().expect("a request");
    let least_ns = kept.requests.iter().map(|it| it.ended_ns - it.intended_ns).min();
    assert_eq!(result.latency.response.min_ns(), least_ns);
    assert!(first.timings.connecting_ns > 0);
    assert!(result.connections.opened > 0);
    let (response, service) = (&result.latency.response, &result.latency.service);
    assert!(response.mean_ns() > service.mean_ns(), "connects lie between the two clocks");
}

#[test]
fn a_rate_that_virtual_users_cannot_carry_is_suspect() {
    let (_, result) = recorded(&[at_a_rate()], 3);
    assert!(result.iterations.as_ref().is_some_and(|iterations| iterations.shed > 0));
    assert!(result.loader.verdict >= Verdict::Suspect);
    assert!(result.loader.causes.iter().any(|cause| cause.code == "vus"));
}
