//! Results for tests, made as the engine makes them: request by request through a `Recorder`, from
//! a small simulation of a server with a fixed sequence of pseudo-random numbers.

mod recorded;
mod watched;
mod wide;

use std::collections::BTreeMap;

use plimsoll_core::doubt::{Figure, Reach, Touch};
use plimsoll_core::ledger::Ledger;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::part::{Part, Place};
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::recorder::{Moments, Recorder, Span};
use plimsoll_core::result::Unit;
use plimsoll_core::result::{
    Connections, ConnectionsChange, DriverUsed, Environment, Gate, Loader, Rate, RunResult,
    StageResult, Tool, Warmup,
};
use plimsoll_core::schedule::{Arrival, Profile, Stage};
use plimsoll_core::secret::Secret;
use plimsoll_core::series::{INTERVAL_NS, Point};
use plimsoll_core::verdict::{Cause, Pause, Verdict};
use plimsoll_core::{Histogram, Phase};

pub(crate) use recorded::recorded;
use watched::usage;
pub(crate) use watched::watched;
pub(crate) use wide::{scenarios, wide};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// xorshift64*, for spread that is the same in every run.
pub(crate) struct Spread(u64);

impl Spread {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A time around `median_ns` with the long right tail of servers.
    fn around(&mut self, median_ns: u64) -> u64 {
        let sum: f64 = (0..4).map(|_| self.share()).sum::<f64>() - 2.0;
        let tail = 1.0 / (1.0 - self.share().min(0.999_999));
        (median_ns as f64 * (0.6 * sum).exp() * tail.powf(0.12)) as u64
    }
}

fn plan() -> Draft {
    Draft { drain_ns: 5 * SECOND, ..Draft::new(Endpoint::http("127.0.0.1", 8080, "/")) }
}

/// A result in which nothing happened.
pub(crate) fn bare() -> RunResult {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
    RunResult {
        environment: Environment {
            os: "linux".to_owned(),
            kernel: "6.18.5".to_owned(),
            cpu: "Intel Xeon Gold 6338 @ 2.50 GHz".to_owned(),
            cores: 4,
            cores_allowed: 4,
            memory_bytes: 16 << 30,
            governor: None,
            smt: Some(false),
            hypervisor: Some("kvm".to_owned()),
            ..Environment::default()
        },
        started_at: "2026-11-21T10:20:30Z".to_owned(),
        elapsed_ns: 10 * SECOND,
        rate: Rate { window_ns: 10 * SECOND, ..Rate::default() },
        loader: Loader {
            workers: 1,
            driver: DriverUsed {
                kind: "uring".to_owned(),
                reason: "the kernel offers all that it needs".to_owned(),
            },
            rss_peak_bytes: 9 << 20,
            ..Loader::default()
        },
        ..RunResult::empty(tool, &plan())
    }
}

/// What a tester does that keeps a share of the requests waiting.
fn slower(share: f64) -> Vec<Touch> {
    [Figure::Response, Figure::Service].map(|it| Touch::below(it, Reach::requests(share))).into()
}

/// One request of a simulated run.
#[derive(Clone, Copy)]
struct Sent {
    intended_ns: u64,
    available_ns: u64,
    late_ns: u64,
    service_ns: u64,
    outcome: Outcome,
}

const OK: Outcome = Outcome::Completed { status: 200, ok: true };

fn gate(expr: &str, value: Option<f64>, unit: Unit, pass: bool) -> Gate {
    Gate { expr: expr.to_owned(), value, unit, pass, ..Gate::default() }
}

