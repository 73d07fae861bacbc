//! Runs with threads and the drivers of this system, against a server on a thread.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use plimsoll_core::executor::{Executor, VuPool};
use plimsoll_core::plan::DriverPlan;
use plimsoll_core::schedule::Arrivals;
use plimsoll_script::js::Summarized;

use super::{Kept, S, cast, program, role};
use crate::vu::{Controls, Errand, Network, Outcome, Returned, VuError, call, prepare};

/// A server that greets; its threads end with the connections.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    read.extend_from_slice(&buffer[..count]);
                    while let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                        read.drain(..end + 4);
                        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                        if stream.write_all(response).is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

#[test]
fn workers_share_scenarios() {
    let address = serve();
    let program = program(&format!(
        "import http from 'k6/http';
         export function setup() {{ return {{ url: 'http://{address}/' }}; }}
         export default (data) => {{ const r = http.get(data.url);
            if (r.body != 'hello') throw new Error(r.error); }};"
    ));
    for driver in [DriverPlan::Auto, DriverPlan::Epoll] {
        let network = Network { driver, ..Network::default() };
        let arrivals = Arrivals::constant(200, S, S / 2).expect("a schedule");
        let pool = VuPool { pre_allocated_vus: 5, max_vus: 20 };
        let rate = Executor::ConstantArrivalRate { rate: 200, time_unit_ns: S, pool, arrivals };
        let shared =
            Executor::SharedIterations { vus: 3, iterations: 100, max_duration_ns: 60 * S };
        let mut cast = cast(&program, vec![role(&program, rate), role(&program, shared)], 8);
        (cast.workers, cast.network, cast.vus_max) = (2, network.clone(), 23);
        for scenario in &mut cast.roles {
            scenario.graceful_stop_ns = 30 * S;
        }
        let controls = Arc::new(Controls::new(2));
        let options_json = Arc::clone(&cast.options_json);
        let prepared = prepare(cast, &controls, |_| Kept::default()).expect("it can be prepared");
        let setup = program.function("setup").expect("there is one");
        let mut tally = Kept::default();
        let errand = Errand::Call(setup, None);
        let returned =
            call(&program, errand, &network, &controls, &options_json, 10 * S, &mut tally);
        let Ok(Returned::Value(Ok(Some(data)))) = returned else { panic!("{returned:?}") };
        controls.set_setup_data(Some(data.into()));
        let ended = prepared.run().expect("it can be run");
        let iterations: Vec<_> =
            ended.tallies.iter().flat_map(|kept| kept.iterations.iter()).collect();
        let failures: Vec<_> = ended.tallies.iter().flat_map(|kept| &kept.failures).collect();
        assert_eq!(failures, [""; 0]);
        let of = |role: u32| iterations.iter().filter(|it| it.scenario == role).count() as u64;
        let dropped: u64 =
            ended.tallies.iter().map(|kept| kept.dropped.get(&0).copied().unwrap_or(0)).sum();
        assert_eq!((of(0) + dropped, of(1)), (100, 100));
        assert!(iterations.iter().all(|it| it.ended.outcome == Outcome::Completed));
        let requests: usize = ended.tallies.iter().map(|kept| kept.requests.len()).sum();
        assert_eq!(requests as u64, of(0) + of(1));
        assert_eq!(ended.paces.len(), 2);
        assert!(ended.ended_ns > ended.started_ns);
    }
}

#[test]
fn a_call_ends_in_time_and_says_what_is_wrong() {
    let program = program(
        "import { sleep } from 'k6'; import exec from 'k6/execution';
         export default () => {};
         export const slow = () => sleep(1000);
         export const busy = () => { for (;;); };
         export const wrong = () => { throw new Error('no luck'); };
         export const stops = () => { exec.test.abort('no more'); };
         export const gives = (data) => data.n + 1;
         export const sums = (data) => ({ stdout: `${data.n}` });",
    );
    let called = |errand, limit_ns| {
        let controls = Arc::new(Controls::new(0));
        let (network, options) = (Network::default(), Arc::from("{}"));
        let mut tally = Kept::default();
        let result = call(&program, errand, &network, &controls, &options, limit_ns, &mut tally);
        (result, controls)
    };
    let function = |name: &str| program.function(name).expect("it is exported");
    let given = || Some(Arc::from("{\"n\": 1}"));
    for name in ["slow", "busy"] {
        let (result, _) = called(Errand::Call(function(name), None), S / 20);
        assert!(matches!(result, Err(VuError::Timeout)), "{name}: {result:?}");
    }
    let (result, _) = called(Errand::Call(function("wrong"), None), 60 * S);
    let Err(VuError::Script(failure)) = result else { panic!("{result:?}") };
    assert!(failure.text.contains("no luck"), "{failure}");
    let (result, controls) = called(Errand::Call(function("stops"), None), 60 * S);
    assert!(matches!(result, Err(VuError::Aborted)), "{result:?}");
    assert!(controls.abort_reason().is_some_and(|reason| reason.contains("no more")));
    let (result, _) = called(Errand::Call(function("gives"), given()), 60 * S);
    assert_eq!(result.expect("it works"), Returned::Value(Ok(Some("2".to_owned()))));
    let errand = Errand::Summarize(function("sums"), Arc::from("{\"n\": 5}"));
    let outputs = vec![("stdout".to_owned(), b"5".to_vec())];
    let data = "{\"n\":5}".to_owned();
    let want = Returned::Summary(Summarized { outputs: Some(Ok(outputs)), data });
    assert_eq!(called(errand, 60 * S).0.expect("it works"), want);
}

#[test]
fn a_vu_that_cannot_be_initialised_is_named() {
    let program =
        program("if (__VU == 2) throw new Error('not this one'); export default () => {};");
    let executor = Executor::ConstantVus { vus: 3, duration_ns: S };
    let cast = cast(&program, vec![role(&program, executor)], 3);
    let controls = Arc::new(Controls::new(1));
    let prepared = prepare(cast, &controls, |_| Kept::default());
    let Err(VuError::Script(failure)) = prepared else { panic!("it is prepared") };
    assert!(failure.text.contains("not this one"), "{failure}");
}

#[test]
fn an_abort_ends_the_preparation() {
    let program = program("if (__VU == 2) for (;;); export default () => {};");
    let executor = Executor::ConstantVus { vus: 3, duration_ns: S };
    let cast = cast(&program, vec![role(&program, executor)], 3);
    let controls = Arc::new(Controls::new(1));
    controls.abort("enough");
    let prepared = prepare(cast, &controls, |_| Kept::default());
    assert!(matches!(prepared, Err(VuError::Aborted)));
    assert_eq!(controls.abort_reason().as_deref(), Some("enough"));
}
