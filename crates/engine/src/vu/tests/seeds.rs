//! A thousand seeds: one to three workers, scenarios of all executors, a script that asks in every
//! way, networks and servers with faults, and orders from outside. Whatever happens, each iteration
//! that is due starts once or is dropped, each that starts ends once, and each request is told once
//! or counted as cut off, as the servers have seen them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use plimsoll_core::executor::{Executor, VuPool};
use plimsoll_core::schedule::{ArrivalStage, Arrivals, UserRamp, UserStage};
use plimsoll_io::sim::{Peer, PeerActions, PeerConn, SimOptions, Window};
use plimsoll_script::js::Program;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Kernel, MS, Role, Run, S, cast, program, role, run_on};
use crate::vu::{Controls, Outcome};

const SEEDS: u64 = 1000;

/// Each request has a number of its own, which is recorded before it is asked for. What an
/// iteration does follows from the seed and from who does it.
const SCRIPT: &str = "
    import http from 'k6/http'; import { sleep, group } from 'k6'; import exec from 'k6/execution';
    import { Counter } from 'k6/metrics';
    const asked = new Counter('asked');
    const paths = ['/', '/', '/', '/close', '/to/a', '/to/to/b', '/broken'];
    let state = 0, count = 0;
    function draw(n) {
        state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
        return (state >>> 0) % n;
    }
    function url(path) {
        count += 1;
        const id = __VU * 1000000 + count;
        asked.add(id);
        return `http://10.0.0.1${path || paths[draw(paths.length)]}?${id}`;
    }
    const acts = [
        () => http.get(url()),
        () => http.get(url('/stay'), { redirects: 0 }),
        () => http.get(url('/never'), { timeout: 1 + draw(30) }),
        () => http.post(url(), 'x'.repeat(draw(3000))),
        () => http.batch(Array.from({ length: 1 + draw(5) }, () => url())),
        () => http.batch([url('/slow'), { method: 'GET', url: url('/never'),
            params: { timeout: 10 } }, url('/to/c')]),
        () => { http.asyncRequest('GET', url()); },
        () => { http.asyncRequest('GET', url()).then(() => http.asyncRequest('GET', url())); },
        () => group('g', () => { http.get(url()); sleep(draw(20) / 1000); }),
        () => sleep(draw(30) / 1000),
        () => { if (draw(4) === 0) throw new Error('x'); },
        () => { if (draw(150) === 0) exec.test.abort('enough'); },
    ];
    export default () => {
        state = (Number(__ENV.SEED) * 7919 + __VU * 104729 + __ITER * 1299709 + 1) | 0;
        // Without it an iteration could take no time, and the simulated clock would stand still.
        sleep((1 + draw(4)) / 1000);
        for (let left = 1 + draw(4); left > 0; left -= 1) acts[draw(acts.length)]();
    };";

/// Random numbers from a seed.
struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number from `from` up to, not including, `to`.
    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.0.next_u64() % (to - from)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.between(0, 100) < percent
    }
}

/// What was asked for at the servers of all workers: how often each target was.
type Seen = Rc<RefCell<HashMap<String, u64>>>;

/// Answers `/to/PATH` and `/stay` with a redirect, `/slow` late, `/never` never, `/broken` with a
/// part of a response, and all else with a greeting; `/close` closes.
struct Server {
    dice: Dice,
    seen: Seen,
    read: HashMap<PeerConn, Vec<u8>>,
}

impl Peer for Server {
    fn connected(&mut self, _: u64, conn: PeerConn, _: &mut PeerActions) {
        self.read.insert(conn, Vec::new());
    }

    fn received(&mut self, _: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        let read = self.read.entry(conn).or_default();
        read.extend_from_slice(bytes);
        while let Some(bytes) = whole(read) {
            let request: Vec<u8> = read.drain(..bytes).collect();
            let line = request.split(|byte| *byte == b'\r').next().expect("a first line");
            let line = std::str::from_utf8(line).expect("a head is text");
            let target = line.split(' ').nth(1).expect("a target");
            *self.seen.borrow_mut().entry(target.to_owned()).or_default() += 1;
            let after_ns = self.dice.between(0, 10 * MS);
            answer(target, after_ns, out);
        }
    }

    fn closed(&mut self, _: u64, conn: PeerConn) {
        self.read.remove(&conn);
    }
}

