//! Runs of several scenarios against servers of their own, with known answers.

use plimsoll_core::plan::{Request, Target};
use plimsoll_core::scenario::{RunTerms, Scenario};
use plimsoll_core::schedule::{Arrival, Profile};

use super::*;

fn scenario(name: &str, start_ns: u64, draft: Draft) -> Scenario {
    Scenario { name: name.to_owned(), start_ns, plan: draft.check().expect("a plan") }
}

/// Requests at a rate, for some seconds.
fn paced(endpoint: Endpoint, rps: u64, seconds: u64) -> Draft {
    let duration_ns = Some(seconds * SECOND_NS);
    let rate = Some(Profile::constant(rps * 1_000_000, duration_ns, Arrival::Uniform));
    Draft { connections: 5, workers: 1, duration_ns, rate, ..Draft::new(endpoint) }
}

fn run(gates: &[&str], list: Vec<Scenario>) -> RunResult {
    let gates = gates.iter().map(|gate| (*gate).to_owned()).collect();
    let terms = RunTerms { gates, ..RunTerms::default() };
    let scenarios = Scenarios::check(terms, list).expect("a run");
    Runner::new(&scenarios, Beside::default()).run(&mut |_| {}).expect("it runs").result
}

fn sent_of<'a>(result: &'a RunResult, name: &str) -> &'a plimsoll_core::Ledger {
    &result.scenario(name).expect("it is one of them").result.ledger
}

#[test]
fn three_scenarios_make_the_run_that_was_asked_for() {
    let (_server, endpoint) = server();
    let counted = Draft { requests: Some(30), ..few(endpoint.clone()) };
    let list = vec![
        scenario("a", 0, paced(endpoint.clone(), 50, 4)),
        scenario("b", 2 * SECOND_NS, paced(endpoint, 100, 4)),
        scenario("c", SECOND_NS, counted),
    ];
    let gates = [
        "completed@scenario:a>=200",
        "completed@scenario:a>200",
        "offered@scenario:b>=99%",
        "offered@scenario:b>101",
        "sent@4s..6s<250",
        "sent@4s..6s>=250",
    ];
    let result = run(&gates, list);
    assert_eq!(passes(&result), [true, false, true, false, true, false], "{:?}", result.gates);
    for (name, want) in [("a", 200), ("b", 400), ("c", 30)] {
        let ledger = sent_of(&result, name);
        assert_eq!((ledger.sent, ledger.ok, ledger.check()), (want, want, Ok(())), "{name}");
    }
    assert_eq!((result.ledger.sent, result.ledger.ok, result.ledger.check()), (630, 630, Ok(())));
    assert_eq!(result.rate.window_ns, 6 * SECOND_NS);
    assert_eq!((result.rate.achieved_rps, result.rate.target_rps), (105.0, None));
    let sent: Vec<u64> = result.series.points().iter().map(|point| point.sent).collect();
    let want = [50, 80, 150, 150, 100, 100];
    // What is due at the edge of a second may be sent in either.
    let is_near = |(sent, want): (&u64, &u64)| sent.abs_diff(*want) <= 2;
    assert!(sent.len() >= 6 && sent.iter().zip(&want).all(is_near), "{sent:?}");
    assert_eq!(sent.iter().sum::<u64>(), 630);
    assert_eq!(result.latency.response.count(), 630);
    assert!(!result.interrupted && result.endpoints.is_empty());
}

#[test]
fn a_scenario_that_starts_within_a_second_keeps_to_the_run_s_seconds() {
    let (_server, endpoint) = server();
    let list = vec![
        scenario("a", 0, paced(endpoint.clone(), 100, 2)),
        scenario("b", 500_000_000, paced(endpoint, 200, 1)),
    ];
    let result = run(&[], list);
    let spans = |result: &RunResult| {
        let points = result.series.points().iter().take(2);
        points.map(|point| (point.t_ns, point.interval_ns, point.sent)).collect::<Vec<_>>()
    };
    let half_ns = SECOND_NS / 2;
    let [(t0, l0, s0), (t1, l1, s1)] = spans(&result.scenario("b").unwrap().result)[..] else {
        panic!("two intervals: {:?}", result.series);
    };
    assert_eq!([(t0, l0), (t1, l1)], [(0, half_ns), (half_ns, SECOND_NS)]);
    assert!(s0.abs_diff(100) <= 2 && s0 + s1 == 200, "{s0} {s1}");
    for (t_ns, length_ns, sent) in spans(&result) {
        assert!(sent.abs_diff(200) <= 4 && length_ns == SECOND_NS, "{t_ns} {length_ns} {sent}");
    }
    assert_eq!((result.ledger.ok, result.rate.window_ns), (400, 2 * SECOND_NS));
    assert_eq!(result.rate.target_rps, Some(200.0));
}

