//! The whole engine over HTTP/2, against a server that does whatever the protocol allows: a
//! thousand random plans, and each request is told of as what the server did with it.

use std::cell::RefCell;
use std::rc::Rc;

use plimsoll_conn::{Http2, Http2Settings};
use plimsoll_core::Phase;
use plimsoll_core::histogram::Histogram;
use plimsoll_core::plan::{Body, Draft, HttpVersion};
use plimsoll_engine::Signals;
use plimsoll_io::sim::{Peer, SimOptions};
use plimsoll_proto::http2::{ClientOptions, Receiving};

use crate::http2_manners::{Http2Manners, Http2Mind, Seen};
use crate::http2_script::{Asked, Hello, Log, Reply};
use crate::http2_server::Http2Server;
use crate::manners::{Did, Fates};
use crate::multiplexed::{calm, random_manners, random_plan};
use crate::seeds::{Dice, check, random_network};
use crate::world::{MS, Ran, run_over};

/// Each takes longer than one of the protocol that exists for tests alone.
const SEEDS: u64 = 400;

/// How many bytes of bodies may wait for the kernel, as in real runs.
pub(crate) const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// What HTTP/2 connections of a plan have in common.
fn settings(plan: &Draft, output_bytes_max: usize) -> Http2Settings {
    let http2 = &plan.http2;
    let receiving = Receiving {
        window_bytes: http2.window_bytes,
        connection_window_bytes: http2.connection_window_bytes,
        header_table_bytes: http2.header_table_bytes,
        frame_bytes: http2.frame_bytes,
        ..ClientOptions::default().receiving
    };
    let streams = http2.streams;
    let options =
        ClientOptions { streams, receiving, output_bytes_max, ..ClientOptions::default() };
    Http2Settings { options }
}

/// Runs a plan against servers with these scripts, by worker.
pub(crate) fn run_http2<F>(
    plan: &Draft,
    sim: &SimOptions,
    hello: Hello,
    script: impl FnMut(u32) -> F,
) -> (Ran, Vec<Log>)
where
    F: FnMut(&Asked) -> Reply + 'static,
{
    run_limited(plan, sim, hello, OUTPUT_BYTES_MAX, script)
}

/// The same with another limit to what may wait for the kernel.
fn run_limited<F>(
    plan: &Draft,
    sim: &SimOptions,
    hello: Hello,
    output_bytes_max: usize,
    mut script: impl FnMut(u32) -> F,
) -> (Ran, Vec<Log>)
where
    F: FnMut(&Asked) -> Reply + 'static,
{
    let mut logs: Vec<Rc<RefCell<Log>>> = Vec::new();
    let peer = |worker: u32| {
        let (server, log) = Http2Server::new(hello, script(worker));
        logs.push(log);
        Box::new(server) as Box<dyn Peer>
    };
    let settings = settings(plan, output_bytes_max);
    let ran = run_over::<Http2>(plan, sim, &settings, peer, &Signals::default(), Vec::new());
    (ran, logs.iter().map(|log| log.take()).collect())
}

fn random_http2_plan(dice: &mut Dice) -> Draft {
    let mut plan = random_plan(dice);
    plan.http_version = HttpVersion::Http2;
    plan.http2.streams = dice.between(1, 13) as u32;
    plan.http2.header_table_bytes = [0, 100, 4096, 65_536][dice.between(0, 4) as usize];
    if dice.chance(30) {
        plan.http2.window_bytes = dice.between(2000, 30_000) as u32;
        plan.http2.connection_window_bytes = dice.between(65_535, 100_000) as u32;
    }
    plan.request.headers.push(("X-Number".to_owned(), "{{seq}}".into()));
    if plan.request.body.is_some() {
        let filler = "x".repeat(dice.between(0, 3000) as usize);
        plan.request.body = Some(Body::new(format!("{{{{seq}}}}:{filler}").into_bytes()));
    } else if dice.chance(20) {
        plan.request.method = "HEAD".to_owned();
        plan.expect.clear();
    }
    if !plan.expect.is_empty() {
        plan.expect = vec!["body*=hello".parse().unwrap(), "header:server=h2".parse().unwrap()];
    }
    plan.redirects = if dice.chance(30) { dice.between(1, 4) as u32 } else { 0 };
    plan.cookies = dice.chance(30);
    plan
}

