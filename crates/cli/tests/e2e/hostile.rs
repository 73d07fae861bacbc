//! The program against servers that mean harm: whatever they send, it ends by itself, in time and
//! within its memory, and every request is accounted for and every error has a name.
//!
//! A fault server plays one fault on each connection, in turn, its details drawn from a seed.
//! With `PLIMSOLL_HOSTILE_SECONDS=600` it goes on for ten minutes, with new seeds each round, and
//! says on stderr what was seen.

mod fates;
mod http;
mod server;
mod tls;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::programs::{share_with, turn_with};
use crate::support::{Finished, Report, Server, plimsoll, run};
use server::{Dice, FaultServer, Step, play};

/// Every kind of error that a server's doing may have. `other`, `tls_internal` and `tls_not_open`
/// are not among them: they would be ours.
const KINDS: &[&str] = &[
    "abandoned",
    "aborted",
    "bad_chunk",
    "bad_content_length",
    "bad_transfer_encoding",
    "broken_pipe",
    "chunk_line_too_long",
    "closed",
    "conflicting_length",
    "expect_body",
    "head_too_long",
    "malformed_head",
    "redirect_elsewhere",
    "redirect_limit",
    "redirect_too_long",
    "refused",
    "reset",
    "timed_out",
    "timeout",
    "tls_alert",
    "tls_alpn",
    "tls_certificate",
    "tls_decrypt",
    "tls_incompatible",
    "tls_protocol",
    "tls_truncated",
    "tls_version",
    "too_many_headers",
    "too_many_interim",
    "trailers_too_long",
    "truncated_body",
    "truncated_head",
    "unsolicited",
    "unsupported_version",
];
/// Kinds of requests that completed and were not liked.
const UNMET: &[&str] =
    &["expect_body", "redirect_elsewhere", "redirect_limit", "redirect_too_long"];

/// The program itself, and all that 24 connections may hold.
const RSS_BYTES_MAX: u64 = 64 << 20;
/// Starting, draining, and the slowness of a machine that does other things too.
const GRACE: Duration = Duration::from_secs(15);
/// A run of ten minutes is many of this, so that each stays below the limit of a child process.
const RUN_SECONDS_MAX: f64 = 40.0;

const HTTP: &[&[&str]] = &[
    &[],
    &["--driver", "epoll", "-r", "400"],
    &["--no-keepalive", "--timestamps", "kernel"],
    &["--driver", "epoll", "--pipeline", "4"],
    &["--redirects", "3", "--cookies", "--expect", "body~=x"],
    &["--driver", "epoll", "--redirects", "3", "--cookies", "--expect", "body~=x", "-r", "400"],
    &["--expect-continue", "-b", "the body of the request"],
];
const HTTPS: &[&[&str]] = &[
    &["--requests-per-conn", "9"],
    &["--driver", "epoll", "-r", "300", "--no-keepalive"],
    &["--pipeline", "4", "--tls-version", "1.2", "--requests-per-conn", "5"],
    &["--driver", "epoll", "-r", "1000", "--expect", "body~=l", "--tls-version", "1.3"],
];

/// How often something happened, by name.
type Counts = BTreeMap<String, u64>;

#[test]
fn whatever_a_server_sends_the_run_ends_and_every_request_is_accounted_for() {
    let Some(_share) = share_with(&[]) else { return };
    let asked = std::env::var("PLIMSOLL_HOSTILE_SECONDS").ok();
    let seconds = asked.as_deref().map(|text| text.parse::<f64>().expect("seconds"));
    let loads = (HTTP.len() + HTTPS.len()) as f64;
    let each_s = seconds.map_or(1.0, |seconds| (seconds / loads).max(1.0));
    let rounds = (each_s / RUN_SECONDS_MAX).ceil();
    let began = Instant::now();
    let mut seen = Counts::new();
    for round in 0..rounds as u64 {
        let played = one_round(round, each_s / rounds, &mut seen);
        let never: Vec<_> = played.iter().filter(|(_, count)| **count == 0).collect();
        assert!(never.is_empty(), "never played: {never:?}");
    }
    if seconds.is_some() {
        let elapsed_s = began.elapsed().as_secs();
        writeln!(std::io::stderr(), "{elapsed_s} s: {seen:#?}").expect("stderr");
    }
}

