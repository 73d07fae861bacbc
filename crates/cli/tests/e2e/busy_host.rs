//! Gates whose truth is known, on a host one of whose CPUs a stranger takes for 30, 60 and 100 % of
//! the time. Each run takes seconds, so they are made only when `PLIMSOLL_BUSY_HOST=60` says how
//! many. No gate may pass or fail wrongly, and few may stay undecided.
//!
//! What a server on the busy host does is its own truth, so limits are far from anything that it
//! does there: below what it can do at all, or many times above.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;

use crate::programs::turn_with;
use crate::support::{Server, plimsoll, run};

/// The share of its CPU that the stranger takes.
const DUTIES: [f64; 3] = [0.3, 0.6, 1.0];

/// The stranger works and rests in turns of this length.
const PERIOD: Duration = Duration::from_millis(10);

/// At most this share of the gates may stay undecided.
const UNDECIDED_MAX: f64 = 0.1;

/// A load, and gates with their true outcome.
struct Case {
    name: &'static str,
    serve: &'static [&'static str],
    path: &'static str,
    load: &'static [&'static str],
    gates: &'static [(&'static str, bool)],
}

/// `/delay/20ms` answers no request in less than 20 ms, and its thread has little to do, so that
/// 250 ms are out of reach even if it waits for several turns of others. 5 % of errors are drawn
/// for each request by itself: of 600, fewer than 1 % or more than 20 % fail once in a million
/// runs. Eight requests at a time that take 20 ms or more each are 400 each second at most.
const CASES: [Case; 5] = [
    Case {
        name: "200/s, 20 ms",
        serve: &[],
        path: "/delay/20ms",
        load: &["-r", "200"],
        gates: &[
            ("p99<250ms", true),
            ("p50<250ms", true),
            ("p50<10ms", false),
            ("p99<10ms", false),
            ("mean<10ms", false),
            ("service.p50>10ms", true),
            ("service.p99<10ms", false),
            ("errors<1%", true),
            ("errors>1%", false),
            ("rate>=90%", true),
            ("ok>=100", true),
        ],
    },
    Case {
        name: "500/s, at once",
        serve: &[],
        path: "/",
        load: &["-r", "500"],
        gates: &[
            ("p50<100ms", true),
            ("p99<250ms", true),
            ("mean<100ms", true),
            ("service.p50<100ms", true),
            ("errors<1%", true),
            ("rate>=90%", true),
            ("rate<1000", true),
            ("rate>1000", false),
        ],
    },
    Case {
        name: "200/s, 5 % errors",
        serve: &["--errors", "5%:503"],
        path: "/",
        load: &["-r", "200"],
        gates: &[
            ("errors<1%", false),
            ("errors<20%", true),
            ("p99<250ms", true),
            ("ok>=100", true),
            ("rate>=90%", true),
        ],
    },
    Case {
        name: "8 in turn, 20 ms",
        serve: &[],
        path: "/delay/20ms",
        load: &["-c", "8"],
        gates: &[
            ("p99<250ms", true),
            ("p50<250ms", true),
            ("mean<250ms", true),
            ("p50<2ms", false),
            ("service.p99<2ms", false),
            ("errors<1%", true),
            ("rate<2000", true),
            ("rate>2000", false),
            ("rate>20", true),
        ],
    },
    Case {
        name: "as it comes",
        serve: &[],
        path: "/",
        load: &[],
        gates: &[("p99<250ms", true), ("errors<1%", true), ("rate>20", true), ("errors>1%", false)],
    },
];

/// The stranger goes at the latest after this time, longer than any run.
const STRANGER_MAX: Duration = Duration::from_secs(60);

/// Takes a share of a CPU until it is told to end.
fn take_cpu(cpu: usize, duty: f64, is_over: &AtomicBool) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).expect("a CPU to be tied to");
    let came = Instant::now();
    while !is_over.load(Ordering::Relaxed) && came.elapsed() < STRANGER_MAX {
        let began = Instant::now();
        let until = began + PERIOD.mul_f64(duty);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        thread::sleep((began + PERIOD).saturating_duration_since(Instant::now()));
    }
}

/// How gates were decided.
#[derive(Debug, Default)]
struct Counts {
    right: usize,
    undecided: Vec<String>,
    wrong: Vec<String>,
    verdicts: BTreeMap<String, usize>,
    exits: BTreeMap<Option<i32>, usize>,
}

fn judge(case: &Case, number: usize, duty: f64, counts: &mut Counts) {
    let server = Server::start(case.serve);
    let url = server.url(case.path);
    let seed = number.to_string();
    let gates = case.gates.iter().flat_map(|(gate, _)| ["--gate", *gate]);
    let mut command = plimsoll(&["run", "-d", "3s", "--seed", &seed, "--format", "json"]);
    command.args(case.load).args(gates).arg(url);
    let cpu = number % thread::available_parallelism().map_or(1, usize::from);
    let is_over = AtomicBool::new(false);
    let finished = thread::scope(|scope| {
        scope.spawn(|| take_cpu(cpu, duty, &is_over));
        let finished = run(&mut command);
        is_over.store(true, Ordering::Relaxed);
        finished
    });
    let result: Value = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {finished:?}"));
    let found = result["gates"].as_array().expect("gates");
    assert_eq!(found.len(), case.gates.len(), "{finished:?}");
    for ((gate, truth), found) in case.gates.iter().zip(found) {
        if found["undecided"] == true {
            counts.undecided.push(format!("{gate}: {found}"));
        } else if found["pass"] == *truth {
            counts.right += 1;
        } else {
            counts.wrong.push(format!("run {number}, {gate}: {found}"));
        }
    }
    let verdict = result["loader"]["verdict"].as_str().expect("a verdict");
    *counts.verdicts.entry(verdict.to_owned()).or_default() += 1;
    *counts.exits.entry(finished.code).or_default() += 1;
}

#[test]
fn gates_are_decided_rightly_while_a_stranger_takes_a_cpu() {
    let Ok(runs) = std::env::var("PLIMSOLL_BUSY_HOST") else { return };
    let runs: usize = runs.parse().expect("PLIMSOLL_BUSY_HOST is a number of runs");
    let Some(_turn) = turn_with(&[]) else { return };
    let mut table: BTreeMap<(usize, usize), Counts> = BTreeMap::new();
    for number in 0..runs {
        let (case, duty) = (number % CASES.len(), number / CASES.len() % DUTIES.len());
        let counts = table.entry((case, duty)).or_default();
        judge(&CASES[case], number, DUTIES[duty], counts);
    }
    let mut stderr = std::io::stderr();
    for ((case, duty), counts) in &table {
        let (name, percent) = (CASES[*case].name, DUTIES[*duty] * 100.0);
        let Counts { right, undecided, wrong, verdicts, exits } = counts;
        let (open, bad) = (undecided.len(), wrong.len());
        let line = format!(
            "{name:18} {percent:3} %: {right:3} right, {bad} wrong, {open} undecided; \
             {verdicts:?}, exit {exits:?}"
        );
        writeln!(stderr, "{line}").expect("stderr");
        undecided.iter().for_each(|gate| writeln!(stderr, "    {gate}").expect("stderr"));
    }
    let all = |of: fn(&Counts) -> usize| table.values().map(of).sum::<usize>();
    let (right, undecided) = (all(|it| it.right), all(|it| it.undecided.len()));
    let wrong: Vec<&String> = table.values().flat_map(|it| &it.wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let share = undecided as f64 / (right + undecided) as f64;
    assert!(share <= UNDECIDED_MAX, "{undecided} of {} undecided", right + undecided);
}
