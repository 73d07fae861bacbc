//! Recorded runs under the simulated driver: what becomes of every request and iteration of any
//! load is in the result once, compared with an independent tally.

use std::sync::Arc;

use plimsoll_core::RunResult;
use plimsoll_core::executor::{Executor, VuPool};
use plimsoll_core::plan::{Draft, Endpoint, VuPlan, VuScenario};
use plimsoll_core::result::DriverUsed;
use plimsoll_core::schedule::Arrivals;
use plimsoll_core::secret::Masks;
use plimsoll_core::series::Point;
use plimsoll_core::verdict::Verdict;
use plimsoll_io::sim::SimOptions;
use plimsoll_script::js::{Program, Settings};

use super::requests::Server;
use super::{Kept, MS, Played, S, cast, play, program, program_with, role};
use crate::Progress;
use crate::vu::{
    Controls, Ended, Outcome, Recorded, Recorders, Recording, Role, Seconds, Witness, result,
};

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

/// What the worker of a run has recorded, with what is needed to make a result of it.
struct Whole {
    recording: Recording,
    seconds: Seconds,
    /// The seconds as those are told who watch the run.
    points: Vec<Point>,
    plans: Vec<Draft>,
    witness: Witness,
    controls: Arc<Controls>,
    times_ns: [u64; 2],
}

/// Carries out any script, with a limit on the rate of requests.
fn played(program: &Program, roles: Vec<Role>, seed: u64, rps: u64) -> (Whole, Kept) {
    let named = roles.iter().zip(["a", "b"]);
    let plans: Vec<Draft> = named.map(|(role, name)| plan(&role.executor, name)).collect();
    let mut cast = cast(program, roles, 3 * plans.len() as u64);
    cast.network.rps = rps;
    let (recorders, mut seconds) = Recorders::new(&cast, Masks::default(), true);
    let witness = Witness::begin();
    let sim = SimOptions { seed, latency_ns: MS..3 * MS, ..SimOptions::default() };
    let kernels = vec![(sim, Server::boxed(MS))];
    let both = |worker| (Kept::default(), recorders.of(worker));
    let Played { mut tallies, controls, begin_ns, end_ns, .. } =
        play(cast, kernels, |_, _| {}, both);
    let (kept, recording) = tallies.pop().expect("there is one worker");
    drop(recorders);
    let mut points = Vec::new();
    seconds.follow(&mut |progress| {
        if let Progress::Interval(point) = progress {
            points.push(point.clone());
        }
    });
    (
        Whole {
            recording,
            seconds,
            points,
            plans,
            witness,
            controls,
            times_ns: [begin_ns, end_ns],
        },
        kept,
    )
}

