//! Whole runs against a server of their own: what they tell, what ends them, and what they leave.

mod find;
mod scenarios;

use std::path::Path;

use plimsoll_core::RunResult;
use plimsoll_core::live::{LiveFigures, RunPart};
use plimsoll_core::plan::{Draft, Endpoint, Script, Transport};
use plimsoll_core::scenario::Scenarios;
use plimsoll_engine::RunError;
use plimsoll_server::{Role, RunningServer, ServeOptions, start};

use crate::{Beside, News, Ran, Runner, RunnerError, not_carried_out};

const SECOND_NS: u64 = 1_000_000_000;

fn server() -> (RunningServer, Endpoint) {
    let running = start(ServeOptions::default()).expect("a free port");
    let address = running.addresses().iter().find(|(role, _)| *role == Role::All);
    let port = address.expect("it serves all").1.port();
    (running, Endpoint::http("127.0.0.1", port, "/"))
}

/// A few requests in a closed loop.
fn few(endpoint: Endpoint) -> Draft {
    Draft {
        connections: 2,
        workers: 1,
        duration_ns: None,
        requests: Some(200),
        ..Draft::new(endpoint)
    }
}

/// A plan for a server that is not there.
fn nowhere(directory: &Path) -> Scenarios {
    let socket = directory.join("nobody.sock").display().to_string();
    let transport = Transport { unix_socket: Some(socket), ..Transport::default() };
    let gates = vec!["errors<1%".to_owned()];
    let plan = Draft { transport, gates, ..few(Endpoint::http("a.example", 80, "/")) };
    plan.check().unwrap().into()
}

/// Carries a run out; the result with what it told, a word for each news.
fn told(runner: Runner<'_>) -> (Result<Ran, RunnerError>, Vec<&'static str>) {
    let mut words = Vec::new();
    let ran = runner.run(&mut |news| {
        words.push(match news {
            News::Waiting { .. } => "waiting",
            News::Waited { .. } => "waited",
            News::Started(_) => "started",
            News::Measuring(_) => "measuring",
            News::Interval(..) => "interval",
        });
    });
    (ran, words)
}

fn error_of(ran: Result<Ran, RunnerError>) -> RunnerError {
    ran.err().expect("there is no result")
}

fn passes(result: &RunResult) -> Vec<bool> {
    result.gates.iter().map(|gate| gate.pass).collect()
}

#[test]
fn a_run_tells_its_figures_and_ends_with_a_judged_result() {
    let (_server, endpoint) = server();
    let gates = ["errors<1%", "completed>200"].map(str::to_owned).to_vec();
    let plan: Scenarios = Draft { gates, ..few(endpoint) }.check().unwrap().into();
    let runner = Runner::new(&plan, Beside::default());
    let handle = runner.handle();
    assert_eq!(handle.figures(), LiveFigures::new(plan.run()));
    let (mut parts, mut intervals, mut last) = (Vec::new(), 0, LiveFigures::default());
    let mut ran = runner
        .run(&mut |news| match news {
            News::Started(figures) | News::Measuring(figures) => {
                parts.push((figures.part, figures.opened));
            }
            News::Interval(figures, point) => {
                intervals += point.completed;
                let seen = handle.figures();
                assert_eq!((seen.ledger, &seen.last), (figures.ledger, &figures.last));
                let text = serde_json::to_string(figures).unwrap();
                last = serde_json::from_str(&text).unwrap();
                assert_eq!(last, *figures, "{text}");
            }
            other => panic!("nothing is waited for: {other:?}"),
        })
        .expect("the server is there");
    assert_eq!(parts, [(RunPart::Measuring, Some(2)); 2]);
    let result = &ran.result;
    assert_eq!((result.ledger.completed, intervals), (200, 200));
    assert_eq!((last.ledger.sent, last.ledger.ok, last.part), (200, 200, RunPart::Draining));
    assert_eq!(passes(result), [true, false]);
    assert!(!result.interrupted && result.aborted.is_none());
    ran.flush_script();
    ran.finish_script().expect("the plan has no script");
}