/// Fills a result from requests: each is recorded when it is sent and again when it ends.
fn fill(result: &mut RunResult, requests: &[Sent], cpu_ns: impl Fn(&Point) -> u64) {
    let sent_ns = |r: &Sent| r.available_ns + r.late_ns;
    let end_ns = |r: &Sent| sent_ns(r) + r.service_ns;
    let mut events: Vec<(u64, bool, &Sent)> =
        requests.iter().flat_map(|r| [(sent_ns(r), false, r), (end_ns(r), true, r)]).collect();
    events.sort_by_key(|&(time_ns, ends, _)| (time_ns, ends));
    let mut recorder = Recorder::new();
    recorder.parts.stages = result.stages.iter().map(|stage| stage.part.clone()).collect();
    recorder.parts.endpoints.clone_from(&result.endpoints);
    recorder.parts.addresses.clone_from(&result.addresses);
    let places = Places::of(result);
    let mut index = 0;
    let mut close = |recorder: &mut Recorder, index: u64| {
        let mut point = recorder.take_interval(Span::nth(index, 0), 0, Box::default()).pack();
        point.loader_cpu_ns = cpu_ns(&point);
        result.loader.cpu_system_ns += point.loader_cpu_ns;
        result.series.add(&point);
    };
    for &(time_ns, ends, request) in &events {
        while time_ns >= (index + 1) * INTERVAL_NS {
            close(&mut recorder, index);
            index += 1;
        }
        let sent_ns = sent_ns(request);
        let written_ns = sent_ns + (request.service_ns / 8).min(6_000);
        let first_byte_ns = end_ns(request) - (request.service_ns / 16).min(2_500);
        let moments = Moments {
            intended_ns: request.intended_ns,
            available_ns: request.available_ns,
            started_ns: sent_ns,
            sent_ns,
            written_ns,
            first_byte_ns: first_byte_ns.max(written_ns),
        };
        if ends {
            recorder.ended(&moments, time_ns, request.outcome, places.place(request));
            recorder.received_bytes += 156;
            error_of(&mut recorder, request.outcome);
        } else {
            recorder.scheduled(places.place(request));
            recorder.started(&moments, places.place(request));
            recorder.sent_bytes += 45;
        }
    }
    close(&mut recorder, index);
    for _ in 0..result.plan.connections {
        let connect = &mut recorder.phases[Phase::Connect];
        connect.record(80_000 + connect.count() * 1_500);
    }
    let last_ns = events.last().map_or(0, |event| event.0);
    result.elapsed_ns = result.rate.window_ns.max(last_ns);
    result.rate.answered_ns = last_ns;
    result.record(&recorder);
}

/// Which parts requests belong to: stages by their time, endpoints and addresses in turn.
struct Places {
    stage_ends_ns: Vec<u64>,
    endpoints: u64,
    addresses: u64,
}

impl Places {
    fn of(result: &RunResult) -> Self {
        let end_ns = |stage: &StageResult| stage.start_ns + stage.duration_ns;
        Self {
            stage_ends_ns: result.stages.iter().map(end_ns).collect(),
            endpoints: result.endpoints.len() as u64,
            addresses: result.addresses.len() as u64,
        }
    }

    fn place(&self, request: &Sent) -> Place {
        let slot = request.intended_ns / MS;
        let turn = |parts: u64, every: u64| {
            if parts == 0 { Place::NONE } else { (slot / every % parts) as u16 }
        };
        let stage = self.stage_ends_ns.iter().position(|end_ns| request.intended_ns < *end_ns);
        Place {
            endpoint: turn(self.endpoints, 1),
            stage: stage.map_or(Place::NONE, |stage| stage as u16),
            address: turn(self.addresses, 5),
            group: Place::NONE,
        }
    }
}

fn error_of(recorder: &mut Recorder, outcome: Outcome) {
    match outcome {
        Outcome::TimedOut => {
            recorder.error(Phase::Waiting, "timeout", 1, || "no answer within 500 ms".to_owned());
        }
        Outcome::Broken => recorder.error(Phase::Receiving, "truncated_body", 1, || {
            "the server closed the connection 512 bytes before the end of the body".to_owned()
        }),
        _ => {}
    }
}

/// A closed loop of 50 connections against a fast server.
pub(crate) fn steady() -> RunResult {
    let mut result = bare();
    result.loader.workers = 2;
    let mut spread = Spread::new();
    let mut requests = Vec::new();
    for connection in 0..50 {
        let mut now_ns = connection * 11_000;
        while now_ns < 10 * SECOND {
            let slow = if spread.share() < 0.0005 { 8.0 } else { 1.0 };
            let service_ns = (spread.around(2_400_000) as f64 * slow) as u64;
            requests.push(Sent {
                intended_ns: now_ns,
                available_ns: now_ns,
                late_ns: 0,
                service_ns,
                outcome: OK,
            });
            now_ns += service_ns;
        }
    }
    fill(&mut result, &requests, |point| point.completed * 40_000);
    result.loader.cpu_user_ns = 190 * MS;
    result
}