fn random_http2_manners(dice: &mut Dice, plan: &Draft) -> Http2Manners {
    let mut common = random_manners(dice, plan);
    let has_window = common.window.is_some() && !plan.request.expect_continue;
    common.window = has_window.then(|| dice.between(0, 3000));
    Http2Manners::random(dice, plan, common)
}

/// What came of a run against random servers.
struct Told {
    output_bytes_max: usize,
    ran: Ran,
    logs: Vec<Log>,
    seen: Vec<Seen>,
}

impl Told {
    fn run(seed: u64, plan: &Draft, sim: &SimOptions, manners: Http2Manners) -> Self {
        let mut seen: Vec<Rc<RefCell<Seen>>> = Vec::new();
        let script = |worker: u32| {
            let (mut mind, saw) = Http2Mind::new(seed ^ u64::from(worker) << 32, manners, plan);
            seen.push(saw);
            move |asked: &Asked| mind.reply(asked)
        };
        // Far less than a body, or more than all of them.
        let output_bytes_max = [300, 2000, OUTPUT_BYTES_MAX][seed as usize % 3];
        let (ran, logs) = run_limited(plan, sim, manners.hello(), output_bytes_max, script);
        Self { output_bytes_max, ran, logs, seen: seen.iter().map(|seen| seen.take()).collect() }
    }

    fn total(&self, of: fn(&Log) -> u64) -> u64 {
        self.logs.iter().map(of).sum()
    }

    fn dids(&self) -> Vec<Did> {
        self.logs.iter().map(|log| log.did.clone()).collect()
    }

    /// What the client did against the rules.
    fn violations(&self) -> Vec<&String> {
        let did = self.logs.iter().flat_map(|log| &log.did.violations);
        did.chain(self.seen.iter().flat_map(|seen| &seen.wrong)).collect()
    }
}

#[test]
fn each_request_is_told_of_as_what_the_server_did_with_it() {
    let mut happened = [0; 14];
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let plan = random_http2_plan(&mut dice);
        let manners = random_http2_manners(&mut dice, &plan);
        let told = Told::run(seed, &plan, &calm(&mut dice, seed), manners);
        let (sum, dids) = (told.ran.sum(), told.dids());
        let ledger = sum.ledger;
        let context = || format!("seed {seed}: {ledger:?}\n{manners:?}\n{dids:?}\n{plan:?}");
        assert!(told.violations().is_empty(), "{:?}, {}", told.violations(), context());
        ledger.check().unwrap_or_else(|error| panic!("{error}, {}", context()));
        let truth = Fates::truth(&dids);
        if plan.resends {
            assert!(Fates::told(&ledger).fits_resent(truth, &ledger), "{truth:?} {}", context());
        } else {
            assert_eq!(Fates::told(&ledger), truth, "{}", context());
        }
        assert!(told.total(|log| log.did.cancelled) <= ledger.timed_out, "{}", context());
        assert_eq!(sum.response().count(), ledger.scheduled, "{}", context());
        assert_eq!(sum.service.count(), ledger.sent, "{}", context());
        let followed: u64 = told.seen.iter().map(|seen| seen.followed).sum();
        assert!(followed <= ledger.redirects + ledger.resent, "{}", context());
        let says_goodbye = manners.common.says_goodbye > 0;
        if !says_goodbye && plan.requests_per_connection.is_none() {
            // One that was silent for two timeouts is given up.
            let given_up_max = ledger.timed_out / 2;
            assert!(ledger.reconnects <= given_up_max, "closed for no reason, {}", context());
        }
        let opened: u64 = told.ran.records.iter().map(|record| record.connections.opened).sum();
        assert_eq!(sum.phases[Phase::Greeting].count(), opened, "{}", context());
        let [carried] = &sum.protocols[..] else { panic!("{}", context()) };
        let counts = (carried.name.as_str(), carried.connections, carried.sent, carried.completed);
        assert_eq!(
            counts,
            ("h2", opened, ledger.sent + ledger.resent, ledger.completed),
            "{}",
            context()
        );
        let held = || dids.iter().flat_map(|did| &did.held_ns);
        let stalled = &sum.phases[Phase::Stalled];
        if told.output_bytes_max == OUTPUT_BYTES_MAX {
            assert_eq!(stalled.count(), held().count() as u64, "{}", context());
            assert!(stalled.sum_ns() >= held().sum(), "{}", context());
        } else {
            // The kernel may hold a body back until it is not needed any more.
            assert!(stalled.count() <= held().count() as u64, "{}", context());
        }
        for phase in [Phase::Sending, Phase::Waiting, Phase::Receiving] {
            assert_eq!(sum.phases[phase].count(), ledger.completed, "{phase:?}, {}", context());
        }
        assert_eq!(sum.disordered, 0, "{}", context());
        let cookies: u64 = told.seen.iter().map(|seen| seen.cookies).sum();
        assert!(plan.cookies || cookies == 0, "{}", context());
        let counts = [
            ledger.completed,
            ledger.failed,
            ledger.refused,
            ledger.broken,
            told.total(|log| log.did.cancelled),
            told.total(|log| log.did.goodbyes),
            told.total(|log| log.did.pongs),
            held().count() as u64,
            followed,
            cookies,
            told.total(|log| log.early),
            told.total(|log| log.padded),
            told.total(|log| log.trailers),
            told.total(|log| log.downloads_held),
        ];
        happened.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(happened.iter().all(|count| *count > SEEDS), "too little happened: {happened:?}");
}

