//! Scenarios that cannot be carried out, and ones that are stopped: nothing is loaded, and nothing
//! hangs. Whole runs against a server are tests of the runner.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plimsoll_core::plan::{Draft, Endpoint, Transport};
use plimsoll_core::scenario::RunTerms;
use plimsoll_core::schedule::{Arrival, Profile};

use super::*;
use crate::control::ControlError;

const S: u64 = 1_000_000_000;

/// A server, and how many requests it had.
fn server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let counted = Arc::clone(&counted);
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                }
            });
        }
    });
    (address, count)
}

/// A minute at 50/s; without an address the server is not there.
fn scenario(name: &str, start_ns: u64, address: Option<SocketAddr>) -> Scenario {
    let duration_ns = Some(60 * S);
    let nowhere = address.is_none().then(|| "/no/such/socket".to_owned());
    let port = address.map_or(80, |address| address.port());
    let draft = Draft {
        transport: Transport { unix_socket: nowhere, ..Transport::default() },
        connections: 2,
        workers: 1,
        duration_ns,
        rate: Some(Profile::constant(50_000_000, duration_ns, Arrival::Uniform)),
        ..Draft::new(Endpoint::http("127.0.0.1", port, "/"))
    };
    Scenario { name: name.to_owned(), start_ns, plan: draft.check().expect("a plan") }
}

fn of(list: Vec<Scenario>) -> Scenarios {
    Scenarios::check(RunTerms::default(), list).expect("a run")
}

#[test]
fn without_one_server_no_scenario_begins() {
    let (address, count) = server();
    for (servers, name) in [([Some(address), None], "second"), ([None, Some(address)], "first")] {
        let list = vec![scenario("first", 0, servers[0]), scenario("second", S, servers[1])];
        let mut told = 0;
        let run = run_scenarios(&of(list), Vec::new(), &Control::default(), &mut |_| told += 1);
        let error = run.err().expect("a server is not there");
        let text = error.to_string();
        assert!(text.starts_with(&format!("scenario '{name}': no connection to ")), "{text}");
        assert!(matches!(error.cause(), RunError::Unreachable { .. }), "{text}");
        assert_eq!((told, count.load(Ordering::SeqCst)), (0, 0), "nothing was started");
    }
}

#[test]
fn a_stop_ends_all_and_those_that_have_not_begun() {
    let (address, _count) = server();
    let list = vec![scenario("now", 0, Some(address)), scenario("later", 30 * S, Some(address))];
    let control = Control::default();
    let (mut parts, mut first) = (Vec::new(), None);
    let run = run_scenarios(&of(list), Vec::new(), &control, &mut |progress| match progress {
        Progress::Started { open } => parts.push(open),
        Progress::Measuring => {
            assert_eq!(control.set_rate(1_000_000), Err(ControlError::Several));
            assert_eq!(control.set_connections(5), Err(ControlError::Several));
            parts.push(0);
        }
        Progress::Interval(point) => {
            first.get_or_insert(point.sent);
            control.stop();
        }
        Progress::Over => {}
    });
    let (result, _) = run.expect("it ran");
    assert_eq!(parts, [4, 0], "all connections are open before the first request");
    assert!(result.interrupted && first.is_some_and(|sent| sent > 0), "{first:?}");
    assert_eq!(result.ledger.check(), Ok(()));
    let [now, later] = &result.scenarios[..] else { panic!("two scenarios") };
    assert!(now.result.ledger.sent > 0 && now.result.interrupted);
    assert_eq!(later.result.ledger.scheduled, 0, "its time had not come");
    assert!(later.result.interrupted && result.elapsed_ns < 30 * S);
}

#[test]
fn a_run_that_is_stopped_before_ends_at_once() {
    let (address, _count) = server();
    let list = vec![scenario("now", 0, Some(address)), scenario("later", 30 * S, Some(address))];
    let control = Control::default();
    control.stop();
    let (result, _) = run_scenarios(&of(list), Vec::new(), &control, &mut |_| {}).expect("it ran");
    assert!(result.interrupted);
    assert_eq!(result.ledger.check(), Ok(()));
}

#[test]
fn a_scenario_that_waits_for_the_warm_up_of_another_can_be_stopped() {
    let (address, count) = server();
    let mut warm = scenario("warm", 0, Some(address));
    warm.plan = Draft { warmup_ns: 40 * S, ..warm.plan.into_draft() }.check().expect("a plan");
    let list = vec![warm, scenario("cold", 0, Some(address))];
    let control = Control::default();
    let run = run_scenarios(&of(list), Vec::new(), &control, &mut |progress| {
        if let Progress::Started { .. } = progress {
            control.stop();
        }
    });
    let (result, _) = run.expect("it ran");
    assert!(result.interrupted && !result.was_carried_out());
    assert_eq!((result.ledger.check(), result.ledger.scheduled), (Ok(()), 0));
    assert!(count.load(Ordering::SeqCst) < 100, "the warm-up was stopped too");
}

#[test]
fn a_stop_ends_a_scenario_whose_server_does_not_finish_the_handshake() {
    let (address, _count) = server();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let mut stuck = scenario("stuck", 0, silent.local_addr().ok());
    let mut draft = stuck.plan.into_draft();
    draft.endpoint.scheme = "https".to_owned();
    draft.tls.insecure = true;
    stuck.plan = draft.check().expect("a plan");
    let control = Control::default();
    let scenarios = of(vec![scenario("open", 0, Some(address)), stuck]);
    let run = thread::scope(|scope| {
        scope.spawn(|| {
            // The handshake has begun, and nobody will answer it.
            let _stream = silent.accept().expect("a connection");
            control.stop();
        });
        run_scenarios(&scenarios, Vec::new(), &control, &mut |_| {})
    });
    let (result, _) = run.expect("who stops a run gets its result");
    assert!(result.interrupted);
    assert_eq!(result.ledger.check(), Ok(()));
}

#[test]
fn the_error_is_that_of_the_scenario_that_failed_by_itself() {
    let list = vec![scenario("waits", 0, None), scenario("fails", 0, None)];
    let mut course = Course::new(&list);
    course.failed(0, RunError::GivenUp);
    course.failed(1, RunError::Limit("the reason".to_owned()));
    course.failed(0, RunError::Limit("a later one".to_owned()));
    let error = course.finish().err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("scenario 'fails': the reason"));
}
