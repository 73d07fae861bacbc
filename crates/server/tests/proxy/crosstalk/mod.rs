//! Clients and upstreams that behave well and badly at random, from a seed. Every request carries a
//! token, every response has to carry its request's, and at the end nothing is left over.
//!
//! A few thousand requests in `cargo test`. For longer, of the program itself:
//!
//! ```text
//! PLIMSOLL_PROXY=target/debug/plimsoll PLIMSOLL_PROXY_SECONDS=600 \
//!     cargo test -p plimsoll-server --test proxy crosstalk -- --nocapture
//! ```
//!
//! `PLIMSOLL_PROXY_SEED` is another seed. Which bytes are sent follows from it; how those of
//! different connections are mixed is the machine's business.

mod clients;
mod process;
mod upstreams;

use std::collections::BTreeMap;
use std::env;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::subject::{Kind, Subject};
use process::Process;
use upstreams::Chaos;

const CLIENTS: u64 = 12;
/// Acts of each client, where no time is given.
const ACTS: u64 = 60;

/// A seeded source of numbers.
pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// What went wrong, and what came of how many requests.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    wrong: Mutex<Vec<String>>,
    counts: Mutex<BTreeMap<String, u64>>,
}

impl Verdict {
    pub(crate) fn wrong(&self, why: String) {
        self.wrong.lock().expect("no panic").push(why);
    }

    pub(crate) fn count(&self, what: &str) {
        *self.counts.lock().expect("no panic").entry(what.to_owned()).or_default() += 1;
    }

    fn has_failed(&self) -> bool {
        !self.wrong.lock().expect("no panic").is_empty()
    }
}

#[expect(clippy::print_stderr, reason = "the record of a long run")]
fn say(text: &str) {
    eprintln!("{text}");
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Lets the clients loose and waits for them.
fn storm(subject: &Subject, seed: u64, seconds: Option<u64>, verdict: &Arc<Verdict>) {
    let (stop, acts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let address = subject.address;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (stop, acts) = (Arc::clone(&stop), Arc::clone(&acts));
            let verdict = Arc::clone(verdict);
            thread::spawn(move || {
                let mut client = clients::Wild::new(address, seed, number, &verdict);
                let mut done = 0;
                while !stop.load(Ordering::Relaxed) && (seconds.is_some() || done < ACTS) {
                    client.act();
                    done += 1;
                }
                client.settle();
                acts.fetch_add(done, Ordering::Relaxed);
            })
        })
        .collect();
    if let Some(seconds) = seconds {
        watch(subject, Duration::from_secs(seconds), verdict);
        stop.store(true, Ordering::Relaxed);
    }
    clients.into_iter().for_each(|client| client.join().expect("no panic"));
}

/// Lets time pass, and says now and then what the process holds.
fn watch(subject: &Subject, time: Duration, verdict: &Verdict) {
    let start = Instant::now();
    let mut next = Duration::ZERO;
    while start.elapsed() < time && !verdict.has_failed() {
        if start.elapsed() >= next {
            next += time / 20;
            if let Some(process) = subject.process() {
                let Process { rss_kib, sockets } = Process::of(process);
                let seconds = start.elapsed().as_secs();
                say(&format!("{seconds} s: {rss_kib} KiB resident, {sockets} sockets"));
            }
        }
        thread::park_timeout(Duration::from_millis(100));
    }
}

fn examine(kind: &Kind) {
    let seed = number("PLIMSOLL_PROXY_SEED").unwrap_or(1);
    let seconds = number("PLIMSOLL_PROXY_SECONDS");
    let verdict = Arc::new(Verdict::default());
    let upstreams = [Chaos::start(seed, &verdict), Chaos::start(seed, &verdict)];
    let addresses: Vec<_> = upstreams.iter().map(|it| it.address).collect();
    let subject = Subject::start(kind, &addresses, |rules| {
        rules.timeouts.response_ns = upstreams::RESPONSE_LIMIT.as_nanos() as u64;
        rules.health.failures = 0;
        // Requests that wait half way hold one each.
        rules.limits.upstream_connections = 128;
    });
    let before = subject.process().map(Process::of);
    // What is taken once and kept is taken by now.
    storm(&subject, seed, seconds.map(|seconds| seconds / 10), &verdict);
    let warm = subject.process().map(Process::of);
    storm(&subject, seed.wrapping_add(1), seconds, &verdict);
    clients::Wild::new(subject.address, seed, CLIENTS, &verdict).ask_calmly(50);
    if let (Some(process), Some(before), Some(warm)) = (subject.process(), before, warm) {
        let kept = || upstreams.iter().map(Chaos::open).sum::<usize>();
        let after = process::settled(process, || before.sockets + kept());
        say(&format!("before {before:?}, warm {warm:?}, after {after:?}, {} kept", kept()));
        if after.sockets > before.sockets + kept() {
            verdict.wrong(format!("{} sockets are left", after.sockets));
        }
        if after.rss_kib > warm.rss_kib * 5 / 4 + 4096 {
            verdict.wrong(format!("memory grew from {warm:?} to {after:?}"));
        }
    }
    subject.stop();
    let tokens: Vec<_> = upstreams.into_iter().map(Chaos::finish).collect();
    upstreams::judge_repeats(&tokens, &verdict);
    let counts = verdict.counts.lock().expect("no panic");
    say(&format!("{kind:?}, seed {seed}: {counts:#?}"));
    let wrong = verdict.wrong.lock().expect("no panic");
    assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}");
    let of = |what: &str| counts.get(what).copied().unwrap_or(0);
    assert!(of("answered") > of("refused by the proxy"), "{counts:#?}");
}

#[test]
fn every_response_is_its_requests_own() {
    for kind in Kind::all() {
        if kind.is_ours() {
            examine(&kind);
        }
    }
}