/// Every load against every fault; gives how often each fault was played.
fn one_round(round: u64, run_s: f64, seen: &mut Counts) -> Counts {
    let played = Arc::new(Mutex::new(Counts::new()));
    for (number, flags) in (0..).zip(HTTP) {
        let server = http_server(1000 * round + number, Arc::clone(&played));
        let url = format!("http://{}/", server.address());
        hold(&[&[url.as_str()], *flags].concat(), run_s, seen);
    }
    let backend = Server::start(&["--tls"]);
    let paths = ["/", "/bytes/20k", "/chunked/20k"];
    for ((number, flags), path) in (0..).zip(HTTPS).zip(paths.iter().cycle()) {
        let seed = 1000 * round + 500 + number;
        let server = tls_server(seed, backend.addresses()[0], Arc::clone(&played));
        let url = format!("https://{}{path}", server.address());
        hold(&[&[url.as_str(), "-k"], *flags].concat(), run_s, seen);
    }
    // The real server has had every broken stream of the client's side, and still serves.
    let after = run(&mut plimsoll(&[&backend.url("/"), "-k", "-n", "100", "--format", "json"]));
    assert_eq!(Report::read(&after.stdout).ledger(["ok"]), [100], "{after:?}");
    played.lock().expect("no panic under the lock").clone()
}

fn http_server(seed: u64, played: Arc<Mutex<Counts>>) -> FaultServer {
    let faults = [http::HEADS, http::BODIES, http::CONNECTIONS, http::DIALOGS].concat();
    enter(&played, faults.iter().map(|fault| fault.0));
    FaultServer::start(move |stream, number| {
        let mut dice = Dice::new(seed << 32 | number);
        let (name, steps) = faults[(number as usize + 7 * seed as usize) % faults.len()];
        count(&played, name);
        play(stream, &steps(&mut dice));
    })
}

