//! The program against servers that mean harm: whatever they send, it ends by itself, in time and
//! within its memory, and every request is accounted for and every error has a name.
//!
//! A fault server plays one fault on each connection, in turn, its details drawn from a seed.
//! With `PLIMSOLL_HOSTILE_SECONDS=600` it goes on for ten minutes, with new seeds each round, and
//! says on stderr what was seen.

mod clients;
mod fates;
mod grpc;
mod http;
mod http2;
mod kinds;
mod relay;
mod server;
mod tls;
mod websocket;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::programs::{share_with, turn_with};
use crate::support::{Finished, Report, Server, plimsoll, run};
use http::Fault;
use relay::{Framing, Mutation, relay};
use server::{Dice, FaultServer, Step, play};

/// The program itself, and all that 24 connections may hold.
const RSS_BYTES_MAX: u64 = 64 << 20;
/// Starting, draining, and the slowness of a machine that does other things too.
const GRACE: Duration = Duration::from_secs(15);
/// A run of ten minutes is many of this, so that a server and all its loads stay below the limit of
/// a child process.
const RUN_SECONDS_MAX: f64 = 8.0;

/// A protocol: how it is loaded, who breaks it, and what the errors may be called.
struct Scene {
    scheme: &'static str,
    /// The server whose connections are broken on their way, if any.
    backend: Option<(Framing, &'static [&'static str])>,
    paths: &'static [&'static str],
    flags: &'static [&'static str],
    loads: &'static [&'static [&'static str]],
    faults: &'static [&'static [Fault]],
    mutations: &'static [&'static [Mutation]],
    kinds: &'static [&'static [&'static str]],
}

static HTTP1: Scene = Scene {
    scheme: "http",
    backend: None,
    paths: &["/"],
    flags: &[],
    loads: &[
        &[],
        &["--driver", "epoll", "-r", "400"],
        &["--no-keepalive", "--timestamps", "kernel"],
        &["--driver", "epoll", "--pipeline", "4"],
        &["--redirects", "3", "--cookies", "--expect", "body~=x"],
        &["--driver", "epoll", "--redirects", "3", "--cookies", "--expect", "body~=x", "-r", "400"],
        &["--expect-continue", "-b", "the body of the request"],
    ],
    faults: &[http::HEADS, http::BODIES, http::CONNECTIONS, http::DIALOGS],
    mutations: &[],
    kinds: &[kinds::ANY, kinds::HTTP1],
};

static TLS: Scene = Scene {
    scheme: "https",
    backend: Some((Framing::Tls, &["--tls"])),
    paths: &["/", "/bytes/20k", "/chunked/20k"],
    flags: &["-k"],
    loads: &[
        &["--requests-per-conn", "9"],
        &["--driver", "epoll", "-r", "300", "--no-keepalive"],
        &["--pipeline", "4", "--tls-version", "1.2", "--requests-per-conn", "5"],
        &["--driver", "epoll", "-r", "1000", "--expect", "body~=l", "--tls-version", "1.3"],
    ],
    faults: &[tls::STRANGERS],
    mutations: &[relay::MUTATIONS, tls::MUTATIONS],
    kinds: &[kinds::ANY, kinds::HTTP1, kinds::TLS],
};

static HTTP2: Scene = Scene {
    scheme: "http",
    backend: Some((Framing::Http2, &[])),
    paths: &["/", "/bytes/20k", "/chunked/20k"],
    flags: &["--http", "2"],
    loads: &[
        &["-m", "8"],
        &["--driver", "epoll", "-r", "400", "-m", "3"],
        &["--no-keepalive"],
        &["-m", "4", "-X", "POST", "-b", "the body of the request"],
        &["--driver", "epoll", "--redirects", "3", "--cookies", "--expect", "body~=x", "-m", "2"],
        &["--requests-per-conn", "9", "-m", "3", "--window", "64k"],
    ],
    faults: &[http2::STRANGERS],
    mutations: &[relay::MUTATIONS, http2::MUTATIONS],
    kinds: &[kinds::ANY, kinds::HTTP2],
};