/// 1 000 requests/s over 50 connections; from 5.0 s to 5.3 s the server answers nothing.
pub(crate) fn stall() -> RunResult {
    let mut result = bare();
    result.plan.rate = Some(Profile::constant(1_000_000_000, Some(10 * SECOND), Arrival::Uniform));
    result.rate.target_rps = Some(1_000.0);
    let mut spread = Spread::new();
    let (from_ns, to_ns) = (5 * SECOND, 5 * SECOND + 300 * MS);
    let requests = (0..10_000).map(|slot| {
        let intended_ns = slot * MS;
        let mut request = Sent {
            intended_ns,
            available_ns: intended_ns,
            late_ns: spread.around(1_500),
            service_ns: spread.around(34_000),
            outcome: OK,
        };
        if (from_ns..to_ns).contains(&intended_ns) {
            if intended_ns < from_ns + 50 * MS {
                request.service_ns += to_ns - intended_ns;
            } else {
                request.available_ns = to_ns + 35_000;
            }
        }
        request
    });
    let requests: Vec<Sent> = requests.collect();
    fill(&mut result, &requests, |point| point.completed * 14_000 + 2_000_000);
    result.loader.spin_ns = 400 * MS;
    result.loader.cpu_user_ns = result.loader.spin_ns + 90 * MS;
    result.gates = vec![
        gate("p99<250ms", Some(271_400.0), Unit::Us, false),
        gate("errors<1%", Some(0.0), Unit::Share, true),
    ];
    result
}

/// From 100 to 2 000 requests/s, then held there; the server answers 503 above 1 200/s, lets some
/// requests run into the timeout and closes on others. The tester is short of CPU.
pub(crate) fn ramp() -> RunResult {
    let mut result = bare();
    let stage = |seconds: u64, from: u64, to: u64| Stage {
        duration_ns: Some(seconds * SECOND),
        from_uhz: from * 1_000_000,
        to_uhz: to * 1_000_000,
    };
    let stages = vec![stage(10, 100, 2_000), stage(20, 2_000, 2_000)];
    result.plan.rate = Some(Profile { stages, arrival: Arrival::Poisson });
    let stage = |start_ns, duration_ns, target_rps, name: &str| StageResult {
        start_ns,
        duration_ns,
        target_rps,
        part: Part::new(name),
    };
    result.stages = vec![
        stage(0, 10 * SECOND, 1_050.0, "10s@100..2k"),
        stage(10 * SECOND, 20 * SECOND, 2_000.0, "20s@2k"),
    ];
    result.plan.connections = 64;
    result.plan.duration_ns = Some(30 * SECOND);
    result.plan.timeout_ns = 500 * MS;
    result.plan.endpoint.path = Secret::public("/search?q=hull&page=2".to_owned());
    result.loader.driver.kind = "epoll".to_owned();
    result.rate.window_ns = 30 * SECOND;
    result.rate.target_rps = Some(1_683.3);
    let mut spread = Spread::new();
    let mut requests = Vec::new();
    let mut due_s = 0.0;
    while due_s < 30.0 {
        let rate = if due_s < 10.0 { 100.0 + 190.0 * due_s } else { 2_000.0 };
        requests.push(overloaded(&mut spread, due_s, rate));
        due_s += -(1.0 - spread.share()).ln() / rate;
    }
    fill(&mut result, &requests, |point| (point.completed * 420_000).min(970 * MS));
    result.loader.cpu_user_ns = result.loader.cpu_system_ns / 3;
    result.loader.pauses = vec![Pause { at_ns: 21_300 * MS, for_ns: 420 * MS }];
    result.loader.verdict = Verdict::Suspect;
    result.loader.causes = vec![
        Cause {
            verdict: Verdict::Suspect,
            code: "cpu".to_owned(),
            text: "a worker used 97 % of its CPU, so the tester may have been the limit: give it \
                   more threads (-t) or a lower rate"
                .to_owned(),
            touches: slower(0.02),
        },
        Cause {
            verdict: Verdict::Suspect,
            code: "paused".to_owned(),
            text: "the tester did not run for 420 ms from 21.3 s on (420 ms in all): what waited \
                   then looks slower than the server was"
                .to_owned(),
            touches: slower(0.014),
        },
    ];
    result
}

