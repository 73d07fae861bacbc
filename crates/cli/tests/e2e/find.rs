//! Searches on a real server whose load line is known: `/queue/` of the built-in server is an M/D/1
//! queue. Each takes minutes, so they run only when `PLIMSOLL_FIND_ORACLE=20` says how many.
//!
//! `PLIMSOLL_FIND_STRANGER=50` has a stranger take half of one CPU meanwhile. Then searches go on
//! one at a time with a budget, and each must have an answer, none of them above the line by more
//! than 5 %.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::programs::turn_with;
use crate::support::{Server, plimsoll};

/// The worker takes this long for each request.
const PATH: &str = "/queue/2ms";

const SLO: &str = "p99<20ms";

/// The rate at which the 99th percentile is ten service times, by Erlang's formula.
const TRUTH_RPS: f64 = 386.75;

/// Searches that go on at the same time, each on a server of its own: they mostly wait.
const AT_ONCE: usize = 4;

/// An answer this far below the line is as good as can be asked for.
const LOW: f64 = 0.85;

/// What a search shows, as parts of the line: the rate that meets the objective, and the one that
/// does not.
type Shown = (Option<f64>, Option<f64>);

/// How long a search beside a stranger may take.
const BUDGET: &str = "90s";

/// How far above the line an answer beside a stranger may be.
const HIGH: f64 = 1.05;

/// The stranger works and rests in turns of this length.
const TURN: Duration = Duration::from_millis(100);

fn search(seed: usize, more: &[&str]) -> Shown {
    let server = Server::start(&[]);
    // The rates of the climb lie anywhere around the line.
    let from = format!("{:.3}", 25.0 * (1.0 + 0.05 * (seed as f64 * 0.618_034).fract()));
    let (seed, url) = (seed.to_string(), server.url(PATH));
    let flags = ["find", "--slo", SLO, "--hold", "30s", "--from", &from, "--seed", &seed];
    let quiet = ["--no-progress", "--format", "json", &url];
    let mut command = plimsoll(&[&flags[..], more, &quiet].concat());
    // It takes longer than other commands may; its own budget ends it.
    let finished = command.output().expect("a search");
    let found: Value = serde_json::from_slice(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {finished:?}"));
    let part = |name: &str| found["answer"][name].as_f64().map(|rps| rps / TRUTH_RPS);
    let (rate, fails) = (part("rate_rps"), part("fails_rps"));
    let (ending, elapsed_s) = (&found["answer"]["ending"], &found["answer"]["elapsed_s"]);
    let line = format!("seed {seed}: {ending}, {rate:?} to {fails:?} of the line in {elapsed_s} s");
    writeln!(std::io::stderr(), "{line}").expect("stderr");
    (rate, fails)
}

#[test]
fn searches_find_the_line_of_a_real_server() {
    let Ok(count) = std::env::var("PLIMSOLL_FIND_ORACLE") else { return };
    let count: usize = count.parse().expect("PLIMSOLL_FIND_ORACLE is a number of searches");
    let Some(_turn) = turn_with(&[]) else { return };
    if let Ok(percent) = std::env::var("PLIMSOLL_FIND_STRANGER") {
        let percent = percent.parse().expect("PLIMSOLL_FIND_STRANGER is a percentage of a CPU");
        return beside_a_stranger(count, percent);
    }
    let seeds: Vec<usize> = (1..=count).collect();
    let mut shown: Vec<Shown> = Vec::new();
    for together in seeds.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let running: Vec<_> =
                together.iter().map(|seed| scope.spawn(|| search(*seed, &[]))).collect();
            shown.extend(running.into_iter().map(|search| search.join().expect("a search")));
        });
    }
    // One in twenty may be wrong.
    let least = count - count / 20;
    let good = |rate: &Option<f64>| rate.is_some_and(|rate| (LOW..=1.0).contains(&rate));
    let (rates, tops): (Vec<_>, Vec<_>) = shown.iter().copied().unzip();
    let near = rates.iter().filter(|rate| good(rate)).count();
    let above = tops.iter().filter(|top| top.is_some_and(|top| top >= 1.0)).count();
    assert!(near >= least && above >= least, "{near} and {above} of {count}: {shown:?}");
}

/// Makes the searches while a thread takes this percentage of a CPU.
fn beside_a_stranger(count: usize, percent: u32) {
    let is_over = AtomicBool::new(false);
    let shown: Vec<Shown> = thread::scope(|scope| {
        scope.spawn(|| take(percent, &is_over));
        let shown = (1..=count).map(|seed| search(seed, &["--budget", BUDGET])).collect();
        is_over.store(true, Ordering::SeqCst);
        shown
    });
    let is_good = |(rate, _): &&Shown| rate.is_some_and(|rate| rate <= HIGH);
    let good = shown.iter().filter(is_good).count();
    assert_eq!(good, count, "an answer in each, none above the line by more than 5 %: {shown:?}");
}

fn take(percent: u32, is_over: &AtomicBool) {
    let busy = TURN * percent.min(100) / 100;
    while !is_over.load(Ordering::SeqCst) {
        let began = Instant::now();
        while began.elapsed() < busy {
            std::hint::spin_loop();
        }
        thread::sleep(TURN - busy);
    }
}