#[test]
fn a_condition_ends_a_run() {
    let (_server, endpoint) = server();
    let abort_when = vec!["p50>1ns".to_owned()];
    let duration_ns = Some(60 * SECOND_NS);
    let draft = Draft { abort_when, duration_ns, requests: None, ..few(endpoint) };
    let plan = draft.check().unwrap().into();
    let result = Runner::new(&plan, Beside::default()).run(&mut |_| {}).unwrap().result;
    assert_eq!(result.aborted.as_deref(), Some("p50>1ns"));
    assert!(result.elapsed_ns < 60 * SECOND_NS && result.ledger.completed > 0);
}

#[test]
fn a_run_that_was_stopped_before_is_interrupted() {
    let (_server, endpoint) = server();
    let plan = Draft { duration_ns: Some(60 * SECOND_NS), requests: None, ..few(endpoint) };
    let plan = plan.check().unwrap().into();
    let runner = Runner::new(&plan, Beside::default());
    runner.handle().stop();
    let result = runner.run(&mut |_| {}).unwrap().result;
    assert!(result.interrupted && result.aborted.is_none());
}

#[test]
fn a_server_that_is_not_there_is_an_error_with_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let plan = nowhere(directory.path());
    let (ran, words) = told(Runner::new(&plan, Beside::default()));
    let error = error_of(ran);
    assert!(matches!(error, RunnerError::Run(RunError::Unreachable { .. })), "{error}");
    assert_eq!(words, [""; 0]);
    // With less time than a pause there is no second attempt, and nothing to tell.
    for (wait_ns, want) in [(1, &[][..]), (SECOND_NS / 5, &["waiting"][..])] {
        let beside = Beside { wait_ns: Some(wait_ns), ..Beside::default() };
        let (ran, words) = told(Runner::new(&plan, beside));
        let error = error_of(ran);
        let RunnerError::NoServer { limit_ns, error: RunError::Unreachable { .. } } = error else {
            panic!("{error}");
        };
        assert_eq!((limit_ns, words.as_slice()), (wait_ns, want));
    }
}

#[test]
fn a_run_that_is_stopped_while_it_waits_was_not_carried_out() {
    let directory = tempfile::tempdir().unwrap();
    let plan = nowhere(directory.path());
    let beside = Beside { wait_ns: Some(30 * SECOND_NS), ..Beside::default() };
    let runner = Runner::new(&plan, beside);
    let handle = runner.handle();
    let ran = runner.run(&mut |news| {
        assert!(matches!(news, News::Waiting { limit_ns: 30_000_000_000, .. }), "{news:?}");
        handle.stop();
    });
    let result = ran.expect("who stops a run gets its result").result;
    assert!(result.interrupted && !result.was_carried_out());
    assert_eq!(passes(&result), [false]);
}

#[test]
fn what_was_not_carried_out_meets_no_gate() {
    let directory = tempfile::tempdir().unwrap();
    let result = not_carried_out(&nowhere(directory.path()), "the reason").unwrap();
    assert_eq!((passes(&result), result.was_carried_out()), (vec![false], false));
    assert_eq!(result.loader.causes[0].text, "the reason");
}

#[test]
fn what_cannot_be_beside_a_run_is_found_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let taken = directory.path().join("taken");
    std::fs::write(&taken, "").unwrap();
    let nobody = "no-such-program".parse().unwrap();
    let plan = nowhere(directory.path());
    for (beside, says) in [
        (Beside { control: Some(&taken), ..Beside::default() }, "control socket '"),
        (Beside { monitor: Some(&nobody), ..Beside::default() }, "no process here is called"),
    ] {
        let checked = Runner::new(&plan, beside).check().expect_err(says).to_string();
        let ran = error_of(told(Runner::new(&plan, beside)).0).to_string();
        assert!(checked.starts_with(says) && checked == ran, "{checked}, {ran}");
    }
    let free = directory.path().join("free");
    let beside = Beside { control: Some(&free), ..Beside::default() };
    Runner::new(&plan, beside).check().expect("nothing is in the way");
    assert!(!free.exists());
}

#[test]
fn a_script_without_an_end_is_stopped() {
    let (_server, endpoint) = server();
    let text = "while true do end".to_owned().into();
    let script = Script { path: "a.lua".to_owned(), text, arguments: Vec::new() };
    let plan = Draft { script: Some(script), ..few(endpoint) }.check().unwrap().into();
    let runner = Runner::new(&plan, Beside::default());
    runner.handle().stop();
    let error = error_of(runner.run(&mut |_| {}));
    assert!(matches!(error, RunnerError::Run(RunError::Script(_))), "{error}");
}