fn overloaded(spread: &mut Spread, due_s: f64, rate: f64) -> Sent {
    let load = rate / 2_000.0;
    let outcome = match spread.share() {
        s if s < 0.004 * load.powi(6) => Outcome::TimedOut,
        s if s < 0.006 * load.powi(6) => Outcome::Broken,
        s if s < 0.25 * (load - 0.6).max(0.0) => Outcome::Completed { status: 503, ok: false },
        s if s < 0.3 * (load - 0.6).max(0.0) => Outcome::Completed { status: 429, ok: false },
        _ => OK,
    };
    let mut service_ns = spread.around((3e6 * (1.0 + 4.0 * load.powi(4))) as u64);
    if matches!(outcome, Outcome::Completed { ok: false, .. }) {
        service_ns /= 6;
    }
    let service_ns = match outcome {
        Outcome::TimedOut => 500 * MS,
        _ => service_ns.min(499 * MS),
    };
    let intended_ns = (due_s * 1e9) as u64;
    let blocked_ns = if load > 0.9 { spread.around(2_000_000) } else { 0 };
    let paused_ns = (21_720 * MS).saturating_sub(intended_ns.max(21_300 * MS));
    Sent {
        intended_ns,
        available_ns: intended_ns + blocked_ns,
        late_ns: spread.around(40_000) + if intended_ns < 21_300 * MS { 0 } else { paused_ns },
        service_ns,
        outcome,
    }
}

/// Three endpoints on two addresses over TLS; some slots are shed, some requests redirected, and
/// the plan's condition ends the run.
pub(crate) fn parts() -> RunResult {
    let mut result = bare();
    result.plan.rate = Some(Profile::constant(1_000_000_000, Some(60 * SECOND), Arrival::Uniform));
    result.rate.target_rps = Some(1_000.0);
    result.rate.window_ns = 4 * SECOND;
    result.plan.endpoint.scheme = "https".to_owned();
    result.endpoints = ["home", "search", "a name so long that no table on a terminal can hold it"]
        .map(Part::new)
        .to_vec();
    result.addresses = ["192.0.2.1:8080", "[2001:db8::1]:8080"].map(Part::new).to_vec();
    let mut spread = Spread::new();
    let requests: Vec<Sent> = (0..4_000)
        .map(|slot| Sent {
            intended_ns: slot * MS,
            available_ns: slot * MS,
            late_ns: spread.around(1_500),
            service_ns: spread.around(400_000 * (1 + slot % 3)),
            outcome: match slot % 90 {
                1 => Outcome::Completed { status: 503, ok: false },
                _ => OK,
            },
        })
        .collect();
    fill(&mut result, &requests, |point| point.completed * 30_000);
    result.ledger.scheduled += 12;
    result.ledger.shed = 12;
    result.ledger.redirects = 40;
    result.ledger.reconnects = 3;
    result.connections = Connections {
        opened: 53,
        open_max: 50,
        tls_full: 50,
        tls_resumed: 3,
        tls: Some("TLS 1.3 TLS13_AES_256_GCM_SHA384".to_owned()),
        retransmits: 2,
        changes: vec![ConnectionsChange { at_ns: 2 * SECOND, connections: 50 }],
        ..Connections::default()
    };
    for served in 60..110 {
        result.connections.served.add(served);
    }
    result.interrupted = true;
    result.aborted = Some("errors>1% FOR 3s".to_owned());
    result.gates = vec![
        gate("service.p99<5ms", Some(3_217.5), Unit::Us, true),
        Gate {
            note: Some("no endpoint 'login'; there is: home, search".to_owned()),
            ..gate("p99@endpoint:login<1s", None, Unit::Us, false)
        },
    ];
    result
}

/// Nothing listens.
pub(crate) fn nothing() -> RunResult {
    let mut result = bare();
    let mut recorder = Recorder::new();
    for _ in 0..50 {
        recorder.unsent(1, 10 * SECOND, Place::NOWHERE);
    }
    for _ in 0..412 {
        recorder.error(Phase::Connect, "refused", 1, || "connection refused".to_owned());
    }
    for index in 0..10 {
        result
            .series
            .add(&recorder.take_interval(Span::nth(index, 0), 3 * MS, Box::default()).pack());
    }
    result.loader.cpu_system_ns = 30 * MS;
    result.record(&recorder);
    result.loader.verdict = Verdict::Invalid;
    result.loader.causes = vec![Cause {
        verdict: Verdict::Invalid,
        code: "no_responses".to_owned(),
        text: "not one response arrived".to_owned(),
        touches: Vec::new(),
    }];
    result
}