#[test]
fn failures_stay_in_their_scenario() {
    let ((_good_server, good), (_bad_server, bad)) = (server(), server());
    let target = |path: &str| Target {
        name: path.to_owned(),
        path: path.into(),
        request: Request::get(),
        weight: 1,
        expect: Vec::new(),
    };
    let targets = vec![target("/"), target("/status/500")];
    let list = vec![
        scenario("good", 0, Draft { requests: Some(100), ..few(good) }),
        scenario("bad", 0, Draft { requests: Some(100), targets, ..few(bad) }),
    ];
    let gates = ["failed@scenario:good<1", "failed@scenario:bad<1", "failed<=50"];
    let result = run(&gates, list);
    assert_eq!(passes(&result), [true, false, true]);
    let outcome = |name: &str| (sent_of(&result, name).ok, sent_of(&result, name).failed);
    assert_eq!((outcome("good"), outcome("bad")), ((100, 0), (50, 50)));
    assert_eq!((result.status[&200], result.status[&500]), (150, 50));
    let parts = |name: &str| result.scenario(name).unwrap().result.endpoints.len();
    assert_eq!((parts("bad"), result.endpoints.len()), (2, 0));
}

#[test]
fn a_condition_of_the_run_ends_all_scenarios() {
    let (_server, endpoint) = server();
    let list = vec![
        scenario("a", 0, paced(endpoint.clone(), 50, 60)),
        scenario("later", 30 * SECOND_NS, paced(endpoint, 50, 60)),
    ];
    let abort_when = vec!["completed>=40".to_owned()];
    let terms = RunTerms { abort_when, ..RunTerms::default() };
    let scenarios = Scenarios::check(terms, list).expect("a run");
    let result = Runner::new(&scenarios, Beside::default()).run(&mut |_| {}).unwrap().result;
    assert_eq!(result.aborted.as_deref(), Some("completed>=40"));
    assert!(result.elapsed_ns < 30 * SECOND_NS && sent_of(&result, "a").ok >= 40);
    assert_eq!((sent_of(&result, "later").scheduled, result.ledger.check()), (0, Ok(())));
}

/// One scenario has an end in time and no number, the other a number and no end in time. All
/// requests are under way after a second; two of them are answered a second later.
#[test]
fn nothing_is_checked_after_the_last_request_of_all_was_started() {
    let (_server, endpoint) = server();
    let slow = Endpoint { path: "/delay/2500ms".into(), ..endpoint.clone() };
    let list = vec![
        scenario("few", 0, Draft { connections: 2, requests: Some(2), ..few(slow) }),
        scenario("paced", 0, paced(endpoint, 50, 1)),
    ];
    let abort_when = vec!["rate@last:1s<10".to_owned()];
    let terms = RunTerms { abort_when, ..RunTerms::default() };
    let scenarios = Scenarios::check(terms, list).expect("a run");
    let mut parts = Vec::new();
    let runner = Runner::new(&scenarios, Beside::default());
    let on_news = &mut |news: News<'_>| {
        if let News::Interval(figures, _) = news {
            parts.push(figures.part);
        }
    };
    let result = runner.run(on_news).expect("it runs").result;
    assert_eq!((result.aborted, result.ledger.ok), (None, 52));
    assert_eq!(parts.last(), Some(&RunPart::Draining), "{parts:?}");
}

#[test]
fn a_missing_server_is_told_with_its_scenario() {
    let (_server, endpoint) = server();
    let directory = tempfile::tempdir().unwrap();
    let lost = nowhere(directory.path()).plain().expect("one plan").clone().into_draft();
    let lost = Draft { gates: Vec::new(), ..lost };
    let list =
        || vec![scenario("here", 0, few(endpoint.clone())), scenario("lost", 0, lost.clone())];
    let scenarios = Scenarios::check(RunTerms::default(), list()).expect("a run");
    let (ran, words) = told(Runner::new(&scenarios, Beside::default()));
    let error = error_of(ran);
    assert!(error.to_string().starts_with("scenario 'lost': no connection to "), "{error}");
    assert_eq!(words, [""; 0]);
    let beside = Beside { wait_ns: Some(SECOND_NS / 5), ..Beside::default() };
    let (ran, words) = told(Runner::new(&scenarios, beside));
    assert!(matches!(error_of(ran), RunnerError::NoServer { .. }));
    assert_eq!(words, ["waiting"]);
    let result = not_carried_out(&scenarios, "the reason").unwrap();
    assert!(!result.was_carried_out() && result.plan.endpoint.host.is_empty());
}