/// The same, as a result.
fn recorded_of(program: &Program, roles: Vec<Role>, seed: u64, rps: u64) -> (Kept, RunResult) {
    let (whole, kept) = played(program, roles, seed, rps);
    let [started_ns, ended_ns] = whole.times_ns;
    let result = result(Recorded {
        run: &whole.plans[0],
        scenarios: &whole.plans,
        ended: Ended {
            tallies: vec![whole.recording],
            started_ns,
            ended_ns,
            paces: Vec::new(),
            driver: DriverUsed::default(),
        },
        seconds: &whole.seconds,
        testimony: whole.witness.end(),
        controls: &whole.controls,
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

#[test]
fn what_this_host_has_none_left_of_is_the_testers_failure() {
    // The driver of the tests has 64 sockets.
    let text = "import http from 'k6/http'; import ws from 'k6/ws';
        import { sleep } from 'k6';
        export default () => { sleep(0.1); http.batch(Array.from({ length: 40 }, () =>
          ['GET', 'http://10.0.0.1:80/never', null, { timeout: '1s' }]));
          SOCKET };";
    let settings = || Settings { batch_max: 40, batch_per_host_max: 40, ..Settings::default() };
    let of_sockets = "http.asyncRequest('GET', 'http://10.0.0.1:80/never');
        for (let i = 0; i < 64; i += 1) http.asyncRequest('GET', 'http://10.0.0.1:80/never');
        ws.connect('ws://10.0.0.1:80/never', (socket) => socket.close());";
    for (socket, are_sockets) in [("", false), (of_sockets, true)] {
        let program = program_with(&text.replace("SOCKET", socket), settings());
        let (kept, result) = recorded_of(&program, roles(&program, &[looping()]), 1, 0);
        let short: u64 =
            result.errors.iter().filter(|it| it.kind == "no_files").map(|it| it.count).sum();
        let of_requests = kept.requests.iter().filter(|it| it.error_code == 1210).count() as u64;
        assert!(of_requests > 0, "{:?}", result.errors);
        assert_eq!(short > of_requests, are_sockets, "{short} {of_requests}");
        assert_eq!(result.loader.verdict, Verdict::Invalid);
        let causes = &result.loader.causes;
        assert!(causes.iter().any(|cause| cause.code == "files"), "{causes:?}");
    }
}

#[test]
fn a_request_that_is_sent_again_is_counted_as_that_and_once_in_all_else() {
    let text = "import http from 'k6/http'; const base = 'http://10.0.0.1:80';
        export default () => { http.get(base + '/'); http.get(base + '/once'); };";
    let program = program(text);
    let once = Executor::PerVuIterations { vus: 3, iterations: 4, max_duration_ns: 300 * S };
    let (kept, result) = recorded_of(&program, roles(&program, &[once]), 1, 0);
    let ledger = &result.ledger;
    assert_eq!((ledger.sent, ledger.completed, kept.requests.len()), (24, 24, 24));
    // Each follows another request on its connection.
    assert_eq!((ledger.resent, ledger.redirects), (12, 0));
    let of_parts: Vec<u64> = result.endpoints.iter().map(|part| part.ledger.resent).collect();
    assert_eq!(of_parts, [0, 12]);
}

/// Requests of a script that has `vus` users for a time, each with as much grace.
fn of_users(text: &str, (vus, duration_ns): (u64, u64), grace_ns: u64) -> (Kept, RunResult) {
    let program = program(text);
    let mut roles = roles(&program, &[Executor::ConstantVus { vus, duration_ns }]);
    roles[0].graceful_stop_ns = grace_ns;
    recorded_of(&program, roles, 1, 0)
}

#[test]
fn what_is_asked_for_in_the_grace_is_not_offered_in_the_window() {
    // Each iteration has 20 requests of about 100 ms, and the window has ten of them.
    let text = "import http from 'k6/http'; import { sleep } from 'k6';
        export default () => { for (let i = 0; i < 20; i += 1) {
          http.get('http://10.0.0.1:80/'); sleep(0.1 - 0.006); } };";
    let (kept, result) = of_users(text, (2, S), 9 * S);
    assert_eq!((result.ledger.scheduled, kept.requests.len()), (40, 40));
    let in_window =
        kept.requests.iter().filter(|it| it.intended_ns < S + kept.requests[0].intended_ns);
    let in_window = in_window.count() as u64;
    assert!((18..=22).contains(&in_window), "{in_window}");
    assert_eq!(result.rate.window_ns, S);
    assert!((result.rate.offered_rps - in_window as f64).abs() <= 2.0, "{:?}", result.rate);
    assert_eq!(result.rate.due_after, 40 - result.rate.offered_rps as u64);
    // Of several scenarios, what one asks for within the run's window is offered there.
    let program = program(text);
    let mut roles = roles(&program, &[looping(), looping()]);
    roles.iter_mut().for_each(|role| role.graceful_stop_ns = 9 * S);
    roles[1].start_ns = 20 * S;
    let (_, result) = recorded_of(&program, roles, 1, 0);
    let after = result.scenarios[1].result.rate.due_after;
    assert!(after > 0 && result.scenarios[0].result.rate.due_after > 0);
    assert_eq!(result.rate.due_after, after);
}

#[test]
fn seconds_tell_of_requests_when_they_begin_and_of_bytes_when_they_come() {
    // Each iteration has one request that is never answered, and one that is, five seconds before.
    let text = "import http from 'k6/http'; import { sleep } from 'k6';
        export default () => { http.get('http://10.0.0.1:80/');
          http.get('http://10.0.0.1:80/never', { timeout: '5s' }); };";
    let (_, result) = of_users(text, (3, 8 * S), 0);
    let points = result.series.points();
    let sent: Vec<u64> = points.iter().map(|point| point.sent).collect();
    let received: Vec<bool> = points.iter().map(|point| point.received_bytes > 0).collect();
    assert_eq!(sent, [6, 0, 0, 0, 0, 6, 0, 0], "{sent:?}");
    let want = [true, false, false, false, false, true, false, false];
    assert_eq!(received, want, "{points:?}");
    let in_series: u64 = points.iter().map(|point| point.received_bytes).sum();
    assert_eq!(in_series, result.bytes.received);
}

#[test]
fn conditions_see_the_requests_that_wait() {
    let text = "import http from 'k6/http';
        export default () => http.get('http://10.0.0.1:80/never', { timeout: '60s' });";
    let program = program(text);
    let users = Executor::ConstantVus { vus: 3, duration_ns: 4 * S };
    let (whole, _) = played(&program, roles(&program, &[users]), 1, 0);
    let waiting = whole.points.iter().map(|point| point.waiting.unpack());
    let counts: Vec<(u64, u64)> =
        waiting.map(|times| (times.count(), times.max_ns().unwrap_or(0) / (S - MS))).collect();
    assert_eq!(&counts[..3], [(3, 1), (3, 2), (3, 3)]);
}

#[test]
fn a_request_without_a_connection_does_not_say_that_the_server_is_elsewhere() {
    for (address, is_elsewhere) in [("127.0.0.1", false), ("[::1]", false), ("10.0.0.1", true)] {
        let text = format!(
            "import http from 'k6/http'; import {{ sleep }} from 'k6';
            export default () => {{ http.get('http://{address}:80/', {{ timeout: '1ms' }});
              sleep(1); }};"
        );
        let program = program(&text);
        let (whole, kept) = played(&program, roles(&program, &[looping()]), 1, 0);
        assert!(kept.requests.iter().all(|it| it.error_code == 1050), "{:?}", kept.requests);
        assert_eq!(whole.recording.dials_elsewhere(), [is_elsewhere], "{address}");
    }
}

#[test]
fn secrets_in_names_and_tags_are_masked() {
    let text = "import http from 'k6/http'; import { group } from 'k6';
        import { Counter } from 'k6/metrics'; const seen = new Counter('seen');
        export default () => group('token=hush', () => {
          http.get('http://10.0.0.1:80/?token=hush');
          http.get('http://10.0.0.1:80/', { tags: { name: '/ok?token=hush' } });
          seen.add(1, { u: 'http://10.0.0.1/?password=hush', api_key: 'hush', page: 'a' }); });";
    let program = program(text);
    let once = Executor::PerVuIterations { vus: 1, iterations: 1, max_duration_ns: 300 * S };
    let (_, result) = recorded_of(&program, roles(&program, &[once]), 1, 0);
    let names = result.endpoints.iter().chain(&result.groups).map(|part| part.name.as_str());
    let text = format!("{:?} {:?}", names.collect::<Vec<_>>(), result.metrics);
    assert!(!text.contains("hush"), "{text}");
    for shown in ["\"/ok?token=[", "\"token=[", "?password=[", "\"page\": \"a\""] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
}