static GRPC: Scene = Scene {
    scheme: "http",
    backend: Some((Framing::Http2, &[])),
    paths: &[""],
    flags: &["--reflect"],
    loads: &[
        &["--grpc", "fgrpc.PingServer/Ping", "-b", r#"{"seq": "{{seq}}"}"#, "-m", "8"],
        &["--grpc", "grpc.health.v1.Health/Check", "-b", "{}", "--driver", "epoll", "-r", "400"],
        &["--grpc", "grpc.testing.TestService/StreamingOutputCall", "-b", OUTPUTS, "-m", "3"],
        &["--grpc", "grpc.testing.TestService/FullDuplexCall", "-b", OUTPUTS, PINGPONG, MESSAGES],
        &["--grpc", "grpc.testing.TestService/StreamingInputCall", "-b", "{}", MESSAGES],
    ],
    faults: &[http2::STRANGERS],
    mutations: &[relay::MUTATIONS, http2::MUTATIONS, grpc::MUTATIONS],
    kinds: &[kinds::ANY, kinds::HTTP2, kinds::GRPC],
};
/// What a stream of the server is asked for.
const OUTPUTS: &str =
    r#"{"responseParameters": [{"size": 10}, {"size": 20000}, {"size": 0, "intervalUs": 1000}]}"#;
const PINGPONG: &str = "--grpc-stream=pingpong";
const MESSAGES: &str = "--grpc-messages=5";

static WEBSOCKET: Scene = Scene {
    scheme: "ws",
    backend: Some((Framing::WebSocket, &[])),
    paths: &["/ws", "/ws?push=1ms&fragments=3&pause=1ms", "/ws?close-after=5"],
    flags: &["--ws-message", "message {{seq}}"],
    loads: &[
        &[],
        &["--driver", "epoll", "-r", "400"],
        &["--no-keepalive"],
        &["--ws-reply", "match:^message"],
        &["--driver", "epoll", "-m", "4", "--requests-per-conn", "9", "--ws-binary"],
        &["--ws-reply", "none", "-r", "1000"],
    ],
    faults: &[websocket::STRANGERS],
    mutations: &[relay::MUTATIONS, websocket::MUTATIONS],
    kinds: &[kinds::ANY, kinds::HTTP1, kinds::WEBSOCKET],
};

/// How often something happened, by name.
type Counts = BTreeMap<String, u64>;

#[test]
fn whatever_a_server_sends_the_run_ends_and_every_request_is_accounted_for() {
    withstands(&HTTP1);
}

#[test]
fn whatever_a_server_does_to_tls_every_request_is_accounted_for() {
    withstands(&TLS);
}

#[test]
fn whatever_a_server_does_to_http2_every_request_is_accounted_for() {
    withstands(&HTTP2);
}

#[test]
fn whatever_a_server_does_to_grpc_every_call_is_accounted_for() {
    withstands(&GRPC);
}

#[test]
fn whatever_a_server_does_to_websockets_every_message_is_accounted_for() {
    withstands(&WEBSOCKET);
}

fn withstands(scene: &'static Scene) {
    let Some(_share) = share_with(&[]) else { return };
    let asked = std::env::var("PLIMSOLL_HOSTILE_SECONDS").ok();
    let seconds = asked.as_deref().map(|text| text.parse::<f64>().expect("seconds"));
    let each_s = seconds.map_or(1.0, |seconds| (seconds / scene.loads.len() as f64).max(1.0));
    let rounds = (each_s / RUN_SECONDS_MAX).ceil();
    let began = Instant::now();
    let mut seen = Counts::new();
    for round in 0..rounds as u64 {
        let played = scene.round(round, each_s / rounds, &mut seen);
        let never: Vec<_> = played.iter().filter(|(_, count)| **count == 0).collect();
        assert!(never.is_empty(), "never played: {never:?}");
    }
    if seconds.is_some() {
        let elapsed_s = began.elapsed().as_secs();
        writeln!(std::io::stderr(), "{elapsed_s} s: {seen:#?}").expect("stderr");
    }
}

impl Scene {
    /// Every load against every fault; gives how often each fault was played.
    fn round(&'static self, round: u64, run_s: f64, seen: &mut Counts) -> Counts {
        let played = Arc::new(Mutex::new(Counts::new()));
        let backend = self.backend.map(|(framing, flags)| (framing, Server::start(flags)));
        let paths = self.paths.iter().cycle();
        for ((number, flags), path) in (0..).zip(self.loads).zip(paths) {
            let real = backend.as_ref().map(|(framing, it)| (*framing, it.addresses()[0]));
            let server = self.server(1000 * round + number, real, Arc::clone(&played));
            let url = format!("{}://{}{path}", self.scheme, server.address());
            self.hold(&[&[url.as_str()], self.flags, *flags].concat(), run_s, seen);
        }
        if let Some((_, server)) = backend {
            self.outlived(server, seen);
        }
        played.lock().expect("no panic under the lock").clone()
    }

    /// A server that plays one way to break the protocol on each connection, in turn.
    fn server(
        &'static self,
        seed: u64,
        backend: Option<(Framing, SocketAddr)>,
        played: Arc<Mutex<Counts>>,
    ) -> FaultServer {
        let (faults, mutations) = (self.faults.concat(), self.mutations.concat());
        enter(&played, faults.iter().map(|fault| fault.0));
        enter(&played, mutations.iter().map(|mutation| mutation.name));
        FaultServer::start(move |stream, number| {
            let mut dice = Dice::new(seed << 32 | number);
            // The first connection to a real server is a good one, so that there is a run.
            let is_good = number == 0 && backend.is_some();
            let turn = if is_good { 0 } else { number as usize + 7 * seed as usize };
            let which = turn % (mutations.len() + faults.len());
            if let (Some(mutation), Some((framing, server))) = (mutations.get(which), backend) {
                count(&played, mutation.name);
                return relay(stream, server, framing, *mutation, &mut dice);
            }
            let (name, steps) = faults[which - mutations.len()];
            count(&played, name);
            play(stream, &steps(&mut dice));
        })
    }

    /// The real server has had every broken stream of the client's side: it still serves, has
    /// stayed small, and ends in order.
    fn outlived(&self, server: Server, seen: &mut Counts) {
        let url = format!("{}://{}{}", self.scheme, server.addresses()[0], self.paths[0]);
        let bounds = ["-n", "100", "--format", "json"];
        let flags = [&[url.as_str()], self.flags, self.loads[0], &bounds].concat();
        let after = run(&mut plimsoll(&flags));
        assert_eq!(Report::read(&after.stdout).ledger(["ok"]), [100], "{after:?}");
        let rss_bytes = rss_peak_bytes(server.id());
        assert!(rss_bytes < RSS_BYTES_MAX, "the server took {rss_bytes} bytes");
        let most = seen.entry("server's rss_peak_bytes".to_owned()).or_default();
        *most = rss_bytes.max(*most);
        let ended = server.finish_by(Signal::TERM);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    }

    /// Runs the program and checks what it promises with any server.
    fn hold(&self, flags: &[&str], run_s: f64, seen: &mut Counts) {
        let duration = format!("{run_s:.3}s");
        let bounds =
            ["-c", "24", "-t", "1", "-d", &duration, "--timeout", "300ms", "--drain", "500ms"];
        let mut command = plimsoll(flags);
        command.args(bounds).args(["--format", "json"]);
        let began = Instant::now();
        let finished = run(&mut command);
        let limit = Duration::from_secs_f64(run_s) + GRACE;
        assert!(began.elapsed() < limit, "{flags:?} took {:?}", began.elapsed());
        assert!(!finished.stderr.contains("panicked"), "{flags:?}: {finished:?}");
        if let Some(report) = read(flags, &finished) {
            self.check(flags, &report, seen);
        }
    }

    fn check(&self, flags: &[&str], report: &Report, seen: &mut Counts) {
        let errors = report.errors();
        for (phase, kind, count) in &errors {
            let is_known = self.kinds.iter().any(|kinds| kinds.contains(kind));
            assert!(is_known, "{flags:?}: {phase} {kind}: {}", report.at("/errors"));
            *seen.entry(format!("{phase} {kind}")).or_default() += count;
        }
        let sum = |is_one: &dyn Fn(&str) -> bool| -> u64 {
            errors.iter().filter(|(_, kind, _)| is_one(kind)).map(|(.., count)| count).sum()
        };
        let [scheduled, timed_out, broken] = report.ledger(["scheduled", "timed_out", "broken"]);
        let hurt = timed_out + broken;
        assert!(sum(&|kind| !kinds::UNMET.contains(&kind)) >= hurt, "{flags:?}: {:?}", report);
        assert!(sum(&|kind| kind == "timeout") >= timed_out, "{flags:?}: {errors:?}");
        // Where no connection came about, the errors say why.
        assert!(scheduled > 0 || !errors.is_empty(), "{flags:?}");
        let rss_bytes = report.count("/loader/rss_peak_bytes");
        assert!(rss_bytes < RSS_BYTES_MAX, "{flags:?}: {rss_bytes} bytes");
        for (name, count) in
            [("scheduled", scheduled), ("timed_out", timed_out), ("broken", broken)]
        {
            *seen.entry(format!("requests {name}")).or_default() += count;
        }
        let most = seen.entry("rss_peak_bytes".to_owned()).or_default();
        *most = rss_bytes.max(*most);
        if std::env::var_os("PLIMSOLL_HOSTILE_SECONDS").is_some() {
            let ledger = report.at("/ledger");
            writeln!(std::io::stderr(), "{flags:?}: {rss_bytes} B, {ledger}").expect("stderr");
        }
    }
}

/// The most memory that a process had in use.
fn rss_peak_bytes(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("kibibytes");
    kib << 10
}

fn enter(played: &Mutex<Counts>, names: impl Iterator<Item = &'static str>) {
    let mut played = played.lock().expect("no panic under the lock");
    for name in names {
        played.entry(name.to_owned()).or_default();
    }
}

fn count(played: &Mutex<Counts>, name: &str) {
    let mut played = played.lock().expect("no panic under the lock");
    *played.entry(name.to_owned()).or_default() += 1;
}

/// The report there is unless not one connection could be opened.
fn read(flags: &[&str], finished: &Finished) -> Option<Report> {
    match (finished.code, finished.stdout.is_empty()) {
        (Some(0), false) => assert_eq!(finished.stderr, "", "{flags:?}"),
        (Some(1), false) if finished.stderr.starts_with("plimsoll: no connection to ") => {
            return None;
        }
        (Some(1), false) => {}
        _ => panic!("{flags:?}: {finished:?}"),
    }
    // Reading it checks the ledger, and every histogram's count against it.
    Some(Report::read(&finished.stdout))
}

/// Each fault alone, so that its name is known to be the right one.
#[test]
fn each_fault_has_its_own_name() {
    const AT_ONCE: usize = 6;
    let Some(_turn) = turn_with(&[]) else { return };
    let fates =
        fates::FATES.iter().flat_map(|(want, names)| names.iter().map(|name| (*want, *name)));
    let fates: Vec<_> = fates.collect();
    let mut others = Vec::new();
    for some in fates.chunks(AT_ONCE) {
        let asked = some.iter().map(|(want, name)| (*want, name, thread::spawn(|| fate(name))));
        for (want, name, asked) in asked.collect::<Vec<_>>() {
            let found = asked.join().expect("a fate");
            if found != want {
                others.push(format!("{name}: {found} and not {want}"));
            }
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

/// What becomes of one request to a server with this fault: the error's kind, or the status.
fn fate(name: &'static str) -> String {
    let faults = [http::HEADS, http::BODIES, http::CONNECTIONS, http::DIALOGS].concat();
    let (_, steps) = *faults.iter().find(|fault| fault.0 == name).expect("a fault of this name");
    let server = FaultServer::start(move |stream, number| {
        play(stream, &steps(&mut Dice::new(number)));
    });
    let url = format!("http://{}/", server.address());
    let flags = ["-n", "1", "-c", "1", "--redirects", "3", "--cookies", "--format", "json"];
    let finished = run(plimsoll(&[&url]).args(flags));
    let report = Report::read(&finished.stdout);
    // What came after the response hurts no request.
    let kind = report.errors().into_iter().find(|(_, kind, _)| *kind != "unsolicited");
    let status = || report.at("/status").as_object().expect("an object").keys().next().cloned();
    kind.map_or_else(|| status().unwrap_or_default(), |(_, kind, _)| kind.to_owned())
}

/// Nobody answers, nobody reads: there is nothing to do, and nothing is done.
#[test]
fn a_server_that_does_nothing_costs_nothing() {
    let Some(_turn) = turn_with(&[]) else { return };
    for flags in [&[][..], &["--driver", "epoll"], &["-k"], &["-k", "--driver", "epoll"]] {
        let server =
            FaultServer::start(|stream, _| play(stream, &[Step::Stall, Step::Stall, Step::Stall]));
        let scheme = if flags.contains(&"-k") { "https" } else { "http" };
        let url = format!("{scheme}://{}/", server.address());
        let bounds = ["-c", "20", "-d", "1500ms", "--timeout", "1s", "--drain", "100ms"];
        let before_s = children_cpu_s();
        let finished =
            run(plimsoll(&[&[url.as_str()], flags, &bounds].concat()).args(["--format", "json"]));
        let cpu_s = children_cpu_s() - before_s;
        assert!(matches!(finished.code, Some(0 | 1)), "{finished:?}");
        // A loop that spins would be beyond 1.5 s.
        assert!(cpu_s < 0.75, "{flags:?}: {cpu_s} s of CPU");
    }
}

/// User and system time of children that were waited for; no other test has any now.
fn children_cpu_s() -> f64 {
    const TICKS_HZ: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/self/stat").expect("a Linux");
    let fields = text.rsplit(')').next().expect("fields").split_whitespace();
    let ticks: u64 =
        fields.skip(13).take(2).map(|field| field.parse::<u64>().expect("ticks")).sum();
    ticks as f64 / TICKS_HZ
}
