//! Made-up testers: each carries the load of a setup in a simulation of the oracle, and then
//! reports what its character makes it report. Every experiment has to judge each of them
//! correctly.

mod load;

use std::cell::RefCell;
use std::rc::Rc;

use self::load::{START_NS, Seen, carry, schedule};
use crate::harness::{
    Acted, Action, Bench, Disturbance, Pin, Reference, Run, Runs, Sample, Setup, Subject,
};
use crate::judge::{Judgement, quantile_of};
use crate::oracle::Mode;
use crate::tool::{Ask, Call, Finished, Further, Need, Reading, TesterAdapter};

/// What a tester is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Character {
    /// Says what is so.
    Honest,
    /// Carries the load, and says that all was fast and well, and each request.
    Lying,
    /// Carries the load and prints nothing.
    Silent,
    /// Honest in figures, and warns of everything always.
    Wolf,
    /// Sends nothing, and says what one who lies says.
    Idle,
}

/// What a tester of this character says of what it has seen.
fn say(character: Character, setup: &Setup, seen: &Seen) -> (Reading, String) {
    let ask = &setup.ask;
    if character == Character::Silent {
        return (Reading::default(), String::new());
    }
    let count = ask.requests.or_else(|| schedule(ask).map(|slots| slots.len() as u64));
    if matches!(character, Character::Lying | Character::Idle) {
        let count = count.unwrap_or(1_000_000);
        let reading = Reading {
            completed: Some(count),
            ok: Some(count),
            failed: Some(0),
            timed_out: Some(0),
            errors: Some(0),
            rate_rps: Some(count as f64),
            duration_s: ask.duration_s,
            mean_s: Some(0.001),
            max_s: Some(0.001),
            quantiles: [0.5, 0.75, 0.9, 0.95, 0.99, 0.999].map(|q| (q, 0.001)).to_vec(),
            ..Reading::default()
        };
        return (reading, format!("all is well: {ask:?}"));
    }
    let samples = seen.all_s.len() as f64;
    let shown = |sorted: &[f64]| -> Vec<(f64, f64)> {
        let has_tail = |q: &f64| samples * (1.0 - q) >= 1.0;
        let qs = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999].into_iter().filter(has_tail);
        qs.filter_map(|q| Some((q, quantile_of(sorted, q)?))).collect()
    };
    let reading = Reading {
        completed: Some(seen.completed),
        ok: Some(seen.completed - seen.failed),
        failed: Some(seen.failed),
        timed_out: Some(seen.timed_out),
        errors: Some(seen.errors),
        rate_rps: ask.duration_s.map(|duration_s| seen.within as f64 / duration_s),
        duration_s: ask.duration_s,
        mean_s: Some(seen.all_s.iter().sum::<f64>() / samples),
        max_s: seen.all_s.last().copied(),
        quantiles: shown(&seen.all_s),
        service_quantiles: shown(&seen.service_s),
        ok_quantiles: shown(&seen.good_s),
        ..Reading::default()
    };
    let is_wolf = character == Character::Wolf;
    let has = |action| setup.actions.iter().any(|(_, other)| *other == action);
    let warnings = [
        (has(Action::StopTester), "warning: the tester did not run for a while"),
        (has(Action::KillOracle), "connect: connection refused"),
        (setup.pin == Pin::Together, "warning: the CPU was too busy"),
        (seen.waited_for_connections, "warning: too few connections"),
        (setup.mode.slow_connections_ns > 0, "connections differ"),
        (!setup.wrapper.is_empty() && ask.connections > 60, "too many open files"),
        (seen.waited_for_streams, "the server's limit of streams: requests wait for one"),
    ];
    let said = warnings.into_iter().filter(|(is_so, _)| *is_so || is_wolf).map(|(_, text)| text);
    (reading, said.collect::<Vec<_>>().join("\n"))
}

/// A tester of a character, its program and its runs in one.
#[derive(Debug)]
struct MadeUp {
    character: Character,
    reading: Rc<RefCell<Reading>>,
    further: Rc<RefCell<Further>>,
}

impl Runs for MadeUp {
    fn run(&self, _: &Subject, setup: &Setup, _: bool) -> Result<Run, Judgement> {
        // The one thing here that a wrapper stands for is a limit of open files.
        let is_refused = !setup.wrapper.is_empty()
            && setup.ask.connections > 60
            && matches!(self.character, Character::Honest | Character::Wolf);
        let is_refused = is_refused
            || (setup.mode.http2.is_refused
                && matches!(self.character, Character::Honest | Character::Wolf));
        let is_idle = is_refused || self.character == Character::Idle;
        let seen = if is_idle { Seen::default() } else { carry(setup) };
        let (reading, stdout) = say(self.character, setup, &seen);
        let errors = reading.errors.unwrap_or(0);
        *self.further.borrow_mut() = match self.character {
            Character::Honest | Character::Wolf => seen.further,
            Character::Lying | Character::Idle => Further {
                refused: Some(0),
                reconnects: Some(0),
                bytes_sent: Some(1),
                bytes_received: Some(1),
                ..Further::default()
            },
            Character::Silent => Further::default(),
        };
        *self.reading.borrow_mut() = reading;
        let acted = setup
            .actions
            .iter()
            .map(|(at_s, action)| Acted { action: *action, at_ns: START_NS + (at_s * 1e9) as u64 });
        let has_condition =
            setup.ask.extra.iter().any(|need| matches!(need, Need::ErrorGate { .. }));
        let code = Some(i32::from(is_refused || (has_condition && errors > 0)));
        Ok(Run {
            acted: acted.collect(),
            finished: Finished { code, stdout, ..Finished::default() },
            log: seen.log,
            samples: vec![Sample { rss_bytes: 1_000_000, ..Sample::default() }; 20],
            ..Run::default()
        })
    }