/// The length of the first request, once it is there.
fn whole(read: &[u8]) -> Option<usize> {
    let head = read.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&read[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().expect("a length"));
    Some(head + length).filter(|bytes| *bytes <= read.len())
}

fn answer(target: &str, after_ns: u64, out: &mut PeerActions) {
    let leads_to = target.strip_prefix("/to").or_else(|| target.strip_prefix("/stay"));
    if let Some(to) = leads_to {
        let head = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ";
        out.send(after_ns, format!("{head}{to}\r\n\r\n"));
    } else if target.starts_with("/close") {
        out.send(after_ns, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbye");
        out.close(after_ns);
    } else if target.starts_with("/broken") {
        out.send(after_ns, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhel");
        out.close(after_ns);
    } else if !target.starts_with("/never") {
        let late_ns = if target.starts_with("/slow") { 40 * MS } else { 0 };
        out.send(after_ns + late_ns, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    }
}

fn random_executor(dice: &mut Dice) -> Executor {
    let (vus, duration_ns) = (dice.between(1, 4), dice.between(20, 250) * MS);
    let pool = VuPool { pre_allocated_vus: vus, max_vus: vus + dice.between(0, 3) };
    let rate = dice.between(5, 200);
    match dice.between(0, 6) {
        0 => Executor::SharedIterations {
            vus,
            iterations: dice.between(1, 30),
            max_duration_ns: duration_ns,
        },
        1 => Executor::PerVuIterations {
            vus,
            iterations: dice.between(1, 12),
            max_duration_ns: duration_ns,
        },
        2 => Executor::ConstantVus { vus, duration_ns },
        3 => {
            let stages = (0..dice.between(1, 4))
                .map(|_| UserStage {
                    duration_ns: dice.between(0, 100) * MS,
                    target: dice.between(0, 4),
                })
                .collect();
            let ramp = UserRamp { start: dice.between(0, 4), stages };
            Executor::RampingVus { ramp, graceful_ramp_down_ns: dice.between(0, 40) * MS }
        }
        4 => Executor::ConstantArrivalRate {
            rate,
            time_unit_ns: S,
            pool,
            arrivals: Arrivals::constant(rate, S, duration_ns).expect("a schedule"),
        },
        _ => {
            let stages: Vec<_> = (0..dice.between(1, 4))
                .map(|_| ArrivalStage {
                    duration_ns: dice.between(0, 120) * MS,
                    target: dice.between(0, 200),
                })
                .collect();
            let arrivals = Arrivals::ramping(rate, S, &stages).expect("a schedule");
            Executor::RampingArrivalRate {
                start_rate: rate,
                stages,
                time_unit_ns: S,
                pool,
                arrivals,
            }
        }
    }
}

/// The VUs that a scenario has at the start, and at most.
fn vus(executor: &Executor) -> [u64; 2] {
    match executor {
        Executor::SharedIterations { vus, .. }
        | Executor::PerVuIterations { vus, .. }
        | Executor::ConstantVus { vus, .. } => [*vus; 2],
        Executor::RampingVus { ramp, .. } => {
            let targets = ramp.stages.iter().map(|stage| stage.target);
            [targets.chain([ramp.start]).max().unwrap_or(0); 2]
        }
        Executor::ConstantArrivalRate { pool, .. } | Executor::RampingArrivalRate { pool, .. } => {
            [pool.pre_allocated_vus, pool.max_vus]
        }
    }
}

fn random_roles(dice: &mut Dice, program: &Program, seed: u64) -> Vec<Role> {
    let count = dice.between(1, 4);
    let random = |_| {
        let mut role = role(program, random_executor(dice));
        role.start_ns = if dice.chance(50) { 0 } else { dice.between(0, 150) * MS };
        role.graceful_stop_ns = [0, dice.between(1, 60) * MS, 100 * S][dice.between(0, 3) as usize];
        role.env = vec![("SEED".to_owned(), seed.to_string())];
        role
    };
    (0..count).map(random).collect()
}

fn random_network(dice: &mut Dice, seed: u64) -> SimOptions {
    let calm = dice.chance(40);
    let window = |dice: &mut Dice| {
        let is_there = !calm && dice.chance(15);
        is_there
            .then(|| Window { at_ns: dice.between(0, 2 * S), for_ns: dice.between(1, 200) * MS })
    };
    let share = |dice: &mut Dice, most: u64| {
        if calm { 0.0 } else { dice.between(0, most) as f64 / 1000.0 }
    };
    SimOptions {
        seed,
        latency_ns: 10_000..10_001 + dice.between(0, 2 * MS),
        split: dice.between(0, 500) as f64 / 1000.0,
        partial_write: dice.between(0, 300) as f64 / 1000.0,
        reset: share(dice, 30),
        refuse: share(dice, 200),
        accept_delay_ns: 0..1 + dice.between(0, MS),
        wait_jitter_ns: 0..1 + dice.between(0, MS),
        pause: window(dice),
        readiness: dice.chance(40),
        peer_dead: window(dice),
        peer_stalled: window(dice),
        work_ns: if dice.chance(50) { 0..1 + dice.between(0, 50_000) } else { 0..1 },
        ..SimOptions::default()
    }
}

/// What is told to a run while it goes on.
#[derive(Debug, Clone, Copy)]
enum Orders {
    Nothing,
    /// Stop at this time, ns after the start.
    Stop(u64),
    Abort(u64),
}

impl Orders {
    fn random(dice: &mut Dice) -> Self {
        let at_ns = dice.between(0, 250 * MS);
        match dice.between(0, 100) {
            0..10 => Self::Stop(at_ns),
            10..15 => Self::Abort(at_ns),
            _ => Self::Nothing,
        }
    }

    /// Gives the order that is due, and no other after it.
    fn give(&mut self, since_ns: u64, controls: &Controls) {
        match *self {
            Self::Stop(at_ns) if since_ns >= at_ns => controls.stop(),
            Self::Abort(at_ns) if since_ns >= at_ns => controls.abort("told to"),
            _ => return,
        }
        *self = Self::Nothing;
    }
}

/// A run and all that it is checked against.
struct Story {
    seed: u64,
    roles: Vec<Role>,
    run: Run,
    seen: HashMap<String, u64>,
    /// Whether connections were reset by faults, so that a request may have been sent twice.
    has_resets: bool,
}

fn story(program: &Program, seed: u64) -> Story {
    let mut dice = Dice::new(seed);
    let roles = random_roles(&mut dice, program, seed);
    let sum = |of: usize| roles.iter().map(|role| vus(&role.executor)[of]).sum::<u64>();
    let mut cast = cast(program, roles.clone(), sum(0).max(1));
    cast.vus_max = sum(1).max(1);
    cast.network.reuses_connections = dice.chance(90);
    cast.network.keeps_connections = dice.chance(80);
    cast.network.rps = if dice.chance(10) { dice.between(20, 500) } else { 0 };
    cast.min_iteration_ns = if dice.chance(10) { dice.between(1, 20) * MS } else { 0 };
    let seen = Seen::default();
    let sim = random_network(&mut dice, seed);
    let has_resets = sim.reset > 0.0 || sim.peer_dead.is_some();
    let kernels = (0..dice.between(1, 4)).map(|worker| -> Kernel {
        let seed = seed ^ worker << 32;
        let (seen, dice, read) = (Rc::clone(&seen), Dice::new(seed), HashMap::new());
        let server = Box::new(Server { dice, seen, read });
        (SimOptions { seed, ..sim.clone() }, Some(server))
    });
    let kernels = kernels.collect();
    let mut orders = Orders::random(&mut dice);
    let run = run_on(cast, kernels, |since_ns, controls| orders.give(since_ns, controls));
    let seen = seen.take();
    Story { seed, roles, run, seen, has_resets }
}

/// Each iteration that was due was started or dropped. That each that was started has ended once
/// is checked for every run.
fn check_iterations(story: &Story) {
    let Story { seed, roles, run, .. } = story;
    if run.controls.is_aborted() {
        return;
    }
    for (index, role) in roles.iter().enumerate() {
        let begin_ns = run.begin_ns + role.start_ns;
        let open_ns = run.stop_ns.saturating_sub(begin_ns);
        let is_open = run.stop_ns > begin_ns;
        let due = match &role.executor {
            Executor::SharedIterations { iterations, .. } => iterations * u64::from(is_open),
            Executor::PerVuIterations { vus, iterations, .. } => {
                vus * iterations * u64::from(is_open)
            }
            Executor::ConstantArrivalRate { arrivals, .. }
            | Executor::RampingArrivalRate { arrivals, .. } => {
                let is_due = |at: &u64| arrivals.due_ns(*at).is_some_and(|ns| ns < open_ns);
                (0..arrivals.total()).take_while(is_due).count() as u64
            }
            Executor::ConstantVus { .. } | Executor::RampingVus { .. } => {
                assert_eq!(run.kept.dropped.get(&(index as u32)), None, "seed {seed}");
                continue;
            }
        };
        let started: usize = run.kept.counts(index as u32).iter().sum();
        let dropped = run.kept.dropped.get(&(index as u32)).copied().unwrap_or(0);
        assert_eq!(started as u64 + dropped, due, "seed {seed}: {role:?}");
    }
}

/// Each request was told once or counted as cut off, and the servers saw what was told.
fn check_requests(story: &Story) {
    let Story { seed, run, seen, .. } = story;
    let target = |url: &str| url.trim_start_matches("http://10.0.0.1").to_owned();
    let number = |target: &str| -> u64 {
        target.split_once('?').expect("a query").1.parse().expect("a number")
    };
    let asked: HashSet<u64> = run.kept.samples.iter().map(|id| *id as u64).collect();
    assert_eq!(asked.len(), run.kept.samples.len(), "seed {seed}: a number was given twice");
    let (mut told, mut finished) = (HashSet::new(), HashSet::new());
    for request in &run.kept.requests {
        let target = target(&request.url);
        assert!(asked.contains(&number(&target)), "seed {seed}: {request:?}");
        let has_response = request.status != 0;
        assert!(!has_response || seen.contains_key(&target), "seed {seed}: {request:?}");
        let times = [request.intended_ns, request.started_ns, request.ended_ns];
        assert!(times.is_sorted(), "seed {seed}: {request:?}");
        if request.status != 302 || target.starts_with("/stay") {
            assert!(finished.insert(number(&target)), "seed {seed}: ended twice: {request:?}");
        }
        assert!(told.insert(target), "seed {seed}: told twice: {request:?}");
    }
    let cut_off: u64 = run.kept.iterations.iter().map(|it| it.ended.requests_cut_off).sum();
    let missing = (asked.len() - finished.len()) as u64;
    assert_eq!(missing, cut_off, "seed {seed}: asked for and not told, and cut off");
    let untold = seen.keys().filter(|target| !told.contains(*target)).count() as u64;
    assert!(untold <= cut_off, "seed {seed}: {untold} seen and not told, {cut_off} cut off");
    if !story.has_resets {
        assert!(seen.values().all(|times| *times == 1), "seed {seed}: {seen:?}");
    }
}

/// What all seeds together have to show, or they test less than they seem to.
#[derive(Debug, Default)]
struct Shown {
    iterations: [u64; 3],
    dropped: u64,
    requests: u64,
    errors: u64,
    redirects: u64,
    cut_off: u64,
    executors: HashSet<&'static str>,
}

impl Shown {
    fn add(&mut self, story: &Story) {
        let kept = &story.run.kept;
        for it in &kept.iterations {
            self.iterations[match it.ended.outcome {
                Outcome::Completed => 0,
                Outcome::Failed => 1,
                Outcome::Interrupted => 2,
            }] += 1;
            self.cut_off += it.ended.requests_cut_off;
        }
        self.dropped += kept.dropped.values().sum::<u64>();
        self.requests += kept.requests.len() as u64;
        self.errors += kept.requests.iter().filter(|it| it.error_code >= 1000).count() as u64;
        self.redirects += kept.requests.iter().filter(|it| it.status == 302).count() as u64;
        self.executors.extend(story.roles.iter().map(|role| role.executor.kind().name()));
    }
}

#[test]
fn whatever_happens_each_iteration_and_each_request_is_accounted_for() {
    let program = program(SCRIPT);
    let mut shown = Shown::default();
    for seed in 0..SEEDS {
        let story = story(&program, seed);
        check_iterations(&story);
        check_requests(&story);
        shown.add(&story);
    }
    let Shown { iterations, dropped, requests, errors, redirects, cut_off, executors } = &shown;
    assert!(iterations.iter().all(|count| *count > SEEDS / 2), "{shown:?}");
    let counts = [dropped, requests, errors, redirects, cut_off];
    assert!(counts.iter().all(|count| **count > SEEDS / 2), "{shown:?}");
    assert_eq!(executors.len(), 6);
}