/// A run of exactly 400 requests after a warm-up, cut short.
pub(crate) fn cut_short() -> RunResult {
    let mut result = bare();
    result.plan.warmup_ns = 2 * SECOND;
    result.plan.connections = 1;
    result.plan.requests = Some(400);
    result.plan.duration_ns = None;
    result.rate.window_ns = 1_234 * MS;
    let mut spread = Spread::new();
    let mut now_ns = 0;
    let mut requests = Vec::new();
    while now_ns < 1_234 * MS {
        let service_ns = spread.around(6 * MS);
        requests.push(Sent {
            intended_ns: now_ns,
            available_ns: now_ns,
            late_ns: 0,
            service_ns,
            outcome: OK,
        });
        now_ns += service_ns;
    }
    if let Some(last) = requests.last_mut() {
        last.outcome = Outcome::Unfinished;
    }
    fill(&mut result, &requests, |point| point.completed * 40_000);
    result.interrupted = true;
    let mut response = Histogram::new();
    response.record_n(7 * MS, 280);
    result.warmup = Some(Warmup {
        duration_ns: 2 * SECOND,
        ledger: Ledger { scheduled: 280, sent: 280, completed: 280, ok: 280, ..Ledger::default() },
        response,
    });
    result
}

/// A run of an hour at a rate, its points made directly.
pub(crate) fn hour() -> RunResult {
    let mut result = stall();
    result.series = Default::default();
    let mut spread = Spread::new();
    for second in 0..3_600 {
        let (mut response, mut service) = (Histogram::new(), Histogram::new());
        let wave = 1.0 + 0.5 * (second as f64 / 300.0).sin();
        for _ in 0..60 {
            let service_ns = spread.around((400_000.0 * wave) as u64);
            service.record(service_ns);
            response.record(service_ns + spread.around(20_000));
        }
        result.series.add(&Point {
            t_ns: second * SECOND,
            interval_ns: SECOND,
            sent: 1_000,
            completed: 1_000,
            ok: 1_000 - second % 7,
            failed: second % 7,
            loader_cpu_ns: spread.around(50 * MS),
            lateness_max_ns: spread.around(9_000),
            response: response.pack(),
            service: service.pack(),
            ..Point::default()
        });
    }
    result.elapsed_ns = 3_600 * SECOND;
    result.rate.window_ns = result.elapsed_ns;
    result.plan.duration_ns = Some(result.elapsed_ns);
    result
}

/// A result whose texts try to break out of a terminal and of a page.
pub(crate) fn hostile() -> RunResult {
    let mut result = RunResult { target: Some(usage()), ..ramp() };
    let script = "\"><script>alert('x')</script>\x1b[2J&amp;\u{202e}";
    result.plan.endpoint.path = Secret::public(format!("/{script}"));
    result.plan.request.method = format!("GET{script}");
    result.plan.request.headers = vec![(format!("X-{script}"), Secret::public(script.to_owned()))];
    result.plan.request.body = Some(plimsoll_core::plan::Body::Text(script.into()));
    result.tool.version = script.to_owned();
    result.started_at = script.to_owned();
    result.environment.cpu = script.to_owned();
    result.environment.kernel = script.to_owned();
    result.environment.processor.flags = vec![script.to_owned()];
    result.environment.system.sysctl = BTreeMap::from([(script.to_owned(), script.to_owned())]);
    if let Some(usage) = &mut result.target {
        script.clone_into(&mut usage.watched[0].name);
        script.clone_into(&mut usage.cgroups[0].path);
        script.clone_into(&mut usage.notes[0]);
    }
    result.loader.driver.kind = script.to_owned();
    result.loader.driver.reason = script.to_owned();
    for error in &mut result.errors {
        error.sample = script.to_owned();
        error.kind = script.to_owned();
    }
    for cause in &mut result.loader.causes {
        cause.text = script.to_owned();
    }
    for stage in &mut result.stages {
        script.clone_into(&mut stage.part.name);
    }
    result.endpoints = vec![Part::new(script)];
    result.addresses = vec![Part::new(script), Part::new(script)];
    result.connections.opened = 1;
    result.connections.tls_full = 1;
    result.connections.tls = Some(script.to_owned());
    result.aborted = Some(script.to_owned());
    result.gates =
        vec![Gate { note: Some(script.to_owned()), ..gate(script, None, Unit::Number, false) }];
    result
}