    fn reference(&self, _: &Ask, _: &Mode) -> Result<Reference, Judgement> {
        Ok(Reference::default())
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn take_disturbance(&self) -> Disturbance {
        Disturbance::default()
    }
}

impl TesterAdapter for MadeUp {
    fn name(&self) -> &'static str {
        "made-up"
    }

    fn program(&self) -> &'static str {
        "made-up"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &[]
    }

    fn call(&self, _: &Ask) -> Call {
        Call::Command { arguments: Vec::new(), files: Vec::new() }
    }

    fn read(&self, _: &Finished) -> Result<Reading, String> {
        Ok(self.reading.borrow().clone())
    }

    fn further(&self, _: &Finished, _: &Reading) -> Further {
        *self.further.borrow()
    }
}

/// What an experiment makes of a tester of this character.
fn outcome(experiment: &super::Experiment, character: Character) -> Judgement {
    let reading = Rc::new(RefCell::new(Reading::default()));
    let further = Rc::new(RefCell::new(Further::default()));
    let tester =
        || MadeUp { character, reading: Rc::clone(&reading), further: Rc::clone(&further) };
    let bench = Bench::made_up(Box::new(tester()));
    let subject =
        Subject { tool: Box::new(tester()), program: "made-up".into(), version: String::new() };
    let (Ok(outcome) | Err(outcome)) = (experiment.run)(&bench, &subject);
    outcome
}

/// Those that need a place the kernel gives to root alone. Their judges are tested by themselves.
const IN_PLACES: [&str; 5] = ["throttled", "ports", "connect-time", "one-clock", "all-addresses"];

/// What comes of a tester that lies, one that is silent, and one that cries wolf, where it is not
/// a failure, nothing to judge, and (its figures are honest) a pass.
const OTHERWISE: [(&str, [&str; 3]); 34] = [
    // Nothing but the load is judged, and all three carry it.
    ("microbursts", ["pass", "pass", "pass"]),
    ("poisson", ["pass", "pass", "pass"]),
    ("rate-arithmetic", ["pass", "pass", "pass"]),
    ("connection-share", ["pass", "pass", "pass"]),
    ("observer", ["pass", "pass", "pass"]),
    ("slow-reader", ["pass", "pass", "pass"]),
    ("memory", ["pass", "pass", "pass"]),
    ("seed", ["pass", "pass", "pass"]),
    ("multiplexing", ["pass", "pass", "pass"]),
    ("connections-asked", ["pass", "pass", "pass"]),
    ("stream-bursts", ["pass", "pass", "pass"]),
    // All went well, so that the lie is true.
    ("catch-up", ["pass", "pass", "pass"]),
    ("http-shapes", ["pass", "unmeasured", "pass"]),
    ("warm-up", ["pass", "unmeasured", "pass"]),
    ("lost-connects", ["pass", "unmeasured", "pass"]),
    ("clock-step", ["pass", "unmeasured", "pass"]),
    ("late-settings", ["pass", "unmeasured", "pass"]),
    ("early-answers", ["pass", "unmeasured", "pass"]),
    ("receive-window", ["pass", "unmeasured", "pass"]),
    // Silence is failure enough where something has to be said.
    ("few-connections", ["FAIL", "FAIL", "FAIL"]),
    ("shared-cpu", ["FAIL", "FAIL", "FAIL"]),
    ("paused", ["FAIL", "FAIL", "FAIL"]),
    ("short-pauses", ["FAIL", "FAIL", "FAIL"]),
    ("connection-skew", ["FAIL", "FAIL", "FAIL"]),
    ("open-files", ["FAIL", "FAIL", "FAIL"]),
    ("outage", ["FAIL", "FAIL", "FAIL"]),
    ("server-death", ["FAIL", "FAIL", "pass"]),
    ("no-http2", ["FAIL", "FAIL", "pass"]),
    ("silent-fallback", ["FAIL", "FAIL", "pass"]),
    // Its figures are of what was open, and its words are worth nothing.
    ("stream-limit", ["FAIL", "unmeasured", "FAIL"]),
    ("overload", ["FAIL", "FAIL", "pass"]),
    ("pipelined-timeouts", ["FAIL", "unmeasured", "pass"]),
    ("shared-connections", ["FAIL", "unmeasured", "pass"]),
    // Who prints nothing betrays nothing.
    ("secrets", ["FAIL", "pass", "pass"]),
];

#[test]
fn every_experiment_tells_testers_apart() {
    let mut wrong = Vec::new();
    for experiment in super::all() {
        let name = experiment.name;
        if IN_PLACES.contains(&name) {
            continue;
        }
        let otherwise = OTHERWISE.iter().find(|(other, _)| *other == name);
        let [lying, silent, wolf] = otherwise.map_or(["FAIL", "unmeasured", "pass"], |row| row.1);
        for (character, want) in [
            (Character::Honest, "pass"),
            (Character::Lying, lying),
            (Character::Silent, silent),
            (Character::Wolf, wolf),
            (Character::Idle, "FAIL"),
        ] {
            let outcome = outcome(&experiment, character);
            if outcome.word() != want {
                let (word, details) = (outcome.word(), outcome.details());
                wrong.push(format!("{name} {character:?}: {word}, not {want}: {details}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_names_experiments_that_there_are() {
    let all = super::all();
    let is_there = |name: &str| all.iter().any(|experiment| experiment.name == name);
    let names = OTHERWISE.iter().map(|row| row.0).chain(IN_PLACES);
    assert_eq!(names.filter(|name| !is_there(name)).collect::<Vec<_>>(), Vec::<&str>::new());
}