fn tls_server(seed: u64, backend: SocketAddr, played: Arc<Mutex<Counts>>) -> FaultServer {
    let (strangers, mutations) = (tls::STRANGERS, tls::MUTATIONS);
    enter(&played, strangers.iter().map(|fault| fault.0));
    enter(&played, mutations.iter().map(|mutation| mutation.0));
    FaultServer::start(move |stream, number| {
        let mut dice = Dice::new(seed << 32 | number);
        // The first handshake is a good one, so that there is a run.
        let turn = if number == 0 { 0 } else { number as usize + 7 * seed as usize };
        let which = turn % (mutations.len() + strangers.len());
        let Some((name, mutation)) = mutations.get(which) else {
            let fault = strangers[which - mutations.len()];
            count(&played, fault.0);
            return play(stream, &fault.1(&mut dice));
        };
        count(&played, name);
        tls::relay(stream, backend, *mutation, &mut dice);
    })
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

/// Runs the program and checks what it promises with any server.
fn hold(flags: &[&str], run_s: f64, seen: &mut Counts) {
    let duration = format!("{run_s:.3}s");
    let bounds = ["-c", "24", "-t", "1", "-d", &duration, "--timeout", "300ms", "--drain", "500ms"];
    let mut command = plimsoll(flags);
    command.args(bounds).args(["--format", "json"]);
    let began = Instant::now();
    let finished = run(&mut command);
    let limit = Duration::from_secs_f64(run_s) + GRACE;
    assert!(began.elapsed() < limit, "{flags:?} took {:?}", began.elapsed());
    assert!(!finished.stderr.contains("panicked"), "{flags:?}: {finished:?}");
    if let Some(report) = read(flags, &finished) {
        check(flags, &report, seen);
    }
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

fn check(flags: &[&str], report: &Report, seen: &mut Counts) {
    let errors = report.errors();
    for (phase, kind, count) in &errors {
        assert!(KINDS.contains(kind), "{flags:?}: {phase} {kind}: {}", report.at("/errors"));
        *seen.entry(format!("{phase} {kind}")).or_default() += count;
    }
    let sum = |is_one: &dyn Fn(&str) -> bool| -> u64 {
        errors.iter().filter(|(_, kind, _)| is_one(kind)).map(|(.., count)| count).sum()
    };
    let [scheduled, timed_out, broken] = report.ledger(["scheduled", "timed_out", "broken"]);
    let hurt = timed_out + broken;
    assert!(sum(&|kind| !UNMET.contains(&kind)) >= hurt, "{flags:?}: {:?}", report);
    assert!(sum(&|kind| kind == "timeout") >= timed_out, "{flags:?}: {errors:?}");
    assert!(scheduled > 0, "{flags:?}");
    let rss_bytes = report.count("/loader/rss_peak_bytes");
    assert!(rss_bytes < RSS_BYTES_MAX, "{flags:?}: {rss_bytes} bytes");
    for (name, count) in [("scheduled", scheduled), ("timed_out", timed_out), ("broken", broken)] {
        *seen.entry(format!("requests {name}")).or_default() += count;
    }
    let most = seen.entry("rss_peak_bytes".to_owned()).or_default();
    *most = rss_bytes.max(*most);
    if std::env::var_os("PLIMSOLL_HOSTILE_SECONDS").is_some() {
        let ledger = report.at("/ledger");
        writeln!(std::io::stderr(), "{flags:?}: {rss_bytes} B, {ledger}").expect("stderr");
    }
}

/// Each fault alone, so that its name is known to be the right one.
#[test]
fn each_fault_has_its_own_name() {
    const AT_ONCE: usize = 6;
    let Some(_turn) = turn_with(&[]) else { return };
    let fates =
        fates::FATES.iter().flat_map(|(want, names)| names.iter().map(|name| (*want, *name)));
    let fates: Vec<_> = fates.collect();
    for some in fates.chunks(AT_ONCE) {
        let asked = some.iter().map(|(want, name)| (want, name, thread::spawn(|| fate(name))));
        for (want, name, asked) in asked.collect::<Vec<_>>() {
            assert_eq!(asked.join().expect("a fate"), *want, "{name}");
        }
    }
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

/// Clients that send noise, stop anywhere, reset, or never read, as many as they like at once.
#[test]
fn our_server_outlives_hostile_clients() {
    let Some(_share) = share_with(&[]) else { return };
    for flags in [&[][..], &["--driver", "epoll"], &["--tls"], &["--tls", "--driver", "epoll"]] {
        let server = Server::start(flags);
        let address = server.addresses()[0];
        let clients: Vec<_> = (0..300)
            .map(|number| thread::spawn(move || attack(address, &mut Dice::new(number))))
            .collect();
        clients.into_iter().for_each(|client| client.join().expect("a client"));
        let after =
            run(plimsoll(&[&server.url("/"), "-k", "-n", "100"]).args(["--format", "json"]));
        assert_eq!(Report::read(&after.stdout).ledger(["ok"]), [100], "{flags:?}: {after:?}");
        let ended = server.finish_by(Signal::TERM);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{flags:?}: {ended:?}");
    }
}

fn attack(address: SocketAddr, dice: &mut Dice) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    let hello = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    let get = b"GET /bytes/1M HTTP/1.1\r\nHost: a\r\n\r\n";
    let post = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n";
    if dice.below(2) == 0 && stream.write_all(HTTP2_GREETING).is_err() {
        return;
    }
    for _ in 0..=dice.below(6) {
        let noise = 1 + dice.below(2000);
        let bytes = match dice.below(9) {
            6 => {
                frame(dice.below(12) as u8, dice.below(256) as u8, dice.below(9) as u8, noise, dice)
            }
            7 => rapid_resets(),
            // HEADERS whose block never ends.
            8 => [&[0, 0, 0, 1, 0, 0, 0, 0, 1][..], &[0, 0, 0, 9, 0, 0, 0, 0, 1].repeat(100)]
                .concat(),
            0 => dice.bytes(noise),
            1 => hello.to_vec(),
            2 => get.repeat(20),
            3 => post[..dice.below(post.len())].to_vec(),
            4 => [&hello[..], &dice.bytes(noise)].concat(),
            _ => vec![b'x'; 100_000],
        };
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
    match dice.below(3) {
        0 => server::reset(&stream),
        1 => {
            server::finish(&mut stream);
        }
        _ => {}
    }
}

/// A client's preface and empty SETTINGS.
const HTTP2_GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A frame full of noise, in type, flags, stream and payload.
fn frame(kind: u8, flags: u8, stream: u8, bytes: usize, dice: &mut Dice) -> Vec<u8> {
    let length = (bytes as u32).to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], &dice.bytes(bytes)].concat()
}

/// Requests for a long body, each given up at once.
fn rapid_resets() -> Vec<u8> {
    let request = |stream: u32| {
        let [s0, s1, s2, s3] = stream.to_be_bytes();
        // `:method: GET`, `:scheme: http`, and `:path: /bytes/1M`.
        let head = [0, 0, 13, 1, 5, s0, s1, s2, s3, 0x82, 0x86, 0x04, 9];
        [&head[..], b"/bytes/1M", &[0, 0, 4, 3, 0, s0, s1, s2, s3, 0, 0, 0, 8]].concat()
    };
    (0..2000).flat_map(|number| request(2 * number + 1)).collect()
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