/// Over a network on which each delivery takes the same time, a body is held back for as long as
/// the server had no room for it, the way there and the way back.
#[test]
fn a_body_is_stalled_for_as_long_as_its_window_is_too_small() {
    let mut stalls = 0;
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let mut plan = random_http2_plan(&mut dice);
        plan.resends = false;
        plan.request.method = "POST".to_owned();
        plan.request.expect_continue = false;
        let filler = "x".repeat(dice.between(0, 3000) as usize);
        plan.request.body = Some(Body::new(format!("{{{{seq}}}}:{filler}").into_bytes()));
        let mut manners = random_http2_manners(&mut dice, &plan);
        manners.common.window = Some(dice.between(0, 3000));
        let way_ns = dice.between(10_000, MS);
        let split = dice.between(0, 700) as f64 / 1000.0;
        let latency_ns = way_ns..way_ns + 1;
        let sim = SimOptions { seed, latency_ns, split, ..SimOptions::default() };
        let told = Told::run(seed, &plan, &sim, manners);
        let sum = told.ran.sum();
        let mut want = Histogram::new();
        let held_ns = told.logs.iter().flat_map(|log| &log.did.held_ns);
        held_ns.for_each(|held_ns| want.record(held_ns + 2 * way_ns));
        let figures = |histogram: &Histogram| {
            let ends_ns = [histogram.min_ns(), histogram.max_ns()];
            (histogram.sum_ns(), ends_ns, histogram.buckets().collect::<Vec<_>>())
        };
        let [stalled, sending] = [Phase::Stalled, Phase::Sending].map(|phase| &sum.phases[phase]);
        let context = || format!("seed {seed}: {manners:?}\n{:?}\n{plan:?}", told.logs);
        assert!(told.violations().is_empty(), "{:?}, {}", told.violations(), context());
        assert_eq!(figures(stalled), figures(&want), "{}", context());
        assert_eq!(sending.sum_ns(), stalled.sum_ns(), "{}", context());
        stalls += stalled.count();
    }
    assert!(stalls > 5000, "{stalls} stalls");
}

#[test]
fn over_a_bad_network_every_request_is_accounted_for() {
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let plan = random_http2_plan(&mut dice);
        let manners = random_http2_manners(&mut dice, &plan);
        let told = Told::run(seed, &plan, &random_network(&mut dice, seed), manners);
        check(seed, &plan, &told.ran, false);
        let ledger = told.ran.sum().ledger;
        let answered = told.total(|log| log.did.answered);
        assert!(ledger.completed <= answered, "seed {seed}: {ledger:?}");
        let requests = told.total(|log| log.did.requests);
        assert!(requests <= ledger.sent + ledger.resent, "seed {seed}: {ledger:?}");
        assert!(told.violations().is_empty(), "seed {seed}: {:?}", told.violations());
    }
}
